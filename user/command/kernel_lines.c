// SPDX-License-Identifier: BSD-2-Clause
#include "command/kernel_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "command/lines.h"
#include "process/debuginfod.h"
#include "process/kernel.h"
#include "symd/client.h"
#include "symd/client_cached.h"

/* The kernel has half a gigabyte of it; there are no more places than these. */
enum { KERNEL_MS = 30000, MAX_PLACES = 16 };

struct kernel {
	struct hl_symd *symd;
	struct hl_cache *cache;
	uint8_t id[HL_KERNEL_BUILD_ID_MAX];
	size_t id_len;
	uint64_t memory;
	struct hl_lines_counts *counts;
};

static void refuse(const struct kernel *k, const char *why)
{
	hl_debug("symbol", "lines of the kernel: %s", why);
	if (!k->counts->refused++)
		(void)snprintf(k->counts->refusal, sizeof(k->counts->refusal), "the kernel's: %.180s", why);
}

/* Reads the file at @fd, if it is this kernel's. False: it is another's, and nothing is left of it. */
static bool try_file(const struct kernel *k, int fd)
{
	const struct hl_symd_lines_limits limits = { .memory = k->memory, .time_ms = KERNEL_MS };
	struct hl_symd_lines lines = { 0 };
	struct hl_symd_file about;
	struct hl_err err = { "" };
	int code = hl_symd_add_file_cached(k->symd, k->cache, HL_SYMD_KERNEL_FILE, fd, &about, &err);

	if (code || about.build_id_len != k->id_len || memcmp(about.build_id, k->id, k->id_len) != 0) {
		hl_debug("symbol", "a file of the kernel: %s", code ? err.text : "it is of another build");
		return false;
	}
	code = hl_symd_lines_cached(k->symd, k->cache, HL_SYMD_KERNEL_FILE, fd, -1, &limits, &lines, &err);
	if (code == -ENODATA)
		return false;
	if (code) {
		refuse(k, err.text);
		return true;
	}
	k->counts->read++;
	k->counts->damaged += lines.damaged_units + lines.deep_functions;
	return true;
}

void hl_kernel_lines_read(struct hl_symd *symd, struct hl_cache *cache, struct hl_reach *reach,
			  uint64_t memory, uint32_t fetch_ms, struct hl_lines_counts *counts)
{
	struct kernel k = { .symd = symd, .cache = cache, .memory = memory, .counts = counts };
	_cleanup_close_ int sys = open("/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct hl_err err = { "" };
	struct utsname uts;
	bool done = false;

	k.id_len = sys < 0 ? 0 : hl_kernel_build_id(sys, k.id);
	for (unsigned int skip = 0; !done && k.id_len && root >= 0 && uname(&uts) == 0 && skip < MAX_PLACES;
	     skip++) {
		_cleanup_close_ int fd = hl_kernel_debug_open(reach, root, uts.release, k.id, k.id_len, skip);

		if (fd < 0)
			break;
		done = try_file(&k, fd);
	}
	if (!done && k.id_len && fetch_ms) {
		_cleanup_close_ int fd = hl_debuginfod_fetch(k.id, k.id_len, fetch_ms, &err);

		done = fd >= 0 && try_file(&k, fd);
	}
	if (!done) {
		hl_symd_drop_file(symd, HL_SYMD_KERNEL_FILE);
		counts->kernel_without = true;
	}
}
