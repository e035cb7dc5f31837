// SPDX-License-Identifier: BSD-2-Clause
#include "command/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "command/report_name.h"
#include "profile/profile.h"
#include "render/common.h"
#include "render/index.h"

enum { MOST_FILES = 1 << 20, LIST_MAX = 16 << 20, FIELDS = 6 };

/* A report, by the part of the names that its files share. */
struct report {
	struct hl_report_name name;
	char *stem;
	char **files; /* the page first */
	size_t n_files, cap_files;
	uint64_t bytes;
	bool noted, is_new;
	uint64_t samples, lost, due;
	char *event, *top;
};

struct hl_folder {
	char *dir; /* with its slash */
	int lock;
	struct report *reports;
	size_t n, cap;
};

static void report_done(struct report *r)
{
	for (size_t i = 0; i < r->n_files; i++)
		free(r->files[i]);
	free(r->files);
	free(r->stem);
	free(r->event);
	free(r->top);
}

void hl_folder_free(struct hl_folder *folder)
{
	if (!folder)
		return;
	for (size_t i = 0; i < folder->n; i++)
		report_done(&folder->reports[i]);
	free(folder->reports);
	free(folder->dir);
	if (folder->lock >= 0)
		(void)close(folder->lock);
	free(folder);
}

static int no_memory(struct hl_err *err)
{
	return hl_err_set(err, -ENOMEM, "no memory for the list of reports");
}

/* ---- what there is ------------------------------------------------------------------------------------- */

/* The report of that stem, made if need be; NULL without memory. */
static struct report *get_report(struct hl_folder *folder, const char *file,
				 const struct hl_report_name *name)
{
	struct report *r;

	for (size_t i = 0; i < folder->n; i++)
		if (strncmp(folder->reports[i].stem, file, name->stem_len) == 0 &&
		    !folder->reports[i].stem[name->stem_len])
			return &folder->reports[i];
	if (hl_grow(&folder->reports, &folder->cap, folder->n + 1, sizeof(*r), MOST_FILES))
		return NULL;
	r = &folder->reports[folder->n];
	*r = (struct report){ .name = *name, .stem = strndup(file, name->stem_len) };
	return r->stem ? &folder->reports[folder->n++] : NULL;
}

static int add_file(struct hl_folder *folder, int dirfd, const char *file)
{
	struct hl_report_name name;
	struct report *r;
	struct stat st;
	char *kept;

	if (!hl_report_name_parse(file, &name) || fstatat(dirfd, file, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(st.st_mode))
		return 0;
	r = get_report(folder, file, &name);
	if (!r || hl_grow(&r->files, &r->cap_files, r->n_files + 1, sizeof(*r->files), MOST_FILES))
		return -ENOMEM;
	kept = strdup(file);
	if (!kept)
		return -ENOMEM;
	r->files[r->n_files++] = kept;
	if (strcmp(name.extension, "html") == 0) {
		r->files[r->n_files - 1] = r->files[0];
		r->files[0] = kept;
	}
	r->bytes += (uint64_t)st.st_size;
	return 0;
}

/* Looks for all files anew. What was noted stays. */
static int scan(struct hl_folder *folder, struct hl_err *err)
{
	_cleanup_closedir_ DIR *d = opendir(folder->dir);
	struct dirent *entry;
	int code = 0;

	if (!d)
		return hl_err_errno(err, -errno, "cannot list '%s'", folder->dir);
	for (size_t i = 0; i < folder->n; i++) {
		while (folder->reports[i].n_files)
			free(folder->reports[i].files[--folder->reports[i].n_files]);
		folder->reports[i].bytes = 0;
	}
	errno = 0;
	while (!code && (entry = readdir(d)))
		code = add_file(folder, dirfd(d), entry->d_name);
	return code ? no_memory(err) : 0;
}

/* ---- index.tsv ----------------------------------------------------------------------------------------- */

/* "STEM, samples, lost, due, event, top instruction", tabs between. What has another form is left out. */
static int read_line(struct hl_folder *folder, char *line)
{
	char *fields[FIELDS], *at = line;
	struct report *r = NULL;

	for (int i = 0; i < FIELDS; i++) {
		fields[i] = strsep(&at, "\t");
		if (!fields[i])
			return 0;
	}
	for (size_t i = 0; i < folder->n && !r; i++)
		if (strcmp(folder->reports[i].stem, fields[0]) == 0)
			r = &folder->reports[i];
	if (!r || r->noted)
		return 0;
	r->event = strdup(fields[4]);
	r->top = strdup(fields[5]);
	if (!r->event || !r->top)
		return -ENOMEM;
	r->samples = strtoull(fields[1], NULL, 10);
	r->lost = strtoull(fields[2], NULL, 10);
	r->due = strtoull(fields[3], NULL, 10);
	r->noted = true;
	return 0;
}

static int read_list(struct hl_folder *folder, struct hl_err *err)
{
	_cleanup_str_ struct hl_str path = { 0 };
	_cleanup_free_ char *text = NULL;
	char *at, *line;
	int code;

	hl_str_addf(&path, "%sindex.tsv", folder->dir);
	if (hl_str_status(&path))
		return no_memory(err);
	code = hl_read_file_at(AT_FDCWD, path.data, LIST_MAX, &text, NULL);
	if (code == -ENOMEM)
		return no_memory(err);
	/* A list that cannot be read is written anew. */
	for (at = text; !code && (line = strsep(&at, "\n"));)
		if (read_line(folder, line))
			return no_memory(err);
	return 0;
}

static int write_file(const struct hl_folder *folder, const char *name,
		      int (*write)(const struct hl_folder *folder, FILE *out), struct hl_err *err)
{
	_cleanup_(hl_output_freep) struct hl_output *output = NULL;
	_cleanup_str_ struct hl_str path = { 0 };

	hl_str_addf(&path, "%s%s", folder->dir, name);
	if (hl_str_status(&path))
		return no_memory(err);
	output = hl_output_new(path.data, err);
	if (!output)
		return -EIO;
	if (write(folder, hl_output_stream(output)))
		return no_memory(err);
	return hl_output_commit(output, err);
}

static int write_list(const struct hl_folder *folder, FILE *out)
{
	for (size_t i = 0; i < folder->n; i++) {
		const struct report *r = &folder->reports[i];

		if (r->noted && r->n_files)
			(void)fprintf(out, "%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\t%s\n", r->stem,
				      r->samples, r->lost, r->due, r->event, r->top);
	}
	return 0;
}

/* ---- index.html ---------------------------------------------------------------------------------------- */

static int newest_first(const void *a, const void *b)
{
	const struct report *x = a, *y = b;

	if (x->name.end_ns != y->name.end_ns)
		return x->name.end_ns < y->name.end_ns ? 1 : -1;
	return strcmp(x->stem, y->stem);
}

static void fill_row(const struct report *r, struct hl_index_row *row)
{
	*row = (struct hl_index_row){ .start_ns = r->name.start_ns,
				      .end_ns = r->name.end_ns,
				      .known = r->noted,
				      .samples = r->samples,
				      .lost = r->lost,
				      .due = r->due,
				      .event = r->event,
				      .top = r->top,
				      .bytes = r->bytes,
				      .files = (const char *const *)r->files,
				      .n_files = r->n_files };
	for (size_t i = 0; i < r->n_files; i++)
		if (hl_ends_with(r->files[i], ".diff.html"))
			row->diff = r->files[i];
}

static int write_index(const struct hl_folder *folder, FILE *out)
{
	_cleanup_free_ struct hl_index_row *rows = calloc(folder->n + 1, sizeof(*rows));
	_cleanup_(hl_arena_done) struct hl_arena hosts = { 0 };
	size_t n = 0;

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < folder->n; i++) {
		const struct report *r = &folder->reports[i];

		if (!r->n_files)
			continue;
		fill_row(r, &rows[n]);
		rows[n].host = hl_arena_copy(&hosts, r->stem, r->name.host_len);
		if (!rows[n++].host)
			return -ENOMEM;
	}
	return hl_render_index(rows, n, out);
}

/* ---- what is kept -------------------------------------------------------------------------------------- */

static int remove_report(const struct hl_folder *folder, struct report *r, struct hl_err *err)
{
	while (r->n_files) {
		_cleanup_str_ struct hl_str path = { 0 };
		char *file = r->files[r->n_files - 1];

		hl_str_addf(&path, "%s%s", folder->dir, file);
		if (hl_str_status(&path))
			return no_memory(err);
		if (unlink(path.data) && errno != ENOENT)
			return hl_err_errno(err, -errno, "cannot remove '%s'", path.data);
		free(file);
		r->n_files--;
	}
	return 0;
}

/* Reports are sorted, the newest first, which stays; so does what was written just now, of whatever time it is. */
static int prune(struct hl_folder *folder, const struct hl_folder_limits *limits, uint64_t now_ns,
		 struct hl_err *err)
{
	uint64_t bytes = 0, count = 0;
	int code = 0;

	for (size_t i = 0; i < folder->n && !code; i++) {
		struct report *r = &folder->reports[i];
		uint64_t age = now_ns > r->name.end_ns ? now_ns - r->name.end_ns : 0;

		if (!r->n_files)
			continue;
		bytes += r->bytes;
		count++;
		if (count > 1 && !r->is_new &&
		    ((limits->max_age_ns && age > limits->max_age_ns) ||
		     (limits->max_count && count > limits->max_count) ||
		     (limits->max_bytes && bytes > limits->max_bytes)))
			code = remove_report(folder, r, err);
	}
	return code;
}

int hl_folder_finish(struct hl_folder *folder, const struct hl_folder_limits *limits, uint64_t now_ns,
		     struct hl_err *err)
{
	int code = scan(folder, err);

	if (folder->n)
		qsort(folder->reports, folder->n, sizeof(*folder->reports), newest_first);
	if (!code)
		code = prune(folder, limits, now_ns, err);
	if (!code)
		code = write_file(folder, "index.tsv", write_list, err);
	return code ? code : write_file(folder, "index.html", write_index, err);
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static int take_lock(struct hl_folder *folder, struct hl_err *err)
{
	_cleanup_str_ struct hl_str path = { 0 };

	hl_str_addf(&path, "%s.hotleaf.lock", folder->dir);
	if (hl_str_status(&path))
		return no_memory(err);
	folder->lock = open(path.data, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (folder->lock < 0)
		return hl_err_errno(err, -errno, "cannot open '%s'", path.data);
	if (flock(folder->lock, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno == EWOULDBLOCK)
		return hl_err_set(err, -EBUSY, "another hotleaf writes reports to '%s'", folder->dir);
	return hl_err_errno(err, -errno, "cannot lock '%s'", path.data);
}

int hl_folder_open(const char *dir, struct hl_folder **ret, struct hl_err *err)
{
	_cleanup_(hl_folder_freep) struct hl_folder *folder = calloc(1, sizeof(*folder));
	int code;

	if (!folder)
		return no_memory(err);
	folder->lock = -1;
	folder->dir = strdup(dir);
	if (!folder->dir)
		return no_memory(err);
	code = take_lock(folder, err);
	if (!code)
		code = scan(folder, err);
	if (!code)
		code = read_list(folder, err);
	if (!code)
		*ret = TAKE_PTR(folder);
	return code;
}

/* ---- one report ---------------------------------------------------------------------------------------- */

static const char *file_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Appends the instruction with most samples, and where it stands: no tab, no newline, as it is clean. */
static void add_top(struct hl_str *out, const struct hl_profile *profile)
{
	uint32_t n, best = 0;
	const struct hl_node *nodes = hl_profile_nodes(profile, &n);
	_cleanup_free_ uint64_t *samples = calloc((size_t)hl_profile_n_frames(profile) + 1, sizeof(*samples));

	if (!samples)
		out->failed = true;
	for (uint32_t i = 1; i < n && samples; i++)
		if (hl_profile_get_frame(profile, nodes[i].frame)->kind == HL_FRAME_INSN) {
			samples[nodes[i].frame] += nodes[i].total;
			if (!best || samples[nodes[i].frame] > samples[nodes[best].frame])
				best = i;
		}
	if (!best)
		return;
	hl_render_name(out, hl_profile_get_frame(profile, nodes[best].frame));
	hl_str_adds(out, " in ");
	hl_render_name(out, hl_profile_get_frame(profile, nodes[hl_profile_function(profile, best)].frame));
	hl_str_adds(out, ", ");
	hl_render_percent(out, samples[nodes[best].frame], nodes[0].total);
}

int hl_folder_note(struct hl_folder *folder, const char *path, const struct hl_profile *profile,
		   struct hl_err *err)
{
	const struct hl_profile_meta *meta = hl_profile_meta(profile);
	_cleanup_str_ struct hl_str event = { 0 }, top = { 0 };
	struct hl_report_name name;
	struct report *r;
	uint32_t n;

	if (!hl_report_name_parse(file_of(path), &name))
		return 0;
	r = get_report(folder, file_of(path), &name);
	hl_render_clean(&event, meta->event ? meta->event : "", meta->event ? strlen(meta->event) : 0, 256);
	add_top(&top, profile);
	if (!r || event.failed || top.failed)
		return no_memory(err);
	free(r->event);
	free(r->top);
	r->event = event.data ? TAKE_PTR(event.data) : strdup("");
	r->top = top.data ? TAKE_PTR(top.data) : strdup("");
	r->noted = r->event && r->top;
	r->is_new = true;
	r->samples = hl_profile_nodes(profile, &n)->total;
	r->lost = hl_render_lost(meta, HL_LOSS_LOST);
	r->due = hl_render_due(meta);
	return r->noted ? 0 : no_memory(err);
}

bool hl_folder_before(const struct hl_folder *folder, const char *path, uint64_t *ret_start_ns,
		      uint64_t *ret_end_ns)
{
	const struct report *best = NULL;
	struct hl_report_name name;
	const char *file = file_of(path);

	if (!hl_report_name_parse(file, &name))
		return false;
	for (size_t i = 0; i < folder->n; i++) {
		const struct report *r = &folder->reports[i];

		if (r->name.host_len != name.host_len || memcmp(r->stem, file, name.host_len) != 0 ||
		    r->name.end_ns - r->name.start_ns != name.end_ns - name.start_ns ||
		    r->name.start_ns >= name.start_ns)
			continue;
		if (!best || r->name.start_ns > best->name.start_ns)
			best = r;
	}
	if (!best)
		return false;
	*ret_start_ns = best->name.start_ns;
	*ret_end_ns = best->name.end_ns;
	return true;
}

char *hl_folder_diff_path(const char *path)
{
	_cleanup_str_ struct hl_str out = { 0 };
	struct hl_report_name name;

	if (!hl_report_name_parse(file_of(path), &name))
		return NULL;
	hl_str_add(&out, path, (size_t)(file_of(path) - path) + name.stem_len);
	hl_str_adds(&out, ".diff.html");
	return hl_str_status(&out) ? NULL : TAKE_PTR(out.data);
}
