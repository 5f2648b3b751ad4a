// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/handle: " fmt
#include "deny.h"
#include "driver.h"
#include "error.h"
#include "file.h"
#include "stats.h"
#include "util/log.h"

#define CUFILE_API __attribute__((visibility("default")))

/*
 * A file system in user space would have to reach GPU memory by RDMA itself, with a registration that only NVIDIA's helper
 * library hands out: there is nothing that its table could be called with.
 */
static int check(const CUfileHandle_t *fh, const CUfileDescr_t *descr)
{
	if (!fh || !descr)
		return bl_fail(-BL_CUFILE(CU_FILE_INVALID_VALUE), log_fmt("no place for the handle, or no descriptor"));
	if (descr->type == CU_FILE_HANDLE_TYPE_OPAQUE_FD)
		return 0;
	return bl_fail(-BL_CUFILE(CU_FILE_IO_NOT_SUPPORTED), log_fmt("handle type %d: only OPAQUE_FD is served"),
		       (int)descr->type);
}

CUFILE_API CUfileError_t cuFileHandleRegister(CUfileHandle_t *fh, CUfileDescr_t *descr)
{
	uint64_t handle;
	int ret;

	ret = bl_driver_use();
	if (!ret)
		ret = check(fh, descr);
	if (!ret)
		ret = bl_deny_file(descr->handle.fd);
	if (!ret)
		ret = bl_file_add(descr->handle.fd, &handle);
	if (!ret)
		*fh = (CUfileHandle_t)(uintptr_t)handle;
	bl_stats_op(BL_OP_HANDLE_REGISTER, ret);
	return bl_error_status(ret);
}

CUFILE_API void cuFileHandleDeregister(CUfileHandle_t fh)
{
	/* a child must not close what has its parent's numbers */
	int ret = bl_driver_check();

	if (!ret)
		ret = bl_file_remove((uintptr_t)fh);
	bl_stats_op(BL_OP_HANDLE_DEREGISTER, ret);
}
