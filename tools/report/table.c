// SPDX-License-Identifier: MIT
#include "report.h"

#include <string.h>

static size_t column_width(const struct report_table *table, size_t column)
{
	size_t width = strlen(table->columns[column]);

	for (size_t row = 0; row < table->nr_rows; row++) {
		size_t len = strlen(table->cells[row * table->nr_columns + column]);

		if (len > width)
			width = len;
	}
	return width;
}

static void cell(FILE *out, const struct report_table *table, size_t column, const char *text)
{
	fprintf(out, "%s%*s", column ? "  " : "", (int)column_width(table, column), text);
}

void report_table_text(FILE *out, const struct report_table *table)
{
	fprintf(out, "%s\n", table->title);
	for (size_t c = 0; c < table->nr_columns; c++)
		cell(out, table, c, table->columns[c]);
	fputc('\n', out);
	for (size_t r = 0; r < table->nr_rows; r++) {
		for (size_t c = 0; c < table->nr_columns; c++)
			cell(out, table, c, table->cells[r * table->nr_columns + c]);
		fputc('\n', out);
	}
	if (table->note)
		fprintf(out, "%s\n", table->note);
}
