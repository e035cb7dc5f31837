// SPDX-License-Identifier: BSD-2-Clause
/* needs: base profile store tests/stores tests/shell */
#include "store/transfer.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/rewrite.h"

#include "stores.h"

#include "harness.h"
#include "shell.h"

#define MIDNIGHT (STORES_NOON + 12 * 3600 * STORES_S)

static char from[128], to[128], file[128];

/* A store of 40 windows around midnight, and a gap. */
static void make_store(void)
{
	struct hl_store *store;

	(void)snprintf(from, sizeof(from), "%s/from", stores_dir());
	(void)snprintf(to, sizeof(to), "%s/to", stores_dir());
	(void)snprintf(file, sizeof(file), "%s/file", stores_dir());
	stores_fill(from, MIDNIGHT - 200 * STORES_S, 40, 1);
	store = stores_open(from);
	hl_store_gap(store, MIDNIGHT + 200 * STORES_S, MIDNIGHT + 250 * STORES_S, 5, "disabled by x");
	hl_store_close(store);
}

static struct hl_transferred export(uint64_t since_ns, uint64_t until_ns)
{
	struct hl_transferred sum;
	struct hl_err err;

	if (hl_store_export(from, since_ns, until_ns, file, &sum, &err))
		FAIL("%s", err.text);
	return sum;
}

static struct hl_transferred import(uint64_t since_ns, uint64_t until_ns)
{
	struct hl_transferred sum;
	struct hl_err err;

	if (hl_store_import(file, since_ns, until_ns, to, &sum, &err))
		FAIL("%s", err.text);
	return sum;
}

static void check_range(uint64_t since_ns, uint64_t until_ns)
{
	struct hl_err err = { "" };
	struct hl_reading *a = stores_read(from, since_ns, until_ns, &err),
			  *b = stores_read(to, since_ns, until_ns, &err);

	if (!a || !b)
		FAIL("%s", err.text);
	CHECK(stores_same(hl_reading_profile(a), hl_reading_profile(b)));
	CHECK_STR(hl_profile_meta(hl_reading_profile(a))->notes[0],
		  hl_profile_meta(hl_reading_profile(b))->notes[0]);
	CHECK_INT(hl_profile_meta(hl_reading_profile(a))->expected,
		  hl_profile_meta(hl_reading_profile(b))->expected);
	CHECK_INT(hl_profile_meta(hl_reading_profile(a))->n_losses,
		  hl_profile_meta(hl_reading_profile(b))->n_losses);
	hl_reading_free(a);
	hl_reading_free(b);
}

HL_TEST(a_span_goes_to_another_store_and_is_the_same)
{
	uint64_t since = MIDNIGHT - 100 * STORES_S, until = MIDNIGHT + 260 * STORES_S;
	struct hl_transferred sum;

	make_store();
	sum = export(since, until);
	CHECK_INT(sum.windows, 30);
	sum = import(0, INT64_MAX);
	CHECK_INT(sum.windows, 30);
	CHECK_INT(sum.present, 0);
	check_range(since, until);
	/* A second time nothing is added. */
	sum = import(0, INT64_MAX);
	CHECK_INT(sum.windows, 0);
	CHECK_INT(sum.present, 30);
	check_range(since, until);
	must("cd %s && ls | sort | tr '\\n' ' ' | grep -qx '2024-02-28.db 2024-02-29.db lock '", to);
}

static void fill_of_length(const char *path, const char *host, uint64_t start_ns, unsigned int n,
			   unsigned int seed, uint64_t length_ns)
{
	struct hl_store *store = stores_open(path);

	for (unsigned int i = 0; i < n; i++) {
		struct hl_profile_meta meta = stores_meta(start_ns + i * length_ns);
		struct hl_batch *batch = stores_batch(seed + i);
		struct hl_err err;

		meta.host = host;
		meta.end_ns = meta.start_ns + length_ns;
		if (hl_store_write(store, &meta, batch, &err))
			FAIL("%s", err.text);
		hl_batch_free(batch);
	}
	hl_store_close(store);
}

static void fill_of_host(const char *path, const char *host, uint64_t start_ns, unsigned int n,
			 unsigned int seed)
{
	fill_of_length(path, host, start_ns, n, seed, 10 * STORES_S);
}

HL_TEST(stores_of_two_hosts_become_one)
{
	struct hl_transferred sum;
	struct hl_reading *reading;
	uint64_t want = 0;
	struct hl_err err;

	make_store();
	/* Others are there at the same times, and some of the same. */
	stores_fill(to, MIDNIGHT - 200 * STORES_S, 10, 1);
	fill_of_host(to, "host2", MIDNIGHT - 95 * STORES_S, 10, 500);
	(void)export(0, INT64_MAX);
	sum = import(MIDNIGHT - 150 * STORES_S, MIDNIGHT + 20 * STORES_S);
	CHECK_INT(sum.present, 5);
	CHECK_INT(sum.windows, 12);
	for (unsigned int i = 1; i <= 22; i++)
		want += stores_samples(i);
	for (unsigned int i = 500; i < 510; i++)
		want += stores_samples(i);
	reading = stores_read(to, MIDNIGHT - 3600 * STORES_S, MIDNIGHT + 3600 * STORES_S, &err);
	CHECK_INT(stores_total(reading), want);
	hl_reading_free(reading);
}

static uint64_t total_of(const char *path)
{
	struct hl_err err = { "" };
	struct hl_reading *reading =
		stores_read(path, MIDNIGHT - 7200 * STORES_S, MIDNIGHT + 7200 * STORES_S, &err);
	uint64_t total;

	if (!reading)
		FAIL("%s", err.text);
	total = stores_total(reading);
	hl_reading_free(reading);
	return total;
}

/* What @from holds is in @to already, @want samples of it, in windows of another length. */
static void check_nothing_is_added(uint64_t want)
{
	struct hl_transferred sum;

	(void)export(0, INT64_MAX);
	sum = import(0, INT64_MAX);
	CHECK_INT(sum.windows, 0);
	CHECK(sum.overlapping > 0);
	CHECK_INT(total_of(to), want);
}

/* The nightly rewrite makes other windows of the same samples: what comes from before and after it counts once. */
HL_TEST(rewritten_windows_are_not_added_to_those_they_were)
{
	const struct hl_store_limits minutes = { .windows_ns = 1 };
	unsigned int rewritten;
	uint64_t want;
	struct hl_err err;

	make_store();
	want = total_of(from);
	(void)export(0, INT64_MAX);
	CHECK_INT(import(0, INT64_MAX).windows, 40);
	if (hl_store_rewrite(from, &minutes, MIDNIGHT + 3 * HL_DAY_NS, &rewritten, &err))
		FAIL("%s", err.text);
	CHECK_INT(rewritten, 2);
	must("rm %s", file);
	check_nothing_is_added(want);
	/* And the other way round. */
	(void)snprintf(to, sizeof(to), "%s/other", stores_dir());
	CHECK(import(0, INT64_MAX).windows > 0);
	CHECK_INT(total_of(to), want);
	must("rm -r %s/from", stores_dir());
	make_store();
	(void)snprintf(to, sizeof(to), "%s/other", stores_dir());
	must("rm %s", file);
	check_nothing_is_added(want);
}

static void rewrite_minutes(const char *path)
{
	const struct hl_store_limits minutes = { .windows_ns = 1 };
	unsigned int rewritten;
	struct hl_err err;

	if (hl_store_rewrite(path, &minutes, MIDNIGHT + 3 * HL_DAY_NS, &rewritten, &err))
		FAIL("%s", err.text);
	CHECK_INT(rewritten, 1);
}

/* Windows of a second, the last one before a stop, and a minute that has nothing but a short one. */
HL_TEST(short_windows_are_not_added_to_those_they_became)
{
	uint64_t want;

	make_store();
	must("rm %s/*.db", from);
	fill_of_length(from, "host1", MIDNIGHT - 600 * STORES_S, 120, 1, STORES_S);
	stores_fill(from, MIDNIGHT - 480 * STORES_S, 5, 200);
	fill_of_length(from, "host1", MIDNIGHT - 430 * STORES_S, 1, 300, 7 * STORES_S / 10);
	fill_of_length(from, "host1", MIDNIGHT - 300 * STORES_S, 2, 400, STORES_S / 2);
	want = total_of(from);
	(void)export(0, INT64_MAX);
	CHECK_INT(import(0, INT64_MAX).windows, 128);
	rewrite_minutes(to);
	CHECK_INT(import(0, INT64_MAX).windows, 0);
	CHECK_INT(total_of(to), want);
	/* And the other way round. */
	rewrite_minutes(from);
	must("rm %s", file);
	(void)snprintf(to, sizeof(to), "%s/other", stores_dir());
	fill_of_length(to, "host1", MIDNIGHT - 300 * STORES_S, 1, 400, STORES_S / 2);
	(void)export(0, INT64_MAX);
	CHECK_INT(import(0, INT64_MAX).overlapping, 1);
}

/* A clock that is corrected makes windows begin a little early: those are others. */
HL_TEST(windows_that_begin_a_little_early_are_added)
{
	make_store();
	must("rm %s/*.db", from);
	stores_fill(to, MIDNIGHT - 600 * STORES_S, 1, 1);
	fill_of_length(from, "host1", MIDNIGHT - 590 * STORES_S - STORES_S / 4, 1, 2, 7 * STORES_S / 10);
	fill_of_length(from, "host1", MIDNIGHT - 589 * STORES_S - STORES_S / 2, 1, 3, 10 * STORES_S);
	(void)export(0, INT64_MAX);
	CHECK_INT(import(0, INT64_MAX).windows, 2);
}

/* Two windows far from each other are two days, and none between them. */
HL_TEST(days_without_windows_are_not_made)
{
	make_store();
	stores_fill(from, MIDNIGHT + 300 * HL_DAY_NS, 1, 1);
	(void)export(0, INT64_MAX);
	CHECK_INT(import(0, INT64_MAX).windows, 41);
	must("cd %s && test \"$(ls | wc -l)\" = 4", to);
}

/* A gap in a day without windows goes along. */
HL_TEST(gaps_between_windows_are_copied)
{
	struct hl_store *store;

	make_store();
	store = stores_open(from);
	hl_store_gap(store, MIDNIGHT + 2 * HL_DAY_NS, MIDNIGHT + 2 * HL_DAY_NS + 3600 * STORES_S, 7,
		     "disabled by x");
	hl_store_close(store);
	stores_fill(from, MIDNIGHT + 4 * HL_DAY_NS, 1, 1);
	(void)export(0, INT64_MAX);
	(void)import(0, INT64_MAX);
	check_range(MIDNIGHT - 3600 * STORES_S, MIDNIGHT + 5 * HL_DAY_NS);
}

/* What has the name is whole. */
HL_TEST_TIMEOUT(a_kill_leaves_no_half_of_an_export, 120)
{
	unsigned int whole = 0, rounds = 40;

	make_store();
	srand(5);
	for (unsigned int i = 0; i < rounds; i++) {
		struct hl_transferred sum;
		struct hl_err err;
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (pid == 0) {
			(void)hl_store_export(from, 0, INT64_MAX, file, &sum, &err);
			_exit(0);
		}
		(void)usleep((unsigned int)rand() % 300000);
		(void)kill(pid, SIGKILL);
		CHECK(waitpid(pid, NULL, 0) == pid);
		if (access(file, F_OK))
			continue;
		whole++;
		must("rm -rf %s", to);
		CHECK_INT(hl_store_import(file, 0, INT64_MAX, to, &sum, &err), 0);
		CHECK_INT(total_of(to), total_of(from));
		must("rm %s", file);
	}
	NOTE("%u of %u were done before the kill", whole, rounds);
}

HL_TEST(what_cannot_be_copied_is_told)
{
	struct hl_transferred sum;
	struct hl_store *store;
	struct hl_err err;
	char here[160];

	make_store();
	CHECK_INT(hl_store_export(from, 1, 2, file, &sum, &err), -ENODATA);
	must("! test -e %s", file);
	(void)export(0, INT64_MAX);
	CHECK_INT(hl_store_export(from, 0, INT64_MAX, file, &sum, &err), -EEXIST);
	CHECK_INT(hl_store_import(file, 1, 2, to, &sum, &err), -ENODATA);
	store = stores_open(to);
	CHECK_INT(hl_store_import(file, 0, INT64_MAX, to, &sum, &err), -EBUSY);
	hl_store_close(store);
	must("cp %s %s/here", file, to);
	(void)snprintf(here, sizeof(here), "%s/here", to);
	CHECK_INT(hl_store_import(here, 0, INT64_MAX, to, &sum, &err), -EINVAL);
	CHECK(strstr(err.text, "itself"));
	(void)snprintf(here, sizeof(here), "%s/nothing", to);
	CHECK_INT(hl_store_import(here, 0, INT64_MAX, from, &sum, &err), -ENOENT);
	CHECK(strstr(err.text, "nothing': No such file or directory"));
	must("echo nonsense >%s", file);
	CHECK_INT(hl_store_import(file, 0, INT64_MAX, to, &sum, &err), -EBADMSG);
}
