/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_RENDER_PPROF_MAPS_H
#define HL_RENDER_PPROF_MAPS_H

#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "profile/profile.h"

/*
 * The mappings of a pprof profile. Addresses in it are ELF addresses: a file is mapped where it is linked, one
 * mapping an executable segment, so that a reader that subtracts the start and adds the file offset finds the
 * code, whatever the segment's delta, and one that looks symbols up by address finds them too. Kernel
 * addresses are those of vmlinux; raw (JIT) ones are the running ones.
 */

struct hl_pprof_map {
	uint64_t start, limit, offset;
	const struct hl_binary *binary; /* NULL: not known */
	const char *module;             /* borrowed from a frame */
	size_t module_len;
	uint8_t kind;      /* HL_FRAME_USER, HL_FRAME_JIT, HL_FRAME_KERNEL; HL_FRAME_MARK: no code at all */
	bool inlines;      /* a frame in it was inlined */
	uint64_t segment;  /* address of the segment, UINT64_MAX: none known */
	uint64_t self;     /* samples */
	uint64_t low, top; /* least and greatest address seen */
};

struct hl_pprof_maps {
	struct hl_pprof_map *items; /* the main program first */
	size_t n, cap;
	uint32_t *of_frame; /* index into @items */
	struct hl_index index;
};

/* Finds the mappings of the finished @profile. 0 or -ENOMEM. To be released with hl_pprof_maps_done(). */
int hl_pprof_maps_make(const struct hl_profile *profile, struct hl_pprof_maps *ret);
void hl_pprof_maps_done(struct hl_pprof_maps *maps);

#endif
