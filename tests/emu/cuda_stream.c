// SPDX-License-Identifier: MIT
/* The stand-in CUDA driver: streams run by themselves, in the order that CUDA promises and no other. */
#include <stdatomic.h>
#include <unistd.h>

#include "emu/cuda/api.h"
#include "tests/tap.h"

static CUdeviceptr device;
static unsigned char *pinned;

/* A gate holds a stream until it is opened, so that nothing here depends on time. */
static atomic_int gate;

static void wait_for_gate(void *arg)
{
	while (!atomic_load(&gate))
		usleep(100);
}

static void set_flag(void *arg)
{
	atomic_store((atomic_int *)arg, 1);
}

static void enter(void)
{
	static CUcontext ctx;
	void *host;

	atomic_store(&gate, 0);
	if (ctx)
		return;
	check_eq(cuInit(0), CUDA_SUCCESS);
	check_eq(cuDevicePrimaryCtxRetain(&ctx, 0), CUDA_SUCCESS);
	check_eq(cuCtxSetCurrent(ctx), CUDA_SUCCESS);
	check_eq(cuMemAlloc_v2(&device, 4096), CUDA_SUCCESS);
	check_eq(cuMemHostAlloc(&host, 4096, 0), CUDA_SUCCESS);
	pinned = host;
}

static CUstream closed_stream(unsigned int flags)
{
	CUstream stream;

	enter();
	check_eq(cuStreamCreate(&stream, flags), CUDA_SUCCESS);
	check_eq(cuLaunchHostFunc(stream, wait_for_gate, NULL), CUDA_SUCCESS);
	return stream;
}

static void open_and_destroy(CUstream stream)
{
	atomic_store(&gate, 1);
	check_eq(cuStreamSynchronize(stream), CUDA_SUCCESS);
	check_eq(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

static void bad_streams(void)
{
	CUstream stream;

	enter();
	check_eq(cuStreamCreate(&stream, 7), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuStreamDestroy_v2(NULL), CUDA_ERROR_INVALID_HANDLE);
	check_eq(cuStreamCreate(&stream, CU_STREAM_DEFAULT), CUDA_SUCCESS);
	check_eq(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
	check_eq(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
	check_eq(cuMemsetD8Async(device, 0, 1, stream), CUDA_ERROR_INVALID_HANDLE);
	check_eq(cuStreamSynchronize((CUstream)2), CUDA_SUCCESS);
}

static void pinned_copies_are_asynchronous(void)
{
	CUstream stream = closed_stream(CU_STREAM_NON_BLOCKING);
	unsigned char byte;

	check_eq(cuMemsetD8_v2(device, 1, 1), CUDA_SUCCESS);
	check_eq(cuStreamSynchronize(NULL), CUDA_SUCCESS);
	pinned[0] = 2;
	check_eq(cuMemcpyHtoDAsync_v2(device, pinned, 1, stream), CUDA_SUCCESS);
	check_eq(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
	/* not yet read: a change before the copy's turn is copied */
	pinned[0] = 3;
	check_eq(cuMemcpyDtoH_v2(&byte, device, 1), CUDA_SUCCESS);
	check_eq(byte, 1);
	open_and_destroy(stream);
	check_eq(cuMemcpyDtoH_v2(&byte, device, 1), CUDA_SUCCESS);
	check_eq(byte, 3);
}

static void pageable_memory_is_read_at_once(void)
{
	CUstream stream = closed_stream(CU_STREAM_NON_BLOCKING);
	unsigned char byte = 4;

	check_eq(cuMemcpyHtoDAsync_v2(device, &byte, 1, stream), CUDA_SUCCESS);
	byte = 5;
	open_and_destroy(stream);
	check_eq(cuMemcpyDtoH_v2(&byte, device, 1), CUDA_SUCCESS);
	check_eq(byte, 4);
}

static void a_stream_keeps_order(void)
{
	CUstream stream = closed_stream(CU_STREAM_NON_BLOCKING);

	for (int i = 1; i <= 100; i++)
		check_eq(cuMemsetD8Async(device, (unsigned char)i, 64, stream), CUDA_SUCCESS);
	check_eq(cuMemcpyDtoHAsync_v2(pinned, device, 64, stream), CUDA_SUCCESS);
	check_eq(cuMemsetD8Async(device, 0, 64, stream), CUDA_SUCCESS);
	open_and_destroy(stream);
	check_eq(pinned[63], 100);
}

static void default_stream_waits_for_blocking_ones(void)
{
	CUstream blocking = closed_stream(CU_STREAM_DEFAULT);
	atomic_int done = 0;

	check_eq(cuLaunchHostFunc(NULL, set_flag, &done), CUDA_SUCCESS);
	check_eq(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
	usleep(20000);
	check(!atomic_load(&done));
	atomic_store(&gate, 1);
	check_eq(cuStreamSynchronize(NULL), CUDA_SUCCESS);
	check(atomic_load(&done));
	check_eq(cuStreamDestroy_v2(blocking), CUDA_SUCCESS);
}

static void blocking_streams_wait_for_the_default_one(void)
{
	atomic_int done = 0, free_done = 0;
	CUstream blocking, nonblocking;

	enter();
	check_eq(cuStreamCreate(&blocking, CU_STREAM_DEFAULT), CUDA_SUCCESS);
	check_eq(cuStreamCreate(&nonblocking, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	check_eq(cuLaunchHostFunc(NULL, wait_for_gate, NULL), CUDA_SUCCESS);
	check_eq(cuLaunchHostFunc(blocking, set_flag, &done), CUDA_SUCCESS);
	check_eq(cuLaunchHostFunc(nonblocking, set_flag, &free_done), CUDA_SUCCESS);
	check_eq(cuStreamSynchronize(nonblocking), CUDA_SUCCESS);
	check(atomic_load(&free_done));
	check(!atomic_load(&done));
	check_eq(cuStreamDestroy_v2(nonblocking), CUDA_SUCCESS);
	open_and_destroy(blocking);
	check(atomic_load(&done));
}

static void events_mark_a_place(void)
{
	CUstream stream = closed_stream(CU_STREAM_NON_BLOCKING), follower;
	CUevent event, untimed, end;
	atomic_int done = 0;
	float ms = -1;

	check_eq(cuEventCreate(&event, 0), CUDA_SUCCESS);
	check_eq(cuEventCreate(&end, 0), CUDA_SUCCESS);
	check_eq(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
	check_eq(cuEventQuery(event), CUDA_SUCCESS);
	check_eq(cuEventElapsedTime(&ms, event, event), CUDA_ERROR_INVALID_HANDLE);
	check_eq(cuEventRecord(event, stream), CUDA_SUCCESS);
	check_eq(cuEventQuery(event), CUDA_ERROR_NOT_READY);
	check_eq(cuEventElapsedTime(&ms, event, event), CUDA_ERROR_NOT_READY);
	check_eq(cuStreamCreate(&follower, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	check_eq(cuStreamWaitEvent(follower, event, 0), CUDA_SUCCESS);
	check_eq(cuLaunchHostFunc(follower, set_flag, &done), CUDA_SUCCESS);
	usleep(20000);
	check(!atomic_load(&done));
	atomic_store(&gate, 1);
	check_eq(cuEventSynchronize(event), CUDA_SUCCESS);
	check_eq(cuStreamSynchronize(follower), CUDA_SUCCESS);
	check(atomic_load(&done));
	check_eq(cuEventRecord(end, follower), CUDA_SUCCESS);
	check_eq(cuEventSynchronize(end), CUDA_SUCCESS);
	check_eq(cuEventElapsedTime(&ms, event, end), CUDA_SUCCESS);
	check(ms >= 0 && ms < 60000);
	check_eq(cuEventElapsedTime(&ms, event, untimed), CUDA_ERROR_INVALID_HANDLE);
	check_eq(cuEventDestroy_v2(event), CUDA_SUCCESS);
	check_eq(cuEventDestroy_v2(event), CUDA_ERROR_INVALID_HANDLE);
	check_eq(cuEventDestroy_v2(end), CUDA_SUCCESS);
	check_eq(cuEventDestroy_v2(untimed), CUDA_SUCCESS);
	check_eq(cuStreamDestroy_v2(follower), CUDA_SUCCESS);
	open_and_destroy(stream);
}

static void destroyed_stream_finishes(void)
{
	CUstream stream = closed_stream(CU_STREAM_DEFAULT);
	atomic_int done = 0;

	check_eq(cuLaunchHostFunc(stream, set_flag, &done), CUDA_SUCCESS);
	check_eq(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
	check(!atomic_load(&done));
	atomic_store(&gate, 1);
	check_eq(cuCtxSynchronize(), CUDA_SUCCESS);
	check(atomic_load(&done));
}

static void open_soon(void *arg)
{
	usleep(20000);
	atomic_store(&gate, 1);
}

static void free_waits_for_work(void)
{
	CUstream stream = closed_stream(CU_STREAM_NON_BLOCKING), opener;
	CUdeviceptr ptr;

	check_eq(cuMemAlloc_v2(&ptr, 4 << 20), CUDA_SUCCESS);
	check_eq(cuMemsetD8Async(ptr, 1, 4 << 20, stream), CUDA_SUCCESS);
	check_eq(cuStreamCreate(&opener, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	check_eq(cuLaunchHostFunc(opener, open_soon, NULL), CUDA_SUCCESS);
	check_eq(cuMemFree_v2(ptr), CUDA_SUCCESS);
	check(atomic_load(&gate));
	check_eq(cuStreamQuery(stream), CUDA_SUCCESS);
	check_eq(cuStreamDestroy_v2(opener), CUDA_SUCCESS);
	open_and_destroy(stream);
}

static void pool_memory_is_freed_in_order(void)
{
	CUstream stream = closed_stream(CU_STREAM_NON_BLOCKING);
	CUdeviceptr ptr;
	uint64_t id;

	check_eq(cuMemAllocAsync(&ptr, 4096, stream), CUDA_SUCCESS);
	check_eq(cuMemsetD8Async(ptr, 1, 4096, stream), CUDA_SUCCESS);
	check_eq(cuMemFreeAsync(ptr, stream), CUDA_SUCCESS);
	check_eq(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, ptr), CUDA_SUCCESS);
	check_eq(cuMemFree_v2(ptr), CUDA_ERROR_INVALID_VALUE);
	open_and_destroy(stream);
	check_eq(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, ptr), CUDA_ERROR_INVALID_VALUE);
}

static const struct tap_test tests[] = {
	{ "streams_that_do_not_exist_are_refused", bad_streams },
	{ "copies_of_pinned_memory_are_asynchronous", pinned_copies_are_asynchronous },
	{ "pageable_memory_is_read_when_the_copy_is_asked_for", pageable_memory_is_read_at_once },
	{ "a_stream_keeps_the_order_of_its_work", a_stream_keeps_order },
	{ "default_stream_waits_for_blocking_streams", default_stream_waits_for_blocking_ones },
	{ "blocking_streams_wait_for_the_default_stream_and_others_do_not", blocking_streams_wait_for_the_default_one },
	{ "events_mark_a_place_and_a_time", events_mark_a_place },
	{ "destroyed_stream_finishes_its_work", destroyed_stream_finishes },
	{ "free_waits_for_work_in_flight", free_waits_for_work },
	{ "pool_memory_is_freed_in_the_order_of_the_stream", pool_memory_is_freed_in_order },
};

TAP_MAIN(tests)
