/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_LISTINGS_H
#define HL_COMMAND_LISTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct hl_cache;
struct hl_hot;
struct hl_listing;
struct hl_living_code;
struct hl_profile;
struct hl_stored_code;
struct hl_symd;

/* Code to a function's samples: from the file that they were taken in, or what the samples brought along. */
struct hl_listings;

/*
 * @opened: the files of @profile are known to @symd already, as hl_binary.number; else they are opened by their
 * paths when they are needed, and used only if their build-id is the sampled file's. @flags:
 * HL_SYMD_INTEL, HL_SYMD_WANT_LINES. @living: code in no file, NULL if there is none. @cache: of what was made of
 * files that are opened, or NULL. All stay the caller's. NULL without memory. hl_listings_free() accepts NULL.
 */
struct hl_listings *hl_listings_new(const struct hl_profile *profile, struct hl_symd *symd,
				    struct hl_cache *cache, bool opened, const struct hl_living_code *living,
				    uint32_t flags);
void hl_listings_free(struct hl_listings *listings);

/* Code that a store kept comes first: it is what ran, where a file only bears its name. Stays the caller's. */
void hl_listings_use_stored(struct hl_listings *listings, struct hl_stored_code *stored);

/*
 * The code of @hot's function: one listing, or several where its samples lie in several places. They live until
 * the next call. 0 or -ENOMEM.
 */
int hl_listings_get(struct hl_listings *listings, const struct hl_hot *hot, const struct hl_listing **ret,
		    size_t *ret_n, struct hl_err *err);

/* Whether the function at the code of @hot covers ELF address @address, by the sizes in its listings. */
bool hl_listings_cover(const struct hl_listing *parts, size_t n, uint64_t address);

#endif
