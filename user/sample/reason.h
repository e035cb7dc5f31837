/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SAMPLE_REASON_H
#define HL_SAMPLE_REASON_H

#include <stddef.h>
#include <stdint.h>

/* A reason why samples are lost or incomplete, or a mark in a stack. All strings are static. */
struct hl_reason {
	const char *name; /* short and stable, as outputs have it */
	const char *help; /* a clause: what happened, and the option that helps, if one does */
	const char *more; /* sentences behind it: when it happens, what it does to the picture, what to do */
};

/* What user space finds that a sample lacks. */
enum hl_lack {
	HL_LACK_DELIVERY,
	HL_LACK_ROOM,
	HL_LACK_STACK,
	HL_LACK_CGROUP,
	HL_LACK_NAME,
	HL_LACK_FILE,
	HL_LACK_HOST_IDS,   /* process ids here are a container's own */
	HL_LACK_ANSWER,     /* of the file system */
	HL_LACK_COPY,       /* of a file on FUSE that is too large */
	HL_LACK_PERMISSION, /* to open the file, even for root */
	HL_LACK_ELF,
	HL_LACK_DENIED,
	HL_LACK_TEXT,
	HL_LACK_DECODER,
	HL_LACK_SAME_BYTES,
	HL_LACK_LINES,
	HL_LACK_LOOPS,
	HL_LACK_IRQS,
	HL_LACKS,
};

/* The reason behind an enum hl_walk_end; static. NULL for a complete stack. */
const struct hl_reason *hl_reason_of_walk(uint8_t end);

/* The reason behind an enum hl_counter that counts a loss; static. NULL for the other counters. */
const struct hl_reason *hl_reason_of_counter(unsigned int counter);

/* The reason behind a lack; static, never NULL. */
const struct hl_reason *hl_reason_of_lack(enum hl_lack lack);

/* All of them, and the marks that stand in stacks, by number from 0 on; NULL from the first that is none on. */
const struct hl_reason *hl_reason_at(size_t number);

/*
 * The reason that an output spells @text: "no call", "[unwind: no call]", "(irqs were off)", in letters of
 * either case. NULL if there is none.
 */
const struct hl_reason *hl_reason_find(const char *text);

#endif
