/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_MAIL_H
#define HL_COMMAND_MAIL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

struct hl_reading;
struct hl_store_query;
struct hl_words;

/* A report as a message for sendmail(8): what one reads of it, compared with the time before, and its page. */
struct hl_mail_options {
	const struct hl_words *stores;
	const struct hl_words *by, *where, *exclude; /* what @query was made of, as it was given */
	const struct hl_store_query *query;
	struct hl_reading *reading; /* of it, finished */
	const char *to;             /* NULL: no such header */
	bool if_changed;            /* nothing unless something changed, is missing, or was lost */
	uint32_t spikes;            /* most that are listed */
};

/* 0 or -errno. Errors of @out are the caller's to look for. */
int hl_mail_write(const struct hl_mail_options *options, FILE *out, struct hl_err *err);

#endif
