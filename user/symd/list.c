// SPDX-License-Identifier: BSD-2-Clause
#include "symd/list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "elf/elf.h"
#include "insn/insn.h"
#include "symd/files.h"
#include "symd/resolve.h"
#include <hotleaf/symd.h>

/*
 * A function is decoded from its start, one instruction behind the other. That loses step where there is data
 * between the instructions, and where a jump goes behind a prefix; but a place that was sampled begins an
 * instruction for certain. So decoding starts anew at each of them, and the instruction that would have
 * swallowed it is marked. First the lengths are found, then the texts are made in batches, as for samples.
 */

enum { BATCH = 1024 };

struct list {
	struct hl_symd_sources *sources;
	struct hl_symd_list_query query;
	const uint8_t *sampled, *given; /* unaligned u64; bytes */
	uint32_t flags;                 /* of the request: HL_SYMD_INTEL, HL_SYMD_WANT_LINES */
	uint8_t *code;                  /* of the function */
	size_t len;
	struct hl_symd_list head;
	struct hl_symd_row *rows;
	size_t n_rows, cap_rows;
	struct hl_str strings;
	struct hl_str path; /* the last one */
	uint32_t path_at;
};

static void done(struct list *l)
{
	free(l->code);
	free(l->rows);
	hl_str_done(&l->strings);
	hl_str_done(&l->path);
}

static uint64_t sampled_at(const struct list *l, uint32_t i)
{
	uint64_t place;

	memcpy(&place, l->sampled + i * sizeof(place), sizeof(place));
	return place;
}

static int take_request(struct list *l, const void *payload, size_t len, struct hl_err *err)
{
	size_t want = sizeof(l->query);

	if (payload && len >= want) {
		memcpy(&l->query, payload, want);
		want += (size_t)l->query.n_sampled * sizeof(uint64_t) + l->query.n_bytes;
	}
	if (!payload || len != want || l->query.n_sampled > HL_SYMD_SAMPLED_MAX ||
	    l->query.n_bytes > HL_SYMD_LIST_MAX)
		return hl_err_set(err, -EINVAL, "a request for a listing has %zu bytes, not %zu", len, want);
	l->sampled = (const uint8_t *)payload + sizeof(l->query);
	l->given = l->sampled + l->query.n_sampled * sizeof(uint64_t);
	for (uint32_t i = 1; i < l->query.n_sampled; i++)
		if (sampled_at(l, i) <= sampled_at(l, i - 1))
			return hl_err_set(err, -EINVAL, "the sampled places of a listing are not ascending");
	return 0;
}

static struct hl_symd_query query_of(const struct list *l, uint64_t where)
{
	return (struct hl_symd_query){
		.where = where, .file = l->query.file, .place = l->query.place, .flags = l->query.flags
	};
}

/* The bounds and the name of the function. */
static int find_function(struct list *l, struct hl_err *err)
{
	struct hl_symd_query query = query_of(l, l->query.where);
	_cleanup_str_ struct hl_str payload = { 0 };
	struct hl_symd_answer answer;
	int r = hl_symd_resolve_all(l->sources, &query, 1, 0, &payload);

	if (r < 0)
		return hl_err_errno(err, r, "cannot find a function");
	memcpy(&answer, payload.data, sizeof(answer));
	if (answer.size == 0 || (answer.flags & HL_SYMD_UNMAPPED)) {
		if (l->query.where - l->query.bytes_at >= l->query.n_bytes)
			return hl_err_set(err, -ENOENT, "no function is known at 0x%llx",
					  (unsigned long long)l->query.where);
		/* Of code in no file, what was given is all that is known. */
		answer.function = answer.address - (l->query.where - l->query.bytes_at);
		answer.size = l->query.n_bytes;
	}
	l->head.function = answer.function;
	l->head.size = answer.size;
	l->head.where = l->query.where - (answer.address - answer.function);
	l->head.name_len = answer.name_len;
	hl_str_add(&l->strings, payload.data + answer.name, answer.name_len);
	return hl_str_status(&l->strings);
}

/* Fills l->code from the bytes given, which need not begin or end where the function does. */
static int take_given(struct list *l, size_t want)
{
	uint64_t skip = l->head.where - l->query.bytes_at;

	if (!l->given || l->head.where < l->query.bytes_at || skip >= l->query.n_bytes)
		return -ENODATA;
	l->len = l->query.n_bytes - skip < want ? l->query.n_bytes - skip : want;
	memcpy(l->code, l->given + skip, l->len);
	return 0;
}

/* A function may have parts in several segments: what is listed is the part that has its start. */
static int read_file(struct list *l, size_t want)
{
	struct hl_symd_known *known = hl_symd_files_get(l->sources->files, l->query.file);
	const struct hl_elf_segment *s = NULL;
	long n;

	while (known && (s = hl_elf_next_code(known->elf, s))) {
		uint64_t at = l->head.function - s->address;

		if (l->head.function < s->address || at >= s->file_size)
			continue;
		l->head.where = s->offset + at;
		if (want > s->file_size - at)
			want = s->file_size - at;
		n = hl_elf_read_some(known->elf, l->head.where, l->code, want);
		l->len = n > 0 ? (size_t)n : 0;
		return l->len ? 0 : -ENODATA;
	}
	return -ENODATA;
}

static int read_code(struct list *l, struct hl_err *err)
{
	size_t want = l->head.size < HL_SYMD_LIST_MAX ? l->head.size : HL_SYMD_LIST_MAX;
	int r = -ENODATA;

	l->code = malloc(want ? want : 1);
	if (!l->code)
		return hl_err_errno(err, -ENOMEM, "cannot list a function of %zu bytes", want);
	if (l->query.n_bytes)
		r = take_given(l, want);
	else if (l->query.place == HL_SYMD_FILE)
		r = read_file(l, want);
	if (r < 0)
		return hl_err_set(err, r, "the bytes of the function at 0x%llx are not there",
				  (unsigned long long)l->head.function);
	if (l->len < l->head.size)
		l->head.flags |= HL_SYMD_LIST_CUT;
	return 0;
}

/* Where each instruction begins. */
static int find_rows(struct list *l, struct hl_decoder *decoder)
{
	uint32_t next = 0; /* the first sampled place behind @at */
	struct hl_insn insn;
	size_t at = 0, length;

	while (at < l->len) {
		struct hl_symd_row row = { .address = l->head.function + at };

		if (l->n_rows == HL_SYMD_ROWS_MAX) {
			l->head.flags |= HL_SYMD_LIST_CUT;
			break;
		}
		hl_decoder_decode(decoder, l->code + at, l->len - at, row.address, &insn);
		length = insn.length < l->len - at ? insn.length : l->len - at;
		while (next < l->query.n_sampled &&
		       (sampled_at(l, next) < l->head.where || sampled_at(l, next) - l->head.where <= at))
			next++;
		row.length = (uint8_t)length;
		memcpy(row.bytes, l->code + at, length);
		row.flags = insn.undecoded ? HL_SYMD_ROW_UNDECODED : 0;
		if (next < l->query.n_sampled && sampled_at(l, next) - l->head.where < at + length) {
			row.flags |= HL_SYMD_ROW_OVERLAPS;
			length = sampled_at(l, next) - l->head.where - at;
		}
		if (hl_grow(&l->rows, &l->cap_rows, l->n_rows + 1, sizeof(row), HL_SYMD_ROWS_MAX) < 0)
			return -ENOMEM;
		l->rows[l->n_rows++] = row;
		at += length;
	}
	return 0;
}

/* Where an instruction comes from; the path is that of the row before in most cases. */
static void add_line(struct list *l, struct hl_symd_row *row, const struct hl_symd_answer *answer,
		     const struct hl_str *payload)
{
	const char *path = payload->data + answer->file;

	if (!answer->file_len)
		return;
	if (l->path.len != answer->file_len || memcmp(l->path.data, path, answer->file_len) != 0) {
		hl_str_clear(&l->path);
		hl_str_add(&l->path, path, answer->file_len);
		l->path_at = (uint32_t)l->strings.len;
		hl_str_add(&l->strings, path, answer->file_len);
	}
	row->file = l->path_at;
	row->file_len = answer->file_len;
	row->line = answer->line;
}

static int add_texts(struct list *l, size_t from, size_t n)
{
	_cleanup_free_ struct hl_symd_query *queries = calloc(n, sizeof(*queries));
	_cleanup_str_ struct hl_str payload = { 0 };
	struct hl_symd_answer answer;
	int r;

	if (!queries)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct hl_symd_row *row = &l->rows[from + i];

		queries[i] = query_of(l, l->head.where + (row->address - l->head.function));
		queries[i].flags |= HL_SYMD_WANT_TEXT | HL_SYMD_WANT_REFERENCE;
		queries[i].code_len = row->length;
		memcpy(queries[i].code, row->bytes, row->length);
	}
	r = hl_symd_resolve_all(l->sources, queries, n, l->flags, &payload);
	for (size_t i = 0; i < n && r == 0; i++) {
		struct hl_symd_row *row = &l->rows[from + i];

		memcpy(&answer, payload.data + i * sizeof(answer), sizeof(answer));
		row->insn_class = answer.insn_class;
		row->target = answer.target;
		row->flags |= answer.target ? HL_SYMD_ROW_TARGET : 0;
		row->text = (uint32_t)l->strings.len;
		row->text_len = answer.text_len;
		hl_str_add(&l->strings, payload.data + answer.text, answer.text_len);
		add_line(l, row, &answer, &payload);
		r = hl_str_status(&l->strings) | hl_str_status(&l->path);
	}
	return r;
}

static int reply(struct list *l, struct hl_str *ret)
{
	uint32_t first = (uint32_t)(sizeof(l->head) + l->n_rows * sizeof(*l->rows));

	l->head.n_rows = (uint32_t)l->n_rows;
	l->head.name = first;
	for (size_t i = 0; i < l->n_rows; i++) {
		l->rows[i].text += first;
		l->rows[i].file += first;
	}
	hl_str_add(ret, &l->head, sizeof(l->head));
	hl_str_add(ret, l->rows, l->n_rows * sizeof(*l->rows));
	hl_str_add(ret, l->strings.data ? l->strings.data : "", l->strings.len);
	return hl_str_status(ret);
}

HL_DEFINE_CLEANUP(struct hl_decoder, hl_decoder_free)

int hl_symd_list(struct hl_symd_sources *sources, const void *payload, size_t len, uint32_t flags,
		 struct hl_str *ret_payload, struct hl_err *err)
{
	_cleanup_(done) struct list l = { .sources = sources, .flags = flags };
	_cleanup_(hl_decoder_freep) struct hl_decoder *decoder = NULL;
	int r = take_request(&l, payload, len, err);

	if (r == 0)
		r = find_function(&l, err);
	if (r == 0)
		r = read_code(&l, err);
	if (r < 0)
		return r;
	decoder = hl_decoder_new(l.query.flags & HL_SYMD_CODE_32 ? HL_INSN_MODE_32 : HL_INSN_MODE_64,
				 HL_INSN_ATT);
	r = decoder ? find_rows(&l, decoder) : -ENOMEM;
	for (size_t from = 0; from < l.n_rows && r == 0; from += BATCH)
		r = add_texts(&l, from, l.n_rows - from < BATCH ? l.n_rows - from : BATCH);
	if (r == 0)
		r = reply(&l, ret_payload);
	return r < 0 ? hl_err_errno(err, r, "cannot list the function at 0x%llx",
				    (unsigned long long)l.head.function)
		     : 0;
}
