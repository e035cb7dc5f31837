// SPDX-License-Identifier: BSD-2-Clause
/* needs: tests/system/record tests/shell */
#include <stdlib.h>

#include "harness.h"
#include "shell.h"
#include "system/record.h"

/* Instructions that are hard to find, to name and to print. */

static const char odd_main[] =
	"#include \"work.h\"\n"
	"void island(long), into_itself(long), odd_start(long), sizeless(long), operands(long), nops(long);\n"
	"void endless(long), behind_endless(long);\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	double end = end_of(argc, argv);\n"
	"	while (now() < end) {\n"
	"		island(20000); into_itself(20000); odd_start(20000); sizeless(20000);\n"
	"		operands(20000); nops(20000); endless(20000); behind_endless(20000);\n"
	"	}\n"
	"	return 0;\n"
	"}\n";

/* What objdump prints for the one instruction at @address: the last tab's text, without its comment. */
static const char *objdump_at(const char *program, unsigned long address)
{
	return output_of(
		NULL,
		"objdump -d --start-address=%#lx --stop-address=%#lx %s | awk -F'\\t' '/^ +[0-9a-f]+:/ "
		"{ sub(/ +[#<].*/, \"\", $3); gsub(/ +/, \" \", $3); sub(/ $/, \"\", $3); printf \"%%s\", "
		"$3; exit }'",
		address, address + 16, program);
}

/* Each leaf of @function is what objdump prints when it begins at that address. */
static uint64_t check_text(const struct folded *folded, const char *program, const char *function)
{
	uint64_t samples = 0;
	char mark[64];

	(void)snprintf(mark, sizeof(mark), ";%s;", function);
	for (size_t i = 0; i < folded->n; i++) {
		const char *leaf = strstr(folded->lines[i].stack, mark), *at;
		char text[256];
		const char *want;

		if (!leaf || strstr(leaf, "_[k]"))
			continue;
		leaf += strlen(mark);
		at = strstr(leaf, " [0x");
		CHECK(at && !strchr(leaf, ';'));
		(void)snprintf(text, sizeof(text), "%.*s", (int)(at - leaf), leaf);
		text[strcspn(text, "<")] = '\0';
		if (*text && text[strlen(text) - 1] == ' ')
			text[strlen(text) - 1] = '\0';
		want = objdump_at(program, strtoul(at + 2, NULL, 16));
		if (strncmp(text, ".byte", 5) != 0 && strcmp(text, want) != 0)
			FAIL("%s: \"%s\" should be \"%s\"", at, text, want);
		samples += folded->lines[i].count;
	}
	return samples;
}

HL_TEST_TIMEOUT(code_that_is_hard_to_list, 120)
{
	static const char *const functions[] = { "island",   "into_itself", "odd_start", "sizeless",
						 "operands", "nops",        "endless",   "behind_endless" };
	const char *program;
	struct folded folded;
	uint64_t all, named = 0;
	char source[128];
	FILE *f;

	(void)snprintf(source, sizeof(source), "%sodd_main.c", test_dir());
	f = fopen(source, "w");
	CHECK(f && fputs(odd_main, f) >= 0 && fclose(f) == 0);
	(void)snprintf(source, sizeof(source), "-Itests/workload %sodd_main.c", test_dir());
	program = build_workload("program", "odd.S", source);
	folded = record("-F 1999 -d 3 -- %s 60", program);
	all = sum_of(&folded, "^program;.*main;");
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		uint64_t samples = check_text(&folded, program, functions[i]);

		if (samples < all / 100)
			FAIL("%s has %llu of %llu samples", functions[i], (unsigned long long)samples,
			     (unsigned long long)all);
		named += samples;
	}
	check_at_least("samples in the functions", named, sum_of(&folded, "^program;"), 0.9);
	CHECK_INT(sum_of(&folded, ";endless;(rol|imul|mov %fs|nopw)"), 0);
	CHECK_INT(sum_of(&folded, ";behind_endless;ror"), 0);
	CHECK_INT(sum_of(&folded, ";island;\\.byte"), 0);
	folded_done(&folded);
}

/* Real programs, built without frame pointers. Every leaf has text, and no frame is made up. */
static void real_program(const char *tool, const char *command, const char *root)
{
	struct folded folded;
	uint64_t all;
	char regex[128];

	if (shell("command -v %s >/dev/null", tool))
		SKIP("no %s", tool);
	folded = record("-F 999 -d 3 -- sh -c \"%s\"", command);
	(void)snprintf(regex, sizeof(regex), "^%s;", root);
	all = sum_of(&folded, regex);
	CHECK(all > 200);
	check_account(&folded);
	check_at_least("leaves with text",
		       sum_of(&folded, ";[^;]+ \\[0x[0-9a-f]+\\](_\\[k\\])?$") -
			       sum_of(&folded, ";(\\(no code bytes\\)|\\.byte )[^;]*$"),
		       folded.total, 0.99);
	/* An address that lies in no file would be a made-up frame: these programs generate no code. */
	CHECK_INT(sum_of(&folded, "_\\[j\\]"), 0);
	/* A stack is whole, up to what the kernel or a thread starts with, or says why it is not. */
	check_at_least("whole or marked",
		       sum_of(&folded, "^[^;]+;(\\[(unwind: [^;]+|truncated|irq)\\]|_start|clone3|__clone3|"
				       "__clone|[^;]*_start[^;]*|start_thread|\\[ld-linux[^;]+\\]|"
				       "\\[[^;]*\\+0x[0-9a-f]+\\]|ret_from_fork[^;]*)(;|$)"),
		       folded.total, 0.99);
	folded_done(&folded);
}

HL_TEST(xz_at_work)
{
	real_program("xz", "exec xz -T1 -9 -c $(ls -S /usr/lib/*/*.so* | head -n 1) >/dev/null", "xz");
}

HL_TEST(openssl_at_work)
{
	real_program("openssl", "openssl speed -seconds 3 sha256 rsa2048 2>/dev/null >/dev/null", "openssl");
}

HL_TEST(gcc_at_work)
{
	real_program("gcc",
		     "while :; do gcc -O2 -Iuser -Iinclude -D_GNU_SOURCE -c user/render/svg.c -o /dev/null; "
		     "done 2>/dev/null",
		     "cc1");
}
