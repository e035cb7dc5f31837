// SPDX-License-Identifier: BSD-2-Clause
#include "unwind/unwind.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "elf/cfi.h"
#include "elf/elf.h"
#include "unwind/code.h"
#include "unwind/derive.h"
#include "unwind/go.h"
#include "unwind/program.h"
#include "unwind/rows.h"
#include "unwind/x86.h"

/*
 * FDEs stand in the file in the order in which the linker met them. They are gathered, sorted by where their
 * code is, and run one after the other; the rows of each are held back until it has ended well.
 */

enum {
	MAX_FDES = 4 << 20,
	SOURCES = 2,
};

struct entry {
	struct hl_code_range code;
	bool is_bridged; /* what lies before it needs no rows */
	uint32_t number; /* in order of appearance: where entries overlap, the first wins */
	uint32_t source; /* of kinds[] */
	struct hl_cfi_fde fde;
	uint32_t skipped;                  /* bytes of the FDE's code in front of this part of it */
	const struct hl_unwind_rule *rule; /* of all of it; NULL: what the FDE says */
};

/* The state in which the FDEs of a CIE begin. */
struct beginning {
	enum { BEGIN_UNKNOWN = 0, BEGIN_KNOWN, BEGIN_UNSUPPORTED } what;
	struct hl_frame_state state;
};

/* A row of the FDE that is being run. */
struct draft {
	uint32_t at, rule;
};

struct compiler {
	const struct hl_elf *elf;
	struct hl_code code;
	struct hl_cfi *cfi[SOURCES];
	struct beginning *beginnings[SOURCES]; /* by number of the CIE */
	struct entry *entries;
	size_t n_entries, cap_entries;
	struct hl_go_switch *switches;
	struct hl_derived *derived;
	struct hl_rows rows;
	struct draft *drafts;
	size_t n_drafts, cap_drafts;
	uint32_t size;          /* of the code of the FDE that is being run */
	bool is_go, is_from_go; /* the file's code; the FDE that is being run */
	bool is_resolver, has_unsupported;
	bool follow_rbx; /* there is a function that needs it in frames above the leaf's */
	bool needs_rbx;
	uint32_t n_unsupported;
};

static void compiler_done(struct compiler *c)
{
	int i;

	for (i = 0; i < SOURCES; i++) {
		hl_cfi_free(c->cfi[i]);
		free(c->beginnings[i]);
	}
	hl_derived_free(c->derived);
	free(c->switches);
	hl_code_done(&c->code);
	hl_rows_done(&c->rows);
	free(c->entries);
	free(c->drafts);
}

/* ---- gathering ---- */

static int insert_entry(struct compiler *c, size_t at, const struct entry *entry)
{
	int r = hl_grow(&c->entries, &c->cap_entries, c->n_entries + 1, sizeof(*entry), MAX_FDES);

	if (r < 0)
		return r;
	memmove(c->entries + at + 1, c->entries + at, (c->n_entries - at) * sizeof(*entry));
	c->entries[at] = *entry;
	c->n_entries++;
	return 0;
}

static int gather_from(struct compiler *c, uint32_t source)
{
	struct entry entry = { .source = source };
	int r;

	while ((r = hl_cfi_next(c->cfi[source], &entry.fde)) > 0) {
		if (!hl_code_find(&c->code, entry.fde.start, entry.fde.size, &entry.code))
			continue;
		entry.number = (uint32_t)c->n_entries;
		r = insert_entry(c, c->n_entries, &entry);
		if (r < 0)
			return r;
	}
	return r;
}

static const enum hl_cfi_kind kinds[SOURCES] = { HL_CFI_EH_FRAME, HL_CFI_DEBUG_FRAME };

static int gather(struct compiler *c, struct hl_err *err)
{
	struct hl_err why;
	uint32_t i;
	int r;

	for (i = 0; i < SOURCES; i++) {
		r = hl_cfi_load(c->elf, kinds[i], &c->cfi[i], &why);
		if (r == -ENODATA)
			continue;
		if (r == -ENOMEM)
			return hl_err_set(err, r, "%s", why.text);
		/* What is damaged does not take the other source along, nor what the code itself tells. */
		if (r < 0) {
			hl_debug("unwind", "%s", why.text);
			continue;
		}
		r = gather_from(c, i);
		if (r == -E2BIG)
			return hl_err_set(err, r, "'%s' has more than %d FDEs", hl_elf_name(c->elf),
					  MAX_FDES);
		if (r < 0)
			return hl_err_errno(err, r, "'%s': cannot read its FDEs", hl_elf_name(c->elf));
		c->beginnings[i] = calloc(hl_cfi_n_cies(c->cfi[i]) + 1, sizeof(*c->beginnings[i]));
		if (!c->beginnings[i])
			return hl_err_errno(err, -ENOMEM, "'%s'", hl_elf_name(c->elf));
	}
	return 0;
}

static int by_code(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->code.start != y->code.start)
		return x->code.start < y->code.start ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* Gives the code of @found, in the middle of the entry that it is in, or in none, a rule of its own. */
static int insert_switch(struct compiler *c, const struct hl_go_switch *found)
{
	struct entry entry = { .code = found->code, .rule = &found->rule }, rest;
	size_t low = 0, high = c->n_entries, mid;
	struct entry *around;
	int r;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (c->entries[mid].code.start <= found->code.start)
			low = mid + 1;
		else
			high = mid;
	}
	around = low ? &c->entries[low - 1] : NULL;
	if (!around || around->code.end <= found->code.start)
		return insert_entry(c, low, &entry);
	rest = *around;
	around->code.end = found->code.start;
	r = insert_entry(c, low, &entry);
	if (r < 0 || rest.code.end <= found->code.end)
		return r;
	rest.skipped += found->code.end - rest.code.start;
	rest.code.start = found->code.end;
	return insert_entry(c, low + 1, &rest);
}

/* The entries are sorted. */
static int insert_switches(struct compiler *c)
{
	size_t n = 0, i;
	int r;

	c->is_go = hl_go_is_in(c->elf);
	if (!c->is_go)
		return 0;
	r = hl_go_find_switches(c->elf, &c->code, &c->switches, &n);
	for (i = 0; i < n && r == 0; i++)
		r = insert_switch(c, &c->switches[i]);
	return r;
}

/* ---- running ---- */

static const struct hl_columns columns = { .frame_pointer = HL_X86_RBP, .base = HL_X86_RBX };

/* NULL if the instructions of the CIE cannot be followed. */
static const struct hl_frame_state *begin_of(struct compiler *c, const struct entry *entry)
{
	struct beginning *b = &c->beginnings[entry->source][entry->fde.cie];
	const struct hl_cfi *cfi = c->cfi[entry->source];
	const struct hl_cfi_cie *cie = hl_cfi_cie(cfi, entry->fde.cie);

	if (b->what == BEGIN_UNKNOWN)
		b->what = cie->return_register == HL_X86_RETURN &&
					  hl_program_begin(cfi, cie, &columns, &b->state) == 0
				  ? BEGIN_KNOWN
				  : BEGIN_UNSUPPORTED;
	return b->what == BEGIN_KNOWN ? &b->state : NULL;
}

static int add_draft(struct compiler *c, uint32_t at, uint32_t rule)
{
	int r = hl_grow(&c->drafts, &c->cap_drafts, c->n_drafts + 1, sizeof(*c->drafts), HL_ROWS_MAX);

	if (r == 0)
		c->drafts[c->n_drafts++] = (struct draft){ at, rule };
	return r;
}

static int add_row(void *ctx, uint64_t at, const struct hl_frame_state *state)
{
	struct compiler *c = ctx;
	struct hl_unwind_rule rule;
	int id;

	if (at >= c->size)
		return 0;
	if (at == 0)
		c->is_resolver = hl_x86_is_resolver(state);
	rule = hl_x86_rule(state, c->is_resolver, c->follow_rbx);
	if (c->is_from_go)
		hl_go_amend(&rule);
	c->needs_rbx |= rule.cfa_kind == HL_CFA_RBX;
	id = hl_rows_rule(&c->rows, &rule);
	if (id < 0)
		return id;
	c->has_unsupported |= id == HL_RULE_UNSUPPORTED;
	return add_draft(c, (uint32_t)at, (uint32_t)id);
}

/* Fills the drafts with the rows of @entry. */
static int run(struct compiler *c, const struct entry *entry)
{
	static const struct hl_unwind_rule signal = { .cfa_kind = HL_CFA_SIGNAL };
	const struct hl_frame_state *begin;
	const struct hl_cfi *cfi;
	int r = -EOPNOTSUPP;

	c->n_drafts = 0;
	c->size = entry->skipped + (entry->code.end - entry->code.start);
	c->is_resolver = c->has_unsupported = false;
	if (entry->rule) {
		r = hl_rows_rule(&c->rows, entry->rule);
		return r < 0 ? r : add_draft(c, 0, (uint32_t)r);
	}
	cfi = c->cfi[entry->source];
	c->is_from_go = c->is_go && kinds[entry->source] == HL_CFI_DEBUG_FRAME;
	if (hl_cfi_cie(cfi, entry->fde.cie)->is_signal) {
		r = hl_rows_rule(&c->rows, &signal);
		return r < 0 ? r : add_draft(c, 0, (uint32_t)r);
	}
	begin = begin_of(c, entry);
	if (begin)
		r = hl_program_run(cfi, &entry->fde, &columns, begin, add_row, c);
	if (r == -EOPNOTSUPP) {
		c->n_drafts = 0;
		c->has_unsupported = true;
		r = add_draft(c, 0, HL_RULE_UNSUPPORTED);
	}
	return r;
}

/* Writes the drafts of @entry, as far as they lie behind @from. */
static int write_drafts(struct compiler *c, const struct entry *entry, uint32_t from)
{
	uint32_t at;
	size_t i;
	int r = 0;

	for (i = 0; i < c->n_drafts && r == 0; i++) {
		at = entry->code.start - entry->skipped + c->drafts[i].at;
		r = hl_rows_put(&c->rows, at > from ? at : from, c->drafts[i].rule);
	}
	return r;
}

/* A little filling between functions has the rule of what stands before it. */
static bool is_bridged(struct compiler *c, uint32_t end, uint32_t next)
{
	return next <= end ||
	       (next - end < HL_CODE_GAP_MAX && hl_code_is_filling(&c->code, c->elf, end, next));
}

/* Notes what is not covered by call frame information, and derives rules for it from the code. */
static int derive(struct compiler *c)
{
	size_t next = 0, i;
	uint32_t end;
	int r = 0;

	c->derived = hl_derived_new(c->elf, &c->code);
	if (!c->derived)
		return -ENOMEM;
	for (i = 0; i < c->code.n_ranges && r == 0; i++) {
		const struct hl_code_range *range = &c->code.ranges[i];

		for (end = range->start; r == 0 && next < c->n_entries; next++) {
			struct entry *entry = &c->entries[next];

			if (entry->code.start >= range->end)
				break;
			if (entry->code.end <= end)
				continue;
			entry->is_bridged = is_bridged(c, end, entry->code.start);
			if (!entry->is_bridged)
				r = hl_derived_add(c->derived, end, entry->code.start);
			end = entry->code.end;
		}
		if (r == 0 && !is_bridged(c, end, range->end))
			r = hl_derived_add(c->derived, end, range->end);
	}
	return r == 0 ? hl_derived_run(c->derived) : r;
}

/* Writes the rows of one range of code; *@next is the first entry that is not yet written. */
static int write_range(struct compiler *c, const struct hl_code_range *range, size_t *next)
{
	const struct entry *entry;
	uint32_t end = range->start; /* of what is written */
	int r = hl_rows_begin(&c->rows, end);

	for (; r == 0 && *next < c->n_entries; ++*next) {
		entry = &c->entries[*next];
		if (entry->code.start >= range->end)
			break;
		if (entry->code.end <= end)
			continue;
		if (!entry->is_bridged)
			r = hl_derived_write(c->derived, end, entry->code.start, &c->rows);
		if (r == 0)
			r = run(c, entry);
		if (r == 0)
			r = write_drafts(c, entry, end);
		c->n_unsupported += c->has_unsupported;
		end = entry->code.end;
	}
	if (r == 0 && !is_bridged(c, end, range->end))
		r = hl_derived_write(c->derived, end, range->end, &c->rows);
	return r == 0 ? hl_rows_end(&c->rows, range->end) : r;
}

static int write_ranges(struct compiler *c)
{
	size_t next = 0, i;
	int r;

	hl_rows_done(&c->rows);
	c->n_unsupported = 0;
	r = hl_rows_init(&c->rows, c->code.n_pages);
	for (i = 0; i < c->code.n_ranges && r == 0; i++)
		r = write_range(c, &c->code.ranges[i], &next);
	return r;
}

static int write_table(struct compiler *c, struct hl_unwind_result *ret)
{
	int r = write_ranges(c);

	if (r == 0 && c->needs_rbx) {
		c->follow_rbx = true;
		r = write_ranges(c);
	}
	if (r == 0)
		r = hl_rows_bytes(&c->rows, (uint32_t)c->code.first_page, c->n_unsupported, &ret->bytes,
				  &ret->len);
	return r;
}

int hl_unwind_compile(const struct hl_elf *elf, struct hl_unwind_result *ret, struct hl_err *err)
{
	_cleanup_(compiler_done) struct compiler c = { .elf = elf };
	struct hl_unwind_result result = { 0 };
	struct hl_derived_count derived;
	size_t n_fdes;
	int r;

	if (hl_elf_machine(elf) != EM_X86_64 || !hl_elf_is_64(elf))
		return hl_err_set(err, -ENODATA, "'%s' is no 64-bit x86 file: it is not unwound by table",
				  hl_elf_name(elf));
	r = hl_code_read(elf, &c.code, err);
	if (r == 0)
		r = gather(&c, err);
	if (r < 0)
		return r;
	if (c.n_entries)
		qsort(c.entries, c.n_entries, sizeof(*c.entries), by_code);
	n_fdes = c.n_entries;
	r = insert_switches(&c);
	if (r == 0)
		r = derive(&c);
	if (r < 0)
		return hl_err_errno(err, r, "'%s': cannot follow its code", hl_elf_name(elf));
	derived = hl_derived_count(c.derived);
	if (derived.left_out)
		hl_debug("unwind",
			 "'%s': %llu of %llu bytes without call frame information were not looked at",
			 hl_elf_name(elf), (unsigned long long)derived.left_out,
			 (unsigned long long)derived.seen);
	if (c.n_entries == 0 && derived.ruled == 0)
		return hl_err_set(err, -ENODATA, "'%s' has no call frame information for its code",
				  hl_elf_name(elf));
	r = write_table(&c, &result);
	if (r == -E2BIG)
		return hl_err_set(err, r, "'%s' needs more than %u unwind rows", hl_elf_name(elf),
				  HL_ROWS_MAX);
	if (r < 0)
		return hl_err_errno(err, r, "'%s': cannot compile its unwind table", hl_elf_name(elf));
	result.n_fdes = (uint32_t)n_fdes;
	result.n_unsupported = c.n_unsupported;
	result.n_rows = (uint32_t)c.rows.n_rows;
	result.n_rules = (uint32_t)c.rows.n_rules;
	result.uncovered = derived.seen;
	result.derived = derived.ruled;
	result.left_out = derived.left_out;
	*ret = result;
	return 0;
}

int hl_unwind_functions(const struct hl_elf *elf, struct hl_elf_span **ret, size_t *ret_n)
{
	_cleanup_(compiler_done) struct compiler c = { .elf = elf };
	int r;

	*ret = NULL;
	*ret_n = 0;
	if (hl_elf_machine(elf) != EM_X86_64 || !hl_elf_is_64(elf))
		return 0;
	r = hl_code_read(elf, &c.code, NULL);
	if (r == 0)
		r = gather(&c, NULL);
	if (r == 0 && c.n_entries)
		qsort(c.entries, c.n_entries, sizeof(*c.entries), by_code);
	if (r == 0)
		r = derive(&c);
	return r == 0 ? hl_derived_functions(c.derived, ret, ret_n) : r;
}
