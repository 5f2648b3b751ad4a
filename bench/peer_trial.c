// SPDX-License-Identifier: MIT
/*
 * peer_trial: whether copies between two GPUs end beside kernels that fill them
 *
 *	peer_trial direct|staged|shared
 *
 * Copies of 16 MiB by the first GPU, to and from the second one: with access to its memory, without, or of memory that
 * another process has allocated there. Access is enabled, and that memory opened, beside such a kernel, too.
 *
 * Copies are beside a kernel that spins, of one block, of one for each multiprocessor, and of as many as fill the GPU, on
 * both GPUs where this process has both. It gives up after a second: what has not ended by then would wait for ever for
 * a kernel that waits for it.
 *
 * Exit status 77: this machine cannot.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/device.h"
#include "common/error.h"
#include "common/stats.h"
#include "place_spin.h"

#define LEN	   (16UL << 20)
#define SPIN_NS	   1000000000ULL
#define MAX_BLOCKS 8192U
#define COPIES	   128
#define SKIPPED	   77

enum mode { DIRECT, STAGED, SHARED };

/**
 * struct end - a GPU
 * @spin:    kernel, NULL: none is launched there
 * @kernels: stream
 * @mem:     LEN bytes
 */
struct end {
	struct tool_device device;
	CUfunction spin;
	CUstream kernels;
	CUdeviceptr mem;
};

/**
 * struct bed - what is tried with
 * @ends:   both GPUs; where the second is another process', only its memory
 * @words:  pinned: the number of the last copy, the word that ends the spinning, and a byte for each block
 * @blocks: that fill a GPU
 */
struct bed {
	enum mode mode;
	const struct bl_cuda *cu;
	struct end ends[2];
	CUstream copies;
	uint32_t *words;
	uint32_t seq;
	unsigned int sms, blocks;
};

static void must(CUresult err, const char *what)
{
	if (err)
		tool_die("%s: %s", what, bl_cuda_strerror(err));
}

static void open_end(struct end *end, int ordinal)
{
	const struct bl_cuda *cu;

	if (tool_device_open(ordinal, &end->device))
		tool_die("%s", tool_why());
	cu = end->device.cu;
	must(cu->cuMemAlloc(&end->mem, LEN), "cuMemAlloc");
	must(cu->cuMemsetD8(end->mem, 1, LEN), "cuMemsetD8");
	must(cu->cuStreamCreate(&end->kernels, 1), "cuStreamCreate");
	must(cu->cuCtxSynchronize(), "cuCtxSynchronize");
}

static void load_spin(struct end *end)
{
	CUmodule module;
	CUresult err;

	must(end->device.cu->cuCtxSetCurrent(end->device.ctx), "cuCtxSetCurrent");
	err = end->device.cu->cuModuleLoadData(&module, place_spin_ptx);
	if (!err)
		err = end->device.cu->cuModuleGetFunction(&end->spin, module, "bl_place_spin");
	if (err) {
		printf("# no kernel to copy beside: %s\n", bl_cuda_strerror(err));
		end->spin = NULL;
	}
}

/* Allocate memory of the second GPU, say how it is opened, and wait until nobody wants it any more. */
static void be_owner(int to, int from)
{
	CUipcMemHandle handle;
	struct end end;
	char byte;

	open_end(&end, 1);
	must(end.device.cu->cuIpcGetMemHandle(&handle, end.mem), "cuIpcGetMemHandle");
	if (write(to, &handle, sizeof(handle)) != (ssize_t)sizeof(handle) || read(from, &byte, 1) != 0)
		_exit(1);
	_exit(0);
}

/* Before this process uses CUDA. The other one ends with this. */
static CUipcMemHandle start_owner(void)
{
	int to_owner[2], to_us[2];
	CUipcMemHandle handle;
	pid_t pid;

	if (pipe(to_owner) || pipe(to_us))
		tool_die("no pipe");
	pid = fork();
	if (!pid) {
		close(to_owner[1]);
		be_owner(to_us[1], to_owner[0]);
	}
	close(to_us[1]);
	if (pid < 0 || read(to_us[0], &handle, sizeof(handle)) != (ssize_t)sizeof(handle))
		tool_die("the other process has no memory");
	return handle;
}

static unsigned int running(const struct bed *bed, unsigned int blocks)
{
	return place_spin_running((unsigned char *)bed->words + 4096, blocks);
}

/* On each GPU of this process. Return: how many blocks there are to be. */
static unsigned int launch(struct bed *bed, unsigned int blocks)
{
	uint64_t word = (uintptr_t)(bed->words + 64), bytes = (uintptr_t)bed->words + 4096, ns = SPIN_NS, start;
	void *params[] = { &word, &bytes, &ns };
	unsigned int all = 0;

	memset((unsigned char *)bed->words + 4096, 0, 2UL * MAX_BLOCKS);
	__atomic_store_n(bed->words + 64, 0, __ATOMIC_SEQ_CST);
	for (int i = 1; i >= 0; i--) {
		struct end *end = &bed->ends[i];

		if (!end->spin)
			continue;
		must(bed->cu->cuCtxSetCurrent(end->device.ctx), "cuCtxSetCurrent");
		must(bed->cu->cuLaunchKernel(end->spin, blocks, 1, 1, 1024, 1, 1, 0, end->kernels, params, NULL),
		     "cuLaunchKernel");
		bytes += blocks;
		all += blocks;
	}
	must(bed->cu->cuCtxSetCurrent(bed->ends[0].device.ctx), "cuCtxSetCurrent");
	start = tool_now_ns();
	while (running(bed, all) < all && tool_now_ns() - start < SPIN_NS / 4)
		;
	return all;
}

static void stop(struct bed *bed)
{
	__atomic_store_n(bed->words + 64, 1, __ATOMIC_SEQ_CST);
	for (int i = 1; i >= 0; i--) {
		if (!bed->ends[i].spin)
			continue;
		must(bed->cu->cuCtxSetCurrent(bed->ends[i].device.ctx), "cuCtxSetCurrent");
		must(bed->cu->cuStreamSynchronize(bed->ends[i].kernels), "cuStreamSynchronize");
	}
	must(bed->cu->cuCtxSetCurrent(bed->ends[0].device.ctx), "cuCtxSetCurrent");
}

static bool is_there(const struct bed *bed)
{
	return (int32_t)(__atomic_load_n(bed->words, __ATOMIC_ACQUIRE) - bed->seq) >= 0;
}

static void submit(struct bed *bed, bool to_other)
{
	struct end *near = &bed->ends[0], *far = &bed->ends[1];

	if (bed->mode == SHARED)
		must(bed->cu->cuMemcpyDtoDAsync(near->mem, far->mem, LEN, bed->copies), "cuMemcpyDtoDAsync");
	else if (to_other)
		must(bed->cu->cuMemcpyPeerAsync(far->mem, far->device.ctx, near->mem, near->device.ctx, LEN, bed->copies),
		     "cuMemcpyPeerAsync");
	else
		must(bed->cu->cuMemcpyPeerAsync(near->mem, near->device.ctx, far->mem, far->device.ctx, LEN, bed->copies),
		     "cuMemcpyPeerAsync");
	must(bed->cu->cuStreamWriteValue32(bed->copies, (uintptr_t)bed->words, ++bed->seq, 0), "cuStreamWriteValue32");
}

/* Several, one behind the other, beside nothing. */
static void copy_many(struct bed *bed, bool to_other)
{
	uint64_t start = tool_now_ns();

	for (int i = 0; i < COPIES; i++)
		submit(bed, to_other);
	must(bed->cu->cuStreamSynchronize(bed->copies), "cuStreamSynchronize");
	printf("%s the other GPU, %d in a row: %.1f us each\n", to_other ? "to" : "from", COPIES,
	       (double)(tool_now_ns() - start) / COPIES / 1000);
	fflush(stdout);
}

static void copy_beside(struct bed *bed, bool to_other, unsigned int blocks)
{
	unsigned int all = launch(bed, blocks), there = running(bed, all);
	uint64_t start = tool_now_ns(), call, took;
	bool ended;

	submit(bed, to_other);
	call = tool_now_ns() - start;
	while (!(ended = is_there(bed)) && tool_now_ns() - start < SPIN_NS / 2)
		;
	took = tool_now_ns() - start;
	stop(bed);
	must(bed->cu->cuStreamSynchronize(bed->copies), "cuStreamSynchronize");
	printf("%s the other GPU beside %u of %u blocks: %s %.1f us, of which the call took %.1f\n",
	       to_other ? "to" : "from", there, all, ended ? "ended after" : "NOT ended within", (double)took / 1000, (double)call / 1000);
	fflush(stdout);
}

static void open_beside(struct bed *bed, CUipcMemHandle handle)
{
	unsigned int all = launch(bed, bed->blocks), there = running(bed, all);
	uint64_t start = tool_now_ns(), took;
	CUresult err;

	err = bed->cu->cuIpcOpenMemHandle(&bed->ends[1].mem, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
	took = tool_now_ns() - start;
	stop(bed);
	must(err, "cuIpcOpenMemHandle");
	printf("opened beside %u of %u blocks: the call took %.1f us\n", there, all, (double)took / 1000);
	fflush(stdout);
}

static void enable_beside(struct bed *bed)
{
	unsigned int all = launch(bed, bed->blocks), there = running(bed, all);
	uint64_t start = tool_now_ns(), took;
	CUresult err;

	err = bed->cu->cuCtxEnablePeerAccess(bed->ends[1].device.ctx, 0);
	took = tool_now_ns() - start;
	stop(bed);
	must(err, "cuCtxEnablePeerAccess");
	printf("access enabled beside %u of %u blocks: the call took %.1f us\n", there, all, (double)took / 1000);
	fflush(stdout);
}

static void make(struct bed *bed)
{
	struct tool_device *device = &bed->ends[0].device;
	int threads;

	if (tool_device_count() < 2) {
		fprintf(stderr, "peer_trial: there are no two GPUs\n");
		exit(SKIPPED);
	}
	if (bed->mode != SHARED)
		open_end(&bed->ends[1], 1);
	open_end(&bed->ends[0], 0);
	bed->cu = device->cu;
	if (!bed->cu->cuStreamWriteValue32 || !bed->cu->cuMemcpyDtoDAsync || !bed->cu->cuMemcpyPeerAsync ||
	    !bed->cu->cuCtxEnablePeerAccess || !bed->cu->cuIpcOpenMemHandle)
		tool_die("the driver lacks a call");
	must(bed->cu->cuStreamCreate(&bed->copies, 1), "cuStreamCreate");
	must(bed->cu->cuMemHostAlloc((void **)&bed->words, 4096 + 2UL * MAX_BLOCKS, 3), "cuMemHostAlloc");
	memset(bed->words, 0, 4096 + 2UL * MAX_BLOCKS);
	bed->sms = (unsigned int)tool_device_attr(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
	threads = tool_device_attr(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
	bed->blocks = bed->sms * (unsigned int)(threads / 1024);
	bed->blocks = bed->blocks > MAX_BLOCKS ? MAX_BLOCKS : bed->blocks;
	if (bed->mode != SHARED)
		load_spin(&bed->ends[1]);
	load_spin(&bed->ends[0]);
}

int main(int argc, char **argv)
{
	static const char *const modes[] = { "direct", "staged", "shared" };
	struct bed bed = { .mode = DIRECT };
	CUipcMemHandle handle;

	while (bed.mode <= SHARED && (argc != 2 || strcmp(argv[1], modes[bed.mode]) != 0))
		bed.mode++;
	if (bed.mode > SHARED)
		tool_die("usage: peer_trial direct|staged|shared");
	if (bed.mode == SHARED)
		handle = start_owner();
	make(&bed);
	printf("# peer_trial %s; GPU %s %s%s\n", argv[1], bed.ends[0].device.bus_id, bed.ends[0].device.name,
	       bed.ends[0].device.emulated ? ", emu" : "");
	if (bed.mode == SHARED)
		open_beside(&bed, handle);
	else if (bed.mode == DIRECT)
		enable_beside(&bed);
	/* the first copy is for what the driver makes then */
	for (int to_other = bed.mode != SHARED; to_other >= 0; to_other--) {
		copy_beside(&bed, to_other, 1);
		copy_beside(&bed, to_other, 1);
		copy_many(&bed, to_other);
		copy_beside(&bed, to_other, 1);
		copy_beside(&bed, to_other, bed.sms);
		copy_beside(&bed, to_other, bed.blocks);
	}
	return tool_finish(EXIT_SUCCESS);
}
