// SPDX-License-Identifier: BSD-2-Clause
/* needs: base elf tests/elfwriter */
#include "elf/elf.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "elfwriter.h"
#include "harness.h"

static uint64_t address_of(const struct hl_elf *elf, uint64_t offset)
{
	uint64_t address = 0xdead;

	return hl_elf_address(elf, offset, &address) ? address : 0xdead;
}

HL_TEST(offsets_go_through_the_executable_segment_that_covers_them)
{
	struct elfwriter w;
	struct hl_elf *elf;

	ew_init(&w, true);
	/* The same page of the file in three segments with three distances, as lld lays small files out. */
	ew_segment(&w, PT_LOAD, PF_R, 0, 0, 0x2000);
	(void)ew_code(&w, ".text", 0x1750, 0x2750, 0x300);
	ew_segment(&w, PT_LOAD, PF_R | PF_W, 0x1a50, 0x4a50, 0x100);
	(void)ew_code(&w, ".far", 0x3000, 0x4800000, 0x80);
	elf = ew_open(&w);
	CHECK_INT(address_of(elf, 0x1750), 0x2750);
	CHECK_INT(address_of(elf, 0x1a4f), 0x2a4f);
	CHECK_INT(address_of(elf, 0x1000), 0x2000); /* its mapping starts at the page */
	CHECK_INT(address_of(elf, 0x1fff), 0x2fff); /* and ends at one */
	CHECK_INT(address_of(elf, 0x3010), 0x4800010);
	CHECK_INT(address_of(elf, 0xfff), 0xdead);
	CHECK_INT(address_of(elf, 0x2000), 0xdead);
	CHECK_INT(address_of(elf, UINT64_MAX), 0xdead);
	hl_elf_free(elf);
}

HL_TEST(what_a_segment_claims_goes_before_the_rest_of_anothers_page)
{
	struct elfwriter w;
	struct hl_elf *elf;

	ew_init(&w, true);
	(void)ew_code(&w, ".a", 0x1000, 0x10000, 0x100);
	(void)ew_code(&w, ".b", 0x1100, 0x21100, 0x100);
	elf = ew_open(&w);
	CHECK_INT(address_of(elf, 0x10ff), 0x100ff);
	CHECK_INT(address_of(elf, 0x1100), 0x21100);
	hl_elf_free(elf);
}

HL_TEST(a_lying_segment_size_does_not_wrap)
{
	struct elfwriter w;
	struct hl_elf *elf;

	ew_init(&w, true);
	(void)ew_code(&w, ".text", 0x1000, 0x10000, 0x100);
	w.segments[0].offset = 0x1010;
	w.segments[0].file_size = UINT64_MAX - 0x10;
	elf = ew_open(&w);
	CHECK_INT(address_of(elf, 0x1010), 0x10000);
	CHECK_INT(address_of(elf, 0x1000), 0xdead);
	hl_elf_free(elf);
}

HL_TEST(both_classes)
{
	int is_64;

	for (is_64 = 0; is_64 < 2; is_64++) {
		const struct hl_elf_section *section;
		struct elfwriter w;
		struct hl_elf *elf;
		uint8_t *bytes;
		size_t len;

		ew_init(&w, is_64);
		(void)ew_code(&w, ".text", 0x1000, 0x8049000, 0x40);
		elf = ew_open(&w);
		CHECK_INT(hl_elf_is_64(elf), is_64);
		CHECK_INT(hl_elf_machine(elf), is_64 ? EM_X86_64 : EM_386);
		section = hl_elf_section_named(elf, ".text");
		CHECK(section);
		CHECK_INT(section->address, 0x8049000);
		CHECK_INT(hl_elf_load(elf, section, 0x40, &bytes, &len, NULL), 0);
		CHECK_INT(len, 0x40);
		CHECK_INT(bytes[0x3f], 0x90);
		free(bytes);
		CHECK_INT(hl_elf_load(elf, section, 0x3f, &bytes, &len, NULL), -E2BIG);
		CHECK_INT(address_of(elf, 0x1004), 0x8049004);
		hl_elf_free(elf);
	}
}

HL_TEST(other_files_are_refused_with_a_reason)
{
	struct hl_elf *elf = NULL;
	struct hl_err err = { "" };
	int fd = ew_file("#!/bin/sh\n"
			 "echo 'long enough for a header of either class, but no ELF'\n",
			 70);
	int pipes[2];

	CHECK_INT(hl_elf_open(fd, "script", &elf, &err), -ENOEXEC);
	CHECK_STR(err.text, "'script' is no ELF file");
	close(fd);
	CHECK_INT(pipe(pipes), 0);
	CHECK_INT(hl_elf_open(pipes[0], "fifo", &elf, &err), -ENOEXEC);
	CHECK_STR(err.text, "'fifo' is no regular file");
	CHECK_INT(hl_elf_open(-1, "nothing", &elf, &err), -EBADF);
	CHECK(!elf);
}

HL_TEST(damaged_section_headers_leave_the_segments)
{
	static const struct {
		size_t at;
		uint64_t value;
		size_t len;
	} damage[] = {
		{ offsetof(Elf64_Ehdr, e_shoff), 1ull << 40, 8 },
		{ offsetof(Elf64_Ehdr, e_shoff), -64ull, 8 },
		{ offsetof(Elf64_Ehdr, e_shoff), 3, 8 },
		{ offsetof(Elf64_Ehdr, e_shnum), 0xffff, 2 },
		{ offsetof(Elf64_Ehdr, e_shentsize), 1, 2 },
		{ offsetof(Elf64_Ehdr, e_shnum), 0, 2 },
	};
	size_t i;

	for (i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
		struct hl_elf *elf = NULL;
		struct elfwriter w;
		int fd;

		ew_init(&w, true);
		(void)ew_code(&w, ".text", 0x1000, 0x10000, 0x40);
		ew_finish(&w);
		ew_put(&w, damage[i].at, &damage[i].value, damage[i].len);
		fd = ew_file(w.bytes, w.len);
		ew_done(&w);
		CHECK_INT(hl_elf_open(fd, "test", &elf, NULL), 0);
		CHECK(!hl_elf_section_named(elf, ".text"));
		CHECK_INT(address_of(elf, 0x1001), 0x10001);
		hl_elf_free(elf);
		close(fd);
	}
}

static size_t build_id_of(struct elfwriter *w, uint8_t *ret)
{
	struct hl_elf *elf = ew_open(w);
	size_t len = hl_elf_build_id(elf, ret);

	hl_elf_free(elf);
	return len;
}

HL_TEST(build_id_comes_from_the_segment_first_then_from_a_section)
{
	uint8_t id[HL_ELF_BUILD_ID_MAX];
	struct elfwriter w;
	uint64_t len;

	ew_init(&w, true);
	len = ew_build_id(&w, 0x2000, "segment_", 8);
	ew_segment(&w, PT_NOTE, PF_R, 0x2000, 0x2000, len);
	len = ew_build_id(&w, 0x2100, "section_", 8);
	(void)ew_section(&w, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 0, 0x2100, len);
	CHECK_INT(build_id_of(&w, id), 8);
	CHECK(memcmp(id, "segment_", 8) == 0);

	ew_init(&w, true);
	len = ew_build_id(&w, 0x2100, "section_of_debugfile", 20);
	ew_segment(&w, PT_NOTE, PF_R, 0x2100, 0x2100, 0); /* as in a debug file */
	(void)ew_section(&w, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 0, 0x2100, len);
	CHECK_INT(build_id_of(&w, id), 20);
	CHECK(memcmp(id, "section_of_debugfile", 20) == 0);
}

HL_TEST(build_id_behind_other_notes)
{
	static const uint32_t other[] = { 4, 3, NT_GNU_ABI_TAG, 0x554e47, 0x00aabbcc };
	uint8_t id[HL_ELF_BUILD_ID_MAX];
	struct elfwriter w;
	uint64_t len;

	ew_init(&w, true);
	ew_put(&w, 0x2000, other, sizeof(other));
	len = sizeof(other) + ew_build_id(&w, 0x2000 + sizeof(other), "\1\2\3\4\5\6\7", 7);
	ew_segment(&w, PT_NOTE, PF_R, 0x2000, 0x2000, len);
	CHECK_INT(build_id_of(&w, id), 7);
	CHECK_INT(id[6], 7);
}

HL_TEST(damaged_build_ids_are_none)
{
	static const struct {
		size_t at;
		uint32_t value;
	} damage[] = { { 0, UINT32_MAX }, { 4, 0xfffffff0 }, { 4, 0 }, { 4, 65 }, { 8, 1 } };
	uint8_t id[HL_ELF_BUILD_ID_MAX];
	struct elfwriter w;
	uint64_t len;
	size_t i;

	for (i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
		ew_init(&w, true);
		len = ew_build_id(&w, 0x2000, "0123456789abcdef0123", 20);
		ew_put(&w, 0x2000 + damage[i].at, &damage[i].value, 4);
		ew_segment(&w, PT_NOTE, PF_R, 0x2000, 0x2000, len);
		CHECK_INT(build_id_of(&w, id), 0);
	}
}

/* What a .gnu_debuglink of these bytes says: "NAME CRC" or "none". */
static const char *debuglink_of(const void *bytes, size_t len)
{
	static char text[HL_ELF_DEBUGLINK_MAX + 32];
	char name[HL_ELF_DEBUGLINK_MAX];
	struct elfwriter w;
	struct hl_elf *elf;
	uint32_t crc;

	ew_init(&w, true);
	ew_put(&w, 0x2000, bytes, len);
	(void)ew_section(&w, ".gnu_debuglink", SHT_PROGBITS, 0, 0, 0x2000, len);
	elf = ew_open(&w);
	strcpy(text, "none");
	if (hl_elf_debuglink(elf, name, &crc))
		(void)snprintf(text, sizeof(text), "%s %08x", name, crc);
	hl_elf_free(elf);
	return text;
}

HL_TEST(debuglinks)
{
	char longest[HL_ELF_DEBUGLINK_MAX + 8];

	CHECK_STR(debuglink_of("app.debug\0\0\0\4\3\2\1", 16), "app.debug 01020304");
	CHECK_STR(debuglink_of("abc\0\4\3\2\1", 8), "abc 01020304");
	CHECK_STR(debuglink_of("app.debug\0\4\3\2\1", 14), "app.debug 01020304"); /* unpadded */
	CHECK_STR(debuglink_of("app.debug\0\0\0\4\3\2", 15),
		  "app.debug 03040000"); /* then taken as unpadded */
	CHECK_STR(debuglink_of("app.debug\0\4\3\2", 13), "none");
	CHECK_STR(debuglink_of("AAAAAAAAAAAAAAAA", 16), "none");
	CHECK_STR(debuglink_of("", 0), "none");
	CHECK_STR(debuglink_of("\0\0\0\0\4\3\2\1", 8), "none");
	CHECK_STR(debuglink_of("/dev/zero\0\0\0\4\3\2\1", 16), "none");
	CHECK_STR(debuglink_of("../../etc/passwd\0\0\0\0\4\3\2\1", 24), "none");
	CHECK_STR(debuglink_of("..\0\0\4\3\2\1", 8), "none");
	memset(longest, 'x', sizeof(longest));
	longest[HL_ELF_DEBUGLINK_MAX] = '\0'; /* one byte too long with its NUL */
	CHECK_STR(debuglink_of(longest, sizeof(longest)), "none");
}

HL_TEST(crc_is_the_debuglinks)
{
	struct elfwriter w;
	struct hl_elf *elf;
	uint32_t crc, byte_by_byte = UINT32_MAX, got;
	size_t i;
	int fd, k;

	ew_init(&w, true);
	ew_finish(&w);
	for (i = 0; i < w.len; i++) {
		byte_by_byte ^= w.bytes[i];
		for (k = 0; k < 8; k++)
			byte_by_byte = byte_by_byte >> 1 ^ (byte_by_byte & 1 ? 0xedb88320 : 0);
	}
	crc = ~byte_by_byte;
	fd = ew_file(w.bytes, w.len);
	ew_done(&w);
	CHECK_INT(hl_elf_open(fd, "test", &elf, NULL), 0);
	CHECK_INT(hl_elf_crc(elf, &got, NULL), 0);
	CHECK_INT(got, crc);
	hl_elf_free(elf);
	close(fd);
}

HL_TEST(a_file_cut_after_it_was_opened_is_an_error_not_a_signal)
{
	const struct hl_elf_section *section;
	struct hl_elf *elf = NULL;
	struct elfwriter w;
	uint8_t *bytes;
	size_t len;
	int fd;

	ew_init(&w, true);
	(void)ew_code(&w, ".text", 0x1000, 0x10000, 0x4000);
	ew_finish(&w);
	fd = ew_file(w.bytes, w.len);
	ew_done(&w);
	CHECK_INT(hl_elf_open(fd, "test", &elf, NULL), 0);
	CHECK_INT(ftruncate(fd, 0x2000), 0);
	section = hl_elf_section_named(elf, ".text");
	CHECK(section);
	CHECK_INT(hl_elf_load(elf, section, 1 << 20, &bytes, &len, NULL), -EBADMSG);
	hl_elf_suspend(elf);
	CHECK_INT(hl_elf_load(elf, section, 1 << 20, &bytes, &len, NULL), -EBADF);
	hl_elf_free(elf);
	close(fd);
}

HL_TEST(a_file_in_memory_reads_as_one_on_disk_and_is_never_suspended)
{
	const struct hl_elf_section *text;
	struct hl_elf *elf = NULL;
	struct hl_err err = { "" };
	uint8_t buffer[8], *bytes;
	struct elfwriter w;
	size_t len;

	ew_init(&w, true);
	(void)ew_code(&w, ".text", 0x1000, 0x401000, 0x100);
	ew_finish(&w);
	bytes = malloc(w.len);
	memcpy(bytes, w.bytes, w.len);
	len = w.len;
	CHECK_INT(hl_elf_open_bytes(bytes, len, "in memory", &elf, &err), 0);
	CHECK_INT(hl_elf_size(elf), len);
	text = hl_elf_section_named(elf, ".text");
	CHECK(text && text->size == 0x100);
	hl_elf_suspend(elf);
	CHECK(!hl_elf_is_suspended(elf));
	CHECK_INT(hl_elf_read(elf, 0x1000, buffer, 8), 0);
	CHECK_INT(buffer[7], 0x90);
	CHECK_INT(hl_elf_read(elf, len - 7, buffer, 8), -EBADMSG);
	CHECK_INT(hl_elf_read_some(elf, len - 7, buffer, 8), 7);
	CHECK_INT(hl_elf_read_some(elf, len, buffer, 8), 0);
	CHECK_INT(hl_elf_read_some(elf, UINT64_MAX, buffer, 8), 0);
	hl_elf_free(elf);
	ew_done(&w);
	bytes = calloc(1, 4);
	elf = NULL;
	CHECK_INT(hl_elf_open_bytes(bytes, 4, "in memory", &elf, &err), -ENOEXEC);
	CHECK(!elf && strstr(err.text, "in memory"));
}
