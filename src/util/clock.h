/* SPDX-License-Identifier: MIT */
/* clock.h - time that only goes forward */
#ifndef BL_UTIL_CLOCK_H
#define BL_UTIL_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC in nanoseconds; some 20 ns, no system call on any machine worth measuring on. */
static inline uint64_t bl_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

#endif
