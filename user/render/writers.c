// SPDX-License-Identifier: BSD-2-Clause
#include <stddef.h>
#include <string.h>

#include "render/render.h"

const struct hl_writer *const hl_writers[] = { &hl_writer_html,
					       &hl_writer_svg,
					       &hl_writer_folded,
					       &hl_writer_txt,
					       &hl_writer_pprof,
					       &hl_writer_speedscope,
					       NULL };

const struct hl_writer *hl_writer_find(const char *format)
{
	for (const struct hl_writer *const *w = hl_writers; *w; w++)
		if (strcmp((*w)->format, format) == 0)
			return *w;
	return NULL;
}

const char *hl_writer_extension(const struct hl_writer *writer)
{
	return writer->extension ? writer->extension : writer->format;
}

const struct hl_writer *hl_writer_find_extension(const char *extension)
{
	for (const struct hl_writer *const *w = hl_writers; *w; w++)
		if (strcmp(hl_writer_extension(*w), extension) == 0)
			return *w;
	return NULL;
}
