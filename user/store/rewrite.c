// SPDX-License-Identifier: BSD-2-Clause
#include "store/rewrite.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "store/day_merge.h"
#include "store/day_reader.h"
#include "store/days.h"
#include "store/db.h"
#include "store/schema.h"

/* A day on its way. */
struct rewriting {
	struct hl_str path, fresh; /* the old file, and the new one until it replaces that */
	uint64_t span_ns;
	struct hl_db *old;
	int64_t version; /* of what the old one held when it was opened */
};

static int path_in(const char *dir, const char *prefix, const char *name, const char *suffix,
		   struct hl_str *ret, struct hl_err *err)
{
	hl_str_clear(ret);
	hl_str_addf(ret, "%s/%s%s%s", dir, prefix, name, suffix);
	return hl_str_status(ret) ? hl_err_set(err, -ENOMEM, "no memory to rewrite a day") : 0;
}

/* ---- which days ------------------------------------------------------------------------------------------ */

/* The span to which the windows of a day that old are to be summed; 0: they stay as they are. */
static uint64_t wanted_span(const struct hl_day *day, const struct hl_store_limits *limits, uint64_t now_ns)
{
	uint64_t end_ns = (day->day + UINT64_C(1)) * HL_DAY_NS,
		 age_ns = now_ns > end_ns ? now_ns - end_ns : 0;

	if (day->aside || now_ns < end_ns)
		return 0;
	if (limits->minutes_ns && age_ns >= limits->minutes_ns)
		return HL_HOUR_NS;
	return limits->windows_ns && age_ns >= limits->windows_ns ? HL_MINUTE_NS : 0;
}

/* The span to which they are summed; 0: none, or it cannot be read. */
static uint64_t present_span(const char *path)
{
	int64_t span = 0;
	struct hl_db *db;

	if (hl_db_open(path, HL_DB_READ, &db, NULL))
		return 0;
	if (hl_schema_check(db, NULL) ||
	    hl_db_number(db, "SELECT value FROM facts WHERE name = 'span'", &span, NULL) || span < 0)
		span = 0;
	hl_db_close(db);
	return (uint64_t)span;
}

/* 0 if @day is not due; else its span. */
static uint64_t is_due(const char *dir, const struct hl_day *day, const struct hl_store_limits *limits,
		       uint64_t now_ns)
{
	_cleanup_str_ struct hl_str path = { 0 };
	uint64_t span_ns = wanted_span(day, limits, now_ns);

	if (!span_ns || path_in(dir, "", day->name, "", &path, NULL))
		return 0;
	return present_span(path.data) < span_ns ? span_ns : 0;
}

bool hl_store_rewrite_due(const char *dir, const struct hl_store_limits *limits, uint64_t now_ns)
{
	_cleanup_free_ struct hl_day *days = NULL;
	size_t n = 0;

	if (hl_days_list(dir, &days, &n, NULL))
		return false;
	for (size_t i = 0; i < n; i++)
		if (is_due(dir, &days[i], limits, now_ns))
			return true;
	return false;
}

/* ---- one day --------------------------------------------------------------------------------------------- */

/*
 * Takes up the old day as a whole: what a killed agent left in the log beside it goes into it first. The log must
 * not be there when the new file takes the name, for it would be taken for that file's.
 */
static int open_old(struct rewriting *r, struct hl_err *err)
{
	int64_t logged = 1;
	int code = hl_db_open(r->path.data, HL_DB_WRITE, &r->old, err);

	if (!code)
		code = hl_schema_check(r->old, err);
	if (!code)
		code = hl_db_run(r->old, "PRAGMA journal_mode = DELETE", err);
	if (!code)
		code = hl_db_number(r->old,
				    "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'",
				    &logged, err);
	if (!code && logged)
		code = hl_err_set(err, -EBUSY, "'%s' is in use", r->path.data);
	return code ? code : hl_db_number(r->old, "PRAGMA data_version", &r->version, err);
}

static int has_room(const struct rewriting *r, const char *dir, struct hl_err *err)
{
	struct statvfs fs;
	struct stat st;

	if (stat(r->path.data, &st) || statvfs(dir, &fs))
		return hl_err_errno(err, -errno, "cannot look at '%s'", r->path.data);
	if ((uint64_t)fs.f_bavail * fs.f_frsize > (uint64_t)st.st_size)
		return 0;
	return hl_err_set(err, -ENOSPC, "no space left to rewrite '%s'", r->path.data);
}

static int write_fresh(const struct rewriting *r, struct hl_err *err)
{
	struct day_reader from = { 0 };
	struct hl_db *to = NULL;
	/* Of no use before it is whole, so that nothing is done to keep it meanwhile. */
	int code = hl_db_open(r->fresh.data, HL_DB_WRITE, &to, err);

	if (!code)
		code = hl_schema_prepare(to, err);
	if (!code)
		code = hl_db_run(
			to,
			"PRAGMA journal_mode = DELETE; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
			"PRAGMA cache_size = -8192; PRAGMA locking_mode = EXCLUSIVE",
			err);
	if (!code)
		code = day_reader_open(&from, r->path.data, 0, INT64_MAX, err);
	/* Each statement sees what there is then: that it is the same for all is looked at in the end. */
	if (!code)
		code = hl_db_run(from.db, "COMMIT", err);
	if (!code)
		code = day_merge(&from, to, r->span_ns, err);
	day_reader_done(&from);
	hl_db_close(to);
	return code;
}

static int sync_file(const char *path, int flags, struct hl_err *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | flags);

	if (fd < 0 || fsync(fd))
		return hl_err_errno(err, -errno, "cannot write '%s' to disk", path);
	return 0;
}

/* Under a lock that keeps writers out, if none wrote since the old day was opened. */
static int replace_old(const struct rewriting *r, const char *dir, struct hl_err *err)
{
	int64_t version = 0, logged = 1;
	int code = hl_db_run(r->old, "BEGIN EXCLUSIVE", err);

	if (!code)
		code = hl_db_number(r->old, "PRAGMA data_version", &version, err);
	if (!code)
		code = hl_db_number(r->old,
				    "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'",
				    &logged, err);
	if (!code && (logged || version != r->version || hl_db_has_moved(r->old)))
		code = hl_err_set(err, -EBUSY, "'%s' was written to meanwhile", r->path.data);
	if (!code && rename(r->fresh.data, r->path.data))
		code = hl_err_errno(err, -errno, "cannot replace '%s'", r->path.data);
	return code ? code : sync_file(dir, O_DIRECTORY, err);
}

static int rewrite_day(const char *dir, const struct hl_day *day, uint64_t span_ns, struct hl_err *err)
{
	struct rewriting r = { .span_ns = span_ns };
	struct stat st;
	int code = path_in(dir, "", day->name, "", &r.path, err);

	if (!code)
		code = path_in(dir, ".", day->name, ".new", &r.fresh, err);
	if (!code)
		code = has_room(&r, dir, err);
	if (!code)
		code = open_old(&r, err);
	if (!code)
		code = write_fresh(&r, err);
	if (!code && !stat(r.path.data, &st))
		(void)!chmod(r.fresh.data, st.st_mode & 0777);
	if (!code)
		code = sync_file(r.fresh.data, 0, err);
	if (!code)
		code = replace_old(&r, dir, err);
	if (code && r.fresh.data)
		(void)unlink(r.fresh.data);
	hl_db_close(r.old);
	hl_str_done(&r.path);
	hl_str_done(&r.fresh);
	return code;
}

/* ---- all of them ----------------------------------------------------------------------------------------- */

/* Whether @name is that of a new file of a day, ".2026-11-30.db.new", or of what SQLite keeps beside it. */
static bool is_fresh(const char *name)
{
	static const char form[] = ".0000-00-00.db.new";
	size_t i;

	for (i = 0; form[i]; i++)
		if (form[i] == '0' ? !isdigit((unsigned char)name[i]) : name[i] != form[i])
			return false;
	return !name[i] || name[i] == '-';
}

/* What another left that was killed; also of days that are gone by now. */
static void remove_left(const char *dir)
{
	_cleanup_closedir_ DIR *stream = opendir(dir);
	struct dirent *entry;

	while (stream && (entry = readdir(stream)))
		if (is_fresh(entry->d_name))
			(void)unlinkat(dirfd(stream), entry->d_name, 0);
}

/* One at a time. */
static int take_lock(const char *dir, int *ret, struct hl_err *err)
{
	_cleanup_str_ struct hl_str path = { 0 };
	_cleanup_close_ int fd = -1;
	int code = path_in(dir, "", "rewrite.lock", "", &path, err);

	if (code)
		return code;
	fd = open(path.data, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0640);
	if (fd < 0)
		return hl_err_errno(err, -errno, "cannot open '%s'", path.data);
	if (flock(fd, LOCK_EX | LOCK_NB))
		return hl_err_set(err, -EBUSY, "another hotleaf rewrites the store '%s'", dir);
	remove_left(dir);
	*ret = TAKE_FD(fd);
	return 0;
}

int hl_store_rewrite(const char *dir, const struct hl_store_limits *limits, uint64_t now_ns,
		     unsigned int *ret, struct hl_err *err)
{
	_cleanup_free_ struct hl_day *days = NULL;
	_cleanup_close_ int lock = -1;
	struct hl_err each;
	size_t n = 0;
	int code = hl_days_list(dir, &days, &n, err), first = 0;

	if (!code)
		code = take_lock(dir, &lock, err);
	if (code)
		return code;
	*ret = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t span_ns = is_due(dir, &days[i], limits, now_ns);

		code = span_ns ? rewrite_day(dir, &days[i], span_ns, &each) : 0;
		*ret += span_ns && !code;
		if (code && !first) {
			first = code;
			if (err)
				*err = each;
		}
	}
	return first;
}
