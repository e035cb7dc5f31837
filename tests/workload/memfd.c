// SPDX-License-Identifier: BSD-2-Clause
/* memfd PROGRAM NAME [ARGUMENT…]: runs a copy of PROGRAM from memory, in a memfd called NAME. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int from = argc > 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	int to = from < 0 ? -1 : memfd_create(argv[2], MFD_CLOEXEC);
	struct stat st;
	off_t at = 0;

	if (to < 0 || fstat(from, &st))
		return 1;
	while (at < st.st_size)
		if (sendfile(to, from, &at, (size_t)(st.st_size - at)) <= 0)
			return 1;
	(void)fexecve(to, argv + 2, environ);
	perror("fexecve");
	return 1;
}
