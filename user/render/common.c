// SPDX-License-Identifier: BSD-2-Clause
#include "render/common.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#define ELLIPSIS    "\xe2\x80\xa6"
#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

const char *const hl_render_classes[HL_RENDER_N_CLASSES] = { "other",  "load",   "store", "branch",
							     "divide", "vector", "locked" };

/* ---- text ------------------------------------------------------------------------------------------------ */

/* Marks that change the direction of the text after them (Unicode 15, UAX 9, tables 1 and 2). */
static bool turns_text(uint32_t cp)
{
	return cp == 0x61c || cp == 0x200e || cp == 0x200f || (cp >= 0x202a && cp <= 0x202e) ||
	       (cp >= 0x2066 && cp <= 0x2069);
}

/* Appends the character at @text; returns how many bytes it took. */
static size_t add_clean_char(struct hl_str *out, const char *text, size_t len)
{
	uint32_t cp = 0;
	size_t n = hl_utf8_decode(text, len, &cp);

	if (n && turns_text(cp))
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

size_t hl_render_fit(struct hl_str *out, const char *text, size_t len, size_t columns, enum hl_render_cut cut)
{
	size_t all = hl_render_columns(text, len), room, start = out->len, tail;

	if (all <= columns) {
		hl_str_add(out, text, len);
		return all;
	}
	if (columns == 0)
		return 0;
	room = columns - 1;
	/* Where a name is cut in its middle, two thirds of what is left are its start. */
	tail = cut == HL_RENDER_CUT_MIDDLE ? room / 3 : 0;
	hl_str_add(out, text, head_bytes(text, len, room - tail));
	hl_str_adds(out, ELLIPSIS);
	tail = tail_start(text, len, all, tail);
	hl_str_add(out, text + tail, len - tail);
	return out->failed ? 0 : hl_render_columns(out->data + start, out->len - start);
}

/* ---- numbers --------------------------------------------------------------------------------------------- */

void hl_render_decimal(struct hl_str *out, double value, unsigned int digits)
{
	uint64_t scale = 1, scaled;

	for (unsigned int i = 0; i < digits && i < 6; i++)
		scale *= 10;
	if (!(value >= 0) || value > 1e12)
		value = 0;
	scaled = (uint64_t)(value * (double)scale + 0.5);
	hl_str_addf(out, "%" PRIu64, scaled / scale);
	if (scale > 1)
		hl_str_addf(out, ".%0*" PRIu64, (int)digits, scaled % scale);
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

void hl_render_share(struct hl_str *out, uint64_t part, uint64_t whole)
{
	hl_render_decimal(out, share(part, whole), 1);
}

void hl_render_percent(struct hl_str *out, uint64_t part, uint64_t whole)
{
	double percent = share(part, whole);

	hl_render_decimal(out, percent, percent < 9.95 ? 1 : 0);
	hl_str_adds(out, " %");
}

void hl_render_time(struct hl_str *out, uint64_t ns)
{
	time_t seconds = (time_t)(ns / 1000000000);
	unsigned int ms = (unsigned int)(ns % 1000000000 / 1000000);
	struct tm tm;
	char text[32];

	if (!gmtime_r(&seconds, &tm) || strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		return;
	hl_str_adds(out, text);
	if (ms)
		hl_str_addf(out, ".%03u", ms);
	hl_str_addc(out, 'Z');
}

/* ---- frames ---------------------------------------------------------------------------------------------- */

const char *hl_render_suffix(const struct hl_frame *frame)
{
	switch (frame->kind) {
	case HL_FRAME_KERNEL:
		return "_[k]";
	case HL_FRAME_INLINED:
		return "_[i]";
	case HL_FRAME_JIT:
		return "_[j]";
	case HL_FRAME_INSN:
		return frame->kernel ? "_[k]" : "";
	default:
		return "";
	}
}

void hl_render_name(struct hl_str *out, const struct hl_frame *frame)
{
	if (frame->name_len)
		hl_render_clean(out, frame->name, frame->name_len, HL_RENDER_NAME_MAX);
	else
		hl_str_adds(out, "[no name]");
}

void hl_render_module(struct hl_str *out, const struct hl_frame *frame)
{
	const char *slash = memrchr(frame->module, '/', frame->module_len);
	const char *base = slash ? slash + 1 : frame->module;

	hl_render_clean(out, base, frame->module_len - (size_t)(base - frame->module), HL_RENDER_NAME_MAX);
}

void hl_render_more(struct hl_str *out, uint64_t n)
{
	hl_str_addf(out, "[%" PRIu64 " more instruction%s]", n, n == 1 ? "" : "s");
}

unsigned int hl_render_class(const struct hl_frame *frame)
{
	return frame->insn_class < HL_RENDER_N_CLASSES ? frame->insn_class : 0;
}

uint32_t hl_render_depth(const struct hl_profile *profile)
{
	uint32_t n, i, depth = 0;
	const struct hl_node *nodes = hl_profile_nodes(profile, &n);

	for (i = 0; i < n; i++)
		if (nodes[i].depth > depth)
			depth = nodes[i].depth;
	return depth;
}

const struct hl_frame *hl_render_holder(const struct hl_profile *profile, uint32_t node)
{
	uint32_t n, at;
	const struct hl_node *nodes = hl_profile_nodes(profile, &n);
	const struct hl_frame *frame;

	for (at = nodes[node].parent;; at = nodes[at].parent) {
		frame = hl_profile_get_frame(profile, nodes[at].frame);
		if (frame->kind != HL_FRAME_INLINED || at == 0)
			return frame;
	}
}

int hl_render_flush(FILE *out, const char *format, struct hl_err *err)
{
	errno = 0;
	if (fflush(out) == 0 && !ferror(out))
		return 0;
	return hl_err_errno(err, errno ? -errno : -EIO, "cannot write the %s output", format);
}
