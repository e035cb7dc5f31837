// SPDX-License-Identifier: BSD-2-Clause
/* needs: tests/system/record tests/shell */
#include <stdlib.h>

#include "harness.h"
#include "shell.h"
#include "system/record.h"

/* What Go's pprof, which knows nothing of us, makes of a recording, beside the folded output of the same one. */

static void need_go(void)
{
	if (shell("test $(id -u) = 0"))
		SKIP("recording needs root");
	if (shell("command -v go >/dev/null"))
		SKIP("no go");
}

/* Records @options with a folded output and p.pb.gz, whose path it returns. */
static const char *record_both(const char *options, const char *command, struct folded *ret)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "%sp.pb.gz", test_dir());
	*ret = record("-F 999 -d 2 -o %s %s -- %s", path, options, command);
	CHECK(ret->total > 100);
	return path;
}

static const char *pprof(const char *options, const char *profile)
{
	int status;
	const char *text =
		output_of(&status, "HOME=%s PPROF_NO_BROWSER=1 go tool pprof -sample_index=samples %s %s",
			  test_dir(), options, profile);

	if (status)
		FAIL("%s", text);
	return text;
}

/* Samples of the function's own instructions, by the folded output: flat, and with what it calls. */
static uint64_t folded_self(const struct folded *f, const char *function)
{
	char regex[600];

	(void)snprintf(regex, sizeof(regex), ";%s(_\\[k\\])?;[^;]* \\[0x[0-9a-f]+\\](_\\[k\\])?$", function);
	return sum_of(f, regex);
}

static uint64_t folded_total(const struct folded *f, const char *function)
{
	char regex[600];

	(void)snprintf(regex, sizeof(regex), ";%s(_\\[k\\])?;", function);
	return sum_of(f, regex);
}

/* -top: each function's flat and cumulative samples are those of the folded output. */
static void check_top(const char *profile, const struct folded *folded, uint64_t least)
{
	const char *line = strstr(pprof("-top -nodecount=1000 -nodefraction=0", profile), "flat%");
	uint64_t all = 0;
	unsigned int n = 0;

	CHECK(line);
	for (line = strchr(line, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
		char name[200], escaped[400];
		unsigned long flat, cum;
		size_t at = 0;

		CHECK(sscanf(line, "%lu %*s %*s %lu %*s %199[^\n]", &flat, &cum, name) == 3);
		all += flat;
		/* Names of the kernel's static functions and of markers hold no special characters but these. */
		for (const char *c = name; *c && at < sizeof(escaped) - 2; c++) {
			if (strchr(".[]+$", *c))
				escaped[at++] = '\\';
			escaped[at++] = *c;
		}
		escaped[at] = '\0';
		if (flat != folded_self(folded, escaped) || cum != folded_total(folded, escaped))
			FAIL("%s: %lu and %lu samples, folded %llu and %llu", name, flat, cum,
			     (unsigned long long)folded_self(folded, escaped),
			     (unsigned long long)folded_total(folded, escaped));
		n++;
	}
	CHECK_INT(all, folded->total);
	CHECK(n >= least);
}

/* -disasm: the samples of each instruction of @function. */
static void check_disasm(const char *profile, const struct folded *folded, const char *function)
{
	char options[128];
	const char *line;
	uint64_t all = 0;

	(void)snprintf(options, sizeof(options), "-nodefraction=0 -disasm=%s", function);
	line = strstr(pprof(options, profile), "ROUTINE");
	CHECK(line);
	for (line = strchr(line, '\n') + 1; line && *line; line = strchr(line, '\n') + 1) {
		char flat[32], regex[200];
		unsigned long address;

		if (sscanf(line, " %31s %*s %lx:", flat, &address) != 2)
			continue;
		(void)snprintf(regex, sizeof(regex), ";%s;[^;]* \\[0x%lx\\]$", function, address);
		if (strtoull(flat, NULL, 10) != sum_of(folded, regex))
			FAIL("%s at %lx: %s samples, folded %llu", function, address, flat,
			     (unsigned long long)sum_of(folded, regex));
		all += strtoull(flat, NULL, 10);
	}
	/* Go 1.19 stops one byte before a function's end, where a ret may stand. */
	(void)snprintf(options, sizeof(options), ";%s;ret \\[0x[0-9a-f]+\\]$", function);
	if (all != folded_self(folded, function))
		CHECK_INT(all + sum_of(folded, options), folded_self(folded, function));
}

HL_TEST_TIMEOUT(go_reads_a_recording, 180)
{
	struct folded folded;
	const char *profile, *text;

	need_go();
	profile = record_both("", output_of(NULL, "printf '%%s 60' %s", workload("load")), &folded);
	must("tests/pprof %s >/dev/null", profile);
	check_top(profile, &folded, 5);
	check_disasm(profile, &folded, "average");
	check_disasm(profile, &folded, "by_value");
	/* By address: the instructions are apart. */
	text = pprof("-top -addresses -nodecount=1000", profile);
	CHECK(strstr(text, " average"));
	text = pprof("-peek=average$", profile);
	CHECK(strstr(text, "| average") || strstr(text, "|   average"));
	CHECK(strstr(text, "main"));
	text = pprof("-tags", profile);
	CHECK(strstr(text, "insn: Total") && strstr(text, "comm: Total") && strstr(text, "class: Total"));
	text = pprof("-comments", profile);
	CHECK(strstr(text, "Hz on every CPU") && strstr(text, "\nlost ") && strstr(text, "made by  hotleaf"));
	/* The period is that of the frequency, the default type time. */
	text = pprof("-raw", profile);
	CHECK(strstr(text, "cpu/nanoseconds[dflt]") || strstr(text, "cycles/count[dflt]"));
	folded_done(&folded);
}

HL_TEST_TIMEOUT(instructions_as_lines, 180)
{
	struct folded folded;
	const char *profile, *text;

	need_go();
	profile =
		record_both("--pprof-insn", output_of(NULL, "printf '%%s 60' %s", workload("load")), &folded);
	must("tests/pprof %s >/dev/null", profile);
	text = pprof("-top -nodecount=1000 -nodefraction=0", profile);
	CHECK(strstr(text, "] (inline)"));
	check_disasm(profile, &folded, "average");
	text = pprof("-top -noinlines -nodecount=1000", profile);
	CHECK(strstr(text, " by_value") && !strstr(text, "(inline)"));
	folded_done(&folded);
}

/* Executable segments with addresses far from their offsets. */
HL_TEST_TIMEOUT(segments_of_different_deltas, 180)
{
	static const char *const flags[] = { "", "-Wl,-z,noseparate-code",
					     "-no-pie -Wl,-Ttext-segment=0x10000000",
					     "-fuse-ld=lld -fPIE -pie" };

	need_go();
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		char name[32];
		struct folded folded;
		const char *profile;

		(void)snprintf(name, sizeof(name), "load%zu", i);
		profile = record_both(
			"", output_of(NULL, "printf '%%s 60' %s", build_workload(name, "load.c", flags[i])),
			&folded);
		must("tests/pprof %s >/dev/null", profile);
		check_disasm(profile, &folded, "average");
		folded_done(&folded);
	}
}

/* Callers stand at their calls, lines and files in their fields, and whose a sample is in labels. */
HL_TEST_TIMEOUT(calls_lines_and_labels, 180)
{
	struct folded folded;
	const char *profile, *text;

	need_go();
	profile = record_both("--lines", output_of(NULL, "printf '%%s 60' %s", workload("load")), &folded);
	folded_done(&folded);
	/* A near call has five bytes, of which the address is the last. */
	must("tests/pprof %s | grep -oE 'main@[0-9]+:[0-9a-f]+;(hash_bytes|average|chase|sort_keys|qsort_r)' "
	     "| "
	     "sed 's/.*:\\(.*\\);.*/\\1/' | sort -u >%scalls && test $(wc -l <%scalls) -ge 3",
	     profile, test_dir(), test_dir());
	must("objdump -d %s >%scode && for at in $(cat %scalls); do "
	     "grep -qE \"^ *$(printf %%x $((0x$at - 4))):.*call\" %scode || exit 1; done",
	     workload("load"), test_dir(), test_dir(), test_dir());
	text = pprof("-top -lines -nodecount=1000", profile);
	CHECK(strstr(text, "tests/workload/load.c:"));
	CHECK(!strstr(text, " at load.c:"));
	text = pprof("-list=^by_value$", profile);
	CHECK(strstr(text, "tests/workload/load.c"));
	text = pprof("-tags", profile);
	CHECK(strstr(text, "pid: Total") && strstr(text, "thread: Total") && strstr(text, "exe: Total") &&
	      strstr(text, "process: Total") && strstr(text, "comm: Total"));
}
