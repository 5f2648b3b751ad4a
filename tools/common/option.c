// SPDX-License-Identifier: MIT
#include "common/option.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

static int suffix_shift(const char *suffix)
{
	static const char suffixes[] = "KMGT";
	const char *found;

	if (!*suffix)
		return 0;
	found = strchr(suffixes, toupper((unsigned char)*suffix));
	if (!found || suffix[1])
		return -EINVAL;
	return 10 * (int)(found - suffixes + 1);
}

int tool_number_parse(const char *text, uint64_t max, uint64_t *value_p)
{
	unsigned long long value;
	char *end;
	int shift;

	/* strtoull() takes "-1" for a very large number, and " 1" for one */
	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno == ERANGE)
		return -ERANGE;
	shift = suffix_shift(end);
	if (shift < 0)
		return shift;
	if (value > max >> shift)
		return -ERANGE;
	*value_p = (uint64_t)value << shift;
	return 0;
}

uint64_t tool_number(const char *option, const char *text, uint64_t min, uint64_t max)
{
	uint64_t value;
	int ret;

	ret = tool_number_parse(text, max, &value);
	if (ret == -EINVAL)
		tool_die("option %s: \"%s\" is not a number", option, text);
	if (ret || value < min)
		tool_die("option %s: %s is not in %llu ... %llu", option, text, (unsigned long long)min,
			 (unsigned long long)max);
	return value;
}

int tool_name_value(const char *option, const char *text, const struct tool_name *names)
{
	char known[128] = "";
	size_t used = 0;

	for (const struct tool_name *name = names; name->name; name++) {
		if (!strcmp(name->name, text))
			return name->value;
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "", name->name);
		if (used >= sizeof(known))
			used = sizeof(known) - 1;
	}
	tool_die("option %s: \"%s\" is none of %s", option, text, known);
}

const char *tool_value_name(int value, const struct tool_name *names)
{
	for (const struct tool_name *name = names; name->name; name++) {
		if (name->value == value)
			return name->name;
	}
	return "?";
}
