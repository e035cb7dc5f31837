// SPDX-License-Identifier: BSD-2-Clause
/* needs: base elf symbol tests/shell */

/* Go programs, stripped, against the symbol tables that they had before. */

#include "symbol/symbol.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "elf/elf.h"
#include "harness.h"
#include "shell.h"

static const char plain[] =
	"package main\n"
	"type T struct{ n int }\n"
	"//go:noinline\n"
	"func (t *T) Work(x int) int { return t.n * x }\n"
	"func main() { t := &T{3}; f := func(a int) int { return t.Work(a) }; println(f(4)) }\n";
static const char with_c[] =
	"package main\n"
	"// static int c_spin(int x) { volatile int s = x; while (s < 1000) s++; return s; }\n"
	"import \"C\"\n"
	"func main() { println(int(C.c_spin(2))) }\n";

struct program {
	char dir[64];
	struct hl_elf *elf;
	struct hl_symbols *symbols;
};

/* Builds @source as `whole`, and `stripped` of it: with @options, by strip, or by the linker's own -s -w. */
static struct program build(const char *source, const char *options, bool by_linker)
{
	struct program p = { .dir = "/tmp/hotleaf-go-XXXXXX" };
	char path[128];
	FILE *f;

	if (system("go version >/dev/null 2>&1") != 0)
		SKIP("there is no Go compiler (package golang-go)");
	CHECK(mkdtemp(p.dir) != NULL);
	(void)snprintf(path, sizeof(path), "%s/p.go", p.dir);
	f = fopen(path, "w");
	CHECK(f && fputs(source, f) >= 0 && fclose(f) == 0);
	must("cd %s && export GO111MODULE=off GOFLAGS= && HOME=${HOME:-/root} go build %s -o whole p.go",
	     p.dir, options);
	if (by_linker)
		must("cd %s && export GO111MODULE=off GOFLAGS= && HOME=${HOME:-/root} "
		     "go build %s -ldflags='-s -w' -o stripped p.go",
		     p.dir, options);
	else
		must("cd %s && strip -o stripped whole", p.dir);
	return p;
}

static void open_stripped(struct program *p)
{
	struct hl_err err = { "" };
	char path[128];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/stripped", p->dir);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
	if (hl_elf_open(fd, "the program", &p->elf, &err) < 0 ||
	    hl_symbols_new(p->elf, NULL, &p->symbols, &err) < 0)
		FAIL("%s", err.text);
	close(fd);
	CHECK(!hl_elf_section_typed(p->elf, SHT_SYMTAB));
}

/* What the linker's symbol is called in Go's own table: without its ABI, type arguments left out. */
static void own_name(char *name)
{
	char *open_bracket = strstr(name, "[go.shape"), *close_bracket = strrchr(name, ']');

	if (hl_ends_with(name, ".abi0"))
		name[strlen(name) - 5] = '\0';
	if (hl_starts_with(name, "type..eq.["))
		open_bracket = strchr(name, '[');
	if (open_bracket && hl_starts_with(name, "type..eq."))
		close_bracket = strchr(open_bracket, ']');
	if (open_bracket && close_bracket && open_bracket < close_bracket) {
		char rest[512];

		(void)snprintf(rest, sizeof(rest), "[...]%s", close_bracket + 1);
		strcpy(open_bracket, rest);
	}
}

/* Checks one function of the whole program; true if the stripped one has it. */
static bool check_function(const struct program *p, uint64_t start, uint64_t size, char *name)
{
	struct hl_str got = { 0 };
	struct hl_symbol symbol;
	bool is_go = strchr(name, '.') != NULL;

	own_name(name);
	if (!hl_symbols_find(p->symbols, start + size / 2, &symbol) || !symbol.named) {
		/* C functions are none of Go's, and are stripped. */
		if (is_go && !hl_starts_with(name, "_") && !strstr(name, ".part.") && !strstr(name, ".cold"))
			FAIL("%s has no name", name);
		return false;
	}
	if (!hl_symbols_add_name(p->symbols, symbol.name, &got) && strcmp(got.data, name) != 0)
		FAIL("%s is called %s", name, got.data);
	CHECK_INT(symbol.start, start);
	/* Go's table has no ends: a function reaches to the next, over the padding between them. */
	if (symbol.size < size || symbol.size >= size + 64)
		FAIL("%s has %llu bytes, not %llu", name, (unsigned long long)symbol.size,
		     (unsigned long long)size);
	hl_str_done(&got);
	return true;
}

/* Compares all functions; there must be as many as a Go program at least has. */
static void compare(struct program *p)
{
	unsigned long long start, size;
	char command[192], line[2048], name[1024];
	size_t found = 0;
	FILE *f;

	open_stripped(p);
	(void)snprintf(command, sizeof(command), "LC_ALL=C readelf -sW %s/whole", p->dir);
	f = popen(command, "r");
	CHECK(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " %*d: %llx %lld FUNC %*s %*s %*[0-9] %1023[^\n]", &start, &size, name) ==
			    3 &&
		    size > 0)
			found += check_function(p, start, size, name);
	CHECK_INT(pclose(f), 0);
	NOTE("%zu functions", found);
	CHECK(found > 1000);
	hl_symbols_free(p->symbols);
	hl_elf_free(p->elf);
	must("rm -rf %s", p->dir);
}

HL_TEST_TIMEOUT(a_stripped_program, 600)
{
	struct program p = build(plain, "", true);

	compare(&p);
}

HL_TEST_TIMEOUT(a_position_independent_program, 600)
{
	struct program p = build(plain, "-buildmode=pie", true);

	compare(&p);
}

/* In front of Go's text stands C's: it does not begin at .text. */
HL_TEST_TIMEOUT(a_program_with_c_in_it, 600)
{
	struct program p = build(with_c, "", false);

	compare(&p);
}

/* The C linker has put the table into .data.rel.ro. */
HL_TEST_TIMEOUT(a_position_independent_program_with_c_in_it, 600)
{
	struct program p = build(with_c, "-buildmode=pie", false);

	compare(&p);
}

HL_TEST_TIMEOUT(a_program_without_section_headers, 600)
{
	struct program p = build(plain, "", true);
	static const char zeros[8];
	char path[128];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/stripped", p.dir);
	fd = open(path, O_RDWR);
	CHECK(fd >= 0);
	CHECK(pwrite(fd, zeros, 8, offsetof(Elf64_Ehdr, e_shoff)) == 8);
	CHECK(pwrite(fd, zeros, 4, offsetof(Elf64_Ehdr, e_shnum)) == 4);
	close(fd);
	compare(&p);
}
