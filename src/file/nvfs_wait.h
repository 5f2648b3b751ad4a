/* SPDX-License-Identifier: MIT */
/* nvfs_wait.h - waiting for the fence of an asynchronous request */
#ifndef BL_FILE_NVFS_WAIT_H
#define BL_FILE_NVFS_WAIT_H

#include "nvfs_map.h"

/**
 * bl_nvfs_wait() - Wait until the last asynchronous request of a mapping has ended
 * @map:         the mapping
 * @deadline_ns: CLOCK_MONOTONIC
 *
 * Looks all the time at first, then takes naps that grow with the time waited: the longer a request, the less it matters
 * when its end is seen.
 * Return: whether it has ended.
 */
bool bl_nvfs_wait(const struct bl_nvfs_map *map, uint64_t deadline_ns);

#endif
