// SPDX-License-Identifier: BSD-2-Clause
#include "command/listing_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/listing.h"
#include "profile/profile.h"
#include "symd/client.h"

/* How much of a text is the instruction: neither the names of what it refers to nor our own remarks. */
static size_t instruction_len(const char *text, size_t len)
{
	static const char *const ends[] = { " <", " (irqs", " (the file", " # " };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		const char *at = memmem(text, len, ends[i], strlen(ends[i]));

		if (at)
			len = (size_t)(at - text);
	}
	return len;
}

bool hl_listing_row_ran(const struct hl_listing_row *row, const struct hl_frame *ran)
{
	size_t a = instruction_len(row->text, row->text_len), b = instruction_len(ran->name, ran->name_len);

	/* A remark in place of the text says that it is not known what ran. */
	return ran->name_len == 0 || ran->name[0] == '(' ||
	       (a == b && memcmp(row->text, ran->name, a) == 0 &&
		!memmem(ran->name, ran->name_len, "(the file", 9));
}

void hl_listing_row_add(struct hl_listing_row *row, const struct hl_frame *ran, uint64_t samples)
{
	static const char remark[] = " (the file";
	const char *at;

	row->samples += samples;
	if (hl_listing_row_ran(row, ran)) {
		if (memmem(ran->name, ran->name_len, " (irqs", 6)) {
			row->text = ran->name;
			row->text_len = ran->name_len;
		}
		return;
	}
	row->other = row->text;
	row->other_len = row->text_len;
	row->text = ran->name;
	at = memmem(ran->name, ran->name_len, remark, strlen(remark));
	row->text_len = at ? (size_t)(at - ran->name) : ran->name_len;
}

int hl_listing_from_symd(const struct hl_symd_listing *code, struct hl_listing *ret)
{
	ret->rows = calloc(code->head.n_rows + 1, sizeof(*ret->rows));
	if (!ret->rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < code->head.n_rows; i++) {
		const struct hl_symd_row *from = &code->rows[i];
		struct hl_listing_row *to = &ret->rows[ret->n++];

		*to = (struct hl_listing_row){ .address = from->address,
					       .target = from->target,
					       .text = code->strings + from->text,
					       .text_len = from->text_len,
					       .length = from->length,
					       .file = code->strings + from->file,
					       .file_len = from->file_len,
					       .line = from->line,
					       .overlaps = from->flags & HL_SYMD_ROW_OVERLAPS };
		to->filler = hl_text_is_filler(to->text, to->text_len);
		to->flow = (uint8_t)hl_flow_of(to->text, to->text_len, from->flags & HL_SYMD_ROW_TARGET);
	}
	ret->start = code->head.function;
	ret->size = code->head.size;
	ret->cut = code->head.flags & HL_SYMD_LIST_CUT;
	ret->whole = true;
	return 0;
}
