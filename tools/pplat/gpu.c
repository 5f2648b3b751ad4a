// SPDX-License-Identifier: MIT
#include "pplat/pplat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

#define SECOND_NS   1000000000ULL
#define PATIENCE_NS (10 * SECOND_NS)

/* Blocks that every GPU of compute capability 7.0 and later holds on a multiprocessor, if they are small enough. */
#define SM_BLOCKS 16

static void need(CUresult res, const char *what)
{
	if (tool_cuda(res, what))
		tool_die("%s", tool_why());
}

/* Blocks that wait for those that have not started would wait until the time limit. */
static void check_grid(const struct pplat_options *options, const struct tool_device *device)
{
	int sms = tool_device_attr(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
	int room = tool_device_attr(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
	unsigned int warps = (options->threads + 31) / 32, fit;

	if (sms <= 0 || room <= 0)
		return;
	fit = (unsigned int)room / (warps * 32);
	fit = (unsigned int)sms * (fit < SM_BLOCKS ? fit : SM_BLOCKS);
	if (options->blocks > fit)
		tool_die("option -B: %u blocks of %u threads cannot run at once: GPU %d holds %u", options->blocks,
			 options->threads, device->ordinal, fit);
}

static struct pplat_spot spot(const struct pplat *game, enum pplat_where where, size_t off)
{
	if (where == PPLAT_HOSTMEM)
		return (struct pplat_spot){ where, game->host + off, (CUdeviceptr)(game->host + off) };
	return (struct pplat_spot){ where, game->bench->user + off, game->bench->mem.ptr + off };
}

void pplat_open(const struct pplat_options *options, struct bench *bench, struct pplat *game)
{
	const struct bl_cuda *cu = bench->device.cu;
	void *host = NULL;

	check_grid(options, &bench->device);
	memset(game, 0, sizeof(*game));
	game->options = options;
	game->bench = bench;
	game->rounds = options->iters * (options->bare ? 2 : 1) + 1;
	game->words = bench_host_alloc(options->data ? options->data : 1);
	/* one address for both sides: with unified addressing the GPU uses the CPU's */
	need(cu->cuMemHostAlloc(&host, PPLAT_DATA + options->data, 0), "cuMemHostAlloc");
	game->host = host;
	memset(game->host, 0, PPLAT_DATA + options->data);
	need(cu->cuMemsetD8(bench->mem.ptr, 0, PPLAT_DATA + options->data), "cuMemsetD8");
	need(cu->cuCtxSynchronize(), "cuCtxSynchronize");
	game->gpu_flag = spot(game, options->gpu_flag, PPLAT_GPU_FLAG);
	game->cpu_flag = spot(game, options->cpu_flag, PPLAT_CPU_FLAG);
	game->data = spot(game, options->where, PPLAT_DATA);
	need(cu->cuModuleLoadData(&game->module, bl_pplat_ptx), "cuModuleLoadData of the kernels");
	need(cu->cuStreamCreate(&game->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
}

void pplat_close(struct pplat *game)
{
	const struct bl_cuda *cu = game->bench->device.cu;

	need(cu->cuStreamDestroy(game->stream), "cuStreamDestroy");
	need(cu->cuModuleUnload(game->module), "cuModuleUnload");
	need(cu->cuMemFreeHost(game->host), "cuMemFreeHost");
	free(game->words);
}

void pplat_launch(struct pplat *game)
{
	const struct pplat_options *options = game->options;
	const char *name = options->mode == PPLAT_CPU_PRODUCES ? "bl_pplat_consume" : "bl_pplat_produce";
	uint64_t nr_words = options->data / 4, rounds = game->rounds, timeout_ns = options->timeout_s * SECOND_NS;
	uint64_t stop = (uint64_t)(game->host + PPLAT_STOP), result = game->bench->mem.ptr + PPLAT_RESULT;
	void *params[] = { &game->gpu_flag.gpu, &game->cpu_flag.gpu, &game->data.gpu, &nr_words,
			   &rounds,		&timeout_ns,	     &stop,	      &result };
	const struct bl_cuda *cu = game->bench->device.cu;
	CUfunction fn;

	need(cu->cuModuleGetFunction(&fn, game->module, name), "cuModuleGetFunction");
	need(cu->cuLaunchKernel(fn, options->blocks, 1, 1, options->threads, 1, 1, 0, game->stream, params, NULL),
	     "cuLaunchKernel");
}

int pplat_poll_gpu(const struct pplat *game)
{
	CUresult res = game->bench->device.cu->cuStreamQuery(game->stream);

	if (res == CUDA_ERROR_NOT_READY)
		return -EAGAIN;
	return tool_cuda(res, "the kernel on the GPU");
}

int pplat_finish(struct pplat *game, bool stop, struct bl_pplat_result *result)
{
	uint64_t limit_ns = PATIENCE_NS + game->options->timeout_s * SECOND_NS, start = tool_now_ns();
	const struct timespec nap = { .tv_nsec = 100000 };
	int ret;

	if (stop)
		__atomic_store_n((uint32_t *)(game->host + PPLAT_STOP), 1, __ATOMIC_RELEASE);
	memset(result, 0, sizeof(*result));
	while ((ret = pplat_poll_gpu(game)) == -EAGAIN) {
		if (tool_now_ns() - start > limit_ns)
			return tool_fail(ETIMEDOUT, "the kernel on the GPU still runs");
		nanosleep(&nap, NULL);
	}
	if (ret)
		return ret;
	return tool_cuda(game->bench->device.cu->cuMemcpyDtoH(result, game->bench->mem.ptr + PPLAT_RESULT,
							      sizeof(*result)), "cuMemcpyDtoH");
}

const char *pplat_end_name(uint32_t end)
{
	static const char *const names[] = { "not run", "done", "timed out", "stopped" };

	return end < sizeof(names) / sizeof(names[0]) ? names[end] : "unknown";
}
