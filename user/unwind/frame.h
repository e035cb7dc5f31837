/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_UNWIND_FRAME_H
#define HL_UNWIND_FRAME_H

/*
 * What is known of a frame in the middle of a function, from the instructions that led there: where its
 * canonical frame address is, seen from rsp and rbp, and where the caller's rbp is. Private to this folder.
 */

#include <stdbool.h>
#include <stdint.h>

#include <hotleaf/unwind.h>

struct hl_flow;

/* No padding: frames are compared as bytes. */
struct hl_frame {
	int32_t depth;     /* CFA - rsp, if has_depth */
	int32_t below;     /* CFA - rbp, if has_below */
	int32_t saved;     /* the caller's rbp is at CFA - saved; 0: it is not known where */
	uint8_t ra_plus_1; /* 0: the return address is at CFA - 8; else in register ra_plus_1 - 1 */
	uint8_t has_depth, has_below;
	uint8_t is_intact;  /* rbp is still the caller's */
	uint8_t is_cleared; /* rbp was set to zero, though it had not been saved */
	uint8_t is_first;   /* nobody called: there is no return address */
	uint8_t is_cloned;  /* clone has returned, perhaps in the new thread, on a stack of its own */
	uint8_t is_ending;  /* the thread has unmapped its stack, and will exit */
	struct hl_realigned {
		uint8_t cfa_plus_1; /* the CFA is in register cfa_plus_1 - 1; 0: in none */
		uint8_t is_on;      /* neither rsp nor rbp tells the CFA: what follows counts */
		uint8_t has_gap, has_slot;
		uint8_t saved; /* the caller's rbp is at 1: rsp + saved_at, 2: rbp + saved_at; 0: it was not saved */
		uint8_t reserved[3];
		int32_t gap;  /* rbp - rsp, if has_gap */
		int32_t slot; /* the CFA is at rbp + slot, if has_slot */
		int32_t saved_at;
	} realigned; /* user/unwind/realigned.c */
};

enum hl_frame_step {
	HL_STEP_ON,
	HL_STEP_RETURNED, /* as a function should: with the return address on top */
	HL_STEP_LOST,     /* there is no telling where the CFA is from here on */
	HL_STEP_WRONG,    /* this cannot be: it would return to something else than its return address */
};

/* The frame at the first instruction of a function. */
extern const struct hl_frame hl_frame_entry;

/* Takes @frame over the instruction @flow; a call has returned. */
enum hl_frame_step hl_frame_step(struct hl_frame *frame, const struct hl_flow *flow);

/*
 * What is known where two paths meet: of the caller's rbp, what both say. False: they contradict each other
 * about the CFA.
 */
bool hl_frame_meet(struct hl_frame *frame, const struct hl_frame *other);

/* True if a function may be entered or left by a jump in this state. */
bool hl_frame_is_bare(const struct hl_frame *frame);

struct hl_unwind_rule hl_frame_rule(const struct hl_frame *frame);

/* DWARF's number of a general register. */
unsigned int hl_frame_dwarf_number(unsigned int reg);

/* These do the same in functions that have realigned their stack. */
enum hl_frame_step hl_realigned_step(struct hl_frame *frame, const struct hl_flow *flow);
bool hl_realigned_meet(struct hl_frame *frame, const struct hl_frame *other);
struct hl_unwind_rule hl_realigned_rule(const struct hl_frame *frame);

#endif
