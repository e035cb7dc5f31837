// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample elf unwind symbol insn symd tests/elfwriter tests/symdchild tests/shell */
/* A second start: names come from the cache, nothing is parsed, and what lies in the cache hurts nobody. */
#include "symd/client_cached.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "elfwriter.h"
#include "harness.h"
#include "shell.h"
#include "symd/client.h"
#include "symd/client_cache.h"
#include "symd/server.h"
#include "symd/transport.h"

enum { NUMBER = 3, TEXT = 0x401000, OFFSET = 0x1000, SIZE = 0x20000, STEP = 0x10, MANY = 4096, HEADER = 72 };

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

/* One start of the program: a server that knows nothing, and the cache at @dir. */
struct start {
	struct counter counter;
	struct hl_symd *symd;
	struct hl_cache *cache;
	struct hl_symd_file about;
};

static void begin(struct start *s, const char *dir)
{
	struct hl_symd_transport transport = { .call = count_call, .ctx = &s->counter };

	*s = (struct start){ .counter.server = hl_symd_server_new() };
	s->symd = hl_symd_new_over(transport, NULL);
	CHECK(s->symd && s->counter.server);
	CHECK_INT(hl_cache_open(dir, 64 << 20, &s->cache, NULL), 0);
}

static void end(struct start *s)
{
	hl_cache_close(s->cache);
	hl_symd_free(s->symd);
	hl_symd_server_free(s->counter.server);
}

static uint64_t parsed(const struct start *s)
{
	struct hl_symd_stats stats;

	hl_symd_stats(s->symd, &stats);
	return stats.parsed;
}

static char *new_dir(void)
{
	static char name[64];

	(void)snprintf(name, sizeof(name), "/tmp/hotleaf-names-XXXXXX");
	CHECK(mkdtemp(name));
	return name;
}

static void remove_dir(const char *dir)
{
	must("rm -r %s", dir);
}

/* A program, or its debug file, with MANY functions called @name1, @name2, …: more names than are copied. */
static int write_program(const char *name, const char *build_id, bool has_symbols)
{
	static const char filler[] = "_of_a_name_that_is_long_enough_for_all_to_be_too_many_to_be_copied";
	char text[128];
	struct elfwriter w;
	unsigned int section;
	int fd;

	ew_init(&w, true);
	section = ew_code(&w, ".text", OFFSET, TEXT, SIZE);
	ew_put(&w, OFFSET, "\x50\xc3", 2); /* push %rax; ret */
	ew_segment(&w, PT_NOTE, PF_R, OFFSET + SIZE, 0,
		   ew_build_id(&w, OFFSET + SIZE, build_id, (uint32_t)strlen(build_id)));
	for (int i = 0; has_symbols && i < MANY; i++) {
		(void)snprintf(text, sizeof(text), "%s%d%s", name, i, filler);
		(void)ew_symbol(&w, EW_SYMTAB, text, STB_GLOBAL, STT_FUNC, section, TEXT + (unsigned)i * STEP,
				STEP - 2);
	}
	ew_finish(&w);
	fd = ew_file(w.bytes, w.len);
	ew_done(&w);
	return fd;
}

/* "NAME START+SIZE TEXT" of the place at @offset behind the start of the code. */
static const char *at(struct start *s, uint64_t offset)
{
	struct hl_symd_query query = { .where = OFFSET + offset, .file = NUMBER, .flags = HL_SYMD_WANT_TEXT };
	struct hl_symd_answers answers = { 0 };
	static struct hl_str text;
	const struct hl_symd_answer *a;

	CHECK_INT(hl_symd_resolve(s->symd, &query, 1, 0, &answers, NULL), 0);
	a = answers.items;
	hl_str_clear(&text);
	hl_str_addf(&text, "%.*s %llx+%llx %.*s", (int)a->name_len, answers.strings + a->name,
		    (unsigned long long)(a->function - TEXT), (unsigned long long)a->size, (int)a->text_len,
		    answers.strings + a->text);
	hl_symd_answers_done(&answers);
	return text.data;
}

/* Gives the program at @fd and, unless it is -1, its debug file. The result of the latter, or else of the former. */
static int give(struct start *s, int fd, int debug)
{
	int r = hl_symd_add_file_cached(s->symd, s->cache, NUMBER, fd, &s->about, NULL);

	return r < 0 || debug < 0
		       ? r
		       : hl_symd_add_debug_cached(s->symd, s->cache, NUMBER, &s->about, debug, NULL);
}

#define FILLER "_of_a_name_that_is_long_enough_for_all_to_be_too_many_to_be_copied"

/* A kernel with its debug information has more than half a gigabyte; there is an end, for who makes holes. */
HL_TEST(large_files_are_kept_up_to_a_size)
{
	static const off_t sizes[] = { 600 << 20, ((off_t)1 << 30) + 1 };
	char *dir = new_dir();

	for (int i = 0; i < 2; i++) {
		int fd = write_program("function", "large", true);
		struct start s;

		CHECK_INT(ftruncate(fd, sizes[i]), 0);
		for (int turn = 0; turn < 2; turn++) {
			begin(&s, dir);
			CHECK_INT(give(&s, fd, -1), 0);
			CHECK_STR(at(&s, 0x11), "function1" FILLER " 10+e nop");
			CHECK_INT(parsed(&s), i == 1 || turn == 0);
			end(&s);
		}
		close(fd);
	}
	remove_dir(dir);
}

HL_TEST(a_second_start_parses_nothing)
{
	int fd = write_program("function", "of both", true);
	char *dir = new_dir();
	struct hl_symd_file first = { .machine = 0 };
	struct start s;

	for (int turn = 0; turn < 3; turn++) {
		begin(&s, dir);
		CHECK_INT(give(&s, fd, -1), 0);
		CHECK_STR(at(&s, 0x11), "function1" FILLER " 10+e nop");
		CHECK_STR(at(&s, 0), "function0" FILLER " 0+e push %rax");
		CHECK_STR(at(&s, 0x1f), " 1f+0 nop");
		CHECK_INT(s.counter.asked[HL_SYMD_ADD_FILE], turn == 0);
		CHECK_INT(s.counter.asked[HL_SYMD_ADD_NAMES], turn > 0);
		CHECK_INT(parsed(&s), turn == 0);
		if (turn == 0)
			first = s.about;
		CHECK(memcmp(&first, &s.about, sizeof(first)) == 0);
		CHECK_INT(s.about.build_id_len, 7);
		end(&s);
	}
	(void)close(fd);
	remove_dir(dir);
}

/* Names that stay in the debug file are read from there, and those of another build are refused, both times. */
HL_TEST(a_second_start_parses_no_debug_file)
{
	int fd = write_program("", "of both", false), debug = write_program("hidden", "of both", true);
	int stranger = write_program("stranger", "of another", true);
	char *dir = new_dir();
	struct start s;

	for (int turn = 0; turn < 2; turn++) {
		begin(&s, dir);
		CHECK_INT(give(&s, fd, stranger), -ESTALE);
		CHECK_STR(at(&s, 0x11), " 11+0 nop");
		CHECK_INT(hl_symd_add_debug_cached(s.symd, s.cache, NUMBER, &s.about, debug, NULL), 0);
		CHECK_STR(at(&s, 0x21), "hidden2" FILLER " 20+e nop");
		CHECK_INT(parsed(&s), turn == 0 ? 3 : 0);
		end(&s);
	}
	(void)close(fd);
	(void)close(debug);
	(void)close(stranger);
	remove_dir(dir);
}

/* A file with the build-id of another has its own names; so has one with another debug file. */
HL_TEST(a_build_id_is_no_content)
{
	int honest = write_program("honest", "the same", true),
	    forged = write_program("forged", "the same", true);
	char *dir = new_dir();
	struct start s;

	for (int turn = 0; turn < 2; turn++) {
		begin(&s, dir);
		CHECK_INT(give(&s, honest, -1), 0);
		CHECK_STR(at(&s, 0x11), "honest1" FILLER " 10+e nop");
		CHECK_INT(give(&s, forged, -1), 0);
		CHECK_STR(at(&s, 0x11), "forged1" FILLER " 10+e nop");
		CHECK_INT(parsed(&s), turn == 0 ? 2 : 0);
		end(&s);
	}
	(void)close(honest);
	(void)close(forged);
	remove_dir(dir);
}

/* The path of the only entry with names in @dir. */
static void find_entry(const char *dir, char *ret, size_t size)
{
	char pattern[128];
	glob_t found = { 0 };

	(void)snprintf(pattern, sizeof(pattern), "%s/*.names", dir);
	CHECK_INT(glob(pattern, 0, NULL, &found), 0);
	CHECK_INT(found.gl_pathc, 1);
	(void)snprintf(ret, size, "%s", found.gl_pathv[0]);
	globfree(&found);
}

enum damage { FLIPPED, CUT, FOREIGN, EMPTIED, OF_A_FIFO, OF_A_LINK, N_DAMAGES };

static void damage(const char *path, enum damage damage)
{
	char byte;
	struct stat st;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	CHECK(fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 5000);
	if (damage == FLIPPED || damage == FOREIGN) {
		off_t where = damage == FLIPPED ? 5000 : 40; /* the program that wrote it */

		CHECK_INT(pread(fd, &byte, 1, where), 1);
		byte ^= 0x10;
		CHECK_INT(pwrite(fd, &byte, 1, where), 1);
	} else if (damage == CUT || damage == EMPTIED) {
		CHECK_INT(ftruncate(fd, damage == CUT ? st.st_size - 1 : 0), 0);
	} else {
		CHECK_INT(unlink(path), 0);
		CHECK_INT(damage == OF_A_FIFO ? mkfifo(path, 0600) : symlink("/etc/passwd", path), 0);
	}
	(void)close(fd);
}

HL_TEST(a_damaged_entry_is_refused_counted_and_made_anew)
{
	int fd = write_program("function", "of both", true);
	struct hl_cache_stats stats;
	char *dir = new_dir(), path[256];
	struct start s;

	begin(&s, dir);
	CHECK_INT(give(&s, fd, -1), 0);
	end(&s);
	for (enum damage kind = 0; kind < N_DAMAGES; kind++) {
		find_entry(dir, path, sizeof(path));
		damage(path, kind);
		for (int turn = 0; turn < 2; turn++) {
			begin(&s, dir);
			CHECK_INT(give(&s, fd, -1), 0);
			CHECK_STR(at(&s, 0x11), "function1" FILLER " 10+e nop");
			CHECK_INT(parsed(&s), turn == 0);
			hl_cache_stats(s.cache, &stats);
			CHECK_INT(stats.damaged, turn == 0 && kind != FOREIGN);
			CHECK_INT(stats.foreign, turn == 0 && kind == FOREIGN);
			end(&s);
		}
	}
	(void)close(fd);
	remove_dir(dir);
}

/* Asks about every place of the file, and of it as of one whose table is nonsense. */
static void ask_all(struct start *s)
{
	struct hl_symd_query *queries = calloc(MANY, sizeof(*queries));
	struct hl_symd_answers answers = { 0 };

	CHECK(queries);
	for (uint32_t i = 0; i < MANY; i++)
		queries[i] = (struct hl_symd_query){ .where = OFFSET + i * STEP + i % STEP, .file = NUMBER };
	CHECK_INT(hl_symd_resolve(s->symd, queries, MANY, 0, &answers, NULL), 0);
	hl_symd_answers_done(&answers);
	free(queries);
}

/*
 * Whoever can write there can make a checksum too. An entry of any bytes is refused or used, and reads nothing
 * that is not its own: ASan looks on. What is refused is counted, removed and made anew.
 */
HL_TEST_TIMEOUT(a_forged_entry_does_no_harm, 300)
{
	int fd = write_program("function", "of both", true);
	unsigned int refused = 0, taken = 0, state = 12345;
	char *dir = new_dir(), path[256];
	struct hl_cache_stats stats;
	uint8_t id[16], *good;
	struct start s;
	size_t len;

	begin(&s, dir);
	CHECK_INT(give(&s, fd, -1), 0);
	find_entry(dir, path, sizeof(path));
	for (int i = 0; i < 16; i++)
		CHECK_INT(sscanf(strrchr(path, '/') + 1 + 2 * i, "%2hhx", &id[i]), 1);
	CHECK_INT(hl_cache_load(s.cache, HL_CACHE_NAMES, id, &good, &len), 0);
	CHECK(len > sizeof(struct hl_symd_file) + 128 + MANY * 10);
	for (int turn = 0; turn < 200; turn++) {
		uint8_t *bad = malloc(len);

		CHECK(bad);
		memcpy(bad, good, len);
		for (int i = 0; i <= turn % 3; i++) {
			state = state * 1103515245 + 12345;
			/* Half of it in the headers, where counts and places stand. */
			bad[(state >> 8) % (turn % 2 ? len : sizeof(struct hl_symd_file) + 128)] =
				(uint8_t)(state >> 3);
		}
		/* Sometimes it is cut. */
		hl_cache_save(s.cache, HL_CACHE_NAMES, id, bad, turn % 7 ? len : (state >> 8) % len);
		free(bad);
		s.about.build_id_len = 77;
		CHECK_INT(give(&s, fd, -1), 0);
		CHECK(s.about.build_id_len <= sizeof(s.about.build_id));
		ask_all(&s);
	}
	hl_cache_stats(s.cache, &stats);
	refused = (unsigned int)stats.damaged;
	taken = s.counter.asked[HL_SYMD_ADD_NAMES];
	CHECK_INT(s.counter.asked[HL_SYMD_ADD_FILE], 1 + refused);
	CHECK(refused > 50 && taken > refused);
	hl_cache_save(s.cache, HL_CACHE_NAMES, id, good, len);
	CHECK_INT(give(&s, fd, -1), 0);
	CHECK_STR(at(&s, 0x11), "function1" FILLER " 10+e nop");
	free(good);
	end(&s);
	(void)close(fd);
	remove_dir(dir);
}

/* The child of a sandbox: it maps what it is given, and the next one is given it again. */
HL_TEST(a_new_child_has_the_names_again)
{
	int fd = write_program("", "of both", false), debug = write_program("hidden", "of both", true);
	struct hl_symd_options options = HL_SYMD_DEFAULTS;
	char *dir = new_dir(), command[100];
	struct hl_symd_stats stats;
	struct start s;

	for (int turn = 0; turn < 2; turn++) {
		begin(&s, dir);
		hl_symd_free(s.symd);
		s.symd = hl_symd_new_with(&options, NULL);
		CHECK(s.symd);
		CHECK_INT(give(&s, fd, debug), 0);
		CHECK_STR(at(&s, 0x21), "hidden2" FILLER " 20+e nop");
		(void)snprintf(command, sizeof(command), "kill -9 $(cat /proc/%d/task/%d/children)", getpid(),
			       getpid());
		CHECK_INT(system(command) & 0, 0);
		CHECK_STR(at(&s, 0x31), "hidden3" FILLER " 30+e nop");
		hl_symd_stats(s.symd, &stats);
		CHECK_INT(stats.starts, 2);
		CHECK_INT(stats.parsed, turn == 0 ? 2 : 0);
		end(&s);
	}
	(void)close(fd);
	(void)close(debug);
	remove_dir(dir);
}

/* This very program: each place has the same name both times; a file system that tells no lies is not asked twice. */
HL_TEST(a_real_file_keeps_its_names)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct hl_symd_query *queries = calloc(MANY, sizeof(*queries));
	struct hl_symd_answers answers[2] = { { 0 }, { 0 } };
	struct hl_cache_stamp stamp;
	struct stat st = { 0 };
	char *dir = new_dir();
	struct start s;

	CHECK(fd >= 0 && queries && fstat(fd, &st) == 0);
	for (int i = 0; i < MANY; i++)
		queries[i] = (struct hl_symd_query){ .where = (uint64_t)st.st_size / MANY * (uint64_t)i,
						     .file = NUMBER,
						     .flags = HL_SYMD_WANT_TEXT };
	for (int turn = 0; turn < 2; turn++) {
		begin(&s, dir);
		CHECK_INT(give(&s, fd, -1), 0);
		CHECK_INT(hl_symd_resolve(s.symd, queries, MANY, 0, &answers[turn], NULL), 0);
		CHECK_INT(parsed(&s), turn == 0);
		if (turn == 1 && hl_cache_stamp(fd, &stamp) == 0)
			CHECK_INT(s.counter.asked[HL_SYMD_CONTENT], 0);
		end(&s);
	}
	CHECK_INT(answers[0].n, MANY);
	CHECK(memcmp(answers[0].items, answers[1].items, MANY * sizeof(*answers[0].items)) == 0);
	CHECK_INT(answers[0].strings_len, answers[1].strings_len);
	CHECK(memcmp(answers[0].strings, answers[1].strings, answers[0].strings_len) == 0);
	CHECK(answers[0].strings_len > 10000);
	hl_symd_answers_done(&answers[0]);
	hl_symd_answers_done(&answers[1]);
	free(queries);
	(void)close(fd);
	remove_dir(dir);
}
