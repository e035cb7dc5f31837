// SPDX-License-Identifier: BSD-2-Clause
/* needs: tests/system/record tests/shell */
#include <stdlib.h>
#include <sys/wait.h>

#include "harness.h"
#include "shell.h"
#include "system/record.h"

/* Programs of known shape, from source to folded lines. */

static const char imul_source[] = "#include <cstdlib>\n"
				  "__attribute__((noinline)) long a(int n) {\n"
				  "  long x = n;\n"
				  "  for (long i = 0; i < 400000000L * (n ? 8 : 0); i++)\n"
				  "    x = x * 1000000007 + i;\n"
				  "  return x;\n"
				  "}\n"
				  "int main(int argc, char **argv) { return (int)a(argc); }\n";

/* Builds the source with g++ FLAGS; the path of the program, static. */
static const char *build(const char *source, const char *extension, const char *flags)
{
	static char path[128];
	char file[128];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%sprogram", test_dir());
	(void)snprintf(file, sizeof(file), "%ssource.%s", test_dir(), extension);
	f = fopen(file, "w");
	CHECK(f && fputs(source, f) >= 0 && fclose(f) == 0);
	must("%s %s %s -o %s", strcmp(extension, "cc") == 0 ? "g++" : "gcc", flags, file, path);
	return path;
}

/* Each leaf of @function must stand in objdump's listing of @program, at its address. */
static void check_leaves(const struct folded *folded, const char *program, const char *function)
{
	const char *listing = output_of(
		NULL, "objdump -d --no-show-raw-insn -C %s | sed -E 's/ +[<#].*//; s/\\t/ /g; s/ +/ /g'",
		program);
	char mark[128], want[512];
	size_t leaves = 0;

	(void)snprintf(mark, sizeof(mark), ";%s;", function);
	for (size_t i = 0; i < folded->n; i++) {
		const char *leaf = strstr(folded->lines[i].stack, mark), *address;
		int len;

		if (!leaf || strstr(leaf, "_[k]"))
			continue;
		leaf += strlen(mark);
		address = strstr(leaf, " [0x");
		CHECK(address && !strchr(leaf, ';'));
		len = (int)strcspn(leaf, "<");
		if (len > address - leaf)
			len = (int)(address - leaf);
		while (len && leaf[len - 1] == ' ')
			len--;
		(void)snprintf(want, sizeof(want), "\n %.*s: %.*s\n", (int)strcspn(address + 4, "]"),
			       address + 4, len, leaf);
		if (!strstr(listing, want))
			FAIL("objdump has no such line: %s", want);
		leaves++;
	}
	CHECK(leaves > 0);
}

static void imul(const char *flags)
{
	const char *program = build(imul_source, "cc", flags);
	struct folded folded = record("-F 499 -d 2 -- %s", program);
	uint64_t under_a = sum_of(&folded, "^program;(.*;)?a\\(int\\);[^;]+ \\[0x[0-9a-f]+\\]$");

	check_at_least("samples under a(int)", under_a, sum_of(&folded, "^program;"), 0.97);
	check_leaves(&folded, program, "a(int)");
	check_at_least("samples under main", sum_of(&folded, "^program;(.*;)?main;a\\(int\\);"), under_a,
		       0.97);
	note_lines(&folded, ";a\\(int\\);imul", 3);
	folded_done(&folded);
}

HL_TEST(imul_at_default_flags)
{
	imul("");
}

HL_TEST(imul_at_default_flags_no_pie)
{
	imul("-no-pie");
}

HL_TEST(imul_at_o2)
{
	imul("-O2");
}

HL_TEST(imul_at_o2_no_pie)
{
	imul("-O2 -no-pie");
}

HL_TEST(a_running_program_has_its_table_from_the_first_sample)
{
	pid_t load = start("%s", build(imul_source, "cc", "-O2"));
	struct folded folded;

	must("sleep 0.2"); /* until it is executed */
	folded = record("-F 999 -d 1 -p %d", (int)load);
	stop(load);
	CHECK_INT(sum_of(&folded, "no table yet"), 0);
	check_at_least("stacks to the start", sum_of(&folded, "^program;_start;(.*;)?main;a\\(int\\);"),
		       sum_of(&folded, ";a\\(int\\);"), 0.99);
	folded_done(&folded);
}

/* Percentages of `perf annotate` for a(int), by address. */
struct annotated {
	struct {
		unsigned long address;
		double share;
	} lines[256];
	size_t n;
};

static struct annotated read_annotation(const char *path)
{
	struct annotated all = { .n = 0 };
	char line[1024];
	FILE *f = fopen(path, "r");

	CHECK(f);
	while (fgets(line, sizeof(line), f) && all.n < 256) {
		double share;
		unsigned long address;

		if (sscanf(line, " %lf : %lx:", &share, &address) == 2) {
			all.lines[all.n].address = address;
			all.lines[all.n++].share = share / 100;
		}
	}
	(void)fclose(f);
	return all;
}

HL_TEST_TIMEOUT(shares_agree_with_perf_annotate, 120)
{
	const char *program = build(imul_source, "cc", ""); /* more instructions than at -O2 */
	const char *dir = test_dir();
	struct folded folded;
	struct annotated annotated;
	uint64_t under_a, n_perf;
	char regex[128];
	pid_t load, perf;

	if (shell("perf version >/dev/null 2>&1"))
		SKIP("no perf to compare with");
	/* Both at once, on the same process, at rates that do not beat. */
	load = start("%s", program);
	perf = start(
		"perf record -q -e cpu-clock -F 487 -o %sperf.data -p %d -- sleep 7 2>/dev/null >/dev/null",
		dir, (int)load);
	folded = record("-F 499 -d 6 -p %d", (int)load);
	CHECK_INT(waitpid(perf, NULL, 0), perf); /* its file is whole then */
	stop(load);
	must("perf annotate -i %sperf.data --stdio -d program -s a 2>/dev/null >%sannotation", dir, dir);
	annotated = read_annotation(strcat(strcpy(regex, dir), "annotation"));
	under_a = sum_of(&folded, ";a\\(int\\);");
	n_perf = strtoull(
		output_of(NULL, "perf script -i %sperf.data -F ip,sym 2>/dev/null | grep -c ' a$'", dir),
		NULL, 10);
	CHECK(annotated.n > 3 && under_a > 1000 && n_perf > 1000);
	for (size_t i = 0; i < annotated.n; i++) {
		double p = annotated.lines[i].share, ours, sigma, room;

		(void)snprintf(regex, sizeof(regex), ";a\\(int\\);.* \\[0x%lx\\]$",
			       annotated.lines[i].address);
		ours = (double)sum_of(&folded, regex) / (double)under_a;
		/* Two samplers: the variances add. perf prints hundredths of a percent. */
		sigma = p * (1 - p) / (double)under_a + p * (1 - p) / (double)n_perf;
		room = 5.5 * __builtin_sqrt(sigma) + 3.0 / (double)under_a + 3.0 / (double)n_perf + 0.0002;
		if (ours < p - room || ours > p + room)
			FAIL("0x%lx has %.2f %% here and %.2f %% in perf annotate",
			     annotated.lines[i].address, ours * 100, p * 100);
		if (p > 0.05)
			NOTE("0x%lx: %.2f %% here, %.2f %% in perf annotate", annotated.lines[i].address,
			     ours * 100, p * 100);
	}
	folded_done(&folded);
}

static const char odd_names[] =
	"#include <stdlib.h>\n"
	"#define BURN(n) for (volatile long i = 0; i < (n); i++)\n"
	"static __attribute__((noinline)) void same(void) { BURN(300000); __asm__ volatile(\"pause\"); }\n"
	"void other(void);\n"
	"__asm__(\".text\\n.type other,@function\\nother: mov $300000,%ecx\\n1: dec %ecx\\njnz "
	"1b\\nret\\n\"\n"
	"        \".size other,.-other\\n\"\n"
	"        \"zero_size: mov $300000,%ecx\\n1: imul %ecx,%eax\\ndec %ecx\\njnz 1b\\nret\\n\"\n"
	"        \".type no_size,@function\\nno_size: mov $300000,%ecx\\n1: ror $3,%eax\\ndec %ecx\\njnz "
	"1b\\nret\\n\");\n"
	"void zero_size(void); void no_size(void); void second(void);\n"
	"int main(int c, char **v) { long n = atol(v[1]); while (n--) { same(); other(); zero_size(); "
	"no_size(); "
	"second(); } return 0; }\n";
static const char second_file[] =
	"static __attribute__((noinline)) void same(void) { for (volatile long i = 0; i < 300000; i++); }\n"
	"void second(void) { same(); }\n";

HL_TEST(odd_symbols_keep_their_own_samples)
{
	struct folded folded;
	char path[128], flags[256];
	FILE *f;
	uint64_t all;

	(void)snprintf(path, sizeof(path), "%ssecond.c", test_dir());
	f = fopen(path, "w");
	CHECK(f && fputs(second_file, f) >= 0 && fclose(f) == 0);
	(void)snprintf(flags, sizeof(flags), "-O1 -fno-omit-frame-pointer %s", path);
	folded = record("-F 999 -d 3 -- %s 1000000", build(odd_names, "c", flags));
	all = sum_of(&folded, "^program;");
	CHECK(all > 1000);
	check_at_least("imul in a NOTYPE symbol", sum_of(&folded, ";zero_size;"), all, 0.05);
	check_at_least("ror in a symbol of size 0", sum_of(&folded, ";no_size;"), all, 0.05);
	CHECK_INT(sum_of(&folded, ";zero_size;ror"), 0);
	CHECK_INT(sum_of(&folded, ";no_size;imul"), 0);
	/* The two functions called same() run the same time; each sample stands at its own address. */
	CHECK(sum_of(&folded, ";same;") > sum_of(&folded, ";second;same;"));
	CHECK(sum_of(&folded, ";second;same;") > 0);
	folded_done(&folded);
}

static void stripped(const char *flags, const char *then)
{
	const char *program = build(imul_source, "cc", flags);
	struct folded folded;

	if (then)
		must("%s %s", then, program);
	folded = record("-F 499 -d 2 -- %s", program);
	note_lines(&folded, "^program;", 3);
	check_at_least("samples with instruction text",
		       sum_of(&folded, "^program;(.*;)?(a\\(int\\)|\\[program\\+0x[0-9a-f]+\\]);(imul|add|"
				       "cmp|jne|mov|jg|jle|jl|jmp)"
				       "[^;]* \\[0x[0-9a-f]+\\]$"),
		       sum_of(&folded, "^program;"), 0.97);
	folded_done(&folded);
}

HL_TEST(stripped_program)
{
	stripped("-O2", "strip");
}

HL_TEST(program_without_build_id)
{
	stripped("-O2 -Wl,--build-id=none", NULL);
}

HL_TEST(program_of_32_bit)
{
	const char *program;
	struct folded folded;

	if (shell("echo 'int main(void){return 0;}' | gcc -m32 -x c - -o %st32 2>/dev/null && %st32",
		  test_dir(), test_dir()))
		SKIP("no 32-bit programs can be built or run here");
	program = build(
		"__attribute__((noinline)) int burn(int n) { int x = n; for (int i = 0; i < 2000000000; i++) "
		"x = x * 7 + i; return x; }\n"
		"int main(int c, char **v) { return burn(c) + burn(c + 1); }\n",
		"c", "-m32 -O1 -fno-omit-frame-pointer");
	folded = record("-F 499 -d 2 -- %s", program);
	note_lines(&folded, "^program;", 3);
	check_at_least("samples under burn",
		       sum_of(&folded, "^program;(.*;)?burn;[a-z]+ [^;]* \\[0x[0-9a-f]+\\]$"),
		       sum_of(&folded, "^program;"), 0.97);
	folded_done(&folded);
}
