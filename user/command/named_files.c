// SPDX-License-Identifier: BSD-2-Clause
#include "command/named_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/mem.h"
#include <hotleaf/abi.h>

enum { CODE_LIMIT = 1 << 16 };

int hl_named_files_reach(struct hl_named_files *named, uint32_t number)
{
	if (hl_grow(&named->items, &named->cap, (size_t)number + 1, sizeof(*named->items), HL_FILE_LIMIT))
		return -ENOMEM;
	while (named->n <= number)
		named->items[named->n++] = (struct hl_named_file){ 0 };
	return 0;
}

bool hl_named_files_code_changed(struct hl_named_files *named, size_t number, int fd)
{
	struct hl_named_code *code;
	struct statx st;
	bool same;

	/* What is known here: a server that is gone is not asked. */
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_SIZE | STATX_MTIME, &st) ||
	    hl_grow(&named->code, &named->cap_code, number + 1, sizeof(*code), CODE_LIMIT))
		return true;
	while (named->n_code <= number)
		named->code[named->n_code++] = (struct hl_named_code){ .size = -1 };
	code = &named->code[number];
	same = code->size == (int64_t)st.stx_size && code->mtime.tv_sec == st.stx_mtime.tv_sec &&
	       code->mtime.tv_nsec == st.stx_mtime.tv_nsec;
	*code = (struct hl_named_code){ .size = (int64_t)st.stx_size,
					.mtime = { st.stx_mtime.tv_sec, st.stx_mtime.tv_nsec } };
	return !same;
}

void hl_named_files_done(struct hl_named_files *named)
{
	free(named->items);
	free(named->code);
	*named = (struct hl_named_files){ 0 };
}
