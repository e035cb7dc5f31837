/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_LISTING_ROWS_H
#define HL_COMMAND_LISTING_ROWS_H

#include <stdbool.h>
#include <stdint.h>

struct hl_frame;
struct hl_listing;
struct hl_listing_row;
struct hl_symd_listing;

/* Rows of listings: instructions as symd decodes them, and as they were sampled. */

/*
 * The rows of what symd listed; their texts are those of @code. 0 or -ENOMEM. `rows` is released with free().
 */
int hl_listing_from_symd(const struct hl_symd_listing *code, struct hl_listing *ret);

/* Whether the instruction that was sampled as @ran is the row's, as far as is known. */
bool hl_listing_row_ran(const struct hl_listing_row *row, const struct hl_frame *ran);
/* Adds samples of @ran to the row. Its text is what ran, whatever the file has. */
void hl_listing_row_add(struct hl_listing_row *row, const struct hl_frame *ran, uint64_t samples);

#endif
