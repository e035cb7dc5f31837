// SPDX-License-Identifier: BSD-2-Clause
/* needs: tests/system/agent tests/system/record tests/shell */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "shell.h"
#include "system/agent.h"
#include "system/record.h"

/* What the agent tells Prometheus: a real one reads it, and what it says is what the store holds. */

/* Waits until the shell command succeeds. */
static void wait_until(const char *command)
{
	for (int i = 0; i < 300; i++) {
		if (!shell("cd %s && { %s; } >/dev/null 2>&1", test_dir(), command))
			return;
		(void)usleep(100 * 1000);
	}
	FAIL("not in 30 s: %s: %s", command, output_of(NULL, "cat %ssaid", test_dir()));
}

HL_TEST_TIMEOUT(prometheus_reads_them, 120)
{
	pid_t load, agent, prometheus;

	must("printf 'global:\\n  scrape_interval: 1s\\nscrape_configs:\\n- job_name: hotleaf\\n  "
	     "static_configs:\\n  - targets: [\"127.0.0.1:19642\"]\\n' >%sprometheus.yml",
	     test_dir());
	load = start("%s 90 >/dev/null", workload("load"));
	agent = start_agent("-F 99 --metrics 19642");
	prometheus = start("prometheus --config.file=%sprometheus.yml --storage.tsdb.path=%stsdb "
			   "--web.listen-address=127.0.0.1:19643 >%sprometheus.log 2>&1",
			   test_dir(), test_dir(), test_dir());
	wait_until("promtool query instant http://127.0.0.1:19643 "
		   "'hotleaf_cpu_seconds_total{service=\"load\"} > 2' | "
		   "grep -q load");
	wait_until("promtool query instant http://127.0.0.1:19643 'rate(hotleaf_samples_seen_total[10s]) > "
		   "20' | "
		   "grep -q hotleaf");
	must("test \"$(promtool query instant http://127.0.0.1:19643 'up{job=\"hotleaf\"} == 1' | wc -l)\" = "
	     "1");
	must("curl -sf http://127.0.0.1:19642/metrics >%spage && promtool check metrics <%spage", test_dir(),
	     test_dir());
	must("touch %sdisabled", test_dir());
	wait_until("curl -sf http://127.0.0.1:19642/metrics | grep -qx 'hotleaf_sampling 0'");
	must("rm %sdisabled", test_dir());
	wait_until("curl -sf http://127.0.0.1:19642/metrics | grep -qx 'hotleaf_sampling 1'");
	stop(prometheus);
	end_agent(agent);
	stop(load);
	/* What it may not ask for any more it says. */
	must("! grep -v 'the CPU time of the kernel programs is not known until a restart$' %ssaid",
	     test_dir());
}

HL_TEST_TIMEOUT(a_file_and_a_socket, 90)
{
	pid_t agent;
	char options[300];

	/* The folder of an exporter may be the exporter's own. */
	must("mkdir %sothers && chown 65534 %sothers", test_dir(), test_dir());
	(void)snprintf(options, sizeof(options),
		       "-F 99 --metrics unix:%ssocket --metrics-file %sothers/hotleaf.prom", test_dir(),
		       test_dir());
	agent = start_agent(options);
	wait_until("grep -q '^hotleaf_windows_stored_total [1-9]' others/hotleaf.prom");
	must("promtool check metrics <%sothers/hotleaf.prom", test_dir());
	must("test \"$(stat -c %%a %sothers/hotleaf.prom)\" = 644", test_dir());
	must("curl -sf --unix-socket %ssocket http://x/metrics | promtool check metrics", test_dir());
	must("test \"$(curl -s -o /dev/null -w '%%{http_code}' --unix-socket %ssocket http://x/other)\" = "
	     "404",
	     test_dir());
	end_agent(agent);
	/* The samples that were stored are those that were seen, but for those of an idle CPU. */
	must("test \"$(sqlite3 -readonly %sstore/*.db 'SELECT sum(seen - idle) = sum(samples) + (SELECT "
	     "coalesce(sum(l.samples), 0) FROM losses l JOIN reasons r ON r.id = l.reason WHERE r.kind = 0 "
	     "AND "
	     "r.name != \"not delivered\") FROM windows WHERE level = 0')\" = 1",
	     test_dir());
}

HL_TEST(only_loopback)
{
	int status;

	CHECK(strstr(output_of(&status, "%s agent --config none --store %sstore --metrics 0.0.0.0:19644",
			       hotleaf(), test_dir()),
		     "'0.0.0.0:19644' is no loopback address"));
	CHECK_INT(status, 2);
	CHECK(strstr(output_of(&status, "%s agent --config none --metrics-anywhere", hotleaf()),
		     "needs option \"--metrics\" too"));
	CHECK_INT(status, 2);
}
