// SPDX-License-Identifier: BSD-2-Clause
#include "process/cgroup_path.h"

#include <string.h>

enum id_form {
	HEX, /* 64 hexadecimal digits */
	ANY, /* a name that a person may choose */
};

/*
 * How runtimes call the cgroups of their containers, one row a form. A component of the path matches that
 * begins with @prefix, ends with @suffix, and has an id between them; that stands below @parent, if that is
 * not NULL; and below @top, the first component, if that is not NULL. The first row that matches counts.
 */
static const struct row {
	const char *runtime, *top, *parent, *prefix, *suffix;
	enum id_form id;
} rows[] = {
	/* libcontainer's systemd driver: PREFIX-ID.scope, in whatever slice the parent is */
	{ "docker", NULL, NULL, "docker-", ".scope", HEX },
	{ "podman", NULL, NULL, "libpod-", ".scope", HEX },
	{ "cri-o", NULL, NULL, "crio-", ".scope", HEX },
	{ "containerd", NULL, NULL, "cri-containerd-", ".scope", HEX },
	{ "containerd", NULL, NULL, "nerdctl-", ".scope", HEX },
	{ "runc", NULL, NULL, "runc-", ".scope", ANY },
	{ "crun", NULL, NULL, "crun-", ".scope", ANY },
	/* cgroupfs driver */
	{ "docker", "docker", "docker", "", "", HEX },
	{ "podman", NULL, NULL, "libpod-payload-", "",
	  HEX }, /* --cgroups=split: below the unit that runs it */
	{ "podman", NULL, NULL, "libpod-", "", HEX },
	{ "cri-o", NULL, NULL, "crio-", "", HEX },
	{ "containerd", "default", "default", "", "", ANY },
	{ "containerd", "k8s.io", "k8s.io", "", "", ANY },
	{ "buildkit", "buildkit", "buildkit", "", "", ANY },
	{ "docker", "ecs", NULL, "", "", HEX }, /* /ecs/TASK/ID */
	{ "garden", "garden", "garden", "", "", ANY },
	{ "mesos", "mesos", "mesos", "", "", ANY },
	/* system containers */
	{ "lxc", NULL, NULL, "lxc.payload.", "", ANY },
	{ "lxc", "lxc.payload", "lxc.payload", "", "", ANY },
	{ "lxc", "lxc", "lxc", "", "", ANY },
	{ "libvirt", "machine.slice", "machine.slice", "machine-qemu\\x2d", ".scope", ANY },
	{ "libvirt", "machine.slice", "machine.slice", "machine-lxc\\x2d", ".scope", ANY },
	{ "libvirt", "machine", "machine", "", ".libvirt-qemu", ANY },
	{ "libvirt", "machine", "machine", "", ".libvirt-lxc", ANY },
	{ "nspawn", "machine.slice", "machine.slice", "systemd-nspawn@", ".service", ANY },
	{ "nspawn", "machine.slice", "machine.slice", "machine-", ".scope", ANY },
};

static bool equals(struct hl_span s, const char *text)
{
	return s.len == strlen(text) && memcmp(s.at, text, s.len) == 0;
}

static bool begins(struct hl_span s, const char *prefix)
{
	return s.len >= strlen(prefix) && memcmp(s.at, prefix, strlen(prefix)) == 0;
}

static bool ends(struct hl_span s, const char *suffix)
{
	size_t n = strlen(suffix);

	return s.len >= n && memcmp(s.at + s.len - n, suffix, n) == 0;
}

static struct hl_span cut(struct hl_span s, size_t front, size_t back)
{
	return (struct hl_span){ s.at + front, s.len - front - back };
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool is_id(struct hl_span s, enum id_form form)
{
	if (form == ANY)
		return s.len > 0 && s.at[0] != '.';
	for (size_t i = 0; i < s.len; i++)
		if (!is_hex(s.at[i]))
			return false;
	return s.len == 64;
}

/* A pod's uid: a UUID; or 32 digits, of a pod that is no API server's but the kubelet's own. */
static bool is_uid(struct hl_span s)
{
	if (s.len != 36 && s.len != 32)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		bool mark = s.len == 36 && (i == 8 || i == 13 || i == 18 || i == 23);

		if (mark ? s.at[i] != '-' && s.at[i] != '_' : !is_hex(s.at[i]))
			return false;
	}
	return true;
}

static const char *qos_of(struct hl_span name)
{
	if (ends(name, "burstable"))
		return "burstable";
	return ends(name, "besteffort") ? "besteffort" : "guaranteed";
}

/* Splits "FRONTkubepods[-QOS]-podUID.slice". */
static bool split_pod_slice(struct hl_span name, struct hl_span *ret_front, struct hl_span *ret_uid)
{
	static const char mark[] = "-pod", end[] = ".slice";
	struct hl_span stem = ends(name, end) ? cut(name, 0, strlen(end)) : (struct hl_span){ NULL, 0 };

	for (size_t i = stem.len; i-- > 0;)
		if (begins(cut(stem, i, 0), mark)) {
			*ret_front = cut(stem, 0, stem.len - i);
			*ret_uid = cut(stem, i + strlen(mark), 0);
			return ends(*ret_front, "kubepods") || ends(*ret_front, "kubepods-burstable") ||
			       ends(*ret_front, "kubepods-besteffort");
		}
	return false;
}

/*
 * Pods are ".../kubepods[/QOS]/podUID"; systemd has them as slices, whose names repeat those of the slices
 * around them.
 */
static bool parse_pod(struct hl_span parent, struct hl_span name, struct hl_cgroup_place *ret)
{
	struct hl_span front = parent, uid;

	if (begins(name, "pod") && parent.at &&
	    (equals(parent, "kubepods") || equals(parent, "burstable") || equals(parent, "besteffort")))
		uid = cut(name, strlen("pod"), 0);
	else if (!split_pod_slice(name, &front, &uid))
		return false;
	if (!is_uid(uid))
		return false;
	ret->pod = uid;
	ret->qos = qos_of(front);
	return true;
}

static bool parse_container(struct hl_span top, struct hl_span parent, struct hl_span name,
			    struct hl_cgroup_place *ret)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		size_t front = strlen(row->prefix), back = strlen(row->suffix);

		if ((row->top && (!parent.at || !equals(top, row->top))) ||
		    (row->parent && (!parent.at || !equals(parent, row->parent))) ||
		    name.len <= front + back || !begins(name, row->prefix) || !ends(name, row->suffix) ||
		    !is_id(cut(name, front, back), row->id))
			continue;
		/* A parent that is meant to be the first component is. */
		if (row->top && row->parent && parent.at != top.at)
			continue;
		ret->runtime = row->runtime;
		ret->id = cut(name, front, back);
		ret->parent = parent;
		return true;
	}
	return false;
}

/*
 * Where the kubelet uses systemd's driver and the runtime the other, the name of the cgroup is the form
 * meant for the driver: SLICE:PREFIX:ID. Returns whether it is one.
 */
static bool parse_colons(struct hl_span name, struct hl_cgroup_place *ret)
{
	static const char *const prefixes[][2] = {
		{ "cri-containerd", "containerd" },
		{ "crio", "cri-o" },
		{ "docker", "docker" },
		{ "libpod", "podman" },
	};
	const char *first = memchr(name.at, ':', name.len);
	const char *last = first ? memrchr(name.at, ':', name.len) : NULL;
	struct hl_span prefix, id;

	if (!first || first == last)
		return false;
	prefix = (struct hl_span){ first + 1, (size_t)(last - first - 1) };
	id = (struct hl_span){ last + 1, (size_t)(name.at + name.len - last - 1) };
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (equals(prefix, prefixes[i][0]) && is_id(id, HEX)) {
			(void)parse_pod((struct hl_span){ NULL, 0 },
					(struct hl_span){ name.at, (size_t)(first - name.at) }, ret);
			ret->runtime = prefixes[i][1];
			ret->id = id;
			return true;
		}
	return false;
}

void hl_cgroup_parse(const char *path, struct hl_cgroup_place *ret)
{
	struct hl_span top = { NULL, 0 }, parent = { NULL, 0 };
	bool in_pod = false;

	*ret = (struct hl_cgroup_place){ 0 };
	for (const char *at = path; *at;) {
		struct hl_span name = { at, strcspn(at, "/") };

		at += name.len + (at[name.len] == '/');
		/* Above the root of a cgroup namespace the path leads through "..". */
		if (!name.len || equals(name, ".."))
			continue;
		if (!top.at)
			top = name;
		if (!ret->unit.at && (ends(name, ".service") || ends(name, ".scope")))
			ret->unit = name;
		if (in_pod && is_id(name, HEX)) {
			ret->runtime = "kubernetes";
			ret->id = name;
			ret->parent = parent;
		}
		if (ret->runtime || parse_colons(name, ret) || parse_container(top, parent, name, ret))
			return;
		in_pod = parse_pod(parent, name, ret);
		ret->delegated |= equals(name, "user.slice") || begins(name, "user@");
		parent = name;
	}
}
