/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_TESTS_TABLETEXT_H
#define HL_TESTS_TABLETEXT_H

#include <stddef.h>
#include <stdint.h>

struct hl_elf;
struct hl_unwind_result;

/*
 * What a table says of @size bytes from offset @start on, as text: where the rule changes, relative to @start
 * in hexadecimal, and the rule. "0 rsp+8; 1 rsp+16 fp=cfa-16". Valid until the next call.
 */
const char *table_text(const struct hl_unwind_result *table, uint64_t start, uint64_t size);

/* The table of @elf, which must be whole. Fails the test. */
struct hl_unwind_result table_of(const struct hl_elf *elf);

#endif
