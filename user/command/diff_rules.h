/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_DIFF_RULES_H
#define HL_COMMAND_DIFF_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct hl_diff;
struct hl_str;

/* "symbol=NAME self>+10%": a bound of a function's change, as --fail-on has it. */
struct hl_diff_rule {
	const char *text; /* borrowed */
	const char *name; /* of the function, with or without its parameters; in @text */
	size_t name_len;
	bool total;  /* with what it calls; else of its own */
	bool below;  /* it is crossed below the bound; else above */
	bool points; /* of shares, or CPUs; else relative */
	double bound;
};

/* 0, or HL_EXIT_USAGE with what is wrong. */
int hl_diff_rule_parse(const char *text, struct hl_diff_rule *ret, struct hl_err *err);

enum hl_verdict {
	HL_VERDICT_KEPT,
	HL_VERDICT_CROSSED, /* and that is no chance */
	HL_VERDICT_UNKNOWN,
};

/* What is asked of the profiles before anything is said. */
struct hl_diff_judge {
	const struct hl_diff *diff;
	uint64_t min_samples; /* of the function, on one side */
	size_t n_rules;       /* the more of them, the more by chance */
};

/* Judges, and appends one line on it to @out. */
enum hl_verdict hl_diff_judge(const struct hl_diff_judge *judge, const struct hl_diff_rule *rule,
			      struct hl_str *out);

#endif
