// SPDX-License-Identifier: BSD-2-Clause
#include "store/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/day_merge.h"
#include "store/day_reader.h"
#include "store/days.h"
#include "store/db.h"
#include "store/schema.h"
#include "store/store.h"

enum { MAX_ROWS = 1 << 21 };

static int join(const char *dir, const char *name, struct hl_str *ret, struct hl_err *err)
{
	hl_str_clear(ret);
	hl_str_addf(ret, "%s/%s", dir, name);
	return hl_str_status(ret) ? hl_err_set(err, -ENOMEM, "no memory to copy windows") : 0;
}

/* Adds what the day at @path holds of the span to @to. */
static int copy_span(const char *path, uint64_t since_ns, uint64_t until_ns, struct hl_db *to,
		     struct hl_transferred *sum, struct hl_err *err)
{
	struct day_reader from = { 0 };
	struct day_merged merged = { 0 };
	struct hl_err why = { "" };
	int code = day_reader_open(&from, path, since_ns, until_ns, &why);

	if (!code)
		code = day_append(&from, since_ns, until_ns, to, &merged, &why);
	day_reader_done(&from);
	sum->windows += merged.windows;
	sum->samples += merged.samples;
	sum->present += merged.present;
	sum->overlapping += merged.overlapping;
	return code ? hl_err_set(err, code, "'%s': %s", path, why.text) : 0;
}

/* ---- out of a store -------------------------------------------------------------------------------------- */

static int export_days(const char *dir, uint64_t since_ns, uint64_t until_ns, struct hl_db *to,
		       struct hl_transferred *sum, struct hl_err *err)
{
	_cleanup_free_ struct hl_day *days = NULL;
	_cleanup_str_ struct hl_str path = { 0 };
	size_t n = 0;
	int code = hl_days_list(dir, &days, &n, err);

	for (size_t i = 0; i < n && !code; i++) {
		if (days[i].aside || days[i].day < since_ns / HL_DAY_NS || days[i].day > until_ns / HL_DAY_NS)
			continue;
		code = join(dir, days[i].name, &path, err);
		if (!code)
			code = copy_span(path.data, since_ns, until_ns, to, sum, err);
	}
	if (!code && !sum->windows)
		code = hl_err_set(err, -ENODATA, "the store '%s' has no windows of that time", dir);
	return code;
}

/* A name for the file until it is whole, in the folder of @path. */
static int name_beside(const char *path, struct hl_str *ret, struct hl_err *err)
{
	const char *slash = strrchr(path, '/');
	char name[HL_TEMPORARY_SIZE];

	if (!hl_temporary_name(name))
		return hl_err_errno(err, -EIO, "no random name for '%s'", path);
	hl_str_addf(ret, "%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, name);
	return hl_str_status(ret) ? hl_err_set(err, -ENOMEM, "no memory to copy windows") : 0;
}

static int write_export(const char *dir, uint64_t since_ns, uint64_t until_ns, const char *beside,
			const char *path, struct hl_transferred *sum, struct hl_err *err)
{
	struct hl_db *to = NULL;
	int code = hl_db_open(beside, HL_DB_WRITE, &to, NULL);

	if (code)
		return hl_err_errno(err, code, "cannot create '%s'", path);
	code = hl_schema_prepare(to, err);
	if (!code)
		code = hl_db_run(to, "PRAGMA journal_mode = DELETE", err);
	if (!code)
		code = export_days(dir, since_ns, until_ns, to, sum, err);
	hl_db_close(to);
	return code;
}

/* Gives the file its name, unless another has it by now. */
static int take_name(const char *beside, const char *path, struct hl_err *err)
{
	int code = renameat2(AT_FDCWD, beside, AT_FDCWD, path, RENAME_NOREPLACE) ? -errno : 0;

	if (code == -EINVAL && access(path, F_OK)) /* not every file system can tell */
		code = rename(beside, path) ? -errno : 0;
	return code ? hl_err_errno(err, code, "cannot write '%s'", path) : 0;
}

int hl_store_export(const char *dir, uint64_t since_ns, uint64_t until_ns, const char *path,
		    struct hl_transferred *ret, struct hl_err *err)
{
	_cleanup_str_ struct hl_str beside = { 0 };
	struct hl_transferred sum = { 0 };
	int code;

	if (!access(path, F_OK))
		return hl_err_set(err, -EEXIST, "'%s' is there already", path);
	code = name_beside(path, &beside, err);
	if (code)
		return code;
	code = write_export(dir, since_ns, until_ns, beside.data, path, &sum, err);
	if (!code)
		code = take_name(beside.data, path, err);
	if (!code)
		*ret = sum;
	else if (beside.data)
		(void)unlink(beside.data);
	return code;
}

/* ---- into one -------------------------------------------------------------------------------------------- */

static int import_day(const char *path, uint64_t since_ns, uint64_t until_ns, const char *dir,
		      struct hl_transferred *sum, struct hl_err *err)
{
	_cleanup_str_ struct hl_str to_path = { 0 };
	char name[HL_DAY_NAME_SIZE];
	struct hl_db *to = NULL;
	int code = join(dir, hl_day_name((uint32_t)(since_ns / HL_DAY_NS), name), &to_path, err);

	if (!code)
		code = hl_db_open(to_path.data, HL_DB_WRITE, &to, err);
	if (!code)
		code = hl_schema_prepare(to, err);
	if (!code)
		code = copy_span(path, since_ns, until_ns, to, sum, err);
	if (!code)
		code = hl_db_run(to, "PRAGMA journal_mode = DELETE", err);
	hl_db_close(to);
	return code;
}

static int compare_days(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Days in the order of time, each once. */
struct day_list {
	uint32_t *days;
	size_t n, cap;
};

static void day_list_done(struct day_list *list)
{
	free(list->days);
}

static int add_day(struct day_list *list, uint64_t ns, struct hl_err *err)
{
	uint32_t day = (uint32_t)(ns / HL_DAY_NS);

	if (list->n && list->days[list->n - 1] == day)
		return 0;
	if (hl_grow(&list->days, &list->cap, list->n + 1, sizeof(*list->days), MAX_ROWS))
		return hl_err_set(err, -ENOMEM, "no memory for the days of windows");
	list->days[list->n++] = day;
	return 0;
}

/* Of a gap the day that it ended in, as a store has it. */
static int add_gap_days(struct day_list *list, const struct day_reader *from, uint64_t since_ns,
			uint64_t until_ns, struct hl_err *err)
{
	_cleanup_(hl_query_freep) struct hl_query *query = NULL;
	int code = hl_query_new(from->db, "SELECT start + length FROM gaps ORDER BY 1", &query, err);

	while (!code && (code = hl_query_step(query, err)) == 1) {
		uint64_t end_ns = (uint64_t)hl_query_int(query, 0);

		code = end_ns > since_ns && end_ns <= until_ns && end_ns <= INT64_MAX
			       ? add_day(list, end_ns - 1, err)
			       : 0;
	}
	return code;
}

/* The days of which @path has windows or gaps in the span. */
static int find_days(const char *path, uint64_t since_ns, uint64_t until_ns, struct day_list *ret,
		     struct hl_err *err)
{
	struct day_reader from = { 0 };
	size_t n = 0;
	int code = day_reader_open(&from, path, since_ns, until_ns, err);

	for (size_t i = 0; i < from.n_windows && !code; i++)
		code = add_day(ret, from.windows[i].start_ns, err);
	if (!code)
		code = add_gap_days(ret, &from, since_ns, until_ns, err);
	day_reader_done(&from);
	if (ret->n)
		qsort(ret->days, ret->n, sizeof(*ret->days), compare_days);
	for (size_t i = 0; i < ret->n; i++)
		if (!n || ret->days[n - 1] != ret->days[i])
			ret->days[n++] = ret->days[i];
	ret->n = n;
	if (!code && n > HL_MOST_DAYS / 2)
		return hl_err_set(err, -E2BIG, "'%s' has windows of %zu days, more than a store holds", path,
				  n);
	return code;
}

/* A day cannot be added to the store that it lies in. */
static int check_foreign(const char *path, const char *dir, struct hl_err *err)
{
	_cleanup_free_ char *real = realpath(path, NULL);
	size_t len = strlen(dir);

	if (real && strncmp(real, dir, len) == 0 && real[len] == '/' && !strchr(real + len + 1, '/'))
		return hl_err_set(err, -EINVAL, "'%s' is of the store '%s' itself", path, dir);
	return 0;
}

int hl_store_import(const char *path, uint64_t since_ns, uint64_t until_ns, const char *dir,
		    struct hl_transferred *ret, struct hl_err *err)
{
	static const struct hl_store_limits none;
	/* Whose lock keeps an agent out. */
	_cleanup_(hl_store_closep) struct hl_store *store = NULL;
	_cleanup_(day_list_done) struct day_list days = { 0 };
	struct hl_transferred sum = { 0 };
	int code = hl_store_open(dir, &none, &store, err);

	if (!code)
		code = check_foreign(path, hl_store_dir(store), err);
	if (!code)
		code = find_days(path, since_ns, until_ns, &days, err);
	for (size_t i = 0; i < days.n && !code; i++) {
		uint64_t start = days.days[i] * HL_DAY_NS, end = start + HL_DAY_NS;

		code = import_day(path, start > since_ns ? start : since_ns, end < until_ns ? end : until_ns,
				  hl_store_dir(store), &sum, err);
	}
	if (!code && !sum.windows && !sum.present && !sum.overlapping)
		code = hl_err_set(err, -ENODATA, "'%s' has no windows of that time", path);
	if (!code)
		*ret = sum;
	return code;
}
