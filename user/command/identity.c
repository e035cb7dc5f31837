// SPDX-License-Identifier: BSD-2-Clause
#include "command/identity.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "process/cgroup.h"
#include "process/container.h"
#include "process/exes.h"
#include "process/files.h"
#include "store/owner.h"

const char *const hl_identity_names[HL_BY_KEYS] = {
	[HL_BY_SERVICE] = "service",
	[HL_BY_HOST] = "host",
	[HL_BY_CONTAINER] = "container",
	[HL_BY_IMAGE] = "image",
	[HL_BY_RUNTIME] = "runtime",
	[HL_BY_POD] = "pod",
	[HL_BY_NAMESPACE] = "namespace",
	[HL_BY_WORKLOAD] = "workload",
	[HL_BY_CGROUP] = "cgroup",
	[HL_BY_UNIT] = "unit",
	[HL_BY_EXE] = "exe",
	[HL_BY_PROCESS] = "process",
	[HL_BY_PID] = "pid",
	[HL_BY_THREAD] = "thread",
	[HL_BY_EVENT] = "event",
};

const char *hl_identity_label(const struct hl_identity *identity, const char *key)
{
	for (size_t i = 0; i < identity->n_labels; i++)
		if (strcmp(identity->labels[i].key, key) == 0)
			return identity->labels[i].value;
	return NULL;
}

static void identify_container(const struct hl_container *c, struct hl_identity *ret)
{
	ret->value[HL_BY_CONTAINER] = c->name;
	ret->value[HL_BY_IMAGE] = c->image;
	ret->value[HL_BY_RUNTIME] = c->runtime;
	ret->value[HL_BY_POD] = c->pod ? c->pod : c->pod_uid;
	ret->value[HL_BY_NAMESPACE] = c->namespace;
	ret->value[HL_BY_WORKLOAD] = c->workload;
	ret->value[HL_BY_SERVICE] = c->service;
	ret->labels = c->labels;
	ret->n_labels = c->n_labels;
}

/*
 * A login session, and what is started by hand, are units of systemd too, and so is the cgroup of a container
 * itself: of those the executable says more.
 */
static bool is_service(const struct hl_cgroup *cgroup)
{
	const char *unit = cgroup->unit;

	if (!unit || hl_starts_with(unit, "user@"))
		return false;
	return hl_ends_with(unit, ".service") ||
	       (!cgroup->container && !hl_starts_with(unit, "session-") && !hl_starts_with(unit, "run-"));
}

static void identify_cgroup(const struct hl_identities *from, const struct hl_count_key *key,
			    struct hl_identity *ret)
{
	const struct hl_cgroup *cgroup =
		from->cgroups ? hl_cgroups_get(from->cgroups, key->cgroup_kind, key->cgroup) : NULL;

	ret->cgroup_unknown = !cgroup || !cgroup->path;
	if (ret->cgroup_unknown)
		return;
	ret->cgroup = cgroup;
	ret->value[HL_BY_CGROUP] = cgroup->path;
	ret->value[HL_BY_UNIT] = cgroup->unit;
	if (cgroup->container)
		identify_container(cgroup->container, ret);
	if (!ret->value[HL_BY_SERVICE] && is_service(cgroup))
		ret->value[HL_BY_SERVICE] = cgroup->unit;
}

static const char *path_of_exe(const struct hl_identities *from, const struct hl_process *process)
{
	const struct hl_open_file *file;
	const char *path;

	if (!process || !process->exe)
		return NULL;
	path = from->exes ? hl_exes_path(from->exes, process->exe) : NULL;
	file = path ? NULL : hl_files_get(from->files, process->exe);
	return file && file->has_path ? file->path : path;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

void hl_identify(const struct hl_identities *from, const struct hl_sample *sample, struct hl_identity *ret)
{
	const struct hl_count_key *key = &sample->key;
	const struct hl_process *process = hl_window_process(from->window, &key->process);
	const char **value;

	memset(ret, 0, sizeof(*ret));
	value = ret->value;
	value[HL_BY_HOST] = from->host;
	value[HL_BY_EVENT] = from->event;
	if (key->flags & HL_FLAG_IDLE) {
		ret->kind = HL_IDENTITY_IDLE;
		return;
	}
	(void)snprintf(ret->thread, sizeof(ret->thread), "%.*s", HL_COMM_LEN, key->comm);
	(void)snprintf(ret->process, sizeof(ret->process), "%.*s", HL_COMM_LEN,
		       process ? process->comm : key->comm);
	(void)snprintf(ret->pid, sizeof(ret->pid), "%u", key->process.tgid);
	value[HL_BY_PROCESS] = ret->process;
	value[HL_BY_THREAD] = ret->thread;
	value[HL_BY_PID] = ret->pid;
	if (key->flags & HL_FLAG_KTHREAD) {
		ret->kind = HL_IDENTITY_KTHREAD;
		return;
	}
	identify_cgroup(from, key, ret);
	value[HL_BY_EXE] = path_of_exe(from, process);
	if (!value[HL_BY_SERVICE])
		value[HL_BY_SERVICE] = value[HL_BY_EXE] ? base_name(value[HL_BY_EXE]) : ret->process;
}

static void identify_stored_container(const struct hl_owner_container *c, struct hl_identity *ret)
{
	ret->value[HL_BY_CONTAINER] = c->name;
	ret->value[HL_BY_IMAGE] = c->image;
	ret->value[HL_BY_RUNTIME] = c->runtime;
	ret->value[HL_BY_POD] = c->pod;
	ret->value[HL_BY_NAMESPACE] = c->namespace;
	ret->value[HL_BY_WORKLOAD] = c->workload;
	ret->labels = c->labels;
	ret->n_labels = c->n_labels;
}

void hl_identify_owner(const struct hl_owner *owner, struct hl_identity *ret)
{
	const struct hl_owner_cgroup *cgroup = owner->cgroup;
	const char **value = ret->value;

	memset(ret, 0, sizeof(*ret));
	value[HL_BY_HOST] = owner->host;
	value[HL_BY_EVENT] = owner->event;
	if (owner->kind == HL_OWNER_IDLE) {
		ret->kind = HL_IDENTITY_IDLE;
		return;
	}
	(void)snprintf(ret->pid, sizeof(ret->pid), "%u", owner->pid);
	value[HL_BY_PROCESS] = owner->process;
	value[HL_BY_THREAD] = owner->thread;
	value[HL_BY_PID] = owner->pid ? ret->pid : NULL;
	if (owner->kind == HL_OWNER_KTHREAD) {
		ret->kind = HL_IDENTITY_KTHREAD;
		return;
	}
	value[HL_BY_SERVICE] = owner->service;
	value[HL_BY_EXE] = owner->exe;
	ret->cgroup_unknown = !cgroup;
	if (!cgroup)
		return;
	value[HL_BY_CGROUP] = cgroup->path;
	value[HL_BY_UNIT] = cgroup->unit;
	if (cgroup->container)
		identify_stored_container(cgroup->container, ret);
}
