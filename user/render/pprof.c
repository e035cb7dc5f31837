// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profile/pprof_fields.h"
#include "render/common.h"
#include "render/numbers.h"
#include "render/pprof_maps.h"
#include "render/proto.h"
#include "render/render.h"

/*
 * pprof's profile.proto (github.com/google/pprof, proto/profile.proto), gzipped. Fields of a message may stand
 * in any order, so all is written as the tree is walked: strings, functions and locations where the first
 * sample needs them.
 *
 * One Location an address: of the leaf the instruction's, of a caller that of the call, or its function's start
 * where the profile is not detailed. Functions inlined there are further Lines of it, innermost first. What a
 * stack belongs to is in labels, "comm" the innermost that was asked for, and in those of a detailed profile,
 * which have names of their own; and so is the instruction: its text, "insn", its class and its
 * offset in the function, from where readers that know no instructions still show it (pprof -tags,
 * -tagleaf=insn). With instruction_lines it is the
 * innermost Line too, and pprof's flame graph splits by it.
 *
 * pprof would look names up again in files that it finds, unless the mapping says that files and lines are
 * known: it says so, whether there are any, since the names here are those of the code that ran. The field
 * system_name stays empty: where it equals the name, pprof takes "<…>" and "(…)" out of it.
 */

/* Field numbers of the other messages. */
enum { TYPE_TYPE = 1, TYPE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_STR, LABEL_NUM, LABEL_UNIT };
enum {
	MAPPING_ID = 1,
	MAPPING_START,
	MAPPING_LIMIT,
	MAPPING_OFFSET,
	MAPPING_FILE,
	MAPPING_BUILD_ID,
	MAPPING_FUNCTIONS,
	MAPPING_FILES,
	MAPPING_LINES,
	MAPPING_INLINES
};
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_FILE = 4 };

/* One frame of the stack that the walk is at. */
struct level {
	struct hl_id chain; /* of the frames of its location, from the function that holds them */
	uint32_t frame;
	uint32_t first;    /* level of that function */
	uint64_t location; /* 0: not made yet */
};

struct pprof {
	const struct hl_profile *profile;
	bool instruction_lines;
	struct hl_gzip *gzip;
	struct hl_pprof_maps maps;
	/* By their bytes; by what tells them apart; by the frames that make them. */
	struct hl_numbers strings, functions, locations;
	uint64_t *function_of; /* ids by frame; 0: not known yet */
	struct level *levels;  /* by depth */
	struct hl_str message, part, text;
	int status;
};

static void fail(struct pprof *p, int code)
{
	if (code && !p->status)
		p->status = code;
}

/* Writes a field of the profile. */
static void emit(struct pprof *p, unsigned int number, const struct hl_str *message)
{
	_cleanup_str_ struct hl_str head = { 0 };

	hl_proto_varint(&head, number << 3 | 2);
	hl_proto_varint(&head, message->len);
	fail(p, head.failed || message->failed ? -ENOMEM : 0);
	if (p->status)
		return;
	hl_gzip_write(p->gzip, head.data, head.len);
	hl_gzip_write(p->gzip, message->data, message->len);
}

static void emit_uint(struct pprof *p, unsigned int number, uint64_t value)
{
	_cleanup_str_ struct hl_str field = { 0 };

	hl_proto_uint(&field, number, value);
	fail(p, hl_str_status(&field));
	if (!p->status)
		hl_gzip_write(p->gzip, field.data, field.len);
}

/* ---- ids ----------------------------------------------------------------------------------------------- */

/* The position of @id; *@ret_new says whether it got one just now. */
static size_t number_of(struct pprof *p, struct hl_numbers *numbers, struct hl_id id, bool *ret_new)
{
	size_t at = 0;

	fail(p, hl_numbers_get(numbers, id, &at, ret_new));
	return at;
}

/* Index of @text, valid UTF-8, in the string table. */
static uint64_t string_of(struct pprof *p, const struct hl_str *text)
{
	bool is_new;
	size_t at = number_of(p, &p->strings, hl_id_of(text->data ? text->data : "", text->len), &is_new);

	fail(p, text->failed ? -ENOMEM : 0);
	if (is_new)
		emit(p, HL_PPROF_STRING, text);
	return at;
}

static uint64_t literal(struct pprof *p, const char *text)
{
	const struct hl_str s = { .data = (char *)text, .len = strlen(text) };

	return string_of(p, &s);
}

/* ---- functions and locations ---------------------------------------------------------------------------- */

/* Frames of a detailed profile are many of one function, which its start, name and file tell apart. */
static struct hl_id function_id(const struct hl_frame *frame, uint64_t name, uint64_t file)
{
	const struct {
		struct hl_id binary;
		uint64_t start, name, file, kind;
	} record = { .binary = frame->binary,
		     .start = frame->kind == HL_FRAME_INSN ? frame->address : frame->address - frame->offset,
		     .name = name,
		     .file = file,
		     .kind = frame->kind };

	return hl_id_of(&record, sizeof(record));
}

static uint64_t function_of(struct pprof *p, uint32_t index)
{
	const struct hl_frame *frame = hl_profile_get_frame(p->profile, index);
	_cleanup_str_ struct hl_str message = { 0 };
	uint64_t name, file;
	bool is_new;

	if (p->function_of[index])
		return p->function_of[index];
	hl_str_clear(&p->text);
	hl_render_name(&p->text, frame);
	if (frame->kind == HL_FRAME_INSN)
		hl_str_addf(&p->text, " [0x%" PRIx64 "]", frame->address);
	name = string_of(p, &p->text);
	hl_str_clear(&p->text);
	hl_render_clean(&p->text, frame->file, frame->file_len, HL_RENDER_NAME_MAX);
	file = string_of(p, &p->text);
	p->function_of[index] = number_of(p, &p->functions, function_id(frame, name, file), &is_new) + 1;
	if (!is_new)
		return p->function_of[index];
	hl_proto_uint(&message, FUNCTION_ID, p->function_of[index]);
	hl_proto_uint(&message, FUNCTION_NAME, name);
	hl_proto_uint(&message, FUNCTION_FILE, file);
	emit(p, HL_PPROF_FUNCTION, &message);
	return p->function_of[index];
}

static void add_line(struct pprof *p, struct hl_str *location, uint32_t frame)
{
	uint64_t function = function_of(p, frame);

	hl_str_clear(&p->part);
	hl_proto_uint(&p->part, LINE_FUNCTION, function);
	hl_proto_uint(&p->part, LINE_LINE, hl_profile_get_frame(p->profile, frame)->line);
	hl_proto_message(location, LOCATION_LINE, &p->part);
}

/* The frame whose address stands for levels @first to @last: the last that lies in that function's code. */
static const struct hl_frame *place_of(const struct pprof *p, uint32_t first, uint32_t last,
				       uint32_t *ret_map)
{
	const struct hl_frame *holder = hl_profile_get_frame(p->profile, p->levels[first].frame);

	*ret_map = p->maps.of_frame[p->levels[first].frame];
	for (; last > first; last--) {
		const struct hl_frame *frame = hl_profile_get_frame(p->profile, p->levels[last].frame);

		if (frame->kind == HL_FRAME_INSN ||
		    (frame->address && hl_id_equal(frame->binary, holder->binary))) {
			*ret_map = p->maps.of_frame[p->levels[last].frame];
			return frame;
		}
	}
	return holder;
}

/* The location that ends at level @depth, made if need be. */
static uint64_t location_of(struct pprof *p, uint32_t depth)
{
	struct level *level = &p->levels[depth];
	_cleanup_str_ struct hl_str message = { 0 };
	const struct hl_frame *place;
	uint32_t map;
	bool is_new;

	if (level->location)
		return level->location;
	level->location = number_of(p, &p->locations, level->chain, &is_new) + 1;
	if (!is_new)
		return level->location;
	place = place_of(p, level->first, depth, &map);
	hl_proto_uint(&message, LOCATION_ID, level->location);
	hl_proto_uint(&message, LOCATION_MAPPING, map + 1);
	hl_proto_uint(&message, LOCATION_ADDRESS, place->kind == HL_FRAME_MARK ? 0 : place->address);
	for (uint32_t at = depth; at + 1 > level->first; at--) {
		uint8_t kind = hl_profile_get_frame(p->profile, p->levels[at].frame)->kind;
		bool in_function = kind == HL_FRAME_INSN || kind == HL_FRAME_PART;

		if (!in_function || p->instruction_lines || at == level->first)
			add_line(p, &message, p->levels[at].frame);
	}
	emit(p, HL_PPROF_LOCATION, &message);
	return level->location;
}

/* ---- samples -------------------------------------------------------------------------------------------- */

static bool opens_location(const struct hl_frame *frame, const struct hl_frame *parent)
{
	bool holds = parent->kind != HL_FRAME_ROOT && parent->kind != HL_FRAME_MARK &&
		     parent->kind != HL_FRAME_INSN;

	return !holds || (frame->kind != HL_FRAME_INLINED && frame->kind != HL_FRAME_INSN &&
			  frame->kind != HL_FRAME_PART);
}

static void enter(struct pprof *p, const struct hl_node *node, const struct hl_frame *parent)
{
	struct level *level = &p->levels[node->depth], *above = level - 1;
	struct hl_id pair[2] = { above->chain, hl_profile_frame_id(p->profile, node->frame) };

	*level = (struct level){ .frame = node->frame, .first = node->depth, .chain = pair[1] };
	if (!opens_location(hl_profile_get_frame(p->profile, node->frame), parent)) {
		level->first = above->first;
		level->chain = hl_id_of(pair, sizeof(pair));
	}
}

/* Adds a label with the value that is in p->text. */
static void add_label(struct pprof *p, struct hl_str *sample, const char *key)
{
	uint64_t key_string = literal(p, key), value = string_of(p, &p->text);

	hl_str_clear(&p->part);
	hl_proto_uint(&p->part, LABEL_KEY, key_string);
	hl_proto_uint(&p->part, LABEL_STR, value);
	hl_proto_message(sample, SAMPLE_LABEL, &p->part);
}

/* How far into its function the instruction lies. */
static void add_offset(struct pprof *p, uint64_t offset, struct hl_str *sample)
{
	uint64_t key = literal(p, "offset"), unit = literal(p, "bytes");

	hl_str_clear(&p->part);
	hl_proto_uint(&p->part, LABEL_KEY, key);
	hl_proto_uint(&p->part, LABEL_NUM, offset);
	hl_proto_uint(&p->part, LABEL_UNIT, unit);
	hl_proto_message(sample, SAMPLE_LABEL, &p->part);
}

static const struct hl_frame *frame_at(const struct pprof *p, uint32_t depth)
{
	return hl_profile_get_frame(p->profile, p->levels[depth].frame);
}

static void add_labels(struct pprof *p, uint32_t depth, struct hl_str *sample)
{
	const struct hl_frame *leaf = frame_at(p, depth);
	uint32_t at;

	for (at = 1; at <= depth && frame_at(p, at)->kind == HL_FRAME_ROOT; at++) {
		bool last = at == depth || frame_at(p, at + 1)->kind != HL_FRAME_ROOT;
		const struct hl_frame *root = frame_at(p, at);
		size_t key = root->module_len && root->module_len < root->name_len ? root->module_len + 1 : 0;

		/* "KEY=VALUE", with the key apart. */
		hl_str_clear(&p->text);
		hl_render_clean(&p->text, root->name + key, root->name_len - key, HL_RENDER_NAME_MAX);
		add_label(p, sample, key ? root->module : last ? "comm" : "root");
	}
	if (leaf->kind != HL_FRAME_INSN)
		return;
	hl_str_clear(&p->text);
	hl_render_name(&p->text, leaf);
	add_label(p, sample, "insn");
	hl_str_clear(&p->text);
	hl_str_adds(&p->text, hl_insn_class_names[hl_render_class(leaf)]);
	add_label(p, sample, "class");
	add_offset(p, leaf->offset, sample);
}

static uint64_t as_int64(uint64_t value)
{
	return value <= INT64_MAX ? value : INT64_MAX;
}

static void add_sample(struct pprof *p, const struct hl_node *node)
{
	_cleanup_str_ struct hl_str packed = { 0 };
	uint32_t at = node->depth;

	/* Leaf first. Locations are written before the sample, whose message is put together meanwhile. */
	while (at > 0 && frame_at(p, at)->kind != HL_FRAME_ROOT) {
		hl_proto_varint(&packed, location_of(p, at));
		at = p->levels[at].first - 1;
	}
	hl_str_clear(&p->message);
	hl_proto_message(&p->message, SAMPLE_LOCATION, &packed);
	hl_str_clear(&packed);
	hl_proto_varint(&packed, as_int64(node->self));
	hl_proto_varint(&packed, as_int64(node->self_weight));
	hl_proto_message(&p->message, SAMPLE_VALUE, &packed);
	if (node->depth)
		add_labels(p, node->depth, &p->message);
	emit(p, HL_PPROF_SAMPLE, &p->message);
}

static void write_samples(struct pprof *p)
{
	uint32_t n, i;
	const struct hl_node *nodes = hl_profile_nodes(p->profile, &n);

	for (i = 0; i < n && !p->status; i++) {
		if (i)
			enter(p, &nodes[i], hl_profile_get_frame(p->profile, nodes[nodes[i].parent].frame));
		if (nodes[i].self || nodes[i].self_weight)
			add_sample(p, &nodes[i]);
	}
}

/* ---- the rest ------------------------------------------------------------------------------------------- */

static void map_file(const struct hl_pprof_map *map, struct hl_str *out)
{
	if (map->kind == HL_FRAME_MARK) {
		hl_str_adds(out, "[hotleaf]");
	} else if (map->kind == HL_FRAME_JIT) {
		hl_str_adds(out, "[jit]");
	} else if (map->kind == HL_FRAME_USER) {
		hl_render_clean(out, map->module, map->module_len, HL_RENDER_NAME_MAX);
	} else if (!map->module_len || strcmp(map->module, "kernel") == 0 ||
		   strcmp(map->module, "vmlinux") == 0) {
		hl_str_adds(out, "[kernel.kallsyms]");
	} else {
		hl_str_addc(out, '[');
		hl_render_clean(out, map->module, map->module_len, HL_RENDER_NAME_MAX);
		hl_str_addc(out, ']');
	}
}

static void write_map(struct pprof *p, size_t index)
{
	const struct hl_pprof_map *map = &p->maps.items[index];
	uint64_t file, build_id = 0;

	hl_str_clear(&p->text);
	map_file(map, &p->text);
	file = string_of(p, &p->text);
	if (map->binary && map->binary->build_id_len) {
		hl_str_clear(&p->text);
		for (size_t i = 0; i < map->binary->build_id_len; i++)
			hl_str_addf(&p->text, "%02x", map->binary->build_id[i]);
		build_id = string_of(p, &p->text);
	}
	hl_str_clear(&p->message);
	hl_proto_uint(&p->message, MAPPING_ID, index + 1);
	hl_proto_uint(&p->message, MAPPING_START, map->start);
	hl_proto_uint(&p->message, MAPPING_LIMIT, map->limit);
	hl_proto_uint(&p->message, MAPPING_OFFSET, map->offset);
	hl_proto_uint(&p->message, MAPPING_FILE, file);
	hl_proto_uint(&p->message, MAPPING_BUILD_ID, build_id);
	hl_proto_uint(&p->message, MAPPING_FUNCTIONS, 1);
	hl_proto_uint(&p->message, MAPPING_FILES, 1);
	hl_proto_uint(&p->message, MAPPING_LINES, 1);
	hl_proto_uint(&p->message, MAPPING_INLINES, map->inlines || p->instruction_lines);
	emit(p, HL_PPROF_MAPPING, &p->message);
}

static void write_type(struct pprof *p, unsigned int number, const char *type, const char *unit)
{
	uint64_t t = literal(p, type), u = literal(p, unit);

	hl_str_clear(&p->message);
	hl_proto_uint(&p->message, TYPE_TYPE, t);
	hl_proto_uint(&p->message, TYPE_UNIT, u);
	emit(p, number, &p->message);
}

/* Weights of a clock are CPU time; of another event its counts. The period is what one sample stands for. */
static void write_types(struct pprof *p)
{
	const struct hl_profile_meta *meta = hl_profile_meta(p->profile);
	bool clock = !meta->unit || strcmp(meta->unit, "nanoseconds") == 0;
	const char *type = clock ? "cpu" : meta->unit, *unit = clock ? meta->unit ?: "nanoseconds" : "count";
	uint32_t n;
	const struct hl_node *all = hl_profile_nodes(p->profile, &n);
	uint64_t period = all->total ? all->total_weight / all->total : 0;

	if (clock && meta->frequency)
		period = 1000000000 / meta->frequency;
	write_type(p, HL_PPROF_SAMPLE_TYPE, "samples", "count");
	write_type(p, HL_PPROF_SAMPLE_TYPE, type, unit);
	write_type(p, HL_PPROF_PERIOD_TYPE, type, unit);
	emit_uint(p, HL_PPROF_DEFAULT_TYPE, literal(p, type));
	emit_uint(p, HL_PPROF_PERIOD, as_int64(period ? period : 1));
	if (meta->start_ns) {
		emit_uint(p, HL_PPROF_TIME, as_int64(meta->start_ns));
		if (meta->end_ns > meta->start_ns)
			emit_uint(p, HL_PPROF_DURATION, as_int64(meta->end_ns - meta->start_ns));
	}
}

/* The header of every output, a line a comment. */
static void write_comments(struct pprof *p)
{
	_cleanup_str_ struct hl_str header = { 0 };
	char *line, *end;

	hl_render_header(&header, p->profile, SIZE_MAX);
	fail(p, hl_str_status(&header));
	for (line = header.data; !p->status && line && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		emit_uint(p, HL_PPROF_COMMENT, literal(p, line));
	}
}

static int prepare(struct pprof *p, FILE *out)
{
	uint32_t n = hl_profile_n_frames(p->profile);

	p->gzip = hl_gzip_new(out);
	p->function_of = calloc((size_t)n + 1, sizeof(*p->function_of));
	p->levels = calloc((size_t)hl_render_depth(p->profile) + 1, sizeof(*p->levels));
	if (!p->gzip || !p->function_of || !p->levels)
		return -ENOMEM;
	return hl_pprof_maps_make(p->profile, &p->maps);
}

static void done(struct pprof *p)
{
	hl_gzip_free(p->gzip);
	hl_pprof_maps_done(&p->maps);
	hl_numbers_done(&p->strings);
	hl_numbers_done(&p->locations);
	free(p->function_of);
	hl_numbers_done(&p->functions);
	free(p->levels);
	hl_str_done(&p->message);
	hl_str_done(&p->part);
	hl_str_done(&p->text);
}

static int write_pprof(const struct hl_profile *profile, const struct hl_render_options *options, FILE *out,
		       struct hl_err *err)
{
	_cleanup_(done) struct pprof p = { .profile = profile };

	p.instruction_lines = options && options->instruction_lines;
	fail(&p, prepare(&p, out));
	if (!p.status) {
		(void)literal(&p, "");
		write_types(&p);
		for (size_t i = 0; i < p.maps.n; i++)
			write_map(&p, i);
		write_samples(&p);
		write_comments(&p);
	}
	if (!p.status)
		p.status = hl_gzip_end(p.gzip);
	if (p.status)
		return hl_err_errno(err, p.status, "cannot write the pprof output");
	return hl_render_flush(out, "pprof", err);
}

const struct hl_writer hl_writer_pprof = {
	.format = "pb.gz",
	.detailed = true,
	.summary = "for pprof: a location an instruction, with files and build-ids",
	.write = write_pprof,
};
