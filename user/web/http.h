/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_WEB_HTTP_H
#define HL_WEB_HTTP_H

#include <stddef.h>

#include "base/err.h"

/*
 * A server for one small page, in a thread without capabilities. It answers GET and HEAD, one request a connection,
 * and believes nobody: so many connections at most, the oldest of which gives way to a new one, each for some seconds
 * and some kilobytes of request.
 */
struct hl_http;

/* Serves @path ("/metrics") as @type at the listening socket @fd, which it takes. 0 or -errno. */
int hl_http_start(int fd, const char *path, const char *type, struct hl_http **ret, struct hl_err *err);
/* What is served from now on; @text is copied. Without memory, it stays what it was. */
void hl_http_publish(struct hl_http *http, const char *text, size_t len);
/* Closes all. Accepts NULL. */
void hl_http_stop(struct hl_http *http);

#endif
