// SPDX-License-Identifier: MIT
/* Operations in the order of streams when something fails, is late, or ends: calls, contexts, files, processes. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "gpu/kernels/pattern.h"
#include "stream_world.h"
#include "tests/tap.h"

/* A kernel fails in front of an operation: its bell never rings, and nothing waits for it. */
static void failed(const void *arg)
{
	uint64_t ptr, nr = 1, number = 1;
	void *params[] = { &ptr, &nr, &number };
	struct op first = { LEN, 0, 0, 0 }, second = { LEN, 0, 0, 0 };
	CUfunction fill;
	CUmodule module;
	CUstream stream;
	CUfileError_t err;

	stream_world_enter(0);
	ptr = (uintptr_t)stage.memory.base;
	check_eq(world.cuda->cuModuleLoadData(&module, bl_pattern_ptx), CUDA_SUCCESS);
	check_eq(world.cuda->cuModuleGetFunction(&fill, module, "bl_pattern_fill"), CUDA_SUCCESS);
	stream = stream_closed();
	check_eq(world.fault("cuda.lost:1:700"), 0);
	check_eq(world.cuda->cuLaunchKernel(fill, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL), CUDA_SUCCESS);
	check_eq(stream_async(&first, CUFILE_WRITE, stream).err, CU_FILE_SUCCESS);
	atomic_store(&stage.gate, 1);
	check_eq(world.cuda->cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
	check_eq(first.bytes, NOT_ENDED);
	err = stream_async(&second, CUFILE_READ, stream);
	check_eq(err.err, CU_FILE_CUDA_DRIVER_ERROR);
	check_eq(err.cu_err, CUDA_ERROR_ILLEGAL_ADDRESS);
	check_eq(second.bytes, NOT_ENDED);
	cuFileStreamDeregister(stream);
	check_eq(cuFileDriverClose().err, CU_FILE_SUCCESS);
}

static void failed_contexts_hold_nobody(void)
{
	child_run(failed, NULL, NULL);
}

/* A drive, or here a GPU, that takes longer than the deadline. */
static void deadline(const void *arg)
{
	struct op op = { LEN, 0, 0, 0 }, next = { 16, 0, 0, 0 };
	atomic_int flag = 0;
	CUstream stream;

	stream_world_enter(arg != NULL);
	/* its place in the file is another one when the stream gets there, so the GPU has not begun by then */
	stream = stream_closed();
	op.pos = 4096;
	check_eq(stream_async(&op, CUFILE_WRITE, stream).err, CU_FILE_SUCCESS);
	op.pos = 0;
	atomic_store(&stage.gate, 1);
	check_eq(world.cuda->cuLaunchHostFunc(stream, stream_set_flag, &flag), CUDA_SUCCESS);
	check_eq(world.cuda->cuStreamSynchronize(stream), CUDA_SUCCESS);
	check_eq(op.bytes, -ETIMEDOUT);
	check(atomic_load(&flag));
	/* what was given up ends some time later, and does not touch the result */
	usleep(500000);
	check_eq(op.bytes, -ETIMEDOUT);
	check_eq(stream_async(&next, CUFILE_READ, stream).err, CU_FILE_SUCCESS);
	check_eq(world.cuda->cuStreamSynchronize(stream), CUDA_SUCCESS);
	stream_end(stream);
	stream_world_leave();
}

static void late_operations_are_given_up(void)
{
	static const char *const env[] = { "BARLANE_EMU_ASYNC_US", "200000", "BARLANE_FILE_ASYNC_TIMEOUT_MS", "50",
					   "BARLANE_FILE_PATH", "plain", NULL };

	child_run(deadline, NULL, env);
	child_run(deadline, "bypass", env);
}

/* Whatever call fails: an error and nothing has been done, or success and a result; and the stream goes on. */
static void fault_everywhere(const void *arg)
{
	static const char *const points[] = { "cuda.hostfn", "cuda.wait", "cuda.streamctx", "cuda.streamid",
					      "cuda.capturing", "cuda.register", "cuda.memcpy", "cuda.attr",
					      "cuda.newstream", "cuda.host", "cuda.stream", "cuda.memop",
					      "cuda.launch", "cuda.module" };
	struct op ops[4];
	CUstream stream;
	char spec[64];

	stream_world_enter(0);
	stream = stream_new(CU_STREAM_NON_BLOCKING);
	if (arg)
		check_eq(cuFileStreamRegister(stream, 15).err, CU_FILE_SUCCESS);
	for (size_t p = 0; p < sizeof(points) / sizeof(points[0]); p++) {
		for (int nth = 1; nth <= 8; nth++) {
			CUfileError_t errs[4];

			snprintf(spec, sizeof(spec), "%s:%d,cuda.wait:%d", points[p], nth, nth);
			check_eq(world.fault(spec), 0);
			for (int i = 0; i < 4; i++) {
				ops[i] = (struct op){ LEN, 0, 0, 0 };
				errs[i] = stream_async(&ops[i], i % 2 ? CUFILE_READ : CUFILE_WRITE, stream);
			}
			while (world.cuda->cuStreamSynchronize(stream))
				;
			check_eq(world.fault(""), 0);
			/* a stream of the core's that could not be asked is used again when it is idle */
			check_eq(world.cuda->cuCtxSynchronize(), CUDA_SUCCESS);
			for (int i = 0; i < 4; i++) {
				if (!errs[i].err != (ops[i].bytes != NOT_ENDED))
					tap_end(TAP_FAILED, "%s: operation %d: error %d, %zd bytes", spec, i,
						(int)errs[i].err, ops[i].bytes);
				/* short where the error came behind some bytes */
				check(errs[i].err || ops[i].bytes <= (ssize_t)LEN);
			}
			stream_round_trip(stream, (unsigned char)(p * 16 + (unsigned int)nth));
		}
	}
	stream_end(stream);
	stream_world_leave();
}

static void faults_are_told(void)
{
	child_run(fault_everywhere, NULL, NULL);
	child_run(fault_everywhere, NULL, (const char *[]){ "BARLANE_FILE_PATH", "plain", NULL });
	child_run(fault_everywhere, "fixed", (const char *[]){ "BARLANE_FILE_PATH", "staged", NULL });
}

static void forks(const void *arg)
{
	struct op ops[8];
	CUstream stream;
	int status = -1;
	pid_t pid;

	stream_world_enter(0);
	stream = stream_closed();
	for (int i = 0; i < 8; i++) {
		ops[i] = (struct op){ LEN, 0, 0, 0 };
		check_eq(stream_async(&ops[i], CUFILE_WRITE, stream).err, CU_FILE_SUCCESS);
	}
	pid = fork();
	if (!pid)
		_exit(stream_async(&ops[0], CUFILE_READ, stream).err == CU_FILE_SUCCESS ||
		      cuFileStreamRegister(stream, 0).err == CU_FILE_SUCCESS);
	check(pid > 0);
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	stream_open(stream);
	for (int i = 0; i < 8; i++)
		check_eq(ops[i].bytes, LEN);
	stream_round_trip(stream, 9);
	stream_end(stream);
	stream_world_leave();
}

static void children_have_no_streams(void)
{
	child_run(forks, NULL, NULL);
}

static void end_in_flight(const void *arg)
{
	struct op ops[8];
	int status = -1;
	pid_t pid = fork();

	check(pid >= 0);
	if (!pid) {
		CUstream stream;

		stream_world_enter(0);
		stream = stream_new(CU_STREAM_NON_BLOCKING);
		for (int i = 0; i < 8; i++) {
			ops[i] = (struct op){ LEN, 0, 0, 0 };
			check_eq(stream_async(&ops[i], CUFILE_WRITE, stream).err, CU_FILE_SUCCESS);
		}
		usleep(30000);
		if (!strcmp(arg, "kill"))
			kill(getpid(), SIGKILL);
		exit(7);
	}
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, strcmp(arg, "kill") ? 7 << 8 : SIGKILL);
}

static void processes_end_in_flight(void)
{
	static const char *const env[] = { "BARLANE_EMU_ASYNC_US", "20000", "BARLANE_FILE_PATH", "plain", NULL };

	child_run(end_in_flight, "kill", env);
	child_run(end_in_flight, "exit", env);
}

static const struct tap_test tests[] = {
	{ "a_failed_context_holds_nobody", failed_contexts_hold_nobody },
	{ "an_operation_that_is_late_is_given_up_and_the_stream_goes_on", late_operations_are_given_up },
	{ "whatever_call_of_cuda_fails_the_stream_goes_on", faults_are_told },
	{ "forked_children_have_no_operations", children_have_no_streams },
	{ "processes_end_with_operations_in_flight", processes_end_in_flight },
};

TAP_MAIN(tests)
