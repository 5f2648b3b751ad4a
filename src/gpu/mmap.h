/* SPDX-License-Identifier: MIT */
/* mmap.h - mappings of device memory that no child inherits */
#ifndef BL_GPU_MMAP_H
#define BL_GPU_MMAP_H

#include <stddef.h>
#include <sys/types.h>

#include "gpu/provider.h"

#pragma GCC visibility push(default) /* exported to this project's other libraries, see barlane.map */

/**
 * bl_device_mmap() - Map a device descriptor, readable and writable, not inherited over fork()
 * @fd:     descriptor
 * @len:    bytes, whole CPU pages
 * @off:    file offset
 * @addr_p: receives the address
 *
 * A fork between mmap() and MADV_DONTFORK is held off; if the mark cannot be set there is no mapping.
 * Return: 0 or -errno; -EBUSY when a mapping was made that cannot be removed. Does not call fail().
 */
int bl_device_mmap(int fd, size_t len, off_t off, void **addr_p);

/*
 * Operation "unmap" of providers whose kernel driver takes its side back by itself when the mapping goes.
 * Return: 0 or -errno, with the reason.
 */
int bl_device_unmap(void *priv, struct bl_backing *backing, struct bl_mapping *mapping);

/* Open a device node with O_CLOEXEC; children close it. Return: descriptor or -errno; does not call fail(). */
int bl_device_open(const char *path);

/* Close what bl_device_open() gave. */
void bl_device_close(int fd);

#pragma GCC visibility pop

#endif
