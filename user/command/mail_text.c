// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "command/mail.h"
#include "command/mail_code.h"
#include "command/mail_facts.h"
#include "command/series.h"
#include "command/spikes.h"
#include "profile/hot.h"
#include "profile/profile.h"
#include "render/change.h"
#include "render/common.h"
#include "store/reading.h"

/* The text of a mail: what a person reads at breakfast. Each section has its number of lines, 60 in all. */

enum { COLUMNS = 100, CHANGES = 6, TOP = 7, CALLERS = 3, BUILD_DIGITS = 8, MOST_SPIKES = 5, MOST_STORES = 2 };
enum { LABEL = 10, MOST_LINES = 3, MOST_HOSTS = 8, LEAST_LACKING = 10 /* seconds */ };

/* Adds @line as one of the text and empties it: a command, which is to be pasted. */
static void put_whole(struct hl_str *out, struct hl_str *line)
{
	hl_render_clean(out, line->data ? line->data : "", line->len, HL_RENDER_NAME_MAX);
	hl_str_addc(out, '\n');
	out->failed |= line->failed;
	hl_str_clear(line);
}

/* The same of other lines, which are cut. */
static void put(struct hl_str *out, struct hl_str *line)
{
	_cleanup_str_ struct hl_str clean = { 0 };

	hl_render_clean(&clean, line->data ? line->data : "", line->len, HL_RENDER_NAME_MAX);
	hl_render_fit(out, clean.data ? clean.data : "", clean.len, COLUMNS, HL_RENDER_CUT_END);
	hl_str_addc(out, '\n');
	out->failed |= line->failed || clean.failed;
	hl_str_clear(line);
}

/* The same of a text behind a label, which goes on below, on so many lines at most. */
static void put_long(struct hl_str *out, const char *label, const char *text)
{
	_cleanup_str_ struct hl_str line = { 0 };

	for (int n = 1; *text; n++) {
		size_t len = strlen(text);

		hl_str_addf(&line, "%-*s", LABEL, n == 1 ? label : "");
		if (n < MOST_LINES && len > COLUMNS - LABEL)
			for (len = COLUMNS - LABEL; len > 1 && text[len] != ' '; len--)
				;
		hl_str_add(&line, text, len);
		put(out, &line);
		text += len + strspn(text + len, " ");
	}
}

static void add_name(struct hl_str *out, const struct hl_frame *frame, size_t columns)
{
	_cleanup_str_ struct hl_str name = { 0 };

	hl_render_name(&name, frame);
	hl_str_adds(&name, hl_render_suffix(frame));
	hl_render_fit(out, name.data, name.failed ? 0 : name.len, columns, HL_RENDER_CUT_NAME);
	out->failed |= name.failed;
}

static const struct hl_frame *tree_frame(const struct hl_mail_facts *f, uint32_t frame)
{
	return hl_profile_get_frame(f->diff->tree, frame);
}

static void add_cpus(struct hl_str *out, double cpus)
{
	hl_render_decimal(out, cpus, 2);
}

/* ---- the subject --------------------------------------------------------------------------------------- */

void hl_mail_subject(const struct hl_mail_facts *f, struct hl_str *out)
{
	const struct hl_profile_meta *meta = hl_profile_meta(f->after);
	const char *host = meta->host ? meta->host : "unknown host";

	hl_str_adds(out, "hotleaf ");
	hl_render_clean(out, host, strlen(host), 60);
	hl_str_adds(out, ": ");
	if (f->silent.len)
		hl_str_adds(out, "hosts silent, ");
	if (f->incomplete)
		hl_str_adds(out, "time missing, ");
	if (f->lossy)
		hl_str_adds(out, "samples lost, ");
	if (!f->diff) {
		hl_str_adds(out, "nothing ran");
	} else if (f->n_changes) {
		const struct hl_mail_change *c = &f->changes[0];

		add_name(out, tree_frame(f, c->frame), 40);
		hl_str_addc(out, ' ');
		add_cpus(out, c->self.value[HL_BEFORE]);
		hl_str_adds(out, " -> ");
		add_cpus(out, c->self.value[HL_AFTER]);
		hl_str_adds(out, " CPUs");
		if (f->n_changes > 1)
			hl_str_addf(out, ", %zu more changed", f->n_changes - 1);
	} else {
		hl_str_adds(out, f->before ? "no change beyond noise, " : "nothing to compare with, ");
		add_cpus(out, meta->busy_cpus);
		hl_str_addf(out, " of %" PRIu32 " CPUs busy", meta->cpus);
	}
}

/* ---- the head ------------------------------------------------------------------------------------------ */

/*
 * How much of the time windows cover: of one host what lacks, and why; of several which of them lack how much, as
 * the page says the rest.
 */
static void add_coverage(struct hl_str *out, const struct hl_reading *reading)
{
	const struct hl_profile_meta *meta = hl_profile_meta(hl_reading_profile(reading));
	uint64_t span = meta->end_ns - meta->start_ns, covered;
	size_t lacking = 0, n = 0;
	const char *host;

	while (hl_reading_host(reading, n, &covered))
		n++;
	if (n < 2) {
		hl_str_adds(out, meta->n_notes ? meta->notes[0] : "not known");
		return;
	}
	hl_str_addf(out, "%zu hosts", n);
	for (size_t i = 0; (host = hl_reading_host(reading, i, &covered)); i++) {
		uint64_t lacks = covered < span ? (span - covered) / HL_SECOND_NS : 0;

		if (lacks > LEAST_LACKING && lacking++ < MOST_HOSTS)
			hl_str_addf(out, "%s %s lacks %" PRIu64 " s", lacking > 1 ? "," : ":", host, lacks);
	}
	if (lacking > MOST_HOSTS)
		hl_str_addf(out, " and %zu more", lacking - MOST_HOSTS);
	hl_str_addf(out, lacking ? ", of %" PRIu64 " s" : ", whole", span / HL_SECOND_NS);
}

static void say_head(const struct hl_mail_facts *f, struct hl_str *out, struct hl_str *line)
{
	const struct hl_profile_meta *meta = hl_profile_meta(f->after);
	const struct hl_store_query *q = f->options->query;
	char from[HL_TIME_SIZE], to[HL_TIME_SIZE], before[HL_TIME_SIZE];
	_cleanup_str_ struct hl_str coverage = { 0 };

	(void)hl_time_text(q->since_ns, from);
	hl_str_addf(line, "%s, %s to %s", meta->host ? meta->host : "", from, hl_time_text(q->until_ns, to));
	put(out, line);
	if (f->before) {
		_cleanup_str_ struct hl_str then = { 0 };

		add_coverage(&then, f->reading_before);
		hl_str_addf(line, "compared with %s to %s", hl_time_text(f->before_ns, before), from);
		if (then.data && (strstr(then.data, " missing: ") || strstr(then.data, " lacks ")))
			hl_str_addf(line, ", %s", then.data);
		line->failed |= then.failed;
	} else {
		hl_str_addf(line, "nothing to compare with: there are no samples from %s to %s",
			    hl_time_text(f->before_ns, before), from);
	}
	put(out, line);
	put(out, line);
	add_coverage(&coverage, f->options->reading);
	put_long(out, "coverage", coverage.data ? coverage.data : "");
	out->failed |= coverage.failed;
	if (f->silent.len) {
		hl_str_addf(line, "silent    no windows now, but before: %s", f->silent.data);
		put(out, line);
	}
}

static void say_state(const struct hl_mail_facts *f, struct hl_str *out, struct hl_str *line)
{
	const struct hl_profile_meta *meta = hl_profile_meta(f->after);
	uint64_t lost = hl_render_lost(meta, HL_LOSS_LOST);
	uint64_t due = hl_render_due(meta);
	uint32_t n;

	hl_str_adds(line, "busy      ");
	if (f->before) {
		add_cpus(line, hl_profile_meta(f->before)->busy_cpus);
		hl_str_adds(line, " -> ");
	}
	add_cpus(line, meta->busy_cpus);
	hl_str_addf(line, " of %" PRIu32 " CPUs; hotleaf itself: ", meta->cpus);
	if (meta->cost_programs < 0 && meta->cost_process < 0)
		hl_str_adds(line, "not known");
	else
		hl_render_decimal(line, fmax(meta->cost_programs, 0) + fmax(meta->cost_process, 0), 4);
	put(out, line);
	hl_str_addf(line, "samples   %" PRIu64 " of %s; lost: %" PRIu64,
		    hl_profile_nodes(f->after, &n)->total, meta->event ? meta->event : "unknown", lost);
	if (lost && due) {
		hl_str_adds(line, " (");
		hl_render_percent(line, lost, due);
		hl_str_adds(line, ")");
	}
	hl_str_addf(line, ", with a cut stack: %" PRIu64, hl_render_lost(meta, HL_LOSS_CUT));
	put(out, line);
	put(out, line);
}

/* ---- what changed -------------------------------------------------------------------------------------- */

/* Of the functions of that name and file in @profile, the one with most samples; UINT32_MAX: there is none. */
static uint32_t find_function(const struct hl_profile *profile, const uint64_t *samples,
			      const struct hl_frame *wanted)
{
	_cleanup_str_ struct hl_str module = { 0 }, other = { 0 };
	uint32_t best = UINT32_MAX;

	hl_render_module(&module, wanted);
	for (uint32_t i = 0; i < hl_profile_n_frames(profile); i++) {
		const struct hl_frame *frame = hl_profile_get_frame(profile, i);

		if (frame->kind != wanted->kind || frame->name_len != wanted->name_len ||
		    memcmp(frame->name, wanted->name, wanted->name_len) != 0)
			continue;
		hl_str_clear(&other);
		hl_render_module(&other, frame);
		if (other.len == module.len && memcmp(other.data, module.data, module.len) == 0 &&
		    (best == UINT32_MAX || samples[i] > samples[best]))
			best = i;
	}
	return best;
}

static bool add_build(struct hl_str *out, const struct hl_profile *profile, uint32_t frame)
{
	const struct hl_binary *b =
		frame == UINT32_MAX
			? NULL
			: hl_profile_binary(profile, hl_profile_get_frame(profile, frame)->binary);

	for (size_t i = 0; b && i < b->build_id_len && i < BUILD_DIGITS / 2; i++)
		hl_str_addf(out, "%02x", b->build_id[i]);
	return b && b->build_id_len;
}

static void say_builds(const struct hl_mail_facts *f, uint32_t before, uint32_t after, struct hl_str *line)
{
	_cleanup_str_ struct hl_str old = { 0 }, new = { 0 };
	bool has_old = add_build(&old, f->before, before), has_new = add_build(&new, f->after, after);

	if (!has_old && !has_new)
		return;
	if (has_old && has_new && strcmp(old.data, new.data) == 0)
		hl_str_addf(line, "  build %s", new.data);
	else
		hl_str_addf(line, "  build %s -> %s", has_old ? old.data : "none",
			    has_new ? new.data : "none");
	line->failed |= old.failed || new.failed;
}

static void say_since(const struct hl_mail_facts *f, const struct hl_frame *frame, struct hl_str *line)
{
	const struct hl_series_row *row = f->series ? hl_series_find(f->series, frame) : NULL;
	size_t at = row ? hl_series_change(f->series, row) : 0, n;
	char time[HL_TIME_SIZE];

	if (at)
		hl_str_addf(line, "  since %s",
			    hl_time_text(hl_series_pieces(f->series, &n)[at].start_ns, time));
}

static void say_callers(const struct hl_profile *profile, const struct hl_hot *hot, struct hl_str *line)
{
	hl_str_adds(line, "called by");
	for (size_t i = 0; i < hot->n_callers && i < CALLERS; i++) {
		hl_str_adds(line, i ? ", " : " ");
		add_name(line, hl_profile_get_frame(profile, hot->callers[i].frame), 24);
		hl_str_addc(line, ' ');
		hl_render_percent(line, hot->callers[i].samples, hot->samples);
	}
}

/*
 * "imul $0x3,%rax,%rdx +0x4d, 62 % of it; called by main 80 %, foo 20 %", or on two lines, as there is more to say:
 * "[loop +0x40-+0x60]  app.c:12  imul $0x3,%rax,%rdx +0x4d, 62 % of it", "called by main 80 %, foo 20 %".
 */
static int say_hottest(const struct hl_mail_facts *f, const struct hl_profile *profile, uint32_t function,
		       struct hl_str *out, struct hl_str *line)
{
	_cleanup_(hl_hot_done) struct hl_hot hot = { 0 };
	const struct hl_hot_insn *best = NULL;
	size_t empty;

	if (hl_hot_collect(profile, function, &hot))
		return -ENOMEM;
	for (size_t i = 0; i < hot.n_insns; i++)
		if (!best || hot.insns[i].samples > best->samples)
			best = &hot.insns[i];
	hl_str_adds(line, "      ");
	empty = line->len;
	if (best) {
		const struct hl_frame *insn = hl_profile_get_frame(profile, best->frame);
		bool more;

		if (hl_mail_code_say(f->code, profile, &hot, line))
			return -ENOMEM;
		more = line->len > empty;
		add_name(line, insn, 36);
		hl_str_addf(line, " +0x%" PRIx64 ", ", insn->offset);
		hl_render_percent(line, best->samples, hot.samples);
		hl_str_adds(line, more ? " of it" : " of it; ");
		if (more) {
			put(out, line);
			hl_str_adds(line, "      ");
		}
	}
	say_callers(profile, &hot, line);
	put(out, line);
	return 0;
}

static int say_change(const struct hl_mail_facts *f, const struct hl_mail_change *c, struct hl_str *out,
		      struct hl_str *line)
{
	const struct hl_frame *frame = tree_frame(f, c->frame);
	_cleanup_free_ uint64_t *old = hl_hot_functions(f->before), *new = hl_hot_functions(f->after);
	uint32_t before, after;

	if (!old || !new)
		return -ENOMEM;
	before = find_function(f->before, old, frame);
	after = find_function(f->after, new, frame);
	hl_str_adds(line, "  ");
	add_cpus(line, c->self.value[HL_BEFORE]);
	hl_str_adds(line, " -> ");
	add_cpus(line, c->self.value[HL_AFTER]);
	hl_str_adds(line, "  ");
	add_name(line, frame, 40);
	hl_str_adds(line, "  ");
	hl_render_module(line, frame);
	say_since(f, frame, line);
	say_builds(f, before, after, line);
	put(out, line);
	if (after != UINT32_MAX)
		return say_hottest(f, f->after, after, out, line);
	return before != UINT32_MAX ? say_hottest(f, f->before, before, out, line) : 0;
}

static int say_changes(const struct hl_mail_facts *f, struct hl_str *out, struct hl_str *line)
{
	int code = 0;

	if (!f->before)
		return 0;
	hl_str_adds(line, f->n_changes ? "changed beyond noise, CPUs of their own"
				       : "nothing changed beyond noise");
	put(out, line);
	for (size_t i = 0; i < f->n_changes && i < CHANGES && !code; i++)
		code = say_change(f, &f->changes[i], out, line);
	if (f->n_changes > CHANGES) {
		hl_str_addf(line, "  and %zu more", f->n_changes - CHANGES);
		put(out, line);
	}
	put(out, line);
	return code;
}

/* ---- what is at the top -------------------------------------------------------------------------------- */

/* The frames with most samples now: insertion into a short list. */
static size_t find_top(const struct hl_mail_facts *f, bool instructions, uint32_t ret[TOP])
{
	size_t n = 0;

	for (uint32_t i = 0; i < hl_profile_n_frames(f->diff->tree); i++) {
		uint8_t kind = tree_frame(f, i)->kind;
		bool function = kind >= HL_FRAME_USER && kind <= HL_FRAME_KERNEL;
		size_t at = n;

		if ((instructions ? kind != HL_FRAME_INSN : !function) || !f->sums[i].self[HL_AFTER])
			continue;
		while (at > 0 && f->sums[i].self[HL_AFTER] > f->sums[ret[at - 1]].self[HL_AFTER])
			at--;
		if (at == TOP)
			continue;
		n += n < TOP;
		memmove(&ret[at + 1], &ret[at], (n - 1 - at) * sizeof(*ret));
		ret[at] = i;
	}
	return n;
}

static void say_top_row(const struct hl_mail_facts *f, uint32_t i, struct hl_str *line)
{
	const struct hl_diff_sum *sum = &f->sums[i];
	const struct hl_frame *frame = tree_frame(f, i);
	struct hl_change c = hl_diff_change(f->diff, sum->self[HL_BEFORE], sum->self[HL_AFTER]);
	_cleanup_str_ struct hl_str share = { 0 };

	hl_render_percent(&share, sum->self[HL_AFTER], f->diff->side[HL_AFTER].samples);
	hl_str_addf(line, "%6.2f  %6s  ", c.value[HL_AFTER], share.data ? share.data : "");
	if (f->before)
		hl_str_addf(line, "%6.2f  ", c.value[HL_BEFORE]);
	add_name(line, frame, 44);
	hl_str_adds(line, "  ");
	if (frame->kind == HL_FRAME_INSN) {
		add_name(line, tree_frame(f, sum->function), 30);
		hl_str_addf(line, "+0x%" PRIx64, frame->offset);
	} else {
		hl_render_module(line, frame);
	}
}

static void say_top(const struct hl_mail_facts *f, bool instructions, struct hl_str *out, struct hl_str *line)
{
	uint32_t top[TOP + 1];
	size_t n = find_top(f, instructions, top);

	hl_str_addf(line, "  CPUs   share  %s%s", f->before ? "  last  " : "",
		    instructions ? "instruction" : "function");
	put(out, line);
	for (size_t i = 0; i < n; i++) {
		say_top_row(f, top[i], line);
		put(out, line);
	}
	put(out, line);
}

/* ---- spikes, and where to go --------------------------------------------------------------------------- */

static int say_spikes(const struct hl_mail_facts *f, struct hl_str *out, struct hl_str *line)
{
	struct hl_spike spikes[MOST_SPIKES];
	size_t n = 0, most = f->options->spikes < MOST_SPIKES ? f->options->spikes : MOST_SPIKES;

	if (!f->series || !most)
		return 0;
	if (hl_spikes_find(f->series, f->first, most, spikes, &n))
		return -ENOMEM;
	hl_str_adds(line, n ? "spikes" : "no spikes");
	put(out, line);
	for (size_t i = 0; i < n; i++) {
		hl_str_adds(line, "  ");
		hl_spike_say(line, f->series, &spikes[i], COLUMNS - 2);
		put(out, line);
	}
	put(out, line);
	return 0;
}

/* An option, such that a shell gives it back. */
static void add_option(struct hl_str *out, const char *name, const char *value)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-";

	hl_str_addf(out, " --%s ", name);
	if (*value && !value[strspn(value, plain)]) {
		hl_str_adds(out, value);
		return;
	}
	hl_str_addc(out, '\'');
	for (; *value; value++)
		hl_str_adds(out, *value == '\'' ? "'\\''" : (const char[]){ *value, '\0' });
	hl_str_addc(out, '\'');
}

static void add_options(struct hl_str *out, const char *name, const struct hl_words *words)
{
	for (size_t i = 0; i < words->n; i++)
		add_option(out, name, words->items[i]);
}

static void say_commands(const struct hl_mail_facts *f, struct hl_str *out, struct hl_str *line)
{
	const struct hl_store_query *q = f->options->query;
	const struct hl_words *stores = f->options->stores;
	char before[HL_TIME_SIZE], from[HL_TIME_SIZE], to[HL_TIME_SIZE];
	_cleanup_str_ struct hl_str store = { 0 };

	for (size_t i = 0; i < stores->n && i < MOST_STORES; i++)
		add_option(&store, "store", stores->items[i]);
	if (stores->n > MOST_STORES)
		hl_str_adds(&store, " --store ...");
	if (f->options->by->n != 1 || strcmp(f->options->by->items[0], "service") != 0) /* the default */
		add_options(&store, "by", f->options->by);
	add_options(&store, "where", f->options->where);
	add_options(&store, "exclude", f->options->exclude);
	(void)hl_time_text(f->before_ns, before);
	(void)hl_time_text(q->since_ns, from);
	(void)hl_time_text(q->until_ns, to);
	hl_str_adds(line, "to look further");
	put(out, line);
	if (f->before) {
		hl_str_addf(line, "  hotleaf diff %s..%s \\", before, from);
		put_whole(out, line);
		hl_str_addf(line, "    %s..%s --normalize time -o changed.html%s", from, to,
			    store.data ? store.data : "");
		put_whole(out, line);
	}
	hl_str_addf(line, "  hotleaf report --since %s --until %s%s", from, to, store.data ? store.data : "");
	put_whole(out, line);
	out->failed |= store.failed;
}

int hl_mail_text(const struct hl_mail_facts *f, struct hl_str *out)
{
	_cleanup_str_ struct hl_str line = { 0 };
	int code = 0;

	say_head(f, out, &line);
	say_state(f, out, &line);
	if (f->diff) {
		code = say_changes(f, out, &line);
		say_top(f, /* instructions= */ false, out, &line);
		say_top(f, /* instructions= */ true, out, &line);
	}
	if (!code)
		code = say_spikes(f, out, &line);
	say_commands(f, out, &line);
	return code;
}
