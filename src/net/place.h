/* SPDX-License-Identifier: MIT */
/*
 * place.h - long messages of software NICs, moved by the copy engines of GPUs
 *
 * A mover (softnic/snic.h) for memory of GPUs and host memory that CUDA has pinned. Each context whose memory is
 * registered with a NIC gets a lane for each direction: a stream, and a word that the GPU counts up behind each copy, so
 * that the NIC's thread sees the end of one with a load. Lanes are made, and used once, when memory is registered: what
 * a driver makes at first use may wait for kernels that run, and those may wait for the NIC.
 *
 * Locks: one for all (place_lane.c), held for a few calls of the driver at most. Lanes are never freed: a context takes
 * its streams with it.
 */
#ifndef BL_NET_PLACE_H
#define BL_NET_PLACE_H

#include "gpu/ce.h"
#include "reach.h"
#include "softnic/snic.h"

/* Streams for kernels of the driver, which copy within a GPU: while one is between two of them others go on. */
#define BL_LANES_WITHIN 4

/* Streams for copies between two GPUs, for the same reason. */
#define BL_LANES_BETWEEN 2

/* Those from BL_LANE_IN_GPUS on are alike, and so are those from BL_LANE_BETWEEN on. */
enum bl_lane_kind {
	BL_LANE_TO_HOST,
	BL_LANE_TO_GPU,
	BL_LANE_IN_GPUS,
	BL_LANE_BETWEEN = BL_LANE_IN_GPUS + BL_LANES_WITHIN,
	BL_LANE_KINDS = BL_LANE_BETWEEN + BL_LANES_BETWEEN
};

struct bl_place_gpu;
struct bl_place_pinned;

/**
 * struct bl_place_mem - memory as the mover knows it
 * @va:     its first byte, for CPU or GPU
 * @len:    bytes
 * @gpu:    lanes of its context, NULL: host memory
 * @far:    another process' memory on another GPU, which that context reaches
 * @target: of GPU memory
 * @pinned: of host memory that was pinned for it, or NULL
 */
struct bl_place_mem {
	uint64_t va;
	size_t len;
	struct bl_place_gpu *gpu;
	bool far;
	struct bl_ce_target target;
	struct bl_place_pinned *pinned;
};

/**
 * bl_place_open() - Let a region of a software NIC take part
 * @memory: as it is registered
 * @reach:  the same, as the CPU reaches it
 * @mem:    receives mover and what it knows the memory by, to be given to bl_place_close(); as it is, when messages to
 *	    and from there go in packets
 *
 * That memory cannot take part is no error; why is logged at debug level. Host memory is pinned for CUDA unless it is.
 */
void bl_place_open(const struct bl_nic_memory *memory, const struct bl_reach *reach, struct bl_snic_mem *mem);

/* No job uses it any more. */
void bl_place_close(const struct bl_snic_mem *mem);

/* Of host memory that copies within a GPU go through. */
#define BL_PLACE_STAGE (2UL << 20)

/* BARLANE_SNIC_PLACE_WITHIN=gpu: copies within a GPU may be kernels of the driver. */
bool bl_place_by_kernels(void);

/* BARLANE_SNIC_PLACE_BETWEEN=host: GPUs are not given access to each other's memory. */
bool bl_place_by_peers(void);

/* BARLANE_SNIC_PLACE: bytes of a message from which on it is placed; 0: none is. */
size_t bl_place_least(void);

/**
 * bl_place_gpu() - The lanes of the context of GPU memory
 * @cuda:   driver library
 * @target: memory
 * @gpu_p:  receives them
 *
 * Return: 0 or -errno, with the reason.
 */
int bl_place_gpu(const struct bl_cuda *cuda, const struct bl_ce_target *target, struct bl_place_gpu **gpu_p);

/*
 * Have lanes although the process has registered no memory of a GPU: in the context that is current, or of the GPU that
 * the program has opened. A peer's memory may come later. Return: 0 or -errno, with the reason.
 */
int bl_place_gpu_some(const struct bl_cuda *cuda);

/* Whether a lane of that kind works. */
bool bl_place_gpu_can(const struct bl_place_gpu *gpu, enum bl_lane_kind kind);

/* Whether both are memory of GPUs, and not of the same one. */
bool bl_place_is_between(const struct bl_place_mem *dst, const struct bl_place_mem *src);

/* A GPU that has lanes. Return: whether there is one. */
bool bl_place_some_device(CUdevice *device_p);

/* As of struct bl_snic_mover; the lane follows from the kinds of memory. */
int bl_lane_start(void *dst, uint64_t dst_off, void *src, uint64_t src_off, size_t len, struct bl_snic_job *job);
int bl_lane_poll(const struct bl_snic_job *job);

/* The mover, for struct bl_snic_attr; NULL when nothing is placed. */
const struct bl_snic_mover *bl_place_mover(void);

/* A living context's lanes on the GPU of that UUID, or NULL. */
struct bl_place_gpu *bl_place_gpu_of(const struct bl_cuda *cuda, const CUuuid *uuid);

/*
 * A living context's lanes that copy from memory of the GPU of that UUID, on which this process has none. NULL, with
 * the reason: there is none.
 */
struct bl_place_gpu *bl_place_gpu_reaching(const struct bl_cuda *cuda, const CUuuid *uuid);

/* Its context becomes current, until bl_cuda_leave(). 0 or -errno. */
int bl_place_gpu_enter(const struct bl_cuda *cuda, const struct bl_place_gpu *gpu, struct bl_cuda_scope *scope);
const CUuuid *bl_place_gpu_uuid(const struct bl_place_gpu *gpu);
void *bl_place_gpu_stage(const struct bl_place_gpu *gpu);
CUcontext bl_place_gpu_context(const struct bl_place_gpu *gpu);

/* Of struct bl_snic_mover, place_share.c. */
int bl_place_share(void *src, uint8_t bytes[BL_SNIC_SHARE_LEN]);
int bl_place_attach(const uint8_t bytes[BL_SNIC_SHARE_LEN], void **moved_p, size_t *len_p);
int bl_place_detach(void *moved);

/**
 * bl_place_pin() - Have CUDA pin host memory
 * @cuda:     driver library
 * @addr, @len: memory
 * @pinned_p: receives what bl_place_unpin() wants; NULL: the program itself has pinned it
 *
 * Return: 0; -ENODEV: there is no GPU to pin it for yet; or what the driver says, with the reason.
 */
int bl_place_pin(const struct bl_cuda *cuda, void *addr, size_t len, struct bl_place_pinned **pinned_p);
void bl_place_unpin(const struct bl_cuda *cuda, struct bl_place_pinned *pinned);

/* In a child: nothing of the parent's. */
void bl_lanes_forget(void);
void bl_place_gpus_forget(void);
void bl_place_pins_forget(void);

#endif
