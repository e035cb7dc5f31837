/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SAMPLE_REASON_H
#define HL_SAMPLE_REASON_H

#include <stdint.h>

/* A reason why samples are lost or incomplete: a short stable name, and a sentence on what to do. */
struct hl_reason {
	const char *name;
	const char *help;
};

/* The reason behind an enum hl_walk_end; static. NULL for a complete stack. */
const struct hl_reason *hl_reason_of_walk(uint8_t end);

/* The reason behind an enum hl_counter that counts a loss; static. NULL for the other counters. */
const struct hl_reason *hl_reason_of_counter(unsigned int counter);

#endif
