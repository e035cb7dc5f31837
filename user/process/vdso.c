// SPDX-License-Identifier: BSD-2-Clause
#include "process/vdso.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

int hl_vdso_open(void)
{
	unsigned long start = getauxval(AT_SYSINFO_EHDR), from, to, end = 0;
	_cleanup_fclose_ FILE *maps = fopen("/proc/self/maps", "re");
	_cleanup_close_ int fd = -1;
	char line[512];

	while (start && maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &from, &to) == 2 && from == start)
			end = to;
	if (!end)
		return -ENOENT;
	fd = memfd_create("hotleaf-vdso", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, (const void *)(uintptr_t)start, end - start) != (ssize_t)(end - start))
		return -EIO;
	return TAKE_FD(fd);
}
