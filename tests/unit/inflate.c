// SPDX-License-Identifier: BSD-2-Clause
/* needs: base elf tests/elfwriter */
#include "elf/inflate.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <zlib.h>
#include <zstd.h>

#include "base/err.h"
#include "elf/elf.h"
#include "elfwriter.h"
#include "harness.h"

enum { GNU = 0, ZLIB = ELFCOMPRESS_ZLIB, ZSTD = 2, AT = 0x1000, MIB = 1 << 20 };

static uint8_t *deflated(int method, const uint8_t *bytes, size_t len, size_t *ret_len)
{
	uLongf room = compressBound(len) + 64;
	uint8_t *out;

	if (method == ZSTD)
		room = ZSTD_compressBound(len);
	out = malloc(room);
	CHECK(out);
	if (method == ZSTD) {
		*ret_len = ZSTD_compress(out, room, bytes, len, 3);
		CHECK(!ZSTD_isError(*ret_len));
	} else {
		CHECK(compress2(out, &room, bytes, len, 6) == Z_OK);
		*ret_len = room;
	}
	return realloc(out, *ret_len);
}

/* A file whose only debug section holds @stored, and says that it inflates to @claim bytes. */
static struct hl_elf *file_with(int method, bool is_64, const uint8_t *stored, size_t len, uint64_t claim)
{
	Elf64_Chdr wide = { .ch_type = (uint32_t)method, .ch_size = claim, .ch_addralign = 1 };
	Elf32_Chdr narrow = { .ch_type = (uint32_t)method, .ch_size = (uint32_t)claim, .ch_addralign = 1 };
	uint8_t gnu[12] = { 'Z', 'L', 'I', 'B' };
	const void *header = is_64 ? (void *)&wide : (void *)&narrow;
	size_t header_len = is_64 ? sizeof(wide) : sizeof(narrow);
	struct elfwriter w;

	if (method == GNU) {
		for (int i = 0; i < 8; i++)
			gnu[4 + i] = (uint8_t)(claim >> (56 - 8 * i));
		header = gnu;
		header_len = sizeof(gnu);
	}
	ew_init(&w, is_64);
	(void)ew_code(&w, ".text", 0x800, 0x800, 16);
	ew_put(&w, AT, header, header_len);
	ew_put(&w, AT + header_len, stored, len);
	(void)ew_section(&w, method == GNU ? ".zdebug_info" : ".debug_info", SHT_PROGBITS,
			 method == GNU ? 0 : SHF_COMPRESSED, 0, AT, header_len + len);
	return ew_open(&w);
}

static int inflate_it(const struct hl_elf *elf, size_t limit, uint8_t **ret, size_t *ret_len)
{
	const struct hl_elf_section *section = hl_elf_debug_section(elf, "info");

	CHECK(section);
	return hl_elf_inflate(elf, section, limit, ret, ret_len, NULL);
}

static const int methods[] = { GNU, ZLIB, ZSTD };

HL_TEST(every_method_gives_the_bytes_back)
{
	size_t len = 3 * MIB + 17, stored_len, got_len;
	uint8_t *bytes = malloc(len), *stored, *got;
	struct hl_elf *elf;

	CHECK(bytes);
	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)(i * i >> 7);
	for (size_t m = 0; m < 3; m++)
		for (int is_64 = 0; is_64 < 2; is_64++) {
			stored = deflated(methods[m], bytes, len, &stored_len);
			elf = file_with(methods[m], is_64, stored, stored_len, len);
			CHECK_INT(inflate_it(elf, len, &got, &got_len), 0);
			CHECK_INT(got_len, len);
			CHECK(memcmp(got, bytes, len) == 0 && got[len] == 0);
			free(got);
			free(stored);
			hl_elf_free(elf);
		}
	free(bytes);
}

/* What the section says of its size is too little, too much, or over the limit. */
HL_TEST(a_lie_about_the_size_is_refused)
{
	static const uint8_t zeros[8 * MIB];
	size_t stored_len, got_len;
	uint8_t *stored, *got;
	struct hl_elf *elf;

	for (size_t m = 0; m < 3; m++) {
		stored = deflated(methods[m], zeros, sizeof(zeros), &stored_len);
		elf = file_with(methods[m], true, stored, stored_len, sizeof(zeros) - 1);
		CHECK_INT(inflate_it(elf, 16 * MIB, &got, &got_len), -EBADMSG);
		hl_elf_free(elf);
		elf = file_with(methods[m], true, stored, stored_len, sizeof(zeros) + 1);
		CHECK_INT(inflate_it(elf, 16 * MIB, &got, &got_len), -EBADMSG);
		hl_elf_free(elf);
		elf = file_with(methods[m], true, stored, stored_len, sizeof(zeros));
		CHECK_INT(inflate_it(elf, sizeof(zeros) - 1, &got, &got_len), -E2BIG);
		hl_elf_free(elf);
		elf = file_with(methods[m], true, stored, stored_len, UINT64_MAX);
		CHECK_INT(inflate_it(elf, SIZE_MAX, &got, &got_len), -EBADMSG);
		hl_elf_free(elf);
		free(stored);
	}
}

HL_TEST(every_cut_is_refused)
{
	uint8_t bytes[300], *stored, *got;
	size_t stored_len, got_len;
	struct hl_elf *elf;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 37);
	for (size_t m = 0; m < 3; m++) {
		stored = deflated(methods[m], bytes, sizeof(bytes), &stored_len);
		for (size_t len = 0; len < stored_len; len++) {
			elf = file_with(methods[m], true, stored, len, sizeof(bytes));
			CHECK_INT(inflate_it(elf, MIB, &got, &got_len), -EBADMSG);
			hl_elf_free(elf);
		}
		free(stored);
	}
}

/* A gigabyte of zeros in a megabyte: no memory is taken for it, and little when its size is a lie too. */
HL_TEST(a_bomb_takes_no_memory)
{
	enum { LEN = 1 << 30 };
	uint8_t *zeros = calloc(LEN, 1), *stored[3], *got;
	size_t stored_len[3], got_len;
	struct rlimit limit = { 256 * MIB, 256 * MIB };
	struct hl_elf *elf;

	CHECK(zeros);
	stored[0] = stored[1] = deflated(ZLIB, zeros, LEN, &stored_len[0]);
	stored_len[1] = stored_len[0];
	stored[2] = deflated(ZSTD, zeros, LEN, &stored_len[2]);
	free(zeros);
#ifndef __SANITIZE_ADDRESS__
	CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
#else
	(void)limit;
#endif
	for (size_t m = 0; m < 3; m++) {
		CHECK(stored_len[m] < 2 * MIB);
		elf = file_with(methods[m], true, stored[m], stored_len[m], LEN);
		CHECK_INT(inflate_it(elf, 64 * MIB, &got, &got_len), -E2BIG);
		hl_elf_free(elf);
		elf = file_with(methods[m], true, stored[m], stored_len[m], 32 * MIB);
		CHECK_INT(inflate_it(elf, 64 * MIB, &got, &got_len), -EBADMSG);
		hl_elf_free(elf);
	}
	free(stored[0]);
	free(stored[2]);
}

HL_TEST(an_unknown_method_is_said)
{
	struct hl_err err = { "" };
	struct hl_elf *elf = file_with(7, true, (const uint8_t *)"x", 1, 1);
	uint8_t *got;
	size_t len;

	CHECK_INT(hl_elf_inflate(elf, hl_elf_debug_section(elf, "info"), MIB, &got, &len, &err), -EOPNOTSUPP);
	CHECK(strstr(err.text, "'.debug_info' is compressed by method 7"));
	hl_elf_free(elf);
}
