/* SPDX-License-Identifier: MIT */
/*
 * memory.h - memory of a ring: made by the sender, shown to the receiver as a descriptor
 *
 * One page of words, then the ring. The size is sealed, so that no access can fail because somebody made the file
 * shorter. Children do not get the mappings.
 */
#ifndef SOFTNIC_SHM_MEMORY_H
#define SOFTNIC_SHM_MEMORY_H

#include <stdint.h>

#include "ring.h"

/**
 * bl_shm_memory_make() - Make the memory of a ring
 * @size: of the ring, a power of two, BL_SHM_MIN_SIZE or a page to BL_SHM_MAX_SIZE
 * @ring: receives the mapping
 * @fd_p: receives a descriptor of the memory; the caller closes it with bl_shm_fd_close()
 *
 * Return: 0, -EMFILE, -ENFILE, -ENOMEM, -ENOSPC or other -errno, logged.
 */
int bl_shm_memory_make(size_t size, struct bl_shm_ring *ring, int *fd_p);

/**
 * bl_shm_memory_take() - Map memory that another process made
 * @fd:	  its descriptor; still the caller's
 * @size: of the ring, as the other process says; any number
 * @ring: receives the mapping, in which the ring itself cannot be written
 *
 * Return: 0, -EPROTO: it is not what bl_shm_memory_make() makes, -ENOMEM, other -errno; logged.
 */
int bl_shm_memory_take(int fd, uint64_t size, struct bl_shm_ring *ring);

void bl_shm_memory_unmap(struct bl_shm_ring *ring);

#endif
