/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_IDENTITY_H
#define HL_COMMAND_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample/window.h"

struct hl_cgroup;
struct hl_cgroups;
struct hl_exes;
struct hl_files;
struct hl_label;
struct hl_owner;

/* Whose a sample is, in every respect in which it may be asked for. Values are not stored: numbers may change. */
enum hl_identity_key {
	HL_BY_SERVICE, /* the first that is known: of Kubernetes, of compose, systemd's unit, the executable */
	HL_BY_HOST,
	HL_BY_CONTAINER, /* its name, else the beginning of its id */
	HL_BY_IMAGE,
	HL_BY_RUNTIME,
	HL_BY_POD,
	HL_BY_NAMESPACE, /* of Kubernetes */
	HL_BY_WORKLOAD,
	HL_BY_CGROUP, /* path */
	HL_BY_UNIT,
	HL_BY_EXE, /* path, as the process sees it */
	HL_BY_PROCESS,
	HL_BY_PID,
	HL_BY_THREAD,
	HL_BY_EVENT,
	HL_BY_KEYS,
};
/* By value, as options spell them. */
extern const char *const hl_identity_names[HL_BY_KEYS];

enum hl_identity_kind {
	HL_IDENTITY_PROCESS,
	HL_IDENTITY_KTHREAD,
	HL_IDENTITY_IDLE,
};

struct hl_identity {
	uint8_t kind;        /* enum hl_identity_kind */
	bool cgroup_unknown; /* it was gone before it was seen: what follows from it is not known */
	const char *
		value[HL_BY_KEYS]; /* any bytes; NULL: it is in none, or that is not known; may point below */
	const struct hl_cgroup *cgroup; /* NULL: not known, or read from a store */
	const struct hl_label *labels;  /* of its container */
	size_t n_labels;
	char process[HL_COMM_LEN + 1], thread[HL_COMM_LEN + 1], pid[12];
};

/* Where identities of samples come from; all borrowed. */
struct hl_identities {
	const struct hl_window *window;
	const struct hl_files *files;
	struct hl_cgroups *cgroups; /* NULL, as `exes`: none are known */
	struct hl_exes *exes;
	const char *host, *event;
};

/* @ret is not to be moved, and lives as long as what @from points to is unchanged. */
void hl_identify(const struct hl_identities *from, const struct hl_sample *sample, struct hl_identity *ret);

/* The same of samples in a store; @ret points to what @owner does. */
void hl_identify_owner(const struct hl_owner *owner, struct hl_identity *ret);

/* The value of @key; NULL without one. */
const char *hl_identity_label(const struct hl_identity *identity, const char *key);

#endif
