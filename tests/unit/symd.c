// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample elf unwind symbol insn symd tests/elfwriter tests/cfiwriter tests/tabletext tests/symdchild */
#include "symd/client.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <zlib.h>

#include "base/err.h"
#include "base/str.h"
#include "cfiwriter.h"
#include "elfwriter.h"
#include "harness.h"
#include "symd/transport.h"
#include "tabletext.h"
#include "unwind/unwind.h"

enum { TEXT = 0x401000, SIZE = 0x1000 };

static int to_fd(struct elfwriter *w)
{
	int fd;

	ew_finish(w);
	fd = ew_file(w->bytes, w->len);
	ew_done(w);
	return fd;
}

/* A program: call_it at TEXT calls callee at TEXT + 0x40. */
static void write_program(struct elfwriter *w, const char *id)
{
	unsigned int text;

	ew_init(w, true);
	text = ew_code(w, ".text", 0x1000, TEXT, SIZE);
	ew_put(w, 0x1000 + 4, "\xe8\x37\0\0\0", 5); /* call TEXT + 0x40 */
	ew_put(w, 0x1000 + 9, "\xeb\xf5", 2);       /* jmp TEXT */
	(void)ew_symbol(w, EW_SYMTAB, "call_it", STB_GLOBAL, STT_FUNC, text, TEXT, 0x20);
	(void)ew_symbol(w, EW_SYMTAB, "_Z6calleei", STB_GLOBAL, STT_FUNC, text, TEXT + 0x40, 0x20);
	if (id)
		ew_segment(w, PT_NOTE, PF_R, 0x3000, 0x3000,
			   ew_build_id(w, 0x3000, id, (uint32_t)strlen(id)));
}

/* Each test runs twice: with the server in this process, where sanitizers see it, and in the child. */
static bool local;

#define BOTH_WAYS(name)         \
	static void name(void); \
	HL_TEST(name##_locally) \
	{                       \
		local = true;   \
		name();         \
	}                       \
	HL_TEST(name)           \
	{                       \
		name();         \
	}                       \
	static void name(void)

static struct hl_symd *new_symd(void)
{
	struct hl_symd_transport transport;
	struct hl_err err = { "" };
	struct hl_symd *symd = NULL;

	if (!local)
		symd = hl_symd_new(&err);
	else if (!hl_symd_transport_local(&transport, &err))
		symd = hl_symd_new_over(transport, &err);

	if (!symd)
		FAIL("%s", err.text);
	return symd;
}

static void add(struct hl_symd *symd, uint32_t number, struct elfwriter *w, struct hl_symd_file *ret)
{
	struct hl_symd_file file;
	struct hl_err err = { "" };
	int fd = to_fd(w);

	if (hl_symd_add_file(symd, number, fd, ret ? ret : &file, &err) < 0)
		FAIL("%s", err.text);
	close(fd);
}

/* "NAME START+SIZE | TEXT" of one query's answer, with the flags in hexadecimal if there are unusual ones. */
static const char *ask(struct hl_symd *symd, const struct hl_symd_query *query)
{
	static struct hl_symd_answers answers;
	static char text[1000];
	struct hl_err err = { "" };
	const struct hl_symd_answer *a;
	unsigned int unusual;

	if (hl_symd_resolve(symd, query, 1, false, &answers, &err) < 0)
		FAIL("%s", err.text);
	CHECK_INT(answers.n, 1);
	a = answers.items;
	(void)snprintf(text, sizeof(text), "%.*s%s%.*s %llx+%llx | %.*s", (int)a->name_len,
		       answers.strings + a->name, a->module_len ? " in " : "", (int)a->module_len,
		       answers.strings + a->module, (unsigned long long)a->function,
		       (unsigned long long)a->size, (int)a->text_len, answers.strings + a->text);
	unusual = a->flags & (uint16_t) ~(HL_SYMD_NAMED | HL_SYMD_MODULE);
	if (unusual)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), " (%x)", unusual);
	return text;
}

BOTH_WAYS(a_file_is_described)
{
	struct hl_symd *symd = new_symd();
	struct hl_symd_file file, again, other;
	struct elfwriter w;

	write_program(&w, "0123456789abcdef0123");
	ew_put(&w, 0x3100, "a.debug\0\4\3\2\1", 12);
	(void)ew_section(&w, ".gnu_debuglink", SHT_PROGBITS, 0, 0, 0x3100, 12);
	add(symd, 7, &w, &file);
	CHECK_INT(file.build_id_len, 20);
	CHECK(memcmp(file.build_id, "0123456789abcdef0123", 20) == 0);
	CHECK_STR(file.debuglink, "a.debug");
	CHECK_INT(file.debuglink_crc, 0x01020304);
	CHECK_INT(file.machine, EM_X86_64);
	CHECK_INT(file.n_segments, 1);
	CHECK_INT(file.n_symbols, 2);
	CHECK_INT(file.has_symtab, 1);

	/* Equal code and build-id: equal id, whatever else differs. Other code or build-id: another. */
	write_program(&w, "0123456789abcdef0123");
	ew_put(&w, 0x5000, "data", 4);
	add(symd, 8, &w, &again);
	CHECK(memcmp(file.binary_id, again.binary_id, 16) == 0);
	write_program(&w, "0123456789abcdef0123");
	ew_put(&w, 0x1fff, "\xc3", 1);
	add(symd, 9, &w, &other);
	CHECK(memcmp(file.binary_id, other.binary_id, 16) != 0);
	write_program(&w, "X123456789abcdef0123");
	add(symd, 9, &w, &other);
	CHECK(memcmp(file.binary_id, other.binary_id, 16) != 0);
	hl_symd_free(symd);
}

BOTH_WAYS(other_machines_files_are_refused)
{
	struct hl_symd *symd = new_symd();
	struct hl_symd_file file = { .machine = 77 };
	struct hl_err err = { "" };
	struct elfwriter w;
	int fd;

	write_program(&w, NULL);
	w.machine = EM_AARCH64;
	fd = to_fd(&w);
	CHECK_INT(hl_symd_add_file(symd, 1, fd, &file, &err), -ENOEXEC);
	CHECK_STR(err.text, "'file 1' is for machine 183, not for this one");
	CHECK_INT(file.machine, 77);
	close(fd);
	fd = ew_file("no ELF", 6);
	CHECK_INT(hl_symd_add_file(symd, 1, fd, &file, &err), -ENOEXEC);
	close(fd);
	hl_symd_free(symd);
}

BOTH_WAYS(names_and_text_of_a_file)
{
	struct hl_symd *symd = new_symd();
	struct hl_symd_query q = { .where = 0x1004, .file = 3, .flags = HL_SYMD_WANT_TEXT };
	struct elfwriter w;

	write_program(&w, NULL);
	add(symd, 3, &w, NULL);
	CHECK_STR(ask(symd, &q), "call_it 401000+20 | call 401040 <callee(int)>");
	q.where = 0x1009;
	CHECK_STR(ask(symd, &q), "call_it 401000+20 | jmp 401000 <call_it>");
	q.where = 0x1045;
	CHECK_STR(ask(symd, &q), "callee(int) 401040+20 | nop");
	q.where = 0x1030;
	CHECK_STR(ask(symd, &q), " 401030+0 | nop");
	/* The sample's own bytes go before the file's, from which they differ. */
	memcpy(q.code, "\xeb\x11", 2);
	q.code_len = 2;
	CHECK_STR(ask(symd, &q), " 401030+0 | jmp 401043 <callee(int)+0x3> (40)");
	q.flags = 0;
	CHECK_STR(ask(symd, &q), " 401030+0 | ");
	q.where = 0x9000;
	CHECK_STR(ask(symd, &q), " 9000+0 |  (10)");
	q.file = 99;
	CHECK_STR(ask(symd, &q), " 9000+0 |  (10)");
	q = (struct hl_symd_query){ .where = 0x9000, .file = 99, .flags = HL_SYMD_WANT_TEXT };
	CHECK_STR(ask(symd, &q), " 9000+0 |  (14)");
	hl_symd_free(symd);
}

BOTH_WAYS(unwind_tables)
{
	struct hl_symd *symd = new_symd();
	struct hl_unwind_result table = { 0 };
	struct hl_err err = { "" };
	struct elfwriter w;
	static uint8_t no_code[SIZE];
	struct cfiwriter f;
	int fd;

	cw_init(&f, 0x405000, false);
	cw_fde(&f, cw_usual_cie(&f), TEXT + 0x10, 0x20, "\x41\x0e\x10", 3);
	write_program(&w, NULL);
	cw_put_segment(&f, &w, TEXT - 0x1000);
	fd = to_fd(&w);
	if (hl_symd_unwind(symd, 3, fd, &table.bytes, &table.len, &err) < 0)
		FAIL("%s", err.text);
	/* In front of the FDE stands a function without one, which its code tells of; the callee never returns. */
	CHECK_STR(table_text(&table, 0x1000, 0x40), "0 rsp+8; 9 none; 10 rsp+8; 11 rsp+16; 30 none");
	free(table.bytes);
	/* The answer was handed over; the next is its own. */
	CHECK_INT(hl_symd_unwind(symd, 3, fd, &table.bytes, &table.len, NULL), 0);
	free(table.bytes);
	close(fd);

	/* Neither frame information nor code that could be followed: 06 is no instruction. */
	table.bytes = NULL;
	write_program(&w, NULL);
	memset(no_code, 0x06, sizeof(no_code));
	ew_put(&w, 0x1000, no_code, sizeof(no_code));
	fd = to_fd(&w);
	CHECK_INT(hl_symd_unwind(symd, 3, fd, &table.bytes, &table.len, &err), -ENODATA);
	CHECK_STR(err.text, "'file 3' has no call frame information for its code");
	CHECK(!table.bytes);
	close(fd);
	hl_symd_free(symd);
}

BOTH_WAYS(text_of_jit_and_of_32_bit_code)
{
	struct hl_symd *symd = new_symd();
	struct hl_symd_query q = { .where = 0x7f0000001000,
				   .place = HL_SYMD_RAW,
				   .flags = HL_SYMD_WANT_TEXT,
				   .code = { 0x48, 0x89, 0xc3 },
				   .code_len = 3 };

	CHECK_STR(ask(symd, &q), " 7f0000001000+0 | mov %rax,%rbx");
	q.flags |= HL_SYMD_CODE_32;
	CHECK_STR(ask(symd, &q), " 7f0000001000+0 | dec %eax");
	q.code_len = 0;
	CHECK_STR(ask(symd, &q), " 7f0000001000+0 |  (4)");
	hl_symd_free(symd);
}

BOTH_WAYS(the_kernel)
{
	static const char kallsyms[] = "ffffffff92000000 T _text\nffffffff92000100 T do_one\n"
				       "ffffffff92000200 t do_two\nffffffff93000000 B _end\n"
				       "ffffffffc0a01000 t helper\t[ext4]\n";
	struct hl_symd *symd = new_symd();
	struct hl_symd_query q = { .where = 0xffffffff92000110,
				   .place = HL_SYMD_KERNEL,
				   .flags = HL_SYMD_WANT_TEXT,
				   .code = { 0xe9, 0xfb, 0, 0, 0 },
				   .code_len = 5 };
	int fd = ew_file(kallsyms, strlen(kallsyms));

	CHECK_INT(lseek(fd, 0, SEEK_SET), 0);
	CHECK_STR(ask(symd, &q), " ffffffff92000110+0 | jmp ffffffff92000210");
	CHECK_INT(hl_symd_add_kallsyms(symd, fd, NULL), 0);
	/* Addresses are vmlinux's, in the branch too. */
	CHECK_STR(ask(symd, &q), "do_one ffffffff81000100+100 | jmp ffffffff81000210 <do_two+0x10>");
	q.where = 0xffffffffc0a01004;
	q.flags = 0;
	CHECK_STR(ask(symd, &q), "helper in ext4 ffffffffc0a01000+1000 | ");
	close(fd);
	hl_symd_free(symd);
}

BOTH_WAYS(interrupts_that_were_off)
{
	static const struct {
		const char *before; /* the last of eight bytes */
		size_t len;
		bool off;
	} rows[] = {
		{ "\x9d", 1, true },                     /* popf */
		{ "\xfb", 1, true },                     /* sti */
		{ "\xfb\x90", 2, true },                 /* sti; nop */
		{ "\xfb\x48\x89\xc3", 4, true },         /* sti; mov %rax,%rbx */
		{ "\xfb\x0f\x1f\x44\x00\x00", 6, true }, /* sti; nopl */
		{ "\xfb\x90\x90", 3, false },            /* two instructions behind sti */
		{ "\xfb\x48\x89", 3, false },            /* what follows is not whole */
		{ "\x90\x90", 2, false },
	};
	struct hl_symd *symd = new_symd();
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct hl_symd_query q = { .where = 0xffffffff81000000,
					   .place = HL_SYMD_KERNEL,
					   .flags = HL_SYMD_SW_CLOCK,
					   .before_len = 8 };

		memset(q.before, 0x90, 8);
		memcpy(q.before + 8 - rows[i].len, rows[i].before, rows[i].len);
		CHECK_STR(ask(symd, &q),
			  rows[i].off ? " ffffffff81000000+0 |  (8)" : " ffffffff81000000+0 | ");
		q.flags = 0; /* another event comes at once */
		CHECK_STR(ask(symd, &q), " ffffffff81000000+0 | ");
		q.flags = HL_SYMD_SW_CLOCK;
		q.place = HL_SYMD_RAW;
		CHECK_STR(ask(symd, &q), " ffffffff81000000+0 | ");
	}
	hl_symd_free(symd);
}

BOTH_WAYS(functions_that_switch_interrupts_on)
{
	static const char kallsyms[] =
		"ffffffff81000000 T _text\nffffffff81000100 T pvm_irq_enable\n"
		"ffffffff81000200 T __raw_callee_save_native_irq_enable\n"
		"ffffffff81000300 T xen_irq_enable_direct\n"
		"ffffffff81000400 T acpi_pci_irq_enable\nffffffff81000500 T pvm_irq_enabled\n";
	struct hl_symd *symd = new_symd();
	int fd = ew_file(kallsyms, strlen(kallsyms));

	CHECK_INT(lseek(fd, 0, SEEK_SET), 0);
	CHECK_INT(hl_symd_add_kallsyms(symd, fd, NULL), 0);
	for (uint64_t i = 1; i <= 5; i++) {
		struct hl_symd_query q = { .where = 0xffffffff81000000 + i * 0x100 + 4,
					   .place = HL_SYMD_KERNEL,
					   .flags = HL_SYMD_SW_CLOCK };
		const char *said = ask(symd, &q);

		if ((strstr(said, "(8)") != NULL) != (i <= 3))
			FAIL("%s", said);
	}
	(void)close(fd);
	hl_symd_free(symd);
}

/* A stripped program, and its debug file, whose name for TEXT + 0x20 is "secret_leaf". */
static int write_pair(struct elfwriter *w, const char *id, const char *debug_id, uint32_t *ret_crc)
{
	struct elfwriter debug;
	unsigned int text;
	int fd;

	ew_init(&debug, true);
	text = ew_section(&debug, ".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, 0x1000, SIZE);
	(void)ew_symbol(&debug, EW_SYMTAB, "secret_leaf", STB_LOCAL, STT_FUNC, text, TEXT + 0x20, 0x10);
	if (debug_id)
		(void)ew_section(&debug, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 0, 0x800,
				 ew_build_id(&debug, 0x800, debug_id, (uint32_t)strlen(debug_id)));
	ew_finish(&debug);
	*ret_crc = (uint32_t)crc32(0, debug.bytes, (uInt)debug.len);
	fd = ew_file(debug.bytes, debug.len);
	ew_done(&debug);
	ew_init(w, true);
	(void)ew_code(w, ".text", 0x1000, TEXT, SIZE);
	if (id)
		ew_segment(w, PT_NOTE, PF_R, 0x3000, 0x3000,
			   ew_build_id(w, 0x3000, id, (uint32_t)strlen(id)));
	return fd;
}

BOTH_WAYS(debug_files_belong_to_one_build)
{
	static const struct {
		const char *id, *debug_id;
		int wrong_crc, want; /* wrong_crc -1: no debuglink */
	} rows[] = {
		{ "0123456789", "0123456789", 1, 0 }, /* the build-id decides, if both have one */
		{ "0123456789", "012345678X", 0, -ESTALE },
		{ "0123456789", "01234567", 0, -ESTALE },
		{ NULL, NULL, 0, 0 },
		{ NULL, NULL, 1, -ESTALE },
		{ "0123456789", NULL, 0, 0 },
		{ "0123456789", NULL, 1, -ESTALE },
		{ NULL, NULL, -1, -ESTALE },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct hl_symd *symd = new_symd();
		struct hl_symd_query q = { .where = 0x1025, .file = 1 };
		uint32_t crc;
		struct elfwriter w;
		int fd = write_pair(&w, rows[i].id, rows[i].debug_id, &crc);

		if (rows[i].wrong_crc >= 0) {
			crc ^= (uint32_t)rows[i].wrong_crc;
			ew_put(&w, 0x3100, "a.debug", 8);
			ew_put(&w, 0x3108, &crc, 4);
			(void)ew_section(&w, ".gnu_debuglink", SHT_PROGBITS, 0, 0, 0x3100, 12);
		}
		add(symd, 1, &w, NULL);
		CHECK_INT(hl_symd_add_debug(symd, 1, fd, NULL), rows[i].want);
		CHECK_STR(ask(symd, &q), rows[i].want ? " 401025+0 | " : "secret_leaf 401020+10 | ");
		CHECK_INT(hl_symd_add_debug(symd, 2, fd, NULL), -ENOENT);
		close(fd);
		hl_symd_free(symd);
	}
}

BOTH_WAYS(answers_keep_the_order_over_many_requests)
{
	enum { N = 10000 };
	struct hl_symd *symd = new_symd();
	_cleanup_free_ struct hl_symd_query *queries = calloc(N, sizeof(*queries));
	_cleanup_(hl_symd_answers_done) struct hl_symd_answers answers = { 0 };
	struct elfwriter w;
	size_t i;

	CHECK(queries);
	write_program(&w, NULL);
	add(symd, 1, &w, NULL);
	for (i = 0; i < N; i++)
		queries[i] = (struct hl_symd_query){ .where = 0x1000 + i % 0x60,
						     .file = 1,
						     .flags = i % 3 ? 0 : HL_SYMD_WANT_TEXT };
	CHECK_INT(hl_symd_resolve(symd, queries, N, false, &answers, NULL), 0);
	CHECK_INT(answers.n, N);
	for (i = 0; i < N; i++) {
		const struct hl_symd_answer *a = &answers.items[i];
		const char *want = i % 0x60 < 0x20 ? "call_it" : i % 0x60 < 0x40 ? "" : "callee(int)";

		CHECK_INT(a->address, TEXT + i % 0x60);
		CHECK_INT(a->name_len, strlen(want));
		CHECK(memcmp(answers.strings + a->name, want, strlen(want)) == 0);
		CHECK_INT(a->text_len > 0, i % 3 == 0);
	}
	/* A name stands once in a request's strings. */
	CHECK(answers.strings_len < (size_t)N / 3 * 40);
	CHECK_INT(hl_symd_resolve(symd, NULL, 0, false, &answers, NULL), 0);
	CHECK_INT(answers.n, 0);
	hl_symd_free(symd);
}

static void check_same(const struct hl_symd_answers *a, const struct hl_symd_answers *b, size_t i)
{
	struct hl_symd_answer x = a->items[i], y = b->items[i];

	CHECK_INT(x.name_len, y.name_len);
	CHECK(memcmp(a->strings + x.name, b->strings + y.name, x.name_len) == 0);
	x.name = y.name = 0;
	CHECK(memcmp(&x, &y, sizeof(x)) == 0);
}

/* A clock that is of no meaning in a file makes the same queries long ones. */
BOTH_WAYS(brief_answers_are_those_of_long_ones)
{
	enum { N = 40000, MIXED = 30000 };
	struct hl_symd *symd = new_symd();
	_cleanup_free_ struct hl_symd_query *queries = calloc(N, sizeof(*queries));
	_cleanup_(hl_symd_answers_done) struct hl_symd_answers brief = { 0 };
	_cleanup_(hl_symd_answers_done) struct hl_symd_answers whole = { 0 };
	struct elfwriter w;

	CHECK(queries);
	write_program(&w, NULL);
	add(symd, 1, &w, NULL);
	for (size_t i = 0; i < N; i++)
		queries[i] = (struct hl_symd_query){ .where = 0xff0 + i % 0x100, .file = 1 + i % 97 / 96 };
	CHECK_INT(hl_symd_resolve(symd, queries, N, 0, &brief, NULL), 0);
	/* A name stands once in a request's strings: these were few. */
	CHECK(brief.strings_len <= 3 * strlen("call_itcallee(int)"));
	for (size_t i = 0; i < N; i++)
		queries[i].flags = HL_SYMD_SW_CLOCK;
	CHECK_INT(hl_symd_resolve(symd, queries, N, 0, &whole, NULL), 0);
	for (size_t i = 0; i < N; i++)
		check_same(&brief, &whole, i);
	for (size_t i = 0; i < MIXED; i++)
		queries[i].flags = 0;
	CHECK_INT(hl_symd_resolve(symd, queries, N, 0, &brief, NULL), 0);
	CHECK_INT(brief.n, N);
	for (size_t i = 0; i < N; i++)
		check_same(&brief, &whole, i);
	hl_symd_free(symd);
}

BOTH_WAYS(more_files_than_descriptors)
{
	enum { FILES = 1500 };
	struct hl_symd *symd = new_symd();
	struct hl_symd_query q = { .where = 0x1045, .flags = HL_SYMD_WANT_TEXT };
	uint32_t i;

	for (i = 0; i < FILES; i++) {
		struct elfwriter w;

		write_program(&w, NULL);
		add(symd, i, &w, NULL);
	}
	q.file = FILES - 1;
	CHECK_STR(ask(symd, &q), "callee(int) 401040+20 | nop");
	q.file = 0; /* its descriptor is gone, its names are not */
	CHECK_STR(ask(symd, &q), "callee(int) 401040+20 |  (4)");
	hl_symd_free(symd);
}
