// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample elf unwind symbol insn symd tests/elfwriter */
/* What hostile code could do from inside the child, tried from inside the child. */
#include "symd/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/str.h"
#include "elfwriter.h"
#include "harness.h"
#include "symd/child.h"
#include "symd/client.h"
#include "symd/client_child.h"

/* An action returns what the system call did: 0 or more, or -errno. */
typedef long (*action_fn)(int fd);

static long result(long r)
{
	return r < 0 ? -errno : r;
}

static long do_open(int fd)
{
	return result(open("/etc/passwd", O_RDONLY));
}
static long do_create(int fd)
{
	return result(open("new", O_RDWR | O_CREAT, 0600));
}
static long do_stat(int fd)
{
	struct stat st;

	return result(syscall(SYS_stat, "/etc/passwd", &st));
}
static long do_exec(int fd)
{
	char *argv[] = { NULL };

	return result(execve("/bin/true", argv, argv));
}
static long do_exec_fd(int fd)
{
	char *argv[] = { NULL };

	return result(fexecve(fd, argv, argv));
}
static long do_fork(int fd)
{
	return result(fork());
}
static long do_socket(int fd)
{
	return result(socket(AF_INET, SOCK_DGRAM, 0));
}
static long do_unix_socket(int fd)
{
	return result(socket(AF_UNIX, SOCK_STREAM, 0));
}
static long do_ptrace(int fd)
{
	return result(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
}
static long do_read_memory(int fd)
{
	return result(syscall(SYS_process_vm_readv, 1, NULL, 0, NULL, 0, 0));
}
static long do_kill(int fd)
{
	return result(kill(1, 0));
}
static long do_map_code(int fd)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? -errno : 0;
}
static long do_make_code(int fd)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return result(mprotect(p, 4096, PROT_READ | PROT_EXEC));
}
static long do_write(int fd)
{
	return result(write(fd, "x", 1));
}
static long do_truncate(int fd)
{
	return result(ftruncate(fd, 0));
}
static long do_memfd(int fd)
{
	return result(memfd_create("x", 0));
}
static long do_bpf(int fd)
{
	return result(syscall(SYS_bpf, 0, NULL, 0));
}
static long do_mount(int fd)
{
	return result(syscall(SYS_mount, "x", "/", "tmpfs", 0, NULL));
}
static long do_setuid(int fd)
{
	return result(syscall(SYS_setresuid, 0, 0, 0));
}
static long do_unlock(int fd)
{
	return result(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
}
#ifdef __x86_64__
/* open by the tables of 32-bit and x32 programs: other numbers for the same calls. */
static long do_open_32(int fd)
{
	long r = 5;

	__asm__ volatile("int $0x80" : "+a"(r) : "b"(0), "c"(0) : "memory", "r8", "r9", "r10", "r11");
	return r;
}
static long do_read_x32(int fd)
{
	return result(syscall(0x40000000 | SYS_read, 0, NULL, 0));
}
#endif
static long do_read(int fd)
{
	char byte;

	return result(pread(fd, &byte, 1, 0));
}
static long do_allocate(int fd)
{
	char *p = malloc((size_t)1 << 30);

	free(p);
	return p ? 1 : -ENOMEM;
}

enum { KILLED = 1 }; /* beside 0 and -errno */

static const struct action {
	const char *name;
	action_fn run;
	int want;
} actions[] = {
	{ "read a file that was passed", do_read, 0 },
	{ "open a file", do_open, -EACCES },
	{ "create a file", do_create, -EACCES },
	{ "look at a file", do_stat, -EACCES },
	{ "start a program", do_exec, KILLED },
	{ "start the file that was passed", do_exec_fd, KILLED },
	{ "fork", do_fork, KILLED },
	{ "use the network", do_socket, KILLED },
	{ "talk to a local service", do_unix_socket, KILLED },
	{ "trace the parent", do_ptrace, KILLED },
	{ "read another's memory", do_read_memory, KILLED },
	{ "signal another", do_kill, KILLED },
	{ "map code", do_map_code, KILLED },
	{ "make data code", do_make_code, KILLED },
	{ "write to a file that was passed", do_write, KILLED },
	{ "truncate a file that was passed", do_truncate, KILLED },
	{ "make a file in memory", do_memfd, KILLED },
	{ "use bpf", do_bpf, KILLED },
	{ "mount", do_mount, KILLED },
	{ "become root", do_setuid, KILLED },
	{ "become dumpable", do_unlock, KILLED },
#ifdef __x86_64__
	{ "use the 32-bit call table", do_open_32, KILLED },
	{ "use the x32 call table", do_read_x32, KILLED },
#endif
};
enum { N_ACTIONS = sizeof(actions) / sizeof(actions[0]) };

/* Request `file`: the number of the action. */
static void act(void *ctx, const struct hl_symd_request *request, const void *payload, size_t len, int fd,
		struct hl_symd_reply *ret, struct hl_str *ret_payload)
{
	long r = request->file < N_ACTIONS ? actions[request->file].run(fd) : do_allocate(fd);

	*ret = (struct hl_symd_reply){ .status = r < 0 ? (int)r : 0 };
}

void hl_test_instead(const char *word, char **arguments)
{
	if (strcmp(word, "act") == 0)
		hl_symd_child_serve(act, NULL, 256);
}

static struct hl_symd_child *start(void)
{
	const struct hl_symd_options options = { .command = "act", .timeout_ms = 20000, .memory_mb = 256 };
	struct hl_symd_child *child;
	struct hl_err err = { "" };

	if (hl_symd_child_start(&options, &child, &err) < 0)
		FAIL("%s", err.text);
	return child;
}

static void stop(struct hl_symd_child *child)
{
	uint64_t cpu_ns = 0;

	hl_symd_child_kill(child);
	CHECK(hl_symd_child_reap(child, 10000, &cpu_ns));
}

/* What became of action @number. */
static int ask(struct hl_symd_child *child, uint32_t number, int fd)
{
	const struct hl_symd_request request = { .type = 100, .file = number };
	_cleanup_str_ struct hl_str payload = { 0 };
	struct hl_symd_reply reply;
	int r = hl_symd_child_call(child, &request, NULL, fd, &reply, &payload, NULL);

	if (r < 0)
		CHECK_INT(r, -ECONNRESET);
	return r < 0 ? KILLED : reply.status;
}

HL_TEST(each_way_out_is_closed)
{
	int fd = ew_file("content", 7), got;

	for (uint32_t i = 0; i < N_ACTIONS; i++) {
		struct hl_symd_child *child = start();

		CHECK(hl_symd_child_guards(child) & HL_GUARD_FILTER);
		got = ask(child, i, fd);
		if (got != actions[i].want)
			FAIL("%s: %d, should be %d", actions[i].name, got, actions[i].want);
		stop(child);
	}
	close(fd);
}

HL_TEST(memory_is_limited)
{
#ifdef __SANITIZE_ADDRESS__
	SKIP("ASan reserves more address space than any limit");
#else
	struct hl_symd_child *child = start();

	CHECK_INT(ask(child, N_ACTIONS, -1), -ENOMEM);
	stop(child);
#endif
}

/* The child of this process, by /proc. */
static pid_t find_child(void)
{
	_cleanup_free_ char *text = NULL;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	CHECK_INT(hl_read_file_at(AT_FDCWD, path, 4096, &text, NULL), 0);
	return (pid_t)strtol(text, NULL, 10);
}

static void check_line(const char *status, const char *line)
{
	if (!strstr(status, line))
		FAIL("/proc/PID/status has no \"%s\"", line + 1);
}

static void check_other_namespace(pid_t pid, const char *name)
{
	char path[64], ours[64] = "", its[64] = "";

	(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
	CHECK(readlink(path, ours, sizeof(ours) - 1) > 0);
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, name);
	CHECK(readlink(path, its, sizeof(its) - 1) > 0);
	CHECK(strcmp(ours, its) != 0);
}

HL_TEST(the_child_seen_from_outside)
{
	_cleanup_free_ char *status = NULL, *environment = NULL;
	struct hl_symd_child *child;
	const struct dirent *entry;
	unsigned int files = 0;
	char path[64];
	size_t len;
	pid_t pid;
	DIR *dir;

	if (geteuid() != 0)
		SKIP("only root can give up so much");
	child = start();
	pid = find_child();
	CHECK_INT(hl_symd_child_guards(child), HL_GUARD_ALL);
	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	CHECK_INT(hl_read_file_at(AT_FDCWD, path, 65536, &status, NULL), 0);
	check_line(status, "\nUid:\t65534\t65534\t65534\t65534\n");
	check_line(status, "\nGid:\t65534\t65534\t65534\t65534\n");
	check_line(status, "\nGroups:\t \n");
	check_line(status, "\nCapPrm:\t0000000000000000\n");
	check_line(status, "\nCapEff:\t0000000000000000\n");
	check_line(status, "\nCapBnd:\t0000000000000000\n");
	check_line(status, "\nCapAmb:\t0000000000000000\n");
	check_line(status, "\nNoNewPrivs:\t1\n");
	check_line(status, "\nSeccomp:\t2\n");
	check_other_namespace(pid, "net");
	check_other_namespace(pid, "mnt");
	check_other_namespace(pid, "ipc");
	check_other_namespace(pid, "uts");
	/* Its root is empty, and nobody can write to it. */
	(void)snprintf(path, sizeof(path), "/proc/%d/root/", (int)pid);
	dir = opendir(path);
	CHECK(dir);
	while ((entry = readdir(dir)))
		CHECK(entry->d_name[0] == '.');
	CHECK(mkdirat(dirfd(dir), "x", 0700) < 0 && errno == EROFS);
	closedir(dir);
	/* /dev/null thrice, the socket and the buffer, of which the descriptor is closed. */
	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	CHECK(dir);
	while ((entry = readdir(dir)))
		files += entry->d_name[0] != '.';
	closedir(dir);
	CHECK(files <= 5);
	(void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	CHECK_INT(hl_read_file_at(AT_FDCWD, path, 65536, &environment, &len), 0);
	CHECK(!memmem(environment, len, "PATH=", 5) || memmem(environment, len, "LD_LIBRARY_PATH=", 16));
	stop(child);
}

/* With fewer privileges fewer steps are permitted: the filter and the limits still stand. */
HL_TEST(without_privileges_the_filter_still_stands)
{
	struct hl_symd_child *child;
	uint32_t guards;

	if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
		FAIL("cannot become nobody");
	if (access("/proc/self/exe", X_OK) != 0)
		SKIP("nobody cannot execute this test where it lies");
	child = start();
	guards = hl_symd_child_guards(child);
	NOTE("guards of nobody: 0x%x", guards);
	CHECK_INT(guards & ~(HL_GUARD_NAMESPACES | HL_GUARD_ROOT | HL_GUARD_NOBODY),
		  HL_GUARD_LIMITS | HL_GUARD_NO_CAPS | HL_GUARD_NO_NEW_PRIVS | HL_GUARD_FILTER);
	CHECK_INT(ask(child, 1, -1), -EACCES);
	CHECK_INT(ask(child, 4, -1), KILLED);
	stop(child);
}
