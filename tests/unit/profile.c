// SPDX-License-Identifier: BSD-2-Clause
/* needs: base profile */
#include "profile/profile.h"

#include <stdlib.h>

#include "base/str.h"

#include "harness.h"

static uint32_t frame_of(struct hl_profile *p, int kind, uint64_t binary, uint64_t address, const char *name)
{
	struct hl_frame frame = { .kind = (uint8_t)kind,
				  .binary = { binary, binary },
				  .address = address,
				  .name = name,
				  .name_len = strlen(name),
				  .module = "m",
				  .module_len = 1 };
	uint32_t index;

	CHECK_INT(hl_profile_frame(p, &frame, &index), 0);
	return index;
}

static void add(struct hl_profile *p, const uint32_t *frames, size_t n, uint64_t count)
{
	CHECK_INT(hl_profile_add(p, frames, n, count, count * 10), 0);
}

static const struct hl_frame *frame_at(const struct hl_profile *p, const struct hl_node *node)
{
	return hl_profile_get_frame(p, node->frame);
}

/* Everything that must hold of any finished tree. */
static void check_tree(const struct hl_profile *p)
{
	uint32_t n, i;
	const struct hl_node *nodes = hl_profile_nodes(p, &n);
	uint64_t *below = calloc(n, sizeof(*below)), samples = 0;

	CHECK_INT(nodes[0].parent, 0);
	CHECK_INT(nodes[0].end, n);
	for (i = n; i-- > 0;) {
		below[i] += nodes[i].self;
		samples += nodes[i].self;
		CHECK_INT(nodes[i].total, below[i]);
		CHECK_INT(nodes[i].total_weight, nodes[i].total * 10);
		if (i == 0)
			break;
		CHECK(nodes[i].parent < i && i < nodes[i].end);
		CHECK(nodes[i].end <= nodes[nodes[i].parent].end);
		CHECK_INT(nodes[i].depth, nodes[nodes[i].parent].depth + 1);
		below[nodes[i].parent] += below[i];
	}
	CHECK_INT(nodes[0].total, samples);
	free(below);
}

HL_TEST(totals_and_order_of_siblings)
{
	struct hl_profile *p = hl_profile_new();
	uint32_t root = frame_of(p, HL_FRAME_ROOT, 0, 0, "app");
	uint32_t b = frame_of(p, HL_FRAME_USER, 1, 0x100, "b"), a = frame_of(p, HL_FRAME_USER, 1, 0x900, "a");
	uint32_t b2 = frame_of(p, HL_FRAME_USER, 1, 0x80, "b");
	uint32_t late = frame_of(p, HL_FRAME_INSN, 1, 0x10f, "add"),
		 early = frame_of(p, HL_FRAME_INSN, 1, 0x101, "zor");
	static const struct {
		const char *name;
		uint64_t address, self, total;
		uint32_t depth, end;
	} want[] = {
		{ "all", 0, 0, 31, 0, 7 },    { "app", 0, 0, 31, 1, 7 },   { "a", 0x900, 1, 1, 2, 3 },
		{ "b", 0x80, 16, 16, 2, 4 },  { "b", 0x100, 2, 14, 2, 7 }, { "zor", 0x101, 8, 8, 3, 6 },
		{ "add", 0x10f, 4, 4, 3, 7 },
	};
	const struct hl_node *nodes;
	uint32_t n;

	add(p, (uint32_t[]){ root, b, late }, 3, 4);
	add(p, (uint32_t[]){ root, b }, 2, 2);
	add(p, (uint32_t[]){ root, b, early }, 3, 5);
	add(p, (uint32_t[]){ root, b, early }, 3, 3);
	add(p, (uint32_t[]){ root, a }, 2, 1);
	add(p, (uint32_t[]){ root, b2 }, 2, 16);
	add(p, (uint32_t[]){ root, a, b }, 3, 0); /* no samples: not in the tree */
	CHECK_INT(hl_profile_finish(p), 0);
	check_tree(p);
	nodes = hl_profile_nodes(p, &n);
	CHECK_INT(n, 7);
	for (uint32_t i = 0; i < n; i++) {
		CHECK_STR(frame_at(p, &nodes[i])->name, want[i].name);
		CHECK_INT(frame_at(p, &nodes[i])->address, want[i].address);
		CHECK_INT(nodes[i].self, want[i].self);
		CHECK_INT(nodes[i].total, want[i].total);
		CHECK_INT(nodes[i].depth, want[i].depth);
		CHECK_INT(nodes[i].end, want[i].end);
	}
	hl_profile_free(p);
}

/* ---- any order of adding gives one result -------------------------------------------------------------- */

enum { N_STACKS = 3000, N_FRAMES = 60, DEPTH = 12 };

struct stack {
	unsigned int frames[DEPTH];
	size_t n;
	uint64_t count;
};

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static void make_stacks(struct stack *stacks)
{
	uint32_t state = 1;

	for (int i = 0; i < N_STACKS; i++) {
		stacks[i].n = 1 + next_random(&state) % DEPTH;
		stacks[i].count = next_random(&state) % 9;
		for (size_t k = 0; k < stacks[i].n; k++)
			stacks[i].frames[k] = next_random(&state) % (k < 3 ? 3 : N_FRAMES);
	}
}

/* Frame @number, of every kind; @path is what may differ between two sightings of one file. */
static uint32_t numbered_frame(struct hl_profile *p, unsigned int number, const char *path)
{
	char name[32];
	struct hl_frame frame = { .kind = (uint8_t)(number % 7),
				  .binary = { number % 5, number % 3 },
				  .address = number % 4 ? 0x1000 + number / 2 : 0,
				  .name = name,
				  .module = path,
				  .module_len = strlen(path) };
	uint32_t index;

	frame.name_len = (size_t)snprintf(name, sizeof(name), "name%u", number % 23);
	CHECK_INT(hl_profile_frame(p, &frame, &index), 0);
	return index;
}

static struct hl_profile *build(const struct stack *stacks, unsigned int first, unsigned int stride)
{
	struct hl_profile *p = hl_profile_new();
	uint32_t indices[DEPTH];

	for (unsigned int i = 0; i < N_STACKS; i++) {
		const struct stack *s = &stacks[(first + i * stride) % N_STACKS];

		for (size_t k = 0; k < s->n; k++)
			indices[k] = numbered_frame(p, s->frames[k], (first + i) % 2 ? "/a/lib" : "/b/lib");
		add(p, indices, s->n, s->count);
	}
	CHECK_INT(hl_profile_finish(p), 0);
	check_tree(p);
	return p;
}

/* All that a writer can see of @p, as text. */
static void dump(const struct hl_profile *p, struct hl_str *out)
{
	uint32_t n, i;
	const struct hl_node *nodes = hl_profile_nodes(p, &n);
	_cleanup_free_ struct hl_id *ids = hl_profile_node_ids(p);
	struct hl_id id;

	CHECK(ids);
	for (i = 0; i < n; i++) {
		id = ids[i];
		hl_str_addf(out, "%u %u %u %u %lu %lu %lx%lx\n", nodes[i].frame, nodes[i].parent,
			    nodes[i].end, nodes[i].depth, nodes[i].self, nodes[i].total_weight, id.hi, id.lo);
	}
	for (i = 0; i < hl_profile_n_frames(p); i++) {
		const struct hl_frame *frame = hl_profile_get_frame(p, i);

		id = hl_profile_frame_id(p, i);
		hl_str_addf(out, "%u %lx %s %s %lx%lx\n", frame->kind, frame->address, frame->name,
			    frame->module, id.hi, id.lo);
	}
}

HL_TEST(order_of_adding_does_not_matter)
{
	static struct stack stacks[N_STACKS];
	static const unsigned int orders[][2] = { { 0, 1 }, { 17, 7 }, { 2999, 1999 }, { 1000, 11 } };
	_cleanup_str_ struct hl_str want = { 0 };
	struct hl_profile *p;

	make_stacks(stacks);
	p = build(stacks, 0, 1);
	dump(p, &want);
	hl_profile_free(p);
	for (int i = 1; i < 4; i++) {
		_cleanup_str_ struct hl_str got = { 0 };

		p = build(stacks, orders[i][0], orders[i][1]);
		dump(p, &got);
		hl_profile_free(p);
		CHECK_STR(got.data, want.data);
	}
	CHECK(want.len > 100000);
}

/* ---- identity ------------------------------------------------------------------------------------------ */

HL_TEST(address_is_identity_and_name_a_label)
{
	struct hl_profile *p = hl_profile_new();
	uint32_t f = frame_of(p, HL_FRAME_USER, 1, 0x10, "f");

	CHECK(frame_of(p, HL_FRAME_USER, 1, 0x20, "f") != f);
	CHECK(frame_of(p, HL_FRAME_USER, 2, 0x10, "f") != f);
	CHECK(frame_of(p, HL_FRAME_INSN, 1, 0x10, "f") != f);
	/* An instruction is what it is, whatever decodes it. */
	f = frame_of(p, HL_FRAME_INSN, 1, 0x10, "nop");
	CHECK_INT(frame_of(p, HL_FRAME_INSN, 1, 0x10, "endbr64"), f);
	CHECK_STR(hl_profile_get_frame(p, f)->name, "endbr64"); /* the least of both */
	CHECK_INT(frame_of(p, HL_FRAME_INSN, 1, 0x10, "xchg"), f);
	CHECK_STR(hl_profile_get_frame(p, f)->name, "endbr64");
	hl_profile_free(p);
}

HL_TEST(a_text_is_not_lost_to_a_sample_without_one)
{
	static const char *const texts[] = { "(no code bytes)", ".byte 0x62 (undecoded)", "{vex} nop" };

	for (int first = 0; first < 3; first++) {
		struct hl_profile *p = hl_profile_new();
		uint32_t f = frame_of(p, HL_FRAME_INSN, 1, 0x10, texts[first]);

		for (int i = 2; i >= 0; i--)
			CHECK_INT(frame_of(p, HL_FRAME_INSN, 1, 0x10, texts[i]), f);
		CHECK_STR(hl_profile_get_frame(p, f)->name, texts[2]);
		hl_profile_free(p);
	}
}

/* The id of the frame called @name in a profile of these names of one function. */
static struct hl_id id_among(const char *name, const char *const *names, size_t n_names)
{
	struct hl_profile *p = hl_profile_new();
	struct hl_id id = { 0, 0 };
	uint32_t n;

	for (size_t i = 0; i < n_names; i++)
		add(p, (uint32_t[]){ frame_of(p, HL_FRAME_USER, 1, 0x10, names[i]) }, 1, 1);
	CHECK_INT(hl_profile_finish(p), 0);
	(void)hl_profile_nodes(p, &n);
	CHECK_INT(n, n_names + 1);
	for (uint32_t i = 0; i < hl_profile_n_frames(p); i++)
		if (strcmp(hl_profile_get_frame(p, i)->name, name) == 0)
			id = hl_profile_frame_id(p, i);
	hl_profile_free(p);
	return id;
}

HL_TEST(a_copy_with_other_names_renames_nothing)
{
	static const char *const both[] = { "good", "evil" }, *const turned[] = { "evil", "good" };
	struct hl_id good = id_among("good", both, 2), evil = id_among("evil", both, 2);

	CHECK(!hl_id_equal(good, evil));
	CHECK(hl_id_equal(good, id_among("good", turned, 2)));
	CHECK(hl_id_equal(evil, id_among("evil", turned, 2)));
	/* Alone it is the function, whatever its name. */
	CHECK(hl_id_equal(id_among("good", both, 1), id_among("evil", turned, 1)));
}

HL_TEST(name_is_identity_where_no_address_can_be)
{
	struct hl_profile *p = hl_profile_new();

	CHECK(frame_of(p, HL_FRAME_ROOT, 0, 0, "a") != frame_of(p, HL_FRAME_ROOT, 0, 0, "b"));
	CHECK(frame_of(p, HL_FRAME_JIT, 0, 0x10, "a") != frame_of(p, HL_FRAME_JIT, 0, 0x10, "b"));
	CHECK(frame_of(p, HL_FRAME_USER, 1, 0, "a") != frame_of(p, HL_FRAME_USER, 1, 0, "b"));
	/* Inlined into each other, both start at one address. */
	CHECK(frame_of(p, HL_FRAME_INLINED, 1, 0x10, "a") != frame_of(p, HL_FRAME_INLINED, 1, 0x10, "b"));
	hl_profile_free(p);
}

HL_TEST(ids_are_the_same_on_every_host)
{
	struct hl_profile *p = hl_profile_new();
	uint32_t app = frame_of(p, HL_FRAME_ROOT, 0, 0, "app"),
		 main_ = frame_of(p, HL_FRAME_USER, 7, 0x40, "main");
	struct hl_id id, *ids;
	uint32_t n;

	add(p, (uint32_t[]){ app, main_ }, 2, 1);
	CHECK_INT(hl_profile_finish(p), 0);
	CHECK_INT(hl_profile_nodes(p, &n)[2].depth, 2);
	/* They are on disk: a change of these two figures is a change of the format. */
	id = hl_profile_frame_id(p, hl_profile_nodes(p, &n)[2].frame);
	CHECK_INT(id.lo, 0x1233d620d6921547);
	ids = hl_profile_node_ids(p);
	CHECK(ids);
	CHECK_INT(ids[2].lo, 0xe59e46bc5f37d384);
	free(ids);
	hl_profile_free(p);
}

HL_TEST(names_of_any_bytes_are_kept)
{
	struct hl_profile *p = hl_profile_new();
	static const char raw[] = "a\0b\xff";
	struct hl_frame frame = { .kind = HL_FRAME_USER, .name = raw, .name_len = 4 };
	uint32_t index;

	CHECK_INT(hl_profile_frame(p, &frame, &index), 0);
	CHECK_INT(hl_profile_get_frame(p, index)->name_len, 4);
	CHECK(memcmp(hl_profile_get_frame(p, index)->name, raw, 5) == 0);
	CHECK_STR(hl_profile_get_frame(p, index)->module, "");
	hl_profile_free(p);
}

/* ---- extremes ------------------------------------------------------------------------------------------ */

HL_TEST(empty_profile_is_a_root)
{
	struct hl_profile *p = hl_profile_new();
	uint32_t n;

	CHECK_INT(hl_profile_finish(p), 0);
	CHECK_INT(hl_profile_nodes(p, &n)[0].end, 1);
	CHECK_INT(n, 1);
	CHECK_STR(frame_at(p, &hl_profile_nodes(p, &n)[0])->name, "all");
	hl_profile_free(p);
}

HL_TEST(recursion_30000_deep)
{
	enum { LEVELS = 30000 };
	struct hl_profile *p = hl_profile_new();
	uint32_t *stack = malloc(LEVELS * sizeof(*stack)), f = frame_of(p, HL_FRAME_USER, 1, 0x10, "f"), n;

	for (int i = 0; i < LEVELS; i++)
		stack[i] = f;
	for (int i = LEVELS; i > 0; i -= 100)
		add(p, stack, (size_t)i, 1);
	CHECK_INT(hl_profile_finish(p), 0);
	check_tree(p);
	CHECK_INT(hl_profile_nodes(p, &n)[LEVELS].depth, LEVELS);
	CHECK_INT(n, LEVELS + 1);
	CHECK_INT(hl_profile_nodes(p, &n)[1].total, LEVELS / 100);
	CHECK_INT(hl_profile_n_frames(p), 2);
	free(stack);
	hl_profile_free(p);
}

HL_TEST(wide_200000)
{
	enum { LEAVES = 200000 };
	struct hl_profile *p = hl_profile_new();
	const struct hl_node *nodes;
	uint32_t stack[2] = { frame_of(p, HL_FRAME_USER, 1, 0x10, "f"), 0 }, n;

	for (uint64_t i = 0; i < LEAVES; i++) {
		stack[1] = frame_of(p, HL_FRAME_INSN, 1, 0x100 + i * 7919 % LEAVES, "nop");
		add(p, stack, 2, 1 + i % 3);
	}
	CHECK_INT(hl_profile_finish(p), 0);
	check_tree(p);
	nodes = hl_profile_nodes(p, &n);
	CHECK_INT(n, LEAVES + 2);
	for (uint32_t i = 2; i < n; i++)
		CHECK_INT(frame_at(p, &nodes[i])->address, 0x100 + i - 2);
	hl_profile_free(p);
}
