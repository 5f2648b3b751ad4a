// SPDX-License-Identifier: MIT
/* The kernels of pplat.ptx, as the emulated GPU runs them: rounds, data, and the three ways to end. */
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "emu/cuda/api.h"
#include "emu/cuda/emu.h"
#include "gpu/kernels/pplat.h"
#include "tests/tap.h"

#define NR_WORDS  1000UL /* no multiple of any grid here */
#define PATIENCE  20     /* seconds */
#define SHORT_NS  50000000ULL
#define FOREVER   0ULL

/* What CPU and GPU share, in host memory. */
struct table {
	uint32_t gpu_flag;
	uint32_t cpu_flag;
	uint32_t stop;
	uint32_t unused;
	struct bl_pplat_result result;
	uint32_t data[NR_WORDS];
};

static struct table *table;
static CUfunction consume, produce;
static CUstream stream;

static void enter(void)
{
	static CUcontext ctx;
	CUmodule module;
	void *host;

	if (!ctx) {
		check_eq(cuInit(0), CUDA_SUCCESS);
		check_eq(cuCtxCreate_v2(&ctx, 0, 0), CUDA_SUCCESS);
		check_eq(cuModuleLoadData(&module, bl_pplat_ptx), CUDA_SUCCESS);
		check_eq(cuModuleGetFunction(&consume, module, "bl_pplat_consume"), CUDA_SUCCESS);
		check_eq(cuModuleGetFunction(&produce, module, "bl_pplat_produce"), CUDA_SUCCESS);
		check_eq(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
		check_eq(cuMemHostAlloc(&host, sizeof(*table), 0), CUDA_SUCCESS);
		table = host;
	}
	memset(table, 0, sizeof(*table));
}

static CUresult launch(CUfunction fn, unsigned int blocks, unsigned int threads, uint64_t nr_words, uint64_t rounds,
		       uint64_t timeout_ns)
{
	uint64_t gpu_flag = (uint64_t)&table->gpu_flag, cpu_flag = (uint64_t)&table->cpu_flag;
	uint64_t data = (uint64_t)table->data, stop = (uint64_t)&table->stop, result = (uint64_t)&table->result;
	void *params[] = { &gpu_flag, &cpu_flag, &data, &nr_words, &rounds, &timeout_ns, &stop, &result };

	return cuLaunchKernel(fn, blocks, 1, 1, threads, 1, 1, 0, stream, params, NULL);
}

static int answered(uint32_t round)
{
	time_t end = time(NULL) + PATIENCE;

	while (__atomic_load_n(&table->cpu_flag, __ATOMIC_ACQUIRE) != round) {
		if (time(NULL) > end)
			return 0;
		sched_yield();
	}
	return 1;
}

static void give(uint32_t round)
{
	__atomic_store_n(&table->gpu_flag, round, __ATOMIC_RELEASE);
}

static void fill(uint32_t round)
{
	for (uint32_t i = 0; i < NR_WORDS; i++)
		table->data[i] = bl_pplat_word(round, i);
}

/* Leaves nothing running when a test fails. */
static void stop_and_fail(void)
{
	__atomic_store_n(&table->stop, 1, __ATOMIC_RELEASE);
	cuStreamSynchronize(stream);
	tap_end(TAP_FAILED, "the GPU did not answer");
}

static const struct {
	unsigned int blocks, threads;
} grids[] = { { 1, 1 }, { 1, 33 }, { 5, 7 }, { 8, 1024 } };

static void consume_checks_data(void)
{
	enter();
	for (size_t g = 0; g < sizeof(grids) / sizeof(grids[0]); g++) {
		memset(table, 0, sizeof(*table));
		check_eq(launch(consume, grids[g].blocks, grids[g].threads, NR_WORDS, 5, FOREVER), CUDA_SUCCESS);
		for (uint32_t round = 1; round <= 5; round++) {
			fill(round);
			if (round == 3)
				table->data[NR_WORDS - 1] ^= 1;
			if (round == 4)
				table->data[0] = bl_pplat_word(3, 0);
			give(round);
			if (!answered(round))
				stop_and_fail();
		}
		check_eq(cuStreamSynchronize(stream), CUDA_SUCCESS);
		check_eq(table->result.ended, BL_PPLAT_DONE);
		check_eq(table->result.rounds, 5);
		check_eq(table->result.bad, 2);
		check_eq(table->result.arrived, grids[g].blocks > 1 ? 5 * grids[g].blocks : 0);
	}
}

static void produce_writes_data(void)
{
	enter();
	for (size_t g = 0; g < sizeof(grids) / sizeof(grids[0]); g++) {
		memset(table, 0, sizeof(*table));
		check_eq(launch(produce, grids[g].blocks, grids[g].threads, NR_WORDS, 4, FOREVER), CUDA_SUCCESS);
		for (uint32_t round = 1; round <= 4; round++) {
			uint32_t bad = 0;

			if (!answered(round))
				stop_and_fail();
			for (uint32_t i = 0; i < NR_WORDS; i++)
				bad += table->data[i] != bl_pplat_word(round, i);
			give(round);
			if (bad)
				stop_and_fail();
		}
		check_eq(cuStreamSynchronize(stream), CUDA_SUCCESS);
		check_eq(table->result.ended, BL_PPLAT_DONE);
		check_eq(table->result.rounds, 4);
		check(table->result.elapsed_ns > 0);
	}
}

static void wait_ends_after_timeout(void)
{
	enter();
	for (int i = 0; i < 2; i++) {
		memset(table, 0, sizeof(*table));
		give(1);
		check_eq(launch(i ? produce : consume, 3, 8, 0, 9, SHORT_NS), CUDA_SUCCESS);
		check_eq(cuStreamSynchronize(stream), CUDA_SUCCESS);
		check_eq(table->result.ended, BL_PPLAT_TIMED_OUT);
		check_eq(table->result.rounds, 1);
		check_eq(table->cpu_flag, 1 + i);
	}
}

static void stop_word_ends_the_wait(void)
{
	enter();
	for (int i = 0; i < 2; i++) {
		memset(table, 0, sizeof(*table));
		check_eq(launch(i ? produce : consume, 2, 8, 0, 9, FOREVER), CUDA_SUCCESS);
		check_eq(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
		__atomic_store_n(&table->stop, 1, __ATOMIC_RELEASE);
		check_eq(cuStreamSynchronize(stream), CUDA_SUCCESS);
		check_eq(table->result.ended, BL_PPLAT_STOPPED);
		check_eq(table->result.rounds, 0);
	}
}

static void too_many_blocks_are_refused(void)
{
	enter();
	check_eq(launch(consume, 65, 1, 0, 0, FOREVER), CUDA_ERROR_NOT_SUPPORTED);
	check_eq(launch(consume, 64, 1, 0, 0, FOREVER), CUDA_SUCCESS);
	check_eq(cuStreamSynchronize(stream), CUDA_SUCCESS);
	check_eq(table->result.ended, BL_PPLAT_DONE);
}

static void faults_lose_launches(void)
{
	enter();
	check_eq(bl_emu_fault("cuda.launch"), 0);
	check_eq(launch(consume, 1, 1, 0, 1, FOREVER), CUDA_ERROR_LAUNCH_FAILED);
	check_eq(bl_emu_fault("cuda.launch:1:2"), 0);
	check_eq(launch(consume, 1, 1, 0, 1, FOREVER), CUDA_ERROR_OUT_OF_MEMORY);
	check_eq(bl_emu_fault("cuda.lost"), 0);
	check_eq(launch(consume, 1, 1, 0, 1, FOREVER), CUDA_SUCCESS);
	check_eq(cuStreamSynchronize(stream), CUDA_SUCCESS);
	check_eq(table->result.ended, BL_PPLAT_NOT_RUN);
	check_eq(bl_emu_fault("cuda.late:1:50"), 0);
	check_eq(launch(consume, 1, 1, 0, 1, FOREVER), CUDA_SUCCESS);
	give(1);
	check(!usleep(10000) && !__atomic_load_n(&table->cpu_flag, __ATOMIC_ACQUIRE));
	check_eq(cuStreamSynchronize(stream), CUDA_SUCCESS);
	check_eq(table->result.ended, BL_PPLAT_DONE);
	check_eq(bl_emu_fault(""), 0);
}

/* Last: the context is of no use afterwards. */
static void bad_address_is_illegal(void)
{
	enter();
	table->gpu_flag = 1;
	check_eq(launch(consume, 1, 1, NR_WORDS + 100000, 1, SHORT_NS), CUDA_SUCCESS);
	check_eq(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static const struct tap_test tests[] = {
	{ "consumer_compares_every_word_of_every_round", consume_checks_data },
	{ "producer_writes_every_word_of_every_round", produce_writes_data },
	{ "a_flag_that_never_comes_ends_the_kernel_after_its_timeout", wait_ends_after_timeout },
	{ "the_stop_word_ends_a_kernel_that_waits_for_ever", stop_word_ends_the_wait },
	{ "blocks_that_cannot_run_at_once_are_refused", too_many_blocks_are_refused },
	{ "faults_refuse_lose_or_delay_a_launch", faults_lose_launches },
	{ "data_outside_of_memory_is_an_illegal_access", bad_address_is_illegal },
};

TAP_MAIN(tests)
