// SPDX-License-Identifier: BSD-2-Clause
#include "command/host_name.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "cli/cli.h"

void hl_host_name(const char *given, char ret[HL_HOST_NAME_SIZE])
{
	struct utsname uts = { .nodename = "" };

	(void)uname(&uts);
	(void)snprintf(ret, HL_HOST_NAME_SIZE, "%s", given ? given : uts.nodename);
}

int hl_host_name_check(const char *given, struct hl_err *err)
{
	if (!given)
		return 0;
	if (!given[0] || strlen(given) >= HL_HOST_NAME_SIZE)
		return hl_usage(err, "option \"--host\" must be a name of 1 to %d bytes",
				HL_HOST_NAME_SIZE - 1);
	for (const char *c = given; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == '/' || *c == 0x7f)
			return hl_usage(err, "option \"--host\" must be a name, without blanks and '/'");
	return 0;
}
