// SPDX-License-Identifier: MIT
/*
 * move_limits: how much a stopped stream takes, and what a launch of the kernel of move.ptx costs
 *
 *	move_limits [GPU]
 *
 * First, a stream is stopped by a host function, and rounds of calls are put on it until one does not come back, 1500 at
 * most: k is a kernel that copies nothing, w a wait for a word that is satisfied, h a host function, c a copy of 64 KiB. A line
 * for each pattern says how many rounds were taken and whether all ended when the stream was let go on. Each is a process of
 * its own. Then a line for each grid: launch and synchronize for nothing, 64 KiB, 1 MiB and 4 MiB each way, p50 in us.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/device.h"
#include "common/error.h"
#include "common/stats.h"
#include "gpu/kernels/move.h"

#define MOST	   1500
#define STILL_MS   400
#define SET_UP_MS  10000
#define AFTER_MS   10000
#define COPY	   65536UL
#define SLOT	   (4UL << 20)
#define HOST_LEN   (SLOT + 8192)
#define NR_SAMPLES 40

/**
 * struct share - what a process and the one that watches it share
 * @rounds: that were taken
 * @ready:  the stream is stopped
 * @full:   all rounds were
 * @gate:   lets the stream go on
 */
static struct share {
	atomic_int rounds;
	atomic_int ready;
	atomic_int full;
	atomic_int gate;
} *share;

static struct tool_device gpu;
static CUstream stream;
static CUfunction move;
static CUdeviceptr device, host_va;
static unsigned char *host;
static volatile struct bl_move_job *job;

static void must(CUresult err, const char *what)
{
	if (err)
		tool_die("%s: %s", what, bl_cuda_strerror(err));
}

static void launch(unsigned int blocks, unsigned int threads)
{
	uint64_t param = host_va + SLOT;
	void *params[] = { &param };

	must(gpu.cu->cuLaunchKernel(move, blocks, 1, 1, threads, 1, 1, 0, stream, params, NULL), "cuLaunchKernel");
}

static void set_up(int ordinal)
{
	CUmodule module;

	if (tool_device_open(ordinal, &gpu))
		tool_die("%s", tool_why());
	if (!gpu.cu->cuMemHostRegister || !gpu.cu->cuMemHostGetDevicePointer || !gpu.cu->cuStreamWaitValue32 ||
	    !gpu.cu->cuLaunchHostFunc)
		tool_die("the driver is too old");
	host = mmap(NULL, HOST_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (host == MAP_FAILED)
		tool_die("out of memory");
	must(gpu.cu->cuMemHostRegister(host, HOST_LEN, CU_MEMHOSTREGISTER_DEVICEMAP), "cuMemHostRegister");
	must(gpu.cu->cuMemHostGetDevicePointer(&host_va, host, 0), "cuMemHostGetDevicePointer");
	must(gpu.cu->cuMemAlloc(&device, SLOT), "cuMemAlloc");
	must(gpu.cu->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	must(gpu.cu->cuModuleLoadData(&module, bl_move_ptx), "cuModuleLoadData");
	must(gpu.cu->cuModuleGetFunction(&move, module, "bl_move"), "cuModuleGetFunction");
	job = (volatile struct bl_move_job *)(host + SLOT);
	launch(BL_MOVE_BLOCKS, BL_MOVE_THREADS);
	must(gpu.cu->cuStreamSynchronize(stream), "cuStreamSynchronize");
}

static void stop_at_gate(void *arg)
{
	(void)arg;
	while (!atomic_load(&share->gate))
		usleep(100);
}

static void nothing(void *arg)
{
	(void)arg;
}

static void put(char step)
{
	switch (step) {
	case 'k':
		launch(BL_MOVE_BLOCKS, BL_MOVE_THREADS);
		break;
	case 'w':
		must(gpu.cu->cuStreamWaitValue32(stream, host_va + SLOT + 4096, 0, CU_STREAM_WAIT_VALUE_GEQ),
		     "cuStreamWaitValue32");
		break;
	case 'h':
		must(gpu.cu->cuLaunchHostFunc(stream, nothing, NULL), "cuLaunchHostFunc");
		break;
	default:
		must(gpu.cu->cuMemcpyHtoDAsync(device, host, COPY, stream), "cuMemcpyHtoDAsync");
	}
}

static _Noreturn void fill(const char *pattern, int ordinal)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	set_up(ordinal);
	must(gpu.cu->cuLaunchHostFunc(stream, stop_at_gate, NULL), "cuLaunchHostFunc");
	atomic_store(&share->ready, 1);
	for (int i = 0; i < MOST; i++) {
		for (const char *step = pattern; *step; step++)
			put(*step);
		atomic_store(&share->rounds, i + 1);
	}
	atomic_store(&share->full, 1);
	must(gpu.cu->cuStreamSynchronize(stream), "cuStreamSynchronize");
	fflush(stdout);
	_exit(0);
}

/* Until the process has ended, or the number of rounds was the same for so long. Whether it has ended. */
static int watch(pid_t child, const atomic_int *unless, int still_ms, int *status)
{
	int last = -1;

	for (int still = 0; still < still_ms && !(unless && atomic_load(unless)); still++) {
		int rounds = atomic_load(&share->rounds);

		if (waitpid(child, status, WNOHANG) == child)
			return 1;
		still = rounds == last ? still : 0;
		last = rounds;
		usleep(1000);
	}
	return 0;
}

static int depth(const char *pattern, int ordinal)
{
	int status = 0, rounds, ended;
	pid_t child;

	*share = (struct share){ 0 };
	fflush(stdout);
	child = fork();
	if (!child)
		fill(pattern, ordinal);
	if (child < 0)
		tool_die("fork failed");
	ended = watch(child, &share->ready, SET_UP_MS, &status) || watch(child, &share->full, STILL_MS, &status);
	rounds = atomic_load(&share->rounds);
	atomic_store(&share->gate, 1);
	ended = ended || watch(child, NULL, AFTER_MS, &status);
	if (!ended) {
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
	}
	ended = ended && WIFEXITED(status) && !WEXITSTATUS(status);
	printf("%-4s %4d rounds, %s; all %s\n", pattern, rounds, rounds == MOST ? "all taken" : "then a call waits",
	       ended ? "end when the stream goes on" : "do NOT end");
	return !ended;
}

static double time_of(unsigned int blocks, unsigned int threads, uint64_t dst, uint64_t src, uint64_t len)
{
	static double samples[NR_SAMPLES];
	struct tool_stats stats;

	job->dst = dst;
	job->src = src;
	job->len = len;
	for (int i = 0; i < NR_SAMPLES; i++) {
		uint64_t start_ns = tool_now_ns();

		launch(blocks, threads);
		must(gpu.cu->cuStreamSynchronize(stream), "cuStreamSynchronize");
		samples[i] = 1e-3 * (double)(tool_now_ns() - start_ns);
	}
	tool_stats_fill(samples, NR_SAMPLES, &stats);
	return stats.p50;
}

static void grid(unsigned int blocks, unsigned int threads)
{
	static const uint64_t lens[] = { 65536, 1 << 20, 4 << 20 };

	printf("%2u x %-4u %9.1f", blocks, threads, time_of(blocks, threads, 0, 0, 0));
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
		printf("  %8.1f %8.1f", time_of(blocks, threads, device, host_va, lens[i]),
		       time_of(blocks, threads, host_va, device, lens[i]));
	putchar('\n');
}

int main(int argc, char **argv)
{
	static const char *const patterns[] = { "h", "k", "c", "wk", "kh", "ch", "wkh", "wch" };
	static const unsigned int grids[][2] = { { 1, 1024 }, { 2, 1024 }, { 4, 256 }, { 4, 1024 }, { 8, 1024 }, { 16, 256 } };
	int ordinal = argc > 1 ? atoi(argv[1]) : 0, bad = 0;

	share = mmap(NULL, sizeof(*share), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (share == MAP_FAILED)
		tool_die("out of memory");
	printf("# move_limits: what a stopped stream takes\n");
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		bad += depth(patterns[i], ordinal);
	set_up(ordinal);
	printf("# grid, us     nothing    64 KiB to and from the GPU, 1 MiB, 4 MiB\n");
	for (size_t i = 0; i < sizeof(grids) / sizeof(grids[0]); i++)
		grid(grids[i][0], grids[i][1]);
	return tool_finish(bad != 0);
}
