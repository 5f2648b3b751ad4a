// SPDX-License-Identifier: MIT
/* cuFileBatchIO*(): converts and counts; batch.c does the work. */
#define log_fmt(fmt) "file/batch: " fmt
#include "batch.h"
#include "driver.h"
#include "error.h"
#include "stats.h"
#include "util/log.h"

_Static_assert(sizeof(CUfileBatchHandle_t) == sizeof(uint64_t), "a batch's handle fits a pointer");

static uint64_t id_of(CUfileBatchHandle_t batch)
{
	return (uint64_t)(uintptr_t)batch;
}

#define invalid(fmt, ...) bl_fail(-BL_CUFILE(CU_FILE_INVALID_VALUE), log_fmt(fmt), ##__VA_ARGS__)

static CUfileError_t counted(enum bl_op op, int err)
{
	bl_stats_op(op, err);
	return bl_error_status(err);
}

CUfileError_t cuFileBatchIOSetUp(CUfileBatchHandle_t *batch_idp, unsigned int nr)
{
	uint64_t id = 0;
	int ret = batch_idp ? bl_driver_use() : invalid("set up: no place for the handle");

	if (!ret)
		ret = bl_iobatch_create(nr, &id);
	if (!ret)
		*batch_idp = (CUfileBatchHandle_t)(uintptr_t)id;
	return counted(BL_OP_BATCH_SETUP, ret);
}

CUfileError_t cuFileBatchIOSubmit(CUfileBatchHandle_t batch_idp, unsigned int nr, CUfileIOParams_t *iocbp,
				  unsigned int flags)
{
	int ret;

	if (iocbp && !flags)
		ret = bl_iobatch_submit(id_of(batch_idp), nr, iocbp);
	else
		ret = invalid("submit: entries at %p, flags 0x%x", (void *)iocbp, flags);
	return counted(BL_OP_BATCH_SUBMIT, ret);
}

CUfileError_t cuFileBatchIOGetStatus(CUfileBatchHandle_t batch_idp, unsigned int min_nr, unsigned int *nr,
				     CUfileIOEvents_t *iocbp, struct timespec *timeout)
{
	int ret;

	if (nr && iocbp && min_nr <= *nr)
		ret = bl_iobatch_collect(id_of(batch_idp), min_nr, nr, iocbp, timeout);
	else
		ret = invalid("status: events at %p, at least %u of %u", (void *)iocbp, min_nr, nr ? *nr : 0);
	return counted(BL_OP_BATCH_COMPLETE, ret);
}

/* The original has no error for a batch that it does not know. */
CUfileError_t cuFileBatchIOCancel(CUfileBatchHandle_t batch_idp)
{
	bl_stats_op(BL_OP_BATCH_CANCEL, bl_iobatch_cancel(id_of(batch_idp)));
	return bl_error_status(0);
}

void cuFileBatchIODestroy(CUfileBatchHandle_t batch_idp)
{
	bl_stats_op(BL_OP_BATCH_DESTROY, bl_iobatch_destroy(id_of(batch_idp)));
}
