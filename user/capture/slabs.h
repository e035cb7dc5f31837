/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_CAPTURE_SLABS_H
#define HL_CAPTURE_SLABS_H

/* The memory of unwind tables: words in slabs, which exist while something is in them; private here. */

#include <stdbool.h>
#include <stdint.h>

#include "capture/extents.h"
#include <hotleaf/abi.h>

struct hl_slab {
	int fd;          /* of the map; -1: there is none now */
	uint32_t taken;  /* words */
	uint32_t *words; /* our mapping of it */
};

struct hl_slabs {
	int outer_fd;      /* the map of slabs; -1 before the programs are loaded */
	uint32_t n;        /* slabs that there may be at once */
	uint32_t limit;    /* of these, as many as there may be now; at least 1 */
	uint32_t n_backed; /* that there are; other threads read it */
	struct hl_extents extents;
	struct hl_slab items[HL_SLABS];
};

/* Room for @n slabs, 1 to HL_SLABS, of which the first is made. 0 or -errno. Done also after a failure. */
int hl_slabs_init(struct hl_slabs *slabs, uint32_t n);
void hl_slabs_done(struct hl_slabs *slabs);
/* Lets programs find the slabs in the map of maps @outer_fd, which stays the caller's. 0 or -errno. */
int hl_slabs_publish(struct hl_slabs *slabs, int outer_fd);

/*
 * Takes @len words, inside one slab if @whole. They hold anything. -ENOSPC: no room; else -errno: the kernel
 * had no memory for a slab.
 */
int hl_slabs_take(struct hl_slabs *slabs, uint32_t len, bool whole, uint32_t *ret_place);
/* Gives them back, as they were taken, after hl_slabs_wait(). Slabs that are empty then go. */
void hl_slabs_give(struct hl_slabs *slabs, uint32_t place, uint32_t len);
/* The word at @place, which is taken. Words behind it are in the same slab only. */
uint32_t *hl_slabs_word(const struct hl_slabs *slabs, uint32_t place);
/* Returns after every run of a program that was under way has ended. False: the kernel refused to wait. */
bool hl_slabs_wait(const struct hl_slabs *slabs);

#endif
