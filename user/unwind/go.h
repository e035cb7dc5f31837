/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_UNWIND_GO_H
#define HL_UNWIND_GO_H

/* What Go's runtime does that its call frame information does not say; private to this folder. */

#include <stdbool.h>
#include <stddef.h>

#include <hotleaf/unwind.h>

#include "unwind/code.h"

struct hl_elf;

/* Whether @elf holds code that Go's compiler has made. */
bool hl_go_is_in(const struct hl_elf *elf);

/* Code that runs on another stack than its caller, and the rule that holds there. */
struct hl_go_switch {
	struct hl_code_range code;
	struct hl_unwind_rule rule;
};

/*
 * Finds the places where Go's runtime switches stacks to call C code, and back to be called by it: in order, apart
 * from each other, to be released with free(). 0 or -ENOMEM; what cannot be read holds none.
 */
int hl_go_find_switches(const struct hl_elf *elf, const struct hl_code *code, struct hl_go_switch **ret,
			size_t *ret_n);

/*
 * Changes a rule of Go's own .debug_frame, which is silent about rbp: every function that has a frame keeps its
 * caller's below the return address.
 */
void hl_go_amend(struct hl_unwind_rule *rule);

#endif
