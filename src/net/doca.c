// SPDX-License-Identifier: MIT
#include <errno.h>

#include "net/gpu.h"
#include "net/verbs/error.h"

/* CUDA's failures, which are -EIO in here, are DRIVER in the original. */
doca_error_t bl_net_doca(int err)
{
	switch (-err) {
	case EIO:
		return DOCA_ERROR_DRIVER;
	case EEXIST:
		return DOCA_ERROR_ALREADY_EXIST;
	case EBADFD:
		return DOCA_ERROR_BAD_STATE;
	case ECHILD:
		return DOCA_ERROR_OPERATING_SYSTEM;
	case ENXIO:
		return DOCA_ERROR_INITIALIZATION;
	default:
		return bl_doca_error(err);
	}
}
