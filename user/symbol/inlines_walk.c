// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <string.h>

#include "base/cursor.h"
#include "base/hash.h"
#include "symbol/dwarf_names.h"
#include "symbol/inlines_build.h"

/* DIEs inside DIEs; functions that stand deeper are left out and counted. */
enum { MAX_DEPTH = 256 };

/* What is read of a function's DIE. */
struct function {
	struct hl_dwarf_value low_pc, high_pc, ranges, origin, linkage_name, call_file, call_line;
};

/* A walk over the DIEs of one unit. */
struct walk {
	struct hl_inlines_builder *b;
	struct hl_dwarf_unit *unit;
	const struct hl_dwarf_lines *lines;
	uint32_t node; /* whose ranges are being added */
};

static void read_function(struct hl_cursor *c, const struct hl_dwarf_unit *unit,
			  const struct hl_dwarf_abbrev *abbrev, struct function *ret)
{
	const struct hl_dwarf_spec *spec = &unit->file->specs[abbrev->first];
	struct hl_dwarf_value value;

	memset(ret, 0, sizeof(*ret));
	for (uint32_t i = 0; i < abbrev->n && !c->failed; i++) {
		hl_dwarf_read_value(c, unit, spec[i].form, spec[i].value, &value);
		switch (spec[i].name) {
		case DW_AT_low_pc:
			ret->low_pc = value;
			break;
		case DW_AT_high_pc:
			ret->high_pc = value;
			break;
		case DW_AT_ranges:
			ret->ranges = value;
			break;
		case DW_AT_abstract_origin:
		case DW_AT_specification:
			ret->origin = value;
			break;
		case DW_AT_linkage_name:
		case DW_AT_MIPS_linkage_name:
			ret->linkage_name = value;
			break;
		case DW_AT_call_file:
			ret->call_file = value;
			break;
		case DW_AT_call_line:
			ret->call_line = value;
			break;
		default:
			break;
		}
	}
}

static int same_name(const void *ctx, uint32_t position)
{
	const struct hl_inlines_builder *b = ((const void *const *)ctx)[0];
	const uint64_t *key = ((const void *const *)ctx)[1];

	return b->names[position].key == *key;
}

/* The name of the function at @offset: looked up once, since most are inlined in many places. */
static int name_at(struct hl_inlines_builder *b, struct hl_dwarf_unit *unit, uint64_t offset, uint32_t *ret)
{
	uint64_t key = (uint64_t)unit->file->number << 40 ^ offset, hash = hl_hash(&key, sizeof(key), 0);
	const void *ctx[2] = { b, &key };
	uint32_t found = hl_index_find(&b->name_index, hash, same_name, ctx), string = 0;
	const char *name;
	int r;

	if (found != HL_INDEX_NONE) {
		*ret = b->names[found].string;
		return 0;
	}
	r = hl_dwarf_function_name(unit, offset, &name);
	if (r == 0 && name)
		r = hl_inlines_intern(b, name, &string);
	if (r == 0)
		r = hl_grow(&b->names, &b->cap_names, b->n_names + 1, sizeof(*b->names),
			    b->memory / sizeof(*b->names));
	if (r == 0)
		r = hl_index_add(&b->name_index, hash, (uint32_t)b->n_names);
	if (r < 0)
		return r;
	b->names[b->n_names++] = (struct hl_known_name){ key, string };
	*ret = string;
	return 0;
}

static int name_of(struct walk *w, const struct function *f, uint64_t offset, uint32_t *ret)
{
	const char *linkage = hl_dwarf_string(w->unit, &f->linkage_name);
	struct hl_dwarf_unit *unit = w->unit;

	if (linkage)
		return hl_inlines_intern(w->b, linkage, ret);
	/* If it refers to nothing that can be found, its own name will do. */
	(void)hl_dwarf_reference(w->unit, &f->origin, &unit, &offset);
	return name_at(w->b, unit, offset, ret);
}

/* Notes that the walk's node has code there, as far as that is where code can be. */
static int add_span(void *ctx, uint64_t start, uint64_t end)
{
	struct walk *w = ctx;
	struct hl_inlines_builder *b = w->b;
	uint64_t limit;
	int r;

	if (!hl_inlines_is_code(b, start, &limit))
		return 0;
	if (end > limit)
		end = limit;
	r = hl_grow(&b->spans, &b->cap_spans, b->n_spans + 1, sizeof(*b->spans),
		    b->memory / sizeof(*b->spans));
	if (r == 0)
		b->spans[b->n_spans++] =
			(struct hl_span){ (start - b->base) << 32 | w->node, (uint32_t)(end - b->base), 0 };
	return r;
}

static uint32_t small(uint64_t value)
{
	return value <= UINT32_MAX ? (uint32_t)value : 0;
}

/*
 * Reads the function at @offset, inside @parent. @ret_node is its node, or for one that has no code here and is
 * called by none that has, HL_NO_NODE.
 */
static int add_function(struct walk *w, struct hl_cursor *c, const struct hl_dwarf_abbrev *abbrev,
			uint64_t offset, uint32_t parent, uint32_t *ret_node)
{
	bool inlined = abbrev->tag == DW_TAG_inlined_subroutine;
	struct hl_inlines_builder *b = w->b;
	size_t n_spans = b->n_spans;
	struct hl_node node = { .up = inlined ? parent : HL_NO_NODE, .depth = 1 };
	struct function f;
	int r;

	read_function(c, w->unit, abbrev, &f);
	*ret_node = inlined ? parent : HL_NO_NODE;
	if (c->failed)
		return 0;
	if (node.up != HL_NO_NODE)
		node.depth = b->nodes[node.up].depth + 1;
	if (node.depth > HL_INLINES_DEPTH) {
		b->header.deep_functions++;
		return 0;
	}
	w->node = (uint32_t)b->n_nodes;
	r = hl_dwarf_ranges(w->unit, &f.low_pc, &f.high_pc, &f.ranges, add_span, w);
	if (r < 0 || (b->n_spans == n_spans && node.up == HL_NO_NODE))
		return r;
	r = name_of(w, &f, offset, &node.function);
	if (r == 0 && inlined && f.call_file.form)
		r = hl_inlines_file(b, w->lines, f.call_file.u, &node.call_file);
	if (r == 0)
		r = hl_grow(&b->nodes, &b->cap_nodes, b->n_nodes + 1, sizeof(*b->nodes),
			    b->memory / sizeof(*b->nodes));
	if (r < 0)
		return r;
	node.call_line = inlined && f.call_line.form ? small(f.call_line.u) : 0;
	*ret_node = (uint32_t)b->n_nodes;
	b->nodes[b->n_nodes++] = node;
	return 0;
}

int hl_inlines_walk(struct hl_inlines_builder *b, struct hl_dwarf_unit *unit,
		    const struct hl_dwarf_lines *lines)
{
	struct walk w = { .b = b, .unit = unit, .lines = lines };
	struct hl_cursor c = hl_dwarf_unit_cursor(unit, unit->die);
	uint32_t inside[MAX_DEPTH] = { HL_NO_NODE }, node;
	const struct hl_dwarf_abbrev *abbrev;
	uint64_t depth = 0, offset, code;
	int r = 0;

	while (r == 0 && hl_cursor_left(&c)) {
		offset = c.pos;
		code = hl_cursor_uleb(&c);
		if (code == 0) {
			if (depth <= 1)
				break;
			depth--;
			continue;
		}
		abbrev = hl_dwarf_abbrev(unit, code);
		if (!abbrev) {
			c.failed = true;
			break;
		}
		node = inside[depth < MAX_DEPTH ? depth : MAX_DEPTH - 1];
		if (abbrev->tag != DW_TAG_subprogram && abbrev->tag != DW_TAG_inlined_subroutine) {
			hl_dwarf_skip_die(&c, unit, abbrev);
		} else if (depth >= MAX_DEPTH) {
			b->header.deep_functions++;
			hl_dwarf_skip_die(&c, unit, abbrev);
		} else {
			r = add_function(&w, &c, abbrev, offset, node, &node);
		}
		if (abbrev->children && ++depth < MAX_DEPTH)
			inside[depth] = node;
		if (r == 0)
			r = hl_dwarf_tick(&b->dwarf, 2 + abbrev->n / 4);
	}
	b->header.damaged_units += c.failed;
	return r;
}
