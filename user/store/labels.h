/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_LABELS_H
#define HL_STORE_LABELS_H

#include <stddef.h>

#include "base/label.h"

struct hl_arena;
struct hl_str;

/*
 * Labels as a store holds them: an object of JSON (RFC 8259) whose values are strings, so that the sqlite3 shell
 * finds them, labels ->> '$.app'. Bytes that are no UTF-8 stay as they are, and come back.
 */
void hl_labels_encode(const struct hl_label *labels, size_t n, struct hl_str *out);

/* The labels that @text holds, of @arena. 0; -EBADMSG if it is not what is written above; -ENOMEM. */
int hl_labels_decode(const char *text, size_t len, struct hl_arena *arena, const struct hl_label **ret,
		     size_t *ret_n);

#endif
