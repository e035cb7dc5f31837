// SPDX-License-Identifier: BSD-2-Clause
#include "command/kernel_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "symd/client.h"

#define INTERVAL_NS UINT64_C(5000000000)

bool hl_kernel_names_read(struct hl_kernel_names *names, struct hl_symd *symd, uint64_t now_ns)
{
	_cleanup_close_ int fd = -1;
	struct hl_err err = { "" };

	if (names->read_ns && now_ns - names->read_ns < INTERVAL_NS)
		return false;
	fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	names->read_ns = now_ns;
	names->error = fd < 0 ? hl_err_errno(&err, -errno, "cannot open '/proc/kallsyms'")
			      : hl_symd_add_kallsyms(symd, fd, &err);
	(void)snprintf(names->why, sizeof(names->why), "%.239s", names->error ? err.text : "");
	if (names->error)
		hl_log_once(HL_LOG_DEBUG, "symbol", "%s", err.text);
	return true;
}
