// SPDX-License-Identifier: MIT
/* A GPU by its PCI address: found among those that CUDA shows, its primary context held. */
#define log_fmt(fmt) "gpu: " fmt
#include "net/gpu.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/log.h"

/**
 * struct address - where a GPU is on PCI; functions of GPUs are 0, and CUDA does not tell them
 */
struct address {
	unsigned int domain;
	unsigned int bus;
	unsigned int device;
};

/* "[domain:]bus:device[.function]", all of it. */
static int parse_address(const char *text, struct address *address)
{
	unsigned int function = 0;
	int end = -1;

	*address = (struct address){ 0 };
	if (sscanf(text, "%8x:%2x:%2x%n.%1x%n", &address->domain, &address->bus, &address->device, &end, &function,
		   &end) >= 3 && !text[end])
		return 0;
	*address = (struct address){ 0 };
	end = -1;
	if (sscanf(text, "%2x:%2x%n.%1x%n", &address->bus, &address->device, &end, &function, &end) >= 2 && !text[end])
		return 0;
	return fail(EINVAL, "%.32s: not a PCI address such as 0000:01:00.0", text);
}

static CUresult address_of(const struct bl_cuda *cuda, CUdevice device, struct address *address)
{
	int domain = 0, bus = 0, slot = 0;
	CUresult err;

	err = cuda->cuDeviceGetAttribute(&domain, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, device);
	if (!err)
		err = cuda->cuDeviceGetAttribute(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device);
	if (!err)
		err = cuda->cuDeviceGetAttribute(&slot, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, device);
	*address = (struct address){ (unsigned int)domain, (unsigned int)bus, (unsigned int)slot };
	return err;
}

/* Look through what CUDA shows; @seen receives the addresses of all, for the message that it is none of them. */
static int find_device(const struct bl_cuda *cuda, const struct address *wanted, char *seen, size_t size,
		       CUdevice *device_p)
{
	struct address address;
	size_t used = 0;
	CUdevice device;
	int count = 0;

	snprintf(seen, size, "none");
	if (cuda->cuDeviceGetCount(&count))
		return -ENOENT;
	for (int i = 0; i < count; i++) {
		if (cuda->cuDeviceGet(&device, i) || address_of(cuda, device, &address))
			continue;
		if (address.domain == wanted->domain && address.bus == wanted->bus &&
		    address.device == wanted->device) {
			*device_p = device;
			return 0;
		}
		if (used < size)
			used += (size_t)snprintf(seen + used, size - used, "%s%04x:%02x:%02x.0", used ? ", " : "",
						 address.domain, address.bus, address.device);
	}
	return -ENOENT;
}

static int attribute(const struct doca_gpu *gpu, int which, int otherwise)
{
	int value = 0;

	return gpu->cuda->cuDeviceGetAttribute(&value, which, gpu->device) ? otherwise : value;
}

static void look_at_features(struct doca_gpu *gpu)
{
	gpu->dmabuf = gpu->cuda->cuMemGetHandleForAddressRange &&
		      attribute(gpu, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, 0);
	/* a driver that does not know the question gives no promise */
	gpu->need_mcst = attribute(gpu, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING, 0) <
			 CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER;
}

/* That the CPU cannot reach GPU memory is no error, but has consequences. */
static void open_lane(struct doca_gpu *gpu)
{
	struct bl_provider_info info;
	int ret;

	if (bl_net_env_number("DOCA_GPUNETIO_DISABLE_GDRCOPY", 0, INT64_MAX, 0)) {
		log_info("gpu %s: GDRCopy usage is disabled by DOCA_GPUNETIO_DISABLE_GDRCOPY", gpu->bus_id);
		return;
	}
	bl_fail_hush(1);
	ret = bl_open(NULL, &gpu->lane);
	bl_fail_hush(-1);
	if (ret) {
		gpu->lane = 0;
		log_warn("gpu %s: the CPU cannot reach its memory, so memory for both is host memory: %s", gpu->bus_id,
			 bl_last_error(NULL));
		return;
	}
	gpu->force_pcie = !bl_ctx_provider(gpu->lane, &info) && info.force_pcie;
	log_info("gpu %s: GDRCopy usage is enabled: the CPU reaches its memory, provider %s", gpu->bus_id, info.name);
}

static int find_cuda(const struct bl_cuda **cuda_p)
{
	const struct bl_cuda *cuda = bl_cuda();
	CUresult err;

	if (!cuda)
		return fail(ENXIO, "no CUDA driver: %s", bl_cuda_error());
	err = cuda->cuInit(0);
	if (err)
		return fail(ENXIO, "cuInit: %s", bl_cuda_strerror(err));
	*cuda_p = cuda;
	return 0;
}

static int open_gpu(struct doca_gpu *gpu, const struct address *address)
{
	char seen[160];
	CUresult err;
	int ret;

	ret = find_cuda(&gpu->cuda);
	if (ret)
		return ret;
	snprintf(gpu->bus_id, sizeof(gpu->bus_id), "%04x:%02x:%02x.0", address->domain & 0xffffffU,
		 address->bus & 0xffU, address->device & 0xffU);
	if (find_device(gpu->cuda, address, seen, sizeof(seen), &gpu->device))
		return fail(ENOENT, "gpu %s: CUDA shows no such GPU (it shows: %s); CUDA_VISIBLE_DEVICES may hide it",
			    gpu->bus_id, seen);
	err = gpu->cuda->cuDevicePrimaryCtxRetain(&gpu->context, gpu->device);
	if (err)
		return fail(ENXIO, "gpu %s: primary context: %s", gpu->bus_id, bl_cuda_strerror(err));
	look_at_features(gpu);
	open_lane(gpu);
	return 0;
}

static void warn_of_sdk(void)
{
	static atomic_flag warned = ATOMIC_FLAG_INIT;
	const char *path = getenv("DOCA_SDK_LIB_PATH");

	if (path && *path && !atomic_flag_test_and_set(&warned))
		log_warn("DOCA_SDK_LIB_PATH %s: this library does all by itself and does not look there", path);
}

doca_error_t doca_gpu_create(const char *gpu_bus_id, struct doca_gpu **gpu_dev)
{
	struct address address;
	struct doca_gpu *gpu;
	int ret;

	if (!gpu_bus_id || !gpu_dev)
		return bl_net_doca(fail(EINVAL, "no PCI address, or no place for the GPU"));
	warn_of_sdk();
	ret = parse_address(gpu_bus_id, &address);
	if (ret)
		return bl_net_doca(ret);
	gpu = calloc(1, sizeof(*gpu));
	if (!gpu)
		return bl_net_doca(fail(ENOMEM, "gpu %.32s: out of memory", gpu_bus_id));
	ret = open_gpu(gpu, &address);
	if (ret) {
		free(gpu);
		return bl_net_doca(ret);
	}
	pthread_mutex_init(&gpu->lock, NULL);
	bl_gpu_list(gpu);
	*gpu_dev = gpu;
	return DOCA_SUCCESS;
}

doca_error_t doca_gpu_destroy(struct doca_gpu *gpu_dev)
{
	struct bl_object *object;
	int ret;

	ret = bl_gpu_get(gpu_dev);
	if (ret)
		return bl_net_doca(ret);
	pthread_mutex_lock(&gpu_dev->lock);
	if (gpu_dev->nr_blocks)
		ret = fail(EINVAL, "gpu %s: %zu blocks of memory are left, queue pairs included", gpu_dev->bus_id,
			   gpu_dev->nr_blocks);
	pthread_mutex_unlock(&gpu_dev->lock);
	bl_gpu_put(gpu_dev);
	if (!ret)
		ret = bl_object_take(BL_GPU, gpu_dev, false, &object);
	/* the original knows no other answer */
	if (ret)
		return DOCA_ERROR_INVALID_VALUE;
	bl_gpu_unlist(gpu_dev);
	if (gpu_dev->lane)
		bl_close(gpu_dev->lane);
	gpu_dev->cuda->cuDevicePrimaryCtxRelease(gpu_dev->device);
	pthread_mutex_destroy(&gpu_dev->lock);
	free(gpu_dev);
	return DOCA_SUCCESS;
}
