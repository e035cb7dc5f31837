// SPDX-License-Identifier: BSD-2-Clause
#include "shell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "harness.h"

void shell_format(char *text, size_t size, const char *fmt, va_list ap)
{
	int n = vsnprintf(text, size, fmt, ap);

	if (n < 0 || (size_t)n >= size)
		FAIL("a command of the test is too long");
}

int shell_status(int wait_status)
{
	return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

int shell(const char *fmt, ...)
{
	char command[4096];
	va_list ap;

	va_start(ap, fmt);
	shell_format(command, sizeof(command), fmt, ap);
	va_end(ap);
	return shell_status(system(command));
}

void must(const char *fmt, ...)
{
	char command[4096];
	va_list ap;
	int status;

	va_start(ap, fmt);
	shell_format(command, sizeof(command), fmt, ap);
	va_end(ap);
	status = shell_status(system(command));
	if (status)
		FAIL("status %d of: %s", status, command);
}

const char *output_of(int *ret_status, const char *fmt, ...)
{
	static char text[1 << 20];
	char command[4096];
	size_t n = 0, got;
	va_list ap;
	int status;
	FILE *f;

	va_start(ap, fmt);
	shell_format(command, sizeof(command) - 16, fmt, ap);
	va_end(ap);
	strcat(command, " 2>&1");
	f = popen(command, "r");
	CHECK(f);
	while ((got = fread(text + n, 1, sizeof(text) - 1 - n, f)) > 0)
		n += got;
	text[n] = '\0';
	status = shell_status(pclose(f));
	if (ret_status)
		*ret_status = status;
	return text;
}
