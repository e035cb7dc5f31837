// SPDX-License-Identifier: BSD-2-Clause
/*
 * Files that nobody runs any more: their ids are given to others in the end.
 *
 * An id stands in places that forget it at different times, and is free when the last of them has:
 *
 *   - in the file map, until its element is deleted. A run may have found the element before that, and read
 *     its value after the kernel has made it another file's: so the value tells whose it is (HL_FILE_ID_MASK).
 *   - in what CPUs remember of mappings, and in runs under way: until a grace period after the generation was
 *     raised, as for tables (tables.c). From then on the id is expired: no run has it or can get it, a file
 *     that is met again gets another one. Its state is cleared now, for its next file.
 *   - in file events that were sent but not read: until the ring buffer was read once.
 *   - in stacks and processes of both sides: until each was drained once.
 *   - in windows: until their names are resolved, of which only the caller knows.
 */
#include "capture/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "bpf/hotleaf.skel.h"
#include "capture/tables.h"

#define EPOCH_NS UINT64_C(4000000000)
/* Drains that must end before both sides surely were drained: one may be under way, half done. */
enum { DRAINS = 3, READS = 2 };

/* By id. */
struct hl_expired {
	bool expired, waited;
	uint64_t drains, reads; /* that had ended by then */
};

/* An entry of the file map. */
struct entry {
	struct hl_file_key key;
	uint32_t id;
};

struct entries {
	struct entry *items;
	size_t n, cap;
};

void hl_epoch_advance(struct hl_capture *capture)
{
	uint32_t *epoch = &capture->skel->data->epoch;
	uint32_t now = (uint32_t)((hl_monotonic_ns() - capture->started_ns) / EPOCH_NS);

	if (now != capture->epoch_seen)
		__atomic_add_fetch(epoch, 1, __ATOMIC_RELAXED);
	capture->epoch_seen = now;
}

bool hl_files_is_expired(const struct hl_capture *capture, uint32_t id)
{
	return id >= HL_FILE_LIMIT || (capture->expired && capture->expired[id].expired);
}

static bool is_unused(const struct hl_capture *capture, uint32_t id, uint32_t epochs)
{
	const struct hl_file *state = &capture->tables->states[id];

	return capture->skel->data->epoch - __atomic_load_n(&state->used, __ATOMIC_RELAXED) > epochs;
}

/* The files that were not used in the last @epochs. */
static int list_unused(const struct hl_capture *capture, uint32_t epochs, struct entries *ret)
{
	int fd = bpf_map__fd(capture->skel->maps.files), code = 0;
	struct hl_file_key key, next;
	const void *at = NULL;
	uint64_t word;

	while (!code && bpf_map_get_next_key(fd, at, &next) == 0) {
		key = next;
		at = &key;
		if (bpf_map_lookup_elem(fd, &key, &word) ||
		    !is_unused(capture, (uint32_t)(word & HL_FILE_ID_MASK), epochs))
			continue;
		code = hl_grow(&ret->items, &ret->cap, ret->n + 1, sizeof(*ret->items), HL_FILE_LIMIT);
		if (!code)
			ret->items[ret->n++] = (struct entry){ key, (uint32_t)(word & HL_FILE_ID_MASK) };
	}
	/* Programs that add files meanwhile can make the list start again, for a while. */
	return code == -E2BIG ? 0 : code;
}

/* Takes the entries out of the file map, those that were used after all excepted. */
static void delete_entries(struct hl_capture *capture, uint32_t epochs, struct entries *entries)
{
	int fd = bpf_map__fd(capture->skel->maps.files);
	size_t kept = 0;

	for (size_t i = 0; i < entries->n; i++) {
		const struct entry *e = &entries->items[i];

		if (!is_unused(capture, e->id, epochs) || bpf_map_delete_elem(fd, &e->key))
			continue;
		capture->expired[e->id].expired = true;
		hl_tables_point(capture->tables, e->id, HL_TABLE_PENDING);
		entries->items[kept++] = *e;
	}
	entries->n = kept;
	hl_moved_drop_expired(capture);
}

int hl_capture_expire_files(struct hl_capture *capture, unsigned int unused_s, hl_capture_expired_fn fn,
			    void *ctx, struct hl_err *err)
{
	uint32_t epochs = (uint32_t)((uint64_t)unused_s * 1000000000 / EPOCH_NS) + 1;
	_cleanup_free_ struct entry *items = NULL;
	struct entries entries = { 0 };
	bool waited;
	int code;

	if (!capture->expired)
		capture->expired = calloc(HL_FILE_LIMIT, sizeof(*capture->expired));
	code = capture->expired ? list_unused(capture, epochs, &entries) : -ENOMEM;
	items = entries.items;
	if (code)
		return hl_err_errno(err, code, "cannot list the files that are not used");
	delete_entries(capture, epochs, &entries);
	if (!entries.n)
		return 0;
	hl_tables_bury(capture);
	waited = hl_slabs_wait(&capture->tables->slabs);
	for (size_t i = 0; i < entries.n; i++) {
		uint32_t id = entries.items[i].id;

		if (waited)
			capture->tables->states[id] = (struct hl_file){ 0 };
		capture->expired[id] = (struct hl_expired){
			.expired = true,
			.waited = waited,
			.drains = __atomic_load_n(&capture->n_drains, __ATOMIC_ACQUIRE),
			.reads = __atomic_load_n(&capture->n_reads, __ATOMIC_ACQUIRE),
		};
		fn(ctx, id);
	}
	return 0;
}

bool hl_capture_can_reuse_file(const struct hl_capture *capture, uint32_t id)
{
	const struct hl_expired *e;

	if (id < HL_FILE_FIRST || id >= HL_FILE_LIMIT || !capture->expired)
		return false;
	e = &capture->expired[id];
	return e->expired && e->waited &&
	       __atomic_load_n(&capture->n_drains, __ATOMIC_ACQUIRE) - e->drains >= DRAINS &&
	       __atomic_load_n(&capture->n_reads, __ATOMIC_ACQUIRE) - e->reads >= READS;
}

int hl_capture_reuse_file(struct hl_capture *capture, uint32_t id)
{
	__u64 *given = &capture->skel->data->ids_given;

	if (!hl_capture_can_reuse_file(capture, id))
		return -EBUSY;
	capture->expired[id].expired = false;
	/* There are fewer ids than places: this one's last id was taken long ago. */
	capture->skel->bss->free_ids[*given & (HL_FILE_LIMIT - 1)] = id;
	__atomic_store_n(given, *given + 1, __ATOMIC_RELEASE);
	return 0;
}
