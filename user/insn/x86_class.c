// SPDX-License-Identifier: BSD-2-Clause
#include "insn/x86.h"

enum hl_insn_class hl_x86_class(const struct hl_x86 *x)
{
	if (!x->known)
		return HL_INSN_OTHER;
	/* xchg with memory locks without being told to. */
	if (x->lock || (x->is_exchange && x->writes_memory))
		return HL_INSN_LOCKED;
	if (x->is_branch)
		return HL_INSN_BRANCH;
	if (x->is_divide)
		return HL_INSN_DIVIDE;
	if (x->writes_memory)
		return HL_INSN_STORE;
	if (x->reads_memory)
		return HL_INSN_LOAD;
	return x->has_vector ? HL_INSN_VECTOR : HL_INSN_OTHER;
}
