/* SPDX-License-Identifier: MIT */
/*
 * gpu.h - a GPU as the network lane uses it: its context, its memory, doorbell registers shown to it
 *
 * struct doca_gpu is what programs have; it is looked up by its pointer (object.h) before it is used.
 */
#ifndef BL_NET_GPU_H
#define BL_NET_GPU_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "barlane.h"
#include "gpu/cuda.h"
#include "gpunetio/host/doca_gpunetio.h"
#include "net/object.h"

#define BL_GPU_BUCKETS 256U

/** enum bl_gpu_made - how a block of memory was made, and is given back */
enum bl_gpu_made {
	BL_GPU_MADE_DEVICE, /* cuMemAlloc */
	BL_GPU_MADE_LANE,   /* cuMemAlloc, pinned and mapped by the CPU lane */
	BL_GPU_MADE_HOST,   /* host memory, registered with CUDA */
};

/**
 * struct bl_gpu_block - memory of a GPU, or that it reaches
 * @next:     in its bucket
 * @made:     how
 * @type:     kind that was asked for
 * @va:	      GPU's address, aligned as was asked for: its key
 * @cpu:      CPU's address, NULL: none
 * @size:     bytes from there
 * @raw:      what cuMemAlloc() gave
 * @host:     what was allocated, of @host_size bytes
 * @pin:      of the CPU lane
 * @pin_size: bytes that are pinned and mapped
 */
struct bl_gpu_block {
	struct bl_gpu_block *next;
	enum bl_gpu_made made;
	enum doca_gpu_mem_type type;
	uint64_t va;
	void *cpu;
	size_t size;
	CUdeviceptr raw;
	void *host;
	size_t host_size;
	bl_pin_t pin;
	size_t pin_size;
};

/**
 * struct doca_gpu - a GPU
 * @object:	as it is known to others; users: exported queue pairs, doorbell registers
 * @next:	in the list of GPUs
 * @cuda:	driver library
 * @device:	CUDA's device
 * @context:	its primary context, retained
 * @bus_id:	"dddd:bb:dd.f"
 * @lane:	context of the CPU lane, 0: the CPU cannot reach GPU memory
 * @force_pcie: the lane can reach it over PCIe where there is a coherent link
 * @dmabuf:	the driver makes dma-bufs of its memory
 * @need_mcst:	what a NIC wrote may be seen by the GPU later than the completion
 * @lock:	guards what follows
 * @blocks:	memory, by the GPU's address
 * @nr_blocks:	how many
 * @asked_uar, @has_uar: whether a register was asked about, and the last answer
 */
struct doca_gpu {
	struct bl_object object;
	struct doca_gpu *next;
	const struct bl_cuda *cuda;
	CUdevice device;
	CUcontext context;
	char bus_id[16];
	bl_ctx_t lane;
	bool force_pcie;
	bool dmabuf;
	bool need_mcst;
	pthread_mutex_t lock;
	struct bl_gpu_block *blocks[BL_GPU_BUCKETS];
	size_t nr_blocks;
	bool asked_uar;
	bool has_uar;
};

/* Look a GPU up and use it until bl_gpu_put(). 0, -EINVAL, -EACCES. */
int bl_gpu_get(struct doca_gpu *handle);
void bl_gpu_put(struct doca_gpu *gpu);

/* Put a GPU into the list that bl_gpu_current() looks at, and give it out; take it out of the list. */
void bl_gpu_list(struct doca_gpu *gpu);
void bl_gpu_unlist(struct doca_gpu *gpu);

/* Whether the GPUs are those of the process that this one was forked from: nothing of them may be used. */
bool bl_gpu_forked(void);

/**
 * bl_gpu_current() - The GPU that a call without one means
 * @gpu_p: receives the GPU of the thread's current context if there is one of it, else the one that was created last;
 *	   to be given to bl_gpu_put()
 *
 * Return: 0, -EINVAL (there is none), -EACCES.
 */
int bl_gpu_current(struct doca_gpu **gpu_p);

/**
 * struct bl_gpu_scope - a thread's state before bl_gpu_enter()
 * @mode: its stream capture mode
 */
struct bl_gpu_scope {
	int mode;
};

/**
 * bl_gpu_enter() - Make the GPU's context current
 * @gpu:   used GPU
 * @scope: receives what bl_gpu_leave() needs
 *
 * Captures of other threads are not disturbed by what follows.
 * Return: 0 or -EIO with the reason.
 */
int bl_gpu_enter(struct doca_gpu *gpu, struct bl_gpu_scope *scope);
void bl_gpu_leave(struct doca_gpu *gpu, const struct bl_gpu_scope *scope);

/**
 * bl_gpu_alloc() - Memory of a kind
 * @gpu:     used GPU
 * @size:    bytes, > 0
 * @align:   power of two; 0: a page of the CPU
 * @type:    kind; falls back as doca_gpu_mem_alloc() does
 * @block_p: receives the block, owned by the GPU's table until bl_gpu_free()
 *
 * Return: 0, -EINVAL, -ENOMEM (host memory), -EIO (CUDA), -EOPNOTSUPP (data direct).
 */
int bl_gpu_alloc(struct doca_gpu *gpu, size_t size, size_t align, enum doca_gpu_mem_type type,
		 struct bl_gpu_block **block_p);

/* Free a block; NULL is none. 0, or -EIO: the driver did not take all of it back. */
int bl_gpu_free(struct doca_gpu *gpu, struct bl_gpu_block *block);

/* Make and give back one block, in its context; gpu_block.c. Same results. */
int bl_gpu_block_make(struct doca_gpu *gpu, size_t size, size_t align, enum doca_gpu_mem_type type,
		      struct bl_gpu_block *block);
int bl_gpu_block_drop(struct doca_gpu *gpu, struct bl_gpu_block *block);

/* CPU's address of something in a block of the GPU's, NULL: the CPU does not reach it. */
void *bl_gpu_block_cpu(struct doca_gpu *gpu, uint64_t va);

/**
 * bl_gpu_address() - Where the GPU sees memory
 * @gpu:  used GPU
 * @addr: host memory known to CUDA, or GPU memory
 * @what: name for the message that it cannot, NULL: there is none
 * @va_p: receives the GPU's address
 *
 * Return: 0, -EINVAL (CUDA does not know the memory).
 */
int bl_gpu_address(struct doca_gpu *gpu, const void *addr, const char *what, uint64_t *va_p);

/**
 * bl_gpu_is_device() - Whether memory is the GPU's
 * @gpu:      used GPU
 * @addr:     any address
 * @device_p: receives true for GPU memory, false for host memory and for all that CUDA does not know
 *
 * Return: 0, -EIO (CUDA does not say).
 */
int bl_gpu_is_device(struct doca_gpu *gpu, const void *addr, bool *device_p);

/**
 * bl_gpu_cpu_view() - Where the CPU sees memory
 * @gpu:    used GPU
 * @addr:   host memory, or GPU memory of bl_gpu_alloc()
 * @view_p: receives the CPU's address, NULL: it does not reach it
 *
 * Return: 0, -EIO (CUDA does not say what memory it is).
 */
int bl_gpu_cpu_view(struct doca_gpu *gpu, void *addr, void **view_p);

/* Copy and fill, in the GPU's context, and wait. 0 or -EIO. */
int bl_gpu_write(struct doca_gpu *gpu, uint64_t va, const void *src, size_t len);
int bl_gpu_read(struct doca_gpu *gpu, void *dst, uint64_t va, size_t len);
int bl_gpu_fill(struct doca_gpu *gpu, uint64_t va, unsigned char value, size_t len);

/* The same for memory that may be the host's: the CPU fills what it sees at @cpu, if that is not NULL. */
int bl_gpu_fill_any(struct doca_gpu *gpu, uint64_t va, void *cpu, unsigned char value, size_t len);

/* dma-buf of whole pages. 0, -EINVAL, -EOPNOTSUPP. */
int bl_gpu_dmabuf(struct doca_gpu *gpu, uint64_t va, size_t size, int *fd_p);

/**
 * struct bl_gpu_uar - a doorbell register shown to a GPU; gpu_uar.c
 */
struct bl_gpu_uar;

/**
 * bl_gpu_uar_get() - Show a register to a GPU
 * @gpu:   used GPU; used by the export, too
 * @reg:   CPU's address
 * @quiet: do not log a failure
 * @uar_p: receives the export, to be given to bl_gpu_uar_put()
 *
 * Return: 0, -EINVAL, -ENOMEM, -EIO (the driver does not map it), with the reason.
 */
int bl_gpu_uar_get(struct doca_gpu *gpu, void *reg, bool quiet, struct bl_gpu_uar **uar_p);
int bl_gpu_uar_put(struct bl_gpu_uar *uar);

/* GPU's address of the register. */
uint64_t *bl_gpu_uar_address(const struct bl_gpu_uar *uar);

/* How many exports of registers there are, of all GPUs; for tests. */
size_t bl_gpu_uar_count(void);

/* What the original's functions return for 0 or -errno. */
doca_error_t bl_net_doca(int err);

/* Value of an environment variable that is a number of a range; what makes no sense is warned of, and is @otherwise. */
uint64_t bl_net_env_number(const char *name, uint64_t low, uint64_t high, uint64_t otherwise);

#endif
