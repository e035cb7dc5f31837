// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample capture */
/* The probes over generated /proc and /sys trees; what only a kernel answers is in tests/system. */
#include "capture/probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "harness.h"

static struct hl_finding found;

static void put_bytes(const char *path, const void *bytes, size_t len)
{
	char folder[200];
	int fd;

	(void)snprintf(folder, sizeof(folder), "%s", path);
	for (char *slash = strchr(folder, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		CHECK(mkdir(folder, 0755) == 0 || errno == EEXIST);
		*slash = '/';
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	CHECK(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
	close(fd);
}

static void put(const char *path, const char *text)
{
	put_bytes(path, text, strlen(text));
}

static void put_link(const char *path, const char *target)
{
	(void)unlink(path);
	CHECK_INT(symlink(target, path), 0);
}

/* A host where all is well, root without SYS_ADMIN: caps as a mask. */
static void make_tree(const char *caps)
{
	char status[100];

	(void)snprintf(status, sizeof(status), "Name:\tx\nCapPrm:\t0\nCapEff:\t%s\nCapBnd:\t0\n", caps);
	put("proc/self/status", status);
	put("proc/self/mountinfo", "22 1 0:21 / /proc rw - proc proc rw\n");
	put("proc/self/ns/x", "");
	put_link("proc/self/ns/pid", "pid:[4026531836]");
	put_link("proc/self/ns/user", "user:[4026531837]");
	put("proc/sys/kernel/osrelease", "6.1.0-57\n");
	put("proc/sys/kernel/perf_event_paranoid", "2\n");
	put("proc/sys/kernel/perf_event_max_stack", "127\n");
	put("proc/sys/kernel/kptr_restrict", "0\n");
	put("proc/sys/net/core/bpf_jit_enable", "1\n");
	put("proc/kallsyms", "0000000000000000 A fixed_percpu_data\nffffffff81000000 T _text\n");
	put("sys/fs/cgroup/cgroup.controllers", "cpu\n");
	put("sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
}

#define CAPS_ALL     "000001ffffffffff"
#define CAPS_MINIMAL "000000c000000000" /* BPF and PERFMON */
#define CAPS_NONE    "0000000000000000"

static void start(const char *caps)
{
	static char dir[] = "/tmp/hl-probe-XXXXXX";

	CHECK(mkdtemp(dir) != NULL);
	CHECK_INT(chdir(dir), 0);
	make_tree(caps);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	return remove(path);
}

static void finish(void)
{
	char dir[100];

	CHECK(getcwd(dir, sizeof(dir)) != NULL);
	CHECK_INT(chdir("/"), 0);
	CHECK_INT(nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* Asks probe @name; the answer is in `found`. */
static void ask(const char *name)
{
	struct hl_probe_roots roots = { open("proc", O_PATH), open("sys", O_PATH) };

	CHECK(roots.proc >= 0 && roots.sys >= 0);
	memset(&found, 0, sizeof(found));
	for (const struct hl_probe *p = hl_probes; p->name; p++)
		if (strcmp(p->name, name) == 0) {
			p->run(&roots, &found);
			close(roots.proc);
			close(roots.sys);
			CHECK(found.value[0]);
			CHECK((found.state == HL_PROBE_OK) == !found.remedy[0]);
			return;
		}
	FAIL("no probe is called \"%s\"", name);
}

static void expect(const char *name, enum hl_probe_state state, const char *value, const char *remedy)
{
	ask(name);
	CHECK_STR(found.value, value);
	CHECK_STR(found.remedy, remedy);
	CHECK_INT(found.state, state);
}

HL_TEST(a_good_host)
{
	start(CAPS_ALL);
	expect("kernel", HL_PROBE_OK, "6.1.0-57", "");
	expect("privileges", HL_PROBE_OK, "CAP_BPF, CAP_PERFMON", "");
	expect("perf events", HL_PROBE_OK, "kernel.perf_event_paranoid is 2", "");
	expect("files", HL_PROBE_OK, "readable, in containers and deleted ones too", "");
	expect("kernel names", HL_PROBE_OK, "kernel functions have names", "");
	expect("kernel stacks", HL_PROBE_OK, "127 frames", "");
	expect("BPF compiler", HL_PROBE_OK, "on", "");
	expect("control groups", HL_PROBE_OK, "version 2", "");
	expect("process ids", HL_PROBE_OK, "the host's", "");
	expect("process list", HL_PROBE_OK, "shows all processes", "");
	expect("lockdown", HL_PROBE_OK, "integrity", "");
	finish();
}

HL_TEST(capabilities_decide)
{
	start(CAPS_NONE);
	expect("privileges", HL_PROBE_MISSING, "no CAP_BPF, no CAP_PERFMON",
	       "run as root, or with CAP_BPF and CAP_PERFMON");
	make_tree(CAPS_MINIMAL);
	expect("privileges", HL_PROBE_OK, "CAP_BPF, CAP_PERFMON", "");
	make_tree("0000008000000000");
	expect("privileges", HL_PROBE_MISSING, "no CAP_PERFMON",
	       "run as root, or with CAP_BPF and CAP_PERFMON");
	make_tree("0000004000000000");
	expect("privileges", HL_PROBE_MISSING, "no CAP_BPF", "run as root, or with CAP_BPF and CAP_PERFMON");
	make_tree("0000000000200000"); /* SYS_ADMIN stands for both */
	expect("privileges", HL_PROBE_OK, "CAP_BPF, CAP_PERFMON", "");
	expect("files", HL_PROBE_LIMITED, "files of other users and containers have no names and no tables",
	       "add CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH");
	make_tree("000000c000080004"); /* BPF, PERFMON, SYS_PTRACE, DAC_READ_SEARCH */
	expect("files", HL_PROBE_LIMITED,
	       "deleted files of other users and containers have no names and no tables",
	       "add CAP_CHECKPOINT_RESTORE");
	finish();
}

HL_TEST(root_of_a_user_namespace_is_not_root)
{
	start(CAPS_ALL);
	put_link("proc/self/ns/user", "user:[4026532001]");
	expect("privileges", HL_PROBE_MISSING, "root of a user namespace only",
	       "run hotleaf as the host's root, not in a rootless container");
	finish();
}

HL_TEST(debians_paranoid_3_needs_sys_admin)
{
	start(CAPS_MINIMAL);
	put("proc/sys/kernel/perf_event_paranoid", "3\n");
	expect("perf events", HL_PROBE_MISSING,
	       "kernel.perf_event_paranoid is 3, which asks for CAP_SYS_ADMIN",
	       "sysctl kernel.perf_event_paranoid=2, or run as root");
	put("proc/self/status", "x\nCapEff:\t" CAPS_ALL "\n");
	expect("perf events", HL_PROBE_OK, "kernel.perf_event_paranoid is 3", "");
	put("proc/sys/kernel/perf_event_paranoid", "-1\n");
	expect("perf events", HL_PROBE_OK, "kernel.perf_event_paranoid is -1", "");
	CHECK_INT(unlink("proc/sys/kernel/perf_event_paranoid"), 0);
	expect("perf events", HL_PROBE_MISSING, "kernel without perf events",
	       "use a kernel with CONFIG_PERF_EVENTS=y");
	finish();
}

HL_TEST(kallsyms_is_judged_by_its_content)
{
	start(CAPS_MINIMAL);
	put("proc/kallsyms", "0000000000000000 A a\n0000000000000000 T _text\n");
	expect("kernel names", HL_PROBE_LIMITED,
	       "kernel functions have no names: /proc/kallsyms hides its addresses",
	       "run as root, or add CAP_SYSLOG");
	put("proc/sys/kernel/kptr_restrict", "2\n");
	expect("kernel names", HL_PROBE_LIMITED,
	       "kernel functions have no names: /proc/kallsyms hides its addresses",
	       "sysctl kernel.kptr_restrict=1");
	CHECK_INT(unlink("proc/kallsyms"), 0);
	expect("kernel names", HL_PROBE_LIMITED, "kernel functions have no names: no /proc/kallsyms",
	       "use a kernel with CONFIG_KALLSYMS=y");
	finish();
}

HL_TEST(sysctls_that_limit)
{
	start(CAPS_ALL);
	put("proc/sys/net/core/bpf_jit_enable", "0\n");
	expect("BPF compiler", HL_PROBE_LIMITED, "off: the sampling program is interpreted and costs more",
	       "sysctl net.core.bpf_jit_enable=1");
	CHECK_INT(unlink("proc/sys/net/core/bpf_jit_enable"), 0);
	expect("BPF compiler", HL_PROBE_OK, "cannot be seen from this network namespace", "");
	put("proc/sys/kernel/perf_event_max_stack", "32\n");
	expect("kernel stacks", HL_PROBE_LIMITED, "stacks are cut at 32 frames",
	       "sysctl kernel.perf_event_max_stack=127");
	finish();
}

HL_TEST(control_group_layouts)
{
	start(CAPS_ALL);
	CHECK_INT(unlink("sys/fs/cgroup/cgroup.controllers"), 0);
	expect("control groups", HL_PROBE_LIMITED, "not mounted: containers and services have no names",
	       "mount -t cgroup2 cgroup2 /sys/fs/cgroup");
	CHECK_INT(mkdir("sys/fs/cgroup/memory", 0755), 0);
	expect("control groups", HL_PROBE_OK, "version 1", "");
	put("sys/fs/cgroup/unified/cgroup.controllers", "");
	expect("control groups", HL_PROBE_OK, "hybrid, versions 1 and 2", "");
	finish();
}

HL_TEST(containers_and_hidden_processes)
{
	start(CAPS_MINIMAL);
	put_link("proc/self/ns/pid", "pid:[4026532200]");
	expect("process ids", HL_PROBE_LIMITED, "a container's own: processes outside it have no names",
	       "start the container with --pid=host (Kubernetes: hostPID: true)");
	put("proc/self/mountinfo", "21 1 0:5 / /x rw - proc proc rw,hidepid=1\n"
				   "22 1 0:21 / /proc rw,nosuid - proc proc rw,gid=4,hidepid=invisible\n");
	expect("process list", HL_PROBE_LIMITED, "hidepid=invisible: other users' processes have no names",
	       "add CAP_SYS_PTRACE, or mount -o remount,hidepid=0 /proc");
	put("proc/self/status", "x\nCapEff:\t" CAPS_ALL "\n");
	expect("process list", HL_PROBE_OK, "hidepid=invisible, which CAP_SYS_PTRACE overrides", "");
	put("proc/self/mountinfo", "22 1 0:21 / /proc rw - proc proc rw,hidepid=off\n");
	expect("process list", HL_PROBE_OK, "shows all processes", "");
	finish();
}

HL_TEST(lockdown_as_securityfs_tells_it)
{
	start(CAPS_ALL);
	put("sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
	expect("lockdown", HL_PROBE_MISSING, "confidentiality: programs may not read kernel memory",
	       "boot with lockdown=integrity, or without lockdown");
	put("sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
	expect("lockdown", HL_PROBE_OK, "none", "");
	finish();
}

/* Type information in which mm_struct has, in an anonymous struct as the real one, a member @name. */
static void put_btf(const char *name)
{
	struct btf *btf = btf__new_empty();
	const void *raw;
	uint32_t size;
	int word, inner;

	CHECK(btf != NULL);
	word = btf__add_int(btf, "long", 8, 0);
	inner = btf__add_struct(btf, NULL, 8);
	CHECK(word > 0 && inner > 0);
	CHECK_INT(btf__add_field(btf, name, word, 0, 0), 0);
	CHECK(btf__add_struct(btf, "mm_struct", 16) > 0);
	CHECK_INT(btf__add_field(btf, "start_stack", word, 0, 0), 0);
	CHECK_INT(btf__add_field(btf, NULL, inner, 64, 0), 0);
	raw = btf__raw_data(btf, &size);
	CHECK(raw != NULL);
	put_bytes("sys/kernel/btf/vmlinux", raw, size);
	btf__free(btf);
}

HL_TEST(type_information_tells_the_maple_tree)
{
	start(CAPS_ALL);
	expect("type information", HL_PROBE_MISSING, "no /sys/kernel/btf/vmlinux",
	       "use a kernel with CONFIG_DEBUG_INFO_BTF=y, and let containers see its /sys");
	expect("mapping tree", HL_PROBE_MISSING, "unknown",
	       "use a kernel from 6.1 on, with type information");
	put_btf("mm_rb");
	expect("type information", HL_PROBE_OK, "BTF, 4 types", "");
	expect("mapping tree", HL_PROBE_MISSING, "no maple tree",
	       "use a kernel from 6.1 on, with type information");
	put_btf("mm_mt");
	expect("mapping tree", HL_PROBE_OK, "maple tree", "");
	put("sys/kernel/btf/vmlinux", "not BTF");
	expect("type information", HL_PROBE_MISSING, "/sys/kernel/btf/vmlinux cannot be read as BTF",
	       "use a kernel with CONFIG_DEBUG_INFO_BTF=y, and let containers see its /sys");
	finish();
}

HL_TEST(an_empty_proc_is_said)
{
	start(CAPS_NONE);
	CHECK_INT(unlink("proc/sys/kernel/osrelease"), 0);
	expect("kernel", HL_PROBE_MISSING, "/proc is not mounted", "mount -t proc proc /proc");
	finish();
}
