/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMBOL_INLINES_H
#define HL_SYMBOL_INLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_elf;
struct hl_err;

/*
 * From an address to the functions that were inlined there and to source lines: one flat table a file, built
 * once from its DWARF. It holds no pointers, so that it can be kept on disk and passed on; whoever gets one
 * checks it before use.
 *
 *   header                              struct hl_inlines_header, 64 bytes
 *   u32 start[n_ranges]                 ascending, relative to `base`; each range ends where the next begins
 *   u32 location[n_ranges]              0: nothing is known there
 *   {u32 function, file, line, up}[n_locations]   number 0 is no location
 *   strings                             NUL-terminated; offset 0 is "", not known
 *
 * A location is a place in the source of `function`, by its linkage name if it has one; `up` is the location
 * of the call that was inlined, 0 in the function that has the code. Numbers are little-endian.
 */
#define HL_INLINES_MAGIC   0x314e494cu /* "LIN1" */
#define HL_INLINES_VERSION 1u
/* Frames of a chain; what was inlined deeper is left out at its innermost end. */
#define HL_INLINES_DEPTH   64

struct hl_inlines_header {
	uint32_t magic, version;
	uint64_t base;
	uint32_t n_ranges, n_locations;
	uint64_t strings_len;
	/* What is not in the table: units that are damaged, functions nested too deeply, .dwo files missing. */
	uint32_t damaged_units, deep_functions, missing_dwo;
	uint32_t reserved[5];
};

/* The files that a table is made from; all may be closed afterwards. */
struct hl_inlines_source {
	const struct hl_elf *elf;   /* the running file: its program headers say where code is */
	const struct hl_elf *debug; /* its separate debug file, or NULL */
	const struct hl_elf *alt;   /* the file that dwz put common parts into, or NULL */
	const struct hl_elf *const *dwos;
	size_t n_dwos;
};

struct hl_inlines_limits {
	size_t memory;        /* bytes of debug information, inflated, and the same again for the index */
	uint64_t deadline_ns; /* of the monotonic clock */
};

/*
 * Builds the table; @ret is to be released with free(). -ENODATA: there is no debug information; -E2BIG and
 * -ETIME: over a limit; -ENOMEM; -EBADMSG and others where a section cannot be read. Damaged units are left
 * out and counted.
 */
int hl_inlines_build(const struct hl_inlines_source *source, const struct hl_inlines_limits *limits,
		     uint8_t **ret, size_t *ret_len, struct hl_err *err);

/* 0 if @bytes, aligned to 8, are a whole and sound table, else -EBADMSG with what is wrong. */
int hl_inlines_check(const void *bytes, size_t len, struct hl_err *err);

/* One frame. Strings are "" where they are not known, line 0 too; they live as long as the table. */
struct hl_inlines_frame {
	const char *function, *file;
	uint32_t function_id, file_id; /* equal numbers are equal strings */
	uint32_t line;
};

/*
 * The frames at ELF address @address of a checked table, innermost first, the function with the code last;
 * at most HL_INLINES_DEPTH. Returns how many there are, 0 where nothing is known.
 */
size_t hl_inlines_find(const void *table, uint64_t address, struct hl_inlines_frame ret[HL_INLINES_DEPTH]);

/* A file that the debug information needs besides; strings live until the call returns. */
struct hl_inlines_wanted {
	const char *name,
		*directory; /* as written there, hostile; directory: NULL or what it is relative to */
	uint8_t id[64];     /* build-id of an alternate file, or id of a .dwo file, little-endian */
	size_t id_len;
	bool is_alt;
};
typedef int (*hl_inlines_wanted_fn)(void *ctx, const struct hl_inlines_wanted *wanted);

/*
 * Calls @each for every such file, until it returns another value than 0, which is returned. Reads the units'
 * headers only. Failures as hl_inlines_build().
 */
int hl_inlines_wants(const struct hl_inlines_source *source, const struct hl_inlines_limits *limits,
		     hl_inlines_wanted_fn each, void *ctx, struct hl_err *err);

#endif
