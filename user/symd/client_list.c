// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "symd/client.h"
#include "symd/client_call.h"

/* Longer texts than the server makes are not believed. */
enum { MAX_STRING = 8192, MAX_CLASS = 6 };

#define KNOWN_FLAGS (HL_SYMD_ROW_UNDECODED | HL_SYMD_ROW_OVERLAPS | HL_SYMD_ROW_TARGET)

void hl_symd_listing_done(struct hl_symd_listing *listing)
{
	free(listing->rows);
	free(listing->strings);
	*listing = (struct hl_symd_listing){ 0 };
}

/* Counts @offset from the end of the rows, at @first; false if the string lies outside. */
static bool rebase(uint32_t *offset, uint32_t len, size_t first, size_t payload_len)
{
	if (len > MAX_STRING || *offset < first || *offset > payload_len || len > payload_len - *offset)
		return false;
	*offset -= (uint32_t)first;
	return true;
}

/* Rows ascend, each inside the function. */
static bool is_row_sound(struct hl_symd_row *row, const struct hl_symd_list *head, uint64_t least,
			 size_t first, size_t payload_len)
{
	uint64_t at = row->address - head->function;

	return rebase(&row->text, row->text_len, first, payload_len) &&
	       rebase(&row->file, row->file_len, first, payload_len) && row->address >= least &&
	       row->address >= head->function && row->length >= 1 && row->length <= sizeof(row->bytes) &&
	       at < head->size && (row->flags & ~KNOWN_FLAGS) == 0 && row->insn_class <= MAX_CLASS;
}

static bool take(struct hl_symd_listing *l, const struct hl_str *payload)
{
	size_t first = sizeof(l->head) + l->head.n_rows * sizeof(*l->rows);
	uint64_t least = 0;

	if (!rebase(&l->head.name, l->head.name_len, first, payload->len) ||
	    (l->head.flags & ~HL_SYMD_LIST_CUT))
		return false;
	for (uint32_t i = 0; i < l->head.n_rows; i++) {
		if (!is_row_sound(&l->rows[i], &l->head, least, first, payload->len))
			return false;
		least = l->rows[i].address + 1;
	}
	return true;
}

static int take_listing(const struct hl_str *payload, struct hl_symd_listing *ret, struct hl_err *err)
{
	_cleanup_(hl_symd_listing_done) struct hl_symd_listing l = { 0 };
	size_t rows;

	if (payload->len < sizeof(l.head))
		return hl_err_set(err, -EPROTO, "symd sent a listing of %zu bytes", payload->len);
	memcpy(&l.head, payload->data, sizeof(l.head));
	rows = l.head.n_rows * sizeof(*l.rows);
	if (l.head.n_rows > HL_SYMD_ROWS_MAX || payload->len - sizeof(l.head) < rows)
		return hl_err_set(err, -EPROTO, "symd sent %zu bytes for %u instructions", payload->len,
				  l.head.n_rows);
	l.strings_len = payload->len - sizeof(l.head) - rows;
	l.rows = malloc(rows ? rows : 1);
	l.strings = malloc(l.strings_len ? l.strings_len : 1);
	if (!l.rows || !l.strings)
		return hl_err_errno(err, -ENOMEM, "no room for a listing");
	memcpy(l.rows, payload->data + sizeof(l.head), rows);
	memcpy(l.strings, payload->data + sizeof(l.head) + rows, l.strings_len);
	if (!take(&l, payload))
		return hl_err_set(err, -EPROTO, "symd's listing is damaged");
	hl_symd_listing_done(ret);
	*ret = l;
	l = (struct hl_symd_listing){ 0 };
	return 0;
}

int hl_symd_list_function(struct hl_symd *symd, const struct hl_symd_list_query *query,
			  const uint64_t *sampled, const uint8_t *bytes, uint32_t flags,
			  struct hl_symd_listing *ret, struct hl_err *err)
{
	struct hl_symd_request request = { .type = HL_SYMD_LIST, .flags = flags, .count = 1 };
	_cleanup_str_ struct hl_str payload = { 0 };
	const struct hl_str *answer;
	int r;

	hl_str_add(&payload, query, sizeof(*query));
	if (query->n_sampled)
		hl_str_add(&payload, sampled, query->n_sampled * sizeof(*sampled));
	if (query->n_bytes)
		hl_str_add(&payload, bytes, query->n_bytes);
	r = hl_str_status(&payload);
	if (r < 0)
		return hl_err_errno(err, r, "no memory for a listing");
	request.length = payload.len;
	r = hl_symd_call(symd, &request, payload.data, -1, &answer, err);
	return hl_symd_checked(symd, r < 0 ? r : take_listing(answer, ret, err));
}

int hl_symd_read_code(struct hl_symd *symd, uint32_t process, int fd, const struct hl_symd_code *code,
		      uint8_t *ret, struct hl_err *err)
{
	struct hl_symd_request request = {
		.type = HL_SYMD_CODE, .file = process, .count = 1, .length = sizeof(*code)
	};
	const struct hl_str *answer;
	int r = hl_symd_call(symd, &request, code, fd, &answer, err);

	if (r == 0 && answer->len != code->size)
		r = hl_err_set(err, -EPROTO, "symd sent %zu bytes of code, not %llu", answer->len,
			       (unsigned long long)code->size);
	if (r == 0)
		memcpy(ret, answer->data, answer->len);
	return hl_symd_checked(symd, r);
}
