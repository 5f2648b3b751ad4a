// SPDX-License-Identifier: MIT
/*
 * GPUs that reach each other's memory: without that the driver takes a copy from one to the other through host memory.
 * The access is between contexts, and each has to be given its own.
 */
#define log_fmt(fmt) "net/place: " fmt
#include <errno.h>
#include <string.h>

#include "gpu/cuda.h"
#include "place_lane.h"
#include "net/log.h"

/* 0; or why not, with the reason. */
static int can_reach(const struct bl_cuda *cuda, CUdevice from, CUdevice to)
{
	CUresult err;
	int can = 0;

	if (!bl_place_by_peers())
		return fail_quiet(EOPNOTSUPP, "BARLANE_SNIC_PLACE_BETWEEN says so");
	if (!cuda->cuDeviceCanAccessPeer || !cuda->cuCtxEnablePeerAccess)
		return fail_quiet(EOPNOTSUPP, "libcuda.so.1 has no access between GPUs");
	err = cuda->cuDeviceCanAccessPeer(&can, from, to);
	if (err)
		return fail_quiet(bl_cuda_errno(err), "cuDeviceCanAccessPeer: %s", bl_cuda_strerror(err));
	return can ? 0 : fail_quiet(EOPNOTSUPP, "device %d does not reach the memory of device %d", from, to);
}

/* The context of @from is current. */
static int enable(const struct bl_cuda *cuda, const struct bl_place_gpu *from, const struct bl_place_gpu *to)
{
	CUresult err;
	int ret;

	ret = can_reach(cuda, from->device, to->device);
	if (ret)
		return ret;
	err = cuda->cuCtxEnablePeerAccess(to->context, 0);
	if (err && err != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
		return fail_quiet(bl_cuda_errno(err), "cuCtxEnablePeerAccess: %s", bl_cuda_strerror(err));
	return 0;
}

static int try_copy(const struct bl_cuda *cuda, struct bl_place_gpu *from, struct bl_place_gpu *to,
		    enum bl_lane_kind kind)
{
	struct bl_place_mem src = {.va = from->scratch, .gpu = from}, dst = {.va = to->scratch, .gpu = to};
	struct bl_lane *lane = &from->lanes[kind];
	uint32_t seq;
	int ret;

	bl_lanes_lock();
	ret = bl_lane_post(cuda, lane, kind, &dst, dst.va, &src, src.va, BL_PLACE_TRIAL);
	seq = lane->seq;
	bl_lanes_unlock();
	return ret ? ret : bl_lane_wait(cuda, lane, seq, false);
}

/*
 * One copy in each stream, for what a driver makes at the first. The context of @from is current. Return: 0, when at
 * least the first of them, without which the others are not used, can be used.
 */
static int try_copies(const struct bl_cuda *cuda, struct bl_place_gpu *from, struct bl_place_gpu *to)
{
	int ret;

	for (int kind = BL_LANE_BETWEEN; kind < BL_LANE_KINDS; kind++) {
		if (!bl_place_gpu_can(from, (enum bl_lane_kind)kind))
			ret = fail_quiet(EOPNOTSUPP, "the stream could not be used before");
		else
			ret = try_copy(cuda, from, to, (enum bl_lane_kind)kind);
		if (ret)
			from->lanes[kind].usable = false;
		if (ret && kind == BL_LANE_BETWEEN)
			return ret;
	}
	return 0;
}

static void join(const struct bl_cuda *cuda, struct bl_place_gpu *from, struct bl_place_gpu *to)
{
	struct bl_cuda_scope scope;
	int ret, tried;

	ret = bl_place_gpu_enter(cuda, from, &scope);
	if (ret)
		return;
	ret = enable(cuda, from, to);
	if (ret)
		log_info("copies from device %d to device %d go through host memory: %s", from->ordinal, to->ordinal,
			 bl_last_error(NULL));
	tried = try_copies(cuda, from, to);
	if (tried)
		log_info("copies from device %d to device %d are made by the CPU: %s", from->ordinal, to->ordinal,
			 bl_last_error(NULL));
	else if (!ret)
		log_info("copies from device %d to device %d go from memory to memory", from->ordinal, to->ordinal);
	bl_cuda_leave(cuda, &scope);
}

void bl_place_peers_join(const struct bl_cuda *cuda, struct bl_place_gpu *gpu)
{
	struct bl_place_gpu *other;

	bl_lanes_lock();
	other = bl_place_gpu_first();
	bl_lanes_unlock();
	for (; other; other = other->next) {
		if (other->device == gpu->device || !bl_place_gpu_lives(cuda, other))
			continue;
		join(cuda, gpu, other);
		join(cuda, other, gpu);
	}
}

static int device_of(const struct bl_cuda *cuda, const CUuuid *uuid, CUdevice *device_p)
{
	CUuuid seen;
	int nr = 0;

	if (!cuda->cuDeviceGetUuid || cuda->cuDeviceGetCount(&nr))
		return fail_quiet(ENODEV, "CUDA names no GPUs");
	for (int i = 0; i < nr; i++) {
		if (!cuda->cuDeviceGet(device_p, i) && !cuda->cuDeviceGetUuid(&seen, *device_p) &&
		    !memcmp(&seen, uuid, sizeof(seen)))
			return 0;
	}
	return fail_quiet(ENODEV, "CUDA shows this process no such GPU");
}

struct bl_place_gpu *bl_place_gpu_reaching(const struct bl_cuda *cuda, const CUuuid *uuid)
{
	struct bl_place_gpu *gpu;
	CUdevice device;

	if (device_of(cuda, uuid, &device))
		return NULL;
	fail_quiet(ENODEV, "no memory of a GPU is registered here");
	bl_lanes_lock();
	gpu = bl_place_gpu_first();
	while (gpu && (!bl_place_gpu_lives(cuda, gpu) || !gpu->lanes[BL_LANE_BETWEEN].usable ||
		       can_reach(cuda, gpu->device, device)))
		gpu = gpu->next;
	bl_lanes_unlock();
	return gpu;
}
