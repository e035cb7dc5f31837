// SPDX-License-Identifier: BSD-2-Clause
#include "store/labels.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

/* `"":"",` at least. */
enum { LEAST_SIZE = 6 };

void hl_labels_encode(const struct hl_label *labels, size_t n, struct hl_str *out)
{
	hl_str_addc(out, '{');
	for (size_t i = 0; i < n; i++) {
		if (i)
			hl_str_addc(out, ',');
		hl_str_add_json(out, labels[i].key, strlen(labels[i].key));
		hl_str_addc(out, ':');
		hl_str_add_json(out, labels[i].value, strlen(labels[i].value));
	}
	hl_str_addc(out, '}');
}

struct reader {
	const char *at, *end;
	char *out; /* room for all strings: none is longer than what it is read from */
};

static int expect(struct reader *r, char c)
{
	if (r->at == r->end || *r->at != c)
		return -EBADMSG;
	r->at++;
	return 0;
}

/* What follows a backslash. */
static int decode_escape(struct reader *r, char *ret)
{
	char hex[5] = "";
	unsigned int value;

	if (r->at == r->end)
		return -EBADMSG;
	*ret = *r->at++;
	if (*ret == '"' || *ret == '\\')
		return 0;
	if (*ret != 'u' || r->end - r->at < 4)
		return -EBADMSG;
	memcpy(hex, r->at, 4);
	r->at += 4;
	if (sscanf(hex, "%4x", &value) != 1 || value == 0 || value > 0x7f)
		return -EBADMSG;
	*ret = (char)value;
	return 0;
}

static int decode_string(struct reader *r, const char **ret)
{
	int code = expect(r, '"');

	*ret = r->out;
	while (!code && r->at < r->end && *r->at != '"') {
		char c = *r->at++;

		if (c == '\\')
			code = decode_escape(r, &c);
		*r->out++ = c;
	}
	if (!code)
		code = expect(r, '"');
	if (!code)
		*r->out++ = '\0';
	return code;
}

int hl_labels_decode(const char *text, size_t len, struct hl_arena *arena, const struct hl_label **ret,
		     size_t *ret_n)
{
	struct reader r = { text, text + len, hl_arena_take(arena, len + 1) };
	size_t n = 0, most = len / LEAST_SIZE + 1;
	struct hl_label *labels = hl_arena_take(arena, most * sizeof(*labels));
	int code = labels && r.out ? expect(&r, '{') : -ENOMEM;

	while (!code && r.at < r.end && *r.at != '}') {
		code = n == most ? -EBADMSG : n ? expect(&r, ',') : 0;
		if (!code)
			code = decode_string(&r, &labels[n].key);
		if (!code)
			code = expect(&r, ':');
		if (!code)
			code = decode_string(&r, &labels[n].value);
		n++;
	}
	if (!code)
		code = expect(&r, '}');
	if (code)
		return code;
	*ret = labels;
	*ret_n = n;
	return r.at == r.end ? 0 : -EBADMSG;
}
