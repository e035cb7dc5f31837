// SPDX-License-Identifier: BSD-2-Clause
/* needs: base profile store tests/stores tests/shell */
#include "store/rewrite.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/db.h"

#include "stores.h"

#include "harness.h"
#include "shell.h"

#define HOUR (3600 * STORES_S)

static const struct hl_store_limits minutes = { .windows_ns = 1, .minutes_ns = 14 * HL_DAY_NS };
static const struct hl_store_limits hours = { .windows_ns = 1, .minutes_ns = 1 };

static void rewrite(const struct hl_store_limits *limits, uint64_t now_ns, unsigned int want)
{
	unsigned int n;
	struct hl_err err = { "" };

	CHECK(hl_store_rewrite_due(stores_dir(), limits, now_ns) == (want > 0));
	if (hl_store_rewrite(stores_dir(), limits, now_ns, &n, &err))
		FAIL("%s", err.text);
	CHECK_INT(n, want);
}

static int64_t ask(const char *sql)
{
	int64_t number = -1;
	struct hl_err err = { "" };
	struct hl_db *db;
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/2024-02-28.db", stores_dir());
	if (hl_db_open(path, HL_DB_READ, &db, &err) || hl_db_number(db, sql, &number, &err))
		FAIL("%s", err.text);
	hl_db_close(db);
	return number;
}

static struct hl_reading *read_day(void)
{
	struct hl_err err = { "" };
	struct hl_reading *reading = stores_read(stores_dir(), STORES_NOON, STORES_NOON + 2 * HOUR, &err);

	if (!reading)
		FAIL("%s", err.text);
	return reading;
}

/* All that a report shows is the same, but that there are fewer windows. */
static void check_same(const struct hl_reading *a, const struct hl_reading *b)
{
	const struct hl_profile_meta *x = hl_profile_meta(hl_reading_profile(a)),
				     *y = hl_profile_meta(hl_reading_profile(b));

	CHECK(stores_same(hl_reading_profile(a), hl_reading_profile(b)));
	CHECK_INT(x->expected, y->expected);
	CHECK_INT(x->seen, y->seen);
	CHECK_INT(x->idle, y->idle);
	CHECK(x->busy_cpus - y->busy_cpus < 1e-6 && y->busy_cpus - x->busy_cpus < 1e-6);
	CHECK_INT(x->n_losses, y->n_losses);
	for (size_t i = 0; i < x->n_losses; i++)
		CHECK_INT(x->losses[i].count, y->losses[i].count);
	CHECK_INT(x->n_notes, y->n_notes);
	CHECK_STR(strchr(x->notes[0], ','), strchr(y->notes[0], ','));
}

/* With a gap of 25 s in the middle of a minute, and one that has a reason. */
static void fill(void)
{
	struct hl_store *store;

	stores_fill(stores_dir(), STORES_NOON, 100, 1);
	store = stores_open(stores_dir());
	hl_store_gap(store, STORES_NOON + 1000 * STORES_S, STORES_NOON + 1025 * STORES_S, 17,
		     "disabled by x");
	hl_store_close(store);
	stores_fill(stores_dir(), STORES_NOON + 1025 * STORES_S, 300, 101);
	stores_fill(stores_dir(), STORES_NOON + 4085 * STORES_S, 100, 401);
}

HL_TEST_TIMEOUT(a_day_in_minutes_and_hours_is_the_same_day, 120)
{
	struct hl_reading *before, *after;
	struct stat st;
	char path[128];
	long long size;

	fill();
	(void)snprintf(path, sizeof(path), "%s/2024-02-28.db", stores_dir());
	CHECK(stat(path, &st) == 0);
	size = st.st_size;
	before = read_day();
	/* Not before its end; and the next day is not due. */
	rewrite(&minutes, STORES_NOON + 11 * HOUR, 0);
	rewrite(&minutes, STORES_NOON + 13 * HOUR, 1);
	after = read_day();
	check_same(before, after);
	hl_reading_free(after);
	CHECK_INT(ask("SELECT sum(samples) = (SELECT sum(samples) FROM windows WHERE level = 0) FROM spans"),
		  1);
	CHECK_INT(ask("SELECT count(*) FROM spans WHERE level < 2"), 0);
	CHECK_INT(ask("SELECT count(*) FROM windows WHERE level = 1"), 9);
	CHECK_INT(ask("SELECT max(length) FROM windows WHERE level = 1"), (int64_t)(600 * STORES_S));
	CHECK_INT(ask("SELECT count(*) FROM windows WHERE level = 2"), 2);
	/* 84 minutes, of which three are cut by a gap or begin beside it. */
	CHECK(ask("SELECT count(*) FROM windows WHERE level = 0") < 90);
	CHECK_INT(ask("SELECT max(length) FROM windows WHERE level = 0"), (int64_t)(60 * STORES_S));
	/* None reaches over the gap. */
	CHECK_INT(ask("SELECT count(*) FROM windows w JOIN gaps g ON w.start < g.start + g.length AND"
		      " g.start < w.start + w.length WHERE level = 0"),
		  0);
	CHECK(ask("SELECT count(*) FROM processes WHERE pid = 101") > 0);
	CHECK(stat(path, &st) == 0);
	NOTE("%lld bytes, then %lld", size, (long long)st.st_size);
	CHECK(st.st_size < size / 2);
	rewrite(&minutes, STORES_NOON + 14 * HOUR, 0);
	rewrite(&hours, STORES_NOON + 14 * HOUR, 1);
	after = read_day();
	check_same(before, after);
	hl_reading_free(after);
	CHECK(ask("SELECT count(*) FROM windows") < 8);
	CHECK_INT(ask("SELECT count(*) FROM samples x JOIN threads t ON t.id = x.thread JOIN processes p ON"
		      " p.id = t.process WHERE p.pid != 0"),
		  0);
	rewrite(&hours, STORES_NOON + 14 * HOUR, 0);
	hl_reading_free(before);
	must("cd %s && ! ls -A | grep -v '^2024-02-28.db$' | grep -v lock", stores_dir());
}

/* Rows that a sum of ten minutes stands for are not even looked at. */
HL_TEST_TIMEOUT(an_hour_of_minutes_may_begin_anywhere, 120)
{
	static const char no_rows[] =
		"DELETE FROM samples WHERE window IN (SELECT id FROM windows WHERE level = 0"
		" AND start / 600000000000 IN (2848537, 2848538, 2848539, 2848540, 2848541))";
	static const char no_hour[] =
		"DELETE FROM samples WHERE window IN (SELECT id FROM windows WHERE level = 2);"
		"DELETE FROM windows WHERE level = 2";

	stores_fill(stores_dir(), STORES_NOON, 450, 1);
	rewrite(&minutes, STORES_NOON + 13 * HOUR, 1);
	CHECK_INT(ask("SELECT min(start / 600000000000) FROM windows"), 2848536);
	stores_check_range(60, 3660, no_rows);
	stores_check_range(570, 3630, no_rows);
	must("sqlite3 %s/2024-02-28.db \"%s\"", stores_dir(), no_hour);
	CHECK_INT(ask("SELECT sum(samples) = (SELECT sum(samples) FROM windows WHERE level = 0) FROM spans"),
		  1);
	CHECK_INT(ask("SELECT count(*) FROM spans WHERE level = 0"), 0);
}

HL_TEST_TIMEOUT(a_kill_leaves_the_old_day_or_the_new, 300)
{
	struct hl_reading *whole, *reading;
	unsigned int rewritten = 0, rounds = 40, n;
	struct hl_err err = { "" };

	fill();
	whole = read_day();
	must("cp %s/2024-02-28.db %s/kept", stores_dir(), stores_dir());
	srand(3);
	for (unsigned int i = 0; i < rounds; i++) {
		pid_t pid = fork();
		int status;

		CHECK(pid >= 0);
		if (pid == 0) {
			(void)hl_store_rewrite(stores_dir(), &minutes, STORES_NOON + 13 * HOUR, &n, &err);
			_exit(0);
		}
		(void)usleep((unsigned int)rand() % 400000);
		(void)kill(pid, SIGKILL);
		CHECK(waitpid(pid, &status, 0) == pid);
		reading = read_day();
		check_same(whole, reading);
		hl_reading_free(reading);
		if (!hl_store_rewrite_due(stores_dir(), &minutes, STORES_NOON + 13 * HOUR)) {
			rewritten++;
			must("cp %s/kept %s/2024-02-28.db", stores_dir(), stores_dir());
		}
	}
	NOTE("%u of %u were done before the kill", rewritten, rounds);
	rewrite(&minutes, STORES_NOON + 13 * HOUR, 1);
	/* What the killed ones left is gone. */
	must("! ls -A %s | grep '[.]new'", stores_dir());
	hl_reading_free(whole);
}

HL_TEST_TIMEOUT(a_window_that_comes_late_is_kept, 120)
{
	struct hl_store *store;
	struct hl_reading *reading;
	uint64_t before;
	struct hl_profile_meta meta = stores_meta(STORES_NOON + 1000 * STORES_S);
	struct hl_batch *batch = stores_batch(7);
	struct hl_err err = { "" };

	fill();
	reading = read_day();
	before = stores_total(reading);
	hl_reading_free(reading);
	/* The writer has the day open while it is replaced: it must not write into what is gone. */
	store = stores_open(stores_dir());
	CHECK_INT(hl_store_write(store, &meta, batch, &err), 0);
	{
		unsigned int n;

		/* In use: given up, or done, but nothing is lost. */
		(void)hl_store_rewrite(stores_dir(), &minutes, STORES_NOON + 13 * HOUR, &n, &err);
		NOTE("%u rewritten beside a writer", n);
	}
	meta = stores_meta(STORES_NOON + 1010 * STORES_S);
	if (hl_store_write(store, &meta, batch, &err))
		FAIL("%s", err.text);
	hl_store_close(store);
	reading = read_day();
	CHECK_INT(stores_total(reading), before + 2 * stores_samples(7));
	hl_reading_free(reading);
	rewrite(&minutes, STORES_NOON + 13 * HOUR, 1);
	reading = read_day();
	CHECK_INT(stores_total(reading), before + 2 * stores_samples(7));
	hl_reading_free(reading);
	hl_batch_free(batch);
}

HL_TEST_TIMEOUT(a_damaged_day_is_not_rewritten, 120)
{
	unsigned int n;
	struct hl_err err = { "" };
	struct hl_db *db;
	char path[128];

	fill();
	(void)snprintf(path, sizeof(path), "%s/2024-02-28.db", stores_dir());
	CHECK_INT(hl_db_open(path, HL_DB_WRITE, &db, &err), 0);
	CHECK_INT(hl_db_run(db, "UPDATE samples SET count = count + 1 WHERE window = 9", &err), 0);
	hl_db_close(db);
	CHECK_INT(hl_store_rewrite(stores_dir(), &minutes, STORES_NOON + 13 * HOUR, &n, &err), -EBADMSG);
	CHECK_STR(err.text, "its window 9 has a damaged sample");
	CHECK_INT(n, 0);
	CHECK_INT(ask("SELECT count(*) FROM windows WHERE level = 0"), 500);
	must("! ls -A %s | grep '[.]new'", stores_dir());
}

HL_TEST(one_at_a_time)
{
	unsigned int n;
	struct hl_err err;

	stores_fill(stores_dir(), STORES_NOON, 2, 1);
	must("cd %s && touch rewrite.lock", stores_dir());
	must("cd %s && (flock -x 9; sleep 3) 9>rewrite.lock & sleep 0.5", stores_dir());
	CHECK_INT(hl_store_rewrite(stores_dir(), &minutes, STORES_NOON + 13 * HOUR, &n, &err), -EBUSY);
	CHECK(strstr(err.text, "another hotleaf rewrites the store"));
}

/* Of one that was killed, even if its day is gone; what is only called alike stays. */
HL_TEST(what_was_left_is_removed)
{
	stores_fill(stores_dir(), STORES_NOON, 2, 1);
	must("cd %s && touch .2024-02-28.db.new .2020-01-01.db.new .2020-01-01.db.new-journal "
	     ".2020-01-01.db.newer .x.db.new",
	     stores_dir());
	rewrite(&minutes, STORES_NOON + 13 * HOUR, 1);
	must("cd %s && test \"$(ls -A | tr '\\n' ' ')\" = '.2020-01-01.db.newer .x.db.new "
	     "2024-02-28.db lock "
	     "rewrite.lock '",
	     stores_dir());
}
