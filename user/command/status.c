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
#include "sample/reason.h"
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
	uint64_t now_ns, last_ns, length_ns;
	uint32_t last_hz;
	struct hl_reading *reading;
	const struct hl_profile_meta *meta; /* NULL: there are no windows, */
	struct hl_err nothing;              /* but this */
	struct hl_body_sum code;            /* that the day has */
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
	int code;

	f->now_ns = query.until_ns;
	query.since_ns = query.until_ns - LOOK_NS;
	f->has_writer = hl_store_writer(c->dir, &f->writer);
	f->reading = hl_reading_new(&query);
	if (!f->reading)
		return hl_err_set(err, -ENOMEM, "no memory to read the store");
	code = hl_reading_add(f->reading, c->dir, err);
	if (code)
		return code;
	code = hl_reading_finish(f->reading, &f->nothing);
	if (code)
		return code == -ENODATA ? look_for_days(c, f, err)
					: hl_err_set(err, code, "%s", f->nothing.text);
	f->meta = hl_profile_meta(hl_reading_profile(f->reading));
	f->last_ns = hl_reading_last_ns(f->reading, &f->length_ns, &f->last_hz);
	/* One may have taken longer: an agent that was stopped does not end its window. */
	if (f->writer.window_s)
		f->length_ns = f->writer.window_s * HL_SECOND_NS;
	return hl_reading_bodies(f->reading, NULL, NULL, &f->code, err);
}

/* The loss number @i, if it is of whole samples; else NULL. */
static const struct hl_loss *lost_at(const struct facts *f, size_t i)
{
	return f->meta->losses[i].kind == HL_LOSS_LOST ? &f->meta->losses[i] : NULL;
}

/* Whether hotleaf lost them: that a halted CPU does not tick is no loss of ours. */
static bool is_ours(const struct hl_loss *loss)
{
	return loss && strcmp(loss->name, hl_reason_of_lack(HL_LACK_DELIVERY)->name) != 0;
}

static uint64_t lost_samples(const struct facts *f)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < f->meta->n_losses; i++)
		lost += is_ours(lost_at(f, i)) ? f->meta->losses[i].count : 0;
	return lost;
}

/* Note number @i, if it is of a step that was taken to stay below the caps; else NULL. */
static const char *cap_at(const struct facts *f, size_t i)
{
	return hl_starts_with(f->meta->notes[i], HL_CAPS_NOTE) ? f->meta->notes[i] : NULL;
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

static void judge_losses(struct facts *f)
{
	uint64_t lost = lost_samples(f), seen = f->meta->seen;
	bool any = false;

	if (lost * 100 <= seen * LOSSY_PERCENT)
		return;
	f->state = "lossy";
	hl_str_addf(&f->why, "%.1f %% of the samples were lost (",
		    100.0 * (double)lost / (double)(seen ? seen : lost));
	for (size_t i = 0; i < f->meta->n_losses; i++) {
		const struct hl_loss *loss = lost_at(f, i);

		if (!is_ours(loss))
			continue;
		hl_str_addf(&f->why, "%s%" PRIu64 " ", any ? ", " : "", loss->count);
		add_clean(&f->why, loss->name);
		any = true;
	}
	hl_str_addc(&f->why, ')');
}

static void judge(const struct status *c, struct facts *f)
{
	uint64_t window_ns = f->writer.window_s ? f->writer.window_s * HL_SECOND_NS : c->window_ns;
	uint64_t patience_ns = 2 * (f->length_ns ? f->length_ns : window_ns) + GRACE_NS;

	f->state = "ok";
	if (access(c->disabled, F_OK) == 0) {
		f->state = "disabled";
		hl_str_addf(&f->why, "'%s' is there", c->disabled);
	} else if (!f->meta || f->now_ns > f->last_ns + patience_ns) {
		judge_silence(f, patience_ns);
	} else {
		judge_losses(f);
	}
}

/* ---- saying it ----------------------------------------------------------------------------------------- */

static void add_windows(const struct facts *f, struct hl_str *out)
{
	char last[HL_TIME_SIZE], said[240];

	hl_str_addf(out, "the last window ended %s, %.0f s ago; %" PRIu32 " Hz, windows of %.0f s\n",
		    hl_time_text(f->last_ns, last), seconds_to(f->last_ns, f->now_ns), f->last_hz,
		    (double)f->length_ns / 1e9);
	hl_str_addf(out, "last ten minutes: %" PRIu64 " samples seen, %" PRIu64 " of them lost",
		    f->meta->seen, lost_samples(f));
	if (f->meta->cost_programs >= 0)
		hl_str_addf(out, "; %.4f CPUs in the kernel programs", f->meta->cost_programs);
	if (f->meta->cost_process >= 0)
		hl_str_addf(out, "; %.4f CPUs in the agent", f->meta->cost_process);
	hl_str_addc(out, '\n');
	for (size_t i = 0; i < f->meta->n_losses; i++) {
		const struct hl_loss *loss = lost_at(f, i);

		if (!loss)
			continue;
		/* What was never taken stands apart from what was, and was lost then. */
		hl_str_addf(out, "%s: %" PRIu64 " ", is_ours(loss) ? "lost" : "besides", loss->count);
		add_clean(out, loss->name);
		hl_str_addc(out, '\n');
	}
	for (size_t i = 0; i < f->meta->n_notes; i++) {
		if (!cap_at(f, i))
			continue;
		hl_str_adds(out, "caps: ");
		add_clean(out, cap_at(f, i));
		hl_str_addc(out, '\n');
	}
	hl_body_sum_say(&f->code, said, sizeof(said));
	hl_str_addf(out, "today: %s\n", said);
}

static void add_text(const struct facts *f, struct hl_str *out)
{
	hl_str_addf(out, "%s: %s%s", f->state, f->why.data ? f->why.data : "", f->why.data ? "; " : "");
	if (f->meta)
		add_windows(f, out);
	else
		hl_str_addf(out, "%s\n", f->nothing.text);
}

static void add_json_lists(const struct facts *f, struct hl_str *out)
{
	bool any = false;

	hl_str_adds(out, ",\"losses\":{");
	for (size_t i = 0; i < f->meta->n_losses; i++) {
		if (!lost_at(f, i))
			continue;
		hl_str_adds(out, any ? "," : "");
		add_json_text(out, lost_at(f, i)->name);
		hl_str_addf(out, ":%" PRIu64, lost_at(f, i)->count);
		any = true;
	}
	hl_str_adds(out, "},\"caps\":[");
	any = false;
	for (size_t i = 0; i < f->meta->n_notes; i++) {
		if (!cap_at(f, i))
			continue;
		hl_str_adds(out, any ? "," : "");
		add_json_text(out, cap_at(f, i));
		any = true;
	}
	hl_str_addc(out, ']');
}

static void add_json_windows(const struct facts *f, struct hl_str *out)
{
	char last[HL_TIME_SIZE];

	hl_str_addf(out,
		    ",\"last_window_end\":\"%s\",\"age_s\":%.3f,\"window_s\":%.3f,\"frequency_hz\":%" PRIu32
		    ",\"seen\":%" PRIu64 ",\"lost\":%" PRIu64,
		    hl_time_text(f->last_ns, last), seconds_to(f->last_ns, f->now_ns),
		    (double)f->length_ns / 1e9, f->last_hz, f->meta->seen, lost_samples(f));
	if (f->meta->cost_programs >= 0)
		hl_str_addf(out, ",\"programs_cpus\":%.6f", f->meta->cost_programs);
	if (f->meta->cost_process >= 0)
		hl_str_addf(out, ",\"process_cpus\":%.6f", f->meta->cost_process);
	add_json_lists(f, out);
	hl_str_addf(out,
		    ",\"code\":{\"functions\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"not_kept\":%" PRIu64
		    ",\"damaged\":%" PRIu64 "}",
		    f->code.kept, f->code.bytes, f->code.without, f->code.damaged);
}

static void add_json(const struct facts *f, struct hl_str *out)
{
	char since[HL_TIME_SIZE];

	hl_str_addf(out, "{\"state\":\"%s\"", f->state);
	if (f->why.data) {
		hl_str_adds(out, ",\"reason\":");
		add_json_text(out, f->why.data);
	}
	if (f->has_writer > 0)
		hl_str_addf(out, ",\"agent\":{\"pid\":%ld,\"since\":\"%s\"}", f->writer.pid,
			    hl_time_text(f->writer.since_ns, since));
	if (f->meta)
		add_json_windows(f, out);
	hl_str_adds(out, "}\n");
}

static int say(const struct status *c, struct facts *f, struct hl_err *err)
{
	_cleanup_str_ struct hl_str out = { 0 };

	judge(c, f);
	if (c->format == JSON)
		add_json(f, &out);
	else
		add_text(f, &out);
	if (hl_str_status(&f->why) || hl_str_status(&out))
		return hl_err_set(err, -ENOMEM, "no memory for what there is to say");
	(void)fputs(out.data, stdout);
	if (strcmp(f->state, "starting") == 0)
		return EXIT_STARTING;
	return strcmp(f->state, "ok") == 0 ? HL_EXIT_DONE : HL_EXIT_FAILED;
}

static int run_status(void *config, char **rest, struct hl_err *err)
{
	struct facts facts = { 0 };
	int code = look(config, &facts, err);

	if (!code)
		code = say(config, &facts, err);
	hl_str_done(&facts.why);
	hl_reading_free(facts.reading);
	return code;
}

const struct hl_command hl_command_status = {
	.name = "status",
	.summary = "say whether the agent samples, and what it loses",
	.usage = "[OPTION…]",
	.description =
		"Looks at the last ten minutes of the store. The exit status is 0 when it is ok; 1 when it\n"
		"is stale (no window came lately: no agent runs, or it writes nothing), lossy (more than\n"
		"1 % of the samples were lost), or disabled by /etc/hotleaf/disabled; 3 while it is\n"
		"starting: an agent runs, and had no time for a window yet.",
	.options = options,
	.n_options = sizeof(options) / sizeof(options[0]),
	.config_size = sizeof(struct status),
	.run = run_status,
};
