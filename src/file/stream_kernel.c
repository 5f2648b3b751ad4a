// SPDX-License-Identifier: MIT
/*
 * The kernel of move.ptx, once for each context. CUDA waits for running kernels while it loads a module, so that is done
 * before anything of an operation is on its stream.
 */
#define log_fmt(fmt) "file/stream: " fmt
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "gpu/cuda_ptr.h"
#include "gpu/kernels/move.h"
#include "stream.h"
#include "util/log.h"

#define PAGE_LEN 4096

/**
 * struct kernel - the kernel in a context; never freed, a context's address may come again
 * @next:    list of all
 * @context: its context
 * @page:    registered in it
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

static CUresult load(const struct bl_cuda *cuda, struct kernel *kernel)
{
	CUmodule module;
	CUresult err = cuda->cuModuleLoadData(&module, bl_move_ptx);

	if (err)
		return err;
	err = cuda->cuModuleGetFunction(&kernel->fn, module, "bl_move");
	if (err)
		cuda->cuModuleUnload(module);
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
static CUfunction make(const struct bl_cuda *cuda, CUcontext context)
{
	struct kernel *kernel = kernel_new(context);
	int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUresult err;

	if (!kernel)
		return NULL;
	cuda->cuThreadExchangeStreamCaptureMode(&mode);
	err = mark(cuda, kernel);
	if (err) {
		cuda->cuThreadExchangeStreamCaptureMode(&mode);
		munmap(kernel->page, PAGE_LEN);
		free(kernel);
		return NULL;
	}
	err = load(cuda, kernel);
	cuda->cuThreadExchangeStreamCaptureMode(&mode);
	if (err && !atomic_exchange(&complained, true))
		log_info("copies with arguments that are not fixed: no kernel (%s); host functions wait for them instead",
			 bl_cuda_strerror(err));
	publish(kernel);
	return kernel->fn;
}

/* On an H200 operations with the kernel did not end, and why is not known: it has to be asked for. */
static bool allowed(void)
{
	const char *text = getenv("BARLANE_FILE_STREAM_KERNEL");

	return text && !strcmp(text, "1");
}

CUfunction bl_stream_kernel(const struct bl_cuda *cuda, CUcontext context)
{
	struct kernel *kernel;

	if (!allowed() || !cuda->cuMemHostRegister || !cuda->cuMemHostUnregister)
		return NULL;
	while ((kernel = find(context))) {
		if (bl_cuda_ptr_holds(cuda, (uintptr_t)kernel->page, kernel->id))
			return kernel->fn;
		drop(kernel);
	}
	return make(cuda, context);
}
