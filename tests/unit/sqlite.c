// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample process tests/shell */
#include "process/sqlite.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "shell.h"

#define SCHEMA                                                                                              \
	"CREATE TABLE PodConfig(ID TEXT PRIMARY KEY NOT NULL, Name TEXT UNIQUE NOT NULL, JSON TEXT NOT "    \
	"NULL);"                                                                                            \
	"CREATE TABLE ContainerConfig(ID TEXT PRIMARY KEY NOT NULL, Name TEXT UNIQUE NOT NULL, PodID TEXT," \
	" JSON TEXT NOT NULL, FOREIGN KEY (PodID) REFERENCES PodConfig(ID));"
#define ASK "SELECT JSON FROM ContainerConfig WHERE ID = ?"
#define ROW(id, name, json) \
	"INSERT INTO ContainerConfig VALUES ('" id "', '" name "', NULL, CAST('" json "' AS BLOB));"

enum { LIMIT = 20000, FILE_MAX = 1 << 20 };

static char folder[] = "/tmp/hl-sqlite-XXXXXX";
static int root;

static void begin(void)
{
	CHECK(mkdtemp(folder));
	root = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK(root >= 0);
}

static void end(void)
{
	(void)close(root);
	must("rm -r %s", folder);
}

static void run(sqlite3 *db, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL))
		FAIL("%s: %s", sql, sqlite3_errmsg(db));
}

/* The database NAME, to be closed. */
static sqlite3 *make(const char *name, const char *sql)
{
	char path[64];
	sqlite3 *db;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	CHECK_INT(sqlite3_open(path, &db), 0);
	run(db, sql);
	return db;
}

static int get(const char *name, const char *id, char **ret)
{
	size_t len = 0;
	int code;

	*ret = NULL;
	code = hl_sqlite_get(NULL, root, name, ASK, id, LIMIT, ret, &len);
	CHECK((code == 0) == (*ret != NULL));
	CHECK(code || strlen(*ret) == len);
	return code;
}

static void check_is(const char *name, const char *id, const char *want)
{
	char *text;

	CHECK_INT(get(name, id, &text), 0);
	CHECK_STR(text, want);
	free(text);
}

static void check_fails(const char *name, const char *id, int want)
{
	char *text;

	CHECK_INT(get(name, id, &text), want);
}

static size_t count_files(void)
{
	DIR *dir = opendir(folder);
	size_t n = 0;

	CHECK(dir);
	while (readdir(dir))
		n++;
	(void)closedir(dir);
	return n;
}

static size_t load(const char *name, uint8_t *ret)
{
	int fd = openat(root, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, ret, FILE_MAX);

	CHECK(n > 0 && n < FILE_MAX);
	(void)close(fd);
	return (size_t)n;
}

static void save(const char *name, const uint8_t *bytes, size_t n)
{
	int fd = openat(root, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK_INT(write(fd, bytes, n), n);
	(void)close(fd);
}

HL_TEST(values_of_tables)
{
	sqlite3 *db;

	begin();
	db = make("db", SCHEMA ROW("aa", "web",
				   "{1}") "INSERT INTO ContainerConfig VALUES ('bb', 'db', NULL, '{22}')");
	/* Its lock on the file is nothing to us, nor is ours, which there is none of, to it. */
	run(db, "BEGIN EXCLUSIVE");
	check_is("db", "aa", "{1}");
	check_is("db", "bb", "{22}");
	check_fails("db", "a", -ENOENT);
	check_fails("db", "aaa", -ENOENT);
	check_fails("none", "aa", -ENOENT);
	run(db, "ROLLBACK");
	(void)sqlite3_close(db);
	end();
}

/* What is in the log only, beside a file in which it is not yet, and nobody who shares its index. */
HL_TEST(values_in_the_log)
{
	static uint8_t file[FILE_MAX], log[FILE_MAX], more[FILE_MAX];
	size_t file_len, log_len, n;
	sqlite3 *db;

	begin();
	db = make("db", "PRAGMA journal_mode = WAL;" SCHEMA ROW("aa", "web", "{1}"));
	run(db, "PRAGMA wal_checkpoint(TRUNCATE)");
	run(db, ROW("bb", "db", "{22}") "UPDATE ContainerConfig SET JSON = '{3}' WHERE ID = 'aa'");
	file_len = load("db", file);
	log_len = load("db-wal", log);
	/* A transaction that is not over, of which the log has pages already. */
	run(db, "PRAGMA cache_size = 1; BEGIN IMMEDIATE; "
		"INSERT INTO ContainerConfig VALUES ('cc', 'no', NULL, zeroblob(100000))");
	CHECK(load("db-wal", more) > log_len);
	check_is("db", "aa", "{3}");
	check_is("db", "bb", "{22}");
	check_fails("db", "cc", -ENOENT);
	run(db, "ROLLBACK");
	(void)sqlite3_close(db);

	save("two", file, file_len);
	check_is("two", "aa", "{1}");
	check_fails("two", "bb", -ENOENT);
	save("two-wal", log, log_len);
	n = count_files();
	check_is("two", "aa", "{3}");
	check_is("two", "bb", "{22}");
	CHECK_INT(count_files(), n);
	CHECK_INT(load("two-wal", log), log_len);
	/* A log that was not written to its end counts up to the last transaction that is whole. */
	save("two-wal", log, log_len - 1);
	CHECK(faccessat(root, "two-shm", F_OK, 0) != 0);
	check_is("two", "aa", "{1}");
	end();
}

/* While a transaction writes over the file, which begins when its journal is whole, it is of no state. */
HL_TEST(a_file_that_is_being_written)
{
	sqlite3 *db;

	begin();
	db = make("db", SCHEMA ROW("aa", "web", "{1}"));
	run(db, "BEGIN EXCLUSIVE; UPDATE ContainerConfig SET JSON = '{2}'");
	CHECK(faccessat(root, "db-journal", F_OK, 0) == 0);
	check_is("db", "aa", "{1}");
	run(db,
	    "PRAGMA cache_size = 1; INSERT INTO ContainerConfig VALUES ('cc', 'no', NULL, zeroblob(100000))");
	check_fails("db", "aa", -EAGAIN);
	run(db, "COMMIT");
	check_is("db", "aa", "{2}");
	/* Journals that are left, but are done with. */
	run(db, "PRAGMA journal_mode = PERSIST; UPDATE ContainerConfig SET JSON = '{3}'");
	CHECK(faccessat(root, "db-journal", F_OK, 0) == 0);
	check_is("db", "aa", "{3}");
	run(db, "PRAGMA journal_mode = TRUNCATE; UPDATE ContainerConfig SET JSON = '{4}'");
	check_is("db", "aa", "{4}");
	(void)sqlite3_close(db);
	end();
}

/* Writes the same to two rows, many pages apart, in each transaction, until it is killed. */
_Noreturn static void write_pairs(const char *mode)
{
	sqlite3 *db = make("db", mode);

	(void)sqlite3_busy_timeout(db, 10000);
	run(db, "PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 20");
	for (unsigned int i = 0;; i++) {
		char sql[160];

		(void)snprintf(
			sql, sizeof(sql),
			"BEGIN IMMEDIATE; UPDATE ContainerConfig SET JSON = '%06u' WHERE ID IN ('aa', 'zz'); "
			"COMMIT",
			i % 1000000);
		run(db, sql);
		(void)usleep(1000);
	}
}

static void read_pairs(const char *mode)
{
	static const char ask[] = "SELECT a.JSON || z.JSON FROM ContainerConfig a, ContainerConfig z "
				  "WHERE a.ID = ? AND z.ID = 'zz'";
	pid_t writer = fork();
	unsigned int whole = 0;

	if (!writer)
		write_pairs(mode);
	for (int i = 0; i < 500; i++) {
		char *text = NULL;
		size_t len = 0;
		int code = hl_sqlite_get(NULL, root, "db", ask, "aa", LIMIT, &text, &len);

		if (code && code != -EAGAIN)
			FAIL("%d", code);
		if (!code && (len != 12 || memcmp(text, text + 6, 6) != 0))
			FAIL("no state: %s", text);
		whole += !code;
		free(text);
	}
	CHECK(kill(writer, SIGKILL) == 0 && waitpid(writer, NULL, 0) == writer);
	NOTE("%s: %u of 500 look-ups", mode, whole);
	CHECK(whole > 0);
}

/* What is read while it is written to is what one transaction left, be it with a log or without. */
HL_TEST(an_answer_is_of_one_state)
{
	begin();
	(void)sqlite3_close(make(
		"db",
		SCHEMA ROW("aa", "web", "000000") "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 "
						  "FROM r LIMIT 300) INSERT "
						  "INTO ContainerConfig SELECT printf('m%04d', n), n, NULL, "
						  "zeroblob(3000) FROM r;" ROW("zz", "db", "000000")));
	read_pairs("PRAGMA journal_mode = DELETE");
	read_pairs("PRAGMA journal_mode = WAL");
	end();
}

HL_TEST(what_is_no_database_or_another)
{
	static uint8_t text[] = "no database, but longer than the header of one, which has a hundred bytes: "
				"so that it is not just too short to be one";

	begin();
	save("text", text, sizeof(text));
	check_fails("text", "aa", -EBADMSG);
	save("empty", text, 0);
	check_fails("empty", "aa", -EBADMSG);
	(void)sqlite3_close(make("other", "CREATE TABLE t(a)"));
	check_fails("other", "aa", -EBADMSG);
	CHECK_INT(mkfifoat(root, "fifo", 0600), 0);
	check_fails("fifo", "aa", -EMEDIUMTYPE);
	end();
}

/* What would be without an end, or too large, if it were believed. */
HL_TEST(files_without_measure)
{
	sqlite3 *db;
	int fd;

	begin();
	(void)sqlite3_close(make("view",
				 "CREATE VIEW ContainerConfig AS WITH RECURSIVE r(ID, JSON) AS (SELECT 1, "
				 "2 UNION ALL SELECT ID + 1, JSON FROM r) SELECT ID, JSON FROM r"));
	check_fails("view", "aa", -EBADMSG);
	/* No index: each row would have to be read. */
	db = make("scan",
		  "CREATE TABLE ContainerConfig(ID, JSON); WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL "
		  "SELECT n + 1 FROM r LIMIT 500000) INSERT INTO ContainerConfig SELECT n, n FROM r");
	(void)sqlite3_close(db);
	check_fails("scan", "aa", -EBADMSG);
	db = make("long", SCHEMA "INSERT INTO ContainerConfig VALUES ('aa', 'web', NULL, zeroblob(20001)), "
				 "('bb', 'db', NULL, zeroblob(200000))");
	(void)sqlite3_close(db);
	check_fails("long", "aa", -EFBIG);
	check_fails("long", "bb", -EFBIG);
	(void)sqlite3_close(make("log", SCHEMA ROW("aa", "web", "{1}")));
	fd = openat(root, "log-wal", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK_INT(ftruncate(fd, (64 << 20) + 1), 0);
	(void)close(fd);
	check_fails("log", "aa", -EFBIG);
	CHECK_INT(unlinkat(root, "log-wal", 0), 0);
	check_is("log", "aa", "{1}");
	end();
}

/* A page, cut or with other bytes, gives an answer or an error, and that soon. */
HL_TEST(damage)
{
	static uint8_t file[FILE_MAX], log[FILE_MAX];
	size_t file_len, log_len, answers = 0;
	unsigned int random = 1;
	sqlite3 *db;
	char *text;

	begin();
	db = make("db", "PRAGMA page_size = 512; PRAGMA journal_mode = WAL;" SCHEMA ROW("aa", "web", "{1}"));
	run(db, "PRAGMA wal_checkpoint(TRUNCATE)");
	run(db, ROW("bb", "db", "{22}"));
	file_len = load("db", file);
	log_len = load("db-wal", log);
	(void)sqlite3_close(db);
	for (int i = 0; i < 3000; i++) {
		uint8_t *bytes = i % 4 ? file : log;
		size_t len = i % 4 ? file_len : log_len;
		size_t at = (size_t)rand_r(&random) % len;
		uint8_t was = bytes[at];
		int code;

		bytes[at] = (uint8_t)rand_r(&random);
		save("bad", file, file_len);
		save("bad-wal", log, log_len);
		code = get("bad", i & 1 ? "aa" : "bb", &text);
		if (code && code != -ENOENT && code != -EBADMSG && code != -EFBIG)
			FAIL("byte %zu: %d", at, code);
		answers += code == 0;
		free(text);
		bytes[at] = was;
	}
	CHECK(answers > 1000 && answers < 3000);
	CHECK_INT(unlinkat(root, "bad-wal", 0), 0);
	for (size_t len = 0; len < file_len; len += 100) {
		save("bad", file, len);
		if (get("bad", "aa", &text) == 0)
			NOTE("%zu of %zu bytes suffice", len, file_len);
		free(text);
	}
	end();
}
