// SPDX-License-Identifier: MIT
/*
 * engine_plot: draw the bandwidth curves of a stored result of engine_copy
 *
 * It reads the text that engine_copy prints, so that the image of any stored result can be made again.
 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_plot.h"

static _Noreturn void die(const char *what, const char *why)
{
	fprintf(stderr, "engine_plot: %s: %s\n", what, why);
	exit(EXIT_FAILURE);
}

static const char *legend(const char *way)
{
	/* "sync" is engine_copy's short word for it */
	return strcmp(way, "sync") ? way : "cuMemcpy";
}

/* Curves of one panel; how many of the ways have one. */
static size_t choose(const struct plot_result *result, enum plot_dir dir, enum plot_host host, const char *ways,
		     struct report_series *series)
{
	char names[128], *save = NULL;
	size_t nr = 0;

	snprintf(names, sizeof(names), "%s", ways);
	for (char *name = strtok_r(names, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		size_t way = plot_way(result, name);
		const struct plot_curve *curve;

		if (way == PLOT_MAX_WAYS)
			die(name, "the result has no such column");
		curve = &result->curves[dir][host][way];
		if (!curve->nr)
			continue;
		if (nr == PLOT_MAX_SERIES)
			die(ways, "more columns than an image can tell apart");
		series[nr++] = (struct report_series){ legend(result->ways[way]), curve->points, curve->nr };
	}
	if (!nr)
		die(ways, "the result has no line for these columns");
	return nr;
}

static int draw(const struct plot_result *result, enum plot_host host, const char *ways, const char *path)
{
	static const char *const titles[PLOT_NR_DIRS][PLOT_NR_HOSTS] = {
		[PLOT_READ] = { "Reads into pinned memory", "Reads into ordinary memory" },
		[PLOT_WRITE] = { "Writes from pinned memory", "Writes from ordinary memory" },
	};
	struct report_series series[PLOT_NR_DIRS][PLOT_MAX_SERIES] = { 0 };
	struct report_plot plots[PLOT_NR_DIRS];
	const struct report report = {
		.title = "Barlane: copies between CPU and GPU memory, by engine",
		.subtitle = result->subtitle,
		.label = result->emulated ? "emu" : NULL,
		.plots = plots,
		.nr_plots = PLOT_NR_DIRS,
	};

	for (enum plot_dir dir = PLOT_READ; dir < PLOT_NR_DIRS; dir++)
		plots[dir] = (struct report_plot){
			titles[dir][host], "bytes per copy", "bandwidth", REPORT_BYTES, REPORT_RATE, series[dir],
			choose(result, dir, host, ways, series[dir]),
		};
	return report_write(path, report_svg, &report);
}

static void usage(FILE *out)
{
	fprintf(out, "usage: engine_plot [--host pinned|ordinary] [--ways NAME,...] RESULT IMAGE.svg\n"
		     "Draws what engine_copy printed: bandwidth (bytes / p50) of reads and of writes.\n"
		     "  --host H   kind of host memory (ordinary)\n"
		     "  --ways W   columns, at most 4 (cpu,ce,auto,sync)\n");
}

static enum plot_host host_of(const char *name)
{
	if (!strcmp(name, "pinned"))
		return PLOT_PINNED;
	if (strcmp(name, "ordinary"))
		die("option --host", "neither pinned nor ordinary");
	return PLOT_ORDINARY;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "host", required_argument, NULL, 'H' },
		{ "ways", required_argument, NULL, 'W' },
		{ NULL, 0, NULL, 0 },
	};
	const char *ways = "cpu,ce,auto,sync";
	enum plot_host host = PLOT_ORDINARY;
	static struct plot_result result;
	char why[160] = "";
	int opt, ret;

	while ((opt = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (opt == 'h') {
			usage(stdout);
			return EXIT_SUCCESS;
		}
		if (opt == 'H') {
			host = host_of(optarg);
		} else if (opt == 'W') {
			ways = optarg;
		} else {
			usage(stderr);
			return EXIT_FAILURE;
		}
	}
	if (argc - optind != 2) {
		usage(stderr);
		return EXIT_FAILURE;
	}
	if (plot_read(argv[optind], &result, why, sizeof(why)))
		die(argv[optind], why);
	ret = draw(&result, host, ways, argv[optind + 1]);
	if (ret)
		die(argv[optind + 1], strerror(-ret));
	return EXIT_SUCCESS;
}
