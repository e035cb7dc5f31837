// SPDX-License-Identifier: BSD-2-Clause
#include "command/id_list.h"

#include "base/mem.h"
#include <hotleaf/abi.h>

int hl_id_list_add(struct hl_id_list *list, uint32_t id)
{
	int code = hl_grow(&list->items, &list->cap, list->n + 1, sizeof(*list->items), HL_FILE_LIMIT);

	if (!code)
		list->items[list->n++] = id;
	return code;
}

void hl_id_list_remove(struct hl_id_list *list, uint32_t id)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++)
		if (list->items[i] != id)
			list->items[kept++] = list->items[i];
	list->n = kept;
}
