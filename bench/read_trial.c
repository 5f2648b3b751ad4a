// SPDX-License-Identifier: MIT
/*
 * read_trial: in how many ways a read of GPU memory into pinned memory can be begun and seen to have ended, beside the
 * driver's copy with cuStreamSynchronize()
 *
 *	read_trial [GPU [SECONDS [BYTES]]]
 *
 * For each size all ways take turns, in another order each round. A turn is a call that is not timed and whose bytes
 *are compared, and eight that are timed. SECONDS, by default 12, are shared by the sizes, of which BYTES picks one.
 *Then: what each call of a copy takes, and which of them stream captures object to.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/stats.h"
#include "read_trial.h"

#define KIB	    1024UL
#define MAX_ROUNDS  2000
#define BURST	    8
#define PATIENCE_NS 2000000000ULL

static const char *const names[NR_WAYS] = {
	[SYNC] = "sync",
	[QUERY] = "query",
	[WORD] = "word",
	[TOKEN_4] = "token 4",
	[TOKEN_16] = "token 16",
	[TOKEN_32] = "token 32",
	[TOKEN_64] = "token 64",
	[TOKEN_128] = "token 128",
	[TOKEN_PAUSE] = "token, pause",
	[TOKEN_FENCE] = "token, load fence",
	[TOKEN_HIGH] = "token, high priority",
	[TOKEN_TURNS] = "token, two streams in turns",
	[TOKEN_PLAIN] = "token, plain memory",
	[TOKEN_SLOW] = "token, posted late",
	[TOKEN_IDLE] = "token after a rest",
	[SYNC_IDLE] = "sync after a rest",
	[WORD_IDLE] = "word after a rest",
	[LAND_LAST] = "last word alone",
	[TOKEN_UVA] = "token, cuMemcpyAsync",
	[TOKEN_ATTR] = "token, attribute",
	[TOKEN_MODE] = "token, capture mode",
	[TOKEN_CTX] = "token, context",
	[TOKEN_ALL] = "token, all three",
	[TOKEN_LATE] = "token, all three, late, pause",
	[WORD_PAUSE] = "word, pause",
	[SET] = "memset",
	[HALVES] = "halves in two streams",
	[HALVES_ONE] = "halves in one stream",
	[BATCH] = "batch of one, token",
	[BATCH_2] = "batch of halves, token",
	[GRAPH] = "graph",
	[OURS_CE] = "bl_copy ce",
	[OURS_AUTO] = "bl_copy auto",
};

static const size_t sizes[] = {16 * KIB, 32 * KIB, 64 * KIB, 128 * KIB, 256 * KIB, 1024 * KIB};

struct read_bed bed;

/**
 * struct series - the samples of one way
 * @nr: samples
 * @ns: samples
 */
struct series {
	size_t nr;
	double ns[MAX_ROUNDS * BURST];
};

static struct series all[NR_WAYS];
static bool refused[NR_WAYS];
static jmp_buf *turn; /* where a way that the driver refuses is left */

void must(CUresult err, const char *what)
{
	if (!err)
		return;
	if (!turn)
		tool_die("%s: %s", what, bl_cuda_strerror(err));
	printf("# %s: %s\n", what, bl_cuda_strerror(err));
	longjmp(*turn, 1);
}

void await_word(const uint32_t *word, uint32_t value)
{
	uint64_t end = 0;

	for (unsigned int polls = 1; __atomic_load_n(word, __ATOMIC_ACQUIRE) != value; polls++) {
		if (polls % 65536)
			continue;
		end = end ? end : tool_now_ns() + PATIENCE_NS;
		if (tool_now_ns() > end)
			tool_die("the word does not come");
	}
}

static bool has_way(enum way way)
{
	if (refused[way])
		return false;
	if (way == WORD || way == WORD_PAUSE || way == WORD_IDLE)
		return bed.cu->cuStreamWriteValue32;
	if (way == TOKEN_UVA)
		return bed.more.copy;
	if (way == SET)
		return bed.more.set;
	if (way == BATCH || way == BATCH_2)
		return bed.more.batch;
	return way != GRAPH || (bed.more.instantiate && bed.more.launch);
}

/* The first call of a way that the driver refuses is its last. */
static bool works(enum way way, size_t len)
{
	jmp_buf here;

	if (setjmp(here)) {
		turn = NULL;
		refused[way] = true;
		printf("# %s is refused\n", names[way]);
		must(bed.cu->cuCtxSynchronize(), "cuCtxSynchronize");
		return false;
	}
	turn = &here;
	by_way(way, len);
	turn = NULL;
	return true;
}

static void take_turn(enum way way, size_t len)
{
	struct series *series = &all[way];

	memset(bed.dst, 0, len);
	if (!works(way, len))
		return;
	if (way == LAND_LAST)
		must(bed.cu->cuStreamSynchronize(bed.stream), "cuStreamSynchronize");
	/* what may come last first */
	if (memcmp(bed.dst + len - KIB, bed.model + len - KIB, KIB) || memcmp(bed.dst, bed.model, len))
		tool_die("%s: wrong bytes at length %zu", names[way], len);
	for (int i = 0; i < BURST; i++) {
		uint64_t start;

		if (way == TOKEN_IDLE || way == SYNC_IDLE || way == WORD_IDLE)
			read_rest(10000);
		start = tool_now_ns();
		by_way(way, len);
		series->ns[series->nr++] = (double)(tool_now_ns() - start);
	}
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
			if (has_way((enum way)order[i]))
				take_turn((enum way)order[i], len);
		}
	}
}

static void show(size_t len)
{
	struct tool_stats stats, bare;

	tool_stats_fill(all[SYNC].ns, all[SYNC].nr, &bare);
	printf("# %zu bytes, %zu samples: way, min, p50, p99 and mean in ns, p50 and mean as a part of sync's\n", len,
	       all[SYNC].nr);
	for (unsigned int way = 0; way < NR_WAYS; way++) {
		if (!all[way].nr)
			continue;
		tool_stats_fill(all[way].ns, all[way].nr, &stats);
		printf("%8zu %-28s %7.0f %7.0f %7.0f %7.0f  %.3f %.3f\n", len, names[way], stats.min, stats.p50,
		       stats.p99, stats.mean, stats.p50 / bare.p50, stats.mean / bare.mean);
	}
	fflush(stdout);
}

static void *symbol(void *lib, const char *name)
{
	return lib ? dlsym(lib, name) : NULL;
}

static void find_more(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	int low, high = 0;
	CUresult (*range)(int *low, int *high) = symbol(lib, "cuCtxGetStreamPriorityRange");

	bed.more = (struct read_more){
		.stream_with_priority = symbol(lib, "cuStreamCreateWithPriority"),
		.copy = symbol(lib, "cuMemcpyAsync"),
		.set = symbol(lib, "cuMemsetD32Async"),
		.batch = symbol(lib, "cuMemcpyBatchAsync_v2"),
		.instantiate = symbol(lib, "cuGraphInstantiateWithFlags"),
		.launch = symbol(lib, "cuGraphLaunch"),
		.context_id = symbol(lib, "cuCtxGetId"),
	};
	bed.high = bed.stream;
	if (range && bed.more.stream_with_priority && !range(&low, &high) && high)
		must(bed.more.stream_with_priority(&bed.high, CU_STREAM_NON_BLOCKING, high),
		     "cuStreamCreateWithPriority");
}

static void set_up_marks(void)
{
	unsigned char *numbers = calloc(NR_MARKS, MARK_STRIDE);

	if (!numbers)
		tool_die("out of memory");
	for (uint32_t i = 0; i < NR_MARKS; i++)
		memcpy(numbers + i * MARK_STRIDE, &i, sizeof(i));
	must(bed.cu->cuMemAlloc(&bed.marks, NR_MARKS * MARK_STRIDE), "cuMemAlloc");
	must(bed.cu->cuMemcpyHtoD(bed.marks, numbers, NR_MARKS * MARK_STRIDE), "cuMemcpyHtoD");
	free(numbers);
}

static void set_up_pin(void)
{
	void *addr;
	bl_ctx_t ctx;

	if (bl_open(NULL, &ctx) || bl_pin(ctx, bed.mem.ptr, READ_MAX, 0, 0, 0, &bed.pin) ||
	    bl_map(ctx, bed.pin, READ_MAX, BL_MAP_NONE, &addr))
		tool_die("%s", bl_last_error(NULL));
	must(bed.cu->cuPointerGetAttribute(&bed.id, CU_POINTER_ATTRIBUTE_BUFFER_ID, bed.mem.ptr),
	     "cuPointerGetAttribute");
	/* calibration is not part of what is measured */
	by_way(OURS_AUTO, READ_MAX);
}

static void set_up(int ordinal)
{
	void *host;

	if (tool_device_open(ordinal, &bed.device) || tool_mem_alloc(&bed.device, TOOL_MEM_ALLOC, READ_MAX, &bed.mem))
		tool_die("%s", tool_why());
	bed.cu = bed.device.cu;
	must(bed.cu->cuMemHostAlloc(&host, READ_MAX, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
	bed.dst = host;
	must(bed.cu->cuMemHostAlloc(&host, 4 * KIB, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
	bed.words = host;
	bed.model = malloc(READ_MAX);
	if (!bed.model)
		tool_die("out of memory");
	for (size_t i = 0; i < READ_MAX; i++)
		bed.model[i] = (unsigned char)(i * 13 + (i >> 8) + 1);
	must(bed.cu->cuMemcpyHtoD(bed.mem.ptr, bed.model, READ_MAX), "cuMemcpyHtoD");
	must(bed.cu->cuMemAlloc(&bed.plain, READ_MAX), "cuMemAlloc");
	must(bed.cu->cuMemcpyHtoD(bed.plain, bed.model, READ_MAX), "cuMemcpyHtoD");
	must(bed.cu->cuStreamCreate(&bed.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	for (int i = 0; i < 2; i++)
		must(bed.cu->cuStreamCreate(&bed.others[i], CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	set_up_marks();
	find_more();
	must(bed.cu->cuCtxSynchronize(), "cuCtxSynchronize");
	set_up_pin();
}

int main(int argc, char **argv)
{
	unsigned int nr_sizes = sizeof(sizes) / sizeof(sizes[0]);
	unsigned int seconds = argc > 2 ? (unsigned int)atoi(argv[2]) : 12;
	size_t only = argc > 3 ? (size_t)atol(argv[3]) : 0;

	alarm(seconds + 20);
	set_up(argc > 1 ? atoi(argv[1]) : 0);
	printf("# read_trial gpu %s%s\n", bed.device.name, bed.device.emulated ? " (emu)" : "");
	show_calls();
	for (unsigned int at = 0; at < nr_sizes; at++) {
		if (only && sizes[at] != only)
			continue;
		/* the size that matters has half of the time */
		measure(sizes[at], seconds * 1000000000ULL /
					   (only		    ? 1
					    : sizes[at] == 64 * KIB ? 2
								    : 2 * (nr_sizes - 1)));
		show(sizes[at]);
	}
	show_captures();
	return tool_finish(EXIT_SUCCESS);
}
