// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <string.h>

#include "profile/profile.h"
#include "profile/tree.h"

enum { MAX_BINARIES = 1 << 30 };

struct wanted_binary {
	const struct hl_binary *items;
	struct hl_id id;
};

static int is_wanted(const void *ctx, uint32_t position)
{
	const struct wanted_binary *w = ctx;

	return hl_id_equal(w->items[position].id, w->id);
}

const struct hl_binary *hl_profile_binary(const struct hl_profile *profile, struct hl_id id)
{
	struct wanted_binary wanted = { profile->binaries, id };
	uint32_t at = hl_index_find(&profile->binary_index, id.lo, is_wanted, &wanted);

	return at == HL_INDEX_NONE ? NULL : &profile->binaries[at];
}

static const void *keep(struct hl_profile *profile, const void *bytes, size_t len)
{
	void *copy = hl_arena_take(&profile->arena, len ? len : 1);

	if (copy && len)
		memcpy(copy, bytes, len);
	return copy;
}

const struct hl_binary *hl_profile_binary_at(const struct hl_profile *profile, uint32_t number)
{
	return number && number <= profile->n_binaries ? &profile->binaries[number - 1] : NULL;
}

int hl_profile_add_binary(struct hl_profile *profile, const struct hl_binary *binary)
{
	struct hl_binary kept = *binary;
	size_t n = profile->n_binaries;
	int err;

	if (hl_profile_binary(profile, binary->id))
		return 0;
	kept.build_id = keep(profile, binary->build_id, binary->build_id_len);
	kept.segments = keep(profile, binary->segments, binary->n_segments * sizeof(*binary->segments));
	if (!kept.build_id || !kept.segments)
		return -ENOMEM;
	err = hl_grow(&profile->binaries, &profile->cap_binaries, n + 1, sizeof(kept), MAX_BINARIES);
	if (!err)
		err = hl_index_add(&profile->binary_index, kept.id.lo, (uint32_t)n);
	if (err)
		return err;
	profile->binaries[profile->n_binaries++] = kept;
	return 0;
}

const struct hl_segment *hl_binary_segment(const struct hl_binary *binary, uint64_t address)
{
	for (size_t i = 0; i < binary->n_segments; i++) {
		const struct hl_segment *s = &binary->segments[i];

		if (address >= s->address && address - s->address < s->size)
			return s;
	}
	return NULL;
}
