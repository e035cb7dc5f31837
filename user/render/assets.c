// SPDX-License-Identifier: BSD-2-Clause
#include "render/assets.h"

/*
 * The assembler puts the files into read-only data: nothing is generated, and the page stays a set of plain
 * files that can be read and tested. Paths are relative to the root of the tree, where make runs.
 */
#define PAGE(file) ".incbin \"user/render/page/" file "\"\n"
#define ASSET(name, files)                                                                             \
	__asm__(".pushsection .rodata\n"                                                               \
		".globl hl_asset_" #name "_start, hl_asset_" #name "_end\n"                            \
		".hidden hl_asset_" #name "_start, hl_asset_" #name "_end\n"                           \
		"hl_asset_" #name "_start:\n" files "hl_asset_" #name "_end:\n"                        \
		".byte 0\n"                                                                            \
		".popsection\n");                                                                      \
	extern const char hl_asset_##name##_start[] __attribute__((visibility("hidden")));             \
	extern const char hl_asset_##name##_end[] __attribute__((visibility("hidden")));               \
	struct hl_asset hl_asset_##name(void)                                                          \
	{                                                                                              \
		return (struct hl_asset){ hl_asset_##name##_start,                                     \
					  (size_t)(hl_asset_##name##_end - hl_asset_##name##_start) }; \
	}

ASSET(page, PAGE("page.html"))
ASSET(style, PAGE("page.css") PAGE("parts.css"))
ASSET(script, PAGE("decode.js") PAGE("text.js") PAGE("palette.js") PAGE("model.js") PAGE("compare.js")
		      PAGE("labels.js") PAGE("dom.js") PAGE("graph.js") PAGE("tip.js") PAGE("header.js")
			      PAGE("tables.js") PAGE("panel.js") PAGE("state.js") PAGE("view.js")
				      PAGE("actions.js") PAGE("main.js"))
