/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_ID_LIST_H
#define HL_COMMAND_ID_LIST_H

#include <stddef.h>
#include <stdint.h>

/* A list of file ids. Zero-initialised is empty; items are released with free(). */
struct hl_id_list {
	uint32_t *items;
	size_t n, cap;
};

/* Appends @id. 0 or -errno. */
int hl_id_list_add(struct hl_id_list *list, uint32_t id);
/* Takes out all that are @id; the others keep their order. */
void hl_id_list_remove(struct hl_id_list *list, uint32_t id);

#endif
