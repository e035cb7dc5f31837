// SPDX-License-Identifier: BSD-2-Clause
#include "store/db.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <sqlite3.h>

#include "base/str.h"

enum { BUSY_MS = 5000 };

struct hl_db {
	sqlite3 *handle;
	char *path;
};

struct hl_query {
	sqlite3_stmt *statement;
	struct hl_db *db;
};

static int errno_of(sqlite3 *handle, int code)
{
	int system = handle ? sqlite3_system_errno(handle) : 0;

	switch (code & 0xff) {
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_FORMAT:
	case SQLITE_ERROR: /* our statements fit our tables: others' tables are no day of ours */
	case SQLITE_SCHEMA:
	case SQLITE_CONSTRAINT: /* as do our rows */
		return -EBADMSG;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_PERM:
		return -EACCES;
	default:
		return system > 0 ? -system : -EIO;
	}
}

static int fail(const struct hl_db *db, int code, struct hl_err *err)
{
	int error = errno_of(db->handle, code);

	/* Why not is what the system says. */
	if ((code & 0xff) == SQLITE_CANTOPEN && error != -EIO)
		return hl_err_errno(err, error, "cannot open '%s'", db->path);
	return hl_err_set(err, error, "'%s': %s", db->path,
			  db->handle ? sqlite3_errmsg(db->handle) : sqlite3_errstr(code));
}

/* @path with no symbolic link in it but its last part; NULL without memory. What is not there stays as it is. */
static char *without_links(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	_cleanup_free_ char *dir = slash ? strndup(path, (size_t)(name - path)) : strdup(".");
	_cleanup_free_ char *real = dir ? realpath(dir, NULL) : NULL;
	_cleanup_str_ struct hl_str joined = { 0 };

	if (!real)
		return dir ? strdup(path) : NULL;
	hl_str_addf(&joined, "%s/%s", real, name);
	return hl_str_status(&joined) ? NULL : TAKE_PTR(joined.data);
}

int hl_db_open(const char *path, enum hl_db_mode mode, struct hl_db **ret, struct hl_err *err)
{
	int flags = mode == HL_DB_WRITE ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
	_cleanup_(hl_db_closep) struct hl_db *db = calloc(1, sizeof(*db));
	_cleanup_free_ char *real = without_links(path);
	struct stat st;
	int code;

	if (db)
		db->path = strdup(path);
	if (!db || !db->path || !real)
		return hl_err_set(err, -ENOMEM, "no memory to open '%s'", path);
	/* A link, a pipe or a directory in a store is not ours; a pipe would be waited for without end. */
	if (!lstat(real, &st) && !S_ISREG(st.st_mode))
		return hl_err_set(err, -EBADMSG, "'%s' is no regular file", path);
	code = sqlite3_open_v2(real, &db->handle, flags | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX, NULL);
	if (code)
		return fail(db, code, err);
	(void)sqlite3_extended_result_codes(db->handle, 1);
	(void)sqlite3_busy_timeout(db->handle, BUSY_MS);
	/* The file may come from elsewhere: nothing in its schema is run but tables and views. */
	(void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	(void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	*ret = TAKE_PTR(db);
	return 0;
}

void hl_db_close(struct hl_db *db)
{
	if (!db)
		return;
	(void)sqlite3_close(db->handle);
	free(db->path);
	free(db);
}

bool hl_db_has_moved(const struct hl_db *db)
{
	int moved = 0;

	(void)sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
	return moved;
}

void hl_db_rest(struct hl_db *db)
{
	for (sqlite3_stmt *s = sqlite3_next_stmt(db->handle, NULL); s; s = sqlite3_next_stmt(db->handle, s))
		if (sqlite3_stmt_busy(s))
			(void)sqlite3_reset(s);
}

int hl_db_run(struct hl_db *db, const char *sql, struct hl_err *err)
{
	int code = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);

	return code ? fail(db, code, err) : 0;
}

int hl_db_number(struct hl_db *db, const char *sql, int64_t *ret, struct hl_err *err)
{
	_cleanup_(hl_query_freep) struct hl_query *query = NULL;
	int code = hl_query_new(db, sql, &query, err);

	if (code || !query)
		return code;
	code = hl_query_step(query, err);
	if (code == 1)
		*ret = hl_query_int(query, 0);
	return code < 0 ? code : 0;
}

int hl_db_check(struct hl_db *db, bool all, struct hl_err *err)
{
	_cleanup_(hl_query_freep) struct hl_query *query = NULL;
	int code = hl_query_new(db, all ? "PRAGMA integrity_check(1)" : "PRAGMA quick_check(1)", &query, err);
	const char *said;
	size_t len;

	if (code || !query)
		return code;
	code = hl_query_step(query, err);
	if (code < 0)
		return code;
	said = hl_query_bytes(query, 0, &len);
	if (strcmp(said, "ok") == 0)
		return 0;
	/* "*** in database main ***", and on the next line what is wrong. */
	said = strchr(said, '\n') ? strchr(said, '\n') + 1 : said;
	return hl_err_set(err, -EBADMSG, "'%s' is damaged: %.*s", db->path, (int)strcspn(said, "\n"), said);
}

int hl_query_new(struct hl_db *db, const char *sql, struct hl_query **ret, struct hl_err *err)
{
	struct hl_query *query = calloc(1, sizeof(*query));
	int code;

	if (!query)
		return hl_err_set(err, -ENOMEM, "no memory to read '%s'", db->path);
	query->db = db;
	code = sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &query->statement, NULL);
	if (code) {
		code = fail(db, code, err);
		free(query);
		return code;
	}
	*ret = query;
	return 0;
}

void hl_query_free(struct hl_query *query)
{
	if (!query)
		return;
	(void)sqlite3_finalize(query->statement);
	free(query);
}

void hl_query_bind(struct hl_query *query, int first, const struct hl_value *values, size_t n)
{
	sqlite3_stmt *s = query->statement;

	for (int i = 0; i < (int)n; i++) {
		const struct hl_value *v = &values[i];

		/* What fails here shows in the step: an unbound parameter is NULL, and our columns are NOT NULL. */
		switch (v->type) {
		case HL_VALUE_INT:
			(void)sqlite3_bind_int64(s, first + i, v->number);
			break;
		case HL_VALUE_TEXT:
			(void)sqlite3_bind_text64(s, first + i, v->len ? v->bytes : "", v->len, SQLITE_STATIC,
						  SQLITE_UTF8);
			break;
		case HL_VALUE_BLOB:
			(void)sqlite3_bind_blob64(s, first + i, v->len ? v->bytes : "", v->len,
						  SQLITE_STATIC);
			break;
		default:
			(void)sqlite3_bind_null(s, first + i);
		}
	}
}

int hl_query_step(struct hl_query *query, struct hl_err *err)
{
	int code = sqlite3_step(query->statement);

	if (code == SQLITE_ROW)
		return 1;
	code = code == SQLITE_DONE ? 0 : fail(query->db, code, err);
	(void)sqlite3_reset(query->statement);
	return code;
}

void hl_query_reset(struct hl_query *query)
{
	(void)sqlite3_reset(query->statement);
}

int hl_query_run(struct hl_query *query, struct hl_err *err)
{
	int code = hl_query_step(query, err);

	if (code == 1)
		(void)sqlite3_reset(query->statement);
	return code < 0 ? code : 0;
}

int64_t hl_query_int(const struct hl_query *query, int column)
{
	return sqlite3_column_int64(query->statement, column);
}

/* Of a column of that type. */
static const char *bytes_of(const struct hl_query *query, int column, int type, size_t *ret_len)
{
	const void *bytes = type == SQLITE_BLOB ? sqlite3_column_blob(query->statement, column)
						: (const void *)sqlite3_column_text(query->statement, column);

	*ret_len = bytes ? (size_t)sqlite3_column_bytes(query->statement, column) : 0;
	return bytes ? bytes : "";
}

const char *hl_query_bytes(const struct hl_query *query, int column, size_t *ret_len)
{
	return bytes_of(query, column, sqlite3_column_type(query->statement, column), ret_len);
}

struct hl_value hl_query_value(const struct hl_query *query, int column)
{
	struct hl_value value = { .type = HL_VALUE_NULL };
	int type = sqlite3_column_type(query->statement, column);

	switch (type) {
	case SQLITE_INTEGER:
		value = hl_int(hl_query_int(query, column));
		break;
	case SQLITE_TEXT:
	case SQLITE_BLOB:
		value.type = type == SQLITE_TEXT ? HL_VALUE_TEXT : HL_VALUE_BLOB;
		value.bytes = bytes_of(query, column, type, &value.len);
		break;
	}
	return value;
}
