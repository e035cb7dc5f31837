// SPDX-License-Identifier: BSD-2-Clause
#include "unwind/go.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "elf/elf.h"

/*
 * C code runs on the stack of the thread, goroutines on small ones of their own. Some functions of the runtime,
 * in assembly (src/runtime/asm_amd64.s), go from one to the other, and their call frame information takes no
 * notice. They are known by their code, since it is the same in stripped programs:
 *
 *   - asmcgocall leaves the goroutine's stack. It cannot keep the stack pointer, as the stack may have moved when
 *     C returns; it keeps the goroutine, and how far below the upper end of its stack it was. What stands behind
 *     its call says where:
 *
 *         call *%rax
 *         mov  G(%rsp),%rdi          the goroutine
 *         mov  8(%rdi),%rsi          the upper end of its stack
 *         sub  DEPTH(%rsp),%rsi
 *         mov  %rdi,%fs:…
 *         mov  %rsi,%rsp
 *
 *   - it, where it is on the thread's stack already, and asmcgocall_no_g, which has no goroutine, only align it:
 *
 *         call *%rax
 *         mov  SAVED(%rsp),%rsi      or %rdx
 *         mov  %rsi,%rsp
 *
 *   - cgocallback, called by C, goes back to the goroutine's stack, and there has itself called by what had called
 *     C. But %rbp stays at its frame on the thread's stack:
 *
 *         sub  %rsp,%rax
 *         sub  %rax,%rdi
 *         mov  %rdi,%rsp
 *         …
 *         mov  0x38(%rsi),%rsp       back to the thread's stack: %rsi is its g0
 *
 * And crosscall1 (crosscall_amd64 before Go 1.20), in which the runtime's threads begin, is written in assembly of
 * another compiler and has no call frame information at all: it saves six registers, calls, and restores them.
 *
 * Others begin in runtime.clone, on a stack that holds nothing above the call in it, which never returns: an exit
 * stands behind.
 *
 * In position-independent code their offset is put into %rcx before the thread's variables are read.
 */

enum {
	WINDOW = 64 << 10,
	REACH = 256, /* bytes that a pattern spans at most */
	MAX_SWITCHES = 64,
	MAX_RESTORE = 24, /* bytes between reading the stack pointer and setting it */
	MAX_CALLBACK = 192,
	MAX_CROSSCALL = 32,
	SWITCH_BACK = 96, /* before asmcgocall's call, it has switched */
};

static const uint8_t call_rax[] = { 0xff, 0xd0, 0x48 };
static const uint8_t load_offset[] = { 0x48, 0x8b, 0x0d }, set_offset[] = { 0x48, 0xc7, 0xc1 };
static const uint8_t load_upper_end[] = { 0x48, 0x8b, 0x77, 0x08 };
static const uint8_t set_sp_rsi[] = { 0x48, 0x89, 0xf4 }, set_sp_rdx[] = { 0x48, 0x89, 0xd4 };
static const uint8_t set_sp_g0[] = { 0x48, 0x8b, 0x66, 0x38 };
static const uint8_t to_goroutine[] = { 0x48, 0x29, 0xe0, 0x48, 0x29, 0xc7, 0x48, 0x89, 0xfc };
static const uint8_t save_six[] = { 0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57 };
static const uint8_t restore_six[] = { 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3 };

static const uint8_t call_then_exit[] = { 0x41, 0xff, 0xd4, 0xbf, 0x6f, 0,    0,   0,
					  0xb8, 0x3c, 0,    0,    0,    0x0f, 0x05 };

/* Code that was read, a part of a range; @start is the offset of its first byte. */
struct window {
	const uint8_t *bytes;
	size_t len;
	uint32_t start;
};

struct found {
	struct hl_go_switch *items;
	size_t n, cap;
};

bool hl_go_is_in(const struct hl_elf *elf)
{
	return hl_elf_section_named(elf, ".gopclntab") || hl_elf_section_named(elf, ".go.buildinfo");
}

static bool is_at(const struct window *w, size_t at, const uint8_t *bytes, size_t len)
{
	return at <= w->len && len <= w->len - at && memcmp(w->bytes + at, bytes, len) == 0;
}

/*
 * Reads `@op REG, DISP(%rsp)` at *@at, whose ModRM byte but for its mod field is @modrm: goes behind it, and
 * returns the displacement, or -1.
 */
static int read_slot_operand(const struct window *w, size_t *at, uint8_t op, uint8_t modrm)
{
	const uint8_t head[] = { 0x48, op, (uint8_t)(0x40 | modrm), 0x24 };
	const uint8_t bare[] = { 0x48, op, modrm, 0x24 };
	int slot;

	if (is_at(w, *at, bare, sizeof(bare))) {
		*at += sizeof(bare);
		return 0;
	}
	if (!is_at(w, *at, head, sizeof(head)) || *at + sizeof(head) >= w->len)
		return -1;
	slot = w->bytes[*at + sizeof(head)];
	*at += sizeof(head) + 1;
	return slot < 0x80 ? slot : -1;
}

/* Where @bytes next stand, from @at on and before @end; SIZE_MAX: nowhere. */
static size_t find(const struct window *w, size_t at, size_t end, const uint8_t *bytes, size_t len)
{
	for (; at < end && at < w->len; at++)
		if (is_at(w, at, bytes, len))
			return at;
	return SIZE_MAX;
}

static int add(struct found *f, const struct window *w, size_t start, size_t end, struct hl_unwind_rule rule)
{
	int r;

	if (f->n && w->start + start < f->items[f->n - 1].code.end)
		return 0;
	r = hl_grow(&f->items, &f->cap, f->n + 1, sizeof(*f->items), MAX_SWITCHES);
	if (r < 0)
		return r == -E2BIG ? 0 : r;
	f->items[f->n++] =
		(struct hl_go_switch){ { w->start + (uint32_t)start, w->start + (uint32_t)end }, rule };
	return 0;
}

/* asmcgocall, with its call at @call and what is behind that at @at. */
static int add_goroutine(struct found *f, const struct window *w, size_t call, size_t at)
{
	static const struct hl_unwind_rule unsupported = { .cfa_kind = HL_CFA_UNSUPPORTED };
	struct hl_unwind_rule rule = { .cfa_kind = HL_CFA_GO };
	int g = read_slot_operand(w, &at, 0x8b, 0x3c), depth = -1, r = 0;
	size_t from, end;

	if (g < 0 || !is_at(w, at, load_upper_end, sizeof(load_upper_end)))
		return 0;
	at += sizeof(load_upper_end);
	depth = read_slot_operand(w, &at, 0x2b, 0x34);
	end = find(w, at, at + MAX_RESTORE, set_sp_rsi, sizeof(set_sp_rsi));
	if (depth < 0 || end == SIZE_MAX)
		return 0;
	/* Before the call it has switched, but not kept all of it. */
	from = find(w, call > SWITCH_BACK ? call - SWITCH_BACK : 0, call, set_sp_g0, sizeof(set_sp_g0));
	if (from != SIZE_MAX)
		r = add(f, w, from + sizeof(set_sp_g0), call, unsupported);
	rule.cfa_off = depth << 8 | g;
	return r < 0 ? r : add(f, w, call, end + sizeof(set_sp_rsi), rule);
}

/* A call on a stack that was aligned for it. */
static int add_aligned(struct found *f, const struct window *w, size_t call, size_t at)
{
	struct hl_unwind_rule rule = { .cfa_kind = HL_CFA_DEREF_RSP };
	const uint8_t *set_sp = set_sp_rsi;
	int saved = read_slot_operand(w, &at, 0x8b, 0x34);

	if (saved < 0) {
		saved = read_slot_operand(w, &at, 0x8b, 0x14);
		set_sp = set_sp_rdx;
	}
	if (saved < 0 || !is_at(w, at, set_sp, sizeof(set_sp_rsi)))
		return 0;
	rule.cfa_off = 8 << 16 | saved;
	return add(f, w, call, at + sizeof(set_sp_rsi), rule);
}

static int add_callback(struct found *f, const struct window *w, size_t at)
{
	static const struct hl_unwind_rule rule = {
		.cfa_kind = HL_CFA_RBP, .fp_kind = HL_FP_CFA, .fp_off = -16, .cfa_off = 16
	};
	size_t end;

	at += sizeof(to_goroutine);
	end = find(w, at, at + MAX_CALLBACK, set_sp_g0, sizeof(set_sp_g0));
	return end == SIZE_MAX ? 0 : add(f, w, at, end + sizeof(set_sp_g0), rule);
}

/* The length of the call by register at @at, or the move between two that are not %rsp; 0 for anything else. */
static size_t call_or_move(const struct window *w, size_t at)
{
	const uint8_t *b = w->bytes + at;

	if (w->len - at < 3)
		return 0;
	if (b[0] == 0xff && (b[1] & 0xf8) == 0xd0)
		return 2;
	return b[0] == 0x48 && b[1] == 0x89 && b[2] >= 0xc0 && (b[2] & 7) != 4 ? 3 : 0;
}

static int add_crosscall(struct found *f, const struct window *w, size_t start)
{
	static const struct hl_unwind_rule rule = {
		.cfa_kind = HL_CFA_RSP, .fp_kind = HL_FP_CFA, .fp_off = -24, .cfa_off = 7 * 8
	};
	size_t end = start += sizeof(save_six), len;

	for (len = 1; len > 0 && end < w->len && end - start < MAX_CROSSCALL; end += len) {
		if (is_at(w, end, restore_six, sizeof(restore_six)))
			return add(f, w, start, end, rule);
		len = call_or_move(w, end);
	}
	return 0;
}

/* Looks for all of them. */
static int search(struct found *f, const struct window *w)
{
	static const struct hl_unwind_rule stop = { .cfa_kind = HL_CFA_STOP };
	int r = 0;

	for (size_t at = 0; at < w->len && r == 0; at++) {
		if (w->bytes[at] == 0xff && is_at(w, at, call_rax, sizeof(call_rax))) {
			size_t behind = at + 2;

			if (is_at(w, behind, load_offset, sizeof(load_offset)) ||
			    is_at(w, behind, set_offset, sizeof(set_offset)))
				behind += sizeof(load_offset) + 4;
			r = add_goroutine(f, w, at, behind);
			if (r == 0)
				r = add_aligned(f, w, at, behind);
		} else if (w->bytes[at] == 0x48 && is_at(w, at, to_goroutine, sizeof(to_goroutine))) {
			r = add_callback(f, w, at);
		} else if (w->bytes[at] == 0x53 && is_at(w, at, save_six, sizeof(save_six))) {
			r = add_crosscall(f, w, at);
		} else if (w->bytes[at] == 0x41 && is_at(w, at, call_then_exit, sizeof(call_then_exit))) {
			r = add(f, w, at, at + sizeof(call_then_exit), stop);
		}
	}
	return r;
}

/* Windows overlap, so that no pattern is cut: what was found before is found again, and not added. */
static int search_range(struct found *f, const struct hl_elf *elf, const struct hl_code *code,
			const struct hl_code_range *range, uint8_t *buffer)
{
	uint64_t base = code->first_page << HL_UNWIND_PAGE_SHIFT;
	uint32_t start = range->start;
	int r = 0;

	while (r == 0 && start < range->end) {
		uint32_t left = range->end - start;
		long n = hl_elf_read_some(elf, base + start, buffer, left < WINDOW ? left : WINDOW);
		struct window w = { buffer, n > 0 ? (size_t)n : 0, start };

		if (n <= 0)
			break;
		r = search(f, &w);
		if (w.len == left || w.len <= 2 * REACH)
			break;
		start += (uint32_t)w.len - 2 * REACH;
	}
	return r;
}

int hl_go_find_switches(const struct hl_elf *elf, const struct hl_code *code, struct hl_go_switch **ret,
			size_t *ret_n)
{
	_cleanup_free_ uint8_t *buffer = malloc(WINDOW);
	struct found f = { .n = 0 };
	int r = 0;

	if (!buffer)
		return -ENOMEM;
	for (size_t i = 0; i < code->n_ranges && r == 0; i++)
		r = search_range(&f, elf, code, &code->ranges[i], buffer);
	if (r < 0) {
		free(f.items);
		return r;
	}
	*ret = f.items;
	*ret_n = f.n;
	return 0;
}

void hl_go_amend(struct hl_unwind_rule *rule)
{
	if (rule->cfa_kind != HL_CFA_RSP || rule->fp_kind != HL_FP_SAME || rule->cfa_off < 16)
		return;
	rule->fp_kind = HL_FP_CFA;
	rule->fp_off = -16;
}
