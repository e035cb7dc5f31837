/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_STORE_OPTIONS_H
#define HL_COMMAND_STORE_OPTIONS_H

#include "cli/cli.h"
#include "store/days.h"

#define HL_STORE_DIR     "/var/lib/hotleaf"
#define HL_DISABLED_FILE "/etc/hotleaf/disabled"

/* Rows of a command whose config struct has the field @member of type struct hl_store_limits. */
/* clang-format off */
#define HL_STORE_LIMITS(config, member)  \
	{ "store-age", 0, HL_SECONDS(config, member.max_age_ns), .min = 86400 * HL_SECOND_NS,  \
	  .max = 36500 * (86400 * HL_SECOND_NS), .default_text = "90d", .metavar = "SECONDS",  \
	  .help = "days that ended longer ago are removed" },  \
	{ "store-max", 0, HL_BYTES(config, member.max_bytes), .min = 1 << 20, .max = UINT64_C(1) << 50,  \
	  .default_text = "4G", .metavar = "BYTES",  \
	  .help = "beyond it the oldest days are removed, then writing pauses" },  \
	{ "min-free", 0, HL_BYTES(config, member.min_free), .max = UINT64_C(1) << 50,  \
	  .default_text = "1G", .metavar = "BYTES",  \
	  .help = "as much is left free in the file system, likewise" },  \
	{ "keep-windows", 0, HL_SECONDS(config, member.windows_ns), .max = 36500 * (86400 * HL_SECOND_NS),  \
	  .default_text = "1d", .metavar = "SECONDS",  \
	  .help = "how long after its end a day keeps its windows; then it is rewritten in minutes; 0: always" },  \
	{ "keep-minutes", 0, HL_SECONDS(config, member.minutes_ns), .max = 36500 * (86400 * HL_SECOND_NS),  \
	  .default_text = "14d", .metavar = "SECONDS",  \
	  .help = "how long it keeps minutes; then it is rewritten in hours; 0: always" }
/* clang-format on */

#endif
