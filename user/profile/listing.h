/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROFILE_LISTING_H
#define HL_PROFILE_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function's code, instruction by instruction, with the samples of each. Strings are borrowed. */

/* What a row's instruction does to the flow of control. */
enum hl_flow {
	HL_FLOW_NEXT = 0,     /* goes on behind it; calls too */
	HL_FLOW_JUMP = 1,     /* goes to `target` or on */
	HL_FLOW_GOTO = 2,     /* goes to `target` */
	HL_FLOW_INDIRECT = 3, /* goes somewhere */
	HL_FLOW_END = 4,      /* returns or traps */
};
/* Of an instruction's text in either syntax; @has_target: it names an address. */
enum hl_flow hl_flow_of(const char *text, size_t len, bool has_target);

/* True for the text, in either syntax, of what assemblers fill gaps with: all kinds of nop, and lea in place. */
bool hl_text_is_filler(const char *text, size_t len);

struct hl_listing_row {
	uint64_t address;
	uint64_t target; /* of a jump */
	uint64_t samples;
	const char *text; /* what ran, where it was sampled */
	size_t text_len;
	const char *other; /* what the file holds there instead; NULL: the same, or not known */
	size_t other_len;
	bool kept;        /* not the file, but the code that a store kept */
	const char *file; /* of the source */
	size_t file_len;  /* 0: not known */
	uint32_t line;
	uint8_t length;
	uint8_t flow;  /* enum hl_flow */
	bool filler;   /* has no effect: see hl_text_is_filler() */
	bool overlaps; /* a sampled instruction begins inside it */
	bool suspect;  /* see hl_listing_mark() */
};

struct hl_listing {
	struct hl_listing_row *rows; /* by address */
	size_t n;
	uint64_t start, size; /* of the function; size 0: not known */
	bool whole;           /* all its instructions; else the sampled ones only */
	bool cut;             /* it is longer than the rows */
	const char *why;      /* it is not whole; or NULL */
};

/* The row at @address, or NULL. */
struct hl_listing_row *hl_listing_find(const struct hl_listing *listing, uint64_t address);

/* The last row that starts at or before @address, if that lies in it; or NULL. */
struct hl_listing_row *hl_listing_around(const struct hl_listing *listing, uint64_t address);

/*
 * Marks as suspect what may have taken the time of the sampled instructions, if the event names the one after
 * the slow one: what comes before each that has two samples and a fiftieth of them; where a jump leads to it,
 * the jump too. Nothing where instructions are missing.
 */
void hl_listing_mark(struct hl_listing *listing);

#endif
