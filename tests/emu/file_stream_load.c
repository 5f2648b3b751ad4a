// SPDX-License-Identifier: MIT
/*
 * Loading code and operations of streams: CUDA waits for the GPU while it loads, and what is on the GPU may wait for
 * the program. In worlds where cuModuleLoadData() waits, and where the first launch does.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "gpu/kernels/pattern.h"
#include "stream_world.h"
#include "tests/tap.h"

static const char *const worlds[] = { "kernels", "idle", "launch" };

#define NR_WORLDS (sizeof(worlds) / sizeof(worlds[0]))

static void in_all_worlds(void (*run)(const void *arg), const void *arg)
{
	for (size_t i = 0; i < NR_WORLDS; i++)
		child_run(run, arg, (const char *[]){ "BARLANE_EMU_LOAD", worlds[i], NULL });
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

/*
 * Write and read behind the gate, with nothing fixed: the stream goes on when all is submitted, and not before. Where the
 * write is to begin is @pos by then, and 0 when the stream gets there.
 * Returns how many functions of CUDA were called meanwhile, by whomever.
 */
static uint64_t trip(CUstream stream, off_t pos)
{
	struct op write = { LEN, pos, 0, 0 }, read = { LEN, 0, (off_t)LEN, 0 };
	struct bl_emu_counts before, after;
	atomic_int flag = 0;
	unsigned char got[2];

	memset(stage.pinned, 77, LEN);
	check_eq(world.cuda->cuMemcpyHtoDAsync((uintptr_t)stage.memory.base, stage.pinned, LEN, stream), CUDA_SUCCESS);
	check_eq(stream_async(&write, CUFILE_WRITE, stream).err, CU_FILE_SUCCESS);
	check_eq(stream_async(&read, CUFILE_READ, stream).err, CU_FILE_SUCCESS);
	check_eq(world.cuda->cuLaunchHostFunc(stream, stream_set_flag, &flag), CUDA_SUCCESS);
	world.counts(&before);
	check_eq(write.bytes, NOT_ENDED);
	write.pos = 0;
	atomic_store(&stage.gate, 1);
	while (!atomic_load(&flag))
		usleep(100);
	world.counts(&after);
	check_eq(write.bytes, LEN);
	check_eq(read.bytes, LEN);
	memory_get(&stage.memory, LEN, &got[0], 1);
	memory_get(&stage.memory, 2 * LEN - 1, &got[1], 1);
	check_eq(got[0], 77);
	check_eq(got[1], 77);
	return after.cuda_calls - before.cuda_calls;
}

/* The kernel is told what has changed; who has none, and supposed that it would stay, must call CUDA. */
static uint64_t trip_behind_gate(CUstream stream)
{
	return trip(stream, 4096);
}

/* Nobody registers: nothing is loaded, and what depends on the caller gets it. */
static void unregistered(const void *arg)
{
	CUstream stream;

	stream_world_enter(0);
	stream = stream_closed();
	if (arg)
		check_eq(trip(stream, 0), 0);
	else
		check(trip_behind_gate(stream) > 0);
	stream_end(stream);
	stream_world_leave();
}

static void values_that_stay(void)
{
	in_all_worlds(unregistered, "they stay");
}

static void operations_load_nothing(void)
{
	in_all_worlds(unregistered, NULL);
}

/* A stream that waits for its program, or another one with an operation on it. */
static void busy(const void *arg)
{
	CUstream stream, registered;
	struct op op = { LEN, 0, 0, 0 };
	double start;

	stream_world_enter(0);
	stream = stream_closed();
	registered = arg ? stream_new(CU_STREAM_NON_BLOCKING) : stream;
	if (arg)
		check_eq(stream_async(&op, CUFILE_WRITE, stream).err, CU_FILE_SUCCESS);
	start = seconds();
	check_eq(cuFileStreamRegister(registered, 0).err, CU_FILE_SUCCESS);
	check(seconds() - start < 1);
	check(trip_behind_gate(stream) > 0);
	/* nothing is under way any more: now it is */
	check_eq(world.cuda->cuStreamSynchronize(stream), CUDA_SUCCESS);
	check_eq(cuFileStreamDeregister(registered).err, CU_FILE_SUCCESS);
	check_eq(cuFileStreamRegister(registered, 0).err, CU_FILE_SUCCESS);
	check_eq(cuFileStreamDeregister(registered).err, CU_FILE_SUCCESS);
	if (arg)
		stream_end(registered);
	stream_end(stream);
	stream = stream_closed();
	check_eq(trip_behind_gate(stream), 0);
	stream_end(stream);
	stream_world_leave();
}

static void busy_streams_are_registered_at_once(void)
{
	in_all_worlds(busy, NULL);
	in_all_worlds(busy, "other");
}

/* In the middle of a capture, which must stay whole. */
static void captured(const void *arg)
{
	CUstream stream;
	CUgraph graph;

	stream_world_enter(0);
	stream = stream_new(CU_STREAM_NON_BLOCKING);
	check_eq(world.cuda->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
	check_eq(cuFileStreamRegister(stream, 0).err, CU_FILE_SUCCESS);
	check_eq(world.cuda->cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
	check_eq(world.cuda->cuGraphDestroy(graph), CUDA_SUCCESS);
	check_eq(cuFileStreamDeregister(stream).err, CU_FILE_SUCCESS);
	stream_end(stream);
	stream_world_leave();
}

static void captures_stay_whole(void)
{
	in_all_worlds(captured, NULL);
}

/* To the end: the first operation finds the kernel launched, so its own launch waits for nothing. */
static void registered(const void *arg)
{
	CUstream first, stream;

	stream_world_enter(0);
	first = stream_new(CU_STREAM_NON_BLOCKING);
	check_eq(cuFileStreamRegister(first, *(const unsigned int *)arg).err, CU_FILE_SUCCESS);
	stream = stream_closed();
	check_eq(trip_behind_gate(stream), 0);
	check_eq(cuFileStreamDeregister(first).err, CU_FILE_SUCCESS);
	stream_end(first);
	stream_end(stream);
	stream_world_leave();
}

static void registration_loads_to_the_end(void)
{
	static const unsigned int late = 0, in_part = CU_FILE_STREAM_FIXED_FILE_SIZE | CU_FILE_STREAM_FIXED_BUF_OFFSET;

	in_all_worlds(registered, &late);
	in_all_worlds(registered, &in_part);
}

/* Who fixes everything, or wants no kernel, need not wait for what other streams stop for. */
static void not_loaded(const void *arg)
{
	CUstream first, stopped, stream;

	stream_world_enter(0);
	first = stream_new(CU_STREAM_NON_BLOCKING);
	stopped = stream_closed();
	check_eq(cuFileStreamRegister(first, *(const unsigned int *)arg).err, CU_FILE_SUCCESS);
	atomic_store(&stage.gate, 1);
	check_eq(world.cuda->cuStreamSynchronize(stopped), CUDA_SUCCESS);
	stream_end(stopped);
	stream = stream_closed();
	check(trip_behind_gate(stream) > 0);
	check_eq(cuFileStreamDeregister(first).err, CU_FILE_SUCCESS);
	stream_end(first);
	stream_end(stream);
	stream_world_leave();
}

static void registration_loads_nothing_without_need(void)
{
	static const unsigned int late = 0, values = 7, fixed = 15;

	in_all_worlds(not_loaded, &values);
	in_all_worlds(not_loaded, &fixed);
	child_run(not_loaded, &late, (const char *[]){ "BARLANE_EMU_LOAD", "idle", "BARLANE_FILE_STREAM_KERNEL", "0", NULL });
}

/* A kernel that does not do what it is told, does not begin, or cannot be had. */
static void useless(const void *arg)
{
	CUstream first, stream;

	stream_world_enter(0);
	first = stream_new(CU_STREAM_NON_BLOCKING);
	check_eq(world.fault(arg), 0);
	check_eq(cuFileStreamRegister(first, 0).err, CU_FILE_SUCCESS);
	check_eq(world.fault(""), 0);
	stream = stream_closed();
	check(trip_behind_gate(stream) > 0);
	check_eq(cuFileStreamDeregister(first).err, CU_FILE_SUCCESS);
	stream_end(first);
	stream_end(stream);
	stream_world_leave();
}

static void useless_kernels_are_not_used(void)
{
	static const char *const faults[] = { "cuda.lost:1:0", "cuda.late:1:4000", "cuda.module:1", "cuda.module:2",
					      "cuda.module:3", "cuda.launch:1",    "cuda.newstream:1" };

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		child_run(useless, faults[i], NULL);
}

static CUfunction own_kernel(void)
{
	CUfunction fill;
	CUmodule module;

	check_eq(world.cuda->cuModuleLoadData(&module, bl_pattern_ptx), CUDA_SUCCESS);
	check_eq(world.cuda->cuModuleGetFunction(&fill, module, "bl_pattern_fill"), CUDA_SUCCESS);
	return fill;
}

static atomic_int launched;

/* The program's own kernel, which is loaded by this. */
static void *launch_own(void *arg)
{
	uint64_t ptr = (uintptr_t)stage.memory.base, nr = 1, number = 1;
	void *params[] = { &ptr, &nr, &number };

	if (!world.cuda->cuCtxSetCurrent(world.context) &&
	    !world.cuda->cuLaunchKernel(arg, 1, 1, 1, 1, 1, 1, 0, PER_THREAD, params, NULL))
		atomic_store(&launched, 1);
	return NULL;
}

/*
 * The program loads code, and holds the context up, while an operation is on a stream. By the stream's own copies the
 * operation ends, since nobody has to call CUDA for it; one that a host function waits for does not, and is given up
 * in time.
 */
static void beside(const void *arg)
{
	struct op op = { LEN, 0, 0, 0 };
	pthread_t thread;
	CUstream stream;
	CUfunction fill;

	stream_world_enter(arg != NULL);
	fill = own_kernel();
	stream = stream_closed();
	if (!arg)
		check_eq(cuFileStreamRegister(stream, 15).err, CU_FILE_SUCCESS);
	check_eq(stream_async(&op, CUFILE_WRITE, stream).err, CU_FILE_SUCCESS);
	check_eq(pthread_create(&thread, NULL, launch_own, fill), 0);
	usleep(100000);
	check(!atomic_load(&launched));
	atomic_store(&stage.gate, 1);
	check_eq(pthread_join(thread, NULL), 0);
	check(atomic_load(&launched));
	check_eq(op.bytes, arg ? -ETIMEDOUT : (ssize_t)LEN);
	if (!arg)
		check_eq(cuFileStreamDeregister(stream).err, CU_FILE_SUCCESS);
	/* what was given up ends some time later */
	usleep(200000);
	stream_end(stream);
	stream_world_leave();
}

static void programs_load_beside_operations(void)
{
	static const char *const env[] = { "BARLANE_EMU_LOAD", "launch", "BARLANE_FILE_ASYNC_TIMEOUT_MS", "500", NULL };

	child_run(beside, NULL, env);
	child_run(beside, "bypass", env);
}

static const struct tap_test tests[] = {
	{ "operations_load_nothing_so_their_caller_goes_on", operations_load_nothing },
	{ "nobody_calls_cuda_for_operations_whose_values_stay", values_that_stay },
	{ "streams_are_registered_at_once_while_something_is_under_way", busy_streams_are_registered_at_once },
	{ "registration_leaves_a_capture_whole", captures_stay_whole },
	{ "registration_loads_the_kernel_to_the_end", registration_loads_to_the_end },
	{ "registration_loads_nothing_where_all_is_fixed_or_no_kernel_is_wanted", registration_loads_nothing_without_need },
	{ "a_kernel_that_fails_its_first_launch_is_not_used", useless_kernels_are_not_used },
	{ "programs_may_load_code_beside_operations", programs_load_beside_operations },
};

TAP_MAIN(tests)
