// SPDX-License-Identifier: MIT
/*
 * place_trial: what the mover of software NICs takes for granted of a GPU's copies
 *
 *	place_trial [GPU]
 *
 * Copies of each direction, each followed by its number in pinned memory, several under way: GB/s, and what the CPU
 * needs to submit one. Then each direction beside a kernel that spins, of one block, of one for each multiprocessor, and
 * of as many as fill the GPU: whether the copy ends before the kernel, which gives up after a second. One that does not
 * would wait for ever for a kernel that waits for it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/device.h"
#include "common/error.h"
#include "common/stats.h"
#include "place_spin.h"

#define MOST	   (64UL << 20)
#define MOVED	   (512UL << 20) /* for each figure */
#define LIMIT_NS   5000000000ULL
#define SPIN_NS	   1000000000ULL
#define MAX_BLOCKS 8192U

enum direction { TO_HOST, TO_GPU, WITHIN, WITHIN_AS_PEERS, NR_DIRECTIONS };

static const char *const names[] = { "to host memory", "from host memory", "within the GPU", "the same, as of peers" };

/**
 * struct bed - what is measured with
 * @gpu:   2 * MOST bytes
 * @host:  MOST bytes, pinned
 * @words: pinned: the number of the last copy, the word that ends the spinning, and a byte for each block
 */
struct bed {
	struct tool_device device;
	CUstream copies, kernels;
	CUdeviceptr gpu;
	unsigned char *host;
	uint32_t *words;
	uint32_t seq;
};

static void make(struct bed *bed, int ordinal)
{
	const struct bl_cuda *cu;

	if (tool_device_open(ordinal, &bed->device))
		tool_die("%s", tool_why());
	cu = bed->device.cu;
	if (!cu->cuStreamWriteValue32 || !cu->cuMemcpyDtoDAsync || !cu->cuMemcpyPeerAsync)
		tool_die("the driver lacks a call");
	if (cu->cuStreamCreate(&bed->copies, 1) || cu->cuStreamCreate(&bed->kernels, 1) ||
	    cu->cuMemAlloc(&bed->gpu, 2 * MOST) || cu->cuMemHostAlloc((void **)&bed->host, MOST, 1) ||
	    cu->cuMemHostAlloc((void **)&bed->words, 4096 + MAX_BLOCKS, 3))
		tool_die("no memory or streams");
	memset(bed->words, 0, 4096 + MAX_BLOCKS);
	cu->cuMemsetD8(bed->gpu, 1, 2 * MOST);
	cu->cuCtxSynchronize();
}

static void submit(struct bed *bed, enum direction direction, size_t len)
{
	const struct bl_cuda *cu = bed->device.cu;
	CUcontext ctx = bed->device.ctx;
	CUresult err;

	if (direction == TO_HOST)
		err = cu->cuMemcpyDtoHAsync(bed->host, bed->gpu, len, bed->copies);
	else if (direction == TO_GPU)
		err = cu->cuMemcpyHtoDAsync(bed->gpu, bed->host, len, bed->copies);
	else if (direction == WITHIN)
		err = cu->cuMemcpyDtoDAsync(bed->gpu + MOST, bed->gpu, len, bed->copies);
	else
		err = cu->cuMemcpyPeerAsync(bed->gpu + MOST, ctx, bed->gpu, ctx, len, bed->copies);
	if (!err)
		err = cu->cuStreamWriteValue32(bed->copies, (uintptr_t)bed->words, ++bed->seq, 0);
	if (err)
		tool_die("copy %s: %s", names[direction], bl_cuda_strerror(err));
}

static bool is_there(const struct bed *bed, uint32_t seq)
{
	return (int32_t)(__atomic_load_n(bed->words, __ATOMIC_ACQUIRE) - seq) >= 0;
}

static void wait_for(const struct bed *bed, uint32_t seq)
{
	uint64_t end = tool_now_ns() + LIMIT_NS;

	while (!is_there(bed, seq)) {
		if (tool_now_ns() > end)
			tool_die("a copy did not end within 5 s");
	}
}

static void measure(struct bed *bed, enum direction direction, size_t len, unsigned int depth)
{
	unsigned int nr = (unsigned int)(MOVED / len), warm = depth;
	uint64_t start = 0, cpu = 0, before;

	nr = nr > 2000 ? 2000 : nr;
	for (unsigned int i = 0; i < nr + warm; i++) {
		if (i == warm)
			start = tool_now_ns();
		wait_for(bed, bed->seq + 1 - depth);
		before = tool_now_ns();
		submit(bed, direction, len);
		cpu += i >= warm ? tool_now_ns() - before : 0;
	}
	wait_for(bed, bed->seq);
	start = tool_now_ns() - start;
	printf("%-22s %9zu %6u %9.2f %10.2f\n", names[direction], len, depth, (double)len * nr / (double)start,
	       (double)cpu / nr / 1000);
	fflush(stdout);
}

/* The calls of the driver that go with a copy, us each. */
static void time_calls(struct bed *bed)
{
	enum { MEMORY, CONTEXT, CAPTURE, VALUE, COPY, QUERY, NR_CALLS };
	static const char *const calls[NR_CALLS] = { "cuPointerGetAttribute", "cuCtxPushCurrent and Pop",
						     "cuThreadExchangeStreamCaptureMode", "cuStreamWriteValue32",
						     "cuMemcpyDtoDAsync", "cuStreamQuery" };
	const struct bl_cuda *cu = bed->device.cu;
	double us[NR_CALLS];
	uint64_t id, begin;
	CUcontext context;
	int mode = 2;

	for (int call = 0; call < NR_CALLS; call++) {
		cu->cuStreamSynchronize(bed->copies);
		begin = tool_now_ns();
		for (int i = 0; i < 200; i++) {
			if (call == MEMORY)
				cu->cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, bed->gpu);
			else if (call == CONTEXT && !cu->cuCtxPushCurrent(bed->device.ctx))
				cu->cuCtxPopCurrent(&context);
			else if (call == CAPTURE)
				cu->cuThreadExchangeStreamCaptureMode(&mode);
			else if (call == VALUE)
				cu->cuStreamWriteValue32(bed->copies, (uintptr_t)(bed->words + 128), 1, 0);
			else if (call == COPY)
				cu->cuMemcpyDtoDAsync(bed->gpu + MOST, bed->gpu, 65536, bed->copies);
			else if (call == QUERY)
				cu->cuStreamQuery(bed->copies);
		}
		us[call] = (double)(tool_now_ns() - begin) / 200 / 1000;
	}
	for (int call = 0; call < NR_CALLS; call++)
		printf("%-34s %8.2f us\n", calls[call], us[call]);
	fflush(stdout);
}

/* Blocks that are running. */
static unsigned int running(const struct bed *bed, unsigned int blocks)
{
	return place_spin_running((unsigned char *)bed->words + 4096, blocks);
}

static void beside_a_kernel(struct bed *bed, CUfunction spin, unsigned int blocks, enum direction direction)
{
	const struct bl_cuda *cu = bed->device.cu;
	uint64_t word = (uintptr_t)(bed->words + 64), bytes = (uintptr_t)bed->words + 4096, ns = SPIN_NS, start, took;
	void *params[] = { &word, &bytes, &ns };
	unsigned int there;
	bool ended;

	memset((unsigned char *)bed->words + 4096, 0, MAX_BLOCKS);
	__atomic_store_n(bed->words + 64, 0, __ATOMIC_SEQ_CST);
	if (cu->cuLaunchKernel(spin, blocks, 1, 1, 1024, 1, 1, 0, bed->kernels, params, NULL))
		tool_die("the kernel cannot be launched");
	start = tool_now_ns();
	while (running(bed, blocks) < blocks && tool_now_ns() - start < SPIN_NS / 4)
		;
	there = running(bed, blocks);
	start = tool_now_ns();
	submit(bed, direction, 1 << 20);
	while (!(ended = is_there(bed, bed->seq)) && tool_now_ns() - start < SPIN_NS / 2)
		;
	took = tool_now_ns() - start;
	__atomic_store_n(bed->words + 64, 1, __ATOMIC_SEQ_CST);
	cu->cuStreamSynchronize(bed->kernels);
	wait_for(bed, bed->seq);
	printf("%s beside %u of %u blocks: %s %.1f us\n", names[direction], there, blocks,
	       ended ? "ended after" : "NOT ended within", (double)took / 1000);
	fflush(stdout);
}

static void try_beside(struct bed *bed)
{
	const struct bl_cuda *cu = bed->device.cu;
	int sms = tool_device_attr(&bed->device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
	int threads = tool_device_attr(&bed->device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
	unsigned int blocks = (unsigned int)(sms * (threads / 1024));
	CUmodule module;
	CUfunction spin;
	CUresult err;

	blocks = blocks > MAX_BLOCKS ? MAX_BLOCKS : blocks;
	err = cu->cuModuleLoadData(&module, place_spin_ptx);
	if (!err)
		err = cu->cuModuleGetFunction(&spin, module, "bl_place_spin");
	if (err) {
		printf("# no kernel to copy beside: %s\n", bl_cuda_strerror(err));
		return;
	}
	/* the first launch loads; a block of this kernel is half of what a multiprocessor has room for */
	for (int i = 0; i < NR_DIRECTIONS; i++) {
		beside_a_kernel(bed, spin, 1, (enum direction)i);
		beside_a_kernel(bed, spin, (unsigned int)sms, (enum direction)i);
		beside_a_kernel(bed, spin, blocks, (enum direction)i);
	}
	cu->cuModuleUnload(module);
}

int main(int argc, char **argv)
{
	static const size_t lens[] = { 65536, 1 << 20, 16 << 20, 64 << 20 };
	static const unsigned int depths[] = { 1, 8, 32 };
	struct bed bed = { .seq = 0 };

	make(&bed, argc > 1 ? atoi(argv[1]) : 0);
	printf("# place_trial; GPU %s %s%s\n# %-20s %9s %6s %9s %10s\n", bed.device.bus_id, bed.device.name,
	       bed.device.emulated ? ", emu" : "", "direction", "bytes", "depth", "GB/s", "submit_us");
	for (int direction = 0; direction < NR_DIRECTIONS; direction++) {
		for (size_t l = 0; l < sizeof(lens) / sizeof(lens[0]); l++) {
			for (size_t d = 0; d < sizeof(depths) / sizeof(depths[0]); d++)
				measure(&bed, (enum direction)direction, lens[l], depths[d]);
		}
	}
	time_calls(&bed);
	try_beside(&bed);
	return 0;
}
