// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample process tests/fuzzing */
/* A cgroup's path, and behind its NUL what its runtime left on disk: what is kept is within the limits. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "fuzzing.h"
#include "process/cgroup_path.h"
#include "process/container.h"

enum { NAME_MAX_LEN = 253, VALUE_MAX_LEN = 1024 };

/* The files of a container "x", or of a pod's with this id. */
#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct {
	const char *path, *file;
} layouts[] = {
	{ "/docker/" HEX, "var/lib/docker/containers/" HEX "/config.v2.json" },
	{ "/default/x", "run/containerd/io.containerd.runtime.v2.task/default/x/config.json" },
	{ "/machine.slice/libpod-" HEX ".scope",
	  "var/lib/containers/storage/overlay-containers/containers.json" },
	{ "/kubepods/pod0123456789abcdef0123456789abcdef/" HEX, "run/runc/" HEX "/state.json" },
};
enum { N_LAYOUTS = sizeof(layouts) / sizeof(layouts[0]) };

static int make_root(void)
{
	char root[] = "/tmp/hl-fuzz-XXXXXX", command[600];
	int fd;

	MUST(mkdtemp(root));
	for (int i = 0; i < N_LAYOUTS; i++) {
		(void)snprintf(command, sizeof(command), "mkdir -p $(dirname %s/%s)", root, layouts[i].file);
		MUST(system(command) == 0);
	}
	fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	MUST(fd >= 0);
	return fd;
}

static void check_length(const char *text, size_t max)
{
	MUST(!text || (text[0] && strlen(text) <= max));
}

static void check_container(const struct hl_container *c)
{
	MUST(c->runtime && c->name && c->id);
	check_length(c->name, NAME_MAX_LEN);
	check_length(c->id, NAME_MAX_LEN);
	check_length(c->pod, NAME_MAX_LEN);
	check_length(c->namespace, NAME_MAX_LEN);
	check_length(c->workload, NAME_MAX_LEN);
	check_length(c->image, VALUE_MAX_LEN);
	check_length(c->service, VALUE_MAX_LEN);
	MUST(c->label_bytes <= 16 << 10);
	for (size_t i = 0; i < c->n_labels; i++)
		MUST(hl_container_label(c, c->labels[i].key) == c->labels[i].value);
}

static void parse_path(const char *path)
{
	struct hl_cgroup_place place;

	hl_cgroup_parse(path, &place);
	MUST(!place.runtime == !place.id.at);
	for (int i = 0; i < 3; i++) {
		struct hl_span s = i == 0 ? place.id : i == 1 ? place.pod : place.unit;

		MUST(!s.at || (s.len && s.at >= path && s.at + s.len <= path + strlen(path) &&
			       !memchr(s.at, '/', s.len)));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int root = -1;
	struct hl_container *container = NULL;
	struct hl_cgroup_place place;
	struct hl_err err = { "" };
	char *path;
	int which, fd, code;

	if (!size)
		return 0;
	if (root < 0)
		root = make_root();
	path = strndup((const char *)data, size);
	MUST(path);
	parse_path(path);
	free(path);
	which = data[0] % N_LAYOUTS;
	fd = openat(root, layouts[which].file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	MUST(fd >= 0 && write(fd, data + 1, size - 1) == (ssize_t)(size - 1));
	(void)close(fd);
	hl_cgroup_parse(layouts[which].path, &place);
	code = hl_container_read(NULL, root, &place, &container, &err);
	MUST(container && (code == 0) == !err.text[0]);
	check_container(container);
	hl_container_free(container);
	(void)unlinkat(root, layouts[which].file, 0);
	return 0;
}
