/* SPDX-License-Identifier: MIT */
/* error.h - from errno values to what DOCA returns */
#ifndef BL_NET_VERBS_ERROR_H
#define BL_NET_VERBS_ERROR_H

#include "gpunetio/host/doca_error.h"

/* @ret: 0 or -errno; the one place where that becomes a doca_error_t. */
doca_error_t bl_doca_error(int ret);

/* A function was given NULL for an object or an out parameter: logged. */
doca_error_t bl_doca_null(const char *function, const char *what);

#endif
