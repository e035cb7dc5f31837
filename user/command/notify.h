/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_NOTIFY_H
#define HL_COMMAND_NOTIFY_H

#include <stdbool.h>

/*
 * Tells the service manager, if one wants to know: a datagram of assignments such as "READY=1" to the socket
 * that NOTIFY_SOCKET names, as sd_notify(3) describes it. False: nobody asked, or it did not arrive.
 */
bool hl_notify(const char *state);

#endif
