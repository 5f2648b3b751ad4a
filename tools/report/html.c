// SPDX-License-Identifier: MIT
#include "report.h"
#include "xml.h"

static const char style[] =
	"  :root { color-scheme: light dark; }\n"
	"  body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;\n"
	"    color: #1f2730; background: #ffffff; }\n"
	"  h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }\n"
	"  table { border-collapse: collapse; font-variant-numeric: tabular-nums; }\n"
	"  th, td { padding: .2rem .8rem; text-align: right; border-bottom: 1px solid #d8dde3; }\n"
	"  .facts th, .facts td { text-align: left; } .wide { overflow-x: auto; } svg { max-width: 100%; height: auto; }\n"
	"  .label { border: 2px solid #c75a10; border-radius: .3rem; padding: .5rem .8rem; }\n"
	"  @media (prefers-color-scheme: dark) {\n"
	"    body { color: #e4e8ec; background: #14181d; } th, td { border-color: #2e353d; }\n"
	"    .label { border-color: #ff9a52; }\n"
	"  }\n";

static void element(FILE *out, const char *tag, const char *text)
{
	fprintf(out, "<%s>", tag);
	report_xml_text(out, text);
	fprintf(out, "</%s>", tag);
}

static void print_head(FILE *out, const struct report *report)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n", out);
	fputs("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n", out);
	element(out, "title", report->title);
	fprintf(out, "\n<style>\n%s</style>\n</head>\n<body>\n", style);
	element(out, "h1", report->title);
	fputc('\n', out);
	if (!report->label)
		return;
	fputs("<p class=\"label\"><strong>", out);
	report_xml_text(out, report->label);
	fputs("</strong>: these figures come from an emulated GPU. They show that everything works, not how fast "
	      "hardware is.</p>\n",
	      out);
}

static void print_facts(FILE *out, const struct report *report)
{
	fputs("<h2>What it ran on</h2>\n<table class=\"facts\">\n", out);
	for (size_t i = 0; i < report->nr_facts; i++) {
		fputs("<tr>", out);
		element(out, "th", report->facts[i].name);
		element(out, "td", report->facts[i].value);
		fputs("</tr>\n", out);
	}
	fputs("</table>\n", out);
}

static void print_table(FILE *out, const struct report_table *table, const char *label)
{
	fputs("<h2>", out);
	report_xml_text(out, table->title);
	if (label) {
		fputs(" (", out);
		report_xml_text(out, label);
		fputc(')', out);
	}
	fputs("</h2>\n<div class=\"wide\"><table>\n<tr>", out);
	for (size_t c = 0; c < table->nr_columns; c++)
		element(out, "th", table->columns[c]);
	fputs("</tr>\n", out);
	for (size_t r = 0; r < table->nr_rows; r++) {
		fputs("<tr>", out);
		for (size_t c = 0; c < table->nr_columns; c++)
			element(out, "td", table->cells[r * table->nr_columns + c]);
		fputs("</tr>\n", out);
	}
	fputs("</table></div>\n", out);
	if (table->note)
		element(out, "p", table->note);
	fputc('\n', out);
}

void report_html(FILE *out, const struct report *report)
{
	print_head(out, report);
	print_facts(out, report);
	if (report->nr_plots) {
		fputs("<h2>Curves</h2>\n<div class=\"wide\">\n", out);
		report_svg(out, report);
		fputs("</div>\n", out);
	}
	for (size_t i = 0; i < report->nr_tables; i++)
		print_table(out, &report->tables[i], report->label);
	fputs("</body>\n</html>\n", out);
}
