// SPDX-License-Identifier: BSD-2-Clause
/* needs: tests/system/record tests/shell */
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"
#include "shell.h"
#include "system/record.h"

/* Debug files that are fetched: from a real server, and by client programs that do what they should not. */

static pid_t app;

/* A stripped program, of a build-id that was never there before; its debug file is served/app.debug. */
static void start_app(void)
{
	const char *dir = test_dir();

	if (geteuid() != 0)
		SKIP("needs root");
	must("cd %s && mkdir served bin && chmod 755 . && cc -O2 -g -fno-omit-frame-pointer "
	     "-Wl,--build-id=0x$(od -An -N20 -tx1 /dev/urandom | tr -d ' \n') -o full "
	     "$OLDPWD/tests/workload/deep.c && objcopy --only-keep-debug full served/app.debug && "
	     "objcopy --strip-all full app && ln -s $(command -v nice) bin",
	     dir);
	app = start("%sapp 600 3", dir);
	(void)usleep(200000);
}

static struct folded record_app(const char *options)
{
	struct folded folded = record("-F 499 -d 1 -p %d --debuginfod %s", (int)app, options);

	check_account(&folded);
	return folded;
}

static void check_note(const char *text)
{
	/* A note may be wrapped. */
	if (shell("tr -s ' \\n' ' ' <%sout.txt | grep -qF -e \"%s\"", test_dir(), text))
		FAIL("no note '%s' in: %s", text, output_of(NULL, "cat %sout.txt", test_dir()));
}

/* All of the program's own samples have their names, or none has. */
static void check_names(const struct folded *folded, bool named)
{
	uint64_t all = sum_of(folded, "^app;.*;[^;]*[^k]$");
	uint64_t right = sum_of(folded, "^app;(.*;)?main;descend;descend;descend;bottom;[^;]+$");

	CHECK(all > 20);
	if (named)
		check_at_least("named", right, all, 0.9);
	else
		CHECK_INT(sum_of(folded, "^app;.*(descend|bottom)"), 0);
}

static void check_run(const char *options, bool named, const char *note)
{
	struct folded folded = record_app(options);

	check_names(&folded, named);
	if (note)
		check_note(note);
	else
		CHECK(shell("grep -q debuginfod %sout.txt", test_dir()) != 0);
	folded_done(&folded);
}

/* ---- a server ------------------------------------------------------------------------------------------ */

/* A server listens on every address: here there is none but the loopback's. */
static void leave_network(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd;

	CHECK_INT(unshare(CLONE_NEWNET), 0);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	CHECK_INT(ioctl(fd, SIOCSIFFLAGS, &lo), 0);
	close(fd);
}

static pid_t start_server(void)
{
	pid_t server;

	if (shell("command -v debuginfod debuginfod-find >/dev/null"))
		SKIP("no debuginfod");
	leave_network();
	server = start("debuginfod -p 8002 -d %sindex -F %sserved >%sserver.log 2>&1", test_dir(), test_dir(),
		       test_dir());
	(void)setenv("DEBUGINFOD_URLS", "http://127.0.0.1:8002", 1);
	/* It is ready when it knows the file that it is asked for. */
	must("cd %s && for i in $(seq 100); do DEBUGINFOD_CACHE_PATH=%strial-$i debuginfod-find debuginfo "
	     "$(readelf -n app | sed -n 's/.*Build ID: //p') >found 2>&1 && exit 0; sleep 0.1; done; cat "
	     "found; exit 1",
	     test_dir(), test_dir());
	return server;
}

HL_TEST_TIMEOUT(names_and_lines_from_a_server, 120)
{
	struct folded folded;
	pid_t server;

	start_app();
	server = start_server();
	folded = record("-F 499 -d 1 -p %d", (int)app);
	check_names(&folded, false);
	folded_done(&folded);
	check_run("", true, NULL);
	folded = record_app("--lines");
	CHECK(sum_of(&folded, ";bottom at deep.c:[0-9]+;[^;]+$") > 20);
	folded_done(&folded);
	stop(server);
	stop(app);
	must("stat -c %%U %s >%sowner && grep -qx nobody %sowner", "/var/cache/hotleaf/debuginfod",
	     test_dir(), test_dir());
}

HL_TEST_TIMEOUT(a_build_id_that_no_server_knows, 120)
{
	pid_t server;

	start_app();
	server = start_server();
	stop(app);
	must("rm -r %s/served %s/bin", test_dir(), test_dir());
	start_app();
	check_run("", false,
		  "debug files fetched from debuginfod servers: 0; unknown to them: 1; not fetched: 0");
	stop(server);
	check_run("", false, "unknown to them: 1; not fetched: 0"); /* the client remembers that */
	stop(app);
}

HL_TEST_TIMEOUT(a_server_that_is_not_there, 120)
{
	start_app();
	if (shell("command -v debuginfod-find >/dev/null"))
		SKIP("no debuginfod-find");
	leave_network();
	(void)setenv("DEBUGINFOD_URLS", "http://127.0.0.1:8002", 1);
	check_run("", false,
		  "unknown to them: 0; not fetched: 1, the first 'app': the servers cannot be reached, or "
		  "failed");
	stop(app);
}

/* ---- nothing to fetch with ----------------------------------------------------------------------------- */

HL_TEST_TIMEOUT(without_servers_or_a_client_program, 120)
{
	char *path = strdup(getenv("PATH")), bin[128];
	struct folded folded;

	start_app();
	(void)unsetenv("DEBUGINFOD_URLS");
	check_run("", false, "--debuginfod had no effect: DEBUGINFOD_URLS is not set");
	(void)setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1", 1);
	(void)snprintf(bin, sizeof(bin), "%sbin", test_dir());
	(void)setenv("PATH", bin, 1);
	folded = record("-F 499 -d 1 -p %d --debuginfod", (int)app);
	(void)setenv("PATH", path, 1);
	free(path);
	check_names(&folded, false);
	check_note("--debuginfod had no effect: 'debuginfod-find' is not installed");
	folded_done(&folded);
	stop(app);
}

/* ---- client programs that are not the real one --------------------------------------------------------- */

/* From now on debuginfod-find is this, in the shell's language. */
static void fake_client(const char *body)
{
	char path[512];

	must("cat >%sbin/debuginfod-find <<'END' && chmod 755 %sbin/debuginfod-find\n#!/bin/sh\n%s\nEND\n",
	     test_dir(), test_dir(), body);
	(void)setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1", 1);
	(void)snprintf(path, sizeof(path), "%sbin:/usr/sbin:/usr/bin:/sbin:/bin", test_dir());
	(void)setenv("PATH", path, 1);
}

/* What the client program may do, and how it was asked. */
HL_TEST_TIMEOUT(the_client_has_no_rights, 120)
{
	char body[512];

	start_app();
	(void)snprintf(
		body, sizeof(body),
		"exec >%ssaid; id -u; id -g; id -G; echo $$ $1 ${HOME-homeless} $DEBUGINFOD_CACHE_PATH; ls "
		"/proc/self/fd | wc -l; grep -e ^Cap -e ^NoNew /proc/self/status; exit 1",
		test_dir());
	must("install -m 666 /dev/null %ssaid", test_dir());
	fake_client(body);
	check_run("", false, "not fetched: 1, the first 'app': the servers cannot be reached, or failed");
	CHECK_STR(output_of(NULL, "cat %ssaid", test_dir()),
		  "65534\n65534\n65534\n1 debuginfo homeless /var/cache/hotleaf/debuginfod\n4\n"
		  "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
		  "CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\n");
	stop(app);
}

HL_TEST_TIMEOUT(a_client_that_hangs_is_killed_with_all_that_it_started, 120)
{
	start_app();
	fake_client("setsid sleep 86543 & (sleep 86543 &) ; exec sleep 86543");
	check_run("--debuginfod-time 0.7", false, "not fetched: 1, the first 'app': not fetched in time");
	CHECK(shell("pgrep -fx 'sleep 86543'") != 0);
	stop(app);
}

/* What it says was fetched: each is refused, in bounded time and room. */
HL_TEST_TIMEOUT(files_that_are_no_debug_files, 240)
{
	static const struct {
		const char *client, *note;
	} cases[] = {
		{ "echo /dev/zero", "the servers cannot be reached, or failed" },
		{ "mkfifo $T/fifo; echo $T/fifo", "the servers cannot be reached, or failed" },
		{ "echo served/app.debug", "the servers cannot be reached, or failed" },
		{ "echo", "the servers cannot be reached, or failed" },
		{ "yes", "not fetched in time" },
		{ "kill -9 $$", "the servers cannot be reached, or failed" },
		{ "truncate -s 299M $T/much; echo $T/much", "is no ELF file" },
		{ "echo $T/large", "it has more than 300 MB" },
		{ "head -c 301M /dev/zero >$T/over; stat -c %s $T/over >$T/size; exit 1",
		  "it has more than 300 MB" },
		{ "echo /bin/true", "has another build-id" },
	};

	start_app();
	must("install -d -m 777 %sT && truncate -s 301M %sT/large", test_dir(), test_dir());
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char body[512];

		(void)snprintf(body, sizeof(body), "T=%sT\n%s", test_dir(), cases[i].client);
		fake_client(body);
		NOTE("%s", cases[i].client);
		check_run("--debuginfod-time 8", false, cases[i].note);
	}
	CHECK_STR(output_of(NULL, "cat %sT/size", test_dir()), "314572800\n");
	stop(app);
}
