// SPDX-License-Identifier: BSD-2-Clause
#include "process/moved.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

/*
 * In units of 2^20 ns. The first look may find a process in the middle of moving its code, so the next one comes
 * soon, a quarter of a second later; the last ones are a minute apart.
 */
enum { FIRST_PAUSE = 125, MOST_DOUBLED = 9, PAUSE_FOUND = 1000 };
/* Of what was found, and of processes that were looked at. */
enum { LIMIT = 1 << 16 };

struct found {
	struct hl_moved_key key;
	struct hl_moved where;
};

struct looked {
	struct hl_process_key key;
	uint32_t looks;
};

struct hl_moved_code {
	struct found *found;
	size_t n_found, cap_found;
	struct hl_index found_index; /* by process */
	struct looked *looked;
	size_t n_looked, cap_looked;
	struct hl_index looked_index;
};

struct hl_moved_code *hl_moved_code_new(void)
{
	return calloc(1, sizeof(struct hl_moved_code));
}

void hl_moved_code_free(struct hl_moved_code *moved)
{
	if (!moved)
		return;
	free(moved->found);
	free(moved->looked);
	hl_index_done(&moved->found_index);
	hl_index_done(&moved->looked_index);
	free(moved);
}

static uint64_t hash_of(const struct hl_process_key *key)
{
	return hl_hash(key, sizeof(*key), 0);
}

struct wanted {
	const struct hl_moved_code *moved;
	const struct hl_process_key *key;
	uint64_t address;
};

static int is_looked(const void *ctx, uint32_t position)
{
	const struct wanted *w = ctx;

	return memcmp(&w->moved->looked[position].key, w->key, sizeof(*w->key)) == 0;
}

uint32_t hl_moved_code_look(struct hl_moved_code *moved, const struct hl_process_key *key, uint32_t now,
			    bool found)
{
	struct wanted wanted = { moved, key, 0 };
	uint32_t at;
	struct looked *looked;

	/* Rarely: it begins anew. */
	if (moved->n_looked == LIMIT) {
		moved->n_looked = 0;
		hl_index_clear(&moved->looked_index);
	}
	at = hl_index_find(&moved->looked_index, hash_of(key), is_looked, &wanted);
	if (at == HL_INDEX_NONE) {
		at = (uint32_t)moved->n_looked;
		if (hl_grow(&moved->looked, &moved->cap_looked, at + 1, sizeof(*moved->looked), LIMIT) ||
		    hl_index_add(&moved->looked_index, hash_of(key), at))
			return now + (FIRST_PAUSE << MOST_DOUBLED);
		moved->looked[moved->n_looked++] = (struct looked){ .key = *key };
	}
	looked = &moved->looked[at];
	if (found) {
		looked->looks = 0;
		return now + PAUSE_FOUND;
	}
	if (looked->looks < MOST_DOUBLED)
		looked->looks++;
	return now + (FIRST_PAUSE << looked->looks);
}

static int is_found(const void *ctx, uint32_t position)
{
	const struct wanted *w = ctx;
	const struct found *f = &w->moved->found[position];

	return memcmp(&f->key.process, w->key, sizeof(*w->key)) == 0 && w->address >= f->key.start &&
	       w->address < f->where.end;
}

int hl_moved_code_add(struct hl_moved_code *moved, const struct hl_moved_key *key,
		      const struct hl_moved *where)
{
	struct wanted wanted = { moved, &key->process, key->start };
	uint64_t hash = hash_of(&key->process);
	uint32_t at = hl_index_find(&moved->found_index, hash, is_found, &wanted);
	int code;

	if (at != HL_INDEX_NONE && moved->found[at].key.start == key->start) {
		moved->found[at].where = *where;
		return 0;
	}
	code = hl_grow(&moved->found, &moved->cap_found, moved->n_found + 1, sizeof(*moved->found), LIMIT);
	if (!code)
		code = hl_index_add(&moved->found_index, hash, (uint32_t)moved->n_found);
	if (!code)
		moved->found[moved->n_found++] = (struct found){ *key, *where };
	return code;
}

struct hl_moved_code *hl_moved_code_copy(const struct hl_moved_code *moved)
{
	struct hl_moved_code *copy = hl_moved_code_new();

	for (size_t i = 0; copy && i < moved->n_found; i++) {
		if (hl_moved_code_add(copy, &moved->found[i].key, &moved->found[i].where)) {
			hl_moved_code_free(copy);
			copy = NULL;
		}
	}
	return copy;
}

void hl_moved_code_forget(struct hl_moved_code *moved, uint32_t file)
{
	size_t n = moved->n_found, kept = 0;

	for (size_t i = 0; i < n; i++)
		if (moved->found[i].where.file != file)
			moved->found[kept++] = moved->found[i];
	if (kept == n)
		return;
	hl_moved_code_clear(moved);
	/* There is room: it held more. */
	while (moved->n_found < kept &&
	       hl_index_add(&moved->found_index, hash_of(&moved->found[moved->n_found].key.process),
			    (uint32_t)moved->n_found) == 0)
		moved->n_found++;
}

void hl_moved_code_clear(struct hl_moved_code *moved)
{
	moved->n_found = 0;
	hl_index_clear(&moved->found_index);
}

uint32_t hl_moved_code_file(const struct hl_moved_code *moved, size_t number)
{
	return number < moved->n_found ? moved->found[number].where.file : HL_FILE_NONE;
}

uint64_t hl_moved_code_translate(const struct hl_moved_code *moved, uint64_t frame,
				 const struct hl_process_key *key)
{
	struct wanted wanted = { moved, key, frame & ~HL_FRAME_RAW };
	const struct found *f;
	uint32_t at;

	if (!hl_frame_is_raw_user(frame) || !moved->n_found)
		return frame;
	at = hl_index_find(&moved->found_index, hash_of(key), is_found, &wanted);
	if (at == HL_INDEX_NONE)
		return frame;
	f = &moved->found[at];
	return (uint64_t)f->where.file << HL_FRAME_FILE_SHIFT |
	       (wanted.address - f->key.start + f->where.offset);
}
