/* SPDX-License-Identifier: MIT */
/*
 * driver.h - the open count of the library, and what an open needs
 *
 * Lock order: the driver's lock, then those of files, buffers and the rest; the lock of the context last.
 */
#ifndef BL_FILE_DRIVER_H
#define BL_FILE_DRIVER_H

#include <stdbool.h>

#include "barlane.h"

/**
 * bl_driver_use() - Make sure that the driver is open
 *
 * The first of cuFileHandleRegister(), cuFileBufRegister(), cuFileRead() and cuFileWrite() opens it, and so counts one
 * use of its own. A child that was forked after the open is refused. Cheap when it is open: two loads.
 * Return: 0, or a negative error of io.h.
 */
int bl_driver_use(void);

/**
 * bl_driver_check() - Whether the driver is open; opens nothing
 *
 * Return: 0, -(CU_FILE_DRIVER_CLOSING): it was and is no more, -(CU_FILE_DRIVER_NOT_INITIALIZED): it never was, or
 * this process is a child of the one that opened it.
 */
int bl_driver_check(void);

/* The core's context, opened with the driver's first use of GPU memory; 0 when no provider can serve (why: bl_last_error()). */
bl_ctx_t bl_driver_ctx(void);

/* cuFileDriverOpen(), cuFileDriverClose() and cuFileUseCount(). */
int bl_driver_open(void);
int bl_driver_close(void);
long bl_driver_uses(void);

/**
 * bl_driver_at_close() - Have something done by the last close, and when the library is unloaded
 * @close: called under the driver's lock, when no file and no buffer is registered any more; those added last come first
 * @child: called in a forked child before it uses the library for itself: forgets what was inherited, and takes no lock.
 *         May be NULL
 *
 * For who has threads or other things to end. Adding the same again changes nothing.
 * Return: 0, -ENOMEM: too many.
 */
int bl_driver_at_close(void (*close)(void), void (*child)(void));

/* Guard the configuration. Return: whether the driver is open, here or in the process that this one was forked from. */
bool bl_driver_lock(void);
void bl_driver_unlock(void);

/* Version of the nvidia-fs module. Return: 0, or -errno: there is none. */
int bl_driver_nvfs(unsigned int *major_p, unsigned int *minor_p);

#endif
