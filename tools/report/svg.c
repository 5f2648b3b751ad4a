// SPDX-License-Identifier: MIT
#include "axis.h"
#include "xml.h"

#include <string.h>

#define IMAGE_WIDTH 900
#define HEAD_HEIGHT 60 /* title and subtitle of the image */
#define PANEL_HEIGHT 400
#define LEFT   90
#define RIGHT  870
#define TOP    50 /* of the drawing area inside a panel */
#define BOTTOM 340

static const char style[] =
	"  .paper { fill: #ffffff; } .grid { stroke: #d8dde3; } .frame { stroke: #7a8490; fill: none; }\n"
	"  text { fill: #1f2730; font: 13px system-ui, sans-serif; } .title { font-size: 15px; font-weight: 600; }\n"
	"  .tick { fill: #4b5560; font-size: 12px; } .curve { fill: none; stroke-width: 2.2; }\n"
	"  .s0 { stroke: #1f6fc9; } .d0 { fill: #1f6fc9; } .s1 { stroke: #c75a10; } .d1 { fill: #c75a10; }\n"
	"  .s2 { stroke: #2c8a4b; } .d2 { fill: #2c8a4b; } .s3 { stroke: #8a4fc0; } .d3 { fill: #8a4fc0; }\n"
	"  @media (prefers-color-scheme: dark) {\n"
	"    .paper { fill: #14181d; } .grid { stroke: #2e353d; } .frame { stroke: #77818c; }\n"
	"    text { fill: #e4e8ec; } .tick { fill: #a9b2bb; }\n"
	"    .s0 { stroke: #6cb0ff; } .d0 { fill: #6cb0ff; } .s1 { stroke: #ff9a52; } .d1 { fill: #ff9a52; }\n"
	"    .s2 { stroke: #64c987; } .d2 { fill: #64c987; } .s3 { stroke: #c497f2; } .d3 { fill: #c497f2; }\n"
	"  }\n";

#define NR_COLOURS 4

struct panel {
	const struct report_plot *plot;
	struct report_axis x;
	struct report_axis y;
};

static double px(const struct panel *panel, double x)
{
	return LEFT + report_axis_pos(&panel->x, x) * (RIGHT - LEFT);
}

static double py(const struct panel *panel, double y)
{
	return BOTTOM - report_axis_pos(&panel->y, y) * (BOTTOM - TOP);
}

static void draw_grid(FILE *out, const struct panel *panel)
{
	char buf[24];

	for (double tick = 0; (tick = report_axis_tick(&panel->x, tick)) > 0;) {
		double at = px(panel, tick);

		fprintf(out, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>", at, at, TOP, BOTTOM);
		fprintf(out, "<text class=\"tick\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", at,
			BOTTOM + 18, report_format(panel->x.unit, tick, buf, sizeof(buf)));
	}
	for (double tick = 0; (tick = report_axis_tick(&panel->y, tick)) > 0;) {
		double at = py(panel, tick);

		fprintf(out, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", LEFT, RIGHT, at, at);
		fprintf(out, "<text class=\"tick\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", LEFT - 8,
			at + 4, report_format(panel->y.unit, tick, buf, sizeof(buf)));
	}
	fprintf(out, "<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", LEFT, TOP, RIGHT - LEFT,
		BOTTOM - TOP);
}

static void draw_curve(FILE *out, const struct panel *panel, size_t nr)
{
	const struct report_series *series = &panel->plot->series[nr];
	size_t colour = nr % NR_COLOURS;
	char x[24], y[24];

	fprintf(out, "<polyline class=\"curve s%zu\" points=\"", colour);
	for (size_t i = 0; i < series->nr; i++)
		fprintf(out, "%s%.1f,%.1f", i ? " " : "", px(panel, series->points[i].x),
			py(panel, series->points[i].y));
	fputs("\"/>\n", out);
	for (size_t i = 0; i < series->nr; i++) {
		const struct report_point *p = &series->points[i];

		fprintf(out, "<circle class=\"d%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>", colour, px(panel, p->x),
			py(panel, p->y));
		report_xml_text(out, series->name);
		fprintf(out, ": %s, %s</title></circle>\n", report_format(panel->x.unit, p->x, x, sizeof(x)),
			report_format(panel->y.unit, p->y, y, sizeof(y)));
	}
}

static void draw_legend(FILE *out, const struct panel *panel)
{
	double x = RIGHT;

	/* right-aligned above the drawing area, last series outermost; 7.5 units are a wide letter at 13px */
	for (size_t nr = panel->plot->nr; nr-- > 0;) {
		const char *name = panel->plot->series[nr].name;

		x -= (double)strlen(name) * 7.5;
		fprintf(out, "<text x=\"%.1f\" y=\"%d\">", x, TOP - 12);
		report_xml_text(out, name);
		fprintf(out, "</text><line class=\"curve s%zu\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n",
			nr % NR_COLOURS, x - 32, x - 8, TOP - 16, TOP - 16);
		x -= 52;
	}
}

static void title(FILE *out, const char *text, const char *label)
{
	report_xml_text(out, text);
	if (!label)
		return;
	fputs(" (", out);
	report_xml_text(out, label);
	fputc(')', out);
}

static void draw_names(FILE *out, const struct report_plot *plot, const char *label)
{
	fprintf(out, "<text class=\"title\" x=\"%d\" y=\"%d\">", LEFT, TOP - 12);
	title(out, plot->title, label);
	fprintf(out, "</text>\n<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">", (LEFT + RIGHT) / 2, BOTTOM + 40);
	report_xml_text(out, plot->x_name);
	fprintf(out, "</text>\n<text text-anchor=\"middle\" transform=\"translate(20 %d) rotate(-90)\">",
		(TOP + BOTTOM) / 2);
	report_xml_text(out, plot->y_name);
	fputs("</text>\n", out);
}

static void draw_panel(FILE *out, const struct report *report, size_t nr)
{
	const struct report_plot *plot = &report->plots[nr];
	struct panel panel = {.plot = plot};

	fprintf(out, "<g transform=\"translate(0 %zu)\">\n", HEAD_HEIGHT + nr * PANEL_HEIGHT);
	draw_names(out, plot, report->label);
	if (!report_axis_fit(plot, REPORT_X, &panel.x) && !report_axis_fit(plot, REPORT_Y, &panel.y)) {
		draw_grid(out, &panel);
		draw_legend(out, &panel);
		for (size_t s = 0; s < plot->nr; s++)
			draw_curve(out, &panel, s);
	}
	fputs("</g>\n", out);
}

void report_svg(FILE *out, const struct report *report)
{
	size_t height = HEAD_HEIGHT + report->nr_plots * PANEL_HEIGHT;

	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %zu\" width=\"%d\" height=\"%zu\" "
		"role=\"img\">\n<title>",
		IMAGE_WIDTH, height, IMAGE_WIDTH, height);
	report_xml_text(out, report->title);
	fprintf(out, "</title>\n<style>\n%s</style>\n", style);
	fprintf(out, "<rect class=\"paper\" width=\"%d\" height=\"%zu\"/>\n", IMAGE_WIDTH, height);
	fprintf(out, "<text class=\"title\" x=\"%d\" y=\"28\">", LEFT);
	title(out, report->title, report->label);
	fprintf(out, "</text>\n<text class=\"tick\" x=\"%d\" y=\"50\">", LEFT);
	report_xml_text(out, report->subtitle);
	fputs("</text>\n", out);
	for (size_t i = 0; i < report->nr_plots; i++)
		draw_panel(out, report, i);
	fputs("</svg>\n", out);
}
