// SPDX-License-Identifier: BSD-2-Clause
/* needs: base profile render import tests/profiles */
#include "import/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/str.h"
#include "render/proto.h"
#include "render/render.h"

#include "harness.h"
#include "profiles.h"

/* A file of this test with @bytes; its path, static, is the same each time. */
static const char *file_of(const void *bytes, size_t len)
{
	static char path[64];
	FILE *f;

	(void)snprintf(path, sizeof(path), "/tmp/hl-import-%d.pb", (int)getpid());
	f = fopen(path, "w");
	CHECK(f && fwrite(bytes, 1, len, f) == len && fclose(f) == 0);
	return path;
}

static struct hl_profile *import(const char *path)
{
	struct hl_profile *p = NULL;
	struct hl_err err = { "" };

	if (hl_import_pprof(path, &p, &err))
		FAIL("%s", err.text);
	return p;
}

/* The sentence about a file that is refused, without its path. */
static const char *refused(const struct hl_str *bytes, int want)
{
	static struct hl_err err;
	struct hl_profile *p = NULL;
	const char *path = file_of(bytes->data ? bytes->data : "", bytes->len), *at;

	CHECK_INT(hl_import_pprof(path, &p, &err), want);
	CHECK(p == NULL);
	(void)unlink(path);
	at = strstr(err.text, path);
	if (!at)
		FAIL("the sentence does not name the file: %s", err.text);
	return at + strlen(path);
}

/* A frame of the kernel or of no file, with the module that recordings give it. */
static uint32_t frame_in(struct hl_profile *p, int kind, const char *module, uint64_t address,
			 const char *name)
{
	struct hl_frame frame = { .kind = (uint8_t)kind,
				  .insn_class = kind == HL_FRAME_INSN ? 2 : 0,
				  .kernel = kind == HL_FRAME_INSN,
				  .address = address,
				  .offset = kind == HL_FRAME_INSN ? 0x10 : 0,
				  .name = name,
				  .name_len = strlen(name),
				  .module = module,
				  .module_len = strlen(module) };
	uint32_t index;

	CHECK_INT(hl_profile_frame(p, &frame, &index), 0);
	return index;
}

/* ---- our own files ---------------------------------------------------------------------------------------- */

static struct hl_profile *small(void)
{
	static const struct hl_segment segments[] = { { 0x1000, 0x400, 0x2000 },
						      { 0x8000100, 0x3100, 0x500 } };
	static const struct hl_loss losses[] = { { "stack map full", "raise it", 3, HL_LOSS_LOST },
						 { "depth", "", 7, HL_LOSS_CUT },
						 { "irqs were off", "late: where they were on", 9,
						   HL_LOSS_NOTED } };
	static const char *const notes[] = { "first note", "second note" };
	static const struct hl_profile_meta meta = { .host = "web-1",
						     .kernel = "6.18.5, or so",
						     .version = "0.1.0",
						     .event = "cpu-clock",
						     .decoders = "capstone 4.0",
						     .unit = "nanoseconds",
						     .frequency = 99,
						     .cpus = 2,
						     .busy_cpus = 1.5,
						     .cost_process = -1,
						     .cost_programs = -1,
						     .start_ns = 1796040000000000000,
						     .end_ns = 1796040060500000000,
						     .expected = 200,
						     .seen = 199,
						     .idle = 150,
						     .filtered = 4,
						     .losses = losses,
						     .n_losses = 3,
						     .notes = notes,
						     .n_notes = 2 };
	struct hl_profile *p = hl_profile_new();
	uint32_t app = profiles_named(p, HL_FRAME_ROOT, "app"),
		 kt = profiles_named(p, HL_FRAME_ROOT, "[kernel threads]");
	uint32_t mains = profiles_function(p, HL_FRAME_USER, 0x1100, "main");
	uint32_t far = profiles_function(p, HL_FRAME_USER, 0x8000180, "far");
	uint32_t far2 = profiles_function(p, HL_FRAME_USER, 0x8000280, "far");
	uint32_t inl = profiles_function(p, HL_FRAME_INLINED, 0x1108, "skip<int>(char)");
	uint32_t jit = frame_in(p, HL_FRAME_JIT, "jit", 0, "Lfoo;bar()"),
		 irq = profiles_named(p, HL_FRAME_MARK, "[irq]");
	uint32_t sys = frame_in(p, HL_FRAME_KERNEL, "kernel", 0xffffffff81000100, "do_syscall_64");
	uint32_t imul = profiles_insn(p, 0x1110, 0x10, 4, "imul $0x3,%rax,%rdx");
	uint32_t jbe = profiles_insn(p, 0x8000190, 0x10, 3, "jbe 11d0 <a+0x40>");
	uint32_t jne = profiles_insn(p, 0x8000291, 0x11, 3, "jne 11d0 <a+0x40>");
	uint32_t mov = frame_in(p, HL_FRAME_INSN, "kernel", 0xffffffff81000110, "mov %rax,(%rdi)");
	const struct hl_binary binary = { .id = { 1, 1 },
					  .build_id = (const uint8_t *)"\x01\xab\xff",
					  .build_id_len = 3,
					  .segments = segments,
					  .n_segments = 2 };

	CHECK_INT(hl_profile_add_binary(p, &binary), 0);
	profiles_add(p, (uint32_t[]){ app, mains, far, jbe }, 4, 9);
	profiles_add(p, (uint32_t[]){ app, mains, far2, jne }, 4, 8);
	profiles_add(p, (uint32_t[]){ app, mains, inl, imul }, 4, 3);
	profiles_add(p, (uint32_t[]){ app, mains, inl, far, jbe }, 5, 2);
	profiles_add(p, (uint32_t[]){ app, mains, jit }, 3, 4);
	profiles_add(p, (uint32_t[]){ kt, app, irq, sys, mov }, 5, 1);
	CHECK_INT(hl_profile_finish(p), 0);
	hl_profile_set_meta(p, &meta);
	return p;
}

static const char *written(const struct hl_profile *p, bool instruction_lines)
{
	struct hl_render_options options = { .instruction_lines = instruction_lines };
	const char *path = file_of("", 0);
	FILE *f = fopen(path, "w");

	CHECK(f && hl_writer_pprof.write(p, &options, f, NULL) == 0 && fclose(f) == 0);
	return path;
}

static void check_comes_back(bool instruction_lines)
{
	struct hl_profile *p = small(), *q;
	char *want, *got;
	size_t len;

	q = import(written(p, instruction_lines));
	want = profiles_render(p, "folded", &len);
	got = profiles_render(q, "folded", &len);
	CHECK_STR(got, want);
	free(want);
	free(got);
	/* The header, with every loss; and the tables, with modules and offsets. */
	want = profiles_render(p, "txt", &len);
	got = profiles_render(q, "txt", &len);
	CHECK_STR(got, want);
	free(want);
	free(got);
	(void)unlink(file_of("", 0));
	hl_profile_free(p);
	hl_profile_free(q);
}

HL_TEST(our_own_come_back)
{
	check_comes_back(false);
}

HL_TEST(our_own_with_instructions_as_lines_come_back)
{
	check_comes_back(true);
}

HL_TEST(files_and_segments_come_back)
{
	struct hl_profile *p = small(), *q = import(written(p, false));
	const struct hl_binary *b = hl_profile_binary_at(q, 1);

	CHECK(b && !hl_profile_binary_at(q, 2) && !hl_profile_binary_at(q, 0));
	CHECK_INT(b->build_id_len, 3);
	CHECK(memcmp(b->build_id, "\x01\xab\xff", 3) == 0);
	CHECK_INT(b->n_segments, 2);
	CHECK_INT(hl_binary_segment(b, 0x8000190)->offset, 0x3100);
	CHECK_INT(hl_binary_segment(b, 0x1110)->offset, 0x400);
	CHECK(!hl_binary_segment(b, 0x3000));
	hl_profile_free(p);
	hl_profile_free(q);
}

/* ---- other programs' --------------------------------------------------------------------------------------- */

static void add_message(struct hl_str *out, unsigned int number, const uint64_t *pairs, size_t n)
{
	struct hl_str m = { 0 };

	for (size_t i = 0; i < n; i += 2)
		hl_proto_uint(&m, (unsigned int)pairs[i], pairs[i + 1]);
	hl_proto_message(out, number, &m);
	hl_str_done(&m);
}
#define MESSAGE(out, number, ...)                                   \
	add_message(out, number, (const uint64_t[]){ __VA_ARGS__ }, \
		    sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void add_strings(struct hl_str *out)
{
	static const char *const strings[] = { "",     "cpu",       "nanoseconds", "/bin/prog",
					       "work", "main.main", "count",       "samples" };

	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
		hl_proto_bytes(out, 6, strings[i], strlen(strings[i]));
}

/* Ids with gaps, fields that are not packed, strings last, no labels: allowed, and done by some. */
static void add_foreign(struct hl_str *out)
{
	struct hl_str location = { 0 };

	MESSAGE(out, 1, 1, 1, 2, 2);
	MESSAGE(out, 2, 1, 700, 1, 9, 2, 30000000);
	MESSAGE(out, 2, 1, 9, 2, 10000000);
	MESSAGE(out, 3, 1, 5, 2, 0x555500001000, 3, 0x555500003000, 4, 0x1000, 5, 3);
	MESSAGE(&location, 4, 1, 40);
	hl_proto_uint(&location, 1, 700);
	hl_proto_uint(&location, 2, 5);
	hl_proto_uint(&location, 3, 0x555500001234);
	hl_proto_message(out, 4, &location);
	location.len = 0;
	hl_proto_uint(&location, 1, 9);
	MESSAGE(&location, 4, 1, 41);
	hl_proto_message(out, 4, &location);
	hl_str_done(&location);
	MESSAGE(out, 5, 1, 40, 2, 4);
	MESSAGE(out, 5, 1, 41, 3, 5);
	hl_proto_uint(out, 12, 10000000);
}

HL_TEST(another_programs_file)
{
	struct hl_str s = { 0 };
	struct hl_profile *p;
	char *text;
	size_t len;

	add_foreign(&s);
	add_strings(&s);
	p = import(file_of(s.data, s.len));
	text = profiles_render(p, "folded", &len);
	CHECK_STR(text, "prog;main.main 1\nprog;main.main;work;(no text) [0x555500001234] 3\n");
	free(text);
	text = profiles_render(p, "txt", &len);
	CHECK(strstr(text, "what it lost is not known"));
	free(text);
	hl_profile_free(p);
	hl_str_done(&s);
}

HL_TEST(what_weighs_less_than_the_period_is_a_sample)
{
	struct hl_str s = { 0 };
	struct hl_profile *p;
	char *text;
	size_t len;

	add_foreign(&s);
	MESSAGE(&s, 2, 1, 9, 2, 3);
	add_strings(&s);
	p = import(file_of(s.data, s.len));
	text = profiles_render(p, "folded", &len);
	CHECK_STR(text, "prog;main.main 2\nprog;main.main;work;(no text) [0x555500001234] 3\n");
	free(text);
	hl_profile_free(p);
	hl_str_done(&s);
}

/* ---- hostile ones ------------------------------------------------------------------------------------------ */

HL_TEST(sentences_name_the_place)
{
	struct hl_str s = { 0 };

	CHECK_STR(refused(&s, -EBADMSG), "' is no profile: it has no sample type");
	hl_str_adds(&s, "\x1f\x8b not gzip");
	CHECK(hl_starts_with(refused(&s, -EBADMSG), "' is damaged"));
	hl_str_clear(&s);
	add_foreign(&s);
	CHECK_STR(refused(&s, -EBADMSG), "' is no profile: it has no string table that begins with \"\"");
	add_strings(&s);
	hl_str_add(&s, "\x12\xff\xff\xff\xff\x0f", 6);
	CHECK(strstr(refused(&s, -EBADMSG), "cut off at byte"));
	s.len -= 6;
	hl_str_add(&s, "\x12\x80\x80", 3);
	CHECK(strstr(refused(&s, -EBADMSG), "cut off at byte"));
	s.len -= 3;
	MESSAGE(&s, 2, 1, 8, 2, 1);
	CHECK_STR(refused(&s, -EBADMSG), "': sample 2 is at location 8, which is not there");
	hl_str_clear(&s);
	add_foreign(&s);
	add_strings(&s);
	MESSAGE(&s, 2, 1, 9, 2, UINT64_MAX);
	CHECK(strstr(refused(&s, -EBADMSG), "': sample 2 has a negative value"));
	hl_str_clear(&s);
	add_foreign(&s);
	add_strings(&s);
	MESSAGE(&s, 2, 1, 9, 2, 1, 2, 1);
	CHECK(strstr(refused(&s, -EBADMSG), "': sample 2 has more values than"));
	hl_str_clear(&s);
	add_foreign(&s);
	add_strings(&s);
	MESSAGE(&s, 5, 1, 77, 2, 99);
	CHECK_STR(refused(&s, -EBADMSG), "': function 2 names string 99 of 8");
	hl_str_clear(&s);
	add_foreign(&s);
	add_strings(&s);
	MESSAGE(&s, 5, 1, 40, 2, 4);
	CHECK_STR(refused(&s, -EBADMSG), "': two have the id 40, function 2 is one");
	hl_str_done(&s);
}

HL_TEST(what_is_no_file)
{
	struct hl_profile *p = NULL;
	struct hl_err err = { "" };
	char fifo[64];

	CHECK_INT(hl_import_pprof("/nowhere/at/all", &p, &err), -ENOENT);
	CHECK_INT(hl_import_pprof("/tmp", &p, &err), -EINVAL);
	CHECK_INT(hl_import_pprof("/dev/zero", &p, &err), -EINVAL);
	(void)snprintf(fifo, sizeof(fifo), "/tmp/hl-fifo-%d", (int)getpid());
	CHECK_INT(mkfifo(fifo, 0600), 0);
	CHECK_INT(hl_import_pprof(fifo, &p, &err), -EINVAL);
	(void)unlink(fifo);
}

/* A gigabyte of zeros is a megabyte of gzip. */
HL_TEST(a_bomb)
{
	static char zeros[1 << 20];
	struct hl_profile *p = NULL;
	struct hl_err err = { "" };
	const char *path = file_of("", 0);
	gzFile f = gzopen(path, "w");

	for (int i = 0; i < 1024; i++)
		CHECK(gzwrite(f, zeros, sizeof(zeros)) == sizeof(zeros));
	CHECK_INT(gzclose(f), Z_OK);
	CHECK_INT(hl_import_pprof(path, &p, &err), -EFBIG);
	CHECK(strstr(err.text, "holds more than 256 MiB"));
	(void)unlink(path);
}

/* A location of a million lines, named a million times, would be a stack of 10¹² frames. */
HL_TEST(a_bomb_of_frames)
{
	enum { N = 1 << 19 };
	struct hl_str s = { 0 }, m = { 0 }, ids = { 0 };

	add_foreign(&s);
	add_strings(&s);
	hl_proto_uint(&m, 1, 50);
	for (int i = 0; i < N; i++) {
		MESSAGE(&m, 4, 1, 40);
		hl_proto_varint(&ids, 50);
	}
	hl_proto_message(&s, 4, &m);
	m.len = 0;
	hl_proto_message(&m, 1, &ids);
	hl_proto_uint(&m, 2, 1);
	hl_proto_message(&s, 2, &m);
	CHECK_STR(refused(&s, -EFBIG), "': sample 2 has too many frames");
	hl_str_done(&s);
	hl_str_done(&m);
	hl_str_done(&ids);
}

/* Whatever is done to a good file, it is read or refused. */
HL_TEST_TIMEOUT(damage, 120)
{
	struct hl_profile *good = small(), *p;
	struct hl_render_options options = { 0 };
	const char *path = written(good, false);
	static uint8_t bytes[1 << 20], copy[1 << 20];
	gzFile f = gzopen(path, "r");
	int n = gzread(f, bytes, sizeof(bytes)), read = 0;
	uint32_t random = 12345;

	CHECK(n > 500 && gzclose(f) == Z_OK);
	for (int i = 0; i < 4 * n; i++) {
		size_t len = (size_t)n;

		memcpy(copy, bytes, len);
		random = random * 1664525 + 1013904223;
		if (i < n)
			len = (size_t)i;
		else
			copy[random % (uint32_t)n] = (uint8_t)(random >> 24);
		p = NULL;
		if (hl_import_pprof(file_of(copy, len), &p, NULL) == 0) {
			size_t size;
			char *text = profiles_render(p, "folded", &size);

			free(text);
			read++;
		}
		hl_profile_free(p);
	}
	NOTE("%d of %d damaged files could be read", read, 4 * n);
	CHECK(read > 0 && options.top == 0);
	(void)unlink(path);
	hl_profile_free(good);
}
