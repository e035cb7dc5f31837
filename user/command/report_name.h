/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_REPORT_NAME_H
#define HL_COMMAND_REPORT_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The names of reports: HOST-20261130T120000Z-60s.html, UTC, start and length. */
struct hl_report_name {
	size_t host_len, stem_len; /* the stem is all before the extension */
	const char *extension;     /* in the name: "html", "diff.html" */
	uint64_t start_ns, end_ns;
};

/* Whether @file, without directories, is such a name, of a format that is written. */
bool hl_report_name_parse(const char *file, struct hl_report_name *ret);

#endif
