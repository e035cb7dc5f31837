// SPDX-License-Identifier: BSD-2-Clause
#include "fuzzing.h"

#include <sys/mman.h>
#include <unistd.h>

int fuzz_file(const uint8_t *data, size_t size)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	MUST(fd >= 0);
	MUST(write(fd, data, size) == (ssize_t)size);
	return fd;
}
