/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_CGROUP_PATH_H
#define HL_PROCESS_CGROUP_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* A part of a path; @at is NULL where there is none. */
struct hl_span {
	const char *at;
	size_t len;
};

/* What the path of a cgroup tells. Spans are of that path. */
struct hl_cgroup_place {
	/*
	 * Static: docker, podman, cri-o, containerd, kubernetes (which runtime its kubelet uses the path does not
	 * tell), lxc, nspawn, libvirt, runc, crun, buildkit, garden, mesos. NULL: in no container.
	 */
	const char *runtime;
	struct hl_span id;     /* of the container, or its name where the runtime spells that */
	struct hl_span parent; /* the component before: of containerd its namespace */
	struct hl_span pod;    /* uid of the pod; in the paths of systemd '_' stands for its '-' */
	const char *qos;       /* of the pod, static: guaranteed, burstable, besteffort */
	struct hl_span unit;   /* systemd's service or scope */
	bool delegated;        /* in a tree that a user owns, who can give any names there */
};

/*
 * Reads @path, as in /proc/PID/cgroup. The outermost match counts, since what is below a container it can
 * name itself, after other containers too.
 */
void hl_cgroup_parse(const char *path, struct hl_cgroup_place *ret);

#endif
