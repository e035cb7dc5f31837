// SPDX-License-Identifier: BSD-2-Clause
#include "process/remapped.h"

static bool closes_gap(const struct hl_proc_mapping *before, const struct hl_proc_mapping *behind)
{
	return behind->inode == before->inode && behind->device == before->device &&
	       behind->offset - before->offset == behind->start - before->start;
}

void hl_remapped_take(struct hl_remapped_finder *f, const struct hl_proc_mapping *mapping)
{
	const struct hl_proc_mapping *before = &f->before;

	if (!mapping->inode && mapping->exec && before->inode &&
	    mapping->start == (f->end ? f->end : before->end)) {
		f->end = mapping->end;
		return;
	}
	if (f->end && mapping->start == f->end && closes_gap(before, mapping) && f->n < HL_REMAPPED_MAX)
		f->found[f->n++] =
			(struct hl_remapped){ .start = before->end,
					      .end = f->end,
					      .offset = before->offset + before->end - before->start,
					      .beside_start = before->start,
					      .beside_end = before->end };
	f->before = *mapping;
	f->end = 0;
}
