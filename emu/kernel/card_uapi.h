/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * card_uapi.h - ioctl interface of /dev/barlane-card
 *
 * One open file is one GPU address space. It belongs to the process that opened it; every request
 * and mmap of another process is EACCES. Closing it, and the end of that process, frees all it has.
 *
 * mmap: the offset is the offset in video memory, MAP_SHARED only, inside one memory object of the
 * file. An access after the object was freed is SIGBUS. Reserved fields and unknown flags must be
 * zero, else EINVAL.
 */
#ifndef BL_CARD_UAPI_H
#define BL_CARD_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define BL_CARD_PATH	   "/dev/barlane-card"
#define BL_CARD_PAGE_SIZE  65536U     /* GPU page */
#define BL_CARD_BLOCK_SIZE (2U << 20) /* memory objects are multiples of it */
#define BL_CARD_POISON	   0xdb	      /* what every byte of memory that was given back reads as */

/**
 * struct bl_card_info - the card and the address space of this file
 * @size:      bytes of video memory
 * @p2p_token: names this address space to nvidia_p2p_get_pages(), in its process only; never 0
 * @va_space:  goes with the token; never 0
 * @domain:    PCI address: domain
 * @bus:       bus
 * @devfn:     device and function
 * @reserved:  0
 * @pages_off: where memory with struct pages begins
 * @pages_size: bytes of it, 0: there is none
 */
struct bl_card_info {
	__u64 size;
	__u64 p2p_token;
	__u32 va_space;
	__u32 domain;
	__u32 bus;
	__u32 devfn;
	__u32 reserved;
	__u64 pages_off;
	__u64 pages_size;
};

/* Memory that the kernel has struct pages for: mappings of it can be the buffers of direct I/O. */
#define BL_CARD_ALLOC_PAGES 1U

/**
 * struct bl_card_alloc - make a memory object
 * @size:     bytes; rounded up to BL_CARD_BLOCK_SIZE on return
 * @offset:   out: where in video memory
 * @handle:   out: names the object in this file
 * @flags:    BL_CARD_ALLOC_*
 *
 * Mappings of memory with pages, by mmap of this file or of a dma-buf, are uncached; all others are
 * write-combining. Memory with pages that is freed while I/O uses it is given to nobody before that
 * has ended. The driver has such memory when it was loaded with its parameter pages.
 *
 * Errors: EINVAL (size 0), ENOMEM (video memory used up), ENODEV (the card is gone), EOPNOTSUPP (no
 * memory has pages).
 */
struct bl_card_alloc {
	__u64 size;
	__u64 offset;
	__u32 handle;
	__u32 flags;
};

/**
 * struct bl_card_free - free an object
 * @handle:   the object
 * @reserved: 0
 *
 * Takes its addresses away, calls back those who pinned it, and zaps CPU mappings. The storage goes
 * back when the last persistent pin and the last dma-buf are gone. Errors: ENOENT.
 */
struct bl_card_free {
	__u32 handle;
	__u32 reserved;
};

/**
 * struct bl_card_bind - give a part of an object an address on the GPU
 * @va:       address, multiple of BL_CARD_PAGE_SIZE, not 0
 * @len:      bytes, multiple of it
 * @off:      start in the object, multiple of it
 * @handle:   the object
 * @reserved: 0
 *
 * Errors: EINVAL, ENOENT (no such object), EEXIST (the process has something at this address
 * already).
 */
struct bl_card_bind {
	__u64 va;
	__u64 len;
	__u64 off;
	__u32 handle;
	__u32 reserved;
};

/**
 * struct bl_card_range - a range of GPU addresses
 * @va:  start
 * @len: bytes
 *
 * UNBIND: the whole of one BIND, else ENOENT. FREED: any part of one: its owner freed what lay
 * there, but the object stays; pins that touch it are called back.
 */
struct bl_card_range {
	__u64 va;
	__u64 len;
};

/* The dma-buf can be mmapped; without it mmap fails with error 524. */
#define BL_CARD_EXPORT_MMAP 1U

/**
 * struct bl_card_export - make a dma-buf of a part of an object
 * @off:    start in the object, multiple of the CPU's page
 * @len:    bytes, multiple of it
 * @handle: the object
 * @flags:  BL_CARD_EXPORT_*
 * @fd:     out: descriptor, O_CLOEXEC
 * @reserved: 0
 */
struct bl_card_export {
	__u64 off;
	__u64 len;
	__u32 handle;
	__u32 flags;
	__s32 fd;
	__u32 reserved;
};

#define BL_CARD_COUNTERS_VERIFY 1U /* read all poisoned memory first; what changed is counted */

/**
 * struct bl_card_counters - what exists, and what happened since the module was loaded
 * @flags:           in: BL_CARD_COUNTERS_*
 * @used:            bytes of video memory in use, by all processes
 * @pins:            page tables that are out, persistent or not
 * @persistent:      those of them that are persistent
 * @dma_maps:        DMA mappings that are out
 * @dmabufs:         dma-bufs that exist
 * @poisoned:        bytes of free memory that carry the poison
 * @gets:            page tables that were ever handed out
 * @puts:            those that were put
 * @callbacks:       those that were called back
 * @late_puts:       puts of a table that had been called back already
 * @late_writes:     GPU pages found changed after they had been given back
 * @misuses:         calls that the interface forbids
 * @unpoisoned:      objects given back without poison (too large, or unmappable)
 * @lingering:       bytes that were freed and whose pages somebody uses; part of @used
 */
struct bl_card_counters {
	__u64 flags;
	__u64 used;
	__u64 pins;
	__u64 persistent;
	__u64 dma_maps;
	__u64 dmabufs;
	__u64 poisoned;
	__u64 gets;
	__u64 puts;
	__u64 callbacks;
	__u64 late_puts;
	__u64 late_writes;
	__u64 misuses;
	__u64 unpoisoned;
	__u64 lingering;
};

#define BL_CARD_IOC_TYPE     0xbc
#define BL_CARD_IOC_INFO     _IOR(BL_CARD_IOC_TYPE, 1, struct bl_card_info)
#define BL_CARD_IOC_ALLOC    _IOWR(BL_CARD_IOC_TYPE, 2, struct bl_card_alloc)
#define BL_CARD_IOC_FREE     _IOW(BL_CARD_IOC_TYPE, 3, struct bl_card_free)
#define BL_CARD_IOC_BIND     _IOW(BL_CARD_IOC_TYPE, 4, struct bl_card_bind)
#define BL_CARD_IOC_UNBIND   _IOW(BL_CARD_IOC_TYPE, 5, struct bl_card_range)
#define BL_CARD_IOC_FREED    _IOW(BL_CARD_IOC_TYPE, 6, struct bl_card_range)
#define BL_CARD_IOC_EXPORT   _IOWR(BL_CARD_IOC_TYPE, 7, struct bl_card_export)
#define BL_CARD_IOC_COUNTERS _IOWR(BL_CARD_IOC_TYPE, 8, struct bl_card_counters)

#endif
