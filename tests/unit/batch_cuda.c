// SPDX-License-Identifier: MIT
#include "batch_cuda.h"

#include <string.h>
#include <sys/mman.h>

#include "fake_sys.h"
#include "tap.h"

#define MAX_THINGS 8192
#define MAX_BLOCKS 16

/* A copy, or with @len 0 a mark. */
struct thing {
	CUstream stream;
	void *dst;
	const void *src;
	size_t len;
	uint32_t value;
};

struct block {
	unsigned char *addr;
	size_t size;
};

unsigned char host_buffers[2 * HOST_BUFFER] __attribute__((aligned(4096)));
struct gpu gpu;
static struct thing things[MAX_THINGS];
static struct block blocks[MAX_BLOCKS];
static size_t nr_blocks;
static struct block registered[MAX_BLOCKS];
static size_t nr_registered;
static int capture_mode;
static CUcontext current;

#define THE_CONTEXT ((CUcontext)0x1000)

static CUresult failing(void)
{
	return gpu.calls++ == gpu.fail_at ? gpu.fail_with : CUDA_SUCCESS;
}

#define MAY_FAIL                                                                                                       \
	do {                                                                                                           \
		CUresult why = failing();                                                                              \
		if (why)                                                                                               \
			return why;                                                                                    \
	} while (0)

static void run(const struct thing *thing)
{
	if (thing->len)
		memcpy(thing->dst, thing->src, thing->len);
	else
		__atomic_store_n((uint32_t *)thing->dst, thing->value, __ATOMIC_RELEASE);
}

static void add(struct thing thing)
{
	if (!gpu.hold) {
		run(&thing);
		return;
	}
	check(gpu.waiting < MAX_THINGS);
	things[gpu.waiting++] = thing;
}

void gpu_run(size_t nr)
{
	if (nr > gpu.waiting)
		nr = gpu.waiting;
	for (size_t i = 0; i < nr; i++)
		run(&things[i]);
	gpu.waiting -= nr;
	memmove(things, things + nr, gpu.waiting * sizeof(things[0]));
}

void gpu_destroy_context(void)
{
	gpu.context = 0;
	gpu.waiting = 0;
	nr_registered = 0;
	for (size_t i = 0; i < nr_blocks; i++)
		check_eq(mprotect(blocks[i].addr, blocks[i].size, PROT_NONE), 0);
}

/* Where a pointer points: its id, 0 for ordinary memory. */
static uint64_t id_of(CUdeviceptr ptr)
{
	uintptr_t host = (uintptr_t)host_buffers;

	if (ptr >= FAKE_VRAM_VA && ptr < FAKE_VRAM_VA + GPU_BUFFER)
		return gpu.context && !gpu.no_memory ? 7 : 0;
	if (ptr >= host && ptr < host + sizeof(host_buffers))
		return 8 + (ptr - host) / HOST_BUFFER;
	for (size_t i = 0; i < nr_blocks && gpu.context; i++) {
		if (ptr >= (uintptr_t)blocks[i].addr && ptr < (uintptr_t)blocks[i].addr + blocks[i].size)
			return 100 + i;
	}
	for (size_t i = 0; i < nr_registered && gpu.context; i++) {
		if (ptr >= (uintptr_t)registered[i].addr && ptr < (uintptr_t)registered[i].addr + registered[i].size)
			return 200 + i;
	}
	return 0;
}

static CUresult attributes(unsigned int nr, int *attrs, void **data, CUdeviceptr ptr)
{
	uint64_t id = id_of(ptr);

	MAY_FAIL;
	for (unsigned int i = 0; i < nr; i++) {
		switch (attrs[i]) {
		case CU_POINTER_ATTRIBUTE_CONTEXT:
			*(CUcontext *)data[i] = id == 7 ? THE_CONTEXT : NULL;
			break;
		case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
			*(unsigned int *)data[i] = id == 7 ? CU_MEMORYTYPE_DEVICE : id ? CU_MEMORYTYPE_HOST : 0;
			break;
		case CU_POINTER_ATTRIBUTE_BUFFER_ID:
			*(uint64_t *)data[i] = id;
			break;
		case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
			*(CUdeviceptr *)data[i] = id == 7 ? FAKE_VRAM_VA :
							    (uintptr_t)host_buffers + (id - 8) * HOST_BUFFER;
			break;
		case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
			*(size_t *)data[i] = id == 7 ? GPU_BUFFER : HOST_BUFFER;
			break;
		case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
			*(uint64_t *)data[i] = 0;
			break;
		default: /* the others are of 32 bits and of no matter here */
			*(uint32_t *)data[i] = 0;
		}
	}
	return CUDA_SUCCESS;
}

static CUresult attribute(void *data, int attr, CUdeviceptr ptr)
{
	return id_of(ptr) ? attributes(1, &attr, &data, ptr) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult device_get(CUdevice *device, int ordinal)
{
	MAY_FAIL;
	*device = ordinal;
	return CUDA_SUCCESS;
}

static CUresult get_current(CUcontext *context)
{
	*context = current;
	return CUDA_SUCCESS;
}

static CUresult push(CUcontext context)
{
	MAY_FAIL;
	check(gpu.context && context == THE_CONTEXT);
	current = context;
	return CUDA_SUCCESS;
}

static CUresult pop(CUcontext *context)
{
	*context = current;
	current = NULL;
	return CUDA_SUCCESS;
}

static CUresult exchange_mode(int *mode)
{
	int old = capture_mode;

	capture_mode = *mode;
	*mode = old;
	return CUDA_SUCCESS;
}

/* What disturbs a capture is asked for in the memory's context and in relaxed mode only. */
static void check_scope(void)
{
	check(current == THE_CONTEXT);
	check_eq(capture_mode, CU_STREAM_CAPTURE_MODE_RELAXED);
}

static CUresult stream_create(CUstream *stream, unsigned int flags)
{
	check_scope();
	MAY_FAIL;
	check_eq(flags, CU_STREAM_NON_BLOCKING);
	*stream = (CUstream)(uintptr_t)++gpu.streams;
	return CUDA_SUCCESS;
}

static CUresult stream_destroy(CUstream stream)
{
	check_scope();
	gpu.streams--;
	return CUDA_SUCCESS;
}

static CUresult stream_query(CUstream stream)
{
	check_scope();
	gpu.queries++;
	MAY_FAIL;
	for (size_t i = 0; i < gpu.waiting; i++) {
		if (things[i].stream == stream)
			return CUDA_ERROR_NOT_READY;
	}
	return CUDA_SUCCESS;
}

static CUresult host_alloc(void **ptr, size_t size, unsigned int flags)
{
	void *addr;

	check_scope();
	MAY_FAIL;
	check(nr_blocks < MAX_BLOCKS);
	addr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(addr != MAP_FAILED);
	blocks[nr_blocks++] = (struct block){ .addr = addr, .size = size };
	*ptr = addr;
	return CUDA_SUCCESS;
}

static CUresult host_free(void *ptr)
{
	check_scope();
	check(nr_blocks && blocks[nr_blocks - 1].addr == ptr);
	nr_blocks--;
	return munmap(ptr, blocks[nr_blocks].size) ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

static CUresult host_register(void *ptr, size_t size, unsigned int flags)
{
	check_scope();
	MAY_FAIL;
	check(nr_registered < MAX_BLOCKS && !id_of((uintptr_t)ptr));
	registered[nr_registered++] = (struct block){ .addr = ptr, .size = size };
	return CUDA_SUCCESS;
}

static CUresult host_unregister(void *ptr)
{
	size_t i = 0;

	check_scope();
	while (i < nr_registered && registered[i].addr != ptr)
		i++;
	check(i < nr_registered);
	registered[i] = registered[--nr_registered];
	return CUDA_SUCCESS;
}

/* The end of the one allocation that there is; once at a time. */
static CUresult alloc(CUdeviceptr *ptr, size_t size)
{
	check_scope();
	MAY_FAIL;
	check(!gpu.allocs);
	gpu.allocs++;
	*ptr = FAKE_VRAM_VA + GPU_BUFFER - size;
	return CUDA_SUCCESS;
}

static CUresult mem_free(CUdeviceptr ptr)
{
	check_scope();
	check(ptr > FAKE_VRAM_VA && gpu.allocs == 1);
	gpu.allocs--;
	return CUDA_SUCCESS;
}

static void *vram_at(CUdeviceptr va, size_t len)
{
	check(gpu.context && !gpu.no_memory);
	check(va >= FAKE_VRAM_VA && va + len <= FAKE_VRAM_VA + GPU_BUFFER);
	return fake_vram() + (va - FAKE_VRAM_VA);
}

/* As the driver: both ends of pinned memory lie in one buffer, and other memory would make the call wait. */
static void check_host(const void *host, size_t len)
{
	uint64_t id = id_of((uintptr_t)host);

	check(id && id == id_of((uintptr_t)host + len - 1));
	check_scope();
}

static CUresult copy_to(CUdeviceptr dst, const void *src, size_t len, CUstream stream)
{
	check_host(src, len);
	MAY_FAIL;
	gpu.copies++;
	add((struct thing){ .stream = stream, .dst = vram_at(dst, len), .src = src, .len = len });
	return CUDA_SUCCESS;
}

static CUresult copy_from(void *dst, CUdeviceptr src, size_t len, CUstream stream)
{
	check_host(dst, len);
	MAY_FAIL;
	gpu.copies++;
	add((struct thing){ .stream = stream, .dst = dst, .src = vram_at(src, len), .len = len });
	return CUDA_SUCCESS;
}

static CUresult write_value(CUstream stream, CUdeviceptr ptr, cuuint32_t value, unsigned int flags)
{
	check_scope();
	MAY_FAIL;
	if (gpu.no_marks)
		return CUDA_ERROR_NOT_SUPPORTED;
	gpu.marks++;
	add((struct thing){ .stream = stream, .dst = (void *)(uintptr_t)ptr, .value = value });
	return CUDA_SUCCESS;
}

static struct bl_cuda table = {
	.cuDeviceGet = device_get,
	.cuPointerGetAttribute = attribute,
	.cuPointerGetAttributes = attributes,
	.cuCtxGetCurrent = get_current,
	.cuCtxPushCurrent = push,
	.cuCtxPopCurrent = pop,
	.cuThreadExchangeStreamCaptureMode = exchange_mode,
	.cuStreamCreate = stream_create,
	.cuStreamDestroy = stream_destroy,
	.cuStreamQuery = stream_query,
	.cuStreamWriteValue32 = write_value,
	.cuMemAlloc = alloc,
	.cuMemFree = mem_free,
	.cuMemHostAlloc = host_alloc,
	.cuMemFreeHost = host_free,
	.cuMemcpyHtoDAsync = copy_to,
	.cuMemcpyDtoHAsync = copy_from,
};

void gpu_begin(void)
{
	gpu = (struct gpu){ .context = 1, .fail_at = -1, .fail_with = CUDA_ERROR_UNKNOWN };
	nr_blocks = 0;
	nr_registered = 0;
	table.cuMemHostRegister = NULL;
	table.cuMemHostUnregister = NULL;
	current = NULL;
	capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
}

void gpu_can_register(void)
{
	table.cuMemHostRegister = host_register;
	table.cuMemHostUnregister = host_unregister;
}

size_t gpu_registered(void)
{
	return nr_registered;
}

size_t gpu_pinned(void)
{
	return nr_blocks;
}

/* In place of the loader's. */
const struct bl_cuda *__wrap_bl_cuda(void);
const char *__wrap_bl_cuda_error(void);
const char *__wrap_bl_cuda_strerror(CUresult err);

const struct bl_cuda *__wrap_bl_cuda(void)
{
	return &table;
}

const char *__wrap_bl_cuda_error(void)
{
	return "no driver library in this test";
}

const char *__wrap_bl_cuda_strerror(CUresult err)
{
	return err ? "an error of this test" : "no error";
}
