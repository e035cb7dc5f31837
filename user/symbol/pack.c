// SPDX-License-Identifier: BSD-2-Clause
/* From the draft, whose arrays are made to be worked on, to the image, which is made to be kept. */
#include "symbol/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbol/symbol.h"

/* Stretches as the draft has them: ranges, or FDEs. */
struct stretch {
	uint64_t start, size;
};
typedef struct stretch (*stretch_fn)(const struct hl_draft *draft, size_t i);

static struct stretch range_at(const struct hl_draft *d, size_t i)
{
	return (struct stretch){ d->ranges[i].start, d->ranges[i].size };
}

static struct stretch fde_at(const struct hl_draft *d, size_t i)
{
	return (struct stretch){ d->fde_base + d->fdes[i].start, d->fdes[i].size };
}

/* How many of the first @n end within 4 GiB of @base: they are sorted. */
static uint32_t count_near(const struct hl_draft *d, stretch_fn at, size_t n, uint64_t base)
{
	while (n && (at(d, n - 1).start - base > UINT32_MAX ||
		     at(d, n - 1).start - base + at(d, n - 1).size > UINT32_MAX))
		n--;
	return (uint32_t)n;
}

/* The gap behind number @i of @n, or HL_IMAGE_LONG. */
static uint16_t gap_behind(const struct hl_draft *d, stretch_fn at, uint32_t n, uint32_t i)
{
	struct stretch s = at(d, i);
	uint64_t gap = i + 1 < n ? at(d, i + 1).start - s.start - s.size : HL_IMAGE_LONG;

	return gap < HL_IMAGE_LONG ? (uint16_t)gap : HL_IMAGE_LONG;
}

static uint32_t count_long(const struct hl_draft *d, stretch_fn at, uint32_t n)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++)
		count += gap_behind(d, at, n, i) == HL_IMAGE_LONG;
	return count;
}

/* Fills the arrays of @spans, which point into an image that is being made. */
static void fill(const struct hl_draft *d, stretch_fn at, uint64_t base, const struct hl_image_spans *spans)
{
	struct hl_image_long *longs = (struct hl_image_long *)spans->longs;
	uint32_t *starts = (uint32_t *)spans->starts;
	uint16_t *gaps = (uint16_t *)spans->gaps;

	for (uint32_t i = 0; i < spans->n; i++) {
		starts[i] = (uint32_t)(at(d, i).start - base);
		gaps[i] = gap_behind(d, at, spans->n, i);
		if (gaps[i] == HL_IMAGE_LONG)
			*longs++ = (struct hl_image_long){ i, (uint32_t)at(d, i).size };
	}
}

static void fill_names(const struct hl_draft *d, const struct hl_elf *running, struct hl_image_header *h)
{
	for (int i = 0; i < HL_NAME_SOURCES; i++) {
		const struct hl_name_table *t = &d->names[i];

		if (i == HL_NAME_DEBUGDATA || !t->elf)
			continue;
		h->names[i] =
			(struct hl_image_names){ t->offset, (uint32_t)t->size,
						 t->elf == running ? HL_IMAGE_RUNNING : HL_IMAGE_DEBUG };
	}
}

static uint64_t lowest(const struct hl_draft *d)
{
	uint64_t base = d->n_ranges ? d->ranges[0].start : UINT64_MAX;

	if (d->n_fdes && fde_at(d, 0).start < base)
		base = fde_at(d, 0).start;
	return base == UINT64_MAX ? 0 : base;
}

int hl_draft_pack(const struct hl_draft *d, const struct hl_elf *running, uint8_t **ret, size_t *ret_len)
{
	struct hl_image_header h = { .magic = HL_IMAGE_MAGIC,
				     .version = HL_IMAGE_VERSION,
				     .base = lowest(d),
				     .n_pieces = (uint32_t)d->n_pieces,
				     .flags = d->all_copied ? HL_IMAGE_ALL_COPIED : 0,
				     .refused = d->refused,
				     .strings_len = (uint32_t)d->copied_len };
	struct hl_image image;
	struct hl_image_piece *pieces;
	uint8_t *bytes;
	size_t len;

	h.n_ranges = count_near(d, range_at, d->n_ranges, h.base);
	h.n_fdes = count_near(d, fde_at, d->n_fdes, h.base);
	if (h.n_ranges < d->n_ranges || h.n_fdes < d->n_fdes)
		h.refused |= HL_SYMBOLS_REFUSED_FAR;
	h.n_long_ranges = count_long(d, range_at, h.n_ranges);
	h.n_long_fdes = count_long(d, fde_at, h.n_fdes);
	fill_names(d, running, &h);
	len = (size_t)hl_image_size(&h);
	bytes = malloc(len);
	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, &h, sizeof(h));
	hl_image_split(bytes, &image);
	fill(d, range_at, h.base, &image.ranges);
	fill(d, fde_at, h.base, &image.fdes);
	for (uint32_t i = 0; i < h.n_ranges; i++)
		((uint32_t *)image.names)[i] = d->ranges[i].name;
	pieces = (struct hl_image_piece *)image.pieces;
	for (uint32_t i = 0; i < h.n_pieces; i++)
		pieces[i] = (struct hl_image_piece){ (uint32_t)(d->pieces[i].start - h.base),
						     d->pieces[i].size, d->pieces[i].name };
	if (d->copied_len)
		memcpy((char *)image.strings, d->copied, d->copied_len);
	*ret = bytes;
	*ret_len = len;
	return 0;
}
