// SPDX-License-Identifier: MIT
/*
 * signal_kernel [MESSAGES] - send messages to a kernel that is running
 *
 * A kernel stays on the GPU and waits for a flag. The CPU writes data and then the flag, straight into GPU memory, with
 * one bl_publish(); the kernel takes the data and answers into host memory. No launch, no copy through CUDA, no system
 * call lies between the two.
 *
 * The kernel (receive.ptx) compares each word with what the flag promises, so this is a test of the promise too: data
 * that comes later than its flag is counted as stale or torn, and the program fails.
 */
#include "example.h"
#include "receive.h"

#define MAX_BYTES  4096
#define NR_SIZES   10 /* 8 ... 4096 */
#define THREADS	   128
#define TIMEOUT_NS 10000000000ULL
#define POLLS	   1024

/* Where things lie in GPU memory. */
enum { FLAG = 0, DATA = 4096, RESULT = 65536 };

/* Host memory that the kernel reaches. */
struct shared {
	struct bl_receive_answer answer;
	uint64_t stop;
};

struct game {
	struct bl_alloc gpu; /* GPU memory, mapped into this process */
	struct shared *host;
	CUstream stream;
	double *times[NR_SIZES];
	size_t nr_times[NR_SIZES];
	uint64_t wrong_sums; /* answers that do not fit what was sent */
};

static void *at(const struct game *game, size_t off)
{
	return (char *)game->gpu.addr + off;
}

static void launch(struct game *game, CUmodule module, uint64_t messages)
{
	uint64_t flag = game->gpu.va + FLAG, data = game->gpu.va + DATA, result = game->gpu.va + RESULT;
	/* with unified addressing the GPU uses the CPU's address of pinned memory */
	uint64_t answer = (uintptr_t)&game->host->answer, stop = (uintptr_t)&game->host->stop;
	uint64_t timeout = TIMEOUT_NS;
	void *params[] = { &flag, &data, &answer, &messages, &timeout, &stop, &result };
	static const struct bl_receive_result none;
	static const uint64_t zero;
	CUfunction function;

	memset(game->host, 0, sizeof(*game->host));
	BL(bl_copy_to(game->gpu.pin, at(game, FLAG), &zero, sizeof(zero)));
	BL(bl_copy_to(game->gpu.pin, at(game, RESULT), &none, sizeof(none)));
	/* in GPU memory before the kernel looks */
	BL(bl_flush(game->gpu.pin));
	CU(cuModuleGetFunction(&function, module, "bl_receive"));
	CU(cuLaunchKernel(function, 1, 1, 1, THREADS, 1, 1, 0, game->stream, params, NULL));
}

/* The kernel must not stay on the GPU, whatever went wrong. Gives 0 when it has left. */
static int wait_for_end(const struct game *game)
{
	uint64_t start = example_now_ns();
	CUresult err;

	do {
		err = cuStreamQuery(game->stream);
	} while (err == CUDA_ERROR_NOT_READY && example_now_ns() - start < 2 * TIMEOUT_NS);
	return (int)err;
}

static void give_up(const struct game *game, uint64_t number, const char *why)
{
	fprintf(stderr, "message %llu: %s\n", (unsigned long long)number, why);
	__atomic_store_n(&game->host->stop, 1, __ATOMIC_RELEASE);
	if (wait_for_end(game))
		fprintf(stderr, "the kernel did not leave the GPU, or failed\n");
	exit(EXIT_FAILURE);
}

static void wait_for_answer(const struct game *game, uint64_t number)
{
	uint64_t start = 0;

	for (unsigned int polls = 1; __atomic_load_n(&game->host->answer.number, __ATOMIC_ACQUIRE) != number; polls++) {
		if (polls % POLLS)
			continue;
		if (!start)
			start = example_now_ns();
		if (example_now_ns() - start > TIMEOUT_NS)
			give_up(game, number, "no answer in time");
		/* it may have answered and then ended */
		if (cuStreamQuery(game->stream) != CUDA_ERROR_NOT_READY &&
		    __atomic_load_n(&game->host->answer.number, __ATOMIC_ACQUIRE) != number)
			give_up(game, number, "the kernel has ended without an answer");
	}
}

static void send_all(struct game *game, uint64_t messages)
{
	uint64_t words[MAX_BYTES / 8];

	for (uint64_t number = 1; number <= messages; number++) {
		/* sizes take turns, so that what is left of a longer message lies behind a shorter one */
		size_t size = number % NR_SIZES, nr_words = (size_t)1 << size;
		uint64_t sum = 0, start;

		for (size_t i = 0; i < nr_words; i++) {
			words[i] = bl_receive_word(number, i);
			sum += words[i];
		}
		start = example_now_ns();
		BL(bl_publish(game->gpu.pin, at(game, DATA), words, nr_words * 8, at(game, FLAG),
			      bl_receive_flag(number, nr_words)));
		wait_for_answer(game, number);
		game->times[size][game->nr_times[size]++] = (double)(example_now_ns() - start);
		/* before the next message, for which the kernel overwrites it */
		game->wrong_sums += __atomic_load_n(&game->host->answer.sum, __ATOMIC_RELAXED) != sum;
	}
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static void print_times(struct game *game)
{
	printf("#  bytes  messages    min_us    p50_us    p99_us\n");
	for (size_t size = 0; size < NR_SIZES; size++) {
		double *times = game->times[size];
		size_t nr = game->nr_times[size];

		if (!nr)
			continue;
		qsort(times, nr, sizeof(*times), compare);
		printf("%8zu  %8zu  %8.3f  %8.3f  %8.3f\n", (size_t)8 << size, nr, times[0] / 1e3, times[nr / 2] / 1e3,
		       times[nr - nr / 100 - 1] / 1e3);
	}
}

/* What the kernel counted. Gives 0 when all of it is as it should be. */
static int check_result(const struct game *game, uint64_t messages)
{
	struct bl_receive_result result;

	BL(bl_copy_from(game->gpu.pin, &result, at(game, RESULT), sizeof(result)));
	printf("received %llu of %llu, stale %llu, torn %llu, wrong words %llu, wrong answers %llu\n",
	       (unsigned long long)result.received, (unsigned long long)messages, (unsigned long long)result.stale,
	       (unsigned long long)result.torn, (unsigned long long)result.wrong, (unsigned long long)game->wrong_sums);
	return result.end != BL_RECEIVE_DONE || result.received != messages || result.stale || result.torn ||
	       result.wrong || game->wrong_sums;
}

int main(int argc, char **argv)
{
	uint64_t messages = argc > 1 ? example_number(argv[1], 1, 100000000) : 100000;
	struct game game = { 0 };
	char name[128] = "";
	CUcontext context;
	CUdevice device;
	CUmodule module;
	void *host;
	bl_ctx_t ctx;
	int failed;

	CU(cuInit(0));
	CU(cuDeviceGet(&device, 0));
	CU(cuDeviceGetName(name, sizeof(name) - 1, device));
	CU(cuDevicePrimaryCtxRetain(&context, device));
	CU(cuCtxSetCurrent(context));
	printf("# signal_kernel on %s\n", name);
	/* all that is needed is there before the kernel runs: a resident kernel makes some calls of CUDA wait */
	BL(bl_open(NULL, &ctx));
	BL(bl_alloc(ctx, 0, RESULT + sizeof(struct bl_receive_result), &game.gpu));
	CU(cuMemHostAlloc(&host, sizeof(*game.host), 0));
	game.host = host;
	CU(cuModuleLoadData(&module, bl_receive_ptx));
	CU(cuStreamCreate(&game.stream, CU_STREAM_NON_BLOCKING));
	for (size_t size = 0; size < NR_SIZES; size++) {
		game.times[size] = malloc((messages / NR_SIZES + 1) * sizeof(double));
		if (!game.times[size])
			return EXIT_FAILURE;
	}

	launch(&game, module, messages);
	send_all(&game, messages);
	CU((CUresult)wait_for_end(&game));
	print_times(&game);
	failed = check_result(&game, messages);

	for (size_t size = 0; size < NR_SIZES; size++)
		free(game.times[size]);
	CU(cuStreamDestroy(game.stream));
	CU(cuModuleUnload(module));
	CU(cuMemFreeHost(host));
	BL(bl_free(ctx, game.gpu.pin));
	BL(bl_close(ctx));
	CU(cuDevicePrimaryCtxRelease(device));
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
