// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample process tests/fuzzing tests/boltwriter */
/* A database of podman's: two sound metas, and pages that are what the input says. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "boltwriter.h"
#include "fuzzing.h"
#include "process/bolt.h"

enum { PAGES = 8, LIMIT = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const keys[] = { "ctr", "aa", "config" };
	static int fd = -1;
	uint8_t file[PAGES * BOLT_PAGE] = { 0 };
	char *value = NULL;
	size_t len = 0;
	int code;

	if (fd < 0)
		fd = memfd_create("bolt", MFD_CLOEXEC);
	bolt_meta(file, 0, 2, 1);
	bolt_meta(file, 1, 3, 0);
	if (size > sizeof(file) - 2 * BOLT_PAGE)
		size = sizeof(file) - 2 * BOLT_PAGE;
	memcpy(file + 2 * BOLT_PAGE, data, size);
	MUST(fd >= 0 && pwrite(fd, file, sizeof(file), 0) == sizeof(file));
	code = hl_bolt_get(fd, keys, 3, LIMIT, &value, &len);
	MUST((code == 0) == (value != NULL));
	MUST(!value || (len <= LIMIT && value[len] == '\0'));
	free(value);
	return 0;
}
