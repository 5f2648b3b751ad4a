/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * p2ptest_uapi.h - ioctl interface of /dev/bl_p2ptest, a kernel client of nvidia_p2p_*() and of
 * dma-bufs that does what a test program tells it to, wrong things included
 *
 * A slot is a number that the program chooses. Closing the file gives back what its slots still
 * have.
 */
#ifndef BL_P2PTEST_UAPI_H
#define BL_P2PTEST_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define P2PTEST_PATH	 "/dev/bl_p2ptest"
#define P2PTEST_NR_SLOTS 64

#define P2PTEST_PERSISTENT	1U
#define P2PTEST_FORCE_BAR1	2U
#define P2PTEST_NO_CALLBACK	4U /* pass none to nvidia_p2p_get_pages() */
#define P2PTEST_PUT_IN_CALLBACK 8U /* put from the callback, which is forbidden */

/**
 * struct p2ptest_get - pin
 * @slot:       an empty one, or one that was put
 * @flags:      P2PTEST_*
 * @token:      in
 * @va:         in
 * @len:        in
 * @va_space:   in
 * @version:    out: of the page table
 * @page_size:  out
 * @entries:    out
 * @table_flags: out: of a table of version 2, else 0
 * @contiguous: out: every page follows the one before
 * @pa:         out: of the first page
 */
struct p2ptest_get {
	__u32 slot;
	__u32 flags;
	__u64 token;
	__u64 va;
	__u64 len;
	__u32 va_space;
	__u32 version;
	__u32 page_size;
	__u32 entries;
	__u32 table_flags;
	__u32 contiguous;
	__u64 pa;
};

/**
 * struct p2ptest_put - put, with the table that the slot was given, called back or not
 * @slot: the slot
 * @how:  P2PTEST_PERSISTENT: with the function for persistent pins
 * @va:   as told to the driver
 */
struct p2ptest_put {
	__u32 slot;
	__u32 how;
	__u64 va;
};

/**
 * struct p2ptest_state - what became of a pin
 * @slot:       the slot
 * @called:     out: times it was called back
 * @put_result: out: what the put in the callback returned
 * @reserved:   0
 */
struct p2ptest_state {
	__u32 slot;
	__u32 called;
	__s32 put_result;
	__u32 reserved;
};

/**
 * struct p2ptest_write - write through the physical address that the slot was given, also when it
 * was put since
 * @slot: the slot
 * @byte: what
 * @off:  where, from its first page on
 * @len:  how much
 */
struct p2ptest_write {
	__u32 slot;
	__u32 byte;
	__u64 off;
	__u64 len;
};

/**
 * struct p2ptest_dma - map a slot's pages, or a dma-buf, for a device
 * @slot:    the slot; for IMPORT it must be empty
 * @fd:      IMPORT: the dma-buf
 * @domain:  PCI address of the device
 * @bus:     bus
 * @devfn:   device and function
 * @flags:   IMPORT: 1: without move_notify
 * @entries: out: addresses
 * @version: out: of the mapping
 * @addr:    out: the first address
 * @len:     out: bytes
 */
struct p2ptest_dma {
	__u32 slot;
	__s32 fd;
	__u32 domain;
	__u32 bus;
	__u32 devfn;
	__u32 flags;
	__u32 entries;
	__u32 version;
	__u64 addr;
	__u64 len;
};

/**
 * struct p2ptest_imported - what became of an imported dma-buf
 * @slot:  the slot
 * @moved: out: times that move_notify was called
 * @remap: out: what unmapping and mapping again gives
 * @cpu:   out: what begin_cpu_access gives
 */
struct p2ptest_imported {
	__u32 slot;
	__u32 moved;
	__s32 remap;
	__s32 cpu;
};

/**
 * struct p2ptest_addr - address of one page of a slot that is mapped for a device
 * @slot:  the slot
 * @entry: which page
 * @addr:  out: its address for the device
 */
struct p2ptest_addr {
	__u32 slot;
	__u32 entry;
	__u64 addr;
};

#define P2PTEST_IOC_GET	      _IOWR(0xbd, 1, struct p2ptest_get)
#define P2PTEST_IOC_PUT	      _IOW(0xbd, 2, struct p2ptest_put)
#define P2PTEST_IOC_STATE     _IOWR(0xbd, 3, struct p2ptest_state)
#define P2PTEST_IOC_WRITE     _IOW(0xbd, 4, struct p2ptest_write)
#define P2PTEST_IOC_DMA_MAP   _IOWR(0xbd, 5, struct p2ptest_dma)
#define P2PTEST_IOC_DMA_UNMAP _IO(0xbd, 6) /* argument: the slot */
#define P2PTEST_IOC_IMPORT    _IOWR(0xbd, 7, struct p2ptest_dma)
#define P2PTEST_IOC_IMPORTED  _IOWR(0xbd, 8, struct p2ptest_imported)
#define P2PTEST_IOC_DROP      _IO(0xbd, 9) /* argument: the slot of an import */
#define P2PTEST_IOC_DMA_ADDR  _IOWR(0xbd, 10, struct p2ptest_addr)

#endif
