// SPDX-License-Identifier: BSD-2-Clause
#include "capture/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"

/*
 * Interrupts enter the kernel through stubs of known names. Exceptions that the running code itself causes
 * (page faults) have stubs in the same section, asm_exc_*: those are no interrupt work.
 */
static bool is_irq_entry(const char *name)
{
	return hl_starts_with(name, "asm_sysvec_") || strcmp(name, "asm_common_interrupt") == 0 ||
	       strcmp(name, "asm_spurious_interrupt") == 0;
}

struct text_symbol {
	uint64_t address;
	bool irq;
};

struct reader {
	struct hl_kernel_ranges ranges;
	struct text_symbol *near; /* symbols of the entry section, to find where each stub ends */
	size_t n_near, cap_near;
};

static int by_address(const void *a, const void *b)
{
	uint64_t x = ((const struct text_symbol *)a)->address, y = ((const struct text_symbol *)b)->address;

	return x < y ? -1 : x > y;
}

/* A line is "ADDRESS TYPE NAME", perhaps with a module behind a TAB. There are more than 100,000: no sscanf. */
static int read_line(struct reader *r, char *line)
{
	uint64_t address;
	char *name;

	address = strtoull(line, &name, 16);
	if (address == 0 || name[0] != ' ' || name[1] == '\0' || name[2] != ' ')
		return 0;
	name += 3;
	if (name[0] != 'a' && name[0] != '_')
		return 0;
	name[strcspn(name, "\t\n")] = '\0';
	if (strcmp(name, "__cpuidle_text_start") == 0)
		r->ranges.idle_start = address;
	else if (strcmp(name, "__cpuidle_text_end") == 0)
		r->ranges.idle_end = address;
	else if (!hl_starts_with(name, "asm_") && strcmp(name, "__irqentry_text_end") != 0)
		return 0;
	if (hl_grow(&r->near, &r->cap_near, r->n_near + 1, sizeof(*r->near), 1 << 16))
		return -ENOMEM;
	r->near[r->n_near++] = (struct text_symbol){ address, is_irq_entry(name) };
	return 0;
}

/* Stubs that stand side by side become one range. A stub ends where the next symbol starts. */
static void join_stubs(struct reader *r)
{
	struct hl_kernel_ranges *out = &r->ranges;
	size_t i;

	if (r->n_near)
		qsort(r->near, r->n_near, sizeof(*r->near), by_address);
	for (i = 0; i < r->n_near; i++) {
		const struct text_symbol *s = &r->near[i];
		uint64_t end = i + 1 < r->n_near ? s[1].address : s->address + 64;
		bool joins = out->n_irq && out->irq_end[out->n_irq - 1] == s->address;

		/* Far from the next known symbol: the stub itself is short. */
		if (end - s->address > 512)
			end = s->address + 64;
		if (!s->irq || (!joins && out->n_irq == HL_MAX_IRQ_RANGES))
			continue;
		if (!joins)
			out->irq_start[out->n_irq++] = s->address;
		out->irq_end[out->n_irq - 1] = end;
	}
}

int hl_kernel_ranges_read(int fd, struct hl_kernel_ranges *ret)
{
	_cleanup_free_ char *line = NULL;
	_cleanup_fclose_ FILE *f = NULL;
	struct reader r = { 0 };
	int copy = dup(fd), code = 0;
	size_t size = 0;

	f = copy < 0 ? NULL : fdopen(copy, "r");
	if (!f) {
		code = -errno;
		hl_cleanup_close(&copy);
		return code;
	}
	while (code == 0 && getline(&line, &size, f) > 0)
		code = read_line(&r, line);
	if (code == 0) {
		join_stubs(&r);
		*ret = r.ranges;
	}
	free(r.near);
	return code;
}
