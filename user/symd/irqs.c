// SPDX-License-Identifier: BSD-2-Clause
#include "symd/irqs.h"

#include <string.h>

#include "insn/insn.h"
#include <hotleaf/symd.h>

bool hl_symd_enables_irqs(const char *name, size_t len)
{
	static const char *const prefixes[] = { "native", "pv_native", "pvm", "xen", "vsmp" };
	static const char *const verbs[] = { "_irq_enable", "_irq_enable_direct", "_restore_fl" };
	static const char thunk[] = "__raw_callee_save_";

	if (len > sizeof(thunk) && memcmp(name, thunk, sizeof(thunk) - 1) == 0) {
		name += sizeof(thunk) - 1;
		len -= sizeof(thunk) - 1;
	}
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t n = strlen(prefixes[i]);

		if (len <= n || memcmp(name, prefixes[i], n) != 0)
			continue;
		for (size_t k = 0; k < sizeof(verbs) / sizeof(verbs[0]); k++)
			if (len - n == strlen(verbs[k]) && memcmp(name + n, verbs[k], len - n) == 0)
				return true;
	}
	return false;
}

bool hl_symd_irqs_were_off(const struct hl_symd_query *query, struct hl_decoder *decoder)
{
	enum { POPF = 0x9d, STI = 0xfb };
	const uint8_t *end = query->before + sizeof(query->before);
	struct hl_insn insn;
	size_t k;

	if (!(query->flags & HL_SYMD_SW_CLOCK) || query->before_len != sizeof(query->before))
		return false;
	if (end[-1] == POPF || end[-1] == STI)
		return true;
	for (k = 1; decoder && k < sizeof(query->before); k++) {
		if (end[-1 - (long)k] != STI)
			continue;
		hl_decoder_decode(decoder, end - k, k, 0, &insn);
		if (!insn.undecoded && insn.length == k)
			return true;
	}
	return false;
}
