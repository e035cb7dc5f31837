// SPDX-License-Identifier: BSD-2-Clause
/* needs: all tests/stores tests/command tests/shell */
#include "command/command.h"

#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"

#include "command.h"
#include "harness.h"
#include "shell.h"
#include "stores.h"

#define STATUS(store, ...) \
	RUN("status", "--store", store, "--disabled-file", "/nonexistent/off" __VA_OPT__(, ) __VA_ARGS__)

static void check(const char *store, int want, const char *begins, const char *holds)
{
	int status = STATUS(store);

	if (status != want || strncmp(said, begins, strlen(begins)) != 0 || !strstr(said, holds))
		FAIL("status %d: %s", status, said);
}

static void check_json(const char *store, int want, const char *text)
{
	int status = STATUS(store, "-f", "json");

	if (status != want || !strstr(said, text))
		FAIL("status %d: %s", status, said);
	must("python3 -m json.tool <%s/said >/dev/null", stores_dir());
}

static const char *store_at(const char *name)
{
	static char path[80];

	(void)snprintf(path, sizeof(path), "%s/%s", stores_dir(), name);
	return path;
}

/* As if the writer held it for an hour. */
static void age_lock(const char *store)
{
	struct timeval times[2] = { { 0 } };
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/lock", store);
	times[0].tv_sec = times[1].tv_sec = (time_t)(hl_realtime_ns() / STORES_S) - 3600;
	CHECK_INT(utimes(path, times), 0);
}

HL_TEST(before_the_first_window)
{
	const char *dir = store_at("empty");
	struct hl_store *store = stores_open(dir);

	check(dir, 3, "starting: an agent runs (process ", "; the store is empty");
	check_json(dir, 3, "{\"state\":\"starting\",\"reason\":\"an agent runs (process ");
	CHECK(strstr(said, ",\"agent\":{\"pid\":"));
	age_lock(dir);
	check(dir, 1, "stale: an agent runs (process ",
	      "), but it has written nothing lately; the store is empty");
	hl_store_close(store);
	check(dir, 1, "stale: no agent runs; the store is empty", "\n");
	check_json(dir, 1, "{\"state\":\"stale\",\"reason\":\"no agent runs\"}");
}

HL_TEST(after_the_last_window)
{
	const char *dir = store_at("old");
	struct hl_store *store;

	stores_fill(dir, STORES_NOON, 2, 1);
	check(dir, 1, "stale: no agent runs; no windows from ", "what is stored begins 2024-02-28T12:00:00Z");
	store = stores_open(dir);
	check(dir, 3, "starting: ", "what is stored begins 2024-02-28T12:00:00Z");
	age_lock(dir);
	check(dir, 1, "stale: an agent runs ", "written nothing lately");
	hl_store_close(store);
	/* Five minutes ago there was one. */
	dir = store_at("lately");
	stores_fill(dir, hl_realtime_ns() - 300 * STORES_S, 1, 1);
	check(dir, 1, "stale: no agent runs; the last window ended ", "windows of 10 s");
	/* Its windows are longer than it takes to call an agent stale. */
	CHECK_INT(STATUS(store_at("none")), 1);
}

/* An agent that was stopped for a while ends its window late: that makes nobody patient. */
HL_TEST(a_window_that_took_longer)
{
	const char *dir = store_at("stopped");
	struct hl_profile_meta meta = stores_meta(hl_realtime_ns() - 400 * STORES_S);
	struct hl_batch *batch = stores_batch(1);
	struct hl_store *store = stores_open(dir);

	meta.end_ns += 290 * STORES_S;
	CHECK_INT(hl_store_write(store, &meta, batch, NULL), 0);
	hl_store_tell_window(store, 300 * STORES_S);
	check(dir, 0, "ok: ", "windows of 300 s");
	age_lock(dir);
	/* As after settings were read again. */
	hl_store_tell_window(store, 10 * STORES_S);
	check(dir, 1, "stale: an agent runs ", "windows of 10 s");
	hl_store_close(store);
	check(dir, 1, "stale: no agent runs; ", "windows of 10 s");
	hl_batch_free(batch);
}

HL_TEST(windows_that_come)
{
	const char *dir = store_at("new");

	stores_fill(dir, hl_realtime_ns() - 12 * STORES_S, 1, 1);
	check(dir, 0, "ok: the last window ended ", "1979 samples seen, 0 of them lost");
	check_json(dir, 0, "{\"state\":\"ok\",\"last_window_end\":\"");
	CHECK(!strstr(said, "reason"));
	CHECK_INT(STATUS(dir, "--disabled-file", "/"), 1);
	CHECK(strncmp(said, "disabled: '/' is there; the last window ended ", 46) == 0);
}

/* The cap halved it, or other settings did: what holds now is told, not what was most. */
HL_TEST(the_frequency_of_the_last_window)
{
	const char *dir = store_at("slower");
	struct hl_profile_meta meta = stores_meta(hl_realtime_ns() - 12 * STORES_S);
	struct hl_batch *batch = stores_batch(1);
	struct hl_store *store;

	stores_fill(dir, meta.start_ns - 20 * STORES_S, 1, 1);
	store = stores_open(dir);
	meta.frequency = 49;
	CHECK_INT(hl_store_write(store, &meta, batch, NULL), 0);
	hl_batch_free(batch);
	hl_store_close(store);
	check(dir, 0, "ok: the last window ended ", " s ago; 49 Hz, windows of 10 s\n");
	check_json(dir, 0, "\"frequency_hz\":49,");
}

HL_TEST(which_samples_were_lost)
{
	static const struct hl_loss losses[] = { { "not delivered", "", 500, HL_LOSS_LOST },
						 { "count map full", "", 30, HL_LOSS_LOST },
						 { "stack lost", "", 100, HL_LOSS_CUT },
						 { "count map busy", "", 10, HL_LOSS_LOST } };
	const char *dir = store_at("lossy");
	struct hl_store *store = stores_open(dir);
	struct hl_profile_meta meta = stores_meta(hl_realtime_ns() - 12 * STORES_S);
	struct hl_batch *batch = stores_batch(1);

	meta.losses = losses;
	meta.n_losses = 4;
	CHECK_INT(hl_store_write(store, &meta, batch, NULL), 0);
	check(dir, 1,
	      "lossy: 2.0 % of the samples were lost (30 count map full, 10 count map busy); the last window",
	      "1979 samples seen, 40 of them lost");
	CHECK(strstr(said, "besides: 500 not delivered\n"));
	check_json(dir, 1,
		   "\"reason\":\"2.0 % of the samples were lost (30 count map full, 10 count map busy)\"");
	hl_batch_free(batch);
	hl_store_close(store);
}

/* A store may be a stranger's: a terminal gets no control characters, a reader of JSON valid text. */
HL_TEST(names_that_a_stranger_chose)
{
	static const struct hl_loss losses[] = { { "red\x1b[31m\xff\"\\", "", 1, HL_LOSS_LOST } };
	static const char *const notes[] = { "over --cpu-max\x1b[31m\n\xff" };
	const char *dir = store_at("strange");
	struct hl_store *store = stores_open(dir);
	struct hl_profile_meta meta = stores_meta(hl_realtime_ns() - 12 * STORES_S);
	struct hl_batch *batch = stores_batch(1);

	meta.losses = losses;
	meta.notes = notes;
	CHECK_INT(hl_store_write(store, &meta, batch, NULL), 0);
	check(dir, 0, "ok: ", "lost: 1 red\\x1b[31m\xef\xbf\xbd\"\\\n");
	CHECK(strstr(said, "\ncaps: over --cpu-max\\x1b[31m\\n\xef\xbf\xbd\n"));
	CHECK(!strchr(said, 0x1b));
	check_json(dir, 0, "\"red\\\\x1b[31m\xef\xbf\xbd\\\"\\\\\":1");
	hl_batch_free(batch);
	hl_store_close(store);
}
