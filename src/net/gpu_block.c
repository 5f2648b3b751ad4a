// SPDX-License-Identifier: MIT
/* Memory of the four kinds. A block remembers how it was made: a fallback is freed as what it is. */
#define log_fmt(fmt) "gpu memory: " fmt
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/gpu.h"
#include "net/log.h"

/* What cuMemAlloc() aligns to by itself. */
#define DEVICE_ALIGN 256U

static int cuda_failed(const struct doca_gpu *gpu, const char *call, size_t size, CUresult err)
{
	return fail(EIO, "gpu %s: %s of 0x%zx bytes: %s", gpu->bus_id, call, size, bl_cuda_strerror(err));
}

/* Copies by CUDA to and from what devices write wait for each other, as the original has it. */
static int order_copies(struct doca_gpu *gpu, uint64_t va)
{
	unsigned int on = 1;
	CUresult err;

	err = gpu->cuda->cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, va);
	return err ? cuda_failed(gpu, "cuPointerSetAttribute", sizeof(on), err) : 0;
}

static int make_device(struct doca_gpu *gpu, size_t size, size_t align, struct bl_gpu_block *block)
{
	size_t slack = align > DEVICE_ALIGN ? align - DEVICE_ALIGN : 0;
	CUresult err;
	int ret;

	err = gpu->cuda->cuMemAlloc(&block->raw, size + slack);
	if (err)
		return cuda_failed(gpu, "cuMemAlloc", size + slack, err);
	block->made = BL_GPU_MADE_DEVICE;
	block->va = (block->raw + align - 1) & ~(uint64_t)(align - 1);
	ret = order_copies(gpu, block->raw);
	if (ret)
		gpu->cuda->cuMemFree(block->raw);
	return ret;
}

/* A provider that cannot be told to go over PCIe may do so all the same: then the mapping is not a cached one. */
static int check_direct(struct doca_gpu *gpu, bl_pin_t pin)
{
	struct bl_pin_info info;
	int ret = bl_pin_info(gpu->lane, pin, &info);

	if (!ret && info.type == BL_MAP_CACHED)
		ret = fail_quiet(EOPNOTSUPP, "the mapping goes over the coherent link");
	return ret;
}

/* 0: the CPU reaches it from now on. */
static int open_to_cpu(struct doca_gpu *gpu, struct bl_gpu_block *block, size_t size, bool direct)
{
	int ret;

	ret = bl_pin(gpu->lane, block->va, size, direct && gpu->force_pcie ? BL_PIN_FORCE_PCIE : 0, 0, 0, &block->pin);
	if (ret)
		return ret;
	ret = bl_map(gpu->lane, block->pin, size, BL_MAP_NONE, &block->cpu);
	if (ret)
		goto unpin;
	if (direct) {
		ret = check_direct(gpu, block->pin);
		if (ret)
			goto unpin;
	}
	block->made = BL_GPU_MADE_LANE;
	block->pin_size = size;
	return 0;
unpin:
	/* unmaps too */
	bl_unpin(gpu->lane, block->pin);
	return ret;
}

/* Whole pages of the GPU, so that no other allocation lies in what is mapped. -EXDEV: the CPU does not reach it. */
static int make_lane(struct doca_gpu *gpu, size_t size, size_t align, bool direct, struct bl_gpu_block *block)
{
	size_t whole = (size + BL_GPU_PAGE_SIZE - 1) & ~(BL_GPU_PAGE_SIZE - 1);
	int ret;

	ret = make_device(gpu, whole, align > BL_GPU_PAGE_SIZE ? align : BL_GPU_PAGE_SIZE, block);
	if (ret)
		return ret;
	/* that it cannot be is not an error yet */
	bl_fail_hush(1);
	ret = open_to_cpu(gpu, block, whole, direct);
	bl_fail_hush(-1);
	if (!ret)
		return 0;
	gpu->cuda->cuMemFree(block->raw);
	*block = (struct bl_gpu_block){ .type = block->type, .size = block->size };
	return -EXDEV;
}

static int make_host(struct doca_gpu *gpu, size_t size, size_t align, struct bl_gpu_block *block)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (size + page - 1) & ~(page - 1);
	CUdeviceptr va = 0;
	void *host = NULL;
	CUresult err;
	int ret;

	if (!gpu->cuda->cuMemHostRegister || !gpu->cuda->cuMemHostUnregister || !gpu->cuda->cuMemHostGetDevicePointer)
		return fail(EIO, "gpu %s: libcuda.so.1 cannot register host memory", gpu->bus_id);
	/* pages of its own: what is registered is whole pages, and another block's could not be registered again */
	if (posix_memalign(&host, align > page ? align : page, whole))
		return fail(ENOMEM, "gpu %s: no 0x%zx bytes of host memory aligned to 0x%zx", gpu->bus_id, whole, align);
	memset(host, 0, whole);
	err = gpu->cuda->cuMemHostRegister(host, whole, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
	if (err) {
		ret = cuda_failed(gpu, "cuMemHostRegister", whole, err);
		goto free_host;
	}
	/* not always the CPU's address */
	err = gpu->cuda->cuMemHostGetDevicePointer(&va, host, 0);
	if (err) {
		ret = cuda_failed(gpu, "cuMemHostGetDevicePointer", whole, err);
		goto unregister;
	}
	block->made = BL_GPU_MADE_HOST;
	block->va = va;
	block->cpu = host;
	block->host = host;
	block->host_size = whole;
	return 0;
unregister:
	gpu->cuda->cuMemHostUnregister(host);
free_host:
	free(host);
	return ret;
}

static int make_lane_or_host(struct doca_gpu *gpu, size_t size, size_t align, struct bl_gpu_block *block)
{
	const char *why = "the CPU lane is not used";
	int ret = -EXDEV;

	if (gpu->lane) {
		ret = make_lane(gpu, size, align, false, block);
		why = bl_last_error(NULL);
	}
	if (ret != -EXDEV)
		return ret;
	log_warn("gpu %s: 0x%zx bytes that the CPU shall reach are host memory, which is slower for the GPU: %s",
		 gpu->bus_id, size, why);
	return make_host(gpu, size, align, block);
}

static int make_direct(struct doca_gpu *gpu, size_t size, size_t align, struct bl_gpu_block *block)
{
	int ret;

	if (!gpu->lane)
		return fail(EOPNOTSUPP, "gpu %s: data direct needs the CPU lane, which is not used", gpu->bus_id);
	ret = make_lane(gpu, size, align, true, block);
	if (ret == -EXDEV)
		return fail(EOPNOTSUPP, "gpu %s: 0x%zx bytes for data direct: %s", gpu->bus_id, size,
			    bl_last_error(NULL));
	return ret;
}

int bl_gpu_block_make(struct doca_gpu *gpu, size_t size, size_t align, enum doca_gpu_mem_type type,
		      struct bl_gpu_block *block)
{
	*block = (struct bl_gpu_block){ .type = type, .size = size };
	switch (type) {
	case DOCA_GPU_MEM_TYPE_GPU:
		return make_device(gpu, size, align, block);
	case DOCA_GPU_MEM_TYPE_GPU_CPU:
		return make_lane_or_host(gpu, size, align, block);
	case DOCA_GPU_MEM_TYPE_CPU_GPU:
		return make_host(gpu, size, align, block);
	case DOCA_GPU_MEM_TYPE_GPU_CPU_DATA_DIRECT:
		return make_direct(gpu, size, align, block);
	}
	return fail(EINVAL, "gpu %s: no memory type %d", gpu->bus_id, (int)type);
}

/* What cannot be taken out of the way is left: memory under a living mapping must not become somebody else's. */
static int drop_lane(struct doca_gpu *gpu, const struct bl_gpu_block *block)
{
	int ret = bl_unmap(gpu->lane, block->pin, block->cpu, block->pin_size), err;

	err = bl_unpin(gpu->lane, block->pin);
	return ret ? ret : err;
}

static int drop_host(struct doca_gpu *gpu, const struct bl_gpu_block *block)
{
	CUresult err = gpu->cuda->cuMemHostUnregister(block->host);

	if (err)
		return cuda_failed(gpu, "cuMemHostUnregister", block->host_size, err);
	free(block->host);
	return 0;
}

int bl_gpu_block_drop(struct doca_gpu *gpu, struct bl_gpu_block *block)
{
	CUresult err;

	if (block->made == BL_GPU_MADE_HOST)
		return drop_host(gpu, block);
	if (block->made == BL_GPU_MADE_LANE && drop_lane(gpu, block))
		return fail(EIO, "gpu %s: 0x%zx bytes at 0x%" PRIx64 " stay allocated until the process ends: %s",
			    gpu->bus_id, block->size, block->va, bl_last_error(NULL));
	err = gpu->cuda->cuMemFree(block->raw);
	return err ? cuda_failed(gpu, "cuMemFree", block->size, err) : 0;
}
