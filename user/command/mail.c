// SPDX-License-Identifier: BSD-2-Clause
#include "command/mail.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "command/mail_code.h"
#include "command/mail_facts.h"
#include "command/series.h"
#include "command/stores.h"
#include "profile/profile.h"
#include "render/common.h"
#include "render/mime.h"
#include "render/render.h"
#include "store/reading.h"

enum {
	MOST_ATTACHED = 730000, /* bytes: with base64 and its newlines less than a megabyte */
	PIECES = 48,            /* of the time, and as many of the time before */
	LEAST_MISSING = 10,     /* seconds */
};
#define LEAST_DELTA 0.01 /* CPUs: what changes less is not worth a line */
#define LOSSY       0.05 /* of the samples that were due; some hypervisors always take one or two in a hundred */

/* ---- what there is to say ------------------------------------------------------------------------------ */

static int no_memory(struct hl_err *err)
{
	return hl_err_set(err, -ENOMEM, "no memory for the mail");
}

static bool has_host(const struct hl_reading *reading, const char *name)
{
	uint64_t covered;
	const char *host;

	for (size_t i = 0; (host = hl_reading_host(reading, i, &covered)); i++)
		if (strcmp(host, name) == 0)
			return true;
	return false;
}

static void find_silent(struct hl_mail_facts *f, const struct hl_reading *before)
{
	uint64_t covered;
	const char *host;

	for (size_t i = 0; before && (host = hl_reading_host(before, i, &covered)); i++)
		if (!has_host(f->options->reading, host))
			hl_str_addf(&f->silent, "%s%s", f->silent.len ? ", " : "", host);
}

/*
 * The first note says of each host what is missing: "3 windows, 5 s missing: …". A span that does not begin where a
 * window does lacks a part of one, which is no news.
 */
static bool is_incomplete(const struct hl_profile_meta *meta)
{
	static const char missing[] = " s missing";
	const char *at = meta->n_notes ? meta->notes[0] : "";
	uint64_t span = (meta->end_ns - meta->start_ns) / HL_SECOND_NS;

	for (; (at = strstr(at, missing)); at += strlen(missing)) {
		const char *digits = at;
		uint64_t seconds;

		while (digits > meta->notes[0] && digits[-1] >= '0' && digits[-1] <= '9')
			digits--;
		seconds = strtoull(digits, NULL, 10);
		if (seconds > LEAST_MISSING && seconds > span / 100)
			return true;
	}
	return false;
}

static void judge_after(struct hl_mail_facts *f)
{
	const struct hl_profile_meta *meta = hl_profile_meta(f->after);
	uint64_t due = hl_render_due(meta);

	f->incomplete = is_incomplete(meta);
	f->lossy = (double)hl_render_lost(meta, HL_LOSS_LOST) > LOSSY * (double)due;
}

static int by_delta(const void *a, const void *b)
{
	const struct hl_mail_change *x = a, *y = b;
	double d = fabs(y->self.delta) - fabs(x->self.delta);

	if (d != 0)
		return d > 0 ? 1 : -1;
	return (x->frame > y->frame) - (x->frame < y->frame);
}

static int find_changes(struct hl_mail_facts *f)
{
	uint32_t n = hl_profile_n_frames(f->diff->tree);

	f->changes = calloc((size_t)n + 1, sizeof(*f->changes));
	if (!f->changes)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t *self = f->sums[i].self;
		struct hl_mail_change c = { hl_diff_change(f->diff, self[HL_BEFORE], self[HL_AFTER]), i };
		uint8_t kind = hl_profile_get_frame(f->diff->tree, i)->kind;

		if (kind >= HL_FRAME_USER && kind <= HL_FRAME_KERNEL && !c.self.noise &&
		    fabs(c.self.delta) >= LEAST_DELTA)
			f->changes[f->n_changes++] = c;
	}
	qsort(f->changes, f->n_changes, sizeof(*f->changes), by_delta);
	return 0;
}

/* The comparison; of the time with itself, where there is nothing before it. */
static int compare(struct hl_mail_facts *f, struct hl_err *err)
{
	int code = hl_diff_new(f->before ? f->before : f->after, f->after, HL_DIFF_BY_TIME, &f->diff, err);

	if (code == -ENODATA && f->before) {
		f->before = NULL;
		code = hl_diff_new(f->after, f->after, HL_DIFF_BY_TIME, &f->diff, err);
	}
	if (code == -ENODATA)
		return 0; /* nothing ran */
	if (code)
		return code;
	f->sums = hl_diff_sums(f->diff);
	if (!f->sums || find_changes(f))
		return no_memory(err);
	return 0;
}

static int read_series(struct hl_mail_facts *f, struct hl_err *err)
{
	struct hl_store_query query = *f->options->query;
	const struct hl_piece *pieces;
	size_t n;
	int code;

	query.event = hl_profile_meta(f->after)->event;
	if (f->before)
		query.since_ns = f->before_ns;
	code = hl_series_read(f->options->stores, &query, f->before ? 2 * PIECES : PIECES, &f->series, err);
	if (code)
		return code == -ENODATA ? 0 : code;
	pieces = hl_series_pieces(f->series, &n);
	while (f->first < n && pieces[f->first].start_ns < f->options->query->since_ns)
		f->first++;
	return 0;
}

static int gather(struct hl_mail_facts *f, struct hl_reading **before, struct hl_err *err)
{
	struct hl_store_query query = *f->options->query;
	uint64_t span = query.until_ns - query.since_ns;
	int code;

	query.until_ns = query.since_ns;
	query.since_ns -= query.since_ns < span ? query.since_ns : span;
	query.event = hl_profile_meta(f->after)->event;
	f->before_ns = query.since_ns;
	f->code = hl_mail_code_new();
	if (!f->code)
		return no_memory(err);
	code = hl_stores_read(f->options->stores, &query, before, err);
	if (code && code != -ENODATA)
		return code;
	if (!code) {
		f->before = hl_reading_profile(*before);
		f->reading_before = *before;
	}
	find_silent(f, *before);
	judge_after(f);
	code = compare(f, err);
	if (!code)
		code = read_series(f, err);
	return !code && hl_str_status(&f->silent) ? no_memory(err) : code;
}

static void facts_done(struct hl_mail_facts *f)
{
	hl_diff_free(f->diff);
	free(f->sums);
	free(f->changes);
	hl_series_free(f->series);
	hl_mail_code_free(f->code);
	hl_str_done(&f->silent);
}

/* ---- the attachment ------------------------------------------------------------------------------------ */

/* The page in memory, to be freed; or the picture, or the text, whatever is the first that is not too large. */
static int render(const struct hl_profile *profile, const struct hl_writer *const *formats,
		  const struct hl_writer **ret_writer, char **ret, size_t *ret_len, struct hl_err *err)
{
	static const struct hl_render_options none;
	int code = 0;

	for (; *formats && !code; formats++) {
		_cleanup_free_ char *bytes = NULL;
		size_t len = 0;
		FILE *out = open_memstream(&bytes, &len);

		code = out ? (*formats)->write(profile, &none, out, err) : -ENOMEM;
		if (out && fclose(out) && !code)
			code = -ENOMEM;
		if (code || len > MOST_ATTACHED)
			continue;
		*ret_writer = *formats;
		*ret = TAKE_PTR(bytes);
		*ret_len = len;
		return 0;
	}
	return code;
}

static const char *media_type(const struct hl_writer *writer)
{
	if (writer == &hl_writer_html)
		return "text/html; charset=utf-8";
	return writer == &hl_writer_svg ? "image/svg+xml" : "text/plain; charset=utf-8";
}

static int write_message(const struct hl_mail_facts *f, FILE *out, struct hl_err *err)
{
	static const struct hl_writer *const formats[] = { &hl_writer_html, &hl_writer_svg, &hl_writer_txt,
							   NULL };
	const struct hl_writer *writer = NULL;
	_cleanup_str_ struct hl_str subject = { 0 }, text = { 0 }, name = { 0 };
	struct hl_mail mail = { .to = f->options->to };
	_cleanup_free_ char *attachment = NULL;
	char time[HL_TIME_SIZE];
	int code = render(f->after, formats, &writer, &attachment, &mail.attachment_len, err);

	if (code)
		return code;
	hl_mail_subject(f, &subject);
	if (hl_mail_text(f, &text))
		return no_memory(err);
	hl_str_addf(&name, "hotleaf-%s.%s", hl_time_file_name(f->options->query->since_ns, time),
		    writer ? hl_writer_extension(writer) : "");
	if (subject.failed || text.failed || name.failed)
		return no_memory(err);
	mail.subject = subject.data;
	mail.text = text.data;
	mail.text_len = text.len;
	if (writer) {
		mail.file = name.data;
		mail.type = media_type(writer);
		mail.attachment = attachment;
	}
	hl_render_mail(&mail, out);
	return 0;
}

int hl_mail_write(const struct hl_mail_options *options, FILE *out, struct hl_err *err)
{
	_cleanup_(facts_done) struct hl_mail_facts f = { .options = options,
							 .after = hl_reading_profile(options->reading) };
	_cleanup_(hl_reading_freep) struct hl_reading *before = NULL;
	int code = gather(&f, &before, err);

	if (code)
		return code;
	if (options->if_changed && !f.n_changes && !f.incomplete && !f.lossy && !f.silent.len)
		return 0;
	return write_message(&f, out, err);
}
