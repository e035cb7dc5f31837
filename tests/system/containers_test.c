// SPDX-License-Identifier: BSD-2-Clause
/* needs: tests/system/record tests/shell */
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "shell.h"
#include "system/record.h"

/* Real containers, by podman and runc; and cgroups made by hand as others would make them. */

#define ID    "4f4e7bd2cbd1b0b6dbd3ba5ae5b4d2e1bb1d4bbd1f6b8f6b9c0e4b65f0a1c2d3"
#define OTHER "0000000000000000000000000000000000000000000000000000000000000000"
#define UID   "2f5fa8f1-3b5f-4a5e-9d8a-0c1d2e3f4a5b"

static const char burn[] = "while :; do :; done";

/* An image of nothing but busybox; podman and runc as hosts without systemd need them. */
static void make_image(void)
{
	static const char conf[] = "[containers]\\ndefault_ulimits = [\"nofile=1024:1024\", "
				   "\"nproc=1024:1024\"]\\nnetns = \"none\"\\n"
				   "log_driver = \"k8s-file\"\\n[engine]\\nruntime = \"runc\"\\n"
				   "cgroup_manager = \"cgroupfs\"\\nevents_logger = \"file\"\\n";
	char path[160];

	if (geteuid() != 0)
		SKIP("only root may record");
	must("mkdir -p %sroot/bin %sroot/proc && cp /bin/busybox %sroot/bin/ && ln -s busybox %sroot/bin/sh",
	     test_dir(), test_dir(), test_dir(), test_dir());
	must("printf '%s' >%scontainers.conf", conf, test_dir());
	(void)snprintf(path, sizeof(path), "%scontainers.conf", test_dir());
	CHECK_INT(setenv("CONTAINERS_CONF", path, 1), 0);
}

static void import_image(void)
{
	make_image();
	must("podman image exists localhost/hotleaf-test:1 ||"
	     " tar -C %sroot -c . | podman import -q - localhost/hotleaf-test:1 >/dev/null",
	     test_dir());
	/* Of a test that failed. */
	must("podman ps -aq --filter ancestor=localhost/hotleaf-test:1 | xargs -r podman rm -f -t 0 "
	     ">/dev/null");
}

/* Names hold the test's pid: what an earlier test left behind is not met. */
static void run(const char *name, const char *options, const char *command)
{
	must("podman run --quiet -d --name hl%d-%s %s localhost/hotleaf-test:1 /bin/sh -c '%s' >/dev/null",
	     (int)getpid(), name, options, command);
}

static void remove_container(const char *name)
{
	must("podman rm -f -t 0 hl%d-%s >/dev/null", (int)getpid(), name);
}

static uint64_t sum_of_container(const struct folded *folded, const char *name, const char *behind)
{
	char regex[256];

	(void)snprintf(regex, sizeof(regex), "^hl%d-%s;%s", (int)getpid(), name, behind);
	return sum_of(folded, regex);
}

/* They are gone by the time that names are asked for. */
HL_TEST_TIMEOUT(two_containers_of_one_image, 180)
{
	pid_t recorder;
	struct folded folded;

	import_image();
	recorder = start_recording("-F 199 -d 170 --by container,image,runtime,exe,service,process");
	(void)sleep(2);
	run("a", "--annotation team=red", burn);
	run("b", "--annotation team=blue", burn);
	(void)sleep(4);
	remove_container("a");
	remove_container("b");
	folded = end_recording(recorder);
	check_account(&folded);
	CHECK(sum_of_container(&folded, "a", "localhost/hotleaf-test:1;podman;/bin/busybox;busybox;sh;") >
	      50);
	CHECK(sum_of_container(&folded, "b", "localhost/hotleaf-test:1;podman;/bin/busybox;busybox;sh;") >
	      50);
	CHECK(sum_of(&folded, "^\\[no container\\];\\[no image\\];\\[no runtime\\];") > 0);
	CHECK_INT(sum_of(&folded, "^[^;]*;[^;]*;podman;") - sum_of_container(&folded, "a", "") -
			  sum_of_container(&folded, "b", ""),
		  0);
	folded_done(&folded);
}

static struct folded report_on(const char *options)
{
	char path[128];

	must("%s report --config none --store %sstore %s -o %sout.folded -o %sout.txt", hotleaf(), test_dir(),
	     options, test_dir(), test_dir());
	(void)snprintf(path, sizeof(path), "%sout.folded", test_dir());
	return read_folded(path);
}

/* That the last output has a note that matches, a regular expression in printf's form; it may be wrapped. */
static void check_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void check_note(const char *fmt, ...)
{
	char regex[512];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(regex, sizeof(regex), fmt, args);
	va_end(args);
	if (shell("tr -s ' \\n' '  ' <%sout.txt | grep -q \"%s\"", test_dir(), regex))
		FAIL("no note '%s' in: %s", regex, output_of(NULL, "cat %sout.txt", test_dir()));
}

/* What an agent kept of containers is asked when they are gone, of hotleaf and of SQLite. */
HL_TEST_TIMEOUT(an_agent_keeps_whose_samples_they_were, 180)
{
	struct folded folded;
	uint64_t red;
	pid_t agent;
	int status;

	import_image();
	agent = start("%s agent -F 199 -e cpu-clock --store %sstore --window 2 --min-free 0 2>%ssaid",
		      hotleaf(), test_dir(), test_dir());
	(void)sleep(3);
	run("a", "--label team=red", burn);
	run("b", "--annotation team=blue", burn);
	(void)sleep(6);
	remove_container("a");
	remove_container("b");
	(void)sleep(3);
	CHECK(kill(agent, SIGTERM) == 0);
	CHECK(waitpid(agent, &status, 0) == agent && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK_STR(output_of(NULL, "cat %ssaid", test_dir()), "");
	folded = report_on("--by container,image,runtime,exe,process,thread");
	red = sum_of_container(&folded, "a", "localhost/hotleaf-test:1;podman;/bin/busybox;sh;sh;");
	CHECK(red > 50);
	CHECK(sum_of_container(&folded, "b", "localhost/hotleaf-test:1;podman;/bin/busybox;sh;sh;") > 50);
	CHECK(sum_of(&folded, "^\\[no container\\];\\[no image\\];\\[no runtime\\];") > 0);
	red = sum_of_container(&folded, "a", "");
	folded_done(&folded);
	folded = report_on("--by container --where label.team=red");
	CHECK_INT(folded.total, red);
	CHECK_INT(sum_of_container(&folded, "a", ""), red);
	folded_done(&folded);
	must("cd %sstore && test \"$(for f in *.db; do sqlite3 $f \"SELECT samples FROM instructions WHERE "
	     "labels ->> "
	     "'team' = 'red' AND container = 'hl%d-a' AND runtime = 'podman'\"; done | "
	     "awk '{ n += $1 } END { print n }')\" = %llu",
	     test_dir(), (int)getpid(), (unsigned long long)red);
}

HL_TEST_TIMEOUT(samples_of_one_container, 180)
{
	struct folded folded;
	struct account account;
	uint64_t red;

	import_image();
	run("a", "--label team=red", burn);
	run("b", "--annotation team=blue", burn);
	folded = record("-F 199 -d 3 --by container --where label.team=red");
	check_account(&folded);
	red = sum_of_container(&folded, "a", "");
	CHECK(red > 50);
	CHECK_INT(folded.total, red);
	CHECK(read_account().filtered > 50);
	folded_done(&folded);
	folded = record("-F 199 -d 3 --by container --where runtime=podman --exclude label.team=~^r");
	check_account(&folded);
	CHECK(folded.total > 50);
	CHECK_INT(folded.total, sum_of_container(&folded, "b", ""));
	folded_done(&folded);
	folded = record("-F 199 -d 3 --by container --where container=");
	check_account(&folded);
	account = read_account();
	CHECK(account.filtered > 50);
	CHECK_INT(folded.total,
		  sum_of(&folded, "^(\\[no container\\]|\\[kernel threads\\]|\\[idle task\\]);"));
	folded_done(&folded);
	remove_container("a");
	remove_container("b");
}

/* None of them lives until the next drain, and who looks at them has to wait for a CPU. */
HL_TEST_TIMEOUT(containers_of_a_tenth_of_a_second, 180)
{
	static const char work[] = "i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done";
	pid_t recorder, load[2];
	struct folded folded;
	uint64_t named;

	import_image();
	recorder = start_recording("-F 499 -d 170 --by container,process");
	(void)sleep(2);
	for (int i = 0; i < 2; i++)
		load[i] = start("%s 600", workload("load"));
	for (int i = 0; i < 6; i++)
		must("podman run --quiet --rm --name hl%d-short%d localhost/hotleaf-test:1 /bin/sh -c '%s'",
		     (int)getpid(), i, work);
	for (int i = 0; i < 2; i++)
		stop(load[i]);
	folded = end_recording(recorder);
	check_account(&folded);
	named = sum_of_container(&folded, "short[0-5]", "sh;");
	CHECK(named > 50);
	check_at_least("samples of a known container", named,
		       named + sum_of(&folded, "^([0-9a-f]{12}|\\[unknown container\\]);sh;"), 0.9);
	folded_done(&folded);
}

/* ---- a runtime that is asked ------------------------------------------------------------------------------ */

/* podman whose storage lies where nobody looks for it. */
static const char *elsewhere(void)
{
	static char podman[256];

	(void)snprintf(podman, sizeof(podman), "podman --root %sstorage --runroot %srun", test_dir(),
		       test_dir());
	return podman;
}

/* A container of that podman, which serves its socket. */
static pid_t start_elsewhere(void)
{
	pid_t service;

	make_image();
	must("tar -C %sroot -c . | %s import -q - localhost/hotleaf-test:2 >/dev/null", test_dir(),
	     elsewhere());
	/* If the test fails, it ends with its first process; a signal from inside would not end that. */
	must("%s run --quiet -d --name hl%d-far --label team=red localhost/hotleaf-test:2 /bin/sh -c '{ %s; "
	     "} & "
	     "/bin/busybox sleep 170' >%sfar",
	     elsewhere(), (int)getpid(), burn, test_dir());
	service = start("%s system service --time=0 unix://%ssocket", elsewhere(), test_dir());
	for (int i = 0; i < 200 && shell("test -S %ssocket", test_dir()); i++)
		(void)usleep(100 * 1000);
	must("test -S %ssocket", test_dir());
	return service;
}

static void end_elsewhere(pid_t service)
{
	must("%s rm -f -t 0 hl%d-far >/dev/null", elsewhere(), (int)getpid());
	if (service)
		stop(service);
}

HL_TEST_TIMEOUT(described_by_a_socket_alone, 180)
{
	static const char by[] = "-F 199 -d 3 --by container,image,runtime,process";
	pid_t service = start_elsewhere();
	struct folded folded;
	uint64_t far;

	/* Nobody is asked unless that is wanted. */
	folded = record("%s", by);
	check_account(&folded);
	CHECK_INT(sum_of_container(&folded, "far", ""), 0);
	CHECK(sum_of(&folded, "^[0-9a-f]{12};\\[no image\\];podman;sh;") > 50);
	folded_done(&folded);
	must("! grep -q 'container runtimes' %sout.txt", test_dir());

	folded = record("%s --container-socket %ssocket", by, test_dir());
	check_account(&folded);
	far = sum_of_container(&folded, "far", "localhost/hotleaf-test:2;podman;sh;");
	CHECK(far > 50);
	CHECK_INT(sum_of_container(&folded, "far", ""), far);
	folded_done(&folded);
	must("! grep -q 'container runtimes' %sout.txt", test_dir());

	folded = record("-F 199 -d 3 --by container --where label.team=red --container-socket %ssocket",
			test_dir());
	check_account(&folded);
	far = sum_of_container(&folded, "far", "");
	CHECK(far > 50);
	CHECK_INT(folded.total, far);
	folded_done(&folded);

	/* One that cannot be asked is told, and costs nothing but the name. */
	stop(service);
	folded = record("%s --container-socket %ssocket", by, test_dir());
	check_account(&folded);
	CHECK(sum_of(&folded, "^[0-9a-f]{12};\\[no image\\];podman;sh;") > 50);
	folded_done(&folded);
	check_note("questions to sockets of container runtimes that failed: 1, the first: cannot ask "
		   "'%ssocket': "
		   "Connection refused; cgroups of containers without an answer: [1-9]",
		   test_dir());
	end_elsewhere(0);
}

/* Its setting is as the option; and a container that had ended before its first sample was looked at has its name. */
HL_TEST_TIMEOUT(an_agent_asks_a_socket, 180)
{
	pid_t service = start_elsewhere(), agent;
	struct folded folded;
	int status;

	must("printf '[agent]\\nfrequency = 199\\ncontainer-socket = %snone\\ncontainer-socket = "
	     "%ssocket\\n' "
	     ">%shotleaf.conf",
	     test_dir(), test_dir(), test_dir());
	agent = start("%s agent -e cpu-clock --config %shotleaf.conf --store %sstore --window 2 --min-free 0 "
		      "2>%ssaid",
		      hotleaf(), test_dir(), test_dir(), test_dir());
	(void)sleep(6);
	must("%s run --quiet --rm --cidfile %sshort --name hl%d-short localhost/hotleaf-test:2 /bin/sh -c "
	     "'i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done'",
	     elsewhere(), test_dir(), (int)getpid());
	(void)sleep(3);
	CHECK(kill(agent, SIGTERM) == 0);
	CHECK(waitpid(agent, &status, 0) == agent && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK_STR(output_of(NULL, "cat %ssaid", test_dir()), "");
	end_elsewhere(service);
	folded = report_on("--by container,image,runtime,process");
	CHECK(sum_of_container(&folded, "far", "localhost/hotleaf-test:2;podman;sh;") > 50);
	CHECK(sum_of_container(&folded, "short", "localhost/hotleaf-test:2;podman;sh;") > 5);
	/* Neither had another name before. */
	must("cd %s && cut -c 1-12 far short >ids && ! grep -F -f ids out.folded", test_dir());
	check_note("questions to sockets of container runtimes failed, or had to wait, the first: cannot ask "
		   "'%snone': No such file or directory; of containers without an answer the id is shown",
		   test_dir());
	folded_done(&folded);
}

HL_TEST(what_is_no_socket)
{
	static const char wrong[] = "--container-socket unix:///run/docker.sock";
	int status;

	CHECK(strstr(output_of(&status, "%s record -d 1 %s", hotleaf(), wrong), "begins with /"));
	CHECK_INT(status, 2);
	must("printf '\\n[agent]\\ncontainer-socket = docker.sock\\n' >%shotleaf.conf", test_dir());
	CHECK(strstr(
		output_of(&status, "%s agent --check-config --config %shotleaf.conf", hotleaf(), test_dir()),
		"hotleaf.conf' line 3: \"docker.sock\" is no path of a socket"));
	CHECK_INT(status, 2);
}

/* ---- layouts of others ----------------------------------------------------------------------------------- */

/* A pod as the kubelet lays it out, run by runc with CRI's annotations. */
HL_TEST_TIMEOUT(pod_of_kubernetes, 120)
{
	static const char edit[] =
		"import json, sys\n"
		"c = json.load(open(sys.argv[1]))\n"
		"c['process'].update(terminal=False, args=['/bin/sh', '-c', sys.argv[2]])\n"
		"c['process'].pop('rlimits', None)\n"
		"c['root'] = {'path': sys.argv[3], 'readonly': True}\n"
		"c['linux']['cgroupsPath'] = sys.argv[4]\n"
		"c['annotations'] = {'io.kubernetes.cri.container-name': 'app',\n"
		"  'io.kubernetes.cri.sandbox-name': 'shop-7c5ddbdf54-x2k9p',\n"
		"  'io.kubernetes.cri.sandbox-namespace': 'prod'}\n"
		"json.dump(c, open(sys.argv[1], 'w'))\n";
	char path[160];
	struct folded folded;
	FILE *f;

	make_image();
	(void)snprintf(path, sizeof(path), "%sedit.py", test_dir());
	f = fopen(path, "w");
	CHECK(f && fputs(edit, f) >= 0 && fclose(f) == 0);
	must("cd %s && runc spec && python3 edit.py config.json '%s' %sroot /kubepods/burstable/pod" UID
	     "/" ID,
	     test_dir(), burn, test_dir());
	(void)shell("runc delete -f " ID " 2>/dev/null");
	must("cd %s && runc run -d " ID " </dev/null >runc.log 2>&1 || { cat runc.log; false; }", test_dir());
	folded = record("-F 199 -d 3 --by service,namespace,pod,workload,container,process");
	must("runc delete -f " ID);
	check_account(&folded);
	CHECK(sum_of(&folded, "^prod/shop/app;prod;shop-7c5ddbdf54-x2k9p;shop;app;sh;") > 50);
	folded_done(&folded);
}

/* Where this host has version 2; fails without. Static. */
static const char *unified(void)
{
	static char path[256];

	(void)snprintf(path, sizeof(path), "%s", output_of(NULL, "findmnt -n -f -t cgroup2 -o TARGET"));
	path[strcspn(path, "\n")] = '\0';
	CHECK(path[0] == '/');
	return path;
}

/* Starts the load in a cgroup made by hand below @mount. */
static pid_t enter(const char *mount, const char *cgroup)
{
	pid_t load;

	if (geteuid() != 0)
		SKIP("only root may record");
	must("mkdir -p '%s%s'", mount, cgroup);
	load = start("%s 600", workload("load"));
	must("echo %d >'%s%s/cgroup.procs'", (int)load, mount, cgroup);
	return load;
}

static void leave(const char *mount, const char *cgroup, pid_t load)
{
	stop(load);
	must("cd '%s' && rmdir -p '%s'", mount, cgroup + 1);
}

/* Runs it there while a recording lasts. */
static struct folded record_in(const char *mount, const char *cgroup, const char *options)
{
	pid_t load = enter(mount, cgroup);
	struct folded folded = record("-F 199 -d 3 %s", options);

	leave(mount, cgroup, load);
	check_account(&folded);
	return folded;
}

/* A file that cannot be used is told, at once and by an agent. */
HL_TEST_TIMEOUT(a_file_that_is_damaged, 120)
{
	static const char cgroup[] = "/hltest/kubepods/pod" UID "/" OTHER;
	struct folded folded;
	pid_t load, agent;
	int status;

	load = enter(unified(), cgroup);
	must("mkdir -p /run/crun/" OTHER " && echo '{' >/run/crun/" OTHER "/config.json");
	agent = start("%s agent --config none -F 199 -e cpu-clock --store %sstore --window 2 --min-free 0 "
		      "2>%ssaid",
		      hotleaf(), test_dir(), test_dir());
	folded = record("-F 199 -d 5 --by container,process");
	CHECK(kill(agent, SIGTERM) == 0);
	CHECK(waitpid(agent, &status, 0) == agent && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	leave(unified(), cgroup, load);
	must("rm -r /run/crun/" OTHER);
	check_account(&folded);
	CHECK(sum_of(&folded, "^000000000000;load;") > 50);
	folded_done(&folded);
	check_note(
		"containers whose file could not be used: [1-9][0-9]*, the first: '/run/crun/%s/config.json' "
		"is no JSON",
		OTHER);
	folded = report_on("--by container,process");
	CHECK(sum_of(&folded, "^000000000000;load;") > 50);
	folded_done(&folded);
	check_note("files of some containers could not be used, the first: '/run/crun/%s/config.json' is no "
		   "JSON",
		   OTHER);
}

HL_TEST(unit_of_systemd)
{
	struct folded folded = record_in(unified(), "/hltest.slice/hotleaf-test.service",
					 "--by service,unit,cgroup,process");

	CHECK(sum_of(&folded,
		     "^hotleaf-test\\.service;hotleaf-test\\.service;/hltest\\.slice/hotleaf-test\\.service;"
		     "load;") > 50);
	folded_done(&folded);
}

/* A container names what is below it as it likes; a name is no frame and no mark. */
HL_TEST(names_that_deceive)
{
	struct folded folded = record_in(unified(), "/lxc.payload.a;b [c]/docker/docker-" ID ".scope",
					 "--by runtime,container,process");

	CHECK(sum_of(&folded, "^lxc;a[^;]*b \\[c\\];load;") > 50);
	folded_done(&folded);
	folded = record_in(unified(), "/lxc.payload.[no container]", "--by container,process");
	CHECK(sum_of(&folded, "^\\\\x5bno container\\];load;") > 50);
	folded_done(&folded);
}

HL_TEST(controller_of_version_1)
{
	struct folded folded;

	if (access("/sys/fs/cgroup/memory/cgroup.procs", W_OK))
		SKIP("this host has no memory controller of version 1");
	folded = record_in("/sys/fs/cgroup/memory", "/docker/" OTHER, "--by runtime,container,process");
	CHECK(sum_of(&folded, "^docker;000000000000;load;") > 50);
	folded_done(&folded);
}
