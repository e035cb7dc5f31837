/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_HOST_NAME_H
#define HL_COMMAND_HOST_NAME_H

#include "base/err.h"

/* With the '\0': what the kernel and the DNS allow. */
#define HL_HOST_NAME_SIZE 256

/*
 * The name of this host as results carry it: @given by an option, or, where that is NULL, the kernel's. In a
 * container that is the container's.
 */
void hl_host_name(const char *given, char ret[HL_HOST_NAME_SIZE]);

/* 0, or HL_EXIT_USAGE where @given, of option --host, is no name. */
int hl_host_name_check(const char *given, struct hl_err *err);

#endif
