// SPDX-License-Identifier: BSD-2-Clause
#include "base/str.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

void hl_str_done(struct hl_str *s)
{
	if (!s->borrowed)
		free(s->data);
	*s = (struct hl_str){ 0 };
}

void hl_str_borrow(struct hl_str *s, void *memory, size_t size)
{
	hl_str_done(s);
	if (size)
		*s = (struct hl_str){ .data = memory, .cap = size, .borrowed = true };
}

void hl_str_clear(struct hl_str *s)
{
	s->len = 0;
	s->failed = false;
	if (s->data)
		s->data[0] = '\0';
}

/* Makes room for @more bytes and a NUL. */
static bool str_reserve(struct hl_str *s, size_t more)
{
	size_t need, cap;
	char *data;

	if (s->failed)
		return false;
	if (__builtin_add_overflow(s->len, more, &need) || __builtin_add_overflow(need, 1, &need) ||
	    need > SIZE_MAX / 2) {
		s->failed = true;
		return false;
	}
	if (need <= s->cap)
		return true;
	cap = s->cap ? s->cap : 64;
	while (cap < need)
		cap *= 2;
	data = realloc(s->borrowed ? NULL : s->data, cap);
	if (!data) {
		s->failed = true;
		return false;
	}
	if (s->borrowed)
		memcpy(data, s->data, s->len);
	s->borrowed = false;
	s->data = data;
	s->cap = cap;
	return true;
}

void hl_str_add(struct hl_str *s, const void *bytes, size_t len)
{
	if (!str_reserve(s, len))
		return;
	if (len)
		memcpy(s->data + s->len, bytes, len);
	s->len += len;
	s->data[s->len] = '\0';
}

char *hl_str_extend(struct hl_str *s, size_t len)
{
	if (!str_reserve(s, len))
		return NULL;
	s->len += len;
	s->data[s->len] = '\0';
	return s->data + s->len - len;
}

void hl_str_adds(struct hl_str *s, const char *text)
{
	hl_str_add(s, text, strlen(text));
}

void hl_str_addc(struct hl_str *s, char c)
{
	hl_str_add(s, &c, 1);
}

void hl_str_addf(struct hl_str *s, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (!str_reserve(s, 128))
		return;
	va_start(ap, fmt);
	n = vsnprintf(s->data + s->len, s->cap - s->len, fmt, ap);
	va_end(ap);
	if (n < 0) {
		s->failed = true;
		return;
	}
	if ((size_t)n >= s->cap - s->len) {
		if (!str_reserve(s, (size_t)n))
			return;
		va_start(ap, fmt);
		(void)vsnprintf(s->data + s->len, s->cap - s->len, fmt, ap);
		va_end(ap);
	}
	s->len += (size_t)n;
}

int hl_str_status(const struct hl_str *s)
{
	return s->failed ? -ENOMEM : 0;
}

bool hl_starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool hl_ends_with(const char *text, const char *suffix)
{
	size_t n = strlen(text), m = strlen(suffix);

	return n >= m && memcmp(text + n - m, suffix, m) == 0;
}

size_t hl_utf8_decode(const char *bytes, size_t len, uint32_t *ret_cp)
{
	static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *b = (const unsigned char *)bytes;
	uint32_t cp;
	size_t n, i;

	if (len == 0)
		return 0;
	if (b[0] < 0x80) {
		*ret_cp = b[0];
		return 1;
	}
	n = (b[0] & 0xe0) == 0xc0 ? 2 : (b[0] & 0xf0) == 0xe0 ? 3 : (b[0] & 0xf8) == 0xf0 ? 4 : 0;
	if (n == 0 || n > len)
		return 0;
	cp = b[0] & (0x7fu >> n);
	for (i = 1; i < n; i++) {
		if ((b[i] & 0xc0) != 0x80)
			return 0;
		cp = cp << 6 | (b[i] & 0x3f);
	}
	if (cp < least[n] || cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
		return 0;
	*ret_cp = cp;
	return n;
}

void hl_str_add_clean(struct hl_str *s, const char *text, size_t len)
{
	size_t i = 0, n;
	uint32_t cp = 0;

	while (i < len) {
		n = hl_utf8_decode(text + i, len - i, &cp);
		if (n == 0) {
			hl_str_adds(s, "\xef\xbf\xbd");
			i++;
			continue;
		}
		if (cp == '\n')
			hl_str_adds(s, "\\n");
		else if (cp == '\t')
			hl_str_adds(s, "\\t");
		else if (cp < 0x20 || (cp >= 0x7f && cp <= 0x9f))
			hl_str_addf(s, "\\x%02x", cp);
		else
			hl_str_add(s, text + i, n);
		i += n;
	}
}

void hl_str_add_unmarked(struct hl_str *s, const char *text, size_t len)
{
	static const char bracket[] = "\\x5b";
	bool in_brackets = len >= 2 && text[0] == '[' && text[len - 1] == ']';
	/* "_[k]" and its like, which say what kind of frame it is. */
	bool has_suffix = len >= 4 && text[len - 4] == '_' && text[len - 3] == '[' &&
			  memchr("kij", text[len - 2], 3) && text[len - 1] == ']';

	if (in_brackets) {
		hl_str_adds(s, bracket);
		text++;
		len--;
	}
	if (!has_suffix) {
		hl_str_add(s, text, len);
		return;
	}
	hl_str_add(s, text, len - 3);
	hl_str_adds(s, bracket);
	hl_str_add(s, text + len - 2, 2);
}

void hl_str_add_json(struct hl_str *s, const char *text, size_t len)
{
	hl_str_addc(s, '"');
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '"' || text[i] == '\\')
			hl_str_addc(s, '\\');
		if ((unsigned char)text[i] < 0x20)
			hl_str_addf(s, "\\u%04x", (unsigned char)text[i]);
		else
			hl_str_addc(s, text[i]);
	}
	hl_str_addc(s, '"');
}
