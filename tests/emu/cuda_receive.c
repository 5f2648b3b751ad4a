// SPDX-License-Identifier: MIT
/* The kernel of receive.ptx, as the emulated GPU runs it: what it tells from what, and the ways to end. */
#include <sched.h>
#include <time.h>

#include "emu/cuda/api.h"
#include "gpu/kernels/receive.h"
#include "tests/tap.h"

#define PATIENCE 20 /* seconds */
#define SHORT_NS 50000000ULL

/* What CPU and GPU share, in host memory. */
struct table {
	uint64_t flag;
	uint64_t stop;
	struct bl_receive_answer answer;
	struct bl_receive_result result;
	uint64_t words[BL_RECEIVE_MAX_WORDS];
};

static struct table *table;
static CUfunction receive;
static CUstream stream;

static void enter(void)
{
	static CUcontext ctx;
	CUmodule module;
	void *host;

	if (!ctx) {
		check_eq(cuInit(0), CUDA_SUCCESS);
		check_eq(cuCtxCreate_v2(&ctx, 0, 0), CUDA_SUCCESS);
		check_eq(cuModuleLoadData(&module, bl_receive_ptx), CUDA_SUCCESS);
		check_eq(cuModuleGetFunction(&receive, module, "bl_receive"), CUDA_SUCCESS);
		check_eq(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
		check_eq(cuMemHostAlloc(&host, sizeof(*table), 0), CUDA_SUCCESS);
		table = host;
	}
	memset(table, 0, sizeof(*table));
}

static CUresult launch(uint64_t flag, uint64_t nr_messages, uint64_t timeout_ns)
{
	uint64_t data = (uint64_t)table->words, answer = (uint64_t)&table->answer;
	uint64_t stop = (uint64_t)&table->stop, result = (uint64_t)&table->result;
	void *params[] = { &flag, &data, &answer, &nr_messages, &timeout_ns, &stop, &result };

	return cuLaunchKernel(receive, 1, 1, 1, 64, 1, 1, 0, stream, params, NULL);
}

static uint64_t fill(uint64_t number, uint64_t nr_words)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < nr_words; i++) {
		table->words[i] = bl_receive_word(number, i);
		sum += table->words[i];
	}
	return sum;
}

/* Raise the flag and wait for the answer; leaves nothing running when there is none. */
static void send(uint64_t number, uint64_t nr_words)
{
	time_t end = time(NULL) + PATIENCE;

	__atomic_store_n(&table->flag, bl_receive_flag(number, nr_words), __ATOMIC_RELEASE);
	while (__atomic_load_n(&table->answer.number, __ATOMIC_ACQUIRE) != number) {
		if (time(NULL) > end) {
			__atomic_store_n(&table->stop, 1, __ATOMIC_RELEASE);
			cuStreamSynchronize(stream);
			tap_end(TAP_FAILED, "no answer to message %llu", (unsigned long long)number);
		}
		sched_yield();
	}
}

static void messages_are_counted_and_summed(void)
{
	static const uint64_t sizes[] = { 1, 7, 512, BL_RECEIVE_MAX_WORDS, 0 };
	uint64_t sum;

	enter();
	check_eq(launch((uint64_t)&table->flag, 5, 0), CUDA_SUCCESS);
	for (uint64_t number = 1; number <= 5; number++) {
		sum = fill(number, sizes[number - 1]);
		send(number, sizes[number - 1]);
		check_eq(table->answer.sum, sum);
	}
	check_eq(cuStreamSynchronize(stream), CUDA_SUCCESS);
	check_eq(table->result.received, 5);
	check_eq(table->result.stale, 0);
	check_eq(table->result.torn, 0);
	check_eq(table->result.wrong, 0);
	check_eq(table->result.end, BL_RECEIVE_DONE);
}

static void old_and_mixed_data_are_told_apart(void)
{
	enter();
	check_eq(launch((uint64_t)&table->flag, 4, 0), CUDA_SUCCESS);
	fill(1, 100);
	send(1, 100);
	send(2, 100); /* the flag alone */
	fill(3, 99);
	send(3, 100); /* one word is older */
	fill(4, 100);
	send(4, 100);
	check_eq(cuStreamSynchronize(stream), CUDA_SUCCESS);
	check_eq(table->result.received, 4);
	check_eq(table->result.stale, 1);
	check_eq(table->result.torn, 1);
	check_eq(table->result.wrong, 101);
}

static void a_wait_ends_by_time_or_by_the_stop_word(void)
{
	enter();
	check_eq(launch((uint64_t)&table->flag, 2, SHORT_NS), CUDA_SUCCESS);
	check_eq(cuStreamSynchronize(stream), CUDA_SUCCESS);
	check_eq(table->result.end, BL_RECEIVE_TIMED_OUT);
	check_eq(table->result.received, 0);
	enter();
	check_eq(launch((uint64_t)&table->flag, 2, 0), CUDA_SUCCESS);
	send(1, 0);
	__atomic_store_n(&table->stop, 1, __ATOMIC_RELEASE);
	check_eq(cuStreamSynchronize(stream), CUDA_SUCCESS);
	check_eq(table->result.end, BL_RECEIVE_STOPPED);
	check_eq(table->result.received, 1);
}

static void addresses_that_the_device_cannot_reach_end_the_context(void)
{
	enter();
	check_eq(launch((uint64_t)&table->flag + 4, 1, SHORT_NS), CUDA_SUCCESS);
	check_eq(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static const struct tap_test tests[] = {
	{ "messages_are_counted_and_summed", messages_are_counted_and_summed },
	{ "old_and_mixed_data_are_told_apart", old_and_mixed_data_are_told_apart },
	{ "a_wait_ends_by_time_or_by_the_stop_word", a_wait_ends_by_time_or_by_the_stop_word },
	{ "addresses_that_the_device_cannot_reach_end_the_context",
	  addresses_that_the_device_cannot_reach_end_the_context },
};

TAP_MAIN(tests)
