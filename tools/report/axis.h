/* SPDX-License-Identifier: MIT */
/* axis.h - logarithmic axes, shared by the text plot and the SVG image */
#ifndef BL_REPORT_AXIS_H
#define BL_REPORT_AXIS_H

#include "report.h"

/**
 * struct report_axis - a logarithmic axis over a plot's data
 * @unit: of the values
 * @lo:   first value on the axis, > 0
 * @hi:   last value on the axis, > @lo
 */
struct report_axis {
	enum report_unit unit;
	double lo;
	double hi;
};

enum report_side { REPORT_X, REPORT_Y };

/**
 * report_axis_fit() - Axis that holds every point of a plot
 * @plot: the data
 * @side: which coordinate
 * @axis: receives the axis; bytes end where the data ends, others at the next 1, 2 or 5 times a power of ten
 *
 * Return: 0, or -EINVAL when the plot has no point or one that a logarithmic axis cannot show.
 */
int report_axis_fit(const struct report_plot *plot, enum report_side side, struct report_axis *axis);

/* Position of a value on the axis, 0 at its start, 1 at its end. */
double report_axis_pos(const struct report_axis *axis, double value);

/* Value at a position, the inverse of report_axis_pos(). */
double report_axis_value(const struct report_axis *axis, double pos);

/**
 * report_axis_tick() - Next tick after a value
 * @axis:  the axis
 * @after: 0 for the first tick, else the one before
 *
 * Return: position of the next tick in the axis' unit, or 0 when there is none. Ticks are decades, or every fourth
 * power of two for bytes.
 */
double report_axis_tick(const struct report_axis *axis, double after);

#endif
