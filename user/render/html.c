// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <openssl/evp.h>
#include <string.h>
#include <zlib.h>

#include "base/str.h"
#include "render/assets.h"
#include "render/html_data.h"
#include "render/mime.h"
#include "render/render.h"

/*
 * One self-contained page: markup, style and script as they stand in user/render/page/, and the profile as
 * base64(gzip(columns)). No byte of a profile reaches the page in any other form, so no name can become
 * markup; and the page's own policy lets the browser run that one script and nothing else.
 */

enum { CHUNK = 48 * 1024 }; /* of base64 input: a multiple of 3 */

/* Compresses to gzip's format and writes that as base64. */
static int write_packed(FILE *out, const struct hl_str *data, struct hl_err *err)
{
	_cleanup_free_ unsigned char *buffer = malloc(CHUNK);
	z_stream z = { .next_in = (unsigned char *)data->data, .avail_in = 0 };
	size_t left = data->len;
	int rc = Z_OK;

	/*
	 * 16 + 15: a gzip header and the largest window. The best compression would take six times as long for two
	 * percent less.
	 */
	if (!buffer ||
	    deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + 15, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		return hl_err_set(err, -ENOMEM, "not enough memory to compress the profile");
	while (rc != Z_STREAM_END) {
		z.next_out = buffer;
		z.avail_out = CHUNK;
		while (rc != Z_STREAM_END && z.avail_out > 0) {
			if (z.avail_in == 0) {
				z.avail_in = left < (1u << 30) ? (uInt)left : 1u << 30;
				left -= z.avail_in;
			}
			rc = deflate(&z, left ? Z_NO_FLUSH : Z_FINISH);
		}
		/* A full buffer is a multiple of 3: only the last one is padded. */
		hl_render_base64(out, buffer, CHUNK - z.avail_out);
	}
	(void)deflateEnd(&z);
	return 0;
}

/* Appends 'sha256-…' of @asset, a source in the sense of Content Security Policy Level 3, section 2.3.1. */
static int write_hash(FILE *out, struct hl_asset asset)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned int len = 0;

	if (!EVP_Digest(asset.bytes, asset.len, digest, &len, EVP_sha256(), NULL))
		return -ENOMEM;
	(void)fputs(" 'sha256-", out);
	hl_render_base64(out, digest, len);
	(void)fputs("'", out);
	return 0;
}

static int write_policy(FILE *out, struct hl_err *err)
{
	int rc;

	(void)fputs("default-src 'none'; base-uri 'none'; form-action 'none'; "
		    "require-trusted-types-for 'script'; trusted-types 'none'; script-src",
		    out);
	rc = write_hash(out, hl_asset_script());
	(void)fputs("; style-src", out);
	if (!rc)
		rc = write_hash(out, hl_asset_style());
	return rc ? hl_err_set(err, rc, "cannot hash the page's script") : 0;
}

static void write_asset(FILE *out, struct hl_asset asset)
{
	(void)fwrite(asset.bytes, 1, asset.len, out);
}

/* Writes the page up to the place called @mark and returns the rest, which starts behind it. */
static struct hl_asset write_until(FILE *out, struct hl_asset page, const char *mark)
{
	const char *at = memmem(page.bytes, page.len, mark, strlen(mark));
	struct hl_asset rest = { page.bytes + page.len, 0 };

	if (at) {
		rest.bytes = at + strlen(mark);
		rest.len = (size_t)(page.bytes + page.len - rest.bytes);
		page.len = (size_t)(at - page.bytes);
	}
	write_asset(out, page);
	return rest;
}

static int write_page(const struct hl_str *data, FILE *out, struct hl_err *err)
{
	struct hl_asset rest = hl_asset_page();
	int rc;

	rest = write_until(out, rest, "@csp@");
	rc = write_policy(out, err);
	if (rc)
		return rc;
	rest = write_until(out, rest, "@style@");
	write_asset(out, hl_asset_style());
	rest = write_until(out, rest, "@data@");
	rc = write_packed(out, data, err);
	if (rc)
		return rc;
	rest = write_until(out, rest, "@script@");
	write_asset(out, hl_asset_script());
	write_asset(out, rest);
	if (fflush(out) || ferror(out))
		return hl_err_errno(err, errno ? -errno : -EIO, "cannot write the page");
	return 0;
}

static const char *title_of(const struct hl_render_options *options)
{
	return options && options->title ? options->title : "";
}

static int write_html(const struct hl_profile *profile, const struct hl_render_options *options, FILE *out,
		      struct hl_err *err)
{
	_cleanup_str_ struct hl_str data = { 0 };
	int rc = hl_html_data(profile, title_of(options), &data);

	return rc ? hl_err_set(err, rc, "not enough memory to write the page") : write_page(&data, out, err);
}

static int write_html_diff(const struct hl_diff *diff, const struct hl_render_options *options, FILE *out,
			   struct hl_err *err)
{
	_cleanup_str_ struct hl_str data = { 0 };
	int rc = hl_html_diff_data(diff, title_of(options), &data);

	return rc ? hl_err_set(err, rc, "not enough memory to write the page") : write_page(&data, out, err);
}

const struct hl_writer hl_writer_html = {
	.format = "html",
	.summary = "flame graph as one self-contained page",
	.write = write_html,
	.write_diff = write_html_diff,
};
