// SPDX-License-Identifier: MIT
#include "error.h"

/* The release whose structs the library fills: programs that were built for it rely on their sizes. */
#define CUFILE_MAJOR 1
#define CUFILE_MINOR 15

CUfileError_t cuFileGetVersion(int *version)
{
	if (!version)
		return bl_error_status(BL_CUFILE(CU_FILE_INVALID_VALUE));
	*version = 1000 * CUFILE_MAJOR + 10 * CUFILE_MINOR;
	return bl_error_status(0);
}
