/* SPDX-License-Identifier: MIT */
/*
 * nvfs.h - path nvfs: DMA between drive and GPU by the nvidia-fs module, as the rest of the lane sees it
 *
 * The module is looked for at the first request that could use it, and not again until bl_nvfs_close(). A buffer's
 * mappings are made when requests want them.
 */
#ifndef BL_FILE_NVFS_H
#define BL_FILE_NVFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "barlane.h"
#include "nvfs_pool.h"
#include "path.h"

struct bl_file;

/* Whether the module can be used: NULL, or why not and what would help; valid for ever. Looks for it the first time. */
const char *bl_nvfs_blocked(void);

/* Whether the module is open and Barlane's, which takes batches. Looks for nothing. */
bool bl_nvfs_is_own(void);

/**
 * bl_nvfs_hook() - Whether a storage driver has taken the module's hooks
 * @name: as /proc/driver/nvidia-fs/modules has it: "nvme", "rpcrdma", ...
 *
 * Without them a driver would take the shadow pages for the data. The module offers hooks to drivers when its node is
 * opened, so this opens it.
 */
bool bl_nvfs_hook(const char *name);

/**
 * bl_nvfs_pool_find() - The mappings of a pin that has some
 * @pin:    the pin
 * @pool_p: receives the pool, to be given to bl_nvfs_pool_put()
 *
 * Return: 0, -ENOENT, -ENODEV (bl_nvfs_blocked() says why).
 */
int bl_nvfs_pool_find(bl_pin_t pin, struct bl_nvfs_pool **pool_p);

/* The same, which makes a pool for this memory when there is none. 0, -ENODEV, -ENOMEM. */
int bl_nvfs_pool_make(bl_pin_t pin, const struct bl_nvfs_range *range, struct bl_nvfs_pool **pool_p);

/*
 * The buffer of a pin is being given up, and no request uses it any more: before bl_unpin(), which may be followed by
 * the owner's freeing the memory. When it returns the module has let go of the memory, unless a request that was given
 * up at its deadline is still under way. Cheap for pins that the path never used.
 */
void bl_nvfs_forget(bl_pin_t pin);

/* The driver is being closed: all mappings go, and the nodes are closed. What requests still use goes with them. */
void bl_nvfs_close(void);

/**
 * bl_nvfs_file_supported() - Whether the module could reach a file's drive, and if not, the one condition that blocks
 * @file: registered file, or one whose @fd, @flags, @dev, @ino, @magic, @align and @device are filled in
 * @why:  receives the condition and what would help, or which way it goes
 * @size: bytes of @why, > 0
 *
 * Looks at the file, its file system's mount, the drive below, and the driver's hooks, in this order. Whether the
 * module is there comes last. Reads /proc and /sys: not for hot paths.
 * Return: 0 or -EOPNOTSUPP.
 */
int bl_nvfs_file_supported(const struct bl_file *file, char *why, size_t size);

/*
 * Whether the drive of a file can be told to reach a GPU by the kernel's own direct I/O: without the module, and
 * whatever the options of its mount are. As above.
 */
int bl_nvfs_file_dma(const struct bl_file *file, char *why, size_t size);

extern const struct bl_path_ops bl_path_nvfs;

/**
 * bl_nvfs_run_many() - Carry requests out by one call of the module, or a few
 * @ios: requests whose first path is this one, of which none has moved anything
 * @nr:  how many, 1 to NVIDIA_FS_MAX_BATCH
 *
 * For Barlane's module alone. Each moves all of its bytes, and has @done and @path say so, or none: then it is for
 * bl_io_dispatch(), as if nothing had been.
 */
void bl_nvfs_run_many(struct bl_io *const *ios, unsigned int nr);

#endif
