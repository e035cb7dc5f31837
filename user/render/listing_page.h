/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_RENDER_LISTING_PAGE_H
#define HL_RENDER_LISTING_PAGE_H

#include <stddef.h>
#include <stdio.h>

/*
 * Writes @text, what hl_render_listing() wrote, as one self-contained page without script, called @title: rows
 * are the darker the larger their share is. 0 or -ENOMEM; errors of @out are left to the caller.
 */
int hl_render_listing_page(const char *title, const char *text, size_t len, FILE *out);

#endif
