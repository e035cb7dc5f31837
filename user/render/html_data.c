// SPDX-License-Identifier: BSD-2-Clause
#include "render/html_data.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "profile/diff.h"

enum { FORMAT_VERSION = 2 };

static void add_varint(struct hl_str *out, uint64_t value)
{
	char bytes[10];
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[n++] = (char)(value | 0x80);
	bytes[n++] = (char)value;
	hl_str_add(out, bytes, n);
}

static void add_signed(struct hl_str *out, int64_t value)
{
	add_varint(out, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

/* Appends @columns one after the other and frees them. */
static void add_columns(struct hl_str *out, struct hl_str *columns, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (hl_str_status(&columns[i]))
			out->failed = true;
		hl_str_add(out, columns[i].data, columns[i].len);
		hl_str_done(&columns[i]);
	}
}

/* ---- strings ------------------------------------------------------------------------------------ */

/*
 * Strings are sorted before they are written, which halves what names with common beginnings take under gzip.
 * So a first pass over the profile collects them, and in a second one their numbers are known.
 */
struct table {
	struct hl_index index;
	struct table_item {
		const char *bytes; /* borrowed from the profile */
		size_t len;
		uint32_t position; /* in the order of first use */
	} * items;
	uint32_t *rank; /* of the item at that position; NULL until sorted */
	size_t n, cap;
	int error;
};

struct wanted {
	const struct table *table;
	const char *bytes;
	size_t len;
};

static void table_done(struct table *table)
{
	hl_index_done(&table->index);
	free(table->items);
	free(table->rank);
}

static int is_wanted(const void *ctx, uint32_t position)
{
	const struct wanted *w = ctx;
	const struct table_item *item =
		&w->table->items[w->table->rank ? w->table->rank[position] : position];

	return item->len == w->len && memcmp(item->bytes, w->bytes, w->len) == 0;
}

/* The number of that string; before the table is sorted, and after a failure, which table->error tells, 0. */
static uint32_t number_of(struct table *table, const char *bytes, size_t len)
{
	struct wanted wanted = { table, bytes ? bytes : "", bytes ? len : 0 };
	uint64_t hash = hl_hash(wanted.bytes, wanted.len, 0);
	uint32_t position = hl_index_find(&table->index, hash, is_wanted, &wanted);

	if (position != HL_INDEX_NONE)
		return table->rank ? table->rank[position] : 0;
	if (!table->error)
		table->error = hl_grow(&table->items, &table->cap, table->n + 1, sizeof(*table->items),
				       HL_INDEX_NONE);
	if (!table->error)
		table->error = hl_index_add(&table->index, hash, (uint32_t)table->n);
	if (!table->error) {
		table->items[table->n] = (struct table_item){ wanted.bytes, wanted.len, (uint32_t)table->n };
		table->n++;
	}
	return 0;
}

static int compare_items(const void *a, const void *b)
{
	const struct table_item *x = a, *y = b;
	int order = memcmp(x->bytes, y->bytes, x->len < y->len ? x->len : y->len);

	return order ? order : (x->len > y->len) - (x->len < y->len);
}

static int table_sort(struct table *table)
{
	_cleanup_free_ uint32_t *rank = calloc(table->n + 1, sizeof(*rank));
	size_t i;

	if (table->error || !rank)
		return table->error ? table->error : -ENOMEM;
	qsort(table->items, table->n, sizeof(*table->items), compare_items);
	for (i = 0; i < table->n; i++)
		rank[table->items[i].position] = (uint32_t)i;
	table->rank = TAKE_PTR(rank);
	return 0;
}

static void add_text(struct hl_str *out, const char *bytes, size_t len)
{
	size_t shown = len;

	if (len > HL_HTML_NAME_MAX) {
		/* Never through a UTF-8 sequence: its later bytes are 10xxxxxx. */
		for (shown = HL_HTML_NAME_MAX; shown > HL_HTML_NAME_MAX - 4 && (bytes[shown] & 0xc0) == 0x80;)
			shown--;
	}
	hl_str_add_clean(out, bytes, shown);
	if (shown < len)
		hl_str_addf(out, "\u2026 (cut: %zu bytes)", len);
}

static void add_table(struct hl_str *out, const struct table *table)
{
	struct hl_str text = { 0 };
	size_t i;

	for (i = 0; i < table->n; i++) {
		if (i)
			hl_str_addc(&text, '\n');
		add_text(&text, table->items[i].bytes, table->items[i].len);
	}
	add_varint(out, text.len);
	add_columns(out, &text, 1);
}

static void add_string(struct hl_str *out, struct table *table, const char *text)
{
	add_varint(out, number_of(table, text, text ? strlen(text) : 0));
}

/* ---- parts -------------------------------------------------------------------------------------- */

static void add_time(struct hl_str *out, uint64_t ns)
{
	add_varint(out, ns / 1000000000);
	add_varint(out, ns % 1000000000);
}

static void add_cpus(struct hl_str *out, double cpus)
{
	/* Not a number fails the comparison too. */
	add_varint(out, cpus >= 0 && cpus < 1e9 ? 1 + (uint64_t)(cpus * 1e6 + 0.5) : 0);
}

static void add_meta(struct hl_str *out, struct table *table, const struct hl_profile_meta *meta,
		     const char *title)
{
	const char *texts[] = { title,       meta->host,     meta->kernel, meta->version,
				meta->event, meta->decoders, meta->unit };
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		add_string(out, table, texts[i]);
	add_varint(out, meta->precise);
	add_varint(out, meta->frequency);
	add_varint(out, meta->cpus);
	add_time(out, meta->start_ns);
	add_time(out, meta->end_ns);
	add_varint(out, meta->expected);
	add_varint(out, meta->seen);
	add_varint(out, meta->idle);
	add_varint(out, meta->filtered);
	add_varint(out, meta->left_out);
	add_cpus(out, meta->busy_cpus);
	add_cpus(out, meta->cost_programs);
	add_cpus(out, meta->cost_process);
	add_varint(out, meta->n_losses);
	for (i = 0; i < meta->n_losses; i++) {
		add_string(out, table, meta->losses[i].name);
		add_string(out, table, meta->losses[i].help);
		add_varint(out, meta->losses[i].count);
		add_varint(out, meta->losses[i].kind);
	}
	add_varint(out, meta->n_notes);
	for (i = 0; i < meta->n_notes; i++)
		add_string(out, table, meta->notes[i]);
}

/* ---- nodes and frames --------------------------------------------------------------------------- */

/*
 * Most functions call few others, so a node's frame is said as its place among the callees of its caller's
 * frame seen so far: a small number, where a frame's own number has seventeen random bits.
 */
struct numbering {
	struct numbered {
		uint32_t number; /* from 1, in the order of first use; 0: not used yet */
		uint32_t
			callees; /* the list of frames it calls: 1 + index of the first entry, 0 at the end */
		uint32_t last, n; /* its last entry, its length */
	} * frames;
	uint32_t *order;  /* by number - 1: the frame */
	uint32_t *caller; /* by number - 1: the frame that called it first */
	struct callee {
		uint32_t frame, next;
	} * entries;
	uint32_t n, n_entries;
};

static void numbering_done(struct numbering *numbering)
{
	free(numbering->frames);
	free(numbering->order);
	free(numbering->caller);
	free(numbering->entries);
}

static int numbering_init(struct numbering *ret, size_t n_frames, size_t n_nodes)
{
	/* One more, since calloc(0) may give NULL; node 0's frame is no node's callee. */
	*ret = (struct numbering){
		.frames = calloc(n_frames + 1, sizeof(*ret->frames)),
		.order = calloc(n_frames + 1, sizeof(*ret->order)),
		.caller = calloc(n_frames + 1, sizeof(*ret->caller)),
		.entries = calloc(n_nodes + 1, sizeof(*ret->entries)),
	};
	return ret->frames && ret->order && ret->caller && ret->entries ? 0 : -ENOMEM;
}

/* 1 + the place of @frame among the callees of @caller, or 0 after it was put there if there is room. */
static uint32_t place_of(struct numbering *numbering, uint32_t caller, uint32_t frame)
{
	struct numbered *list = &numbering->frames[caller];
	uint32_t place = 0, at;

	for (at = list->callees; at; at = numbering->entries[at - 1].next) {
		place++;
		if (numbering->entries[at - 1].frame == frame)
			return place;
	}
	if (list->n == HL_HTML_CALLEES)
		return 0;
	numbering->entries[numbering->n_entries++] = (struct callee){ frame, 0 };
	if (list->n++)
		numbering->entries[list->last - 1].next = numbering->n_entries;
	else
		list->callees = numbering->n_entries;
	list->last = numbering->n_entries;
	return 0;
}

/* Appends the two columns that say each node's frame, and numbers the frames. */
static void add_node_frames(struct hl_str *out, const struct hl_node *nodes, uint32_t n,
			    struct numbering *numbering, uint32_t root)
{
	struct hl_str others = { 0 };
	uint32_t i, caller, place, frame;

	for (i = 1; i < n; i++) {
		frame = nodes[i].frame;
		caller = nodes[i].parent ? nodes[nodes[i].parent].frame : root;
		place = place_of(numbering, caller, frame);
		add_varint(out, place);
		if (place)
			continue;
		add_varint(&others, numbering->frames[frame].number);
		if (numbering->frames[frame].number)
			continue;
		numbering->order[numbering->n] = frame;
		numbering->caller[numbering->n] = caller;
		numbering->frames[frame].number = ++numbering->n;
	}
	add_columns(out, &others, 1);
}

static void add_nodes(struct hl_str *out, const struct hl_profile *profile, bool diff,
		      struct numbering *numbering)
{
	uint32_t n, i;
	const struct hl_node *nodes = hl_profile_nodes(profile, &n);
	/* With a fixed period every difference is zero and the column vanishes under gzip. */
	uint64_t period = nodes[0].total ? nodes[0].total_weight / nodes[0].total : 0;

	period = diff ? 0 : period;
	add_varint(out, n);
	add_varint(out, period);
	for (i = 1; i < n; i++)
		add_varint(out, nodes[i - 1].depth + 1 - nodes[i].depth);
	add_node_frames(out, nodes, n, numbering, hl_profile_n_frames(profile));
	for (i = 0; i < n; i++)
		add_varint(out, diff ? nodes[i].self_weight : nodes[i].self);
	for (i = 0; i < n; i++)
		add_signed(out,
			   (int64_t)(diff ? nodes[i].self : nodes[i].self_weight - nodes[i].self * period));
}

/* The low half of the address of the @i-th frame's caller; the root of roots has none. */
static uint32_t caller_address(const struct hl_profile *profile, const struct numbering *numbering,
			       uint32_t i)
{
	if (numbering->caller[i] == hl_profile_n_frames(profile))
		return 0;
	return (uint32_t)hl_profile_get_frame(profile, numbering->caller[i])->address;
}

static void add_frames(struct hl_str *out, struct table *table, const struct hl_profile *profile,
		       const struct numbering *numbering)
{
	enum { KIND, TYPE, NAME, MODULE, HIGH, LOW, OFFSET, N_COLUMNS };
	struct hl_str columns[N_COLUMNS] = { 0 };
	uint32_t i, start, last = 0;

	for (i = 0; i < numbering->n; i++) {
		const struct hl_frame *frame = hl_profile_get_frame(profile, numbering->order[i]);

		add_varint(&columns[KIND], frame->kind);
		add_varint(&columns[TYPE], (frame->insn_class & 7u) << 1 | frame->kernel);
		add_varint(&columns[NAME], number_of(table, frame->name, frame->name_len));
		add_varint(&columns[MODULE], number_of(table, frame->module, frame->module_len));
		add_varint(&columns[HIGH], frame->address >> 32);
		start = (uint32_t)(frame->address - frame->offset);
		if (frame->kind == HL_FRAME_INSN) {
			add_signed(&columns[LOW], (int32_t)(start - caller_address(profile, numbering, i)));
		} else {
			add_signed(&columns[LOW], (int32_t)(start - last));
			last = start;
		}
		add_varint(&columns[OFFSET], frame->offset);
	}
	add_varint(out, numbering->n);
	add_columns(out, columns, N_COLUMNS);
}

/* ---- all of it ---------------------------------------------------------------------------------- */

static void add_header(struct hl_str *out, struct table *table, const struct hl_profile *profile,
		       const char *title)
{
	static const struct hl_profile_meta none = { .cost_programs = -1,
						     .cost_process = -1,
						     .busy_cpus = -1 };
	const struct hl_profile_meta *meta = hl_profile_meta(profile);

	add_meta(out, table, meta ? meta : &none, title);
}

static void add_headers(struct hl_str *out, struct table *table, const struct hl_profile *profile,
			const struct hl_diff *diff, const char *title)
{
	add_header(out, table, profile, title);
	add_varint(out, diff != NULL);
	if (!diff)
		return;
	add_header(out, table, diff->side[HL_BEFORE].profile, "");
	add_varint(out, diff->by == HL_DIFF_BY_TIME);
	for (int side = 0; side < HL_N_SIDES; side++)
		add_varint(out, (uint64_t)diff->side[side].due);
	add_varint(out, (uint64_t)(diff->noise * 1000 + 0.5));
}

static int add_all(const struct hl_profile *profile, const struct hl_diff *diff, const char *title,
		   struct hl_str *out)
{
	_cleanup_(numbering_done) struct numbering numbering = { 0 };
	_cleanup_(table_done) struct table table = { 0 };
	_cleanup_str_ struct hl_str nodes = { 0 }, body = { 0 };
	uint32_t n_nodes;
	int err;

	(void)hl_profile_nodes(profile, &n_nodes);
	if (numbering_init(&numbering, hl_profile_n_frames(profile), n_nodes))
		return -ENOMEM;
	add_nodes(&nodes, profile, diff != NULL, &numbering);
	add_headers(&body, &table, profile, diff, title);
	add_frames(&body, &table, profile, &numbering);
	err = table_sort(&table);
	if (err)
		return err;
	add_varint(out, FORMAT_VERSION);
	add_table(out, &table);
	add_headers(out, &table, profile, diff, title);
	add_columns(out, &nodes, 1);
	add_frames(out, &table, profile, &numbering);
	return hl_str_status(out);
}

int hl_html_data(const struct hl_profile *profile, const char *title, struct hl_str *out)
{
	return add_all(profile, NULL, title, out);
}

int hl_html_diff_data(const struct hl_diff *diff, const char *title, struct hl_str *out)
{
	return add_all(diff->tree, diff, title, out);
}
