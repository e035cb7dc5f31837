// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample process tests/boltwriter tests/shell */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "boltwriter.h"
#include "harness.h"
#include "process/cgroup_path.h"
#include "process/container.h"
#include "shell.h"

#define ID  "4f4e7bd2cbd1b0b6dbd3ba5ae5b4d2e1bb1d4bbd1f6b8f6b9c0e4b65f0a1c2d3"
#define UID "2f5fa8f1-3b5f-4a5e-9d8a-0c1d2e3f4a5b"
#define POD "/kubepods/burstable/pod" UID "/" ID

#define TASKS   "run/containerd/io.containerd.runtime.v2.task/"
#define STORAGE "var/lib/containers/storage/overlay-containers/"
#define DOCKER  "var/lib/docker/containers/" ID "/config.v2.json"

/* An empty directory, in which a test makes the files that a host has below its root. */
static char root[] = "/tmp/hl-container-XXXXXX";

static int new_root(void)
{
	CHECK(mkdtemp(root));
	return open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void done_root(int fd)
{
	(void)close(fd);
	must("rm -r %s", root);
}

static void put_file(const char *path, const char *text, size_t len)
{
	char full[512];
	FILE *f;

	(void)snprintf(full, sizeof(full), "%s/%s", root, path);
	for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		CHECK(mkdir(full, 0700) == 0 || errno == EEXIST);
	}
	f = fopen(full, "w");
	CHECK(f);
	CHECK_INT(fwrite(text, 1, len, f), len);
	CHECK_INT(fclose(f), 0);
}

static void put_text(const char *path, const char *text)
{
	put_file(path, text, strlen(text));
}

/* What it said of the last. */
static char said[512];

static struct hl_container *read_as(int fd, const char *path, int want)
{
	struct hl_container *container = NULL;
	struct hl_cgroup_place place;
	struct hl_err err = { "" };

	hl_cgroup_parse(path, &place);
	CHECK(place.runtime);
	CHECK_INT(hl_container_read(NULL, fd, &place, &container, &err), want);
	CHECK(container);
	CHECK_INT(err.text[0] != '\0', want != 0);
	(void)snprintf(said, sizeof(said), "%s", err.text);
	return container;
}

HL_TEST(docker_compose)
{
	int fd = new_root();
	struct hl_container *c;

	put_text(DOCKER,
		 "{\"ID\":\"" ID "\",\"Name\":\"/shop-web-1\",\"Config\":{\"Image\":\"nginx:1.25\",\"Env\":"
		 "[\"PASSWORD=x\"],\"Labels\":{\"com.docker.compose.project\":\"shop\","
		 "\"com.docker.compose.service\":\"web\",\"team\":\"a;b\\n\",\"n\":1}}}");
	c = read_as(fd, "/system.slice/docker-" ID ".scope", 0);
	CHECK_STR(c->runtime, "docker");
	CHECK_STR(c->id, ID);
	CHECK_STR(c->name, "shop-web-1");
	CHECK_STR(c->image, "nginx:1.25");
	CHECK_STR(c->service, "shop/web");
	CHECK_STR(hl_container_label(c, "team"), "a;b\n");
	CHECK(!hl_container_label(c, "n"));
	CHECK(!c->pod && !c->namespace && !c->workload);
	hl_container_free(c);
	/* A user can give a cgroup of its own that name: then the id is all that is believed. */
	c = read_as(fd, "/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID ".scope", 0);
	CHECK_STR(c->name, "4f4e7bd2cbd1");
	CHECK(!c->image && !c->described && c->n_labels == 0);
	hl_container_free(c);
	done_root(fd);
}

HL_TEST(kubernetes_of_containerd)
{
	int fd = new_root();
	struct hl_container *c;

	put_text(TASKS "k8s.io/" ID "/config.json",
		 "{\"process\":{\"env\":[\"A=b\"]},\"annotations\":{\"io.kubernetes.cri.container-name\":"
		 "\"app\","
		 "\"io.kubernetes.cri.container-type\":\"container\",\"io.kubernetes.cri.image-name\":"
		 "\"reg.example/shop:2\",\"io.kubernetes.cri.sandbox-name\":\"shop-7c5ddbdf54-x2k9p\","
		 "\"io.kubernetes.cri.sandbox-namespace\":\"prod\"}}");
	/* In cgroupfs form the path does not tell the runtime; in systemd's it does. */
	for (int i = 0; i < 2; i++) {
		c = read_as(fd,
			    i ? "/kubepods.slice/kubepods-pod2f5fa8f1_3b5f_4a5e_9d8a_0c1d2e3f4a5b.slice/"
				"cri-containerd-" ID ".scope"
			      : POD,
			    0);
		CHECK_STR(c->runtime, "containerd");
		CHECK_STR(c->pod_uid, UID);
		CHECK_STR(c->name, "app");
		CHECK_STR(c->pod, "shop-7c5ddbdf54-x2k9p");
		CHECK_STR(c->namespace, "prod");
		CHECK_STR(c->workload, "shop");
		CHECK_STR(c->service, "prod/shop/app");
		CHECK_STR(c->image, "reg.example/shop:2");
		hl_container_free(c);
	}
	done_root(fd);
}

HL_TEST(kubernetes_of_cri_o)
{
	int fd = new_root();
	struct hl_container *c;

	put_text("run/containers/storage/overlay-containers/" ID "/userdata/config.json",
		 "{\"annotations\":{\"io.kubernetes.cri-o.Labels\":\"{\\\"io.kubernetes.container.name\\\":"
		 "\\\"db\\\","
		 "\\\"io.kubernetes.pod.name\\\":\\\"db-0\\\",\\\"io.kubernetes.pod.namespace\\\":"
		 "\\\"prod\\\"}\","
		 "\"io.kubernetes.cri-o.ImageName\":\"pg:15\"}}");
	c = read_as(fd, "/kubepods/burstable/pod" UID "/crio-" ID, 0);
	CHECK_STR(c->runtime, "cri-o");
	CHECK_STR(c->service, "prod/db/db");
	CHECK_STR(c->image, "pg:15");
	hl_container_free(c);
	done_root(fd);
}

HL_TEST(kubernetes_of_docker)
{
	int fd = new_root();
	struct hl_container *c;

	put_text(DOCKER, "{\"Name\":\"/k8s_app_web-abcde_prod_" UID "_0\",\"Config\":{\"Labels\":{"
			 "\"io.kubernetes.container.name\":\"app\",\"io.kubernetes.pod.namespace\":\"prod\","
			 "\"io.kubernetes.pod.name\":\"node-exporter-x7k2m\"}}}");
	c = read_as(fd, POD, 0);
	CHECK_STR(c->runtime, "docker");
	CHECK_STR(c->name, "app");
	CHECK_STR(c->service, "prod/node-exporter/app");
	hl_container_free(c);
	done_root(fd);
}

/* Where the runtime left nothing, the kubelet did. */
HL_TEST(pod_by_its_logs)
{
	int fd = new_root();
	struct hl_container *c;

	put_text("var/log/pods/prod_other-0_00000000-3b5f-4a5e-9d8a-0c1d2e3f4a5b/app/0.log", "");
	put_text("var/log/pods/prod_web-0_" UID "/app/0.log", "");
	c = read_as(fd, POD, 0);
	CHECK_STR(c->runtime, "kubernetes");
	CHECK_STR(c->namespace, "prod");
	CHECK_STR(c->pod, "web-0");
	CHECK_STR(c->name, "4f4e7bd2cbd1");
	hl_container_free(c);
	done_root(fd);
}

HL_TEST(podman)
{
	int fd = new_root();
	struct hl_container *c;

	put_text(STORAGE ID "/userdata/config.json",
		 "{\"annotations\":{\"io.container.manager\":\"libpod\",\"team\":\"a\"}}");
	put_text(STORAGE "containers.json",
		 "[{\"id\":\"other\",\"names\":[\"no\"]},{\"id\":\"" ID "\",\"names\":[\"burn\"],"
		 "\"metadata\":\"{\\\"image-name\\\":\\\"localhost/bb:1\\\"}\"}]");
	c = read_as(fd, "/machine.slice/libpod-" ID ".scope/container", 0);
	CHECK_STR(c->runtime, "podman");
	CHECK_STR(c->name, "burn");
	CHECK_STR(c->image, "localhost/bb:1");
	CHECK_STR(hl_container_label(c, "team"), "a");
	CHECK(!c->service);
	hl_container_free(c);
	done_root(fd);
}

/* What podman's database says of container ID, and of another. */
static void put_database(const char *config)
{
	uint8_t inner[512] = { 0 }, ctr[1024] = { 0 }, file[4 * BOLT_PAGE] = { 0 };
	size_t inner_len =
		16 + bolt_page(inner + 16, 0, 0,
			       (struct bolt_element[]){ { "config", config, strlen(config), 0, 0 } }, 1);
	size_t ctr_len =
		16 + bolt_page(ctr + 16, 0, 0, (struct bolt_element[]){ { ID, inner, inner_len, 0, 1 } }, 1);

	bolt_meta(file, 0, 3, 1);
	bolt_meta(file, 1, 3, 2);
	(void)bolt_page(file + 3 * BOLT_PAGE, 3, 0, (struct bolt_element[]){ { "ctr", ctr, ctr_len, 0, 1 } },
			1);
	put_file("var/lib/containers/storage/libpod/bolt_state.db", (const char *)file, sizeof(file));
}

HL_TEST(labels_of_podman)
{
	static const char path[] = "/machine.slice/libpod-" ID ".scope";
	struct hl_container *c = NULL;
	struct hl_cgroup_place place;
	struct hl_err err = { "" };
	int fd = new_root();

	put_database("{\"id\":\"" ID "\",\"name\":\"web\",\"labels\":"
		     "{\"io.podman.compose.project\":\"shop\",\"io.podman.compose.service\":\"front\"}}");
	hl_cgroup_parse(path, &place);
	CHECK_INT(hl_container_read(NULL, fd, &place, &c, &err), 0);
	CHECK_STR(c->name, "web");
	CHECK_STR(c->service, "shop/front");
	CHECK_STR(hl_container_label(c, "io.podman.compose.service"), "front");
	hl_container_free(c);
	/* Something else under its id */
	put_database("{\"id\":\"x\",\"name\":\"web\"}");
	CHECK_INT(hl_container_read(NULL, fd, &place, &c, &err), -EBADMSG);
	CHECK(strstr(err.text, "libpod/bolt_state.db"));
	CHECK_STR(c->name, "4f4e7bd2cbd1");
	hl_container_free(c);
	done_root(fd);
}

#define OTHER "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* podman's database as it is from 4.8 on. */
static void put_sqlite(const char *path, const char *config, const char *pod)
{
	char full[512];
	char *sql;
	sqlite3 *db;

	put_text(path, "");
	(void)snprintf(full, sizeof(full), "%s/%s", root, path);
	CHECK_INT(sqlite3_open(full, &db), 0);
	sql = sqlite3_mprintf("CREATE TABLE ContainerConfig(ID TEXT PRIMARY KEY NOT NULL, Name TEXT UNIQUE "
			      "NOT NULL, PodID TEXT, "
			      "JSON TEXT NOT NULL); CREATE TABLE PodConfig(ID TEXT PRIMARY KEY NOT NULL, "
			      "Name TEXT UNIQUE NOT "
			      "NULL, JSON TEXT NOT NULL); INSERT INTO ContainerConfig VALUES (%Q, 'web', %Q, "
			      "CAST(%Q AS BLOB)); "
			      "INSERT INTO PodConfig VALUES (%Q, 'shop', CAST(%Q AS BLOB))",
			      ID, OTHER, config, OTHER, pod);
	CHECK_INT(sqlite3_exec(db, sql, NULL, NULL, NULL), 0);
	sqlite3_free(sql);
	(void)sqlite3_close(db);
}

HL_TEST(podman_by_its_sqlite_database)
{
	static const char *const paths[] = { "var/lib/containers/storage/db.sql",
					     "run/containers/storage/db.sql" };
	static const char config[] = "{\"id\":\"" ID "\",\"name\":\"web\",\"pod\":\"" OTHER
				     "\",\"rootfsImageName\":\"localhost/bb:1\",\"labels\":{\"team\":\"a\"}}";
	struct hl_container *c;
	int fd;

	for (int i = 0; i < 2; i++) {
		fd = new_root();
		put_sqlite(paths[i], config, "{\"id\":\"" OTHER "\",\"name\":\"shop\"}");
		c = read_as(fd, "/machine.slice/libpod-" ID ".scope", 0);
		CHECK_STR(c->name, "web");
		CHECK_STR(c->image, "localhost/bb:1");
		CHECK_STR(c->pod, "shop");
		CHECK_STR(hl_container_label(c, "team"), "a");
		hl_container_free(c);
		done_root(fd);
		(void)snprintf(root, sizeof(root), "/tmp/hl-container-XXXXXX");
	}
	fd = new_root();
	put_sqlite(paths[0], config, "[1]");
	c = read_as(fd, "/machine.slice/libpod-" ID ".scope", -EBADMSG);
	CHECK_STR(c->name, "web");
	CHECK_STR(c->pod_uid, OTHER);
	CHECK(!c->pod);
	hl_container_free(c);
	put_text(paths[0], "damaged");
	c = read_as(fd, "/machine.slice/libpod-" ID ".scope", -EBADMSG);
	CHECK_STR(c->name, "4f4e7bd2cbd1");
	CHECK_STR(said,
		  "'/var/lib/containers/storage/db.sql' is damaged, or of a form that is not known here");
	hl_container_free(c);
	done_root(fd);
}

HL_TEST(runc_and_crun)
{
	int fd = new_root();
	struct hl_container *c;

	put_text("run/runc/box/state.json", "{\"config\":{\"labels\":[\"bundle=/b\",\"team=a=b\"]}}");
	put_text("run/crun/box/config.json", "{\"annotations\":{\"team\":\"c\"}}");
	c = read_as(fd, "/system.slice/runc-box.scope", 0);
	CHECK_STR(c->name, "box");
	CHECK_STR(hl_container_label(c, "team"), "a=b");
	CHECK(!hl_container_label(c, "bundle"));
	hl_container_free(c);
	c = read_as(fd, "/system.slice/crun-box.scope", 0);
	CHECK_STR(hl_container_label(c, "team"), "c");
	hl_container_free(c);
	done_root(fd);
}

HL_TEST(machines)
{
	int fd = new_root();
	struct hl_container *c = read_as(fd, "/machine.slice/machine-my\\x2ddeb.scope/payload", 0);

	CHECK_STR(c->id, "my-deb");
	CHECK_STR(c->name, "my-deb");
	hl_container_free(c);
	/* "\x2f..": a '/' that would lead elsewhere. */
	put_text("run/runc/x/state.json", "{\"config\":{\"labels\":[\"a=b\"]}}");
	c = read_as(fd, "/system.slice/runc-y\\x2f..\\x2fx.scope", 0);
	CHECK_STR(c->name, "y/../x");
	CHECK_INT(c->n_labels, 0);
	hl_container_free(c);
	done_root(fd);
}

static void refused(int fd, const char *text, size_t len, int want)
{
	struct hl_container *c;

	put_file(DOCKER, text, len);
	c = read_as(fd, "/docker/" ID, want);
	CHECK_STR(c->name, "4f4e7bd2cbd1");
	CHECK(!c->image);
	hl_container_free(c);
}

/* A file that cannot be used is said, and leaves what the path tells. */
HL_TEST(files_with_damage)
{
	static char big[(1 << 20) + 2];
	int fd = new_root();
	char link[512];

	refused(fd, "", 0, -EBADMSG);
	refused(fd, "{\"Name\":\"/w", 11, -EBADMSG);
	refused(fd, "[1]", 3, 0);
	refused(fd, "{\"Name\":[{}],\"Config\":7}", 24, 0);
	memset(big, '[', sizeof(big));
	refused(fd, big, 4096, -EBADMSG);
	refused(fd, big, sizeof(big), -EFBIG);
	/* No file at all, but something that blocks whoever opens it. */
	(void)snprintf(link, sizeof(link), "%s/%s", root, DOCKER);
	CHECK_INT(unlink(link), 0);
	CHECK_INT(mkfifo(link, 0600), 0);
	hl_container_free(read_as(fd, "/docker/" ID, -EMEDIUMTYPE));
	done_root(fd);
}

HL_TEST(labels_beyond_the_limits)
{
	static char text[1 << 19];
	size_t n = (size_t)snprintf(text, sizeof(text),
				    "{\"Name\":\"/web\",\"Config\":{\"Labels\":{\"long\":\"");
	int fd = new_root();
	struct hl_container *c;

	memset(text + n, 'x', 70000);
	n += 70000;
	n += (size_t)snprintf(text + n, sizeof(text) - n, "\"");
	for (int i = 0; i < 1000; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, ",\"k%d\":\"v\"", i);
	n += (size_t)snprintf(text + n, sizeof(text) - n, "}}}");
	put_file(DOCKER, text, n);
	c = read_as(fd, "/docker/" ID, 0);
	CHECK_STR(c->name, "web");
	CHECK_INT(c->n_labels + c->labels_dropped, 1001);
	CHECK(c->n_labels >= 32);
	CHECK(!hl_container_label(c, "long"));
	CHECK_STR(hl_container_label(c, "k0"), "v");
	hl_container_free(c);
	done_root(fd);
}

HL_TEST(workloads_of_pods)
{
	static const char *const cases[][2] = {
		{ "shop-7c5ddbdf54-x2k9p", "shop" }, /* Deployment */
		{ "my-shop-586b5944d9-bx7rc", "my-shop" },
		{ "coredns-5d78c9869d-nl2vk", "coredns" },
		{ "node-exporter-x7k2m", "node-exporter" }, /* DaemonSet */
		{ "db-0", "db" },                           /* StatefulSet */
		{ "db-main-12", "db-main" },
		{ "backup-28456789-xk2lp", "backup" }, /* CronJob */
		{ "report-28456789", "report" },
		{ "kube-apiserver-node1", "kube-apiserver-node1" }, /* the kubelet's own */
		{ "single", "single" },
		{ "-x2k9p", "-x2k9p" },
		{ "", "" },
		{ "-", "-" },
		{ "app-hello", "app-hello" }, /* vowels are never drawn */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t len = hl_workload_len(cases[i][0]);

		if (len != strlen(cases[i][1]))
			FAIL("%s: %.*s", cases[i][0], (int)len, cases[i][0]);
	}
}
