/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SAMPLE_ALIGN_H
#define HL_SAMPLE_ALIGN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Where windows begin and end: at multiples of their length since the epoch, so that those of two hosts line
 * up. The wall clock may be set and the host may sleep: then the window ends early, as long as the monotonic
 * clock says that it was, and a new one begins. So none has a negative length, and none covers time in which
 * nothing ran.
 */
struct hl_align {
	uint64_t length_ns;
	uint64_t start_ns;              /* of the open window, since the epoch */
	uint64_t wall_ns, monotonic_ns; /* of the last look */
	uint64_t begun_ns;              /* the window's start, by the monotonic clock */
};

/* Opens the first window, at that time of both clocks. */
void hl_align_start(struct hl_align *align, uint64_t length_ns, uint64_t wall_ns, uint64_t monotonic_ns);

/* How long to wait for the next whole second of the wall clock: at most a second. */
uint64_t hl_align_wait(uint64_t wall_ns);

/* A window that is over. */
struct hl_aligned {
	uint64_t start_ns, end_ns;
};

/*
 * To be called at least once a second, after a drain. True: the window is over, is *@ret, and the next is open.
 */
bool hl_align_look(struct hl_align *align, uint64_t wall_ns, uint64_t monotonic_ns, struct hl_aligned *ret);
/* The open window as it ends now. */
struct hl_aligned hl_align_end(const struct hl_align *align, uint64_t monotonic_ns);

#endif
