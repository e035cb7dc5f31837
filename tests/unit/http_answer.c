// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample process */
#include "process/http_answer.h"

#include <errno.h>
#include <stdlib.h>

#include "harness.h"

/* A copy that ends where its memory does, so that reading beyond it is found. */
static int parse(const char *text, size_t len, bool ended, unsigned int *ret_status, char *ret_body)
{
	char *copy = malloc(len + !len);
	struct hl_http_answer answer;
	int code;

	CHECK(copy);
	memcpy(copy, text, len);
	code = hl_http_answer_parse(copy, len, ended, &answer);
	if (!code) {
		CHECK(answer.body >= copy && answer.body + answer.len <= copy + len);
		*ret_status = answer.status;
		memcpy(ret_body, answer.body, answer.len);
		ret_body[answer.len] = '\0';
	}
	free(copy);
	return code;
}

/* @text is an answer with @body, ended or, if @told, by what it says; and none before its last byte. */
static void whole(const char *text, bool told, unsigned int want_status, const char *want_body)
{
	size_t len = strlen(text);
	unsigned int status = 0;
	char body[512];

	CHECK(len < sizeof(body));
	CHECK_INT(parse(text, len, true, &status, body), 0);
	CHECK_INT(status, want_status);
	CHECK_STR(body, want_body);
	CHECK_INT(parse(text, len, false, &status, body), told ? 0 : -EAGAIN);
	for (size_t i = 0; i < len; i++)
		CHECK_INT(parse(text, i, false, &status, body), -EAGAIN);
	for (size_t i = 0; told && i < len; i++)
		CHECK_INT(parse(text, i, true, &status, body), -EBADMSG);
}

static void none(const char *text)
{
	unsigned int status;
	char body[512];

	for (int ended = 0; ended < 2; ended++)
		if (parse(text, strlen(text), ended, &status, body) != -EBADMSG)
			FAIL("taken as an answer: %s", text);
}

#define OK     "HTTP/1.0 200 OK\r\n"
#define CHUNKS OK "Transfer-Encoding: chunked\r\n\r\n"

HL_TEST(answers)
{
	whole(OK "\r\nall\r\n\r\nof it", false, 200, "all\r\n\r\nof it");
	whole(OK "\r\n", false, 200, "");
	whole("HTTP/1.1 404 Not Found\r\ncontent-LENGTH: \t3 \r\nX: y\r\n\r\nall", true, 404, "all");
	whole("HTTP/1.1 500\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", true, 500, "x");
	whole(OK "X-Content-Length: 3\r\n\r\nal", false, 200, "al");
}

HL_TEST(chunks)
{
	/* The last chunk alone ends it. */
	whole(CHUNKS "3\r\nall\r\n0A ; x=y\r\n of \r\n it.\r\n0\r\n", true, 200, "all of \r\n it.");
	whole(CHUNKS "1\r\na\r\n000\r\n", true, 200, "a");
	whole(CHUNKS "0\r\n", true, 200, "");
	/* Where both are said, chunks count. */
	whole(OK "Content-Length: 3\r\nTransfer-encoding: CHUNKED\r\n\r\n2\r\nab\r\n0\r\n", true, 200, "ab");
}

/* What comes behind an answer is none of it. */
static void more(const char *text, const char *want_body)
{
	unsigned int status;
	char body[512];

	CHECK_INT(parse(text, strlen(text), false, &status, body), 0);
	CHECK_STR(body, want_body);
}

HL_TEST(more_than_the_answer)
{
	more(OK "Content-Length: 2\r\n\r\nabc", "ab");
	more(CHUNKS "1\r\na\r\n0\r\nX: y\r\n\r\n", "a");
}

HL_TEST(no_answers)
{
	none("\r\n\r\n");
	none("GET / HTTP/1.0\r\n\r\n");
	none("HTTP/2.0 200 OK\r\n\r\n");
	none("HTTP/1.0 20 OK\r\n\r\n");
	none("HTTP/1.0 2000\r\n\r\n");
	none("HTTP/1.x 200 OK\r\n\r\n");
	none(OK "Content-Length: \r\n\r\n");
	none(OK "Content-Length: -1\r\n\r\n");
	none(OK "Content-Length: 0x1\r\n\r\na");
	none(OK "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab");
	none(OK "Content-Length: 99999999999999999999\r\n\r\n");
	none(OK "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n");
	none(CHUNKS "\r\n0\r\n");
	none(CHUNKS "g\r\n0\r\n");
	none(CHUNKS "-1\r\n0\r\n");
	none(CHUNKS "1x\r\na\r\n0\r\n");
	none(CHUNKS "1\r\nab\r\n0\r\n");
	none(CHUNKS "123456789\r\na");
}

/* A head, or a line of chunks, without end is no answer long before all memory is used. */
HL_TEST(without_end)
{
	static char text[64 << 10];
	unsigned int status;
	static char body[sizeof(text)];

	memset(text, 'x', sizeof(text));
	CHECK_INT(parse(text, sizeof(text), false, &status, body), -EBADMSG);
	memcpy(text, CHUNKS "1;", strlen(CHUNKS "1;"));
	CHECK_INT(parse(text, sizeof(text), false, &status, body), -EBADMSG);
}
