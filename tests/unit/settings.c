// SPDX-License-Identifier: BSD-2-Clause
/* needs: base cli tests/shell */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/parse.h"

#include "harness.h"
#include "shell.h"

struct demo {
	struct hl_settings settings;
	bool quiet, loud;
	uint32_t hz;
	uint64_t window;
	const char *store;
	struct hl_words exclude;
};

static const struct hl_option demo_options[] = {
	{ "config", 0, HL_SETTINGS(struct demo, settings), .metavar = "FILE", .help = "settings",
	  .typed_only = true },
	{ "quiet", 'q', HL_FLAG(struct demo, quiet), .help = "say nothing" },
	{ "frequency", 'F', HL_UINT(struct demo, hz), .min = 1, .max = 1000, .default_text = "19",
	  .metavar = "HZ", .help = "samples a second" },
	{ "window", 0, HL_SECONDS(struct demo, window), .min = HL_SECOND_NS, .max = 3600 * HL_SECOND_NS,
	  .default_text = "10", .metavar = "SECONDS", .help = "how long" },
	{ "store", 0, HL_STRING(struct demo, store), .metavar = "DIR", .rejects = "quiet",
	  .help = "where to" },
	{ "exclude", 0, HL_STRINGS(struct demo, exclude), .metavar = "KEY=VALUE", .help = "not these" },
	{ "loud", 0, HL_FLAG(struct demo, loud), .needs = "store", .help = "say all" },
};
static const struct hl_option other_options[] = {
	{ "config", 0, HL_SETTINGS(struct demo, settings), .metavar = "FILE", .help = "settings",
	  .typed_only = true },
	{ "depth", 0, HL_UINT(struct demo, hz), .min = 1, .max = 9, .metavar = "N", .help = "how deep" },
	{ "store", 0, HL_STRING(struct demo, store), .metavar = "DIR", .help = "where to" },
};
static const struct hl_command demo = {
	.name = "demo", .options = demo_options, .n_options = 7, .config_size = sizeof(struct demo)
};
static const struct hl_command other = {
	.name = "other", .options = other_options, .n_options = 3, .config_size = sizeof(struct demo)
};
static const struct hl_command plain = { .name = "plain" };
static const struct hl_command *const commands[] = { &demo, &other, &plain, NULL };

static char dir[] = "/tmp/hotleaf-settings-XXXXXX";
static bool made;
static struct demo got;
static struct hl_err err;
static struct hl_arena arena;

static void clean(void)
{
	(void)shell("rm -rf '%s'", dir);
}

static void write_bytes(const char *name, const char *bytes, size_t len)
{
	char path[200];
	int fd;

	if (!made) {
		CHECK(mkdtemp(dir) && atexit(clean) == 0);
		made = true;
	}
	(void)snprintf(path, sizeof(path), "%s/conf.d", dir);
	(void)mkdir(path, 0755);
	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	CHECK(fd >= 0 && write(fd, bytes, len) == (ssize_t)len && close(fd) == 0);
}

static void write_text(const char *name, const char *text)
{
	write_bytes(name, text, strlen(text));
}

/* Reads "main.conf" and what is beside it; @first and @second are on the command line. */
static int load(const char *first, const char *second)
{
	static char option[300];
	static char *argv[4];
	char **rest;

	hl_arena_done(&arena);
	memset(&arena, 0, sizeof(arena));
	memset(&got, 0, sizeof(got));
	err.text[0] = 0;
	(void)snprintf(option, sizeof(option), "--config=%s/main.conf", dir);
	argv[0] = option;
	argv[1] = (char *)first;
	argv[2] = first ? (char *)second : NULL;
	got.settings.commands = commands;
	got.settings.argv = argv;
	return hl_cli_parse(&demo, argv, &got, &arena, &rest, &err);
}

static void check_refusal(const char *text, const char *want)
{
	char whole[700];

	write_text("main.conf", text);
	CHECK_INT(load(NULL, NULL), -EINVAL);
	(void)snprintf(whole, sizeof(whole), "'%s/main.conf' %s", dir, want);
	CHECK_STR(err.text, whole);
}

HL_TEST(settings_are_options)
{
	write_text("main.conf", "\xef\xbb\xbf# what runs here\r\n"
				"frequency = 49\r\n"
				"; more\n"
				"  \n"
				"quiet: yes ; or no\n"
				"exclude = comm=a\n"
				"[demo]\n"
				"window=1m\n"
				"[other]\n"
				"depth = 3");
	CHECK_INT(load(NULL, NULL), 0);
	CHECK_INT(got.hz, 49);
	CHECK(got.quiet);
	CHECK_INT(got.window, 60 * HL_SECOND_NS);
	CHECK(got.exclude.n == 1 && strcmp(got.exclude.items[0], "comm=a") == 0);
	CHECK(!got.store);
	CHECK(strstr(got.settings.read, "/main.conf") && !strchr(got.settings.read, ' '));
}

HL_TEST(the_command_line_wins)
{
	write_text("main.conf", "frequency = 49\nquiet = yes\nexclude = a\nexclude = b\n");
	CHECK_INT(load("-F7", "--quiet=no"), 0);
	CHECK_INT(got.hz, 7);
	CHECK(!got.quiet);
	CHECK_INT(got.exclude.n, 2);
	CHECK_INT(load("--exclude=c", NULL), 0);
	CHECK(got.exclude.n == 1 && strcmp(got.exclude.items[0], "c") == 0);
	CHECK_INT(got.hz, 49);
}

HL_TEST(later_files_win)
{
	write_text("main.conf", "frequency = 1\nwindow = 1\nexclude = a\nstore = /a\n");
	write_text("conf.d/10-a.conf", "frequency = 2\nwindow = 2\nexclude = b\nexclude = c\n");
	write_text("conf.d/20-b.conf", "frequency = 3\n");
	write_text("conf.d/30-c.conf.old", "frequency = 4\n");
	write_text("conf.d/.40-d.conf", "frequency = 5\n");
	CHECK_INT(load(NULL, NULL), 0);
	CHECK_INT(got.hz, 3);
	CHECK_INT(got.window, 2 * HL_SECOND_NS);
	CHECK_STR(got.store, "/a");
	CHECK(got.exclude.n == 2 && strcmp(got.exclude.items[1], "c") == 0);
	/* A mistake is one, also where another file wins. */
	write_text("conf.d/10-a.conf", "\nfrequency = 0\n");
	CHECK_INT(load(NULL, NULL), -EINVAL);
	CHECK(strstr(err.text, "conf.d/10-a.conf' line 2: value \"0\" of option \"frequency\" is out of"));
}

HL_TEST(mistakes_have_a_file_and_a_line)
{
	char longer[400];

	check_refusal("frequency = 49\n\nfrequency=x\n",
		      "line 3: setting \"frequency\" is in line 1 already");
	check_refusal("window = 5\n# c\nfrequency = 4000\n",
		      "line 3: value \"4000\" of option \"frequency\" is out of range; give a whole number "
		      "from 1 to 1000");
	check_refusal("quiet = perhaps\n",
		      "line 1: value \"perhaps\" of option \"quiet\" is neither yes nor no");
	check_refusal("freqency = 4\n", "line 1: unknown setting \"freqency\"; did you mean \"frequency\"?");
	check_refusal("zzz = 4\n", "line 1: unknown setting \"zzz\"; settings are named as the options that "
				   "\"hotleaf help demo\" lists");
	check_refusal("[plain]\nfrequency = 4\n",
		      "line 2: section \"[plain]\" is of no command that reads settings");
	check_refusal("[other]\n\ndepth = 10\n", "line 3: value \"10\" of option \"depth\" is out of range; "
						 "give a whole number from 1 to 9");
	check_refusal("depth = 10\n", "line 1: value \"10\" of option \"depth\" is out of range; "
				      "give a whole number from 1 to 9");
	check_refusal("frequency = 3\nfrequency\n", "line 2: is neither NAME = VALUE nor [SECTION]");
	check_refusal("[demo\n", "line 1: is neither NAME = VALUE nor [SECTION]");
	check_refusal("what\nfrequency = 0\n", "line 1: is neither NAME = VALUE nor [SECTION]");
	check_refusal("frequency = 0\nwhat\n", "line 1: value \"0\" of option \"frequency\" is out of range; "
					       "give a whole number from 1 to 1000");
	check_refusal("store =\n", "line 1: value of option \"store\" is empty; give DIR");
	check_refusal("config = /x\n", "line 1: option \"--config\" is for the command line only");
	check_refusal("quiet = 1\nstore = a\n  b\n", "line 3: setting \"store\" is in line 2 already");
	memset(longer, 'a', sizeof(longer));
	memcpy(longer, "\nstore = ", 9);
	longer[399] = 0;
	check_refusal(longer, "line 2: is longer than 198 bytes");
	write_bytes("main.conf", "frequency = 9\nst\0re = 9\n", 24);
	CHECK_INT(load(NULL, NULL), -EINVAL);
	CHECK(strstr(err.text, "line 2: holds a byte 0"));
}

HL_TEST(conflicts_name_both_places)
{
	char want[700];

	write_text("main.conf", "store = a\nquiet = yes\n");
	CHECK_INT(load(NULL, NULL), -EINVAL);
	(void)snprintf(want, sizeof(want),
		       "'%s/main.conf' line 1: '%s/main.conf' line 2: options \"--store\" and \"--quiet\" "
		       "exclude each other; leave one of them out",
		       dir, dir);
	CHECK_STR(err.text, want);
}

/* A template may list all flags. */
HL_TEST(a_flag_that_is_off_needs_nothing)
{
	write_text("main.conf", "quiet = no\nstore = a\n");
	CHECK_INT(load(NULL, NULL), 0);
	write_text("main.conf", "loud = no\n");
	CHECK_INT(load(NULL, NULL), 0);
	CHECK(!got.loud);
	write_text("main.conf", "loud = yes\n");
	CHECK_INT(load(NULL, NULL), -EINVAL);
	CHECK(strstr(err.text, "needs option \"--store\" too"));
}

HL_TEST(files_that_cannot_be_read)
{
	char path[200], *none[] = { "--config=none", NULL }, **rest;

	write_text("conf.d/a", "");
	CHECK_INT(load(NULL, NULL), -EINVAL);
	CHECK(strstr(err.text, "main.conf': No such file"));
	(void)snprintf(path, sizeof(path), "%s/main.conf", dir);
	CHECK(mkfifo(path, 0644) == 0);
	CHECK_INT(load(NULL, NULL), -EINVAL);
	CHECK(strstr(err.text, "cannot read '"));
	memset(&got, 0, sizeof(got));
	got.settings.commands = commands;
	CHECK_INT(hl_cli_parse(&demo, none, &got, &arena, &rest, &err), 0);
	CHECK_STR(got.settings.read, "");
}

HL_TEST(read_again)
{
	struct demo again = { 0 };
	struct hl_arena more = { 0 };

	write_text("main.conf", "frequency = 49\n");
	CHECK_INT(load("--window=7", NULL), 0);
	write_text("main.conf", "frequency = 50\nwindow = 9\n");
	CHECK_INT(hl_settings_read_again(&got.settings, &again, &more, &err), 0);
	CHECK_INT(again.hz, 50);
	CHECK_INT(again.window, 7 * HL_SECOND_NS);
	write_text("main.conf", "frequency = no\n");
	memset(&again, 0, sizeof(again));
	CHECK_INT(hl_settings_read_again(&got.settings, &again, &more, &err), -EINVAL);
	CHECK_INT(got.hz, 49);
	hl_arena_done(&more);
}
