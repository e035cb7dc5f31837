/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_AGENT_RUN_H
#define HL_COMMAND_AGENT_RUN_H

#include "base/err.h"

struct hl_agent_options;

/* Samples until a signal says to end, SIGTERM or SIGINT, as @options say. 0, HL_EXIT_USAGE or -errno. */
int hl_agent_run(const struct hl_agent_options *options, struct hl_err *err);

#endif
