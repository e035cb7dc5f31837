// SPDX-License-Identifier: BSD-2-Clause
#include "profile/diff_match.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "profile/diff.h"
#include "profile/profile.h"

/*
 * Which frame of one profile is which of the other. Addresses move from build to build, so:
 *
 *   a module    is its file's name without directories and without a version behind ".so";
 *   a function  is its module and name. Several of one name in a profile are told apart by their addresses as
 *               long as both profiles have the same builds of the module; else nothing tells which is which, and
 *               they are shown as one;
 *   a leaf      is its function, offset and text, less what a move of the code changes in it: the addresses
 *               behind jumps and calls, and distances from the instruction pointer. Of the same builds function
 *               and offset say it all: then text may be lacking on one side;
 *   all others  are their names.
 */

struct module {
	const char *name;
	size_t len;
	struct hl_id id;
	bool same_builds;
};

/* A build of a module, and in which profiles it is. */
struct build {
	uint32_t module;
	struct hl_id binary;
	uint8_t sides;
};

struct function {
	struct hl_id key; /* of module, kind and name */
	uint64_t address; /* of the first in the profile that was looked at last, */
	enum hl_side side;
	bool several; /* there are others in it */
};

struct match {
	struct hl_profile *tree;
	struct module *modules;
	struct build *builds;
	struct function *functions;
	size_t n_modules, n_builds, n_functions, cap_modules, cap_builds, cap_functions;
	struct hl_index module_index, build_index, function_index;
	/* Of the profile that is being looked at: */
	const struct hl_profile *from;
	const struct hl_node *nodes;
	uint32_t *module_of; /* each frame's module */
	uint32_t *frames;    /* each function's frame in the tree; HL_INDEX_NONE: not made yet */
	uint32_t *stacks;    /* each node's stack in the tree */
	struct hl_str text;
};

enum { MAX_ITEMS = 1 << 30 };

static void match_done(struct match *m)
{
	hl_profile_free(m->tree);
	free(m->modules);
	free(m->builds);
	free(m->functions);
	hl_index_done(&m->module_index);
	hl_index_done(&m->build_index);
	hl_index_done(&m->function_index);
	free(m->module_of);
	free(m->frames);
	free(m->stacks);
	hl_str_done(&m->text);
}

static bool is_below_function(const struct hl_frame *f)
{
	return f->kind == HL_FRAME_INSN || f->kind == HL_FRAME_PART;
}

/* ---- modules and their builds -------------------------------------------------------------------------- */

static struct module module_name(const struct hl_frame *f)
{
	static const char so[] = ".so", deleted[] = " (deleted)";
	const char *slash = memrchr(f->module, '/', f->module_len), *version;
	struct module m = { .name = slash ? slash + 1 : f->module };

	m.len = f->module_len - (size_t)(m.name - f->module);
	version = memmem(m.name, m.len, so, strlen(so));
	if (version)
		m.len = (size_t)(version - m.name) + strlen(so);
	else if (m.len > strlen(deleted) && hl_ends_with(m.name, deleted))
		m.len -= strlen(deleted);
	m.id = hl_id_of(m.name, m.len);
	return m;
}

struct wanted {
	const struct match *match;
	struct module module;
	struct build build;
	struct hl_id key;
};

static int is_module(const void *ctx, uint32_t position)
{
	const struct wanted *w = ctx;

	return hl_id_equal(w->match->modules[position].id, w->module.id);
}

static int is_build(const void *ctx, uint32_t position)
{
	const struct wanted *w = ctx;
	const struct build *b = &w->match->builds[position];

	return b->module == w->build.module && hl_id_equal(b->binary, w->build.binary);
}

static int is_function_key(const void *ctx, uint32_t position)
{
	const struct wanted *w = ctx;

	return hl_id_equal(w->match->functions[position].key, w->key);
}

static int get_module(struct match *m, const struct hl_frame *f, uint32_t *ret)
{
	struct wanted w = { .match = m, .module = module_name(f) };
	uint32_t at = hl_index_find(&m->module_index, w.module.id.lo, is_module, &w);

	if (at == HL_INDEX_NONE) {
		at = (uint32_t)m->n_modules;
		if (hl_grow(&m->modules, &m->cap_modules, m->n_modules + 1, sizeof(*m->modules), MAX_ITEMS) ||
		    hl_index_add(&m->module_index, w.module.id.lo, at))
			return -ENOMEM;
		m->modules[m->n_modules++] = w.module;
		m->modules[at].same_builds = true;
	}
	*ret = at;
	return 0;
}

/* Whether equal ids mean equal code: what was imported has no more than a file name where it has no build-id. */
static bool is_certain(const struct hl_profile *from, struct hl_id id)
{
	const struct hl_binary *binary = hl_profile_binary(from, id);

	return (id.lo | id.hi) && (!binary || binary->build_id_len);
}

static int note_build(struct match *m, uint32_t module, struct hl_id binary, enum hl_side side)
{
	struct wanted w = { .match = m, .build = { module, binary, 0 } };
	uint64_t hash = hl_mix(binary.lo ^ hl_mix(module));
	uint32_t at = hl_index_find(&m->build_index, hash, is_build, &w);

	if (at == HL_INDEX_NONE) {
		at = (uint32_t)m->n_builds;
		if (hl_grow(&m->builds, &m->cap_builds, m->n_builds + 1, sizeof(*m->builds), MAX_ITEMS) ||
		    hl_index_add(&m->build_index, hash, at))
			return -ENOMEM;
		m->builds[m->n_builds++] = w.build;
	}
	m->builds[at].sides |= (uint8_t)(1u << side);
	return 0;
}

/* ---- functions ----------------------------------------------------------------------------------------- */

static struct hl_id function_key(const struct match *m, uint32_t module, const struct hl_frame *f)
{
	struct {
		struct hl_id module, name;
		uint64_t kind;
	} record = { m->modules[module].id, hl_id_of(f->name, f->name_len), f->kind };

	return hl_id_of(&record, sizeof(record));
}

/* One address in each profile is one function: what is imported may have another place in it for its start. */
static int note_function(struct match *m, uint32_t module, const struct hl_frame *f, enum hl_side side)
{
	struct function *kept;
	struct wanted w = { .match = m, .key = function_key(m, module, f) };
	uint32_t at = hl_index_find(&m->function_index, w.key.lo, is_function_key, &w);

	if (at != HL_INDEX_NONE) {
		kept = &m->functions[at];
		if (kept->side == side)
			kept->several |= kept->address != f->address;
		kept->side = side;
		kept->address = f->address;
		return 0;
	}
	at = (uint32_t)m->n_functions;
	if (hl_grow(&m->functions, &m->cap_functions, m->n_functions + 1, sizeof(*m->functions), MAX_ITEMS) ||
	    hl_index_add(&m->function_index, w.key.lo, at))
		return -ENOMEM;
	m->functions[m->n_functions++] = (struct function){ w.key, f->address, side, false };
	return 0;
}

/* First pass: which modules, builds and functions there are. */
static int look(struct match *m, const struct hl_profile *from, enum hl_side side)
{
	for (uint32_t i = 0; i < hl_profile_n_frames(from); i++) {
		const struct hl_frame *f = hl_profile_get_frame(from, i);
		uint32_t module;

		if (!hl_frame_is_function(f))
			continue;
		if (get_module(m, f, &module) || note_build(m, module, f->binary, side) ||
		    note_function(m, module, f, side))
			return -ENOMEM;
		if (!is_certain(from, f->binary))
			m->modules[module].same_builds = false;
	}
	return 0;
}

static void judge_modules(struct match *m)
{
	for (size_t i = 0; i < m->n_builds; i++) {
		const struct build *b = &m->builds[i];

		if (b->sides != 3)
			m->modules[b->module].same_builds = false;
	}
}

static int make_function(struct match *m, uint32_t frame)
{
	struct hl_frame f = *hl_profile_get_frame(m->from, frame);
	uint32_t module = 0;
	int code = get_module(m, &f, &module);

	m->module_of[frame] = module;
	f.binary = m->modules[module].id;
	if (!m->modules[module].same_builds || f.kind == HL_FRAME_INLINED) {
		f.address = 0;
	} else {
		struct wanted w = { .match = m, .key = function_key(m, module, &f) };
		uint32_t at = hl_index_find(&m->function_index, w.key.lo, is_function_key, &w);

		if (at == HL_INDEX_NONE || !m->functions[at].several)
			f.address = 0;
	}
	return code ? code : hl_profile_frame(m->tree, &f, &m->frames[frame]);
}

/* ---- leaves -------------------------------------------------------------------------------------------- */

/* Whether a number of hex digits, as a target of jumps or a distance, starts at @at; its length. */
static size_t number_at(const char *at, const char *end)
{
	const char *digits = at, *p;

	if (digits < end && *digits == '-')
		digits++;
	if (end - digits > 2 && digits[0] == '0' && digits[1] == 'x')
		digits += 2;
	for (p = digits; p < end && ((*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'f')); p++)
		;
	return p > digits ? (size_t)(p - at) : 0;
}

static bool follows(const char *at, const char *end, const char *word)
{
	return (size_t)(end - at) >= strlen(word) && memcmp(at, word, strlen(word)) == 0;
}

/*
 * The text of an instruction without what a move changes: "jne 13d0 <f+0x10>" → "jne <f+0x10>",
 * "mov 0x2f8c(%rip),%eax" → "mov (%rip),%eax", "[rip+0x2f8c]" → "[rip]", "jmp 11d0" → "jmp".
 */
static void add_lasting_text(struct hl_str *out, const char *text, size_t len)
{
	const char *end = text + len, *at = text;
	bool jump = len && (*text == 'j' || follows(text, end, "call") || follows(text, end, "loop"));

	for (; at < end; at++) {
		bool starts = at == text || strchr(" ,*:", at[-1]);
		size_t n = starts ? number_at(at, end) : 0;

		if (n && (follows(at + n, end, " <") || (jump && at + n == end && at[-1] == ' '))) {
			at += n - (at + n == end); /* and the blank behind it */
			if (at + 1 >= end)
				break;
			continue;
		}
		if (n && follows(at + n, end, "(%rip)"))
			at += n;
		hl_str_addc(out, *at);
		if (follows(at, end, "[rip") &&
		    (n = (at[4] == '+' || at[4] == '-') ? number_at(at + 5, end) : 0)) {
			hl_str_adds(out, "rip");
			at += 4 + n;
		}
	}
	while (out->len && out->data[out->len - 1] == ' ')
		out->len--;
}

/* "[loop 0x1180-0x11a0]" by its place in the function. */
static void add_part_name(struct hl_str *out, const struct hl_frame *part, uint64_t start)
{
	uint64_t from, to;
	char name[64];

	(void)snprintf(name, sizeof(name), "%.*s", (int)(part->name_len < 63 ? part->name_len : 63),
		       part->name);
	if (start && sscanf(name, "[loop 0x%" SCNx64 "-0x%" SCNx64 "]", &from, &to) == 2)
		hl_str_addf(out, "[loop +0x%" PRIx64 "-+0x%" PRIx64 "]", from - start, to - start);
	else
		hl_str_add(out, part->name, part->name_len);
}

/* The frame in the tree of @node, an instruction or a part of the function at node @holder. */
static int make_below(struct match *m, uint32_t node, uint32_t *ret)
{
	uint32_t holder = m->nodes[hl_profile_holder(m->from, node)].frame;
	const struct hl_frame *function = hl_profile_get_frame(m->from, holder);
	struct hl_frame f = *hl_profile_get_frame(m->from, m->nodes[node].frame);
	bool same = hl_frame_is_function(function) && m->modules[m->module_of[holder]].same_builds &&
		    hl_id_equal(f.binary, function->binary);
	struct {
		struct hl_id function, text;
	} record = { .function = hl_profile_frame_id(m->tree, m->frames[holder]) };

	hl_str_clear(&m->text);
	if (f.kind == HL_FRAME_PART)
		add_part_name(&m->text, &f, function->address);
	else if (same)
		hl_str_add(&m->text, f.name, f.name_len);
	else
		add_lasting_text(&m->text, f.name, f.name_len);
	if (hl_str_status(&m->text))
		return -ENOMEM;
	f.name = m->text.data ? m->text.data : "";
	f.name_len = m->text.len;
	/* Other programs' profiles tell no offsets. */
	if (same && !f.offset && f.name_len && f.name[0] == '(' && f.kind == HL_FRAME_INSN)
		record.text = hl_id_of(&f.address, sizeof(f.address));
	else if (!same || f.kind == HL_FRAME_PART)
		record.text = hl_id_of(f.name, f.name_len);
	f.binary = hl_id_of(&record, sizeof(record));
	f.address = f.kind == HL_FRAME_PART ? 0 : f.offset;
	return hl_profile_frame(m->tree, &f, ret);
}

/* ---- the tree ------------------------------------------------------------------------------------------ */

static int make_other(struct match *m, uint32_t frame)
{
	struct hl_frame f = *hl_profile_get_frame(m->from, frame);

	f.address = 0;
	f.binary = (struct hl_id){ 0, 0 };
	return hl_profile_frame(m->tree, &f, &m->frames[frame]);
}

static int frame_of_node(struct match *m, uint32_t node, uint32_t *ret)
{
	uint32_t frame = m->nodes[node].frame;
	const struct hl_frame *f = hl_profile_get_frame(m->from, frame);
	int code = 0;

	if (is_below_function(f))
		return make_below(m, node, ret);
	if (m->frames[frame] == HL_INDEX_NONE)
		code = hl_frame_is_function(f) ? make_function(m, frame) : make_other(m, frame);
	*ret = m->frames[frame];
	return code;
}

static int add_side(struct match *m, const struct hl_profile *from, enum hl_side side)
{
	size_t n_frames = hl_profile_n_frames(from);
	uint32_t n, frame;
	int code = 0;

	m->from = from;
	m->nodes = hl_profile_nodes(from, &n);
	free(m->module_of);
	free(m->frames);
	free(m->stacks);
	m->module_of = calloc(n_frames + 1, sizeof(*m->module_of));
	m->frames = malloc((n_frames + 1) * sizeof(*m->frames));
	m->stacks = calloc(n, sizeof(*m->stacks));
	if (!m->module_of || !m->frames || !m->stacks)
		return -ENOMEM;
	memset(m->frames, 0xff, (n_frames + 1) * sizeof(*m->frames)); /* HL_INDEX_NONE */
	m->frames[m->nodes[0].frame] = 0;                             /* "all", in every profile the first */
	for (uint32_t i = 0; i < n && !code; i++) {
		uint64_t self = m->nodes[i].self;

		if (i)
			code = frame_of_node(m, i, &frame);
		if (!code && i)
			code = hl_profile_child(m->tree, m->stacks[m->nodes[i].parent], frame, &m->stacks[i]);
		if (!code)
			hl_profile_count(m->tree, m->stacks[i], side == HL_BEFORE ? self : 0,
					 side == HL_AFTER ? self : 0);
	}
	return code;
}

int hl_diff_match(const struct hl_profile *const sides[2], struct hl_profile **ret)
{
	_cleanup_(match_done) struct match m = { .tree = hl_profile_new() };
	int code = m.tree ? 0 : -ENOMEM;

	for (int side = 0; side < HL_N_SIDES && !code; side++)
		code = look(&m, sides[side], (enum hl_side)side);
	judge_modules(&m);
	for (int side = 0; side < HL_N_SIDES && !code; side++)
		code = add_side(&m, sides[side], (enum hl_side)side);
	if (!code)
		code = hl_profile_finish(m.tree);
	if (!code)
		*ret = TAKE_PTR(m.tree);
	return code;
}
