/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_TESTS_CODETEXT_H
#define HL_TESTS_CODETEXT_H

#include <stdint.h>

struct hl_code_map;

/* "NAME START+SIZE" of the generated code that covers @address, "-" if none does. Valid until the next call. */
const char *code_text(struct hl_code_map *map, uint64_t address);

#endif
