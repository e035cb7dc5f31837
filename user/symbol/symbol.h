/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMBOL_SYMBOL_H
#define HL_SYMBOL_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_elf;
struct hl_elf_span;
struct hl_err;
struct hl_str;
struct hl_symbols;

/*
 * The functions of a file: sorted ranges that do not overlap, merged from .symtab (the file's own and its
 * debug file's), .gnu_debugdata, .dynsym, the PLT, Go's own table, and, for functions without a name, the bounds
 * in .eh_frame. Two hosts with the same files get the same table.
 */

/*
 * Builds the table of @elf, with the names of @debug if that is not NULL; both must outlive it, since names
 * of large files stay there (a suspended file leaves such functions without their names). Damaged parts are
 * left out. -ENOMEM, or -EIO if a file cannot be read.
 */
int hl_symbols_new(const struct hl_elf *elf, const struct hl_elf *debug, struct hl_symbols **ret,
		   struct hl_err *err);
/*
 * The same where functions are found in another way too: @find is asked for their bounds, by address, where much of
 * the code has neither names nor call frame information, and not too much to be gone through. They stay without names.
 */
typedef int (*hl_find_functions_fn)(const struct hl_elf *elf, struct hl_elf_span **ret, size_t *ret_n);
int hl_symbols_new_with(const struct hl_elf *elf, const struct hl_elf *debug, hl_find_functions_fn find,
			struct hl_symbols **ret, struct hl_err *err);
/*
 * The same from the @len bytes at @bytes, aligned to 8, which such a table consists of: see
 * hl_symbols_bytes(). They stay the caller's and must outlive it. -EBADMSG: they are damaged.
 */
int hl_symbols_open(const void *bytes, size_t len, const struct hl_elf *elf, const struct hl_elf *debug,
		    struct hl_symbols **ret, struct hl_err *err);
void hl_symbols_free(struct hl_symbols *symbols);

/* All of the table, without pointers, for as long as it lives: to be kept, and opened again. */
const void *hl_symbols_bytes(const struct hl_symbols *symbols, size_t *ret_len);
/* From now on @debug is the debug file. */
void hl_symbols_set_debug(struct hl_symbols *symbols, const struct hl_elf *debug);

/* Named ranges, bytes of memory, and whether names are read from the file when they are asked for. */
size_t hl_symbols_count(const struct hl_symbols *symbols);
size_t hl_symbols_memory(const struct hl_symbols *symbols);
bool hl_symbols_need_file(const struct hl_symbols *symbols);
/* Sources that were there and were not used, being damaged or too large: HL_SYMBOLS_REFUSED_. */
unsigned int hl_symbols_refused(const struct hl_symbols *symbols);
#define HL_SYMBOLS_REFUSED_DEBUGDATA 1u /* .gnu_debugdata */
#define HL_SYMBOLS_REFUSED_FAR       2u /* functions more than 4 GiB behind the first */

struct hl_symbol {
	uint64_t start, size; /* of the whole function, ELF addresses */
	uint32_t name;        /* for hl_symbols_add_name(); equal numbers are equal names */
	bool named;
};

/* The function that covers ELF address @address. False if none is known to. */
bool hl_symbols_find(const struct hl_symbols *symbols, uint64_t address, struct hl_symbol *ret);

/* Names are raw bytes: anything but NUL. Longer ones are cut at this many bytes and end in "…". */
#define HL_SYMBOL_NAME_MAX 4096

/*
 * Appends name number @name, without a symbol version and demangled if it is mangled, to @out. Returns 0,
 * -ENOENT if the file no longer has it.
 */
int hl_symbols_add_name(const struct hl_symbols *symbols, uint32_t name, struct hl_str *out);

#endif
