// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample elf insn unwind tests/shell */

/* A program whose only call frame information is for debuggers, and compressed. */

#include "unwind/unwind.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "elf/elf.h"
#include "harness.h"
#include "sample/unwind_table.h"
#include "shell.h"

static char dir[] = "/tmp/hotleaf-compressed-XXXXXX";

static struct hl_unwind_result table_of(const char *name)
{
	struct hl_unwind_result table;
	struct hl_elf *elf = NULL;
	struct hl_err err = { "" };
	int fd = open(name, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || hl_elf_open(fd, name, &elf, &err) < 0 || hl_unwind_compile(elf, &table, &err) < 0 ||
	    hl_unwind_check(table.bytes, table.len, &err) < 0)
		FAIL("'%s': %s", name, err.text);
	hl_elf_free(elf);
	close(fd);
	return table;
}

static void go_and_build(void)
{
	CHECK(mkdtemp(dir) && chdir(dir) == 0);
	must("printf 'int g(int); int f(int x) { volatile int a[9]; a[x] = x; return x ? f(x - 1) + a[x] "
	     ": 1; }\n"
	     "int main(int c, char **v) { return f(c); }' >a.c &&"
	     "gcc -O1 -g -gz=none -fno-asynchronous-unwind-tables -fno-unwind-tables "
	     "-fomit-frame-pointer "
	     "a.c -o plain");
}

static void leave_and_remove(void)
{
	CHECK(chdir("/") == 0);
	must("rm -r %s", dir);
}

HL_TEST(by_every_method)
{
	static const char *const methods[] = { "zlib-gabi", "zlib-gnu", "zstd" };
	struct hl_unwind_result plain, packed;
	struct stat st;
	size_t i;

	go_and_build();
	plain = table_of("plain");
	CHECK(plain.n_fdes >= 2);
	for (i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
		if (shell("objcopy --compress-debug-sections=%s plain packed 2>/dev/null", methods[i])) {
			NOTE("objcopy knows no %s", methods[i]);
			continue;
		}
		must("readelf -SW packed | grep -Eq '[.]zdebug_|  C '");
		packed = table_of("packed");
		CHECK_INT(packed.n_fdes, plain.n_fdes);
		CHECK(packed.len == plain.len && memcmp(packed.bytes, plain.bytes, plain.len) == 0);
		free(packed.bytes);
	}
	CHECK(stat("packed", &st) == 0);
	free(plain.bytes);
	leave_and_remove();
}

HL_TEST(damaged)
{
	struct hl_unwind_result plain, table;

	go_and_build();
	plain = table_of("plain");
	/* The C library's start files have .eh_frame, which stays; the rest is derived from the code. */
	must("objcopy --compress-debug-sections=zlib plain packed && "
	     "at=$(readelf -SW packed | sed -n 's/.*[.]debug_frame *PROGBITS *[0-9a-f]* "
	     "*\\([0-9a-f]*\\) .*/\\1/p') && "
	     "printf '\\377\\377\\377\\377' | dd of=packed bs=1 seek=$((0x$at + 30)) conv=notrunc "
	     "status=none");
	table = table_of("packed");
	CHECK(table.n_fdes < plain.n_fdes);
	CHECK(table.derived > plain.derived);
	free(table.bytes);
	free(plain.bytes);
	leave_and_remove();
}
