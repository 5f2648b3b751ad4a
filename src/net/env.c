// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "env: " fmt
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "net/gpu.h"
#include "net/log.h"

uint64_t bl_net_env_number(const char *name, uint64_t low, uint64_t high, uint64_t otherwise)
{
	const char *value = getenv(name);
	unsigned long long number;
	char *end;

	if (!value || !*value)
		return otherwise;
	errno = 0;
	number = strtoull(value, &end, 0);
	/* strtoull() takes a minus sign */
	if (!errno && !*end && *value >= '0' && *value <= '9' && number >= low && number <= high)
		return number;
	log_warn("%s %s: not a number of %" PRIu64 " ... %" PRIu64 ", %" PRIu64 " it is", name, value, low, high,
		 otherwise);
	return otherwise;
}
