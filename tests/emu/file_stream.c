// SPDX-License-Identifier: MIT
/* Reads and writes in the order of streams: what they move and when, what they refuse, and what holds nobody up. */
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "stream_world.h"
#include "tests/tap.h"

static void all_streams(const void *arg)
{
	CUstream blocking, nonblocking;

	stream_world_enter(arg != NULL);
	blocking = stream_new(CU_STREAM_DEFAULT);
	nonblocking = stream_new(CU_STREAM_NON_BLOCKING);
	for (unsigned char round = 0; round < 10; round += 5) {
		stream_round_trip(blocking, (unsigned char)(round + 1));
		stream_round_trip(nonblocking, (unsigned char)(round + 2));
		stream_round_trip(NULL, (unsigned char)(round + 3));
		stream_round_trip(LEGACY, (unsigned char)(round + 4));
		stream_round_trip(PER_THREAD, (unsigned char)(round + 5));
		if (round)
			break;
		/* the second time they are registered */
		check_eq(cuFileStreamRegister(blocking, 15).err, CU_FILE_SUCCESS);
		check_eq(cuFileStreamRegister(nonblocking, 0).err, CU_FILE_SUCCESS);
		check_eq(cuFileStreamRegister(NULL, 0).err, CU_FILE_SUCCESS);
	}
	check_eq(cuFileStreamDeregister(blocking).err, CU_FILE_SUCCESS);
	check_eq(cuFileStreamDeregister(nonblocking).err, CU_FILE_SUCCESS);
	check_eq(cuFileStreamDeregister(NULL).err, CU_FILE_SUCCESS);
	stream_end(blocking);
	stream_end(nonblocking);
	stream_world_leave();
}

static void streams_keep_order(void)
{
	child_run(all_streams, NULL, NULL);
	child_run(all_streams, NULL, (const char *[]){ "BARLANE_EMU_ASYNC_US", "2000", NULL });
	for (const char *const *path = (const char *[]){ "mapped", "staged", "plain", NULL }; *path; path++)
		child_run(all_streams, NULL, (const char *[]){ "BARLANE_FILE_PATH", *path, NULL });
}

static void host_functions_wait_instead(void)
{
	child_run(all_streams, "bypass", NULL);
	child_run(all_streams, NULL, (const char *[]){ "BARLANE_EMU_FAULT", "cuda.wait:*:801", NULL });
	child_run(all_streams, NULL, (const char *[]){ "BARLANE_EMU_FAULT", "cuda.register:*", NULL });
}

static void late(const void *arg)
{
	unsigned int flags = *(const unsigned int *)arg;
	struct op op = { 3 * LEN, 0, 0, 0 };
	unsigned char got;
	size_t want_size = flags & CU_FILE_STREAM_FIXED_FILE_SIZE ? 3 * LEN : 100;
	off_t want_pos = flags & CU_FILE_STREAM_FIXED_FILE_OFFSET ? 0 : 777;
	off_t want_off = flags & CU_FILE_STREAM_FIXED_BUF_OFFSET ? 0 : 33;
	CUstream stream;

	stream_world_enter(0);
	stream = stream_closed();
	if (flags != 16)
		check_eq(cuFileStreamRegister(stream, flags).err, CU_FILE_SUCCESS);
	check_eq(stream_async(&op, CUFILE_READ, stream).err, CU_FILE_SUCCESS);
	/* what the stream was registered with when the operation was submitted counts */
	if (flags != 16)
		check_eq(cuFileStreamDeregister(stream).err, CU_FILE_SUCCESS);
	usleep(20000);
	check_eq(op.bytes, NOT_ENDED);
	op.size = 100;
	op.pos = 777;
	op.off = 33;
	stream_open(stream);
	check_eq(op.bytes, want_size);
	memory_get(&stage.memory, (size_t)want_off, &got, 1);
	check_eq(got, pattern_at(1, (size_t)want_pos));
	memory_get(&stage.memory, (size_t)want_off + want_size - 1, &got, 1);
	check_eq(got, pattern_at(1, (size_t)want_pos + want_size - 1));
	stream_end(stream);
	stream_world_leave();
}

static void arguments_are_read_late(void)
{
	for (unsigned int flags = 0; flags <= 16; flags++)
		child_run(late, &flags, NULL);
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

/* As a program must not, before it has waited for the stream: ThreadSanitizer would be right. */
static __attribute__((noinline, no_sanitize("thread"))) ssize_t early_bytes(const struct op *op)
{
	return *(const volatile ssize_t *)&op->bytes;
}

/* While one stream is stopped, and one has an operation under way, the caller and others go on. */
static void nobody_waits(const void *arg)
{
	struct op ops[32], slow = { LEN, 0, 0, 0 };
	CUstream stopped, running, other;
	atomic_int flag = 0;
	double start;

	stream_world_enter(0);
	stopped = stream_closed();
	running = stream_new(CU_STREAM_NON_BLOCKING);
	other = stream_new(CU_STREAM_NON_BLOCKING);
	start = seconds();
	check_eq(stream_async(&slow, CUFILE_WRITE, running).err, CU_FILE_SUCCESS);
	for (int i = 0; i < 32; i++) {
		ops[i] = (struct op){ LEN, 0, (off_t)LEN, 0 };
		check_eq(stream_async(&ops[i], CUFILE_READ, stopped).err, CU_FILE_SUCCESS);
	}
	/* an operation takes two tenths of a second or more here */
	check(seconds() - start < 0.15);
	check_eq(world.cuda->cuLaunchHostFunc(other, stream_set_flag, &flag), CUDA_SUCCESS);
	check_eq(world.cuda->cuStreamSynchronize(other), CUDA_SUCCESS);
	check(atomic_load(&flag));
	check_eq(early_bytes(&slow), NOT_ENDED);
	atomic_store(&stage.gate, 1);
	check_eq(world.cuda->cuStreamSynchronize(running), CUDA_SUCCESS);
	check_eq(slow.bytes, LEN);
	check_eq(world.cuda->cuStreamSynchronize(stopped), CUDA_SUCCESS);
	for (int i = 0; i < 32; i++)
		check_eq(ops[i].bytes, LEN);
	stream_end(stopped);
	stream_end(running);
	stream_end(other);
	stream_world_leave();
}

static void nobody_is_held_up(void)
{
	child_run(nobody_waits, NULL, (const char *[]){ "BARLANE_EMU_ASYNC_US", "100000", "BARLANE_FILE_PATH", "plain",
							NULL });
}

static void refusals(const void *arg)
{
	struct op op = { LEN, 0, 0, 7 };
	CUfileHandle_t fh;
	CUstream stream;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	stream_world_enter(0);
	stream = stream_new(CU_STREAM_NON_BLOCKING);
	fh = stage.tested.handle;
	check_eq(cuFileReadAsync(NULL, stage.memory.base, &op.size, &op.pos, &op.off, &op.bytes, stream).err,
		 CU_FILE_INVALID_VALUE);
	check_eq(cuFileReadAsync(fh, NULL, &op.size, &op.pos, &op.off, &op.bytes, stream).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileReadAsync(fh, stage.memory.base, NULL, &op.pos, &op.off, &op.bytes, stream).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileReadAsync(fh, stage.memory.base, &op.size, NULL, &op.off, &op.bytes, stream).err,
		 CU_FILE_INVALID_VALUE);
	check_eq(cuFileReadAsync(fh, stage.memory.base, &op.size, &op.pos, NULL, &op.bytes, stream).err,
		 CU_FILE_INVALID_VALUE);
	check_eq(cuFileWriteAsync(fh, stage.memory.base, &op.size, &op.pos, &op.off, NULL, stream).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileWriteAsync((void *)0x5555, stage.memory.base, &op.size, &op.pos, &op.off, &op.bytes, stream).err,
		 CU_FILE_HANDLE_NOT_REGISTERED);
	check_eq(cuFileReadAsync(fh, stage.memory.base, &op.size, &op.pos, &op.off, &op.bytes, (CUstream)0x777770).err,
		 CU_FILE_CUDA_DRIVER_ERROR);
	check_eq(cuFileReadAsync(fh, stage.memory.base, &op.size, &op.pos, &op.off, &op.bytes, (CUstream)0x777770).cu_err,
		 CUDA_ERROR_INVALID_HANDLE);
	check_eq(op.bytes, 7);
	check_eq(cuFileStreamRegister(stream, 16).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileStreamRegister(stream, 15).err, CU_FILE_SUCCESS);
	check_eq(cuFileStreamRegister(stream, 15).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileStreamDeregister(stream).err, CU_FILE_SUCCESS);
	check_eq(cuFileStreamDeregister(stream).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileStreamDeregister((CUstream)0x777770).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileStreamRegister((CUstream)0x777770, 0).err, CU_FILE_CUDA_DRIVER_ERROR);
	/* errors of the file are the operation's: the stream goes on */
	fh = must_register(fd);
	check_eq(cuFileWriteAsync(fh, stage.memory.base, &op.size, &op.pos, &op.off, &op.bytes, stream).err, CU_FILE_SUCCESS);
	check_eq(world.cuda->cuStreamSynchronize(stream), CUDA_SUCCESS);
	check_eq(op.bytes, -EIO);
	op.off = (off_t)FILE_SIZE;
	check_eq(stream_async(&op, CUFILE_READ, stream).err, CU_FILE_SUCCESS);
	check_eq(world.cuda->cuStreamSynchronize(stream), CUDA_SUCCESS);
	check(op.bytes < 0);
	op.off = 0;
	op.pos = (off_t)FILE_SIZE - 10;
	check_eq(stream_async(&op, CUFILE_READ, stream).err, CU_FILE_SUCCESS);
	check_eq(world.cuda->cuStreamSynchronize(stream), CUDA_SUCCESS);
	check_eq(op.bytes, 10);
	op.size = 0;
	check_eq(stream_async(&op, CUFILE_READ, stream).err, CU_FILE_SUCCESS);
	check_eq(world.cuda->cuStreamSynchronize(stream), CUDA_SUCCESS);
	check_eq(op.bytes, 0);
	cuFileHandleDeregister(fh);
	close(fd);
	stream_end(stream);
	stream_world_leave();
}

static void errors_are_told(void)
{
	child_run(refusals, NULL, NULL);
}

static void capture(const void *arg)
{
	struct op op = { LEN, 0, 0, 0 };
	CUstream stream;
	CUgraph graph;

	stream_world_enter(0);
	stream = stream_new(CU_STREAM_DEFAULT);
	check_eq(world.cuda->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
	check_eq(stream_async(&op, CUFILE_READ, stream).err, CU_FILE_ASYNC_NOT_SUPPORTED);
	check_eq(stream_async(&op, CUFILE_WRITE, stream).err, CU_FILE_ASYNC_NOT_SUPPORTED);
	check_has(bl_last_error(NULL), "captured");
	/* the capture goes on, and is whole */
	check_eq(world.cuda->cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
	check_eq(world.cuda->cuGraphDestroy(graph), CUDA_SUCCESS);
	check_eq(op.bytes, NOT_ENDED);
	stream_round_trip(stream, 8);
	stream_end(stream);
	stream_world_leave();
}

static void captures_are_left_alone(void)
{
	child_run(capture, NULL, NULL);
}

/* The program forgets its stream with the operation on it; CUDA does not. A new stream of the same address is another. */
static void destroyed(const void *arg)
{
	struct op op = { LEN, 0, 0, 0 };

	stream_world_enter(0);
	for (int i = 0; i < 50; i++) {
		CUstream stream = stream_new(CU_STREAM_NON_BLOCKING);

		check_eq(cuFileStreamRegister(stream, 0).err, CU_FILE_SUCCESS);
		check_eq(stream_async(&op, CUFILE_READ, stream).err, CU_FILE_SUCCESS);
		check_eq(world.cuda->cuStreamDestroy(stream), CUDA_SUCCESS);
		check_eq(world.cuda->cuCtxSynchronize(), CUDA_SUCCESS);
		check_eq(op.bytes, LEN);
	}
	stream_world_leave();
}

/* As many new streams as it takes until one has the address of the old one, which is still at work. */
static void address_again(const void *arg)
{
	struct op old = { LEN, 0, 0, 0 }, now = { LEN, 0, (off_t)LEN, 0 };
	CUstream streams[200], stopped;

	stream_world_enter(0);
	stopped = stream_closed();
	check_eq(cuFileStreamRegister(stopped, 0).err, CU_FILE_SUCCESS);
	check_eq(stream_async(&old, CUFILE_READ, stopped).err, CU_FILE_SUCCESS);
	check_eq(world.cuda->cuStreamDestroy(stopped), CUDA_SUCCESS);
	for (int i = 0; i < 200; i++) {
		streams[i] = stream_new(CU_STREAM_NON_BLOCKING);
		/* one of them may have the address: to this library it is new all the same */
		check_eq(cuFileStreamRegister(streams[i], 0).err, CU_FILE_SUCCESS);
		check_eq(stream_async(&now, CUFILE_READ, streams[i]).err, CU_FILE_SUCCESS);
		check_eq(world.cuda->cuStreamSynchronize(streams[i]), CUDA_SUCCESS);
	}
	atomic_store(&stage.gate, 1);
	check_eq(world.cuda->cuCtxSynchronize(), CUDA_SUCCESS);
	check_eq(old.bytes, LEN);
	for (int i = 0; i < 200; i++)
		stream_end(streams[i]);
	stream_world_leave();
}

static void destroyed_streams_finish(void)
{
	child_run(address_again, NULL, NULL);
	child_run(destroyed, NULL, NULL);
	child_run(destroyed, NULL, (const char *[]){ "BARLANE_EMU_ASYNC_US", "300", NULL });
}

static void contexts(const void *arg)
{
	/* of operations that nobody waits for: they may end at any time, and write their results */
	static struct op left[5];
	struct op op = { LEN, 0, 0, 0 };
	CUcontext other;

	stream_world_enter(0);
	for (int i = 0; i < 5; i++) {
		CUstream stream, mine = stream_new(CU_STREAM_NON_BLOCKING);

		check_eq(world.cuda->cuCtxCreate(&other, 0, 0), CUDA_SUCCESS);
		stream = stream_new(CU_STREAM_NON_BLOCKING);
		check_eq(cuFileStreamRegister(stream, 0).err, CU_FILE_SUCCESS);
		check_eq(stream_async(&op, CUFILE_READ, stream).err, CU_FILE_SUCCESS);
		check_eq(world.cuda->cuStreamSynchronize(stream), CUDA_SUCCESS);
		check_eq(op.bytes, LEN);
		/* a stream of a context that is not current */
		check_eq(stream_async(&op, CUFILE_READ, mine).err, CU_FILE_SUCCESS);
		check_eq(world.cuda->cuCtxPushCurrent(world.context), CUDA_SUCCESS);
		check_eq(world.cuda->cuStreamSynchronize(mine), CUDA_SUCCESS);
		check_eq(world.cuda->cuCtxPopCurrent(&world.context), CUDA_SUCCESS);
		check_eq(op.bytes, LEN);
		left[i] = op;
		check_eq(stream_async(&left[i], CUFILE_READ, stream).err, CU_FILE_SUCCESS);
		check_eq(world.cuda->cuCtxDestroy(other), CUDA_SUCCESS);
		check_eq(world.cuda->cuCtxSetCurrent(world.context), CUDA_SUCCESS);
		if (i % 2)
			check_eq(cuFileStreamDeregister(stream).err, CU_FILE_SUCCESS);
		stream_end(mine);
	}
	stream_world_leave();
}

static void contexts_come_and_go(void)
{
	child_run(contexts, NULL, NULL);
	child_run(contexts, NULL, (const char *[]){ "BARLANE_EMU_ASYNC_US", "300", NULL });
}

/* More streams than there are words in a page, all under way at once. */
static void many(const void *arg)
{
	CUstream streams[150];
	struct op ops[150];

	stream_world_enter(0);
	for (int i = 0; i < 150; i++) {
		streams[i] = stream_new(i % 2 ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING);
		if (i % 3)
			check_eq(cuFileStreamRegister(streams[i], 0).err, CU_FILE_SUCCESS);
	}
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 150; i++) {
			ops[i] = (struct op){ 1000 + (size_t)i, i, i * 1200, 0 };
			check_eq(stream_async(&ops[i], CUFILE_READ, streams[i]).err, CU_FILE_SUCCESS);
		}
		check_eq(world.cuda->cuCtxSynchronize(), CUDA_SUCCESS);
		for (int i = 0; i < 150; i++) {
			unsigned char got;

			check_eq(ops[i].bytes, 1000 + i);
			memory_get(&stage.memory, (size_t)i * 1200, &got, 1);
			check_eq(got, pattern_at(1, (size_t)i));
		}
	}
	for (int i = 0; i < 150; i++) {
		if (i % 3)
			check_eq(cuFileStreamDeregister(streams[i]).err, CU_FILE_SUCCESS);
		stream_end(streams[i]);
	}
	stream_world_leave();
}

static void many_streams_at_once(void)
{
	child_run(many, NULL, NULL);
}

static const struct tap_test tests[] = {
	{ "operations_keep_the_order_of_every_kind_of_stream", streams_keep_order },
	{ "host_functions_wait_where_streams_cannot", host_functions_wait_instead },
	{ "arguments_are_read_when_the_stream_gets_there_unless_fixed", arguments_are_read_late },
	{ "neither_the_caller_nor_other_streams_are_held_up", nobody_is_held_up },
	{ "errors_of_calls_and_of_operations_are_told", errors_are_told },
	{ "captures_refuse_operations_and_stay_whole", captures_are_left_alone },
	{ "destroyed_streams_finish_their_operations", destroyed_streams_finish },
	{ "contexts_come_and_go_under_streams", contexts_come_and_go },
	{ "many_streams_have_operations_at_once", many_streams_at_once },
};

TAP_MAIN(tests)
