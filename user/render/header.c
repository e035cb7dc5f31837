// SPDX-License-Identifier: BSD-2-Clause
#include <inttypes.h>
#include <string.h>

#include "render/common.h"

enum { LABEL_COLUMNS = 9 };

void hl_render_fact(struct hl_str *out, const char *label, const struct hl_str *text, size_t columns)
{
	_cleanup_str_ struct hl_str clean = { 0 };
	size_t column = LABEL_COLUMNS, from, to, width;

	hl_str_addf(out, "%-*s", LABEL_COLUMNS, label);
	hl_render_clean(&clean, text->data ? text->data : "", text->len, HL_RENDER_NAME_MAX);
	for (from = 0; from < clean.len; from = to) {
		to = from;
		while (to < clean.len && clean.data[to] == ' ')
			to++;
		while (to < clean.len && clean.data[to] != ' ')
			to++;
		width = hl_render_columns(clean.data + from, to - from);
		if (column + width > columns && column > LABEL_COLUMNS) {
			hl_str_addf(out, "\n%-*s", LABEL_COLUMNS, "");
			column = LABEL_COLUMNS;
			while (from < to && clean.data[from] == ' ') {
				from++;
				width--;
			}
		}
		hl_str_add(out, clean.data + from, to - from);
		column += width;
	}
	hl_str_addc(out, '\n');
	out->failed |= clean.failed || text->failed;
}

static const char *or_unknown(const char *text)
{
	return text && *text ? text : "unknown";
}

static void add_seconds(struct hl_str *out, uint64_t ns)
{
	hl_render_decimal(out, (double)ns / 1e9, ns % 1000000000 ? 3 : 0);
	hl_str_adds(out, " s");
}

static uint64_t duration(const struct hl_profile_meta *meta)
{
	return meta->end_ns > meta->start_ns ? meta->end_ns - meta->start_ns : 0;
}

void hl_render_title(struct hl_str *out, const struct hl_profile *profile)
{
	const struct hl_profile_meta *meta = hl_profile_meta(profile);
	const char *host = meta->host && *meta->host ? meta->host : "unknown host";

	hl_render_clean(out, host, strlen(host), 256);
	if (meta->start_ns) {
		hl_str_adds(out, ", ");
		hl_render_time(out, meta->start_ns);
		hl_str_adds(out, ", ");
		add_seconds(out, duration(meta));
	}
}

static void say_time(struct hl_str *s, const struct hl_profile_meta *meta)
{
	if (!meta->start_ns) {
		hl_str_adds(s, "unknown");
		return;
	}
	hl_render_time(s, meta->start_ns);
	hl_str_adds(s, " to ");
	hl_render_time(s, meta->end_ns);
	hl_str_adds(s, ", ");
	add_seconds(s, duration(meta));
}

static void say_event(struct hl_str *s, const struct hl_profile_meta *meta)
{
	hl_str_adds(s, or_unknown(meta->event));
	if (meta->frequency)
		hl_str_addf(s, ", %" PRIu32 " Hz on every CPU", meta->frequency);
	hl_str_adds(s, meta->precise ? ", precise: a leaf is the instruction that was executing"
				     : ", not precise: a leaf may be the instruction after the slow one");
}

/* Appends "hotleaf itself: …", or that this is not known. */
static void say_cost(struct hl_str *s, const struct hl_profile_meta *meta)
{
	double programs = meta->cost_programs, process = meta->cost_process;

	hl_str_adds(s, "; hotleaf itself: ");
	if (programs < 0 && process < 0)
		hl_str_adds(s, "not known");
	if (programs >= 0) {
		hl_render_decimal(s, programs, 4);
		hl_str_adds(s, " CPUs in its kernel programs");
	}
	if (process >= 0) {
		hl_str_adds(s, programs >= 0 ? ", " : "");
		hl_render_decimal(s, process, 4);
		hl_str_adds(s, " CPUs in its process");
	}
}

static void say_busy(struct hl_str *s, const struct hl_profile_meta *meta)
{
	if (!meta->cpus) {
		hl_str_adds(s, "unknown");
		return;
	}
	hl_render_decimal(s, meta->busy_cpus, 2);
	hl_str_addf(s, " of %" PRIu32 " CPU%s on average", meta->cpus, meta->cpus == 1 ? "" : "s");
	say_cost(s, meta);
}

static void say_samples(struct hl_str *s, const struct hl_profile *profile)
{
	const struct hl_profile_meta *meta = hl_profile_meta(profile);
	uint32_t n;
	const struct hl_node *all = hl_profile_nodes(profile, &n);

	hl_str_addf(s, "%" PRIu64 " shown", all->total);
	if (meta->unit && strcmp(meta->unit, "nanoseconds") == 0) {
		hl_str_adds(s, " (");
		hl_render_decimal(s, (double)all->total_weight / 1e9, 3);
		hl_str_adds(s, " s of CPU time)");
	} else if (meta->unit) {
		hl_str_addf(s, " (%" PRIu64 " %s)", all->total_weight, meta->unit);
	}
	hl_str_addf(s, ", %" PRIu64 " expected, %" PRIu64 " seen, %" PRIu64 " idle", meta->expected,
		    meta->seen, meta->idle);
	if (meta->filtered)
		hl_str_addf(s, ", %" PRIu64 " not asked for", meta->filtered);
}

/* The losses of one kind, as a share of @whole samples. Returns whether there were any. */
static bool say_losses(struct hl_str *out, struct hl_str *s, const struct hl_profile_meta *meta,
		       enum hl_loss_kind kind, uint64_t whole, size_t columns)
{
	static const char *const heads[] = { "lost", "cut", "noted" };
	bool any = false;

	for (size_t i = 0; i < meta->n_losses; i++) {
		const struct hl_loss *loss = &meta->losses[i];

		if (!loss->count || loss->kind != kind)
			continue;
		hl_str_clear(s);
		hl_str_addf(s, "%" PRIu64, loss->count);
		if (whole) {
			hl_str_adds(s, " (");
			hl_render_percent(s, loss->count, whole);
			hl_str_adds(s, ")");
		}
		hl_str_addf(s, " %s", or_unknown(loss->name));
		if (loss->help && *loss->help)
			hl_str_addf(s, ": %s", loss->help);
		hl_render_fact(out, any ? "" : heads[kind], s, columns);
		any = true;
	}
	return any;
}

static void say_all_losses(struct hl_str *out, struct hl_str *s, const struct hl_profile *profile,
			   size_t columns)
{
	const struct hl_profile_meta *meta = hl_profile_meta(profile);
	uint64_t due = hl_render_due(meta);
	uint64_t shown; /* and those left out, if the losses are theirs too */
	uint32_t n;

	shown = hl_profile_nodes(profile, &n)->total + meta->left_out;
	if (!say_losses(out, s, meta, HL_LOSS_LOST, due, columns)) {
		hl_str_clear(s);
		hl_str_adds(s, "none");
		hl_render_fact(out, "lost", s, columns);
	}
	(void)say_losses(out, s, meta, HL_LOSS_CUT, shown, columns);
	(void)say_losses(out, s, meta, HL_LOSS_NOTED, shown, columns);
}

void hl_render_header(struct hl_str *out, const struct hl_profile *profile, size_t columns)
{
	const struct hl_profile_meta *meta = hl_profile_meta(profile);
	_cleanup_str_ struct hl_str s = { 0 };

	hl_str_addf(&s, "%s, kernel %s", or_unknown(meta->host), or_unknown(meta->kernel));
	if (meta->cpus)
		hl_str_addf(&s, ", %" PRIu32 " CPU%s", meta->cpus, meta->cpus == 1 ? "" : "s");
	hl_render_fact(out, "host", &s, columns);

	hl_str_clear(&s);
	say_time(&s, meta);
	hl_render_fact(out, "time", &s, columns);

	hl_str_clear(&s);
	say_event(&s, meta);
	hl_render_fact(out, "event", &s, columns);

	hl_str_clear(&s);
	say_busy(&s, meta);
	hl_render_fact(out, "busy", &s, columns);

	hl_str_clear(&s);
	say_samples(&s, profile);
	hl_render_fact(out, "samples", &s, columns);

	say_all_losses(out, &s, profile, columns);
	for (size_t i = 0; i < meta->n_notes; i++) {
		hl_str_clear(&s);
		hl_str_adds(&s, meta->notes[i]);
		hl_render_fact(out, i ? "" : "notes", &s, columns);
	}

	hl_str_clear(&s);
	hl_str_addf(&s, "hotleaf %s, decoders %s", or_unknown(meta->version), or_unknown(meta->decoders));
	hl_render_fact(out, "made by", &s, columns);
}
