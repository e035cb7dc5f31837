// SPDX-License-Identifier: BSD-2-Clause
#include "render/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

int hl_table_end_cell(struct hl_table *table)
{
	int err = hl_str_status(&table->text);

	if (!err)
		err = hl_grow(&table->ends, &table->cap_ends, table->n_ends + 1, sizeof(*table->ends),
			      SIZE_MAX);
	if (err)
		return err;
	table->ends[table->n_ends++] = table->text.len;
	return 0;
}

int hl_table_count_cell(struct hl_table *table, uint64_t count)
{
	hl_str_addf(&table->text, "%" PRIu64, count);
	return hl_table_end_cell(table);
}

int hl_table_share_cell(struct hl_table *table, uint64_t part, uint64_t whole)
{
	hl_render_share(&table->text, part, whole);
	return hl_table_end_cell(table);
}

static const char *cell_text(const struct hl_table *table, size_t cell, size_t *ret_len)
{
	size_t start = cell ? table->ends[cell - 1] : 0;

	*ret_len = table->ends[cell] - start;
	return table->text.data ? table->text.data + start : "";
}

static size_t column_width(const struct hl_table *table, size_t column)
{
	const struct hl_column *c = &table->columns[column];
	size_t width = hl_render_columns(c->title, strlen(c->title)), len, cell;

	for (cell = column; cell < table->n_ends; cell += table->n_columns) {
		const char *text = cell_text(table, cell, &len);
		size_t wants = hl_render_columns(text, len);

		if (wants > width)
			width = wants;
	}
	return width < c->limit ? width : c->limit;
}

static void add_blanks(struct hl_str *line, size_t n)
{
	while (n--)
		hl_str_addc(line, ' ');
}

static void add_cell(struct hl_str *line, const struct hl_column *column, size_t width, const char *text,
		     size_t len)
{
	_cleanup_str_ struct hl_str shown = { 0 };
	size_t used = hl_render_fit(&shown, text, len, width, column->cut);

	if (line->len)
		hl_str_adds(line, "  ");
	if (column->right)
		add_blanks(line, width - used);
	hl_str_add(line, shown.data, shown.len);
	if (!column->right)
		add_blanks(line, width - used);
	line->failed |= shown.failed;
}

static int write_line(struct hl_str *line, FILE *out)
{
	if (line->failed)
		return -ENOMEM;
	while (line->len && line->data[line->len - 1] == ' ')
		line->len--;
	(void)fwrite(line->data, 1, line->len, out);
	(void)fputc('\n', out);
	hl_str_clear(line);
	return 0;
}

int hl_table_write(const struct hl_table *table, FILE *out)
{
	_cleanup_free_ size_t *widths = calloc(table->n_columns, sizeof(*widths));
	_cleanup_str_ struct hl_str line = { 0 };
	size_t cell, column, len;
	int err;

	if (!widths)
		return -ENOMEM;
	for (column = 0; column < table->n_columns; column++) {
		const struct hl_column *c = &table->columns[column];

		widths[column] = column_width(table, column);
		add_cell(&line, c, widths[column], c->title, strlen(c->title));
	}
	err = write_line(&line, out);
	for (cell = 0; cell < table->n_ends && !err; cell++) {
		const char *text = cell_text(table, cell, &len);

		column = cell % table->n_columns;
		add_cell(&line, &table->columns[column], widths[column], text, len);
		if (column == table->n_columns - 1)
			err = write_line(&line, out);
	}
	return err;
}

void hl_table_done(struct hl_table *table)
{
	hl_str_done(&table->text);
	free(table->ends);
	table->ends = NULL;
	table->n_ends = table->cap_ends = 0;
}
