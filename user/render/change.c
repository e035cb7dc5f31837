// SPDX-License-Identifier: BSD-2-Clause
#include "render/change.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "profile/profile.h"
#include "render/common.h"

const char *hl_render_value_unit(const struct hl_diff *diff)
{
	return diff->by == HL_DIFF_BY_TIME ? "CPUs" : "% of all samples";
}

const char *hl_render_delta_unit(const struct hl_diff *diff)
{
	return diff->by == HL_DIFF_BY_TIME ? "CPUs" : "points";
}

void hl_render_value(struct hl_str *out, const struct hl_diff *diff, double value)
{
	bool time = diff->by == HL_DIFF_BY_TIME;

	hl_render_decimal(out, time ? value : 100 * value, time ? 3 : 2);
}

void hl_render_delta(struct hl_str *out, const struct hl_diff *diff, double delta)
{
	hl_str_addc(out, delta < 0 ? '-' : '+');
	hl_render_value(out, diff, fabs(delta));
}

void hl_render_relative(struct hl_str *out, const struct hl_change *change)
{
	double before = change->value[HL_BEFORE], share = before > 0 ? 100 * change->delta / before : 0;

	if (!change->count[HL_BEFORE]) {
		hl_str_adds(out, change->count[HL_AFTER] ? "new" : "in neither");
		return;
	}
	if (!change->count[HL_AFTER]) {
		hl_str_adds(out, "gone");
		return;
	}
	hl_str_addc(out, share < 0 ? '-' : '+');
	hl_render_decimal(out, fabs(share), fabs(share) < 10 ? 1 : 0);
	hl_str_adds(out, " %");
}

void hl_render_change(struct hl_str *out, const struct hl_diff *diff, const struct hl_change *c,
		      const char *between)
{
	hl_render_value(out, diff, c->value[HL_BEFORE]);
	hl_str_adds(out, " -> ");
	hl_render_value(out, diff, c->value[HL_AFTER]);
	hl_str_addf(out, " %s, ", hl_render_value_unit(diff));
	hl_render_relative(out, c);
	hl_str_addf(out, "%s%" PRIu64 " -> %" PRIu64 " samples, ", between, c->count[HL_BEFORE],
		    c->count[HL_AFTER]);
	hl_render_decimal(out, fabs(c->z), 1);
	hl_str_adds(out, " standard deviations");
}

/* ---- the head ------------------------------------------------------------------------------------------ */

void hl_render_side_title(struct hl_str *out, const struct hl_diff *diff, enum hl_side side)
{
	hl_render_title(out, diff->side[side].profile);
}

static void say_side(struct hl_str *s, const struct hl_diff *diff, enum hl_side which)
{
	const struct hl_diff_side *side = &diff->side[which];
	const struct hl_profile_meta *meta = hl_profile_meta(side->profile);
	uint64_t lost = hl_render_lost(meta, HL_LOSS_LOST), cut = hl_render_lost(meta, HL_LOSS_CUT);
	uint64_t due = hl_render_due(meta);

	hl_render_side_title(s, diff, which);
	hl_str_addf(s, "; %" PRIu64 " samples", side->samples);
	if (diff->by == HL_DIFF_BY_TIME) {
		hl_str_adds(s, ", ");
		hl_render_value(s, diff, (double)side->samples * side->scale);
		hl_str_addf(s, " of %" PRIu32 " CPUs", meta->cpus);
	}
	hl_str_addf(s, "; %" PRIu64 " lost", lost);
	if (lost && due) {
		hl_str_adds(s, " (");
		hl_render_percent(s, lost, due);
		hl_str_adds(s, ")");
	}
	hl_str_addf(s, ", %" PRIu64 " with a cut stack", cut);
}

static void say_noise(struct hl_str *s, const struct hl_diff *diff)
{
	hl_str_adds(s, "changes of up to ");
	hl_render_decimal(s, diff->noise, 1);
	hl_str_addf(
		s,
		" standard deviations are taken for chance: by a likelihood-ratio test of the counts, and so "
		"that of a hundred comparisons of the same with %" PRIu32 " places each one shows a change",
		diff->tests);
}

static void add_fact(struct hl_str *out, const char *label, const struct hl_str *text, size_t columns)
{
	hl_render_fact(out, label, text, columns);
	out->failed |= text->failed;
}

void hl_render_diff_header(struct hl_str *out, const struct hl_diff *diff, size_t columns)
{
	const struct hl_profile_meta *before = hl_profile_meta(diff->side[HL_BEFORE].profile),
				     *after = hl_profile_meta(diff->side[HL_AFTER].profile);
	_cleanup_str_ struct hl_str s = { 0 };

	say_side(&s, diff, HL_BEFORE);
	add_fact(out, "before", &s, columns);
	hl_str_clear(&s);
	say_side(&s, diff, HL_AFTER);
	add_fact(out, "after", &s, columns);
	hl_str_clear(&s);
	hl_str_addf(&s, "%s; values are %s", after->event ? after->event : "unknown",
		    diff->by == HL_DIFF_BY_TIME ? "CPUs that were busy with it, on average"
						: "shares of all samples, in %");
	add_fact(out, "event", &s, columns);
	hl_str_clear(&s);
	say_noise(&s, diff);
	add_fact(out, "noise", &s, columns);
	if (before->precise == after->precise)
		return;
	hl_str_clear(&s);
	hl_str_adds(
		&s,
		"only one of the two tells the exact instruction: leaves may differ by one for that reason");
	add_fact(out, "note", &s, columns);
}
