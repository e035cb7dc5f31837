// SPDX-License-Identifier: BSD-2-Clause
/* needs: base elf symbol tests/elfwriter */
/* Damaged files: cut at every length, and with bits flipped. Meant to be run under the sanitizers too. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "elf/elf.h"
#include "elfwriter.h"
#include "harness.h"
#include "symbol/symbol.h"

/* A file with all that the readers look at. */
static void write_sample(struct elfwriter *w, bool is_64)
{
	enum { HEADER = 0x1800, FRAMES = 0x1840, PLT = 0x1100, RELA = 0x1900, NOTE = 0x1a00, LINK = 0x1a40 };
	static const uint32_t header[] = { 0x3b031b01, FRAMES - HEADER - 4, 1, (uint32_t)(0x1000 - HEADER),
					   FRAMES - HEADER + 12 };
	static const uint32_t frames[] = { 8, 0, 0x527a01, 12, 16, 0x1000 - (FRAMES + 20), 0x40, 0 };
	uint64_t rela[3] = { 0x3000, 0, 0 };
	unsigned int text, dynamic;
	char name[32];
	int i;

	ew_init(w, is_64);
	text = ew_code(w, ".text", 0x1000, 0x1000, 0x100);
	for (i = 0; i < 8; i++) {
		(void)snprintf(name, sizeof(name), i & 1 ? "_ZN1a1b%dfEv" : "symbol_%d", i);
		(void)ew_symbol(w, EW_SYMTAB, name, STB_GLOBAL, STT_FUNC, text, 0x1000 + 16 * i,
				i & 2 ? 16 : 24);
	}
	dynamic = ew_symbol(w, EW_DYNSYM, "imported", STB_GLOBAL, STT_FUNC, SHN_UNDEF, 0, 0);
	ew_put(w, PLT, "\xff\x25\xfa\x1e\0\0\x68\0\0\0\0\xe9\0\0\0\0", 16); /* slot 0x3000 */
	ew_segment(w, PT_LOAD, PF_R | PF_X, PLT, PLT, 16);
	(void)ew_section(w, ".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, PLT, PLT, 16);
	rela[1] = ELF64_R_INFO((uint64_t)dynamic, R_X86_64_JUMP_SLOT);
	ew_put(w, RELA, rela, sizeof(rela));
	(void)ew_section(w, ".rela.plt", SHT_RELA, SHF_ALLOC, 0, RELA, sizeof(rela));
	ew_put(w, HEADER, header, sizeof(header));
	ew_put(w, FRAMES, frames, sizeof(frames));
	ew_segment(w, PT_GNU_EH_FRAME, PF_R, HEADER, HEADER, sizeof(header));
	ew_segment(w, PT_LOAD, PF_R, HEADER, HEADER, 0x100);
	ew_segment(w, PT_NOTE, PF_R, NOTE, NOTE, ew_build_id(w, NOTE, "0123456789", 10));
	ew_put(w, LINK, "x.debug\0\1\2\3\4", 12);
	(void)ew_section(w, ".gnu_debuglink", SHT_PROGBITS, 0, 0, LINK, 12);
	ew_finish(w);
}

/* Everything that is asked of a file; returns how many named functions it found. */
static size_t use_file(int fd)
{
	_cleanup_str_ struct hl_str name = { 0 };
	struct hl_elf *elf = NULL;
	struct hl_symbols *symbols = NULL;
	char link[HL_ELF_DEBUGLINK_MAX];
	uint8_t id[HL_ELF_BUILD_ID_MAX];
	struct hl_symbol symbol;
	uint64_t address;
	uint32_t crc;
	size_t found = 0, i;

	if (hl_elf_open(fd, "damaged", &elf, NULL) < 0)
		return 0;
	CHECK(hl_elf_build_id(elf, id) <= HL_ELF_BUILD_ID_MAX);
	CHECK(!hl_elf_debuglink(elf, link, &crc) || !strchr(link, '/'));
	CHECK_INT(hl_symbols_new(elf, elf, &symbols, NULL), 0);
	for (i = 0xff0; i < 0x1120; i += 3) {
		if (!hl_elf_address(elf, i, &address) || !hl_symbols_find(symbols, address, &symbol))
			continue;
		CHECK(symbol.size > 0 && address - symbol.start < symbol.size);
		hl_str_clear(&name);
		if (symbol.named && hl_symbols_add_name(symbols, symbol.name, &name) == 0)
			found++;
		CHECK(name.len <= HL_SYMBOL_NAME_MAX + 8);
	}
	hl_symbols_free(symbols);
	hl_elf_free(elf);
	return found;
}

static size_t use_bytes(int fd, const uint8_t *bytes, size_t len)
{
	CHECK_INT(ftruncate(fd, (off_t)len), 0);
	CHECK_INT(pwrite(fd, bytes, len, 0), (ssize_t)len);
	return use_file(fd);
}

HL_TEST_TIMEOUT(cut_at_every_length, 120)
{
	int is_64, fd = memfd_create("cut", MFD_CLOEXEC);

	for (is_64 = 0; is_64 < 2; is_64++) {
		struct elfwriter w;
		size_t len, whole;

		write_sample(&w, is_64);
		whole = use_bytes(fd, w.bytes, w.len);
		CHECK(whole > 40);
		for (len = 0; len < w.len; len++)
			CHECK(use_bytes(fd, w.bytes, len) <= whole);
		ew_done(&w);
	}
	close(fd);
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005 + 1442695040888963407;
	return *state >> 33;
}

/* Where damage does most: headers, tables and notes, not the padding between them. */
static size_t pick_place(const struct elfwriter *w, uint64_t *state)
{
	size_t at;

	do
		at = next_random(state) % w->len;
	while (at > 0x300 && at < 0x1000);
	return at;
}

HL_TEST_TIMEOUT(mutated, 300)
{
	static const uint64_t values[] = {
		0, 1, 0xff, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffffffffff0
	};
	int is_64, fd = memfd_create("mutated", MFD_CLOEXEC);
	uint64_t state = 20261130;
	size_t found = 0;

	for (is_64 = 0; is_64 < 2; is_64++) {
		struct elfwriter w;
		int turn;

		write_sample(&w, is_64);
		for (turn = 0; turn < 10000; turn++) {
			uint8_t before[4][8];
			size_t at[4], i, n = 1 + next_random(&state) % 4;

			for (i = 0; i < n; i++) {
				at[i] = pick_place(&w, &state) % (w.len - 8);
				memcpy(before[i], w.bytes + at[i], 8);
				if (turn & 1)
					w.bytes[at[i]] ^= (uint8_t)(1 << next_random(&state) % 8);
				else
					memcpy(w.bytes + at[i], &values[next_random(&state) % 7],
					       (size_t)1 << next_random(&state) % 4);
			}
			found += use_bytes(fd, w.bytes, w.len);
			while (i-- > 0)
				memcpy(w.bytes + at[i], before[i], 8);
		}
		ew_done(&w);
	}
	/* Most mutations must leave most names: the readers do not give up at the first oddity. */
	CHECK(found > (size_t)20000 * 20);
	close(fd);
}

HL_TEST(a_hole_of_two_gigabytes_costs_nothing)
{
	struct elfwriter w;
	int fd = memfd_create("hole", MFD_CLOEXEC);

	write_sample(&w, true);
	CHECK_INT(write(fd, w.bytes, w.len), (ssize_t)w.len);
	ew_done(&w);
	CHECK_INT(ftruncate(fd, 2ll << 30), 0);
	CHECK(use_file(fd) > 40);
	close(fd);
}
