// SPDX-License-Identifier: BSD-2-Clause
#include "command/sorting.h"

#include <string.h>

#include "base/str.h"
#include "command/identity.h"
#include "command/outputs.h"
#include "render/render.h"

/* How perf report spells keys that mean the same. */
static const char *const perf_names[][2] = {
	{ "comm", "thread" },  { "dso", "module" },       { "symbol", "function" },
	{ "sym", "function" }, { "instruction", "insn" },
};

static const char *our_name(const char *word)
{
	for (size_t i = 0; i < sizeof(perf_names) / sizeof(perf_names[0]); i++)
		if (strcmp(word, perf_names[i][0]) == 0)
			return perf_names[i][1];
	return word;
}

static int unknown(const char *word, struct hl_err *err)
{
	_cleanup_str_ struct hl_str all = { 0 };

	hl_str_adds(&all, "self, total");
	for (unsigned int key = 0; key < HL_BY_KEYS; key++)
		hl_str_addf(&all, ", %s", hl_identity_names[key]);
	for (unsigned int key = HL_SORT_ROOT + 1; key < HL_SORT_KEYS; key++)
		hl_str_addf(&all, ", %s", hl_sort_names[key]);
	return hl_usage(err, "\"%.40s\" of option \"--sort\" is unknown; there are: %s", word,
			all.data ? all.data : "");
}

static bool find_column(const char *name, struct hl_sort *sort, struct hl_sort_column *ret)
{
	for (unsigned int key = HL_SORT_ROOT + 1; key < HL_SORT_KEYS; key++)
		if (strcmp(name, hl_sort_names[key]) == 0) {
			*ret = (struct hl_sort_column){ .key = key, .title = hl_sort_names[key] };
			return true;
		}
	for (unsigned int key = 0; key < HL_BY_KEYS; key++)
		if (strcmp(name, hl_identity_names[key]) == 0) {
			sort->names[sort->by.n++] = hl_identity_names[key];
			*ret = (struct hl_sort_column){ HL_SORT_ROOT, (uint32_t)sort->by.n,
							hl_identity_names[key] };
			return true;
		}
	return false;
}

static bool has_column(const struct hl_sorting *sorting, const char *name)
{
	for (size_t i = 0; i < sorting->n; i++)
		if (strcmp(sorting->columns[i].title, name) == 0)
			return true;
	return false;
}

int hl_sort_parse(const struct hl_words *words, struct hl_sort *ret, struct hl_err *err)
{
	struct hl_sorting *sorting = &ret->sorting;

	*ret = (struct hl_sort){ .by.items = ret->names };
	for (size_t i = 0; i < words->n; i++) {
		const char *name = our_name(words->items[i]);

		/* There are fewer keys than room: none stands twice. */
		if (has_column(sorting, name))
			continue;
		if (strcmp(name, "total") == 0)
			sorting->by_total = true;
		else if (strcmp(name, "self") == 0)
			sorting->by_total = false;
		else if (find_column(name, ret, &sorting->columns[sorting->n]))
			sorting->n++;
		else
			return unknown(words->items[i], err);
	}
	return 0;
}

int hl_sort_check(const struct hl_words *words, const struct hl_outputs *outputs, struct hl_err *err)
{
	if (!words->n || hl_outputs_have(outputs, &hl_writer_txt))
		return 0;
	return hl_usage(err, "option \"--sort\" is of tables: give a name that ends in .txt, or -f txt -o -");
}
