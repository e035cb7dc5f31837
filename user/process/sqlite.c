// SPDX-License-Identifier: BSD-2-Clause
#include "process/sqlite.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/str.h"
#include "process/reach.h"

/*
 * SQLite reads a file under a lock, for which writers wait, and one with a log (WAL) in memory that all who use it
 * share and have to be able to write to. Here it sees the files through a VFS of ours: descriptors that were opened
 * before, of which nothing is locked or written, in "exclusive" mode, in which it keeps the index of the log for
 * itself. That the files did not change meanwhile is seen by looking at them before and after:
 *
 * - Without a log, a transaction writes over the file only while a journal stands beside it, and changes the counter
 *   in the file's first bytes before it ends.
 * - With one, the log has all that is not in the file yet. While it stays as it is, the file can change only to what
 *   the log has, too.
 */

enum {
	FILE_HEADER = 100, /* bytes, with the counter */
	LOG_LIMIT = 64 << 20,
	BLOCK = 1 << 16,
	MAX_TRIES = 6,
	FIRST_WAIT_NS = 2000000, /* each is twice the one before: a transaction syncs to disk several times */
	ROW_LIMIT = 1 << 16,     /* what a row has besides the text */
	TICK = 1000,             /* steps of SQLite's machine */
	MAX_TICKS = 400,
};

struct place {
	struct hl_reach *reach;
	int root_fd;
	const char *path;
};

/* The files of a database, and what tells a state of them from others. */
struct look {
	int db, log; /* -1: there is none */
	bool busy;   /* being written over */
	struct {
		uint64_t inode, size, changed_ns, header;
		uint64_t log_inode, log_size, log;
	} state;
};

/* ---- the files ----------------------------------------------------------------------------------------- */

static void close_look(struct look *look)
{
	hl_cleanup_close(&look->db);
	hl_cleanup_close(&look->log);
}

static int open_beside(const struct place *place, const char *suffix, struct stat *ret_stat)
{
	_cleanup_str_ struct hl_str path = { 0 };

	hl_str_addf(&path, "%s%s", place->path, suffix);
	return hl_str_status(&path)
		       ? -ENOMEM
		       : hl_reach_open_in_root(place->reach, place->root_fd, path.data, ret_stat);
}

static int hash_log(int fd, uint64_t *ret)
{
	_cleanup_free_ uint8_t *block = malloc(BLOCK);
	uint64_t at = 0;
	ssize_t n;

	if (!block)
		return -ENOMEM;
	while ((n = pread(fd, block, BLOCK, (off_t)at)) > 0) {
		at += (uint64_t)n;
		if (at > LOG_LIMIT)
			return -EFBIG;
		*ret = hl_hash(block, (size_t)n, *ret);
	}
	return n < 0 ? -errno : 0;
}

static int look_at_log(const struct place *place, struct look *ret)
{
	struct stat st;
	int fd = open_beside(place, "-wal", &st);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	ret->log = fd;
	ret->state.log_inode = st.st_ino;
	ret->state.log_size = (uint64_t)st.st_size;
	return hash_log(fd, &ret->state.log);
}

/* A journal that is done with is removed, cut, or its first bytes are zeros. */
static int look_at_journal(const struct place *place, struct look *ret)
{
	char first = 0;
	struct stat st;
	_cleanup_close_ int fd = open_beside(place, "-journal", &st);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	ret->busy = pread(fd, &first, 1, 0) == 1 && first;
	return 0;
}

/* To be closed, whatever is returned. */
static int look_at(const struct place *place, struct look *ret)
{
	uint8_t header[FILE_HEADER] = { 0 };
	struct stat st;
	int code;

	*ret = (struct look){ .db = -1, .log = -1 };
	ret->db = open_beside(place, "", &st);
	if (ret->db < 0)
		return ret->db;
	ret->state.inode = st.st_ino;
	ret->state.size = (uint64_t)st.st_size;
	ret->state.changed_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
	if (pread(ret->db, header, sizeof(header), 0) < 0)
		return -errno;
	ret->state.header = hl_hash(header, sizeof(header), 0);
	code = look_at_log(place, ret);
	return code ? code : look_at_journal(place, ret);
}

/* ---- what SQLite sees of them -------------------------------------------------------------------------- */

struct file {
	sqlite3_file base;
	int fd;
};

static int read_file(sqlite3_file *file, void *into, int len, sqlite3_int64 at)
{
	int fd = ((struct file *)file)->fd;
	char *bytes = into;
	ssize_t n = 0, done = 0;

	while (fd >= 0 && done < len && (n = pread(fd, bytes + done, (size_t)(len - done), at + done)) > 0)
		done += n;
	if (n < 0)
		return SQLITE_IOERR_READ;
	memset(bytes + done, 0, (size_t)(len - done));
	return done == len ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int size_of_file(sqlite3_file *file, sqlite3_int64 *ret)
{
	int fd = ((struct file *)file)->fd;
	struct stat st = { 0 };

	if (fd >= 0 && fstat(fd, &st))
		return SQLITE_IOERR_FSTAT;
	*ret = st.st_size;
	return SQLITE_OK;
}

static int write_file(sqlite3_file *file, const void *from, int len, sqlite3_int64 at)
{
	return SQLITE_READONLY;
}

static int cut_file(sqlite3_file *file, sqlite3_int64 len)
{
	return SQLITE_READONLY;
}

static int do_nothing(sqlite3_file *file)
{
	return SQLITE_OK;
}

static int do_nothing_more(sqlite3_file *file, int how)
{
	return SQLITE_OK;
}

static int is_reserved(sqlite3_file *file, int *ret)
{
	*ret = 0;
	return SQLITE_OK;
}

static int control_file(sqlite3_file *file, int what, void *arg)
{
	return SQLITE_NOTFOUND;
}

static int traits_of_file(sqlite3_file *file)
{
	return 0;
}

/* Of version 1, which has no shared memory. */
static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = do_nothing,
	.xRead = read_file,
	.xWrite = write_file,
	.xTruncate = cut_file,
	.xSync = do_nothing_more,
	.xFileSize = size_of_file,
	.xLock = do_nothing_more,
	.xUnlock = do_nothing_more,
	.xCheckReservedLock = is_reserved,
	.xFileControl = control_file,
	.xSectorSize = traits_of_file,
	.xDeviceCharacteristics = traits_of_file,
};

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
	const struct look *look = vfs->pAppData;

	file->pMethods = NULL;
	if (!(flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)))
		return SQLITE_CANTOPEN;
	((struct file *)file)->fd = flags & SQLITE_OPEN_WAL ? look->log : look->db;
	file->pMethods = &methods;
	if (ret_flags)
		*ret_flags = SQLITE_OPEN_READONLY;
	return SQLITE_OK;
}

static int remove_file(sqlite3_vfs *vfs, const char *name, int sync)
{
	return SQLITE_OK;
}

static int is_there(sqlite3_vfs *vfs, const char *name, int how, int *ret)
{
	*ret = hl_ends_with(name, "-wal") && ((const struct look *)vfs->pAppData)->log >= 0;
	return SQLITE_OK;
}

static int full_name(sqlite3_vfs *vfs, const char *name, int size, char *ret)
{
	(void)snprintf(ret, (size_t)size, "%s", name);
	return SQLITE_OK;
}

static int no_luck(sqlite3_vfs *vfs, int len, char *ret)
{
	memset(ret, 0, (size_t)len);
	return len;
}

static int no_sleep(sqlite3_vfs *vfs, int us)
{
	return 0;
}

static int no_time(sqlite3_vfs *vfs, double *ret)
{
	*ret = 0;
	return SQLITE_OK;
}

/* ---- the question -------------------------------------------------------------------------------------- */

static int errno_of(int code)
{
	switch (code & 0xff) {
	case SQLITE_OK:
	case SQLITE_DONE:
		return 0;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_TOOBIG:
		return -EFBIG;
	case SQLITE_IOERR:
		return code == SQLITE_IOERR_SHORT_READ ? -EBADMSG : -EIO;
	default:
		return -EBADMSG;
	}
}

/* Ends what goes on for too long: who made the file may have wanted that. */
static int tick(void *ctx)
{
	return ++*(int *)ctx > MAX_TICKS;
}

static int take_text(sqlite3_stmt *statement, size_t limit, char **ret, size_t *ret_len)
{
	/* Go's []byte comes as a blob, whatever the column's type. */
	const void *bytes = sqlite3_column_type(statement, 0) == SQLITE_BLOB
				    ? sqlite3_column_blob(statement, 0)
				    : (const void *)sqlite3_column_text(statement, 0);
	size_t len = (size_t)sqlite3_column_bytes(statement, 0);
	char *copy;

	if (len > limit)
		return -EFBIG;
	copy = calloc(1, len + 1);
	if (!copy)
		return -ENOMEM;
	if (bytes)
		memcpy(copy, bytes, len);
	*ret = copy;
	*ret_len = len;
	return 0;
}

static int ask(sqlite3 *db, const char *sql, const char *key, size_t limit, char **ret, size_t *ret_len)
{
	sqlite3_stmt *statement = NULL;
	int code, status;

	code = sqlite3_exec(db, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL);
	if (!code)
		code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
	if (!code)
		code = sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
	if (!code)
		code = sqlite3_step(statement);
	if (code == SQLITE_ROW)
		status = take_text(statement, limit, ret, ret_len);
	else
		status = code == SQLITE_DONE ? -ENOENT : errno_of(code);
	(void)sqlite3_finalize(statement);
	return status;
}

static int ask_files(const struct look *look, const char *sql, const char *key, size_t limit, char **ret,
		     size_t *ret_len)
{
	char name[32];
	sqlite3_vfs vfs = {
		.iVersion = 1,
		.szOsFile = sizeof(struct file),
		.mxPathname = 64,
		.zName = name,
		.pAppData = (void *)look,
		.xOpen = open_file,
		.xDelete = remove_file,
		.xAccess = is_there,
		.xFullPathname = full_name,
		.xRandomness = no_luck,
		.xSleep = no_sleep,
		.xCurrentTime = no_time,
	};
	sqlite3 *db = NULL;
	int ticks = 0, code;

	(void)snprintf(name, sizeof(name), "%p", (void *)&vfs);
	code = sqlite3_vfs_register(&vfs, /* makeDflt= */ 0);
	if (code)
		return errno_of(code);
	code = sqlite3_open_v2("db", &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, name);
	if (code) {
		code = errno_of(code);
	} else {
		(void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, (int)limit + ROW_LIMIT);
		(void)sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
		(void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
		sqlite3_progress_handler(db, TICK, tick, &ticks);
		code = ask(db, sql, key, limit, ret, ret_len);
	}
	(void)sqlite3_close(db);
	(void)sqlite3_vfs_unregister(&vfs);
	return code;
}

/* Whether the answer to @sql is of one state; then it is in @ret_code. */
static bool try_once(const struct place *place, const char *sql, const char *key, size_t limit, char **ret,
		     size_t *ret_len, int *ret_code)
{
	struct look before, after = { .db = -1, .log = -1 };
	bool same = true;

	*ret_code = look_at(place, &before);
	if (!*ret_code) {
		if (!before.busy)
			*ret_code = ask_files(&before, sql, key, limit, ret, ret_len);
		same = !before.busy && !look_at(place, &after) && !after.busy &&
		       !memcmp(&before.state, &after.state, sizeof(before.state));
		close_look(&after);
	}
	close_look(&before);
	return same;
}

int hl_sqlite_get(struct hl_reach *reach, int root_fd, const char *path, const char *sql, const char *key,
		  size_t limit, char **ret, size_t *ret_len)
{
	const struct place place = { reach, root_fd, path };
	struct timespec wait = { .tv_nsec = FIRST_WAIT_NS };

	for (int tries = 0; tries < MAX_TRIES; tries++) {
		_cleanup_free_ char *text = NULL;
		size_t len = 0;
		int code;

		if (tries) {
			(void)nanosleep(&wait, NULL);
			wait.tv_nsec *= 2;
		}
		if (!try_once(&place, sql, key, limit, &text, &len, &code))
			continue;
		if (code)
			return code;
		*ret = TAKE_PTR(text);
		*ret_len = len;
		return 0;
	}
	return -EAGAIN;
}
