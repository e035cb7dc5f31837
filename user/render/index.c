// SPDX-License-Identifier: BSD-2-Clause
#include "render/index.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "render/common.h"

/* The list of reports in a folder, a page without script. Names come from the file system: all are escaped. */

static const char head[] =
	"<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
	"'unsafe-inline'\">\n"
	"<meta name=\"viewport\" content=\"width=device-width\">\n<meta name=\"color-scheme\" "
	"content=\"light dark\">\n"
	"<title>hotleaf reports</title>\n"
	"<style>body{font:14px sans-serif;margin:1rem}table{border-collapse:collapse}"
	"th,td{padding:.2rem .7rem;text-align:left;border-bottom:1px solid #8884;white-space:nowrap}"
	"td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}td.c{font-family:monospace;"
	"max-width:40rem;overflow:hidden;text-overflow:ellipsis}</style>\n"
	"<h1>hotleaf reports</h1>\n<p>Times are UTC. <a href=\"latest.html\">The latest "
	"one</a></p>\n<table>\n"
	"<tr><th>From<th>To<th>Host<th class=\"n\">Samples<th class=\"n\">Lost<th>Event<th>Top instruction"
	"<th class=\"n\">Size<th>Files<th>Changes</tr>\n";

static void add_text(struct hl_str *out, const char *text)
{
	_cleanup_str_ struct hl_str clean = { 0 };

	if (text)
		hl_render_clean(&clean, text, strlen(text), HL_RENDER_NAME_MAX);
	hl_render_xml(out, clean.data ? clean.data : "", clean.len);
	out->failed |= clean.failed;
}

/* A link within the folder: what has a meaning in an address is spelled out, so that no name is a scheme. */
static void open_link(struct hl_str *out, const char *file)
{
	hl_str_adds(out, "<a href=\"./");
	for (const char *c = file; *c; c++) {
		bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
			     (*c >= '0' && *c <= '9') || strchr("-_.", *c);

		hl_str_addf(out, plain ? "%c" : "%%%02X", (unsigned char)*c);
	}
	hl_str_adds(out, "\">");
}

static void add_link(struct hl_str *out, const char *file, const char *text)
{
	open_link(out, file);
	add_text(out, text);
	hl_str_adds(out, "</a>");
}

static void add_size(struct hl_str *out, uint64_t bytes)
{
	bool mega = bytes >= 1000000;

	hl_render_decimal(out, (double)bytes / (mega ? 1e6 : 1e3), mega && bytes < 100000000 ? 1 : 0);
	hl_str_adds(out, mega ? " MB" : " kB");
}

static void add_known(struct hl_str *out, const struct hl_index_row *row)
{
	hl_str_addf(out, "<td class=\"n\">%" PRIu64 "<td class=\"n\">%" PRIu64, row->samples, row->lost);
	if (row->lost && row->due) {
		hl_str_adds(out, " (");
		hl_render_percent(out, row->lost, row->due);
		hl_str_adds(out, ")");
	}
	hl_str_adds(out, "<td>");
	add_text(out, row->event);
	hl_str_adds(out, "<td class=\"c\">");
	add_text(out, row->top);
}

static void add_row(struct hl_str *out, const struct hl_index_row *row)
{
	hl_str_adds(out, "<tr><td>");
	/* The list of files can lie beyond the right edge. */
	if (row->n_files)
		open_link(out, row->files[0]);
	hl_render_time(out, row->start_ns);
	hl_str_adds(out, row->n_files ? "</a><td>" : "<td>");
	hl_render_time(out, row->end_ns);
	hl_str_adds(out, "<td>");
	add_text(out, row->host);
	if (row->known)
		add_known(out, row);
	else
		hl_str_adds(out, "<td class=\"n\">not known<td><td><td>");
	hl_str_adds(out, "<td class=\"n\">");
	add_size(out, row->bytes);
	hl_str_adds(out, "<td>");
	for (size_t i = 0; i < row->n_files; i++) {
		const char *second = strstr(row->files[i], "s.");

		if (row->diff && strcmp(row->files[i], row->diff) == 0)
			continue;
		hl_str_adds(out, i ? " " : "");
		add_link(out, row->files[i], second ? second + 2 : row->files[i]);
	}
	hl_str_adds(out, "<td>");
	if (row->diff)
		add_link(out, row->diff, "with the one before");
	hl_str_adds(out, "</tr>\n");
}

int hl_render_index(const struct hl_index_row *rows, size_t n, FILE *out)
{
	_cleanup_str_ struct hl_str page = { 0 };

	hl_str_adds(&page, head);
	for (size_t i = 0; i < n; i++)
		add_row(&page, &rows[i]);
	hl_str_adds(&page, "</table>\n</html>\n");
	if (hl_str_status(&page))
		return -ENOMEM;
	(void)fwrite(page.data, 1, page.len, out);
	return 0;
}
