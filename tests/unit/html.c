// SPDX-License-Identifier: BSD-2-Clause
/* needs: base profile render */
#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "profile/profile.h"
#include "render/html_data.h"
#include "render/render.h"

#include "harness.h"

/* The page as text; what the script makes of the data is tested in tests/page/. */

static const char evil[] = "</script><script>alert(1)</script>@csp@@style@@data@@script@";

HL_DEFINE_CLEANUP(struct hl_profile, hl_profile_free)

/* A profile of one stack of @depth functions, all named @name, of @count samples. */
static struct hl_profile *make(const char *name, size_t name_len, size_t depth, uint64_t count)
{
	struct hl_frame frame = { .kind = HL_FRAME_USER, .name = name, .name_len = name_len };
	struct hl_profile *profile = hl_profile_new();
	uint32_t stack[64] = { 0 };
	size_t i;

	CHECK(profile != NULL && depth <= 64);
	frame.module = name;
	frame.module_len = name_len;
	frame.binary.lo = 1;
	for (i = 0; i < depth; i++) {
		frame.address = UINT64_MAX - 16 * i;
		CHECK_INT(hl_profile_frame(profile, &frame, &stack[i]), 0);
	}
	CHECK_INT(hl_profile_add(profile, stack, depth, count, count), 0);
	CHECK_INT(hl_profile_finish(profile), 0);
	return profile;
}

static char *write_page(const struct hl_profile *profile, const char *title)
{
	struct hl_render_options options = { .title = title };
	struct hl_err err = { "" };
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	CHECK(out != NULL);
	CHECK_INT(hl_writer_html.write(profile, &options, out, &err), 0);
	CHECK_INT(fclose(out), 0);
	CHECK_INT(strlen(text), len);
	return text;
}

static size_t times(const char *text, const char *what)
{
	size_t n = 0;

	for (text = strstr(text, what); text; text = strstr(text + 1, what))
		n++;
	return n;
}

/* What stands between the first @before and the next @after. */
static const char *between(const char *text, const char *before, const char *after, size_t *ret_len)
{
	const char *from = strstr(text, before), *to;

	CHECK(from != NULL);
	from += strlen(before);
	to = strstr(from, after);
	CHECK(to != NULL);
	*ret_len = (size_t)(to - from);
	return from;
}

/* The columns out of the page: base64, gzip. */
static size_t unpack(const char *page, unsigned char *ret, size_t size)
{
	size_t len;
	const char *text = between(page, "<script id=\"data\" type=\"text/plain\">", "</script>", &len);
	_cleanup_free_ unsigned char *packed = malloc(len);
	z_stream z = { 0 };

	CHECK(packed != NULL && len % 4 == 0);
	CHECK(EVP_DecodeBlock(packed, (const unsigned char *)text, (int)len) >= 0);
	z.next_in = packed;
	z.avail_in = (uInt)(len / 4 * 3);
	z.next_out = ret;
	z.avail_out = (uInt)size;
	CHECK_INT(inflateInit2(&z, 16 + 15), Z_OK);
	CHECK_INT(inflate(&z, Z_FINISH), Z_STREAM_END);
	CHECK_INT(inflateEnd(&z), Z_OK);
	return size - z.avail_out;
}

HL_TEST(no_byte_of_a_name_is_in_the_markup)
{
	_cleanup_(hl_profile_freep) struct hl_profile *profile = make(evil, strlen(evil), 3, 7);
	struct hl_profile_meta meta = { .host = evil, .kernel = evil, .version = evil, .event = evil };
	_cleanup_free_ char *page = NULL;
	unsigned char columns[4096];
	size_t len;

	hl_profile_set_meta(profile, &meta);
	page = write_page(profile, evil);
	CHECK(strstr(page, "alert(1)") == NULL);
	CHECK_INT(times(page, "<script"), 2);
	CHECK_INT(times(page, "</script"), 2);
	CHECK(strstr(page, "@csp@") == NULL && strstr(page, "@data@") == NULL);
	len = unpack(page, columns, sizeof(columns));
	CHECK(memmem(columns, len, evil, strlen(evil)) != NULL);
}

HL_TEST(the_policy_names_the_hash_of_the_script)
{
	_cleanup_(hl_profile_freep) struct hl_profile *profile = make("f", 1, 1, 1);
	_cleanup_free_ char *page = write_page(profile, NULL);
	unsigned char digest[32], text[64];
	char want[128];
	size_t len;
	const char *script = between(page, "<script type=\"module\">", "</script>", &len);

	CHECK(EVP_Digest(script, len, digest, NULL, EVP_sha256(), NULL));
	(void)EVP_EncodeBlock(text, digest, sizeof(digest));
	(void)snprintf(want, sizeof(want), "script-src 'sha256-%s'", (char *)text);
	CHECK_INT(times(page, want), 1);
	CHECK(strstr(page, "default-src 'none'") != NULL && strstr(page, "unsafe") == NULL);
}

HL_TEST(a_long_name_is_cut_between_characters)
{
	static char name[HL_HTML_NAME_MAX + 4096];
	_cleanup_(hl_profile_freep) struct hl_profile *profile = NULL;
	_cleanup_str_ struct hl_str data = { 0 };
	size_t i;

	name[0] = 'x'; /* so that the limit falls into a sequence of three bytes */
	for (i = 1; i + 3 <= sizeof(name); i += 3)
		memcpy(name + i, "\xe2\x82\xac", 3);
	profile = make(name, i, 1, 1);
	CHECK_INT(hl_html_data(profile, "", &data), 0);
	CHECK(memmem(data.data, data.len, "\xef\xbf\xbd", 3) == NULL);
	CHECK(memmem(data.data, data.len, "\xac\xe2\x80\xa6 (cut: 8191 bytes)", 22) != NULL);
}

HL_TEST(equal_profiles_give_equal_pages)
{
	_cleanup_(hl_profile_freep) struct hl_profile *a = make("f", 1, 64, UINT64_MAX),
						      *b = make("f", 1, 64, UINT64_MAX);
	_cleanup_free_ char *one = write_page(a, "t"), *two = write_page(b, "t");

	CHECK_STR(one, two);
}

HL_TEST(an_empty_profile_is_a_page)
{
	_cleanup_(hl_profile_freep) struct hl_profile *profile = hl_profile_new();
	_cleanup_free_ char *page = NULL;
	unsigned char columns[256];

	CHECK_INT(hl_profile_finish(profile), 0);
	page = write_page(profile, NULL);
	CHECK(unpack(page, columns, sizeof(columns)) > 20);
}

HL_TEST(a_full_disk_is_an_error_with_a_sentence)
{
	_cleanup_(hl_profile_freep) struct hl_profile *profile = make("f", 1, 1, 1);
	_cleanup_fclose_ FILE *full = fopen("/dev/full", "we");
	struct hl_err err = { "" };

	CHECK(full != NULL);
	CHECK_INT(hl_writer_html.write(profile, NULL, full, &err), -ENOSPC);
	CHECK_STR(err.text, "cannot write the page: No space left on device");
}
