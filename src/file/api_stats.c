// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/stats: " fmt
#include "error.h"
#include "stats_export.h"
#include "util/log.h"

CUfileError_t cuFileSetStatsLevel(int level)
{
	return bl_error_status(bl_stats_set_level(level));
}

CUfileError_t cuFileGetStatsLevel(int *level)
{
	if (!level)
		return bl_error_status(bl_fail(-BL_CUFILE(CU_FILE_INVALID_VALUE), log_fmt("level: no place for it")));
	*level = bl_stats_level();
	return bl_error_status(0);
}

CUfileError_t cuFileStatsStart(void)
{
	return bl_error_status(bl_stats_start());
}

CUfileError_t cuFileStatsStop(void)
{
	return bl_error_status(bl_stats_stop());
}

CUfileError_t cuFileStatsReset(void)
{
	return bl_error_status(bl_stats_reset());
}

static int check(const void *stats, int level)
{
	if (!stats)
		return bl_fail(-BL_CUFILE(CU_FILE_INVALID_VALUE), log_fmt("statistics: no place for them"));
	if (bl_stats_level() < level)
		return bl_fail(-BL_CUFILE(CU_FILE_INVALID_VALUE), log_fmt("statistics of level %d: the level is %d"), level,
			       bl_stats_level());
	return 0;
}

CUfileError_t cuFileGetStatsL1(CUfileStatsLevel1_t *stats)
{
	int ret = check(stats, 1);
	struct bl_stats_total total;

	if (!ret) {
		bl_stats_total(&total);
		bl_stats_fill1(&total, stats);
	}
	return bl_error_status(ret);
}

CUfileError_t cuFileGetStatsL2(CUfileStatsLevel2_t *stats)
{
	int ret = check(stats, 2);
	struct bl_stats_total total;

	if (!ret) {
		bl_stats_total(&total);
		bl_stats_fill2(&total, stats);
	}
	return bl_error_status(ret);
}

CUfileError_t cuFileGetStatsL3(CUfileStatsLevel3_t *stats)
{
	int ret = check(stats, 3);
	struct bl_stats_total total;

	if (!ret) {
		bl_stats_total(&total);
		bl_stats_fill3(&total, stats);
	}
	return bl_error_status(ret);
}
