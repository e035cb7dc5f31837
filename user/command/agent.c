// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>

#include "command/agent_run.h"
#include "command/command.h"
#include "command/plan.h"
#include "command/store_options.h"

static const struct hl_option options[] = {
	HL_HEADING("What is sampled"),
	{ "frequency", 'F', HL_UINT(struct hl_agent_options, recording.frequency), .min = 1, .max = 20000,
	  .default_text = "19", .metavar = "HZ", .help = "samples a second on each CPU" },
	{ "event", 'e', HL_STRING(struct hl_agent_options, recording.event), .metavar = "EVENT",
	  .help = "what to count; without it the best that opens: cycles, as precise as can be, else "
		  "cpu-clock" },
	HL_SELECTION_ROWS(struct hl_agent_options, recording.where, recording.exclude),
	HL_RECORDING_SOCKETS(struct hl_agent_options),
	HL_RECORDING_SYNTAX(struct hl_agent_options),
	HL_RECORDING_HOST(struct hl_agent_options),
	HL_HEADING("What is kept"),
	{ "store", 0, HL_STRING(struct hl_agent_options, store), .default_text = HL_STORE_DIR,
	  .metavar = "DIR", .help = "where: a file for each UTC day" },
	{ "window", 0, HL_SECONDS(struct hl_agent_options, window_ns), .min = HL_SECOND_NS,
	  .max = 3600 * HL_SECOND_NS, .default_text = "10", .metavar = "SECONDS",
	  .help = "the span of time that samples are summed over; it must divide an hour" },
	HL_STORE_LIMITS(struct hl_agent_options, limits),
	{ "code-max", 0, HL_BYTES(struct hl_agent_options, limits.code_bytes), .max = UINT64_C(1) << 40,
	  .default_text = "16M", .metavar = "BYTES",
	  .help = "machine code that a day keeps, of functions with a thousandth of its samples, so that "
		  "annotate lists what ran; 0: none" },
	HL_RECORDING_LIMITS(struct hl_agent_options),
	{ "cpu-max", 0, HL_PERCENT(struct hl_agent_options, caps.cpu), .max = 100 * HL_ONE_PERCENT,
	  .default_text = "5", .metavar = "PERCENT",
	  .help = "CPU time that all of hotleaf may take, of each CPU, over a minute; beyond it the "
		  "frequency "
		  "is halved, then unwind tables go; 0: any" },
	{ "memory-max", 0, HL_BYTES(struct hl_agent_options, caps.bytes), .max = UINT64_C(1) << 40,
	  .default_text = "256M", .metavar = "BYTES",
	  .help = "resident memory and BPF maps, symd apart; beyond it likewise; 0: any" },
	{ "caps-hold", 0, HL_SECONDS(struct hl_agent_options, caps.hold_ns), .min = HL_SECOND_NS,
	  .max = 3600 * HL_SECOND_NS, .default_text = "1m", .metavar = "SECONDS", .hidden = true,
	  .help = "how long a step of the caps stays at least, and what a burst may use, in seconds of it" },
	{ "generation", 0, HL_SECONDS(struct hl_agent_options, generation_ns), .min = HL_SECOND_NS,
	  .max = 86400 * HL_SECOND_NS, .default_text = "1h", .metavar = "SECONDS", .hidden = true,
	  .help = "how long names and unused files are remembered" },
	{ "disabled-file", 0, HL_STRING(struct hl_agent_options, disabled), .default_text = HL_DISABLED_FILE,
	  .metavar = "FILE", .hidden = true, .help = "while it is there, nothing is sampled" },
	HL_HEADING("Flame graphs, in STORE/flamegraphs"),
	{ "flamegraph-every", 0, HL_SECONDS(struct hl_agent_options, graphs.every_ns),
	  .min = 10 * HL_SECOND_NS, .max = 86400 * HL_SECOND_NS, .metavar = "SECONDS",
	  .help = "write one of each such span since the epoch, as 1h, and make latest.html that page" },
	{ "flamegraph-when", 0, HL_PERCENT(struct hl_agent_options, graphs.when), .min = 100,
	  .max = 100 * HL_ONE_PERCENT, .metavar = "PERCENT",
	  .help = "write one of an incident: when for so much of ten seconds work has waited for a CPU, of "
		  "the "
		  "minute before and half a minute after" },
	{ "flamegraph-quiet", 0, HL_SECONDS(struct hl_agent_options, graphs.quiet_ns), .min = HL_SECOND_NS,
	  .max = 86400 * HL_SECOND_NS, .default_text = "10m", .metavar = "SECONDS",
	  .help = "between two incidents, at least" },
	{ "flamegraph-age", 0, HL_SECONDS(struct hl_agent_options, graphs.max_age_ns),
	  .min = 60 * HL_SECOND_NS, .max = 36500 * (86400 * HL_SECOND_NS), .default_text = "7d",
	  .metavar = "SECONDS", .help = "older ones are removed" },
	{ "flamegraph-max", 0, HL_BYTES(struct hl_agent_options, graphs.max_bytes), .min = 1 << 20,
	  .max = UINT64_C(1) << 50, .default_text = "200M", .metavar = "BYTES",
	  .help = "beyond it the oldest are removed" },
	HL_HEADING("Metrics, for Prometheus"),
	{ "metrics", 0, HL_STRING(struct hl_agent_options, metrics.address), .metavar = "ADDRESS",
	  .help = "serve them at http://ADDRESS/metrics: PORT of 127.0.0.1, ADDRESS:PORT of loopback, or the "
		  "path of a socket" },
	{ "metrics-anywhere", 0, HL_FLAG(struct hl_agent_options, metrics.anywhere), .needs = "metrics",
	  .help = "also at addresses that are not loopback: whoever reaches them reads what runs here" },
	{ "metrics-file", 0, HL_STRING(struct hl_agent_options, metrics.file), .metavar = "FILE",
	  .help = "write them to FILE, as /var/lib/prometheus/node-exporter/hotleaf.prom, for the textfile "
		  "collector of node_exporter" },
	HL_HEADING("Settings"),
	HL_SETTINGS_ROW(struct hl_agent_options, settings),
	{ "check-config", 0, HL_FLAG(struct hl_agent_options, check_config), .typed_only = true,
	  .help = "only say whether the settings are right" },
};

static int check_config(const struct hl_agent_options *c, struct hl_err *err)
{
	int code = hl_plan_check(c, err);

	if (!code && c->settings.read[0])
		printf("the settings are right: %s\n", c->settings.read);
	else if (!code)
		printf("there are no settings; all is as by default\n");
	return code;
}

static int run_agent(void *config, char **rest, struct hl_err *err)
{
	const struct hl_agent_options *c = config;

	return c->check_config ? check_config(c, err) : hl_agent_run(c, err);
}

const struct hl_command hl_command_agent = {
	.name = "agent",
	.summary = "sample this host all the time, and keep it for reports",
	.usage = "[OPTION…]",
	.description =
		"Samples every CPU until it is told to end (SIGTERM, SIGINT), and writes what ran, window "
		"by\n"
		"window, to a store, from which `hotleaf report` makes pages of any span of time. While\n"
		"/etc/hotleaf/disabled exists, nothing is sampled and nothing is left in the kernel.",
	.options = options,
	.n_options = sizeof(options) / sizeof(options[0]),
	.config_size = sizeof(struct hl_agent_options),
	.run = run_agent,
};
