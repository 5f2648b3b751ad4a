// SPDX-License-Identifier: MIT
#include "net/cpus.h"

#include <errno.h>
#include <stdlib.h>

static int number(const char **text_p, unsigned long *value_p)
{
	const char *text = *text_p;
	char *end;

	/* strtoul() takes signs and blanks */
	if (*text < '0' || *text > '9')
		return -EINVAL;
	*value_p = strtoul(text, &end, 10);
	if (*value_p >= CPU_SETSIZE)
		return -EINVAL;
	*text_p = end;
	return 0;
}

int bl_cpus_parse(const char *text, cpu_set_t *set)
{
	unsigned long first, last;

	CPU_ZERO(set);
	for (;;) {
		if (number(&text, &first))
			return -EINVAL;
		last = first;
		if (*text == '-') {
			text++;
			if (number(&text, &last) || last < first)
				return -EINVAL;
		}
		for (unsigned long cpu = first; cpu <= last; cpu++)
			CPU_SET(cpu, set);
		if (!*text)
			return 0;
		if (*text++ != ',')
			return -EINVAL;
	}
}
