/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_DB_H
#define HL_STORE_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"

/*
 * SQLite as this folder needs it. Failures are negative errnos, so that callers can tell apart what to do:
 * -EBADMSG damaged or no database at all; -ENOSPC no room; -EROFS not to be written; -EBUSY another is at it;
 * -ENOENT and the like as open(2); -EIO what is left. The sentence in @err names the file.
 */
struct hl_db;

enum hl_db_mode {
	HL_DB_READ,  /* what is there */
	HL_DB_WRITE, /* made if it is not there */
};

int hl_db_open(const char *path, enum hl_db_mode mode, struct hl_db **ret, struct hl_err *err);
void hl_db_close(struct hl_db *db);
HL_DEFINE_CLEANUP(struct hl_db, hl_db_close)

/* Whether its file has another name now, or none: what is written to it is lost. */
bool hl_db_has_moved(const struct hl_db *db);

/*
 * Ends with all queries of which not all rows were taken: as long as one is open, SQLite cannot move what the log
 * holds to the database, and the log grows without end.
 */
void hl_db_rest(struct hl_db *db);

/* Runs all statements of @sql. 0 or -errno. */
int hl_db_run(struct hl_db *db, const char *sql, struct hl_err *err);
/* The integer that @sql gives; @ret is left alone if it gives no row. 0 or -errno. */
int hl_db_number(struct hl_db *db, const char *sql, int64_t *ret, struct hl_err *err);

/*
 * Checks that the tree of pages is sound, and with @all that rows have the form of their tables, too; other bits
 * that flipped in a row show when it is read. 0 or -EBADMSG with what is wrong.
 */
int hl_db_check(struct hl_db *db, bool all, struct hl_err *err);

/* A prepared statement; must be freed before its database is closed. */
struct hl_query;

int hl_query_new(struct hl_db *db, const char *sql, struct hl_query **ret, struct hl_err *err);
void hl_query_free(struct hl_query *query);
HL_DEFINE_CLEANUP(struct hl_query, hl_query_free)

/* A value of SQL. Bytes are borrowed. */
struct hl_value {
	enum { HL_VALUE_NULL, HL_VALUE_INT, HL_VALUE_TEXT, HL_VALUE_BLOB } type;
	int64_t number;
	const void *bytes;
	size_t len;
};
#define hl_null()             ((struct hl_value){ .type = HL_VALUE_NULL })
#define hl_int(n)             ((struct hl_value){ .type = HL_VALUE_INT, .number = (int64_t)(n) })
#define hl_text(text, size)   ((struct hl_value){ .type = HL_VALUE_TEXT, .bytes = (text), .len = (size) })
#define hl_blob(bytes_, size) ((struct hl_value){ .type = HL_VALUE_BLOB, .bytes = (bytes_), .len = (size) })

/* Gives the parameters from number @first, counted from 1. Bytes must stay until the query is bound anew. */
void hl_query_bind(struct hl_query *query, int first, const struct hl_value *values, size_t n);
#define hl_query_give(query, ...)                                         \
	hl_query_bind(query, 1, (const struct hl_value[]){ __VA_ARGS__ }, \
		      sizeof((const struct hl_value[]){ __VA_ARGS__ }) / sizeof(struct hl_value))

/* 1: a row is there; 0: done, ready to be bound again; else -errno. */
int hl_query_step(struct hl_query *query, struct hl_err *err);
/* Ends with a query of which not all rows were taken, so that it can be bound again. */
void hl_query_reset(struct hl_query *query);
/* For statements that give no row. 0 or -errno. */
int hl_query_run(struct hl_query *query, struct hl_err *err);

/* Columns of the row, counted from 0. Bytes live until the next step, never NULL; text ends with a NUL. */
int64_t hl_query_int(const struct hl_query *query, int column);
const char *hl_query_bytes(const struct hl_query *query, int column, size_t *ret_len);
struct hl_value hl_query_value(const struct hl_query *query, int column);

#endif
