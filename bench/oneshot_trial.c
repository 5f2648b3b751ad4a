// SPDX-License-Identifier: MIT
/*
 * oneshot_trial: what a read of GPU memory into pinned memory takes by a kernel that is launched for it, beside the bare
 * copy of the driver
 *
 *	oneshot_trial [GPU [SECONDS]]
 *
 * For each size all ways take turns, in another order each round: cuMemcpyDtoHAsync() whose end is seen in each of five
 * ways, and the kernel of oneshot.ptx in every shape and with each way to claim. A turn begins with a call that is not
 * timed and whose bytes are compared. Length 0 is the kernel alone: launch, start and answer. SECONDS, by default 14,
 * are shared by the sizes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/device.h"
#include "common/error.h"
#include "common/stats.h"
#include "gpu/kernels/oneshot.h"

#define KIB	    1024UL
#define SIZE	    (1024 * KIB)
#define MAX_SECONDS 14
#define LIMIT_S	    20
#define PATIENCE_NS 2000000000ULL
#define MAX_ROUNDS  60
#define BURST	    4
#define NR_THREADS  4U
#define NR_BLOCKS   5U
#define NR_SHAPES   (NR_BLOCKS * NR_THREADS)
#define NR_CLAIMS   4U

enum bare {
	BARE_SYNC,  /* cuStreamSynchronize() */
	BARE_WORD,  /* a word that cuStreamWriteValue32() writes is polled */
	BARE_QUERY, /* cuStreamQuery() is asked */
	BARE_COPY,  /* a word that a second copy brings is polled */
	BARE_TAIL,  /* the last 4 KiB are a second copy, and are watched arriving */
	NR_BARE,
};

#define TAIL	  (4 * KIB)
#define NR_LANDS  16U
#define NR_MARKS  4096U
#define NO_WORD	  0xffffffffU /* neither a word of the data nor a number has this value */

#define NR_WAYS (NR_BARE + NR_CLAIMS * NR_SHAPES)

/**
 * struct series - the samples of one way
 * @nr: samples
 * @ns: samples
 */
struct series {
	size_t nr;
	double ns[MAX_ROUNDS * BURST];
};

static const char *const bare_names[NR_BARE] = { "async+sync", "async+word", "async+query", "async+copy", "async+tail" };
static const char *const claim_names[NR_CLAIMS] = { "none", "gpu", "system", "atomic" };
static const size_t sizes[] = { 0, 4 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, 128 * KIB, 256 * KIB, SIZE };

static const struct bl_cuda *cu;
static struct tool_device device;
static CUstream stream;
static CUfunction fn;
static CUdeviceptr src, gate, marks;
static unsigned char *dst, *model;
static uint32_t *lands;
static struct bl_oneshot_words *words;
static uint32_t *word;
static uint64_t seq, launch_ns;
static struct series all[NR_WAYS], launches;

static void must(CUresult err, const char *what)
{
	if (err)
		tool_die("%s: %s", what, bl_cuda_strerror(err));
}

static void check_time(uint64_t end, const char *what)
{
	if (tool_now_ns() > end)
		tool_die("%s: no end in %llu ms", what, PATIENCE_NS / 1000000);
}

static unsigned int blocks_of(unsigned int shape)
{
	return 1U << shape / NR_THREADS;
}

static unsigned int threads_of(unsigned int shape)
{
	return 128U << shape % NR_THREADS;
}

static void await_line(const struct bl_oneshot_line *line)
{
	uint64_t end = 0;

	for (unsigned int polls = 1; __atomic_load_n(&line->seq, __ATOMIC_ACQUIRE) != seq; polls++) {
		if (polls % 65536)
			continue;
		end = end ? end : tool_now_ns() + PATIENCE_NS;
		check_time(end, "kernel");
	}
}

static void by_kernel(unsigned int shape, uint64_t claim, size_t size)
{
	uint64_t to = (uintptr_t)dst, from = src, len = size, door = gate, told = (uintptr_t)words, start;
	void *params[] = { &to, &from, &len, &door, &told, &seq, &claim };
	unsigned int blocks = blocks_of(shape);

	seq++;
	start = tool_now_ns();
	must(cu->cuLaunchKernel(fn, blocks, 1, 1, threads_of(shape), 1, 1, 0, stream, params, NULL), "cuLaunchKernel");
	launch_ns = tool_now_ns() - start;
	for (unsigned int i = 0; i < blocks; i++)
		await_line(&words->done[i]);
}

static void await_word(uint32_t value)
{
	uint64_t end = 0;

	for (unsigned int polls = 1; __atomic_load_n(word, __ATOMIC_ACQUIRE) != value; polls++) {
		if (polls % 65536)
			continue;
		end = end ? end : tool_now_ns() + PATIENCE_NS;
		check_time(end, "the word");
	}
}

/* What a stream has second begins when the first is complete. */
static void by_copy(void)
{
	must(cu->cuMemcpyDtoHAsync(word, marks + seq % NR_MARKS * sizeof(*word), sizeof(*word), stream),
	     "cuMemcpyDtoHAsync");
	await_word((uint32_t)(seq % NR_MARKS));
}

static void by_tail(size_t len)
{
	uint32_t *land = lands + seq % NR_LANDS * (TAIL / sizeof(*land));
	uint64_t end = tool_now_ns() + PATIENCE_NS;

	if (len > TAIL)
		must(cu->cuMemcpyDtoHAsync(dst, src, len - TAIL, stream), "cuMemcpyDtoHAsync");
	must(cu->cuMemcpyDtoHAsync(land, src + len - TAIL, TAIL, stream), "cuMemcpyDtoHAsync");
	for (size_t i = 0; i < TAIL / sizeof(*land); i++) {
		for (unsigned int polls = 1; __atomic_load_n(&land[i], __ATOMIC_ACQUIRE) == NO_WORD; polls++) {
			if (!(polls % 65536))
				check_time(end, "the tail");
		}
	}
	memcpy(dst + len - TAIL, land, TAIL);
	memset(land, 0xff, TAIL);
}

static void by_driver(enum bare how, size_t len)
{
	CUresult err;

	seq++;
	if (how == BARE_TAIL) {
		by_tail(len);
		return;
	}
	*word = NO_WORD;
	must(cu->cuMemcpyDtoHAsync(dst, src, len, stream), "cuMemcpyDtoHAsync");
	if (how == BARE_COPY) {
		by_copy();
	} else if (how == BARE_SYNC) {
		must(cu->cuStreamSynchronize(stream), "cuStreamSynchronize");
	} else if (how == BARE_WORD) {
		must(cu->cuStreamWriteValue32(stream, (uintptr_t)word, (uint32_t)seq, 0), "cuStreamWriteValue32");
		await_word((uint32_t)seq);
	} else {
		while ((err = cu->cuStreamQuery(stream)) == CUDA_ERROR_NOT_READY)
			;
		must(err, "cuStreamQuery");
	}
}

static void by_way(unsigned int way, size_t len)
{
	if (way < NR_BARE)
		by_driver((enum bare)way, len);
	else
		by_kernel((way - NR_BARE) % NR_SHAPES, (way - NR_BARE) / NR_SHAPES, len);
}

static const char *name_of(unsigned int way)
{
	static char name[48];

	if (way < NR_BARE)
		return bare_names[way];
	snprintf(name, sizeof(name), "%ux%u claim %s", blocks_of((way - NR_BARE) % NR_SHAPES),
		 threads_of((way - NR_BARE) % NR_SHAPES), claim_names[(way - NR_BARE) / NR_SHAPES]);
	return name;
}

static bool has_way(unsigned int way, size_t len)
{
	return way >= NR_BARE || (len && (way != BARE_WORD || cu->cuStreamWriteValue32));
}

static void take_turn(unsigned int way, size_t len)
{
	struct series *series = &all[way];

	memset(dst, 0, len);
	by_way(way, len);
	/* what may come last first */
	if (len && (memcmp(dst + len - KIB, model + len - KIB, KIB) || memcmp(dst, model, len)))
		tool_die("%s: wrong bytes at length %zu", name_of(way), len);
	for (int i = 0; i < BURST; i++) {
		uint64_t start = tool_now_ns();

		by_way(way, len);
		series->ns[series->nr++] = (double)(tool_now_ns() - start);
	}
	if (!len && launches.nr < MAX_ROUNDS * BURST)
		launches.ns[launches.nr++] = (double)launch_ns;
}

static void measure(size_t len, uint64_t ns)
{
	uint64_t end = tool_now_ns() + ns;
	unsigned int order[NR_WAYS];

	for (unsigned int i = 0; i < NR_WAYS; i++) {
		order[i] = i;
		all[i].nr = 0;
	}
	for (int round = 0; round < MAX_ROUNDS && (!round || tool_now_ns() < end); round++) {
		for (unsigned int i = NR_WAYS - 1; i; i--) {
			unsigned int other = (unsigned int)rand() % (i + 1), way = order[i];

			order[i] = order[other];
			order[other] = way;
		}
		for (unsigned int i = 0; i < NR_WAYS; i++) {
			if (has_way(order[i], len))
				take_turn(order[i], len);
		}
	}
}

static double median(struct series *series)
{
	struct tool_stats stats;

	if (!series->nr)
		return 0;
	tool_stats_fill(series->ns, series->nr, &stats);
	return stats.p50;
}

static void show_bare(size_t len)
{
	printf("%8zu bare  ", len);
	for (unsigned int way = 0; way < NR_BARE; way++)
		printf("  %s %.0f", bare_names[way], median(&all[way]));
	printf("  (%zu samples)\n", all[BARE_SYNC].nr);
}

static void show(size_t len)
{
	unsigned int best = NR_BARE;

	if (len)
		show_bare(len);
	for (unsigned int claim = 0; claim < NR_CLAIMS; claim++) {
		printf("%8zu %-6s", len, claim_names[claim]);
		for (unsigned int shape = 0; shape < NR_SHAPES; shape++) {
			unsigned int way = NR_BARE + claim * NR_SHAPES + shape;

			printf(" %7.0f", median(&all[way]));
			if (median(&all[way]) < median(&all[best]))
				best = way;
		}
		printf("\n");
	}
	printf("%8zu best   %s %.0f", len, name_of(best), median(&all[best]));
	if (all[BARE_WORD].nr)
		printf(", of async+word %.3f", median(&all[best]) / median(&all[BARE_WORD]));
	printf("\n");
	fflush(stdout);
}

static void set_up_marks(void)
{
	uint32_t numbers[NR_MARKS];

	for (uint32_t i = 0; i < NR_MARKS; i++)
		numbers[i] = i;
	must(cu->cuMemAlloc(&marks, sizeof(numbers)), "cuMemAlloc");
	must(cu->cuMemcpyHtoD(marks, numbers, sizeof(numbers)), "cuMemcpyHtoD");
}

static void set_up(int ordinal)
{
	CUmodule module;
	void *host;

	if (tool_device_open(ordinal, &device))
		tool_die("%s", tool_why());
	cu = device.cu;
	must(cu->cuMemHostAlloc(&host, SIZE + 8 * KIB, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
	memset(host, 0, SIZE + 8 * KIB);
	dst = host;
	words = (struct bl_oneshot_words *)(dst + SIZE);
	word = (uint32_t *)(dst + SIZE + 4 * KIB);
	must(cu->cuMemHostAlloc(&host, NR_LANDS * TAIL, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
	memset(host, 0xff, NR_LANDS * TAIL);
	lands = host;
	set_up_marks();
	model = malloc(SIZE);
	if (!model)
		tool_die("out of memory");
	for (size_t i = 0; i < SIZE; i++)
		model[i] = (unsigned char)(i * 13 + (i >> 8) + 1);
	must(cu->cuMemAlloc(&src, SIZE), "cuMemAlloc");
	must(cu->cuMemcpyHtoD(src, model, SIZE), "cuMemcpyHtoD");
	must(cu->cuMemAlloc(&gate, sizeof(struct bl_oneshot_gate)), "cuMemAlloc");
	must(cu->cuMemsetD8(gate, 0, sizeof(struct bl_oneshot_gate)), "cuMemsetD8");
	must(cu->cuCtxSynchronize(), "cuCtxSynchronize");
	must(cu->cuModuleLoadData(&module, bl_oneshot_ptx), "cuModuleLoadData");
	must(cu->cuModuleGetFunction(&fn, module, "bl_oneshot"), "cuModuleGetFunction");
	must(cu->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
}

int main(int argc, char **argv)
{
	unsigned int nr_sizes = sizeof(sizes) / sizeof(sizes[0]);
	unsigned int seconds = argc > 2 ? (unsigned int)atoi(argv[2]) : MAX_SECONDS;

	alarm(LIMIT_S + (seconds > MAX_SECONDS ? seconds - MAX_SECONDS : 0));
	set_up(argc > 1 ? atoi(argv[1]) : 0);
	printf("# oneshot_trial gpu %s%s; p50 in ns\n# %6s %-6s", device.name, device.emulated ? " (emu)" : "", "bytes",
	       "claim");
	for (unsigned int shape = 0; shape < NR_SHAPES; shape++)
		printf(" %2ux%-4u", blocks_of(shape), threads_of(shape));
	printf("\n");
	for (unsigned int i = 0; i < nr_sizes; i++) {
		measure(sizes[i], seconds * 1000000000ULL / nr_sizes);
		show(sizes[i]);
	}
	printf("# the call of cuLaunchKernel alone: %.0f ns\n", median(&launches));
	must(cu->cuCtxSynchronize(), "cuCtxSynchronize");
	return tool_finish(EXIT_SUCCESS);
}
