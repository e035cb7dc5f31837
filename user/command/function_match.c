// SPDX-License-Identifier: BSD-2-Clause
#include "command/function_match.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "profile/profile.h"
#include "render/common.h"
#include "symbol/demangle.h"

enum { MOST_CANDIDATES = 30 };

struct hl_wanted hl_wanted_parse(const char *text)
{
	struct hl_wanted w = { .text = text };
	const char *plus = strrchr(text, '+'), *digits = plus ? plus + 1 : text;
	char *end;

	if (!hl_starts_with(digits, "0x") || !digits[2])
		return w;
	w.address = strtoull(digits, &end, 16);
	w.by_address = !*end;
	w.module_len = plus ? (size_t)(plus - text) : 0;
	return w;
}

/* A module is named as it is shown, by its whole path or the last component. */
static bool in_module(const struct hl_wanted *w, const struct hl_frame *frame)
{
	const char *base = memrchr(frame->module, '/', frame->module_len);

	if (!w->module_len)
		return true;
	base = base ? base + 1 : frame->module;
	return (strlen(base) == w->module_len && memcmp(base, w->text, w->module_len) == 0) ||
	       (frame->module_len == w->module_len && memcmp(frame->module, w->text, w->module_len) == 0);
}

/* Which way of matching is tried: the exact name, the name without its parameters, a part of the name. */
enum how { BY_NAME, BY_STEM, BY_PART };

static bool is_match(const struct hl_frame *frame, const char *text, enum how how)
{
	size_t len = strlen(text), stem = strcspn(frame->name, "(");

	switch (how) {
	case BY_NAME:
		return frame->name_len == len && memcmp(frame->name, text, len) == 0;
	case BY_STEM:
		return stem == len && memcmp(frame->name, text, len) == 0;
	default:
		return memmem(frame->name, frame->name_len, text, len) != NULL;
	}
}

static void match_names(const struct hl_profile *profile, const uint64_t *samples, const char *text,
			enum how how, struct hl_matches *m)
{
	m->n = 0;
	for (uint32_t i = 0; i < hl_profile_n_frames(profile); i++)
		if (samples[i] && is_match(hl_profile_get_frame(profile, i), text, how))
			m->frames[m->n++] = i;
}

/* Functions that may cover the address: of each module the last that starts at or before it. */
static void match_address(const struct hl_profile *profile, const uint64_t *samples,
			  const struct hl_wanted *w, struct hl_matches *m)
{
	m->n = 0;
	for (uint32_t i = 0; i < hl_profile_n_frames(profile); i++) {
		const struct hl_frame *frame = hl_profile_get_frame(profile, i);

		if (samples[i] && in_module(w, frame))
			m->frames[m->n++] = i;
	}
}

static bool all_have_one_name(const struct hl_profile *profile, const struct hl_matches *m)
{
	for (size_t i = 1; i < m->n; i++)
		if (strcmp(hl_profile_get_frame(profile, m->frames[i])->name,
			   hl_profile_get_frame(profile, m->frames[0])->name) != 0)
			return false;
	return true;
}

struct by_samples {
	const uint64_t *samples;
};

static int compare_samples(const void *a, const void *b, void *ctx)
{
	const uint64_t *samples = ((const struct by_samples *)ctx)->samples;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (samples[x] != samples[y])
		return samples[x] < samples[y] ? 1 : -1;
	return (x > y) - (x < y);
}

/* Says on stderr which functions there are to choose from. */
static int list_candidates(const struct hl_profile *profile, const uint64_t *samples, const char *text,
			   struct hl_matches *m, struct hl_err *err)
{
	struct by_samples by = { samples };
	_cleanup_str_ struct hl_str s = { 0 };
	bool any = m->n > 0;

	if (!any)
		for (uint32_t i = 0; i < hl_profile_n_frames(profile); i++)
			if (samples[i])
				m->frames[m->n++] = i;
	qsort_r(m->frames, m->n, sizeof(*m->frames), compare_samples, &by);
	for (size_t i = 0; i < m->n && i < MOST_CANDIDATES; i++) {
		const struct hl_frame *frame = hl_profile_get_frame(profile, m->frames[i]);

		hl_str_addf(&s, "%9llu  ", (unsigned long long)samples[m->frames[i]]);
		hl_render_name(&s, frame);
		hl_str_adds(&s, "  ");
		hl_render_module(&s, frame);
		hl_str_addc(&s, '\n');
	}
	if (m->n > MOST_CANDIDATES)
		hl_str_addf(&s, "           and %zu more\n", m->n - MOST_CANDIDATES);
	if (s.failed)
		return hl_err_set(err, -ENOMEM, "no memory for the names");
	if (m->n)
		(void)fprintf(stderr, "  samples  function\n%s", s.data);
	if (!m->n)
		return hl_err_set(err, -ENOENT,
				  "there is no instruction in it: nothing was sampled, or it was "
				  "recorded with --leaf function");
	return hl_err_set(err, -ENOENT,
			  any ? "\"%.100s\" is part of several names; give one of these whole"
			      : "nothing was sampled in a function \"%.100s\"; these have the most samples",
			  text);
}

int hl_wanted_find(const struct hl_profile *profile, const uint64_t *samples, const struct hl_wanted *wanted,
		   struct hl_matches *ret, struct hl_err *err)
{
	_cleanup_str_ struct hl_str demangled = { 0 };
	const char *text = wanted->text;

	if (wanted->by_address) {
		match_address(profile, samples, wanted, ret);
		return 0;
	}
	/* As nm and linkers print it; profiles have it as people write it. */
	if (hl_demangle(text, &demangled)) {
		if (hl_str_status(&demangled))
			return hl_err_set(err, -ENOMEM, "no memory for the name of a function");
		text = demangled.data;
	}
	for (enum how how = BY_NAME; how <= BY_PART; how++) {
		match_names(profile, samples, text, how, ret);
		if (ret->n && (how != BY_PART || all_have_one_name(profile, ret)))
			return 0;
	}
	return list_candidates(profile, samples, text, ret, err);
}
