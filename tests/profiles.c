// SPDX-License-Identifier: BSD-2-Clause
#include "profiles.h"

#include <stdlib.h>

#include "base/str.h"
#include "render/render.h"

#include "harness.h"

static uint32_t frame_of(struct hl_profile *p, struct hl_frame frame)
{
	uint32_t index;

	if (!frame.name_len)
		frame.name_len = strlen(frame.name);
	if (frame.module)
		frame.module_len = strlen(frame.module);
	CHECK_INT(hl_profile_frame(p, &frame, &index), 0);
	return index;
}

uint32_t profiles_function(struct hl_profile *p, int kind, uint64_t address, const char *name)
{
	return frame_of(p,
			(struct hl_frame){ .kind = (uint8_t)kind,
					   .binary = { kind == HL_FRAME_KERNEL ? 2 : 1, 1 },
					   .address = address,
					   .name = name,
					   .module = kind == HL_FRAME_KERNEL ? "vmlinux" : "/usr/sbin/app" });
}

uint32_t profiles_insn(struct hl_profile *p, uint64_t address, uint64_t offset, int insn_class,
		       const char *text)
{
	bool kernel = address >> 63;

	return frame_of(p, (struct hl_frame){ .kind = HL_FRAME_INSN,
					      .insn_class = (uint8_t)insn_class,
					      .kernel = kernel,
					      .binary = { kernel ? 2 : 1, 1 },
					      .address = address,
					      .offset = offset,
					      .name = text,
					      .module = kernel ? "vmlinux" : "/usr/sbin/app" });
}

uint32_t profiles_named(struct hl_profile *p, int kind, const char *name)
{
	return frame_of(p, (struct hl_frame){ .kind = (uint8_t)kind, .name = name });
}

void profiles_add(struct hl_profile *p, const uint32_t *frames, size_t n, uint64_t count)
{
	CHECK_INT(hl_profile_add(p, frames, n, count, count * 10000000), 0);
}

char *profiles_render(const struct hl_profile *p, const char *format, size_t *ret_len)
{
	const struct hl_writer *writer = hl_writer_find(format);
	struct hl_render_options options = { 0 };
	struct hl_err err = { "" };
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_len);

	CHECK(writer && out);
	if (writer->write(p, &options, out, &err))
		FAIL("%s: %s", format, err.text);
	CHECK(fclose(out) == 0);
	return text;
}

void profiles_check_clean(const char *text, size_t len)
{
	uint32_t cp = 0;
	size_t i, n;

	for (i = 0; i < len; i += n) {
		n = hl_utf8_decode(text + i, len - i, &cp);
		if (n == 0 || (cp < 0x20 && cp != '\n') || (cp >= 0x7f && cp < 0xa0) || cp == 0x202e ||
		    cp == 0xfffe || cp == 0xffff)
			FAIL("byte %zu is 0x%02x, of U+%04X", i, (unsigned char)text[i], n ? cp : 0);
	}
}

void profiles_check_svg(const char *text, size_t len)
{
	static const char script[] =
		"import sys, xml.dom.minidom as m\n"
		"d = m.parse(sys.stdin.buffer)\n"
		"names = {e.tagName for e in d.getElementsByTagName('*')}\n"
		"attributes = {a for e in d.getElementsByTagName('*') for a in e.attributes.keys()}\n"
		"sys.exit(not (names == {'svg', 'title', 'style', 'rect', 'text', 'g'}\n"
		"    and not any(a.startswith('on') or 'href' in a for a in attributes)))\n";
	char command[1024];
	FILE *python;

	profiles_check_clean(text, len);
	snprintf(command, sizeof(command), "python3 -c \"%s\"", script);
	python = popen(command, "w");
	CHECK(python);
	CHECK(fwrite(text, 1, len, python) == len);
	CHECK_INT(pclose(python), 0);
}
