// SPDX-License-Identifier: BSD-2-Clause
#include "unwind/derive_internal.h"

#include <string.h>

#include "unwind/code.h"
#include "unwind/rows.h"

struct hl_derived_count hl_derived_count(const struct hl_derived *d)
{
	return d->count;
}

static bool has_frame(const struct hl_paths *p, const struct hl_stretch *s, uint32_t at)
{
	return p->marks[at] >= HL_MARK_FRAMES && !s->is_foreign;
}

bool hl_derived_frame(const struct hl_derived *d, uint64_t address, struct hl_frame *ret)
{
	uint32_t at = hl_paths_find(&d->paths, address);

	if (at == UINT32_MAX || !has_frame(&d->paths, hl_paths_stretch(&d->paths, at), at))
		return false;
	*ret = d->paths.frames[d->paths.marks[at] - HL_MARK_FRAMES];
	return true;
}

/* `mov $15,%rax; syscall`: where the kernel makes a signal handler return to (rt_sigreturn). */
static const uint8_t signal_return[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };

static bool is_signal_return(const struct hl_paths *p, uint32_t at, uint32_t end)
{
	return p->code[at] == signal_return[0] && end - at >= sizeof(signal_return) &&
	       memcmp(p->code + at, signal_return, sizeof(signal_return)) == 0;
}

static int rule_at(const struct hl_paths *p, const struct hl_stretch *s, uint32_t at, struct hl_rows *rows)
{
	struct hl_unwind_rule rule;

	if (!has_frame(p, s, at))
		return HL_RULE_NONE;
	rule = hl_frame_rule(&p->frames[p->marks[at] - HL_MARK_FRAMES]);
	return hl_rows_rule(rows, &rule);
}

/* The end of what has no rule from @at on. */
static uint32_t unruled_end(const struct hl_paths *p, const struct hl_stretch *s, uint32_t at, uint32_t end)
{
	do {
		at++;
	} while (at < end && !has_frame(p, s, at) && !is_signal_return(p, at, end));
	return at;
}

/*
 * A handler returns to the trampoline's first byte, but its caller is looked for one byte before: what fills
 * the place before it belongs to the trampoline, and where code stands there the walker shall look at the
 * bytes.
 */
static int write_signal_return(const struct hl_paths *p, const struct hl_stretch *s, uint32_t at,
			       struct hl_rows *rows)
{
	static const struct hl_unwind_rule rule = { .cfa_kind = HL_CFA_SIGNAL };
	int signal = hl_rows_rule(rows, &rule), r = 0;
	uint32_t offset = s->start + (at - s->at);

	if (signal < 0)
		return signal;
	if (at > s->at)
		r = hl_rows_put(rows, offset - 1,
				hl_code_filling(p->code, at - 1, at) == at ? (uint32_t)signal : HL_RULE_NONE);
	return r == 0 ? hl_rows_put(rows, offset, (uint32_t)signal) : r;
}

static int write_stretch(const struct hl_paths *p, const struct hl_stretch *s, struct hl_rows *rows)
{
	uint32_t at = s->at, end = s->at + s->size, next;
	int r = 0, rule;

	while (at < end && r == 0) {
		if (is_signal_return(p, at, end)) {
			r = write_signal_return(p, s, at, rows);
			at += sizeof(signal_return);
			continue;
		}
		if (has_frame(p, s, at)) {
			for (next = at + 1; next < end && p->marks[next] == HL_MARK_INSIDE; next++)
				;
		} else {
			next = unruled_end(p, s, at, end);
			if (at > s->at && next - at < HL_CODE_GAP_MAX &&
			    hl_code_filling(p->code, at, next) == next) {
				at = next;
				continue;
			}
		}
		rule = rule_at(p, s, at, rows);
		r = rule < 0 ? rule : hl_rows_put(rows, s->start + (at - s->at), (uint32_t)rule);
		at = next;
	}
	return r;
}

int hl_derived_write(const struct hl_derived *d, uint32_t start, uint32_t end, struct hl_rows *rows)
{
	const struct hl_stretch *s;
	size_t low = 0, high = d->n_by_start, mid;
	int r = hl_rows_put(rows, start, HL_RULE_NONE);

	while (low < high) {
		mid = low + (high - low) / 2;
		if (d->by_start[mid]->start < start)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < d->n_by_start && r == 0; low++) {
		s = d->by_start[low];
		if (s->start >= end || s->size > end - s->start)
			break;
		if (s->start < start)
			continue;
		start = s->start + s->size;
		r = write_stretch(&d->paths, s, rows);
		if (r == 0 && start < end)
			r = hl_rows_put(rows, start, HL_RULE_NONE);
	}
	return r;
}
