// SPDX-License-Identifier: BSD-2-Clause
#include "command/outputs.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/str.h"
#include "profile/diff.h"
#include "profile/profile.h"
#include "render/render.h"

enum { MAX_OUTPUTS = 32 };

struct named_output {
	char *path;
	char *dir; /* with its slash, or "": where the file is to be named by its time; else NULL */
	const struct hl_writer *writer;
	struct hl_output *output; /* NULL: not opened yet */
};

struct hl_outputs {
	struct named_output items[MAX_OUTPUTS];
	size_t n;
};

static int add_formats(struct hl_str *list)
{
	for (size_t i = 0; hl_writers[i]; i++)
		hl_str_addf(list, "%s%s", i ? ", " : "", hl_writers[i]->format);
	return hl_str_status(list);
}

static int unknown_format(const char *path, const char *format, struct hl_err *err)
{
	_cleanup_str_ struct hl_str list = { 0 };

	(void)add_formats(&list);
	if (format)
		return hl_usage(err, "there is no format \"%s\"; there are: %s", format, list.data);
	return hl_usage(err, "cannot tell the format of \"%s\" by its name; give -f with one of: %s", path,
			list.data);
}

static const struct hl_writer *writer_of(const char *path, const char *format)
{
	const char *base = strrchr(path, '/');

	if (format)
		return hl_writer_find(format);
	/* Behind any dot of the name: formats may have one, as "pb.gz". */
	base = base ? base + 1 : path;
	for (const char *dot = strchr(base, '.'); dot; dot = strchr(dot + 1, '.'))
		if (hl_writer_find_extension(dot + 1))
			return hl_writer_find_extension(dot + 1);
	return NULL;
}

/* The name is known only at the end; that it can be created, in a folder that may be new, is known now. */
static int add_timed(struct hl_outputs *outputs, const char *dir, const char *format, struct hl_err *err)
{
	struct named_output *item = &outputs->items[outputs->n];

	item->writer = hl_writer_find(format ? format : "html");
	if (!item->writer)
		return unknown_format(NULL, format, err);
	if (dir[0] && mkdir(dir, 0777) && errno != EEXIST)
		return hl_err_errno(err, -errno, "cannot make the folder '%s'", dir);
	if (access(dir[0] ? dir : ".", W_OK | X_OK))
		return hl_err_errno(err, -errno, "cannot write to %s%s%s; give -o FILE",
				    dir[0] ? "'" : "the current directory", dir, dir[0] ? "'" : "");
	item->dir = strdup(dir);
	if (!item->dir)
		return hl_err_set(err, -ENOMEM, "no memory for the name of an output");
	outputs->n++;
	return 0;
}

static int add_output(struct hl_outputs *outputs, const char *path, const char *format, struct hl_err *err)
{
	struct named_output *item = &outputs->items[outputs->n];

	if (outputs->n == MAX_OUTPUTS)
		return hl_usage(err, "at most %d outputs can be written at once", MAX_OUTPUTS);
	if (hl_ends_with(path, "/"))
		return add_timed(outputs, path, format, err);
	item->writer = writer_of(path, format);
	if (!item->writer)
		return unknown_format(path, format, err);
	item->path = strdup(path);
	if (!item->path)
		return hl_err_set(err, -ENOMEM, "no memory for the name of an output");
	outputs->n++;
	item->output = hl_output_new(path, err);
	return item->output ? 0 : -EIO;
}

int hl_outputs_open(const struct hl_words *paths, const char *format, struct hl_outputs **ret,
		    struct hl_err *err)
{
	struct hl_outputs *outputs = calloc(1, sizeof(*outputs));
	int code = 0;

	if (!outputs)
		return hl_err_set(err, -ENOMEM, "no memory for the outputs");
	for (size_t i = 0; i < paths->n && !code; i++)
		code = add_output(outputs, paths->items[i], format, err);
	if (!code && !paths->n)
		code = add_timed(outputs, "", format, err);
	if (code) {
		hl_outputs_free(outputs);
		return code;
	}
	*ret = outputs;
	return 0;
}

int hl_outputs_open_diff(const struct hl_words *paths, const char *format, struct hl_outputs **ret,
			 struct hl_err *err)
{
	struct hl_outputs *outputs = NULL;
	int code = hl_outputs_open(paths, format, &outputs, err);

	if (code || !outputs)
		return code;
	for (size_t i = 0; i < outputs->n; i++) {
		const struct hl_writer *writer = outputs->items[i].writer;

		if (writer->write_diff)
			continue;
		code = hl_usage(err, "%s has no form for the difference of two profiles", writer->format);
		hl_outputs_free(outputs);
		return code;
	}
	*ret = outputs;
	return 0;
}

/* Of a file that is named by its time: the host's name, safe in a path. */
static void add_host(struct hl_str *path, const struct hl_profile *profile)
{
	const char *host = hl_profile_meta(profile)->host;

	for (const char *c = host && *host ? host : "host"; *c; c++)
		hl_str_addc(path, isalnum((unsigned char)*c) || strchr("-_.", *c) ? *c : '_');
}

/* What is to be written: a profile, or a comparison. */
struct content {
	const struct hl_profile *profile, *detailed;
	const struct hl_diff *diff;
	uint64_t start_ns, elapsed_ns;
};

static int name_by_time(struct named_output *item, const struct content *content, struct hl_err *err)
{
	_cleanup_str_ struct hl_str path = { 0 };
	char time[HL_TIME_SIZE];

	hl_str_adds(&path, item->dir);
	add_host(&path, content->profile);
	hl_str_addf(&path, "-%s-%llus%s.%s", hl_time_file_name(content->start_ns, time),
		    (unsigned long long)((content->elapsed_ns + HL_SECOND_NS / 2) / HL_SECOND_NS),
		    content->diff ? ".diff" : "", hl_writer_extension(item->writer));
	if (hl_str_status(&path))
		return hl_err_set(err, -ENOMEM, "no memory for the name of an output");
	item->path = TAKE_PTR(path.data);
	item->output = hl_output_new(item->path, err);
	return item->output ? 0 : -EIO;
}

/* latest.FORMAT becomes another name of the file, at one stroke. */
static int name_latest(const struct named_output *item, struct hl_err *err)
{
	_cleanup_str_ struct hl_str made = { 0 }, latest = { 0 };

	hl_str_addf(&made, "%s.hotleaf-latest-%d", item->dir, (int)getpid());
	hl_str_addf(&latest, "%slatest.%s", item->dir, hl_writer_extension(item->writer));
	if (hl_str_status(&made) || hl_str_status(&latest))
		return hl_err_set(err, -ENOMEM, "no memory for the name of an output");
	(void)unlink(made.data);
	/* Some file systems have no second names; a link is less, as it dies with the file. */
	if ((link(item->path, made.data) && symlink(item->path + strlen(item->dir), made.data)) ||
	    rename(made.data, latest.data)) {
		int code = hl_err_errno(err, -errno, "cannot name '%s'", latest.data);

		(void)unlink(made.data);
		return code;
	}
	return 0;
}

static int write_item(struct named_output *item, const struct content *content,
		      const struct hl_render_options *options, struct hl_err *err)
{
	const struct hl_profile *profile = content->profile;
	int code = 0;

	if (item->writer->detailed && content->detailed)
		profile = content->detailed;
	if (!item->output)
		code = name_by_time(item, content, err);
	if (code)
		return code;
	if (content->diff)
		return item->writer->write_diff(content->diff, options, hl_output_stream(item->output), err);
	return item->writer->write(profile, options, hl_output_stream(item->output), err);
}

static int write_content(struct hl_outputs *outputs, const struct content *content,
			 const struct hl_render_options *options, struct hl_err *err)
{
	int code = 0;

	for (size_t i = 0; i < outputs->n && !code; i++)
		code = write_item(&outputs->items[i], content, options, err);
	/* All are whole before the first takes its name. */
	for (size_t i = 0; i < outputs->n && !code; i++)
		code = hl_output_commit(outputs->items[i].output, err);
	return code;
}

bool hl_outputs_have(const struct hl_outputs *outputs, const struct hl_writer *writer)
{
	for (size_t i = 0; i < outputs->n; i++)
		if (outputs->items[i].writer == writer)
			return true;
	return false;
}

bool hl_outputs_want_details(const struct hl_outputs *outputs)
{
	for (size_t i = 0; i < outputs->n; i++)
		if (outputs->items[i].writer->detailed)
			return true;
	return false;
}

int hl_outputs_write(struct hl_outputs *outputs, const struct hl_profile *profile,
		     const struct hl_profile *detailed, const struct hl_render_options *options,
		     uint64_t start_ns, uint64_t elapsed_ns, struct hl_err *err)
{
	const struct content content = { profile, detailed, NULL, start_ns, elapsed_ns };

	return write_content(outputs, &content, options, err);
}

int hl_outputs_write_diff(struct hl_outputs *outputs, const struct hl_diff *diff,
			  const struct hl_render_options *options, struct hl_err *err)
{
	const struct hl_profile_meta *meta = hl_profile_meta(diff->tree);
	const struct content content = { diff->tree, NULL, diff, meta->start_ns,
					 meta->end_ns - meta->start_ns };

	return write_content(outputs, &content, options, err);
}

bool hl_outputs_lie_elsewhere(const struct hl_outputs *outputs)
{
	for (size_t i = 0; i < outputs->n; i++) {
		const struct named_output *item = &outputs->items[i];
		const char *path = item->path ? item->path : item->dir;
		const char *slash = strrchr(path, '/');
		_cleanup_free_ char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
		struct stat st;

		if (!dir || stat(dir, &st) || st.st_uid != geteuid())
			return true;
	}
	return false;
}

int hl_outputs_name_latest(const struct hl_outputs *outputs, struct hl_err *err)
{
	int code = 0;

	for (size_t i = 0; i < outputs->n && !code; i++)
		if (outputs->items[i].dir)
			code = name_latest(&outputs->items[i], err);
	return code;
}

const char *hl_outputs_path(const struct hl_outputs *outputs, size_t index, const char **ret_dir)
{
	if (index >= outputs->n)
		return NULL;
	*ret_dir = outputs->items[index].dir;
	return outputs->items[index].path ? outputs->items[index].path : "";
}

void hl_outputs_print(const struct hl_outputs *outputs, FILE *out)
{
	for (size_t i = 0; i < outputs->n; i++)
		if (strcmp(outputs->items[i].path, "-") != 0)
			(void)fprintf(out, "%s\n", outputs->items[i].path);
}

void hl_outputs_free(struct hl_outputs *outputs)
{
	if (!outputs)
		return;
	for (size_t i = 0; i < outputs->n; i++) {
		if (outputs->items[i].output)
			hl_output_free(outputs->items[i].output);
		free(outputs->items[i].path);
		free(outputs->items[i].dir);
	}
	free(outputs);
}
