// SPDX-License-Identifier: BSD-2-Clause
#include "system/record.h"

#include <regex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

static char dir[64];

static void remove_dir(void)
{
	(void)shell("rm -rf '%s'", dir);
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

static void format(char *text, size_t size, const char *fmt, va_list ap)
{
	int n = vsnprintf(text, size, fmt, ap);

	if (n < 0 || (size_t)n >= size)
		FAIL("a command of the test is too long");
}

static int status_of(int wait_status)
{
	return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

int shell(const char *fmt, ...)
{
	char command[4096];
	va_list ap;

	va_start(ap, fmt);
	format(command, sizeof(command), fmt, ap);
	va_end(ap);
	return status_of(system(command));
}

void must(const char *fmt, ...)
{
	char command[4096];
	va_list ap;
	int status;

	va_start(ap, fmt);
	format(command, sizeof(command), fmt, ap);
	va_end(ap);
	status = status_of(system(command));
	if (status)
		FAIL("status %d of: %s", status, command);
}

const char *output_of(int *ret_status, const char *fmt, ...)
{
	static char text[1 << 20];
	char command[4096];
	size_t n = 0, got;
	va_list ap;
	int status;
	FILE *f;

	va_start(ap, fmt);
	format(command, sizeof(command) - 16, fmt, ap);
	va_end(ap);
	strcat(command, " 2>&1");
	f = popen(command, "r");
	CHECK(f);
	while ((got = fread(text + n, 1, sizeof(text) - 1 - n, f)) > 0)
		n += got;
	text[n] = '\0';
	status = status_of(pclose(f));
	if (ret_status)
		*ret_status = status;
	return text;
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
	format(command + 5, sizeof(command) - 5, fmt, ap);
	va_end(ap);
	pid = fork();
	if (pid == 0) {
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

struct folded record(const char *options, ...)
{
	char text[2048], path[128];
	int status;
	const char *said;
	va_list ap;

	if (geteuid() != 0)
		SKIP("needs root");
	va_start(ap, options);
	format(text, sizeof(text), options, ap);
	va_end(ap);
	(void)snprintf(path, sizeof(path), "%sout.folded", test_dir());
	said = output_of(&status, "%s record -e cpu-clock -o %s %s", hotleaf(), path, text);
	if (status)
		FAIL("hotleaf record %s: status %d, %s", text, status, said);
	return read_folded(path);
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
		FAIL("%s: %llu of %llu samples, should be %.2f %% at least", what, (unsigned long long)part,
		     (unsigned long long)whole, least * 100);
}
