// SPDX-License-Identifier: MIT
#include "axis.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* MARGIN + "|" + WIDTH stays below 100 columns, tick labels of the x axis included. */
#define WIDTH	84
#define HEIGHT	16
#define MARGIN	10
#define OVERLAP '*'

struct canvas {
	struct report_axis x;
	struct report_axis y;
	char rows[HEIGHT][WIDTH + 1];
};

static char mark(const struct report_series *series)
{
	return (char)tolower((unsigned char)series->name[0]);
}

/* Value of a curve at x, straight between its points on logarithmic scales; 0 outside of them. */
static double curve_at(const struct report_series *series, double x)
{
	const struct report_point *p = series->points;

	for (size_t i = 0; i < series->nr; i++) {
		if (fabs(x / p[i].x - 1) < 1e-9)
			return p[i].y;
		if (i && x > p[i - 1].x && x < p[i].x)
			return p[i - 1].y * pow(p[i].y / p[i - 1].y, log(x / p[i - 1].x) / log(p[i].x / p[i - 1].x));
	}
	return 0;
}

static int row_of(const struct canvas *canvas, double y)
{
	long row = lround((1 - report_axis_pos(&canvas->y, y)) * (HEIGHT - 1));

	return row < 0 ? 0 : row >= HEIGHT ? HEIGHT - 1 : (int)row;
}

static int column_of(const struct canvas *canvas, double x)
{
	return (int)lround(report_axis_pos(&canvas->x, x) * (WIDTH - 1));
}

static void draw_grid(struct canvas *canvas)
{
	for (int row = 0; row < HEIGHT; row++) {
		memset(canvas->rows[row], ' ', WIDTH);
		canvas->rows[row][WIDTH] = '\0';
	}
	for (double tick = 0; (tick = report_axis_tick(&canvas->y, tick)) > 0;) {
		for (int column = 0; column < WIDTH; column += 4)
			canvas->rows[row_of(canvas, tick)][column] = '.';
	}
}

static void draw_curve(struct canvas *canvas, const struct report_series *series)
{
	for (int column = 0; column < WIDTH; column++) {
		double y = curve_at(series, report_axis_value(&canvas->x, (double)column / (WIDTH - 1)));
		char *at;

		if (y <= 0)
			continue;
		at = &canvas->rows[row_of(canvas, y)][column];
		*at = *at == ' ' || *at == '.' ? mark(series) : OVERLAP;
	}
}

static const char *row_label(const struct canvas *canvas, int row, char *buf, size_t size)
{
	for (double tick = 0; (tick = report_axis_tick(&canvas->y, tick)) > 0;) {
		if (row_of(canvas, tick) == row)
			return report_format(canvas->y.unit, tick, buf, size);
	}
	return "";
}

static void print_x_axis(FILE *out, const struct canvas *canvas, const struct report_plot *plot)
{
	char line[MARGIN + 1 + WIDTH + 24], ruler[WIDTH + 1], buf[24];

	memset(ruler, '-', WIDTH);
	ruler[WIDTH] = '\0';
	memset(line, ' ', sizeof(line));
	for (double tick = 0; (tick = report_axis_tick(&canvas->x, tick)) > 0;) {
		const char *text = report_format(canvas->x.unit, tick, buf, sizeof(buf));
		int column = column_of(canvas, tick);

		ruler[column] = '+';
		memcpy(line + MARGIN + 1 + column, text, strlen(text));
	}
	fprintf(out, "%*s+%s\n", MARGIN, "", ruler);
	for (size_t end = sizeof(line); end > 0 && line[end - 1] == ' '; end--)
		line[end - 1] = '\0';
	line[sizeof(line) - 1] = '\0';
	fprintf(out, "%s\n%*s%s\n", line, MARGIN + 1 + (WIDTH - (int)strlen(plot->x_name)) / 2, "", plot->x_name);
}

void report_plot_text(FILE *out, const struct report_plot *plot, const char *label)
{
	struct canvas canvas;
	char buf[24];

	fprintf(out, "%s%s%s%s\n", plot->title, label ? " (" : "", label ? label : "", label ? ")" : "");
	if (report_axis_fit(plot, REPORT_X, &canvas.x) || report_axis_fit(plot, REPORT_Y, &canvas.y)) {
		fprintf(out, "no point to plot\n");
		return;
	}
	draw_grid(&canvas);
	for (size_t s = 0; s < plot->nr; s++)
		draw_curve(&canvas, &plot->series[s]);
	fprintf(out, "%*s|", MARGIN, plot->y_name);
	for (size_t s = 0; s < plot->nr; s++)
		fprintf(out, "  %c = %s", mark(&plot->series[s]), plot->series[s].name);
	if (plot->nr > 1)
		fprintf(out, "  %c = %s", OVERLAP, plot->nr == 2 ? "both" : "several");
	fputc('\n', out);
	for (int row = 0; row < HEIGHT; row++) {
		int len = WIDTH;

		while (len > 0 && canvas.rows[row][len - 1] == ' ')
			len--;
		fprintf(out, "%*s|%.*s\n", MARGIN, row_label(&canvas, row, buf, sizeof(buf)), len, canvas.rows[row]);
	}
	print_x_axis(out, &canvas, plot);
}
