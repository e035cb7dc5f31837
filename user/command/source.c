// SPDX-License-Identifier: BSD-2-Clause
#include "command/source.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/str.h"
#include "command/stored.h"
#include "command/stores.h"
#include "command/when.h"
#include "import/import.h"
#include "profile/profile.h"
#include "store/reading.h"

/* Hex digits of a build-id that tell it apart, and most that are taken. */
enum { LEAST_DIGITS = 4, MOST_DIGITS = 128 };

struct hl_source {
	struct hl_profile *own; /* imported, or a part of what was read */
	struct hl_reading *reading;
};

void hl_source_free(struct hl_source *source)
{
	if (!source)
		return;
	hl_profile_free(source->own);
	hl_reading_free(source->reading);
	free(source);
}

const struct hl_profile *hl_source_profile(const struct hl_source *source)
{
	return source->own ? source->own : hl_reading_profile(source->reading);
}

/* ---- stores -------------------------------------------------------------------------------------------- */

static int read_stores(struct hl_source *source, const struct hl_words *stores, const char *since,
		       const char *until, const struct hl_source_options *options, struct hl_err *err)
{
	struct hl_store_query query = { .event = options->event, .functions = options->functions };
	uint64_t now_ns = hl_realtime_ns();

	if (hl_when_parse(since, now_ns, &query.since_ns, err) ||
	    hl_when_parse(until, now_ns, &query.until_ns, err))
		return HL_EXIT_USAGE;
	if (query.since_ns >= query.until_ns)
		return hl_usage(err, "\"%.60s\" is not before \"%.60s\"", since, until);
	hl_stored_select(&query, options->selection);
	return hl_stores_read(stores, &query, &source->reading, err);
}

/* "SINCE..UNTIL", either of which may be left out. */
static int read_range(struct hl_source *source, const char *name, const struct hl_source_options *options,
		      struct hl_err *err)
{
	const char *dots = strstr(name, "..");
	_cleanup_free_ char *since = strndup(name, (size_t)(dots - name));

	if (!since)
		return hl_err_set(err, -ENOMEM, "no memory for \"%.60s\"", name);
	return read_stores(source, &options->stores, *since ? since : options->since,
			   dots[2] ? dots + 2 : options->until, options, err);
}

/* ---- one build of a module ----------------------------------------------------------------------------- */

static bool has_build_id(const struct hl_binary *binary, const char *digits)
{
	char text[MOST_DIGITS + 1];
	size_t n = binary && binary->build_id_len <= MOST_DIGITS / 2 ? binary->build_id_len : 0;

	for (size_t i = 0; i < n; i++)
		(void)snprintf(text + 2 * i, 3, "%02x", binary->build_id[i]);
	text[2 * n] = 0;
	return n && strncasecmp(text, digits, strlen(digits)) == 0;
}

/* Copies the stacks that lead through one of the frames that are @wanted. */
static int copy_stacks(const struct hl_profile *from, const bool *wanted, struct hl_profile *into)
{
	uint32_t n;
	const struct hl_node *nodes = hl_profile_nodes(from, &n);
	_cleanup_free_ uint32_t *frames = calloc((size_t)hl_profile_n_frames(from) + 1, sizeof(*frames));
	_cleanup_free_ uint32_t *copies = calloc(n, sizeof(*copies));
	_cleanup_free_ bool *inside = calloc(n, sizeof(*inside));
	int code = frames && copies && inside ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < hl_profile_n_frames(from) && !code; i++)
		code = hl_profile_frame(into, hl_profile_get_frame(from, i), &frames[i]);
	for (uint32_t i = 1; i < n && !code; i++) {
		inside[i] = inside[nodes[i].parent] || wanted[nodes[i].frame];
		code = hl_profile_child(into, copies[nodes[i].parent], frames[nodes[i].frame], &copies[i]);
		if (!code && inside[i])
			hl_profile_count(into, copies[i], nodes[i].self, nodes[i].self_weight);
	}
	return code;
}

static int keep_build(struct hl_source *source, const char *digits, struct hl_err *err)
{
	const struct hl_profile *from = hl_source_profile(source);
	uint32_t n = hl_profile_n_frames(from);
	_cleanup_free_ bool *wanted = calloc((size_t)n + 1, sizeof(*wanted));
	bool any = false;
	int code = wanted ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n && !code; i++) {
		wanted[i] =
			has_build_id(hl_profile_binary(from, hl_profile_get_frame(from, i)->binary), digits);
		any |= wanted[i];
	}
	if (!code && !any)
		return hl_err_set(err, -ENODATA, "nothing was sampled in a file with build-id %s", digits);
	source->own = hl_profile_new();
	if (!source->own)
		code = -ENOMEM;
	if (!code)
		code = copy_stacks(hl_reading_profile(source->reading), wanted, source->own);
	if (!code)
		code = hl_profile_finish(source->own);
	if (code)
		return hl_err_set(err, code, "no memory for the samples of build-id %s", digits);
	hl_profile_set_meta(source->own, hl_profile_meta(hl_reading_profile(source->reading)));
	return 0;
}

static int read_build(struct hl_source *source, const char *digits, const struct hl_source_options *options,
		      struct hl_err *err)
{
	size_t len = strlen(digits);
	int code;

	for (size_t i = 0; i < len; i++)
		if (!isxdigit((unsigned char)digits[i]))
			len = 0;
	if (len < LEAST_DIGITS || len > MOST_DIGITS)
		return hl_usage(err, "\"build-id:%.80s\" is none: give at least %d of its hex digits", digits,
				LEAST_DIGITS);
	code = read_stores(source, &options->stores, options->since, options->until, options, err);
	return code ? code : keep_build(source, digits, err);
}

/* ---- what a name stands for ---------------------------------------------------------------------------- */

static int open_name(struct hl_source *source, const struct hl_source_options *options, const char *name,
		     struct hl_err *err)
{
	static const char build_id[] = "build-id:";
	const struct hl_words store = { .items = &name, .n = 1 };
	struct stat st;

	if (hl_starts_with(name, build_id))
		return read_build(source, name + strlen(build_id), options, err);
	if (stat(name, &st) == 0 && S_ISDIR(st.st_mode))
		return read_stores(source, &store, options->since, options->until, options, err);
	if (strstr(name, "..") && !strchr(name, '/') && access(name, F_OK))
		return read_range(source, name, options, err);
	return hl_import_pprof(name, &source->own, err);
}

int hl_source_open(const struct hl_source_options *options, const char *name, struct hl_source **ret,
		   struct hl_err *err)
{
	_cleanup_(hl_source_freep) struct hl_source *source = calloc(1, sizeof(*source));
	int code = source ? open_name(source, options, name, err)
			  : hl_err_set(err, -ENOMEM, "no memory for \"%.60s\"", name);

	if (!code)
		*ret = TAKE_PTR(source);
	return code;
}
