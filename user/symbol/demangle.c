// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/demangle.h"

#include <setjmp.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "base/str.h"

/*
 * A mangled name of some hundred bytes can stand for a text of gigabytes, since substitutions may nest. The
 * demanglers write through a callback; ours counts and jumps out of them when it is enough.
 */
struct output {
	struct hl_str *text;
	size_t start;
	size_t written;
	jmp_buf enough;
};

static void write_text(const char *text, size_t len, void *ctx)
{
	struct output *o = ctx;

	o->written += len;
	if (o->written <= HL_DEMANGLE_OUTPUT_MAX) {
		hl_str_add(o->text, text, len);
		return;
	}
	/*
	 * The Rust demangler holds memory while it writes an identifier in Punycode, one character a call;
	 * such an identifier is at most four bytes for each of the input's. To jump out of it would leak.
	 */
	if (len > 4 || o->written > HL_DEMANGLE_OUTPUT_MAX + 4 * HL_DEMANGLE_INPUT_MAX)
		longjmp(o->enough, 1);
}

bool hl_demangle(const char *name, struct hl_str *out)
{
	struct output o = { .text = out, .start = out->len };

	if (name[0] != '_' || strnlen(name, HL_DEMANGLE_INPUT_MAX + 1) > HL_DEMANGLE_INPUT_MAX)
		return false;
	if (setjmp(o.enough) == 0) {
		if (rust_demangle_callback(name, 0, write_text, &o) && o.written <= HL_DEMANGLE_OUTPUT_MAX)
			return true;
		/* What the first one wrote before it gave up. */
		out->len = o.start;
		o.written = 0;
		if (cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI, write_text, &o) &&
		    o.written <= HL_DEMANGLE_OUTPUT_MAX && out->len > o.start)
			return true;
	}
	out->len = o.start;
	if (out->data)
		out->data[out->len] = '\0';
	return false;
}

/* Cuts @out, from @start on, to @max bytes, not inside a UTF-8 sequence. */
static void cut(struct hl_str *out, size_t start, size_t max)
{
	size_t end = start + max;

	if (out->failed || out->len <= end)
		return;
	while (end > start + max - 3 && ((unsigned char)out->data[end] & 0xc0) == 0x80)
		end--;
	out->len = end;
	hl_str_adds(out, "…");
}

void hl_copy_name(const char *name, size_t len, size_t max, struct hl_str *out)
{
	size_t start = out->len;

	hl_str_add(out, name, len <= max ? len : max + 1);
	cut(out, start, max);
}

void hl_demangle_or_copy(const char *name, size_t len, size_t max, struct hl_str *out)
{
	size_t start = out->len;

	if (hl_demangle(name, out))
		cut(out, start, max);
	else
		hl_copy_name(name, len, max, out);
}
