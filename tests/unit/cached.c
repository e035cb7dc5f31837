// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample elf unwind symbol insn symd tests/elfwriter tests/cfiwriter tests/symdchild tests/shell */
/* What is asked of symd, and what comes from the cache instead. */
#include "symd/client_cached.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "cfiwriter.h"
#include "elfwriter.h"
#include "harness.h"
#include "shell.h"
#include "symd/client.h"
#include "symd/client_cache.h"
#include "symd/server.h"
#include "symd/transport.h"

enum { FILE_NUMBER = 3, BIAS = 0x400000, FRAMES = 0x405000 };

/* A server that counts what it is asked. */
struct counter {
	struct hl_symd_server *server;
	unsigned int asked[32];
};

static int count_call(void *ctx, const struct hl_symd_request *request, const void *payload, int fd,
		      struct hl_symd_reply *ret, struct hl_str *ret_payload, struct hl_err *err)
{
	struct counter *counter = ctx;

	counter->asked[request->type]++;
	hl_symd_server_handle(counter->server, request, payload, request->length, fd, ret, ret_payload);
	return 0;
}

struct setting {
	struct counter counter;
	struct hl_symd *symd;
	struct hl_cache *cache;
	char dir[64];
};

static void begin(struct setting *s)
{
	struct hl_symd_transport transport = { .call = count_call, .ctx = &s->counter };

	*s = (struct setting){ .counter.server = hl_symd_server_new() };
	strcpy(s->dir, "/tmp/hotleaf-cached-XXXXXX");
	CHECK(mkdtemp(s->dir));
	s->symd = hl_symd_new_over(transport, NULL);
	CHECK(s->symd && s->counter.server);
	CHECK_INT(hl_cache_open(s->dir, 1 << 20, &s->cache, NULL), 0);
}

static void end(struct setting *s)
{
	hl_cache_close(s->cache);
	hl_symd_free(s->symd);
	hl_symd_server_free(s->counter.server);
	must("rm -r %s", s->dir);
}

/* A program with a build-id of its own choice, whose function has a frame of @size bytes; 0: no frames. */
static int write_program(uint8_t size)
{
	const uint8_t grows[] = { 0x41, 0x0e, size };
	struct elfwriter w;
	struct cfiwriter f;
	int fd;

	ew_init(&w, true);
	(void)ew_code(&w, ".text", 0x1000, 0x401000, 0x1000);
	ew_put(&w, 0x1000, "\x50\xc3", 2); /* push %rax; ret */
	(void)ew_build_id(&w, 0x2800, "the same of all", 15);
	if (size) {
		cw_init(&f, FRAMES, false);
		cw_fde(&f, cw_usual_cie(&f), 0x401000, 0x20, grows, sizeof(grows));
		cw_put_section(&f, &w, BIAS);
	}
	ew_finish(&w);
	fd = ew_file(w.bytes, w.len);
	ew_done(&w);
	return fd;
}

/* The table of the file at @fd: its bytes' sum tells one from another. -ENODATA: none. */
static long sum_of_table(struct setting *s, int fd)
{
	uint8_t *bytes;
	size_t len;
	long sum = 0;
	int r = hl_symd_unwind_cached(s->symd, s->cache, FILE_NUMBER, fd, &bytes, &len, NULL);

	if (r < 0)
		return r;
	for (size_t i = 0; i < len; i++)
		sum = sum * 31 % 1000003 + bytes[i];
	free(bytes);
	return sum;
}

HL_TEST(a_table_is_compiled_once)
{
	struct setting s;
	int fd = write_program(16), again = write_program(16);
	long first;

	begin(&s);
	first = sum_of_table(&s, fd);
	CHECK(first > 0);
	CHECK_INT(sum_of_table(&s, fd), first);
	CHECK_INT(sum_of_table(&s, again), first);
	CHECK_INT(s.counter.asked[HL_SYMD_UNWIND], 1);
	close(fd);
	close(again);
	end(&s);
}

/* A build-id is what a file says of itself: another file with the same one has its own table. */
HL_TEST(a_forged_build_id_gets_nothing)
{
	struct setting s;
	int honest = write_program(16), forged = write_program(32);
	long first;

	begin(&s);
	first = sum_of_table(&s, honest);
	CHECK(first > 0);
	CHECK(sum_of_table(&s, forged) > 0 && sum_of_table(&s, forged) != first);
	CHECK_INT(sum_of_table(&s, honest), first);
	CHECK_INT(s.counter.asked[HL_SYMD_UNWIND], 2);
	close(honest);
	close(forged);
	end(&s);
}

HL_TEST(without_a_cache_all_is_asked)
{
	struct setting s;
	int fd = write_program(16);

	begin(&s);
	hl_cache_close(s.cache);
	s.cache = NULL;
	CHECK(sum_of_table(&s, fd) > 0);
	CHECK(sum_of_table(&s, fd) > 0);
	CHECK_INT(s.counter.asked[HL_SYMD_UNWIND], 2);
	CHECK_INT(s.counter.asked[HL_SYMD_CONTENT], 0);
	close(fd);
	end(&s);
}

/* What is no ELF file has no content and no table, and nothing is kept of it. */
HL_TEST(a_refused_file_stays_refused)
{
	struct setting s;
	struct hl_cache_stats stats;
	int fd = ew_file("no ELF file", 11);

	begin(&s);
	CHECK(sum_of_table(&s, fd) == -ENOEXEC);
	CHECK(sum_of_table(&s, fd) == -ENOEXEC);
	CHECK_INT(s.counter.asked[HL_SYMD_UNWIND], 2);
	hl_cache_stats(s.cache, &stats);
	CHECK_INT(stats.bytes, 0);
	close(fd);
	end(&s);
}

/* Lines of this very program, which has debug information: by another server, from what the first one made. */
HL_TEST(lines_are_read_once)
{
	const struct hl_symd_lines_limits limits = { .memory = 1 << 30, .time_ms = 30000 };
	struct hl_symd_lines lines, kept;
	struct hl_symd_file about;
	struct setting s;
	char dir[64];
	FILE *self = fopen("/proc/self/exe", "r");

	CHECK(self);
	strcpy(dir, "/tmp/hotleaf-lines-XXXXXX");
	CHECK(mkdtemp(dir));
	for (int i = 0; i < 2; i++) {
		begin(&s);
		hl_cache_close(s.cache);
		CHECK_INT(hl_cache_open(dir, 64 << 20, &s.cache, NULL), 0);
		CHECK_INT(hl_symd_add_file(s.symd, FILE_NUMBER, fileno(self), &about, NULL), 0);
		CHECK_INT(hl_symd_lines_cached(s.symd, s.cache, FILE_NUMBER, fileno(self), -1, &limits,
					       i ? &kept : &lines, NULL),
			  0);
		CHECK_INT(s.counter.asked[HL_SYMD_LINES], i == 0);
		CHECK_INT(s.counter.asked[HL_SYMD_ADD_LINES], i == 1);
		end(&s);
	}
	CHECK(lines.n_ranges > 100);
	CHECK_INT(kept.n_ranges, lines.n_ranges);
	CHECK_INT(kept.length, lines.length);
	must("rm -r %s", dir);
	(void)fclose(self);
}
