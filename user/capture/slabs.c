// SPDX-License-Identifier: BSD-2-Clause
#include "capture/slabs.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"

enum { SLAB_BYTES = HL_SLAB_WORDS * sizeof(uint32_t) };

static int publish(const struct hl_slabs *slabs, uint32_t at)
{
	if (slabs->outer_fd < 0)
		return 0;
	return bpf_map_update_elem(slabs->outer_fd, &at, &slabs->items[at].fd, BPF_ANY);
}

static void unback(struct hl_slabs *slabs, uint32_t at)
{
	struct hl_slab *slab = &slabs->items[at];

	/* Kernels before 6.8 free an inner map without waiting for programs: it must be out of sight first. */
	if (slabs->outer_fd >= 0)
		(void)bpf_map_delete_elem(slabs->outer_fd, &at);
	(void)munmap(slab->words, SLAB_BYTES);
	(void)close(slab->fd);
	slab->words = NULL;
	slab->fd = -1;
	__atomic_sub_fetch(&slabs->n_backed, 1, __ATOMIC_RELAXED);
}

static int back(struct hl_slabs *slabs, uint32_t at)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	_cleanup_close_ int fd = -1;
	void *words;
	int code;

	if (slabs->n_backed >= slabs->limit)
		return -EDQUOT;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "hl_slab", sizeof(uint32_t), SLAB_BYTES, 1, &opts);
	if (fd < 0)
		return fd;
	words = mmap(NULL, SLAB_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (words == MAP_FAILED)
		return -errno;
	slabs->items[at].words = words;
	slabs->items[at].fd = TAKE_FD(fd);
	__atomic_add_fetch(&slabs->n_backed, 1, __ATOMIC_RELAXED);
	code = publish(slabs, at);
	if (code)
		unback(slabs, at);
	return code;
}

int hl_slabs_init(struct hl_slabs *slabs, uint32_t n)
{
	*slabs = (struct hl_slabs){ .outer_fd = -1, .n = n, .limit = n };
	for (uint32_t i = 0; i < HL_SLABS; i++)
		slabs->items[i].fd = -1;
	if (hl_extents_init(&slabs->extents, HL_TABLE_FIRST, n * HL_SLAB_WORDS))
		return -ENOMEM;
	return back(slabs, 0);
}

void hl_slabs_done(struct hl_slabs *slabs)
{
	slabs->outer_fd = -1;
	for (uint32_t i = 0; i < slabs->n; i++)
		if (slabs->items[i].fd >= 0)
			unback(slabs, i);
	hl_extents_done(&slabs->extents);
}

int hl_slabs_publish(struct hl_slabs *slabs, int outer_fd)
{
	int code = 0;

	slabs->outer_fd = outer_fd;
	for (uint32_t i = 0; i < slabs->n && !code; i++)
		if (slabs->items[i].fd >= 0)
			code = publish(slabs, i);
	return code;
}

/* How many of the @len words from @place on lie in the slab of @place. */
static uint32_t part_in_slab(uint32_t place, uint32_t len)
{
	uint32_t left = HL_SLAB_WORDS - place % HL_SLAB_WORDS;

	return len < left ? len : left;
}

void hl_slabs_give(struct hl_slabs *slabs, uint32_t place, uint32_t len)
{
	uint32_t at = place, part;

	hl_extents_give(&slabs->extents, place, len);
	for (; len; at += part, len -= part) {
		struct hl_slab *slab = &slabs->items[at / HL_SLAB_WORDS];

		part = part_in_slab(at, len);
		slab->taken -= part;
		/* The first stays: programs are made to wait for by it. */
		if (!slab->taken && slab->fd >= 0 && at >= HL_SLAB_WORDS)
			unback(slabs, at / HL_SLAB_WORDS);
	}
}

int hl_slabs_take(struct hl_slabs *slabs, uint32_t len, bool whole, uint32_t *ret_place)
{
	uint32_t place, at, part, left;
	int code = hl_extents_take(&slabs->extents, len, whole ? HL_SLAB_WORDS : 0, &place);

	if (code)
		return code;
	for (at = place, left = len; left; at += part, left -= part) {
		part = part_in_slab(at, left);
		slabs->items[at / HL_SLAB_WORDS].taken += part;
		if (!code && slabs->items[at / HL_SLAB_WORDS].fd < 0)
			code = back(slabs, at / HL_SLAB_WORDS);
	}
	if (code) {
		hl_slabs_give(slabs, place, len);
		return code == -EDQUOT ? -ENOSPC : code == -ENOSPC ? -ENOMEM : code;
	}
	*ret_place = place;
	return 0;
}

uint32_t *hl_slabs_word(const struct hl_slabs *slabs, uint32_t place)
{
	return &slabs->items[place / HL_SLAB_WORDS].words[place % HL_SLAB_WORDS];
}

bool hl_slabs_wait(const struct hl_slabs *slabs)
{
	/* As in sides.c: replacing an element of an outer map waits for an RCU grace period. */
	return publish(slabs, 0) == 0;
}
