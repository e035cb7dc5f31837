// SPDX-License-Identifier: BSD-2-Clause
/* needs: base profile store tests/stores */
#include "store/transfer.h"

#include <errno.h>
#include <stdlib.h>

#include "stores.h"

#include "harness.h"

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
	stores_must("cd %s && ls | sort | tr '\\n' ' ' | grep -qx '2024-02-28.db 2024-02-29.db lock '", to);
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
	stores_fill(to, MIDNIGHT - 95 * STORES_S, 10, 500);
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

HL_TEST(what_cannot_be_copied_is_told)
{
	struct hl_transferred sum;
	struct hl_store *store;
	struct hl_err err;

	make_store();
	CHECK_INT(hl_store_export(from, 1, 2, file, &sum, &err), -ENODATA);
	stores_must("! test -e %s", file);
	(void)export(0, INT64_MAX);
	CHECK_INT(hl_store_export(from, 0, INT64_MAX, file, &sum, &err), -EEXIST);
	CHECK_INT(hl_store_import(file, 1, 2, to, &sum, &err), -ENODATA);
	store = stores_open(to);
	CHECK_INT(hl_store_import(file, 0, INT64_MAX, to, &sum, &err), -EBUSY);
	hl_store_close(store);
	stores_must("echo nonsense >%s", file);
	CHECK_INT(hl_store_import(file, 0, INT64_MAX, to, &sum, &err), -EBADMSG);
}
