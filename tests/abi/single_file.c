// SPDX-License-Identifier: MIT
/* What a program does with libgdrapi, as the only program of a system that has nothing else. Says which step failed. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "gdrapi.h"
#include "gpu/cuda_abi.h"

#define SIZE 65536

CUresult cuInit(unsigned int flags);
CUresult cuDeviceGet(CUdevice *dev, int ordinal);
CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice dev);
CUresult cuCtxSetCurrent(CUcontext ctx);
CUresult cuMemAlloc_v2(CUdeviceptr *ptr, size_t size);
CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t size);
CUresult cuMemFree_v2(CUdeviceptr ptr);

static int failed(const char *step, int ret)
{
	printf("%s: %d\n", step, ret);
	return 1;
}

static int use_context(void)
{
	CUcontext ctx;
	CUdevice dev;

	return cuInit(0) || cuDeviceGet(&dev, 0) || cuDevicePrimaryCtxRetain(&ctx, dev) || cuCtxSetCurrent(ctx);
}

/* Bytes go to the GPU through the mapping; the GPU and the mapping must both show them. */
static int copy_both_ways(gdr_mh_t mh, void *map, CUdeviceptr gpu)
{
	static uint8_t sent[SIZE], seen[SIZE];
	int i, ret;

	for (i = 0; i < SIZE; i++)
		sent[i] = i * 7 + (i >> 8);
	ret = gdr_copy_to_mapping(mh, map, sent, SIZE);
	if (ret)
		return failed("gdr_copy_to_mapping", ret);
	ret = cuMemcpyDtoH_v2(seen, gpu, SIZE);
	if (ret || memcmp(seen, sent, SIZE))
		return failed("the GPU holds other bytes", ret);
	memset(seen, 0, SIZE);
	ret = gdr_copy_from_mapping(mh, seen, map, SIZE);
	if (ret || memcmp(seen, sent, SIZE))
		return failed("gdr_copy_from_mapping", ret);
	return 0;
}

int main(void)
{
	CUdeviceptr gpu;
	gdr_mh_t mh;
	gdr_t g;
	void *map;
	int ret;

	if (use_context() || cuMemAlloc_v2(&gpu, 2 << 20))
		return failed("CUDA", 0);
	g = gdr_open();
	if (!g)
		return failed("gdr_open", 0);
	ret = gdr_pin_buffer(g, gpu, SIZE, 0, 0, &mh);
	if (ret)
		return failed("gdr_pin_buffer", ret);
	ret = gdr_map(g, mh, &map, SIZE);
	if (ret)
		return failed("gdr_map", ret);
	if (copy_both_ways(mh, map, gpu))
		return 1;
	ret = gdr_unmap(g, mh, map, SIZE);
	if (ret)
		return failed("gdr_unmap", ret);
	ret = gdr_unpin_buffer(g, mh);
	if (ret)
		return failed("gdr_unpin_buffer", ret);
	ret = gdr_close(g);
	if (ret)
		return failed("gdr_close", ret);
	ret = cuMemFree_v2(gpu);
	if (ret)
		return failed("cuMemFree", ret);
	printf("wrote and read %d bytes\n", SIZE);
	return 0;
}
