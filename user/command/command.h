/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_COMMAND_H
#define HL_COMMAND_COMMAND_H

#include "cli/cli.h"

/* A command is one file of this folder; it appears in the overview in the order of hl_commands. */
extern const struct hl_command hl_command_agent;
extern const struct hl_command hl_command_annotate;
extern const struct hl_command hl_command_check;
extern const struct hl_command hl_command_diff;
extern const struct hl_command hl_command_fetch;
extern const struct hl_command hl_command_help;
extern const struct hl_command hl_command_record;
extern const struct hl_command hl_command_report;
extern const struct hl_command hl_command_status;
extern const struct hl_command hl_command_store;
extern const struct hl_command hl_command_symd;
extern const struct hl_command hl_command_version;

/* All commands, ending with NULL. */
extern const struct hl_command *const hl_commands[];

#endif
