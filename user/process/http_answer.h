/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_HTTP_ANSWER_H
#define HL_PROCESS_HTTP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

/* What a server of HTTP/1 answered (RFC 9112). */
struct hl_http_answer {
	unsigned int status;
	const char *body; /* part of the text that was given; not NUL-terminated */
	size_t len;
};

/*
 * Takes apart the @len bytes at @text that came so far; @ended: there will be no more. A body in chunks is put
 * together in place, so that after success @text holds nothing but what @ret says. 0; -EAGAIN: it is not whole yet;
 * -EBADMSG: it is no answer, or was cut off.
 */
int hl_http_answer_parse(char *text, size_t len, bool ended, struct hl_http_answer *ret);

#endif
