// SPDX-License-Identifier: BSD-2-Clause
#include "system/agent.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "shell.h"
#include "system/record.h"

pid_t start_agent(const char *options)
{
	if (geteuid())
		SKIP("needs root to sample the host");
	return start("%s agent -e cpu-clock --config none --store %sstore --window 2 --min-free 0 "
		     "--disabled-file %sdisabled %s >>%ssaid 2>&1",
		     hotleaf(), test_dir(), test_dir(), options, test_dir());
}

void end_agent(pid_t pid)
{
	int status;

	CHECK(kill(pid, SIGTERM) == 0);
	CHECK(waitpid(pid, &status, 0) == pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		FAIL("the agent ended with status 0x%x: %s", status,
		     output_of(NULL, "cat %ssaid", test_dir()));
}
