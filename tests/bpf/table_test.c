// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample capture elf insn unwind */
#include "capture/internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "base/clock.h"
#include "bpf/hotleaf.skel.h"
#include "capture/event.h"
#include "capture/tables.h"
#include "elf/elf.h"
#include "harness.h"
#include "sample/unwind_table.h"
#include "unwind/unwind.h"

/* Unwind tables that come and go: what programs find is right, or marked, at any time. */

enum { OTHER = 60000 }; /* an id that no file has in such a short time */

static struct hl_event_choice event;
static struct hl_err err;

static struct hl_capture *load(struct hl_capture_options *options)
{
	struct hl_capture *capture = NULL;

	if (geteuid() != 0)
		SKIP("needs root");
	options->frequency = 997;
	options->max_depth = 127;
	CHECK_INT(hl_event_choose("cpu-clock", options->frequency, &event, &err), 0);
	options->event = &event;
	if (hl_capture_new(options, &capture, &err))
		FAIL("%s", err.text);
	return capture;
}

static void load_table(struct hl_capture *capture, uint32_t id, const void *bytes)
{
	if (hl_capture_load_table(capture, id, bytes, &err))
		FAIL("%s", err.text);
}

/* A table of @pages pages from page @first with @rows rows each, all of @kind. */
static void *make_table(uint32_t first, uint32_t pages, uint32_t rows, uint8_t kind)
{
	size_t len = sizeof(struct hl_unwind_table) + sizeof(struct hl_unwind_rule) +
		     pages * (sizeof(struct hl_unwind_page) + rows * sizeof(uint32_t));
	struct hl_unwind_table *table = calloc(1, len);
	struct hl_unwind_rule *rule = (void *)(table + 1);
	struct hl_unwind_page *page = (void *)(rule + 1);
	uint32_t *row = (void *)(page + pages);

	CHECK(table);
	*table = (struct hl_unwind_table){
		.version = HL_UNWIND_VERSION, .n_rules = 1, .first_page = first, .n_pages = pages
	};
	rule->cfa_kind = kind;
	for (uint32_t i = 0; i < pages; i++) {
		page[i] = (struct hl_unwind_page){ table->n_rows, rows };
		for (uint32_t k = 0; k < rows; k++)
			row[table->n_rows++] = k << HL_UNWIND_RULE_BITS;
	}
	CHECK_INT(hl_unwind_check(table, len, &err), 0);
	return table;
}

static void *compile(const char *path)
{
	struct hl_unwind_result result;
	struct hl_elf *elf = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	if (hl_elf_open(fd, path, &elf, &err) || hl_unwind_compile(elf, &result, &err))
		FAIL("%s", err.text);
	hl_elf_free(elf);
	(void)close(fd);
	return result.bytes;
}

/* ---- walks under change --------------------------------------------------------------------------------- */

static struct {
	struct hl_capture *capture;
	uint32_t id, libc;
	void *real, *stop;
	bool end;
	unsigned int rounds;
} churn;

static long walk(void)
{
	uint64_t args[2] = { HL_SELFTEST_WALK, 0 };
	union bpf_attr attr;
	long result;

	memset(&attr, 0, sizeof(attr));
	attr.test.prog_fd = (uint32_t)bpf_program__fd(churn.capture->skel->progs.self_test);
	attr.test.ctx_in = (uint64_t)(uintptr_t)args;
	attr.test.ctx_size_in = sizeof(args);
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"((long)SYS_bpf), "D"((long)BPF_PROG_TEST_RUN), "S"(&attr), "d"(sizeof(attr))
			 : "rcx", "r11", "memory");
	return result;
}

static __attribute__((noinline)) unsigned long walk_deep(int depth)
{
	unsigned long n = depth ? walk_deep(depth - 1) : 0;

	if (!depth)
		for (; !__atomic_load_n(&churn.end, __ATOMIC_RELAXED); n++)
			if (walk())
				FAIL("a test run failed");
	__asm__ volatile("" ::: "memory"); /* the call above is no jump */
	return n;
}

/*
 * Real tables and such as end every walk at once, at the same places, by turns: what reads a table that is not
 * the file's ends as if it had come to the start.
 */
static void *change_tables(void *ctx)
{
	uint64_t start = hl_monotonic_ns();
	unsigned int seed = 1;

	/* An emulated machine makes fewer. */
	for (; churn.rounds < 2000 && hl_monotonic_ns() - start < 10000000000; churn.rounds++) {
		switch (rand_r(&seed) % 4) {
		case 0:
			load_table(churn.capture, churn.id, churn.real);
			break;
		case 1:
			hl_capture_settle_file(churn.capture, churn.id, HL_TABLE_PENDING);
			break;
		case 2:
			load_table(churn.capture, OTHER, churn.stop);
			break;
		default:
			hl_capture_settle_file(churn.capture, OTHER, HL_TABLE_NONE);
		}
		if (rand_r(&seed) % 2)
			(void)usleep(50);
	}
	__atomic_store_n(&churn.end, true, __ATOMIC_RELAXED);
	return NULL;
}

static void find_own(void *ctx, const struct hl_file_event *e)
{
	struct stat exe, libc;
	Dl_info info;

	CHECK(dladdr((void *)(uintptr_t)getppid, &info));
	CHECK_INT(stat(info.dli_fname, &libc), 0);
	CHECK_INT(stat("/proc/self/exe", &exe), 0);
	if (e->key.inode == exe.st_ino && e->key.size == (uint64_t)exe.st_size)
		churn.id = e->id;
	if (e->key.inode == libc.st_ino && e->key.size == (uint64_t)libc.st_size) {
		void *bytes = compile(info.dli_fname);

		churn.libc = e->id;
		load_table(churn.capture, e->id, bytes);
		free(bytes);
		return;
	}
	/* As if all were open: only what is settled is remembered by CPUs. */
	hl_capture_settle_file(churn.capture, e->id, HL_TABLE_NONE);
}

/* The stack that a walk of now leaves behind, and only that. */
static struct hl_stack *take_stack(struct hl_capture *capture, uint64_t *ret_id)
{
	struct hl_stack *stack = calloc(1, sizeof(*stack) + capture->batch.stack_size);

	CHECK(stack);
	if (bpf_map_get_next_key(capture->sides[0].stacks, NULL, ret_id) ||
	    bpf_map_lookup_elem(capture->sides[0].stacks, ret_id, stack) ||
	    bpf_map_delete_elem(capture->sides[0].stacks, ret_id)) {
		free(stack);
		return NULL;
	}
	return stack;
}

/* The stack with the table is the right one: the one that has most frames, down to _start. */
static void check_stacks(struct hl_capture *capture)
{
	struct hl_stack *all[64], *right = NULL;
	unsigned int n = 0, complete = 0;
	uint64_t id;

	for (; n < 64 && (all[n] = take_stack(capture, &id)); n++)
		if (!right || all[n]->head.n > right->head.n)
			right = all[n];
	CHECK(right && n < 64);
	for (unsigned int i = 0; i < n; i++) {
		NOTE("a stack of %u frames, end %u", all[i]->head.n, all[i]->head.end);
		CHECK(all[i]->head.n <= right->head.n);
		CHECK(memcmp(all[i]->frames, right->frames, all[i]->head.n * sizeof(uint64_t)) == 0);
		if (all[i]->head.end == HL_WALK_COMPLETE) {
			complete++;
			CHECK_INT(all[i]->head.n, right->head.n);
		} else {
			CHECK_INT(all[i]->head.end, HL_WALK_NO_TABLE);
		}
	}
	for (unsigned int i = 0; i < n; i++)
		free(all[i]);
	CHECK_INT(complete, 1);
}

HL_TEST_TIMEOUT(walks_are_right_while_tables_come_and_go, 120)
{
	struct hl_capture_options options = { .unwind_mb = 4 };
	const struct hl_unwind_table *head;
	unsigned long walks;
	pthread_t thread;

	churn.capture = load(&options);
	CHECK_INT(hl_capture_list_files(churn.capture, find_own, NULL), 0);
	CHECK(churn.id && churn.libc);
	head = churn.real = compile("/proc/self/exe");
	churn.stop = make_table(head->first_page, head->n_pages, 2, HL_CFA_STOP);
	CHECK_INT(pthread_create(&thread, NULL, change_tables, NULL), 0);
	walks = walk_deep(20);
	(void)pthread_join(thread, NULL);
	NOTE("%lu walks during %u changes", walks, churn.rounds);
	CHECK(walks > 1000 && churn.rounds > 20);
	check_stacks(churn.capture);
	free(churn.real);
	free(churn.stop);
	hl_capture_free(churn.capture);
}

/* Of this program, which keeps frame pointers, the stack would be whole without its table; but that cannot be known. */
HL_TEST(a_frame_pointer_takes_no_place_of_a_table)
{
	static const uint8_t ends[][2] = { { HL_TABLE_PENDING, HL_WALK_NO_TABLE },
					   { HL_TABLE_NONE, HL_WALK_COMPLETE },
					   { HL_TABLE_DROPPED, HL_WALK_DROPPED } };
	struct hl_capture_options options = { .unwind_mb = 4 };
	struct hl_stack *stack;
	uint64_t id;

	churn.capture = load(&options);
	CHECK_INT(hl_capture_list_files(churn.capture, find_own, NULL), 0);
	CHECK(churn.id && churn.libc);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		hl_capture_settle_file(churn.capture, churn.id, ends[i][0]);
		CHECK_INT(walk(), 0);
		stack = take_stack(churn.capture, &id);
		CHECK(stack);
		NOTE("%u frames, end %u", stack->head.n, stack->head.end);
		CHECK_INT(stack->head.end, ends[i][1]);
		CHECK_INT(stack->head.n > 1, ends[i][1] == HL_WALK_COMPLETE);
		free(stack);
	}
	hl_capture_free(churn.capture);
}

/* ---- memory --------------------------------------------------------------------------------------------- */

static struct hl_capture_stats stats_of(struct hl_capture *capture)
{
	struct hl_capture_stats stats;

	hl_capture_stats(capture, &stats);
	return stats;
}

HL_TEST(the_coldest_tables_go_when_room_is_short)
{
	struct hl_capture_options options = { .unwind_mb = 1 };
	struct hl_capture *capture = load(&options);
	struct hl_file *states = capture->tables->states;
	void *table = make_table(7, 10000, 1, HL_CFA_STOP); /* 120,008 bytes: eight fit */
	void *large = make_table(7, 100000, 1, HL_CFA_STOP);
	uint32_t *epoch = &capture->skel->data->epoch;

	*epoch = 100;
	for (uint32_t i = 0; i < 8; i++) {
		load_table(capture, 1000 + i, table);
		states[1000 + i].used = 50 + (i * 5) % 8; /* 50 55 52 57 54 51 56 53 */
	}
	CHECK_INT(stats_of(capture).tables_dropped, 0);
	/* What does not fit at all drives nothing out. */
	CHECK_INT(hl_capture_load_table(capture, 2000, large, &err), -ENOSPC);
	CHECK_INT(stats_of(capture).tables_dropped, 0);
	CHECK_INT(stats_of(capture).tables_refused, 1);
	CHECK_INT(hl_capture_table_state(capture, 2000), HL_TABLE_DROPPED);
	for (uint32_t i = 0; i < 3; i++) {
		load_table(capture, 3000 + i, table);
		states[3000 + i].used = 100;
	}
	CHECK_INT(stats_of(capture).tables_dropped, 3);
	for (uint32_t i = 0; i < 8; i++)
		CHECK_INT(hl_capture_table_state(capture, 1000 + i),
			  states[1000 + i].used < 53 ? HL_TABLE_DROPPED : HL_TABLE_FIRST);
	CHECK_INT(stats_of(capture).table_bytes, 1 << 20);
	/* All in use now: the new one has to wait. */
	for (uint32_t i = 0; i < 8; i++)
		states[1000 + i].used = 99;
	CHECK_INT(hl_capture_load_table(capture, 4000, table, &err), -ENOSPC);
	CHECK_INT(stats_of(capture).tables_refused, 2);
	CHECK_INT(stats_of(capture).tables_dropped, 3);
	*epoch = 200;
	load_table(capture, 4000, table);
	CHECK_INT(hl_capture_table_state(capture, 4000), HL_TABLE_FIRST);
	CHECK_INT(stats_of(capture).tables_dropped, 4);
	free(large);
	free(table);
	hl_capture_free(capture);
}

/* What the program would find, read as it reads: through the maps. */
static uint32_t read_word(struct hl_capture *capture, uint32_t place)
{
	return *hl_slabs_word(&capture->tables->slabs, place);
}

static uint8_t kind_at(struct hl_capture *capture, uint32_t id, uint32_t page)
{
	uint32_t table = capture->tables->states[id].table, entry;

	CHECK(page >= read_word(capture, table) &&
	      page - read_word(capture, table) < read_word(capture, table + 1));
	entry = table + 2 + 2 * (page - read_word(capture, table));
	CHECK(read_word(capture, entry + 1));
	return capture->tables->rule_map[read_word(capture, read_word(capture, entry)) & HL_UNWIND_RULE_MASK]
		.cfa_kind;
}

HL_TEST(a_lower_limit_drops_the_coldest)
{
	struct hl_capture_options options = { .unwind_mb = 8 };
	struct hl_capture *capture = load(&options);
	struct hl_file *states = capture->tables->states;
	void *table = make_table(7, 10000, 1, HL_CFA_STOP); /* eight fit into a slab */
	uint64_t before;

	capture->skel->data->epoch = 100;
	for (uint32_t i = 0; i < 32; i++) {
		load_table(capture, 1000 + i, table);
		states[1000 + i].used = i < 4 ? 100 : 10 + i;
	}
	before = stats_of(capture).table_bytes;
	CHECK(before >= 4 << 20);
	hl_capture_limit_tables(capture, 2);
	CHECK_INT(stats_of(capture).table_bytes, 2 << 20);
	/* What is in use stays, and so do those that were used last. */
	for (uint32_t i = 0; i < 4; i++)
		CHECK_INT(hl_capture_table_state(capture, 1000 + i), HL_TABLE_FIRST);
	CHECK_INT(hl_capture_table_state(capture, 1004), HL_TABLE_DROPPED);
	/* Below the limit others find room in the place of colder ones, and it holds. */
	for (uint32_t i = 0; i < 32; i++)
		load_table(capture, 2000 + i, table);
	CHECK_INT(stats_of(capture).table_bytes, 2 << 20);
	/* Never below what is in use. */
	for (uint32_t i = 0; i < 32; i++)
		states[2000 + i].used = 100;
	hl_capture_limit_tables(capture, 1);
	CHECK(stats_of(capture).table_bytes >= 1 << 20);
	CHECK_INT(hl_capture_table_state(capture, 2031), HL_TABLE_FIRST);
	hl_capture_limit_tables(capture, 100);
	for (uint32_t i = 0; i < 60; i++)
		load_table(capture, 3000 + i, table);
	CHECK_INT(stats_of(capture).table_bytes, 8 << 20);
	free(table);
	hl_capture_free(capture);
}

HL_TEST(freed_memory_is_used_again)
{
	enum { FILES = 5 };
	struct hl_capture_options options = { .unwind_mb = 64 };
	struct hl_capture *capture = load(&options);
	uint64_t empty = stats_of(capture).map_bytes, most = 0, start = hl_monotonic_ns();
	int round = 0;

	srandom(1);
	/* An emulated machine waits longer for each grace period. */
	for (; round < 200 && hl_monotonic_ns() - start < 20000000000; round++) {
		for (uint32_t i = 0; i < FILES; i++) {
			uint32_t pages = 1 + (uint32_t)random() % (i ? 2000 : 200000);
			void *table = make_table(i, pages, 1 + (uint32_t)random() % 6, 1 + i % 7);

			load_table(capture, 1000 + i, table);
			free(table);
		}
		for (uint32_t i = 0; i < FILES; i++)
			CHECK_INT(kind_at(capture, 1000 + i, i), 1 + i % 7);
		if (stats_of(capture).table_bytes > most)
			most = stats_of(capture).table_bytes;
		for (uint32_t i = 0; i < FILES; i++)
			hl_capture_settle_file(capture, 1000 + i, HL_TABLE_NONE);
		CHECK_INT(stats_of(capture).map_bytes, empty);
	}
	NOTE("%d rounds, at most %llu MiB of tables at once", round, (unsigned long long)most >> 20);
	CHECK(round > 10 && most > 2 << 20);
	CHECK_INT(capture->tables->slabs.extents.n, 1);
	CHECK_INT(stats_of(capture).tables_dropped + stats_of(capture).tables_refused, 0);
	hl_capture_free(capture);
}

HL_TEST(a_table_larger_than_a_slab_is_whole)
{
	struct hl_capture_options options = { .unwind_mb = 64 };
	struct hl_capture *capture = load(&options);
	void *small = make_table(0, 3, 5, HL_CFA_RBP);
	void *table = make_table(11, 200000, 5, HL_CFA_RSP); /* 781 MiB of code; its index alone is 1.5 MiB */

	load_table(capture, 1000, small);
	load_table(capture, 1001, table);
	for (uint32_t page = 11; page < 200011; page++)
		CHECK_INT(kind_at(capture, 1001, page), HL_CFA_RSP);
	CHECK_INT(stats_of(capture).table_bytes, 6 << 20);
	free(table);
	free(small);
	hl_capture_free(capture);
}
