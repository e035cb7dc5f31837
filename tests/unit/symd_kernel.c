// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample elf unwind symbol insn symd process tests/symdchild tests/shell */
/* Inlined functions and lines of a kernel that runs elsewhere than it was linked to, and how its file is found. */
#include "process/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "harness.h"
#include "shell.h"
#include "symd/client.h"

enum { MODULE_OFFSET = 0x3f000000 };
#define LINKED  UINT64_C(0xffffffff81000000)
#define RUNNING UINT64_C(0xffffffff9a200000)

static char dir[] = "/tmp/hotleaf-kernel-XXXXXX";

/* A program linked to where kernels are, with inlined functions from line 3 on; its descriptor. */
static int build_kernel(void)
{
	char path[128];
	int fd;

	must("cd %s && printf '%%s\\n' 'extern volatile int v;' 'volatile int v;' "
	     "'static inline __attribute__((always_inline)) void inner(void) { v = v * 3; }' "
	     "'static inline __attribute__((always_inline)) void middle(void) { v++; inner(); }' "
	     "'void _start(void) { middle(); }' >kernel.c && gcc -O2 -g -nostdlib -static -fno-pie -no-pie "
	     "-mcmodel=kernel -fcf-protection=none -Wl,-Ttext-segment=0xffffffff80fff000 kernel.c -o vmlinux",
	     dir);
	(void)snprintf(path, sizeof(path), "%s/vmlinux", dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	return fd;
}

static int write_kallsyms(void)
{
	int fd = memfd_create("kallsyms", MFD_CLOEXEC);

	CHECK(fd >= 0);
	CHECK(dprintf(fd, "%llx T _text\n%llx T start_of_it\n%llx T _etext\n%llx t in_module\t[module]\n",
		      (unsigned long long)RUNNING, (unsigned long long)RUNNING,
		      (unsigned long long)(RUNNING + 0x100000),
		      (unsigned long long)(LINKED + MODULE_OFFSET)) > 0);
	CHECK_INT(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static bool is(const struct hl_symd_answers *answers, uint32_t at, uint32_t len, const char *text)
{
	return len == strlen(text) && memcmp(answers->strings + at, text, len) == 0;
}

/* How many of the first bytes of the kernel come from inner(), inlined into middle(), as they should. */
static int count_inner(struct hl_symd *symd)
{
	const uint32_t flags = HL_SYMD_WANT_INLINES | HL_SYMD_WANT_LINES;
	struct hl_symd_answers answers = { 0 };
	struct hl_symd_query queries[24];
	int found = 0;

	for (unsigned int i = 0; i < 24; i++)
		queries[i] = (struct hl_symd_query){ .where = RUNNING + i, .place = HL_SYMD_KERNEL };
	queries[23].where = LINKED + MODULE_OFFSET;
	CHECK_INT(hl_symd_resolve(symd, queries, 24, flags, &answers, NULL), 0);
	for (unsigned int i = 0; i < 23; i++) {
		const struct hl_symd_answer *a = &answers.items[i];
		const struct hl_symd_inlined *inlined = answers.inlined + a->first_inlined;

		CHECK(is(&answers, a->name, a->name_len, "start_of_it"));
		if (a->n_inlined != 2)
			continue;
		CHECK(is(&answers, inlined[0].name, inlined[0].name_len, "inner"));
		CHECK(is(&answers, inlined[1].name, inlined[1].name_len, "middle"));
		CHECK_INT(a->line, 3);
		CHECK_INT(inlined[0].line, 4);
		CHECK_INT(inlined[1].line, 5);
		CHECK(memcmp(answers.strings + a->file + a->file_len - 9, "/kernel.c", 9) == 0);
		found++;
	}
	CHECK(is(&answers, answers.items[23].name, answers.items[23].name_len, "in_module"));
	CHECK_INT(answers.items[23].n_inlined + answers.items[23].line, 0);
	hl_symd_answers_done(&answers);
	return found;
}

HL_TEST(inlined_functions_of_the_kernel)
{
	const struct hl_symd_lines_limits limits = { .memory = 64 << 20, .time_ms = 30000 };
	struct hl_symd *symd = hl_symd_new(NULL);
	struct hl_symd_lines lines;
	struct hl_symd_stats stats;
	struct hl_symd_file about;
	int fd, kallsyms;

	CHECK(symd && mkdtemp(dir));
	fd = build_kernel();
	kallsyms = write_kallsyms();
	CHECK_INT(hl_symd_add_kallsyms(symd, kallsyms, NULL), 0);
	CHECK_INT(count_inner(symd), 0);
	CHECK_INT(hl_symd_add_file(symd, HL_SYMD_KERNEL_FILE, fd, &about, NULL), 0);
	CHECK_INT(hl_symd_lines(symd, HL_SYMD_KERNEL_FILE, fd, &limits, &lines, NULL, NULL), 0);
	CHECK(count_inner(symd) >= 3);
	/* Names read again leave it; so does the death of the child. */
	CHECK_INT(lseek(kallsyms, 0, SEEK_SET), 0);
	CHECK_INT(hl_symd_add_kallsyms(symd, kallsyms, NULL), 0);
	CHECK(count_inner(symd) >= 3);
	must("kill -9 $(cat /proc/%d/task/%d/children | cut -d' ' -f1)", getpid(), getpid());
	CHECK(count_inner(symd) >= 3);
	hl_symd_stats(symd, &stats);
	CHECK_INT(stats.starts, 2);
	hl_symd_drop_file(symd, HL_SYMD_KERNEL_FILE);
	CHECK_INT(count_inner(symd), 0);
	hl_symd_free(symd);
	(void)close(fd);
	(void)close(kallsyms);
	must("rm -r %s", dir);
}

static void write_at(const char *path, const void *bytes, size_t len)
{
	char full[256];
	FILE *f;

	(void)snprintf(full, sizeof(full), "%s/%s", dir, path);
	f = fopen(full, "w");
	CHECK(f && fwrite(bytes, 1, len, f) == len);
	(void)fclose(f);
}

/* Of the place number @skip: what is written there, or "". */
static const char *found_at(int root, const uint8_t *id, unsigned int skip)
{
	static char text[16];
	int fd = hl_kernel_debug_open(NULL, root, "6.1-test", id, 4, skip);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		(void)close(fd);
	return text;
}

HL_TEST(the_kernels_file_is_found)
{
	/* A note of another kind, then the build-id. */
	static const uint8_t notes[] = { 4,   0, 0, 0, 1,   0,   0,   0, 9,    0,    0,    0,   'X', 'e',
					 'n', 0, 7, 0, 0,   0,   4,   0, 0,    0,    4,    0,   0,   0,
					 3,   0, 0, 0, 'G', 'N', 'U', 0, 0xaa, 0xbb, 0xcc, 0xdd };
	uint8_t id[HL_KERNEL_BUILD_ID_MAX];
	int root;

	CHECK(mkdtemp(dir));
	root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK_INT(hl_kernel_build_id(root, id), 0);
	must("cd %s && mkdir -p kernel usr/lib/debug/.build-id/aa usr/lib/debug/boot lib/modules/6.1-test",
	     dir);
	for (size_t len = 0; len < sizeof(notes); len++) {
		write_at("kernel/notes", notes, len);
		CHECK_INT(hl_kernel_build_id(root, id), 0);
	}
	write_at("kernel/notes", notes, sizeof(notes));
	CHECK_INT(hl_kernel_build_id(root, id), 4);
	CHECK(memcmp(id, "\xaa\xbb\xcc\xdd", 4) == 0);
	CHECK_STR(found_at(root, id, 0), "");
	write_at("lib/modules/6.1-test/vmlinux", "module's", 8);
	CHECK_STR(found_at(root, id, 0), "module's");
	write_at("usr/lib/debug/boot/vmlinux-6.1-test", "boot's", 6);
	write_at("usr/lib/debug/.build-id/aa/bbccdd.debug", "build-id's", 10);
	CHECK_STR(found_at(root, id, 0), "build-id's");
	CHECK_STR(found_at(root, id, 1), "boot's");
	CHECK_STR(found_at(root, id, 2), "module's");
	CHECK_STR(found_at(root, id, 3), "");
	(void)close(root);
	must("rm -r %s", dir);
}
