// SPDX-License-Identifier: BSD-2-Clause
/* needs: base profile render tests/profiles */
#include "render/render.h"

#include <stdlib.h>

#include "render/common.h"

#include "harness.h"
#include "profiles.h"

/* Names come from files of strangers: markup, separators, controls, invalid UTF-8, 100 kB, none at all. */

struct bytes {
	const char *text;
	size_t len;
};
#define BYTES(literal)                       \
	{                                    \
		literal, sizeof(literal) - 1 \
	}

static const struct bytes hostile[] = {
	BYTES("</script><script>document.title='pwned'</script>"),
	BYTES("semi;colon;three"),
	BYTES(" lead and  double  trail "),
	BYTES("q\"uo'te`tick\\back\\\\slash\\"),
	BYTES("new\nline\r\n\ttab\vvt\fff"),
	BYTES("bad\xff\xfe\xc3(\xe2\x82\x80\xed\xa0\x80utf8"),
	BYTES("esc\x1b[31mred\x1b]0;title\x07\x01\x08\x7f\x9b"),
	BYTES("]]>&amp;&lt;<b>&#0;&#x1F;<!--"),
	BYTES("%s%n%99999d{0}${7*7}#{x}$(id)`id`"),
	BYTES("looks_like_count 4000000000"),
	BYTES("--><!ENTITY x SYSTEM 'file:///etc/passwd'>"),
	BYTES("\xe2\x80\xaegnp.exe\xe2\x80\xac \xf0\x9f\x94\xa5 \xf0\x9f\x94"),
	BYTES("tail_[k]_[i]_[j]"),
	BYTES("operator<(>)<<<((("),
	BYTES("\xef\xbf\xbe\xef\xbf\xbf noncharacters \xc2\x9b C1"),
	BYTES("nul\0inside"),
	BYTES("\xc2\xa0"),
	BYTES("-9223372036854775808"),
	BYTES(""),
	BYTES("\xe6\xb0\xb4\xe6\xb0\xb4 wide"),
};
enum { N_HOSTILE = sizeof(hostile) / sizeof(hostile[0]), LONG_NAME = 100 * 1024 };

static uint32_t hostile_frame(struct hl_profile *p, int kind, uint64_t address, struct bytes name)
{
	struct hl_frame frame = { .kind = (uint8_t)kind,
				  .binary = { 3, 3 },
				  .address = address,
				  .name = name.text,
				  .name_len = name.len,
				  .module = name.text,
				  .module_len = name.len };
	uint32_t index;

	CHECK_INT(hl_profile_frame(p, &frame, &index), 0);
	return index;
}

/* N_HOSTILE + 1 stacks "app;NAME;NAME [0xADDRESS]" with 10, 11, … samples. */
static struct hl_profile *hostile_profile(void)
{
	struct hl_profile *p = hl_profile_new();
	uint32_t stack[3] = { profiles_named(p, HL_FRAME_ROOT, "app") };
	char *text = malloc(LONG_NAME);

	memset(text, 'L', LONG_NAME);
	for (unsigned int i = 0; i <= N_HOSTILE; i++) {
		struct bytes name = i < N_HOSTILE ? hostile[i] : (struct bytes){ text, LONG_NAME };

		stack[1] = hostile_frame(p, HL_FRAME_USER, 0x100 * (i + 1), name);
		stack[2] = hostile_frame(p, HL_FRAME_INSN, 0x100 * (i + 1), name);
		profiles_add(p, stack, 3, 10 + i);
	}
	free(text);
	CHECK_INT(hl_profile_finish(p), 0);
	return p;
}

HL_TEST(folded_keeps_hostile_names_in_their_place)
{
	struct hl_profile *p = hostile_profile();
	uint32_t n;
	uint64_t sum = 0, seen = 0;
	size_t len, lines = 0;
	char *text = profiles_render(p, "folded", &len), *line, *next;

	profiles_check_clean(text, len);
	for (line = text; *line; line = next) {
		char *end = strchr(line, '\n'), *blank, *stop;
		size_t semicolons = 0;
		uint64_t count;

		CHECK(end);
		*end = '\0';
		next = end + 1;
		blank = strrchr(line, ' ');
		CHECK(blank);
		count = strtoull(blank + 1, &stop, 10);
		CHECK(stop == end && stop > blank + 1);
		for (const char *c = line; *c; c++)
			semicolons += *c == ';';
		CHECK_INT(semicolons, 2);
		CHECK(end - line < 3 * HL_RENDER_NAME_MAX);
		CHECK(count >= 10 && count <= 10 + N_HOSTILE && !(seen >> count & 1));
		seen |= 1ull << count;
		sum += count;
		lines++;
	}
	CHECK_INT(lines, N_HOSTILE + 1);
	CHECK_INT(sum, hl_profile_nodes(p, &n)[0].total);
	free(text);
	hl_profile_free(p);
}

HL_TEST(txt_is_safe_for_a_terminal)
{
	struct hl_profile *p = hostile_profile();
	size_t len;
	char *text = profiles_render(p, "txt", &len);

	profiles_check_clean(text, len);
	for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1)
		CHECK(hl_render_columns(line, (size_t)(end - line)) <= 120);
	free(text);
	hl_profile_free(p);
}

HL_TEST(svg_is_well_formed_whatever_the_names)
{
	struct hl_profile *p = hostile_profile();
	size_t len;
	char *text = profiles_render(p, "svg", &len);

	profiles_check_svg(text, len);
	CHECK(len < 200000); /* the long name is bounded */
	free(text);
	hl_profile_free(p);
}
