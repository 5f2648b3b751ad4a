/* SPDX-License-Identifier: MIT */
/* mem.h - reading and writing memory of the NIC's user; the lock is held */
#ifndef SOFTNIC_MEM_H
#define SOFTNIC_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "nic.h"

/* Return: 0, what the memory's own read says, or -EFAULT: it is there no more. */
int bl_snic_mem_read(const struct bl_snic_mem *mem, uint64_t off, void *dst, size_t len);

/*
 * Bytes arrive from the front to the back: who sees the last word, of up to 8 aligned bytes, sees the rest, and what
 * was written before. Return: 0, what the memory's own write says, or -EFAULT: it is there no more.
 */
int bl_snic_mem_write(struct bl_snic *nic, const struct bl_snic_mem *mem, uint64_t off, const void *src, size_t len);

/*
 * The same without order among such writes, of memory with put: nothing of it counts until bl_snic_mem_order(), which
 * comes before what tells of it. Return: as above.
 */
int bl_snic_mem_put(struct bl_snic *nic, const struct bl_snic_mem *mem, uint64_t off, const void *src, size_t len);

/* The same of 64 bytes that are seen all at once, at a multiple of 64 of memory with put_line. */
int bl_snic_mem_put_line(struct bl_snic *nic, const struct bl_snic_mem *mem, uint64_t off, const void *src);

/* All of these before anything that is written later. */
void bl_snic_mem_order(struct bl_snic *nic);

/* Where it lies; NULL: behind functions alone. */
static inline void *bl_snic_mem_at(const struct bl_snic_mem *mem, uint64_t off)
{
	return mem->addr ? (char *)mem->addr + off : NULL;
}

/* Whether a CPU's atomic instructions work on it. */
static inline bool bl_snic_mem_is_ordinary(const struct bl_snic_mem *mem)
{
	return !mem->read && !mem->write;
}

/* Before anything is written by which somebody learns of earlier writes: they are seen first, whoever owns the memory.
 */
void bl_snic_mem_settle(struct bl_snic *nic);

/* At the end of a pass, or before a peer is told: earlier writes are at least on their way. */
void bl_snic_mem_push(struct bl_snic *nic);

/* The memory goes away. */
void bl_snic_mem_forget(struct bl_snic *nic, const struct bl_snic_mem *mem);

/* Either both functions or an address; both with an address as well is memory that is not ordinary. */
bool bl_snic_mem_is_valid(const struct bl_snic_mem *mem);

#endif
