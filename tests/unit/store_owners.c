// SPDX-License-Identifier: BSD-2-Clause
/* needs: base profile store tests/stores tests/shell */
#include <stdlib.h>

#include "store/owner.h"

#include "stores.h"

#include "harness.h"
#include "shell.h"

/* Whose samples a store holds, as readers and the sqlite3 shell are told. */

/* Roots as of "--by container,process", without what @ctx names. */
static int by_container(void *ctx, const struct hl_owner *owner, hl_root_push_fn push_root, void *push_ctx)
{
	const struct hl_owner_cgroup *g = owner->cgroup;
	const char *name = g && g->container ? g->container->name : "none";
	int code;

	CHECK_STR(owner->host, "host1");
	CHECK_STR(owner->event, "cpu-clock");
	CHECK_STR(owner->exe, "/usr/bin/app");
	CHECK(!!owner->service == (owner->pid != 100));
	CHECK(!!g == (owner->pid != 103));
	if (g && strcmp(name, "red") == 0) {
		CHECK_INT(g->container->n_labels, 2);
		CHECK_STR(g->container->labels[1].key, "say \"x\"");
		CHECK_STR(g->container->labels[1].value, "\xff\n\\");
		CHECK(!g->container->pod);
	}
	if (strcmp(name, ctx) == 0)
		return owner->pid % 2 ? HL_ROOT_EXCLUDED : HL_ROOT_NOT_ASKED;
	code = push_root(push_ctx, name, strlen(name));
	return code ? code : push_root(push_ctx, owner->process, strlen(owner->process));
}

static struct hl_reading *read_by_container(const char *without)
{
	char name[16];
	struct hl_store_query query = { .since_ns = STORES_NOON,
					.until_ns = STORES_NOON + 100 * STORES_S,
					.root = by_container,
					.root_ctx = name,
					.some = true,
					.pids = true };
	struct hl_reading *reading = hl_reading_new(&query);
	struct hl_err err;

	(void)snprintf(name, sizeof(name), "%s", without);
	if (hl_reading_add(reading, stores_dir(), &err) || hl_reading_finish(reading, &err))
		FAIL("%s", err.text);
	return reading;
}

static uint64_t total_of(const struct hl_reading *reading, const char *root)
{
	const struct hl_profile *p = hl_reading_profile(reading);
	const struct hl_node *nodes;
	uint64_t total = 0;
	uint32_t n;

	nodes = hl_profile_nodes(p, &n);
	for (uint32_t i = 1; i < n; i++)
		if (nodes[i].depth == 1 && strcmp(hl_profile_get_frame(p, nodes[i].frame)->name, root) == 0)
			total += nodes[i].total;
	return total;
}

HL_TEST(samples_stand_where_the_reader_says)
{
	struct hl_reading *all, *some;
	uint64_t red, blue;

	stores_fill(stores_dir(), STORES_NOON, 10, 1);
	all = read_by_container("nothing");
	red = total_of(all, "red");
	blue = total_of(all, "blue");
	CHECK(red > 0 && blue > 0);
	CHECK_INT(red + blue + total_of(all, "none"), stores_total(all));
	some = read_by_container("blue");
	CHECK_INT(total_of(some, "red"), red);
	CHECK_INT(stores_total(some), stores_total(all) - blue);
	CHECK_INT(hl_profile_meta(hl_reading_profile(some))->filtered, blue);
	CHECK(stores_has_note(some, "--where left out 0 and --exclude "));
	CHECK_INT(hl_profile_meta(hl_reading_profile(some))->left_out, blue);
	hl_reading_free(all);
	hl_reading_free(some);
}

/* Roots as of "--by pid". */
static int by_pid(void *ctx, const struct hl_owner *owner, hl_root_push_fn push_root, void *push_ctx)
{
	char name[16];

	if (*(const uint32_t *)ctx && owner->pid == 101)
		return HL_ROOT_NOT_ASKED;
	(void)snprintf(name, sizeof(name), "%u", owner->pid);
	return push_root(push_ctx, name, strlen(name));
}

static struct hl_reading *read_by_pid(bool pids, uint32_t without)
{
	struct hl_store_query query = { .since_ns = STORES_NOON,
					.until_ns = STORES_NOON + 3900 * STORES_S,
					.root = by_pid,
					.root_ctx = &without,
					.some = without,
					.pids = pids };
	struct hl_reading *reading = hl_reading_new(&query);
	struct hl_err err;

	if (hl_reading_add(reading, stores_dir(), &err) || hl_reading_finish(reading, &err))
		FAIL("%s", err.text);
	return reading;
}

HL_TEST_TIMEOUT(sums_do_not_tell_pids, 120)
{
	struct hl_reading *told, *summed, *some;

	stores_fill(stores_dir(), STORES_NOON, 390, 1);
	told = read_by_pid(true, 0);
	summed = read_by_pid(false, 0);
	some = read_by_pid(true, 101);
	CHECK_INT(stores_total(told), stores_total(summed));
	CHECK_INT(total_of(told, "0"), 0);
	CHECK(total_of(told, "101") > 0);
	CHECK(total_of(summed, "0") > stores_total(summed) / 2);
	CHECK_INT(stores_total(some), stores_total(told) - total_of(told, "101"));
	hl_reading_free(told);
	hl_reading_free(summed);
	hl_reading_free(some);
}

static int by_name(void *ctx, const struct hl_owner *owner, hl_root_push_fn push_root, void *push_ctx)
{
	if (strcmp(owner->process, "app") != 0)
		return HL_ROOT_NOT_ASKED;
	return push_root(push_ctx, "app", 3);
}

/* Passing over what is not asked for finds the same as reading all of it. */
HL_TEST_TIMEOUT(some_of_a_sum, 120)
{
	struct hl_store_query query = { .since_ns = STORES_NOON,
					.until_ns = STORES_NOON + 3600 * STORES_S,
					.root = by_name };
	struct hl_reading *readings[2];
	struct hl_err err;

	stores_fill(stores_dir(), STORES_NOON, 370, 1);
	for (int i = 0; i < 2; i++) {
		query.some = i;
		readings[i] = hl_reading_new(&query);
		if (hl_reading_add(readings[i], stores_dir(), &err) || hl_reading_finish(readings[i], &err))
			FAIL("%s", err.text);
	}
	CHECK(stores_total(readings[0]) > 0);
	CHECK(stores_same(hl_reading_profile(readings[0]), hl_reading_profile(readings[1])));
	CHECK_INT(hl_profile_meta(hl_reading_profile(readings[0]))->filtered,
		  hl_profile_meta(hl_reading_profile(readings[1]))->filtered);
	CHECK(hl_profile_meta(hl_reading_profile(readings[0]))->filtered > 0);
	hl_reading_free(readings[0]);
	hl_reading_free(readings[1]);
}

HL_TEST(sqlite_shell_knows_whose_samples_they_are)
{
	static const struct {
		const char *sql, *want;
	} cases[] = {
		{ "SELECT DISTINCT service, container, image, process, pid, exe FROM instructions WHERE pid "
		  "< 102 "
		  "ORDER BY pid, process",
		  "|red|img:1|other|100|/usr/bin/app\nweb|blue|img:1|app|101|/usr/bin/app" },
		{ "SELECT pod, namespace, workload, runtime, container_id, cgroup FROM instructions WHERE "
		  "container = 'blue' LIMIT 1",
		  "p|n|w|podman|c0ffee01|/podman/c0ffee01" },
		{ "SELECT DISTINCT unit, cgroup IS NULL FROM owners ORDER BY pid", "|0\nweb.service|0\n|1" },
		{ "SELECT DISTINCT labels ->> 'app' FROM instructions WHERE container = 'red'", "web" },
		{ "SELECT key FROM labels WHERE value = 'web'", "app" },
		{ "SELECT sum(samples) = (SELECT sum(samples) FROM hottest) FROM instructions", "1" },
	};

	/* Long enough for sums of minutes and hours. */
	stores_fill(stores_dir(), STORES_NOON - 30 * STORES_S, 400, 1);
	if (system("command -v sqlite3 >/dev/null"))
		SKIP("there is no sqlite3 shell");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		must("cd %s && got=$(sqlite3 2024-02-28.db \"%s\") && test \"$got\" = \"$(printf "
		     "'%s')\" || "
		     "{ echo \"# $got\"; false; }",
		     stores_dir(), cases[i].sql, cases[i].want);
}

/* The examples of the man page do what it says. */
HL_TEST(examples_of_the_man_page)
{
	stores_fill(stores_dir(), STORES_NOON - 30 * STORES_S, 400, 1);
	if (system("command -v sqlite3 >/dev/null"))
		SKIP("there is no sqlite3 shell");
	must("awk '/^SELECT/,/;$/' tools/man/hotleaf-store.5 >%s/sql && grep -c SELECT %s/sql | grep "
	     "-qx 6 &&"
	     " sed -i \"s/web[.]service/web/; s/= 'web'/= 'red'/; s/2026-11-30/2024-02-28/\" %s/sql",
	     stores_dir(), stores_dir(), stores_dir());
	/* Four answer; there are no gaps, and no code that could not be kept. */
	must("cd %s && sqlite3 -bail -cmd '.mode list' 2024-02-28.db <sql >out && grep -q "
	     "'^f[0-9]*|mov ' out &&"
	     " grep -q '^2024-02-28T12|web|[0-9.]*$' out && grep -q '^web|[0-9]*$' out",
	     stores_dir());
}
