// SPDX-License-Identifier: BSD-2-Clause
#include "symd/files.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "symbol/symbol.h"
#include "symd/identity.h"
#include "symd/number.h"
#include "unwind/unwind.h"

enum { MAX_FILES = 1 << 20, MAX_OPEN = 512 };

void hl_symd_known_drop_symbols(struct hl_symd_known *known)
{
	hl_symbols_free(known->symbols);
	known->symbols = NULL;
	if (known->map)
		(void)munmap(known->map, known->map_len);
	known->map = NULL;
}

static void known_free(struct hl_symd_known *known)
{
	if (!known)
		return;
	hl_symd_known_drop_symbols(known);
	hl_elf_free(known->elf);
	hl_elf_free(known->debug);
	hl_elf_free(known->alt);
	for (size_t i = 0; i < known->n_dwos; i++)
		hl_elf_free(known->dwos[i]);
	free(known->dwos);
	free(known->lines);
	free(known);
}
HL_DEFINE_CLEANUP(struct hl_symd_known, known_free)
HL_DEFINE_CLEANUP(struct hl_elf, hl_elf_free)

void hl_symd_files_done(struct hl_symd_files *files)
{
	size_t i;

	for (i = 0; i < files->n; i++)
		known_free(files->items[i]);
	free(files->items);
	*files = (struct hl_symd_files){ 0 };
}

static size_t count_open(const struct hl_symd_known *known)
{
	return !hl_elf_is_suspended(known->elf) + (known->debug && !hl_elf_is_suspended(known->debug));
}

/* Takes the descriptors of one file: of one whose names are all in memory if there is such, else of any. */
static void suspend_one(struct hl_symd_files *files)
{
	struct hl_symd_known *best = NULL, *known;
	bool best_needs = true, needs;
	size_t i;

	for (i = 0; i < files->n; i++) {
		known = files->items[i];
		if (!known || count_open(known) == 0)
			continue;
		needs = known->symbols && hl_symbols_need_file(known->symbols);
		if (!best || needs < best_needs || (needs == best_needs && known->used < best->used)) {
			best = known;
			best_needs = needs;
		}
	}
	if (!best)
		return;
	files->n_open -= count_open(best);
	hl_elf_suspend(best->elf);
	if (best->debug)
		hl_elf_suspend(best->debug);
}

static void make_room(struct hl_symd_files *files, size_t more)
{
	while (files->n_open && files->n_open + more > MAX_OPEN)
		suspend_one(files);
}

struct hl_symd_known *hl_symd_files_get(struct hl_symd_files *files, uint32_t number)
{
	struct hl_symd_known *known = number < files->n ? files->items[number] : NULL;

	if (known)
		known->used = files->now;
	return known;
}

static bool is_our_machine(const struct hl_elf *elf)
{
	uint16_t machine = hl_elf_machine(elf);

	return machine == EM_X86_64 || (machine == EM_386 && !hl_elf_is_64(elf));
}

static int make_slot(struct hl_symd_files *files, uint32_t number)
{
	int r = hl_grow(&files->items, &files->cap, (size_t)number + 1, sizeof(*files->items), MAX_FILES);

	while (r == 0 && files->n <= number)
		files->items[files->n++] = NULL;
	return r;
}

/* A file with the number, not yet in its slot, and without names. */
static int open_known(struct hl_symd_files *files, uint32_t number, int fd, struct hl_symd_known **ret,
		      struct hl_err *err)
{
	_cleanup_(known_freep) struct hl_symd_known *known = calloc(1, sizeof(*known));
	char name[32];
	int r;

	(void)snprintf(name, sizeof(name), "%s", HL_FILE_CALLED(number));
	if (!known || make_slot(files, number) < 0)
		return hl_err_set(err, -ENOMEM, "no room for '%s'", name);
	make_room(files, 1);
	r = hl_elf_open_unread(fd, name, &known->elf, err);
	if (known->elf)
		*ret = TAKE_PTR(known);
	return r;
}

static void put_known(struct hl_symd_files *files, uint32_t number, struct hl_symd_known *known)
{
	hl_symd_files_drop(files, number);
	known->used = files->now;
	files->n_open++;
	files->items[number] = known;
}

int hl_symd_files_add(struct hl_symd_files *files, uint32_t number, int fd, struct hl_symd_known **ret,
		      struct hl_err *err)
{
	_cleanup_(known_freep) struct hl_symd_known *known = NULL;
	int r = open_known(files, number, fd, &known, err);

	if (!known)
		return r;
	r = hl_elf_need_headers(known->elf, err);
	if (r < 0)
		return r;
	if (!is_our_machine(known->elf))
		return hl_err_set(err, -ENOEXEC, "'%s' is for machine %u, not for this one",
				  HL_FILE_CALLED(number), hl_elf_machine(known->elf));
	r = hl_symbols_new_with(known->elf, NULL, hl_unwind_functions, &known->symbols, err);
	if (r < 0)
		return r;
	*ret = known;
	put_known(files, number, TAKE_PTR(known));
	return 0;
}

int hl_symd_known_read(struct hl_symd_known *known, struct hl_err *err)
{
	int r = hl_elf_need_headers(known->elf, err);

	return r < 0 || !known->debug ? r : hl_elf_need_headers(known->debug, err);
}

static int open_debug(const struct hl_symd_files *files, uint32_t number, int fd,
		      const struct hl_symd_known *known, struct hl_elf **ret, struct hl_err *err)
{
	if (!known)
		return hl_err_set(err, -ENOENT, "'%s' is not known", HL_FILE_CALLED(number));
	return hl_elf_open_unread(fd, "debug file", ret, err);
}

/* Replaces the debug file of @known, and what was made with the one before. */
static void put_debug(struct hl_symd_files *files, struct hl_symd_known *known, struct hl_elf *debug)
{
	files->n_open += known->debug ? 1 - !hl_elf_is_suspended(known->debug) : 1;
	hl_elf_free(known->debug);
	known->debug = debug;
	free(known->lines);
	known->lines = NULL;
	make_room(files, 0);
}

int hl_symd_files_add_debug(struct hl_symd_files *files, uint32_t number, int fd, struct hl_err *err)
{
	struct hl_symd_known *known = hl_symd_files_get(files, number);
	_cleanup_(hl_elf_freep) struct hl_elf *debug = NULL;
	struct hl_symbols *symbols = NULL;
	int r = open_debug(files, number, fd, known, &debug, err);

	if (r < 0)
		return r;
	if (hl_elf_is_suspended(known->elf))
		return hl_err_set(err, -EBADF, "'%s' is no longer open", HL_FILE_CALLED(number));
	r = hl_elf_need_headers(debug, err);
	if (r == 0)
		r = hl_elf_need_headers(known->elf, err);
	if (r == 0)
		r = hl_symd_match_debug(known->elf, debug, err);
	/* One that was cut off or stripped says nothing, and must not stand in the way of one that does. */
	if (r == 0 && !hl_elf_section_typed(debug, SHT_SYMTAB) && !hl_elf_section_named(debug, ".debug_info"))
		r = hl_err_set(err, -ENOEXEC, "it has no symbols");
	if (r == 0)
		r = hl_symbols_new_with(known->elf, debug, hl_unwind_functions, &symbols, err);
	if (r < 0)
		return r;
	hl_symd_known_drop_symbols(known);
	known->symbols = symbols;
	put_debug(files, known, TAKE_PTR(debug));
	return 0;
}

int hl_symd_files_add_unread(struct hl_symd_files *files, uint32_t number, int fd, bool is_debug,
			     struct hl_err *err)
{
	struct hl_symd_known *known = is_debug ? hl_symd_files_get(files, number) : NULL;
	struct hl_elf *debug = NULL;
	int r = is_debug ? open_debug(files, number, fd, known, &debug, err)
			 : open_known(files, number, fd, &known, err);

	if (r < 0 || !known)
		return r;
	if (!is_debug) {
		put_known(files, number, known);
		return 0;
	}
	/* Names that are read from the debug file are read from this one. */
	if (known->symbols)
		hl_symbols_set_debug(known->symbols, debug);
	put_debug(files, known, debug);
	return 0;
}

void hl_symd_files_drop_pending(struct hl_symd_files *files, struct hl_symd_known *known)
{
	files->n_pending -= (known->alt != NULL) + known->n_dwos;
	hl_elf_free(known->alt);
	known->alt = NULL;
	while (known->n_dwos)
		hl_elf_free(known->dwos[--known->n_dwos]);
	free(known->dwos);
	known->dwos = NULL;
	known->cap_dwos = 0;
}

void hl_symd_files_drop(struct hl_symd_files *files, uint32_t number)
{
	if (number >= files->n || !files->items[number])
		return;
	files->n_open -= count_open(files->items[number]);
	hl_symd_files_drop_pending(files, files->items[number]);
	known_free(files->items[number]);
	files->items[number] = NULL;
}
