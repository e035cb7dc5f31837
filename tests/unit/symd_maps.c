// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample elf unwind symbol insn symd tests/elfwriter tests/symdchild */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "elfwriter.h"
#include "harness.h"
#include "symd/client.h"

/* What processes tell of code that they made, asked of symd. */

static struct hl_symd *symd;
static struct hl_symd_map_counts counts;
static struct hl_err err;

static void begin(void)
{
	symd = hl_symd_new(&err);
	if (!symd)
		FAIL("%s", err.text);
}

static int add(uint32_t process, int fd, uint32_t kind)
{
	struct hl_symd_map map = { .kind = kind };

	return hl_symd_add_map(symd, process, fd, &map, &counts, &err);
}

static void add_text(uint32_t process, const char *text)
{
	int fd = ew_file(text, strlen(text));

	if (add(process, fd, HL_SYMD_PERF_MAP))
		FAIL("%s", err.text);
	close(fd);
}

/* "NAME START+SIZE | TEXT" of a raw address with a jump to 0x1010 at it. */
static const char *ask(uint32_t process, uint64_t address)
{
	struct hl_symd_query query = { .where = address,
				       .file = process,
				       .place = HL_SYMD_RAW,
				       .flags = HL_SYMD_WANT_TEXT,
				       .code = { 0xeb, (uint8_t)(0x1010 - address - 2) },
				       .code_len = 16 };
	static struct hl_symd_answers answers;
	static char text[500];
	const struct hl_symd_answer *a;

	if (hl_symd_resolve(symd, &query, 1, false, &answers, &err) < 0)
		FAIL("%s", err.text);
	a = answers.items;
	(void)snprintf(text, sizeof(text), "%.*s %llx+%llx | %.*s", (int)a->name_len,
		       answers.strings + a->name, (unsigned long long)a->function,
		       (unsigned long long)a->size, (int)a->text_len, answers.strings + a->text);
	return text;
}

HL_TEST(each_process_has_its_own_names)
{
	begin();
	add_text(1, "1000 20 first\n2000 20 _Z6calleei\n");
	CHECK_INT(counts.told, 2);
	add_text(2, "1000 40 second\nnonsense\n");
	CHECK_INT(counts.told, 1);
	CHECK_INT(counts.damaged, 1);
	CHECK_STR(ask(1, 0x1004), "first 1000+20 | jmp 1010 <first+0x10>");
	CHECK_STR(ask(2, 0x1004), "second 1000+40 | jmp 1010 <second+0x10>");
	CHECK_STR(ask(1, 0x1030), " 1030+0 | jmp 1010 <first+0x10>");
	CHECK_STR(ask(0, 0x1004), " 1004+0 | jmp 1010");
	CHECK_STR(ask(3, 0x1004), " 1004+0 | jmp 1010");
	CHECK(strncmp(ask(1, 0x2000), "callee(int) 2000+20 | ", 22) == 0);
	hl_symd_free(symd);
}

HL_TEST(a_map_grows_between_requests)
{
	int fd = ew_file("1000 20 first\n2000 2", 20);

	begin();
	CHECK_INT(add(1, fd, HL_SYMD_PERF_MAP), 0);
	CHECK_STR(ask(1, 0x1004), "first 1000+20 | jmp 1010 <first+0x10>");
	CHECK_INT(counts.left, 6);
	CHECK_INT(write(fd, "0 second\n1000 20 third\n", 23), 23);
	CHECK_INT(add(1, fd, HL_SYMD_PERF_MAP), 0);
	CHECK_INT(counts.told, 3);
	CHECK_INT(counts.left, 0);
	CHECK_STR(ask(1, 0x1004), "third 1000+20 | jmp 1010 <third+0x10>");
	CHECK(strncmp(ask(1, 0x2000), "second 2000+20 | ", 17) == 0);
	close(fd);
	hl_symd_free(symd);
}

/* Where both know an address, the jitdump counts. */
HL_TEST(a_jitdump_before_a_perf_map)
{
	static const struct {
		uint32_t header[6];
		uint64_t times[2];
		uint32_t id, size;
		uint64_t time;
		uint32_t ids[2];
		uint64_t body[4];
		char name[8];
		char code[32];
	} dump = { { 0x4a695444, 1, 40, 62, 0, 1 }, { 5, 0 }, 0, 96, 10, { 1, 1 },
		   { 0x1000, 0x1000, 32, 1 },       "dumped", "" };
	int fd = ew_file(&dump, sizeof(dump));

	begin();
	CHECK_INT(add(1, fd, HL_SYMD_JITDUMP), 0);
	CHECK_INT(counts.told, 1);
	add_text(1, "1000 20 mapped\n2000 20 other\n");
	CHECK_STR(ask(1, 0x1004), "dumped 1000+20 | jmp 1010 <dumped+0x10>");
	CHECK(strncmp(ask(1, 0x2000), "other 2000+20 | ", 16) == 0);
	close(fd);
	fd = ew_file("no jitdump at all, but of a length that could be one", 52);
	CHECK_INT(add(1, fd, HL_SYMD_JITDUMP), -EBADMSG);
	close(fd);
	hl_symd_free(symd);
}

HL_TEST(requests_that_make_no_sense)
{
	int fd = ew_file("1000 20 first\n", 14);

	begin();
	CHECK_INT(add(0, fd, HL_SYMD_PERF_MAP), -EINVAL);
	CHECK_INT(add(1, fd, HL_SYMD_MAP_KINDS), -EINVAL);
	CHECK(add(UINT32_MAX, fd, HL_SYMD_PERF_MAP) < 0);
	CHECK_INT(add(1, fd, HL_SYMD_PERF_MAP), 0);
	close(fd);
	hl_symd_free(symd);
}
