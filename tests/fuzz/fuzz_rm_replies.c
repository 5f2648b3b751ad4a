// SPDX-License-Identifier: MIT
/*
 * Any reply of the resource manager and of the driver library: a GPU is opened, memory found, mapped and given back.
 * One byte per call says how far the reply is from a good one, so that inputs get deep.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "fuzz.h"
#include "gpu/rm/rm_selftest.h"
#include "gpu/rm/rm_target.h"
#include "gpu/rm/rm_view.h"

#define CLIENT 0xc1d00042U
#define VA     0x7f4000000000ULL
#define BAR1   0x3800000000ULL
#define BLOCK  (2U << 20)

static uint32_t next_handle;

static int has(const char *path)
{
	if (strstr(path, "version"))
		return fuzz_byte() % 4 ? 2 : 0;
	return strstr(path, "/dev/nvidia") ? 1 : 0;
}

static void put32(void *arg, size_t at, uint32_t v)
{
	memcpy((char *)arg + at, &v, sizeof(v));
}

static void put64(void *arg, size_t at, uint64_t v)
{
	memcpy((char *)arg + at, &v, sizeof(v));
}

static uint32_t get32(const void *arg, size_t at)
{
	uint32_t v;

	memcpy(&v, (const char *)arg + at, sizeof(v));
	return v;
}

static void *get_ptr(const void *arg, size_t at)
{
	uint64_t v;

	memcpy(&v, (const char *)arg + at, sizeof(v));
	return (void *)(uintptr_t)v;
}

static uint32_t status(void)
{
	return fuzz_byte() % 16 == 15 ? (uint32_t)fuzz_number() : 0;
}

/* A good answer, in which the input may replace a few bytes. */
static void spoil(void *bytes, size_t len)
{
	for (int changes = fuzz_byte() % 16 - 12; changes > 0; changes--)
		((uint8_t *)bytes)[(fuzz_byte() | (size_t)fuzz_byte() << 8) % len] = fuzz_byte();
}

static void reply_control(uint32_t cmd, void *params, size_t size)
{
	uint32_t *pairs;

	switch (cmd) {
	case 0x410110:
	case 0x20801301:
		pairs = get_ptr(params, 8);
		for (uint32_t i = 0; i < get32(params, 0); i++) {
			pairs[2 * i + 1] = BLOCK / 4096;
			spoil(&pairs[2 * i + 1], 4);
		}
		return; /* the pointer in it is the caller's */
	case 0x205:
		put32(params, 8, 5);
		break;
	case 0xd01:
		put32(params, 8, 2);
		break;
	case 0xd07:
		((uint8_t *)params)[8] = 1;
		break;
	case 0x3d08:
		put32(params, 4, 5);
		((uint8_t *)params)[size == 80 ? 12 : 8] = 1;
		break;
	case 0x3d0c:
		put32(params, 8, next_handle++);
		((uint8_t *)params)[520] = 1;
		break;
	default:
		put32(params, 8, 16);
		memcpy((char *)params + 12, "0123456789abcde", 16);
	}
	spoil(params, size);
}

static void reply_cards(void *arg, size_t size)
{
	memset(arg, 0, size);
	*(uint8_t *)arg = 1;
	((uint8_t *)arg)[8] = 0xc1;
	put32(arg, 16, 0xc100);
	put64(arg, 40, BAR1);
	put64(arg, 48, 1ULL << 36);
	spoil(arg, size);
}

static int reply(unsigned long request, void *arg)
{
	size_t size = _IOC_SIZE(request);

	switch (_IOC_NR(request)) {
	case 200:
		reply_cards(arg, size);
		return 0;
	case 201:
		return 0;
	case 210:
		fuzz_bytes((char *)arg + 8, 64);
		return -EINVAL;
	case 0x29:
		put32(arg, 12, status());
		return 0;
	case 0x2a:
		reply_control(get32(arg, 8), get_ptr(arg, 16), get32(arg, 24));
		put32(arg, 28, status());
		return 0;
	case 0x2b:
		put32(arg, 8, next_handle++);
		/* one of the two words is the status, the other is not looked at */
		put32(arg, 24, status());
		put32(arg, 28, status());
		return 0;
	case 0x34:
		put32(arg, 8, next_handle++);
		put32(arg, 24, status());
		return 0;
	case 0x4e:
		put64(arg, 32, BAR1);
		put32(arg, 44, 2U << 23);
		spoil((char *)arg + 32, 16);
		put32(arg, 40, status());
		return 0;
	default:
		put32(arg, 24, status());
		return 0;
	}
}

static const struct fuzz_driver driver = {.has = has, .ioctl = reply};

static CUresult outcome(void)
{
	return fuzz_byte() % 16 == 15 ? (CUresult)fuzz_number() : CUDA_SUCCESS;
}

static CUresult device_get(CUdevice *dev, int ordinal)
{
	*dev = ordinal;
	return outcome();
}

static CUresult pci_id(char *id, int len, CUdevice dev)
{
	if (fuzz_byte() % 16 == 15)
		fuzz_text(id, (size_t)len);
	else
		snprintf(id, (size_t)len, "0000:C1:00.0");
	return outcome();
}

static CUresult uuid(CUuuid *out, CUdevice dev)
{
	memcpy(out->bytes, "0123456789abcde", 16);
	return outcome();
}

static CUresult attributes(unsigned int nr, int *attrs, void **data, CUdeviceptr ptr)
{
	static const struct {
		int attr;
		size_t size;
		uint64_t good;
	} known[] = {{1, 8, 0x1000}, {2, 4, 2}, {7, 8, 9}, {8, 4, 0}, {9, 4, 0}, {10, 4, 1}, {11, 8, VA},
		     {12, 8, 4096}, {14, 8, 1}, {17, 8, 0}, {18, 8, BLOCK}, {19, 8, VA}};

	for (unsigned int i = 0; i < nr; i++) {
		for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++) {
			uint64_t value = fuzz_byte() % 32 == 31 ? fuzz_number() : known[k].good;

			if (known[k].attr == attrs[i])
				memcpy(data[i], &value, known[k].size);
		}
	}
	return outcome();
}

static CUresult ipc_handle(CUipcMemHandle *handle, CUdeviceptr ptr)
{
	memset(handle, 0, sizeof(*handle));
	put64(handle, rm_blob_measured.size, 4096);
	put32(handle, rm_blob_measured.pages, BLOCK / 4096);
	put32(handle, rm_blob_measured.client, CLIENT);
	put32(handle, rm_blob_measured.memory, 0x5c000001);
	spoil(handle, sizeof(*handle));
	return outcome();
}

static CUresult current_context(CUcontext *ctx)
{
	*ctx = (CUcontext)0x1000;
	return outcome();
}

static CUresult current_device(CUdevice *dev)
{
	*dev = 0;
	return outcome();
}

static CUresult push(CUcontext ctx)
{
	return outcome();
}

static CUresult pop(CUcontext *ctx)
{
	*ctx = NULL;
	return CUDA_SUCCESS;
}

static CUresult retain(CUcontext *ctx, CUdevice dev)
{
	*ctx = (CUcontext)0x1000;
	return outcome();
}

static CUresult release(CUdevice dev)
{
	return CUDA_SUCCESS;
}

static CUresult mode(int *value)
{
	return CUDA_SUCCESS;
}

static CUresult retain_handle(CUmemGenericAllocationHandle *handle, void *addr)
{
	*handle = 1;
	return outcome();
}

static CUresult release_handle(CUmemGenericAllocationHandle handle)
{
	return CUDA_SUCCESS;
}

static CUresult export_handle(void *shareable, CUmemGenericAllocationHandle handle, int type, unsigned long long flags)
{
	CUresult err = outcome();
	int fd;

	if (err)
		return err;
	fd = fuzz_fd();
	memcpy(shareable, &fd, sizeof(fd));
	return CUDA_SUCCESS;
}

static const struct bl_cuda cuda = {
	.cuDeviceGet = device_get,
	.cuDeviceGetPCIBusId = pci_id,
	.cuDeviceGetUuid = uuid,
	.cuPointerGetAttributes = attributes,
	.cuIpcGetMemHandle = ipc_handle,
	.cuCtxGetCurrent = current_context,
	.cuCtxGetDevice = current_device,
	.cuCtxPushCurrent = push,
	.cuCtxPopCurrent = pop,
	.cuDevicePrimaryCtxRetain = retain,
	.cuDevicePrimaryCtxRelease = release,
	.cuThreadExchangeStreamCaptureMode = mode,
	.cuMemRetainAllocationHandle = retain_handle,
	.cuMemRelease = release_handle,
	.cuMemExportToShareableHandle = export_handle,
};

static void map_and_unmap(const struct rm_conn *conn, const struct rm_gpu *gpu, const struct rm_target *target)
{
	struct rm_view view;

	if (rm_view_open(conn, gpu, target->memory, 0, 4096U << (fuzz_byte() % 8), &view))
		return;
	must(view.type >= BL_MAP_WC && view.type <= BL_MAP_DEVICE);
	memset(view.addr, 1, view.len);
	rm_view_close(conn, gpu, &view);
}

static void find_and_map(const struct rm_conn *conn, struct rm_gpu *gpu)
{
	struct bl_cuda_scope scope;
	struct bl_cuda_ptr ptr;
	struct rm_target target, other;
	int ret;

	if (bl_cuda_ptr_query(&cuda, VA, &ptr) || bl_cuda_enter(&cuda, &ptr, &scope))
		return;
	if (fuzz_byte() % 2)
		ret = rm_target_plain(conn, gpu, &cuda, &rm_blob_measured, &ptr, &target);
	else
		ret = rm_target_vmm(conn, gpu, &cuda, &ptr, &target);
	bl_cuda_leave(&cuda, &scope);
	if (ret)
		return;
	must(target.size);
	/* any answer is one, and other memory is never the same */
	other = target;
	rm_target_same(conn, &target, &other);
	other.va += BLOCK;
	must(!rm_target_same(conn, &target, &other));
	map_and_unmap(conn, gpu, &target);
	rm_target_free(conn, gpu, &target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct rm_conn *conn;
	struct rm_gpu *gpu;

	fuzz_begin(data, size);
	fuzz_sys(&driver);
	next_handle = 0xcaf00001;
	if (!rm_client_get(&conn)) {
		if (!rm_client_gpu(&cuda, 0, &gpu)) {
			for (int i = fuzz_byte() % 4; i >= 0; i--)
				find_and_map(conn, gpu);
		}
		rm_client_put();
	}
	fuzz_end();
	return 0;
}
