/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_OWNER_H
#define HL_STORE_OWNER_H

#include <stddef.h>
#include <stdint.h>

#include "base/label.h"

/* Whose samples a store holds. Strings may hold any bytes but NUL; NULL: it has none, or that is not known. */

/* Values reach disk: never renumbered. */
enum hl_owner_kind {
	HL_OWNER_PROCESS = 0,
	HL_OWNER_KTHREAD = 1, /* a thread of the kernel, named by `process` */
	HL_OWNER_IDLE = 2,    /* no process: the idle task */
};

struct hl_owner_container {
	const char *runtime, *id, *name; /* the id in full */
	const char *image, *pod, *namespace, *workload;
	const struct hl_label *labels;
	size_t n_labels;
};

struct hl_owner_cgroup {
	const char *path;                           /* as the host sees it; never NULL */
	const char *unit;                           /* of systemd */
	const struct hl_owner_container *container; /* NULL: it is of none */
};

struct hl_owner {
	uint8_t kind;        /* enum hl_owner_kind */
	uint32_t pid;        /* 0, as the next two: of several that are the same in all else */
	uint32_t exec_id;    /* grows with each execve of the process */
	uint64_t started_ns; /* since boot: tells processes of one pid apart */
	const char *process, *thread;
	const char *service;                  /* see hl_identity_names of the command */
	const char *exe;                      /* path, as the process sees it */
	const struct hl_owner_cgroup *cgroup; /* NULL: it was gone before it was seen, or none */
	/* Told by a reader; a writer takes them from the window's header. */
	const char *host, *event;
};

#endif
