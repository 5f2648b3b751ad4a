/* SPDX-License-Identifier: MIT */
/*
 * state.h - what the stand-in CUDA driver knows
 *
 * Lock order: emu_lock() (contexts, memory, modules) -> queue lock (queue.h: streams, operations, captures, events)
 * -> the fake resource manager's lock -> video memory's. Nothing waits for a stream with emu_lock() held.
 */
#ifndef EMU_CUDA_STATE_H
#define EMU_CUDA_STATE_H

#include <stdatomic.h>

#include "gpu/cuda_abi.h"
#include "heap.h"
#include "table.h"

/* Values of the driver's interface that only the emulator needs. */
enum {
	CUDA_ERROR_ALREADY_MAPPED = 208,
	CUDA_ERROR_ILLEGAL_STATE = 401,
	CUDA_ERROR_CAPTURED_EVENT = 907,
};

/* Of modules and kernels that are compiled for the CPU. */
enum {
	CUDA_ERROR_FILE_NOT_FOUND = 301,
	CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
	CUDA_ERROR_LAUNCH_TIMEOUT = 702,
};

/* Of GPUs that reach each other. */
enum {
	CUDA_ERROR_TOO_MANY_PEERS = 711,
	CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED = 2,
};

#define EMU_CTX_STACK 64
#define EMU_CTX_PEERS 16U

/**
 * struct emu_ctx - a context; never freed, so that a stale handle is an error and not a crash
 * @next:    list of all
 * @gpu:     its GPU
 * @id:      another one each time that it starts
 * @alive:   0 after destruction; a primary context comes to life again
 * @sticky:  error that a kernel left behind: every later call gives it
 * @kernels: that are running
 * @loading: thread that loads code and waits for the GPU; the calls of all others wait for it
 * @halt:    kernels compiled for the CPU are to end: the context fails or is destroyed
 * @primary: whether it is the GPU's primary context
 * @retains: primary: holders
 * @heap:    what cuMemAlloc takes from
 * @peers, @nr_peers: contexts of other GPUs whose memory it reaches
 */
struct emu_ctx {
	struct emu_ctx *next;
	struct emu_gpu *gpu;
	_Atomic(unsigned long long) id;
	atomic_int alive;
	atomic_int sticky;
	atomic_int kernels;
	atomic_int loading;
	atomic_uint halt;
	int primary;
	int retains;
	struct emu_heap heap;
	struct emu_ctx *peers[EMU_CTX_PEERS];
	unsigned int nr_peers;
};

struct emu_thread {
	struct emu_ctx *stack[EMU_CTX_STACK];
	int depth;
	int capture_mode;
	int in_host_func; /* a stream has called the program: CUDA may not be called */
};

/* State of the calling thread. */
struct emu_thread *emu_thread(void);

/* Every exported function begins with one of these two: counts the call; gives the error that it must return. */
CUresult emu_enter(void);
CUresult emu_enter_ctx(struct emu_ctx **ctx_p);

/* Whether cuInit() was called, in this process. */
int emu_ready(void);

void emu_lock(void);
void emu_unlock(void);

/* As emu_enter_ctx(), and takes the lock on success. */
CUresult emu_enter_locked(struct emu_ctx **ctx_p);

/* Error of a context that cannot be used (dead, or a kernel failed), else CUDA_SUCCESS. */
CUresult emu_ctx_error(struct emu_ctx *ctx);

/* Context of a user's handle, NULL when there never was one; lock held. */
struct emu_ctx *emu_ctx_find(CUcontext handle);

/* A context has no access to one that is gone; lock held. cuda_peer.c */
void emu_peer_forget(struct emu_ctx *ctx, const struct emu_ctx *gone);

/* A copy is submitted in a context: count it if it is between two GPUs; lock held. cuda_peer.c */
void emu_peer_count(const struct emu_ctx *ctx, uint64_t dst, uint64_t src);

/* Destroy what belongs to contexts, in this order; no lock held. */
void emu_stream_destroy_all(struct emu_ctx *ctx);
void emu_module_destroy_all(struct emu_ctx *ctx);
void emu_alloc_destroy_all(struct emu_ctx *ctx);

enum emu_kind {
	EMU_DEVICE,	/* cuMemAlloc */
	EMU_POOL,	/* cuMemAllocAsync */
	EMU_VMM,	/* one cuMemMap */
	EMU_MANAGED,	/* cuMemAllocManaged */
	EMU_HOST,	/* cuMemHostAlloc */
	EMU_REGISTERED, /* cuMemHostRegister */
	EMU_IMPORTED,	/* cuIpcOpenMemHandle: of another process */
};

struct emu_phys;
struct emu_pool;

/**
 * struct emu_alloc - memory that CUDA knows of
 * @node:        address and size, as asked for
 * @kind:        what made it
 * @ctx:         owner, NULL for memory that belongs to no context
 * @gpu:         where it lies, for host memory the GPU of the context
 * @block:       device and pool memory: where it was cut from
 * @phys:        VMM: what is mapped
 * @pool:        pool memory: the pool
 * @id:          CU_POINTER_ATTRIBUTE_BUFFER_ID, never used again
 * @block_id:    CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID
 * @access:      VMM: what cuMemSetAccess allowed, else read and write
 * @sync_memops: CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
 * @freeing:     pool memory: cuMemFreeAsync is under way
 */
struct emu_alloc {
	struct emu_node node;
	enum emu_kind kind;
	struct emu_ctx *ctx;
	struct emu_gpu *gpu;
	struct emu_block *block;
	struct emu_phys *phys;
	struct emu_pool *pool;
	uint64_t id;
	uint32_t block_id;
	int access;
	int sync_memops;
	int freeing;
};

extern struct emu_table emu_allocs; /* struct emu_alloc */

/* New entry of the table, or NULL; lock held. */
struct emu_alloc *emu_alloc_new(enum emu_kind kind, uint64_t va, uint64_t size);
struct emu_alloc *emu_alloc_find(uint64_t va);

/* Take an allocation out of the table, wait for what still uses it, and free it; lock held, dropped on return. */
void emu_alloc_retire(struct emu_alloc *alloc);

/* Give memory back that is in no table any more; lock held. */
void emu_alloc_release(struct emu_alloc *alloc);

/* Take memory of another process out of the address space; lock held. */
void emu_ipc_unmap(const struct emu_alloc *alloc);

/* Whether the device can access all of [va, va + len); lock held. */
int emu_range_ok(uint64_t va, uint64_t len);

/* Number that is never given twice, for identifiers of memory. */
uint32_t emu_next_id(void);

/* CUresult for a fault point that fires, CUDA_SUCCESS when it does not. */
CUresult emu_cuda_fault(const char *point, CUresult fallback);

/* One allocation of a pool less, after its memory went back; lock held. */
void emu_pool_forget(struct emu_pool *pool);

/* Give unused pool memory back when nothing is queued; no lock held. */
void emu_pools_trim(void);

/* Reservation of device addresses that contains @va, or NULL; lock held. */
struct emu_node *emu_reservation_find(uint64_t va);

#endif
