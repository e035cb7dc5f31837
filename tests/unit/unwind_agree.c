// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample elf insn unwind */

/*
 * Rules derived from code against call frame information, on functions of this host's files that have both:
 * all code is followed as if there were no FDE, and every frame that comes out must be what the FDE says.
 */

#include "unwind/derive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "elf/elf.h"
#include "harness.h"
#include "sample/unwind_table.h"
#include "unwind/code.h"
#include "unwind/frame.h"
#include "unwind/unwind.h"

struct agreement {
	unsigned long instructions; /* of code with call frame information, seen by their frames */
	unsigned long wrong, wrong_rbp;
	unsigned long careless;   /* FDEs that say less than there is */
	unsigned long other_form; /* the CFA from another register than the FDE has it */
	unsigned long rbp_lost;
};

/* Whether @frame says the same CFA as @rule; @ret_other: they start from different registers. */
static bool is_same_cfa(const struct hl_frame *frame, const struct hl_unwind_rule *rule, bool *ret_other)
{
	*ret_other = false;
	switch (rule->cfa_kind) {
	case HL_CFA_RSP:
		*ret_other = !frame->has_depth;
		return *ret_other || (!frame->ra_plus_1 && frame->depth == rule->cfa_off);
	case HL_CFA_RBP:
		*ret_other = !frame->has_below;
		return *ret_other || (!frame->ra_plus_1 && frame->below == rule->cfa_off);
	case HL_CFA_STOP:
		return true;
	case HL_CFA_RA_IN_REG:
		return frame->depth == rule->cfa_off >> 8;
	default:
		*ret_other = true;
		return true;
	}
}

/*
 * Whether what @frame says of the caller's rbp can be so; what it does not know is not wrong. @kept: where the rule
 * before had it, relative to the CFA.
 */
static bool is_same_rbp(const struct hl_frame *frame, const struct hl_unwind_rule *rule, int32_t kept)
{
	if (rule->cfa_kind == HL_CFA_STOP || frame->is_first)
		return true;
	if (frame->is_intact)
		return true;
	/* It was loaded again, and still stands where it was kept. */
	if (frame->saved && rule->fp_kind == HL_FP_SAME && frame->has_depth && frame->depth >= frame->saved)
		return kept == -frame->saved;
	if (frame->saved)
		return rule->fp_kind == HL_FP_CFA && rule->fp_off == -frame->saved;
	return true;
}

/*
 * Some assembly has an FDE that says nothing of what its instructions do to the stack pointer. Known by an
 * instruction that changes the depth, between two places that have the same rule; up to the next rule.
 */
struct careless {
	struct hl_unwind_rule rule;
	struct hl_frame frame;
	bool has_frame, is_careless;
};

static bool is_careless(struct careless *c, const struct hl_unwind_rule *rule, const struct hl_frame *frame)
{
	if (!c->has_frame || memcmp(&c->rule, rule, sizeof(*rule)) != 0)
		c->is_careless = false;
	else if (rule->cfa_kind == HL_CFA_RSP && frame->has_depth && c->frame.has_depth &&
		 frame->depth != c->frame.depth)
		c->is_careless = true;
	c->rule = *rule;
	c->frame = *frame;
	c->has_frame = true;
	return c->is_careless;
}

/* Whether @frame is as it must be for a return, whatever the FDE says. */
static bool is_return(const struct hl_elf *elf, uint64_t offset, const struct hl_frame *frame)
{
	uint8_t bytes[2] = { 0 };

	return frame->has_depth && frame->depth == 8 && !hl_elf_read(elf, offset, bytes, sizeof(bytes)) &&
	       (bytes[0] == 0xc3 || (bytes[0] == 0xf3 && bytes[1] == 0xc3));
}

static void compare(struct agreement *a, const struct hl_elf *elf, const struct hl_derived *d,
		    const struct hl_unwind_result *table, const struct hl_code_segment *s, uint64_t first)
{
	struct careless careless = { .has_frame = false };
	struct hl_unwind_rule rule;
	struct hl_frame frame;
	int32_t kept = 0;
	bool is_other;
	uint64_t i;

	for (i = 0; i < s->size; i++) {
		if (hl_unwind_lookup(table->bytes, table->len, first + s->start + i, &rule) < 0 ||
		    rule.cfa_kind == HL_CFA_NONE || rule.cfa_kind == HL_CFA_UNSUPPORTED ||
		    !hl_derived_frame(d, s->address + i, &frame))
			continue;
		a->instructions++;
		if (!is_same_cfa(&frame, &rule, &is_other)) {
			if (is_careless(&careless, &rule, &frame) ||
			    is_return(elf, first + s->start + i, &frame)) {
				a->careless++;
				continue;
			}
			a->wrong++;
			NOTE("0x%llx: CFA kind %u, offset %d; derived depth %d, below %d, first %d",
			     (unsigned long long)(s->address + i), rule.cfa_kind, rule.cfa_off,
			     frame.has_depth ? frame.depth : 0, frame.has_below ? frame.below : 0,
			     frame.is_first);
		}
		(void)is_careless(&careless, &rule, &frame);
		a->other_form += is_other;
		if (!is_same_rbp(&frame, &rule, kept)) {
			a->wrong_rbp++;
			NOTE("0x%llx: rbp kind %u, offset %d; derived saved %d",
			     (unsigned long long)(s->address + i), rule.fp_kind, rule.fp_off, frame.saved);
		}
		if (rule.fp_kind == HL_FP_CFA)
			kept = rule.fp_off;
		a->rbp_lost += !frame.is_intact && !frame.saved && rule.fp_kind != HL_FP_UNDEFINED;
	}
}

/* @least: per cent of the code that must be derived. */
static void agree(const char *path, double least)
{
	struct agreement a = { 0 };
	struct hl_unwind_result table = { 0 };
	struct hl_err err = { "" };
	struct hl_derived_count count;
	struct hl_elf *elf = NULL;
	struct hl_derived *d;
	struct hl_code code;
	size_t i;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		SKIP("'%s': %s", path, strerror(errno));
	if (hl_elf_open(fd, path, &elf, &err) < 0 || hl_unwind_compile(elf, &table, &err) < 0 ||
	    hl_code_read(elf, &code, &err) < 0)
		FAIL("%s", err.text);
	d = hl_derived_new(elf, &code);
	CHECK(d);
	for (i = 0; i < code.n_ranges; i++)
		CHECK_INT(hl_derived_add(d, code.ranges[i].start, code.ranges[i].end), 0);
	CHECK_INT(hl_derived_run(d), 0);
	for (i = 0; i < code.n_segments; i++)
		compare(&a, elf, d, &table, &code.segments[i], code.first_page << HL_UNWIND_PAGE_SHIFT);
	count = hl_derived_count(d);
	NOTE("'%s': of %llu bytes of code %.1f %% are derived; %lu instructions compared, %lu of another "
	     "form, "
	     "%lu without rbp, %lu with careless FDEs; %llu bytes left out",
	     path, (unsigned long long)count.seen, 100.0 * (double)count.ruled / (double)count.seen,
	     a.instructions, a.other_form, a.rbp_lost, a.careless, (unsigned long long)count.left_out);
	hl_derived_free(d);
	hl_code_done(&code);
	hl_elf_free(elf);
	free(table.bytes);
	close(fd);
	CHECK_INT(a.wrong, 0);
	CHECK_INT(a.wrong_rbp, 0);
	CHECK(a.careless < 300);
	CHECK((double)a.instructions > 10000 && 100.0 * (double)count.ruled > least * (double)count.seen);
}

HL_TEST(c_library)
{
	agree("/lib/x86_64-linux-gnu/libc.so.6", 60);
}

HL_TEST(crypto_library)
{
	agree("/lib/x86_64-linux-gnu/libcrypto.so.3", 15);
}

HL_TEST(python)
{
	agree("/usr/bin/python3", 10);
}

HL_TEST(shell)
{
	agree("/bin/bash", 60);
}

HL_TEST(busybox)
{
	agree("/bin/busybox", 20);
}

HL_TEST(this_program)
{
	agree("/proc/self/exe", 70);
}
