// SPDX-License-Identifier: BSD-2-Clause
#include "command/diff_rules.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/cli.h"
#include "profile/diff.h"
#include "profile/profile.h"
#include "render/change.h"
#include "render/common.h"

/* Beyond this share of lost samples nobody knows what they would have shown. */
#define MOST_LOST 0.05

/* ---- parsing ------------------------------------------------------------------------------------------- */

static bool take(const char **at, const char *word)
{
	if (!hl_starts_with(*at, word))
		return false;
	*at += strlen(word);
	return true;
}

/* "self>+10%", "total<-0.5pp" */
static bool parse_condition(const char *at, struct hl_diff_rule *rule)
{
	char *end;

	if (take(&at, "total"))
		rule->total = true;
	else if (!take(&at, "self"))
		return false;
	rule->below = *at == '<';
	if (!take(&at, ">") && !take(&at, "<"))
		return false;
	(void)take(&at, "=");
	/* Without a sign it would be read as the share itself. */
	if ((*at != '+' && *at != '-') || !strchr("0123456789.", at[1]))
		return false;
	rule->bound = strtod(at, &end);
	at = end;
	rule->points = take(&at, "points") || take(&at, "pp");
	return (rule->points || take(&at, "%")) && !*at && isfinite(rule->bound);
}

int hl_diff_rule_parse(const char *text, struct hl_diff_rule *ret, struct hl_err *err)
{
	static const char symbol[] = "symbol=";
	const char *blank = strrchr(text, ' '), *end = blank;
	struct hl_diff_rule rule = { .text = text };

	while (end && end > text && end[-1] == ' ')
		end--;
	if (!blank || !hl_starts_with(text, symbol) || end <= text + strlen(symbol) ||
	    !parse_condition(blank + 1, &rule))
		return hl_usage(
			err,
			"\"--fail-on %.80s\" is no rule; give 'symbol=NAME self>+10%%', where total, <, "
			"-10%% and +0.5points are possible too",
			text);
	rule.name = text + strlen(symbol);
	rule.name_len = (size_t)(end - rule.name);
	*ret = rule;
	return 0;
}

/* ---- judging ------------------------------------------------------------------------------------------- */

static bool is_meant(const struct hl_diff_rule *rule, const struct hl_frame *frame)
{
	size_t stem = frame->name_len ? strcspn(frame->name, "(") : 0;

	if (frame->kind == HL_FRAME_ROOT || frame->kind == HL_FRAME_MARK || frame->kind >= HL_FRAME_INSN)
		return false;
	return (frame->name_len == rule->name_len || stem == rule->name_len) &&
	       memcmp(frame->name, rule->name, rule->name_len) == 0;
}

/* Adds up what functions of that name have; of one inside another only the outer one's total. */
static void add_up(const struct hl_diff *diff, const struct hl_diff_rule *rule, uint64_t ret[HL_N_SIDES])
{
	uint32_t n, inside = 0;
	const struct hl_node *nodes = hl_profile_nodes(diff->tree, &n);

	ret[HL_BEFORE] = ret[HL_AFTER] = 0;
	for (uint32_t i = 1; i < n; i++) {
		const struct hl_node *node = &nodes[i];
		const struct hl_frame *frame = hl_profile_get_frame(diff->tree, node->frame);
		bool below = frame->kind == HL_FRAME_INSN || frame->kind == HL_FRAME_PART;
		uint32_t function = below ? hl_profile_function(diff->tree, i) : i;

		if (rule->total ? i < inside || below : node->self + node->self_weight == 0)
			continue;
		if (!is_meant(rule, hl_profile_get_frame(diff->tree, nodes[function].frame)))
			continue;
		inside = node->end;
		ret[HL_BEFORE] += rule->total ? node->total : node->self;
		ret[HL_AFTER] += rule->total ? node->total_weight : node->self_weight;
	}
}

static bool is_crossed(const struct hl_diff *diff, const struct hl_diff_rule *rule, const struct hl_change *c)
{
	double before = c->value[HL_BEFORE], by = c->delta;

	if (rule->points)
		by *= diff->by == HL_DIFF_BY_SAMPLES ? 100 : 1;
	else
		by = before > 0 ? 100 * by / before : by > 0 ? INFINITY : 0;
	return rule->below ? by < rule->bound : by > rule->bound;
}

static bool too_much_is_lost(const struct hl_diff *diff, enum hl_side side, struct hl_str *out)
{
	const struct hl_profile_meta *meta = hl_profile_meta(diff->side[side].profile);
	uint64_t lost = hl_render_lost(meta, HL_LOSS_LOST);
	uint64_t due = hl_render_due(meta);

	if (due < diff->side[side].samples + lost)
		due = diff->side[side].samples + lost;
	if ((double)lost <= MOST_LOST * (double)due)
		return false;
	hl_str_addf(out, "cannot say: %" PRIu64 " of %" PRIu64 " samples were lost %s", lost, due,
		    side == HL_BEFORE ? "before" : "after");
	return true;
}

enum hl_verdict hl_diff_judge(const struct hl_diff_judge *judge, const struct hl_diff_rule *rule,
			      struct hl_str *out)
{
	const struct hl_diff *diff = judge->diff;
	enum hl_verdict verdict = HL_VERDICT_KEPT;
	uint64_t count[HL_N_SIDES];
	struct hl_change c;

	hl_render_clean(out, rule->text, strlen(rule->text), HL_RENDER_NAME_MAX);
	hl_str_adds(out, ": ");
	if (too_much_is_lost(diff, HL_BEFORE, out) || too_much_is_lost(diff, HL_AFTER, out)) {
		hl_str_addc(out, '\n');
		return HL_VERDICT_UNKNOWN;
	}
	add_up(diff, rule, count);
	c = hl_diff_change(diff, count[HL_BEFORE], count[HL_AFTER]);
	if (count[HL_BEFORE] < judge->min_samples && count[HL_AFTER] < judge->min_samples) {
		hl_str_addf(out, "cannot say: fewer than %" PRIu64 " samples; ", judge->min_samples);
		verdict = HL_VERDICT_UNKNOWN;
	} else if (is_crossed(diff, rule, &c)) {
		bool chance = fabs(c.z) <= hl_diff_bound(judge->n_rules);

		hl_str_adds(out, chance ? "cannot say, may be chance; " : "crossed; ");
		verdict = chance ? HL_VERDICT_UNKNOWN : HL_VERDICT_CROSSED;
	} else {
		hl_str_adds(out, "kept; ");
	}
	hl_render_change(out, diff, &c, "; ");
	hl_str_addc(out, '\n');
	return verdict;
}
