// SPDX-License-Identifier: MIT
#include "common/cpulist.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>

/* More than any kernel has; keeps sums in range. */
#define MAX_CPU 1000000U

static int take_number(const char **at, unsigned int *value_p)
{
	unsigned int value = 0;

	if (!isdigit((unsigned char)**at))
		return -EINVAL;
	while (isdigit((unsigned char)**at)) {
		value = value * 10 + (unsigned int)(*(*at)++ - '0');
		if (value > MAX_CPU)
			return -EINVAL;
	}
	*value_p = value;
	return 0;
}

/* Next range of a list. Return: 1, 0 at the end, -EINVAL. */
static int take_range(const char **at, unsigned int *first_p, unsigned int *last_p)
{
	int ret;

	if (!**at)
		return 0;
	ret = take_number(at, first_p);
	if (ret)
		return ret;
	*last_p = *first_p;
	if (**at == '-') {
		(*at)++;
		ret = take_number(at, last_p);
		if (ret)
			return ret;
	}
	if (*last_p < *first_p)
		return -EINVAL;
	if (**at == ',' && (*at)[1])
		(*at)++;
	else if (**at)
		return -EINVAL;
	return 1;
}

int tool_cpulist_check(const char *list)
{
	unsigned int first, last;
	int ret;

	while ((ret = take_range(&list, &first, &last)) > 0)
		;
	return ret;
}

/* The first processor from @cpu on that is in a list which was checked; false when there is none. */
static bool next_in(const char *list, unsigned int cpu, unsigned int *next_p, unsigned int *last_p)
{
	unsigned int first, last;
	bool found = false;

	*next_p = *last_p = 0;
	while (take_range(&list, &first, &last) > 0) {
		unsigned int candidate = first > cpu ? first : cpu;

		if (candidate > last || (found && candidate >= *next_p))
			continue;
		*next_p = candidate;
		*last_p = last;
		found = true;
	}
	return found;
}

int tool_cpulist_has(const char *list, unsigned int cpu)
{
	unsigned int next, last;

	if (tool_cpulist_check(list))
		return -EINVAL;
	return next_in(list, cpu, &next, &last) && next == cpu;
}

int tool_cpulist_overlaps(const char *list, const char *other)
{
	unsigned int first, last, next, end;
	int ret;

	if (tool_cpulist_check(list) || tool_cpulist_check(other))
		return -EINVAL;
	while ((ret = take_range(&list, &first, &last)) > 0) {
		if (next_in(other, first, &next, &end) && next <= last)
			return 1;
	}
	return ret;
}

int tool_cpulist_within(const char *list, const char *other)
{
	unsigned int first, last, next, end;
	int ret;

	if (tool_cpulist_check(list) || tool_cpulist_check(other))
		return -EINVAL;
	if (!*list)
		return 0;
	while ((ret = take_range(&list, &first, &last)) > 0) {
		while (first <= last) {
			if (!next_in(other, first, &next, &end) || next != first)
				return 0;
			first = end + 1;
		}
	}
	return ret ? ret : 1;
}
