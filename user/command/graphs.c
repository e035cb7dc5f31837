// SPDX-License-Identifier: BSD-2-Clause
#include "command/graphs.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/prune.h"
#include "base/spawn.h"
#include "base/str.h"
#include "cli/cli.h"
#include "command/host_name.h"
#include "process/pressure.h"

/* Of an incident: what led to it, and how it went on. */
#define BEFORE_NS  (60 * HL_SECOND_NS)
#define AFTER_NS   (30 * HL_SECOND_NS)
/* After a window ends, until it is in the store. */
#define WRITING_NS (5 * HL_SECOND_NS)
/* A child that takes longer is ended. */
#define CHILD_NS   (600 * HL_SECOND_NS)
/* How often pressure is looked at, which is an average of as long. */
#define LOOK_NS    (10 * HL_SECOND_NS)
/* How often old ones are looked for where none are written. */
#define PRUNE_NS   (3600 * HL_SECOND_NS)

enum { CHILD_NICE = 10 };

struct hl_graphs {
	int proc_fd;
	pid_t child; /* 0: none */
	uint64_t child_since_ns, cpu_ns;
	uint64_t
		done_ns; /* graphs were begun of all time up to here, since the epoch; 0: before the first look */
	uint64_t every_ns;    /* of which length */
	uint64_t incident_ns; /* when one began that is not written yet; 0: none */
	uint64_t looked_ns;   /* monotonic: at pressure */
	uint64_t last_ns;     /* monotonic: when the last incident began; 0: none did */
	uint64_t pruned_ns;   /* monotonic */
	struct hl_pressure pressure;
};

struct hl_graphs *hl_graphs_new(void)
{
	struct hl_graphs *g = calloc(1, sizeof(*g));

	if (g)
		g->proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return g;
}

void hl_graphs_free(struct hl_graphs *g)
{
	if (!g)
		return;
	if (g->child) {
		(void)kill(g->child, SIGKILL);
		(void)waitpid(g->child, NULL, 0);
	}
	hl_cleanup_close(&g->proc_fd);
	free(g);
}

uint64_t hl_graphs_cpu_ns(const struct hl_graphs *g)
{
	return g->cpu_ns;
}

/* ---- the child ----------------------------------------------------------------------------------------- */

static const char incident[] = "-pressure.html";

static bool is_incident(const char *name)
{
	return hl_ends_with(name, incident);
}

static bool is_graph(const char *name)
{
	return hl_ends_with(name, ".html") && strcmp(name, "latest.html") != 0 &&
	       strcmp(name, "index.html") != 0;
}

/* Of what may be kept in all, where there are both kinds each has a half. */
static uint64_t most_bytes(const struct hl_graphs_options *options)
{
	return options->every_ns && options->when ? options->max_bytes / 2 : options->max_bytes;
}

/* Those of spans of time are the child's to remove, which keeps their index. */
static void prune(struct hl_graphs *g, const struct hl_graphs_options *options, const char *graphs_dir)
{
	const struct hl_prune limits = { .is_ours = options->every_ns ? is_incident : is_graph,
					 .max_age_ns = options->max_age_ns,
					 .max_bytes = most_bytes(options) };
	struct hl_err err = { "" };

	g->pruned_ns = hl_monotonic_ns();
	if (hl_prune_files(graphs_dir, &limits, hl_realtime_ns(), &err) && !access(graphs_dir, F_OK))
		hl_log_once(HL_LOG_WARNING, "graphs", "%s", err.text);
}

static uint64_t to_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * HL_SECOND_NS + (uint64_t)t->tv_usec * 1000;
}

/* Whether there is no child now. */
static bool reap(struct hl_graphs *g)
{
	struct rusage used;
	int status;

	if (!g->child)
		return true;
	if (wait4(g->child, &status, WNOHANG, &used) != g->child) {
		if (hl_monotonic_ns() - g->child_since_ns > CHILD_NS)
			(void)kill(g->child, SIGKILL);
		return false;
	}
	g->child = 0;
	g->cpu_ns += to_ns(&used.ru_utime) + to_ns(&used.ru_stime);
	if (status)
		hl_log_once(HL_LOG_WARNING, "graphs",
			    "a flame graph was not written (status 0x%x): `hotleaf report` on the same time "
			    "says why",
			    (unsigned int)status);
	return true;
}

/* Has it written to @output, in the directory of the store or below. In a directory it keeps what is not too old. */
static void start(struct hl_graphs *g, const struct hl_graphs_options *options, const char *dir,
		  uint64_t since_ns, uint64_t until_ns, char *output)
{
	char since[24], until[24], age[24], bytes[24],
		*argv[] = { (char *)"hotleaf",
			    (char *)"report",
			    (char *)"--config",
			    (char *)"none",
			    (char *)"--store",
			    (char *)dir,
			    (char *)"--since",
			    since,
			    (char *)"--until",
			    until,
			    (char *)"-o",
			    output,
			    (char *)"--keep-age",
			    age,
			    (char *)"--keep-bytes",
			    bytes,
			    NULL };
	_cleanup_close_ int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char *slash = strrchr(output, '/');
	int code;

	/* That it is not there shows in the child. */
	*slash = '\0';
	(void)mkdir(output, 0750);
	*slash = '/';
	(void)snprintf(since, sizeof(since), "@%" PRIu64, since_ns / HL_SECOND_NS);
	(void)snprintf(until, sizeof(until), "@%" PRIu64, until_ns / HL_SECOND_NS);
	(void)snprintf(age, sizeof(age), "%" PRIu64, options->max_age_ns / HL_SECOND_NS);
	(void)snprintf(bytes, sizeof(bytes), "%" PRIu64, most_bytes(options));
	code = null < 0 ? -errno : hl_spawn_self(argv, NULL, null, &g->child);
	if (code) {
		g->child = 0;
		hl_log_once(HL_LOG_WARNING, "graphs", "a flame graph was not written: %s", strerror(-code));
		return;
	}
	g->child_since_ns = hl_monotonic_ns();
	(void)setpriority(PRIO_PROCESS, (id_t)g->child, CHILD_NICE);
}

/* ---- what is due --------------------------------------------------------------------------------------- */

/* Of each whole span that is over, the last only: those that were missed can be had by hotleaf report. */
static bool is_due(struct hl_graphs *g, uint64_t every_ns, uint64_t now_ns, uint64_t settled_ns,
		   uint64_t *ret_until_ns)
{
	uint64_t until_ns;

	if (!every_ns)
		return false;
	until_ns = settled_ns / every_ns * every_ns;
	/* The first is the one that goes on now: of those before, there may be nothing. */
	if (g->every_ns != every_ns) {
		g->every_ns = every_ns;
		g->done_ns = now_ns / every_ns * every_ns;
	}
	if (until_ns <= g->done_ns)
		return false;
	g->done_ns = until_ns;
	*ret_until_ns = until_ns;
	return true;
}

/* Notes an incident where one begins. */
static void look_at_pressure(struct hl_graphs *g, const struct hl_graphs_options *options, uint64_t now_ns)
{
	uint64_t monotonic = hl_monotonic_ns(), pressure;

	if (!options->when || monotonic - g->looked_ns < LOOK_NS)
		return;
	g->looked_ns = monotonic;
	if (!hl_pressure_look(&g->pressure, g->proc_fd, &pressure) || pressure < options->when)
		return;
	if (g->incident_ns || (g->last_ns && monotonic - g->last_ns < options->quiet_ns))
		return;
	g->incident_ns = now_ns;
	g->last_ns = monotonic;
}

/* As hl_outputs names files, and that it is of an incident. */
static int name_incident(const char *host_given, const char *graphs_dir, uint64_t since_ns,
			 uint64_t length_ns, struct hl_str *path)
{
	char time[HL_TIME_SIZE], host[HL_HOST_NAME_SIZE];

	hl_host_name(host_given, host);
	hl_str_addf(path, "%s", graphs_dir);
	for (const char *c = host; *c; c++)
		hl_str_addc(path, isalnum((unsigned char)*c) || strchr("-_.", *c) ? *c : '_');
	hl_str_addf(path, "-%s-%" PRIu64 "s%s", hl_time_file_name(since_ns, time), length_ns / HL_SECOND_NS,
		    incident);
	return hl_str_status(path);
}

/* Whether it is time for the one that was noted, and then a child for it. */
static bool write_incident(struct hl_graphs *g, const struct hl_graphs_options *options, const char *host,
			   const char *dir, const char *graphs_dir, uint64_t settled_ns)
{
	_cleanup_str_ struct hl_str path = { 0 };
	uint64_t since_ns = g->incident_ns - BEFORE_NS;

	if (!g->incident_ns || settled_ns < g->incident_ns + AFTER_NS)
		return false;
	if (!name_incident(host, graphs_dir, since_ns, BEFORE_NS + AFTER_NS, &path))
		start(g, options, dir, since_ns, since_ns + BEFORE_NS + AFTER_NS, path.data);
	g->incident_ns = 0;
	return true;
}

void hl_graphs_look(struct hl_graphs *g, const struct hl_graphs_options *options, const char *host,
		    const char *dir, uint64_t window_ns)
{
	_cleanup_str_ struct hl_str graphs_dir = { 0 };
	uint64_t now_ns = hl_realtime_ns(), settled_ns, until_ns;
	bool worked = g->child != 0;

	look_at_pressure(g, options, now_ns);
	if ((!options->every_ns && !options->when) || !reap(g))
		return;
	hl_str_addf(&graphs_dir, "%s/flamegraphs/", dir);
	if (hl_str_status(&graphs_dir))
		return;
	if (worked || !g->pruned_ns || hl_monotonic_ns() - g->pruned_ns > PRUNE_NS)
		prune(g, options, graphs_dir.data);
	settled_ns = now_ns - window_ns - WRITING_NS;
	if (write_incident(g, options, host, dir, graphs_dir.data, settled_ns))
		return;
	if (is_due(g, options->every_ns, now_ns, settled_ns, &until_ns))
		start(g, options, dir, until_ns - options->every_ns, until_ns, graphs_dir.data);
}
