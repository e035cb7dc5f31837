// SPDX-License-Identifier: BSD-2-Clause
#include "render/mime.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/str.h"

/* A message with an attachment (RFC 5322, RFC 2045, RFC 2046), for sendmail(8), which takes lines that end in \n. */

enum { LINE_BYTES = 57 }; /* of an attachment: 76 characters */

void hl_render_base64(FILE *out, const unsigned char *bytes, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char text[4];
	size_t i;

	for (i = 0; i < len; i += 3) {
		size_t left = len - i;
		uint32_t v = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
			     (left > 2 ? bytes[i + 2] : 0);

		text[0] = digits[v >> 18];
		text[1] = digits[v >> 12 & 63];
		text[2] = left > 1 ? digits[v >> 6 & 63] : '=';
		text[3] = left > 2 ? digits[v & 63] : '=';
		(void)fwrite(text, 1, sizeof(text), out);
	}
}

/* A header's value holds ASCII alone, and no newline that would begin another header. */
static void write_value(FILE *out, const char *name, const char *text)
{
	(void)fprintf(out, "%s: ", name);
	for (; *text; text++)
		(void)fputc(*text >= ' ' && *text < 0x7f ? *text : '?', out);
	(void)fputc('\n', out);
}

static void write_attachment(const struct hl_mail *mail, const char *boundary, FILE *out)
{
	(void)fprintf(out,
		      "\n--%s\nContent-Type: %s\nContent-Transfer-Encoding: base64\n"
		      "Content-Disposition: attachment; filename=\"",
		      boundary, mail->type);
	for (const char *c = mail->file; *c; c++)
		(void)fputc(*c > ' ' && *c < 0x7f && !strchr("\"\\", *c) ? *c : '_', out);
	(void)fputs("\"\n\n", out);
	for (size_t at = 0; at < mail->attachment_len; at += LINE_BYTES) {
		size_t left = mail->attachment_len - at;

		hl_render_base64(out, (const unsigned char *)mail->attachment + at,
				 left < LINE_BYTES ? left : LINE_BYTES);
		(void)fputc('\n', out);
	}
}

void hl_render_mail(const struct hl_mail *mail, FILE *out)
{
	struct hl_id id = hl_id_of(mail->text, mail->text_len);
	char boundary[48];

	(void)snprintf(boundary, sizeof(boundary), "hotleaf-%016" PRIx64 "%016" PRIx64, id.hi, id.lo);
	if (mail->to)
		write_value(out, "To", mail->to);
	write_value(out, "Subject", mail->subject);
	(void)fprintf(out,
		      "Auto-Submitted: auto-generated\nMIME-Version: 1.0\n"
		      "Content-Type: multipart/mixed; boundary=\"%s\"\n\n--%s\n"
		      "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n",
		      boundary, boundary);
	(void)fwrite(mail->text, 1, mail->text_len, out);
	if (mail->attachment)
		write_attachment(mail, boundary, out);
	(void)fprintf(out, "\n--%s--\n", boundary);
}
