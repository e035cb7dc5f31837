// SPDX-License-Identifier: BSD-2-Clause
#include "store/schema.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

/* "HLDY", so that file(1) and we know a day from other databases. */
#define APPLICATION_ID 0x484c4459

const struct hl_table_shape hl_tables[HL_N_TABLES] = {
	[HL_TABLE_SOURCES] = { "sources", 9 },     [HL_TABLE_REASONS] = { "reasons", 3 },
	[HL_TABLE_NOTES] = { "notes", 1 },         [HL_TABLE_CONTAINERS] = { "containers", 8 },
	[HL_TABLE_CGROUPS] = { "cgroups", 3 },     [HL_TABLE_SERVICES] = { "services", 1 },
	[HL_TABLE_PROCESSES] = { "processes", 8 }, [HL_TABLE_THREADS] = { "threads", 2 },
	[HL_TABLE_MODULES] = { "modules", 1 },     [HL_TABLE_BINARIES] = { "binaries", 3 },
	[HL_TABLE_FRAMES] = { "frames", 9 },       [HL_TABLE_WINDOWS] = { "windows", 15 },
	[HL_TABLE_LOSSES] = { "losses", 2 },       [HL_TABLE_WINDOW_NOTES] = { "window_notes", 1 },
	[HL_TABLE_GAPS] = { "gaps", 3 },           [HL_TABLE_CODES] = { "codes", 2 },
	[HL_TABLE_FUNCTIONS] = { "functions", 8 },
};

/*
 * Integer ids hold within a day only. What they stand for has the same 128-bit content id on every host and
 * day: a frame's is stored; that of a stack node is the hash of its parent's and its frame's. A node or frame
 * may stand here twice (the writer's memory is bounded): add up by what is shown, not by id.
 *
 * Checksums are those of rows.h, and stand last.
 *
 * Most rows are samples. Their key (window, thread, node) is kept in order as it is written, so that pages
 * are full, and no other index costs room.
 */
/* clang-format off */
#define CHECKSUM "checksum INT NOT NULL);"
static const char tables[] =
	/* span: nanoseconds to which windows were summed; without it they are as they were measured. */
	"CREATE TABLE facts(name TEXT PRIMARY KEY, value INT NOT NULL) WITHOUT ROWID;"
	/* Who measured what. */
	"CREATE TABLE sources(id INTEGER PRIMARY KEY, host TEXT NOT NULL, kernel TEXT NOT NULL,"
	" version TEXT NOT NULL, decoders TEXT NOT NULL, event TEXT NOT NULL, unit TEXT NOT NULL,"
	" precise INT NOT NULL, frequency INT NOT NULL, cpus INT NOT NULL, " CHECKSUM
	/*
	 * A span of time. Level 0 holds what was measured; its windows of one host do not overlap. Level 1
	 * (minutes) and 2 (hours) hold the same samples again, summed, for each source; only their start,
	 * length and what is shown count. Times are nanoseconds, start since the
	 * epoch. Samples: shown here, weight their sum of periods, due by the clock, seen by the program, of
	 * an idle CPU, not asked for. busy, programs and process: nanoseconds of CPU time of the host, of
	 * hotleaf's programs in the kernel and of hotleaf itself; NULL: not known. period: of each sample
	 * whose weight is NULL. sum: of the checksums of its samples.
	 */
	"CREATE TABLE windows(id INTEGER PRIMARY KEY, level INT NOT NULL, source INT NOT NULL,"
	" start INT NOT NULL, length INT NOT NULL, samples INT NOT NULL, weight INT NOT NULL,"
	" period INT NOT NULL, expected INT NOT NULL, seen INT NOT NULL, idle INT NOT NULL,"
	" filtered INT NOT NULL, busy INT NOT NULL, programs INT, process INT,"
	" sum INT NOT NULL, " CHECKSUM
	"CREATE INDEX windows_by_start ON windows(level, source, start);"
	/* kind: 0 lost, 1 cut, 2 noted. */
	"CREATE TABLE reasons(id INTEGER PRIMARY KEY, kind INT NOT NULL, name TEXT NOT NULL,"
	" help TEXT NOT NULL, " CHECKSUM
	"CREATE TABLE losses(window INT NOT NULL, reason INT NOT NULL, samples INT NOT NULL,"
	" checksum INT NOT NULL, PRIMARY KEY(window, reason)) WITHOUT ROWID;"
	"CREATE TABLE notes(id INTEGER PRIMARY KEY, text TEXT NOT NULL, " CHECKSUM
	"CREATE TABLE window_notes(window INT NOT NULL, note INT NOT NULL, checksum INT NOT NULL,"
	" PRIMARY KEY(window, note)) WITHOUT ROWID;"
	/* Time without windows and why; samples: how many were taken and could not be kept. */
	"CREATE TABLE gaps(start INT NOT NULL, length INT NOT NULL, reason TEXT NOT NULL,"
	" samples INT NOT NULL, " CHECKSUM
	/*
	 * What was known of containers and cgroups while they were there. id: in full; labels: an object of
	 * JSON. NULL: not known. unit: of systemd; container: 0 none, else its number.
	 */
	"CREATE TABLE containers(id INTEGER PRIMARY KEY, runtime TEXT, container_id TEXT, name TEXT,"
	" image TEXT, pod TEXT, namespace TEXT, workload TEXT, labels TEXT NOT NULL, " CHECKSUM
	"CREATE TABLE cgroups(id INTEGER PRIMARY KEY, path TEXT NOT NULL, unit TEXT, container INT NOT NULL,"
	" " CHECKSUM
	"CREATE TABLE services(id INTEGER PRIMARY KEY, name TEXT NOT NULL, " CHECKSUM
	/*
	 * kind: 0 process, 1 kernel thread, 2 idle task. exec: grows with each execve. started: nanoseconds
	 * since boot. All three are 0 in sums, which are of all processes of that name. cgroup: 0 if it was
	 * gone before it was seen, else its number, as service and exe, which is one of modules, are.
	 */
	"CREATE TABLE processes(id INTEGER PRIMARY KEY, kind INT NOT NULL, pid INT NOT NULL,"
	" exec INT NOT NULL, started INT NOT NULL, name TEXT NOT NULL, cgroup INT NOT NULL,"
	" service INT NOT NULL, exe INT NOT NULL, " CHECKSUM
	"CREATE TABLE threads(id INTEGER PRIMARY KEY, process INT NOT NULL, name TEXT NOT NULL, " CHECKSUM
	"CREATE TABLE modules(id INTEGER PRIMARY KEY, path TEXT NOT NULL, " CHECKSUM
	/*
	 * hash: of the executable segments and the build-id. segments: ELF address, offset in the file and
	 * size of each executable one, as 64-bit little-endian numbers.
	 */
	"CREATE TABLE binaries(id INTEGER PRIMARY KEY, hash BLOB NOT NULL, build_id BLOB NOT NULL,"
	" segments BLOB NOT NULL, " CHECKSUM
	/*
	 * kind: 1 mark, 2 function, 3 inlined function, 4 generated code, 5 kernel function, 6 instruction,
	 * whose name is its text, 7 part of a function. class: 0 other, 1 load, 2 store, 3 branch,
	 * 4 divide, 5 vector, 6 locked. binary: 0 none, else its number. address: as in the ELF file;
	 * offset: from its function's start.
	 */
	"CREATE TABLE frames(id INTEGER PRIMARY KEY, hash BLOB NOT NULL, kind INT NOT NULL,"
	" class INT NOT NULL, kernel INT NOT NULL, binary INT NOT NULL, module INT NOT NULL,"
	" address INT NOT NULL, offset INT NOT NULL, name TEXT NOT NULL, " CHECKSUM
	/* A stack: its last frame, and the rest of it, 0: none. */
	"CREATE TABLE nodes(id INTEGER PRIMARY KEY, parent INT NOT NULL, frame INT NOT NULL, " CHECKSUM
	"CREATE TABLE samples(window INT NOT NULL, thread INT NOT NULL, node INT NOT NULL,"
	" count INT NOT NULL, weight INT, PRIMARY KEY(window, thread, node)) WITHOUT ROWID;";

/* Not in days that were written before there were any. */
static const char body_tables[] =
	/* Machine code, each different one once. hash: of the bytes. */
	"CREATE TABLE IF NOT EXISTS codes(id INTEGER PRIMARY KEY, hash BLOB NOT NULL, bytes BLOB NOT NULL, " CHECKSUM
	"CREATE INDEX IF NOT EXISTS codes_by_hash ON codes(hash);"
	/*
	 * Functions that were hot: the frame; where their code was read, 0 it could not be, 1 their file, 2 memory
	 * of the process, 3 the kernel; 64 or 32 bits; the address of the first byte, as their instructions have
	 * it; bytes, 0: not known; build-id of the file or kernel; code: 0 none, for the reason in why, else its
	 * number. One function may have several, of other times or processes.
	 */
	"CREATE TABLE IF NOT EXISTS functions(id INTEGER PRIMARY KEY, frame INT NOT NULL, source INT NOT NULL,"
	" bits INT NOT NULL, address INT NOT NULL, size INT NOT NULL, build_id BLOB NOT NULL,"
	" code INT NOT NULL, why TEXT NOT NULL, " CHECKSUM
	"CREATE INDEX IF NOT EXISTS functions_by_frame ON functions(frame);"
	"CREATE VIEW IF NOT EXISTS bodies AS SELECT m.path AS module, lower(hex(t.build_id)) AS build_id,"
	" lower(hex(b.hash)) AS binary, g.name AS function, t.address, t.size,"
	" CASE t.source WHEN 1 THEN 'file' WHEN 2 THEN 'memory' WHEN 3 THEN 'kernel' END AS source, t.bits,"
	" c.bytes, t.why FROM functions t JOIN frames g ON g.id = t.frame JOIN modules m ON m.id = g.module"
	" LEFT JOIN binaries b ON b.id = g.binary LEFT JOIN codes c ON c.id = t.code;";

#define TIME_OF(column) "strftime('%Y-%m-%dT%H:%M:%SZ', " column " / 1000000000, 'unixepoch')"
/* There is a sum of that level in which window w is. */
#define IN_SUM(level)  \
	"EXISTS (SELECT 1 FROM windows AS v WHERE v.level = " level " AND v.source = w.source"  \
	" AND v.start BETWEEN w.start - " HOUR " AND w.start AND v.start + v.length > w.start)"
#define HOUR "3600000000000"
#define LEAVES  \
	" s.host, s.event, s.unit AS weight_unit, o.service, o.container, o.container_id, o.runtime,"  \
	" o.image, o.pod, o.namespace, o.workload, o.labels, o.cgroup, o.unit, o.exe, o.pid, o.process,"  \
	" o.thread, m.path AS module, g.name AS function, f.address, f.offset, f.name AS instruction,"  \
	" x.count AS samples, coalesce(x.weight, x.count * w.period) AS weight"
#define JOINS  \
	" w JOIN sources s ON s.id = w.source JOIN samples x ON x.window = w.id"  \
	" JOIN owners o ON o.thread_number = x.thread JOIN nodes n ON n.id = x.node"  \
	" JOIN frames f ON f.id = n.frame JOIN modules m ON m.id = f.module"  \
	" LEFT JOIN nodes h ON h.id = n.parent LEFT JOIN frames g ON g.id = h.frame"

static const char views[] =
	"CREATE VIEW coverage AS SELECT " TIME_OF("w.start") " AS time,"
	" w.length / 1e9 AS seconds, s.host, s.event, s.frequency, w.samples, w.expected, w.seen, w.idle,"
	" (SELECT coalesce(sum(l.samples), 0) FROM losses l JOIN reasons r ON r.id = l.reason"
	"  WHERE l.window = w.id AND r.kind = 0) AS lost,"
	" round(1.0 * w.busy / w.length, 3) AS busy_cpus"
	" FROM windows w JOIN sources s ON s.id = w.source WHERE w.level = 0;"
	/* Those that hold each sample once, in as few rows as there are. */
	"CREATE VIEW spans AS SELECT w.* FROM windows w WHERE w.level = 2"
	" OR w.level = 1 AND NOT " IN_SUM("2")
	" OR w.level = 0 AND NOT " IN_SUM("2") " AND NOT " IN_SUM("1") ";"
	"CREATE VIEW labels AS SELECT c.name AS container, c.container_id, j.key, j.value"
	" FROM containers c, json_each(c.labels) j;"
	/* Whose: by number of the thread. */
	"CREATE VIEW owners AS SELECT t.id AS thread_number, v.name AS service, c.name AS container,"
	" c.container_id, c.runtime, c.image, c.pod, c.namespace, c.workload, c.labels, g.path AS cgroup,"
	" g.unit, e.path AS exe, p.kind, p.pid, p.started, p.name AS process, t.name AS thread"
	" FROM threads t JOIN processes p ON p.id = t.process LEFT JOIN services v ON v.id = p.service"
	" LEFT JOIN modules e ON e.id = p.exe LEFT JOIN cgroups g ON g.id = p.cgroup"
	" LEFT JOIN containers c ON c.id = g.container;"
	"CREATE VIEW instructions AS SELECT " TIME_OF("w.start") " AS time," LEAVES
	" FROM windows" JOINS " WHERE w.level = 0;"
	"CREATE VIEW instructions_by_hour AS SELECT " TIME_OF("w.start") " AS time, w.length / 1e9 AS seconds,"
	LEAVES " FROM spans" JOINS ";"
	"CREATE VIEW hottest AS SELECT event, service, container, process, module, function, offset,"
	" instruction, sum(samples) AS samples, sum(weight) AS weight FROM instructions_by_hour GROUP BY event,"
	" service, container, process, module, function, address, instruction ORDER BY sum(samples) DESC;"
	"CREATE VIEW lost AS SELECT " TIME_OF("w.start") " AS time, r.kind, r.name AS reason, l.samples,"
	" r.help FROM losses l JOIN windows w ON w.id = l.window JOIN reasons r ON r.id = l.reason;";
/* clang-format on */

int hl_schema_check(struct hl_db *db, struct hl_err *err)
{
	int64_t application = 0, version = 0;
	int code = hl_db_number(db, "PRAGMA application_id", &application, err);

	if (!code)
		code = hl_db_number(db, "PRAGMA user_version", &version, err);
	if (code)
		return code;
	if (application != APPLICATION_ID || version < 1)
		return hl_err_set(err, -EBADMSG, "is no day of a hotleaf store");
	if (version < HL_SCHEMA_VERSION)
		return hl_err_set(err, -ENOTSUP, "was written before the first release of hotleaf");
	if (version > HL_SCHEMA_VERSION)
		return hl_err_set(err, -ENOTSUP,
				  "was written by a newer hotleaf (format %" PRId64 ", this one knows %d)",
				  version, HL_SCHEMA_VERSION);
	return 0;
}

int hl_schema_has_bodies(struct hl_db *db, bool *ret, struct hl_err *err)
{
	int64_t n = 0;
	int code = hl_db_number(db,
				"SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND"
				" name IN ('codes', 'functions')",
				&n, err);

	if (!code)
		*ret = n == 2;
	return code;
}

static int add_bodies(struct hl_db *db, struct hl_err *err)
{
	bool has = false;
	int code = hl_schema_check(db, err);

	if (!code)
		code = hl_schema_has_bodies(db, &has, err);
	return code || has ? code : hl_db_run(db, body_tables, err);
}

static bool is_empty(struct hl_db *db, int *ret_code, struct hl_err *err)
{
	int64_t n = 0;

	*ret_code = hl_db_number(db, "SELECT count(*) FROM sqlite_schema", &n, err);
	return !*ret_code && n == 0;
}

int hl_schema_prepare(struct hl_db *db, struct hl_err *err)
{
	char marks[120];
	int code;

	if (!is_empty(db, &code, err))
		return code ? code : add_bodies(db, err);
	(void)snprintf(marks, sizeof(marks), "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
		       APPLICATION_ID, HL_SCHEMA_VERSION);
	/* The page size and WAL must come first; a kill in between leaves an empty database, or all of it. */
	code = hl_db_run(db, "PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; BEGIN IMMEDIATE", err);
	if (!code)
		code = hl_db_run(db, tables, err);
	if (!code)
		code = hl_db_run(db, views, err);
	if (!code)
		code = hl_db_run(db, body_tables, err);
	return code ? code : hl_db_run(db, marks, err);
}
