// SPDX-License-Identifier: BSD-2-Clause
/* needs: tests/system/record tests/shell */
#include <stdlib.h>
#include <unistd.h>

#include "harness.h"
#include "shell.h"
#include "system/record.h"

/*
 * `work` multiplies in one loop and divides in another, and each of its callers makes it run one of them. The
 * multiplication waits for itself: nearly all samples are on the instruction behind it or on it.
 */
static const char work_source[] =
	"#include \"work.h\"\n"
	"#define APART __attribute__((noinline, noclone))\n"
	"APART unsigned long work(unsigned long x, long n, long divide)\n"
	"{\n"
	"	if (divide)\n"
	"		while (n--) x = 1 + ~0ul / (x | 1);\n"
	"	else\n"
	"		while (n--) { __asm__ volatile(\"imul %0,%0\\n\\timul %0,%0\\n\\timul %0,%0\" : "
	"\"+r\"(x)); }\n"
	"	return x;\n"
	"}\n"
	"APART unsigned long multiplier(unsigned long x) { return work(x, 300000, 0) + 1; }\n"
	"APART unsigned long divider(unsigned long x) { return work(x, 100000, 1) + 1; }\n"
	"APART void spin_one(long n) { while (n--) __asm__ volatile(\"nop\"); }\n"
	"APART void spin_two(long n) { while (n--) __asm__ volatile(\"nop\"); }\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	double end = end_of(argc, argv);\n"
	"	unsigned long x = 3;\n"
	"	while (now() < end) {\n"
	"		x = multiplier(x | 1); x = divider(x); spin_one(200000); spin_two(200000);\n"
	"	}\n"
	"	return x == 42;\n"
	"}\n";

/* The path of a program built from @source with @flags; static. */
static const char *build(const char *name, const char *source, const char *flags)
{
	static char path[200];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s%s.c", test_dir(), name);
	f = fopen(path, "w");
	CHECK(f && fputs(source, f) >= 0 && fclose(f) == 0);
	must("gcc -O2 -g -fno-omit-frame-pointer -Itests/workload %s %s -o %s%s", flags, path, test_dir(),
	     name);
	path[strlen(path) - 2] = '\0';
	return path;
}

static void need_root(void)
{
	if (shell("test $(id -u) = 0"))
		SKIP("recording needs root");
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		FAIL("no \"%s\" in\n%s", part, text);
}

/* Samples of the listed instructions that match; and their number in @ret_lines, unless that is NULL. */
static unsigned long listed(const char *text, const char *mnemonic, unsigned int *ret_lines)
{
	unsigned long samples = 0, n, address;
	unsigned int lines = 0;
	const char *line = strstr(text, "samples  "), *next;

	for (; line && (next = strchr(line, '\n')); line = next + 1) {
		char row[400], *at;

		(void)snprintf(row, sizeof(row), "%.*s", (int)(next - line), line);
		if (strncmp(line, "callers,", 8) == 0)
			break;
		at = *mnemonic ? strstr(row, mnemonic) : row + strlen(row);
		if (!at || strstr(row, "instruction"))
			continue;
		lines++;
		if (sscanf(row, "%lu %*f %lx", &n, &address) >= 1 && strchr(row, '.') &&
		    strchr(row, '.') < at)
			samples += n;
	}
	if (ret_lines)
		*ret_lines = lines;
	return samples;
}

/* Each address and instruction of the listing is what objdump prints for the function. */
static void check_against_objdump(const char *text, const char *program, const char *function)
{
	char path[200];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%slisting.txt", test_dir());
	f = fopen(path, "w");
	CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
	must("objdump -d --no-show-raw-insn --disassemble=%s %s | awk '/^ +[0-9a-f]+:/ { sub(/ +#.*/, \"\"); "
	     "gsub(/[ \\t]+/, \" \"); sub(/^ /, \"\"); sub(/ $/, \"\"); sub(/:/, \"\"); print }' > "
	     "%sobjdump.txt",
	     function, program, test_dir());
	must("sed -n '/ instruction$/,/^$/ { s/ # .*//; s/^.* \\([0-9a-f][0-9a-f]*\\)  \\([^ ].*\\)$/\\1 "
	     "\\2/p }' %s | "
	     "grep -v instruction > %sours.txt",
	     path, test_dir());
	must("diff %sobjdump.txt %sours.txt >&2 && test $(wc -l < %sours.txt) -gt 10", test_dir(), test_dir(),
	     test_dir());
}

HL_TEST_TIMEOUT(callers_and_their_instructions, 120)
{
	const char *program, *text;
	unsigned long imul, behind, all;
	unsigned int lines;

	need_root();
	program = build("work", work_source, "");
	text = output_of(NULL, "%s annotate work -F 999 -d 3 -- %s 60", hotleaf(), program);
	has(text, "\nwork in ");
	has(text, "\ncallers, ");
	has(text, "  multiplier  ");
	has(text, "  divider  ");
	check_against_objdump(text, program, "work");
	imul = listed(text, "  imul ", &lines);
	CHECK_INT(lines, 3);
	all = listed(text, "", NULL);
	behind = listed(text, "  add ", NULL) + listed(text, "  sub ", NULL) + listed(text, "  lea ", NULL) +
		 listed(text, "  cmp ", NULL) + listed(text, "  j", NULL) + listed(text, "  div ", NULL);
	CHECK(all > 300);
	/* The multiplications take most of their caller's time, the division its own. */
	if (imul + behind < all * 9 / 10)
		FAIL("%lu on imul and %lu behind, of %lu", imul, behind, all);
	CHECK(imul > all / 10);
	/* The event is not precise, unless there are hardware counters. */
	if (strstr(text, "not precise"))
		has(text, " >  ");
}

HL_TEST_TIMEOUT(a_saved_profile_and_what_became_of_the_file, 120)
{
	const char *program, *text, *live;
	char profile[200], *kept;
	int status;

	need_root();
	program = build("work", work_source, "");
	(void)snprintf(profile, sizeof(profile), "%sp.pb.gz", test_dir());
	must("%s record -F 999 -d 2 -o %s -- %s 60", hotleaf(), profile, program);
	text = output_of(NULL, "%s annotate work %s", hotleaf(), profile);
	check_against_objdump(text, program, "work");
	kept = strdup(text);
	has(output_of(NULL, "%s annotate --lines work %s", hotleaf(), profile), "  work.c:8\n");
	/* By the address of an instruction that was not sampled, too. */
	live = output_of(NULL,
			 "%s annotate work+$(objdump -d --disassemble=work %s | awk '/ret/ { print \"0x\" "
			 "substr($1, 1, length($1) - 1); exit }') %s",
			 hotleaf(), program, profile);
	CHECK_STR(live, kept);
	text = output_of(&status, "%s annotate spin %s", hotleaf(), profile);
	CHECK_INT(status, 1);
	has(text, "  spin_one  work\n");
	has(text, "  spin_two  work\n");
	has(text, "hotleaf: \"spin\" is part of several names");
	text = output_of(&status, "%s annotate no_such_function %s", hotleaf(), profile);
	CHECK_INT(status, 1);
	has(text, "hotleaf: nothing was sampled in a function \"no_such_function\"");
	text = output_of(&status, "%s annotate 0x7 %s", hotleaf(), profile);
	CHECK_INT(status, 1);
	/* Another build under the same name: what it holds is not shown. */
	(void)build("work", work_source, "-DOTHER -O1");
	text = output_of(NULL, "%s annotate work %s", hotleaf(), profile);
	has(text, "only the instructions that were sampled: the file of that name is another build now");
	has(text, "  imul ");
	CHECK(listed(text, "", NULL) == listed(kept, "", NULL));
	must("rm %s", program);
	text = output_of(NULL, "%s annotate work %s", hotleaf(), profile);
	has(text, "only the instructions that were sampled: the file is not there any more");
	CHECK(listed(text, "", NULL) == listed(kept, "", NULL));
	free(kept);
}

/* What the first look made of a file, with its debug file beside it, is what the second one is made of. */
HL_TEST_TIMEOUT(a_second_look_parses_nothing, 120)
{
	static const char said[] = "files of the profile: parsed 0 times, taken from the cache 3 times";
	const char *program, *text;
	char profile[200], command[700], *first;

	need_root();
	program = build("work", work_source, "-Wl,--build-id");
	must("objcopy --only-keep-debug %s %swork.debug && strip %s && objcopy "
	     "--add-gnu-debuglink=%swork.debug %s",
	     program, test_dir(), program, test_dir(), program);
	(void)snprintf(profile, sizeof(profile), "%sp.pb.gz", test_dir());
	must("%s record --cache=none -F 999 -d 2 -o %s -- %s 60", hotleaf(), profile, program);
	/* A file that has only just been written is not believed to stay as it is. */
	must("sleep 3");
	(void)snprintf(command, sizeof(command),
		       "HOTLEAF_DEBUG=symbol %s annotate --cache=%scache --lines work %s", hotleaf(),
		       test_dir(), profile);
	first = strdup(output_of(NULL, "%s", command));
	CHECK(!strstr(first, said));
	has(first, "  work.c:8\n");
	text = output_of(NULL, "%s", command);
	has(text, said);
	has(text, "  work.c:8\n");
	free(first);
}

/* Code made at run time: it is in no file. */
static const char jit_source[] =
	"#include \"work.h\"\n"
	"#include <string.h>\n"
	"#include <sys/mman.h>\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	double end = end_of(argc, argv);\n"
	"	static const char code[] = "
	"\"\\x55\\x48\\x89\\xe5\\xb9\\x40\\x42\\x0f\\x00\\x48\\x0f\\xaf\\xff\\x48\\x0f\\xaf\\xff"
	"\\xff\\xc9\\x75\\xf4\\x5d\\xc3\";\n"
	"	void *p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, "
	"0);\n"
	"	memcpy(p, code, sizeof(code));\n"
	"	while (now() < end) ((void (*)(long))p)(3);\n"
	"	return 0;\n"
	"}\n";

HL_TEST_TIMEOUT(made_code, 120)
{
	const char *text;

	need_root();
	text = output_of(NULL, "%s annotate jit -F 999 -d 2 -- %s 60", hotleaf(),
			 build("jitter", jit_source, ""));
	has(text, "[jit] in jit");
	has(text, "only the instructions that were sampled: the code is in no file");
	CHECK(listed(text, "  imul %rdi,%rdi", NULL) + listed(text, "  dec %ecx", NULL) >
	      listed(text, "", NULL) * 9 / 10);
}

/* The function "inner" of the workload "jit", as @name, from its first instruction to the last. */
static void check_inner(const char *text, const char *name)
{
	char expected[100];

	(void)snprintf(expected, sizeof(expected), "%s in jit, 0x123400000200, ", name);
	has(text, expected);
	has(text, " 123400000200  push %rbp\n");
	(void)snprintf(expected, sizeof(expected), " 12340000020f  jne 123400000209 <%s+0x9>\n", name);
	has(text, expected);
	has(text, " 123400000212  ret\n");
	CHECK(listed(text, "  imul %rax,%rax", NULL) + listed(text, "  dec %ecx", NULL) +
		      listed(text, "  jne 123400000209", NULL) >
	      100);
}

/* The process has ended by the time that its code is listed: its jitdump has the bytes. */
HL_TEST_TIMEOUT(made_code_of_a_dead_process, 120)
{
	const char *text;

	need_root();
	text = output_of(NULL,
			 "%s annotate 'told inner' -F 999 -d 20 -- env -C %s \"$(realpath %s)\" 3 told dump",
			 hotleaf(), test_dir(), workload("jit"));
	check_inner(text, "told inner");
	CHECK(!strstr(text, "only the instructions that were sampled"));
}

/* Where its names come with sizes, the memory of the living process has the rest. */
HL_TEST_TIMEOUT(made_code_of_a_living_process, 120)
{
	const char *text;
	pid_t pid;

	need_root();
	pid = start("%s 60 mine map", workload("jit"));
	(void)sleep(1);
	text = output_of(NULL, "%s annotate 'mine inner' -F 999 -d 2 -p %d", hotleaf(), (int)pid);
	stop(pid);
	(void)shell("rm -f /tmp/perf-%d.map", (int)pid);
	check_inner(text, "mine inner");
}

/* Whichever function of the kernel is hot: it is listed whole, as it is in memory. */
HL_TEST_TIMEOUT(code_of_the_kernel, 120)
{
	static const char burn[] = "dd if=/dev/zero of=/dev/null bs=1 count=1000000000";
	char name[128] = "";
	const char *text;

	need_root();
	text = output_of(NULL,
			 "%s annotate no_such_function -F 999 -d 2 -- %s 2>&1 | awk '$3 == \"kernel\" "
			 "{ print $2; exit }'",
			 hotleaf(), burn);
	CHECK(sscanf(text, "%127s", name) == 1);
	NOTE("%s", name);
	text = output_of(NULL, "%s annotate %s -F 999 -d 4 -- %s", hotleaf(), name, burn);
	has(text, " in kernel, 0xffffffff");
	has(text, " bytes\n");
	CHECK(!strstr(text, "only the instructions that were sampled"));
	CHECK(!strstr(text, "(undecoded)"));
	CHECK(!strstr(text, "(the file has:"));
}

/* The same as a page, of which nothing is markup but what we say. */
HL_TEST_TIMEOUT(a_page, 120)
{
	need_root();
	must("%s annotate work -F 999 -d 2 -o %sx.html -- %s 60", hotleaf(), test_dir(),
	     build("work", work_source, ""));
	must("python3 -c 'import sys, re, html.parser as h\n"
	     "tags = set()\n"
	     "class P(h.HTMLParser):\n"
	     "  def handle_starttag(self, tag, attrs): tags.add(tag)\n"
	     "text = open(sys.argv[1], encoding=\"utf-8\").read()\n"
	     "P().feed(text)\n"
	     "assert tags == set(\"html head meta title style body pre span\".split()), tags\n"
	     "hot = re.findall(r\"<span class=.h[0-9]+.>.*imul\", text)\n"
	     "assert hot and \"callers, \" in text and \"&lt;work+0x\" in text' %sx.html",
	     test_dir());
}

/* A program that changes its own text: what ran is shown, and that the file has something else. */
static const char patch_source[] =
	"#include \"work.h\"\n"
	"#include <stdint.h>\n"
	"#include <sys/mman.h>\n"
	"void patched(long);\n"
	"extern char place[];\n"
	"__asm__(\".globl patched, place\\n.type patched,@function\\npatched: push %rbp\\nmov "
	"%rsp,%rbp\\n\"\n"
	"	\"1: sub $1,%rdi\\nplace: imul %rax,%rax\\nimul %rax,%rax\\nimul %rax,%rax\\ntest "
	"%rdi,%rdi\\njne 1b\\n\"\n"
	"	\"pop %rbp\\nret\\n.size patched,.-patched\\n\");\n"
	"int main(void)\n"
	"{\n"
	"	char *page = (char *)((uintptr_t)place & ~4095ul);\n"
	"	if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC)) return 1;\n"
	"	for (int i = 0; i < 3; i++) place[4 * i + 3] = (char)0xdb; /* imul %rbx,%rbx */\n"
	"	while (cpu_time() < 2) patched(1000000);\n"
	"	return 0;\n"
	"}\n";

HL_TEST_TIMEOUT(patched_code, 120)
{
	const char *program, *text;

	need_root();
	program = build("patcher", patch_source, "");
	text = output_of(NULL, "%s annotate patched -F 999 -- %s", hotleaf(), program);
	has(text, " the file differs: the code that ran is not what the file holds there");
	has(text, "  imul %rbx,%rbx  (the file has: imul %rax,%rax)\n");
	CHECK(!strstr(text, "  imul %rax,%rax\n") || listed(text, "  imul %rax,%rax\n", NULL) == 0);
}

static const char mangled_source[] =
	"#include \"work.h\"\n"
	"__attribute__((noinline)) void bar(long n) __asm__(\"_ZN3foo3barEl\");\n"
	"void bar(long n) { SPIN(n); }\n"
	"int main(void) { while (cpu_time() < 1) bar(100000); return 0; }\n";

HL_TEST_TIMEOUT(mangled_name, 60)
{
	need_root();
	has(output_of(NULL, "%s annotate _ZN3foo3barEl -F 999 -- %s", hotleaf(),
		      build("mangled", mangled_source, "")),
	    "foo::bar(long)");
}

HL_TEST_TIMEOUT(loops_as_tiers, 120)
{
	struct folded folded;
	uint64_t work, in_loops;

	need_root();
	folded = record("-F 999 -d 3 --leaf loop,insn -- %s 60", build("work", work_source, ""));
	work = sum_of(&folded, ";multiplier;work;");
	in_loops = sum_of(&folded,
			  ";multiplier;work;\\[loop 0x[0-9a-f]+-0x[0-9a-f]+\\];[^;]+ \\[0x[0-9a-f]+\\]$");
	CHECK(work > 200);
	check_at_least("instructions in loops", in_loops, work, 0.99);
	/* One loop, and it is the one with the multiplications. */
	CHECK(sum_of(&folded, ";multiplier;work;\\[loop [^;]*\\];imul ") > work / 10);
	folded_done(&folded);
	/* The line of the multiplications, which the compiler did not move. */
	folded = record("-F 999 -d 2 --leaf loop,line,insn -- %s 60", build("work", work_source, ""));
	work = sum_of(&folded, ";multiplier;work;");
	in_loops = sum_of(&folded, ";work;\\[loop [^;]*\\];\\[work\\.c:8\\];[^;]+ \\[0x[0-9a-f]+\\]$");
	check_at_least("instructions in their line", in_loops, work, 0.95);
	CHECK_INT(sum_of(&folded, ";work at "), 0);
	folded_done(&folded);
}

HL_TEST(wrong_usage)
{
	int status;

	has(output_of(&status, "%s annotate", hotleaf()), "which function?");
	CHECK_INT(status, 2);
	has(output_of(&status, "%s annotate f p.pb.gz -- true", hotleaf()), "a PROFILE was recorded before");
	CHECK_INT(status, 2);
	has(output_of(&status, "%s annotate f -p 1 -- true", hotleaf()), "exclude each other");
	CHECK_INT(status, 2);
	has(output_of(&status, "%s annotate f g h", hotleaf()), "one too many");
	CHECK_INT(status, 2);
	has(output_of(&status, "%s annotate f /nowhere.pb.gz", hotleaf()), "cannot open '/nowhere.pb.gz'");
	CHECK_INT(status, 1);
}
