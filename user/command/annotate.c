// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "command/command.h"
#include "command/function_match.h"
#include "command/listings.h"
#include "command/living_code.h"
#include "command/recording.h"
#include "command/selection.h"
#include "command/stored.h"
#include "command/stored_code.h"
#include "command/stores.h"
#include "command/when.h"
#include "import/import.h"
#include "profile/hot.h"
#include "profile/listing.h"
#include "profile/profile.h"
#include "render/common.h"
#include "render/listing.h"
#include "render/listing_page.h"
#include "store/reading.h"
#include "symd/client.h"
#include "symd/client_cache.h"

enum { HEADER_COLUMNS = 110, DEBUG_MB = 1024 };

struct annotate {
	struct hl_recording_options recording;
	struct hl_words stores;
	const char *since, *until;
	const char *output;
	bool lines;
};

static const struct hl_option options[] = {
	HL_RECORDING_WHAT(struct annotate, NULL),
	HL_HEADING("What is read instead"),
	{ "store", 0, HL_STRINGS(struct annotate, stores), .rejects = "pid,duration", .metavar = "DIR",
	  .help = "what an agent keeps, as of report: its samples and the code that ran, whatever became of "
		  "the files" },
	{ "since", 0, HL_STRING(struct annotate, since), .default_text = "-1h", .needs = "store",
	  .metavar = "TIME", .help = "from when on; a time as of report" },
	{ "until", 0, HL_STRING(struct annotate, until), .default_text = "now", .needs = "store",
	  .metavar = "TIME", .help = "likewise; a window counts where it starts" },
	HL_HEADING("Of what is sampled, or read"),
	HL_RECORDING_WHO(struct annotate),
	HL_HEADING("What is written"),
	{ "output", 'o', HL_STRING(struct annotate, output), .metavar = "FILE",
	  .help = "write there, a page if it ends in .html; without it text to standard output" },
	{ "lines", 0, HL_FLAG(struct annotate, lines),
	  .help = "the source lines of the instructions, by debug information" },
	HL_RECORDING_DEBUGINFOD(struct annotate),
	HL_RECORDING_SYNTAX(struct annotate),
	HL_RECORDING_LIMITS(struct annotate),
};

/* The profile that is asked about, wherever it came from, and what its code is read with. */
struct source {
	struct hl_recording *recording;
	struct hl_profile *imported;
	struct hl_symd *own_symd;
	struct hl_cache *cache; /* NULL: none */
	const struct hl_profile *profile;
	struct hl_symd *symd;
	struct hl_living_code living; /* of a recording */
	/* Of stores. */
	struct hl_selection *selection;
	struct hl_reading *reading;
};

static void source_done(struct source *source)
{
	struct hl_symd_stats stats;

	hl_recording_free(source->recording);

	if (source->own_symd) {
		hl_symd_stats(source->own_symd, &stats);
		hl_debug("symbol", "files of the profile: parsed %llu times, taken from the cache %llu times",
			 (unsigned long long)stats.parsed, (unsigned long long)stats.restored);
	}
	hl_profile_free(source->imported);
	hl_symd_free(source->own_symd);
	hl_cache_close(source->cache);
	hl_reading_free(source->reading);
	hl_selection_free(source->selection);
}

static int record_source(struct source *source, const struct annotate *config, char **command,
			 struct hl_err *err)
{
	struct hl_recording_options how = config->recording;
	int code;

	/* The files are read for their lines; the tier itself makes no difference here. */
	how.line_tier = config->lines;
	how.debug_mb = DEBUG_MB;
	code = hl_recording_make(&how, command, &source->recording, err);
	if (code)
		return code;
	source->profile = hl_recording_profile(source->recording);
	source->symd = hl_recording_symd(source->recording);
	source->living = hl_recording_living_code(source->recording);
	return 0;
}

/* A symbolizer of its own, with what was made of files before. */
static int start_symd(struct source *source, const struct annotate *config, struct hl_err *err)
{
	struct hl_err why = { "" };

	/* All is read anew then. */
	if (hl_recording_open_cache(&config->recording, &source->cache, &why))
		hl_debug("symbol", "no cache: %s", why.text);
	source->own_symd = hl_symd_new(err);
	source->symd = source->own_symd;
	return source->symd ? 0 : -ENOMEM;
}

static int import_source(struct source *source, const struct annotate *config, const char *path,
			 struct hl_err *err)
{
	int code = hl_import_pprof(path, &source->imported, err);

	if (code)
		return code;
	source->profile = source->imported;
	return start_symd(source, config, err);
}

static int read_source(struct source *source, const struct annotate *config, struct hl_err *err)
{
	const struct hl_words by = { .n = 0 };
	struct hl_store_query query = { .event = config->recording.event };
	int code = hl_when_range(config->since, config->until, &query.since_ns, &query.until_ns, err);

	if (!code)
		code = hl_selection_new(&by, &config->recording.where, &config->recording.exclude,
					&source->selection, err);
	if (code)
		return code;
	hl_stored_select(&query, source->selection);
	code = hl_stores_read(&config->stores, &query, &source->reading, err);
	if (code)
		return code;
	source->profile = hl_reading_profile(source->reading);
	return start_symd(source, config, err);
}

/* ---- writing -------------------------------------------------------------------------------------------- */

static int write_header(const struct source *source, const struct hl_stored_code *stored, FILE *out)
{
	_cleanup_str_ struct hl_str s = { 0 };
	char said[240];

	hl_render_title(&s, source->profile);
	hl_str_adds(&s, "\n\n");
	hl_render_header(&s, source->profile, HEADER_COLUMNS);
	if (stored) {
		hl_body_sum_say(hl_stored_code_sum(stored), said, sizeof(said));
		hl_str_addf(&s, "store    %s\n", said);
	}
	if (s.failed)
		return -ENOMEM;
	(void)fwrite(s.data, 1, s.len, out);
	return 0;
}

/* Whether the function may be the one at the address: it has samples there, or around it. */
static bool may_cover(const struct hl_profile *profile, const struct hl_hot *hot, uint64_t address)
{
	enum { AROUND = HL_SYMD_LIST_MAX };
	const struct hl_frame *first = hl_profile_get_frame(profile, hot->insns[0].frame),
			      *last = hl_profile_get_frame(profile, hot->insns[hot->n_insns - 1].frame);

	return (address >= first->address || first->address - address < AROUND) &&
	       (address <= last->address || address - last->address < AROUND);
}

HL_DEFINE_CLEANUP(struct hl_listings, hl_listings_free)

/* Writes each function of @m that is the one meant; how many in *@ret. */
static int write_matches(const struct source *source, const struct annotate *config,
			 const struct hl_wanted *w, const struct hl_matches *m, FILE *out, size_t *ret,
			 struct hl_err *err)
{
	_cleanup_(hl_listings_freep) struct hl_listings *listings =
		hl_listings_new(source->profile, source->symd, source->cache, source->recording != NULL,
				source->recording ? &source->living : NULL,
				(config->recording.syntax == HL_SYNTAX_INTEL ? HL_SYMD_INTEL : 0) |
					(config->lines ? HL_SYMD_WANT_LINES : 0));
	_cleanup_(hl_stored_code_freep) struct hl_stored_code *stored = NULL;
	int code = listings ? 0 : -ENOMEM;

	if (!code && source->reading)
		code = hl_stored_code_new(source->reading, source->profile, m->frames, m->n, source->symd,
					  &stored, err);
	if (!code)
		hl_listings_use_stored(listings, stored);
	*ret = 0;
	for (size_t i = 0; i < m->n && !code; i++) {
		_cleanup_(hl_hot_done) struct hl_hot hot = { 0 };
		const struct hl_listing *parts;
		size_t n;

		code = hl_hot_collect(source->profile, m->frames[i], &hot);
		if (code || (w->by_address && !may_cover(source->profile, &hot, w->address)))
			continue;
		code = hl_listings_get(listings, &hot, &parts, &n, err);
		if (code || (w->by_address && !hl_listings_cover(parts, n, w->address)))
			continue;
		code = *ret ? 0 : write_header(source, stored, out);
		(void)fputc('\n', out);
		if (!code)
			code = hl_render_listing(source->profile, &hot, parts, n, out);
		++*ret;
	}
	return code;
}

static int annotate(const struct source *source, const struct annotate *config, const char *text, FILE *out,
		    struct hl_err *err)
{
	_cleanup_free_ uint64_t *samples = hl_hot_functions(source->profile);
	_cleanup_free_ uint32_t *frames =
		calloc((size_t)hl_profile_n_frames(source->profile) + 1, sizeof(*frames));
	struct hl_wanted w = hl_wanted_parse(text);
	struct hl_matches m = { .frames = frames };
	size_t written;
	int code;

	if (!samples || !frames)
		return hl_err_set(err, -ENOMEM, "no memory for the functions");
	code = hl_wanted_find(source->profile, samples, &w, &m, err);
	if (code)
		return code;
	code = write_matches(source, config, &w, &m, out, &written, err);
	if (code)
		return hl_err_errno(err, code, "cannot annotate '%s'", text);
	if (!written)
		return hl_err_set(err, -ENOENT, "nothing was sampled in a function at %s", text);
	return 0;
}

/* The same as a page. */
static int annotate_page(const struct source *source, const struct annotate *config, const char *text,
			 FILE *out, struct hl_err *err)
{
	_cleanup_free_ char *listing = NULL;
	size_t len = 0;
	FILE *memory = open_memstream(&listing, &len);
	int code = memory ? annotate(source, config, text, memory, err) : -ENOMEM;

	if (memory && fclose(memory) && !code)
		code = -ENOMEM;
	if (!code)
		code = hl_render_listing_page(text, listing, len, out);
	return code == -ENOMEM ? hl_err_set(err, code, "no memory for the page") : code;
}

/* ---- the command ---------------------------------------------------------------------------------------- */

static int annotate_to(const struct annotate *config, const char *text, const char *profile, char **command,
		       struct hl_output *output, struct hl_err *err)
{
	_cleanup_(source_done) struct source source = { 0 };
	FILE *out = hl_output_stream(output);
	int code;

	if (config->stores.n)
		code = read_source(&source, config, err);
	else
		code = profile ? import_source(&source, config, profile, err)
			       : record_source(&source, config, command, err);

	if (!code)
		code = config->output && hl_ends_with(config->output, ".html")
			       ? annotate_page(&source, config, text, out, err)
			       : annotate(&source, config, text, out, err);
	return code ? code : hl_output_commit(output, err);
}

static int run(void *config, char **rest, struct hl_err *err)
{
	const struct annotate *c = config;
	_cleanup_(hl_output_freep) struct hl_output *output = NULL;
	const char *words[2] = { NULL, NULL };
	char **command = NULL;
	size_t n = 0;

	for (; *rest && strcmp(*rest, "--") != 0; rest++) {
		if (n == 2)
			return hl_usage(
				err,
				"a function and a profile are all that it takes; \"%.60s\" is one too "
				"many: a command stands behind \"--\"",
				*rest);
		words[n++] = *rest;
	}
	if (*rest && rest[1])
		command = rest + 1;
	if (!words[0] || !*words[0])
		return hl_usage(err,
				"which function? give a name or an address; see \"hotleaf help annotate\"");
	if (words[1] && (c->recording.where.n || c->recording.exclude.n))
		return hl_usage(err, "a PROFILE does not say whose its samples are: leave --where and "
				     "--exclude out");
	if (words[1] && (command || c->recording.pids.n))
		return hl_usage(err, "a PROFILE was recorded before: leave -p and COMMAND out");
	if (command && c->recording.pids.n)
		return hl_usage(err,
				"option \"--pid\" and COMMAND exclude each other; leave one of them out");
	if (c->stores.n && (words[1] || command))
		return hl_usage(err, "\"--store\" is read: leave PROFILE and COMMAND out");
	output = hl_output_new(c->output ? c->output : "-", err);
	if (!output)
		return -EIO;
	return annotate_to(c, words[0], words[1], command, output, err);
}

const struct hl_command hl_command_annotate = {
	.name = "annotate",
	.summary = "show a function's code with the samples of each instruction, and by which callers",
	.usage = "[OPTION…] FUNCTION|ADDRESS [PROFILE | --store DIR | -- COMMAND [ARGUMENT…]]",
	.description =
		"Lists a whole function with the samples of each of its instructions, and says which "
		"callers\n"
		"make which of them hot. FUNCTION is a name, or a part that only one name has; ADDRESS is\n"
		"0xADDRESS or MODULE+0xADDRESS, as the outputs of record have it. PROFILE is a .pb.gz that "
		"record\n"
		"wrote; --store DIR is what an agent keeps, the code included; without both, a recording is "
		"made "
		"now,\n"
		"as record makes one.",
	.options = options,
	.n_options = sizeof(options) / sizeof(options[0]),
	.config_size = sizeof(struct annotate),
	.rest = "FUNCTION",
	.rest_dashes = true,
	.run = run,
};
