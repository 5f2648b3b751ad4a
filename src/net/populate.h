/* SPDX-License-Identifier: MIT */
/* populate.h - having all of a range of host memory there before another thread works on it */
#ifndef BL_NET_POPULATE_H
#define BL_NET_POPULATE_H

#include <stdbool.h>
#include <stddef.h>

/**
 * bl_populate() - Fault a range in, as pinning it for a device would
 * @addr:   host memory
 * @len:    bytes, > 0
 * @writes: it must be writable, and copies of shared pages are made
 *
 * Return: 0; -EFAULT: not mapped, not allowed, or memory of a device that no NIC could pin; -ENOMEM.
 */
int bl_populate(void *addr, size_t len, bool writes);

#endif
