/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_STORED_CODE_H
#define HL_COMMAND_STORED_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "store/body.h"

struct hl_listing;
struct hl_profile;
struct hl_reading;
struct hl_symd;
struct hl_symd_listing;

/* The machine code that stores keep of functions: what ran, whatever became of its file. */
struct hl_stored_code;

/*
 * Reads it from the days of @reading, of the functions with frames @frames of @profile, and the names of all others
 * that have code. 0 or -errno. @symd stays the caller's, and lives longer. hl_stored_code_free() accepts NULL.
 */
int hl_stored_code_new(const struct hl_reading *reading, const struct hl_profile *profile,
		       const uint32_t *frames, size_t n, struct hl_symd *symd, struct hl_stored_code **ret,
		       struct hl_err *err);
void hl_stored_code_free(struct hl_stored_code *code);
HL_DEFINE_CLEANUP(struct hl_stored_code, hl_stored_code_free)

/* What the days have in all; and such a sum in words. */
const struct hl_body_sum *hl_stored_code_sum(const struct hl_stored_code *code);
void hl_body_sum_say(const struct hl_body_sum *sum, char *ret, size_t size);

/* The code of @function after @before, that of later times first; NULL: the first, and behind the last. */
const struct hl_body *hl_stored_code_next(const struct hl_stored_code *code, const struct hl_frame *function,
					  const struct hl_body *before);
/* Why there is none, or too little, of @function. Never NULL. */
const char *hl_stored_code_why(const struct hl_stored_code *code, const struct hl_frame *function);

/*
 * Lists @body, which was sampled at @sampled, @n ascending addresses in it. Where @file is not 0 it is the number by
 * which symd knows the file, in which the function starts at offset @offset: it has the names that the instructions
 * refer to. As hl_symd_list_function().
 */
int hl_stored_code_list(struct hl_stored_code *code, const struct hl_body *body, uint32_t file,
			uint64_t offset, uint64_t *sampled, size_t n, uint32_t flags,
			struct hl_symd_listing *ret, struct hl_err *err);
/*
 * Adds the names of the functions that jumps and calls lead to, where they have none, to @listing of @body of
 * @function. The texts live as long as @code. 0 or -ENOMEM.
 */
int hl_stored_code_name_targets(struct hl_stored_code *code, const struct hl_frame *function,
				const struct hl_body *body, struct hl_listing *listing);

#endif
