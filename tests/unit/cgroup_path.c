// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample process */
#include <string.h>

#include "harness.h"
#include "process/cgroup_path.h"

#define ID    "4f4e7bd2cbd1b0b6dbd3ba5ae5b4d2e1bb1d4bbd1f6b8f6b9c0e4b65f0a1c2d3"
#define OTHER "0000000000000000000000000000000000000000000000000000000000000000"
#define UID   "2f5fa8f1-3b5f-4a5e-9d8a-0c1d2e3f4a5b"
#define UID_  "2f5fa8f1_3b5f_4a5e_9d8a_0c1d2e3f4a5b"

/* Paths as the documentation and bug reports of each runtime show them. NULL: there is none. */
static const struct {
	const char *path, *runtime, *id, *pod, *qos, *unit;
	bool delegated;
} cases[] = {
	{ "/", NULL, NULL, NULL, NULL, NULL, false },
	{ "", NULL, NULL, NULL, NULL, NULL, false },
	{ "/init.scope", NULL, NULL, NULL, NULL, "init.scope", false },
	{ "/system.slice/nginx.service", NULL, NULL, NULL, NULL, "nginx.service", false },
	{ "/system.slice/system-getty.slice/getty@tty1.service", NULL, NULL, NULL, NULL, "getty@tty1.service",
	  false },
	{ "/user.slice/user-1000.slice/session-3.scope", NULL, NULL, NULL, NULL, "session-3.scope", true },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice/app.service", NULL, NULL, NULL, NULL,
	  "user@1000.service", true },
	/* docker */
	{ "/docker/" ID, "docker", ID, NULL, NULL, NULL, false },
	{ "/docker/" ID "/init", "docker", ID, NULL, NULL, NULL, false },
	{ "/system.slice/docker-" ID ".scope", "docker", ID, NULL, NULL, "docker-" ID ".scope", false },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID ".scope", "docker", ID, NULL,
	  NULL, "user@1000.service", true },
	{ "/system.slice/docker.service", NULL, NULL, NULL, NULL, "docker.service", false },
	{ "/docker/buildx", NULL, NULL, NULL, NULL, NULL, false },
	{ "/ecs/5a1c8d3e9f0b4c7d8e6f1a2b3c4d5e6f/" ID, "docker", ID, NULL, NULL, NULL, false },
	{ "/ecstasks.slice/ecstasks-5a1c8d3e9f0b4c7d8e6f1a2b3c4d5e6f.slice/docker-" ID ".scope", "docker", ID,
	  NULL, NULL, "docker-" ID ".scope", false },
	/* podman */
	{ "/libpod_parent/libpod-" ID, "podman", ID, NULL, NULL, NULL, false },
	{ "/libpod_parent/" OTHER "/libpod-" ID, "podman", ID, NULL, NULL, NULL, false },
	{ "/machine.slice/libpod-" ID ".scope/container", "podman", ID, NULL, NULL, "libpod-" ID ".scope",
	  false },
	{ "/machine.slice/machine-libpod_pod_" OTHER ".slice/libpod-" ID ".scope", "podman", ID, NULL, NULL,
	  "libpod-" ID ".scope", false },
	{ "/machine.slice/libpod-conmon-" ID ".scope", NULL, NULL, NULL, NULL, "libpod-conmon-" ID ".scope",
	  false },
	{ "/system.slice/web.service/libpod-payload-" ID, "podman", ID, NULL, NULL, "web.service", false },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope/container", "podman",
	  ID, NULL, NULL, "user@1000.service", true },
	/* Kubernetes, cgroupfs and systemd forms */
	{ "/kubepods/besteffort/pod" UID "/" ID, "kubernetes", ID, UID, "besteffort", NULL, false },
	{ "/kubepods/burstable/pod" UID "/" ID, "kubernetes", ID, UID, "burstable", NULL, false },
	{ "/kubepods/pod" UID "/" ID, "kubernetes", ID, UID, "guaranteed", NULL, false },
	{ "/kubepods/burstable/pod0123456789abcdef0123456789abcdef/" ID, "kubernetes", ID,
	  "0123456789abcdef0123456789abcdef", "burstable", NULL, false },
	{ "/kubepods/burstable/pod" UID "/crio-" ID, "cri-o", ID, UID, "burstable", NULL, false },
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice/cri-containerd-" ID
	  ".scope",
	  "containerd", ID, UID_, "burstable", "cri-containerd-" ID ".scope", false },
	{ "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope/container", "cri-o", ID, UID_,
	  "guaranteed", "crio-" ID ".scope", false },
	{ "/kubepods.slice/kubepods-besteffort.slice/"
	  "kubepods-besteffort-pod0123456789abcdef0123456789abcdef.slice/docker-" ID ".scope",
	  "docker", ID, "0123456789abcdef0123456789abcdef", "besteffort", "docker-" ID ".scope", false },
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice/crio-conmon-" ID
	  ".scope",
	  NULL, NULL, UID_, "burstable", "crio-conmon-" ID ".scope", false },
	{ "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
	  "kubelet-kubepods-besteffort-pod" UID_ ".slice/cri-containerd-" ID ".scope",
	  "containerd", ID, UID_, "besteffort", "cri-containerd-" ID ".scope", false },
	{ "/system.slice/containerd.service/kubepods-burstable-pod" UID_ ".slice:cri-containerd:" ID,
	  "containerd", ID, UID_, "burstable", "containerd.service", false },
	{ "/system.slice:docker:" ID, "docker", ID, NULL, NULL, NULL, false },
	/* containerd */
	{ "/default/c1", "containerd", "c1", NULL, NULL, NULL, false },
	{ "/k8s.io/" ID, "containerd", ID, NULL, NULL, NULL, false },
	{ "/system.slice/nerdctl-" ID ".scope", "containerd", ID, NULL, NULL, "nerdctl-" ID ".scope", false },
	{ "/buildkit/r0h8qnlpbafuxd1wsejbs6zrz", "buildkit", "r0h8qnlpbafuxd1wsejbs6zrz", NULL, NULL, NULL,
	  false },
	/* machines and system containers */
	{ "/machine.slice/systemd-nspawn@deb.service/payload/system.slice/cron.service", "nspawn", "deb",
	  NULL, NULL, "systemd-nspawn@deb.service", false },
	{ "/machine.slice/machine-my\\x2ddeb.scope/payload", "nspawn", "my\\x2ddeb", NULL, NULL,
	  "machine-my\\x2ddeb.scope", false },
	{ "/machine.slice/machine-qemu\\x2d1\\x2dvm.scope/libvirt/emulator", "libvirt", "1\\x2dvm", NULL,
	  NULL, "machine-qemu\\x2d1\\x2dvm.scope", false },
	{ "/machine/qemu-1-vm.libvirt-qemu/emulator", "libvirt", "qemu-1-vm", NULL, NULL, NULL, false },
	{ "/lxc/web", "lxc", "web", NULL, NULL, NULL, false },
	{ "/lxc/100/ns/system.slice/nginx.service", "lxc", "100", NULL, NULL, NULL, false },
	{ "/lxc.payload.web/system.slice/nginx.service", "lxc", "web", NULL, NULL, NULL, false },
	{ "/lxc.payload/web", "lxc", "web", NULL, NULL, NULL, false },
	{ "/lxc.monitor.web", NULL, NULL, NULL, NULL, NULL, false },
	{ "/user.slice/runc-box.scope", "runc", "box", NULL, NULL, "runc-box.scope", true },
	{ "/system.slice/crun-box.scope", "crun", "box", NULL, NULL, "crun-box.scope", false },
	/* seen from a cgroup namespace */
	{ "/../../system.slice/docker-" ID ".scope", "docker", ID, NULL, NULL, "docker-" ID ".scope", false },
	/* Names that a container gave its own cgroups: the outermost counts. */
	{ "/docker/" ID "/docker/" OTHER, "docker", ID, NULL, NULL, NULL, false },
	{ "/docker/" ID "/kubepods/besteffort/pod" UID "/" OTHER, "docker", ID, NULL, NULL, NULL, false },
	{ "/lxc/web/system.slice/docker-" OTHER ".scope", "lxc", "web", NULL, NULL, NULL, false },
	{ "/kubepods/burstable/pod" UID "/" ID "/crio-" OTHER, "kubernetes", ID, UID, "burstable", NULL,
	  false },
	{ "/system.slice/web.service/docker/" ID, NULL, NULL, NULL, NULL, "web.service", false },
	{ "/system.slice/web.service/lxc/web", NULL, NULL, NULL, NULL, "web.service", false },
	{ "/system.slice/web.service/default/web", NULL, NULL, NULL, NULL, "web.service", false },
	/* Nearly an id. */
	{ "/docker/" ID "0", NULL, NULL, NULL, NULL, NULL, false },
	{ "/system.slice/docker-" ID, NULL, NULL, NULL, NULL, NULL, false },
	{ "/system.slice/docker-.scope", NULL, NULL, NULL, NULL, "docker-.scope", false },
	{ "/kubepods/burstable/pod/" ID, NULL, NULL, NULL, NULL, NULL, false },
	{ "/kubepods/burstable/podx/" ID, NULL, NULL, NULL, NULL, NULL, false },
	{ "/lxc/..", NULL, NULL, NULL, NULL, NULL, false },
	{ "/default/.hidden", NULL, NULL, NULL, NULL, NULL, false },
	{ "/a:b", NULL, NULL, NULL, NULL, NULL, false },
	{ "/:::", NULL, NULL, NULL, NULL, NULL, false },
	{ "/x-pod" UID_ ".slice/" ID, NULL, NULL, NULL, NULL, NULL, false },
};

static void check_span(const char *path, const char *what, struct hl_span got, const char *want)
{
	size_t len = want ? strlen(want) : 0;

	if (got.len != len || (want && memcmp(got.at, want, len) != 0))
		FAIL("%s: %s is \"%.*s\", should be \"%s\"", path, what, (int)got.len, got.at ? got.at : "",
		     want ? want : "(none)");
}

static void check_word(const char *path, const char *what, const char *got, const char *want)
{
	if (!got != !want || (got && strcmp(got, want) != 0))
		FAIL("%s: %s is \"%s\", should be \"%s\"", path, what, got ? got : "(none)",
		     want ? want : "(none)");
}

HL_TEST(paths_of_every_runtime)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hl_cgroup_place place;

		hl_cgroup_parse(cases[i].path, &place);
		check_word(cases[i].path, "runtime", place.runtime, cases[i].runtime);
		check_span(cases[i].path, "id", place.id, cases[i].id);
		check_span(cases[i].path, "pod", place.pod, cases[i].pod);
		check_word(cases[i].path, "qos", place.qos, cases[i].qos);
		check_span(cases[i].path, "unit", place.unit, cases[i].unit);
		if (place.delegated != cases[i].delegated)
			FAIL("%s: delegated is %d", cases[i].path, place.delegated);
	}
}
