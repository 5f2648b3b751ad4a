// SPDX-License-Identifier: MIT
#include "report.h"

#include <math.h>

static const char *scaled(double value, double step, const char *const *units, size_t nr, char *buf, size_t size)
{
	size_t i = 0;

	/* 999.6 is written "1000" with no decimals left: it belongs to the next unit */
	while (i + 1 < nr && value >= step * 0.9995) {
		value /= step;
		i++;
	}
	snprintf(buf, size, "%.*f %s", value >= 99.95 || value == floor(value) ? 0 : value >= 9.995 ? 1 : 2, value,
		 units[i]);
	return buf;
}

static const char *bytes(double value, char *buf, size_t size)
{
	static const char units[] = {0, 'K', 'M', 'G', 'T', 'P'};
	size_t i = 0;

	while (i + 1 < sizeof(units) && value >= 1024 && fmod(value, 1024) == 0) {
		value /= 1024;
		i++;
	}
	if (units[i])
		snprintf(buf, size, "%.0f%c", value, units[i]);
	else
		snprintf(buf, size, "%.0f", value);
	return buf;
}

const char *report_format(enum report_unit unit, double value, char *buf, size_t size)
{
	static const char *const times[] = {"ns", "us", "ms", "s"};
	static const char *const rates[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};

	switch (unit) {
	case REPORT_NS:
		return scaled(value, 1000, times, sizeof(times) / sizeof(times[0]), buf, size);
	case REPORT_RATE:
		return scaled(value, 1000, rates, sizeof(rates) / sizeof(rates[0]), buf, size);
	case REPORT_BYTES:
		break;
	}
	return bytes(value, buf, size);
}
