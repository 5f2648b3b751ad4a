/* SPDX-License-Identifier: MIT */
/*
 * report.h - what a measurement found, and the forms in which it is shown
 *
 * A program fills in one struct report: facts about the run, tables of text, plots of series. The printers below read
 * it and change nothing. Texts are plain UTF-8; the printers escape what their format needs.
 */
#ifndef BL_REPORT_H
#define BL_REPORT_H

#include <stddef.h>
#include <stdio.h>

/* What the numbers of an axis are; decides where its ticks lie and how they are written. */
enum report_unit {
	REPORT_BYTES, /* powers of two: "1", "4K", "16M" */
	REPORT_NS,    /* nanoseconds: "50 ns", "1 us" */
	REPORT_RATE,  /* bytes per second: "1 MB/s", "20 GB/s" */
};

struct report_point {
	double x;
	double y;
};

/**
 * struct report_series - one curve
 * @name:   for the legend; its first letter marks the curve in a text plot, so it differs between series of a plot
 * @points: @nr of them, x ascending, x and y > 0
 * @nr:     how many
 */
struct report_series {
	const char *name;
	const struct report_point *points;
	size_t nr;
};

/**
 * struct report_plot - curves over two logarithmic axes
 * @title:  heading
 * @x_name: what the x axis shows
 * @y_name: what the y axis shows
 * @x_unit: unit of x
 * @y_unit: unit of y
 * @series: the curves
 * @nr:     how many
 */
struct report_plot {
	const char *title;
	const char *x_name;
	const char *y_name;
	enum report_unit x_unit;
	enum report_unit y_unit;
	const struct report_series *series;
	size_t nr;
};

/**
 * struct report_table - text cells
 * @title:   heading
 * @note:    what a reader must know to read the numbers, or NULL
 * @columns: headings of @nr_columns columns
 * @cells:   @nr_rows * @nr_columns texts, row after row; "" where there is nothing to show
 */
struct report_table {
	const char *title;
	const char *note;
	const char *const *columns;
	size_t nr_columns;
	char *const *cells;
	size_t nr_rows;
};

struct report_fact {
	const char *name;
	const char *value;
};

/**
 * struct report - everything that is shown of one run
 * @title: heading
 * @subtitle: what it ran on, in one short line; part of the image
 * @label: "emu" when the figures come from an emulated device and must not be set beside hardware's, else NULL
 */
struct report {
	const char *title;
	const char *subtitle;
	const char *label;
	const struct report_fact *facts;
	size_t nr_facts;
	const struct report_table *tables;
	size_t nr_tables;
	const struct report_plot *plots;
	size_t nr_plots;
};

/**
 * report_format() - Value with its unit
 * @unit:  what @value is
 * @value: >= 0
 * @buf:   receives the text, three significant digits at most beyond the unit's integer digits
 * @size:  bytes of @buf; 24 always suffice
 *
 * Return: @buf.
 */
const char *report_format(enum report_unit unit, double value, char *buf, size_t size);

/* Table with aligned columns; the first column is not indented. */
void report_table_text(FILE *out, const struct report_table *table);

/* Plot of characters, at most 100 columns wide. @label as in struct report. */
void report_plot_text(FILE *out, const struct report_plot *plot, const char *label);

/**
 * report_svg() - All plots of a report as one SVG image, one above the other
 * @out:    stream
 * @report: what to show
 *
 * Colours follow the viewer's light or dark preference. Errors of the stream are left to ferror().
 */
void report_svg(FILE *out, const struct report *report);

/* One HTML file with facts, plots and tables that loads nothing else. */
void report_html(FILE *out, const struct report *report);

/**
 * report_write() - Write one form of a report into a file
 * @path:  file; an existing one is replaced only when everything was written
 * @print: report_svg() or report_html()
 * @report: what to show
 *
 * Return: 0 or -errno.
 */
int report_write(const char *path, void (*print)(FILE *out, const struct report *report), const struct report *report);

/**
 * report_write_text() - Write a text into a file
 * @path: as in report_write()
 * @text: what to write
 *
 * Return: 0 or -errno.
 */
int report_write_text(const char *path, const char *text);

#endif
