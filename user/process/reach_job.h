/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_REACH_JOB_H
#define HL_PROCESS_REACH_JOB_H

#include <limits.h>
#include <stdint.h>
#include <sys/stat.h>

#include "process/remapped.h"
#include "sample/window.h"

/* What reach.c has its children do; private to it, reach_job.c and reach_child.c. Both sides are one program. */

enum hl_reach_op {
	HL_REACH_OPEN_LINK = 0,
	HL_REACH_OPEN_IN_ROOT = 1,
	HL_REACH_READ = 2, /* a file of /proc; comes as a copy */
	HL_REACH_REMAPPED = 3,
	HL_REACH_RANGE = 4,  /* of the file that comes instead of a folder: from event.start to event.end */
	HL_REACH_MEMORY = 5, /* the same of the memory of event.process; both come as a copy */
	HL_REACH_STAT_LINK = 6,
};

/* Passed with a descriptor of the folder that @path counts from. */
struct hl_reach_request {
	uint32_t op;
	uint32_t copy_max; /* bytes; of a file that has to be copied */
	uint32_t ms;       /* after which nobody waits any more */
	uint32_t reserved;
	struct hl_file_event event;
	char path[PATH_MAX];
};

/* Passed with a descriptor if `status` is 0, but for HL_REACH_REMAPPED and HL_REACH_STAT_LINK. */
struct hl_reach_reply {
	int32_t status;   /* 0 or -errno */
	uint32_t n;       /* of `remapped` */
	uint64_t dropped; /* likewise */
	uint64_t copied;  /* bytes, + 1; 0: it is the file itself */
	uint64_t cpu_ns;
	struct stat st;
	union {
		char link[PATH_MAX + 16];
		struct hl_remapped remapped[HL_REMAPPED_MAX];
	};
};

/* Does it, in this process. @ret_fd is -1 without a descriptor. */
void hl_reach_do(const struct hl_reach_request *request, int dir_fd, struct hl_reach_reply *ret, int *ret_fd);

/*
 * A request with the folder, or a reply with the file; without a descriptor @fd is -1. 0 or -errno: -EPIPE when
 * the other side has ended.
 */
int hl_reach_send(int socket, const void *message, size_t len, int fd);
int hl_reach_receive(int socket, void *message, size_t len, int *ret_fd);

/* The fork server: starts a child for each socket that it is sent over @socket, until that is closed. */
_Noreturn void hl_reach_serve(int socket);

#endif
