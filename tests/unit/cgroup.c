// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample process tests/runtime */
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "process/cgroup.h"
#include "process/cgroup_watch.h"
#include "process/container.h"
#include "process/container_socket.h"
#include "runtime.h"
#include "sample/window.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

/*
 * A host of ordinary directories: "proc", "v2" and "v1", the cgroups of both versions, whose ids are their
 * inode numbers as those of real ones are, and "root".
 */
static char host[] = "/tmp/hl-cgroup-XXXXXX";

static void sh(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void sh(const char *fmt, ...)
{
	char command[2048];
	int n = snprintf(command, sizeof(command), "set -e; cd %s; ", host);
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(command + n, sizeof(command) - (size_t)n, fmt, args);
	va_end(args);
	CHECK_INT(system(command), 0);
}

static int new_host(void)
{
	char path[64];
	int fd;

	CHECK(mkdtemp(host));
	sh("mkdir -p proc/self proc/1 v1 v2 root; ln -s ../../root proc/1/root;"
	   "echo '30 25 0:26 / %s/v1 rw - cgroup cgroup rw,memory' >proc/self/mountinfo;"
	   "echo '31 25 0:27 /part %s/part rw shared:4 - cgroup2 cgroup2 rw' >>proc/self/mountinfo;"
	   "echo '32 25 0:27 / %s/v2 rw shared:4 - cgroup2 cgroup2 rw' >>proc/self/mountinfo",
	   host, host, host);
	(void)snprintf(path, sizeof(path), "%s/proc", host);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK(fd >= 0);
	return fd;
}

static uint64_t inode_of(const char *path)
{
	char full[512];
	struct stat st;

	(void)snprintf(full, sizeof(full), "%s/%s", host, path);
	CHECK_INT(stat(full, &st), 0);
	return st.st_ino;
}

static void add_sample(struct hl_window *window, uint32_t tgid, uint8_t kind, uint64_t id)
{
	const struct hl_count_key key = { .process.tgid = tgid, .cgroup_kind = kind, .cgroup = id };
	const struct hl_count count = { .samples = 1 };

	hl_window_add_sample(window, &key, &count);
}

HL_TEST(containers_are_kept_after_they_ended)
{
	int fd = new_host();
	struct hl_cgroups *cgroups;
	const struct hl_cgroup *cgroup;
	struct hl_cgroups_stats stats;
	struct hl_window window = { 0 };
	uint64_t a, b;

	sh("mkdir -p v2/docker/%s v1/docker/%s proc/10 proc/11;"
	   "printf '5:cpu,cpuacct:/x\\n4:memory:/\\n0::/docker/%s\\n' >proc/10/cgroup;"
	   "printf '4:memory:/docker/%s\\n0::/\\n' >proc/11/cgroup;"
	   "mkdir -p root/var/lib/docker/containers/%s;"
	   "echo '{\"Name\":\"/web\"}' >root/var/lib/docker/containers/%s/config.v2.json",
	   A, B, A, B, A, A);
	a = inode_of("v2/docker/" A);
	b = inode_of("v1/docker/" B);
	cgroups = hl_cgroups_new(fd, NULL);
	CHECK(cgroups);
	add_sample(&window, 10, HL_CGROUP_V2, a);
	add_sample(&window, 11, HL_CGROUP_V1_MEMORY, b);
	hl_cgroups_look(cgroups, &window, 0);
	sh("rm -r proc/10 proc/11 v2/docker v1/docker root/var");
	hl_cgroups_look(cgroups, &window, 0);
	cgroup = hl_cgroups_get(cgroups, HL_CGROUP_V2, a);
	CHECK(cgroup && cgroup->container);
	CHECK_STR(cgroup->path, "/docker/" A);
	CHECK_STR(cgroup->container->name, "web");
	cgroup = hl_cgroups_get(cgroups, HL_CGROUP_V1_MEMORY, b);
	CHECK(cgroup && cgroup->container);
	CHECK_STR(cgroup->container->name, "bbbbbbbbbbbb");
	/* The kind is part of what it is. */
	CHECK(!hl_cgroups_get(cgroups, HL_CGROUP_V1_MEMORY, a));
	hl_cgroups_stats(cgroups, &stats);
	CHECK_INT(stats.n, 2);
	CHECK_INT(stats.unknown, 0);
	CHECK_INT(stats.containers, 2);
	CHECK_INT(stats.undescribed, 1);
	hl_cgroups_expire(cgroups, UINT64_MAX);
	CHECK(!hl_cgroups_get(cgroups, HL_CGROUP_V2, a));
	hl_cgroups_free(cgroups);
	hl_window_done(&window);
	(void)close(fd);
	sh("rm -r %s", host);
}

/* A process that has moved is not believed; one that is gone is not asked for ever. */
HL_TEST(moved_and_gone)
{
	int fd = new_host();
	struct hl_cgroups *cgroups = hl_cgroups_new(fd, NULL);
	struct hl_cgroups_stats stats;
	struct hl_window window = { 0 };
	uint64_t a;

	sh("mkdir -p v2/a.service v2/b.service proc/10; echo '0::/b.service' >proc/10/cgroup");
	a = inode_of("v2/a.service");
	add_sample(&window, 10, HL_CGROUP_V2, a);
	for (int i = 0; i < 3; i++)
		hl_cgroups_look(cgroups, &window, 0);
	CHECK(!hl_cgroups_get(cgroups, HL_CGROUP_V2, a)->path);
	hl_cgroups_stats(cgroups, &stats);
	CHECK_INT(stats.unknown, 1);
	/* Another of its processes tells. */
	sh("mkdir -p proc/12; echo '0::/a.service' >proc/12/cgroup");
	add_sample(&window, 12, HL_CGROUP_V2, a);
	hl_cgroups_look(cgroups, &window, 1);
	CHECK_STR(hl_cgroups_get(cgroups, HL_CGROUP_V2, a)->path, "/a.service");
	CHECK_STR(hl_cgroups_get(cgroups, HL_CGROUP_V2, a)->unit, "a.service");
	hl_cgroups_free(cgroups);
	hl_window_done(&window);
	(void)close(fd);
	sh("rm -r %s", host);
}

/* Before any drain, by a process that ran a new file. */
HL_TEST(seen_at_its_first_file)
{
	int fd = new_host();
	struct hl_cgroups *cgroups = hl_cgroups_new(fd, NULL);
	uint64_t a, b;

	sh("mkdir -p v2/a.service v1/lxc/box proc/10 proc/11; echo '0::/a.service' >proc/10/cgroup;"
	   "printf '9:memory:/lxc/box\\n0::/\\n' >proc/11/cgroup");
	a = inode_of("v2/a.service");
	b = inode_of("v1/lxc/box");
	hl_cgroups_look_at(cgroups, 10);
	hl_cgroups_look_at(cgroups, 11);
	hl_cgroups_look_at(cgroups, 12);
	sh("rm -r proc/10 proc/11 v2/a.service");
	CHECK_STR(hl_cgroups_get(cgroups, HL_CGROUP_V2, a)->unit, "a.service");
	CHECK_STR(hl_cgroups_get(cgroups, HL_CGROUP_V1_MEMORY, b)->container->runtime, "lxc");
	hl_cgroups_free(cgroups);
	(void)close(fd);
	sh("rm -r %s", host);
}

/* A host that is watched, with what there is already. */
static int new_watched_host(struct hl_cgroups **ret, struct hl_cgroup_watch **ret_watch)
{
	int fd = new_host();

	sh("mkdir -p v2/docker v1/old/lxc.payload.box/below");
	*ret = hl_cgroups_new(fd, NULL);
	*ret_watch = *ret ? hl_cgroup_watch_new(*ret, fd) : NULL;
	CHECK(*ret_watch && hl_cgroup_watch_fd(*ret_watch) >= 0);
	return fd;
}

static void check_unknown(struct hl_cgroups *cgroups, uint64_t want)
{
	struct hl_cgroups_stats stats;

	hl_cgroups_stats(cgroups, &stats);
	CHECK_INT(stats.unknown, want);
}

/* It was gone, its files too, when its first sample was looked at; it ran nothing that was new. */
HL_TEST(seen_when_it_was_made)
{
	struct hl_cgroup_watch *watch;
	struct hl_cgroups *cgroups;
	const struct hl_cgroup *cgroup;
	struct hl_window window = { 0 };
	struct hl_cgroups_stats stats;
	int fd = new_watched_host(&cgroups, &watch);
	uint64_t a, b, deep;

	sh("mkdir -p root/var/lib/docker/containers/%s v2/docker/%s;"
	   "echo '{\"Name\":\"/web\"}' >root/var/lib/docker/containers/%s/config.v2.json;"
	   "mkdir -p v1/old/lxc.payload.new v2/x.slice/y.slice/z.service",
	   A, A, A);
	a = inode_of("v2/docker/" A);
	b = inode_of("v1/old/lxc.payload.new");
	deep = inode_of("v2/x.slice/y.slice/z.service");
	hl_cgroup_watch_take(watch);
	check_unknown(cgroups, 0);
	hl_cgroups_stats(cgroups, &stats);
	CHECK_INT(stats.n, 0); /* nothing ran in them so far */
	sh("rm -r v2/docker/%s v1/old/lxc.payload.new v2/x.slice root/var", A);
	hl_cgroup_watch_take(watch);
	add_sample(&window, 10, HL_CGROUP_V2, a);
	add_sample(&window, 11, HL_CGROUP_V1_MEMORY, b);
	add_sample(&window, 12, HL_CGROUP_V2, deep);
	add_sample(&window, 13, HL_CGROUP_V2, 1);
	hl_cgroups_look(cgroups, &window, 0);
	cgroup = hl_cgroups_get(cgroups, HL_CGROUP_V2, a);
	CHECK(cgroup && cgroup->container);
	CHECK_STR(cgroup->path, "/docker/" A);
	CHECK_STR(cgroup->container->name, "web");
	CHECK_STR(hl_cgroups_get(cgroups, HL_CGROUP_V1_MEMORY, b)->container->name, "new");
	CHECK_STR(hl_cgroups_get(cgroups, HL_CGROUP_V2, deep)->unit, "z.service");
	check_unknown(cgroups, 1);
	hl_cgroups_stats(cgroups, &stats);
	CHECK_INT(stats.containers, 2);
	CHECK_INT(stats.n, 4);
	hl_cgroup_watch_free(watch);
	hl_cgroups_free(cgroups);
	hl_window_done(&window);
	(void)close(fd);
	sh("rm -r %s", host);
}

/* What its runtime wrote only after the cgroup was made is read when there is a sample. */
HL_TEST(described_late)
{
	struct hl_cgroup_watch *watch;
	struct hl_cgroups *cgroups;
	struct hl_window window = { 0 };
	int fd = new_watched_host(&cgroups, &watch);
	uint64_t a;

	sh("mkdir -p v2/docker/%s", A);
	hl_cgroup_watch_take(watch);
	sh("mkdir -p root/var/lib/docker/containers/%s proc/10; echo '0::/docker/%s' >proc/10/cgroup;"
	   "echo '{\"Name\":\"/web\"}' >root/var/lib/docker/containers/%s/config.v2.json",
	   A, A, A);
	a = inode_of("v2/docker/" A);
	hl_cgroups_look_at(cgroups, 10);
	CHECK_STR(hl_cgroups_get(cgroups, HL_CGROUP_V2, a)->container->name, "web");
	/* One that no sample names goes, too. */
	sh("mkdir -p v2/docker/%s", B);
	hl_cgroup_watch_take(watch);
	CHECK(hl_cgroups_get(cgroups, HL_CGROUP_V2, inode_of("v2/docker/" B)));
	hl_cgroups_expire(cgroups, UINT64_MAX);
	CHECK(!hl_cgroups_get(cgroups, HL_CGROUP_V2, inode_of("v2/docker/" B)));
	hl_cgroup_watch_free(watch);
	hl_cgroups_free(cgroups);
	hl_window_done(&window);
	(void)close(fd);
	sh("rm -r %s", host);
}

/* A container may make cgroups as it likes: that takes no memory of ours. */
HL_TEST(what_containers_make_below_themselves)
{
	struct hl_cgroup_watch *watch;
	struct hl_cgroups *cgroups;
	int fd = new_watched_host(&cgroups, &watch);

	sh("mkdir -p v1/old/lxc.payload.box/one/two v1/old/lxc.payload.box/below/three");
	hl_cgroup_watch_take(watch);
	/* As runtimes do it, the first below; and no other. */
	CHECK(hl_cgroups_get(cgroups, HL_CGROUP_V1_MEMORY, inode_of("v1/old/lxc.payload.box/one")));
	CHECK(!hl_cgroups_get(cgroups, HL_CGROUP_V1_MEMORY, inode_of("v1/old/lxc.payload.box/one/two")));
	CHECK(!hl_cgroups_get(cgroups, HL_CGROUP_V1_MEMORY, inode_of("v1/old/lxc.payload.box/below/three")));
	sh("cd v1/old/lxc.payload.box; mkdir $(seq -f s%%g 3000)");
	hl_cgroup_watch_take(watch);
	check_unknown(cgroups, 0);
	CHECK(!hl_cgroups_get(cgroups, HL_CGROUP_V1_MEMORY, inode_of("v1/old/lxc.payload.box/s3000")));
	hl_cgroup_watch_free(watch);
	hl_cgroups_free(cgroups);
	(void)close(fd);
	sh("rm -r %s", host);
}

HL_TEST(pid_namespaces)
{
	int fd = new_host();
	struct hl_cgroups *cgroups = hl_cgroups_new(fd, NULL);
	struct hl_window window = { 0 };

	sh("mkdir -p proc/10/ns proc/11/ns proc/12/ns;"
	   "ln -s 'pid:[4026531836]' proc/10/ns/pid; ln -s 'pid:[4026532000]' proc/11/ns/pid;"
	   "ln -s 'pid:[4026532000]' proc/12/ns/pid;"
	   "printf '5:pids:/system.slice/a.service\\n0::/\\n' >proc/10/cgroup;"
	   "printf '5:pids:/docker/%s\\n0::/\\n' >proc/11/cgroup; cp proc/11/cgroup proc/12/cgroup",
	   A);
	add_sample(&window, 10, HL_CGROUP_PID_NS, 4026531836);
	add_sample(&window, 11, HL_CGROUP_PID_NS, 4026532000);
	add_sample(&window, 12, HL_CGROUP_PID_NS, 4026532001); /* it has another by now */
	hl_cgroups_look(cgroups, &window, 0);
	/* One process of the host does not speak for the others. */
	CHECK_STR(hl_cgroups_get(cgroups, HL_CGROUP_PID_NS, 4026531836)->path, "/");
	CHECK_STR(hl_cgroups_get(cgroups, HL_CGROUP_PID_NS, 4026532000)->container->runtime, "docker");
	CHECK(!hl_cgroups_get(cgroups, HL_CGROUP_PID_NS, 4026532001)->path);
	hl_cgroups_free(cgroups);
	hl_window_done(&window);
	(void)close(fd);
	sh("rm -r %s", host);
}

/* ---- runtimes that are asked ------------------------------------------------------------------------------ */

/* Two cgroups of container A, one of B, and a process in each; whose runtime has a socket and no files. */
static int new_asking_host(struct hl_cgroups **ret)
{
	static char path[64];
	const char *paths[] = { path };
	int fd = new_host();

	(void)snprintf(path, sizeof(path), "%s/socket", host);
	sh("mkdir -p v2/docker/%s/init v2/docker/%s proc/10 proc/11 proc/12;"
	   "echo '0::/docker/%s' >proc/10/cgroup; echo '0::/docker/%s/init' >proc/11/cgroup;"
	   "echo '0::/docker/%s' >proc/12/cgroup",
	   A, B, A, A, B);
	*ret = hl_cgroups_new(fd, NULL);
	CHECK(*ret);
	CHECK_INT(hl_cgroups_ask_fd(*ret), -1);
	CHECK_INT(hl_cgroups_use_sockets(*ret, paths, 1), 0);
	CHECK(hl_cgroups_ask_fd(*ret) >= 0);
	return fd;
}

static struct runtime_server *start_runtime(const char *status, const char *body)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/socket", host);
	return runtime_start_http(path, status, body);
}

static void done_asking_host(int fd, struct hl_cgroups *cgroups)
{
	hl_cgroups_free(cgroups);
	(void)close(fd);
	sh("rm -r %s", host);
}

static struct hl_cgroups_stats stats_of(struct hl_cgroups *cgroups)
{
	struct hl_cgroups_stats stats;

	hl_cgroups_stats(cgroups, &stats);
	return stats;
}

static bool has_questions(struct hl_cgroups *cgroups)
{
	struct pollfd can_ask = { .fd = hl_cgroups_ask_fd(cgroups), .events = POLLIN };

	return poll(&can_ask, 1, 0) == 1;
}

#define WEB "{\"Id\":\"" A "\",\"Name\":\"/web\",\"Config\":{\"Image\":\"bb:1\",\"Labels\":{\"a\":\"b\"}}}"

HL_TEST(asked_where_no_file_was)
{
	struct hl_cgroups *cgroups;
	int fd = new_asking_host(&cgroups);
	struct runtime_server *server = start_runtime("200 OK", WEB);
	const struct hl_cgroup *cgroup;

	CHECK_INT(hl_cgroups_ask(cgroups), -1);
	CHECK(!has_questions(cgroups));
	hl_cgroups_look_at(cgroups, 10);
	CHECK(has_questions(cgroups));
	CHECK_INT(stats_of(cgroups).undescribed, 1);
	CHECK_INT(stats_of(cgroups).unanswered, 1);
	CHECK_INT(hl_cgroups_ask(cgroups), 0);
	CHECK_INT(hl_cgroups_ask(cgroups), -1);
	CHECK(!has_questions(cgroups));
	cgroup = hl_cgroups_get(cgroups, HL_CGROUP_V2, inode_of("v2/docker/" A));
	CHECK_STR(cgroup->path, "/docker/" A);
	CHECK_STR(cgroup->container->name, "web");
	CHECK_STR(cgroup->container->image, "bb:1");
	CHECK_STR(hl_container_label(cgroup->container, "a"), "b");
	CHECK_INT(stats_of(cgroups).undescribed, 0);
	CHECK_INT(stats_of(cgroups).unanswered, 0);
	/* Once a container, not a cgroup. */
	hl_cgroups_look_at(cgroups, 11);
	CHECK_INT(hl_cgroups_ask(cgroups), 0);
	CHECK_INT(hl_cgroups_ask(cgroups), -1);
	cgroup = hl_cgroups_get(cgroups, HL_CGROUP_V2, inode_of("v2/docker/" A "/init"));
	CHECK_STR(cgroup->container->name, "web");
	CHECK_INT(stats_of(cgroups).containers, 2);
	CHECK_INT(stats_of(cgroups).undescribed, 0);
	CHECK_INT(runtime_asked(server, NULL), 1);
	/* Of another it says what is not believed, and is not asked again. */
	hl_cgroups_look_at(cgroups, 12);
	CHECK_INT(hl_cgroups_ask(cgroups), 0);
	CHECK_INT(hl_cgroups_ask(cgroups), -1);
	cgroup = hl_cgroups_get(cgroups, HL_CGROUP_V2, inode_of("v2/docker/" B));
	CHECK_STR(cgroup->container->name, "bbbbbbbbbbbb");
	CHECK_INT(stats_of(cgroups).failures, 1);
	CHECK(strstr(stats_of(cgroups).failure, "another container"));
	CHECK_INT(stats_of(cgroups).undescribed, 1);
	CHECK_INT(stats_of(cgroups).unanswered, 0);
	/* What one of them has is the other's as long as it is there. */
	hl_cgroups_expire(cgroups, UINT64_MAX);
	CHECK_INT(runtime_asked(server, NULL), 2);
	runtime_stop(server);
	done_asking_host(fd, cgroups);
}

HL_TEST(not_asked_where_a_file_was)
{
	struct hl_cgroups *cgroups;
	int fd = new_asking_host(&cgroups);
	struct runtime_server *server = start_runtime("200 OK", WEB);

	sh("mkdir -p root/var/lib/docker/containers/%s;"
	   "echo '{\"Name\":\"/file\"}' >root/var/lib/docker/containers/%s/config.v2.json",
	   A, A);
	hl_cgroups_look_at(cgroups, 10);
	CHECK(!has_questions(cgroups));
	CHECK_INT(hl_cgroups_ask(cgroups), -1);
	CHECK_STR(hl_cgroups_get(cgroups, HL_CGROUP_V2, inode_of("v2/docker/" A))->container->name, "file");
	CHECK_INT(runtime_asked(server, NULL), 0);
	runtime_stop(server);
	done_asking_host(fd, cgroups);
}

/* Who has seen the container without a name does not see it change; who asks later has it. */
HL_TEST(an_answer_that_is_late)
{
	struct hl_cgroups *cgroups;
	int fd = new_asking_host(&cgroups);
	const struct hl_cgroup *before, *after;
	struct runtime_server *server;

	hl_cgroups_look_at(cgroups, 10);
	hl_cgroups_look_at(cgroups, 11);
	before = hl_cgroups_get(cgroups, HL_CGROUP_V2, inode_of("v2/docker/" A));
	CHECK_STR(before->container->name, "aaaaaaaaaaaa");
	server = start_runtime("200 OK", WEB);
	CHECK_INT(hl_cgroups_ask(cgroups), 0);
	CHECK_INT(hl_cgroups_ask(cgroups), 0);
	CHECK_INT(hl_cgroups_ask(cgroups), -1);
	CHECK_INT(runtime_asked(server, NULL), 1);
	after = hl_cgroups_get(cgroups, HL_CGROUP_V2, inode_of("v2/docker/" A));
	CHECK(after != before && after->id == before->id);
	CHECK_STR(before->container->name, "aaaaaaaaaaaa");
	CHECK_STR(after->container->name, "web");
	CHECK_STR(after->path, "/docker/" A);
	CHECK(after == hl_cgroups_get(cgroups, HL_CGROUP_V2, inode_of("v2/docker/" A)));
	/* Of this one nobody had seen anything. */
	after = hl_cgroups_get(cgroups, HL_CGROUP_V2, inode_of("v2/docker/" A "/init"));
	CHECK_STR(after->container->name, "web");
	runtime_stop(server);
	done_asking_host(fd, cgroups);
}

/* It is left alone for a while, and asked again then; nobody waits for it meanwhile. */
HL_TEST(a_runtime_that_fails)
{
	struct hl_cgroups *cgroups;
	int fd = new_asking_host(&cgroups), wait_ms;
	struct runtime_server *server = start_runtime("500 Internal Server Error", "");

	hl_cgroups_look_at(cgroups, 10);
	hl_cgroups_look_at(cgroups, 12);
	CHECK_INT(hl_cgroups_ask(cgroups), 0);
	CHECK_INT(hl_cgroups_ask(cgroups), 0);
	wait_ms = hl_cgroups_ask(cgroups);
	CHECK(wait_ms > 0 && wait_ms <= HL_ASK_REST_S * 1000 + 1);
	CHECK_INT(runtime_asked(server, NULL), 1);
	CHECK_STR(hl_cgroups_get(cgroups, HL_CGROUP_V2, inode_of("v2/docker/" A))->container->name,
		  "aaaaaaaaaaaa");
	CHECK_INT(stats_of(cgroups).failures, 1);
	CHECK(strstr(stats_of(cgroups).failure, "status 500"));
	CHECK_INT(stats_of(cgroups).unanswered, 2);
	/* What goes has no question any more. */
	hl_cgroups_expire(cgroups, UINT64_MAX);
	CHECK_INT(hl_cgroups_ask(cgroups), -1);
	CHECK_INT(stats_of(cgroups).unanswered, 0);
	runtime_stop(server);
	done_asking_host(fd, cgroups);
}

/* Asked when it was made, it has its name when it is sampled, also where a file could not be used. */
static void ask_early(bool gone)
{
	struct hl_cgroups *cgroups;
	int fd = new_asking_host(&cgroups);
	struct runtime_server *server = start_runtime("200 OK", WEB);
	struct hl_cgroup_watch *watch = hl_cgroup_watch_new(cgroups, fd);
	struct hl_window window = { 0 };
	uint64_t a;

	sh("rmdir v2/docker/%s/init v2/docker/%s", A, A);
	CHECK(watch);
	hl_cgroup_watch_take(watch);
	sh("mkdir -p v2/docker/%s root/var/lib/docker/containers/%s;"
	   "echo '{' >root/var/lib/docker/containers/%s/config.v2.json",
	   A, A, A);
	hl_cgroup_watch_take(watch);
	a = inode_of("v2/docker/" A);
	CHECK_INT(hl_cgroups_ask(cgroups), 0);
	CHECK_INT(hl_cgroups_ask(cgroups), -1);
	if (gone) {
		sh("rm -r v2/docker/%s proc/10", A);
		add_sample(&window, 10, HL_CGROUP_V2, a);
		hl_cgroups_look(cgroups, &window, 0);
	} else {
		hl_cgroups_look_at(cgroups, 10);
	}
	CHECK_STR(hl_cgroups_get(cgroups, HL_CGROUP_V2, a)->path, "/docker/" A);
	CHECK_STR(hl_cgroups_get(cgroups, HL_CGROUP_V2, a)->container->name, "web");
	CHECK_INT(stats_of(cgroups).containers, 1);
	CHECK_INT(stats_of(cgroups).undescribed, 0);
	CHECK_INT(runtime_asked(server, NULL), 1);
	CHECK_INT(hl_cgroups_ask(cgroups), -1);
	hl_cgroup_watch_free(watch);
	hl_window_done(&window);
	runtime_stop(server);
	done_asking_host(fd, cgroups);
}

HL_TEST(asked_when_it_was_made)
{
	ask_early(/* gone= */ false);
}

HL_TEST(asked_when_it_was_made_and_gone_since)
{
	ask_early(/* gone= */ true);
}
