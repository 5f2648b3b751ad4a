/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * nvidia_fs.h - ioctl interface of /dev/nvidia-fsN, versions 2.12 and later
 *
 * The binary interface of NVIDIA's nvidia-fs module; user space of either project works with the module of the other.
 * Every command encodes the size of an int, whatever its payload is: the numbers are fixed and spelled out. The module
 * reads the whole union for each of them, so an argument is never smaller than union nvidia_fs_arg.
 *
 * Commands that fail give -1 with errno EPERM, and the reason, a negative errno value, in the eight bytes at
 * NVIDIA_FS_RETURN_OFFSET of the argument: MAP, READ and WRITE. What fails before the argument was read (the module is
 * being unloaded, the argument cannot be read) has its reason in errno and leaves the argument alone. Reasons of BATCH
 * are in its entries, by Barlane's module; that of NVIDIA writes none there.
 */
#ifndef NVIDIA_FS_UAPI_H
#define NVIDIA_FS_UAPI_H

#include <linux/types.h>

#define NVIDIA_FS_PATH	    "/dev/nvidia-fs" /* and the minor number */
#define NVIDIA_FS_MAX_NODES 16

#define NVIDIA_FS_IOC_REMOVE	      0x40047401U /* does nothing: munmap unregisters */
#define NVIDIA_FS_IOC_READ	      0x40047402U
#define NVIDIA_FS_IOC_MAP	      0x40047403U
#define NVIDIA_FS_IOC_WRITE	      0x40047404U
#define NVIDIA_FS_IOC_SET_RDMA_INFO   0x40047405U
#define NVIDIA_FS_IOC_GET_RDMA_INFO   0x40047406U
#define NVIDIA_FS_IOC_CLEAR_RDMA_INFO 0x40047407U
#define NVIDIA_FS_IOC_BATCH	      0x40047408U

/* Barlane's own: NVIDIA's module answers ENOTTY. It encodes its struct, and its errors are in errno. */
#define NVIDIA_FS_IOC_UNMAP 0x40107480U

/* Offsets and sizes of files, and addresses of GPUs, are multiples of this, whatever the CPU's page is. */
#define NVIDIA_FS_BLOCK	     4096U
#define NVIDIA_FS_GPU_PAGE   65536U
#define NVIDIA_FS_MAX_SHADOW (16U << 20)
#define NVIDIA_FS_MAX_BATCH  256U

#define NVIDIA_FS_RETURN_OFFSET 32

#define NVIDIA_FS_PACKED __attribute__((packed, aligned(8)))

/* PCI address of a GPU in nvidia_fs_map.pdevinfo. */
#define NVIDIA_FS_PDEV(domain, bus, devfn) ((__u64)(domain) << 32 | (__u64)(bus) << 8 | (devfn))

/**
 * struct nvidia_fs_map - bind GPU memory to a shadow mapping
 * @size:      bytes of GPU memory
 * @pdevinfo:  NVIDIA_FS_PDEV() of the GPU
 * @cpuvaddr:  start of the mapping that mmap() of the node gave
 * @gpuvaddr:  device address, any alignment
 * @end_fence_addr: page for struct nvidia_fs_meta, aligned to a block; out: reason of a failure. After UNMAP it may be 0
 * @sbuf_block: blocks of the shadow mapping
 * @is_bounce_buffer: for the module's statistics
 * @pad:       0
 */
struct nvidia_fs_map {
	__s64 size;
	__u64 pdevinfo;
	__u64 cpuvaddr;
	__u64 gpuvaddr;
	__u64 end_fence_addr;
	__u32 sbuf_block;
	__u16 is_bounce_buffer;
	__u8 pad[2];
} NVIDIA_FS_PACKED;

/**
 * struct nvidia_fs_file - which file a descriptor must be, and where in the GPU's memory
 * @inum:       inode, not 0
 * @generation: of the inode; 0: any
 * @majdev:     device of the file system; of a block device its own
 * @mindev:     see @majdev
 * @devptroff:  bytes from nvidia_fs_map.gpuvaddr
 */
struct nvidia_fs_file {
	__u64 inum;
	__u32 generation;
	__u32 majdev;
	__u32 mindev;
	__u64 devptroff;
} NVIDIA_FS_PACKED;

#define NVIDIA_FS_IO_SYNC	(1U << 0)
#define NVIDIA_FS_IO_ALLOWREADS (1U << 2) /* READ on a descriptor that is only open for writing */
#define NVIDIA_FS_IO_USE_RKEYS	(1U << 3)
#define NVIDIA_FS_IO_OP_SHIFT	4 /* of entries of a batch: 0 read, 1 write */

/**
 * struct nvidia_fs_io - READ, WRITE, and an entry of a batch
 * @cpuvaddr:  start of the shadow mapping
 * @offset:    in the file, whole blocks
 * @size:      bytes, whole blocks
 * @end_fence_value: what an asynchronous request stores when it has ended, not 0
 * @ioctl_return: out: bytes or a negative errno value; 0 for an asynchronous request that was accepted
 * @file:      which file @fd must be
 * @fd:        descriptor with O_DIRECT
 * @flags:     NVIDIA_FS_IO_*
 * @pad:       0
 */
struct nvidia_fs_io {
	__u64 cpuvaddr;
	__s64 offset;
	__u64 size;
	__u64 end_fence_value;
	__s64 ioctl_return;
	struct nvidia_fs_file file;
	__s32 fd;
	__u8 flags;
	__u8 pad[3];
} NVIDIA_FS_PACKED;

/**
 * struct nvidia_fs_batch - several READs and WRITEs
 * @ctx_id:     not looked at
 * @nents:      1 to NVIDIA_FS_MAX_BATCH
 * @io_entries: address of struct nvidia_fs_io[@nents], whose flags say which of the two
 */
struct nvidia_fs_batch {
	__u64 ctx_id;
	__u64 nents;
	__u64 io_entries;
} NVIDIA_FS_PACKED;

struct nvidia_fs_set_rdma {
	__u64 cpuvaddr;
	__u64 gid[2];
	__u32 qp_num;
	__u16 lid;
	__u8 flags;   /* bit 0: gid is valid */
	__u8 version; /* 2 or more */
	__u32 dc_key;
	__u32 rkey[16];
	__u32 nkeys; /* 1 */
} NVIDIA_FS_PACKED;

struct nvidia_fs_rdma_info {
	__u8 version;
	__u8 flags;
	__u16 lid;
	__u32 qp_num;
	__u64 rem_vaddr;
	__u32 size;
	__u32 rkey;
	__u64 gid[2];
	__u32 dc_key;
} NVIDIA_FS_PACKED;

struct nvidia_fs_get_rdma {
	__u64 cpuvaddr;
	__u64 gpu_buf_offset;		 /* not looked at */
	struct nvidia_fs_rdma_info info; /* out */
} NVIDIA_FS_PACKED;

struct nvidia_fs_clear_rdma {
	__u64 cpuvaddr;
} NVIDIA_FS_PACKED;

/**
 * struct nvidia_fs_unmap - give GPU memory back and keep the shadow mapping, for a later MAP
 * @cpuvaddr: start of the shadow mapping; 0: nothing is done, and a module that answers 0 is Barlane's
 * @flags:    0
 * @pad:      0
 *
 * The page for reports stays pinned: nvidia_fs_map.end_fence_addr may be 0 in the MAP that follows, and means that page.
 * Errors: EBUSY (a request is in flight), EINVAL (no such mapping, nothing is bound to it, or what has to be 0 is not).
 */
struct nvidia_fs_unmap {
	__u64 cpuvaddr;
	__u32 flags;
	__u32 pad;
} NVIDIA_FS_PACKED;

/* What an argument points to: 104 bytes that can be read and written. */
union nvidia_fs_arg {
	struct nvidia_fs_map map;
	struct nvidia_fs_io io;
	struct nvidia_fs_batch batch;
	struct nvidia_fs_set_rdma set_rdma;
	struct nvidia_fs_get_rdma get_rdma;
	struct nvidia_fs_clear_rdma clear_rdma;
};

#define NVIDIA_FS_CLEAN	 0U
#define NVIDIA_FS_SPARSE 1U /* blocks of the file that are not on the drive: user space zeroes them in GPU memory */
#define NVIDIA_FS_DIED	 2U /* the GPU memory was freed: nothing is left to do but munmap() */

#define NVIDIA_FS_SPARSE_MAGIC	 0xabc0cba1abc2cba3ULL
#define NVIDIA_FS_SPARSE_VERSION 1U
#define NVIDIA_FS_MAX_HOLES	 768U

struct nvidia_fs_hole {
	__u16 start;  /* blocks from nvidia_fs_meta.start_fd_offset */
	__u16 npages; /* blocks */
};

/**
 * struct nvidia_fs_meta - the page that a request reports to
 * @end_fence_val: stored last, behind a barrier
 * @result:     bytes or a negative errno value of an asynchronous request
 * @state:      NVIDIA_FS_CLEAN, _SPARSE or _DIED
 * @pad:        0
 * @start_magic: NVIDIA_FS_SPARSE_MAGIC; with what follows only while @state is SPARSE
 * @meta_version: NVIDIA_FS_SPARSE_VERSION
 * @nholes:     entries of @hole
 * @start_fd_offset: place in the file that the holes count from
 * @hole:       the holes
 */
struct nvidia_fs_meta {
	__u64 end_fence_val;
	__s64 result;
	__u32 state;
	__u32 pad;
	__u64 start_magic;
	__u32 meta_version;
	__u32 nholes;
	__s64 start_fd_offset;
	struct nvidia_fs_hole hole[NVIDIA_FS_MAX_HOLES];
};

#define NVIDIA_FS_AT(type, field, at)                                                                                  \
	_Static_assert(__builtin_offsetof(struct nvidia_fs_##type, field) == (at), #type "." #field)
#define NVIDIA_FS_SIZE(type, size) _Static_assert(sizeof(struct nvidia_fs_##type) == (size), "size of " #type)
#define NVIDIA_FS_IS(name, value)  _Static_assert((name) == (value), #name)

/* Direction write, type 't', size of an int: what a stock header's macros give. */
#define NVIDIA_FS_CODE(nr) (1U << 30 | 4U << 16 | 0x74U << 8 | (nr))

NVIDIA_FS_IS(NVIDIA_FS_IOC_REMOVE, NVIDIA_FS_CODE(1));
NVIDIA_FS_IS(NVIDIA_FS_IOC_READ, NVIDIA_FS_CODE(2));
NVIDIA_FS_IS(NVIDIA_FS_IOC_MAP, NVIDIA_FS_CODE(3));
NVIDIA_FS_IS(NVIDIA_FS_IOC_WRITE, NVIDIA_FS_CODE(4));
NVIDIA_FS_IS(NVIDIA_FS_IOC_SET_RDMA_INFO, NVIDIA_FS_CODE(5));
NVIDIA_FS_IS(NVIDIA_FS_IOC_GET_RDMA_INFO, NVIDIA_FS_CODE(6));
NVIDIA_FS_IS(NVIDIA_FS_IOC_CLEAR_RDMA_INFO, NVIDIA_FS_CODE(7));
NVIDIA_FS_IS(NVIDIA_FS_IOC_BATCH, NVIDIA_FS_CODE(8));

_Static_assert(NVIDIA_FS_IOC_UNMAP == (1U << 30 | sizeof(struct nvidia_fs_unmap) << 16 | 0x74U << 8 | 0x80U), "UNMAP");

NVIDIA_FS_SIZE(map, 48);
NVIDIA_FS_AT(map, size, 0);
NVIDIA_FS_AT(map, pdevinfo, 8);
NVIDIA_FS_AT(map, cpuvaddr, 16);
NVIDIA_FS_AT(map, gpuvaddr, 24);
NVIDIA_FS_AT(map, end_fence_addr, NVIDIA_FS_RETURN_OFFSET);
NVIDIA_FS_AT(map, sbuf_block, 40);
NVIDIA_FS_AT(map, is_bounce_buffer, 44);
NVIDIA_FS_AT(map, pad, 46);

NVIDIA_FS_SIZE(file, 32);
NVIDIA_FS_AT(file, inum, 0);
NVIDIA_FS_AT(file, generation, 8);
NVIDIA_FS_AT(file, majdev, 12);
NVIDIA_FS_AT(file, mindev, 16);
NVIDIA_FS_AT(file, devptroff, 20);

NVIDIA_FS_SIZE(io, 80);
NVIDIA_FS_AT(io, cpuvaddr, 0);
NVIDIA_FS_AT(io, offset, 8);
NVIDIA_FS_AT(io, size, 16);
NVIDIA_FS_AT(io, end_fence_value, 24);
NVIDIA_FS_AT(io, ioctl_return, NVIDIA_FS_RETURN_OFFSET);
NVIDIA_FS_AT(io, file, 40);
NVIDIA_FS_AT(io, fd, 72);
NVIDIA_FS_AT(io, flags, 76);
NVIDIA_FS_AT(io, pad, 77);

NVIDIA_FS_SIZE(batch, 24);
NVIDIA_FS_AT(batch, ctx_id, 0);
NVIDIA_FS_AT(batch, nents, 8);
NVIDIA_FS_AT(batch, io_entries, 16);

NVIDIA_FS_SIZE(set_rdma, 104);
NVIDIA_FS_AT(set_rdma, cpuvaddr, 0);
NVIDIA_FS_AT(set_rdma, gid, 8);
NVIDIA_FS_AT(set_rdma, qp_num, 24);
NVIDIA_FS_AT(set_rdma, lid, 28);
NVIDIA_FS_AT(set_rdma, flags, 30);
NVIDIA_FS_AT(set_rdma, version, 31);
NVIDIA_FS_AT(set_rdma, dc_key, 32);
NVIDIA_FS_AT(set_rdma, rkey, 36);
NVIDIA_FS_AT(set_rdma, nkeys, 100);

NVIDIA_FS_SIZE(rdma_info, 48);
NVIDIA_FS_AT(rdma_info, version, 0);
NVIDIA_FS_AT(rdma_info, flags, 1);
NVIDIA_FS_AT(rdma_info, lid, 2);
NVIDIA_FS_AT(rdma_info, qp_num, 4);
NVIDIA_FS_AT(rdma_info, rem_vaddr, 8);
NVIDIA_FS_AT(rdma_info, size, 16);
NVIDIA_FS_AT(rdma_info, rkey, 20);
NVIDIA_FS_AT(rdma_info, gid, 24);
NVIDIA_FS_AT(rdma_info, dc_key, 40);

NVIDIA_FS_SIZE(get_rdma, 64);
NVIDIA_FS_AT(get_rdma, cpuvaddr, 0);
NVIDIA_FS_AT(get_rdma, gpu_buf_offset, 8);
NVIDIA_FS_AT(get_rdma, info, 16);

NVIDIA_FS_SIZE(clear_rdma, 8);
_Static_assert(sizeof(union nvidia_fs_arg) == 104, "size of arg");

NVIDIA_FS_SIZE(hole, 4);
NVIDIA_FS_AT(meta, end_fence_val, 0);
NVIDIA_FS_AT(meta, result, 8);
NVIDIA_FS_AT(meta, state, 16);
NVIDIA_FS_AT(meta, pad, 20);
NVIDIA_FS_AT(meta, start_magic, 24);
NVIDIA_FS_AT(meta, meta_version, 32);
NVIDIA_FS_AT(meta, nholes, 36);
NVIDIA_FS_AT(meta, start_fd_offset, 40);
NVIDIA_FS_AT(meta, hole, 48);
_Static_assert(sizeof(struct nvidia_fs_meta) <= NVIDIA_FS_BLOCK, "meta fits a block");

#endif
