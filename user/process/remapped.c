// SPDX-License-Identifier: BSD-2-Clause
#include "process/remapped.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

enum { PAGE = 4096, BLOCK = 16384 };

/* Code of more than this is not compared: the largest programs there are have a quarter of it. */
#define MOST_BYTES (UINT64_C(1) << 30)

/* Whether it is of a file of the disk. What the kernel makes for anonymous memory has a name, too. */
static bool is_of_file(const struct hl_proc_mapping *m)
{
	return m->inode && m->path[0] == '/' && !hl_starts_with(m->path, "/anon_hugepage") &&
	       !hl_starts_with(m->path, "/dev/") && !hl_starts_with(m->path, "/memfd:") &&
	       !hl_starts_with(m->path, "/SYSV");
}

static void take_behind(struct hl_remapped_finder *f, const struct hl_proc_mapping *behind)
{
	for (size_t i = 0; i < f->n_waiting; i++) {
		bool is_asked = f->waiting[i].start == f->asked;

		f->dropped += f->n == HL_REMAPPED_MAX;
		if (f->n == HL_REMAPPED_MAX && is_asked)
			f->n--;
		if (f->n < HL_REMAPPED_MAX)
			f->found[f->n++] =
				(struct hl_remapped_candidate){ f->waiting[i], f->before, *behind };
	}
	f->n_waiting = 0;
}

void hl_remapped_take(struct hl_remapped_finder *f, const struct hl_proc_mapping *mapping)
{
	static const struct hl_proc_mapping none = { .path = "" };
	struct hl_proc_mapping m = mapping ? *mapping : none;

	if (!mapping || is_of_file(mapping)) {
		m.path = "";
		take_behind(f, &m);
		f->before = m;
	} else if (m.exec && (f->n_waiting < HL_REMAPPED_IN_GAP || m.start == f->asked)) {
		m.path = "";
		f->waiting[f->n_waiting < HL_REMAPPED_IN_GAP ? f->n_waiting++ : HL_REMAPPED_IN_GAP - 1] = m;
	}
}

/* How far a mapping is from its place in the file. May wrap, as all that is computed from it. */
static uint64_t distance(const struct hl_proc_mapping *m)
{
	return m->start - m->offset;
}

static size_t add_guess(const struct hl_remapped_candidate *f, const struct hl_proc_mapping *beside,
			uint64_t apart, struct hl_remapped_guess *ret, size_t n)
{
	ret[n] = (struct hl_remapped_guess){ beside->start, beside->end, f->at.start - apart };
	return n + 1;
}

size_t hl_remapped_guess(const struct hl_remapped_candidate *candidate, struct hl_remapped_guess *ret)
{
	bool is_between = candidate->before.end && candidate->behind.end &&
			  candidate->before.inode == candidate->behind.inode &&
			  candidate->before.device == candidate->behind.device;
	uint64_t least = distance(&candidate->before), most = distance(&candidate->behind);
	size_t n = 0;

	if (!is_between || most < least || most - least >= HL_REMAPPED_GUESSES * PAGE) {
		if (candidate->behind.end)
			n = add_guess(candidate, &candidate->behind, most, ret, n);
		return candidate->before.end ? add_guess(candidate, &candidate->before, least, ret, n) : n;
	}
	for (uint64_t apart = least; apart <= most; apart += PAGE)
		n = add_guess(candidate, &candidate->before, apart, ret, n);
	return n;
}

static bool read_all(int fd, char *to, size_t n, uint64_t at)
{
	while (n) {
		ssize_t got = pread(fd, to, n, (off_t)at);

		if (got <= 0)
			return false;
		to += got;
		at += (uint64_t)got;
		n -= (size_t)got;
	}
	return true;
}

static bool is_zero(const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i])
			return false;
	return true;
}

/* Whether all is equal, up to some place in the last page from which on @memory has only zeros. */
static bool ends_in_zeros(const char *memory, const char *file, size_t n)
{
	size_t same = n < PAGE ? 0 : n - PAGE;

	if (memcmp(memory, file, same) != 0)
		return false;
	while (same < n && memory[same] == file[same])
		same++;
	return is_zero(memory + same, n - same);
}

bool hl_remapped_is_equal(int mem_fd, uint64_t start, uint64_t end, int file_fd, uint64_t offset)
{
	char memory[BLOCK], file[BLOCK];

	if (end <= start || end - start > MOST_BYTES || offset > INT64_MAX - MOST_BYTES)
		return false;
	for (uint64_t at = start; at < end; at += BLOCK) {
		size_t n = end - at < BLOCK ? (size_t)(end - at) : BLOCK;

		if (!read_all(mem_fd, memory, n, at) || !read_all(file_fd, file, n, offset + at - start))
			return false;
		if (memcmp(memory, file, n) != 0 && (at + n < end || !ends_in_zeros(memory, file, n)))
			return false;
	}
	return true;
}

/* The file that is mapped from @start to @end, readable; -1 unless it is a regular one. */
static int open_mapped(int dir_fd, uint64_t start, uint64_t end)
{
	_cleanup_close_ int path_fd = -1;
	struct stat st;
	char link[64];
	int fd;

	(void)snprintf(link, sizeof(link), "map_files/%" PRIx64 "-%" PRIx64, start, end);
	path_fd = openat(dir_fd, link, O_PATH | O_CLOEXEC);
	fd = path_fd < 0 ? -1 : hl_proc_reopen(path_fd, &st);
	return fd < 0 ? -1 : fd;
}

static bool is_moved(int dir_fd, int mem_fd, const struct hl_remapped_candidate *candidate,
		     struct hl_remapped_guess *ret)
{
	struct hl_remapped_guess guesses[HL_REMAPPED_GUESSES];
	size_t n = hl_remapped_guess(candidate, guesses);

	for (size_t i = 0; i < n; i++) {
		_cleanup_close_ int fd = open_mapped(dir_fd, guesses[i].beside_start, guesses[i].beside_end);

		if (fd < 0 || !hl_remapped_is_equal(mem_fd, candidate->at.start, candidate->at.end, fd,
						    guesses[i].offset))
			continue;
		*ret = guesses[i];
		return true;
	}
	return false;
}

static bool take_mapping(void *ctx, const struct hl_proc_mapping *mapping)
{
	hl_remapped_take(ctx, mapping);
	return true;
}

size_t hl_remapped_find(int proc_fd, const struct hl_file_event *event, struct hl_remapped *ret,
			size_t *ret_dropped)
{
	struct hl_remapped_finder finder = { .asked = event->start };
	_cleanup_close_ int dir_fd = -1, mem_fd = -1;
	struct hl_remapped_guess from;
	char name[16];
	size_t n = 0;

	*ret_dropped = 0;
	(void)snprintf(name, sizeof(name), "%u", event->tgid);
	dir_fd = openat(proc_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0 || !hl_proc_started(dir_fd, event->process.start_time))
		return 0;
	if (hl_proc_maps(dir_fd, "maps", take_mapping, &finder))
		return 0;
	hl_remapped_take(&finder, NULL);
	*ret_dropped = finder.dropped;
	mem_fd = finder.n ? openat(dir_fd, "mem", O_RDONLY | O_CLOEXEC) : -1;
	for (size_t i = 0; i < finder.n && mem_fd >= 0; i++) {
		const struct hl_proc_mapping *at = &finder.found[i].at;

		if (is_moved(dir_fd, mem_fd, &finder.found[i], &from))
			ret[n++] = (struct hl_remapped){ at->start, at->end, from };
	}
	return n;
}
