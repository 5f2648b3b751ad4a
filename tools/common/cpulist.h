/* SPDX-License-Identifier: MIT */
/* cpulist.h - the kernel's lists of processors, such as "0-3,8,10-11" */
#ifndef TOOLS_COMMON_CPULIST_H
#define TOOLS_COMMON_CPULIST_H

/**
 * tool_cpulist_check() - Whether a text is a list
 * @list: the text; empty is a list of none
 *
 * Return: 0 or -EINVAL.
 */
int tool_cpulist_check(const char *list);

/* Whether a processor is in a list: 1, 0, or -EINVAL. */
int tool_cpulist_has(const char *list, unsigned int cpu);

/* Whether two lists have a processor in common: 1, 0, or -EINVAL. */
int tool_cpulist_overlaps(const char *list, const char *other);

/* Whether every processor of a list that is not empty is in the other: 1, 0, or -EINVAL. */
int tool_cpulist_within(const char *list, const char *other);

#endif
