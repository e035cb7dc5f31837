// SPDX-License-Identifier: BSD-2-Clause
#include "process/http_answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "process/cgroup_path.h"

/* Bytes of the head, and of a line that tells a chunk's length; digits of a length. */
enum { HEAD_MAX = 16 << 10, CHUNK_LINE_MAX = 1024, DIGITS_MAX = 9 };

struct head {
	unsigned int status;
	bool chunked, has_length;
	size_t length;
};

/* ---- head ---------------------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "HTTP/1.1 200 OK" */
static int parse_status(struct hl_span line, unsigned int *ret)
{
	static const char form[] = "HTTP/1.d ddd";
	unsigned int status = 0;

	if (line.len < strlen(form) || (line.len > strlen(form) && line.at[strlen(form)] != ' '))
		return -EBADMSG;
	for (size_t i = 0; i < strlen(form); i++) {
		if (form[i] == 'd' ? !is_digit(line.at[i]) : line.at[i] != form[i])
			return -EBADMSG;
		if (i >= strlen("HTTP/1.d "))
			status = status * 10 + (unsigned int)(line.at[i] - '0');
	}
	*ret = status;
	return 0;
}

/* The value of @line, without blanks around it, if its name is @name; else none. */
static struct hl_span value_of(struct hl_span line, const char *name)
{
	size_t len = strlen(name);
	struct hl_span value;

	if (line.len <= len || line.at[len] != ':' || strncasecmp(line.at, name, len) != 0)
		return (struct hl_span){ NULL, 0 };
	value = (struct hl_span){ line.at + len + 1, line.len - len - 1 };
	for (; value.len && (*value.at == ' ' || *value.at == '\t'); value.len--)
		value.at++;
	while (value.len && (value.at[value.len - 1] == ' ' || value.at[value.len - 1] == '\t'))
		value.len--;
	return value;
}

static int take_length(struct hl_span value, struct head *head)
{
	size_t length = 0;

	if (!value.len || value.len > DIGITS_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < value.len; i++) {
		if (!is_digit(value.at[i]))
			return -EBADMSG;
		length = length * 10 + (size_t)(value.at[i] - '0');
	}
	if (head->has_length && head->length != length)
		return -EBADMSG;
	head->has_length = true;
	head->length = length;
	return 0;
}

static int take_line(struct hl_span line, struct head *head)
{
	struct hl_span value = value_of(line, "Content-Length");

	if (value.at)
		return take_length(value, head);
	value = value_of(line, "Transfer-Encoding");
	if (!value.at)
		return 0;
	head->chunked = value.len == strlen("chunked") && strncasecmp(value.at, "chunked", value.len) == 0;
	return head->chunked ? 0 : -EBADMSG;
}

/* Lines end in CR LF; the last of @len bytes does. */
static int parse_head(const char *text, size_t len, struct head *ret)
{
	int code = 0;

	*ret = (struct head){ 0 };
	for (const char *at = text, *end; at < text + len && !code; at = end + 2) {
		end = memmem(at, (size_t)(text + len - at), "\r\n", 2);
		code = at == text ? parse_status((struct hl_span){ at, (size_t)(end - at) }, &ret->status)
				  : take_line((struct hl_span){ at, (size_t)(end - at) }, ret);
	}
	return code;
}

/* ---- body ---------------------------------------------------------------------------------------------- */

/* The length of a chunk; behind it, extensions may follow, which nobody uses. */
static int chunk_length(struct hl_span line, size_t *ret)
{
	char digits[DIGITS_MAX] = "", *end;
	size_t n = 0;

	for (; n < line.len && n < sizeof(digits) - 1 &&
	       (is_digit(line.at[n]) || (line.at[n] >= 'a' && line.at[n] <= 'f') ||
		(line.at[n] >= 'A' && line.at[n] <= 'F'));
	     n++)
		digits[n] = line.at[n];
	if (!n || (n < line.len && !memchr("; \t", line.at[n], 3)))
		return -EBADMSG;
	*ret = strtoul(digits, &end, 16);
	return 0;
}

/* Goes over chunks to the last, which is empty, and, if @join, puts them together. */
static int walk_chunks(char *from, const char *end, bool join, size_t *ret_len)
{
	char *to = from;

	for (char *at = from;;) {
		char *line_end = memmem(at, (size_t)(end - at), "\r\n", 2);
		size_t len;

		if (!line_end)
			return end - at > CHUNK_LINE_MAX ? -EBADMSG : -EAGAIN;
		if (chunk_length((struct hl_span){ at, (size_t)(line_end - at) }, &len))
			return -EBADMSG;
		at = line_end + 2;
		if (!len)
			break;
		if ((size_t)(end - at) < len + 2)
			return -EAGAIN;
		if (memcmp(at + len, "\r\n", 2) != 0)
			return -EBADMSG;
		if (join)
			memmove(to, at, len);
		to += len;
		at += len + 2;
	}
	*ret_len = (size_t)(to - from);
	return 0;
}

int hl_http_answer_parse(char *text, size_t len, bool ended, struct hl_http_answer *ret)
{
	char *blank = len ? memmem(text, len < HEAD_MAX ? len : HEAD_MAX, "\r\n\r\n", 4) : NULL, *body;
	struct head head;
	size_t body_len;
	int code;

	if (!blank)
		return ended || len >= HEAD_MAX ? -EBADMSG : -EAGAIN;
	if (parse_head(text, (size_t)(blank + 2 - text), &head))
		return -EBADMSG;
	body = blank + 4;
	body_len = (size_t)(text + len - body);
	if (head.chunked) {
		code = walk_chunks(body, text + len, /* join= */ false, &body_len);
		if (!code)
			code = walk_chunks(body, text + len, /* join= */ true, &body_len);
	} else if (head.has_length) {
		code = body_len < head.length ? -EAGAIN : 0;
		body_len = head.length;
	} else {
		code = ended ? 0 : -EAGAIN;
	}
	if (code)
		return code == -EAGAIN && ended ? -EBADMSG : code;
	*ret = (struct hl_http_answer){ head.status, body, body_len };
	return 0;
}
