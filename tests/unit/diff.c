// SPDX-License-Identifier: BSD-2-Clause
/* needs: base profile render tests/profiles */
#include "profile/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/str.h"

#include "harness.h"
#include "profiles.h"

enum { OLD = 1, NEW = 2 };

/* A build of /opt/BUILD/app whose functions lie at @base. */
static struct hl_frame app_frame(uint64_t build, int kind, uint64_t address, uint64_t offset,
				 const char *name)
{
	const char *module = build == OLD ? "/opt/1.0/app" : "/opt/1.1/app";

	return (struct hl_frame){ .kind = (uint8_t)kind,
				  .binary = { build, 7 },
				  .address = address,
				  .offset = offset,
				  .name = name,
				  .name_len = strlen(name),
				  .module = module,
				  .module_len = strlen(module) };
}

static uint32_t put(struct hl_profile *p, struct hl_frame frame)
{
	uint32_t index;

	CHECK_INT(hl_profile_frame(p, &frame, &index), 0);
	return index;
}

static struct hl_profile *finish(struct hl_profile *p, const char *event, uint64_t expected)
{
	struct hl_profile_meta meta = {
		.event = event, .unit = "nanoseconds", .frequency = 100, .cpus = 2, .expected = expected
	};

	CHECK_INT(hl_profile_finish(p), 0);
	hl_profile_set_meta(p, &meta);
	return p;
}

struct counts {
	uint64_t imul, jump, other;
};

/* app;main;parse with two leaves, and app;main;other with one. */
static struct hl_profile *build_of(uint64_t build, uint64_t base, const char *jump, struct counts n)
{
	struct hl_profile *p = hl_profile_new();
	uint32_t root = profiles_named(p, HL_FRAME_ROOT, "app");
	uint32_t main_ = put(p, app_frame(build, HL_FRAME_USER, base, 0, "main"));
	uint32_t parse = put(p, app_frame(build, HL_FRAME_USER, base + 0x100, 0, "parse"));
	uint32_t other = put(p, app_frame(build, HL_FRAME_USER, base + 0x200, 0, "other"));
	uint32_t imul = put(p, app_frame(build, HL_FRAME_INSN, base + 0x14d, 0x4d, "imul $0x3,%rax,%rdx"));
	uint32_t jne = put(p, app_frame(build, HL_FRAME_INSN, base + 0x150, 0x50, jump));
	uint32_t ret = put(p, app_frame(build, HL_FRAME_INSN, base + 0x201, 1, "ret"));

	profiles_add(p, (uint32_t[]){ root, main_, parse, imul }, 4, n.imul);
	profiles_add(p, (uint32_t[]){ root, main_, parse, jne }, 4, n.jump);
	profiles_add(p, (uint32_t[]){ root, main_, other, ret }, 4, n.other);
	return finish(p, "cpu-clock", 20000);
}

static struct hl_diff *compare(const struct hl_profile *a, const struct hl_profile *b, enum hl_diff_by by)
{
	struct hl_diff *diff;
	struct hl_err err = { "" };

	if (hl_diff_new(a, b, by, &diff, &err))
		FAIL("%s", err.text);
	return diff;
}

/* The only frame of that name, and its sum. */
static uint32_t frame_named(const struct hl_diff *diff, const char *name)
{
	uint32_t found = UINT32_MAX;

	for (uint32_t i = 0; i < hl_profile_n_frames(diff->tree); i++) {
		if (strcmp(hl_profile_get_frame(diff->tree, i)->name, name) != 0)
			continue;
		if (found != UINT32_MAX)
			FAIL("there are two frames \"%s\"", name);
		found = i;
	}
	if (found == UINT32_MAX)
		FAIL("there is no frame \"%s\"", name);
	return found;
}

static void check_sum(const struct hl_diff *diff, const char *name, uint64_t before, uint64_t after)
{
	struct hl_diff_sum *sums = hl_diff_sums(diff);
	uint32_t frame = frame_named(diff, name);

	CHECK(sums);
	CHECK_INT(sums[frame].self[HL_BEFORE], before);
	CHECK_INT(sums[frame].self[HL_AFTER], after);
	free(sums);
}

HL_TEST(two_builds_meet_by_function_offset_and_text)
{
	struct hl_profile *a =
		build_of(OLD, 0x1000, "jne 1120 <parse+0x20>", (struct counts){ 400, 100, 500 });
	struct hl_profile *b =
		build_of(NEW, 0x5400, "jne 5520 <parse+0x20>", (struct counts){ 700, 100, 200 });
	struct hl_diff *diff = compare(a, b, HL_DIFF_BY_SAMPLES);

	check_sum(diff, "imul $0x3,%rax,%rdx", 400, 700);
	check_sum(diff, "jne <parse+0x20>", 100, 100);
	check_sum(diff, "parse", 500, 800);
	check_sum(diff, "other", 500, 200);
	CHECK_INT(hl_profile_get_frame(diff->tree, frame_named(diff, "imul $0x3,%rax,%rdx"))->offset, 0x4d);
	hl_diff_free(diff);
	hl_profile_free(a);
	hl_profile_free(b);
}

HL_TEST(what_moved_in_its_function_is_another_instruction)
{
	struct hl_profile *a =
		build_of(OLD, 0x1000, "jne 1120 <parse+0x20>", (struct counts){ 400, 100, 500 });
	struct hl_profile *b =
		build_of(NEW, 0x5400, "jne 5528 <parse+0x28>", (struct counts){ 400, 100, 500 });
	struct hl_diff *diff = compare(a, b, HL_DIFF_BY_SAMPLES);

	check_sum(diff, "jne <parse+0x20>", 100, 0);
	check_sum(diff, "jne <parse+0x28>", 0, 100);
	hl_diff_free(diff);
	hl_profile_free(a);
	hl_profile_free(b);
}

HL_TEST(text_without_what_a_move_changes)
{
	static const char *const texts[][3] = {
		{ "mov 0x2f8c(%rip),%eax", "mov 0x31(%rip),%eax", "mov (%rip),%eax" },
		{ "mov eax,DWORD PTR [rip+0x2f8c]", "mov eax,DWORD PTR [rip-0x8]",
		  "mov eax,DWORD PTR [rip]" },
		{ "jmp *-0x2faa(%rip)", "jmp *0x2faa(%rip)", "jmp *(%rip)" },
		{ "call 26290 <memcpy@plt>", "call 99 <memcpy@plt>", "call <memcpy@plt>" },
		{ "jmp 11d0", "jmp 2d0", "jmp" },
		{ "bnd jmp 11d0 <f>", "bnd jmp 1 <f>", "bnd jmp <f>" },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct hl_profile *a = build_of(OLD, 0x1000, texts[i][0], (struct counts){ 1, 100, 1 });
		struct hl_profile *b = build_of(NEW, 0x1000, texts[i][1], (struct counts){ 1, 100, 1 });
		struct hl_diff *diff = compare(a, b, HL_DIFF_BY_SAMPLES);

		check_sum(diff, texts[i][2], 100, 100);
		hl_diff_free(diff);
		hl_profile_free(a);
		hl_profile_free(b);
	}
}

HL_TEST(operands_are_kept)
{
	static const char *const texts[] = { "add $0x10,%rax",
					     "mov 0x8(%rax,%rbx,4),%ecx",
					     "call *%rax",
					     "push %rbp",
					     "add %al,(%rax)",
					     ".byte 0x62,0xf3 (undecoded)",
					     "" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct hl_profile *a = build_of(OLD, 0x1000, texts[i], (struct counts){ 1, 100, 1 });
		struct hl_profile *b = build_of(NEW, 0x1000, texts[i], (struct counts){ 1, 100, 1 });
		struct hl_diff *diff = compare(a, b, HL_DIFF_BY_SAMPLES);

		check_sum(diff, texts[i], 100, 100);
		hl_diff_free(diff);
		hl_profile_free(a);
		hl_profile_free(b);
	}
}

/* Two static functions of one name, each with a sample count of its own. */
static struct hl_profile *twins(uint64_t build, uint64_t base, uint64_t first, uint64_t second)
{
	struct hl_profile *p = hl_profile_new();
	uint32_t root = profiles_named(p, HL_FRAME_ROOT, "app");
	uint32_t f = put(p, app_frame(build, HL_FRAME_USER, base, 0, "init"));
	uint32_t g = put(p, app_frame(build, HL_FRAME_USER, base + 0x100, 0, "init"));

	profiles_add(p, (uint32_t[]){ root, f }, 2, first);
	profiles_add(p, (uint32_t[]){ root, g }, 2, second);
	return finish(p, "cpu-clock", 20000);
}

HL_TEST(names_are_no_identity_within_a_build)
{
	struct hl_profile *a = twins(OLD, 0x1000, 30, 70), *b = twins(OLD, 0x1000, 70, 30);
	struct hl_profile *c = twins(NEW, 0x2000, 60, 40);
	struct hl_diff *same = compare(a, b, HL_DIFF_BY_SAMPLES), *other = compare(a, c, HL_DIFF_BY_SAMPLES);
	const struct hl_node *nodes;
	uint32_t n;

	nodes = hl_profile_nodes(same->tree, &n);
	CHECK_INT(n, 4);
	CHECK_INT(nodes[2].self, 30);
	CHECK_INT(nodes[2].self_weight, 70);
	CHECK_INT(nodes[3].self, 70);
	CHECK_INT(nodes[3].self_weight, 30);
	/* Of another build nobody knows which is which. */
	check_sum(other, "init", 100, 100);
	hl_diff_free(same);
	hl_diff_free(other);
	hl_profile_free(a);
	hl_profile_free(b);
	hl_profile_free(c);
}

/* An imported profile may take a call for the start of a function that was never a leaf. */
HL_TEST(one_function_whose_start_is_not_known)
{
	struct hl_profile *p[2];
	struct hl_diff *diff;

	for (int side = 0; side < 2; side++) {
		uint32_t root, f;

		p[side] = hl_profile_new();
		root = profiles_named(p[side], HL_FRAME_ROOT, "app");
		f = put(p[side],
			app_frame(OLD, HL_FRAME_USER, 0x1010u + (unsigned int)side * 0x40, 0, "main"));
		profiles_add(p[side], (uint32_t[]){ root, f }, 2, 100);
		(void)finish(p[side], "cpu-clock", 20000);
	}
	diff = compare(p[0], p[1], HL_DIFF_BY_SAMPLES);
	check_sum(diff, "main", 100, 100);
	hl_diff_free(diff);
	hl_profile_free(p[0]);
	hl_profile_free(p[1]);
}

HL_TEST(different_events_are_never_subtracted)
{
	struct hl_profile *a = twins(OLD, 0x1000, 30, 70);
	struct hl_profile *b = hl_profile_new(), *empty = hl_profile_new();
	struct hl_diff *diff = NULL;
	struct hl_err err;

	profiles_add(b, (uint32_t[]){ profiles_named(b, HL_FRAME_ROOT, "app") }, 1, 100);
	(void)finish(b, "cycles", 0);
	(void)finish(empty, "cpu-clock", 1000);
	CHECK_INT(hl_diff_new(a, b, HL_DIFF_BY_SAMPLES, &diff, &err), -EXDEV);
	CHECK_STR(err.text, "different events cannot be compared: \"cpu-clock\" and \"cycles\"");
	CHECK_INT(hl_diff_new(a, empty, HL_DIFF_BY_SAMPLES, &diff, &err), -ENODATA);
	CHECK(!diff);
	hl_profile_free(a);
	hl_profile_free(b);
	hl_profile_free(empty);
}

HL_TEST(values_by_samples_and_by_time)
{
	struct hl_profile *a = build_of(OLD, 0x1000, "ret", (struct counts){ 100, 0, 900 });
	struct hl_profile *b = build_of(OLD, 0x1000, "ret", (struct counts){ 100, 0, 1900 });
	struct hl_diff *shares = compare(a, b, HL_DIFF_BY_SAMPLES), *cpus = compare(a, b, HL_DIFF_BY_TIME);
	struct hl_change c = hl_diff_change(shares, 100, 100);

	CHECK(fabs(c.value[HL_BEFORE] - 0.1) < 1e-9 && fabs(c.value[HL_AFTER] - 0.05) < 1e-9);
	CHECK(c.z < -4 && !c.noise);
	/* 20,000 ticks were due on two CPUs. */
	c = hl_diff_change(cpus, 100, 100);
	CHECK(fabs(c.value[HL_BEFORE] - 0.01) < 1e-9 && fabs(c.delta) < 1e-9);
	CHECK(fabs(c.z) < 1e-6 && c.noise);
	hl_diff_free(shares);
	hl_diff_free(cpus);
	hl_profile_free(a);
	hl_profile_free(b);
}

/* By hand: 2 (30 ln 30/40 + 70 ln 70/60 + 50 ln 50/40 + 50 ln 50/60), and 2 (100 ln 2 + 100 ln 2). */
HL_TEST(likelihood_ratio_of_a_table)
{
	struct hl_profile *a = build_of(OLD, 0x1000, "ret", (struct counts){ 30, 0, 70 });
	struct hl_profile *b = build_of(OLD, 0x1000, "ret", (struct counts){ 50, 0, 50 });
	struct hl_diff *diff = compare(a, b, HL_DIFF_BY_SAMPLES);
	struct hl_change up = hl_diff_change(diff, 30, 50), none = hl_diff_change(diff, 0, 0);
	struct hl_change fresh = hl_diff_change(diff, 0, 100);

	CHECK(fabs(up.z * up.z - 8.4024) < 0.001 && up.z > 0);
	CHECK(none.z == 0 && none.noise && none.delta == 0);
	CHECK(fabs(fresh.z * fresh.z - 277.2589) < 0.001 && !fresh.noise);
	CHECK(fabs(hl_diff_bound(1) - 2.5758) < 0.001);
	CHECK(fabs(hl_diff_bound(1000) - 4.4172) < 0.001);
	hl_diff_free(diff);
	hl_profile_free(a);
	hl_profile_free(b);
}

static uint64_t seed = 88172645463325252;

static double chance(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (double)(seed >> 11) / (double)(1ull << 53);
}

/* Two profiles of the same: whatever exceeds the bound is a false alarm, and these must be rare. */
HL_TEST(chance_is_not_taken_for_a_change)
{
	enum { PLACES = 50, SAMPLES = 5000, ROUNDS = 200 };
	unsigned int alarms = 0, missed = 0;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		uint64_t count[2][PLACES] = { { 0 } };
		struct hl_diff diff = { .side = { { .trials = SAMPLES, .scale = 1. / SAMPLES },
						  { .trials = SAMPLES, .scale = 1. / SAMPLES } },
					.noise = hl_diff_bound(PLACES) };
		bool alarm = false;

		for (int side = 0; side < 2; side++)
			for (unsigned int i = 0; i < SAMPLES; i++)
				count[side][(size_t)(chance() * chance() * PLACES)]++;
		for (unsigned int i = 0; i < PLACES; i++)
			alarm |= !hl_diff_change(&diff, count[0][i], count[1][i]).noise;
		alarms += alarm;
		/* A tenth of the samples that moves is seen. */
		missed += hl_diff_change(&diff, count[0][0], count[1][0] + SAMPLES / 10).noise;
	}
	/* 2 of 200 are to be expected: 15 happen in less than one of 10⁸ runs. */
	if (alarms > 15 || missed)
		FAIL("%u of %d pairs show a change that is none, %u show none where one is", alarms, ROUNDS,
		     missed);
}
