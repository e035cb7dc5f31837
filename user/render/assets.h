/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_RENDER_ASSETS_H
#define HL_RENDER_ASSETS_H

#include <stddef.h>

/* A file of user/render/page/ as it was when the program was built; static, not NUL-terminated. */
struct hl_asset {
	const char *bytes;
	size_t len;
};

/* The page with places marked @csp@, @style@, @data@ and @script@, each once and in this order. */
struct hl_asset hl_asset_page(void);
/* What belongs at @style@. */
struct hl_asset hl_asset_style(void);
/* What belongs at @script@: one module made of all the .js files. */
struct hl_asset hl_asset_script(void);

#endif
