/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_DEBUGINFOD_H
#define HL_PROCESS_DEBUGINFOD_H

#include <stddef.h>
#include <stdint.h>

struct hl_err;

/*
 * Debug files by build-id from debuginfod servers, those of DEBUGINFOD_URLS: fetched by elfutils' client
 * program debuginfod-find, which a child of this program runs as nobody, without capabilities, in a pid
 * namespace of its own that ends with it. What it fetches is copied to a file that is the caller's alone.
 */

enum { HL_DEBUGINFOD_MB = 300 }; /* no larger file is fetched */

/* Where the client program keeps what it fetched, if the child may write there; else nothing is kept. */
#define HL_DEBUGINFOD_CACHE "/var/cache/hotleaf/debuginfod"

/* Makes that directory, nobody's, while there is the right to do so. Without it fetching works as well. */
void hl_debuginfod_prepare(void);

/*
 * The debug file of a build-id: a readable descriptor of a regular file without a name, the caller's. Or:
 * -EDESTADDRREQ: DEBUGINFOD_URLS is not set; -ENOSYS: debuginfod-find is not installed; -ENOENT: no server
 * knows the build-id; -EFBIG: too large; -ETIMEDOUT: not done in @timeout_ms, and killed; -EPERM: the child cannot
 * lose its rights; -EIO: a server or the client program failed; else as fork(2) and open(2).
 */
int hl_debuginfod_fetch(const uint8_t *build_id, size_t len, uint32_t timeout_ms, struct hl_err *err);

/* ---- the child's side --------------------------------------------------------------------------------- */

/* Its exit status; the file to fill is its HL_SPAWN_FD. */
enum {
	HL_DEBUGINFOD_DONE = 0,
	HL_DEBUGINFOD_NO_PROGRAM = 10,
	HL_DEBUGINFOD_UNKNOWN = 11,
	HL_DEBUGINFOD_TOO_LARGE = 12,
	HL_DEBUGINFOD_FAILED = 13,
	HL_DEBUGINFOD_HAS_RIGHTS = 14,
};
/* Locks itself in, fetches, and exits. @build_id in hexadecimal. */
_Noreturn void hl_debuginfod_child_run(const char *build_id);

#endif
