// SPDX-License-Identifier: BSD-2-Clause
#include "elf/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/err.h"

enum {
	MAX_SEGMENT_BYTES = 64 * 1024, /* the kernel runs no file with more (load_elf_phdrs) */
	MAX_SECTIONS = 64 * 1024,
	MAX_SECTION_NAMES = 4 << 20,
	CHUNK = 64 * 1024,
};

struct hl_elf {
	int fd;
	uint8_t *bytes;      /* the file itself, of one that is in memory; else NULL */
	bool is_64, is_read; /* is_read: the headers were */
	uint16_t machine;
	uint64_t entry, size;
	struct hl_elf_segment *segments;
	size_t n_segments;
	struct hl_elf_section *sections;
	size_t n_sections;
	uint8_t *section_names;
	char name[64];
};

HL_DEFINE_CLEANUP(struct hl_elf, hl_elf_free)

/* Where the two header tables stand. */
struct layout {
	uint64_t segments, sections;
	uint32_t n_segments, n_sections, names;
	uint16_t section_size;
};

static void forget_headers(struct hl_elf *elf)
{
	free(elf->segments);
	free(elf->sections);
	free(elf->section_names);
	elf->segments = NULL;
	elf->sections = NULL;
	elf->section_names = NULL;
	elf->n_segments = elf->n_sections = 0;
}

void hl_elf_free(struct hl_elf *elf)
{
	if (!elf)
		return;
	hl_elf_suspend(elf);
	forget_headers(elf);
	free(elf->bytes);
	free(elf);
}

void hl_elf_suspend(struct hl_elf *elf)
{
	if (elf->fd >= 0)
		(void)close(elf->fd);
	elf->fd = -1;
}

bool hl_elf_is_suspended(const struct hl_elf *elf)
{
	return elf->fd < 0 && !elf->bytes;
}

const char *hl_elf_name(const struct hl_elf *elf)
{
	return elf->name;
}

bool hl_elf_is_64(const struct hl_elf *elf)
{
	return elf->is_64;
}

uint64_t hl_elf_entry(const struct hl_elf *elf)
{
	return elf->entry;
}

uint16_t hl_elf_machine(const struct hl_elf *elf)
{
	return elf->machine;
}

uint64_t hl_elf_size(const struct hl_elf *elf)
{
	return elf->size;
}

const struct hl_elf_segment *hl_elf_segments(const struct hl_elf *elf, size_t *ret_n)
{
	*ret_n = elf->n_segments;
	return elf->segments;
}

const struct hl_elf_section *hl_elf_sections(const struct hl_elf *elf, size_t *ret_n)
{
	*ret_n = elf->n_sections;
	return elf->sections;
}

/* True if the file, as long as it was when it was opened, has @len bytes at @offset. */
static bool is_inside(const struct hl_elf *elf, uint64_t offset, uint64_t len)
{
	return offset <= elf->size && len <= elf->size - offset;
}

static long copy_some(const struct hl_elf *elf, uint64_t offset, void *buffer, size_t len)
{
	if (offset >= elf->size)
		return 0;
	if (!is_inside(elf, offset, len))
		len = (size_t)(elf->size - offset);
	memcpy(buffer, elf->bytes + offset, len);
	return (long)len;
}

long hl_elf_read_some(const struct hl_elf *elf, uint64_t offset, void *buffer, size_t len)
{
	size_t done = 0;
	ssize_t n;

	if (elf->bytes)
		return copy_some(elf, offset, buffer, len);
	while (done < len && offset + done >= offset && offset + done <= INT64_MAX) {
		n = pread(elf->fd, (char *)buffer + done, len - done, (off_t)(offset + done));
		if (n == 0)
			break;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return (long)done;
}

int hl_elf_read(const struct hl_elf *elf, uint64_t offset, void *buffer, size_t len)
{
	long n = hl_elf_read_some(elf, offset, buffer, len);

	if (n < 0)
		return (int)n;
	return (size_t)n == len ? 0 : -EBADMSG;
}

/* Large buffers live shortly: huge pages save most of the time that faulting them in would take. */
static void *allocate(size_t len)
{
	enum { HUGE = 2 << 20 };
	void *bytes;

	if (len < HUGE)
		return malloc(len);
	if (posix_memalign(&bytes, HUGE, len) != 0)
		return NULL;
	(void)madvise(bytes, len, MADV_HUGEPAGE);
	return bytes;
}

/* @len bytes at @offset, whose length the caller has bounded, and a NUL behind them. */
static int load(const struct hl_elf *elf, uint64_t offset, size_t len, const char *what, uint8_t **ret,
		struct hl_err *err)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	int r;

	if (!is_inside(elf, offset, len))
		return hl_err_set(err, -EBADMSG, "'%s': %.64s lies past the end of the file", elf->name,
				  what);
	bytes = allocate(len + 1);
	if (!bytes)
		return -ENOMEM;
	r = hl_elf_read(elf, offset, bytes, len);
	if (r < 0)
		return hl_err_errno(err, r, "'%s': cannot read %.64s", elf->name, what);
	bytes[len] = 0;
	*ret = TAKE_PTR(bytes);
	return 0;
}

int hl_elf_load(const struct hl_elf *elf, const struct hl_elf_section *section, size_t limit, uint8_t **ret,
		size_t *ret_len, struct hl_err *err)
{
	int r;

	if (section->size > limit)
		return hl_err_set(err, -E2BIG, "'%s': section '%.64s' is longer than %zu bytes", elf->name,
				  section->name, limit);
	r = load(elf, section->offset, (size_t)section->size, section->name, ret, err);
	if (r == 0)
		*ret_len = (size_t)section->size;
	return r;
}

int hl_elf_each(const struct hl_elf *elf, const struct hl_elf_section *section, size_t size, size_t limit,
		hl_elf_each_fn each, void *ctx, struct hl_err *err)
{
	uint64_t n = section->size / size, i;
	size_t step = CHUNK / size, k;
	_cleanup_free_ uint8_t *bytes = NULL;
	struct hl_cursor element;
	int r;

	if (!is_inside(elf, section->offset, section->size))
		return hl_err_set(err, -EBADMSG, "'%s': section '%.64s' lies past the end of the file",
				  elf->name, section->name);
	if (n > limit)
		return hl_err_set(err, -E2BIG, "'%s': section '%.64s' has more than %zu elements", elf->name,
				  section->name, limit);
	bytes = malloc(step * size);
	if (!bytes)
		return -ENOMEM;
	for (i = 0; i < n; i += step) {
		size_t here = n - i < step ? (size_t)(n - i) : step;

		r = hl_elf_read(elf, section->offset + i * size, bytes, here * size);
		if (r < 0)
			return hl_err_errno(err, r, "'%s': cannot read section '%.64s'", elf->name,
					    section->name);
		for (k = 0; k < here; k++) {
			element = hl_cursor_of(bytes + k * size, size, section->name);
			r = each(ctx, &element);
			if (r != 0)
				return r;
		}
	}
	return 0;
}

static int read_file_header(struct hl_elf *elf, struct layout *ret, struct hl_err *err)
{
	uint8_t bytes[sizeof(Elf64_Ehdr)] = { 0 };
	long n = hl_elf_read_some(elf, 0, bytes, sizeof(bytes));
	struct hl_cursor c;
	uint16_t entry_size;

	if (n < 0)
		return hl_err_errno(err, (int)n, "'%s': cannot read the ELF header", elf->name);
	if (n < (long)sizeof(Elf32_Ehdr) || memcmp(bytes, ELFMAG, SELFMAG) != 0)
		return hl_err_set(err, -ENOEXEC, "'%s' is no ELF file", elf->name);
	elf->is_64 = bytes[EI_CLASS] == ELFCLASS64;
	if ((!elf->is_64 && bytes[EI_CLASS] != ELFCLASS32) || bytes[EI_DATA] != ELFDATA2LSB)
		return hl_err_set(err, -ENOEXEC,
				  "'%s' is an ELF file of class %d, data encoding %d: only "
				  "little-endian files are read",
				  elf->name, bytes[EI_CLASS], bytes[EI_DATA]);
	c = hl_cursor_of(bytes, (size_t)n, "the ELF header");
	hl_cursor_skip(&c, EI_NIDENT + 2); /* e_ident, e_type */
	elf->machine = hl_cursor_u16(&c);
	hl_cursor_skip(&c, 4); /* e_version */
	elf->entry = hl_cursor_word(&c, elf->is_64);
	ret->segments = hl_cursor_word(&c, elf->is_64);
	ret->sections = hl_cursor_word(&c, elf->is_64);
	hl_cursor_skip(&c, 6); /* e_flags, e_ehsize */
	entry_size = hl_cursor_u16(&c);
	ret->n_segments = hl_cursor_u16(&c);
	ret->section_size = hl_cursor_u16(&c);
	ret->n_sections = hl_cursor_u16(&c);
	ret->names = hl_cursor_u16(&c);
	if (c.failed ||
	    (ret->n_segments && entry_size != (elf->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr))))
		return hl_err_set(err, -ENOEXEC, "'%s' has a damaged ELF header", elf->name);
	return 0;
}

static void read_segment(struct hl_cursor *c, bool is_64, struct hl_elf_segment *ret)
{
	ret->type = hl_cursor_u32(c);
	if (is_64)
		ret->flags = hl_cursor_u32(c);
	ret->offset = hl_cursor_word(c, is_64);
	ret->address = hl_cursor_word(c, is_64);
	(void)hl_cursor_word(c, is_64); /* p_paddr means nothing here */
	ret->file_size = hl_cursor_word(c, is_64);
	ret->memory_size = hl_cursor_word(c, is_64);
	if (!is_64)
		ret->flags = hl_cursor_u32(c);
	ret->align = hl_cursor_word(c, is_64);
}

static int read_segments(struct hl_elf *elf, const struct layout *layout, struct hl_err *err)
{
	size_t each = elf->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr), i;
	_cleanup_free_ uint8_t *bytes = NULL;
	struct hl_cursor c;
	int r;

	if (layout->n_segments * each > MAX_SEGMENT_BYTES)
		return hl_err_set(err, -ENOEXEC, "'%s' has %u program headers: the kernel would not run it",
				  elf->name, layout->n_segments);
	if (layout->n_segments == 0)
		return 0;
	r = load(elf, layout->segments, layout->n_segments * each, "the program headers", &bytes, err);
	if (r < 0)
		return r == -EBADMSG ? -ENOEXEC : r;
	elf->segments = calloc(layout->n_segments, sizeof(*elf->segments));
	if (!elf->segments)
		return -ENOMEM;
	c = hl_cursor_of(bytes, layout->n_segments * each, "the program headers");
	for (i = 0; i < layout->n_segments; i++)
		read_segment(&c, elf->is_64, &elf->segments[i]);
	elf->n_segments = layout->n_segments;
	return hl_cursor_status(&c, err);
}

/* Reads one section header; the name is an offset for now, returned. */
static uint32_t read_section(struct hl_cursor *c, bool is_64, struct hl_elf_section *ret, uint32_t *ret_info)
{
	uint32_t name = hl_cursor_u32(c);

	ret->name = "";
	ret->type = hl_cursor_u32(c);
	ret->flags = hl_cursor_word(c, is_64);
	ret->address = hl_cursor_word(c, is_64);
	ret->offset = hl_cursor_word(c, is_64);
	ret->size = hl_cursor_word(c, is_64);
	ret->link = hl_cursor_u32(c);
	*ret_info = hl_cursor_u32(c);
	(void)hl_cursor_word(c, is_64); /* sh_addralign */
	ret->entry_size = hl_cursor_word(c, is_64);
	return name;
}

/* The numbers that do not fit in the ELF header stand in section 0. */
static int read_long_numbers(const struct hl_elf *elf, size_t each, struct layout *layout)
{
	uint8_t bytes[sizeof(Elf64_Shdr)];
	struct hl_elf_section first;
	struct hl_cursor c;
	uint32_t info;
	int r;

	if (layout->n_sections != 0 && layout->names != SHN_XINDEX)
		return 0;
	r = hl_elf_read(elf, layout->sections, bytes, each);
	if (r < 0)
		return r;
	c = hl_cursor_of(bytes, each, "section header 0");
	(void)read_section(&c, elf->is_64, &first, &info);
	if (layout->n_sections == 0)
		layout->n_sections = first.size <= MAX_SECTIONS ? (uint32_t)first.size : 0;
	if (layout->names == SHN_XINDEX)
		layout->names = first.link;
	return 0;
}

static int name_sections(struct hl_elf *elf, const uint32_t *offsets, uint32_t names)
{
	const struct hl_elf_section *strings = hl_elf_section_at(elf, names, SHT_STRTAB);
	size_t len = 0, i;
	int r;

	if (!strings)
		return 0;
	r = hl_elf_load(elf, strings, MAX_SECTION_NAMES, &elf->section_names, &len, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (i = 0; i < elf->n_sections; i++)
		if (offsets[i] < len)
			elf->sections[i].name = (const char *)elf->section_names + offsets[i];
	return 0;
}

/* Damaged section headers are none: -ENOMEM is the only failure. */
static int read_sections(struct hl_elf *elf, struct layout *layout)
{
	size_t each = elf->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr), i;
	_cleanup_free_ uint32_t *offsets = NULL;
	_cleanup_free_ uint8_t *bytes = NULL;
	struct hl_cursor c;
	uint32_t info;
	int r;

	if (layout->sections == 0 || layout->section_size != each || read_long_numbers(elf, each, layout) < 0)
		return 0;
	if (layout->n_sections == 0 || layout->n_sections > MAX_SECTIONS)
		return 0;
	r = load(elf, layout->sections, layout->n_sections * each, "the section headers", &bytes, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	offsets = calloc(layout->n_sections, sizeof(*offsets));
	elf->sections = calloc(layout->n_sections, sizeof(*elf->sections));
	if (!offsets || !elf->sections)
		return -ENOMEM;
	c = hl_cursor_of(bytes, layout->n_sections * each, "the section headers");
	for (i = 0; i < layout->n_sections; i++)
		offsets[i] = read_section(&c, elf->is_64, &elf->sections[i], &info);
	elf->n_sections = layout->n_sections;
	return name_sections(elf, offsets, layout->names);
}

static struct hl_elf *new_elf(const char *name, struct hl_err *err)
{
	struct hl_elf *elf = calloc(1, sizeof(*elf));

	if (!elf) {
		(void)hl_err_errno(err, -ENOMEM, "'%s'", name);
		return NULL;
	}
	(void)snprintf(elf->name, sizeof(elf->name), "%s", name);
	elf->fd = -1;
	return elf;
}

int hl_elf_need_headers(struct hl_elf *elf, struct hl_err *err)
{
	struct layout layout = { 0 };
	int r;

	if (elf->is_read)
		return 0;
	if (hl_elf_is_suspended(elf))
		return hl_err_set(err, -EBADF, "'%s' is no longer open", elf->name);
	forget_headers(elf);
	r = read_file_header(elf, &layout, err);
	if (r == 0)
		r = read_segments(elf, &layout, err);
	if (r == 0)
		r = read_sections(elf, &layout);
	elf->is_read = r == 0;
	return r == -ENOMEM ? hl_err_errno(err, r, "'%s'", elf->name) : r;
}

int hl_elf_set_segments(struct hl_elf *elf, const struct hl_elf_segment *segments, size_t n)
{
	struct hl_elf_segment *copy = calloc(n + 1, sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	if (n)
		memcpy(copy, segments, n * sizeof(*copy));
	free(elf->segments);
	elf->segments = copy;
	elf->n_segments = n;
	return 0;
}

int hl_elf_open_unread(int fd, const char *name, struct hl_elf **ret, struct hl_err *err)
{
	_cleanup_(hl_elf_freep) struct hl_elf *elf = new_elf(name, err);
	struct stat st;

	if (!elf)
		return -ENOMEM;
	elf->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (elf->fd < 0 || fstat(elf->fd, &st) < 0)
		return hl_err_errno(err, -errno, "'%s': cannot use descriptor %d", name, fd);
	if (!S_ISREG(st.st_mode))
		return hl_err_set(err, -ENOEXEC, "'%s' is no regular file", name);
	elf->size = (uint64_t)st.st_size;
	*ret = TAKE_PTR(elf);
	return 0;
}

int hl_elf_open(int fd, const char *name, struct hl_elf **ret, struct hl_err *err)
{
	_cleanup_(hl_elf_freep) struct hl_elf *elf = NULL;
	int r = hl_elf_open_unread(fd, name, &elf, err);

	if (!elf)
		return r;
	r = hl_elf_need_headers(elf, err);
	if (r == 0)
		*ret = TAKE_PTR(elf);
	return r;
}

int hl_elf_open_bytes(uint8_t *bytes, size_t len, const char *name, struct hl_elf **ret, struct hl_err *err)
{
	_cleanup_(hl_elf_freep) struct hl_elf *elf = new_elf(name, err);
	int r;

	if (!elf) {
		free(bytes);
		return -ENOMEM;
	}
	elf->bytes = bytes;
	elf->size = len;
	r = hl_elf_need_headers(elf, err);
	if (r == 0)
		*ret = TAKE_PTR(elf);
	return r;
}
