// SPDX-License-Identifier: BSD-2-Clause
#include "store/summary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "profile/profile.h"
#include "store/coverage.h"
#include "store/day_reader.h"
#include "store/days.h"

/* So much may lack at the end of a range that ends now. */
#define OPEN_NS (UINT64_C(30) * 1000000000)

enum { MAX_HOSTS = 1 << 16, MAX_NOTES = 64, MAX_LOSSES = 1 << 12 };

/* What one host's windows sum up to. */
struct host {
	const char *name;
	uint32_t cpus;
	uint64_t covered_ns, busy_ns, programs_ns, process_ns, window_ns;
	bool programs_known, process_known;
};

struct hl_summary {
	struct hl_arena strings;
	struct hl_profile_meta meta;
	uint32_t least_hz, last_hz;
	struct host *hosts;
	struct hl_loss *losses;
	const char *notes[MAX_NOTES];
	size_t n_hosts, cap_hosts, n_losses, cap_losses, n_notes, notes_left_out;
	struct hl_coverage coverage;
	struct day_left_out left_out;
	uint64_t windows, not_stored, now_ns, copies;
	const char *unread, *first_copy;
	uint32_t files;
	struct hl_span last; /* the window that ended last */
};

struct hl_summary *hl_summary_new(uint64_t since_ns, uint64_t until_ns, uint64_t now_ns)
{
	struct hl_summary *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->meta = (struct hl_profile_meta){ .start_ns = since_ns, .end_ns = until_ns };
	s->now_ns = now_ns;
	return s;
}

void hl_summary_free(struct hl_summary *s)
{
	if (!s)
		return;
	hl_arena_done(&s->strings);
	free(s->hosts);
	free(s->losses);
	hl_coverage_done(&s->coverage);
	free(s);
}

uint64_t hl_summary_windows(const struct hl_summary *s)
{
	return s->windows;
}

uint64_t hl_summary_last_ns(const struct hl_summary *s, uint64_t *ret_length_ns, uint32_t *ret_hz)
{
	/* One that began or ended with the agent is shorter than its windows are. */
	*ret_length_ns = s->n_hosts ? s->hosts[s->last.host].window_ns : 0;
	*ret_hz = s->last_hz;
	return s->last.end_ns;
}

const char *hl_summary_host(const struct hl_summary *s, size_t index, uint64_t *ret_covered_ns)
{
	if (index >= s->n_hosts)
		return NULL;
	*ret_covered_ns = s->hosts[index].covered_ns;
	return s->hosts[index].name;
}

const char *hl_summary_why_unread(const struct hl_summary *s)
{
	return s->unread;
}

static int no_memory(struct hl_err *err)
{
	return hl_err_set(err, -ENOMEM, "no memory for the head of the report");
}

static const char *keep(struct hl_summary *s, const char *text)
{
	return text ? hl_arena_copy(&s->strings, text, strlen(text)) : NULL;
}

/* ---- notes --------------------------------------------------------------------------------------------- */

static int add_note(struct hl_summary *s, const char *text, struct hl_err *err)
{
	for (size_t i = 0; i < s->n_notes; i++)
		if (strcmp(s->notes[i], text) == 0)
			return 0;
	if (s->n_notes == MAX_NOTES - 2) { /* room for the last two */
		s->notes_left_out++;
		return 0;
	}
	s->notes[s->n_notes] = keep(s, text);
	if (!s->notes[s->n_notes])
		return no_memory(err);
	s->n_notes++;
	return 0;
}

int hl_summary_unread(struct hl_summary *s, const char *path, struct hl_err *err)
{
	_cleanup_str_ struct hl_str named = { 0 };
	const char *why = err->text;
	struct hl_err note;

	/* Many a reason begins with it. */
	hl_str_addf(&named, "'%s'", path);
	if (hl_str_status(&named))
		return no_memory(err);
	if (hl_starts_with(why, named.data))
		why += named.len + strspn(why + named.len, ": ");
	(void)hl_err_set(&note, 0, "%s could not be read, its windows are not shown: %s", path, why);
	if (!s->unread)
		s->unread = keep(s, note.text);
	/* It is told in the head from here on, and is not why a command failed. */
	err->text[0] = '\0';
	return add_note(s, note.text, err);
}

int hl_summary_aside(struct hl_summary *s, const char *dir, const char *name, struct hl_err *err)
{
	struct hl_err note;

	(void)hl_err_set(&note, 0, "%s/%s was set aside by the agent: what it holds is not shown", dir, name);
	return add_note(s, note.text, err);
}

int hl_summary_again(struct hl_summary *s, const char *dir, struct hl_err *err)
{
	struct hl_err note;

	(void)hl_err_set(&note, 0, "the store '%s' was given more than once, and counts once", dir);
	return add_note(s, note.text, err);
}

int hl_summary_copies(struct hl_summary *s, const char *path, uint64_t windows, struct hl_err *err)
{
	s->copies += windows;
	if (windows && !s->first_copy)
		s->first_copy = keep(s, path);
	return windows && !s->first_copy ? no_memory(err) : 0;
}

int hl_summary_other_event(struct hl_summary *s, const char *event, uint64_t windows, uint64_t samples,
			   struct hl_err *err)
{
	struct hl_err note;

	(void)hl_err_set(&note, 0,
			 "%" PRIu64 " windows with %" PRIu64 " samples of event %s are not shown: --event %s",
			 windows, samples, event, event);
	return add_note(s, note.text, err);
}

/* ---- adding a day -------------------------------------------------------------------------------------- */

static struct host *get_host(struct hl_summary *s, const char *name)
{
	for (size_t i = 0; i < s->n_hosts; i++)
		if (strcmp(s->hosts[i].name, name) == 0)
			return &s->hosts[i];
	if (hl_grow(&s->hosts, &s->cap_hosts, s->n_hosts + 1, sizeof(*s->hosts), MAX_HOSTS))
		return NULL;
	s->hosts[s->n_hosts] = (struct host){ .name = keep(s, name) };
	return s->hosts[s->n_hosts].name ? &s->hosts[s->n_hosts++] : NULL;
}

/* The last window's settings stand for all but where a note says otherwise. */
static int take_source(struct hl_summary *s, const struct day_source *source)
{
	struct hl_profile_meta *m = &s->meta;

	if (!s->least_hz || source->frequency < s->least_hz)
		s->least_hz = source->frequency;
	if (source->frequency > m->frequency)
		m->frequency = source->frequency;
	m->precise = source->precise;
	m->kernel = keep(s, source->kernel);
	m->version = keep(s, source->version);
	m->decoders = keep(s, source->decoders);
	m->event = keep(s, source->event);
	m->unit = keep(s, source->unit);
	return m->kernel && m->version && m->decoders && m->event && m->unit ? 0 : -ENOMEM;
}

int hl_summary_add_window(struct hl_summary *s, const struct day_source *source, const struct day_window *w)
{
	struct host *host = get_host(s, source->host);
	struct hl_span span = { w->start_ns, w->start_ns + w->length_ns, 0, s->files };

	if (!host)
		return -ENOMEM;
	span.host = (uint32_t)(host - s->hosts);
	host->covered_ns += w->length_ns;
	host->busy_ns += w->busy_ns;
	host->programs_ns += w->programs_ns;
	host->process_ns += w->process_ns;
	host->programs_known |= w->programs_known;
	host->process_known |= w->process_known;
	if (w->length_ns > host->window_ns)
		host->window_ns = w->length_ns;
	if (source->cpus > host->cpus)
		host->cpus = source->cpus;
	s->meta.expected += w->expected;
	s->meta.seen += w->seen;
	s->meta.idle += w->idle;
	s->meta.filtered += w->filtered;
	s->windows++;
	if (span.end_ns > s->last.end_ns) {
		s->last = span;
		s->last_hz = source->frequency;
	}
	return hl_coverage_add(&s->coverage, &span);
}

struct hl_reading_piece hl_summary_piece(const struct hl_summary *s)
{
	struct hl_reading_piece piece = { .expected = s->meta.expected, .seen = s->meta.seen };

	for (size_t i = 0; i < s->n_hosts; i++)
		piece.cpus += s->hosts[i].cpus;
	return piece;
}

static int add_loss(struct hl_summary *s, uint8_t kind, const char *name, const char *help, uint64_t count)
{
	for (size_t i = 0; i < s->n_losses; i++) {
		struct hl_loss *loss = &s->losses[i];

		if (loss->kind == kind && strcmp(loss->name, name) == 0 && strcmp(loss->help, help) == 0) {
			loss->count += count;
			return 0;
		}
	}
	if (hl_grow(&s->losses, &s->cap_losses, s->n_losses + 1, sizeof(*s->losses), MAX_LOSSES))
		return -ENOMEM;
	s->losses[s->n_losses] = (struct hl_loss){ keep(s, name), keep(s, help), count, kind };
	if (!s->losses[s->n_losses].name || !s->losses[s->n_losses].help)
		return -ENOMEM;
	s->n_losses++;
	return 0;
}

static bool is_wanted(const struct day_reader *day, int64_t id)
{
	const struct day_window *w = id > 0 && id <= UINT32_MAX ? day_reader_window(day, (uint32_t)id) : NULL;

	return w && w->wanted;
}

static int add_losses(struct hl_summary *s, struct day_reader *day, struct hl_err *err)
{
	_cleanup_(hl_query_freep) struct hl_query *query = NULL;
	size_t len;
	int code = hl_query_new(day->db, "SELECT * FROM losses WHERE window BETWEEN ? AND ?", &query, err);

	if (!code)
		hl_query_give(query, hl_int(day->windows[0].id), hl_int(day->windows[day->n_windows - 1].id));
	while (!code && (code = hl_query_step(query, err)) == 1) {
		const struct hl_query *reason;

		code = 0;
		if (!is_wanted(day, hl_query_int(query, 0)))
			continue;
		code = hl_row_check(&day->room, HL_TABLE_LOSSES, query, /* ret_key= */ NULL, err);
		if (!code)
			code = hl_rows_get(day->rows, HL_TABLE_REASONS, (uint32_t)hl_query_int(query, 1),
					   &reason, err);
		if (!code && add_loss(s, (uint8_t)hl_query_int(reason, 1), hl_query_bytes(reason, 2, &len),
				      hl_query_bytes(reason, 3, &len), (uint64_t)hl_query_int(query, 2)))
			code = no_memory(err);
	}
	return code;
}

static int add_window_notes(struct hl_summary *s, struct day_reader *day, struct hl_err *err)
{
	_cleanup_(hl_query_freep) struct hl_query *query = NULL;
	size_t len;
	int code =
		hl_query_new(day->db, "SELECT * FROM window_notes WHERE window BETWEEN ? AND ?", &query, err);

	if (!code)
		hl_query_give(query, hl_int(day->windows[0].id), hl_int(day->windows[day->n_windows - 1].id));
	while (!code && (code = hl_query_step(query, err)) == 1) {
		const struct hl_query *note;

		code = 0;
		if (!is_wanted(day, hl_query_int(query, 0)))
			continue;
		code = hl_row_check(&day->room, HL_TABLE_WINDOW_NOTES, query, /* ret_key= */ NULL, err);
		if (!code)
			code = hl_rows_get(day->rows, HL_TABLE_NOTES, (uint32_t)hl_query_int(query, 1), &note,
					   err);
		if (!code)
			code = add_note(s, hl_query_bytes(note, 1, &len), err);
	}
	return code;
}

/* Whose gaps those of a day are. */
static uint32_t host_of_gaps(const struct hl_summary *s, const struct day_reader *day)
{
	const struct day_source *first = day->sources;

	if (!first || !day->n_sources)
		return HL_ANY_HOST;
	for (size_t i = 1; i < day->n_sources; i++)
		if (strcmp(first[i].host, first->host) != 0)
			return HL_ANY_HOST;
	for (size_t i = 0; i < s->n_hosts; i++)
		if (strcmp(s->hosts[i].name, first->host) == 0)
			return (uint32_t)i;
	return MAX_HOSTS;
}

/* How many of the samples of @gap were lost before @at, as if they had been lost evenly. */
static uint64_t lost_before(const struct hl_gap *gap, uint64_t at)
{
	if (at <= gap->start_ns)
		return 0;
	if (at >= gap->end_ns)
		return gap->samples;
	return (uint64_t)((__uint128_t)gap->samples * (at - gap->start_ns) / (gap->end_ns - gap->start_ns));
}

/* A gap over midnight may stand in two days, where these were imported. */
static bool stands_twice(const struct hl_summary *s, const struct hl_gap *gap, uint32_t host)
{
	const struct hl_coverage *c = &s->coverage;

	if (gap->start_ns / HL_DAY_NS == gap->end_ns / HL_DAY_NS)
		return false;
	for (size_t i = 0; i < c->n_gaps; i++)
		if (c->gaps[i].gap.start_ns == gap->start_ns && c->gaps[i].gap.end_ns == gap->end_ns &&
		    c->gaps[i].gap.samples == gap->samples && c->gaps[i].host == host)
			return true;
	return false;
}

int hl_summary_add_gaps(struct hl_summary *s, struct day_reader *day, struct hl_err *err)
{
	uint32_t host = host_of_gaps(s, day);
	_cleanup_(hl_query_freep) struct hl_query *query = NULL;
	size_t len;
	int code = hl_query_new(day->db, "SELECT * FROM gaps WHERE start < ? AND start + length > ?", &query,
				err);

	if (!code)
		hl_query_give(query, hl_int(s->meta.end_ns), hl_int(s->meta.start_ns));
	while (!code && (code = hl_query_step(query, err)) == 1) {
		struct hl_gap gap = { .start_ns = (uint64_t)hl_query_int(query, 0),
				      .samples = (uint64_t)hl_query_int(query, 3) };

		code = hl_row_check(&day->room, HL_TABLE_GAPS, query, /* ret_key= */ NULL, err);
		if (code)
			return code;
		gap.end_ns = gap.start_ns + (uint64_t)hl_query_int(query, 1);
		(void)snprintf(gap.reason, sizeof(gap.reason), "%s", hl_query_bytes(query, 2, &len));
		if (stands_twice(s, &gap, host))
			continue;
		s->not_stored += lost_before(&gap, s->meta.end_ns) - lost_before(&gap, s->meta.start_ns);
		code = hl_coverage_add_gap(&s->coverage, host, &gap) ? no_memory(err) : 0;
	}
	return code;
}

int hl_summary_add(struct hl_summary *s, struct day_reader *day, const struct day_left_out *left_out,
		   struct hl_err *err)
{
	const struct day_source *last = NULL;
	int code;

	s->left_out.not_asked += left_out->not_asked;
	s->left_out.excluded += left_out->excluded;

	s->files++;
	if (!day->n_windows || !day->sources)
		return hl_summary_add_gaps(s, day, err);
	for (size_t i = 0; i < day->n_windows; i++) {
		const struct day_window *w = &day->windows[i];
		const struct day_source *source = &day->sources[w->source];

		if (!w->wanted)
			continue;
		if ((source != last && take_source(s, source)) || hl_summary_add_window(s, source, w))
			return no_memory(err);
		last = source;
	}
	code = add_losses(s, day, err);
	if (!code)
		code = add_window_notes(s, day, err);
	return code ? code : hl_summary_add_gaps(s, day, err);
}

/* ---- the end ------------------------------------------------------------------------------------------- */

/* Averages of each host, summed: as many CPUs as were busy in the fleet. */
static void sum_hosts(struct hl_summary *s)
{
	struct hl_profile_meta *m = &s->meta;

	m->cost_programs = m->cost_process = -1;
	for (size_t i = 0; i < s->n_hosts; i++) {
		const struct host *host = &s->hosts[i];
		double covered = (double)(host->covered_ns ? host->covered_ns : 1);

		m->cpus += host->cpus;
		m->busy_cpus += (double)host->busy_ns / covered;
		if (host->programs_known)
			m->cost_programs = (m->cost_programs < 0 ? 0 : m->cost_programs) +
					   (double)host->programs_ns / covered;
		if (host->process_known)
			m->cost_process = (m->cost_process < 0 ? 0 : m->cost_process) +
					  (double)host->process_ns / covered;
	}
}

static int name_hosts(struct hl_summary *s, struct hl_err *err)
{
	_cleanup_str_ struct hl_str text = { 0 };

	for (size_t i = 0; i < s->n_hosts && i < 3; i++)
		hl_str_addf(&text, "%s%s", i ? ", " : "", s->hosts[i].name);
	if (s->n_hosts > 3)
		hl_str_addf(&text, " and %zu more", s->n_hosts - 3);
	s->meta.host = hl_str_status(&text) ? NULL : keep(s, text.data);
	return s->meta.host ? 0 : no_memory(err);
}

/* Windows and gaps are what a reader must know first. */
static int say_coverage(struct hl_summary *s, struct hl_err *err)
{
	_cleanup_str_ struct hl_str text = { 0 };

	for (uint32_t i = 0; i < s->n_hosts; i++) {
		const struct host *host = &s->hosts[i];
		/* A busy host's agent writes its windows late. */
		uint64_t open_ns = 2 * host->window_ns > OPEN_NS ? 2 * host->window_ns : OPEN_NS;

		hl_str_addf(&text, "%s%s%s", i ? "; " : "", s->n_hosts > 1 ? host->name : "",
			    s->n_hosts > 1 ? ": " : "");
		hl_coverage_say(&s->coverage, i, s->meta.start_ns, s->meta.end_ns,
				s->meta.end_ns + open_ns >= s->now_ns ? open_ns : 0, &text);
	}
	if (hl_str_status(&text))
		return no_memory(err);
	memmove(s->notes + 1, s->notes, s->n_notes * sizeof(s->notes[0]));
	s->notes[0] = keep(s, text.data);
	s->n_notes++;
	return s->notes[0] ? 0 : no_memory(err);
}

/* What --where and --exclude left out. */
static int say_left_out(struct hl_summary *s, struct hl_err *err)
{
	const struct day_left_out *out = &s->left_out;
	struct hl_err note;

	s->meta.filtered += out->not_asked + out->excluded;
	s->meta.left_out = out->not_asked + out->excluded;
	if (!(out->not_asked + out->excluded))
		return 0;
	(void)hl_err_set(&note, 0,
			 "of the samples not asked for, --where left out %" PRIu64 " and --exclude %" PRIu64
			 "; what is lost, cut and noted is of the whole host, with them",
			 out->not_asked, out->excluded);
	return add_note(s, note.text, err);
}

static int say_copies(struct hl_summary *s, struct hl_err *err)
{
	struct hl_err note;

	if (!s->copies)
		return 0;
	(void)hl_err_set(&note, 0,
			 "%" PRIu64
			 " window%s that several stores have alike count once; the first copy is in %s",
			 s->copies, s->copies == 1 ? "" : "s", s->first_copy);
	return add_note(s, note.text, err);
}

int hl_summary_finish(struct hl_summary *s, struct hl_profile *profile, struct hl_err *err)
{
	struct hl_err note;
	int code = say_left_out(s, err);

	if (s->not_stored &&
	    add_loss(s, HL_LOSS_LOST, HL_NOT_STORED,
		     "the agent could not write them: the list of what is missing says when and why",
		     s->not_stored))
		return no_memory(err);
	if (s->least_hz != s->meta.frequency) {
		(void)hl_err_set(&note, 0,
				 "recorded at %" PRIu32 " to %" PRIu32
				 " Hz: a sample does not always stand for the same time",
				 s->least_hz, s->meta.frequency);
		code = add_note(s, note.text, err);
	}
	if (!code)
		code = say_copies(s, err);
	sum_hosts(s);
	if (!code)
		code = name_hosts(s, err);
	if (!code)
		code = say_coverage(s, err);
	if (!code && s->notes_left_out) {
		(void)hl_err_set(&note, 0, "%zu more notes were left out", s->notes_left_out);
		s->notes[s->n_notes] = keep(s, note.text);
		s->n_notes += s->notes[s->n_notes] != NULL;
	}
	s->meta.losses = s->losses;
	s->meta.n_losses = s->n_losses;
	s->meta.notes = s->notes;
	s->meta.n_notes = s->n_notes;
	if (!code)
		hl_profile_set_meta(profile, &s->meta);
	return code;
}
