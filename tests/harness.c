// SPDX-License-Identifier: BSD-2-Clause
#include "harness.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STATUS_FAIL = 1, STATUS_SKIP = 4, MAX_TESTS = 512, DEFAULT_TIMEOUT = 60 };

extern const struct hl_test __start_hl_tests[], __stop_hl_tests[];

static const char *reason_path;

/* The reason of a skip travels from the test's process to the parent in a file: stdout is the test's own. */
static void write_reason(const char *fmt, va_list ap)
{
	FILE *f = reason_path ? fopen(reason_path, "w") : NULL;

	if (!f)
		return;
	(void)vfprintf(f, fmt, ap);
	(void)fclose(f);
}

void hl_test_fail(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	printf("# %s:%d: ", file, line);
	va_start(ap, fmt);
	(void)vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	exit(STATUS_FAIL);
}

void hl_test_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	write_reason(fmt, ap);
	va_end(ap);
	fflush(stdout);
	exit(STATUS_SKIP);
}

void hl_test_note(const char *fmt, ...)
{
	va_list ap;

	printf("# ");
	va_start(ap, fmt);
	(void)vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
}

void hl_binomial_bounds(uint64_t n, double p, uint64_t *ret_low, uint64_t *ret_high)
{
	double mean = (double)n * p, room = 5.5 * sqrt(mean * (1 - p)) + 3;

	*ret_low = mean > room ? (uint64_t)(mean - room) : 0;
	*ret_high = (uint64_t)ceil(mean + room);
	if (*ret_high > n)
		*ret_high = n;
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct hl_test *const *)a)->name, (*(const struct hl_test *const *)b)->name);
}

/* Waits for @pid for at most @seconds; kills its process group after that. Returns the wait status. */
static int wait_limited(pid_t pid, unsigned int seconds, bool *ret_late)
{
	struct timespec tick = { 0, 5000000 };
	double left = seconds;
	int status;

	*ret_late = false;
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (left <= 0) {
			*ret_late = true;
			(void)kill(-pid, SIGKILL);
			(void)waitpid(pid, &status, 0);
			break;
		}
		(void)nanosleep(&tick, NULL);
		left -= 0.005;
	}
	(void)kill(-pid, SIGKILL); /* whatever the test left running */
	return status;
}

static void print_skip_reason(void)
{
	char line[300] = "no reason given";
	FILE *f = fopen(reason_path, "r");

	if (f) {
		if (!fgets(line, sizeof(line), f))
			strcpy(line, "no reason given");
		(void)fclose(f);
	}
	printf(" # SKIP %s", line);
}

static bool run_forked(const struct hl_test *test, unsigned int number)
{
	unsigned int limit = test->timeout ? test->timeout : DEFAULT_TIMEOUT;
	bool late, failed = true;
	pid_t pid;
	int status;

	(void)unlink(reason_path);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		(void)setpgid(0, 0);
		test->run();
		fflush(stdout);
		exit(0);
	}
	if (pid < 0) {
		printf("not ok %u - %s # fork: %s\n", number, test->name, strerror(errno));
		return false;
	}
	(void)setpgid(pid, pid);
	status = wait_limited(pid, limit, &late);
	if (late)
		printf("not ok %u - %s # no end after %u s", number, test->name, limit);
	else if (WIFSIGNALED(status))
		printf("not ok %u - %s # signal %d", number, test->name, WTERMSIG(status));
	else if (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != STATUS_SKIP)
		printf("not ok %u - %s", number, test->name);
	else
		failed = false;
	if (!failed) {
		printf("ok %u - %s", number, test->name);
		if (WEXITSTATUS(status) == STATUS_SKIP)
			print_skip_reason();
	}
	printf("\n");
	return !failed;
}

static bool wanted(const char *name, char **only, int n_only, const char *excluded)
{
	int i;

	if (excluded && strcmp(name, excluded) == 0)
		return false;
	for (i = 0; i < n_only; i++)
		if (strcmp(name, only[i]) == 0)
			return true;
	return n_only == 0;
}

int main(int argc, char **argv)
{
	static const struct hl_test *tests[MAX_TESTS];
	unsigned int n = 0, i, number = 0, failed = 0;
	bool list = false, here = false;
	const char *excluded = NULL;
	static char path[64];
	int c;

	if (argc > 1 && hl_test_instead)
		hl_test_instead(argv[1], argv + 2);
	while ((c = getopt(argc, argv, "lx:1")) != -1) {
		list |= c == 'l';
		here |= c == '1';
		if (c == 'x')
			excluded = optarg;
		if (c == '?')
			return 2;
	}
	for (const struct hl_test *t = __start_hl_tests; t < __stop_hl_tests && n < MAX_TESTS; t++)
		if (wanted(t->name, argv + optind, argc - optind, excluded))
			tests[n++] = t;
	qsort(tests, n, sizeof(tests[0]), by_name);
	(void)snprintf(path, sizeof(path), "/tmp/hl-test-reason.%d", (int)getpid());
	reason_path = path;
	for (i = 0; i < n; i++) {
		if (list)
			printf("%s\n", tests[i]->name);
		else if (here)
			tests[i]->run();
		else if (!run_forked(tests[i], ++number))
			failed++;
	}
	(void)unlink(path);
	if (!list && !here)
		printf("1..%u\n", number);
	return failed ? 1 : 0;
}
