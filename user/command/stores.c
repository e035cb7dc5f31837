// SPDX-License-Identifier: BSD-2-Clause
#include "command/stores.h"

#include <errno.h>
#include <glob.h>
#include <unistd.h>

#include "cli/cli.h"
#include "command/store_options.h"
#include "store/reading.h"

/* Adds the stores that @pattern names; a name without wildcards is one, and so is one that is there. */
static int add_stores(struct hl_reading *reading, const char *pattern, struct hl_err *err)
{
	glob_t found = { 0 };
	int code;

	if (access(pattern, F_OK) == 0)
		return hl_reading_add(reading, pattern, err);
	code = glob(pattern, GLOB_NOMAGIC | GLOB_ONLYDIR, NULL, &found);
	if (code)
		code = hl_err_set(err, code == GLOB_NOSPACE ? -ENOMEM : -ENOENT, "no store matches '%s'",
				  pattern);
	for (size_t i = 0; i < found.gl_pathc && !code; i++)
		code = hl_reading_add(reading, found.gl_pathv[i], err);
	globfree(&found);
	return code;
}

int hl_stores_read(const struct hl_words *dirs, const struct hl_store_query *query, struct hl_reading **ret,
		   struct hl_err *err)
{
	_cleanup_(hl_reading_freep) struct hl_reading *reading = hl_reading_new(query);
	int code = reading ? 0 : hl_err_set(err, -ENOMEM, "no memory to read a store");

	if (!code && !dirs->n)
		code = hl_reading_add(reading, HL_STORE_DIR, err);
	for (size_t i = 0; i < dirs->n && !code; i++)
		code = add_stores(reading, dirs->items[i], err);
	if (!code)
		code = hl_reading_finish(reading, err);
	if (!code)
		*ret = TAKE_PTR(reading);
	return code;
}
