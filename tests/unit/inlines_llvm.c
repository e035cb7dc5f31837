// SPDX-License-Identifier: BSD-2-Clause
/* needs: base elf symbol tests/shell */
#include "symbol/inlines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "elf/elf.h"
#include "harness.h"
#include "shell.h"

/*
 * Tables beside llvm-symbolizer's answers: the chain of inlined functions, and file and line of every frame, at
 * random addresses of .text. Where they may differ:
 * - llvm-symbolizer names the outermost frame by the symbol table, and the table by DWARF: that name is not compared;
 * - where there is no debug information it still names a file, by the symbol table, with line 0; the table is silent.
 */

enum { ADDRESSES = 1000, MAX_LINE = 16384 };

static char dir[] = "/tmp/hotleaf-inlines-XXXXXX";

static bool have(const char *program)
{
	return shell("command -v %s >/dev/null", program) == 0;
}

static void enter_directory(void)
{
	char source[512];

	CHECK(getcwd(source, sizeof(source)) && mkdtemp(dir) && chdir(dir) == 0);
	must("cp %s/tests/workload/inlined.cc .", source);
}

static void leave_directory(void)
{
	CHECK(chdir("/") == 0);
	must("rm -r %s", dir);
}

static struct hl_elf *open_elf(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct hl_err err = { "" };
	struct hl_elf *elf;

	if (fd < 0 || hl_elf_open(fd, path, &elf, &err) < 0)
		FAIL("%s: %s", path, err.text);
	(void)close(fd);
	return elf;
}

struct table {
	struct hl_elf *elf;
	uint8_t *bytes;
	size_t len;
};

/* @debug, @alt and @dwo may be NULL. */
static struct table table_of(const char *path, const char *debug, const char *alt, const char *dwo)
{
	struct hl_inlines_limits limits = { (size_t)2 << 30, hl_monotonic_ns() + 120 * 1000000000ull };
	struct table table = { .elf = open_elf(path) };
	const struct hl_elf *dwos[1] = { dwo ? open_elf(dwo) : NULL };
	struct hl_inlines_source source = { .elf = table.elf,
					    .debug = debug ? open_elf(debug) : NULL,
					    .alt = alt ? open_elf(alt) : NULL,
					    .dwos = dwos,
					    .n_dwos = dwo != NULL };
	struct hl_inlines_header header;
	struct hl_err err = { "" };

	if (hl_inlines_build(&source, &limits, &table.bytes, &table.len, &err) < 0 ||
	    hl_inlines_check(table.bytes, table.len, &err) < 0)
		FAIL("%s: %s", path, err.text);
	memcpy(&header, table.bytes, sizeof(header));
	CHECK_INT(header.damaged_units, 0);
	CHECK_INT(header.deep_functions, 0);
	CHECK_INT(header.missing_dwo, 0);
	NOTE("%s: %u ranges, %u locations, %zu bytes", path, header.n_ranges, header.n_locations, table.len);
	hl_elf_free((struct hl_elf *)source.debug);
	hl_elf_free((struct hl_elf *)source.alt);
	hl_elf_free((struct hl_elf *)dwos[0]);
	return table;
}

static void table_done(struct table *table)
{
	hl_elf_free(table->elf);
	free(table->bytes);
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* Writes random addresses of .text to the file "addresses". */
static void choose_addresses(const struct hl_elf *elf, uint64_t *ret)
{
	const struct hl_elf_section *text = hl_elf_section_named(elf, ".text");
	FILE *f = fopen("addresses", "w");
	uint64_t state = 42;

	CHECK(text && f);
	for (int i = 0; i < ADDRESSES; i++) {
		ret[i] = text->address + next_random(&state) % text->size;
		(void)fprintf(f, "0x%llx\n", (unsigned long long)ret[i]);
	}
	CHECK(fclose(f) == 0);
}

static bool read_line(FILE *f, char *line)
{
	if (!fgets(line, MAX_LINE, f))
		return false;
	line[strcspn(line, "\n")] = '\0';
	return true;
}

/* What was seen of all addresses; "silent": without debug information. */
struct tally {
	unsigned int frames, inlined, silent;
};

/* One frame of ours beside two lines of the symbolizer's: "function" and "file:line:column". */
static void compare_frame(uint64_t address, const struct hl_inlines_frame *frame, bool outermost,
			  const char *name, char *place)
{
	char ours[MAX_LINE], *colon = strrchr(place, ':');

	if (colon)
		*colon = '\0';
	(void)snprintf(ours, sizeof(ours), "%s:%u", frame->file[0] ? frame->file : "??", frame->line);
	if (strcmp(ours, place) != 0)
		FAIL("0x%llx in '%s': %s, llvm-symbolizer has %s", (unsigned long long)address, name, ours,
		     place);
	if (!outermost && strcmp(frame->function, name) != 0)
		FAIL("0x%llx: %s, llvm-symbolizer has %s", (unsigned long long)address, frame->function,
		     name);
}

static void compare_chain(uint64_t address, const void *table, FILE *theirs, struct tally *tally)
{
	static char name[MAX_LINE], place[MAX_LINE];
	struct hl_inlines_frame frames[HL_INLINES_DEPTH];
	size_t n = hl_inlines_find(table, address, frames), i = 0;

	for (; read_line(theirs, name) && name[0]; i++) {
		CHECK(read_line(theirs, place));
		if (n == 0 && i == 0) {
			if (!strstr(place, ":0:"))
				FAIL("0x%llx: nothing, llvm-symbolizer has %s", (unsigned long long)address,
				     place);
			tally->silent++;
			continue;
		}
		if (i >= n)
			FAIL("0x%llx: %zu frames, llvm-symbolizer has one more: %s",
			     (unsigned long long)address, n, name);
		compare_frame(address, &frames[i], i == n - 1, name, place);
	}
	if (n && i != n)
		FAIL("0x%llx: %zu frames, llvm-symbolizer has %zu", (unsigned long long)address, n, i);
	tally->frames += (unsigned int)n;
	tally->inlined += n > 1;
}

/* Compares the table of @elf with what llvm-symbolizer says of @reference, which has the same code. */
static struct tally compare(const struct table *table, const char *reference)
{
	static uint64_t addresses[ADDRESSES];
	struct tally tally = { 0 };
	FILE *theirs;

	choose_addresses(table->elf, addresses);
	must("llvm-symbolizer-14 --inlines --functions=linkage --no-demangle --obj=%s <addresses >theirs",
	     reference);
	theirs = fopen("theirs", "r");
	CHECK(theirs);
	for (int i = 0; i < ADDRESSES; i++)
		compare_chain(addresses[i], table->bytes, theirs, &tally);
	(void)fclose(theirs);
	NOTE("%s: %d addresses, %u frames, %u with inlined functions, %u without debug information",
	     reference, ADDRESSES, tally.frames, tally.inlined, tally.silent);
	return tally;
}

static void compare_compiled(const char *compiler, const char *flags, const char *dwo)
{
	struct table table;
	struct tally tally;

	enter_directory();
	must("%s -O2 -g %s -c inlined.cc -o program.o && %s program.o -o program", compiler, flags, compiler);
	table = table_of("program", NULL, NULL, dwo);
	tally = compare(&table, "program");
	CHECK(tally.inlined > ADDRESSES / 2);
	CHECK(tally.silent < ADDRESSES / 20);
	table_done(&table);
	leave_directory();
}

HL_TEST_TIMEOUT(gcc_dwarf_4, 300)
{
	compare_compiled("g++", "-gdwarf-4", NULL);
}

HL_TEST_TIMEOUT(gcc_dwarf_5, 300)
{
	compare_compiled("g++", "-gdwarf-5", NULL);
}

HL_TEST_TIMEOUT(clang_dwarf_4, 300)
{
	compare_compiled("clang++", "-gdwarf-4", NULL);
}

HL_TEST_TIMEOUT(clang_dwarf_5, 300)
{
	compare_compiled("clang++", "-gdwarf-5", NULL);
}

/* Functions that the linker drops leave their debug information behind, at address 0 or -1. */
HL_TEST_TIMEOUT(dropped_functions, 300)
{
	compare_compiled("clang++ -Wno-unused-command-line-argument -fuse-ld=lld",
			 "-gdwarf-5 -ffunction-sections -Wl,--gc-sections", NULL);
}

HL_TEST_TIMEOUT(gcc_split_dwarf_4, 300)
{
	compare_compiled("g++", "-gdwarf-4 -gsplit-dwarf", "program.dwo");
}

HL_TEST_TIMEOUT(gcc_split_dwarf_5, 300)
{
	compare_compiled("g++", "-gdwarf-5 -gsplit-dwarf", "program.dwo");
}

HL_TEST_TIMEOUT(clang_split_dwarf_4, 300)
{
	compare_compiled("clang++", "-gdwarf-4 -gsplit-dwarf", "program.dwo");
}

HL_TEST_TIMEOUT(clang_split_dwarf_5, 300)
{
	compare_compiled("clang++", "-gdwarf-5 -gsplit-dwarf", "program.dwo");
}

/* Two units, packed together: each has its own parts of all sections. */
static void compare_packed(const char *compiler, const char *flags, const char *packer)
{
	struct table table;
	struct tally tally;

	if (!have(packer))
		SKIP("there is no %s", packer);
	enter_directory();
	must("sed 's/main(/other_main(/' inlined.cc >other.cc");
	must("%s -O2 -g %s -c other.cc -o other.o && %s -O2 -g %s -c inlined.cc -o program.o", compiler,
	     flags, compiler, flags);
	must("%s other.o program.o -o program -Wl,--allow-multiple-definition", compiler);
	must("%s other.dwo program.dwo -o program.dwp", packer);
	table = table_of("program", NULL, NULL, "program.dwp");
	tally = compare(&table, "program");
	CHECK(tally.inlined > ADDRESSES / 2);
	CHECK(tally.silent < ADDRESSES / 20);
	table_done(&table);
	leave_directory();
}

HL_TEST_TIMEOUT(gcc_package_4, 300)
{
	compare_packed("g++", "-gdwarf-4 -gsplit-dwarf", "dwp");
}

HL_TEST_TIMEOUT(clang_package_4, 300)
{
	compare_packed("clang++", "-gdwarf-4 -gsplit-dwarf", "llvm-dwp-14");
}

HL_TEST_TIMEOUT(gcc_package_5, 300)
{
	compare_packed("g++", "-gdwarf-5 -gsplit-dwarf", "llvm-dwp-14");
}

HL_TEST_TIMEOUT(clang_package_5, 300)
{
	compare_packed("clang++", "-gdwarf-5 -gsplit-dwarf", "llvm-dwp-14");
}

/* A package of which the index, or anything else, is not as it was written, is read as far as it makes sense. */
HL_TEST_TIMEOUT(damaged_package, 300)
{
	const struct hl_inlines_limits limits = { (size_t)256 << 20, UINT64_MAX };
	struct hl_elf *program, *whole;
	const struct hl_elf_section *index;
	unsigned int state = 7, built = 0, missing = 0;

	enter_directory();
	must("g++ -O2 -g -gdwarf-5 -gsplit-dwarf -c inlined.cc -o program.o && g++ program.o -o program && "
	     "llvm-dwp-14 program.dwo -o program.dwp");
	program = open_elf("program");
	whole = open_elf("program.dwp");
	index = hl_elf_section_named(whole, ".debug_cu_index");
	CHECK(index && index->size > 16);
	for (int turn = 0; turn < 300; turn++) {
		uint64_t from = turn % 2 ? 0 : index->offset,
			 size = turn % 2 ? hl_elf_size(whole) : index->size;
		uint8_t *bytes = malloc(hl_elf_size(whole)), *table;
		struct hl_inlines_header header;
		struct hl_elf *damaged;
		size_t len;

		CHECK(bytes && hl_elf_read(whole, 0, bytes, hl_elf_size(whole)) == 0);
		for (int i = 0; i < 3; i++) {
			state = state * 1103515245 + 12345;
			bytes[from + (state >> 4) % size] ^= (uint8_t)(1 + (state >> 20) % 255);
		}
		if (hl_elf_open_bytes(bytes, hl_elf_size(whole), "damaged", &damaged, NULL) < 0)
			continue;
		struct hl_inlines_source source = { .elf = program,
						    .dwos = (const struct hl_elf *const *)&damaged,
						    .n_dwos = 1 };

		if (hl_inlines_build(&source, &limits, &table, &len, NULL) == 0) {
			CHECK_INT(hl_inlines_check(table, len, NULL), 0);
			memcpy(&header, table, sizeof(header));
			built++;
			missing += header.missing_dwo > 0;
			free(table);
		}
		hl_elf_free(damaged);
	}
	NOTE("%u tables, %u of them without the package's unit", built, missing);
	CHECK(built > 100 && missing > 10 && missing < built);
	hl_elf_free(program);
	hl_elf_free(whole);
	leave_directory();
}

HL_TEST_TIMEOUT(libc, 300)
{
	static const char libc[] = "/lib/x86_64-linux-gnu/libc.so.6";
	uint8_t id[HL_ELF_BUILD_ID_MAX];
	struct hl_elf *elf = open_elf(libc);
	struct table table;
	char debug[256] = "/usr/lib/debug/.build-id/";
	size_t n = strlen(debug);

	CHECK_INT(hl_elf_build_id(elf, id), 20);
	hl_elf_free(elf);
	for (size_t i = 0; i < 20; i++)
		n += (size_t)snprintf(debug + n, sizeof(debug) - n, i == 1 ? "/%02x" : "%02x", id[i]);
	(void)snprintf(debug + n, sizeof(debug) - n, ".debug");
	if (access(debug, R_OK) < 0)
		SKIP("%s is not installed: libc6-dbg of another libc", debug);
	enter_directory();
	table = table_of(libc, debug, NULL, NULL);
	CHECK(compare(&table, debug).inlined > ADDRESSES / 20);
	table_done(&table);
	leave_directory();
}

/* Other bytes, the same information: the very same table. */
HL_TEST_TIMEOUT(compressed_sections, 300)
{
	static const char *const methods[] = { "zlib", "zlib-gnu", "zstd" };
	struct table plain, table;

	enter_directory();
	must("g++ -O2 -g inlined.cc -o program");
	plain = table_of("program", NULL, NULL, NULL);
	for (int i = 0; i < 3; i++) {
		must("objcopy --compress-debug-sections=%s program compressed", methods[i]);
		table = table_of("compressed", NULL, NULL, NULL);
		CHECK_INT(table.len, plain.len);
		CHECK(memcmp(table.bytes, plain.bytes, plain.len) == 0);
		table_done(&table);
	}
	must("objcopy --only-keep-debug program debug && strip -g program");
	table = table_of("program", "debug", NULL, NULL);
	CHECK(table.len == plain.len && memcmp(table.bytes, plain.bytes, plain.len) == 0);
	table_done(&table);
	table_done(&plain);
	leave_directory();
}

/* llvm-symbolizer does not read the file into which dwz moves what two files have in common. */
HL_TEST_TIMEOUT(dwz_alternate_file, 300)
{
	struct table table;

	enter_directory();
	must("g++ -O2 -g inlined.cc -o program && cp program one && cp program two && dwz -m common one two");
	table = table_of("one", NULL, "common", NULL);
	CHECK(compare(&table, "program").inlined > ADDRESSES / 2);
	table_done(&table);
	leave_directory();
}

HL_TEST_TIMEOUT(rust, 300)
{
	struct table table;

	if (!have("rustc"))
		SKIP("no rustc");
	enter_directory();
	must("printf '%%s' 'use std::collections::HashMap; fn main() { let n = std::env::args().count(); let "
	     "mut m = "
	     "HashMap::new(); for i in 0..n * 1000 { m.entry(format!(\"{}\", i %% "
	     "17)).or_insert_with(Vec::new)"
	     ".push(i); } let mut v: Vec<_> = m.iter().map(|(k, v)| (k.len(), v.iter().sum::<usize>()))"
	     ".collect(); v.sort(); println!(\"{:?}\", v); }' >program.rs && rustc -g -O program.rs -o "
	     "program");
	table = table_of("program", NULL, NULL, NULL);
	CHECK(compare(&table, "program").inlined > ADDRESSES / 4);
	table_done(&table);
	leave_directory();
}
