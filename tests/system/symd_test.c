// SPDX-License-Identifier: BSD-2-Clause
/* needs: base tests/system/record tests/shell */
/* The sandboxed parser and the privileges of a real recording. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "harness.h"
#include "shell.h"
#include "system/record.h"

enum { MOST = 16 };

/* The sandboxed children of @pid, which any of its threads may have started. */
static unsigned int find_servers(pid_t pid, pid_t ret[MOST])
{
	char path[64], task[400];
	const struct dirent *entry;
	unsigned int n = 0;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		_cleanup_free_ char *text = NULL;
		char *rest, *word;

		(void)snprintf(task, sizeof(task), "%s/%s/children", path, entry->d_name);
		if (entry->d_name[0] == '.' || hl_read_file_at(AT_FDCWD, task, 4096, &text, NULL))
			continue;
		for (word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
			if (n < MOST && shell("grep -qx hotleaf-symd /proc/%s/comm", word) == 0)
				ret[n++] = (pid_t)strtol(word, NULL, 10);
	}
	if (dir)
		closedir(dir);
	return n;
}

HL_TEST(servers_that_are_killed_come_back)
{
	pid_t servers[MOST], again[MOST], pid, deep, other;
	struct folded folded;
	uint64_t all;

	deep = start("%s 600 3", workload("deep"));
	(void)usleep(300000);
	pid = start_recording("-F 499 -d 8");
	(void)sleep(3);
	CHECK_INT(find_servers(pid, servers), 2);
	for (int i = 0; i < 2; i++)
		CHECK_INT(kill(servers[i], SIGKILL), 0);
	/* A file that is new, so that a table is asked for. */
	must("cp %s %scopy", workload("deep"), test_dir());
	other = start("%scopy 600 3", test_dir());
	(void)sleep(1);
	CHECK(find_servers(pid, again) >= 1);
	/* The recording has fewer privileges by now; the new server locks itself in all the same. */
	must("grep -q '^Uid:.65534.65534.65534.65534$' /proc/%d/status", (int)again[0]);
	must("grep -q '^Seccomp:.2$' /proc/%d/status", (int)again[0]);
	must("grep -q '^CapBnd:.0000000000000000$' /proc/%d/status", (int)again[0]);
	folded = finish_recording(pid);
	stop(deep);
	stop(other);
	check_account(&folded);
	all = sum_of(&folded, "^(deep|copy);.*[^k]\\]$");
	CHECK(sum_of(&folded, "^copy;") > 20);
	check_at_least("named",
		       sum_of(&folded, "^(deep|copy);(.*;)?main;descend;descend;descend;bottom;[^;]+ "
				       "\\[0x[0-9a-f]+\\]$"),
		       all, 0.8);
	CHECK_INT(shell("tr -s ' \\n' ' ' < %sout.txt | grep -q 'died, hung or lied 2 times'", test_dir()),
		  0);
	folded_done(&folded);
}

static uint64_t read_caps(const char *status, const char *set)
{
	const char *line = strstr(status, set);

	CHECK(line);
	return strtoull(line + strlen(set), NULL, 16);
}

HL_TEST(threads_keep_what_they_need_only)
{
	static const int kept[] = {
		CAP_BPF,    CAP_PERFMON, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_CHECKPOINT_RESTORE,
		CAP_SYSLOG, CAP_KILL
	};
	uint64_t allowed = 0;
	unsigned int threads = 0;
	const struct dirent *entry;
	struct folded folded;
	char path[320];
	pid_t pid;
	DIR *dir;

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		allowed |= UINT64_C(1) << kept[i];
	if (shell("test $(cat /proc/sys/kernel/perf_event_paranoid) -gt 2") == 0)
		allowed |= UINT64_C(1) << CAP_SYS_ADMIN;
	pid = start_recording("-d 4");
	/* When all is attached; on a busy host that takes seconds. */
	for (int i = 0; i < 300 && shell("grep -q '^CapEff:.%016llx$' /proc/%d/status",
					 (unsigned long long)allowed, (int)pid) != 0;
	     i++)
		(void)usleep(50000);
	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		_cleanup_free_ char *status = NULL;

		(void)snprintf(path, sizeof(path), "/proc/%d/task/%s/status", (int)pid, entry->d_name);
		if (entry->d_name[0] == '.' || hl_read_file_at(AT_FDCWD, path, 65536, &status, NULL))
			continue;
		CHECK_INT(read_caps(status, "\nCapPrm:\t"), allowed);
		CHECK_INT(read_caps(status, "\nCapEff:\t"), allowed);
		CHECK_INT(read_caps(status, "\nCapInh:\t"), 0);
		/* What is in the bounding set comes back by a new program: only symd's needs are. */
		CHECK_INT(read_caps(status, "\nCapBnd:\t") &
				  (UINT64_C(1) << CAP_SYS_MODULE | UINT64_C(1) << CAP_NET_ADMIN |
				   UINT64_C(1) << CAP_SYS_RAWIO | UINT64_C(1) << CAP_DAC_OVERRIDE),
			  0);
		threads++;
	}
	if (dir)
		closedir(dir);
	CHECK(threads >= 2);
	folded = finish_recording(pid);
	folded_done(&folded);
}

HL_TEST(a_command_keeps_its_users_privileges)
{
	if (geteuid() != 0)
		SKIP("needs root");
	must("grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status > %sbefore", test_dir());
	must("%s record -o %sx.folded -- grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status > %safter",
	     hotleaf(), test_dir(), test_dir());
	must("cmp %sbefore %safter", test_dir(), test_dir());
}

HL_TEST(outputs_in_another_users_directory)
{
	if (geteuid() != 0)
		SKIP("needs root");
	must("mkdir %selse && touch %selse/out.folded && chown -R 65534 %selse && chmod 1755 %selse",
	     test_dir(), test_dir(), test_dir(), test_dir());
	must("%s record -d 0.1 -o %selse/out.folded -o %selse/new.txt", hotleaf(), test_dir(), test_dir());
	must("program=$(realpath %s) && cd %selse && $program record -d 0.1 && ls *.html > /dev/null",
	     hotleaf(), test_dir());
	must("test -s %selse/new.txt", test_dir());
}
