/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMD_CLIENT_ANSWERS_H
#define HL_SYMD_CLIENT_ANSWERS_H

/* What a client takes from a server that may be in hostile hands; private to this folder. */

#include <stdbool.h>
#include <stddef.h>

struct hl_err;
struct hl_str;
struct hl_symd_answers;

/*
 * Appends the @n answers that @payload holds to @ret, which has room for them; @brief: it was asked with
 * HL_SYMD_BRIEF. 0, -ENOMEM, or -EPROTO if it makes no sense: nothing is added then.
 */
int hl_symd_take_answers(const struct hl_str *payload, size_t n, bool brief, struct hl_symd_answers *ret,
			 struct hl_err *err);

#endif
