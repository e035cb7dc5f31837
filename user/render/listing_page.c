// SPDX-License-Identifier: BSD-2-Clause
#include "render/listing_page.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "render/common.h"

/* Heat in steps, which the style sheet knows, in light and in dark. */
enum { STEPS = 10 };

static const char head[] = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
			   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
			   "style-src 'unsafe-inline'\">\n"
			   "<meta name=\"viewport\" content=\"width=device-width\">\n<title>";
static const char style[] = "</title>\n<style>\n"
			    ":root{color-scheme:light dark;--heat:255,90,0}\n"
			    "body{margin:1rem;font:13px/1.35 ui-monospace,monospace}\n"
			    "pre{margin:0}\n"
			    "span{display:inline-block;min-width:100%}\n";

static void add_style(struct hl_str *page)
{
	hl_str_adds(page, style);
	for (int i = 1; i <= STEPS; i++)
		hl_str_addf(page, ".h%d{background:rgba(var(--heat),0.%02d)}\n", i, i * 5);
}

/* The step of a row "SAMPLES SHARE …"; 0: the line is none, or cold. */
static int heat_of(const char *line, size_t len)
{
	char text[48], *after;
	size_t n = len < sizeof(text) - 1 ? len : sizeof(text) - 1, digits;
	double share;

	memcpy(text, line, n);
	text[n] = '\0';
	after = text + strspn(text, " ");
	digits = strspn(after, "0123456789");
	if (!digits || after[digits] != ' ')
		return 0;
	share = strtod(after + digits, &after);
	if (!isspace((unsigned char)*after) || share < 0.5 || share > 100)
		return 0;
	return 1 + (int)(share * (STEPS - 1) / 100);
}

int hl_render_listing_page(const char *title, const char *text, size_t len, FILE *out)
{
	_cleanup_str_ struct hl_str page = { 0 }, clean = { 0 };
	const char *end = text + len, *next;

	hl_str_adds(&page, head);
	hl_render_clean(&clean, title, strlen(title), HL_RENDER_NAME_MAX);
	hl_render_xml(&page, clean.data ? clean.data : "", clean.len);
	add_style(&page);
	hl_str_adds(&page, "</style>\n</head>\n<body>\n<pre>\n");
	for (; text < end; text = next) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((newline ? newline : end) - text);
		int heat = heat_of(text, n);

		next = newline ? newline + 1 : end;
		if (heat)
			hl_str_addf(&page, "<span class=\"h%d\">", heat);
		hl_render_xml(&page, text, n);
		hl_str_adds(&page, heat ? "</span>\n" : "\n");
	}
	hl_str_adds(&page, "</pre>\n</body>\n</html>\n");
	if (page.failed || clean.failed)
		return -ENOMEM;
	(void)fwrite(page.data, 1, page.len, out);
	return 0;
}
