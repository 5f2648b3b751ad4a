// SPDX-License-Identifier: MIT
/*
 * Lanes are made, and tried, before a program's kernels run. A direction in which no copy ends meanwhile is left out:
 * within a GPU a driver may copy by a kernel of its own, for which there is no room beside one that fills the GPU.
 */
#define log_fmt(fmt) "net/place: " fmt
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"
#include "gpu/cuda.h"
#include "place_lane.h"
#include "util/clock.h"
#include "net/log.h"

#define FLAGS_SIZE 4096UL /* of the block, at its begin; one line each */
#define LINE	   128U
#define BLOCK_SIZE (FLAGS_SIZE + BL_PLACE_STAGE)
#define TRIAL_NS   2000000000ULL

static struct bl_place_gpu *gpus;

static int cuda_failed(const char *call, CUresult err)
{
	return fail_quiet(bl_cuda_errno(err), "%s: %s", call, bl_cuda_strerror(err));
}

static int make_memory(const struct bl_cuda *cuda, struct bl_place_gpu *gpu)
{
	CUresult err;

	if (!cuda->cuMemHostRegister)
		return fail_quiet(EOPNOTSUPP, "libcuda.so.1 cannot register host memory");
	gpu->block = aligned_alloc(FLAGS_SIZE, BLOCK_SIZE);
	if (!gpu->block)
		return fail_quiet(ENOMEM, "out of memory");
	memset(gpu->block, 0, BLOCK_SIZE);
	err = cuda->cuMemHostRegister(gpu->block, BLOCK_SIZE,
				      CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
	if (err) {
		free(gpu->block);
		return cuda_failed("cuMemHostRegister", err);
	}
	err = cuda->cuMemAlloc(&gpu->scratch, 2 * BL_PLACE_TRIAL);
	if (!err)
		err = cuda->cuPointerGetAttribute(&gpu->id, CU_POINTER_ATTRIBUTE_BUFFER_ID, gpu->scratch);
	if (!err)
		return 0;
	if (gpu->scratch)
		cuda->cuMemFree(gpu->scratch);
	cuda->cuMemHostUnregister(gpu->block);
	free(gpu->block);
	return cuda_failed("cuMemAlloc", err);
}

static int look(const struct bl_cuda *cuda, struct bl_lane *lane, uint32_t seq, bool locked)
{
	int ret;

	if (!locked)
		bl_lanes_lock();
	ret = bl_lane_look(cuda, lane, seq, true);
	if (!locked)
		bl_lanes_unlock();
	return ret;
}

int bl_lane_wait(const struct bl_cuda *cuda, struct bl_lane *lane, uint32_t seq, bool locked)
{
	uint64_t end = bl_now_ns() + TRIAL_NS;
	int ret;

	while ((ret = look(cuda, lane, seq, locked)) == -EAGAIN) {
		if (bl_now_ns() > end)
			return fail_quiet(ETIMEDOUT, "a copy did not end");
		sched_yield();
	}
	return ret;
}

/*
 * One copy of each kind, so that whatever a driver makes at first use is there. That of lanes between GPUs is from host
 * memory: of the other GPU nothing may be known yet.
 */
static int try_lane(const struct bl_cuda *cuda, struct bl_place_gpu *gpu, struct bl_lane *lane, enum bl_lane_kind kind)
{
	struct bl_place_mem host = {.va = (uintptr_t)gpu->block + FLAGS_SIZE},
			    device = {.va = gpu->scratch, .gpu = gpu};
	bool from_host = kind == BL_LANE_TO_GPU, to_host = kind == BL_LANE_TO_HOST;
	int ret;

	ret = bl_lane_post(cuda, lane, kind, to_host ? &host : &device,
			   to_host ? host.va : gpu->scratch + BL_PLACE_TRIAL, from_host ? &host : &device,
			   from_host ? host.va : gpu->scratch, BL_PLACE_TRIAL);
	return ret ? ret : bl_lane_wait(cuda, lane, lane->seq, true);
}

static void make_lane(const struct bl_cuda *cuda, struct bl_place_gpu *gpu, enum bl_lane_kind kind)
{
	static const char *const names[BL_LANE_KINDS] = { "to host memory", "from host memory", "within GPUs" };
	struct bl_lane *lane = &gpu->lanes[kind];
	CUresult err;
	int ret;

	*lane = (struct bl_lane){ .gpu = gpu, .counts = cuda->cuStreamWriteValue32 };
	lane->flag = (uint32_t *)(void *)(gpu->block + (size_t)kind * LINE);
	err = cuda->cuStreamCreate(&lane->stream, CU_STREAM_NON_BLOCKING);
	ret = err ? cuda_failed("cuStreamCreate", err)
		  : try_lane(cuda, gpu, lane, kind < BL_LANE_BETWEEN ? kind : BL_LANE_TO_GPU);
	lane->usable = !ret;
	if (ret)
		log_info("copies %s are made by the CPU: %s",
			 kind >= BL_LANE_BETWEEN ? "between GPUs" :
			 kind > BL_LANE_IN_GPUS	 ? "within GPUs, in another stream," :
						   names[kind],
			 bl_last_error(NULL));
}

static struct bl_place_gpu *find(const struct bl_cuda *cuda, const struct bl_ce_target *target)
{
	struct bl_place_gpu *gpu = gpus;

	/* a context may be at the address of one that was destroyed */
	while (gpu && (gpu->context != target->context || !bl_place_gpu_lives(cuda, gpu)))
		gpu = gpu->next;
	return gpu;
}

static bool is_wanted(const struct bl_cuda *cuda, int kind)
{
	int nr = 0;

	if (kind >= BL_LANE_BETWEEN)
		return !cuda->cuDeviceGetCount(&nr) && nr > 1;
	return kind <= BL_LANE_IN_GPUS || bl_place_by_kernels();
}

/* The context is current. */
static int make(const struct bl_cuda *cuda, const struct bl_ce_target *target, struct bl_place_gpu **gpu_p)
{
	struct bl_place_gpu *gpu = calloc(1, sizeof(*gpu));
	int ret;

	if (!gpu)
		return fail_quiet(ENOMEM, "out of memory");
	gpu->context = target->context;
	gpu->device = target->device;
	gpu->ordinal = target->ordinal;
	gpu->has_uuid = cuda->cuDeviceGetUuid && !cuda->cuDeviceGetUuid(&gpu->uuid, target->device);
	ret = make_memory(cuda, gpu);
	if (ret) {
		free(gpu);
		return ret;
	}
	for (int kind = 0; kind < BL_LANE_KINDS; kind++) {
		if (is_wanted(cuda, kind))
			make_lane(cuda, gpu, (enum bl_lane_kind)kind);
	}
	gpu->next = gpus;
	gpus = gpu;
	*gpu_p = gpu;
	return 0;
}

int bl_place_gpu(const struct bl_cuda *cuda, const struct bl_ce_target *target, struct bl_place_gpu **gpu_p)
{
	struct bl_cuda_scope scope;
	bool made = false;
	int ret = 0;

	bl_lanes_lock();
	*gpu_p = find(cuda, target);
	if (!*gpu_p) {
		ret = bl_ce_enter(cuda, target, &scope);
		if (!ret) {
			ret = make(cuda, target, gpu_p);
			made = !ret;
			bl_cuda_leave(cuda, &scope);
		}
	}
	bl_lanes_unlock();
	if (made)
		bl_place_peers_join(cuda, *gpu_p);
	return ret;
}

static int some_context(const struct bl_cuda *cuda, struct bl_ce_target *target)
{
	struct doca_gpu *gpu;

	if (!cuda->cuCtxGetCurrent(&target->context) && target->context && !cuda->cuCtxGetDevice(&target->device))
		return 0;
	if (bl_gpu_current(&gpu))
		return fail_quiet(ENODEV, "there is no GPU to copy with");
	target->context = gpu->context;
	target->device = gpu->device;
	bl_gpu_put(gpu);
	return 0;
}

int bl_place_gpu_some(const struct bl_cuda *cuda)
{
	struct bl_ce_target target = { .context = NULL };
	struct bl_place_gpu *gpu = NULL;
	struct bl_cuda_ptr ptr;
	struct bl_cuda_scope scope;
	int ret;

	ret = some_context(cuda, &target);
	if (ret)
		return ret;
	/* what CUDA gives for a device is its number */
	target.ordinal = target.device;
	ptr = (struct bl_cuda_ptr){ .ordinal = target.ordinal, .device = target.device, .context = target.context };
	bl_lanes_lock();
	if (!find(cuda, &target)) {
		ret = bl_cuda_enter(cuda, &ptr, &scope);
		if (!ret) {
			ret = make(cuda, &target, &gpu);
			bl_cuda_leave(cuda, &scope);
		}
	}
	bl_lanes_unlock();
	if (!ret && gpu)
		bl_place_peers_join(cuda, gpu);
	return ret;
}

bool bl_place_gpu_lives(const struct bl_cuda *cuda, const struct bl_place_gpu *gpu)
{
	return bl_cuda_ptr_holds(cuda, gpu->scratch, gpu->id);
}

struct bl_place_gpu *bl_place_gpu_first(void)
{
	return gpus;
}

bool bl_place_gpu_can(const struct bl_place_gpu *gpu, enum bl_lane_kind kind)
{
	return atomic_load_explicit(&gpu->lanes[kind].usable, memory_order_relaxed);
}

bool bl_place_is_between(const struct bl_place_mem *dst, const struct bl_place_mem *src)
{
	return dst->gpu && src->gpu && (src->far || dst->gpu->device != src->gpu->device);
}

struct bl_place_gpu *bl_place_gpu_of(const struct bl_cuda *cuda, const CUuuid *uuid)
{
	struct bl_place_gpu *gpu;

	bl_lanes_lock();
	gpu = gpus;
	while (gpu &&
	       (!gpu->has_uuid || memcmp(&gpu->uuid, uuid, sizeof(*uuid)) != 0 || !bl_place_gpu_lives(cuda, gpu)))
		gpu = gpu->next;
	bl_lanes_unlock();
	return gpu;
}

int bl_place_gpu_enter(const struct bl_cuda *cuda, const struct bl_place_gpu *gpu, struct bl_cuda_scope *scope)
{
	struct bl_cuda_ptr ptr = {
		.va = gpu->scratch,
		.ordinal = gpu->ordinal,
		.device = gpu->device,
		.context = gpu->context,
	};

	if (!bl_place_gpu_lives(cuda, gpu))
		return fail_quiet(EIDRM, "its context was destroyed");
	return bl_cuda_enter(cuda, &ptr, scope);
}

const CUuuid *bl_place_gpu_uuid(const struct bl_place_gpu *gpu)
{
	return gpu->has_uuid ? &gpu->uuid : NULL;
}

/* The trials, which use it too, are over by then. */
void *bl_place_gpu_stage(const struct bl_place_gpu *gpu)
{
	return gpu->block + FLAGS_SIZE;
}

CUcontext bl_place_gpu_context(const struct bl_place_gpu *gpu)
{
	return gpu->context;
}

bool bl_place_some_device(CUdevice *device_p)
{
	bool some;

	bl_lanes_lock();
	some = gpus;
	if (some)
		*device_p = gpus->device;
	bl_lanes_unlock();
	return some;
}

void bl_place_gpus_forget(void)
{
	gpus = NULL;
}
