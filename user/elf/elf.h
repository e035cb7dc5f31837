/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_ELF_ELF_H
#define HL_ELF_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_cursor;
struct hl_elf;
struct hl_err;

/*
 * Little-endian ELF files (System V gABI; both classes), read by pread into bounded buffers and never
 * mapped, since someone else may truncate them. Program headers are what the kernel ran, so a file is
 * refused without them; damaged section headers only leave it without sections.
 */

/* A function's code, in ELF addresses. */
struct hl_elf_span {
	uint64_t start, size;
};

/* A program header. Addresses are p_vaddr. */
struct hl_elf_segment {
	uint64_t offset, address;
	uint64_t file_size, memory_size;
	uint64_t align;
	uint32_t type, flags; /* PT_, PF_ */
};

/* A section header. */
struct hl_elf_section {
	const char *name; /* "" where the name is damaged */
	uint64_t address, offset, size;
	uint64_t flags, entry_size; /* SHF_ */
	uint32_t type, link;        /* SHT_, index of another section */
};

/*
 * Reads the headers of the file at @fd, which is duplicated. @name says in sentences which file it is.
 * -ENOEXEC: no regular file, or no ELF file that we read; -ENOMEM; or what pread said.
 */
int hl_elf_open(int fd, const char *name, struct hl_elf **ret, struct hl_err *err);
/*
 * As above, for a file in memory: the @len bytes at @bytes, not NULL, which become the object's and are
 * released with free(), also on failure.
 */
int hl_elf_open_bytes(uint8_t *bytes, size_t len, const char *name, struct hl_elf **ret, struct hl_err *err);
/*
 * As hl_elf_open(), but no header is read before hl_elf_need_headers(): until then there are only bytes, and the
 * segments that hl_elf_set_segments() copies.
 */
int hl_elf_open_unread(int fd, const char *name, struct hl_elf **ret, struct hl_err *err);
int hl_elf_set_segments(struct hl_elf *elf, const struct hl_elf_segment *segments, size_t n);
/* Reads the headers, unless that was done. As hl_elf_open(), and -EBADF for a suspended file. */
int hl_elf_need_headers(struct hl_elf *elf, struct hl_err *err);
void hl_elf_free(struct hl_elf *elf);

/*
 * Gives the descriptor back; what is read from the file afterwards is -EBADF. What was read stays, and so
 * does a file in memory, which is never suspended.
 */
void hl_elf_suspend(struct hl_elf *elf);
bool hl_elf_is_suspended(const struct hl_elf *elf);

const char *hl_elf_name(const struct hl_elf *elf);
bool hl_elf_is_64(const struct hl_elf *elf);
uint16_t hl_elf_machine(const struct hl_elf *elf); /* EM_ */
uint64_t hl_elf_entry(const struct hl_elf *elf);   /* the address where the program starts; 0: none */
uint64_t hl_elf_size(const struct hl_elf *elf);    /* of the file, in bytes, when it was opened */

const struct hl_elf_segment *hl_elf_segments(const struct hl_elf *elf, size_t *ret_n);
const struct hl_elf_section *hl_elf_sections(const struct hl_elf *elf, size_t *ret_n);
/* The next executable PT_LOAD after @after, or the first after NULL; NULL behind the last. */
const struct hl_elf_segment *hl_elf_next_code(const struct hl_elf *elf, const struct hl_elf_segment *after);
/* The first section of that name or type that has bytes in the file, or NULL. */
const struct hl_elf_section *hl_elf_section_named(const struct hl_elf *elf, const char *name);
const struct hl_elf_section *hl_elf_section_typed(const struct hl_elf *elf, uint32_t type);
/* Section number @index if it has that type and bytes in the file, else NULL. */
const struct hl_elf_section *hl_elf_section_at(const struct hl_elf *elf, uint32_t index, uint32_t type);

/*
 * The ELF address of file offset @offset, by the executable PT_LOAD that covers it; a segment begins and
 * ends at page boundaries, as its mapping does, but bytes that a segment really claims go first.
 */
bool hl_elf_address(const struct hl_elf *elf, uint64_t offset, uint64_t *ret);

/* Exactly @len bytes at @offset: 0, or -EBADMSG if the file ends before. */
int hl_elf_read(const struct hl_elf *elf, uint64_t offset, void *buffer, size_t len);
/* At most @len bytes at @offset; returns how many there were, or -errno. */
long hl_elf_read_some(const struct hl_elf *elf, uint64_t offset, void *buffer, size_t len);
/*
 * All of @section, to be released with free(), with a NUL behind it. -E2BIG if it is longer than @limit
 * bytes, -EBADMSG if the file ends before it does.
 */
int hl_elf_load(const struct hl_elf *elf, const struct hl_elf_section *section, size_t limit, uint8_t **ret,
		size_t *ret_len, struct hl_err *err);
/*
 * Calls @each for every element of @size bytes of @section with a cursor over that element alone, in pieces
 * that fit in a small buffer, until it returns another value than 0, which is then returned. -E2BIG for more
 * than @limit elements.
 */
typedef int (*hl_elf_each_fn)(void *ctx, struct hl_cursor *element);
int hl_elf_each(const struct hl_elf *elf, const struct hl_elf_section *section, size_t size, size_t limit,
		hl_elf_each_fn each, void *ctx, struct hl_err *err);

#define HL_ELF_BUILD_ID_MAX 64
/* The GNU build-id, from a PT_NOTE first, from a note section second. Returns its length; 0: none. */
size_t hl_elf_build_id(const struct hl_elf *elf, uint8_t ret[HL_ELF_BUILD_ID_MAX]);

#define HL_ELF_DEBUGLINK_MAX 256
/*
 * The base name and the CRC of the separate debug file (.gnu_debuglink, "Debugging with GDB", 18.3). False
 * if there is none, or if it is no base name.
 */
bool hl_elf_debuglink(const struct hl_elf *elf, char ret_name[HL_ELF_DEBUGLINK_MAX], uint32_t *ret_crc);
/* The CRC that a debuglink holds, over the whole file. -E2BIG for a file of more than 1 GiB. */
int hl_elf_crc(const struct hl_elf *elf, uint32_t *ret, struct hl_err *err);

#endif
