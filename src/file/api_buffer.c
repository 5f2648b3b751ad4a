// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/buffer: " fmt
#include "buffer.h"
#include "driver.h"
#include "error.h"
#include "stats.h"
#include "util/log.h"

#define CUFILE_API __attribute__((visibility("default")))

CUFILE_API CUfileError_t cuFileBufRegister(const void *base, size_t length, int flags)
{
	int ret;

	ret = bl_driver_use();
	if (!ret)
		ret = bl_buffer_add(base, length, flags);
	bl_stats_op(BL_OP_BUF_REGISTER, ret);
	return bl_error_status(ret);
}

CUFILE_API CUfileError_t cuFileBufDeregister(const void *base)
{
	int ret = bl_driver_check();

	if (!base)
		ret = bl_fail(-BL_CUFILE(CU_FILE_INVALID_VALUE), log_fmt("no base"));
	else if (!ret)
		ret = bl_buffer_remove(base);
	bl_stats_op(BL_OP_BUF_DEREGISTER, ret);
	return bl_error_status(ret);
}
