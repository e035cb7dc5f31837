// SPDX-License-Identifier: BSD-2-Clause
/*
 * What runtimes leave on disk about their containers, as JSON. Only root writes these files, but much of what
 * is in them, labels above all, comes from whoever starts containers: sizes and depth are bounded, and nothing
 * is done with a string but keeping it.
 */
#include "process/container_file.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "base/str.h"
#include "process/bolt.h"
#include "process/container.h"
#include "process/reach.h"
#include "process/sqlite.h"

enum { FILE_LIMIT = 1 << 20, LIST_LIMIT = 8 << 20, DEPTH = 32 };

static void put(json_object **object)
{
	if (*object)
		json_object_put(*object);
}
#define _cleanup_json_ _cleanup_(put)

/* ---- values --------------------------------------------------------------------------------------------- */

/* The member @name of @object, NULL if that is no object or has none. */
static json_object *member(json_object *object, const char *name)
{
	json_object *value = NULL;

	if (json_object_is_type(object, json_type_object))
		(void)json_object_object_get_ex(object, name, &value);
	return value;
}

/* Keeps a string; any other value is as none. */
static int keep(struct hl_container *container, const char **field, json_object *value, size_t max)
{
	if (!json_object_is_type(value, json_type_string))
		return 0;
	return hl_container_keep(container, field, json_object_get_string(value),
				 (size_t)json_object_get_string_len(value), max);
}

/* Adds the strings of @object as labels. */
static int add_labels(struct hl_container *container, json_object *object)
{
	int code = 0;

	if (!json_object_is_type(object, json_type_object))
		return 0;
	json_object_object_foreach(object, key, value)
	{
		if (!code && json_object_is_type(value, json_type_string))
			code = hl_container_add_label(container, key, json_object_get_string(value),
						      (size_t)json_object_get_string_len(value));
	}
	return code;
}

/* ---- files of each runtime ---------------------------------------------------------------------------------- */

static json_object *parse(const char *text, size_t len)
{
	struct json_tokener *tokener = json_tokener_new_ex(DEPTH);
	json_object *object = tokener ? json_tokener_parse_ex(tokener, text, (int)len) : NULL;

	if (tokener)
		json_tokener_free(tokener);
	return object;
}

/* docker: config.v2.json of the container; in what its engine answers, these stand in the same places */
static int read_docker(struct hl_container *container, json_object *file)
{
	json_object *config = member(file, "Config"), *name = member(file, "Name");
	const char *text = json_object_is_type(name, json_type_string) ? json_object_get_string(name) : "";
	int code = add_labels(container, member(config, "Labels"));

	text += *text == '/';
	/* Of a pod's container the kubelet's label says more than "k8s_NAME_POD_NAMESPACE_UID_0". */
	if (!code && !hl_container_label(container, "io.kubernetes.container.name"))
		code = hl_container_keep(container, &container->name, text, strlen(text), HL_NAME_MAX);
	return code ? code : keep(container, &container->image, member(config, "Image"), HL_VALUE_MAX);
}

/* The OCI runtime specification's config.json: labels of CRI and of cri-o are annotations, or JSON in one. */
static int read_oci(struct hl_container *container, json_object *file)
{
	json_object *annotations = member(file, "annotations"), *nested;
	int code = add_labels(container, annotations);

	nested = member(annotations, "io.kubernetes.cri-o.Labels");
	if (!code && json_object_is_type(nested, json_type_string)) {
		_cleanup_json_ json_object *labels =
			parse(json_object_get_string(nested), (size_t)json_object_get_string_len(nested));

		code = add_labels(container, labels);
	}
	return code;
}

/* runc's own record: annotations stand among its labels, as KEY=VALUE, behind where the bundle is. */
static int read_runc(struct hl_container *container, json_object *file)
{
	json_object *labels = member(member(file, "config"), "labels");
	int code = 0;

	if (!json_object_is_type(labels, json_type_array))
		return 0;
	for (size_t i = 0; i < json_object_array_length(labels) && !code; i++) {
		json_object *label = json_object_array_get_idx(labels, i);
		const char *text =
			json_object_is_type(label, json_type_string) ? json_object_get_string(label) : "";
		const char *value = strchr(text, '=');
		char key[HL_KEY_MAX + 1];

		if (!value || hl_starts_with(text, "bundle="))
			continue;
		if (snprintf(key, sizeof(key), "%.*s", (int)(value - text), text) >= (int)sizeof(key))
			container->labels_dropped++;
		else
			code = hl_container_add_label(container, key, value + 1, strlen(value + 1));
	}
	return code;
}

/* The list of containers in containers/storage, which podman and cri-o build on, has names and images. */
static int read_storage_list(struct hl_container *container, json_object *file)
{
	size_t n = json_object_is_type(file, json_type_array) ? json_object_array_length(file) : 0;

	for (size_t i = 0; i < n; i++) {
		json_object *entry = json_object_array_get_idx(file, i), *names = member(entry, "names"),
			    *text;
		const char *id = NULL;
		int code = keep(container, &id, member(entry, "id"), HL_NAME_MAX);

		if (code)
			return code;
		if (!id || strcmp(id, container->id) != 0)
			continue;
		if (json_object_is_type(names, json_type_array) && json_object_array_length(names))
			code = keep(container, &container->name, json_object_array_get_idx(names, 0),
				    HL_NAME_MAX);
		text = member(entry, "metadata");
		if (!code && json_object_is_type(text, json_type_string)) {
			_cleanup_json_ json_object *metadata =
				parse(json_object_get_string(text), (size_t)json_object_get_string_len(text));

			code = keep(container, &container->image, member(metadata, "image-name"),
				    HL_VALUE_MAX);
		}
		return code;
	}
	return 0;
}

/* Whether a record of podman is the one that was asked for. */
static bool has_id(json_object *file, const char *id)
{
	json_object *value = member(file, "id");

	return json_object_is_type(value, json_type_string) && strcmp(json_object_get_string(value), id) == 0;
}

/* podman's own record: it is the only one that has labels. */
static int read_podman(struct hl_container *container, json_object *file)
{
	int code;

	if (!has_id(file, container->id))
		return -EBADMSG;
	code = keep(container, &container->name, member(file, "name"), HL_NAME_MAX);
	if (!code)
		code = keep(container, &container->image, member(file, "rootfsImageName"), HL_VALUE_MAX);
	if (!code)
		code = keep(container, &container->pod_uid, member(file, "pod"), HL_NAME_MAX);
	return code ? code : add_labels(container, member(file, "labels"));
}

static int read_podman_pod(struct hl_container *container, json_object *file)
{
	if (!has_id(file, container->pod_uid))
		return -EBADMSG;
	return keep(container, &container->pod, member(file, "name"), HL_NAME_MAX);
}

enum {
	ADDS = 1, /* to what others say; it tells no runtime */
	/* A database, in which podman has the container's configuration: its boltdb_state.go, sqlite_state.go */
	BOLT = 2,
	SQLITE = 4,
};

/*
 * Where to look, in this order, below the root; '@' stands for the id and '%' for containerd's namespace. Where
 * the path of the cgroup did not tell the runtime, the first file that is there does.
 */
static const struct source {
	const char *runtime, *path;
	int (*read)(struct hl_container *container, json_object *file);
	size_t limit;
	unsigned int flags;
} sources[] = {
	{ "docker", "var/lib/docker/containers/@/config.v2.json", read_docker, FILE_LIMIT, 0 },
	{ "containerd", "run/containerd/io.containerd.runtime.v2.task/%/@/config.json", read_oci, FILE_LIMIT,
	  0 },
	{ "containerd", "run/k3s/containerd/io.containerd.runtime.v2.task/%/@/config.json", read_oci,
	  FILE_LIMIT, 0 },
	{ "cri-o", "run/containers/storage/overlay-containers/@/userdata/config.json", read_oci, FILE_LIMIT,
	  0 },
	{ "cri-o", "var/lib/containers/storage/overlay-containers/@/userdata/config.json", read_oci,
	  FILE_LIMIT, 0 },
	{ "podman", "var/lib/containers/storage/overlay-containers/@/userdata/config.json", read_oci,
	  FILE_LIMIT, 0 },
	{ "podman", "var/lib/containers/storage/overlay-containers/containers.json", read_storage_list,
	  LIST_LIMIT, ADDS },
	{ "podman", "var/lib/containers/storage/db.sql", read_podman, FILE_LIMIT, ADDS | SQLITE },
	{ "podman", "run/containers/storage/db.sql", read_podman, FILE_LIMIT, ADDS | SQLITE }, /* transient */
	{ "podman", "var/lib/containers/storage/libpod/bolt_state.db", read_podman, FILE_LIMIT, ADDS | BOLT },
	{ "crun", "run/crun/@/config.json", read_oci, FILE_LIMIT, 0 },
	{ "runc", "run/runc/@/state.json", read_runc, FILE_LIMIT, 0 },
};

static int path_of(const struct source *source, const char *id, const char *space, struct hl_str *out)
{
	hl_str_clear(out);
	for (const char *p = source->path; *p; p++) {
		if (*p == '@')
			hl_str_adds(out, id);
		else if (*p == '%')
			hl_str_adds(out, space);
		else
			hl_str_addc(out, *p);
	}
	return hl_str_status(out);
}

/* Where a source is read from. */
struct place {
	struct hl_reach *reach;
	int root_fd;
	const char *path;
};

/* What @source has to say of the container, or pod, @id. -ENOENT: nothing. */
static int read_text(const struct place *place, const struct source *source, bool pod, const char *id,
		     char **ret, size_t *ret_len)
{
	const char *const keys[] = { pod ? "pod" : "ctr", id, "config" };
	_cleanup_close_ int fd = -1;
	struct stat st;
	char self[32];

	if (source->flags & SQLITE)
		return hl_sqlite_get(place->reach, place->root_fd, place->path,
				     pod ? "SELECT JSON FROM PodConfig WHERE ID = ?"
					 : "SELECT JSON FROM ContainerConfig WHERE ID = ?",
				     id, source->limit, ret, ret_len);
	fd = hl_reach_open_in_root(place->reach, place->root_fd, place->path, &st);
	if (fd < 0)
		return fd;
	if (source->flags & BOLT)
		return hl_bolt_get(fd, keys, 3, source->limit, ret, ret_len);
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return hl_read_file_at(AT_FDCWD, self, source->limit, ret, ret_len);
}

static int cannot_read(const char *path, int code, struct hl_err *err)
{
	if (code == -EBADMSG)
		return hl_err_set(err, code, "'/%s' is damaged, or of a form that is not known here", path);
	if (code == -EAGAIN)
		return hl_err_set(err, code, "'/%s' was being written each time that it was to be read",
				  path);
	return hl_err_errno(err, code, "cannot read '/%s'", path);
}

/* Gives what @source says to @read. 1: it says nothing, or is not there. */
static int read_with(const struct place *place, const struct source *source, bool pod,
		     int (*read)(struct hl_container *container, json_object *file),
		     struct hl_container *container, struct hl_err *err)
{
	_cleanup_json_ json_object *file = NULL;
	_cleanup_free_ char *text = NULL;
	size_t len;
	int code = read_text(place, source, pod, pod ? container->pod_uid : container->id, &text, &len);

	if (code == -ENOENT || code == -ENOTDIR)
		return 1;
	if (code)
		return cannot_read(place->path, code, err);
	file = parse(text, len);
	if (!file)
		return hl_err_set(err, -EBADMSG, "'/%s' is no JSON, or nested deeper than %d", place->path,
				  DEPTH);
	code = read(container, file);
	return code && code != -ENOMEM ? cannot_read(place->path, code, err) : code;
}

/* 1: it says nothing, or is not there. */
static int read_source(struct hl_reach *reach, int root_fd, const struct source *source, const char *space,
		       struct hl_container *container, struct hl_err *err)
{
	_cleanup_str_ struct hl_str path = { 0 };
	struct place place = { reach, root_fd, NULL };
	int code = path_of(source, container->id, space, &path);

	if (code)
		return code;
	place.path = path.data;
	code = read_with(&place, source, false, source->read, container, err);
	if (!code && source->flags & (BOLT | SQLITE) && container->pod_uid && !container->pod) {
		code = read_with(&place, source, true, read_podman_pod, container, err);
		return code < 0 ? code : 0;
	}
	return code;
}

static void set_described(struct hl_container *container, const char *runtime)
{
	container->described = true;
	if (strcmp(container->runtime, "kubernetes") == 0)
		container->runtime = runtime;
}

/* Whether @source may be about a container of this runtime. */
static bool fits(const struct source *source, const struct hl_container *container)
{
	/* What is started by hand, by runc, can be anywhere; it is the last that is asked. */
	return strcmp(source->runtime, container->runtime) == 0 ||
	       (!(source->flags & ADDS) && !container->described &&
		strcmp(container->runtime, "kubernetes") == 0);
}

int hl_container_read_files(struct hl_reach *reach, int root_fd, const char *parent,
			    struct hl_container *container, struct hl_err *err)
{
	const char *space = container->pod_uid || !parent ? "k8s.io" : parent;

	/* It becomes a part of paths. A '/' was no part of it in the path, but may have been escaped. */
	if (strchr(container->id, '/') || container->id[0] == '.')
		return 0;
	if (strcmp(container->runtime, "containerd") == 0 && !container->pod_uid && parent &&
	    hl_ends_with(parent, ".slice"))
		space = "default"; /* nerdctl */
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		int code = fits(&sources[i], container)
				   ? read_source(reach, root_fd, &sources[i], space, container, err)
				   : 1;

		if (code < 0)
			return code;
		if (code == 0 && !(sources[i].flags & ADDS))
			set_described(container, sources[i].runtime);
	}
	return 0;
}

int hl_container_read_inspected(struct hl_container *container, const char *text, size_t len,
				struct hl_err *err)
{
	_cleanup_json_ json_object *answer = parse(text, len);
	json_object *id = member(answer, "Id");
	int code;

	if (!answer)
		return hl_err_set(err, -EBADMSG, "the answer is no JSON, or nested deeper than %d", DEPTH);
	if (!json_object_is_type(id, json_type_string) ||
	    strcmp(json_object_get_string(id), container->id) != 0)
		return hl_err_set(err, -EBADMSG, "the answer is about another container");
	code = read_docker(container, answer);
	if (!code)
		set_described(container, "docker");
	return code;
}
