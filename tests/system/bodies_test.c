// SPDX-License-Identifier: BSD-2-Clause
/* needs: tests/system/agent tests/system/record tests/shell */
#include <stdlib.h>
#include <unistd.h>

#include "harness.h"
#include "shell.h"
#include "system/agent.h"
#include "system/record.h"

/*
 * Which instruction was hot yesterday, before the program was replaced: what an agent has stored is listed whole, when
 * the file, the process and the agent are gone.
 */

/* Two loops, of which the callers choose one; and a function that is called. */
static const char source[] =
	"#include \"work.h\"\n"
	"#define APART __attribute__((noinline, noclone))\n"
	"APART unsigned long step(unsigned long x, long n)\n"
	"{ while (n--) __asm__ volatile(\"rol $7,%0\\n\\trol $9,%0\" : \"+r\"(x)); return x; }\n"
	"APART unsigned long toil(unsigned long x, long n, long divide)\n"
	"{\n"
	"	if (divide)\n"
	"		while (n--) x = 1 + ~0ul / (x | 1);\n"
	"	else\n"
	"		while (n--) { __asm__ volatile(\"imul %0,%0\\n\\timul %0,%0\" : \"+r\"(x)); }\n"
	"	return step(x, 200000) + 1;\n"
	"}\n"
	"APART unsigned long multiplier(unsigned long x) { return toil(x, 300000, 0) + 1; }\n"
	"APART unsigned long divider(unsigned long x) { return toil(x, 100000, 1) + 1; }\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	double end = end_of(argc, argv);\n"
	"	unsigned long x = 3;\n"
	"	while (now() < end) { x = multiplier(x | 1); x = divider(x); }\n"
	"	return x == 42;\n"
	"}\n";

/* A line an instruction, "ADDRESS TEXT", as objdump has the function in file "wanted". */
static void build_program(void)
{
	FILE *f;
	char path[200];

	(void)snprintf(path, sizeof(path), "%sprogram.c", test_dir());
	f = fopen(path, "w");
	CHECK(f && fputs(source, f) >= 0 && fclose(f) == 0);
	must("cd %s && gcc -O2 -fno-omit-frame-pointer -I$OLDPWD/tests/workload program.c -o program",
	     test_dir());
	must("cd %s && objdump -d --no-show-raw-insn --disassemble=toil program | awk '/^ +[0-9a-f]+:/ { "
	     "sub(/ +#.*/, \"\"); gsub(/[ \\t]+/, \" \"); sub(/^ /, \"\"); sub(/ $/, \"\"); sub(/:/, \"\"); "
	     "print }' "
	     "> wanted && test $(wc -l < wanted) -gt 15",
	     test_dir());
}

/* Lists @function in file "listing", and its code, without samples, in "ours". */
static void annotate(const char *function, const char *more)
{
	must("%s annotate '%s' --store %sstore --since -10m %s > %slisting", hotleaf(), function, test_dir(),
	     more, test_dir());
	must("cd %s && sed -n '/ instruction$/,/^$/ { s/ # .*//; s/^.* \\([0-9a-f][0-9a-f]*\\)  "
	     "\\([^ ].*\\)$/\\1 \\2/p }' listing | grep -v instruction > ours",
	     test_dir());
}

/* The samples of each listed instruction are those that the store has of it, and none is left out. */
static void check_samples(const char *function)
{
	must("cd %s && sqlite3 -readonly store/*.db \"SELECT printf('%%x', address), sum(samples) "
	     "FROM instructions WHERE function = '%s' GROUP BY address\" | tr '|' ' ' | sort > stored",
	     test_dir(), function);
	must("cd %s && awk '/ instruction$/ { on = 1; next } /^callers/ { on = 0 } "
	     "on && $1 ~ /^[0-9]+$/ && $2 ~ /^[0-9.]+$/ { n[$3 == \">\" ? $4 : $3] += $1 } "
	     "END { for (a in n) print a, n[a] }' listing | sort > listed",
	     test_dir());
	must("cd %s && diff stored listed >&2 && test -s listed", test_dir());
	must("! grep -e 'kept was' -e 'only the instructions' %slisting", test_dir());
}

static void write_store(void)
{
	pid_t agent = start_agent("-F 499 --cache none"), program, jit, kernel;
	const char *said;

	(void)sleep(2);
	program = start("%sprogram 60 >/dev/null", test_dir());
	jit = start("%s 60 bygone map", workload("jit"));
	kernel = start("dd if=/dev/zero of=/dev/null bs=1M status=none");
	/* The file goes while it runs. */
	(void)sleep(4);
	must("rm %sprogram", test_dir());
	(void)sleep(4);
	stop(program);
	stop(jit);
	stop(kernel);
	(void)shell("rm -f /tmp/perf-%d.map", (int)jit);
	(void)sleep(2);
	end_agent(agent);
	CHECK_STR(output_of(NULL, "cat %ssaid", test_dir()), "");
	said = output_of(NULL, "%s store check --config none --store %sstore", hotleaf(), test_dir());
	if (!strstr(said, "code of ") || !strstr(said, ", sound\n"))
		FAIL("%s", said);
	/* What has the name now is another program. */
	must("cp /bin/true %sprogram", test_dir());
}

/* The kernel's function that has most samples of those with code. */
static const char *kernel_function(void)
{
	static char name[100];
	const char *said = output_of(
		NULL,
		"sqlite3 -readonly %sstore/*.db \"SELECT h.function FROM hottest h JOIN bodies b ON "
		"b.function = h.function AND b.module = h.module WHERE b.source = 'kernel' AND "
		"b.build_id <> '' GROUP BY 1 ORDER BY sum(h.samples) DESC LIMIT 1\"",
		test_dir());

	CHECK_INT(sscanf(said, "%99s", name), 1);
	return name;
}

HL_TEST_TIMEOUT(what_ran_is_listed_when_it_is_gone, 120)
{
	const char *kernel;

	if (geteuid())
		SKIP("needs root to sample the host");
	build_program();
	write_store();

	annotate("toil", "");
	must("cd %s && diff wanted ours >&2", test_dir());
	check_samples("toil");
	must("cd %s && grep -q 'call .* <step>$' listing && grep -Eq '(imul|div) ' listing", test_dir());
	must("cd %s && grep -q '^store    code of [1-9]' listing", test_dir());
	must("cd %s && sed '1,/^callers/d' listing | grep -q ' multiplier ' && sed '1,/^callers/d' listing | "
	     "grep -q ' divider '",
	     test_dir());
	/* Only what is asked for. */
	must("%s annotate toil --store %sstore --since -10m --where exe=~program -o %spage.html && grep -q "
	     "imul "
	     "%spage.html",
	     hotleaf(), test_dir(), test_dir(), test_dir());
	must("! %s annotate toil --store %sstore --since -10m --where process=dd 2>&1 | grep imul", hotleaf(),
	     test_dir());

	annotate("bygone inner", "");
	check_samples("bygone inner");
	must("cd %s && grep -q '12340000020f  jne 123400000209 <bygone inner+0x9>$' listing && grep -q "
	     "' 123400000200  push %%rbp$' listing",
	     test_dir());

	kernel = kernel_function();
	annotate(kernel, "");
	NOTE("of the kernel: %s", kernel);
	check_samples(kernel);
	must("cd %s && test $(wc -l < ours) -gt $(wc -l < listed)", test_dir());
}

HL_TEST_TIMEOUT(what_finds_no_room_is_said, 60)
{
	const char *text;
	pid_t agent, program;

	if (geteuid())
		SKIP("needs root to sample the host");
	build_program();
	agent = start_agent("-F 499 --cache none --code-max 10");
	(void)sleep(2);
	program = start("%sprogram 60 >/dev/null", test_dir());
	(void)sleep(4);
	stop(program);
	must("rm %sprogram", test_dir());
	(void)sleep(2);
	end_agent(agent);
	text = output_of(NULL, "%s annotate toil --store %sstore --since -10m", hotleaf(), test_dir());
	if (!strstr(text, "only the instructions that were sampled: the day has no room for more code") ||
	    !strstr(text, "not kept"))
		FAIL("%s", text);
	must("%s store list --config none --store %sstore | grep -q 'not kept'", hotleaf(), test_dir());
}
