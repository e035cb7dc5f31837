// SPDX-License-Identifier: BSD-2-Clause
/*
 * Names that were made before, at another start: an hl_symd_file, and behind it the table of functions. It is
 * mapped, not copied: it lies in a file of the cache, which is only ever replaced by rename, or in memory.
 */
#include "symd/files.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "elf/elf.h"
#include "symbol/symbol.h"
#include "symd/number.h"
#include <hotleaf/symd.h>

/* Maps @extent of the file at @fd. The map begins at the page before it. */
static int map_extent(int fd, const struct hl_symd_extent *extent, char **ret, size_t *ret_len,
		      struct hl_err *err)
{
	uint64_t skip = extent->offset & ((uint64_t)sysconf(_SC_PAGESIZE) - 1), size;
	struct stat st;
	void *map;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return hl_err_set(err, -EBADMSG, "names are in no regular file");
	size = (uint64_t)st.st_size;
	if (extent->offset % 8 || extent->offset > size || extent->length > size - extent->offset ||
	    extent->length < sizeof(struct hl_symd_file))
		return hl_err_set(err, -EBADMSG, "%llu bytes of names do not stand in a file of %llu",
				  (unsigned long long)extent->length, (unsigned long long)size);
	*ret_len = (size_t)(skip + extent->length);
	map = mmap(NULL, *ret_len, PROT_READ, MAP_PRIVATE, fd, (off_t)(extent->offset - skip));
	if (map == MAP_FAILED)
		return hl_err_errno(err, -errno, "cannot map names");
	*ret = map;
	return 0;
}

/* Segments as the file's headers had them. */
static int set_segments(struct hl_symd_known *known, const struct hl_symd_file *about)
{
	struct hl_elf_segment segments[HL_SYMD_SEGMENTS_MAX] = { { 0 } };

	for (uint32_t i = 0; i < about->n_segments; i++) {
		const struct hl_symd_segment *s = &about->segments[i];

		segments[i] = (struct hl_elf_segment){ .offset = s->offset,
						       .address = s->address,
						       .file_size = s->file_size,
						       .memory_size = s->size,
						       .type = PT_LOAD,
						       .flags = PF_R | PF_X };
	}
	return hl_elf_set_segments(known->elf, segments, about->n_segments);
}

int hl_symd_files_add_names(struct hl_symd_files *files, uint32_t number, int fd,
			    const struct hl_symd_extent *extent, struct hl_symd_file *ret, struct hl_err *err)
{
	struct hl_symd_known *known = hl_symd_files_get(files, number);
	struct hl_symbols *symbols = NULL;
	struct hl_symd_file about;
	size_t len = 0, skip;
	char *map = NULL;
	int r;

	if (!known)
		return hl_err_set(err, -ENOENT, "'%s' is not known", HL_FILE_CALLED(number));
	r = map_extent(fd, extent, &map, &len, err);
	if (!map)
		return r;
	skip = len - extent->length;
	memcpy(&about, map + skip, sizeof(about));
	skip += sizeof(about);
	if (about.n_segments > HL_SYMD_SEGMENTS_MAX)
		r = hl_err_set(err, -EBADMSG, "'%s' cannot have %u segments", HL_FILE_CALLED(number),
			       about.n_segments);
	if (r == 0)
		r = hl_symbols_open(map + skip, len - skip, known->elf, known->debug, &symbols, err);
	if (r == 0)
		r = set_segments(known, &about);
	if (r < 0) {
		hl_symbols_free(symbols);
		(void)munmap(map, len);
		return r;
	}
	hl_symd_known_drop_symbols(known);
	known->symbols = symbols;
	known->map = map;
	known->map_len = len;
	*ret = about;
	return 0;
}
