// SPDX-License-Identifier: BSD-2-Clause
#include "process/container.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "process/cgroup_path.h"
#include "process/container_file.h"

/* Directory entries of /var/log/pods that are looked at; a node is made for 110 pods. */
enum { PODS_MAX = 4096 };

void hl_container_free(struct hl_container *container)
{
	if (!container)
		return;
	if (container->n_shared) {
		container->n_shared--;
		return;
	}
	hl_arena_done(&container->strings);
	free(container->labels);
	free(container);
}

struct hl_container *hl_container_share(struct hl_container *container)
{
	container->n_shared++;
	return container;
}

const char *hl_container_label(const struct hl_container *container, const char *key)
{
	for (size_t i = 0; i < container->n_labels; i++)
		if (strcmp(container->labels[i].key, key) == 0)
			return container->labels[i].value;
	return NULL;
}

int hl_container_keep(struct hl_container *container, const char **field, const char *text, size_t len,
		      size_t max)
{
	char *copy;

	if (*field || !len)
		return 0;
	copy = hl_arena_copy(&container->strings, text, len < max ? len : max);
	if (!copy)
		return -ENOMEM;
	*field = copy;
	return 0;
}

int hl_container_add_label(struct hl_container *container, const char *key, const char *value, size_t len)
{
	struct hl_label label = { NULL, "" };
	int code;

	if (hl_container_label(container, key))
		return 0;
	if (!*key || strlen(key) > HL_KEY_MAX || len > HL_VALUE_MAX || container->n_labels == HL_LABELS_MAX ||
	    container->label_bytes + strlen(key) + len > HL_LABELS_BYTES) {
		container->labels_dropped++;
		return 0;
	}
	code = hl_grow(&container->labels, &container->cap_labels, container->n_labels + 1, sizeof(label),
		       HL_LABELS_MAX);
	if (code)
		return code;
	label.key = hl_arena_copy(&container->strings, key, strlen(key));
	label.value = hl_arena_copy(&container->strings, value, len);
	if (!label.key || !label.value)
		return -ENOMEM;
	container->label_bytes += strlen(key) + len;
	container->labels[container->n_labels++] = label;
	return 0;
}

/* ---- workloads ----------------------------------------------------------------------------------------- */

/* What Kubernetes draws lots from, and spells hashes in: no vowels, and no digits that look like them. */
static const char lots[] = "bcdfghjklmnpqrstvwxz2456789";
static const char digits[] = "0123456789";

/* How many of the last characters before @len are of @set, if a '-' stands before them; else 0. */
static size_t tail(const char *text, size_t len, const char *set)
{
	size_t n = 0;

	while (n < len && strchr(set, text[len - 1 - n]))
		n++;
	return n && n + 1 < len && text[len - 1 - n] == '-' ? n : 0;
}

size_t hl_workload_len(const char *pod)
{
	size_t len = strlen(pod), n = tail(pod, len, digits);

	/* A number of five digits that has no 0, 1 or 3 may be either; lots are far more frequent. */
	if (n && (n != 5 || tail(pod, len, lots) != 5))
		return len - n - 1;
	if (tail(pod, len, lots) != 5)
		return len;
	len -= 6;
	n = tail(pod, len, lots);
	if (n >= 8 && n <= 10)
		return len - n - 1;
	n = tail(pod, len, digits);
	return n >= 8 && n <= 10 ? len - n - 1 : len;
}

/* ---- what stands where, by whoever started the container --------------------------------------------------- */

/* Labels and annotations that say what a field says, in the order in which they count. */
static const struct {
	size_t field;
	const char *key;
} known[] = {
#define KNOWN(field, key)                                 \
	{                                                 \
		offsetof(struct hl_container, field), key \
	}
	/* containerd, CRI: annotations; of a pod's sandbox too, which has no name of its own */
	KNOWN(name, "io.kubernetes.cri.container-name"),
	KNOWN(image, "io.kubernetes.cri.image-name"),
	KNOWN(namespace, "io.kubernetes.cri.sandbox-namespace"),
	KNOWN(pod, "io.kubernetes.cri.sandbox-name"),
	KNOWN(pod_uid, "io.kubernetes.cri.sandbox-uid"),
	/* the kubelet's labels of every container: docker, cri-o */
	KNOWN(name, "io.kubernetes.container.name"),
	KNOWN(namespace, "io.kubernetes.pod.namespace"),
	KNOWN(pod, "io.kubernetes.pod.name"),
	KNOWN(pod_uid, "io.kubernetes.pod.uid"),
	/* cri-o */
	KNOWN(image, "io.kubernetes.cri-o.ImageName"),
	/* nerdctl */
	KNOWN(name, "nerdctl/name"),
	KNOWN(image, "nerdctl/image-name"),
#undef KNOWN
};

static int take_known(struct hl_container *container)
{
	int code = 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]) && !code; i++) {
		const char *value = hl_container_label(container, known[i].key);
		const char **field = (const char **)((char *)container + known[i].field);

		if (value)
			code = hl_container_keep(container, field, value, strlen(value),
						 field == &container->image ? HL_VALUE_MAX : HL_NAME_MAX);
	}
	return code;
}

/*
 * Whatever the runtime, the kubelet keeps the logs of a pod in /var/log/pods/NAMESPACE_POD_UID; neither name
 * may hold an '_'.
 */
static int find_pod(int root_fd, struct hl_container *container)
{
	int fd = openat(root_fd, "var/log/pods", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!dir) {
		hl_cleanup_close(&fd);
		return 0;
	}
	for (int i = 0; i < PODS_MAX && (entry = readdir(dir)); i++) {
		const char *first = strchr(entry->d_name, '_'), *last = strrchr(entry->d_name, '_');
		int code;

		if (!first || first == last || strcmp(last + 1, container->pod_uid) != 0)
			continue;
		code = hl_container_keep(container, &container->namespace, entry->d_name,
					 (size_t)(first - entry->d_name), HL_NAME_MAX);
		return code ? code
			    : hl_container_keep(container, &container->pod, first + 1,
						(size_t)(last - first - 1), HL_NAME_MAX);
	}
	return 0;
}

static int name_workload(struct hl_container *container)
{
	const char *hash = hl_container_label(container, "pod-template-hash");
	size_t len = hl_workload_len(container->pod);
	const char *at = hash && *hash ? strstr(container->pod, hash) : NULL;

	/* Where the label is known nothing need be guessed. */
	if (at && at > container->pod + 1 && at[-1] == '-')
		len = (size_t)(at - container->pod) - 1;
	return hl_container_keep(container, &container->workload, container->pod, len, HL_NAME_MAX);
}

static int compose(struct hl_container *container, const char *project, const char *service)
{
	_cleanup_str_ struct hl_str text = { 0 };

	if (!service || !*service)
		return 0;
	if (project && *project)
		hl_str_addf(&text, "%s/", project);
	hl_str_adds(&text, service);
	return hl_str_status(&text)
		       ? -ENOMEM
		       : hl_container_keep(container, &container->service, text.data, text.len, HL_VALUE_MAX);
}

static int name_service(struct hl_container *container)
{
	_cleanup_str_ struct hl_str text = { 0 };
	int code;

	if (container->namespace && container->workload) {
		hl_str_addf(&text, "%s/%s/%s", container->namespace, container->workload, container->name);
		return hl_str_status(&text) ? -ENOMEM
					    : hl_container_keep(container, &container->service, text.data,
								text.len, HL_VALUE_MAX);
	}
	code = compose(container, hl_container_label(container, "com.docker.compose.project"),
		       hl_container_label(container, "com.docker.compose.service"));
	if (!code)
		code = compose(container, hl_container_label(container, "io.podman.compose.project"),
			       hl_container_label(container, "io.podman.compose.service"));
	return code ? code
		    : compose(container, NULL,
			      hl_container_label(container, "com.docker.swarm.service.name"));
}

/* What was not said has a name all the same. */
static int complete(int root_fd, struct hl_container *container)
{
	int code = take_known(container);

	if (!code && container->pod_uid && !container->pod)
		code = find_pod(root_fd, container);
	if (!code && container->pod && !container->name &&
	    (hl_container_label(container, "io.kubernetes.cri.container-type") ||
	     hl_container_label(container, "io.kubernetes.container.name")))
		code = hl_container_keep(container, &container->name, "pause", strlen("pause"), HL_NAME_MAX);
	if (!code)
		code = hl_container_keep(container, &container->name, container->id, strlen(container->id),
					 strlen(container->id) == 64 ? 12 : HL_NAME_MAX);
	if (!code && container->pod)
		code = name_workload(container);
	return code ? code : name_service(container);
}

/* ---- what the path tells ---------------------------------------------------------------------------------- */

/* systemd spells '-' and others in the names of units as \xNN; see systemd.unit(5). */
static int keep_unescaped(struct hl_container *container, const char **field, struct hl_span text)
{
	_cleanup_str_ struct hl_str out = { 0 };

	for (size_t i = 0; i < text.len; i++) {
		char code[3] = "", *end = code;
		long c = 0;

		if (text.len - i >= 4 && text.at[i] == '\\' && text.at[i + 1] == 'x') {
			memcpy(code, text.at + i + 2, 2);
			c = strtol(code, &end, 16);
		}
		if (end == code + 2 && c > 0)
			i += 3;
		hl_str_addc(&out, end == code + 2 && c > 0 ? (char)c : text.at[i]);
	}
	return hl_str_status(&out) ? -ENOMEM
				   : hl_container_keep(container, field, out.data, out.len, HL_NAME_MAX);
}

static int keep_pod(struct hl_container *container, struct hl_span pod)
{
	char uid[40];

	if (!pod.at || pod.len >= sizeof(uid))
		return 0;
	for (size_t i = 0; i < pod.len; i++)
		uid[i] = pod.at[i] == '_' ? '-' : pod.at[i];
	return hl_container_keep(container, &container->pod_uid, uid, pod.len, sizeof(uid));
}

/* A container with what @place says of it. */
static int start(const struct hl_cgroup_place *place, struct hl_container **ret)
{
	_cleanup_(hl_container_freep) struct hl_container *container = calloc(1, sizeof(*container));
	int code;

	if (!container)
		return -ENOMEM;
	container->runtime = place->runtime;
	code = keep_unescaped(container, &container->id, place->id);
	if (!code)
		code = keep_pod(container, place->pod);
	if (!code)
		*ret = TAKE_PTR(container);
	return code;
}

int hl_container_read(struct hl_reach *reach, int root_fd, const struct hl_cgroup_place *place,
		      struct hl_container **ret, struct hl_err *err)
{
	_cleanup_(hl_container_freep) struct hl_container *container = NULL;
	const char *parent = NULL;
	int code = start(place, &container), status = 0;

	if (!code && place->parent.at)
		code = hl_container_keep(container, &parent, place->parent.at, place->parent.len,
					 HL_NAME_MAX);
	if (!code && !place->delegated)
		status = hl_container_read_files(reach, root_fd, parent, container, err);
	if (!code && status == -ENOMEM)
		code = status;
	if (!code)
		code = complete(root_fd, container);
	if (code)
		return code;
	*ret = TAKE_PTR(container);
	return status;
}

int hl_container_read_answer(int root_fd, const struct hl_cgroup_place *place, const char *text, size_t len,
			     struct hl_container **ret, struct hl_err *err)
{
	_cleanup_(hl_container_freep) struct hl_container *container = NULL;
	int code = start(place, &container);

	if (!code)
		code = hl_container_read_inspected(container, text, len, err);
	if (!code)
		code = complete(root_fd, container);
	if (!code)
		*ret = TAKE_PTR(container);
	return code;
}
