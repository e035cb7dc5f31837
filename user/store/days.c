// SPDX-License-Identifier: BSD-2-Clause
#include "store/days.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

enum { DATE_LEN = 10 };

static const char extension[] = ".db";
/* What SQLite keeps beside a database while it is in use. */
static const char *const companions[] = { "", "-wal", "-shm", "-journal" };
enum { N_COMPANIONS = sizeof(companions) / sizeof(companions[0]) };

char *hl_day_name(uint32_t day, char buf[static HL_DAY_NAME_SIZE])
{
	time_t seconds = (time_t)day * 86400;
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || !strftime(buf, HL_DAY_NAME_SIZE, "%Y-%m-%d.db", &tm))
		buf[0] = '\0';
	return buf;
}

/* Whether @name is that of a day; only names that we would give ourselves are. */
static bool parse_name(const char *name, struct hl_day *ret)
{
	char again[HL_DAY_NAME_SIZE];
	struct tm tm = { 0 };
	size_t len = DATE_LEN + strlen(extension);

	if (strlen(name) >= sizeof(ret->name) || strlen(name) < len ||
	    sscanf(name, "%4d-%2d-%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday) != 3)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	ret->day = (uint32_t)(timegm(&tm) / 86400);
	if (strncmp(hl_day_name(ret->day, again), name, len) != 0 || (name[len] && name[len] != '.'))
		return false;
	for (int i = 1; i < N_COMPANIONS; i++)
		if (hl_ends_with(name, companions[i]))
			return false;
	ret->aside = name[len] != '\0';
	memcpy(ret->name, name, strlen(name) + 1);
	return true;
}

static uint64_t bytes_of(int dir_fd, const char *name)
{
	uint64_t bytes = 0;
	char path[80];
	struct stat st;

	for (int i = 0; i < N_COMPANIONS; i++) {
		(void)snprintf(path, sizeof(path), "%.63s%s", name, companions[i]);
		if (!fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW))
			bytes += (uint64_t)st.st_blocks * 512;
	}
	return bytes;
}

static int compare_days(const void *a, const void *b)
{
	const struct hl_day *x = a, *y = b;

	if (x->day != y->day)
		return x->day < y->day ? -1 : 1;
	return x->aside != y->aside ? x->aside - y->aside : strcmp(x->name, y->name);
}

int hl_days_fail(const char *dir, int code, struct hl_err *err)
{
	if (code == -ENOENT)
		return hl_err_set(err, code,
				  "there is no store '%s': `hotleaf agent` makes one, --store says where",
				  dir);
	return hl_err_errno(err, code, "cannot open the store '%s'", dir);
}

int hl_days_list(const char *dir, struct hl_day **ret, size_t *ret_n, struct hl_err *err)
{
	_cleanup_closedir_ DIR *stream = opendir(dir);
	_cleanup_free_ struct hl_day *days = NULL;
	size_t n = 0, cap = 0;
	struct dirent *entry;

	if (!stream)
		return hl_days_fail(dir, -errno, err);
	while ((entry = readdir(stream))) {
		if (hl_grow(&days, &cap, n + 1, sizeof(*days), HL_MOST_DAYS))
			return hl_err_set(err, -ENOMEM, "no memory to list the store '%s'", dir);
		if (!parse_name(entry->d_name, &days[n]))
			continue;
		days[n].bytes = bytes_of(dirfd(stream), days[n].name);
		n++;
	}
	if (n)
		qsort(days, n, sizeof(*days), compare_days);
	*ret = TAKE_PTR(days);
	*ret_n = n;
	return 0;
}

/* ---- retention ----------------------------------------------------------------------------------------- */

/* The database first: without it the rest is nothing, and no reader opens it any more. */
static int remove_day(const char *dir, const char *name, struct hl_err *err)
{
	_cleanup_str_ struct hl_str path = { 0 };

	for (int i = 0; i < N_COMPANIONS; i++) {
		hl_str_clear(&path);
		hl_str_addf(&path, "%s/%s%s", dir, name, companions[i]);
		if (hl_str_status(&path))
			return hl_err_set(err, -ENOMEM, "no memory to remove '%s'", name);
		if (unlink(path.data) && errno != ENOENT)
			return hl_err_errno(err, -errno, "cannot remove '%s'", path.data);
	}
	return 0;
}

static uint64_t free_bytes(const char *dir)
{
	struct statvfs fs;

	return statvfs(dir, &fs) ? UINT64_MAX : (uint64_t)fs.f_bavail * fs.f_frsize;
}

int hl_days_prune(const char *dir, const struct hl_store_limits *limits, uint64_t now_ns,
		  unsigned int *ret_removed, struct hl_err *err)
{
	_cleanup_free_ struct hl_day *days = NULL;
	uint32_t today = (uint32_t)(now_ns / HL_DAY_NS);
	uint64_t total = 0;
	struct hl_err each;
	size_t n = 0;
	int code = hl_days_list(dir, &days, &n, err), failed;

	if (code)
		return code;
	*ret_removed = 0;
	for (size_t i = 0; i < n; i++)
		total += days[i].bytes;
	for (size_t i = 0; i < n; i++) {
		uint64_t end = (days[i].day + UINT64_C(1)) * HL_DAY_NS;
		bool old = limits->max_age_ns && now_ns > end && now_ns - end > limits->max_age_ns;
		bool large = limits->max_bytes && total > limits->max_bytes;
		bool full = limits->min_free && free_bytes(dir) < limits->min_free;

		if (!old && !large && !full)
			break;
		if (days[i].day >= today && !days[i].aside)
			continue;
		failed = remove_day(dir, days[i].name, code ? &each : err);
		if (failed) {
			code = code ? code : failed;
			continue;
		}
		total -= days[i].bytes;
		(*ret_removed)++;
	}
	if (limits->max_bytes && total > limits->max_bytes)
		return hl_err_set(
			err, -ENOSPC,
			"the store '%s' has reached its size limit, and no older day is left to remove", dir);
	if (limits->min_free && free_bytes(dir) < limits->min_free)
		return hl_err_set(err, -ENOSPC,
				  "the file system of '%s' has less free space than is to be left, and no "
				  "older day is left to remove",
				  dir);
	return code;
}

/* ---- files that are of no use -------------------------------------------------------------------------- */

int hl_days_set_aside(const char *dir, uint32_t day, const char *why, uint64_t now_ns, char *ret_name,
		      size_t size, struct hl_err *err)
{
	char day_name[HL_DAY_NAME_SIZE], time[HL_TIME_SIZE];
	_cleanup_str_ struct hl_str from = { 0 }, to = { 0 };

	(void)hl_day_name(day, day_name);
	(void)snprintf(ret_name, size, "%s.%s-%s", day_name, why, hl_time_file_name(now_ns, time));
	/* What stands beside goes first: a new database must not find an old one's log. */
	for (int i = N_COMPANIONS; i-- > 0;) {
		hl_str_clear(&from);
		hl_str_clear(&to);
		hl_str_addf(&from, "%s/%s%s", dir, day_name, companions[i]);
		hl_str_addf(&to, "%s/%s%s", dir, ret_name, companions[i]);
		if (hl_str_status(&from) || hl_str_status(&to))
			return hl_err_set(err, -ENOMEM, "no memory to rename '%s'", day_name);
		if (rename(from.data, to.data) && errno != ENOENT)
			return hl_err_errno(err, -errno, "cannot rename '%s'", from.data);
	}
	return 0;
}
