/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_UNWIND_PATHS_H
#define HL_UNWIND_PATHS_H

/*
 * Follows the code of functions along all their paths, and keeps for every instruction reached the frame
 * (unwind/frame.h) in which it runs. Private to this folder.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "unwind/frame.h"

/* A stretch of code to be followed; what lies outside of all of them is not looked at. */
struct hl_stretch {
	uint64_t address;
	uint32_t size;
	uint32_t start;  /* of the same bytes in the table, relative to its first page */
	uint32_t at;     /* of its first byte among those of all stretches */
	bool is_foreign; /* its functions take arguments off their callers' stacks: nothing is certain there */
};

/* What hl_paths.marks says of a byte; above: the number of its frame plus HL_MARK_FRAMES. */
enum {
	HL_MARK_UNSEEN = 0,
	HL_MARK_INSIDE,  /* of an instruction that begins before it */
	HL_MARK_REFUSED, /* an instruction for which there is no telling */
	HL_MARK_FRAMES,
};

/* How sure it is that a function begins at a byte. */
enum hl_certainty {
	HL_GUESSED, /* code begins behind other code: only what returns well is believed */
	HL_POINTED, /* its address is taken by code that is believed */
	HL_CALLED,  /* it is called from code that is believed */
	HL_NAMED,   /* a function symbol says so */
	HL_FIRST,   /* it is where the program starts: there is no return address */
};

struct hl_flow;
struct hl_paths_edge;
struct hl_paths_entry;
struct hl_paths_join;

/* Positions count the bytes of all stretches. Zero-initialised is empty. */
struct hl_paths {
	struct hl_stretch *stretches; /* by address */
	size_t n_stretches, cap_stretches;
	uint8_t *code;
	uint16_t *marks;
	uint16_t *flags;
	uint32_t *owners; /* of an instruction with a mark: where the function begins that came there first */
	uint32_t size;    /* bytes of all stretches */
	struct hl_flow *flows; /* what was decoded; of a byte: number plus one, or 0 */
	size_t n_flows, cap_flows;
	uint32_t *flow_numbers;
	struct hl_frame *frames;
	size_t n_frames, cap_frames;
	struct hl_index frame_index;
	uint64_t budget;  /* instructions that may still be decoded */
	bool is_restless; /* what was learnt contradicts what was followed before: once more */

	/* Functions to be followed. */
	uint32_t *queue, *pointed;
	size_t n_queue, cap_queue, n_pointed, cap_pointed;

	/* The function that is being followed. */
	struct hl_paths_edge *strong, *weak;
	size_t n_strong, cap_strong, n_weak, cap_weak, next_weak;
	struct hl_paths_entry *journal;
	size_t n_journal, cap_journal;
	uint32_t *entries; /* of a byte: in the journal */
	struct hl_paths_join *joins;
	size_t n_joins, cap_joins;
	uint32_t *calls, *pointers;
	size_t n_calls, cap_calls, n_pointers, cap_pointers;
	uint32_t begin, end; /* positions; end: of the symbol, or of the stretch */
	enum hl_certainty certainty;
	uint16_t table_frame; /* at computed jumps; 0: none seen */
	bool has_two_tables, is_sized;
	bool is_wrong, is_again; /* the function is to be given up; to be tried again */
	bool returns;            /* some path returns as it should */
	bool leaves;             /* some path goes where it may return, for all that is known */
	bool is_misaligned, is_lost, has_call, is_foreign;
	bool is_misaligned_within; /* at a call of a function of this file */
	uint8_t parity;            /* depth at the last call seen, modulo 16 */
};

void hl_paths_done(struct hl_paths *paths);

/* The position of the code at @address, or UINT32_MAX. */
uint32_t hl_paths_find(const struct hl_paths *paths, uint64_t address);
const struct hl_stretch *hl_paths_stretch(const struct hl_paths *paths, uint32_t position);

/* Says that a function begins there, before any is followed. */
void hl_paths_begin(struct hl_paths *paths, uint32_t position, enum hl_certainty certainty);
/* Forgets what was followed, and keeps what was learnt about where functions begin. */
void hl_paths_restart(struct hl_paths *paths);

/*
 * Follows the function at @position, of @size bytes or 0 for not known. What it calls is queued. False: it
 * was given up, and has no frames. -ENOMEM.
 */
int hl_paths_follow(struct hl_paths *paths, uint32_t position, uint32_t size, enum hl_certainty certainty);
/* Nothing is known of the functions of @stretch, whose conventions are others than those of the ABI. */
void hl_paths_refuse(struct hl_paths *paths, const struct hl_stretch *stretch);
/* The next function that was called, or UINT32_MAX. */
uint32_t hl_paths_next_called(struct hl_paths *paths);
/* So where the address of code was taken. */
uint32_t hl_paths_next_pointed(struct hl_paths *paths);

/* True if what a symbol says of @position has turned out wrong. */
bool hl_paths_is_doubtful(const struct hl_paths *paths, uint32_t position);
/* The end of the code that begins at @position and is left only at its end. */
uint32_t hl_paths_linear_end(struct hl_paths *paths, uint32_t position);

#endif
