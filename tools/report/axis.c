// SPDX-License-Identifier: MIT
#include "axis.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>

/* Values that were computed from a logarithm miss their tick by some rounding. */
#define SLACK 1e-9

static double coordinate(const struct report_point *point, enum report_side side)
{
	return side == REPORT_X ? point->x : point->y;
}

static double step_at(double value, bool up)
{
	static const double steps[] = {1, 2, 5, 10};
	double decade = pow(10, floor(log10(value) + SLACK));
	double best = decade;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		double step = decade * steps[i];

		if (up && step >= value * (1 - SLACK))
			return step;
		if (!up && step <= value * (1 + SLACK))
			best = step;
	}
	return best;
}

int report_axis_fit(const struct report_plot *plot, enum report_side side, struct report_axis *axis)
{
	double lo = INFINITY, hi = 0;

	for (size_t s = 0; s < plot->nr; s++) {
		for (size_t i = 0; i < plot->series[s].nr; i++) {
			double v = coordinate(&plot->series[s].points[i], side);

			if (!(v > 0) || isinf(v))
				return -EINVAL;
			lo = fmin(lo, v);
			hi = fmax(hi, v);
		}
	}
	if (hi == 0)
		return -EINVAL;
	axis->unit = side == REPORT_X ? plot->x_unit : plot->y_unit;
	if (axis->unit != REPORT_BYTES) {
		lo = step_at(lo, false);
		hi = step_at(hi, true);
	}
	if (hi <= lo)
		hi = lo * (axis->unit == REPORT_BYTES ? 2 : 10);
	axis->lo = lo;
	axis->hi = hi;
	return 0;
}

double report_axis_pos(const struct report_axis *axis, double value)
{
	return log(value / axis->lo) / log(axis->hi / axis->lo);
}

double report_axis_value(const struct report_axis *axis, double pos)
{
	return axis->lo * pow(axis->hi / axis->lo, pos);
}

double report_axis_tick(const struct report_axis *axis, double after)
{
	double base = axis->unit == REPORT_BYTES ? 16 : 10;
	double from = after > 0 ? after * base : axis->lo;
	double tick = pow(base, ceil(log(from) / log(base) - SLACK));

	return tick <= axis->hi * (1 + SLACK) ? tick : 0;
}
