// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample elf insn unwind tests/elfwriter tests/cfiwriter tests/tabletext */

/* Damaged call frame information, by design and by chance: an error or a sound table, and nothing else. */

#include "unwind/unwind.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "cfiwriter.h"
#include "elf/elf.h"
#include "elfwriter.h"
#include "harness.h"
#include "sample/unwind_table.h"
#include "tabletext.h"

enum { BIAS = 0x400000, TEXT = 0x401000, TEXT_SIZE = 0x1000, FRAMES = 0x405000 };

/* A file with something of everything: its bytes, and where call frame information begins in them. */
struct file {
	int fd;
	struct elfwriter w;
	size_t frames, len; /* offset and bytes of .eh_frame */
};

static void write_frames(struct cfiwriter *f)
{
	static const uint8_t begin[] = { 0x0c, 7, 8, 0x90, 1 };
	static const uint8_t usual[] = { 0x41, 0x0e, 16,   0x86, 2, 0x43, 0x0d, 6,
					 0x0a, 0x60, 0xc6, 0x0c, 7, 8,    0x41, 0x0b };
	static const uint8_t realigned[] = { 0x44, 0x0c, 10,   0,    0x49, 0x10, 6,    2,    0x76, 0, 0x45,
					     0x0f, 3,    0x76, 0x78, 0x06, 0x02, 0x30, 0x0c, 7,    8 };
	static const uint8_t table[] = { 0x0e, 16, 0x46, 0x0e, 24,   0x4a, 0x0f, 11,   0x77, 8,
					 0x80, 0,  0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22 };
	static const uint8_t others[] = { 0x03, 0x10, 0,    0x04, 1,    0,    0,  0,    0x05, 6, 2,    0x06,
					  6,    0x07, 16,   0x08, 6,    0x09, 16, 5,    0x11, 6, 2,    0x12,
					  7,    0x7f, 0x13, 0x7f, 0x14, 6,    2,  0x15, 6,    2, 0x16, 6,
					  1,    0x06, 0x2e, 8,    0x2f, 6,    2,  0x01, 0,    0, 0,    0 };
	size_t usual_cie, signal_cie, plain_cie;
	int i;

	cw_init(f, FRAMES, false);
	usual_cie = cw_usual_cie(f);
	for (i = 0; i < 10; i++)
		cw_fde(f, usual_cie, TEXT + 0x100u * (unsigned int)i, 0x60, usual, sizeof(usual));
	cw_fde(f, usual_cie, TEXT + 0xa00, 0x80, realigned, sizeof(realigned));
	cw_fde(f, usual_cie, TEXT + 0xa80, 0x80, table, sizeof(table));
	signal_cie = cw_cie(f, "zRS", "\x1b", 1, NULL, 0);
	cw_fde(f, signal_cie, TEXT + 0xb00, 0x10, NULL, 0);
	plain_cie = cw_cie(f, "zPLR", "\x9b\0\0\0\0\x1b\x1b", 7, begin, sizeof(begin));
	cw_fde(f, plain_cie, TEXT + 0xc00, 0x80, others, sizeof(others));
	cw_number(f, 0, 4);
}

static void file_init(struct file *file)
{
	struct cfiwriter f;

	write_frames(&f);
	ew_init(&file->w, true);
	(void)ew_code(&file->w, ".text", TEXT - BIAS, TEXT, TEXT_SIZE);
	cw_put_segment(&f, &file->w, BIAS);
	cw_put_section(&f, &file->w, BIAS);
	ew_finish(&file->w);
	file->fd = ew_file(file->w.bytes, file->w.len);
	file->frames = FRAMES - BIAS;
	file->len = f.len;
}

/* Compiles the file as it is: the number of its FDEs, or the error, which must be one that is foreseen. */
static int compile(const struct file *file, struct hl_unwind_result *ret)
{
	struct hl_unwind_result table = { 0 };
	struct hl_elf *elf = NULL;
	struct hl_err err = { "" };
	int r = hl_elf_open(file->fd, "test", &elf, &err);

	if (r == 0)
		r = hl_unwind_compile(elf, &table, &err);
	hl_elf_free(elf);
	if (r < 0) {
		CHECK(r == -ENODATA || r == -EBADMSG || r == -ENOEXEC || r == -E2BIG);
		CHECK(err.text[0]);
		return r;
	}
	if (hl_unwind_check(table.bytes, table.len, &err) < 0)
		FAIL("%s", err.text);
	if (ret)
		*ret = table;
	else
		free(table.bytes);
	return (int)table.n_fdes;
}

static void put(const struct file *file, size_t at, const void *bytes, size_t len)
{
	CHECK_INT(pwrite(file->fd, bytes, len, (off_t)at), len);
}

static void repair(const struct file *file)
{
	put(file, 0, file->w.bytes, file->w.len);
}

/* How many FDEs are left when @value, @len bytes, stands at @at of .eh_frame, repeated to its end if @fill. */
static int damaged(const struct file *file, size_t at, const char *value, size_t len, bool fill)
{
	size_t i;
	int n;

	for (i = at; i + len <= file->len; i += len) {
		put(file, file->frames + i, value, len);
		if (!fill)
			break;
	}
	n = compile(file, NULL);
	repair(file);
	return n;
}

HL_TEST(by_design)
{
	struct hl_unwind_result table;
	struct file file;

	file_init(&file);
	CHECK_INT(compile(&file, &table), 14);
	CHECK_STR(table_text(&table, TEXT - BIAS, 0x110),
		  "0 rsp+8; 1 rsp+16 fp=cfa-16; 4 rbp+16 fp=cfa-16; 24 rsp+8; 25 rbp+16 fp=cfa-16; 60 none; "
		  "100 rsp+8; 101 rsp+16 fp=cfa-16; 104 rbp+16 fp=cfa-16");
	CHECK_STR(table_text(&table, TEXT - BIAS + 0xa80, 0xa0),
		  "0 rsp+16; 6 rsp+24; 10 plt11; 80 signal; 90 none");
	free(table.bytes);

	/* The length of the first CIE: past the end, by a little and by much; of 64 bits; zero. */
	CHECK_INT(damaged(&file, 0, "\xf0\xff\xff\xff", 4, false), -ENODATA);
	CHECK_INT(damaged(&file, 0, "\xff\xff\xff\xff", 4, false), -ENODATA);
	CHECK_INT(damaged(&file, 0, "\0\0\0\0", 4, false), -ENODATA);
	/* An augmentation without an end, and a number without one. */
	CHECK_INT(damaged(&file, 9, "z", 1, true), -ENODATA);
	CHECK_INT(damaged(&file, 12, "\xff", 1, true), -ENODATA);
	/* The length of augmentation data, of the CIE and of an FDE. */
	CHECK_INT(damaged(&file, 15, "\xff", 1, false), 2);
	CHECK_INT(damaged(&file, 24 + 16, "\x7f", 1, false), 13);
	/* An FDE's distance to its CIE: too far; to another FDE; to itself. */
	CHECK_INT(damaged(&file, 24 + 4, "\xff\xff\xff\x7f", 4, false), 13);
	CHECK_INT(damaged(&file, 24 + 4, "\x04\0\0\0", 4, false), 13);
	CHECK_INT(damaged(&file, 24 + 4, "\x08\0\0\0", 4, false), 13);
	/* A version of later days; an augmentation that is none of ours. */
	CHECK_INT(damaged(&file, 8, "\x02", 1, false), 2);
	CHECK_INT(damaged(&file, 9, "y", 1, false), 2);
	/* Nothing but long lengths, or but empty entries. */
	CHECK_INT(damaged(&file, 0, "\x04\0\0\0", 4, true), -ENODATA);
	CHECK_INT(damaged(&file, 0, "\0", 1, true), -ENODATA);
	CHECK_INT(compile(&file, NULL), 14);
	ew_done(&file.w);
	close(file.fd);
}

HL_TEST(files_that_end_early)
{
	struct file file;
	size_t len;

	file_init(&file);
	for (len = 0; len < file.w.len; len += len < 0x4f00 ? 997 : 3) {
		CHECK(ftruncate(file.fd, (off_t)len) == 0);
		(void)compile(&file, NULL);
		repair(&file);
	}
	CHECK_INT(compile(&file, NULL), 14);
	ew_done(&file.w);
	close(file.fd);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

HL_TEST_TIMEOUT(by_chance, 120)
{
	enum { TIMES = 20000 };
	static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff, 0x0b, 0x0f, 0x1b };
	uint64_t seed = 0x5eed, at, random;
	unsigned int i, k, n_whole = 0, n_failed = 0;
	size_t first;
	struct file file;
	uint8_t byte;
	int n;

	file_init(&file);
	first = file.frames - 12 - 8 * 14; /* with the header */
	for (i = 0; i < TIMES; i++) {
		for (k = 0; k <= i % 4; k++) {
			random = next_random(&seed);
			at = first + random % (file.len + file.frames - first);
			byte = random >> 32 & 1 ? values[random >> 33 & 7] : (uint8_t)(random >> 40);
			put(&file, at, &byte, 1);
		}
		n = compile(&file, NULL);
		n_whole += n == 14;
		n_failed += n < 0;
		put(&file, first, file.w.bytes + first, file.len + file.frames - first);
	}
	NOTE("%u of %u kept all FDEs, %u had none", n_whole, i, n_failed);
	CHECK(n_whole > 0 && n_whole < TIMES);
	CHECK_INT(compile(&file, NULL), 14);
	ew_done(&file.w);
	close(file.fd);
}
