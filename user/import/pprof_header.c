// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "import/pprof.h"
#include "profile/profile.h"

/*
 * Our own files carry the header of every output in their comments, "label    text" a line
 * (user/render/header.c). It is taken apart again, so that what was lost when it was recorded is still said.
 * Comments of other programs become notes.
 */

enum { LABEL_COLUMNS = 9, MOST_LOSSES = 256, MOST_NOTES = 256 };

struct header {
	struct hl_profile *profile;
	struct hl_profile_meta meta;
	struct hl_loss losses[MOST_LOSSES];
	const char *notes[MOST_NOTES];
	uint8_t kind;  /* of the losses that follow; a line without a label goes on with the last one */
	bool in_notes; /* the same of notes */
	bool ours;
	bool failed;
};

static const char *keep(struct header *h, const char *text, size_t len)
{
	const char *kept = hl_profile_keep(h->profile, text, len);

	h->failed |= !kept;
	return kept;
}

/* The text up to @end, or all of it. */
static const char *keep_until(struct header *h, const char *text, const char *end)
{
	const char *at = strstr(text, end);

	return keep(h, text, at ? (size_t)(at - text) : strlen(text));
}

/* The number in front of @word, which stands once in @text. */
static uint64_t number_before(const char *text, const char *word)
{
	const char *at = strstr(text, word), *from = at;

	while (from && from > text && from[-1] >= '0' && from[-1] <= '9')
		from--;
	return from ? strtoull(from, NULL, 10) : 0;
}

static void add_note(struct header *h, const char *text)
{
	if (h->meta.n_notes < MOST_NOTES)
		h->notes[h->meta.n_notes++] = keep(h, text, strlen(text));
}

/* "35 (18 %) NAME: HELP" */
static void add_loss(struct header *h, const char *text)
{
	struct hl_loss loss = { .kind = h->kind };
	const char *colon;
	char *end;

	loss.count = strtoull(text, &end, 10);
	if (end == text || *end != ' ' || h->meta.n_losses == MOST_LOSSES)
		return;
	text = end + 1;
	if (*text == '(' && strstr(text, ") "))
		text = strstr(text, ") ") + 2;
	colon = strstr(text, ": ");
	loss.name = keep_until(h, text, ": ");
	loss.help = keep(h, colon ? colon + 2 : "", colon ? strlen(colon + 2) : 0);
	h->losses[h->meta.n_losses++] = loss;
}

static void read_host(struct header *h, const char *text)
{
	const char *kernel = strstr(text, ", kernel "), *cpus;

	h->meta.host = keep_until(h, text, ", kernel ");
	if (!kernel)
		return;
	kernel += strlen(", kernel ");
	cpus = strrchr(kernel, ',');
	h->meta.kernel = keep(h, kernel, cpus ? (size_t)(cpus - kernel) : strlen(kernel));
	h->meta.cpus = cpus ? (uint32_t)strtoul(cpus + 1, NULL, 10) : 0;
}

static void read_event(struct header *h, const char *text)
{
	h->meta.event = keep_until(h, text, ", ");
	h->meta.frequency = (uint32_t)number_before(text, " Hz");
	h->meta.precise = strstr(text, ", precise") != NULL;
}

static void read_samples(struct header *h, const char *text)
{
	h->meta.expected = number_before(text, " expected");
	h->meta.seen = number_before(text, " seen");
	h->meta.idle = number_before(text, " idle");
	h->meta.filtered = number_before(text, " not asked for");
}

static void read_makers(struct header *h, const char *text)
{
	const char *decoders = strstr(text, ", decoders ");

	h->ours = hl_starts_with(text, "hotleaf ");
	h->meta.version = keep_until(h, h->ours ? text + strlen("hotleaf ") : text, ", ");
	if (decoders)
		h->meta.decoders =
			keep(h, decoders + strlen(", decoders "), strlen(decoders + strlen(", decoders ")));
}

static void read_line(struct header *h, const char *line)
{
	static const char *const kinds[] = { "lost", "cut", "noted" };
	const char *text = line + LABEL_COLUMNS;
	size_t label = strcspn(line, " ");

	if (label) {
		h->in_notes = label == 5 && hl_starts_with(line, "notes");
		h->kind = UINT8_MAX;
		for (uint8_t i = 0; i < 3; i++)
			if (label == strlen(kinds[i]) && hl_starts_with(line, kinds[i]))
				h->kind = i;
	}
	if (h->kind != UINT8_MAX)
		add_loss(h, text);
	else if (h->in_notes)
		add_note(h, text);
	else if (hl_starts_with(line, "host "))
		read_host(h, text);
	else if (hl_starts_with(line, "event "))
		read_event(h, text);
	else if (hl_starts_with(line, "busy "))
		h->meta.busy_cpus = strtod(text, NULL);
	else if (hl_starts_with(line, "samples "))
		read_samples(h, text);
	else if (hl_starts_with(line, "made by "))
		read_makers(h, text);
}

static void read_comments(struct header *h, const struct hl_pp *pp)
{
	for (size_t i = 0; i < pp->n_comments; i++) {
		const struct hl_pp_string *s = &pp->strings[pp->comments[i]];
		const char *line = keep(h, s->text, s->len);

		if (!line)
			return;
		if (strlen(line) > LABEL_COLUMNS)
			read_line(h, line);
	}
}

int hl_pp_set_header(const struct hl_pp *pp, struct hl_profile *profile)
{
	_cleanup_free_ struct header *h = calloc(1, sizeof(*h));
	const struct hl_pp_type *type = &pp->types[hl_pp_values(pp).weight];
	bool clock = hl_pp_is(pp, type->unit, "nanoseconds");
	const struct hl_pp_string *unit = &pp->strings[clock ? type->unit : type->type];
	size_t losses, notes;
	void *kept;

	if (!h)
		return -ENOMEM;
	h->profile = profile;
	h->kind = UINT8_MAX;
	h->meta.cost_process = h->meta.cost_programs = -1;
	h->meta.unit = keep(h, unit->text, unit->len);
	h->meta.start_ns = pp->time_ns;
	h->meta.end_ns =
		pp->time_ns + pp->duration_ns < pp->time_ns ? pp->time_ns : pp->time_ns + pp->duration_ns;
	read_comments(h, pp);
	if (!h->ours) {
		h->meta.n_losses = h->meta.n_notes = 0;
		for (size_t i = 0; i < pp->n_comments; i++)
			add_note(h,
				 keep(h, pp->strings[pp->comments[i]].text, pp->strings[pp->comments[i]].len)
					 ?: "");
		add_note(h, "another program wrote this profile: what it lost is not known");
	}
	losses = h->meta.n_losses * sizeof(*h->losses);
	notes = h->meta.n_notes * sizeof(*h->notes);
	kept = (void *)hl_profile_keep(profile, (const char *)h->losses, losses);
	h->meta.losses = kept;
	kept = (void *)hl_profile_keep(profile, (const char *)h->notes, notes);
	h->meta.notes = kept;
	if (h->failed || !h->meta.losses || !h->meta.notes)
		return -ENOMEM;
	hl_profile_set_meta(profile, &h->meta);
	return 0;
}
