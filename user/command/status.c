// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "command/caps.h"
#include "command/command.h"
#include "command/store_options.h"
#include "command/stored_code.h"
#include "profile/profile.h"
#include "store/days.h"
#include "store/reading.h"
#include "store/store.h"

/* What is looked at, and when an agent counts as gone: windows are written a little after they end. */
#define LOOK_NS  (600 * HL_SECOND_NS)
#define GRACE_NS (15 * HL_SECOND_NS)

enum { TEXT, JSON };
enum { LOSSY_PERCENT = 1 };
enum { EXIT_STARTING = 3 };

struct status {
	struct hl_settings settings;
	const char *dir, *disabled;
	uint64_t window_ns;
	int format;
};

static const char *const format_names[] = { "text", "json", NULL };

static const struct hl_option options[] = {
	{ "store", 0, HL_STRING(struct status, dir), .default_text = HL_STORE_DIR, .metavar = "DIR",
	  .help = "where the agent writes" },
	HL_SETTINGS_ROW(struct status, settings),
	{ "format", 'f', HL_CHOICE(struct status, format), .choices = format_names, .default_text = "text",
	  .metavar = "FORMAT", .help = "of what is printed" },
	{ "window", 0, HL_SECONDS(struct status, window_ns), .min = HL_SECOND_NS, .max = 3600 * HL_SECOND_NS,
	  .default_text = "10", .metavar = "SECONDS", .hidden = true,
	  .help = "of the agent, where the store does not tell" },
	{ "disabled-file", 0, HL_STRING(struct status, disabled), .default_text = HL_DISABLED_FILE,
	  .metavar = "FILE", .hidden = true, .help = "while it is there, nothing is sampled" },
};

/* What is known of the last ten minutes. */
struct facts {
	const char *state; /* ok, starting, stale, lossy, disabled */
	struct hl_str why; /* it is not ok */
	int has_writer;    /* as hl_store_writer() */
	struct hl_store_writer writer;
	uint64_t last_ns, length_ns, now_ns; /* last_ns: 0 without a window */
	struct hl_err nothing;               /* then: what there is instead */
	uint64_t seen, lost, frequency;
	double cpus_programs, cpus_process;
	struct hl_str text, json, lost_by; /* what there is to say of losses and caps */
};

static double seconds_to(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0;
}

/* A store may come from elsewhere: what it says is cleaned before a terminal gets it. */
static void add_clean(struct hl_str *out, const char *text)
{
	hl_str_add_clean(out, text, strlen(text));
}

static void add_json_text(struct hl_str *out, const char *text)
{
	_cleanup_str_ struct hl_str clean = { 0 };

	add_clean(&clean, text);
	hl_str_add_json(out, clean.data ? clean.data : "", clean.len);
	out->failed |= clean.failed;
}

/* ---- what the store says ------------------------------------------------------------------------------- */

static void describe_loss(const struct hl_loss *loss, bool first, struct facts *f)
{
	hl_str_addf(&f->text, "lost: %" PRIu64 " ", loss->count);
	add_clean(&f->text, loss->name);
	hl_str_addc(&f->text, '\n');
	hl_str_adds(&f->json, first ? "" : ",");
	add_json_text(&f->json, loss->name);
	hl_str_addf(&f->json, ":%" PRIu64, loss->count);
	/* Not hotleaf's: a CPU that is halted does not tick. */
	if (strcmp(loss->name, "not delivered") == 0)
		return;
	f->lost += loss->count;
	hl_str_addf(&f->lost_by, "%s%" PRIu64 " ", f->lost_by.len ? ", " : "", loss->count);
	add_clean(&f->lost_by, loss->name);
}

/* Losses by reason, and steps that were taken to stay below the caps: as lines, or as parts of an object. */
static void describe(const struct hl_profile_meta *meta, struct facts *f)
{
	bool any = false;

	hl_str_adds(&f->json, ",\"losses\":{");
	for (size_t i = 0; i < meta->n_losses; i++) {
		if (meta->losses[i].kind != HL_LOSS_LOST)
			continue;
		describe_loss(&meta->losses[i], !any, f);
		any = true;
	}
	hl_str_adds(&f->json, "},\"caps\":[");
	any = false;
	for (size_t i = 0; i < meta->n_notes; i++) {
		if (!hl_starts_with(meta->notes[i], HL_CAPS_NOTE))
			continue;
		hl_str_adds(&f->text, "caps: ");
		add_clean(&f->text, meta->notes[i]);
		hl_str_addc(&f->text, '\n');
		hl_str_adds(&f->json, any ? "," : "");
		add_json_text(&f->json, meta->notes[i]);
		any = true;
	}
	hl_str_addc(&f->json, ']');
}

/* What the day has of the code of functions. */
static int describe_code(const struct hl_reading *reading, struct facts *f, struct hl_err *err)
{
	struct hl_body_sum sum;
	char said[240];
	int code = hl_reading_bodies(reading, NULL, NULL, &sum, err);

	if (code)
		return code;
	hl_body_sum_say(&sum, said, sizeof(said));
	hl_str_addf(&f->text, "today: %s\n", said);
	hl_str_addf(&f->json,
		    ",\"code\":{\"functions\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"not_kept\":%" PRIu64
		    ",\"damaged\":%" PRIu64 "}",
		    sum.kept, sum.bytes, sum.without, sum.damaged);
	return 0;
}

static int take_windows(const struct hl_reading *reading, struct facts *f, struct hl_err *err)
{
	const struct hl_profile_meta *meta = hl_profile_meta(hl_reading_profile(reading));

	f->last_ns = hl_reading_last_ns(reading, &f->length_ns);
	f->seen = meta->seen;
	f->frequency = meta->frequency;
	f->cpus_programs = meta->cost_programs;
	f->cpus_process = meta->cost_process;
	describe(meta, f);
	return describe_code(reading, f, err);
}

/* There are no windows: none at all? */
static int look_for_days(const struct status *c, struct facts *f, struct hl_err *err)
{
	_cleanup_free_ struct hl_day *days = NULL;
	size_t n = 0;
	int code = hl_days_list(c->dir, &days, &n, err);

	if (!code && !n)
		(void)hl_err_set(&f->nothing, 0, "the store is empty");
	return code;
}

static int look(const struct status *c, struct facts *f, struct hl_err *err)
{
	struct hl_store_query query = { .until_ns = hl_realtime_ns() };
	_cleanup_(hl_reading_freep) struct hl_reading *reading = NULL;
	int code;

	f->now_ns = query.until_ns;
	query.since_ns = query.until_ns - LOOK_NS;
	f->has_writer = hl_store_writer(c->dir, &f->writer);
	reading = hl_reading_new(&query);
	code = reading ? hl_reading_add(reading, c->dir, err) : hl_err_set(err, -ENOMEM, "no memory");
	if (code)
		return code;
	code = hl_reading_finish(reading, &f->nothing);
	if (!code)
		return take_windows(reading, f, err);
	return code == -ENODATA ? look_for_days(c, f, err) : hl_err_set(err, code, "%s", f->nothing.text);
}

/* ---- what to think of it ------------------------------------------------------------------------------- */

static void add_writer(struct facts *f)
{
	char since[HL_TIME_SIZE];

	hl_str_adds(&f->why, "an agent runs (");
	if (f->writer.pid)
		hl_str_addf(&f->why, "process %ld, ", f->writer.pid);
	hl_str_addf(&f->why, "since %s)", hl_time_text(f->writer.since_ns, since));
}

/* No window came lately. */
static void judge_silence(struct facts *f, uint64_t patience_ns)
{
	f->state = "stale";
	if (f->has_writer < 0) {
		hl_str_adds(&f->why, "whether an agent runs cannot be told, as its lock cannot be looked at");
	} else if (!f->has_writer) {
		hl_str_adds(&f->why, "no agent runs");
	} else if (f->now_ns < f->writer.since_ns + patience_ns) {
		f->state = "starting";
		add_writer(f);
		hl_str_addf(&f->why, " and has %.0f s left to write a window",
			    seconds_to(f->now_ns, f->writer.since_ns + patience_ns));
	} else {
		add_writer(f);
		hl_str_adds(&f->why, ", but it has written nothing lately");
	}
}

static void judge(const struct status *c, struct facts *f)
{
	uint64_t patience_ns = 2 * (f->length_ns ? f->length_ns : c->window_ns) + GRACE_NS;

	f->state = "ok";
	if (access(c->disabled, F_OK) == 0) {
		f->state = "disabled";
		hl_str_addf(&f->why, "'%s' is there", c->disabled);
	} else if (f->now_ns > f->last_ns + patience_ns) {
		judge_silence(f, patience_ns);
	} else if (f->lost * 100 > f->seen * LOSSY_PERCENT) {
		f->state = "lossy";
		hl_str_addf(&f->why, "%.1f %% of the samples were lost (%s)",
			    100.0 * (double)f->lost / (double)(f->seen ? f->seen : f->lost),
			    f->lost_by.data ? f->lost_by.data : "");
	}
}

/* ---- saying it ----------------------------------------------------------------------------------------- */

static void print_text(const struct facts *f)
{
	char last[HL_TIME_SIZE];

	printf("%s: %s%s", f->state, f->why.data ? f->why.data : "", f->why.data ? "; " : "");
	if (!f->last_ns) {
		printf("%s\n", f->nothing.text);
		return;
	}
	printf("the last window ended %s, %.0f s ago; %" PRIu64 " Hz, windows of %.0f s\n",
	       hl_time_text(f->last_ns, last), seconds_to(f->last_ns, f->now_ns), f->frequency,
	       (double)f->length_ns / 1e9);
	printf("last ten minutes: %" PRIu64 " samples seen, %" PRIu64 " of them lost", f->seen, f->lost);
	if (f->cpus_programs >= 0)
		printf("; %.4f CPUs in the kernel programs", f->cpus_programs);
	if (f->cpus_process >= 0)
		printf("; %.4f CPUs in the agent", f->cpus_process);
	printf("\n%s", f->text.data ? f->text.data : "");
}

static int add_json(const struct facts *f, struct hl_str *out)
{
	char time[HL_TIME_SIZE];

	hl_str_addf(out, "{\"state\":\"%s\"", f->state);
	if (f->why.data) {
		hl_str_adds(out, ",\"reason\":");
		add_json_text(out, f->why.data);
	}
	if (f->has_writer > 0)
		hl_str_addf(out, ",\"agent\":{\"pid\":%ld,\"since\":\"%s\"}", f->writer.pid,
			    hl_time_text(f->writer.since_ns, time));
	if (f->last_ns)
		hl_str_addf(out,
			    ",\"last_window_end\":\"%s\",\"age_s\":%.3f,\"window_s\":%.3f,"
			    "\"frequency_hz\":%" PRIu64 ",\"seen\":%" PRIu64 ",\"lost\":%" PRIu64,
			    hl_time_text(f->last_ns, time), seconds_to(f->last_ns, f->now_ns),
			    (double)f->length_ns / 1e9, f->frequency, f->seen, f->lost);
	if (f->last_ns && f->cpus_programs >= 0)
		hl_str_addf(out, ",\"programs_cpus\":%.6f", f->cpus_programs);
	if (f->last_ns && f->cpus_process >= 0)
		hl_str_addf(out, ",\"process_cpus\":%.6f", f->cpus_process);
	hl_str_addf(out, "%s}", f->json.data ? f->json.data : "");
	return hl_str_status(out);
}

static int say(const struct status *c, struct facts *f, struct hl_err *err)
{
	_cleanup_str_ struct hl_str json = { 0 };

	if (hl_str_status(&f->why) || hl_str_status(&f->text) || hl_str_status(&f->json) ||
	    hl_str_status(&f->lost_by) || (c->format == JSON && add_json(f, &json)))
		return hl_err_set(err, -ENOMEM, "no memory");
	if (c->format == JSON)
		(void)puts(json.data);
	else
		print_text(f);
	if (strcmp(f->state, "starting") == 0)
		return EXIT_STARTING;
	return strcmp(f->state, "ok") == 0 ? HL_EXIT_DONE : HL_EXIT_FAILED;
}

static int run_status(void *config, char **rest, struct hl_err *err)
{
	const struct status *c = config;
	struct facts facts = { 0 };
	int code = look(c, &facts, err);

	if (!code) {
		judge(c, &facts);
		code = say(c, &facts, err);
	}
	hl_str_done(&facts.why);
	hl_str_done(&facts.text);
	hl_str_done(&facts.json);
	hl_str_done(&facts.lost_by);
	return code;
}

const struct hl_command hl_command_status = {
	.name = "status",
	.summary = "say whether the agent samples, and what it loses",
	.usage = "[OPTION…]",
	.description =
		"Looks at the last ten minutes of the store. The exit status is 0 when it is ok; 1 when it "
		"is stale\n"
		"(no window came lately: no agent runs, or it writes nothing), lossy (more than 1 % of the "
		"samples\n"
		"were lost), or disabled by /etc/hotleaf/disabled; 3 while it is starting: an agent runs, "
		"and "
		"had no\n"
		"time for a window yet.",
	.options = options,
	.n_options = sizeof(options) / sizeof(options[0]),
	.config_size = sizeof(struct status),
	.run = run_status,
};
