// SPDX-License-Identifier: BSD-2-Clause
#include "import/pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "import/gunzip.h"
#include "import/import.h"
#include "profile/profile.h"

enum { LIMIT = 256 << 20, MOST_SEGMENTS = 256, MOST_BUILD_ID = 64 };

/* ---- mappings to binaries -------------------------------------------------------------------------------- */

static bool starts(const struct hl_pp_string *s, const char *prefix)
{
	return s->len >= strlen(prefix) && memcmp(s->text, prefix, strlen(prefix)) == 0;
}

/* The names that our writer and perf's relatives give to code that is in no file. */
static uint8_t kind_of(const struct hl_pp *pp, const struct hl_pp_mapping *m)
{
	const struct hl_pp_string *file = &pp->strings[m->file];

	if (starts(file, "[hotleaf]"))
		return HL_FRAME_MARK;
	if (starts(file, "[jit]") || starts(file, "//anon") || starts(file, "[anon"))
		return HL_FRAME_JIT;
	if (starts(file, "[kernel") || (starts(file, "[") && m->start >> 63))
		return HL_FRAME_KERNEL;
	return HL_FRAME_USER;
}

static int by_file(const void *a, const void *b)
{
	const struct hl_pp_mapping *x = *(const struct hl_pp_mapping *const *)a,
				   *y = *(const struct hl_pp_mapping *const *)b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->build_id != y->build_id)
		return x->build_id < y->build_id ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The bytes of a build-id in hex; 0 for what is none. */
static size_t read_build_id(const struct hl_pp_string *s, uint8_t ret[MOST_BUILD_ID])
{
	size_t n = s->len / 2;

	if (s->len % 2 || n > MOST_BUILD_ID)
		return 0;
	for (size_t i = 0; i < n; i++) {
		int high = digit(s->text[2 * i]), low = digit(s->text[2 * i + 1]);

		if (high < 0 || low < 0)
			return 0;
		ret[i] = (uint8_t)(high << 4 | low);
	}
	return n;
}

/* One binary for the @n mappings at @maps, which are of one file. */
static int add_binary(const struct hl_pp *pp, struct hl_profile *profile, struct hl_pp_mapping **maps,
		      size_t n, uint32_t number)
{
	const struct hl_pp_string *file = &pp->strings[maps[0]->file], *id = &pp->strings[maps[0]->build_id];
	struct hl_id record[2] = { hl_id_of(id->text, id->len), hl_id_of(file->text, file->len) };
	_cleanup_free_ struct hl_segment *segments = calloc(MOST_SEGMENTS, sizeof(*segments));
	uint8_t build_id[MOST_BUILD_ID];
	struct hl_binary binary = { .id = hl_id_of(record, sizeof(record)),
				    .build_id = build_id,
				    .build_id_len = read_build_id(id, build_id),
				    .segments = segments,
				    .number = number };

	if (!segments)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		maps[i]->binary = number;
		if (maps[i]->limit > maps[i]->start && binary.n_segments < MOST_SEGMENTS)
			segments[binary.n_segments++] =
				(struct hl_segment){ maps[i]->start, maps[i]->offset,
						     maps[i]->limit - maps[i]->start };
	}
	return hl_profile_add_binary(profile, &binary);
}

static int add_binaries(struct hl_pp *pp, struct hl_profile *profile)
{
	_cleanup_free_ struct hl_pp_mapping **maps =
		calloc(pp->n_mappings + 1, sizeof(struct hl_pp_mapping *));
	uint32_t number = 0;
	size_t n = 0, first = 0;
	int code = maps ? 0 : -ENOMEM;

	for (size_t i = 0; i < pp->n_mappings && !code; i++) {
		struct hl_pp_mapping *m = &pp->mappings[i];

		m->kind = kind_of(pp, m);
		if (m->kind == HL_FRAME_USER && pp->strings[m->file].len)
			maps[n++] = m;
	}
	if (!code)
		qsort(maps, n, sizeof(struct hl_pp_mapping *), by_file);
	for (size_t i = 1; i <= n && !code; i++) {
		if (i < n && maps[i]->file == maps[first]->file && maps[i]->build_id == maps[first]->build_id)
			continue;
		code = add_binary(pp, profile, maps + first, i - first, ++number);
		first = i;
	}
	return code;
}

/* ---- all of it ------------------------------------------------------------------------------------------- */

HL_DEFINE_CLEANUP(struct hl_profile, hl_profile_free)

static int build(struct hl_pp *pp, struct hl_profile **ret)
{
	_cleanup_(hl_profile_freep) struct hl_profile *profile = hl_profile_new();
	int code = profile ? add_binaries(pp, profile) : -ENOMEM;

	if (code)
		return hl_err_errno(pp->err, code, "cannot keep '%s'", pp->path);
	code = hl_pp_add_samples(pp, profile);
	if (code)
		return code;
	code = hl_profile_finish(profile);
	if (!code)
		code = hl_pp_set_header(pp, profile);
	if (code)
		return hl_err_errno(pp->err, code, "cannot keep '%s'", pp->path);
	*ret = TAKE_PTR(profile);
	return 0;
}

int hl_import_pprof(const char *path, struct hl_profile **ret, struct hl_err *err)
{
	_cleanup_(hl_pp_done) struct hl_pp pp = { .path = path, .err = err };
	_cleanup_free_ uint8_t *bytes = NULL;
	size_t len = 0;
	int code = hl_gunzip_file(path, LIMIT, &bytes, &len, err);

	if (!code)
		code = hl_pp_read(&pp, bytes, len);
	return code ? code : build(&pp, ret);
}
