/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_UNWIND_X86_H
#define HL_UNWIND_X86_H

/* What is particular to x86-64: from a row of call frame information to a rule; private to this folder. */

#include <stdbool.h>

#include <hotleaf/unwind.h>

struct hl_frame_state;

/* Columns: DWARF numbers of the System V psABI for AMD64, figure 3.36. */
enum { HL_X86_RBX = 3, HL_X86_RBP = 6, HL_X86_RSP = 7, HL_X86_RETURN = 16 };

/*
 * What cannot be expressed is HL_CFA_UNSUPPORTED. @is_resolver: as hl_x86_is_resolver() says. @follow_rbx: the
 * rule says where the caller's rbx is.
 */
struct hl_unwind_rule hl_x86_rule(const struct hl_frame_state *state, bool is_resolver, bool follow_rbx);

/*
 * True if a function that begins in @state is entered from the head of a procedure linkage table, which has
 * pushed two words: the dynamic loader's _dl_runtime_resolve and its kin, which keep the CFA in rbx.
 */
bool hl_x86_is_resolver(const struct hl_frame_state *state);

#endif
