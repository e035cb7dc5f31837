// SPDX-License-Identifier: BSD-2-Clause
/* needs: base profile store tests/stores tests/shell */
#include "store/body.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/db.h"
#include "store/inspect.h"
#include "store/rewrite.h"
#include "store/transfer.h"

#include "stores.h"

#include "harness.h"

/* The code of functions that a day keeps, from where it is put to where it is read, whatever happens between. */

static const uint8_t code_one[] = { 0x48, 0x0f, 0xaf, 0xc0, 0xff, 0xc9, 0x75, 0xf8, 0xc3 },
		     code_two[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0xc3 };
static const uint8_t build_id[] = { 0x12, 0x34 };

static const char *day_file(void)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "%s/2024-02-28.db", stores_dir());
	return path;
}

static int64_t ask(const char *sql)
{
	int64_t number = -1;
	struct hl_err err = { "" };
	struct hl_db *db;

	if (hl_db_open(day_file(), HL_DB_READ, &db, &err) || hl_db_number(db, sql, &number, &err))
		FAIL("%s", err.text);
	hl_db_close(db);
	return number;
}

static void change(const char *sql)
{
	struct hl_err err = { "" };
	struct hl_db *db;

	if (hl_db_open(day_file(), HL_DB_WRITE, &db, &err) || hl_db_run(db, sql, &err))
		FAIL("%s", err.text);
	hl_db_close(db);
}

/* The frame of function number @which of stores_batch(); of one without samples where that has none such. */
static uint32_t function_of(struct hl_batch *batch, unsigned int which)
{
	char name[32];
	struct hl_frame frame = { .kind = HL_FRAME_USER,
				  .binary = { 1, 2 },
				  .address = 0x1000 + 16 * which,
				  .name = name,
				  .module = "/usr/bin/app",
				  .module_len = 12 };
	uint32_t index;

	frame.name_len = (size_t)snprintf(name, sizeof(name), "f%u", which);
	CHECK_INT(hl_profile_frame(hl_batch_profile(batch), &frame, &index), 0);
	return index;
}

static void add(struct hl_batch *batch, unsigned int which, const void *bytes, size_t size)
{
	const struct hl_body body = { .source = bytes ? HL_BODY_FILE : HL_BODY_NONE,
				      .bits = 64,
				      .address = 0x1000 + 16 * which,
				      .size = size,
				      .bytes = bytes,
				      .build_id = build_id,
				      .build_id_len = sizeof(build_id),
				      .why = bytes ? "" : "its process had ended" };

	CHECK_INT(hl_batch_add_body(batch, function_of(batch, which), &body), 0);
}

/* Writes @batch as window @number of a store whose days hold so many bytes of code. */
static void write_window(struct hl_batch *batch, unsigned int number, uint64_t code_bytes)
{
	const struct hl_store_limits limits = { .code_bytes = code_bytes };
	struct hl_profile_meta meta = stores_meta(STORES_NOON + number * 10 * STORES_S);
	struct hl_store *store;
	struct hl_err err = { "" };

	if (hl_store_open(stores_dir(), &limits, &store, &err) || hl_store_write(store, &meta, batch, &err))
		FAIL("%s", err.text);
	CHECK_STR(hl_store_notice(store), "");
	hl_store_close(store);
	hl_batch_free(batch);
}

/* A day in which two functions have code, one has samples but none, and one has code but no samples. */
static void write_day(void)
{
	for (unsigned int i = 0; i < 3; i++) {
		struct hl_batch *batch = stores_batch(i);

		add(batch, 1, code_one, sizeof(code_one));
		add(batch, 2, code_one, sizeof(code_one));
		add(batch, 2, code_two, sizeof(code_two));
		add(batch, 3, NULL, 100);
		add(batch, 500, code_two, sizeof(code_two));
		write_window(batch, i, 1 << 20);
	}
}

/* What was read. */
struct seen {
	unsigned int n[512], without;
	size_t bytes;
};

static int see(void *ctx, const struct hl_frame *function, const struct hl_body *body)
{
	struct seen *seen = ctx;
	unsigned int which = (unsigned int)(function->address - 0x1000) / 16;
	char name[32];

	(void)snprintf(name, sizeof(name), "f%u", which);
	CHECK_STR(function->name, name);
	CHECK_STR(function->module, "/usr/bin/app");
	CHECK_INT(function->kind, HL_FRAME_USER);
	CHECK(function->binary.lo == 1 && function->binary.hi == 2);
	CHECK(which < 512 && body->bits == 64 && body->address == function->address);
	CHECK(body->build_id_len == 2 && memcmp(body->build_id, build_id, 2) == 0);
	seen->n[which]++;
	if (!body->bytes) {
		CHECK_INT(body->source, HL_BODY_NONE);
		CHECK(body->why[0]);
		seen->without++;
		return 0;
	}
	CHECK_STR(body->why, "");
	CHECK_INT(body->source, HL_BODY_FILE);
	CHECK((body->size == sizeof(code_one) && memcmp(body->bytes, code_one, body->size) == 0) ||
	      (body->size == sizeof(code_two) && memcmp(body->bytes, code_two, body->size) == 0));
	seen->bytes += body->size;
	return 0;
}

static struct hl_body_sum read_bodies(const char *dir, struct seen *seen)
{
	struct hl_err err = { "" };
	struct hl_reading *reading = stores_read(dir, STORES_NOON, STORES_NOON + 3600 * STORES_S, &err);
	struct hl_body_sum sum;

	*seen = (struct seen){ .bytes = 0 };
	if (!reading || hl_reading_bodies(reading, see, seen, &sum, &err))
		FAIL("%s", err.text);
	hl_reading_free(reading);
	return sum;
}

HL_TEST(equal_code_stands_once)
{
	struct hl_body_sum sum;
	struct seen seen;

	write_day();
	sum = read_bodies(stores_dir(), &seen);
	CHECK_INT(sum.kept, 4);
	CHECK_INT(sum.without, 1);
	CHECK_INT(sum.bytes, sizeof(code_one) + sizeof(code_two));
	CHECK_INT(sum.damaged, 0);
	CHECK_INT(sum.days, 1);
	CHECK_INT(sum.old, 0);
	CHECK(seen.n[1] == 1 && seen.n[2] == 2 && seen.n[3] == 1 && seen.n[500] == 1 && seen.without == 1);
	CHECK_INT(seen.bytes, 2 * sizeof(code_one) + 2 * sizeof(code_two));
	CHECK_INT(ask("SELECT count(*) FROM codes"), 2);
	CHECK_INT(ask("SELECT count(*) FROM bodies WHERE build_id = '1234' AND binary IS NOT NULL"
		      " AND module = '/usr/bin/app' AND (bytes IS NULL) = (why <> '')"
		      " AND (source IS NULL) = (bytes IS NULL)"),
		  5);
	CHECK_INT(ask("SELECT count(*) FROM bodies WHERE function = 'f2' AND address = 4128 AND size = 5 AND"
		      " hex(bytes) = 'F30F1EFAC3' AND source = 'file' AND bits = 64"),
		  1);
}

HL_TEST(what_finds_no_room_is_noted)
{
	struct hl_batch *batch = stores_batch(1);
	struct hl_body_sum sum;
	struct seen seen;

	add(batch, 1, code_one, sizeof(code_one));
	add(batch, 2, code_two, sizeof(code_two));
	add(batch, 3, code_one, sizeof(code_one));
	write_window(batch, 0, sizeof(code_one) + 4);
	sum = read_bodies(stores_dir(), &seen);
	CHECK_INT(sum.kept, 2);
	CHECK_INT(sum.without, 1);
	CHECK_INT(sum.bytes, sizeof(code_one));
	CHECK_INT(ask("SELECT count(*) FROM bodies WHERE function = 'f2' AND why LIKE '%no room%' AND size = "
		      "5"),
		  1);
	/* The day is gone on with by another process, which knows how much it holds. */
	batch = stores_batch(2);
	add(batch, 4, code_two, sizeof(code_two));
	write_window(batch, 1, sizeof(code_one) + 4);
	sum = read_bodies(stores_dir(), &seen);
	CHECK_INT(sum.kept, 2);
	CHECK_INT(sum.without, 2);
	/* None at all. */
	batch = stores_batch(3);
	add(batch, 5, code_two, sizeof(code_two));
	write_window(batch, 2, 0);
	CHECK_INT(read_bodies(stores_dir(), &seen).kept, 2);
}

HL_TEST(a_rewritten_day_has_the_code_of_what_ran)
{
	static const struct hl_store_limits minutes = { .windows_ns = 1, .minutes_ns = 14 * HL_DAY_NS },
					    hours = { .windows_ns = 1, .minutes_ns = 1 };
	const struct hl_store_limits *const limits[] = { &minutes, &hours };
	unsigned int n;
	struct hl_err err = { "" };
	struct hl_body_sum sum;
	struct seen seen;

	write_day();
	for (int i = 0; i < 2; i++) {
		if (hl_store_rewrite(stores_dir(), limits[i], STORES_NOON + 2 * HL_DAY_NS, &n, &err))
			FAIL("%s", err.text);
		CHECK_INT(n, 1);
		sum = read_bodies(stores_dir(), &seen);
		CHECK_INT(sum.kept, 3);
		CHECK_INT(sum.without, 1);
		CHECK_INT(sum.bytes, sizeof(code_one) + sizeof(code_two));
		CHECK(seen.n[1] == 1 && seen.n[2] == 2 && seen.n[3] == 1 && !seen.n[500]);
		CHECK_INT(ask("SELECT count(*) FROM codes"), 2);
	}
}

HL_TEST(code_goes_where_its_samples_go)
{
	char file[128], to[128];
	struct hl_transferred moved;
	struct hl_err err = { "" };
	struct hl_body_sum sum;
	struct seen seen;

	(void)snprintf(file, sizeof(file), "%s/file", stores_dir());
	(void)snprintf(to, sizeof(to), "%s/to", stores_dir());
	write_day();
	if (hl_store_export(stores_dir(), STORES_NOON, STORES_NOON + 20 * STORES_S, file, &moved, &err) ||
	    hl_store_import(file, 0, INT64_MAX, to, &moved, &err))
		FAIL("%s", err.text);
	CHECK_INT(moved.windows, 2);
	/* Twice is once. */
	if (hl_store_import(file, 0, INT64_MAX, to, &moved, &err))
		FAIL("%s", err.text);
	sum = read_bodies(to, &seen);
	CHECK_INT(sum.kept, 3);
	CHECK_INT(sum.without, 1);
	CHECK_INT(sum.bytes, sizeof(code_one) + sizeof(code_two));
	CHECK(seen.n[1] == 1 && seen.n[2] == 2 && !seen.n[500]);
}

static int inspect(struct hl_err *err)
{
	struct hl_day_info info;

	return hl_day_inspect(day_file(), /* whole= */ true, &info, err);
}

HL_TEST(damaged_code_is_refused)
{
	/* One byte of the code; the number of it; what it is said to be; where it is said to be. */
	static const char *const damage[] = {
		"UPDATE codes SET bytes = x'480fafc0ffc975f9c3' WHERE length(bytes) = 9",
		"UPDATE functions SET code = 2 WHERE size = 9",
		"UPDATE functions SET code = 77 WHERE size = 9",
		"UPDATE functions SET size = size + 1 WHERE size = 9",
		"UPDATE functions SET address = address + 1 WHERE size = 9",
		"DELETE FROM codes WHERE length(bytes) = 9",
	};
	struct hl_err err = { "" };
	struct hl_body_sum sum;
	struct seen seen;

	for (size_t i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
		(void)unlink(day_file());
		write_day();
		CHECK_INT(inspect(&err), 0);
		change(damage[i]);
		sum = read_bodies(stores_dir(), &seen);
		CHECK_INT(sum.damaged, 2);
		CHECK_INT(sum.kept, 2);
		CHECK(!seen.n[1] && seen.n[2] == 1);
		CHECK_INT(inspect(&err), -EBADMSG);
		CHECK(strstr(err.text, "damaged"));
	}
}

HL_TEST(a_day_of_before_is_read_and_gone_on_with)
{
	struct hl_batch *batch;
	struct hl_err err = { "" };
	struct hl_body_sum sum;
	struct seen seen;
	unsigned int n;
	static const struct hl_store_limits minutes = { .windows_ns = 1, .minutes_ns = 14 * HL_DAY_NS };

	write_day();
	change("DROP VIEW bodies; DROP TABLE functions; DROP TABLE codes");
	sum = read_bodies(stores_dir(), &seen);
	CHECK_INT(sum.old, 1);
	CHECK_INT(sum.kept + sum.without, 0);
	CHECK_INT(inspect(&err), 0);
	batch = stores_batch(7);
	add(batch, 1, code_one, sizeof(code_one));
	write_window(batch, 3, 1 << 20);
	sum = read_bodies(stores_dir(), &seen);
	CHECK_INT(sum.old, 0);
	CHECK_INT(sum.kept, 1);
	change("DROP VIEW bodies; DROP TABLE functions; DROP TABLE codes");
	if (hl_store_rewrite(stores_dir(), &minutes, STORES_NOON + 2 * HL_DAY_NS, &n, &err))
		FAIL("%s", err.text);
	CHECK_INT(n, 1);
	CHECK_INT(inspect(&err), 0);
}
