// SPDX-License-Identifier: BSD-2-Clause
/*
 * The proof that the program finds mappings and walks stacks on this kernel.
 *
 * The layout of the kernel's maple tree is no ABI, so it is not trusted before it was seen to work. A child
 * process makes a thousand mappings, executable and not in turn, and asks the program, by test runs in its
 * own context, about the start, the middle and the last byte of each executable one in /proc/self/maps and
 * about the ends and gaps of the others. Then it calls ten functions, one from the other, and compares the
 * walk with the return addresses that it knows. The child must keep frame pointers: see the Makefile.
 */
#include "capture/internal.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "base/cleanup.h"
#include "bpf/hotleaf.skel.h"
#include "capture/tables.h"

enum { MAPPINGS = 1000, CALLS = 10, TIME_LIMIT = 20, USER_END_SHIFT = 47 };

struct test {
	struct hl_capture *capture;
	int prog_fd;
	int out; /* pipe to the parent: the sentence of a failure */
};

_Noreturn static void fail(const struct test *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

_Noreturn static void fail(const struct test *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vdprintf(t->out, fmt, ap);
	va_end(ap);
	_exit(1);
}

/* An inline system call: libc's wrapper keeps no frame pointer, so its caller would be missing in a walk. */
static inline __attribute__((always_inline)) long test_run(int prog_fd, uint64_t op, uint64_t address)
{
	uint64_t args[2] = { op, address };
	union bpf_attr attr;
	long result;

	memset(&attr, 0, sizeof(attr));
	attr.test.prog_fd = (uint32_t)prog_fd;
	attr.test.ctx_in = (uint64_t)(uintptr_t)args;
	attr.test.ctx_size_in = sizeof(args);
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"((long)SYS_bpf), "D"((long)BPF_PROG_TEST_RUN), "S"(&attr), "d"(sizeof(attr))
			 : "rcx", "r11", "memory");
	return result < 0 ? result : (long)(int32_t)attr.test.retval;
}

/* What the program says of @address; all zero where it finds no executable mapping. */
static struct hl_selftest look_up(const struct test *t, uint64_t address)
{
	long result = test_run(t->prog_fd, HL_SELFTEST_LOOKUP, address);

	if (result < 0)
		fail(t, "the test run failed (%ld)", result);
	return t->capture->skel->bss->selftest;
}

static void expect_none(const struct test *t, uint64_t address)
{
	struct hl_selftest got = look_up(t, address);

	if (got.end)
		fail(t, "0x%llx lies in no executable mapping, but 0x%llx-0x%llx was found",
		     (unsigned long long)address, (unsigned long long)got.start, (unsigned long long)got.end);
}

struct map_line {
	uint64_t start, end, offset, inode;
	bool exec;
};

static uint64_t inode_of_file(const struct test *t, uint32_t id)
{
	int fd = bpf_map__fd(t->capture->skel->maps.files);
	struct hl_file_key key, *at = NULL;
	uint64_t word;

	while (bpf_map_get_next_key(fd, at, &key) == 0) {
		at = &key;
		if (bpf_map_lookup_elem(fd, &key, &word) == 0 && (word & HL_FILE_ID_MASK) == id)
			return key.inode;
	}
	return 0;
}

static void expect_mapping(const struct test *t, const struct map_line *m, uint64_t address)
{
	struct hl_selftest got = look_up(t, address);
	uint32_t id;

	if (got.start != m->start || got.end != m->end)
		fail(t, "0x%llx lies in 0x%llx-0x%llx, but 0x%llx-0x%llx was found",
		     (unsigned long long)address, (unsigned long long)m->start, (unsigned long long)m->end,
		     (unsigned long long)got.start, (unsigned long long)got.end);
	if (got.frame & HL_FRAME_RAW) {
		if (m->inode)
			fail(t, "0x%llx lies in a file, but none was found", (unsigned long long)address);
		return;
	}
	id = (uint32_t)(got.frame >> HL_FRAME_FILE_SHIFT);
	if (id == HL_FILE_VDSO)
		return;
	if ((got.frame & HL_FRAME_OFFSET) != address - m->start + m->offset ||
	    inode_of_file(t, id) != m->inode)
		fail(t, "0x%llx was found in the wrong file or at the wrong offset",
		     (unsigned long long)address);
}

static void check_line(const struct test *t, const struct map_line *m, uint64_t last_end)
{
	if (m->start > last_end) {
		expect_none(t, last_end);
		expect_none(t, m->start - 1);
	}
	if (m->exec) {
		/* Twice: once by the tree, once by the cache. */
		for (int i = 0; i < 2; i++) {
			expect_mapping(t, m, m->start);
			expect_mapping(t, m, m->start + (m->end - m->start) / 2);
			expect_mapping(t, m, m->end - 1);
		}
	} else {
		expect_none(t, m->start);
		expect_none(t, m->end - 1);
	}
}

/*
 * A thousand mappings that the kernel cannot merge, with a gap after every fifth. They are executable from the
 * start: where a process may not write code, it may not make memory executable later either.
 */
static void make_mappings(const struct test *t)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	const size_t page = 4096;
	char *base = mmap(NULL, MAPPINGS * page, PROT_READ, flags, -1, 0);

	if (base == MAP_FAILED)
		fail(t, "no address space for the test mappings");
	for (int i = 0; i < MAPPINGS; i++) {
		char *at = base + (size_t)i * page, *made = at;

		if (i % 5 == 4)
			(void)munmap(at, page);
		else if (i % 2)
			made = mmap(at, page, PROT_READ | PROT_EXEC, flags | MAP_FIXED, -1, 0);
		if (made != at)
			fail(t, "cannot make an executable mapping: %s", strerror(errno));
	}
}

static void check_lookup(const struct test *t)
{
	_cleanup_fclose_ FILE *f = NULL;
	struct map_line m;
	uint64_t last_end = 0;
	unsigned int lines = 0;
	char line[512], perms[8];
	char *copy = NULL;
	size_t size = 0;
	FILE *memory;

	make_mappings(t);
	/* Read it whole first: the buffers of stdio are mappings too. */
	f = fopen("/proc/self/maps", "re");
	memory = open_memstream(&copy, &size);
	if (!f || !memory)
		fail(t, "cannot read /proc/self/maps");
	while (fgets(line, sizeof(line), f))
		(void)fputs(line, memory);
	(void)fclose(memory);
	for (char *at = copy; *at; at = strchr(at, '\n') + 1) {
		if (sscanf(at, "%lx-%lx %7s %lx %*s %lu", &m.start, &m.end, perms, &m.offset, &m.inode) != 5)
			fail(t, "cannot parse /proc/self/maps");
		if (m.end >> USER_END_SHIFT)
			break;
		m.exec = perms[2] == 'x';
		/* What reading it changed (heap, stack) cannot be compared. */
		if (!strstr(at, "[heap]") || strstr(at, "[heap]") > strchr(at, '\n'))
			check_line(t, &m, last_end ? last_end : m.start);
		last_end = m.end;
		lines++;
	}
	free(copy);
	if (lines < MAPPINGS / 2)
		fail(t, "only %u mappings were seen", lines);
}

/* The chain of calls: each notes its return address; the last one makes the walk. */
struct chain {
	const struct test *t;
	uint64_t returns[CALLS];
	long n;
};

typedef void (*call_fn)(struct chain *);
static const volatile call_fn calls[CALLS];

#define CALL(i)                                                                      \
	static __attribute__((noinline)) void call_##i(struct chain *c)              \
	{                                                                            \
		c->returns[i] = (uint64_t)(uintptr_t)__builtin_return_address(0);    \
		calls[(i) + 1](c);                                                   \
		__asm__ volatile("" ::: "memory"); /* so that the call is no jump */ \
	}
/* Calls without semicolons confuse the formatter. */
/* clang-format off */
CALL(0) CALL(1) CALL(2) CALL(3) CALL(4) CALL(5) CALL(6) CALL(7) CALL(8)

static __attribute__((noinline)) void call_9(struct chain *c)
{
	c->returns[9] = (uint64_t)(uintptr_t)__builtin_return_address(0);
	c->n = test_run(c->t->prog_fd, HL_SELFTEST_WALK, 0);
}
/* clang-format on */

static const volatile call_fn calls[CALLS] = { call_0, call_1, call_2, call_3, call_4,
					       call_5, call_6, call_7, call_8, call_9 };

/* This program's table is yet to come; but it keeps frame pointers, as files without a table should. */
static void set_own_table(const struct test *t, enum hl_table_state state)
{
	uint64_t frame = look_up(t, (uint64_t)(uintptr_t)set_own_table).frame;

	if (frame & HL_FRAME_RAW)
		return;
	hl_tables_point(t->capture->tables, (uint32_t)(frame >> HL_FRAME_FILE_SHIFT), state);
	hl_tables_bury(t->capture);
}

static void check_walk(const struct test *t)
{
	size_t value_size = t->capture->batch.stack_size;
	_cleanup_free_ struct hl_stack *stack = calloc(1, value_size + sizeof(*stack));
	unsigned int limit = t->capture->options.max_depth, want = limit < CALLS + 1 ? limit : CALLS + 1;
	struct chain c = { .t = t };
	uint64_t id;

	set_own_table(t, HL_TABLE_NONE);
	calls[0](&c);
	set_own_table(t, HL_TABLE_PENDING);
	if (!stack || bpf_map_get_next_key(t->capture->sides[0].stacks, NULL, &id) ||
	    bpf_map_lookup_elem(t->capture->sides[0].stacks, &id, stack))
		fail(t, "the walk of ten known functions gave no stack (%ld)", c.n);
	(void)bpf_map_delete_elem(t->capture->sides[0].stacks, &id);
	if (c.n < want || stack->head.n < want)
		fail(t, "a walk through ten known functions ended after %u (reason %u)", stack->head.n,
		     stack->head.end);
	/* Frame 0 is the system call in call_9; frame i its i-th caller. */
	for (unsigned int i = 1; i < want; i++)
		if (stack->frames[i] != look_up(t, c.returns[CALLS - i] - 1).frame)
			fail(t, "frame %u of a walk through ten known functions is wrong", i);
}

_Noreturn static void run_child(const struct test *t)
{
	(void)alarm(TIME_LIMIT);
	check_lookup(t);
	check_walk(t);
	_exit(0);
}

bool hl_selftest_run(struct hl_capture *capture, char *why, size_t why_len)
{
	struct test t = { .capture = capture, .prog_fd = bpf_program__fd(capture->skel->progs.self_test) };
	int ends[2], status = 0;
	ssize_t n;
	pid_t pid;

	if (pipe(ends)) {
		(void)snprintf(why, why_len, "no pipe for the self-test: %s", strerror(errno));
		return false;
	}
	t.out = ends[1];
	pid = fork();
	if (pid == 0)
		run_child(&t);
	(void)close(ends[1]);
	n = pid < 0 ? -1 : read(ends[0], why, why_len - 1);
	(void)close(ends[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		(void)snprintf(why, why_len, "the self-test could not start: %s", strerror(errno));
		return false;
	}
	why[n > 0 ? n : 0] = '\0';
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	if (n <= 0)
		(void)snprintf(why, why_len, "the self-test died (wait status 0x%x)", (unsigned int)status);
	return false;
}
