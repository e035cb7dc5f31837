/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_SORTING_H
#define HL_COMMAND_SORTING_H

#include "base/err.h"
#include "cli/cli.h"
#include "render/sorted.h"

/* What --sort asks for: which columns the tables of txt have, and in which order their rows come. */
struct hl_sort {
	struct hl_sorting sorting;
	struct hl_words by; /* those of its keys that stacks must begin with, for hl_selection_new() */
	const char *names[HL_SORT_MAX]; /* room for them */
};

/*
 * @words are "self", "total", keys of --by, of hl_sort_names, or perf's names of them. @ret is not to be moved. 0,
 * or HL_EXIT_USAGE with the names that there are.
 */
int hl_sort_parse(const struct hl_words *words, struct hl_sort *ret, struct hl_err *err);

struct hl_outputs;

/* 0, or HL_EXIT_USAGE if one asks for an order and none of @outputs has one. */
int hl_sort_check(const struct hl_words *words, const struct hl_outputs *outputs, struct hl_err *err);

/* clang-format off */
#define HL_SORT_ROW(config, sort_, rejects_)  \
	{ "sort", 0, HL_WORDS(config, sort_), .rejects = (rejects_), .typed_only = true, .metavar = "KEY,…",  \
	  .help = "txt: one table, by keys of --by and module, buildid, function, caller, insn, mnemonic, class; "  \
		  "with total, by samples in what is called, too" }
/* clang-format on */

#endif
