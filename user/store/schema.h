/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_SCHEMA_H
#define HL_STORE_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#include "store/db.h"

/*
 * The tables of a day, as a person with the sqlite3 shell sees them too; every column is described in
 * schema.c. Raised whenever an older hotleaf would misread what a newer one writes: not for tables that it
 * passes over. A day may lack those of bodies; its next writer adds them.
 */
enum { HL_SCHEMA_VERSION = 2 };

/*
 * The tables whose rows are interned: written once each and then named by number; see ids.h. Values are part of
 * checksums: never renumbered.
 */
enum hl_table {
	HL_TABLE_SOURCES = 0,
	HL_TABLE_REASONS = 1,
	HL_TABLE_NOTES = 2,
	HL_TABLE_CONTAINERS = 3,
	HL_TABLE_CGROUPS = 4,
	HL_TABLE_SERVICES = 5,
	HL_TABLE_PROCESSES = 6,
	HL_TABLE_THREADS = 7,
	HL_TABLE_MODULES = 8,
	HL_TABLE_BINARIES = 9,
	HL_TABLE_FRAMES = 10,
	HL_N_INTERNED,
	/* The others whose rows have a checksum. */
	HL_TABLE_WINDOWS = 11,
	HL_TABLE_LOSSES = 12,
	HL_TABLE_WINDOW_NOTES = 13,
	HL_TABLE_GAPS = 14,
	HL_TABLE_CODES = 15,
	HL_TABLE_FUNCTIONS = 16,
	HL_N_TABLES
};

/* Name and number of columns, without the first and the checksum. */
struct hl_table_shape {
	const char *name;
	int columns;
};
extern const struct hl_table_shape hl_tables[HL_N_TABLES];

/*
 * Makes the tables of a new, empty @db. 0; -EBADMSG if it is not empty and not a day; -ENOTSUP if a newer
 * hotleaf wrote it, or one before the first release.
 */
int hl_schema_prepare(struct hl_db *db, struct hl_err *err);
/* Whether the day has the tables of bodies. 0 or -errno. */
int hl_schema_has_bodies(struct hl_db *db, bool *ret, struct hl_err *err);
/* As hl_schema_prepare(), but an empty one is no day either: -EBADMSG. Changes nothing. */
int hl_schema_check(struct hl_db *db, struct hl_err *err);

#endif
