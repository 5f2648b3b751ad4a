/* SPDX-License-Identifier: MIT */
/* error.h - from the lane's negative errors to what cuFile's calls return */
#ifndef BL_FILE_ERROR_H
#define BL_FILE_ERROR_H

#include <stdbool.h>
#include <sys/types.h>

#include "gpu/cuda_abi.h"

#include "cufile.h"

/* The negative error of a code: BL_CUFILE(CU_FILE_INVALID_VALUE) is -5022. */
#define BL_CUFILE(code) (-(int)(code))

/* A call of the CUDA driver failed: -(10000 + its error), so that cu_err can say which. */
#define BL_CUFILE_CUDA_BASE 10000
#define BL_CUFILE_CUDA(result) (-(BL_CUFILE_CUDA_BASE + (int)(result)))

/**
 * bl_error_status() - What a call that returns a status gives
 * @err: 0 or a negative error
 *
 * errno values become the code that says the same, CU_FILE_IO_ERROR when none does; errors of CUDA become
 * CU_FILE_CUDA_DRIVER_ERROR with cu_err.
 */
CUfileError_t bl_error_status(int err);

/**
 * bl_error_result() - What cuFileRead() and cuFileWrite() give
 * @result: bytes or a negative error
 *
 * Bytes as they are; an errno value becomes -1 with errno set; a code becomes what the original was measured to give for
 * it: -1 with errno set to the code, or to EINVAL or EIO for those that the original has no code for.
 */
ssize_t bl_error_result(ssize_t result);

/* ret of an entry of a batch, *bytes of a stream operation: bytes, -errno or -code. */
ssize_t bl_error_event(ssize_t result);

/* A negative error in words; valid until the thread's next call. */
const char *bl_error_text(int err);

#endif
