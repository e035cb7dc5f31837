// SPDX-License-Identifier: BSD-2-Clause
/* needs: base profile store tests/stores tests/shell */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/db.h"
#include "store/inspect.h"

#include "stores.h"

#include "harness.h"
#include "shell.h"

/* What can happen to a store: kills, full disks, damage, other versions. Nothing of it may stop the writer. */

static const char *day_file(void)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "%s/2024-02-28.db", stores_dir());
	return path;
}

static int write_one(struct hl_store *store, uint64_t start_ns, unsigned int seed, struct hl_err *err)
{
	struct hl_profile_meta meta = stores_meta(start_ns);
	struct hl_batch *batch = stores_batch(seed);
	int code = hl_store_write(store, &meta, batch, err);

	hl_batch_free(batch);
	return code;
}

/* ---- kill -9 ------------------------------------------------------------------------------------------- */

/* Writes windows without end, and tells the number of each that is written through @fd. */
_Noreturn static void write_until_killed(int fd, uint32_t from)
{
	struct hl_store *store = stores_open(stores_dir());
	struct hl_err err;

	for (uint32_t i = from;; i++) {
		if (write_one(store, STORES_NOON + i * 10 * STORES_S, i, &err))
			FAIL("%s", err.text);
		if (write(fd, &i, sizeof(i)) != sizeof(i))
			_exit(1);
	}
}

/* How many windows a writer had committed before it was killed at a moment of no one's choice. */
static uint32_t kill_a_writer(uint32_t from, unsigned int delay_us)
{
	uint32_t number, next = from;
	int fds[2], status;
	pid_t pid;

	CHECK(pipe(fds) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		(void)close(fds[0]);
		write_until_killed(fds[1], from);
	}
	(void)close(fds[1]);
	/* The first one, so that it is well on its way. */
	CHECK(read(fds[0], &number, sizeof(number)) == sizeof(number));
	next = number + 1;
	(void)usleep(delay_us);
	CHECK(kill(pid, SIGKILL) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	while (read(fds[0], &number, sizeof(number)) == sizeof(number))
		next = number + 1;
	(void)close(fds[0]);
	return next;
}

static uint64_t samples_of(uint32_t from, uint32_t to)
{
	uint64_t sum = 0;

	for (uint32_t i = from; i < to; i++)
		sum += stores_samples(i);
	return sum;
}

HL_TEST_TIMEOUT(a_kill_loses_at_most_the_open_window, 300)
{
	enum { ROUNDS = 25 };
	uint32_t next = 0;
	struct hl_err err = { "" };

	(void)stores_dir(); /* one for parent and children */
	srand(7);
	for (int round = 0; round < ROUNDS; round++) {
		uint32_t before = next;
		struct hl_reading *reading;

		next = kill_a_writer(next, (unsigned int)rand() % 20000);
		reading = stores_read(stores_dir(), STORES_NOON, STORES_NOON + 4000 * 10 * STORES_S, &err);
		if (!reading)
			FAIL("round %d: %s", round, err.text);
		/* The killed one may have committed one more than it could tell. */
		if (stores_total(reading) == samples_of(0, next + 1))
			next++;
		CHECK_INT(stores_total(reading), samples_of(0, next));
		CHECK(next > before);
		hl_reading_free(reading);
		if (next > 3900)
			break;
	}
	must("cd %s && ! ls | grep -q damaged", stores_dir());
	NOTE("%u windows in %d rounds", next, ROUNDS);
}

/* Of a killed process a child may live on for a moment, with all that was open. */
HL_TEST(the_lock_of_a_killed_writer_is_waited_for)
{
	struct hl_store *store = stores_open(stores_dir());
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		(void)usleep(300 * 1000);
		_exit(0);
	}
	hl_store_close(store);
	store = stores_open(stores_dir());
	hl_store_close(store);
	CHECK(waitpid(pid, &status, 0) == pid);
}

/* ---- damage -------------------------------------------------------------------------------------------- */

HL_TEST(a_truncated_day_is_set_aside)
{
	struct hl_reading *reading;
	struct hl_store *store;
	struct hl_err err = { "" };

	stores_fill(stores_dir(), STORES_NOON, 20, 1);
	must("truncate -s 20000 %s", day_file());
	store = stores_open(stores_dir());
	if (write_one(store, STORES_NOON + 200 * STORES_S, 30, &err))
		FAIL("%s", err.text);
	{
		const char *notice = hl_store_notice(store);

		NOTE("%s", notice);
		CHECK(strstr(notice, "2024-02-28.db' cannot be gone on with: "));
		CHECK(strstr(notice, "it was set aside as '2024-02-28.db.damaged-"));
	}
	CHECK_STR(hl_store_notice(store), "");
	CHECK_INT(write_one(store, STORES_NOON + 210 * STORES_S, 31, &err), 0);
	hl_store_close(store);
	must("cd %s && ls | grep -q '^2024-02-28.db.damaged-[0-9]*T[0-9]*Z$'", stores_dir());
	reading = stores_read(stores_dir(), STORES_NOON, STORES_NOON + 220 * STORES_S, &err);
	CHECK_INT(stores_total(reading), samples_of(30, 32));
	CHECK(stores_has_note(reading, "was set aside by the agent"));
	CHECK(stores_has_note(reading, "2 windows, 200 s missing"));
	hl_reading_free(reading);
}

HL_TEST(no_database_at_all)
{
	struct hl_store *store;
	struct hl_err err = { "" };

	must("head -c 40000 /dev/zero | tr '\\0' x >%s", day_file());
	store = stores_open(stores_dir());
	CHECK_INT(write_one(store, STORES_NOON, 1, &err), 0);
	CHECK(strstr(hl_store_notice(store), "file is not a database"));
	hl_store_close(store);
}

/* What takes the name of a day, but is no file: it is set aside as it is, and no one waits for it. */
HL_TEST_TIMEOUT(what_is_no_file_is_set_aside, 60)
{
	static const char *const makers[] = { "mkfifo %s", "mkdir %s && touch %s/x", "ln -s /etc/passwd %s",
					      "ln -s nowhere %s" };

	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++) {
		struct hl_reading *reading;
		struct hl_store *store;
		struct hl_day_info info;
		struct hl_err err = { "" };

		must("rm -rf %s/2024*", stores_dir());
		must(makers[i], day_file(), day_file());
		NOTE("%s", makers[i]);
		CHECK(!stores_read(stores_dir(), STORES_NOON, STORES_NOON + STORES_S, &err));
		CHECK(strstr(
			err.text,
			"2024-02-28.db could not be read, its windows are not shown: is no regular file"));
		CHECK_INT(hl_day_inspect(day_file(), true, &info, &err), -EBADMSG);
		store = stores_open(stores_dir());
		if (write_one(store, STORES_NOON, 1, &err))
			FAIL("%s", err.text);
		CHECK(strstr(hl_store_notice(store), "is no regular file; it was set aside as "));
		CHECK_INT(write_one(store, STORES_NOON + 10 * STORES_S, 2, &err), 0);
		CHECK_STR(hl_store_notice(store), "");
		hl_store_close(store);
		reading = stores_read(stores_dir(), STORES_NOON, STORES_NOON + 20 * STORES_S, &err);
		CHECK_INT(stores_total(reading), samples_of(1, 3));
		hl_reading_free(reading);
	}
}

/* The same for what there is to write without a window. */
HL_TEST(gaps_set_a_damaged_day_aside_too)
{
	struct hl_reading *reading;
	struct hl_store *store;
	struct hl_err err = { "" };

	must("echo nonsense >%s", day_file());
	store = stores_open(stores_dir());
	hl_store_gap(store, STORES_NOON, STORES_NOON + 60 * STORES_S, 0, "disabled by x");
	if (hl_store_flush(store, &err))
		FAIL("%s", err.text);
	CHECK(strstr(hl_store_notice(store), "it was set aside as "));
	CHECK_INT(write_one(store, STORES_NOON + 60 * STORES_S, 1, &err), 0);
	hl_store_close(store);
	reading = stores_read(stores_dir(), STORES_NOON, STORES_NOON + 70 * STORES_S, &err);
	CHECK(stores_has_note(reading, "(disabled by x)"));
	hl_reading_free(reading);
}

HL_TEST(another_database_is_no_day)
{
	struct hl_store *store;
	struct hl_err err = { "" };

	if (system("command -v sqlite3 >/dev/null"))
		SKIP("there is no sqlite3 shell");
	must("sqlite3 %s 'CREATE TABLE windows(a)'", day_file());
	CHECK(!stores_read(stores_dir(), STORES_NOON, STORES_NOON + STORES_S, &err));
	CHECK(strstr(err.text, "is no day of a hotleaf store"));
	store = stores_open(stores_dir());
	CHECK_INT(write_one(store, STORES_NOON, 1, &err), 0);
	CHECK(strstr(hl_store_notice(store), "is no day of a hotleaf store"));
	hl_store_close(store);
}

HL_TEST(a_day_of_a_newer_version)
{
	struct hl_reading *reading;
	struct hl_store *store;
	struct hl_err err = { "" };
	uint32_t version = 0x63000000; /* 99, big-endian, at offset 60 */
	int fd;

	stores_fill(stores_dir(), STORES_NOON, 3, 1);
	stores_fill(stores_dir(), STORES_NOON + HL_DAY_NS, 1, 1);
	fd = open(day_file(), O_WRONLY);
	CHECK(pwrite(fd, &version, sizeof(version), 60) == sizeof(version));
	(void)close(fd);
	/* A report shows what it knows and says what it does not. */
	reading = stores_read(stores_dir(), STORES_NOON, STORES_NOON + HL_DAY_NS + 10 * STORES_S, &err);
	CHECK_INT(stores_total(reading), stores_samples(1));
	/* What became of the command is another matter. */
	CHECK_STR(err.text, "");
	CHECK(stores_has_note(reading,
			      "2024-02-28.db could not be read, its windows are not shown: was written by a "
			      "newer hotleaf (format 99, this one knows 2)"));
	hl_reading_free(reading);
	CHECK(!stores_read(stores_dir(), STORES_NOON, STORES_NOON + 10 * STORES_S, &err));
	CHECK(strstr(err.text, "written by a newer hotleaf"));
	store = stores_open(stores_dir());
	CHECK_INT(write_one(store, STORES_NOON + 30 * STORES_S, 1, &err), 0);
	CHECK(strstr(hl_store_notice(store), "written by a newer hotleaf"));
	hl_store_close(store);
	must("cd %s && ls | grep -q '^2024-02-28.db.newer-'", stores_dir());
}

static bool is_missing_some(const struct hl_reading *reading)
{
	return strstr(hl_profile_meta(hl_reading_profile(reading))->notes[0], " s missing: ") != NULL;
}

/* Flips bits of a copy, then reads and writes: right, or said to be damaged, but never wrong in silence. */
HL_TEST_TIMEOUT(flipped_bits, 300)
{
	enum { ROUNDS = 200 };
	unsigned int unread = 0, set_aside = 0;
	struct hl_reading *whole;
	struct hl_err err = { "" };
	struct stat st;

	stores_fill(stores_dir(), STORES_NOON, 20, 1);
	whole = stores_read(stores_dir(), STORES_NOON, STORES_NOON + 200 * STORES_S, &err);
	must("cp %s %s/whole", day_file(), stores_dir());
	CHECK(stat(day_file(), &st) == 0);
	srand(11);
	for (int round = 0; round < ROUNDS; round++) {
		struct hl_reading *reading;
		struct hl_store *store;
		int fd;

		must("cd %s && rm -f 2024* && cp whole 2024-02-28.db", stores_dir());
		fd = open(day_file(), O_RDWR);
		for (int i = 0; i < 1 + round % 8; i++) {
			off_t at = (off_t)(rand() % (int)st.st_size);
			uint8_t byte;

			CHECK(pread(fd, &byte, 1, at) == 1);
			byte ^= (uint8_t)(1 << rand() % 8);
			CHECK(pwrite(fd, &byte, 1, at) == 1);
		}
		(void)close(fd);
		reading = stores_read(stores_dir(), STORES_NOON, STORES_NOON + 200 * STORES_S, &err);
		unread += !reading;
		/* What the flips hit were bytes that nobody uses; or an index, so that a window is missing. */
		if (reading && !is_missing_some(reading))
			CHECK(stores_same(hl_reading_profile(reading), hl_reading_profile(whole)));
		hl_reading_free(reading);
		store = stores_open(stores_dir());
		if (write_one(store, STORES_NOON + 200 * STORES_S, 30, &err))
			FAIL("round %d: %s", round, err.text);
		set_aside += hl_store_notice(store)[0] != '\0';
		hl_store_close(store);
	}
	hl_reading_free(whole);
	NOTE("of %d: %u not read, %u set aside", ROUNDS, unread, set_aside);
	CHECK(unread > 0 && set_aside > 0);
}

/* What no report would read is checked too: windows that a sum stands for, names of what is not shown. */
HL_TEST_TIMEOUT(a_check_reads_every_row, 120)
{
	static const char *const changes[] = {
		"UPDATE samples SET count = count + 1 WHERE window = 3",
		"UPDATE samples SET count = 9 WHERE window = (SELECT max(id) FROM windows WHERE level = 1)",
		"UPDATE samples SET weight = 5 WHERE window = (SELECT max(id) FROM windows WHERE level = 2)",
		"UPDATE windows SET expected = 1 WHERE id = 7",
		"UPDATE frames SET name = name || 'x' WHERE id = 2",
		"UPDATE nodes SET frame = 1 WHERE id = 9",
		"UPDATE containers SET image = 'other'",
		"UPDATE losses SET samples = 1",
		"DELETE FROM samples WHERE window = 4 AND node < 20",
		"INSERT INTO samples VALUES(100000, 1, 1, 1, 1)",
	};
	struct hl_day_info info;
	struct hl_err err = { "" };
	struct hl_db *db;

	stores_fill(stores_dir(), STORES_NOON, 370, 1);
	if (hl_day_inspect(day_file(), true, &info, &err))
		FAIL("%s", err.text);
	CHECK_INT(info.windows, 370);
	must("cp %s %s/whole", day_file(), stores_dir());
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		must("cp %s/whole %s", stores_dir(), day_file());
		CHECK_INT(hl_db_open(day_file(), HL_DB_WRITE, &db, &err), 0);
		if (hl_db_run(db, changes[i], &err))
			FAIL("%s", err.text);
		hl_db_close(db);
		if (hl_day_inspect(day_file(), true, &info, &err) != -EBADMSG)
			FAIL("not found: %s", changes[i]);
	}
}

/* A store is often a link to where there is room. */
HL_TEST(the_directory_may_be_a_link)
{
	struct hl_day_info info;
	char path[128];
	struct hl_err err = { "" };

	stores_fill(stores_dir(), STORES_NOON, 3, 1);
	must("cd %s && ln -s . link && ln -s link again", stores_dir());
	(void)snprintf(path, sizeof(path), "%s/again/2024-02-28.db", stores_dir());
	if (hl_day_inspect(path, true, &info, &err))
		FAIL("%s", err.text);
	CHECK_INT(info.windows, 3);
}

/* ---- the file system ----------------------------------------------------------------------------------- */

/* A file system of this test's own at @path, seen by no one else. */
static void mount_small(const char *path, const char *size)
{
	char data[32];

	if (geteuid())
		SKIP("needs root to mount a small file system");
	if (unshare(CLONE_NEWNS))
		SKIP("cannot have mounts of its own: %s", strerror(errno));
	CHECK(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	CHECK(mkdir(path, 0700) == 0 || errno == EEXIST);
	(void)snprintf(data, sizeof(data), "size=%s", size);
	CHECK(mount("none", path, "tmpfs", 0, data) == 0);
}

HL_TEST_TIMEOUT(a_full_disk_pauses_writing, 120)
{
	char path[128];
	uint64_t kept = 0, lost = 0, at = STORES_NOON;
	struct hl_reading *reading;
	struct hl_store *store;
	struct hl_err err = { "" };
	unsigned int i;

	(void)snprintf(path, sizeof(path), "%s/small", stores_dir());
	mount_small(path, "700k");
	store = stores_open(path);
	for (i = 0; i < 400 && lost == 0; i++, at += 10 * STORES_S) {
		int code = write_one(store, at, i, &err);

		CHECK(!code || code == -ENOSPC || code == -EIO);
		*(code ? &lost : &kept) += stores_samples(i);
	}
	CHECK(lost > 0 && kept > 0);
	NOTE("full after %u windows: %s", i, err.text);
	must("test -f %s/2024-02-28.db && ! ls %s | grep -q damaged", path, path);
	for (int k = 0; k < 3; k++, i++, at += 10 * STORES_S) {
		CHECK(write_one(store, at, i, &err) != 0);
		lost += stores_samples(i);
	}
	/* What was written can be read all the while. */
	reading = stores_read(path, STORES_NOON, at, &err);
	CHECK_INT(stores_total(reading), kept);
	hl_reading_free(reading);
	CHECK(mount("none", path, "tmpfs", MS_REMOUNT, "size=4m") == 0);
	for (int k = 0; k < 3; k++, i++, at += 10 * STORES_S) {
		if (write_one(store, at, i, &err))
			FAIL("%s", err.text);
		kept += stores_samples(i);
	}
	CHECK_STR(hl_store_notice(store), "");
	hl_store_close(store);
	reading = stores_read(path, STORES_NOON, at, &err);
	CHECK_INT(stores_total(reading), kept);
	CHECK(stores_has_note(reading, "40 s missing"));
	CHECK(stores_has_note(reading, "(no space left for the store)"));
	CHECK_INT(hl_profile_meta(hl_reading_profile(reading))->losses[1].count, lost);
	hl_reading_free(reading);
}

HL_TEST(a_disk_that_became_read_only)
{
	char path[128];
	struct hl_reading *reading;
	struct hl_store *store;
	struct hl_err err = { "" };

	(void)snprintf(path, sizeof(path), "%s/small", stores_dir());
	mount_small(path, "8m");
	store = stores_open(path);
	CHECK_INT(write_one(store, STORES_NOON, 1, &err), 0);
	/* Not with the files open for writing: but then a real disk that fails turns read-only all the same. */
	hl_store_close(store);
	CHECK(mount("none", path, "tmpfs", MS_REMOUNT | MS_RDONLY, "size=8m") == 0);
	reading = stores_read(path, STORES_NOON, STORES_NOON + 10 * STORES_S, &err);
	if (!reading)
		FAIL("%s", err.text);
	CHECK_INT(stores_total(reading), stores_samples(1));
	hl_reading_free(reading);
	{
		static const struct hl_store_limits none;

		CHECK_INT(hl_store_open(path, &none, &store, &err), -EROFS);
	}
}

HL_TEST(a_store_that_is_deleted_comes_again)
{
	char path[128];
	struct hl_reading *reading;
	struct hl_store *store;
	struct hl_err err = { "" };

	(void)snprintf(path, sizeof(path), "%s/gone", stores_dir());
	store = stores_open(path);
	CHECK_INT(write_one(store, STORES_NOON, 1, &err), 0);
	must("rm -r %s", path);
	if (write_one(store, STORES_NOON + 10 * STORES_S, 2, &err))
		FAIL("%s", err.text);
	must("rm %s/2024*", path);
	if (write_one(store, STORES_NOON + 20 * STORES_S, 3, &err))
		FAIL("%s", err.text);
	/* The lock came again, too. */
	{
		static const struct hl_store_limits none;
		struct hl_store *second;

		CHECK_INT(hl_store_open(path, &none, &second, &err), -EBUSY);
	}
	hl_store_close(store);
	reading = stores_read(path, STORES_NOON, STORES_NOON + 30 * STORES_S, &err);
	CHECK_INT(stores_total(reading), stores_samples(3));
	hl_reading_free(reading);
}

/* Whoever takes away the lock, or puts another directory there, must not get a second writer. */
HL_TEST(a_lock_that_is_taken_away_comes_again)
{
	static const struct hl_store_limits none;
	struct hl_store *store, *second;
	char path[128];
	struct hl_err err = { "" };

	(void)snprintf(path, sizeof(path), "%s/locked", stores_dir());
	store = stores_open(path);
	CHECK_INT(write_one(store, STORES_NOON, 1, &err), 0);
	must("rm %s/lock", path);
	CHECK_INT(write_one(store, STORES_NOON + 10 * STORES_S, 2, &err), 0);
	CHECK_INT(hl_store_open(path, &none, &second, &err), -EBUSY);
	must("mv %s %s.old && mkdir %s", path, path, path);
	CHECK_INT(write_one(store, STORES_NOON + 20 * STORES_S, 3, &err), 0);
	CHECK_INT(hl_store_open(path, &none, &second, &err), -EBUSY);
	/* Where another was faster, nothing is written beside it. */
	must("rm %s/lock", path);
	second = stores_open(path);
	CHECK_INT(write_one(store, STORES_NOON + 30 * STORES_S, 4, &err), -EBUSY);
	CHECK(strstr(err.text, "another hotleaf writes to the store"));
	hl_store_close(second);
	CHECK_INT(write_one(store, STORES_NOON + 40 * STORES_S, 5, &err), 0);
	hl_store_close(store);
}

/* An old day that cannot be removed, as a person made it so, is no reason to lose the new ones. */
HL_TEST(an_old_day_that_stays_is_told_once)
{
	const struct hl_store_limits limits = { .max_age_ns = HL_DAY_NS };
	struct hl_store *store;
	struct hl_err err = { "" };

	must("cd %s && mkdir 2024-01-01.db && touch 2024-01-02.db 2024-02-27.db", stores_dir());
	CHECK_INT(hl_store_open(stores_dir(), &limits, &store, &err), 0);
	if (write_one(store, STORES_NOON, 1, &err))
		FAIL("%s", err.text);
	CHECK(strstr(hl_store_notice(store), "old days stay: cannot remove '"));
	CHECK_INT(write_one(store, STORES_NOON + 10 * STORES_S, 1, &err), 0);
	CHECK_STR(hl_store_notice(store), "");
	hl_store_close(store);
	must("cd %s && test -d 2024-01-01.db && ! test -e 2024-01-02.db && test -e 2024-02-28.db",
	     stores_dir());
}

/* All days would be old by it. */
HL_TEST(a_clock_that_jumps_ahead_removes_nothing)
{
	const struct hl_store_limits limits = { .max_age_ns = 3 * HL_DAY_NS };
	uint64_t later = STORES_NOON + 1000 * HL_DAY_NS;
	struct hl_store *store;
	struct hl_err err = { "" };

	stores_fill(stores_dir(), STORES_NOON - 4 * HL_DAY_NS, 1, 1);
	stores_fill(stores_dir(), STORES_NOON - 3 * HL_DAY_NS, 1, 1);
	for (int turn = 0; turn < 2; turn++) {
		CHECK_INT(hl_store_open(stores_dir(), &limits, &store, &err), 0);
		/* As it runs, and as it starts. */
		for (unsigned int i = 0; i < 3; i++)
			CHECK_INT(write_one(store, (turn ? STORES_NOON : later) + i * 10 * STORES_S, i, &err),
				  0);
		must("cd %s && test -e 2024-02-25.db", stores_dir());
		for (unsigned int i = 0; i < 3; i++)
			CHECK_INT(write_one(store, (turn ? later : STORES_NOON) + i * 10 * STORES_S, i, &err),
				  0);
		must("cd %s && test -e 2024-02-25.db", stores_dir());
		CHECK(hl_store_doubts_clock(store));
		hl_store_close(store);
	}
	/* One that goes on is believed. */
	CHECK_INT(hl_store_open(stores_dir(), &limits, &store, &err), 0);
	for (unsigned int i = 0; i < 3; i++)
		CHECK_INT(write_one(store, STORES_NOON + i * HL_DAY_NS / 2, i, &err), 0);
	CHECK(!hl_store_doubts_clock(store));
	hl_store_close(store);
	must("cd %s && ! test -e 2024-02-24.db && ! test -e 2024-02-25.db && test -e 2024-02-28.db",
	     stores_dir());
}

HL_TEST(limits_pause_writing_too)
{
	struct hl_store_limits limits = { .max_bytes = 200000 };
	uint64_t lost = 0;
	struct hl_store *store;
	struct hl_err err = { "" };

	stores_fill(stores_dir(), STORES_NOON - HL_DAY_NS, 20, 1);
	CHECK_INT(hl_store_open(stores_dir(), &limits, &store, &err), 0);
	for (unsigned int i = 0; i < 300; i++) {
		int code = write_one(store, STORES_NOON + i * 10 * STORES_S, i, &err);

		CHECK(!code || code == -ENOSPC);
		lost += code != 0;
	}
	CHECK(lost > 0);
	CHECK(strstr(err.text, "has reached its size limit, and no older day is left to remove"));
	hl_store_close(store);
	must("cd %s && ! test -e 2024-02-27.db && test \"$(du -sk . | cut -f1)\" -lt 500", stores_dir());
}

/* A reader that stands still in the middle must not hold up the writer. */
HL_TEST(readers_do_not_disturb)
{
	struct hl_store_query query = { .since_ns = STORES_NOON,
					.until_ns = STORES_NOON + 1000 * STORES_S,
					.event = NULL };
	struct hl_store *store = stores_open(stores_dir());
	struct hl_err err = { "" };

	for (unsigned int i = 0; i < 30; i++) {
		struct hl_reading *reading = hl_reading_new(&query);

		CHECK_INT(write_one(store, STORES_NOON + i * 10 * STORES_S, i, &err), 0);
		CHECK_INT(hl_reading_add(reading, stores_dir(), &err), 0);
		CHECK_INT(hl_reading_finish(reading, &err), 0);
		CHECK_INT(stores_total(reading), samples_of(0, i + 1));
		hl_reading_free(reading);
	}
	hl_store_close(store);
}
