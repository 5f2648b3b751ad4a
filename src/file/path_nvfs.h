/* SPDX-License-Identifier: MIT */
/* path_nvfs.h - from a request of the lane to one of the module: what one request and many have in common */
#ifndef BL_FILE_PATH_NVFS_H
#define BL_FILE_PATH_NVFS_H

#include "io.h"
#include "nvfs_io.h"

/* The mappings of a pin, made if there are none; for bl_nvfs_pool_put(). 0 or -errno. */
int bl_path_nvfs_pool(const struct bl_mem *mem, struct bl_nvfs_pool **pool_p);

/* What is left of a request, whole blocks of it. 0 or -errno. */
int bl_path_nvfs_request(struct bl_io *io, struct bl_nvfs_request *rq);

/* Count one that has ended in the statistics. */
void bl_path_nvfs_count(const struct bl_nvfs_request *rq);

#endif
