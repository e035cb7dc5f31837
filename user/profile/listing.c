// SPDX-License-Identifier: BSD-2-Clause
#include "profile/listing.h"

#include <ctype.h>
#include <string.h>

static bool starts(const char *text, size_t len, const char *word)
{
	size_t n = strlen(word);

	return len >= n && memcmp(text, word, n) == 0;
}

/* Words that may stand in front: "bnd jmp", "notrack jmp", "repz ret", "cs jmp". */
static void skip_prefixes(const char **text, size_t *len)
{
	static const char *const prefixes[] = {
		"bnd ", "notrack ", "repz ", "repnz ", "cs ", "ds ", "data16 "
	};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (!starts(*text, *len, prefixes[i]))
			continue;
		*text += strlen(prefixes[i]);
		*len -= strlen(prefixes[i]);
		i = (size_t)-1; /* from the first again; the text grows shorter each time */
	}
}

enum hl_flow hl_flow_of(const char *text, size_t len, bool has_target)
{
	static const char *const ends[] = { "ret", "iret", "sysret", "sysexit", "ud0",
					    "ud1", "ud2",  "hlt",    "(bad)",   "int3" };

	skip_prefixes(&text, &len);
	if (starts(text, len, "jmp") || starts(text, len, "ljmp"))
		return has_target ? HL_FLOW_GOTO : HL_FLOW_INDIRECT;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (starts(text, len, ends[i]))
			return HL_FLOW_END;
	if (has_target && (starts(text, len, "j") || starts(text, len, "loop")))
		return HL_FLOW_JUMP;
	return HL_FLOW_NEXT;
}

/* "lea 0x0(%esi,%eiz,1),%esi" or "lea esi,[esi+eiz*1+0x0]": what filled gaps before there were long nops. */
static bool is_lea_in_place(const char *text, size_t len)
{
	const char *comma = memrchr(text, ',', len), *open = memchr(text, '(', len), *reg, *base;
	size_t n;

	if (open && comma && open < comma && starts(text, len, "lea 0x0(")) {
		reg = comma + 1;
		n = (size_t)(text + len - reg);
		base = open + 1;
	} else {
		reg = text + strlen("lea ");
		comma = starts(text, len, "lea ") ? memchr(text, ',', len) : NULL;
		open = memchr(text, '[', len);
		if (!comma || !open || open < comma || len < 4 || memcmp(text + len - 4, "0x0]", 4) != 0)
			return false;
		n = (size_t)(comma - reg);
		base = open + 1;
	}
	return n && n < (size_t)(text + len - base) && memcmp(base, reg, n) == 0 &&
	       !isalnum((uint8_t)base[n]);
}

bool hl_text_is_filler(const char *text, size_t len)
{
	skip_prefixes(&text, &len);
	return starts(text, len, "nop") || starts(text, len, "xchg %ax,%ax") ||
	       starts(text, len, "xchg ax,ax") || is_lea_in_place(text, len);
}

static bool falls_through(const struct hl_listing_row *row)
{
	return row->flow == HL_FLOW_NEXT || row->flow == HL_FLOW_JUMP;
}

struct hl_listing_row *hl_listing_around(const struct hl_listing *l, uint64_t address)
{
	size_t low = 0, high = l->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (l->rows[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address - l->rows[low - 1].address >= l->rows[low - 1].length)
		return NULL;
	return &l->rows[low - 1];
}

struct hl_listing_row *hl_listing_find(const struct hl_listing *l, uint64_t address)
{
	struct hl_listing_row *row = hl_listing_around(l, address);

	return row && row->address == address ? row : NULL;
}

void hl_listing_mark(struct hl_listing *l)
{
	uint64_t all = 0, least;

	for (size_t i = 0; i < l->n; i++)
		all += l->rows[i].samples;
	least = all / 50 > 2 ? all / 50 : 2;
	for (size_t i = 0; i < l->n && l->whole; i++) {
		struct hl_listing_row *row = &l->rows[i], *to;

		if (i + 1 < l->n && row[1].samples >= least && falls_through(row))
			row->suspect = true;
		to = row->flow == HL_FLOW_JUMP || row->flow == HL_FLOW_GOTO ? hl_listing_find(l, row->target)
									    : NULL;
		if (to && to->samples >= least)
			row->suspect = true;
	}
}
