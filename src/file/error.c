// SPDX-License-Identifier: MIT
#include "error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NR_CUDA_ERRORS 10000

static bool is_code(int err)
{
	return err < BL_CUFILE(CUFILEOP_BASE_ERR) && err > BL_CUFILE(CU_FILE_IO_MAX_ERROR);
}

static bool is_cuda(int err)
{
	return err <= -BL_CUFILE_CUDA_BASE && err > -BL_CUFILE_CUDA_BASE - NR_CUDA_ERRORS;
}

static CUfileOpError code_of_errno(int err)
{
	switch (err) {
	case EINVAL:
	case EBADF:
	case EFAULT:
		return CU_FILE_INVALID_VALUE;
	case ENOMEM:
		return CU_FILE_NOMEM_ERROR;
	case EACCES:
	case EPERM:
	case EROFS:
		return CU_FILE_PERMISSION_DENIED;
	case ENODEV:
	case ENXIO:
		return CU_FILE_DEVICE_NOT_FOUND;
	case EOPNOTSUPP:
	case ENOSYS:
		return CU_FILE_PLATFORM_NOT_SUPPORTED;
	case EMFILE:
	case ENFILE:
		return CU_FILE_GETNEWFD_FAILED;
	default:
		return CU_FILE_IO_ERROR;
	}
}

CUfileError_t bl_error_status(int err)
{
	CUfileError_t status = {.err = CU_FILE_SUCCESS, .cu_err = (CUresult)0};

	if (!err)
		return status;
	if (is_code(err)) {
		status.err = (CUfileOpError)-err;
	} else if (is_cuda(err)) {
		status.err = CU_FILE_CUDA_DRIVER_ERROR;
		status.cu_err = (CUresult)(-err - BL_CUFILE_CUDA_BASE);
	} else if (err < 0 && err > BL_CUFILE(CUFILEOP_BASE_ERR)) {
		status.err = code_of_errno(-err);
	} else {
		status.err = CU_FILE_INTERNAL_ERROR;
	}
	return status;
}

/*
 * The documents say that codes are returned negative. The original was seen to put these into errno instead, and programs
 * that were written with it look there.
 */
static int errno_of_code(int err)
{
	switch (-err) {
	case CU_FILE_INVALID_MAPPING_RANGE:
	case CU_FILE_INVALID_FILE_OPEN_FLAG:
	case CU_FILE_INVALID_VALUE:
	case CU_FILE_HANDLE_NOT_REGISTERED:
	case CU_FILE_INTERNAL_ERROR:
		return -err;
	case CU_FILE_CUDA_POINTER_RANGE_ERROR:
		return EIO;
	default:
		return 0;
	}
}

static int plain(ssize_t result)
{
	int err = result < -BL_CUFILE_CUDA_BASE - NR_CUDA_ERRORS ? BL_CUFILE(CU_FILE_INTERNAL_ERROR) : (int)result;

	return is_cuda(err) ? BL_CUFILE(CU_FILE_CUDA_DRIVER_ERROR) : err;
}

ssize_t bl_error_result(ssize_t result)
{
	int err;

	if (result >= 0)
		return result;
	err = plain(result);
	if (is_code(err) && !errno_of_code(err))
		return err;
	errno = is_code(err) ? errno_of_code(err) : -err;
	return -1;
}

ssize_t bl_error_event(ssize_t result)
{
	return result >= 0 ? result : plain(result);
}

const char *bl_error_text(int err)
{
	static _Thread_local char text[64];

	if (is_cuda(err)) {
		snprintf(text, sizeof(text), "CUDA error %d", -err - BL_CUFILE_CUDA_BASE);
		return text;
	}
	return is_code(err) ? cufileop_status_error((CUfileOpError)-err) : strerror(err < 0 ? -err : err);
}
