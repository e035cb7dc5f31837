// SPDX-License-Identifier: BSD-2-Clause
/* needs: all */
#include "command/selection.h"

#include <errno.h>
#include <stdlib.h>

#include "base/str.h"
#include "cli/cli.h"
#include "command/identity.h"
#include "harness.h"
#include "process/container.h"
#include "sample/reason.h"

#define WORDS(...)                                                                      \
	&(struct hl_words)                                                              \
	{                                                                               \
		.items = (const char *[]){ "", ##__VA_ARGS__ } + 1,                     \
		.n = sizeof((const char *[]){ "", ##__VA_ARGS__ }) / sizeof(char *) - 1 \
	}

static const struct hl_label labels[] = { { "team", "a" }, { "io.x/y", "1=2" } };

/* A process in a container; its pod's name is hostile. */
static const struct hl_identity contained = {
	.value = { [HL_BY_HOST] = "vm",
		   [HL_BY_CONTAINER] = "web",
		   [HL_BY_POD] = "[no pod]",
		   [HL_BY_PROCESS] = "sh",
		   [HL_BY_SERVICE] = "ns/web/web",
		   [HL_BY_PID] = "12",
		   [HL_BY_UNIT] = "" },
	.labels = (struct hl_label *)labels,
	.n_labels = 2,
};
static const struct hl_identity plain = { .value = { [HL_BY_HOST] = "vm", [HL_BY_PROCESS] = "cc1" } };
static const struct hl_identity unknown = { .cgroup_unknown = true,
					    .value = { [HL_BY_HOST] = "vm", [HL_BY_PROCESS] = "gone" } };
static const struct hl_identity kthread = { .kind = HL_IDENTITY_KTHREAD,
					    .value = { [HL_BY_HOST] = "vm", [HL_BY_PROCESS] = "kworker" } };
static const struct hl_identity idle = { .kind = HL_IDENTITY_IDLE, .value = { [HL_BY_HOST] = "vm" } };

static int add_root(void *ctx, const char *name, size_t len)
{
	struct hl_str *text = ctx;

	hl_str_addf(text, "%s%.*s", text->len ? ";" : "", (int)len, name);
	return 0;
}

static void check_roots(const struct hl_words *by, const struct hl_identity *identity, const char *want)
{
	struct hl_selection *selection;
	_cleanup_str_ struct hl_str text = { 0 };

	CHECK_INT(hl_selection_new(by, WORDS(), WORDS(), &selection, NULL), 0);
	CHECK_INT(hl_selection_roots(selection, identity, add_root, &text), 0);
	CHECK_STR(text.data, want);
	hl_selection_free(selection);
}

HL_TEST(frames_that_stacks_begin_with)
{
	_cleanup_str_ struct hl_str text = { 0 };

	check_roots(WORDS(), &contained, "sh");
	CHECK_INT(hl_selection_roots(NULL, &contained, add_root, &text), 0);
	CHECK_STR(text.data, "sh");
	check_roots(WORDS("host", "container", "pod", "process"), &contained, "vm;web;\\x5bno pod];sh");
	check_roots(WORDS("container", "unit", "exe"), &plain, "[no container];[no unit];[no exe]");
	check_roots(WORDS("unit"), &contained, "[no unit]");
	check_roots(WORDS("service", "process"), &unknown, "[unknown service];gone");
	check_roots(WORDS(), &kthread, "[kernel threads];kworker");
	check_roots(WORDS("host", "service", "process"), &kthread, "vm;[kernel threads];kworker");
	check_roots(WORDS("container", "service"), &kthread, "[kernel threads]");
	check_roots(WORDS("host"), &kthread, "vm;[kernel threads]");
	check_roots(WORDS(), &idle, "[idle task]");
	check_roots(WORDS("host", "pod", "process", "thread"), &idle, "vm;[idle task]");
}

static enum hl_selected check(const struct hl_words *where, const struct hl_words *exclude,
			      const struct hl_identity *identity)
{
	struct hl_selection *selection;
	enum hl_selected how;

	CHECK_INT(hl_selection_new(WORDS(), where, exclude, &selection, NULL), 0);
	how = hl_selection_check(selection, identity);
	CHECK(!hl_selection_is_all(selection) || how == HL_SELECTED);
	hl_selection_free(selection);
	return how;
}

HL_TEST(conditions)
{
	CHECK_INT(check(WORDS(), WORDS(), &plain), HL_SELECTED);
	CHECK_INT(check(WORDS("container=web"), WORDS(), &contained), HL_SELECTED);
	CHECK_INT(check(WORDS("container=we"), WORDS(), &contained), HL_SELECTED_NOT);
	CHECK_INT(check(WORDS("container=~^we"), WORDS(), &contained), HL_SELECTED);
	CHECK_INT(check(WORDS("container=~^(a|b)$"), WORDS(), &contained), HL_SELECTED_NOT);
	CHECK_INT(check(WORDS("container=web", "process=cc1"), WORDS(), &contained), HL_SELECTED_NOT);
	CHECK_INT(check(WORDS("container=web"), WORDS("process=sh"), &contained), HL_SELECTED_EXCLUDED);
	CHECK_INT(check(WORDS("container=x"), WORDS("process=sh"), &contained), HL_SELECTED_NOT);
	CHECK_INT(check(WORDS(), WORDS("process=x", "process=sh"), &contained), HL_SELECTED_EXCLUDED);
	CHECK_INT(check(WORDS("label.team=a", "label.io.x/y=1=2"), WORDS(), &contained), HL_SELECTED);
	CHECK_INT(check(WORDS("label.team=~b"), WORDS(), &contained), HL_SELECTED_NOT);
	CHECK_INT(check(WORDS("label.none="), WORDS(), &contained), HL_SELECTED);
	/* Who is in none */
	CHECK_INT(check(WORDS("container="), WORDS(), &plain), HL_SELECTED);
	CHECK_INT(check(WORDS("container="), WORDS(), &contained), HL_SELECTED_NOT);
	CHECK_INT(check(WORDS("container=~"), WORDS(), &plain), HL_SELECTED_NOT);
	CHECK_INT(check(WORDS(), WORDS("container=~.*"), &plain), HL_SELECTED);
	/* What is not known neither is nor is not. */
	CHECK_INT(check(WORDS("container="), WORDS(), &unknown), HL_SELECTED_NOT);
	CHECK_INT(check(WORDS(), WORDS("container="), &unknown), HL_SELECTED);
	CHECK_INT(check(WORDS("label.team="), WORDS(), &unknown), HL_SELECTED_NOT);
	CHECK_INT(check(WORDS("process=gone"), WORDS(), &unknown), HL_SELECTED);
}

static void refuse(const struct hl_words *by, const struct hl_words *where, const char *want)
{
	struct hl_selection *selection;
	struct hl_err err = { "" };

	CHECK_INT(hl_selection_new(by, where, WORDS(), &selection, &err), HL_EXIT_USAGE);
	if (!strstr(err.text, want))
		FAIL("\"%s\" does not say \"%s\"", err.text, want);
}

HL_TEST(refusals)
{
	refuse(WORDS("cpu"), WORDS(), "cannot tell CPUs apart");
	refuse(WORDS("host", "sevice"), WORDS(),
	       "\"sevice\" of option \"--by\" is unknown; there are: service,");
	refuse(WORDS(), WORDS("web"), "KEY=VALUE");
	refuse(WORDS(), WORDS("=web"), "\"\" of option \"--where\" is unknown");
	refuse(WORDS(), WORDS("label.=web"), "is unknown");
	refuse(WORDS(), WORDS("host=a", "pod=~("), "no regular expression");
	refuse(WORDS(), WORDS("pod=~a", "host=~["), "no regular expression");
}

HL_TEST(what_has_to_be_looked_at)
{
	static const struct {
		const char *by, *where;
		bool proc;
	} cases[] = {
		{ "process", "pid=1", false }, { "thread", "event=x", false }, { "host", "process=x", false },
		{ "exe", "pid=1", true },      { "unit", "pid=1", true },      { "cgroup", "pid=1", true },
		{ "pid", "label.x=y", true },  { "pid", "service=y", true },   { "pid", "image=y", true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hl_selection *selection;

		CHECK_INT(hl_selection_new(WORDS(cases[i].by), WORDS(cases[i].where), WORDS(), &selection,
					   NULL),
			  0);
		CHECK_INT(hl_selection_needs_proc(selection), cases[i].proc);
		hl_selection_free(selection);
	}
}

/* Of each frame that is a mark, "hotleaf help" knows what it means. */
HL_TEST(marks_are_explained)
{
	for (unsigned int key = 0; key < HL_BY_KEYS; key++) {
		const char *name = hl_identity_names[key];
		char mark[40];

		(void)snprintf(mark, sizeof(mark), "[no %s]", name);
		/* A host and an event have names, and a cgroup is "/" at least. */
		if (key != HL_BY_HOST && key != HL_BY_EVENT && key != HL_BY_CGROUP && !hl_reason_find(mark))
			FAIL("%s is not explained", mark);
		(void)snprintf(mark, sizeof(mark), "[unknown %s]", name);
		if ((key == HL_BY_SERVICE || (key >= HL_BY_CONTAINER && key <= HL_BY_UNIT)) &&
		    !hl_reason_find(mark))
			FAIL("%s is not explained", mark);
	}
}
