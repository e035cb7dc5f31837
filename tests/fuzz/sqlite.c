// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample process tests/fuzzing */
/* A database of podman's, and behind its length, which comes first, the log beside it. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzzing.h"
#include "process/sqlite.h"

enum { LIMIT = 1 << 20 };

static void put(int root, const char *name, const uint8_t *data, size_t size)
{
	int fd = openat(root, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	(void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int root = -1;
	char folder[] = "/tmp/hl-fuzz-XXXXXX", *value = NULL;
	size_t len = 0, split;
	int code;

	if (root < 0) {
		MUST(mkdtemp(folder));
		root = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (size < 2)
		return 0;
	split = data[0] | (size_t)data[1] << 8;
	split = split > size - 2 ? size - 2 : split;
	put(root, "db", data + 2, split);
	put(root, "db-wal", data + 2 + split, size - 2 - split);
	code = hl_sqlite_get(NULL, root, "db", "SELECT JSON FROM ContainerConfig WHERE ID = ?", "aa", LIMIT,
			     &value, &len);
	MUST((code == 0) == (value != NULL));
	MUST(!value || (len <= LIMIT && value[len] == '\0'));
	free(value);
	return 0;
}
