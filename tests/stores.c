// SPDX-License-Identifier: BSD-2-Clause
#include "stores.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/db.h"

#include "harness.h"
#include "shell.h"

static char dir[64];

static void remove_dir(void)
{
	char command[192];

	(void)snprintf(command, sizeof(command), "umount -q %s/small 2>/dev/null; rm -rf '%s'", dir, dir);
	(void)!system(command);
}

const char *stores_dir(void)
{
	if (!dir[0]) {
		(void)snprintf(dir, sizeof(dir), "/tmp/hl-store-XXXXXX");
		CHECK(mkdtemp(dir));
		CHECK(atexit(remove_dir) == 0);
	}
	return dir;
}

struct hl_store *stores_open(const char *path)
{
	static const struct hl_store_limits none;
	struct hl_store *store;
	struct hl_err err;

	if (hl_store_open(path, &none, &store, &err))
		FAIL("%s", err.text);
	return store;
}

struct hl_profile_meta stores_meta(uint64_t start_ns)
{
	static const struct hl_loss losses[] = { { "stack map full", "raise it", 3, HL_LOSS_CUT } };
	static const char *const notes[] = { "a note" };

	return (struct hl_profile_meta){ .host = "host1",
					 .kernel = "Linux 6.18",
					 .version = "0.1",
					 .event = "cpu-clock",
					 .decoders = "none",
					 .unit = "nanoseconds",
					 .frequency = 99,
					 .cpus = 2,
					 .start_ns = start_ns,
					 .end_ns = start_ns + 10 * STORES_S,
					 .expected = 1980,
					 .seen = 1979,
					 .idle = 1000,
					 .busy_cpus = 1.5,
					 .cost_programs = 0.001,
					 .cost_process = -1,
					 .losses = losses,
					 .n_losses = 1,
					 .notes = notes,
					 .n_notes = 1 };
}

enum { STACKS = 40 };

static uint32_t add_frame(struct hl_batch *batch, struct hl_frame frame)
{
	uint32_t index;

	frame.name_len = strlen(frame.name);
	frame.module_len = strlen(frame.module);
	CHECK_INT(hl_profile_frame(hl_batch_profile(batch), &frame, &index), 0);
	return index;
}

static uint64_t count_of(unsigned int seed, unsigned int i)
{
	return 1 + (seed * 7 + i * 13) % 5;
}

uint64_t stores_samples(unsigned int seed)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < STACKS; i++)
		n += count_of(seed, i);
	return n;
}

/* Of processes by number: two containers of one image, a unit, and one that is not known. */
static const struct hl_owner_cgroup *cgroup_of(struct hl_batch *batch, unsigned int i)
{
	static const struct hl_label labels[] = { { "app", "web" }, { "say \"x\"", "\xff\n\\" } };
	static const struct hl_owner_container containers[] = {
		{ .runtime = "podman",
		  .id = "c0ffee00",
		  .name = "red",
		  .image = "img:1",
		  .labels = labels,
		  .n_labels = 2 },
		{ .runtime = "podman",
		  .id = "c0ffee01",
		  .name = "blue",
		  .image = "img:1",
		  .pod = "p",
		  .namespace = "n",
		  .workload = "w" },
	};
	static const struct hl_owner_cgroup cgroups[] = {
		{ .path = "/podman/c0ffee00", .container = &containers[0] },
		{ .path = "/podman/c0ffee01", .container = &containers[1] },
		{ .path = "/system.slice/web.service", .unit = "web.service" },
	};
	const struct hl_owner_cgroup *kept = i < 3 ? hl_batch_cgroup(batch, &cgroups[i]) : NULL;

	CHECK(kept || i == 3);
	return kept;
}

struct hl_batch *stores_batch(unsigned int seed)
{
	static const struct hl_segment segments[] = { { 0x1000, 0, 0x100 }, { 0x3000, 0x1000, 0x200 } };
	static const uint8_t build_id[] = { 0x12, 0x34 };
	static const struct hl_binary binary = { { 1, 2 }, build_id, 2, segments, 2, 0 };
	struct hl_batch *batch = hl_batch_new();

	CHECK(batch);
	for (unsigned int i = 0; i < STACKS; i++) {
		/* The last stack is of this seed alone. */
		unsigned int which = i < STACKS - 1 ? i : 1000 + seed;
		const char *thread = i % 3 ? "app" : "worker \xff\n";
		struct hl_owner owner = { .kind = HL_OWNER_PROCESS,
					  .pid = 100 + i % 4,
					  .started_ns = 5,
					  .process = i % 2 ? "app" : "other",
					  .thread = thread,
					  .service = i % 4 ? "web" : NULL,
					  .exe = "/usr/bin/app",
					  .cgroup = cgroup_of(batch, i % 4) };
		char name[32], insn[32];
		struct hl_frame function = { .kind = HL_FRAME_USER,
					     .binary = { 1, 2 },
					     .address = 0x1000 + 16 * which,
					     .name = name,
					     .module = "/usr/bin/app" };
		struct hl_frame leaf = { .kind = HL_FRAME_INSN,
					 .insn_class = 1,
					 .binary = { 1, 2 },
					 .address = 0x1004 + 16 * which,
					 .offset = 4,
					 .name = insn,
					 .module = "/usr/bin/app" };
		uint32_t frames[3];

		(void)snprintf(name, sizeof(name), "f%u", which);
		(void)snprintf(insn, sizeof(insn), "mov %u(%%rax),%%rbx", which);
		frames[1] = add_frame(batch, function);
		frames[2] = add_frame(batch, leaf);
		function.address = 0x100;
		function.name = "main";
		frames[0] = add_frame(batch, function);
		/* A weight that is not the period times the count, now and then. */
		CHECK_INT(hl_batch_add(batch, &owner, frames, 3, count_of(seed, i),
				       count_of(seed, i) * 10000000 + (i == 7)),
			  0);
	}
	CHECK_INT(hl_profile_add_binary(hl_batch_profile(batch), &binary), 0);
	return batch;
}

void stores_fill(const char *path, uint64_t start_ns, unsigned int n, unsigned int seed)
{
	struct hl_store *store = stores_open(path);

	for (unsigned int i = 0; i < n; i++) {
		struct hl_profile_meta meta = stores_meta(start_ns + i * 10 * STORES_S);
		struct hl_batch *batch = stores_batch(seed + i);
		struct hl_err err;

		/* No two cost the same. */
		meta.cost_programs += (seed + i) * 1e-6;
		if (hl_store_write(store, &meta, batch, &err))
			FAIL("%s", err.text);
		hl_batch_free(batch);
	}
	CHECK_STR(hl_store_notice(store), "");
	hl_store_close(store);
}

struct hl_reading *stores_read(const char *path, uint64_t since_ns, uint64_t until_ns, struct hl_err *err)
{
	struct hl_store_query query = { .since_ns = since_ns, .until_ns = until_ns };
	struct hl_reading *reading = hl_reading_new(&query);
	int code;

	CHECK(reading);
	if (hl_reading_add(reading, path, err))
		FAIL("%s", err->text);
	code = hl_reading_finish(reading, err);
	if (!code)
		return reading;
	CHECK_INT(code, -ENODATA);
	hl_reading_free(reading);
	return NULL;
}

bool stores_has_note(const struct hl_reading *reading, const char *text)
{
	const struct hl_profile_meta *meta = hl_profile_meta(hl_reading_profile(reading));

	for (size_t i = 0; i < meta->n_notes; i++)
		if (strstr(meta->notes[i], text))
			return true;
	for (size_t i = 0; i < meta->n_notes; i++)
		NOTE("%s", meta->notes[i]);
	return false;
}

uint64_t stores_total(const struct hl_reading *reading)
{
	uint32_t n;

	return hl_profile_nodes(hl_reading_profile(reading), &n)->total;
}

bool stores_same(const struct hl_profile *a, const struct hl_profile *b)
{
	uint32_t n_a, n_b;
	const struct hl_node *x = hl_profile_nodes(a, &n_a), *y = hl_profile_nodes(b, &n_b);
	_cleanup_free_ struct hl_id *x_ids = hl_profile_node_ids(a), *y_ids = hl_profile_node_ids(b);

	CHECK(x_ids && y_ids);
	if (n_a != n_b) {
		NOTE("%u nodes, not %u", n_a, n_b);
		return false;
	}
	for (uint32_t i = 0; i < n_a; i++) {
		const struct hl_frame *f = hl_profile_get_frame(a, x[i].frame),
				      *g = hl_profile_get_frame(b, y[i].frame);

		if (x[i].self != y[i].self || x[i].self_weight != y[i].self_weight ||
		    strcmp(f->name, g->name) != 0 || strcmp(f->module, g->module) != 0 ||
		    f->offset != g->offset || f->insn_class != g->insn_class || f->kernel != g->kernel ||
		    !hl_id_equal(x_ids[i], y_ids[i])) {
			NOTE("node %u: %s with %llu samples, %s with %llu", i, f->name,
			     (unsigned long long)x[i].self, g->name, (unsigned long long)y[i].self);
			return false;
		}
	}
	return true;
}

void stores_check_range(uint64_t since_s, uint64_t until_s, const char *change)
{
	uint64_t since_ns = STORES_NOON + since_s * STORES_S, until_ns = STORES_NOON + until_s * STORES_S;
	struct hl_reading *before, *after;
	struct hl_err err = { "" };
	char path[128], copy[128];
	struct hl_db *db;

	(void)snprintf(path, sizeof(path), "%s/2024-02-28.db", stores_dir());
	(void)snprintf(copy, sizeof(copy), "%s/copy", stores_dir());
	before = stores_read(stores_dir(), since_ns, until_ns, &err);
	CHECK(before);
	must("mkdir -p %s && cp %s %s", copy, path, copy);
	(void)snprintf(path, sizeof(path), "%s/copy/2024-02-28.db", stores_dir());
	CHECK_INT(hl_db_open(path, HL_DB_WRITE, &db, &err), 0);
	if (hl_db_run(db, change, &err))
		FAIL("%s", err.text);
	hl_db_close(db);
	after = stores_read(copy, since_ns, until_ns, &err);
	if (!after)
		FAIL("%s", err.text);
	CHECK(stores_same(hl_reading_profile(before), hl_reading_profile(after)));
	CHECK_INT(hl_profile_meta(hl_reading_profile(after))->n_notes,
		  hl_profile_meta(hl_reading_profile(before))->n_notes);
	hl_reading_free(before);
	hl_reading_free(after);
}
