// SPDX-License-Identifier: MIT
/*
 * gpu_to_gpu [BYTES] - from one GPU to another, by the CPU and by CUDA
 *
 * The CPU reads the memory of GPU 0 through one mapping and writes that of GPU 1 through another, chunk by chunk. Beside
 * it is CUDA's peer copy, which is what to use for bulk: the CPU's reads are slow. The CPU is for the few bytes that it
 * wants to look at, or that come from a GPU whose driver has no way to the other one.
 *
 * With one GPU both buffers lie on it. The steps are the same and the rates are that GPU's alone.
 */
#include "example.h"

#define CHUNK 65536 /* stays in the cache between the read and the write */
#define BLOCK (2 << 20)
#define TRIES 3

struct side {
	CUdevice device;
	CUcontext context;
	CUdeviceptr gpu;
	bl_pin_t pin;
	void *map;
};

static void open_side(struct side *side, bl_ctx_t ctx, int ordinal, size_t size)
{
	char name[128] = "";

	CU(cuDeviceGet(&side->device, ordinal));
	CU(cuDeviceGetName(name, sizeof(name) - 1, side->device));
	CU(cuDevicePrimaryCtxRetain(&side->context, side->device));
	CU(cuCtxSetCurrent(side->context));
	/* not less than CUDA's own blocks: smaller allocations may begin inside a GPU page, which not all providers map */
	CU(cuMemAlloc(&side->gpu, size > BLOCK ? size : BLOCK));
	BL(bl_pin(ctx, side->gpu, size, 0, 0, 0, &side->pin));
	BL(bl_map(ctx, side->pin, size, BL_MAP_NONE, &side->map));
	printf("# GPU %d: %s\n", ordinal, name);
}

static void close_side(struct side *side, bl_ctx_t ctx)
{
	BL(bl_unpin(ctx, side->pin)); /* unmaps as well */
	CU(cuCtxSetCurrent(side->context));
	CU(cuMemFree(side->gpu));
	CU(cuDevicePrimaryCtxRelease(side->device));
}

static void copy_by_cpu(const struct side *from, const struct side *to, size_t size)
{
	static unsigned char chunk[CHUNK] __attribute__((aligned(64)));

	for (size_t off = 0; off < size; off += CHUNK) {
		size_t len = size - off < CHUNK ? size - off : CHUNK;

		BL(bl_copy_from(from->pin, chunk, (char *)from->map + off, len));
		BL(bl_copy_to(to->pin, (char *)to->map + off, chunk, len));
	}
	/* the last writes may still be on their way */
	BL(bl_flush(to->pin));
}

static void copy_by_cuda(const struct side *from, const struct side *to, size_t size)
{
	CU(cuMemcpyPeer(to->gpu, to->context, from->gpu, from->context, size));
	CU(cuCtxSynchronize());
}

/* Without peer access CUDA stages the copy in host memory. */
static const char *let_them_talk(const struct side *from, const struct side *to)
{
	int can = 0;

	if (from->device == to->device)
		return "inside one GPU";
	CU(cuDeviceCanAccessPeer(&can, from->device, to->device));
	if (!can)
		return "staged by CUDA: these GPUs have no peer access";
	CU(cuCtxSetCurrent(from->context));
	CU(cuCtxEnablePeerAccess(to->context, 0));
	return "with peer access";
}

/* Best rate of some tries in MB/s; each must bring all bytes. */
static double measure(void (*copy)(const struct side *from, const struct side *to, size_t size), const struct side *from,
		      const struct side *to, const unsigned char *want, unsigned char *got, size_t size)
{
	double best = 0;

	for (int i = 0; i < TRIES; i++) {
		double rate;
		uint64_t start;

		CU(cuCtxSetCurrent(to->context));
		CU(cuMemsetD8(to->gpu, 0, size));
		CU(cuCtxSynchronize());
		CU(cuCtxSetCurrent(from->context));
		start = example_now_ns();
		copy(from, to, size);
		rate = (double)size / (double)(example_now_ns() - start) * 1e3;
		if (rate > best)
			best = rate;
		CU(cuCtxSetCurrent(to->context));
		memset(got, 0, size);
		CU(cuMemcpyDtoH(got, to->gpu, size));
		if (memcmp(got, want, size)) {
			fprintf(stderr, "wrong bytes\n");
			exit(EXIT_FAILURE);
		}
	}
	return best;
}

int main(int argc, char **argv)
{
	size_t size = argc > 1 ? example_number(argv[1], 1, 1ULL << 32) : 64 << 20;
	unsigned char *want = malloc(size), *got = malloc(size);
	struct side from, to;
	const char *way;
	bl_ctx_t ctx;
	int nr = 0;

	if (!want || !got)
		return EXIT_FAILURE;
	CU(cuInit(0));
	CU(cuDeviceGetCount(&nr));
	BL(bl_open(NULL, &ctx));
	open_side(&from, ctx, 0, size);
	open_side(&to, ctx, nr > 1, size);
	if (nr < 2)
		printf("# there is one GPU: both buffers are on it\n");
	for (size_t i = 0; i < size; i++)
		want[i] = (unsigned char)(i * 2654435761U >> 13);
	CU(cuCtxSetCurrent(from.context));
	CU(cuMemcpyHtoD(from.gpu, want, size));

	printf("#   bytes  way        MB/s\n");
	printf("%9zu  cpu   %10.1f  read and written through mappings\n", size,
	       measure(copy_by_cpu, &from, &to, want, got, size));
	way = let_them_talk(&from, &to);
	printf("%9zu  cuda  %10.1f  %s\n", size, measure(copy_by_cuda, &from, &to, want, got, size), way);

	close_side(&to, ctx);
	close_side(&from, ctx);
	BL(bl_close(ctx));
	free(want);
	free(got);
	return EXIT_SUCCESS;
}
