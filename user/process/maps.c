// SPDX-License-Identifier: BSD-2-Clause
#include "process/maps.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "process/files.h"
#include "process/proc.h"
#include "process/reach.h"

enum { MAPPING_LIMIT = 1 << 20 };

/* An executable mapping of a file. */
struct mapping {
	uint32_t tgid, file;
	uint64_t start, end, offset;
};

/* Files of which the id is chosen here, since the program chose none. */
struct known_file {
	struct hl_file_key key;
};

struct hl_maps {
	int proc_fd;
	struct hl_files *files;
	struct hl_reach *reach;
	struct mapping *items; /* of the processes read in this call */
	size_t n, cap;
	struct known_file *known; /* file HL_FILE_FIRST + i */
	size_t n_known, cap_known;
	uint32_t *read; /* thread groups that were read in this call */
	size_t n_read, cap_read;
	uint32_t reading; /* the thread group that is being read */
};

struct hl_maps *hl_maps_new(int proc_fd, struct hl_reach *reach, struct hl_files *files)
{
	struct hl_maps *maps = calloc(1, sizeof(*maps));

	if (maps) {
		maps->proc_fd = proc_fd;
		maps->files = files;
		maps->reach = reach;
	}
	return maps;
}

void hl_maps_free(struct hl_maps *maps)
{
	if (!maps)
		return;
	free(maps->items);
	free(maps->known);
	free(maps->read);
	free(maps);
}

static uint32_t id_of_key(struct hl_maps *maps, const struct hl_file_key *key)
{
	for (size_t i = 0; i < maps->n_known; i++)
		if (memcmp(&maps->known[i].key, key, sizeof(*key)) == 0)
			return (uint32_t)(HL_FILE_FIRST + i);
	if (hl_grow(&maps->known, &maps->cap_known, maps->n_known + 1, sizeof(*maps->known),
		    HL_FILE_LIMIT / 2))
		return HL_FILE_NONE;
	maps->known[maps->n_known++].key = *key;
	return (uint32_t)(HL_FILE_FIRST + maps->n_known - 1);
}

/* The id of the file on @device that is mapped at @m, opened if that is still possible. */
static uint32_t file_of(struct hl_maps *maps, const struct mapping *m, uint64_t device)
{
	struct hl_file_event event = { .start = m->start, .end = m->end, .tgid = m->tgid, .tid = m->tgid };
	char link[96];
	struct stat st;

	(void)snprintf(link, sizeof(link), "%u/map_files/%lx-%lx", m->tgid, m->start, m->end);
	if (hl_reach_stat_link(maps->reach, maps->proc_fd, link, device, &st))
		return HL_FILE_NONE;
	event.key = (struct hl_file_key){
		.inode = st.st_ino,
		.size = (uint64_t)st.st_size,
		.mtime_sec = (uint64_t)st.st_mtim.tv_sec,
		.mtime_nsec = (uint32_t)st.st_mtim.tv_nsec,
		.device = (uint32_t)st.st_dev,
	};
	event.id = id_of_key(maps, &event.key);
	if (event.id != HL_FILE_NONE)
		(void)hl_files_open(maps->files, &event);
	return event.id;
}

static bool take_mapping(void *ctx, const struct hl_proc_mapping *mapping)
{
	struct hl_maps *maps = ctx;
	struct mapping m = {
		.tgid = maps->reading, .start = mapping->start, .end = mapping->end, .offset = mapping->offset
	};

	/* What is executable and shared is generated code: the program has it so, too (bpf/mapping.bpf.h). */
	if (!mapping->exec || mapping->shared || !mapping->inode)
		return true;
	m.file = file_of(maps, &m, mapping->device);
	if (m.file == HL_FILE_NONE ||
	    hl_grow(&maps->items, &maps->cap, maps->n + 1, sizeof(*maps->items), MAPPING_LIMIT))
		return true;
	maps->items[maps->n++] = m;
	return true;
}

static void read_process(struct hl_maps *maps, uint32_t tgid)
{
	char name[32];

	for (size_t i = 0; i < maps->n_read; i++)
		if (maps->read[i] == tgid)
			return;
	if (hl_grow(&maps->read, &maps->cap_read, maps->n_read + 1, sizeof(*maps->read), MAPPING_LIMIT))
		return;
	maps->read[maps->n_read++] = tgid;
	maps->reading = tgid;
	(void)snprintf(name, sizeof(name), "%u/maps", tgid);
	(void)hl_reach_maps(maps->reach, maps->proc_fd, name, take_mapping, maps);
}

static uint64_t translate(const struct hl_maps *maps, uint32_t tgid, uint64_t frame)
{
	uint64_t address = frame & ~HL_FRAME_RAW;

	if (!hl_frame_is_raw_user(frame))
		return frame;
	for (size_t i = 0; i < maps->n; i++) {
		const struct mapping *m = &maps->items[i];

		if (m->tgid == tgid && address >= m->start && address < m->end)
			return (uint64_t)m->file << HL_FRAME_FILE_SHIFT | (address - m->start + m->offset);
	}
	return frame;
}

/* A stack of raw addresses means something in one process only: the process becomes part of its id. */
static uint64_t translate_stack(const struct hl_maps *maps, uint32_t tgid, const struct hl_stack_row *row,
				struct hl_window *into)
{
	uint64_t frames[HL_MAX_FRAMES], id = hl_hash(&row->id, sizeof(row->id), tgid) | 1;

	for (uint32_t i = 0; i < row->head.n; i++)
		frames[i] = translate(maps, tgid, row->frames[i]);
	return hl_window_add_stack(into, id, &row->head, frames) ? id : HL_STACK_LOST;
}

void hl_maps_translate(struct hl_maps *maps, const struct hl_window *raw, struct hl_window *into)
{
	maps->n = maps->n_read = 0;
	for (size_t i = 0; i < raw->n_processes; i++)
		(void)hl_window_add_process(into, &raw->processes[i].key, &raw->processes[i].process);
	for (size_t i = 0; i < raw->n_stacks; i++)
		if (raw->stacks[i].head.is_kernel)
			(void)hl_window_add_stack(into, raw->stacks[i].id, &raw->stacks[i].head,
						  raw->stacks[i].frames);
	for (size_t i = 0; i < raw->n_samples; i++) {
		struct hl_count_key key = raw->samples[i].key;
		const struct hl_stack_row *row = hl_window_stack(raw, key.user_stack);

		if (key.flags & HL_FLAG_RAW) {
			read_process(maps, key.process.tgid);
			key.ip = translate(maps, key.process.tgid, key.ip);
			if (row && row->head.n <= HL_MAX_FRAMES)
				key.user_stack = translate_stack(maps, key.process.tgid, row, into);
		}
		hl_window_add_sample(into, &key, &raw->samples[i].count);
	}
	into->lost += raw->lost;
}
