// SPDX-License-Identifier: BSD-2-Clause
#include "tabletext.h"

#include "base/err.h"
#include "harness.h"
#include "sample/unwind_table.h"
#include "unwind/unwind.h"

static void rule_text(const struct hl_unwind_rule *rule, char *text, size_t room)
{
	int off = rule->cfa_off, low = (int16_t)off, high = off >> 16, n = 0;

	switch (rule->cfa_kind) {
	case HL_CFA_NONE:
		n = snprintf(text, room, "none");
		break;
	case HL_CFA_RSP:
		n = snprintf(text, room, "rsp%+d", off);
		break;
	case HL_CFA_RBP:
		n = snprintf(text, room, "rbp%+d", off);
		break;
	case HL_CFA_PLT:
		n = snprintf(text, room, "plt%d", off);
		break;
	case HL_CFA_DEREF_RBP:
	case HL_CFA_DEREF_RSP:
		n = snprintf(text, room, "*(%s%+d)%+d", rule->cfa_kind == HL_CFA_DEREF_RBP ? "rbp" : "rsp",
			     low, high);
		break;
	case HL_CFA_SIGNAL:
		n = snprintf(text, room, "signal");
		break;
	case HL_CFA_STOP:
		n = snprintf(text, room, "stop");
		break;
	case HL_CFA_REG:
		n = snprintf(text, room, "r%d%+d", off & 0xff, off >> 8);
		break;
	case HL_CFA_RA_IN_REG:
		n = snprintf(text, room, "rsp%+d ra=r%d", off >> 8, off & 0xff);
		break;
	case HL_CFA_UNSUPPORTED:
		n = snprintf(text, room, "unsupported");
		break;
	case HL_CFA_THREAD:
		n = snprintf(text, room, "thread rsp%+d", off);
		break;
	case HL_CFA_GO:
		n = snprintf(text, room, "*(*(rsp%+d)+8)-*(rsp%+d)+8", off & 0xff, off >> 8);
		break;
	case HL_CFA_RBX:
		n = snprintf(text, room, "rbx%+d", off);
		break;
	default:
		FAIL("kind %u", rule->cfa_kind);
	}
	if (rule->fp_kind == HL_FP_CFA)
		n += snprintf(text + n, room - (size_t)n, " fp=cfa%+d", rule->fp_off);
	else if (rule->fp_kind == HL_FP_DEREF_RBP)
		n += snprintf(text + n, room - (size_t)n, " fp=*(rbp%+d)", rule->fp_off);
	else if (rule->fp_kind == HL_FP_UNDEFINED)
		n += snprintf(text + n, room - (size_t)n, " fp=?");
	if (rule->rbx_slot == HL_RBX_SAME)
		(void)snprintf(text + n, room - (size_t)n, " rbx");
	else if (rule->rbx_slot != HL_RBX_LOST)
		(void)snprintf(text + n, room - (size_t)n, " rbx=cfa%+d", -8 * (rule->rbx_slot + 1));
}

const char *table_text(const struct hl_unwind_result *table, uint64_t start, uint64_t size)
{
	static char text[4096];
	struct hl_unwind_rule rule, last;
	size_t len = 0;
	uint64_t i;
	int r;

	text[0] = '\0';
	for (i = 0; i < size; i++) {
		r = hl_unwind_lookup(table->bytes, table->len, start + i, &rule);
		if (r < 0)
			FAIL("offset 0x%llx: %s", (unsigned long long)(start + i), strerror(-r));
		if (i && memcmp(&rule, &last, sizeof(rule)) == 0)
			continue;
		last = rule;
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%llx ", i ? "; " : "",
					(unsigned long long)i);
		CHECK(len + 64 < sizeof(text));
		rule_text(&rule, text + len, sizeof(text) - len);
		len += strlen(text + len);
	}
	return text;
}

struct hl_unwind_result table_of(const struct hl_elf *elf)
{
	struct hl_unwind_result table = { 0 };
	struct hl_err err = { "" };

	if (hl_unwind_compile(elf, &table, &err) < 0)
		FAIL("%s", err.text);
	if (hl_unwind_check(table.bytes, table.len, &err) < 0)
		FAIL("%s", err.text);
	return table;
}
