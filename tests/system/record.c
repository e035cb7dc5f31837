// SPDX-License-Identifier: BSD-2-Clause
#include "system/record.h"

#include <regex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "shell.h"

static char dir[64];

static void remove_dir(void)
{
	/* What the test mounted there, the innermost first. */
	(void)shell("grep -o ' %.*s[^ ]*' /proc/self/mounts | sort -r | xargs -r -n 1 umount -l; rm -rf '%s'",
		    (int)strlen(dir) - 1, dir, dir);
}

const char *test_dir(void)
{
	if (dir[0])
		return dir;
	strcpy(dir, "/tmp/hl-test-XXXXXX");
	if (!mkdtemp(dir))
		FAIL("no temporary directory");
	strcat(dir, "/");
	(void)atexit(remove_dir);
	return dir;
}

const char *hotleaf(void)
{
	static char path[256];
	const char *build = getenv("O");

	(void)snprintf(path, sizeof(path), "%s/hotleaf", build ? build : "build");
	return path;
}

pid_t start(const char *fmt, ...)
{
	char command[4096] = "exec ";
	va_list ap;
	pid_t pid;

	va_start(ap, fmt);
	shell_format(command + 5, sizeof(command) - 5, fmt, ap);
	va_end(ap);
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	CHECK(pid > 0);
	return pid;
}

void stop(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

struct folded read_folded(const char *path)
{
	struct folded folded = { 0 };
	size_t cap = 0, size = 0;
	char *line = NULL, *blank, *end;
	FILE *f = fopen(path, "r");

	if (!f)
		FAIL("no output '%s'", path);
	while (getline(&line, &size, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		blank = strrchr(line, ' ');
		if (!blank)
			FAIL("no count in the line: %s", line);
		*blank = '\0';
		if (folded.n == cap) {
			cap = cap ? cap * 2 : 256;
			folded.lines = realloc(folded.lines, cap * sizeof(*folded.lines));
			CHECK(folded.lines);
		}
		folded.lines[folded.n].count = strtoull(blank + 1, &end, 10);
		if (*end || end == blank + 1)
			FAIL("'%s' is no count", blank + 1);
		folded.lines[folded.n].stack = strdup(line);
		folded.total += folded.lines[folded.n++].count;
	}
	free(line);
	(void)fclose(f);
	return folded;
}

const char *workload(const char *name)
{
	static char path[256];
	const char *build = getenv("O");

	(void)snprintf(path, sizeof(path), "%s/tests/workload/%s", build ? build : "build", name);
	return path;
}

const char *build_workload(const char *name, const char *source, const char *flags)
{
	static char path[256];

	(void)snprintf(path, sizeof(path), "%s%s", test_dir(), name);
	must("gcc -O2 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -pthread tests/workload/%s %s "
	     "-Wl,-rpath,%s -o '%s'",
	     source, flags, test_dir(), path);
	return path;
}

/* Neither the recording nor what it starts waits behind what else the host does. */
static void format_record(char *command, size_t size, const char *options, va_list ap)
{
	int n = snprintf(command, size, "nice -n -10 %s record -e cpu-clock -o %sout.folded -o %sout.txt ",
			 hotleaf(), test_dir(), test_dir());

	if (geteuid() != 0)
		SKIP("needs root");
	shell_format(command + n, size - (size_t)n, options, ap);
}

static struct folded read_output(void)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%sout.folded", test_dir());
	return read_folded(path);
}

struct folded record(const char *options, ...)
{
	char command[3072];
	const char *said;
	int status;
	va_list ap;

	va_start(ap, options);
	format_record(command, sizeof(command), options, ap);
	va_end(ap);
	said = output_of(&status, "%s", command);
	if (status)
		FAIL("%s: status %d, %s", command, status, said);
	return read_output();
}

pid_t start_recording(const char *options, ...)
{
	char command[3072];
	va_list ap;

	va_start(ap, options);
	format_record(command, sizeof(command), options, ap);
	va_end(ap);
	return start("%s", command);
}

struct folded finish_recording(pid_t pid)
{
	int status;

	CHECK_INT(waitpid(pid, &status, 0), pid);
	if (status)
		FAIL("hotleaf record: status %d", shell_status(status));
	return read_output();
}

struct folded end_recording(pid_t pid)
{
	CHECK_INT(kill(pid, SIGINT), 0);
	return finish_recording(pid);
}

/* The number in front of @what in the header. */
static uint64_t number_before(const char *header, const char *what)
{
	const char *at = strstr(header, what);

	if (!at)
		return 0;
	while (at > header && at[-1] >= '0' && at[-1] <= '9')
		at--;
	return strtoull(at, NULL, 10);
}

/* The number of the loss called @name: "NUMBER (SHARE %) NAME: HELP". */
static uint64_t loss_of(const char *header, const char *name)
{
	char mark[128];
	const char *at;

	(void)snprintf(mark, sizeof(mark), " %%) %s: ", name);
	at = strstr(header, mark);
	if (!at)
		return 0;
	while (*at != '(')
		at--;
	for (at--; at > header && at[-1] != ' ';)
		at--;
	return strtoull(at, NULL, 10);
}

struct account read_account(void)
{
	static const char *const lost[] = {
		"internal map missing",    "count map full",  "count map busy",
		"count map out of memory", "count map error", "no room in memory"
	};
	static char header[1 << 16];
	struct account account = { 0 };
	char path[128];
	size_t n;
	FILE *f;

	(void)snprintf(path, sizeof(path), "%sout.txt", test_dir());
	f = fopen(path, "r");
	CHECK(f);
	n = fread(header, 1, sizeof(header) - 1, f);
	header[n] = '\0';
	(void)fclose(f);
	/* Lines are folded at any blank. */
	for (char *from = header, *to = header;; from++) {
		bool blank = *from == ' ' || *from == '\n';

		if (!blank || (to > header && to[-1] != ' '))
			*to++ = blank ? ' ' : *from;
		if (!*from)
			break;
	}
	account.shown = number_before(header, " shown");
	account.expected = number_before(header, " expected");
	account.seen = number_before(header, " seen");
	account.idle = number_before(header, " idle");
	account.filtered = number_before(header, " not asked for");
	for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++)
		account.lost += loss_of(header, lost[i]);
	account.textless = loss_of(header, "without text");
	account.undecoded = loss_of(header, "undecoded");
	account.stackless = loss_of(header, "stack lost");
	return account;
}

void check_account(const struct folded *folded)
{
	struct account a = read_account();

	CHECK(a.seen > 0);
	CHECK_INT(folded->total, a.shown);
	CHECK_INT(a.shown + a.idle + a.filtered + a.lost, a.seen);
}

void folded_done(struct folded *folded)
{
	for (size_t i = 0; i < folded->n; i++)
		free(folded->lines[i].stack);
	free(folded->lines);
	*folded = (struct folded){ 0 };
}

static regex_t compile(const char *regex)
{
	regex_t compiled;

	if (regcomp(&compiled, regex, REG_EXTENDED | REG_NOSUB))
		FAIL("no regular expression: %s", regex);
	return compiled;
}

uint64_t sum_of(const struct folded *folded, const char *regex)
{
	regex_t compiled = compile(regex);
	uint64_t sum = 0;

	for (size_t i = 0; i < folded->n; i++)
		if (regexec(&compiled, folded->lines[i].stack, 0, NULL, 0) == 0)
			sum += folded->lines[i].count;
	regfree(&compiled);
	return sum;
}

void note_lines(const struct folded *folded, const char *regex, size_t most)
{
	regex_t compiled = compile(regex);

	for (size_t i = 0; i < folded->n && most; i++)
		if (regexec(&compiled, folded->lines[i].stack, 0, NULL, 0) == 0) {
			NOTE("%s %llu", folded->lines[i].stack, (unsigned long long)folded->lines[i].count);
			most--;
		}
	regfree(&compiled);
}

void check_share(const char *what, uint64_t part, uint64_t whole, double p)
{
	uint64_t low, high;

	hl_binomial_bounds(whole, p, &low, &high);
	if (part < low || part > high)
		FAIL("%s: %llu of %llu samples, should be %llu to %llu", what, (unsigned long long)part,
		     (unsigned long long)whole, (unsigned long long)low, (unsigned long long)high);
}

void check_at_least(const char *what, uint64_t part, uint64_t whole, double least)
{
	uint64_t low, high;

	hl_binomial_bounds(whole, least, &low, &high);
	if (whole == 0 || part < low)
		FAIL("%s: %llu of %llu samples, should be %.2f %% at least; %s", what,
		     (unsigned long long)part, (unsigned long long)whole, least * 100,
		     output_of(NULL, "sed '/^top functions/,$d' %sout.txt", test_dir()));
}
