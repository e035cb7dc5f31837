/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_DAY_COPY_H
#define HL_STORE_DAY_COPY_H

#include <stdint.h>

#include "base/err.h"

struct day_reader;
struct hl_ids;

/*
 * Rows of one day on their way into another, which gives them other numbers. Each is read, checked and inserted
 * once, when it is first asked for; what nobody asks for stays behind.
 */
struct day_copy;

/* From @from to the day whose rows @ids numbers. 0 or -errno. Both stay the caller's. */
int day_copy_new(struct day_reader *from, struct hl_ids *ids, struct day_copy **ret, struct hl_err *err);
void day_copy_free(struct day_copy *copy);

/* The new number of row @number. 0; -EBADMSG: there is none, or it is damaged; or -errno. */
int day_copy_source(struct day_copy *copy, uint32_t number, uint32_t *ret, struct hl_err *err);
int day_copy_reason(struct day_copy *copy, uint32_t number, uint32_t *ret, struct hl_err *err);
int day_copy_note(struct day_copy *copy, uint32_t number, uint32_t *ret, struct hl_err *err);
int day_copy_thread(struct day_copy *copy, uint32_t number, uint32_t *ret, struct hl_err *err);
/* The new number of a frame if a stack that was copied holds it; else 0. */
uint32_t day_copy_is_frame_copied(const struct day_copy *copy, uint32_t number);
int day_copy_node(struct day_copy *copy, uint32_t number, uint32_t *ret, struct hl_err *err);

#endif
