/* SPDX-License-Identifier: MIT */
/* driver.h - the open count of the library, and what an open needs */
#ifndef BL_FILE_DRIVER_H
#define BL_FILE_DRIVER_H

#include "barlane.h"

/**
 * bl_driver_use() - Make sure that the driver is open
 *
 * The first of cuFileHandleRegister(), cuFileBufRegister(), cuFileRead() and cuFileWrite() opens it, and so counts one
 * use of its own. A child that was forked after the open is refused. Cheap when it is open: two loads.
 * Return: 0, or a negative error of io.h.
 */
int bl_driver_use(void);

/* The core's context, opened with the driver's first use of GPU memory; 0 when no provider can serve (why: bl_last_error()). */
bl_ctx_t bl_driver_ctx(void);

#endif
