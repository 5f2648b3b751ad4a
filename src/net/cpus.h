/* SPDX-License-Identifier: MIT */
/* cpus.h - a list of CPUs, such as "0-3,8" */
#ifndef BL_NET_CPUS_H
#define BL_NET_CPUS_H

#include <sched.h>

/**
 * bl_cpus_parse() - CPUs of a list
 * @text: numbers and ranges, separated by commas
 * @set:  receives them
 *
 * Return: 0 or -EINVAL: not a list, a range that goes down, a CPU that no set has.
 */
int bl_cpus_parse(const char *text, cpu_set_t *set);

#endif
