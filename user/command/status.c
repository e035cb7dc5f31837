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
#include "store/reading.h"

/* What is looked at, and when an agent counts as gone: windows are written a little after they end. */
#define LOOK_NS  (600 * HL_SECOND_NS)
#define GRACE_NS (15 * HL_SECOND_NS)

enum { TEXT, JSON };
enum { LOSSY_PERCENT = 1 };

struct status {
	struct hl_settings settings;
	const char *dir, *disabled;
	int format;
};

static const char *const format_names[] = { "text", "json", NULL };

static const struct hl_option options[] = {
	{ "store", 0, HL_STRING(struct status, dir), .default_text = HL_STORE_DIR, .metavar = "DIR",
	  .help = "where the agent writes" },
	HL_SETTINGS_ROW(struct status, settings),
	{ "format", 'f', HL_CHOICE(struct status, format), .choices = format_names, .default_text = "text",
	  .metavar = "FORMAT", .help = "of what is printed" },
	{ "disabled-file", 0, HL_STRING(struct status, disabled), .default_text = HL_DISABLED_FILE,
	  .metavar = "FILE", .hidden = true, .help = "while it is there, nothing is sampled" },
};

/* What is known of the last ten minutes. */
struct facts {
	const char *state; /* ok, stale, lossy, disabled */
	uint64_t last_ns, length_ns, now_ns;
	uint64_t seen, lost, frequency;
	double cpus_programs, cpus_process;
	struct hl_str text, json; /* what there is to say of losses and caps */
};

/* Samples that hotleaf lost itself: that a halted CPU does not tick is none. */
static uint64_t lost_samples(const struct hl_profile_meta *meta)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < meta->n_losses; i++)
		if (meta->losses[i].kind == HL_LOSS_LOST &&
		    strcmp(meta->losses[i].name, "not delivered") != 0)
			lost += meta->losses[i].count;
	return lost;
}

/* As JSON has it: what we say holds no control characters. */
static void add_json_string(struct hl_str *out, const char *s)
{
	hl_str_addc(out, '"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			hl_str_addc(out, '\\');
		hl_str_addc(out, *s);
	}
	hl_str_addc(out, '"');
}

/* Losses by reason, and steps that were taken to stay below the caps: as lines, or as parts of an object. */
static void describe(const struct hl_profile_meta *meta, struct facts *f)
{
	bool any = false;

	hl_str_adds(&f->json, ",\"losses\":{");
	for (size_t i = 0; i < meta->n_losses; i++) {
		if (meta->losses[i].kind != HL_LOSS_LOST)
			continue;
		hl_str_addf(&f->text, "lost: %" PRIu64 " %s\n", meta->losses[i].count, meta->losses[i].name);
		hl_str_adds(&f->json, any ? "," : "");
		add_json_string(&f->json, meta->losses[i].name);
		hl_str_addf(&f->json, ":%" PRIu64, meta->losses[i].count);
		any = true;
	}
	hl_str_adds(&f->json, "},\"caps\":[");
	any = false;
	for (size_t i = 0; i < meta->n_notes; i++) {
		if (!hl_starts_with(meta->notes[i], HL_CAPS_NOTE))
			continue;
		hl_str_addf(&f->text, "caps: %s\n", meta->notes[i]);
		hl_str_adds(&f->json, any ? "," : "");
		add_json_string(&f->json, meta->notes[i]);
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

static int look(const struct status *c, struct facts *f, struct hl_err *err)
{
	struct hl_store_query query = { .until_ns = hl_realtime_ns() };
	_cleanup_(hl_reading_freep) struct hl_reading *reading = NULL;
	const struct hl_profile_meta *meta;
	int code;

	f->now_ns = query.until_ns;
	query.since_ns = query.until_ns - LOOK_NS;
	reading = hl_reading_new(&query);
	code = reading ? hl_reading_add(reading, c->dir, err) : hl_err_set(err, -ENOMEM, "no memory");
	if (!code)
		code = hl_reading_finish(reading, err);
	if (code)
		return code;
	meta = hl_profile_meta(hl_reading_profile(reading));
	f->last_ns = hl_reading_last_ns(reading, &f->length_ns);
	f->seen = meta->seen;
	f->lost = lost_samples(meta);
	f->frequency = meta->frequency;
	f->cpus_programs = meta->cost_programs;
	f->cpus_process = meta->cost_process;
	describe(meta, f);
	code = describe_code(reading, f, err);
	if (code)
		return code;
	if (hl_str_status(&f->text) || hl_str_status(&f->json))
		return hl_err_set(err, -ENOMEM, "no memory");
	f->state = "ok";
	if (f->lost * 100 > f->seen * LOSSY_PERCENT)
		f->state = "lossy";
	if (f->now_ns > f->last_ns + 2 * f->length_ns + GRACE_NS)
		f->state = "stale";
	return 0;
}

static double age_s(const struct facts *f)
{
	return f->now_ns > f->last_ns ? (double)(f->now_ns - f->last_ns) / 1e9 : 0;
}

static void print_text(const struct facts *f)
{
	char last[HL_TIME_SIZE];

	printf("%s: the last window ended %s, %.0f s ago; %" PRIu64 " Hz, windows of %.0f s\n", f->state,
	       hl_time_text(f->last_ns, last), age_s(f), f->frequency, (double)f->length_ns / 1e9);
	printf("last ten minutes: %" PRIu64 " samples seen, %" PRIu64 " of them lost", f->seen, f->lost);
	if (f->cpus_programs >= 0)
		printf("; %.4f CPUs in the kernel programs", f->cpus_programs);
	if (f->cpus_process >= 0)
		printf("; %.4f CPUs in the agent", f->cpus_process);
	printf("\n%s", f->text.data ? f->text.data : "");
}

static void print_json(const struct facts *f)
{
	char last[HL_TIME_SIZE];

	printf("{\"state\":\"%s\"", f->state);
	if (f->last_ns)
		printf(",\"last_window_end\":\"%s\",\"age_s\":%.3f,\"window_s\":%.3f,\"frequency_hz\":"
		       "%" PRIu64 ",\"seen\":%" PRIu64 ",\"lost\":%" PRIu64,
		       hl_time_text(f->last_ns, last), age_s(f), (double)f->length_ns / 1e9, f->frequency,
		       f->seen, f->lost);
	if (f->last_ns && f->cpus_programs >= 0)
		printf(",\"programs_cpus\":%.6f", f->cpus_programs);
	if (f->last_ns && f->cpus_process >= 0)
		printf(",\"process_cpus\":%.6f", f->cpus_process);
	printf("%s}\n", f->json.data ? f->json.data : "");
}

static int run_status(void *config, char **rest, struct hl_err *err)
{
	const struct status *c = config;
	struct facts facts = { .state = "stale" };
	int code = look(c, &facts, err);

	if (access(c->disabled, F_OK) == 0)
		facts.state = "disabled";
	if (c->format == JSON && (!code || code == -ENODATA))
		print_json(&facts);
	if (!code && c->format == TEXT)
		print_text(&facts);
	hl_str_done(&facts.text);
	hl_str_done(&facts.json);
	if (code)
		return hl_err_prefix(err, code, "%s", facts.state);
	return strcmp(facts.state, "ok") == 0 ? 0 : HL_EXIT_FAILED;
}

const struct hl_command hl_command_status = {
	.name = "status",
	.summary = "say whether the agent samples, and what it loses",
	.usage = "[OPTION…]",
	.description =
		"Looks at the last ten minutes of the store. The exit status is 0 when it is ok; 1 when it "
		"is stale\n"
		"(no window came lately), lossy (more than 1 % of the samples were lost), or disabled by\n"
		"/etc/hotleaf/disabled.",
	.options = options,
	.n_options = sizeof(options) / sizeof(options[0]),
	.config_size = sizeof(struct status),
	.run = run_status,
};
