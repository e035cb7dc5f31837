/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_MAIL_FACTS_H
#define HL_COMMAND_MAIL_FACTS_H

/* What a mail is made of: gathered in mail.c, said in mail_text.c. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "profile/diff.h"

struct hl_mail_code;
struct hl_mail_options;
struct hl_reading;
struct hl_series;

/* A function that has more or less than in the time before, beyond noise. */
struct hl_mail_change {
	struct hl_change self;
	uint32_t frame; /* of the diff's tree */
};

struct hl_mail_facts {
	const struct hl_mail_options *options;
	const struct hl_profile *before, *after; /* before: NULL: there are no windows */
	const struct hl_reading *reading_before; /* NULL: likewise */
	struct hl_diff *diff; /* NULL: there are no samples; of after with itself, where there is no before */
	struct hl_diff_sum *sums;       /* of its frames */
	struct hl_series *series;       /* of both times; NULL: none */
	size_t first;                   /* its first piece after */
	uint64_t before_ns;             /* start of the time before */
	struct hl_mail_change *changes; /* the largest first */
	size_t n_changes;
	struct hl_mail_code *code;
	struct hl_str silent; /* hosts that have windows before, and none now */
	bool incomplete;      /* a hundredth of the time, and more than a window */
	bool lossy;           /* more than a twentieth of the samples was lost */
};

/* Appends the verdict in one line, without a newline; and the text, at most 60 lines. */
void hl_mail_subject(const struct hl_mail_facts *facts, struct hl_str *out);
int hl_mail_text(const struct hl_mail_facts *facts, struct hl_str *out);

#endif
