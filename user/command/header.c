// SPDX-License-Identifier: BSD-2-Clause
#include "command/header.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/log.h"
#include "command/kernel_names.h"
#include "insn/insn.h"
#include "sample/reason.h"
#include "symd/client.h"
#include "symd/client_cache.h"

static void add_loss(struct hl_header *h, enum hl_loss_kind kind, const struct hl_reason *reason,
		     uint64_t count)
{
	if (reason && count)
		h->losses[h->meta.n_losses++] = (struct hl_loss){ reason->name, reason->help, count, kind };
}

static enum hl_loss_kind kind_of_counter(unsigned int counter)
{
	if (counter <= HL_COUNTER_COUNTS_OTHER)
		return HL_LOSS_LOST;
	return counter <= HL_COUNTER_KSTACK_FAILED ? HL_LOSS_CUT : HL_LOSS_NOTED;
}

void hl_header_note(struct hl_header *h, const char *note)
{
	if (h->meta.n_notes < sizeof(h->notes) / sizeof(h->notes[0]))
		h->notes[h->meta.n_notes++] = note;
}

uint64_t hl_header_lost(const struct hl_counters *counters, const struct hl_window *window)
{
	uint64_t lost = window->lost;

	for (unsigned int i = HL_COUNTER_NO_SIDE; i <= HL_COUNTER_COUNTS_OTHER; i++)
		lost += counters->value[i];
	return lost;
}

static void add_losses(struct hl_header *h, const struct hl_counters *counters, uint64_t expected,
		       const struct hl_window *window, const struct hl_resolve_counts *counts)
{
	uint64_t seen = counters->value[HL_COUNTER_SEEN];
	const struct {
		enum hl_lack lack;
		enum hl_loss_kind kind;
		uint64_t count;
	} lacks[] = {
		{ HL_LACK_ROOM, HL_LOSS_LOST, window->lost },
		{ HL_LACK_STACK, HL_LOSS_CUT, counts->stacks_lost },
		{ HL_LACK_CGROUP, HL_LOSS_NOTED, counts->no_cgroup },
		{ HL_LACK_NAME, HL_LOSS_NOTED, counts->nameless },
		{ HL_LACK_FILE, HL_LOSS_NOTED, counts->unopened[HL_LACK_FILE] },
		{ HL_LACK_HOST_IDS, HL_LOSS_NOTED, counts->unopened[HL_LACK_HOST_IDS] },
		{ HL_LACK_ANSWER, HL_LOSS_NOTED, counts->unopened[HL_LACK_ANSWER] },
		{ HL_LACK_COPY, HL_LOSS_NOTED, counts->unopened[HL_LACK_COPY] },
		{ HL_LACK_PERMISSION, HL_LOSS_NOTED, counts->unopened[HL_LACK_PERMISSION] },
		{ HL_LACK_ELF, HL_LOSS_NOTED, counts->unopened[HL_LACK_ELF] },
		{ HL_LACK_DENIED, HL_LOSS_NOTED, counts->denied },
		{ HL_LACK_TEXT, HL_LOSS_NOTED, counts->textless },
		{ HL_LACK_DECODER, HL_LOSS_NOTED, counts->undecoded },
		{ HL_LACK_SAME_BYTES, HL_LOSS_NOTED, counts->differs },
		{ HL_LACK_LINES, HL_LOSS_NOTED, counts->lineless },
		{ HL_LACK_LOOPS, HL_LOSS_NOTED, counts->unlisted },
		{ HL_LACK_IRQS, HL_LOSS_NOTED, counts->irqs_off },
	};

	if (expected > seen)
		add_loss(h, HL_LOSS_LOST, hl_reason_of_lack(HL_LACK_DELIVERY), expected - seen);
	for (unsigned int i = 0; i < HL_COUNTER_MAX; i++)
		add_loss(h, kind_of_counter(i), hl_reason_of_counter(i), counters->value[i]);
	for (unsigned int end = 0; end < HL_WALK_MAX; end++)
		add_loss(h, HL_LOSS_CUT, hl_reason_of_walk((uint8_t)end), counts->walk[end]);
	for (size_t i = 0; i < sizeof(lacks) / sizeof(lacks[0]); i++)
		add_loss(h, lacks[i].kind, hl_reason_of_lack(lacks[i].lack), lacks[i].count);
}

/* What --debuginfod came to, unless all was fetched. */
static void add_fetch_note(struct hl_header *h, const struct hl_debug_counts *debug)
{
	int n;

	if (debug->fetch_error[0]) {
		(void)snprintf(h->fetch_note, sizeof(h->fetch_note), "--debuginfod had no effect: %s",
			       debug->fetch_error);
		hl_header_note(h, h->fetch_note);
	} else if (debug->unknown || debug->unfetched) {
		n = snprintf(h->fetch_note, sizeof(h->fetch_note),
			     "debug files fetched from debuginfod servers: %u; unknown to them: %u; not "
			     "fetched: %u",
			     debug->fetched, debug->unknown, debug->unfetched);
		if (debug->unfetched)
			(void)snprintf(h->fetch_note + n, sizeof(h->fetch_note) - (size_t)n, ", the first %s",
				       debug->unfetched_why);
		hl_header_note(h, h->fetch_note);
	}
}

/* Why names are lacking: one note a kind, however many files or samples it is about. */
static void add_name_notes(struct hl_header *h, const struct hl_resolve_counts *counts,
			   const struct hl_kernel_names *kernel, bool of_many)
{
	const struct hl_debug_counts *debug = &counts->debug;

	if (kernel->error) {
		(void)snprintf(h->kernel_note, sizeof(h->kernel_note),
			       "kernel functions have no names: %s; user functions are not affected",
			       kernel->why);
		hl_header_note(h, h->kernel_note);
	}
	if (debug->refused) {
		(void)snprintf(h->refused_note, sizeof(h->refused_note),
			       "debug files refused: %u; the first, %s", debug->refused, debug->refusal);
		hl_header_note(h, h->refused_note);
	}
	add_fetch_note(h, debug);
	if (debug->damaged) {
		(void)snprintf(h->damaged_note, sizeof(h->damaged_note),
			       "files whose .gnu_debugdata is damaged or too large, and was not used: %u",
			       debug->damaged);
		hl_header_note(h, h->damaged_note);
	}
	if (debug->far) {
		(void)snprintf(h->far_note, sizeof(h->far_note),
			       "files with functions more than 4 GiB apart, of which those behind have no "
			       "names: %u",
			       debug->far);
		hl_header_note(h, h->far_note);
	}
	if (hl_code_names_note(&counts->code_names, h->code_note, sizeof(h->code_note)))
		hl_header_note(h, of_many ? "some names of generated code are lost" : h->code_note);
	if (debug->missing && counts->nameless) {
		(void)snprintf(h->missing_note, sizeof(h->missing_note),
			       "debug files that are not installed: %u; the first is %s; with them more "
			       "functions would have names",
			       debug->missing, debug->missed);
		hl_header_note(h, h->missing_note);
	}
}

/* For which files there are no inlined functions and lines, though they were asked for, and why. */
static void add_lines_notes(struct hl_header *h, const struct hl_lines_counts *lines)
{
	int n;

	if (lines->without || lines->refused || lines->untried || lines->damaged || lines->kernel_without) {
		n = snprintf(h->lines_note, sizeof(h->lines_note),
			     "inlined functions and lines are known of %u file%s; %u without debug "
			     "information, %u not read for want of time, %u refused",
			     lines->read, lines->read == 1 ? "" : "s", lines->without, lines->untried,
			     lines->refused);
		if (lines->refused)
			n += snprintf(h->lines_note + n, sizeof(h->lines_note) - (size_t)n, ", the first %s",
				      lines->refusal);
		if (lines->damaged)
			n += snprintf(h->lines_note + n, sizeof(h->lines_note) - (size_t)n,
				      "; %u damaged parts are left out", lines->damaged);
		if (lines->kernel_without)
			(void)snprintf(h->lines_note + n, sizeof(h->lines_note) - (size_t)n,
				       "; the kernel's debug information is not on this host");
		hl_header_note(h, h->lines_note);
	}
	if (lines->missing) {
		(void)snprintf(h->lines_missing_note, sizeof(h->lines_missing_note),
			       "files of debug information that were not found, or are of another build: %u; "
			       "the first is %s",
			       lines->missing, lines->missed);
		hl_header_note(h, h->lines_missing_note);
	}
}

static void add_notes(struct hl_header *h, const struct hl_header_facts *facts)
{
	static const char blind[] =
		"the clock is blind while interrupts are off: what runs then appears where "
		"they are switched on again";
	static const char skid[] =
		"the event is not precise: the sampled instruction is usually the one after "
		"the slow one";
	const char *why;

	if (hl_capture_walk(facts->capture, &why) == HL_CAPTURE_WALK_KERNEL) {
		(void)snprintf(h->walk_note, sizeof(h->walk_note),
			       "user stacks are the kernel's own frame-pointer walks, not checked frame by "
			       "frame: %s",
			       why);
		hl_header_note(h, h->walk_note);
	}
	if (!facts->window->n_samples && !facts->of_many)
		hl_header_note(h, "nothing was sampled: what was asked for did not run in this time");
	if (facts->event->software_clock)
		hl_header_note(h, blind);
	if (!facts->event->precise)
		hl_header_note(h, skid);
}

static void note_room(struct hl_header *h, const struct hl_capture_stats *stats, bool of_many)
{
	if (!stats->tables_dropped && !stats->tables_refused)
		return;
	if (of_many) {
		hl_header_note(h,
			       "unwind tables found no room below --unwind-memory: some were dropped, or not "
			       "loaded");
		return;
	}
	(void)snprintf(
		h->room_note, sizeof(h->room_note),
		"unwind tables found no room below --unwind-memory: %llu unused for longest were dropped, "
		"%llu times one was not loaded",
		(unsigned long long)stats->tables_dropped, (unsigned long long)stats->tables_refused);
	hl_header_note(h, h->room_note);
}

static void note_moved(struct hl_header *h, const struct hl_header_facts *facts)
{
	if (!facts->moved_refused)
		return;
	if (facts->of_many) {
		hl_header_note(h, "some code that processes moved to anonymous memory is unwound by frame "
				  "pointers: there was no room to note where it comes from");
		return;
	}
	(void)snprintf(
		h->moved_note, sizeof(h->moved_note),
		"code that processes moved to anonymous memory is unwound by frame pointers: %llu times "
		"there was no room to note where it comes from",
		(unsigned long long)facts->moved_refused);
	hl_header_note(h, h->moved_note);
}

/* What could not be opened in time, or only be copied. */
static void note_reach(struct hl_header *h, const struct hl_header_facts *facts)
{
	const struct hl_reach_stats *r = &facts->reach;
	int n;

	if (facts->unrooted) {
		(void)snprintf(
			h->roots_note, sizeof(h->roots_note),
			"debug files of %llu files were looked for on the host only: containers have too "
			"many root directories",
			(unsigned long long)facts->unrooted);
		hl_header_note(h, facts->of_many
					  ? "debug files of some files were looked for on the host only: "
					    "containers have too many root directories"
					  : h->roots_note);
	}
	if (r->killed)
		hl_header_note(
			h,
			"the child that opens files was killed, and started anew: some files may lack names");
	if (r->unanswered + r->untried + r->copied + r->uncopied == 0)
		return;
	if (facts->of_many) {
		hl_header_note(h,
			       "some files are on file systems that did not answer, or on FUSE: names may be "
			       "lacking");
		return;
	}
	n = snprintf(
		h->reach_note, sizeof(h->reach_note),
		"file systems did not answer within %d ms %llu times, and were not asked %llu times after "
		"that",
		HL_REACH_MS, (unsigned long long)r->unanswered, (unsigned long long)r->untried);
	if (r->unanswered)
		n += snprintf(h->reach_note + n, sizeof(h->reach_note) - (size_t)n, ", the first for '%s'",
			      r->first);
	(void)snprintf(h->reach_note + n, sizeof(h->reach_note) - (size_t)n,
		       "; files on FUSE, copied as they were when first seen: %llu, too large for that: %llu",
		       (unsigned long long)r->copied, (unsigned long long)r->uncopied);
	hl_header_note(h, h->reach_note);
}

/* Of both: the one that makes tables and the one that knows names. */
static void note_symd(struct hl_header *h, const struct hl_header_facts *facts)
{
	struct hl_symd_stats tables_symd = { 0 }, names_symd;

	if (facts->session)
		hl_session_symd_stats(facts->session, &tables_symd);
	hl_symd_stats(facts->names, &names_symd);
	hl_debug("symbol",
		 "parsed for tables %llu times, for names and lines %llu times; taken from the cache: %llu",
		 (unsigned long long)tables_symd.parsed, (unsigned long long)names_symd.parsed,
		 (unsigned long long)names_symd.restored);
	if (tables_symd.failures + names_symd.failures + names_symd.unanswered == 0)
		return;
	if (facts->of_many) {
		hl_header_note(h,
			       "symd, which parses files in a sandbox, died, hung or lied, and was started "
			       "anew: some files "
			       "may lack names");
		return;
	}
	(void)snprintf(h->symd_note, sizeof(h->symd_note),
		       "symd, which parses files in a sandbox, died, hung or lied %llu times and was started "
		       "anew; files given up: %llu for tables, %llu for names; addresses without an answer: "
		       "%llu",
		       (unsigned long long)tables_symd.failures + names_symd.failures,
		       (unsigned long long)tables_symd.denied, (unsigned long long)names_symd.denied,
		       (unsigned long long)names_symd.unanswered);
	hl_header_note(h, h->symd_note);
}

static void note_cache(struct hl_header *h, struct hl_cache *cache)
{
	struct hl_cache_stats stats = { 0 };

	if (cache)
		hl_cache_stats(cache, &stats);
	if (stats.damaged + stats.failed == 0)
		return;
	(void)snprintf(h->cache_note, sizeof(h->cache_note),
		       "entries of the cache that were damaged, or another version's, and were made anew: "
		       "%llu; that "
		       "could not be written: %llu",
		       (unsigned long long)stats.damaged, (unsigned long long)stats.failed);
	hl_header_note(h, h->cache_note);
}

/* What --where and --exclude left out. */
static void note_selection(struct hl_header *h, const struct hl_resolve_counts *counts)
{
	h->meta.filtered += counts->not_asked + counts->excluded;
	if (counts->not_asked + counts->excluded == 0)
		return;
	(void)snprintf(h->selection_note, sizeof(h->selection_note),
		       "of the samples not asked for, --where left out %llu and --exclude %llu",
		       (unsigned long long)counts->not_asked, (unsigned long long)counts->excluded);
	hl_header_note(h, h->selection_note);
}

/* What files did not tell of containers. */
static void note_containers(struct hl_header *h, const struct hl_cgroups_stats *stats, bool of_many)
{
	if (of_many) {
		(void)snprintf(h->containers_note, sizeof(h->containers_note),
			       "files of some containers could not be used, the first: %s", stats->why);
		if (stats->refused)
			hl_header_note(h, h->containers_note);
		if (stats->labels_dropped)
			hl_header_note(h, "labels of some containers were left out, as there are too many or "
					  "they are too long");
		if (stats->dropped)
			hl_header_note(h, "some look-ups of cgroups found no room");
		return;
	}
	if (stats->refused + stats->labels_dropped + stats->dropped == 0)
		return;
	(void)snprintf(
		h->containers_note, sizeof(h->containers_note),
		"containers whose file could not be used: %llu%s%s; labels left out, as there are too many "
		"or they are too long: %llu; look-ups of cgroups without room: %llu",
		(unsigned long long)stats->refused, stats->refused ? ", the first: " : "",
		stats->refused ? stats->why : "", (unsigned long long)stats->labels_dropped,
		(unsigned long long)stats->dropped);
	hl_header_note(h, h->containers_note);
}

/* What runtimes did not. */
static void note_sockets(struct hl_header *h, const struct hl_cgroups_stats *stats, bool of_many)
{
	const char *before = stats->failure[0] ? ", the first: " : "";

	if (stats->failures + stats->unanswered == 0)
		return;
	if (of_many)
		(void)snprintf(h->sockets_note, sizeof(h->sockets_note),
			       "questions to sockets of container runtimes failed, or had to wait%s%s; of "
			       "containers without an answer the id is shown",
			       before, stats->failure);
	else
		(void)snprintf(h->sockets_note, sizeof(h->sockets_note),
			       "questions to sockets of container runtimes that failed: %llu%s%s; cgroups of "
			       "containers without an answer: %llu",
			       (unsigned long long)stats->failures, before, stats->failure,
			       (unsigned long long)stats->unanswered);
	hl_header_note(h, h->sockets_note);
}

static void fill_host(struct hl_header *h, const char *given)
{
	struct utsname uts;

	hl_host_name(given, h->host);
	if (uname(&uts))
		return;
	(void)snprintf(h->kernel, sizeof(h->kernel), "%s %s %s", uts.sysname, uts.release, uts.machine);
}

/* A clock's periods are time; of other events each sample stands for about as much. */
static double busy_cpus(const struct hl_header_facts *facts, const __u64 *value, double elapsed_ns)
{
	if (facts->event->software_clock)
		return (double)(value[HL_COUNTER_PERIODS] - value[HL_COUNTER_IDLE_PERIODS]) / elapsed_ns;
	return (double)(value[HL_COUNTER_SEEN] - value[HL_COUNTER_IDLE]) / facts->frequency /
	       (elapsed_ns / 1e9);
}

void hl_header_fill(struct hl_header *h, const struct hl_header_facts *facts)
{
	const struct hl_capture_stats *stats = &facts->stats;
	const struct hl_session_times *times = &facts->times;
	double elapsed = (double)(times->elapsed_ns ? times->elapsed_ns : 1);
	const __u64 *value = stats->counters.value;

	memset(h, 0, sizeof(*h));
	fill_host(h, facts->host);
	h->meta = (struct hl_profile_meta){
		.host = h->host,
		.kernel = h->kernel,
		.version = HL_VERSION,
		.event = facts->event->name,
		.decoders = hl_decoder_versions(),
		.unit = facts->event->unit,
		.precise = facts->event->precise > 0,
		.frequency = facts->frequency,
		.cpus = stats->cpus,
		.start_ns = times->start_ns,
		.end_ns = times->end_ns,
		.expected = stats->expected,
		.seen = value[HL_COUNTER_SEEN],
		.idle = value[HL_COUNTER_IDLE],
		.filtered = value[HL_COUNTER_FILTERED],
		.busy_cpus = busy_cpus(facts, value, elapsed),
		.cost_programs = stats->program_ns_known ? (double)stats->program_ns / elapsed : -1,
		.cost_process = (double)times->process_cpu_ns / elapsed,
		.losses = h->losses,
		.notes = h->notes,
	};
	add_losses(h, &stats->counters, stats->expected, facts->window, facts->counts);
	add_notes(h, facts);
	note_room(h, stats, facts->of_many);
	add_name_notes(h, facts->counts, facts->kernel, facts->of_many);
	note_moved(h, facts);
	note_reach(h, facts);
	note_symd(h, facts);
	note_cache(h, facts->cache);
	if (!facts->of_many)
		add_lines_notes(h, &facts->counts->lines);
	note_selection(h, facts->counts);
	note_containers(h, &facts->cgroups, facts->of_many);
	note_sockets(h, &facts->cgroups, facts->of_many);
}
