// SPDX-License-Identifier: BSD-2-Clause
/* needs: base profile store tests/stores tests/shell */
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/db.h"

#include "stores.h"

#include "harness.h"
#include "shell.h"

/* What the batches of @n seeds sum up to, without a store in between. */
static struct hl_profile *expected_profile(unsigned int n, unsigned int seed)
{
	struct hl_profile *want = hl_profile_new();

	for (unsigned int i = 0; i < n; i++) {
		struct hl_reading *reading;
		struct hl_profile *p;
		const struct hl_node *nodes;
		struct hl_err err;
		uint32_t n_nodes;
		char dir[128];

		/* A store of one window each. */
		(void)snprintf(dir, sizeof(dir), "%s/one-%u", stores_dir(), i);
		stores_fill(dir, STORES_NOON, 1, seed + i);
		reading = stores_read(dir, STORES_NOON, STORES_NOON + STORES_S, &err);
		CHECK(reading);
		p = hl_reading_profile(reading);
		nodes = hl_profile_nodes(p, &n_nodes);
		CHECK_INT(nodes[0].total, stores_samples(seed + i));
		for (uint32_t k = 1; k < n_nodes; k++) {
			uint32_t frames[8], depth = nodes[k].depth;

			for (uint32_t at = k, d = depth; d > 0; at = nodes[at].parent)
				CHECK_INT(hl_profile_frame(want, hl_profile_get_frame(p, nodes[at].frame),
							   &frames[--d]),
					  0);
			CHECK_INT(hl_profile_add(want, frames, depth, nodes[k].self, nodes[k].self_weight),
				  0);
		}
		hl_reading_free(reading);
	}
	CHECK_INT(hl_profile_finish(want), 0);
	return want;
}

HL_TEST(what_is_read_is_what_was_written)
{
	struct hl_profile *want = expected_profile(5, 1);
	struct hl_reading *reading;
	struct hl_err err = { "" };
	const struct hl_binary *binary;
	const struct hl_node *nodes;
	uint32_t n, i;

	stores_fill(stores_dir(), STORES_NOON, 5, 1);
	reading = stores_read(stores_dir(), STORES_NOON, STORES_NOON + 50 * STORES_S, &err);
	if (!reading)
		FAIL("%s", err.text);
	CHECK(stores_same(hl_reading_profile(reading), want));
	nodes = hl_profile_nodes(hl_reading_profile(reading), &n);
	CHECK_INT(nodes[0].total_weight, nodes[0].total * 10000000 + 5);
	binary = hl_profile_binary(hl_reading_profile(reading), (struct hl_id){ 1, 2 });
	CHECK(binary && binary->build_id_len == 2 && binary->build_id[1] == 0x34);
	CHECK_INT(binary->n_segments, 2);
	CHECK_INT(binary->segments[1].offset, 0x1000);
	/* By hand: one stack with all that is known of it. */
	for (i = 0; i < n; i++) {
		const struct hl_frame *f = hl_profile_get_frame(hl_reading_profile(reading), nodes[i].frame);

		if (strcmp(f->name, "mov 1004(%rax),%rbx") == 0)
			break;
	}
	CHECK(i < n);
	CHECK_INT(nodes[i].depth, 4);
	CHECK_INT(nodes[i].self, 1 + (4 * 7 + 39 * 13) % 5);
	hl_profile_free(want);
	hl_reading_free(reading);
}

HL_TEST(header_sums_windows)
{
	const struct hl_profile_meta *m;
	struct hl_reading *reading;
	struct hl_err err;

	stores_fill(stores_dir(), STORES_NOON, 6, 1);
	reading = stores_read(stores_dir(), STORES_NOON, STORES_NOON + 60 * STORES_S, &err);
	m = hl_profile_meta(hl_reading_profile(reading));
	CHECK_STR(m->host, "host1");
	CHECK_STR(m->event, "cpu-clock");
	CHECK_STR(m->unit, "nanoseconds");
	CHECK_INT(m->expected, 6 * 1980);
	CHECK_INT(m->seen, 6 * 1979);
	CHECK_INT(m->idle, 6 * 1000);
	CHECK(m->busy_cpus > 1.499 && m->busy_cpus < 1.501);
	CHECK(m->cost_programs > 0.00099 && m->cost_programs < 0.00101);
	CHECK(m->cost_process < 0);
	CHECK_INT(m->frequency, 99);
	CHECK_INT(m->cpus, 2);
	CHECK_INT(m->n_losses, 1);
	CHECK_INT(m->losses[0].count, 18);
	CHECK_INT(m->losses[0].kind, HL_LOSS_CUT);
	CHECK_STR(m->losses[0].help, "raise it");
	CHECK(stores_has_note(reading, "a note"));
	CHECK_STR(m->notes[0], "6 windows, none missing");
	CHECK_INT(m->start_ns, STORES_NOON);
	CHECK_INT(m->end_ns, STORES_NOON + 60 * STORES_S);
	hl_reading_free(reading);
}

HL_TEST(only_windows_of_the_range)
{
	struct hl_reading *reading;
	struct hl_err err;

	stores_fill(stores_dir(), STORES_NOON, 6, 1);
	reading = stores_read(stores_dir(), STORES_NOON + 10 * STORES_S, STORES_NOON + 30 * STORES_S, &err);
	CHECK_INT(stores_total(reading), stores_samples(2) + stores_samples(3));
	hl_reading_free(reading);
	CHECK(!stores_read(stores_dir(), STORES_NOON + 61 * STORES_S, STORES_NOON + 70 * STORES_S, &err));
	CHECK_STR(err.text,
		  "no windows from 2024-02-28T12:01:01Z to 2024-02-28T12:01:10Z; what is stored begins "
		  "2024-02-28T12:00:00Z and ends 2024-02-28T12:01:00Z");
}

HL_TEST(a_range_spans_days)
{
	uint64_t midnight = STORES_NOON + 12 * 3600 * STORES_S;
	struct hl_reading *reading;
	struct hl_err err;

	stores_fill(stores_dir(), midnight - 30 * STORES_S, 6, 1);
	must("cd %s && test -f 2024-02-28.db && test -f 2024-02-29.db", stores_dir());
	/* The day that is over stands alone. */
	must("cd %s && ! ls 2024-02-28.db-wal 2>/dev/null", stores_dir());
	reading = stores_read(stores_dir(), midnight - 20 * STORES_S, midnight + 20 * STORES_S, &err);
	CHECK_INT(stores_total(reading),
		  stores_samples(2) + stores_samples(3) + stores_samples(4) + stores_samples(5));
	CHECK(stores_has_note(reading, "4 windows, none missing"));
	hl_reading_free(reading);
}

HL_TEST(gaps_are_visible)
{
	struct hl_reading *reading;
	struct hl_store *store;
	struct hl_err err;

	stores_fill(stores_dir(), STORES_NOON, 3, 1);
	stores_fill(stores_dir(), STORES_NOON + 60 * STORES_S, 3, 1);
	store = stores_open(stores_dir());
	hl_store_gap(store, STORES_NOON + 90 * STORES_S, STORES_NOON + 120 * STORES_S, 17, "disabled by x");
	for (unsigned int i = 12; i < 14; i++) {
		struct hl_profile_meta meta = stores_meta(STORES_NOON + i * 10 * STORES_S);
		struct hl_batch *batch = stores_batch(i);

		CHECK_INT(hl_store_write(store, &meta, batch, &err), 0);
		hl_batch_free(batch);
	}
	hl_store_close(store);
	reading = stores_read(stores_dir(), STORES_NOON, STORES_NOON + 140 * STORES_S, &err);
	CHECK(stores_has_note(reading,
			      "8 windows, 60 s missing: 2024-02-28T12:00:30Z to 2024-02-28T12:01:00Z "
			      "(the agent did not run), 2024-02-28T12:01:30Z to 2024-02-28T12:02:00Z "
			      "(disabled by x)"));
	CHECK_INT(hl_profile_meta(hl_reading_profile(reading))->losses[1].count, 17);
	hl_reading_free(reading);
}

static uint64_t lost_of(const struct hl_reading *reading)
{
	const struct hl_profile_meta *meta = hl_profile_meta(hl_reading_profile(reading));
	uint64_t lost = 0;

	for (size_t i = 0; i < meta->n_losses; i++)
		lost += meta->losses[i].kind == HL_LOSS_LOST ? meta->losses[i].count : 0;
	return lost;
}

/* A disk that was full for three days: the gap can be written only after them. */
HL_TEST(a_gap_of_days_is_visible_in_each)
{
	struct hl_store *store = stores_open(stores_dir());
	uint64_t end = STORES_NOON + 3 * HL_DAY_NS, lost = 0;
	struct hl_reading *reading;
	struct hl_err err;

	hl_store_gap(store, STORES_NOON + 10 * STORES_S, end, 1000003, "no space left for the store");
	hl_store_close(store);
	stores_fill(stores_dir(), STORES_NOON, 1, 1);
	stores_fill(stores_dir(), end, 1, 1);
	reading = stores_read(stores_dir(), STORES_NOON, STORES_NOON + 3600 * STORES_S, &err);
	CHECK(stores_has_note(reading, "1 window, 3590 s missing: "));
	CHECK(stores_has_note(reading, "(no space left for the store)"));
	hl_reading_free(reading);
	/* Of what was lost each report counts what is its own, and together they count all of it. */
	for (unsigned int turn = 0; turn < 2; turn++) {
		uint64_t middle = STORES_NOON + HL_DAY_NS;

		reading = stores_read(stores_dir(), turn ? middle : STORES_NOON,
				      turn ? end + 10 * STORES_S : middle, &err);
		if (!reading)
			FAIL("%s", err.text);
		CHECK(lost_of(reading) / 1000 == (turn ? 666 : 333));
		lost += lost_of(reading);
		hl_reading_free(reading);
	}
	CHECK_INT(lost, 1000003);
}

static void write_of_host(const char *path, const char *host, uint64_t start_ns, unsigned int seed)
{
	struct hl_store *store = stores_open(path);
	struct hl_profile_meta meta = stores_meta(start_ns);
	struct hl_batch *batch = stores_batch(seed);
	struct hl_err err;

	meta.host = host;
	CHECK_INT(hl_store_write(store, &meta, batch, &err), 0);
	hl_batch_free(batch);
	hl_store_close(store);
}

HL_TEST(a_gap_is_of_one_host)
{
	struct hl_store_query query = { .since_ns = STORES_NOON, .until_ns = STORES_NOON + 40 * STORES_S };
	struct hl_reading *reading = hl_reading_new(&query);
	struct hl_store *store;
	struct hl_err err;
	char a[128], b[128];

	(void)snprintf(a, sizeof(a), "%s/a", stores_dir());
	(void)snprintf(b, sizeof(b), "%s/b", stores_dir());
	store = stores_open(a);
	hl_store_gap(store, STORES_NOON + 10 * STORES_S, STORES_NOON + 30 * STORES_S, 0, "disabled by x");
	hl_store_close(store);
	for (unsigned int i = 0; i < 4; i += 3) {
		write_of_host(a, "a", STORES_NOON + i * 10 * STORES_S, 1);
		write_of_host(b, "b", STORES_NOON + i * 10 * STORES_S, 1);
	}
	CHECK_INT(hl_reading_add(reading, a, &err), 0);
	CHECK_INT(hl_reading_add(reading, b, &err), 0);
	CHECK_INT(hl_reading_finish(reading, &err), 0);
	CHECK(stores_has_note(reading,
			      "a: 2 windows, 20 s missing: 2024-02-28T12:00:10Z to 2024-02-28T12:00:30Z "
			      "(disabled by x); b: 2 windows, 20 s missing: 2024-02-28T12:00:10Z to "
			      "2024-02-28T12:00:30Z (the agent did not run)"));
	hl_reading_free(reading);
}

/* Writes a window of another event at the same frequency. */
static void write_event(struct hl_store *store, uint64_t start_ns, const char *event, uint32_t hz)
{
	struct hl_profile_meta meta = stores_meta(start_ns);
	struct hl_batch *batch = stores_batch(1);
	struct hl_err err;

	meta.event = event;
	meta.frequency = hz;
	CHECK_INT(hl_store_write(store, &meta, batch, &err), 0);
	hl_batch_free(batch);
}

HL_TEST(events_are_never_summed)
{
	struct hl_store_query query = { .since_ns = STORES_NOON,
					.until_ns = STORES_NOON + 100 * STORES_S,
					.event = "cycles:pp" };
	struct hl_store *store = stores_open(stores_dir());
	struct hl_reading *reading;
	struct hl_err err;

	write_event(store, STORES_NOON, "cpu-clock", 99);
	write_event(store, STORES_NOON + 10 * STORES_S, "cycles:pp", 99);
	write_event(store, STORES_NOON + 20 * STORES_S, "cpu-clock", 19);
	hl_store_close(store);
	reading = stores_read(stores_dir(), STORES_NOON, STORES_NOON + 30 * STORES_S, &err);
	CHECK_INT(stores_total(reading), 2 * stores_samples(1));
	CHECK(stores_has_note(reading, "1 windows with 120 samples of event cycles:pp are not shown"));
	CHECK(stores_has_note(reading, "19 to 99 Hz"));
	hl_reading_free(reading);
	reading = hl_reading_new(&query);
	CHECK_INT(hl_reading_add(reading, stores_dir(), &err), 0);
	CHECK_INT(hl_reading_finish(reading, &err), 0);
	CHECK_INT(stores_total(reading), stores_samples(1));
	hl_reading_free(reading);
}

HL_TEST(several_stores_make_one_report)
{
	struct hl_store_query query = { .since_ns = STORES_NOON,
					.until_ns = STORES_NOON + 20 * STORES_S,
					.event = NULL };
	struct hl_reading *reading = hl_reading_new(&query);
	struct hl_err err;
	char a[128], b[128];

	(void)snprintf(a, sizeof(a), "%s/a", stores_dir());
	(void)snprintf(b, sizeof(b), "%s/b", stores_dir());
	stores_fill(a, STORES_NOON, 2, 1);
	stores_fill(b, STORES_NOON, 2, 5);
	CHECK_INT(hl_reading_add(reading, a, &err), 0);
	CHECK_INT(hl_reading_add(reading, b, &err), 0);
	CHECK_INT(hl_reading_finish(reading, &err), 0);
	CHECK_INT(stores_total(reading),
		  stores_samples(1) + stores_samples(2) + stores_samples(5) + stores_samples(6));
	hl_reading_free(reading);
}

/* What the stores @a and @b have in the first @seconds, as one; to be freed. */
static struct hl_reading *read_two(const char *a, const char *b, unsigned int seconds)
{
	struct hl_store_query query = { .since_ns = STORES_NOON,
					.until_ns = STORES_NOON + seconds * STORES_S };
	struct hl_reading *reading = hl_reading_new(&query);
	struct hl_err err = { "" };

	if (hl_reading_add(reading, a, &err) || hl_reading_add(reading, b, &err) ||
	    hl_reading_finish(reading, &err))
		FAIL("%s", err.text);
	return reading;
}

/* By another name, as a copy, and as a copy of some of it. */
HL_TEST(a_store_that_is_given_twice_counts_once)
{
	const char *dir = stores_dir();
	struct hl_reading *reading;
	char a[128], b[128];
	uint64_t want = stores_samples(1) + stores_samples(2);

	(void)snprintf(a, sizeof(a), "%s/a", dir);
	(void)snprintf(b, sizeof(b), "%s/b", dir);
	stores_fill(a, STORES_NOON, 2, 1);
	must("ln -s a %s", b);
	reading = read_two(a, b, 20);
	CHECK_INT(stores_total(reading), want);
	CHECK(stores_has_note(reading, "/a' was given more than once, and counts once"));
	CHECK_STR(hl_profile_meta(hl_reading_profile(reading))->notes[0], "2 windows, none missing");
	hl_reading_free(reading);

	must("rm %s && cp -r %s %s", b, a, b);
	reading = read_two(a, b, 20);
	CHECK_INT(stores_total(reading), want);
	CHECK_INT(hl_profile_meta(hl_reading_profile(reading))->seen, 2 * 1979);
	CHECK(stores_has_note(reading,
			      "2 windows that several stores have alike count once; the first copy is in "));
	CHECK(stores_has_note(reading, "/b/2024-02-28.db"));
	CHECK_STR(hl_profile_meta(hl_reading_profile(reading))->notes[0], "2 windows, none missing");
	hl_reading_free(reading);

	stores_fill(b, STORES_NOON + 20 * STORES_S, 1, 3);
	reading = read_two(a, b, 30);
	CHECK_INT(stores_total(reading), want + stores_samples(3));
	CHECK_STR(hl_profile_meta(hl_reading_profile(reading))->notes[0], "3 windows, none missing");
	hl_reading_free(reading);
}

/* The copy of a day that cannot be read is shown; each file is named with its store. */
HL_TEST(a_copy_of_a_damaged_day_is_shown)
{
	const char *dir = stores_dir();
	struct hl_reading *reading;
	char a[128], b[128], want[256];

	(void)snprintf(a, sizeof(a), "%s/a", dir);
	(void)snprintf(b, sizeof(b), "%s/b", dir);
	stores_fill(a, STORES_NOON, 2, 1);
	must("cp -r %s %s && cd %s && printf '\\377\\377' | dd of=2024-02-28.db bs=1 conv=notrunc seek=60 "
	     "status=none && echo x >2024-02-28.db.damaged-20240228T130000Z",
	     a, b, a);
	reading = read_two(a, b, 20);
	CHECK_INT(stores_total(reading), stores_samples(1) + stores_samples(2));
	(void)snprintf(want, sizeof(want),
		       "%s/2024-02-28.db could not be read, its windows are not shown: ", a);
	CHECK(stores_has_note(reading, want));
	(void)snprintf(want, sizeof(want), "%s/2024-02-28.db.damaged-20240228T130000Z was set aside", a);
	CHECK(stores_has_note(reading, want));
	CHECK(!stores_has_note(reading, "alike"));
	hl_reading_free(reading);
	/* The file is named once where the reason names it, too. */
	must("rm -r %s && mkdir %s && cd %s && echo no database >2024-02-28.db", a, a, a);
	reading = read_two(a, b, 20);
	(void)snprintf(
		want, sizeof(want),
		"%s/2024-02-28.db could not be read, its windows are not shown: file is not a database", a);
	CHECK(stores_has_note(reading, want));
	hl_reading_free(reading);
}

HL_TEST(a_writer_is_seen_and_not_disturbed)
{
	struct hl_store_writer writer = { 0 };
	uint64_t before = hl_realtime_ns();
	struct hl_store *store;

	CHECK_INT(hl_store_writer("/nonexistent", &writer), 0);
	CHECK_INT(hl_store_writer(stores_dir(), &writer), 0);
	store = stores_open(stores_dir());
	CHECK_INT(hl_store_writer(stores_dir(), &writer), 1);
	CHECK_INT(writer.pid, getpid());
	/* The clock of files is one that ticks. */
	CHECK(writer.since_ns + STORES_S > before && writer.since_ns <= hl_realtime_ns());
	CHECK_INT(writer.window_s, 0);
	hl_store_tell_window(store, 300 * STORES_S);
	CHECK_INT(hl_store_writer(stores_dir(), &writer), 1);
	CHECK_INT(writer.pid, getpid());
	CHECK_INT(writer.window_s, 300);
	hl_store_close(store);
	writer = (struct hl_store_writer){ 0 };
	CHECK_INT(hl_store_writer(stores_dir(), &writer), 0);
	CHECK_INT(writer.pid, 0);
	CHECK_INT(writer.window_s, 300);
	store = stores_open(stores_dir());
	hl_store_close(store);
}

HL_TEST(one_writer)
{
	static const struct hl_store_limits none;
	struct hl_store *store = stores_open(stores_dir()), *second;
	struct hl_err err;
	char want[160];

	CHECK_INT(hl_store_open(stores_dir(), &none, &second, &err), -EBUSY);
	(void)snprintf(want, sizeof(want), "another hotleaf writes to the store '%s': process %d",
		       stores_dir(), (int)getpid());
	CHECK_STR(err.text, want);
	hl_store_close(store);
	store = stores_open(stores_dir());
	hl_store_close(store);
}

HL_TEST(sqlite_shell_answers)
{
	stores_fill(stores_dir(), STORES_NOON, 5, 1);
	if (system("command -v sqlite3 >/dev/null"))
		SKIP("there is no sqlite3 shell");
	must("cd %s && test \"$(sqlite3 2024-02-28.db \"SELECT sum(samples) FROM instructions "
	     "WHERE time >= '2024-02-28T12:00:10Z' AND time < '2024-02-28T12:00:20Z'\")\" = %d",
	     stores_dir(), (int)stores_samples(2));
	must("cd %s && test \"$(sqlite3 2024-02-28.db \"SELECT function, instruction, samples FROM "
	     "hottest "
	     "WHERE function = 'f1004'\")\" = 'f1004|mov 1004(%%rax),%%rbx|%d'",
	     stores_dir(), 1 + (4 * 7 + 39 * 13) % 5);
	must("cd %s && test \"$(sqlite3 2024-02-28.db 'SELECT count(*), sum(lost) FROM coverage')\" = "
	     "'5|0'",
	     stores_dir());
	must("cd %s && test \"$(sqlite3 2024-02-28.db 'SELECT sum(samples) FROM lost')\" = 15", stores_dir());
	must("cd %s && test \"$(sqlite3 2024-02-28.db 'SELECT hex(build_id) FROM binaries')\" = 1234",
	     stores_dir());
}

HL_TEST(an_agent_goes_on_where_one_ended)
{
	struct stat before, after;
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/2024-02-28.db", stores_dir());
	stores_fill(stores_dir(), STORES_NOON, 40, 1);
	CHECK(stat(path, &before) == 0);
	/* Nothing but the rows of samples is new. */
	for (unsigned int i = 0; i < 10; i++)
		stores_fill(stores_dir(), STORES_NOON + (400 + 10 * i) * STORES_S, 1, 1 + i);
	CHECK(stat(path, &after) == 0);
	NOTE("%lld bytes, then %lld", (long long)before.st_size, (long long)after.st_size);
	CHECK(after.st_size < before.st_size + before.st_size / 2);
}

/* What is written goes from the log to the database while the agent runs, not only in the end. */
HL_TEST(the_log_does_not_grow)
{
	struct hl_store *store = stores_open(stores_dir());
	struct stat log, database;
	char path[128];

	for (unsigned int i = 0; i < 400; i++) {
		struct hl_profile_meta meta = stores_meta(STORES_NOON + i * 10 * STORES_S);
		struct hl_batch *batch = stores_batch(i);
		struct hl_err err;

		if (hl_store_write(store, &meta, batch, &err))
			FAIL("%s", err.text);
		hl_batch_free(batch);
	}
	(void)snprintf(path, sizeof(path), "%s/2024-02-28.db", stores_dir());
	CHECK(stat(path, &database) == 0);
	(void)snprintf(path, sizeof(path), "%s/2024-02-28.db-wal", stores_dir());
	CHECK(stat(path, &log) == 0);
	NOTE("a log of %lld bytes, a database of %lld", (long long)log.st_size, (long long)database.st_size);
	CHECK(log.st_size < 5 << 20);
	CHECK(database.st_size > 4096);
	hl_store_close(store);
}

HL_TEST_TIMEOUT(minutes_and_hours_are_sums, 120)
{
	static const char no_sums[] =
		"DELETE FROM samples WHERE window IN (SELECT id FROM windows WHERE level > 0);"
		"DELETE FROM windows WHERE level > 0";
	/* Rows that a sum stands for are not even looked at. */
	static const char no_rows[] =
		"DELETE FROM samples WHERE window IN (SELECT id FROM windows WHERE level = 0)";
	static const char hours_only[] =
		"DELETE FROM samples WHERE window IN (SELECT id FROM windows WHERE level < 2)";

	/* From 11:59:30 to 13:05:00, with an agent that started anew in between. */
	stores_fill(stores_dir(), STORES_NOON - 30 * STORES_S, 200, 1);
	stores_fill(stores_dir(), STORES_NOON + 1970 * STORES_S, 193, 201);
	stores_check_range(0, 3900, no_sums);
	stores_check_range(70, 3700, no_sums);
	stores_check_range(0, 3600, hours_only);
	stores_check_range(60, 600, no_rows);
	stores_check_range(0, 3600, no_rows);
}

HL_TEST(a_late_window_is_not_lost)
{
	struct hl_reading *reading;
	uint64_t want = 0;
	struct hl_err err;

	stores_fill(stores_dir(), STORES_NOON, 12, 1);
	/* The clock was set back by two minutes. */
	stores_fill(stores_dir(), STORES_NOON + 5 * STORES_S, 12, 50);
	reading = stores_read(stores_dir(), STORES_NOON, STORES_NOON + 200 * STORES_S, &err);
	for (unsigned int i = 0; i < 12; i++)
		want += stores_samples(1 + i) + stores_samples(50 + i);
	CHECK_INT(stores_total(reading), want);
	hl_reading_free(reading);
}

/* ---- retention ----------------------------------------------------------------------------------------- */

static void prune(struct hl_store_limits limits, uint64_t now_ns, unsigned int removed)
{
	unsigned int n;
	struct hl_err err;

	if (hl_days_prune(stores_dir(), &limits, now_ns, &n, &err))
		FAIL("%s", err.text);
	CHECK_INT(n, removed);
}

HL_TEST(old_days_are_removed_whole)
{
	uint64_t day = HL_DAY_NS;
	struct hl_day *days;
	size_t n;
	struct hl_err err;

	for (unsigned int i = 0; i < 5; i++)
		stores_fill(stores_dir(), STORES_NOON + i * day, 2, 1);
	must("cd %s && cp 2024-02-29.db 2024-02-29.db.damaged-20240229T120000Z && touch 2024-13-01.db "
	     "2024-02-29.dbx 24-02-29.db other",
	     stores_dir());
	CHECK_INT(hl_days_list(stores_dir(), &days, &n, &err), 0);
	CHECK_INT(n, 6);
	CHECK_STR(days[0].name, "2024-02-28.db");
	CHECK(days[2].aside && !days[1].aside);
	free(days);
	prune((struct hl_store_limits){ .max_age_ns = 0 }, STORES_NOON + 10 * day, 0);
	prune((struct hl_store_limits){ .max_age_ns = 4 * day }, STORES_NOON + 4 * day, 0);
	prune((struct hl_store_limits){ .max_age_ns = 3 * day }, STORES_NOON + 4 * day, 1);
	must("cd %s && ! test -e 2024-02-28.db && test -e 2024-02-29.db", stores_dir());
	/* By size: the oldest, and what was set aside of it, but never today's. */
	CHECK_INT(hl_days_list(stores_dir(), &days, &n, &err), 0);
	prune((struct hl_store_limits){ .max_bytes = days[0].bytes * 3 + 1 }, STORES_NOON + 4 * day, 2);
	free(days);
	{
		struct hl_store_limits tiny = { .max_bytes = 1000 };
		unsigned int removed;

		CHECK_INT(hl_days_prune(stores_dir(), &tiny, STORES_NOON + 4 * day, &removed, &err), -ENOSPC);
		CHECK_INT(removed, 2);
	}
	must("cd %s && test -e 2024-03-03.db && test -e other && test -e 2024-02-29.dbx", stores_dir());
}
