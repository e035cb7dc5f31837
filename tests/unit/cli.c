// SPDX-License-Identifier: BSD-2-Clause
/* needs: base cli */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/parse.h"

#include "harness.h"

struct demo {
	uint64_t room, share;
	bool all, quiet;
	uint32_t hz;
	uint64_t duration;
	const char *title;
	int format;
	struct hl_words outputs, by;
	struct hl_numbers pids;
};

static const char *const formats[] = { "html", "svg", "folded", NULL };
static const char *const keys[] = { "process", "service", "host", NULL };

static const struct hl_option demo_options[] = {
	HL_HEADING("What"),
	{ "all", 'a', HL_FLAG(struct demo, all), .help = "everything" },
	{ "quiet", 'q', HL_FLAG(struct demo, quiet), .help = "say nothing" },
	{ "pid", 'p', HL_NUMBERS(struct demo, pids), .min = 1, .max = 4194304, .rejects = "all,COMMAND",
	  .metavar = "PID,…", .help = "these processes" },
	HL_HEADING("How"),
	{ "frequency", 'F', HL_UINT(struct demo, hz), .min = 1, .max = 10000, .default_text = "99",
	  .metavar = "HZ", .help = "samples a second" },
	{ "duration", 'd', HL_SECONDS(struct demo, duration), .min = HL_SECOND_NS / 10,
	  .max = 86400 * HL_SECOND_NS, .metavar = "SECONDS", .help = "how long" },
	{ "room", 'r', HL_BYTES(struct demo, room), .min = 1000, .max = UINT64_C(1) << 40, .metavar = "BYTES",
	  .help = "how much" },
	{ "share", 0, HL_PERCENT(struct demo, share), .min = 10, .max = 100 * HL_ONE_PERCENT,
	  .metavar = "PERCENT", .help = "of it" },
	{ "output", 'o', HL_STRINGS(struct demo, outputs), .metavar = "FILE", .help = "where to" },
	{ "format", 'f', HL_CHOICE(struct demo, format), .choices = formats, .default_text = "svg",
	  .metavar = "FORMAT", .help = "one of" },
	{ "by", 0, HL_WORDS(struct demo, by), .choices = keys, .metavar = "KEY,…", .help = "root frames" },
	{ "title", 't', HL_STRING(struct demo, title), .needs = "output", .metavar = "TEXT",
	  .help = "headline" },
};

static const struct hl_command demo = {
	.name = "demo",
	.usage = "[OPTION…] [-- COMMAND]",
	.summary = "show",
	.options = demo_options,
	.n_options = sizeof(demo_options) / sizeof(demo_options[0]),
	.config_size = sizeof(struct demo),
	.rest = "COMMAND",
	.rest_is_command = true,
};
static const struct hl_command plain = { .name = "plain" };

static struct demo got;
static char **rest;
static struct hl_err err;

/* Parses @line, split at spaces; '_' stands for an empty argument. */
static int parse_for(const struct hl_command *command, const char *line)
{
	static struct hl_arena arena;
	static char copy[300], *argv[40];
	int n = 0;

	hl_arena_done(&arena);
	memset(&arena, 0, sizeof(arena));
	memset(&got, 0, sizeof(got));
	err.text[0] = 0;
	rest = NULL;
	(void)snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		argv[n++] = strcmp(word, "_") == 0 ? word + 1 : word;
	argv[n] = NULL;
	return hl_cli_parse(command, argv, &got, &arena, &rest, &err);
}

static int parse(const char *line)
{
	return parse_for(&demo, line);
}

static const char *refusal(const char *line)
{
	int r = parse(line);

	if (r != -EINVAL)
		FAIL("\"%s\" gives %d", line, r);
	return err.text;
}

HL_TEST(defaults_apply_to_what_is_not_given)
{
	CHECK_INT(parse(""), 0);
	CHECK_INT(got.hz, 99);
	CHECK_INT(got.format, 1);
	CHECK_INT(got.duration, 0);
	CHECK(!got.all && !got.title && !got.pids.n && !rest[0]);
}

HL_TEST(values_in_all_spellings)
{
	for (int i = 0; i < 4; i++) {
		static const char *const lines[] = { "--frequency=7", "--frequency 7", "-F7", "-F 7" };

		CHECK_INT(parse(lines[i]), 0);
		CHECK_INT(got.hz, 7);
	}
	CHECK_INT(parse("-F 7 -F 8"), 0);
	CHECK_INT(got.hz, 8);
	CHECK_INT(parse("--share 0.5"), 0);
	CHECK_INT(got.share, HL_ONE_PERCENT / 2);
	CHECK_INT(parse("--share 50%"), 0);
	CHECK_INT(got.share, 50 * HL_ONE_PERCENT);
	CHECK_STR(refusal("--share 101"), "value \"101\" of option \"--share\" is out of range; give percent "
					  "from 0.01 to 100");
	CHECK_INT(parse("-d 1.5"), 0);
	CHECK_INT(got.duration, 1500000000);
	CHECK_INT(parse("-d 5m"), 0);
	CHECK_INT(got.duration, 300 * HL_SECOND_NS);
	CHECK_INT(parse("-d 0.5h"), 0);
	CHECK_INT(got.duration, 1800 * HL_SECOND_NS);
	CHECK_INT(parse("-o a,b -o - --title x=y"), 0);
	CHECK_INT(got.outputs.n, 2);
	CHECK_STR(got.outputs.items[0], "a,b");
	CHECK_STR(got.outputs.items[1], "-");
	CHECK_STR(got.title, "x=y");
	CHECK_INT(parse("-f folded"), 0);
	CHECK_INT(got.format, 2);
}

HL_TEST(lists_gather_over_occurrences)
{
	CHECK_INT(parse("-p 3,1 -p4194304"), 0);
	CHECK_INT(got.pids.n, 3);
	CHECK_INT(got.pids.items[0], 3);
	CHECK_INT(got.pids.items[1], 1);
	CHECK_INT(got.pids.items[2], 4194304);
	CHECK_INT(parse("--by host,process --by=service"), 0);
	CHECK_INT(got.by.n, 3);
	CHECK_STR(got.by.items[0], "host");
	CHECK_STR(got.by.items[2], "service");
}

HL_TEST(flags_bundle_and_the_last_may_take_a_value)
{
	CHECK_INT(parse("-aqF 12"), 0);
	CHECK(got.all && got.quiet);
	CHECK_INT(got.hz, 12);
	CHECK_INT(parse("-qF13"), 0);
	CHECK(!got.all && got.quiet);
	CHECK_INT(got.hz, 13);
}

HL_TEST(a_command_ends_the_options)
{
	CHECK_INT(parse("-q -- sleep -q 5"), 0);
	CHECK_STR(rest[0], "sleep");
	CHECK_STR(rest[1], "-q");
	CHECK_STR(rest[2], "5");
	CHECK(!rest[3]);
	CHECK_INT(parse("sleep --help"), 0);
	CHECK_STR(rest[1], "--help");
	CHECK_INT(parse("-"), 0);
	CHECK_STR(rest[0], "-");
	CHECK_INT(parse("-- -- x"), 0);
	CHECK_STR(rest[0], "--");
}

HL_TEST(help_is_known_everywhere)
{
	CHECK_INT(parse("--help"), HL_CLI_HELP);
	CHECK_INT(parse("-qh"), HL_CLI_HELP);
	CHECK_INT(parse_for(&plain, "-h"), HL_CLI_HELP);
}

HL_TEST(unknown_options_name_the_nearest)
{
	CHECK_STR(refusal("--freqency 3"), "unknown option \"--freqency\"; did you mean \"--frequency\"?");
	CHECK_STR(refusal("--dur=3"), "unknown option \"--dur\"; did you mean \"--duration\"?");
	CHECK_STR(refusal("--hepl"), "unknown option \"--hepl\"; did you mean \"--help\"?");
	CHECK_STR(refusal("--zzz"), "unknown option \"--zzz\"; \"hotleaf help demo\" lists the options");
	CHECK_STR(refusal("-qz"),
		  "unknown option \"-z\" in \"-qz\"; \"hotleaf help demo\" lists the options");
	CHECK_STR(refusal("--How"), "unknown option \"--How\"; \"hotleaf help demo\" lists the options");
}

HL_TEST(missing_and_needless_values)
{
	CHECK_STR(refusal("-F"), "option \"-F\" needs a value: -F HZ");
	CHECK_STR(refusal("--output"), "option \"--output\" needs a value: --output FILE");
	CHECK_STR(refusal("--all=maybe"), "value \"maybe\" of option \"--all\" is neither yes nor no");
	CHECK_INT(parse("--all=yes --quiet --quiet=off"), 0);
	CHECK(got.all && !got.quiet);
	CHECK_STR(refusal("-o _"), "value of option \"-o\" is empty; give FILE");
}

HL_TEST(numbers_have_a_range)
{
	CHECK_INT(parse("-F 1"), 0);
	CHECK_INT(parse("-F 10000"), 0);
	CHECK_STR(refusal("-F 0"),
		  "value \"0\" of option \"-F\" is out of range; give a whole number from 1 to 10000");
	CHECK_STR(refusal("--frequency 10001"), "value \"10001\" of option \"--frequency\" is out of range; "
						"give a whole number from 1 to 10000");
	CHECK_STR(refusal("-F 18446744073709551617"), "value \"18446744073709551617\" of option \"-F\" is "
						      "out of range; give a whole number from 1 to "
						      "10000");
	CHECK_STR(refusal("-F 9x"),
		  "value \"9x\" of option \"-F\" is not a whole number; give a whole number from 1 to 10000");
	CHECK_STR(refusal("-F -1"),
		  "value \"-1\" of option \"-F\" is not a whole number; give a whole number from 1 to 10000");
	CHECK_STR(refusal("-p 1,,2"),
		  "value \"\" of option \"-p\" is not a whole number; give a whole number from 1 to 4194304");
	CHECK_STR(refusal("-p 1,2,"),
		  "value \"\" of option \"-p\" is not a whole number; give a whole number from 1 to 4194304");
}

HL_TEST(bytes)
{
	CHECK_INT(parse("-r 1000"), 0);
	CHECK_INT(got.room, 1000);
	CHECK_INT(parse("--room=4G"), 0);
	CHECK_INT(got.room, 4LL << 30);
	CHECK_INT(parse("-r 1.5M"), 0);
	CHECK_INT(got.room, 3LL << 19);
	CHECK_INT(parse("-r 10k"), 0);
	CHECK_INT(got.room, 10240);
	CHECK_INT(parse("-r 1T"), 0);
	CHECK_STR(refusal("-r 999"),
		  "value \"999\" of option \"-r\" is out of range; give bytes from 1000 to 1T, as "
		  "500M or 4G");
	CHECK(strstr(refusal("-r 2T"), "is out of range"));
	CHECK(strstr(refusal("-r 99999999P"), "is out of range"));
	CHECK(strstr(refusal("-r 4GB"), "is not a number of bytes"));
	CHECK(strstr(refusal("-r G"), "is not a number of bytes"));
}

HL_TEST(times_have_a_range)
{
	static const char *const bad[] = { "x", "_", "1.", ".5", "1..5", "1.5.", "-1", "1e3", "s", "+1" };

	CHECK_INT(parse("-d 0.1"), 0);
	CHECK_INT(parse("-d 1d"), 0);
	CHECK_STR(refusal("-d 0"),
		  "value \"0\" of option \"-d\" is out of range; give seconds from 0.1 to 86400, "
		  "or a time like 90s, 5m, 1h");
	CHECK_STR(refusal("-d 86400.000000001"), "value \"86400.000000001\" of option \"-d\" is out of "
						 "range; give seconds from 0.1 to 86400, or "
						 "a time like 90s, 5m, 1h");
	CHECK_STR(refusal("-d 5min"),
		  "value \"5min\" of option \"-d\" is not a time; give seconds from 0.1 to "
		  "86400, or a time like 90s, 5m, 1h");
	CHECK(strstr(refusal("-d 99999999999999999999d"), "is out of range"));
	CHECK(strstr(refusal("-d 18446744073.9"), "is out of range"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char line[40];

		(void)snprintf(line, sizeof(line), "-d %s", bad[i]);
		CHECK(strstr(refusal(line), "is not a time"));
	}
}

HL_TEST(choices_are_named)
{
	CHECK_STR(refusal("-f htm"),
		  "value \"htm\" of option \"-f\" is unknown; did you mean \"html\"? there are: "
		  "html, svg, folded");
	CHECK_STR(refusal("-f postscript"),
		  "value \"postscript\" of option \"-f\" is unknown; give one of: html, svg, folded");
	CHECK_STR(refusal("--by host,nothing"),
		  "value \"nothing\" of option \"--by\" is unknown; give one of: process, service, host");
	CHECK_STR(refusal("--by host,,host"),
		  "value \"host,,host\" of option \"--by\" has an empty element; give "
		  "KEY,… as words with a comma between them");
}

HL_TEST(what_excludes_and_what_needs_each_other)
{
	CHECK_STR(refusal("-a -p 1"),
		  "options \"--pid\" and \"--all\" exclude each other; leave one of them out");
	CHECK_STR(refusal("-p 1 -- sleep 5"),
		  "option \"--pid\" and COMMAND \"sleep\" exclude each other; leave one of them out");
	CHECK_STR(refusal("-t x"), "option \"--title\" needs option \"--output\" too; give both, or neither");
	CHECK_INT(parse("-t x -o y"), 0);
	CHECK_INT(parse("-a -- sleep"), 0);
}

HL_TEST(operands_are_counted)
{
	static const struct hl_command one = { .name = "one", .rest = "FILE", .rest_max = 1 };

	CHECK_INT(parse_for(&plain, "x"), -EINVAL);
	CHECK_STR(err.text, "\"hotleaf plain\" takes no operands, but \"x\" was given");
	CHECK_INT(parse_for(&one, "x"), 0);
	CHECK_INT(parse_for(&one, "x y"), -EINVAL);
	CHECK_STR(err.text, "\"hotleaf one\" takes at most 1 FILE; \"y\" is one too many");
}

HL_TEST(distance_counts_edits)
{
	CHECK_INT(hl_cli_distance("", ""), 0);
	CHECK_INT(hl_cli_distance("abc", ""), 3);
	CHECK_INT(hl_cli_distance("record", "recrod"), 1);
	CHECK_INT(hl_cli_distance("kitten", "sitting"), 3);
}

HL_TEST(help_lists_each_row)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	CHECK(f != NULL);
	hl_help_command(&demo, f);
	CHECK_INT(fclose(f), 0);
	CHECK(strstr(text, "usage: hotleaf demo [OPTION…] [-- COMMAND]\n"));
	CHECK(strstr(text, "\nHow:\n  -F, --frequency HZ          samples a second (default 99)\n"));
	CHECK(strstr(text, "\n  -f, --format FORMAT         one of: html, svg, folded (default svg)\n"));
	CHECK(strstr(text, "\n      --by KEY,…              root frames: process, service, host\n"));
	CHECK(strstr(text, "\n  -h, --help "));
	free(text);
}

/* ---- the whole program ---- */

static int run_status;

static int run_demo(void *config, char **operands, struct hl_err *e)
{
	printf("ran\n");
	return run_status < 0 ? hl_err_set(e, run_status, "could not do it") : run_status;
}

/* Runs "hotleaf LINE" with stdout and stderr into files; returns the exit status, the texts in @out, @said. */
static int run(const char *line, const char *out_path, char *said, size_t size)
{
	static const struct hl_command works = { .name = "works", .summary = "work", .run = run_demo };
	static const struct hl_command *const commands[] = { &works, NULL };
	char copy[100], *argv[10] = { "hotleaf" };
	int n = 1, status, out, log = memfd_create("log", 0), old_out = dup(1), old_err = dup(2);
	ssize_t len;

	(void)snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		argv[n++] = word;
	fflush(stdout);
	out = open(out_path, O_WRONLY | O_CLOEXEC);
	CHECK(out >= 0 && log >= 0);
	CHECK(dup2(out, 1) == 1 && dup2(log, 2) == 2);
	status = hl_cli_run(commands, n, argv);
	CHECK(dup2(old_out, 1) == 1 && dup2(old_err, 2) == 2);
	clearerr(stdout);
	len = pread(log, said, size - 1, 0);
	CHECK(len >= 0);
	said[len] = 0;
	close(log);
	close(out);
	close(old_out);
	close(old_err);
	return status;
}

HL_TEST(results_become_exit_statuses)
{
	char said[600];

	CHECK_INT(run("works", "/dev/null", said, sizeof(said)), 0);
	CHECK_STR(said, "");
	run_status = -EIO;
	CHECK_INT(run("works", "/dev/null", said, sizeof(said)), 1);
	CHECK_STR(said, "hotleaf: could not do it\n");
	run_status = 3;
	CHECK_INT(run("works", "/dev/null", said, sizeof(said)), 3);
	CHECK_STR(said, "");
}

HL_TEST(wrong_usage_is_status_2)
{
	char said[600];

	CHECK_INT(run("works --no", "/dev/null", said, sizeof(said)), 2);
	CHECK_STR(said, "hotleaf: unknown option \"--no\"; \"hotleaf help works\" lists the options\n");
	CHECK_INT(run("wroks", "/dev/null", said, sizeof(said)), 2);
	CHECK_STR(said, "hotleaf: unknown command \"wroks\"; did you mean \"works\"?\n");
	CHECK_INT(run("--pid", "/dev/null", said, sizeof(said)), 2);
	CHECK_STR(said,
		  "hotleaf: unknown option \"--pid\"; a command comes first: hotleaf COMMAND [OPTION…]\n");
	CHECK_INT(run("", "/dev/null", said, sizeof(said)), 2);
	CHECK(strstr(said, "usage: hotleaf COMMAND"));
}

HL_TEST(an_unwritable_stdout_is_a_failure)
{
	char said[600];

	CHECK_INT(run("works", "/dev/full", said, sizeof(said)), 1);
	CHECK_STR(said, "hotleaf: cannot write standard output: No space left on device\n");
}
