// SPDX-License-Identifier: BSD-2-Clause
/*
 * Unwind tables in the maps that the program reads.
 *
 * Rows and page indexes of all files share slabs of 1 MiB, which user space maps and fills by plain stores;
 * equal rules of all files share one entry of the rule map. While a table is written nothing points to it:
 * it becomes visible by one write to the file's entry, after which a new generation number makes every CPU
 * forget the mappings that it remembers without the table.
 */
#include "capture/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/mem.h"
#include "bpf/hotleaf.skel.h"
#include <hotleaf/unwind.h>

enum { SLAB_BYTES = HL_SLAB_WORDS * sizeof(uint32_t) };

struct hl_tables {
	int fds[HL_SLABS];
	uint32_t *slabs[HL_SLABS]; /* mapped */
	uint32_t n_slabs;
	uint32_t used;                /* words of the last slab */
	struct hl_unwind_rule *rules; /* mapped */
	uint32_t n_rules;
	struct hl_index rule_index;
};

/* The parts of a table's bytes, which hl_unwind_check() has accepted. */
struct parts {
	const struct hl_unwind_table *head;
	const struct hl_unwind_rule *rules;
	const struct hl_unwind_page *pages;
	const uint32_t *rows;
};

static int add_slab(struct hl_tables *tables)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	uint32_t n = tables->n_slabs;
	void *mapped;
	int fd;

	if (n == HL_SLABS)
		return -ENOSPC;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "hl_slab", sizeof(uint32_t), SLAB_BYTES, 1, &opts);
	if (fd < 0)
		return fd;
	mapped = mmap(NULL, SLAB_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED) {
		int code = -errno;

		(void)close(fd);
		return code;
	}
	tables->fds[n] = fd;
	tables->slabs[n] = mapped;
	tables->n_slabs = n + 1;
	tables->used = 0;
	return 0;
}

int hl_tables_make(struct hl_capture *capture, struct hl_err *err)
{
	struct hl_tables *tables = calloc(1, sizeof(*tables));
	int code, copy;

	if (!tables)
		return hl_err_set(err, -ENOMEM, "no memory for the unwind tables");
	capture->tables = tables;
	code = add_slab(tables);
	if (code)
		return hl_err_errno(err, code, "cannot create the map of unwind tables");
	copy = dup(tables->fds[0]); /* libbpf closes the one it is given */
	code = copy < 0 ? -errno : bpf_map__set_inner_map_fd(capture->skel->maps.slabs, copy);
	if (code) {
		hl_cleanup_close(&copy);
		return hl_err_errno(err, code, "cannot describe the map of unwind tables");
	}
	return 0;
}

static int publish_slab(struct hl_capture *capture, uint32_t slab)
{
	return bpf_map_update_elem(bpf_map__fd(capture->skel->maps.slabs), &slab, &capture->tables->fds[slab],
				   BPF_ANY);
}

int hl_tables_publish(struct hl_capture *capture, struct hl_err *err)
{
	struct hl_tables *tables = capture->tables;
	int code = publish_slab(capture, 0);

	if (code)
		return hl_err_errno(err, code, "cannot fill the map of unwind tables");
	tables->rules = mmap(NULL, HL_RULES * sizeof(*tables->rules), PROT_READ | PROT_WRITE, MAP_SHARED,
			     bpf_map__fd(capture->skel->maps.rules), 0);
	if (tables->rules == MAP_FAILED) {
		tables->rules = NULL;
		return hl_err_errno(err, -errno, "cannot map the unwind rules");
	}
	return 0;
}

void hl_tables_done(struct hl_capture *capture)
{
	struct hl_tables *tables = capture->tables;

	if (!tables)
		return;
	for (uint32_t i = 0; i < tables->n_slabs; i++) {
		(void)munmap(tables->slabs[i], SLAB_BYTES);
		(void)close(tables->fds[i]);
	}
	if (tables->rules)
		(void)munmap(tables->rules, HL_RULES * sizeof(*tables->rules));
	hl_index_done(&tables->rule_index);
	free(tables);
	capture->tables = NULL;
}

uint64_t hl_tables_bytes(const struct hl_capture *capture)
{
	return (uint64_t)capture->tables->n_slabs * SLAB_BYTES;
}

struct wanted_rule {
	const struct hl_unwind_rule *rules;
	const struct hl_unwind_rule *rule;
};

static int same_rule(const void *ctx, uint32_t position)
{
	const struct wanted_rule *w = ctx;

	return memcmp(&w->rules[position], w->rule, sizeof(*w->rule)) == 0;
}

/* The shared number of @rule. -ENOSPC when the rule map is full. */
static int share_rule(struct hl_tables *tables, const struct hl_unwind_rule *rule, uint32_t *ret)
{
	struct wanted_rule wanted = { tables->rules, rule };
	uint64_t hash = hl_hash(rule, sizeof(*rule), 0);
	uint32_t at = hl_index_find(&tables->rule_index, hash, same_rule, &wanted);

	if (at == HL_INDEX_NONE) {
		at = tables->n_rules;
		if (at == HL_RULES)
			return -ENOSPC;
		if (hl_index_add(&tables->rule_index, hash, at))
			return -ENOMEM;
		tables->rules[at] = *rule;
		tables->n_rules++;
	}
	*ret = at;
	return 0;
}

/* Room for @words words in one slab; @ret is the number of the first, counted over all slabs. */
static int take_words(struct hl_capture *capture, uint32_t words, uint32_t *ret)
{
	struct hl_tables *tables = capture->tables;
	int code;

	if (words > HL_SLAB_WORDS)
		return -E2BIG;
	if (HL_SLAB_WORDS - tables->used < words) {
		code = add_slab(tables);
		if (!code)
			code = publish_slab(capture, tables->n_slabs - 1);
		if (code)
			return code;
	}
	*ret = (tables->n_slabs - 1) * HL_SLAB_WORDS + tables->used;
	tables->used += words;
	return 0;
}

static uint32_t *word_at(const struct hl_tables *tables, uint32_t word)
{
	return &tables->slabs[word / HL_SLAB_WORDS][word % HL_SLAB_WORDS];
}

/* Copies the rows of one page, with shared numbers for the rules, and fills its entry of the page index. */
static int copy_page(struct hl_capture *capture, const struct parts *t, const uint32_t *shared, uint32_t page,
		     uint32_t *entry)
{
	const struct hl_unwind_page *from = &t->pages[page];
	uint32_t first, *to;
	int code;

	entry[0] = entry[1] = 0;
	if (!from->n_rows)
		return 0;
	code = take_words(capture, from->n_rows, &first);
	if (code)
		return code;
	to = word_at(capture->tables, first);
	for (uint32_t i = 0; i < from->n_rows; i++) {
		uint32_t row = t->rows[from->first_row + i];

		to[i] = (row & ~HL_UNWIND_RULE_MASK) | shared[row & HL_UNWIND_RULE_MASK];
	}
	entry[0] = first;
	entry[1] = from->n_rows;
	return 0;
}

static int copy_table(struct hl_capture *capture, const struct parts *t, struct hl_file_table *ret)
{
	_cleanup_free_ uint32_t *shared = calloc(t->head->n_rules + 1, sizeof(*shared));
	uint32_t index, *entries;
	int code = shared ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < t->head->n_rules && !code; i++)
		code = share_rule(capture->tables, &t->rules[i], &shared[i]);
	if (!code)
		code = take_words(capture, 2 * t->head->n_pages, &index);
	if (code)
		return code;
	entries = word_at(capture->tables, index);
	for (uint32_t page = 0; page < t->head->n_pages && !code; page++)
		code = copy_page(capture, t, shared, page, entries + 2 * (size_t)page);
	if (code)
		return code;
	*ret = (struct hl_file_table){ .first_page = t->head->first_page,
				       .n_pages = t->head->n_pages,
				       .index = index,
				       .state = HL_TABLE_LOADED };
	return 0;
}

static void publish_table(struct hl_capture *capture, const struct hl_file_key *key, uint32_t id,
			  const struct hl_file_table *table)
{
	struct hl_file file = { .id = id, .settled = 1, .table = *table };
	int tries = 10;

	/* The program may hold the bucket, or the kernel be short of memory for a moment. */
	if (key)
		while (bpf_map_update_elem(bpf_map__fd(capture->skel->maps.files), key, &file, BPF_EXIST) &&
		       --tries)
			(void)usleep(1000);
	else
		capture->skel->bss->vdso_table = *table;
	__atomic_add_fetch(&capture->skel->bss->files_generation, 1, __ATOMIC_RELEASE);
}

void hl_capture_settle_file(struct hl_capture *capture, const struct hl_file_key *key, uint32_t id,
			    enum hl_table_state state)
{
	publish_table(capture, key, id, &(struct hl_file_table){ .state = state });
}

int hl_capture_load_table(struct hl_capture *capture, const struct hl_file_key *key, uint32_t id,
			  const void *bytes, struct hl_err *err)
{
	struct parts t = { .head = bytes };
	struct hl_file_table table;
	int code;

	t.rules = (const void *)(t.head + 1);
	t.pages = (const void *)(t.rules + t.head->n_rules);
	t.rows = (const void *)(t.pages + t.head->n_pages);
	code = copy_table(capture, &t, &table);
	if (code) {
		hl_capture_settle_file(capture, key, id, HL_TABLE_NONE);
		return hl_err_errno(err, code, "cannot load an unwind table of %u rows", t.head->n_rows);
	}
	publish_table(capture, key, id, &table);
	return 0;
}
