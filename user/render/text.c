// SPDX-License-Identifier: BSD-2-Clause
#include <inttypes.h>
#include <string.h>

#include "render/common.h"

#define ELLIPSIS    "\xe2\x80\xa6"
#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/*
 * Marks that change the direction of the text after them (Unicode 15, UAX 9, tables 1 and 2), the separators of
 * lines and paragraphs, at which readers of lines break, and what is blank or nothing to the eye: spaces that are
 * no ' ', the zero-width ones, the soft hyphen.
 */
static bool deceives(uint32_t cp)
{
	return cp == 0x61c || (cp >= 0x2000 && cp <= 0x200f) || (cp >= 0x2028 && cp <= 0x202f) ||
	       (cp >= 0x205f && cp <= 0x206f) || cp == 0xa0 || cp == 0xad || cp == 0x1680 || cp == 0x3000 ||
	       cp == 0xfeff;
}

/* Appends the character at @text; returns how many bytes it took. */
static size_t add_clean_char(struct hl_str *out, const char *text, size_t len)
{
	uint32_t cp = 0;
	size_t n = hl_utf8_decode(text, len, &cp);

	if (n && deceives(cp))
		hl_str_addf(out, "\\u%04" PRIx32, cp);
	else if (n && (cp == 0xfffe || cp == 0xffff))
		hl_str_adds(out, REPLACEMENT);
	else
		hl_str_add_clean(out, text, n ? n : 1);
	return n ? n : 1;
}

/* How many of the first @len bytes of @text are printable ASCII. */
static size_t plain_run(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && text[n] >= ' ' && text[n] <= '~')
		n++;
	return n;
}

void hl_render_clean(struct hl_str *out, const char *text, size_t len, size_t max)
{
	size_t start = out->len, room = start + max - strlen(ELLIPSIS);
	size_t cut =
		start; /* where to cut, if need be: behind a whole character, with room for the ellipsis */
	size_t i, run;

	for (i = 0; i < len && !out->failed;) {
		run = plain_run(text + i, len - i < max + 1 ? len - i : max + 1);
		if (run && cut == out->len)
			cut = out->len + run < room ? out->len + run : room;
		if (run)
			hl_str_add(out, text + i, run);
		else
			run = add_clean_char(out, text + i, len - i);
		i += run;
		if (out->len <= room)
			cut = out->len;
		if (out->len - start > max) {
			out->len = cut;
			hl_str_adds(out, ELLIPSIS);
			return;
		}
	}
}

void hl_render_xml(struct hl_str *out, const char *text, size_t len)
{
	size_t i, from = 0;
	const char *entity;

	for (i = 0; i < len; i++) {
		switch (text[i]) {
		case '&':
			entity = "&amp;";
			break;
		case '<':
			entity = "&lt;";
			break;
		case '>':
			entity = "&gt;";
			break;
		case '"':
			entity = "&quot;";
			break;
		case '\'':
			entity = "&#39;";
			break;
		default:
			continue;
		}
		hl_str_add(out, text + from, i - from);
		hl_str_adds(out, entity);
		from = i + 1;
	}
	hl_str_add(out, text + from, len - from);
}

struct range {
	uint32_t first, last;
};

static bool in_ranges(const struct range *ranges, size_t n, uint32_t cp)
{
	for (size_t i = 0; i < n; i++)
		if (cp >= ranges[i].first && cp <= ranges[i].last)
			return true;
	return false;
}

/* Coarse blocks are enough to keep columns straight (Unicode 15, EastAsianWidth.txt, category Mn). */
static size_t char_columns(uint32_t cp)
{
	static const struct range none[] = { { 0x300, 0x36f },   { 0x200b, 0x200d }, { 0x20d0, 0x20ff },
					     { 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f }, { 0xfeff, 0xfeff } };
	static const struct range two[] = { { 0x1100, 0x115f }, { 0x2e80, 0xa4cf },   { 0xac00, 0xd7a3 },
					    { 0xf900, 0xfaff }, { 0xfe30, 0xfe6f },   { 0xff00, 0xff60 },
					    { 0xffe0, 0xffe6 }, { 0x1f300, 0x1faff }, { 0x20000, 0x3fffd } };

	if (cp < 0x300)
		return 1;
	if (in_ranges(none, sizeof(none) / sizeof(none[0]), cp))
		return 0;
	return in_ranges(two, sizeof(two) / sizeof(two[0]), cp) ? 2 : 1;
}

/* The next character of clean @text, which is valid UTF-8. */
static size_t next_char(const char *text, size_t len, size_t *ret_columns)
{
	uint32_t cp = 0;
	size_t n = hl_utf8_decode(text, len, &cp);

	*ret_columns = char_columns(cp);
	return n ? n : 1;
}

size_t hl_render_columns(const char *text, size_t len)
{
	size_t columns = 0, i, width;

	for (i = 0; i < len;) {
		i += next_char(text + i, len - i, &width);
		columns += width;
	}
	return columns;
}

/* Bytes of the longest start of @text that fits into @columns. */
static size_t head_bytes(const char *text, size_t len, size_t columns)
{
	size_t i, n, width;

	for (i = 0; i < len; i += n) {
		n = next_char(text + i, len - i, &width);
		if (width > columns)
			break;
		columns -= width;
	}
	return i;
}

/* Where the longest end of @text that fits into @columns starts; @all are the columns of @text. */
static size_t tail_start(const char *text, size_t len, size_t all, size_t columns)
{
	size_t i = 0, width;

	while (i < len && all > columns) {
		i += next_char(text + i, len - i, &width);
		all -= width;
	}
	return i;
}

/* True if the bracket at @text[@i] is part of an operator's name or an arrow, and encloses nothing. */
static bool is_operator(const char *text, size_t len, size_t i)
{
	static const char word[] = "operator";
	size_t from = i;

	if (text[i] == '>' && i && text[i - 1] == '-')
		return true;
	while (from && strchr("<>=(-", text[from - 1]))
		from--;
	return from >= strlen(word) && memcmp(text + from - strlen(word), word, strlen(word)) == 0 &&
	       !(text[i] == '(' && i + 1 < len && text[i + 1] != ')');
}

/* Appends what two brackets enclose, as far as @spare columns beyond one for "…" allow; uses those up. */
static void add_enclosed(struct hl_str *out, const char *text, size_t len, size_t *spare)
{
	size_t columns = hl_render_columns(text, len);

	if (columns <= *spare + 1) {
		hl_str_add(out, text, len);
		*spare -= columns ? columns - 1 : 0;
		return;
	}
	hl_str_add(out, text, head_bytes(text, len, *spare));
	hl_str_adds(out, ELLIPSIS);
	*spare = 0;
}

/*
 * Appends @text with what its outermost <> and () enclose cut, so that the result is @spare columns wider
 * than with nothing but "…" in them. False if they do not pair.
 */
static bool add_brief(struct hl_str *out, const char *text, size_t len, size_t spare)
{
	size_t open = 0, inside = 0, i;

	for (i = 0; i < len; i++) {
		bool bracket = strchr("<>()", text[i]) && !is_operator(text, len, i);

		if (bracket && (text[i] == '>' || text[i] == ')')) {
			if (open == 0)
				return false;
			if (--open == 0)
				add_enclosed(out, text + inside, i - inside, &spare);
			bracket = false;
		}
		if (open == 0) {
			hl_str_addc(out, text[i]);
			inside = i + 1;
		}
		open += bracket;
	}
	return open == 0 && !out->failed;
}

size_t hl_render_fit(struct hl_str *out, const char *text, size_t len, size_t columns, enum hl_render_cut cut)
{
	size_t all = hl_render_columns(text, len), start = out->len, room, tail;
	_cleanup_str_ struct hl_str brief = { 0 };

	if (all > columns && cut == HL_RENDER_CUT_NAME && add_brief(&brief, text, len, 0)) {
		size_t least = hl_render_columns(brief.data, brief.len);

		hl_str_clear(&brief);
		(void)add_brief(&brief, text, len, least < columns ? columns - least : 0);
		text = brief.data;
		len = brief.len;
		all = hl_render_columns(text, len);
	}
	if (brief.failed) {
		out->failed = true;
		return 0;
	}
	if (all <= columns) {
		hl_str_add(out, text, len);
		return all;
	}
	if (columns == 0)
		return 0;
	room = columns - 1;
	/* Of what is left of text that is cut in its middle, two thirds are its start. */
	tail = cut == HL_RENDER_CUT_END ? 0 : room / 3;
	hl_str_add(out, text, head_bytes(text, len, room - tail));
	hl_str_adds(out, ELLIPSIS);
	tail = tail_start(text, len, all, tail);
	hl_str_add(out, text + tail, len - tail);
	return out->failed ? 0 : hl_render_columns(out->data + start, out->len - start);
}
