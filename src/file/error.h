/* SPDX-License-Identifier: MIT */
/* error.h - from the lane's negative errors to what cuFile's calls return */
#ifndef BL_FILE_ERROR_H
#define BL_FILE_ERROR_H

#include <sys/types.h>

#include "cufile.h"

/* The negative error of a code: BL_CUFILE(CU_FILE_INVALID_VALUE) is -5022. */
#define BL_CUFILE(code) (-(int)(code))

/* What a call that returns a status gives: errno values become the code that says the same (IO_ERROR when none does). */
CUfileError_t bl_error_status(int err);

/*
 * What cuFileRead() and cuFileWrite() give: bytes as they are; an errno value becomes -1 with errno set; a code becomes
 * what the original was measured to give for it: -1 with errno set to the code, or -code.
 */
ssize_t bl_error_result(ssize_t result);

/* ret of an entry of a batch, *bytes of a stream operation: bytes or -errno / -code. */
ssize_t bl_error_event(ssize_t result);

#endif
