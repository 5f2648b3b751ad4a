/* SPDX-License-Identifier: MIT */
/* engine_plot.h - a stored result of engine_copy */
#ifndef BENCH_ENGINE_PLOT_H
#define BENCH_ENGINE_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "report.h"

#define PLOT_MAX_WAYS	12
#define PLOT_MAX_POINTS 40
#define PLOT_MAX_SERIES 4 /* colours of an image */

enum plot_dir { PLOT_READ, PLOT_WRITE, PLOT_NR_DIRS };
enum plot_host { PLOT_PINNED, PLOT_ORDINARY, PLOT_NR_HOSTS };

/* Bandwidth in bytes per second over bytes. */
struct plot_curve {
	struct report_point points[PLOT_MAX_POINTS];
	size_t nr;
};

/**
 * struct plot_result - what engine_copy printed
 * @subtitle: what it ran on
 * @emulated: the GPU was this project's emulated one
 * @ways:     names of the columns
 * @nr_ways:  how many
 * @curves:   one for each column
 */
struct plot_result {
	char subtitle[200];
	bool emulated;
	char ways[PLOT_MAX_WAYS][16];
	size_t nr_ways;
	struct plot_curve curves[PLOT_NR_DIRS][PLOT_NR_HOSTS][PLOT_MAX_WAYS];
};

/**
 * plot_read() - Read a result
 * @path:   text file
 * @result: receives it; zeroed by the caller
 * @why:    receives what is wrong with it
 * @size:   bytes of @why
 *
 * Return: 0; -EINVAL (not such a result: @why has the line), or what reading gave.
 */
int plot_read(const char *path, struct plot_result *result, char *why, size_t size);

/* Column of a name, PLOT_MAX_WAYS when there is none. */
size_t plot_way(const struct plot_result *result, const char *name);

#endif
