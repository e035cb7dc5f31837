/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_UNWIND_ROWS_H
#define HL_UNWIND_ROWS_H

/* Writes the rows, pages and rules of a table; private to this folder. */

#include <stddef.h>
#include <stdint.h>

#include <hotleaf/unwind.h>

#define HL_ROWS_MAX  (16u << 20)
/*
 * Distinct rules of one file, enough for a file that needs more than all 3,600 of a whole host (5,583); what
 * is beyond becomes HL_CFA_UNSUPPORTED. One file cannot fill the dictionary that all share in the kernel.
 */
#define HL_RULES_MAX 8192u

/* Rule ids that every table has. */
enum { HL_RULE_NONE = 0, HL_RULE_UNSUPPORTED = 1 };

/* Offsets are relative to the first page and ascend. Zero-initialised, then hl_rows_init(). */
struct hl_rows {
	uint32_t *rows;
	size_t n_rows, cap_rows;
	struct hl_unwind_page *pages;
	uint32_t n_pages;
	struct hl_unwind_rule *rules;
	size_t n_rules, cap_rules;
	uint16_t *slots; /* of a hash table: rule id plus one, 0: free */
	uint32_t page;   /* that the last row is in */
	uint32_t rule;   /* of the last row */
};

/* 0 or -ENOMEM. */
int hl_rows_init(struct hl_rows *rows, uint32_t n_pages);
void hl_rows_done(struct hl_rows *rows);

/* The id of @rule, HL_RULE_UNSUPPORTED if there are too many; or -ENOMEM. */
int hl_rows_rule(struct hl_rows *rows, const struct hl_unwind_rule *rule);

/* Code begins at @offset, for now without a rule. 0, -ENOMEM, -E2BIG; so the two below. */
int hl_rows_begin(struct hl_rows *rows, uint32_t offset);
/* From @offset on, @rule holds. */
int hl_rows_put(struct hl_rows *rows, uint32_t offset, uint32_t rule);
/* Code ends before @end. */
int hl_rows_end(struct hl_rows *rows, uint32_t end);

/* The table, with its first page and count of what is unsupported; to be released with free(). */
int hl_rows_bytes(const struct hl_rows *rows, uint32_t first_page, uint32_t unsupported, uint8_t **ret,
		  size_t *ret_len);

#endif
