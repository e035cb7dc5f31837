/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_WEB_ADDRESS_H
#define HL_WEB_ADDRESS_H

#include <stdbool.h>

#include "base/err.h"

/*
 * Opens a socket that listens at @address, non-blocking: "PORT" or ":PORT" (127.0.0.1), "IPV4:PORT", "[IPV6]:PORT",
 * or an absolute path, with or without "unix:", whose socket its group may use. One that a program left behind at
 * that path is replaced. Only loopback and paths, unless @anywhere. The descriptor, the caller's; or -errno: -EINVAL
 * for what is no such address.
 */
int hl_listen(const char *address, bool anywhere, struct hl_err *err);
/* Whether @address is one, and may be: 0 or -EINVAL. Whether it is free is not asked. */
int hl_listen_check(const char *address, bool anywhere, struct hl_err *err);

#endif
