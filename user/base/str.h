/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_BASE_STR_H
#define HL_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

/*
 * A growing byte string. Zero-initialised is empty. @data is NUL-terminated once anything was added. After
 * an allocation failed, @failed stays set and further additions do nothing: check once, at the end.
 */
struct hl_str {
	char *data;
	size_t len;
	size_t cap;
	bool failed;
	bool borrowed; /* @data is somebody else's: not to be freed, nor to be kept as one's own */
};

void hl_str_done(struct hl_str *s);
/*
 * Empties @s, which from now on writes to the @size bytes at @memory, of the caller, who keeps them: what outgrows
 * them moves to memory of its own.
 */
void hl_str_borrow(struct hl_str *s, void *memory, size_t size);
/* Empties @s and keeps its memory; clears @failed. */
void hl_str_clear(struct hl_str *s);
void hl_str_add(struct hl_str *s, const void *bytes, size_t len);
/* Appends @len bytes for the caller to write: returns where, or NULL without memory. */
char *hl_str_extend(struct hl_str *s, size_t len);
void hl_str_adds(struct hl_str *s, const char *text);
void hl_str_addc(struct hl_str *s, char c);
void hl_str_addf(struct hl_str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* 0, or -ENOMEM if any addition failed. */
int hl_str_status(const struct hl_str *s);

/* True if @text starts with @prefix. */
bool hl_starts_with(const char *text, const char *prefix);
/* True if @text ends with @suffix. */
bool hl_ends_with(const char *text, const char *suffix);

/*
 * Decodes one UTF-8 sequence of at most @len bytes at @bytes (RFC 3629: no overlong forms, no surrogates,
 * nothing above U+10FFFF). Returns its length, with the code point in @ret_cp, or 0 if the first byte does
 * not start a valid one (@ret_cp untouched).
 */
size_t hl_utf8_decode(const char *bytes, size_t len, uint32_t *ret_cp);

/*
 * Appends @len bytes of @text as valid UTF-8: each byte that is in no valid sequence becomes U+FFFD;
 * control characters (below U+0020, U+007F to U+009F) become \n, \t or \xNN in text.
 */
void hl_str_add_clean(struct hl_str *s, const char *text, size_t len);

/*
 * Appends @len bytes of @text, a name that strangers chose. In outputs only marks of ours stand in brackets,
 * "[irq]", and only suffixes of ours end in "_[k]", "_[i]" or "_[j]": of a name that does, the bracket becomes
 * \x5b in text.
 */
void hl_str_add_unmarked(struct hl_str *s, const char *text, size_t len);

/* Appends @len bytes of @text as a string of JSON, with its quotes. It is valid if the text is valid UTF-8. */
void hl_str_add_json(struct hl_str *s, const char *text, size_t len);

#define _cleanup_str_ _cleanup_(hl_str_done)

#endif
