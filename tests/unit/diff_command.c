// SPDX-License-Identifier: BSD-2-Clause
/* needs: all tests/profiles tests/stores tests/command tests/shell */
#include "command/command.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"
#include "profile/profile.h"

#include "command.h"
#include "harness.h"
#include "profiles.h"
#include "stores.h"

/* The command as a shell calls it: its exit status, and what it writes. */

static struct hl_loss losses[] = { { "full", "", 0, HL_LOSS_LOST } };

/* app;main;parse;imul and app;main;other;ret, of a build whose code lies at @base. */
static const char *profile_file(const char *name, uint64_t base, uint64_t parse, uint64_t other,
				const char *event)
{
	static char paths[8][64];
	static unsigned int n;
	char *path = paths[n++ % 8], *text;
	const struct hl_profile_meta meta = { .host = "h",
					      .kernel = "k",
					      .version = HL_VERSION,
					      .decoders = "d",
					      .event = event,
					      .unit = "nanoseconds",
					      .frequency = 99,
					      .cpus = 2,
					      .start_ns = STORES_NOON,
					      .end_ns = STORES_NOON + 60 * STORES_S,
					      .expected = 11880,
					      .seen = 11880,
					      .losses = losses,
					      .n_losses = 1 };
	struct hl_profile *p = hl_profile_new();
	uint32_t root = profiles_named(p, HL_FRAME_ROOT, "app");
	uint32_t main_ = profiles_function(p, HL_FRAME_USER, base, "main");
	uint32_t f = profiles_function(p, HL_FRAME_USER, base + 0x100, "parse(int, char)");
	uint32_t g = profiles_function(p, HL_FRAME_USER, base + 0x200, "other");
	uint32_t imul = profiles_insn(p, base + 0x14d, 0x4d, 0, "imul $0x3,%rax,%rdx");
	uint32_t ret = profiles_insn(p, base + 0x201, 1, 0, "ret");
	size_t len;
	FILE *out;

	profiles_add(p, (uint32_t[]){ root, main_, f, imul }, 4, parse);
	profiles_add(p, (uint32_t[]){ root, main_, g, ret }, 4, other);
	CHECK_INT(hl_profile_finish(p), 0);
	hl_profile_set_meta(p, &meta);
	(void)snprintf(path, sizeof(paths[0]), "%s/%s.pb.gz", stores_dir(), name);
	text = profiles_render(p, "pb.gz", &len);
	out = fopen(path, "w");
	CHECK(out && fwrite(text, 1, len, out) == len && fclose(out) == 0);
	free(text);
	hl_profile_free(p);
	return path;
}

#define DIFF(a, b, ...) RUN("diff", a, b __VA_OPT__(, ) __VA_ARGS__)

HL_TEST(exit_status_of_a_rule)
{
	const char *a = profile_file("a", 0x1000, 1000, 3000, "cpu-clock");
	const char *b = profile_file("b", 0x5000, 1500, 2500, "cpu-clock");

	CHECK_INT(DIFF(a, b), 0);
	CHECK_INT(DIFF(a, b, "--fail-on", "symbol=parse self>+10%"), 3);
	check_said("symbol=parse self>+10%: crossed; 25.00 -> 37.50 % of all samples, +50 %");
	CHECK_INT(DIFF(a, b, "--fail-on", "symbol=parse(int, char) self>+10%"), 3);
	CHECK_INT(DIFF(a, b, "--fail-on", "symbol=parse self>+60%"), 0);
	CHECK_INT(DIFF(a, b, "--fail-on", "symbol=parse self>+12points"), 3);
	CHECK_INT(DIFF(a, b, "--fail-on", "symbol=parse self>+13pp"), 0);
	CHECK_INT(DIFF(a, b, "--fail-on", "symbol=main total>+10%"), 0);
	CHECK_INT(DIFF(a, b, "--fail-on", "symbol=main self>+10%"), 4);
	CHECK_INT(DIFF(a, b, "--fail-on", "symbol=other self<-10%"), 3);
	CHECK_INT(DIFF(b, a, "--fail-on", "symbol=parse self>+10%"), 0);
	/* The worst of several. */
	CHECK_INT(DIFF(a, b, "--fail-on", "symbol=main self>+10%", "--fail-on", "symbol=parse self>+10%"), 3);
	CHECK_INT(DIFF(a, a, "--fail-on", "symbol=parse self>+0%"), 0);
}

/* Of a time without samples nothing can be said; without a rule it is a failure. */
HL_TEST(a_rule_on_a_time_without_samples)
{
	const char *a = profile_file("a", 0x1000, 1000, 3000, "cpu-clock");
	char store[80];

	(void)snprintf(store, sizeof(store), "%s/store", stores_dir());
	stores_fill(store, STORES_NOON, 1, 1);
	CHECK_INT(DIFF("2020-01-01..2020-01-02", a, "--store", store), 1);
	CHECK_INT(DIFF("2020-01-01..2020-01-02", a, "--store", store, "--fail-on", "symbol=parse self>+1%"),
		  4);
	CHECK_INT(DIFF(a, "2020-01-01..2020-01-02", "--store", store, "--fail-on", "symbol=parse self>+1%"),
		  4);
}

HL_TEST(what_cannot_be_said)
{
	const char *a = profile_file("a", 0x1000, 1000, 3000, "cpu-clock");
	const char *b = profile_file("b", 0x5000, 1500, 2500, "cpu-clock");
	const char *few = profile_file("few", 0x5000, 20, 20, "cpu-clock");
	const char *near = profile_file("near", 0x5000, 1050, 2950, "cpu-clock");
	const char *cycles = profile_file("cycles", 0x1000, 1000, 3000, "cycles");
	const char *lossy;

	CHECK_INT(DIFF(a, b, "--fail-on", "symbol=parse self>+10%", "--min-samples", "1501"), 4);
	CHECK_INT(DIFF(a, b, "--fail-on", "symbol=parse self>+10%", "--min-samples", "1500"), 3);
	CHECK_INT(DIFF(few, few, "--fail-on", "symbol=parse self>+10%"), 4);
	CHECK_INT(DIFF(a, b, "--fail-on", "symbol=nothing self>+10%"), 4);
	/* 5 % more, and as much by chance. */
	CHECK_INT(DIFF(a, near, "--fail-on", "symbol=parse self>+2%"), 4);
	check_said("may be chance");
	CHECK_INT(DIFF(a, cycles, "--fail-on", "symbol=parse self>+10%"), 4);
	CHECK_INT(DIFF(a, cycles), 1);
	losses[0].count = 700;
	lossy = profile_file("lossy", 0x5000, 1500, 2500, "cpu-clock");
	CHECK_INT(DIFF(a, lossy, "--fail-on", "symbol=parse self>+10%"), 4);
	check_said("700 of 11880 samples were lost after");
}

HL_TEST(wrong_use)
{
	static const char *const rules[] = { "parse self>+10%",  "symbol= self>+1%",   "symbol=f self>10%",
					     "symbol=f self+1%", "symbol=f own>+1%",   "symbol=f self>+1",
					     "symbol=f self>+%", "symbol=f self>+1%%", "symbol=f" };
	const char *a = profile_file("a", 0x1000, 1000, 3000, "cpu-clock");

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (DIFF(a, a, "--fail-on", rules[i]) != 2)
			FAIL("\"%s\" was taken", rules[i]);
	CHECK_INT(DIFF(a, NULL), 2);
	CHECK_INT(DIFF(a, a, "-f", "pb.gz", "-o", "/tmp/hl-never"), 2);
	CHECK(access("/tmp/hl-never", F_OK));
	CHECK_INT(DIFF(a, "/nowhere/x.pb.gz"), 1);
	CHECK_INT(DIFF(a, "now..-1h"), 2);
	CHECK_INT(DIFF(a, "build-id:zz"), 2);
	CHECK_INT(DIFF(a, a, "--min-samples", "3"), 2);
}

HL_TEST(two_columns)
{
	const char *a = profile_file("a", 0x1000, 10, 30, "cpu-clock");
	const char *b = profile_file("b", 0x5000, 15, 0, "cpu-clock");

	CHECK_INT(DIFF(a, b, "-o", "-", "-f", "folded"), 0);
	CHECK_STR(said, "app;main;other;ret [+0x1] 30 0\n"
			"app;main;parse(int, char);imul $0x3,%rax,%rdx [+0x4d] 10 15\n");
}

HL_TEST(text_says_what_changed_and_what_was_lost)
{
	const char *a = profile_file("a", 0x1000, 1000, 3000, "cpu-clock");
	const char *b = profile_file("b", 0x5000, 1500, 0, "cpu-clock");

	CHECK_INT(DIFF(a, b, "--normalize", "time"), 0);
	check_said("before   h, 2024-02-28T12:00:00Z, 60 s; 4000 samples, 0.673 of 2 CPUs; 0 lost");
	check_said("after    h, 2024-02-28T12:00:00Z, 60 s; 1500 samples, 0.253 of 2 CPUs; 0 lost");
	check_said(" 0.505  0.000  -0.505   gone        -0.505  app     other\n");
	check_said(" 0.168  0.253  +0.084  +50 %  app     parse(int, char)+0x4d  imul $0x3,%rax,%rdx\n");
	CHECK_INT(DIFF(a, a), 0);
	check_said("no function changed beyond noise, of 3\n");
}

HL_TEST(picture_shows_what_is_gone)
{
	const char *a = profile_file("a", 0x1000, 1000, 3000, "cpu-clock");
	const char *b = profile_file("b", 0x5000, 1500, 0, "cpu-clock");

	CHECK_INT(DIFF(a, b, "-o", "-", "-f", "svg"), 0);
	profiles_check_svg(said, strlen(said));
	check_said("<g class=\"gone\"><title>other (/usr/sbin/app)\n75.00 -&gt; 0.00 % of all samples, gone\n"
		   "3000 -&gt; 0 samples");
	check_said(">-75.00 other</text>");
	check_said(">+75.00 parse(int, char)</text>");
}

HL_TEST(ranges_of_a_store)
{
	char dir[80];

	(void)snprintf(dir, sizeof(dir), "%s/store", stores_dir());
	stores_fill(dir, STORES_NOON, 60, 1);
	CHECK_INT(DIFF("2024-02-28T12:00:00Z..2024-02-28T12:05:00Z",
		       "2024-02-28T12:05:00Z..2024-02-28T12:10:00Z", "--store", dir),
		  0);
	check_said("before   host1, 2024-02-28T12:00:00Z, 300 s");
	check_said("after    host1, 2024-02-28T12:05:00Z, 300 s");
	CHECK_INT(DIFF(dir, dir, "--since", "2024-02-28T12:00:00Z", "--until", "2024-02-28T12:10:00Z"), 0);
	check_said("no instruction changed beyond noise");
	CHECK_INT(DIFF("-2h..-1h", "-1h..", "--store", dir), 1); /* there is nothing */
	CHECK_INT(DIFF("build-id:1234", "build-id:1234", "--store", dir, "--since", "2024-02-28T12:00:00Z",
		       "--until", "2024-02-28T12:10:00Z"),
		  0);
	CHECK_INT(DIFF("build-id:1234", "build-id:5678", "--store", dir, "--since", "2024-02-28T12:00:00Z",
		       "--until", "2024-02-28T12:10:00Z"),
		  1);
}
