// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/soft: " fmt
#include "soft.h"

#include <errno.h>
#include <stdlib.h>

#include "softnic/transport.h"
#include "net/log.h"

/* A number of a variable that is set and not empty. 1: there is one, 0: none, -EINVAL. */
static int number(const char *name, unsigned long max, unsigned long *value_p)
{
	const char *text = getenv(name);
	char *end;

	if (!text || !*text)
		return 0;
	errno = 0;
	*value_p = strtoul(text, &end, 10);
	if (errno || *end || *text < '0' || *text > '9' || *value_p > max)
		return fail(EINVAL, "%s \"%s\": not a number from 0 to %lu", name, text, max);
	return 1;
}

static int fault_env(struct bl_snic_attr *attr, struct bl_snic_fault *fault)
{
	const char *text = getenv("BARLANE_SNIC_FAULT"), *bad;

	if (!text || !*text)
		return 0;
	if (bl_snic_fault_parse(text, fault, &bad))
		return fail(EINVAL, "BARLANE_SNIC_FAULT \"%s\": cannot be read from \"%s\" on", text, bad);
	attr->fault = fault;
	log_warn("faults are injected: BARLANE_SNIC_FAULT %s", text);
	return 0;
}

int bl_soft_env(struct bl_snic_attr *attr, struct bl_snic_fault *fault)
{
	unsigned long mtu = 0, floor_ms = 0, cpu = 0, spin_us = 0;
	int ret, has_cpu;

	ret = number("BARLANE_SNIC_MTU", 1 << 20, &mtu);
	if (ret < 0)
		return ret;
	ret = number("BARLANE_SNIC_TIMEOUT_FLOOR_MS", 3600000, &floor_ms);
	if (ret < 0)
		return ret;
	has_cpu = number("BARLANE_SNIC_CPU", 65535, &cpu);
	if (has_cpu < 0)
		return has_cpu;
	ret = number("BARLANE_SNIC_SPIN_US", 1000000, &spin_us);
	if (ret < 0)
		return ret;
	attr->mtu = (uint32_t)mtu;
	attr->timeout_floor_ns = floor_ms * 1000000U;
	attr->cpu = has_cpu ? (int)cpu + 1 : 0;
	attr->spin_us = (uint32_t)spin_us;
	return fault_env(attr, fault);
}
