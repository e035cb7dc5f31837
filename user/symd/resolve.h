/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMD_RESOLVE_H
#define HL_SYMD_RESOLVE_H

/* Queries to answers; private to this folder. */

#include <stddef.h>
#include <stdint.h>

#include <hotleaf/symd.h>

struct hl_decoder;
struct hl_kallsyms;
struct hl_str;
struct hl_symd_files;
struct hl_symd_maps;

/* What answers come from. @decoders are made when first needed: [32-bit code][Intel syntax]. */
struct hl_symd_sources {
	struct hl_symd_files *files;
	const struct hl_symd_maps *maps;
	const struct hl_kallsyms *kallsyms; /* NULL: not read */
	struct hl_decoder *decoders[2][2];
};

/*
 * Answers @n queries at @bytes, which need not be aligned: replaces @ret_payload by the answers, what was
 * inlined, and their strings. @flags are the request's. 0 or -ENOMEM.
 */
int hl_symd_resolve_all(struct hl_symd_sources *sources, const void *bytes, size_t n, uint32_t flags,
			struct hl_str *ret_payload);

#endif
