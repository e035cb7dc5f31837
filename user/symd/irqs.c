// SPDX-License-Identifier: BSD-2-Clause
#include "symd/irqs.h"

#include <string.h>

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
