// SPDX-License-Identifier: BSD-2-Clause
/*
 * Unwind tables in the maps that programs read: loaded, replaced and freed while programs walk.
 *
 * A program runs in the sampling interrupt and takes no lock. What it reads for one frame is a chain: the
 * file's state (one word: the table's place), head, page index, rows, rule. Three things make every chain that
 * it can follow one table, whole:
 *
 *   - A table is written while nothing leads to it, and appears by one store, of its place into the file's
 *     state. Nothing that a place leads to is changed while the state holds it. So a run that loads the word
 *     has either the old table or the new one, or none, never a mixture.
 *   - To replace or drop a table is one store to the same word. The old words stay as they are: the table is
 *     dead, but a run may have loaded its place before.
 *   - They are used again only after a grace period, at whose end no run can still know the place.
 *
 * The last needs care, since each CPU keeps the mappings of the process that it saw last, with the places and
 * heads of their tables, over many runs (bpf/mapping.bpf.h). A run throws them away if files_generation is
 * not what it was when they were put there. The order here is: store the state, raise the generation, then
 * wait for the grace period. A run reads the generation first, at its begin. If it reads the new one, then all
 * that it finds in its cache was looked up by runs that had read the new one too, hence after the store: no
 * old place is in it. If it reads the old one, it began before the wait and has ended when the wait ends; what
 * it leaves in the cache is marked with the old generation, and thrown away by the next run. So after the wait
 * no run has an old place, nor can it get one. (x86 keeps stores in order, and loads; so does the release of
 * the generation.) Within one walk the generation does not change, be it raised in between: some mappings then
 * have the old table and some the new, each frame is unwound by one of them, and both are right.
 *
 * The wait is that of sides.c: the kernel waits for an RCU grace period when an element of an outer map is
 * replaced, and every run lies in an RCU section. It takes some milliseconds and is needed only where
 * something is freed, never to load a table of a new file.
 *
 * Memory: the words of all tables are one line of numbers, as long as the cap allows, on which extents are
 * taken where they first fit (extents.c); a slab of 1 MiB is made when the first of its words is taken and goes
 * with the last (slabs.c). A page's rows must not straddle slabs, so rows are laid in chunks; an index may go
 * on in the next slab, so that files of any size have one. Where a table finds no room the coldest go: those
 * whose files no program has met for longest, by the epoch in the file's state. A program writes it there when
 * it looks the file up, which it does at least once in an epoch, as a new epoch empties the caches too: that
 * costs nothing a frame. What is in use now does not go for something else in use now, or two halves of a
 * working set would drive each other out for ever: the new table is refused then, and asked for again later.
 * Both are counted, and stacks that would have needed the table say so.
 */
#include "capture/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "bpf/hotleaf.skel.h"
#include "capture/internal.h"

enum {
	DEFAULT_MB = 128,
	CHUNK_WORDS = HL_SLAB_WORDS / 8,               /* of rows; at least a page's 4,096 */
	HEAD_WORDS = sizeof(struct hl_table_head) / 4, /* likewise HL_UNWIND_PAGE's below */
	ENTRY_WORDS = sizeof(struct hl_unwind_page) / 4,
	HOT_EPOCHS = 2, /* used in this one or the one before: in use now */
	RULE_BYTES = HL_RULES * sizeof(struct hl_unwind_rule),
	STATE_BYTES = HL_FILE_LIMIT * sizeof(struct hl_file),
};

/* The parts of a table's bytes, which hl_unwind_check() has accepted. */
struct parts {
	const struct hl_unwind_table *head;
	const struct hl_unwind_rule *rules;
	const struct hl_unwind_page *pages;
	const uint32_t *rows;
};

static struct parts parts_of(const void *bytes)
{
	struct parts t = { .head = bytes };

	t.rules = (const void *)(t.head + 1);
	t.pages = (const void *)(t.rules + t.head->n_rules);
	t.rows = (const void *)(t.pages + t.head->n_pages);
	return t;
}

int hl_tables_make(struct hl_capture *capture, struct hl_err *err)
{
	uint32_t slabs = capture->options.unwind_mb ? capture->options.unwind_mb : DEFAULT_MB;
	struct hl_tables *tables = calloc(1, sizeof(*tables));
	int code;

	if (!tables)
		return hl_err_set(err, -ENOMEM, "no memory for the unwind tables");
	capture->tables = tables;
	code = hl_slabs_init(&tables->slabs, slabs < HL_SLABS ? slabs : HL_SLABS);
	if (code)
		return hl_err_errno(err, code, "cannot create the map of unwind tables");
	/* A template only: libbpf neither keeps nor closes it. */
	code = bpf_map__set_inner_map_fd(capture->skel->maps.slabs, tables->slabs.items[0].fd);
	return code ? hl_err_errno(err, code, "cannot describe the map of unwind tables") : 0;
}

static void *map_map(const struct bpf_map *map, size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	return at == MAP_FAILED ? NULL : at;
}

int hl_tables_publish(struct hl_capture *capture, struct hl_err *err)
{
	struct hl_tables *tables = capture->tables;
	int code = hl_slabs_publish(&tables->slabs, bpf_map__fd(capture->skel->maps.slabs));

	if (code)
		return hl_err_errno(err, code, "cannot fill the map of unwind tables");
	tables->rule_map = map_map(capture->skel->maps.rules, RULE_BYTES);
	if (!tables->rule_map)
		return hl_err_errno(err, -errno, "cannot map the unwind rules");
	tables->states = map_map(capture->skel->maps.file_states, STATE_BYTES);
	if (!tables->states)
		return hl_err_errno(err, -errno, "cannot map the states of files");
	if (hl_rules_init(&tables->rules, tables->rule_map, HL_RULES))
		return hl_err_set(err, -ENOMEM, "no memory for the unwind rules");
	return 0;
}

static void free_table(struct hl_table *table)
{
	if (!table)
		return;
	free(table->extents);
	free(table->rules);
	free(table);
}
HL_DEFINE_CLEANUP(struct hl_table, free_table)

static void free_list(struct hl_table *table)
{
	for (struct hl_table *next; table; table = next) {
		next = table->next;
		free_table(table);
	}
}

void hl_tables_done(struct hl_capture *capture)
{
	struct hl_tables *tables = capture->tables;

	if (!tables)
		return;
	free_list(tables->loaded);
	free_list(tables->dead);
	hl_rules_done(&tables->rules);
	hl_slabs_done(&tables->slabs);
	if (tables->rule_map)
		(void)munmap(tables->rule_map, RULE_BYTES);
	if (tables->states)
		(void)munmap(tables->states, STATE_BYTES);
	free(tables);
	capture->tables = NULL;
}

uint64_t hl_tables_bytes(const struct hl_capture *capture)
{
	return (uint64_t)__atomic_load_n(&capture->tables->slabs.n_backed, __ATOMIC_RELAXED) * HL_SLAB_WORDS *
	       sizeof(uint32_t);
}

/* Gives back the first @n extents of @table, and its rules: nothing reads them. */
static void release(struct hl_tables *tables, struct hl_table *table, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hl_slabs_give(&tables->slabs, table->extents[i].start, table->extents[i].len);
	for (uint32_t i = 0; i < table->n_rules; i++)
		hl_rules_give(&tables->rules, table->rules[i]);
	table->n_rules = 0;
}

void hl_tables_point(struct hl_tables *tables, uint32_t id, uint32_t word)
{
	struct hl_file *state = &tables->states[id];

	__atomic_store_n(&state->table, word, __ATOMIC_RELEASE);
	for (struct hl_table **at = &tables->loaded; *at; at = &(*at)->next) {
		struct hl_table *table = *at;

		if (table->file != id || table->extents[0].start == word)
			continue;
		*at = table->next;
		table->next = tables->dead;
		tables->dead = table;
		return;
	}
}

void hl_tables_bury(struct hl_capture *capture)
{
	struct hl_tables *tables = capture->tables;
	struct hl_table *table;

	__atomic_add_fetch(&capture->skel->bss->files_generation, 1, __ATOMIC_RELEASE);
	/* Where the kernel refuses to wait, what is dead stays. */
	if (!tables->dead || !hl_slabs_wait(&tables->slabs))
		return;
	while ((table = tables->dead)) {
		tables->dead = table->next;
		release(tables, table, table->n_extents);
		free_table(table);
	}
}

/* The loaded table that was not used for longest; NULL if all are in use. */
static const struct hl_table *find_coldest(const struct hl_capture *capture)
{
	const struct hl_table *coldest = NULL, *table;
	uint32_t epoch = capture->skel->data->epoch, most = HOT_EPOCHS - 1;

	for (table = capture->tables->loaded; table; table = table->next) {
		uint32_t age = epoch - capture->tables->states[table->file].used;

		if (table->file == HL_FILE_VDSO || age <= most)
			continue;
		coldest = table;
		most = age;
	}
	return coldest;
}

/* Drops the coldest tables, one at least, of @words words in all. False: there was none to drop. */
static bool drop_coldest(struct hl_capture *capture, uint64_t words)
{
	struct hl_tables *tables = capture->tables;
	const struct hl_table *table;
	uint64_t have = 0;
	bool dropped = false;

	while ((have < words || !dropped) && (table = find_coldest(capture))) {
		have += table->words;
		hl_tables_point(tables, table->file, HL_TABLE_DROPPED);
		__atomic_add_fetch(&tables->n_dropped, 1, __ATOMIC_RELAXED);
		dropped = true;
	}
	if (dropped)
		hl_tables_bury(capture);
	return dropped && !tables->dead;
}

/* Drops the coldest tables until @words words should be free; one at least, as there may be room in pieces. */
static bool make_room(struct hl_capture *capture, uint32_t words)
{
	uint64_t have = capture->tables->slabs.extents.free_total;

	return drop_coldest(capture, have < words ? words - have : 0);
}

void hl_capture_limit_tables(struct hl_capture *capture, unsigned int mb)
{
	struct hl_tables *tables = capture->tables;
	struct hl_slabs *slabs = &tables->slabs;
	bool went = true;

	slabs->limit = mb < 1 ? 1 : mb < slabs->n ? mb : slabs->n;
	/* A slab goes with the last table in it: this may take several rounds. */
	while (slabs->n_backed > slabs->limit && went)
		went = drop_coldest(capture, (slabs->n_backed - slabs->limit) * HL_SLAB_WORDS);
}

static int add_extent(struct hl_table *table, uint32_t len)
{
	int code = hl_grow(&table->extents, &table->cap_extents, table->n_extents + 1,
			   sizeof(*table->extents), HL_SLABS * HL_SLAB_WORDS);

	if (code)
		return code;
	table->extents[table->n_extents++] = (struct hl_extent){ .len = len };
	table->words += len;
	return 0;
}

/* The rows of a page that must be there. To say nowhere that there is a rule takes none. */
static uint32_t count_rows(const struct parts *t, uint32_t page)
{
	const struct hl_unwind_page *p = &t->pages[page];

	if (p->n_rows == 1 && t->rules[t->rows[p->first_row] & HL_UNWIND_RULE_MASK].cfa_kind == HL_CFA_NONE)
		return 0;
	return p->n_rows;
}

/* Which extents the table needs. A small one is a single one. */
static int plan_extents(const struct parts *t, struct hl_table *table)
{
	uint32_t index = HEAD_WORDS + ENTRY_WORDS * t->head->n_pages, chunk = 0;
	int code;

	if (index + t->head->n_rows <= CHUNK_WORDS)
		return add_extent(table, index + t->head->n_rows);
	code = add_extent(table, index);
	for (uint32_t page = 0; page < t->head->n_pages && !code; page++) {
		uint32_t n = count_rows(t, page);

		if (chunk + n > CHUNK_WORDS) {
			code = add_extent(table, chunk);
			chunk = 0;
		}
		chunk += n;
	}
	return code || !chunk ? code : add_extent(table, chunk);
}

static int take_extents(struct hl_capture *capture, struct hl_table *table)
{
	struct hl_tables *tables = capture->tables;
	size_t i;
	int code;

	if (table->words > tables->slabs.limit * HL_SLAB_WORDS - HL_TABLE_FIRST)
		return -ENOSPC;
	do {
		code = 0;
		for (i = 0; i < table->n_extents && !code; i++)
			code = hl_slabs_take(&tables->slabs, table->extents[i].len,
					     table->n_extents == 1 || i > 0, &table->extents[i].start);
		if (!code)
			return 0;
		while (--i > 0)
			hl_slabs_give(&tables->slabs, table->extents[i - 1].start, table->extents[i - 1].len);
	} while (code == -ENOSPC && make_room(capture, table->words));
	return code;
}

static int take_rules(struct hl_tables *tables, const struct parts *t, struct hl_table *table)
{
	int code = 0;

	table->rules = calloc(t->head->n_rules + 1, sizeof(*table->rules));
	if (!table->rules)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->head->n_rules && !code; i++) {
		code = hl_rules_take(&tables->rules, &t->rules[i], &table->rules[i]);
		table->n_rules += !code;
	}
	return code;
}

/* Writes head, index and rows into the extents, in the order that they were planned in. */
static void write_words(const struct hl_tables *tables, const struct parts *t, const struct hl_table *table)
{
	const struct hl_extent *extent = table->extents;
	uint32_t entry = extent->start + HEAD_WORDS, at = entry + ENTRY_WORDS * t->head->n_pages;
	struct hl_table_head *head = (void *)hl_slabs_word(&tables->slabs, extent->start);
	uint32_t *to;

	*head = (struct hl_table_head){ t->head->first_page, t->head->n_pages };
	for (uint32_t page = 0; page < t->head->n_pages; page++, entry += ENTRY_WORDS) {
		struct hl_unwind_page *out = (void *)hl_slabs_word(&tables->slabs, entry);
		uint32_t n = count_rows(t, page);

		*out = (struct hl_unwind_page){ 0 };
		if (!n)
			continue;
		if (at + n > extent->start + extent->len)
			at = (++extent)->start;
		*out = (struct hl_unwind_page){ at, n };
		to = hl_slabs_word(&tables->slabs, at);
		for (uint32_t i = 0; i < n; i++) {
			uint32_t row = t->rows[t->pages[page].first_row + i];

			to[i] = (row & ~HL_UNWIND_RULE_MASK) | table->rules[row & HL_UNWIND_RULE_MASK];
		}
		at += n;
	}
}

void hl_capture_settle_file(struct hl_capture *capture, uint32_t id, enum hl_table_state state)
{
	if (hl_files_is_expired(capture, id))
		return;
	capture->tables->states[id].settled = 1;
	hl_tables_point(capture->tables, id, state);
	hl_tables_bury(capture);
}

enum hl_table_state hl_capture_table_state(const struct hl_capture *capture, uint32_t id)
{
	uint32_t word = id < HL_FILE_LIMIT ? capture->tables->states[id].table : (uint32_t)HL_TABLE_NONE;

	return word < HL_TABLE_FIRST ? word : HL_TABLE_FIRST;
}

int hl_capture_load_table(struct hl_capture *capture, uint32_t id, const void *bytes, struct hl_err *err)
{
	_cleanup_(free_tablep) struct hl_table *table = calloc(1, sizeof(*table));
	struct hl_tables *tables = capture->tables;
	struct parts t = parts_of(bytes);
	int code;

	if (hl_files_is_expired(capture, id))
		return hl_err_set(err, -ESTALE, "file %u is no longer known", id);
	code = table ? plan_extents(&t, table) : -ENOMEM;
	if (!code)
		code = take_rules(tables, &t, table);
	if (!code)
		code = take_extents(capture, table);
	if (code) {
		if (table)
			release(tables, table, 0);
		__atomic_add_fetch(&tables->n_refused, 1, __ATOMIC_RELAXED);
		hl_capture_settle_file(capture, id, HL_TABLE_DROPPED);
		return hl_err_errno(err, code, "no room for an unwind table of %u rows", t.head->n_rows);
	}
	table->file = id;
	write_words(tables, &t, table);
	tables->states[id].settled = 1;
	table->next = tables->loaded;
	tables->loaded = table;
	hl_tables_point(tables, id, table->extents[0].start);
	TAKE_PTR(table);
	hl_tables_bury(capture);
	return 0;
}
