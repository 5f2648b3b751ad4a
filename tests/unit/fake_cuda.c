// SPDX-License-Identifier: MIT
#include "fake_cuda.h"

#include <string.h>

#include "fake_rm.h"
#include "tap.h"

#define BLOCK	   (2UL << 20)
#define MAX_ALLOCS 64
#define HOST_VA	   0x5500000000ULL

struct alloc {
	enum fake_kind kind;
	uint64_t va;
	uint64_t size;
	uint32_t object;
	uint32_t offset;
	uint64_t object_size;
	uint64_t id;
	bool freed;
};

struct fake_cuda fake_cuda;
static struct alloc allocs[MAX_ALLOCS];
static size_t nr_allocs;
static uint64_t vram_used, block, block_used;
static uint32_t block_object, next_object;
static int fail_countdown, fail_err;
static bool fail_happened;
static _Thread_local int pushed, retained, streams, handles, capture_mode;

/* A context that is current in this thread, and the one that memory was allocated in. */
#define CTX_APP	  ((CUcontext)0x1000)
#define CTX_OTHER ((CUcontext)0x2000)

static CUresult injected(void)
{
	if (fail_countdown < 0 || fail_countdown--)
		return CUDA_SUCCESS;
	fail_happened = true;
	return fail_err;
}

#define CHECKED                                                                                                        \
	do {                                                                                                           \
		CUresult hit = injected();                                                                             \
		if (hit)                                                                                               \
			return hit;                                                                                    \
	} while (0)

static struct alloc *find(uint64_t va)
{
	for (size_t i = 0; i < nr_allocs; i++) {
		if (!allocs[i].freed && va >= allocs[i].va && va < allocs[i].va + allocs[i].size)
			return &allocs[i];
	}
	return NULL;
}

/* Whole blocks get an object of their own; what is smaller shares one. */
static void place(struct alloc *a)
{
	uint64_t size = (a->size + BLOCK - 1) / BLOCK * BLOCK;

	if (a->kind != FAKE_PLAIN || a->size >= BLOCK / 2) {
		check(vram_used + size <= FAKE_VRAM_SIZE);
		a->object = next_object++;
		a->object_size = size;
		a->va = FAKE_VRAM_VA + vram_used;
		fake_rm_source(a->object, vram_used, size);
		vram_used += size;
		return;
	}
	if (!block_object || block_used + a->size > BLOCK) {
		check(vram_used + BLOCK <= FAKE_VRAM_SIZE);
		block = vram_used;
		block_used = 0;
		block_object = next_object++;
		fake_rm_source(block_object, block, BLOCK);
		vram_used += BLOCK;
	}
	a->object = block_object;
	a->object_size = BLOCK;
	a->offset = (uint32_t)block_used;
	a->va = FAKE_VRAM_VA + block + block_used;
	block_used += (a->size + 511) / 512 * 512;
}

uint64_t fake_cuda_alloc(enum fake_kind kind, size_t size)
{
	struct alloc *a = &allocs[nr_allocs];

	check(nr_allocs < MAX_ALLOCS);
	*a = (struct alloc){.kind = kind, .size = size, .id = nr_allocs + 100};
	if (kind == FAKE_HOST)
		a->va = HOST_VA;
	else
		place(a);
	nr_allocs++;
	return a->va;
}

void fake_cuda_free(uint64_t va)
{
	check(find(va));
	find(va)->freed = true;
}

static CUresult device_get(CUdevice *dev, int ordinal)
{
	CHECKED;
	*dev = 0;
	return ordinal ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

static CUresult device_count(int *count)
{
	CHECKED;
	*count = 1;
	return CUDA_SUCCESS;
}

static CUresult device_attribute(int *value, int attr, CUdevice dev)
{
	CHECKED;
	switch (attr) {
	case 124:
	case 152:
		*value = fake_cuda.dmabuf;
		return CUDA_SUCCESS;
	case 100:
		*value = fake_cuda.coherent;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult pci_id(char *id, int len, CUdevice dev)
{
	CHECKED;
	snprintf(id, (size_t)len, "0000:C1:00.0");
	return CUDA_SUCCESS;
}

static CUresult device_uuid(CUuuid *uuid, CUdevice dev)
{
	CHECKED;
	memcpy(uuid->bytes, "0123456789abcde", 16);
	return CUDA_SUCCESS;
}

static CUresult pointer_attributes(unsigned int nr, int *attrs, void **data, CUdeviceptr ptr)
{
	const struct alloc *a = find(ptr);

	CHECKED;
	for (unsigned int i = 0; i < nr; i++) {
		switch (attrs[i]) {
		case 1:
			*(CUcontext *)data[i] = a && a->kind == FAKE_PLAIN ? CTX_OTHER : NULL;
			break;
		case 2:
			*(unsigned int *)data[i] = !a ? 0 : a->kind == FAKE_HOST ? 1 : 2;
			break;
		case 7:
			*(unsigned long long *)data[i] = a ? a->id : 0;
			break;
		case 8:
			*(unsigned int *)data[i] = a && a->kind == FAKE_MANAGED;
			break;
		case 9:
			*(int *)data[i] = a ? 0 : -2;
			break;
		case 10:
			*(unsigned int *)data[i] = a && a->kind == FAKE_PLAIN;
			break;
		case 11:
		case 19:
			*(CUdeviceptr *)data[i] = a ? a->va : 0;
			break;
		case 12:
			*(size_t *)data[i] = a ? a->size : 0;
			break;
		case 18:
			*(size_t *)data[i] = !a ? 0 : fake_cuda.mapped_size ? fake_cuda.mapped_size : a->size;
			break;
		case 14:
			*(unsigned long long *)data[i] = a && a->kind == FAKE_VMM;
			break;
		case 17:
			*(void **)data[i] = a && a->kind == FAKE_POOL ? (void *)0x3000 : NULL;
			break;
		default:
			return CUDA_ERROR_INVALID_VALUE;
		}
	}
	return CUDA_SUCCESS;
}

static CUresult pointer_attribute(void *data, int attr, CUdeviceptr ptr)
{
	return find(ptr) ? pointer_attributes(1, &attr, &data, ptr) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult ipc_handle(CUipcMemHandle *handle, CUdeviceptr ptr)
{
	const struct rm_blob_layout *l = &fake_cuda.layout;
	const struct alloc *a = find(ptr);
	uint32_t client = FAKE_RM_CUDA_CLIENT, pages, memory, offset;
	char *bytes = handle->reserved;

	CHECKED;
	if (!a || a->kind != FAKE_PLAIN)
		return CUDA_ERROR_INVALID_VALUE;
	if (pushed < 1)
		fake_violation("cuIpcGetMemHandle in another context than the memory's");
	pages = (uint32_t)(a->object_size / 4096);
	memory = a->object;
	offset = a->offset;
	/* plausible to look at, and wrong */
	if (fake_cuda.scramble && a->size < BLOCK)
		offset += 1UL << 20;
	for (size_t at = 0; at < 64; at += 4)
		memcpy(bytes + at, &(uint32_t){0x11000000 + (uint32_t)at * 0x10203}, 4);
	memcpy(bytes + l->size, &a->size, 8);
	memcpy(bytes + l->pages, &pages, 4);
	memcpy(bytes + l->offset, &offset, 4);
	memcpy(bytes + l->client, &client, 4);
	memcpy(bytes + l->memory, &memory, 4);
	return CUDA_SUCCESS;
}

static CUresult mem_alloc(CUdeviceptr *ptr, size_t size)
{
	CHECKED;
	*ptr = fake_cuda_alloc(FAKE_PLAIN, size);
	fake_cuda.nr_allocs++;
	return CUDA_SUCCESS;
}

static CUresult stream_create(CUstream *stream, unsigned int flags)
{
	CHECKED;
	if (flags != 1)
		fake_violation("a stream that waits for others");
	*stream = (CUstream)0x4000;
	streams++;
	return CUDA_SUCCESS;
}

static CUresult stream_destroy(CUstream stream)
{
	streams--;
	return CUDA_SUCCESS;
}

static CUresult stream_sync(CUstream stream)
{
	CHECKED;
	return CUDA_SUCCESS;
}

static uint8_t *vram_at(CUdeviceptr va, size_t size)
{
	const struct alloc *a = find(va);

	if (!a || va + size > a->va + a->size) {
		fake_violation("copy outside an allocation");
		return NULL;
	}
	return fake_vram() + (va - FAKE_VRAM_VA);
}

static CUresult copy_to(CUdeviceptr dst, const void *src, size_t size, CUstream stream)
{
	CHECKED;
	if (!fake_cuda.lost && vram_at(dst, size))
		memcpy(vram_at(dst, size), src, size);
	return CUDA_SUCCESS;
}

static CUresult copy_from(void *dst, CUdeviceptr src, size_t size, CUstream stream)
{
	CHECKED;
	if (vram_at(src, size))
		memcpy(dst, vram_at(src, size), size);
	return CUDA_SUCCESS;
}

static CUresult ctx_get_current(CUcontext *ctx)
{
	CHECKED;
	*ctx = pushed ? CTX_OTHER : CTX_APP;
	return CUDA_SUCCESS;
}

static CUresult ctx_push(CUcontext ctx)
{
	CHECKED;
	pushed++;
	return CUDA_SUCCESS;
}

static CUresult ctx_pop(CUcontext *ctx)
{
	pushed--;
	return CUDA_SUCCESS;
}

/* The thread has the context of another device, so that memory without one needs the primary. */
static CUresult ctx_get_device(CUdevice *dev)
{
	CHECKED;
	*dev = pushed ? 0 : 7;
	return CUDA_SUCCESS;
}

static CUresult primary_retain(CUcontext *ctx, CUdevice dev)
{
	CHECKED;
	*ctx = CTX_OTHER;
	retained++;
	return CUDA_SUCCESS;
}

static CUresult primary_release(CUdevice dev)
{
	retained--;
	return CUDA_SUCCESS;
}

static CUresult exchange_mode(int *mode)
{
	int old = capture_mode;

	capture_mode = *mode;
	*mode = old;
	return CUDA_SUCCESS;
}

static CUresult granularity(size_t *size, const CUmemAllocationProp *prop, int option)
{
	CHECKED;
	*size = BLOCK;
	return CUDA_SUCCESS;
}

static CUresult mem_create(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
			   unsigned long long flags)
{
	CHECKED;
	if (prop->requestedHandleTypes != 1)
		fake_violation("VMM memory that is not exportable");
	*handle = size;
	handles++;
	return CUDA_SUCCESS;
}

static CUresult mem_release(CUmemGenericAllocationHandle handle)
{
	handles--;
	return CUDA_SUCCESS;
}

static CUresult address_reserve(CUdeviceptr *ptr, size_t size, size_t align, CUdeviceptr addr, unsigned long long flags)
{
	CHECKED;
	*ptr = fake_cuda_alloc(FAKE_VMM, size);
	fake_cuda.nr_allocs++;
	return CUDA_SUCCESS;
}

static CUresult address_free(CUdeviceptr ptr, size_t size)
{
	fake_cuda_free(ptr);
	fake_cuda.nr_allocs--;
	return CUDA_SUCCESS;
}

static CUresult mem_map(CUdeviceptr ptr, size_t size, size_t off, CUmemGenericAllocationHandle handle,
			unsigned long long flags)
{
	CHECKED;
	return CUDA_SUCCESS;
}

static CUresult mem_unmap(CUdeviceptr ptr, size_t size)
{
	return CUDA_SUCCESS;
}

static CUresult set_access(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t nr)
{
	CHECKED;
	return CUDA_SUCCESS;
}

static CUresult retain_handle(CUmemGenericAllocationHandle *handle, void *addr)
{
	const struct alloc *a = find((uintptr_t)addr);

	CHECKED;
	if (!a)
		return CUDA_ERROR_INVALID_VALUE;
	*handle = a->object;
	handles++;
	return CUDA_SUCCESS;
}

static CUresult export_handle(void *shareable, CUmemGenericAllocationHandle handle, int type, unsigned long long flags)
{
	int fd;

	CHECKED;
	fd = fake_rm_export((uint32_t)handle);
	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	memcpy(shareable, &fd, sizeof(fd));
	return CUDA_SUCCESS;
}

static int dmabuf_ioctl(struct fake_file *file, unsigned long request, void *arg)
{
	return -25;
}

static int dmabuf_mmap(struct fake_file *file, size_t len, off_t off, uint64_t *vram_off_p)
{
	*vram_off_p = file->word;
	return off ? -22 : 0;
}

static const struct fake_device dmabuf_device = {.ioctl = dmabuf_ioctl, .mmap = dmabuf_mmap};

static CUresult range_handle(void *handle, CUdeviceptr ptr, size_t size, int type, unsigned long long flags)
{
	struct alloc *a = find(ptr);
	int fd;

	CHECKED;
	if (!a || type != 1 || ptr % 4096 || size % 4096 || ptr + size > a->va + a->object_size)
		return CUDA_ERROR_INVALID_VALUE;
	fake_cuda.export_flags = flags;
	fd = fake_sys_adopt("dmabuf", &dmabuf_device, ptr - FAKE_VRAM_VA);
	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	memcpy(handle, &fd, sizeof(fd));
	a->freed = fake_cuda.free_at_export;
	return CUDA_SUCCESS;
}

/* All that is called; what is missing is NULL, so that a call of it is noticed. */
#define ENTRIES                                                                                                        \
	.cuDeviceGet = device_get, \
	.cuDeviceGetCount = device_count, \
	.cuDeviceGetAttribute = device_attribute, \
	.cuDeviceGetPCIBusId = pci_id, \
	.cuPointerGetAttribute = pointer_attribute, \
	.cuPointerGetAttributes = pointer_attributes, \
	.cuIpcGetMemHandle = ipc_handle, \
	.cuMemAlloc = mem_alloc, \
	.cuStreamCreate = stream_create, \
	.cuStreamDestroy = stream_destroy, \
	.cuStreamSynchronize = stream_sync, \
	.cuMemcpyHtoDAsync = copy_to, \
	.cuMemcpyDtoHAsync = copy_from, \
	.cuCtxGetCurrent = ctx_get_current, \
	.cuCtxPushCurrent = ctx_push, \
	.cuCtxPopCurrent = ctx_pop, \
	.cuCtxGetDevice = ctx_get_device, \
	.cuDevicePrimaryCtxRetain = primary_retain, \
	.cuDevicePrimaryCtxRelease = primary_release, \
	.cuThreadExchangeStreamCaptureMode = exchange_mode, \
	.cuMemGetAllocationGranularity = granularity, \
	.cuMemCreate = mem_create, \
	.cuMemRelease = mem_release, \
	.cuMemAddressReserve = address_reserve, \
	.cuMemAddressFree = address_free, \
	.cuMemMap = mem_map, \
	.cuMemUnmap = mem_unmap, \
	.cuMemSetAccess = set_access, \
	.cuMemRetainAllocationHandle = retain_handle, \
	.cuMemExportToShareableHandle = export_handle,

static const struct bl_cuda table = {
	ENTRIES .cuDeviceGetUuid = device_uuid, .cuMemGetHandleForAddressRange = range_handle
};
static const struct bl_cuda table_without_uuid = {ENTRIES .cuMemGetHandleForAddressRange = range_handle};
static const struct bl_cuda table_without_export = {ENTRIES .cuDeviceGetUuid = device_uuid};

const struct bl_cuda *fake_cuda_table(void)
{
	if (fake_cuda.no_export)
		return &table_without_export;
	return fake_cuda.no_uuid ? &table_without_uuid : &table;
}

void fake_cuda_begin(void)
{
	fake_cuda = (struct fake_cuda){.layout = rm_blob_measured};
	memset(fake_vram(), 0, vram_used);
	nr_allocs = 0;
	vram_used = 0;
	block_object = 0;
	next_object = 0x5c000010;
	pushed = retained = streams = handles = 0;
	capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
	fake_cuda_fail_at(-1, 0);
}

void fake_cuda_fail_at(int nr, CUresult err)
{
	fail_countdown = nr;
	fail_err = err;
	fail_happened = false;
}

bool fake_cuda_failed(void)
{
	return fail_happened;
}

void fake_cuda_end(void)
{
	check_eq(pushed, 0);
	check_eq(retained, 0);
	check_eq(streams, 0);
	check_eq(handles, 0);
	check_eq(capture_mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

/* In place of the loader's, see the header. */
const struct bl_cuda *__wrap_bl_cuda(void);
const char *__wrap_bl_cuda_error(void);
const char *__wrap_bl_cuda_strerror(CUresult err);

const struct bl_cuda *__wrap_bl_cuda(void)
{
	return fake_cuda.missing ? NULL : fake_cuda_table();
}

const char *__wrap_bl_cuda_error(void)
{
	return "no driver library in this test";
}

const char *__wrap_bl_cuda_strerror(CUresult err)
{
	return err ? "an error of this test" : "no error";
}
