// SPDX-License-Identifier: MIT
/*
 * The kernel of move.ptx, once for each context.
 *
 * CUDA waits for the GPU while it loads code: by cuModuleLoadData(), or with lazy loading by the first launch. What a
 * program has on its streams by then may wait for what its thread does next, for which the thread must come back. So
 * an operation never loads anything: cuFileStreamRegister() does, while nothing is known to be under way, and to the
 * end: it also launches the kernel once.
 */
#define log_fmt(fmt) "file/stream: " fmt
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "gpu/cuda_ptr.h"
#include "gpu/kernels/move.h"
#include "stream.h"
#include "util/clock.h"
#include "util/log.h"

#define PAGE_LEN 4096

/* In the page: what the first launch is told, and what it is to copy where. */
#define FROM_AT	  1024
#define TO_AT	  2048
#define TRIAL_LEN 1000U

#define TRIAL_NS  2000000000ULL
#define SETTLE_NS 2000000ULL
#define NAP_NS	  20000

/**
 * struct kernel - the kernel in a context; never freed, a context's address may come again
 * @next:    list of all
 * @context: its context
 * @page:    registered in it; the first launch works on it
 * @id:      CUDA's number of @page, gone when the context is
 * @fn:      NULL: it cannot be had there
 */
struct kernel {
	struct kernel *next;
	CUcontext context;
	void *page;
	uint64_t id;
	CUfunction fn;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kernel *kernels;
static atomic_bool complained;

void bl_stream_kernel_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	kernels = NULL;
}

static struct kernel *find(CUcontext context)
{
	struct kernel *kernel;

	pthread_mutex_lock(&lock);
	for (kernel = kernels; kernel && kernel->context != context; kernel = kernel->next)
		;
	pthread_mutex_unlock(&lock);
	return kernel;
}

/* One whose context is gone; who takes it out, frees it. */
static void drop(struct kernel *kernel)
{
	struct kernel **link;
	bool found;

	pthread_mutex_lock(&lock);
	for (link = &kernels; *link && *link != kernel; link = &(*link)->next)
		;
	found = *link;
	if (found)
		*link = kernel->next;
	pthread_mutex_unlock(&lock);
	/* the struct stays: another thread may be looking at it */
	if (found)
		munmap(kernel->page, PAGE_LEN);
}

/* A GPU that others keep busy may not get to it: then there is no kernel, and nothing waits for it. */
static CUresult await(const struct bl_cuda *cuda, CUstream stream)
{
	uint64_t end_ns = bl_now_ns() + TRIAL_NS;
	struct timespec nap = { 0, NAP_NS };
	CUresult err;

	while ((err = cuda->cuStreamQuery(stream)) == CUDA_ERROR_NOT_READY && bl_now_ns() < end_ns)
		nanosleep(&nap, NULL);
	return err;
}

static CUresult launch(const struct bl_cuda *cuda, struct kernel *kernel, CUstream stream)
{
	struct bl_move_job *job = kernel->page;
	CUdeviceptr device = 0;
	uint64_t param;
	void *params[] = { &param };
	CUresult err = cuda->cuMemHostGetDevicePointer(&device, kernel->page, 0);

	if (err)
		return err;
	param = device;
	*job = (struct bl_move_job){ .dst = device + TO_AT, .src = device + FROM_AT, .len = TRIAL_LEN };
	return cuda->cuLaunchKernel(kernel->fn, BL_MOVE_BLOCKS, 1, 1, BL_MOVE_THREADS, 1, 1, 0, stream, params, NULL);
}

/* The first launch, here and not where an operation makes it, and whether it moves what it is told. */
static CUresult try_out(const struct bl_cuda *cuda, struct kernel *kernel)
{
	unsigned char *from = (unsigned char *)kernel->page + FROM_AT, *to = (unsigned char *)kernel->page + TO_AT;
	CUstream stream;
	CUresult err = cuda->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);

	if (err)
		return err;
	for (size_t i = 0; i < TRIAL_LEN; i++)
		from[i] = (unsigned char)(i * 7 + 1);
	err = launch(cuda, kernel, stream);
	if (!err)
		err = await(cuda, stream);
	if (!err && memcmp(from, to, TRIAL_LEN))
		err = CUDA_ERROR_UNKNOWN;
	cuda->cuStreamDestroy(stream);
	return err;
}

/* A module whose kernel may be running still is left to its context. */
static CUresult load(const struct bl_cuda *cuda, struct kernel *kernel)
{
	CUmodule module;
	CUresult err = cuda->cuModuleLoadData(&module, bl_move_ptx);

	if (err)
		return err;
	err = cuda->cuModuleGetFunction(&kernel->fn, module, "bl_move");
	if (!err && cuda->cuFuncLoad)
		err = cuda->cuFuncLoad(kernel->fn);
	if (err) {
		cuda->cuModuleUnload(module);
		kernel->fn = NULL;
		return err;
	}
	err = try_out(cuda, kernel);
	if (err)
		kernel->fn = NULL;
	return err;
}

static CUresult mark(const struct bl_cuda *cuda, struct kernel *kernel)
{
	unsigned long long id = 0;
	CUresult err = cuda->cuMemHostRegister(kernel->page, PAGE_LEN, CU_MEMHOSTREGISTER_DEVICEMAP);

	if (err)
		return err;
	err = cuda->cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, (uintptr_t)kernel->page);
	kernel->id = id;
	if (err)
		cuda->cuMemHostUnregister(kernel->page);
	return err;
}

static void publish(struct kernel *kernel)
{
	pthread_mutex_lock(&lock);
	kernel->next = kernels;
	kernels = kernel;
	pthread_mutex_unlock(&lock);
}

static struct kernel *kernel_new(CUcontext context)
{
	struct kernel *kernel = calloc(1, sizeof(*kernel));

	if (!kernel)
		return NULL;
	kernel->context = context;
	kernel->page = mmap(NULL, PAGE_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (kernel->page != MAP_FAILED && !madvise(kernel->page, PAGE_LEN, MADV_DONTFORK))
		return kernel;
	if (kernel->page != MAP_FAILED)
		munmap(kernel->page, PAGE_LEN);
	free(kernel);
	return NULL;
}

/* Captures of other threads are left alone. What a context refuses once is not tried again in it. */
static void make(const struct bl_cuda *cuda, CUcontext context)
{
	struct kernel *kernel = kernel_new(context);
	int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUresult err;

	if (!kernel)
		return;
	cuda->cuThreadExchangeStreamCaptureMode(&mode);
	err = mark(cuda, kernel);
	if (err) {
		cuda->cuThreadExchangeStreamCaptureMode(&mode);
		munmap(kernel->page, PAGE_LEN);
		free(kernel);
		return;
	}
	err = load(cuda, kernel);
	cuda->cuThreadExchangeStreamCaptureMode(&mode);
	if (err && !atomic_exchange(&complained, true))
		log_info("copies with arguments that are not fixed: no kernel (%s); host functions wait for them instead",
			 bl_cuda_strerror(err));
	publish(kernel);
}

/* It has to be asked for: on an H200 a long operation with it did not end, and others are slower than without. */
static bool allowed(void)
{
	const char *text = secure_getenv("BARLANE_FILE_STREAM_KERNEL");

	return text && !strcmp(text, "1");
}

/* One that this context has, or had no luck with. */
static struct kernel *known(const struct bl_cuda *cuda, CUcontext context)
{
	struct kernel *kernel;

	while ((kernel = find(context))) {
		if (bl_cuda_ptr_holds(cuda, (uintptr_t)kernel->page, kernel->id))
			return kernel;
		drop(kernel);
	}
	return NULL;
}

CUfunction bl_stream_kernel(const struct bl_cuda *cuda, CUcontext context)
{
	struct kernel *kernel = allowed() ? known(cuda, context) : NULL;

	return kernel ? kernel->fn : NULL;
}

/*
 * As far as this library can tell. A query would break a capture. A thread that has let a stream go on takes a moment
 * until it is done with the operation.
 */
static bool idle(const struct bl_cuda *cuda, CUstream handle)
{
	uint64_t end_ns = bl_now_ns() + SETTLE_NS;
	struct timespec nap = { 0, NAP_NS };
	int status = CU_STREAM_CAPTURE_STATUS_NONE;

	if (cuda->cuStreamIsCapturing && (cuda->cuStreamIsCapturing(handle, &status) || status))
		return false;
	while (!bl_stream_watch_idle() || cuda->cuStreamQuery(handle)) {
		if (bl_now_ns() >= end_ns)
			return false;
		nanosleep(&nap, NULL);
	}
	return true;
}

void bl_stream_kernel_load(const struct bl_cuda *cuda, CUcontext context, CUstream handle)
{
	if (!allowed() || !cuda->cuMemHostRegister || !cuda->cuMemHostUnregister || !cuda->cuMemHostGetDevicePointer)
		return;
	if (known(cuda, context))
		return;
	if (idle(cuda, handle))
		make(cuda, context);
	else
		log_info("stream %p: something is under way, for which CUDA would wait: the kernel is not loaded yet",
			 (void *)handle);
}
