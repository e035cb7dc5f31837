// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample elf insn unwind tests/dw */

/*
 * Tables of files of this host against libdw: its rows are walked from the start of every FDE, and at the
 * first and the last byte of each the table must hold the same rule.
 */

#include "unwind/unwind.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "dw.h"
#include "elf/elf.h"
#include "harness.h"
#include "sample/unwind_table.h"

enum { RBX = 3, MAX_BRIDGED = 16 };

/* Under the sanitizers libdw, and so the whole, is ten times slower: of large files a part must do. */
#ifdef __SANITIZE_ADDRESS__
enum { LARGE = 100000, STEP = 8 };
#else
enum { LARGE = 0, STEP = 1 };
#endif

struct compared {
	const char *path;
	struct hl_elf *elf;
	struct hl_unwind_result table;
	struct dw *dw;
	unsigned long rows, gaps, by_kind[16];
	bool follows_rbx;
};

static const struct hl_elf_segment *segment_of(const struct compared *c, uint64_t address)
{
	const struct hl_elf_segment *s = NULL;

	while ((s = hl_elf_next_code(c->elf, s)))
		if (address - s->address < s->file_size)
			break;
	return s;
}

static struct hl_unwind_rule table_rule(const struct compared *c, uint64_t address)
{
	const struct hl_elf_segment *s = segment_of(c, address);
	struct hl_unwind_rule rule = { 0 };
	int r;

	if (!s)
		FAIL("'%s': 0x%llx is in no segment", c->path, (unsigned long long)address);
	r = hl_unwind_lookup(c->table.bytes, c->table.len, address - s->address + s->offset, &rule);
	if (r < 0)
		FAIL("'%s': 0x%llx: %s", c->path, (unsigned long long)address, strerror(-r));
	if (rule.cfa_kind == HL_CFA_RBX) {
		rule.cfa_kind = HL_CFA_REG;
		rule.cfa_off = rule.cfa_off << 8 | RBX;
	}
	return rule;
}

static void check_rule(const struct compared *c, uint64_t address, struct hl_unwind_rule want)
{
	struct hl_unwind_rule got = table_rule(c, address);

	if (memcmp(&got, &want, sizeof(got)) != 0)
		FAIL("'%s' at 0x%llx: kinds %u, %u, %u, offsets %d, %d; libdw says %u, %u, %u, %d, %d",
		     c->path, (unsigned long long)address, got.cfa_kind, got.fp_kind, got.rbx_slot,
		     got.cfa_off, got.fp_off, want.cfa_kind, want.fp_kind, want.rbx_slot, want.cfa_off,
		     want.fp_off);
}

static bool is_derivable(unsigned int kind)
{
	return kind == HL_CFA_NONE || kind == HL_CFA_RSP || kind == HL_CFA_RBP || kind == HL_CFA_STOP ||
	       kind == HL_CFA_RA_IN_REG || kind == HL_CFA_SIGNAL;
}

/* Compares from the start of an FDE to that of the next. */
static void compare_rows(struct compared *c, uint64_t at, uint64_t next)
{
	struct hl_unwind_rule want;
	uint64_t end;

	while (at < next && dw_row_at(c->dw, at, c->follows_rbx, &end, &want)) {
		CHECK(end > at);
		end = end < next ? end : next;
		check_rule(c, at, want);
		check_rule(c, end - 1, want);
		c->rows++;
		c->by_kind[want.cfa_kind]++;
		at = end;
	}
	/* Between FDEs stands what was derived from the code, which unwind_agree.c looks at. */
	if (next != UINT64_MAX && next - at >= MAX_BRIDGED && segment_of(c, at)) {
		CHECK(is_derivable(table_rule(c, at).cfa_kind));
		c->gaps++;
	}
}

/* Compares all FDEs of a file, which must yield at least @least rows. */
static struct compared compare_all(const char *path, unsigned long least, bool follows_rbx)
{
	struct compared c = { .path = path, .follows_rbx = follows_rbx };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct hl_err err = { "" };
	const uint64_t *starts;
	size_t n, i, step;

	if (fd < 0)
		SKIP("'%s': %s", path, strerror(errno));
	if (hl_elf_open(fd, path, &c.elf, &err) < 0 || hl_unwind_compile(c.elf, &c.table, &err) < 0 ||
	    hl_unwind_check(c.table.bytes, c.table.len, &err) < 0)
		FAIL("%s", err.text);
	c.dw = dw_open(fd);
	starts = dw_starts(c.dw, &n);
	CHECK_INT(c.table.n_fdes, n);
	step = c.table.n_rows > LARGE ? STEP : 1;
	for (i = 0; i < n; i += step)
		compare_rows(&c, starts[i], i + 1 < n ? starts[i + 1] : UINT64_MAX);
	NOTE("'%s': %lu rows and %lu gaps agree; cfa kinds 1 to 10: %lu %lu %lu %lu %lu %lu %lu %lu %lu %lu",
	     path, c.rows, c.gaps, c.by_kind[1], c.by_kind[2], c.by_kind[3], c.by_kind[4], c.by_kind[5],
	     c.by_kind[6], c.by_kind[7], c.by_kind[8], c.by_kind[9], c.by_kind[10]);
	if (c.rows < least)
		FAIL("'%s': only %lu rows", path, c.rows);
	dw_close(c.dw);
	hl_elf_free(c.elf);
	free(c.table.bytes);
	close(fd);
	return c;
}

static struct compared compare(const char *path, unsigned long least)
{
	return compare_all(path, least, false);
}

/* The first file that matches. */
static void compare_matching(const char *pattern, unsigned long least)
{
	glob_t found = { 0 };

	if (glob(pattern, 0, NULL, &found) != 0)
		SKIP("no file matches '%s'", pattern);
	(void)compare(found.gl_pathv[0], least);
	globfree(&found);
}

HL_TEST(libc)
{
	struct compared c = compare("/lib/x86_64-linux-gnu/libc.so.6", 10000);

	/* Its thread entry, signal return and vfork have rules of their own. */
	CHECK(c.by_kind[HL_CFA_SIGNAL] > 0 && c.by_kind[HL_CFA_STOP] > 0 && c.by_kind[HL_CFA_RA_IN_REG] > 0);
	CHECK(c.by_kind[HL_CFA_PLT] > 0 && c.by_kind[HL_CFA_RBP] > 0);
}

HL_TEST(dynamic_loader)
{
	/* Lazy binding needs rbx. */
	(void)compare_all("/lib64/ld-linux-x86-64.so.2", 1000, true);
}

HL_TEST(libcrypto)
{
	compare_matching("/usr/lib/x86_64-linux-gnu/libcrypto.so.[13]*", 10000);
}

HL_TEST(libstdcxx)
{
	(void)compare("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", 10000);
}

HL_TEST(python)
{
	(void)compare("/usr/bin/python3", 10000);
}

HL_TEST(perf)
{
	(void)compare("/usr/bin/perf", 10000);
}

HL_TEST(shell)
{
	(void)compare("/bin/bash", 1000);
}

HL_TEST(node_with_several_segments)
{
	(void)compare("/usr/bin/node", 10000);
}

HL_TEST(c_compiler)
{
	compare_matching("/usr/lib/gcc/x86_64-linux-gnu/*/cc1", 10000);
}

HL_TEST(llvm)
{
	compare_matching("/usr/lib/x86_64-linux-gnu/libLLVM-*.so.1", 10000);
}

HL_TEST(vdso)
{
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	int fd = memfd_create("vdso", MFD_CLOEXEC);
	char path[64];
	Elf64_Ehdr head;

	if (!image)
		SKIP("this process has no vDSO");
	memcpy(&head, image, sizeof(head));
	/* Section headers stand last. */
	CHECK(fd >= 0 && write(fd, image, head.e_shoff + (size_t)head.e_shnum * head.e_shentsize) > 0);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	(void)compare(path, 10);
	close(fd);
}

HL_TEST(this_program)
{
	(void)compare("/proc/self/exe", 100);
}
