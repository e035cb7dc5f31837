// SPDX-License-Identifier: BSD-2-Clause
/*
 * Code that processes moved out of files, as the program knows it.
 *
 * Memory of an element that is deleted may be another's at once, while a run that has found it still reads it.
 * So what a live process may be looking at is deleted, and a grace period waited for before anything is
 * added. Of a process that has ended there are no runs, and when it is to be looked at again does no harm.
 */
#include "capture/internal.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/hotleaf.skel.h"
#include "capture/tables.h"

static int map_of(const struct hl_capture *capture)
{
	return bpf_map__fd(capture->skel->maps.moved_code);
}

int hl_capture_add_moved(struct hl_capture *capture, const struct hl_moved_key *key,
			 const struct hl_moved *moved)
{
	struct hl_moved known;
	int code;

	if (key->start && hl_files_is_expired(capture, moved->file))
		return -ESTALE;
	if (key->start && bpf_map_lookup_elem(map_of(capture), key, &known) == 0) {
		if (memcmp(&known, moved, sizeof(known)) == 0)
			return 0;
		if (bpf_map_delete_elem(map_of(capture), key) || !hl_slabs_wait(&capture->tables->slabs))
			return -EBUSY;
	}
	code = bpf_map_update_elem(map_of(capture), key, moved, BPF_ANY);
	if (code)
		return code == -E2BIG ? -ENOSPC : code;
	/* CPUs remember the mapping as one of no file. */
	if (key->start)
		hl_tables_bury(capture);
	return 0;
}

typedef bool (*is_unwanted_fn)(void *ctx, const struct hl_moved_key *key, const struct hl_moved *moved);

static unsigned int drop(struct hl_capture *capture, is_unwanted_fn is_unwanted, void *ctx)
{
	struct hl_moved_key key, next;
	struct hl_moved moved;
	unsigned int dropped = 0;
	bool more = bpf_map_get_next_key(map_of(capture), NULL, &next) == 0;

	while (more) {
		key = next;
		more = bpf_map_get_next_key(map_of(capture), &key, &next) == 0;
		if (bpf_map_lookup_elem(map_of(capture), &key, &moved) || !is_unwanted(ctx, &key, &moved))
			continue;
		dropped += bpf_map_delete_elem(map_of(capture), &key) == 0;
	}
	return dropped;
}

struct gone {
	hl_capture_gone_fn is_gone;
	void *ctx;
};

static bool has_ended(void *ctx, const struct hl_moved_key *key, const struct hl_moved *moved)
{
	const struct gone *gone = ctx;

	return gone->is_gone(gone->ctx, &key->process);
}

unsigned int hl_capture_sweep_moved(struct hl_capture *capture, hl_capture_gone_fn is_gone, void *ctx)
{
	struct gone gone = { is_gone, ctx };

	return drop(capture, has_ended, &gone);
}

static bool is_of_expired(void *ctx, const struct hl_moved_key *key, const struct hl_moved *moved)
{
	return key->start && hl_files_is_expired(ctx, moved->file);
}

void hl_moved_drop_expired(struct hl_capture *capture)
{
	(void)drop(capture, is_of_expired, capture);
}
