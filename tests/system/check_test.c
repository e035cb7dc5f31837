// SPDX-License-Identifier: BSD-2-Clause
/* needs: base */
/* hotleaf check on the kernel that runs, with and without privileges. */
#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"

#include "harness.h"

/* Linux 6.3, "mm: Implement memory-deny-write-execute as a prctl"; what systemd's MemoryDenyWriteExecute= does. */
#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif
#define REFUSE_EXEC_GAIN 1

enum as { ROOT, NOBODY, CONFINED, FILTERED };

/* As systemd's RestrictSUIDSGID= has it, and filters that are older than the call: it is unknown. */
static bool forbid_openat2(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

/* For the child; false if that cannot be. */
static bool become(enum as who)
{
	switch (who) {
	case NOBODY:
		return setgid(65534) == 0 && setuid(65534) == 0;
	case CONFINED:
		return prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0) == 0;
	case FILTERED:
		return forbid_openat2();
	default:
		return true;
	}
}

/* Runs "hotleaf check" of the build that this test is in. Returns its exit status. */
static int check(enum as who, struct hl_str *ret)
{
	char path[PATH_MAX], chunk[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - sizeof("/hotleaf"));
	int out[2], status;
	pid_t pid;

	CHECK(len > 0);
	path[len] = 0;
	for (int up = 0; up < 3; up++)
		*strrchr(path, '/') = 0;
	strcat(path, "/hotleaf");
	CHECK_INT(pipe(out), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		if (!become(who))
			_exit(99);
		if (dup2(out[1], 1) != 1 || dup2(out[1], 2) != 2)
			_exit(98);
		(void)execl(path, "hotleaf", "check", NULL);
		_exit(97);
	}
	close(out[1]);
	while ((len = read(out[0], chunk, sizeof(chunk))) > 0)
		hl_str_add(ret, chunk, (size_t)len);
	close(out[0]);
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	CHECK_INT(hl_str_status(ret), 0);
	return WEXITSTATUS(status);
}

/* Each line is a finding, or the remedy of the one before it. Returns how many are missing. */
static int count_missing(char *text)
{
	int missing = 0;
	bool due = false;
	char *rest, *line;

	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		bool is_remedy = strncmp(line, "                           → ", 30) == 0;

		if (strncmp(line, "hotleaf can", 11) == 0)
			break;
		if (is_remedy != due)
			FAIL("a remedy stands after each gap and only there: %s", line);
		due = strncmp(line, "limited ", 8) == 0 || strncmp(line, "missing ", 8) == 0;
		if (!is_remedy && !due)
			CHECK(strncmp(line, "ok       ", 9) == 0);
		missing += strncmp(line, "missing ", 8) == 0;
	}
	CHECK(line && !due);
	return missing;
}

HL_TEST(the_exit_status_says_whether_something_is_missing)
{
	_cleanup_str_ struct hl_str text = { 0 };
	int status = check(ROOT, &text), missing;

	CHECK(strstr(text.data, "\nok       type information  BTF, "));
	missing = count_missing(text.data);
	CHECK_INT(status, missing > 0);
}

HL_TEST(nobody_is_told_what_is_missing)
{
	_cleanup_str_ struct hl_str text = { 0 };
	int status;

	if (geteuid() != 0)
		SKIP("only root can become nobody");
	status = check(NOBODY, &text);
	if (status == 97)
		SKIP("nobody cannot reach the build directory");
	CHECK_INT(status, 1);
	CHECK(strstr(text.data, "\nmissing  privileges        no CAP_BPF, no CAP_PERFMON\n"));
	CHECK(strstr(text.data, "\nhotleaf cannot record here: "));
	CHECK(count_missing(text.data) >= 2);
}

HL_TEST(no_code_has_to_be_written)
{
	_cleanup_str_ struct hl_str text = { 0 };
	int status;

	if (geteuid() != 0)
		SKIP("only root can load programs");
	status = check(CONFINED, &text);
	if (status == 99)
		SKIP("this kernel cannot forbid to make memory executable");
	CHECK_INT(status, 0);
	if (!strstr(text.data,
		    "\nok       capture           starts; finds mappings and walks stacks right\n"))
		FAIL("%s", text.data);
}

HL_TEST(a_filter_of_system_calls_is_told)
{
	_cleanup_str_ struct hl_str text = { 0 };
	int status;

	if (geteuid() != 0)
		SKIP("only root can load programs");
	CHECK_INT(check(ROOT, &text), 0);
	CHECK(strstr(text.data, "\nok       files in roots    "));
	hl_str_clear(&text);
	status = check(FILTERED, &text);
	CHECK_INT(status, 0);
	CHECK(strstr(text.data,
		     "\nlimited  files in roots    cannot be opened (Function not implemented): "));
	CHECK_INT(count_missing(text.data), 0);
}
