// SPDX-License-Identifier: BSD-2-Clause
/* needs: tests/system/record tests/shell */
#include <linux/bpf.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "shell.h"
#include "system/record.h"

/* Names that lie in other files than the one that runs, and names of the kernel. */

static const char *dir(void)
{
	return test_dir();
}

/*
 * Builds the workload "deep" in DIR/@name: `app`, stripped, which names its debug file app.debug, and that
 * file beside it. @options are the compiler's.
 */
static void build(const char *name, const char *options)
{
	must("mkdir -p %s%s && cd %s%s && cc -O2 -g -fno-omit-frame-pointer %s -o full "
	     "$OLDPWD/tests/workload/deep.c && "
	     "objcopy --only-keep-debug full app.debug && "
	     "objcopy --strip-all --add-gnu-debuglink=app.debug full app && rm full",
	     dir(), name, dir(), name, options);
}

/* Records while DIR/@name/app runs. */
static struct folded record_app(const char *name)
{
	pid_t pid = start("%s%s/app 600 3", dir(), name);
	struct folded folded;

	(void)usleep(200000);
	folded = record("-F 499 -d 2");
	stop(pid);
	check_account(&folded);
	return folded;
}

static int has_note(const char *text)
{
	/* A note may be wrapped. */
	return shell("tr -s ' \\n' ' ' <%sout.txt | grep -qF \"%s\"", dir(), text) == 0;
}

#define NAMED "^app;(.*;)?main;descend;descend;descend;bottom;[^;]+$"

/* All samples of app's own code have their names, or none has. */
static void check_app(const struct folded *folded, int named)
{
	uint64_t all = sum_of(folded, "^app;.*;[^;]*[^k]$"), right = sum_of(folded, NAMED);

	CHECK(all > 20);
	if (named) {
		check_at_least("named", right, all, 0.9);
		return;
	}
	CHECK_INT(sum_of(folded, "^app;.*(descend|bottom|wrong_)"), 0);
	/* Without names, functions are still told apart by their start. */
	check_at_least("nameless", sum_of(folded, "^app;.*;\\[app\\+0x[0-9a-f]+\\];[^;]+$"), all, 0.9);
}

HL_TEST_TIMEOUT(debug_file_beside_the_program, 120)
{
	struct folded folded;

	build("samedir", "-Wl,--build-id=sha1");
	folded = record_app("samedir");
	check_app(&folded, 1);
	CHECK(!has_note("debug files refused"));
	folded_done(&folded);
}

HL_TEST_TIMEOUT(debug_file_known_by_its_crc_alone, 120)
{
	struct folded folded;

	build("crc", "-Wl,--build-id=none");
	must("cd %scrc && mkdir .debug && mv app.debug .debug", dir());
	folded = record_app("crc");
	check_app(&folded, 1);
	folded_done(&folded);
}

/* One with the wrong build-id, one with the wrong CRC. */
HL_TEST_TIMEOUT(debug_file_of_another_build, 120)
{
	static const char *const ids[] = { "sha1", "none" };
	char options[64], other[128];
	struct folded folded;

	for (int i = 0; i < 2; i++) {
		(void)snprintf(options, sizeof(options), "-Wl,--build-id=%s", ids[i]);
		build("badcrc", options);
		(void)snprintf(other, sizeof(other), "%s -O1 -Ddescend=wrong_descend -Dbottom=wrong_bottom",
			       options);
		build("other", other);
		must("cp %sother/app.debug %sbadcrc/app.debug", dir(), dir());
		folded = record_app("badcrc");
		check_app(&folded, 0);
		CHECK(has_note("debug files refused: 1; the first, of 'app':"));
		folded_done(&folded);
	}
}

HL_TEST_TIMEOUT(debug_file_that_is_none, 120)
{
	struct folded folded;

	build("fifo", "");
	must("cd %sfifo && rm app.debug && mkfifo app.debug", dir());
	folded = record_app("fifo");
	check_app(&folded, 0);
	CHECK(has_note("debug files refused: 1; the first, of 'app': it is no regular file"));
	folded_done(&folded);
	must("cd %sfifo && rm app.debug && ln -s /dev/zero app.debug", dir());
	folded = record_app("fifo");
	check_app(&folded, 0);
	CHECK(has_note("debug files refused: 1"));
	folded_done(&folded);
	must("cd %sfifo && rm app.debug", dir());
	folded = record_app("fifo");
	check_app(&folded, 0);
	CHECK(!has_note("debug files refused"));
	CHECK(has_note("debug files that are not installed"));
	folded_done(&folded);
}

/* perf keeps copies of what it met, stripped as they are. */
HL_TEST_TIMEOUT(a_copy_of_a_stripped_file, 120)
{
	char home[128];
	struct folded folded;

	build("copied", "");
	must("cd %scopied && rm app.debug && id=$(readelf -n app | sed -n 's/.*Build ID: //p') && "
	     "d=home/.debug/.build-id/$(printf %%.2s $id)/${id#??} && mkdir -p $d && cp app $d/elf",
	     dir());
	(void)snprintf(home, sizeof(home), "%scopied/home", dir());
	CHECK_INT(setenv("HOME", home, 1), 0);
	folded = record_app("copied");
	check_app(&folded, 0);
	CHECK(!has_note("debug files refused"));
	CHECK(has_note("debug files that are not installed"));
	folded_done(&folded);
}

/* Puts @source, packed by xz, into the stripped program of DIR/@name as .gnu_debugdata. */
static void add_debugdata(const char *name, const char *source)
{
	must("cd %s%s && %s | xz -0 >packed.xz && objcopy --remove-section=.gnu_debuglink "
	     "--add-section .gnu_debugdata=packed.xz app",
	     dir(), name, source);
}

HL_TEST_TIMEOUT(names_packed_into_the_program, 180)
{
	struct folded folded;

	build("packed", "-Wl,--build-id=sha1");
	must("cd %spacked && objcopy -S -K main -K descend -K bottom app.debug mini && rm app.debug", dir());
	add_debugdata("packed", "cat mini");
	folded = record_app("packed");
	check_app(&folded, 1);
	CHECK(!has_note(".gnu_debugdata"));
	folded_done(&folded);
	build("bomb", "-Wl,--build-id=sha1");
	must("rm %sbomb/app.debug", dir());
	add_debugdata("bomb", "head -c 1G /dev/zero");
	folded = record_app("bomb");
	check_app(&folded, 0);
	CHECK(has_note("files whose .gnu_debugdata is damaged or too large, and was not used: 1"));
	folded_done(&folded);
}

/* Starts DIR/@program below the root DIR/@root, in a mount namespace of its own, as a container does. */
static pid_t start_inside(const char *root, const char *program)
{
	char path[256], name[256];
	pid_t pid = fork();

	if (pid)
		return pid;
	(void)snprintf(path, sizeof(path), "%s%s", dir(), root);
	(void)snprintf(name, sizeof(name), "%s%s", dir(), program);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* A root must be a mount; the old one is stacked on top of it, and taken away. */
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount(path, path, NULL, MS_BIND, NULL) || chdir(path) || syscall(SYS_pivot_root, ".", ".") ||
	    umount2(".", MNT_DETACH))
		_exit(77);
	(void)execl(name, name, "600", "3", (char *)NULL);
	_exit(78);
}

/*
 * A process with another root: its debug file is there, by build-id or by debuglink, and what lies at the
 * same path here is another build's.
 */
HL_TEST_TIMEOUT(debug_file_in_the_root_of_the_process, 180)
{
	struct folded folded;
	pid_t pid;

	if (geteuid() != 0)
		SKIP("needs root");
	build("inner", "-static -Wl,--build-id=sha1");
	build("other", "-static -O1 -Wl,--build-id=sha1 -Ddescend=wrong_descend -Dbottom=wrong_bottom");
	for (int by_link = 0; by_link < 2; by_link++) {
		must("cd %s && rm -rf root && mkdir -p root/$PWD/opt root/usr/lib/debug/.build-id opt && "
		     "cp inner/app root/$PWD/opt/app && cp other/app.debug opt/app.debug && cp other/app "
		     "opt/app",
		     dir());
		if (by_link)
			must("cd %s && mkdir -p root/usr/lib/debug/$PWD/opt && "
			     "cp inner/app.debug root/usr/lib/debug/$PWD/opt/app.debug",
			     dir());
		else
			must("cd %s && id=$(readelf -n inner/app | sed -n 's/.*Build ID: //p') && "
			     "mkdir root/usr/lib/debug/.build-id/${id%%${id#??}} && "
			     "cp inner/app.debug root/usr/lib/debug/.build-id/${id%%${id#??}}/${id#??}.debug",
			     dir());
		pid = start_inside("root", "opt/app");
		(void)usleep(500000);
		folded = record("-F 499 -d 2");
		stop(pid);
		check_app(&folded, 1);
		CHECK_INT(sum_of(&folded, "wrong_"), 0);
		folded_done(&folded);
	}
}

/* Without /proc/kallsyms, or with its addresses hidden, user frames stay as they are. */
HL_TEST_TIMEOUT(hidden_kernel_addresses, 120)
{
	struct folded folded;
	pid_t pid;

	if (geteuid() != 0)
		SKIP("needs root");
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		SKIP("no mount namespaces");
	must("sed 's/^[0-9a-f]*/0000000000000000/' /proc/kallsyms >%shidden", dir());
	must("mount --bind %shidden /proc/kallsyms", dir());
	pid = start("%s 600 3", workload("deep"));
	(void)usleep(200000);
	folded = record("-F 499 -d 2");
	stop(pid);
	CHECK(sum_of(&folded, "^deep;(.*;)?main;descend;descend;descend;bottom;[^;]+$") > 20);
	CHECK(has_note("kernel functions have no names: the kernel hides its symbols"));
	CHECK_INT(shell("test $(tr -s ' \\n' ' ' <%sout.txt | grep -oF 'kernel functions have no names' | wc "
			"-l) = 1",
			dir()),
		  0);
	CHECK_INT(sum_of(&folded, ";[a-z_]+_\\[k\\]"), 0);
	folded_done(&folded);
}

/* Loads a long program without a loop; its descriptor, or -1. */
static int load_program(void)
{
	enum { LENGTH = 4000 };
	static struct bpf_insn code[LENGTH];
	union bpf_attr attr;

	code[0] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1 };
	for (int i = 1; i < LENGTH - 1; i++)
		code[i] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MUL | BPF_K,
					     .dst_reg = BPF_REG_0,
					     .imm = i };
	code[LENGTH - 1] = (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT };
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
	attr.insn_cnt = LENGTH;
	attr.insns = (uintptr_t)code;
	attr.license = (uintptr_t) "Dual BSD/GPL";
	strcpy(attr.prog_name, "came_late");
	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

static void run_program(int fd, int seconds)
{
	static char packet[64];
	union bpf_attr attr;
	time_t end = time(NULL) + seconds;

	while (time(NULL) < end) {
		memset(&attr, 0, sizeof(attr));
		attr.test.prog_fd = (unsigned int)fd;
		attr.test.data_in = (uintptr_t)packet;
		attr.test.data_size_in = sizeof(packet);
		attr.test.repeat = 10000;
		CHECK_INT(syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr)), 0);
	}
}

HL_TEST_TIMEOUT(a_bpf_program_that_is_loaded_while_it_records, 120)
{
	struct folded folded;
	pid_t recording;
	int fd;

	if (geteuid() != 0)
		SKIP("needs root");
	recording = start_recording("-F 499 -d 5");
	(void)usleep(1500000);
	fd = load_program();
	CHECK(fd >= 0);
	run_program(fd, 3);
	folded = finish_recording(recording);
	close(fd);
	note_lines(&folded, "came_late", 2);
	CHECK(sum_of(&folded, ";bpf_prog_[0-9a-f]+_came_late_\\[k\\];[^;]+$") > 20);
	folded_done(&folded);
}
