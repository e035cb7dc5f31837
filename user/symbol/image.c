// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/image.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"

_Static_assert(sizeof(struct hl_image_header) == 128, "the header's size is part of the format");

uint64_t hl_image_size(const struct hl_image_header *h)
{
	return sizeof(*h) + (uint64_t)h->n_ranges * 10 + (uint64_t)h->n_fdes * 6 +
	       ((uint64_t)h->n_long_ranges + h->n_long_fdes) * sizeof(struct hl_image_long) +
	       (uint64_t)h->n_pieces * sizeof(struct hl_image_piece) + h->strings_len;
}

void hl_image_split(const void *bytes, struct hl_image *ret)
{
	const struct hl_image_header *h = &ret->header;
	const uint32_t *words;

	memcpy(&ret->header, bytes, sizeof(ret->header));
	words = (const void *)((const char *)bytes + sizeof(*h));
	ret->ranges =
		(struct hl_image_spans){ .starts = words, .n = h->n_ranges, .n_long = h->n_long_ranges };
	ret->names = words + h->n_ranges;
	ret->fdes = (struct hl_image_spans){ .starts = ret->names + h->n_ranges,
					     .n = h->n_fdes,
					     .n_long = h->n_long_fdes };
	ret->ranges.longs = (const void *)(ret->fdes.starts + h->n_fdes);
	ret->fdes.longs = ret->ranges.longs + h->n_long_ranges;
	ret->pieces = (const void *)(ret->fdes.longs + h->n_long_fdes);
	ret->ranges.gaps = (const void *)(ret->pieces + h->n_pieces);
	ret->fdes.gaps = ret->ranges.gaps + h->n_ranges;
	ret->strings = (const void *)(ret->fdes.gaps + h->n_fdes);
}

/* Ascending, none past the next one's start, and a size of its own for each that has a long gap. */
static int check_spans(const struct hl_image_spans *s, const char *what, struct hl_err *err)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t room = i + 1 < s->n ? s->starts[i + 1] - s->starts[i] : UINT32_MAX - s->starts[i];

		if (i + 1 < s->n && s->starts[i + 1] <= s->starts[i])
			return hl_err_set(err, -EBADMSG, "%s %u does not ascend", what, i + 1);
		if (s->gaps[i] != HL_IMAGE_LONG) {
			if (i + 1 == s->n || s->gaps[i] > room)
				return hl_err_set(err, -EBADMSG, "%s %u ends before it starts", what, i);
			continue;
		}
		if (used == s->n_long || s->longs[used].index != i || s->longs[used].size > room)
			return hl_err_set(err, -EBADMSG, "%s %u has a wrong size", what, i);
		used++;
	}
	if (used != s->n_long)
		return hl_err_set(err, -EBADMSG, "%u sizes belong to no %s", s->n_long - used, what);
	return 0;
}

static int check_names(const struct hl_image *image, struct hl_err *err)
{
	const struct hl_image_header *h = &image->header;

	for (uint32_t i = 0; i < h->n_ranges; i++) {
		uint32_t source = HL_NAME_SOURCE(image->names[i]);

		if (source == HL_NAME_PIECE ? HL_NAME_OFFSET(image->names[i]) >= h->n_pieces
					    : source >= HL_NAME_SOURCES)
			return hl_err_set(err, -EBADMSG, "range %u has a name that there is not", i);
	}
	for (uint32_t i = 0; i < h->n_pieces; i++)
		if (HL_NAME_SOURCE(image->pieces[i].name) >= HL_NAME_SOURCES)
			return hl_err_set(err, -EBADMSG, "function %u has a name that there is not", i);
	for (int i = 0; i < HL_NAME_SOURCES; i++)
		if (h->names[i].file > HL_IMAGE_DEBUG || h->names[i].size > HL_NAME_OFFSET_MAX)
			return hl_err_set(err, -EBADMSG, "names of source %d stand nowhere", i);
	if (h->strings_len && image->strings[h->strings_len - 1])
		return hl_err_set(err, -EBADMSG, "the last name is not terminated");
	return 0;
}

int hl_image_check(const void *bytes, size_t len, struct hl_image *ret, struct hl_err *err)
{
	struct hl_image_header h;
	int r;

	if (len < sizeof(h))
		return hl_err_set(err, -EBADMSG, "%zu bytes are too short for a table of functions", len);
	memcpy(&h, bytes, sizeof(h));
	if (h.magic != HL_IMAGE_MAGIC || h.version != HL_IMAGE_VERSION || h.flags > HL_IMAGE_ALL_COPIED)
		return hl_err_set(err, -EBADMSG, "no table of functions of version %u", HL_IMAGE_VERSION);
	if (hl_image_size(&h) != len)
		return hl_err_set(err, -EBADMSG,
				  "the counts of a table of functions do not add up to %zu bytes", len);
	hl_image_split(bytes, ret);
	r = check_spans(&ret->ranges, "range", err);
	if (r == 0)
		r = check_spans(&ret->fdes, "FDE", err);
	return r == 0 ? check_names(ret, err) : r;
}

uint32_t hl_image_before(const struct hl_image_spans *s, uint32_t at)
{
	uint32_t low = 0, high = s->n, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (s->starts[middle] <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t hl_image_size_of(const struct hl_image_spans *s, uint32_t index)
{
	uint32_t low = 0, high = s->n_long, middle;

	if (s->gaps[index] != HL_IMAGE_LONG)
		return s->starts[index + 1] - s->gaps[index] - s->starts[index];
	while (low < high) {
		middle = low + (high - low) / 2;
		if (s->longs[middle].index < index)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->n_long ? s->longs[low].size : 0;
}
