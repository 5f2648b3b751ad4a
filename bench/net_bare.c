// SPDX-License-Identifier: MIT
/*
 * net_bare - copies by CUDA alone, of the size and depth of gpunetio_verbs_put_bw's writes: what bench/net.sh sets beside them
 *
 * usage: net_bare d2h|d2d|p2p SIZE DEPTH COPIES [TURNS], or net_bare gpus: their PCI addresses
 *
 * d2h is from the GPU into pinned memory, d2d within a GPU, p2p from the first GPU to the second. DEPTH copies are under way,
 * half of them in each of two streams, so that there are some while one is waited for. Prints one line: what, bytes, depth,
 * copies, GB/s of the slowest, the middle and the fastest turn. Exit status 77: this machine cannot.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/device.h"
#include "common/error.h"
#include "common/option.h"
#include "common/stats.h"

#define SKIPPED	  77
#define MAX_DEPTH 1024U
#define MAX_TURNS 101U
#define STREAMS	  2U
#define PATTERN	  0x5a

enum kind { D2H, D2D, P2P };

static const struct tool_name kinds[] = { { "d2h", D2H }, { "d2d", D2D }, { "p2p", P2P }, { NULL, 0 } };

/* What the CUDA loader of this project does not look up. */
static CUresult (*copy_d2d)(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream);
static CUresult (*copy_peer)(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx, size_t size, CUstream stream);
static CUresult (*enable_peer)(CUcontext peer, unsigned int flags);

/**
 * struct bare - one way of copying
 * @from:    memory of @device, @depth times @size
 * @to:      of @device or @other, or NULL
 * @to_host: pinned memory, or NULL
 * @next:    copies so far
 */
struct bare {
	enum kind kind;
	size_t size;
	unsigned int depth;
	uint64_t copies;
	struct tool_device device, other;
	CUdeviceptr from, to;
	unsigned char *to_host;
	CUstream streams[STREAMS];
	uint64_t next;
};

static void must(CUresult res, const char *what)
{
	if (tool_cuda(res, what))
		tool_die("%s", tool_why());
}

static void skip(const char *why)
{
	fprintf(stderr, "net_bare: %s\n", why);
	exit(SKIPPED);
}

static void find_calls(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);

	if (!lib)
		skip(dlerror());
	*(void **)&copy_d2d = dlsym(lib, "cuMemcpyDtoDAsync_v2");
	*(void **)&copy_peer = dlsym(lib, "cuMemcpyPeerAsync");
	*(void **)&enable_peer = dlsym(lib, "cuCtxEnablePeerAccess");
	if (!copy_d2d || !copy_peer || !enable_peer)
		tool_die("the CUDA driver library lacks a copy");
}

static void open_gpus(struct bare *bare)
{
	int nr = tool_device_count();

	if (nr <= 0)
		skip(nr < 0 ? tool_why() : "no GPU");
	if (bare->kind == P2P && nr < 2)
		skip("there is one GPU");
	if (bare->kind == P2P && tool_device_open(1, &bare->other))
		tool_die("%s", tool_why());
	if (tool_device_open(0, &bare->device))
		tool_die("%s", tool_why());
	/* without it the copy goes by way of the host: that is then CUDA's own way on this machine */
	if (bare->kind == P2P && enable_peer(bare->other.ctx, 0))
		fprintf(stderr, "net_bare: the GPUs do not reach each other's memory\n");
}

static void make_memory(struct bare *bare)
{
	const struct bl_cuda *cu = bare->device.cu;
	size_t len = bare->size * bare->depth;

	must(cu->cuMemAlloc(&bare->from, len), "cuMemAlloc");
	must(cu->cuMemsetD8(bare->from, PATTERN, len), "cuMemsetD8");
	must(cu->cuCtxSynchronize(), "cuCtxSynchronize");
	for (unsigned int i = 0; i < STREAMS; i++)
		must(cu->cuStreamCreate(&bare->streams[i], 1), "cuStreamCreate");
	if (bare->kind == D2H) {
		must(cu->cuMemHostAlloc((void **)&bare->to_host, len, 0), "cuMemHostAlloc");
		memset(bare->to_host, 0, len);
		return;
	}
	if (bare->kind == P2P)
		must(cu->cuCtxSetCurrent(bare->other.ctx), "cuCtxSetCurrent");
	must(cu->cuMemAlloc(&bare->to, len), "cuMemAlloc");
	must(cu->cuMemsetD8(bare->to, 0, len), "cuMemsetD8");
	must(cu->cuCtxSynchronize(), "cuCtxSynchronize");
	must(cu->cuCtxSetCurrent(bare->device.ctx), "cuCtxSetCurrent");
}

static void start_copy(struct bare *bare, CUstream stream)
{
	size_t off = bare->next++ % bare->depth * bare->size;

	if (bare->kind == D2H)
		must(bare->device.cu->cuMemcpyDtoHAsync(bare->to_host + off, bare->from + off, bare->size, stream),
		     "cuMemcpyDtoHAsync");
	else if (bare->kind == D2D)
		must(copy_d2d(bare->to + off, bare->from + off, bare->size, stream), "cuMemcpyDtoDAsync");
	else
		must(copy_peer(bare->to + off, bare->other.ctx, bare->from + off, bare->device.ctx, bare->size, stream),
		     "cuMemcpyPeerAsync");
}

/* Streams by turns: one is filled up while the other still copies. GB/s. */
static double copy_all(struct bare *bare)
{
	unsigned int part = (bare->depth + STREAMS - 1) / STREAMS;
	uint64_t begin = tool_now_ns();

	bare->next = 0;
	for (unsigned int turn = 0; bare->next < bare->copies; turn++) {
		CUstream stream = bare->streams[turn % STREAMS];

		must(bare->device.cu->cuStreamSynchronize(stream), "cuStreamSynchronize");
		for (unsigned int i = 0; i < part && bare->next < bare->copies; i++)
			start_copy(bare, stream);
	}
	for (unsigned int i = 0; i < STREAMS; i++)
		must(bare->device.cu->cuStreamSynchronize(bare->streams[i]), "cuStreamSynchronize");
	return (double)bare->size * (double)bare->copies / (double)(tool_now_ns() - begin);
}

/* A copy that copies nothing is fast. Up to the last byte that was to come. */
static void check(const struct bare *bare)
{
	size_t len = bare->size * (bare->copies < bare->depth ? bare->copies : bare->depth);
	unsigned char *bytes = bare->to_host;

	if (!bytes) {
		bytes = malloc(len);
		if (!bytes)
			tool_die("no memory");
		must(bare->device.cu->cuMemcpyDtoH(bytes, bare->to, len), "cuMemcpyDtoH");
	}
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] != PATTERN)
			tool_die("byte %zu is wrong", i);
	}
	if (!bare->to_host)
		free(bytes);
}

/* PCI addresses, as -g and --server-gpu of the programs take them. */
static int list_gpus(void)
{
	const struct bl_cuda *cu = bl_cuda();
	int nr = tool_device_count();
	char id[32];
	CUdevice dev;

	if (nr < 0)
		skip(tool_why());
	for (int i = 0; i < nr; i++) {
		must(cu->cuDeviceGet(&dev, i), "cuDeviceGet");
		must(cu->cuDeviceGetPCIBusId(id, sizeof(id), dev), "cuDeviceGetPCIBusId");
		puts(id);
	}
	return tool_finish(EXIT_SUCCESS);
}

int main(int argc, char **argv)
{
	static double samples[MAX_TURNS];
	struct bare bare = { 0 };
	struct tool_stats stats;
	unsigned int turns;

	if (argc == 2 && !strcmp(argv[1], "gpus"))
		return list_gpus();
	if (argc < 5 || argc > 6)
		tool_die("usage: net_bare d2h|d2d|p2p SIZE DEPTH COPIES [TURNS]");
	bare.kind = (enum kind)tool_name_value("the first argument", argv[1], kinds);
	bare.size = tool_number("SIZE", argv[2], 1, 1 << 30);
	bare.depth = (unsigned int)tool_number("DEPTH", argv[3], 1, MAX_DEPTH);
	bare.copies = tool_number("COPIES", argv[4], 1, 1 << 22);
	turns = argc > 5 ? (unsigned int)tool_number("TURNS", argv[5], 1, MAX_TURNS) : 5;
	find_calls();
	open_gpus(&bare);
	make_memory(&bare);
	copy_all(&bare);
	for (unsigned int i = 0; i < turns; i++)
		samples[i] = copy_all(&bare);
	check(&bare);
	tool_stats_fill(samples, turns, &stats);
	printf("%s %zu %u %llu %.3f %.3f %.3f\n", argv[1], bare.size, bare.depth, (unsigned long long)bare.copies, stats.min,
	       stats.p50, stats.max);
	return tool_finish(EXIT_SUCCESS);
}
