// SPDX-License-Identifier: MIT
#include "demo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

#define NR_COPY_COLUMNS 9
#define NR_COST_COLUMNS 7

/* Texts and points that the report refers to. */
struct show {
	char *copies[DEMO_NR_SIZES * NR_COPY_COLUMNS];
	char *costs[DEMO_NR_COSTS * NR_COST_COLUMNS];
	struct report_point latency[2][DEMO_NR_SIZES];
	struct report_point rate[2][DEMO_NR_SIZES];
	struct report_fact facts[DEMO_MAX_FACTS];
};

/* One decimal where it tells something. */
static char *number(double value)
{
	char *text;

	return asprintf(&text, "%.*f", value < 100 ? 1 : 0, value) < 0 ? NULL : text;
}

static char *size_text(size_t bytes)
{
	char buf[24];

	return strdup(report_format(REPORT_BYTES, (double)bytes, buf, sizeof(buf)));
}

static void fill_direction(char **cells, size_t bytes, const struct demo_stats *stats)
{
	cells[0] = number(stats->min_ns);
	cells[1] = number(stats->p50_ns);
	cells[2] = number(stats->p99_ns);
	cells[3] = number(demo_stats_rate(stats, bytes) / 1e6);
}

static void fill_copies(struct show *show, const struct demo_results *results)
{
	for (size_t i = 0; i < DEMO_NR_SIZES; i++) {
		const struct demo_point *point = &results->points[i];
		char **cells = &show->copies[i * NR_COPY_COLUMNS];
		double bytes = (double)point->bytes;

		cells[0] = size_text(point->bytes);
		fill_direction(&cells[1], point->bytes, &point->write);
		fill_direction(&cells[5], point->bytes, &point->read);
		show->latency[0][i] = (struct report_point){bytes, point->write.p50_ns};
		show->latency[1][i] = (struct report_point){bytes, point->read.p50_ns};
		show->rate[0][i] = (struct report_point){bytes, demo_stats_rate(&point->write, point->bytes)};
		show->rate[1][i] = (struct report_point){bytes, demo_stats_rate(&point->read, point->bytes)};
	}
}

static void fill_costs(struct show *show, const struct demo_results *results)
{
	for (size_t i = 0; i < DEMO_NR_COSTS; i++) {
		const struct demo_cost *cost = &results->costs[i];
		char **cells = &show->costs[i * NR_COST_COLUMNS];

		cells[0] = size_text(cost->bytes);
		cells[1] = number(cost->pin.p50_ns / 1e3);
		cells[2] = number(cost->map.p50_ns / 1e3);
		cells[3] = number(cost->unmap.p50_ns / 1e3);
		cells[4] = number(cost->unpin.p50_ns / 1e3);
		cells[5] = number(cost->total.p50_ns / 1e3);
		cells[6] = number(cost->total.p99_ns / 1e3);
	}
}

static bool complete(char *const *cells, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (!cells[i])
			return false;
	}
	return true;
}

static void free_cells(char **cells, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		free(cells[i]);
}

static void print_head(const struct demo_results *results)
{
	printf("# %s %s kernel %s cpu %s; gpu %s%s; provider %s; mapping %s\n", demo_program,
	       demo_fact(results, "version"), demo_fact(results, "kernel"), demo_fact(results, "cpu"),
	       demo_fact(results, "gpu"), results->emulated ? " (emu)" : "", demo_fact(results, "provider"), demo_fact(results, "mapping"));
	for (size_t i = 0; i < results->nr_checks; i++)
		printf("%s: %s\n", results->checks[i].passed ? "verified" : "WRONG", results->checks[i].name);
	putchar('\n');
}

static void print_text(const struct demo_results *results, const struct report *report)
{
	print_head(results);
	for (size_t i = 0; i < report->nr_tables; i++) {
		report_table_text(stdout, &report->tables[i]);
		putchar('\n');
	}
	for (size_t i = 0; i < report->nr_plots; i++) {
		report_plot_text(stdout, &report->plots[i], report->label);
		putchar('\n');
	}
}

static int write_files(const struct report *report, const char *svg, const char *html)
{
	int ret = 0;

	if (svg) {
		ret = report_write(svg, report_svg, report);
		if (ret)
			return demo_error(-ret, "cannot write %s", svg);
	}
	if (html) {
		ret = report_write(html, report_html, report);
		if (ret)
			return demo_error(-ret, "cannot write %s", html);
	}
	return ret;
}

static int show_all(struct show *show, const struct demo_results *results, const char *svg, const char *html)
{
	static const char *const copy_columns[NR_COPY_COLUMNS] = {"bytes",	"write min ns", "p50 ns",
								  "p99 ns",	"MB/s",		"read min ns",
								  "p50 ns",	"p99 ns",	"MB/s"};
	static const char *const cost_columns[NR_COST_COLUMNS] = {"bytes",    "pin us",	  "map us",	 "unmap us",
								  "unpin us", "total us", "total p99 us"};
	const char *label = results->emulated ? "emu" : NULL;
	const struct report_series latency[] = {{"write p50", show->latency[0], DEMO_NR_SIZES},
						{"read p50", show->latency[1], DEMO_NR_SIZES}};
	const struct report_series rate[] = {{"write", show->rate[0], DEMO_NR_SIZES},
					     {"read", show->rate[1], DEMO_NR_SIZES}};
	const struct report_plot plots[] = {
		{"Latency of one copy", "bytes per copy", "latency", REPORT_BYTES, REPORT_NS, latency, 2},
		{"Bandwidth, one thread", "bytes per copy", "bandwidth", REPORT_BYTES, REPORT_RATE, rate, 2},
	};
	char first[160];
	const struct report_table tables[] = {
		{label ? "CPU copies to and from mapped GPU memory (emu)" : "CPU copies to and from mapped GPU memory",
		 "Copies shorter than 30 us are timed in groups of that length. MB/s is from the mean; 1 MB is 10^6 bytes.",
		 copy_columns,
		 NR_COPY_COLUMNS, show->copies, DEMO_NR_SIZES},
		{label ? "Cost of a mapping (emu), p50" : "Cost of a mapping, p50", first, cost_columns,
		 NR_COST_COLUMNS, show->costs, DEMO_NR_COSTS},
	};
	char subtitle[512];
	const struct report report = {"Barlane: CPU lane", subtitle, label, show->facts, results->nr_facts,
				      tables,		   2,	     plots, 2};

	snprintf(subtitle, sizeof(subtitle), "%s, provider %s, mapping %s, %s %s", demo_fact(results, "gpu"),
		 demo_fact(results, "provider"), demo_fact(results, "mapping"), demo_program,
		 demo_fact(results, "version"));
	snprintf(first, sizeof(first), "The first pin of the process, self-test included, took %.0f us.",
		 results->first_pin_ns / 1e3);
	for (size_t i = 0; i < results->nr_facts; i++)
		show->facts[i] = (struct report_fact){results->facts[i].name, results->facts[i].value};
	print_text(results, &report);
	return write_files(&report, svg, html);
}

int demo_show(const struct demo_results *results, const char *svg, const char *html)
{
	struct show *show = calloc(1, sizeof(*show));
	int ret;

	if (!show)
		return demo_error(ENOMEM, "malloc");
	fill_copies(show, results);
	fill_costs(show, results);
	if (complete(show->copies, DEMO_NR_SIZES * NR_COPY_COLUMNS) &&
	    complete(show->costs, DEMO_NR_COSTS * NR_COST_COLUMNS))
		ret = show_all(show, results, svg, html);
	else
		ret = demo_error(ENOMEM, "malloc");
	free_cells(show->copies, DEMO_NR_SIZES * NR_COPY_COLUMNS);
	free_cells(show->costs, DEMO_NR_COSTS * NR_COST_COLUMNS);
	free(show);
	return ret;
}
