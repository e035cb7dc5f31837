/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_CONTAINER_H
#define HL_PROCESS_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/label.h"
#include "base/mem.h"

struct hl_cgroup_place;
struct hl_err;
struct hl_reach;

/*
 * A container, with what its runtime left on disk about it. Strings are NULL where nothing is known, and may
 * hold any bytes: whoever may start containers chooses them. They are cut at lengths that the field's own
 * rules allow; a label beyond the limits is left out and counted.
 */
struct hl_container {
	const char
		*runtime; /* as in struct hl_cgroup_place, but "kubernetes" only if nothing more is known */
	const char *id;   /* in full */
	const char *name; /* else the first twelve digits of the id; never NULL */
	const char *image;
	const char *pod, *pod_uid, *namespace;
	const char *workload; /* that the pod belongs to: its name without what is drawn by lot */
	const char *service;  /* NAMESPACE/WORKLOAD/CONTAINER, or PROJECT/SERVICE of compose */
	struct hl_label *labels;
	size_t n_labels, cap_labels, label_bytes;
	uint32_t labels_dropped;
	bool described; /* a file of its runtime was read, or its answer */
	struct hl_arena strings;
	uint32_t n_shared; /* others that are to free it as well */
};

/*
 * The container that @place tells of, with what is found below @root_fd, a descriptor of the host's "/":
 * configuration files that only root writes. No socket is asked. A container in a tree that users own
 * has its id only, since it may call itself after another. 0; -ENOMEM; or, if a file is there and could not
 * be used, another -errno with a sentence: *@ret is set then too, to what the path alone tells.
 */
int hl_container_read(struct hl_reach *reach, int root_fd, const struct hl_cgroup_place *place,
		      struct hl_container **ret, struct hl_err *err);
/*
 * The same by what a runtime answered, the @len bytes at @text, as Docker's engine does for
 * "GET /containers/ID/json". 0; -ENOMEM; -EBADMSG with a sentence, and no container: it cannot be used.
 */
int hl_container_read_answer(int root_fd, const struct hl_cgroup_place *place, const char *text, size_t len,
			     struct hl_container **ret, struct hl_err *err);
/* Frees it, if all who share it have. Accepts NULL. */
void hl_container_free(struct hl_container *container);
/* @container, which is to be freed once more from now on. Who shares one does this and that under one lock. */
struct hl_container *hl_container_share(struct hl_container *container);
HL_DEFINE_CLEANUP(struct hl_container, hl_container_free)

/* The value of label @key; NULL without one. */
const char *hl_container_label(const struct hl_container *container, const char *key);

/*
 * Length of the part of pod name @pod that its workload gave it, by the ways in which Kubernetes names pods:
 * Deployment NAME-HASH-XXXXX, ReplicaSet, DaemonSet and Job NAME-XXXXX, CronJob NAME-MINUTES-XXXXX,
 * StatefulSet NAME-NUMBER.
 */
size_t hl_workload_len(const char *pod);

#endif
