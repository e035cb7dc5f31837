// SPDX-License-Identifier: BSD-2-Clause
#include "symd/lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "elf/elf.h"
#include "symbol/inlines.h"
#include "symd/files.h"
#include "symd/number.h"

/* Descriptors that wait for a LINES; names longer than paths can be; the largest table that is believed. */
enum { MAX_PENDING = 256, MAX_NAME = 4096 };
#define MAX_TABLE ((size_t)1 << 30)

HL_DEFINE_CLEANUP(struct hl_elf, hl_elf_free)

/* File @number, or NULL, which is -ENOENT. */
static struct hl_symd_known *get_known(struct hl_symd_files *files, uint32_t number, struct hl_err *err)
{
	struct hl_symd_known *known = hl_symd_files_get(files, number);

	if (!known)
		(void)hl_err_set(err, -ENOENT, "'%s' is not known", HL_FILE_CALLED(number));
	return known;
}

static int get_limits(const void *payload, size_t len, struct hl_inlines_limits *ret, struct hl_err *err)
{
	struct hl_symd_lines_limits limits;

	if (len != sizeof(limits))
		return hl_err_set(err, -EINVAL, "limits of %zu bytes", len);
	memcpy(&limits, payload, sizeof(limits));
	*ret = (struct hl_inlines_limits){ limits.memory,
					   hl_monotonic_ns() + limits.time_ms * UINT64_C(1000000) };
	return 0;
}

static struct hl_inlines_source source_of(const struct hl_symd_known *known)
{
	return (struct hl_inlines_source){ .elf = known->elf,
					   .debug = known->debug,
					   .alt = known->alt,
					   .dwos = (const struct hl_elf *const *)known->dwos,
					   .n_dwos = known->n_dwos };
}

/* 1 if the wanted file is an alternate file with the build-id of @ctx. */
static int is_wanted_alt(void *ctx, const struct hl_inlines_wanted *wanted)
{
	uint8_t id[HL_ELF_BUILD_ID_MAX];
	size_t len = hl_elf_build_id(ctx, id);

	return wanted->is_alt && len == wanted->id_len && memcmp(id, wanted->id, len) == 0;
}

static int add_alt(struct hl_symd_files *files, struct hl_symd_known *known, struct hl_elf **alt,
		   struct hl_err *err)
{
	/* The alternate file's name stands in a small section, read first: the limits are not reached. */
	const struct hl_inlines_limits limits = { 1 << 20, UINT64_MAX };
	struct hl_inlines_source source = source_of(known);
	int r;

	source.alt = NULL;
	r = hl_symd_known_read(known, err);
	if (r < 0)
		return r;
	r = hl_inlines_wants(&source, &limits, is_wanted_alt, *alt, NULL);
	if (r != 1)
		return hl_err_set(err, -ESTALE, "'%s' is of another build", hl_elf_name(*alt));
	files->n_pending += known->alt == NULL;
	hl_elf_free(known->alt);
	known->alt = TAKE_PTR(*alt);
	return 0;
}

static int add_part(struct hl_symd_files *files, const struct hl_symd_request *request, int fd,
		    struct hl_err *err)
{
	_cleanup_(hl_elf_freep) struct hl_elf *elf = NULL;
	struct hl_symd_known *known;
	char name[48];
	int r;

	known = get_known(files, request->file, err);
	if (!known)
		return -ENOENT;
	if (files->n_pending >= MAX_PENDING)
		return hl_err_set(err, -EMFILE, "more than %d files of debug information wait", MAX_PENDING);
	(void)snprintf(name, sizeof(name), "%s file of %s",
		       request->type == HL_SYMD_ADD_ALT ? "alternate" : ".dwo",
		       HL_FILE_CALLED(request->file));
	r = hl_elf_open(fd, name, &elf, err);
	if (r < 0)
		return r;
	if (request->type == HL_SYMD_ADD_ALT)
		return add_alt(files, known, &elf, err);
	r = hl_grow(&known->dwos, &known->cap_dwos, known->n_dwos + 1, sizeof(struct hl_elf *), MAX_PENDING);
	if (r < 0)
		return hl_err_errno(err, r, "no room for '%s'", name);
	known->dwos[known->n_dwos++] = TAKE_PTR(elf);
	files->n_pending++;
	return 0;
}

static void describe(const struct hl_symd_known *known, struct hl_symd_lines *ret)
{
	struct hl_inlines_header header = { 0 };

	if (known->lines)
		memcpy(&header, known->lines, sizeof(header));
	*ret = (struct hl_symd_lines){ .n_ranges = header.n_ranges,
				       .n_locations = header.n_locations,
				       .length = known->lines_len,
				       .damaged_units = header.damaged_units,
				       .deep_functions = header.deep_functions,
				       .missing_dwo = header.missing_dwo };
}

static int answer(const struct hl_symd_request *request, const struct hl_symd_known *known,
		  struct hl_str *ret_payload, struct hl_err *err)
{
	struct hl_symd_lines lines;

	describe(known, &lines);
	hl_str_add(ret_payload, &lines, sizeof(lines));
	if (request->flags & HL_SYMD_WANT_TABLE)
		hl_str_add(ret_payload, known->lines, known->lines_len);
	if (hl_str_status(ret_payload) < 0)
		return hl_err_errno(err, -ENOMEM, "the table of %s", HL_FILE_CALLED(request->file));
	return 0;
}

static int build(struct hl_symd_files *files, const struct hl_symd_request *request, const void *payload,
		 size_t len, struct hl_str *ret_payload, struct hl_err *err)
{
	struct hl_inlines_limits limits = { 0 };
	struct hl_inlines_source source;
	struct hl_symd_known *known;
	uint8_t *table = NULL;
	size_t table_len = 0;
	int r = get_limits(payload, len, &limits, err);

	if (r < 0)
		return r;
	known = get_known(files, request->file, err);
	if (!known)
		return -ENOENT;
	source = source_of(known);
	if (hl_elf_is_suspended(known->elf) || (known->debug && hl_elf_is_suspended(known->debug)))
		r = hl_err_set(err, -EBADF, "'%s' is no longer open", HL_FILE_CALLED(request->file));
	if (r == 0)
		r = hl_symd_known_read(known, err);
	if (r == 0)
		r = hl_inlines_build(&source, &limits, &table, &table_len, err);
	hl_symd_files_drop_pending(files, known);
	if (r < 0)
		return r;
	free(known->lines);
	known->lines = table;
	known->lines_len = table_len;
	return answer(request, known, ret_payload, err);
}

/* Reads a table that was built before: by us, but who gives it need not be believed. */
static int read_table(int fd, uint8_t **ret, size_t *ret_len, struct hl_err *err)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	size_t done = 0, len;
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > MAX_TABLE)
		return hl_err_set(err, -EBADMSG, "a table of lines is no file, or too long");
	len = (size_t)st.st_size;
	bytes = malloc(len + 1);
	if (!bytes)
		return hl_err_errno(err, -ENOMEM, "a table of lines");
	while (done < len) {
		n = pread(fd, bytes + done, len - done, (off_t)done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return hl_err_set(err, -EBADMSG, "a table of lines ends early");
		done += (size_t)n;
	}
	if (hl_inlines_check(bytes, len, err) < 0)
		return -EBADMSG;
	*ret = TAKE_PTR(bytes);
	*ret_len = len;
	return 0;
}

static int take_table(struct hl_symd_files *files, const struct hl_symd_request *request, int fd,
		      struct hl_str *ret_payload, struct hl_err *err)
{
	struct hl_symd_known *known;
	uint8_t *table = NULL;
	size_t len = 0;
	int r;

	known = get_known(files, request->file, err);
	if (!known)
		return -ENOENT;
	r = read_table(fd, &table, &len, err);
	if (r < 0)
		return r;
	free(known->lines);
	known->lines = table;
	known->lines_len = len;
	return answer(request, known, ret_payload, err);
}

struct list {
	struct hl_symd_wanted_list head;
	struct hl_symd_wanted items[HL_SYMD_WANTED_MAX];
	struct hl_str strings;
};

static void add_string(struct hl_str *strings, const char *text, __u32 *ret_offset, __u32 *ret_len)
{
	*ret_offset = (__u32)strings->len;
	*ret_len = text ? (__u32)strnlen(text, MAX_NAME) : 0;
	if (text)
		hl_str_add(strings, text, *ret_len);
}

static int add_wanted(void *ctx, const struct hl_inlines_wanted *wanted)
{
	struct list *list = ctx;
	struct hl_symd_wanted *item;

	list->head.is_cut = list->head.n == HL_SYMD_WANTED_MAX;
	if (list->head.is_cut)
		return 1;
	item = &list->items[list->head.n++];
	*item = (struct hl_symd_wanted){ .id_len = (__u32)wanted->id_len, .is_alt = wanted->is_alt };
	memcpy(item->id, wanted->id, wanted->id_len);
	add_string(&list->strings, wanted->name, &item->name, &item->name_len);
	add_string(&list->strings, wanted->directory, &item->directory, &item->directory_len);
	return hl_str_status(&list->strings);
}

static int list_wanted(struct hl_symd_files *files, const struct hl_symd_request *request,
		       const void *payload, size_t len, struct hl_str *ret_payload, struct hl_err *err)
{
	_cleanup_free_ struct list *list = calloc(1, sizeof(*list));
	struct hl_inlines_limits limits = { 0 };
	struct hl_inlines_source source;
	struct hl_symd_known *known;
	size_t items;
	int r = get_limits(payload, len, &limits, err);

	if (!list)
		return hl_err_errno(err, -ENOMEM, "%s", HL_FILE_CALLED(request->file));
	if (r < 0)
		return r;
	known = get_known(files, request->file, err);
	if (!known)
		return -ENOENT;
	r = hl_symd_known_read(known, err);
	if (r < 0)
		return r;
	source = source_of(known);
	r = hl_inlines_wants(&source, &limits, add_wanted, list, err);
	items = list->head.n * sizeof(list->items[0]);
	for (size_t i = 0; i < list->head.n; i++) {
		list->items[i].name += (__u32)(sizeof(list->head) + items);
		list->items[i].directory += (__u32)(sizeof(list->head) + items);
	}
	if (r >= 0) {
		hl_str_add(ret_payload, &list->head, sizeof(list->head));
		hl_str_add(ret_payload, list->items, items);
		hl_str_add(ret_payload, list->strings.data, list->strings.len);
		r = hl_str_status(ret_payload);
	}
	hl_str_done(&list->strings);
	return r;
}

int hl_symd_lines_handle(struct hl_symd_files *files, const struct hl_symd_request *request,
			 const void *payload, size_t len, int fd, struct hl_str *ret_payload,
			 struct hl_err *err)
{
	switch (request->type) {
	case HL_SYMD_ADD_ALT:
	case HL_SYMD_ADD_DWO:
		return add_part(files, request, fd, err);
	case HL_SYMD_LINES:
		return build(files, request, payload, len, ret_payload, err);
	case HL_SYMD_ADD_LINES:
		return take_table(files, request, fd, ret_payload, err);
	default:
		return list_wanted(files, request, payload, len, ret_payload, err);
	}
}
