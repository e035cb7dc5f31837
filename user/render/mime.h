/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_RENDER_MIME_H
#define HL_RENDER_MIME_H

#include <stddef.h>
#include <stdio.h>

/* Writes base64 with padding (RFC 4648). */
void hl_render_base64(FILE *out, const unsigned char *bytes, size_t len);

/* A message for sendmail(8). */
struct hl_mail {
	const char *to, *subject; /* to: NULL: who it is for is told to sendmail */
	const char *text;         /* UTF-8, lines that end in newlines */
	size_t text_len;
	const char *file, *type; /* of the attachment: its name, and media type */
	const void *attachment;  /* NULL: none */
	size_t attachment_len;
};

/* Errors of @out are left to the caller. */
void hl_render_mail(const struct hl_mail *mail, FILE *out);

#endif
