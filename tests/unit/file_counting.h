/* SPDX-License-Identifier: MIT */
/* file_counting.h - bringing the counters of libcufile to a known state; for the tests of them */
#ifndef TESTS_UNIT_FILE_COUNTING_H
#define TESTS_UNIT_FILE_COUNTING_H

#include "cufile.h"
#include "tap.h"

#define OK CU_FILE_SUCCESS

/* Counting at a level, from zero. */
static inline void begin(int level)
{
	if (!cuFileUseCount())
		check_eq(cuFileDriverOpen().err, OK);
	check_eq(cuFileSetStatsLevel(3).err, OK);
	check_eq(cuFileStatsStop().err, OK);
	check_eq(cuFileStatsReset().err, OK);
	check_eq(cuFileSetStatsLevel(level).err, OK);
	if (level)
		check_eq(cuFileStatsStart().err, OK);
}

/* Each of these starts from a process whose driver is closed, as a child of an open one may not count. */
static inline void close_all(void)
{
	while (cuFileUseCount())
		check_eq(cuFileDriverClose_v2().err, OK);
}

#endif
