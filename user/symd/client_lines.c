// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "symd/client.h"
#include "symd/client_call.h"

enum { MAX_STRING = 8192 };

/* Takes the description of a table, and the table where one was asked for. */
static int take_lines(const struct hl_str *payload, struct hl_symd_lines *ret, uint8_t **ret_table,
		      struct hl_err *err)
{
	_cleanup_free_ uint8_t *table = NULL;
	struct hl_symd_lines lines;
	size_t more;

	if (payload->len < sizeof(lines))
		return hl_err_set(err, -EPROTO, "symd described lines in %zu bytes", payload->len);
	memcpy(&lines, payload->data, sizeof(lines));
	more = payload->len - sizeof(lines);
	if (more != (ret_table ? lines.length : 0))
		return hl_err_set(err, -EPROTO, "symd sent %zu bytes of a table of %llu", more,
				  (unsigned long long)lines.length);
	if (ret_table) {
		table = malloc(more ? more : 1);
		if (!table)
			return hl_err_errno(err, -ENOMEM, "no room for a table of lines");
		memcpy(table, payload->data + sizeof(lines), more);
		*ret_table = TAKE_PTR(table);
	}
	*ret = lines;
	return 0;
}

int hl_symd_lines(struct hl_symd *symd, uint32_t file, int fd, const struct hl_symd_lines_limits *limits,
		  struct hl_symd_lines *ret, uint8_t **ret_table, struct hl_err *err)
{
	struct hl_symd_request request = { .type = HL_SYMD_LINES,
					   .file = file,
					   .flags = ret_table ? HL_SYMD_WANT_TABLE : 0,
					   .length = sizeof(*limits) };
	const struct hl_str *answer;
	int r = hl_symd_call(symd, &request, limits, fd, &answer, err);

	return hl_symd_checked(symd, r < 0 ? r : take_lines(answer, ret, ret_table, err));
}

int hl_symd_add_lines(struct hl_symd *symd, uint32_t file, int fd, struct hl_symd_lines *ret,
		      struct hl_err *err)
{
	struct hl_symd_request request = { .type = HL_SYMD_ADD_LINES, .file = file };
	const struct hl_str *answer;
	int r = hl_symd_call(symd, &request, NULL, fd, &answer, err);

	return hl_symd_checked(symd, r < 0 ? r : take_lines(answer, ret, NULL, err));
}

int hl_symd_add_wanted(struct hl_symd *symd, uint32_t file, bool is_alt, int fd, struct hl_err *err)
{
	struct hl_symd_request request = { .type = is_alt ? HL_SYMD_ADD_ALT : HL_SYMD_ADD_DWO, .file = file };
	const struct hl_str *answer;

	return hl_symd_checked(symd, hl_symd_call(symd, &request, NULL, fd, &answer, err));
}

void hl_symd_wants_done(struct hl_symd_wants *wants)
{
	free(wants->items);
	free(wants->strings);
	*wants = (struct hl_symd_wants){ 0 };
}

static bool rebase(uint32_t *offset, uint32_t len, size_t first, size_t payload_len)
{
	if (len > MAX_STRING || *offset < first || *offset > payload_len || len > payload_len - *offset)
		return false;
	*offset -= (uint32_t)first;
	return true;
}

static bool is_sound(struct hl_symd_wanted *w, size_t first, size_t payload_len)
{
	return rebase(&w->name, w->name_len, first, payload_len) &&
	       rebase(&w->directory, w->directory_len, first, payload_len) && w->name_len > 0 &&
	       w->id_len > 0 && w->id_len <= sizeof(w->id) && w->is_alt <= 1;
}

static int take_wants(const struct hl_str *payload, struct hl_symd_wants *ret, struct hl_err *err)
{
	_cleanup_(hl_symd_wants_done) struct hl_symd_wants w = { 0 };
	size_t items, first;

	if (payload->len < sizeof(w.head))
		return hl_err_set(err, -EPROTO, "symd listed files in %zu bytes", payload->len);
	memcpy(&w.head, payload->data, sizeof(w.head));
	items = w.head.n * sizeof(*w.items);
	first = sizeof(w.head) + items;
	if (w.head.n > HL_SYMD_WANTED_MAX || w.head.is_cut > 1 || payload->len < first)
		return hl_err_set(err, -EPROTO, "symd listed %u files in %zu bytes", w.head.n, payload->len);
	w.items = malloc(items + 1);
	w.strings = malloc(payload->len - first + 1);
	if (!w.items || !w.strings)
		return hl_err_errno(err, -ENOMEM, "no room for a list of files");
	memcpy(w.items, payload->data + sizeof(w.head), items);
	memcpy(w.strings, payload->data + first, payload->len - first);
	for (uint32_t i = 0; i < w.head.n; i++)
		if (!is_sound(&w.items[i], first, payload->len))
			return hl_err_set(err, -EPROTO, "symd's list of files is damaged");
	hl_symd_wants_done(ret);
	*ret = w;
	w = (struct hl_symd_wants){ 0 };
	return 0;
}

int hl_symd_find_wanted(struct hl_symd *symd, uint32_t file, const struct hl_symd_lines_limits *limits,
			struct hl_symd_wants *ret, struct hl_err *err)
{
	struct hl_symd_request request = { .type = HL_SYMD_WANTED, .file = file, .length = sizeof(*limits) };
	const struct hl_str *answer;
	int r = hl_symd_call(symd, &request, limits, -1, &answer, err);

	return hl_symd_checked(symd, r < 0 ? r : take_wants(answer, ret, err));
}
