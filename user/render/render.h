/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_RENDER_RENDER_H
#define HL_RENDER_RENDER_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "profile/profile.h"

struct hl_sorting;

/* What a writer may be told; zero-initialised is the default. */
struct hl_render_options {
	const char *title; /* of the page; NULL: made from host and time */
	unsigned int top;  /* rows of a table in txt; 0: 30, or 100 of the one that @sorting asks for */
	const struct hl_sorting
		*sorting;       /* txt: the order of rows, or a table of its own; NULL: the usual ones */
	bool instruction_lines; /* pb.gz: the instruction is the innermost Line of its Location */
};

struct hl_diff;

/* One output format. A format is a row in its own file. */
struct hl_writer {
	const char *format;    /* "html", as after -f and as extension of a file name */
	const char *extension; /* of a file name, where it is another; else NULL */
	const char *summary;   /* one line for the help */
	/* Writes the finished @profile to @out. 0 or -errno, with the reason in @err. Does not close @out. */
	int (*write)(const struct hl_profile *profile, const struct hl_render_options *options, FILE *out,
		     struct hl_err *err);
	bool detailed; /* a detailed profile is better, where one can be had */
	/* Writes the comparison of two profiles, likewise; NULL: the format has no form for it. */
	int (*write_diff)(const struct hl_diff *diff, const struct hl_render_options *options, FILE *out,
			  struct hl_err *err);
};

extern const struct hl_writer hl_writer_folded, hl_writer_html, hl_writer_pprof, hl_writer_speedscope,
	hl_writer_svg, hl_writer_txt;

/* The writer of that format, or NULL. */
const struct hl_writer *hl_writer_find(const char *format);
/* The writer of files whose names end with a dot and that, or NULL. */
const struct hl_writer *hl_writer_find_extension(const char *extension);
/* What the names of its files end with. */
const char *hl_writer_extension(const struct hl_writer *writer);
/* All writers, ending with NULL. */
extern const struct hl_writer *const hl_writers[];

#endif
