// SPDX-License-Identifier: MIT
#include "kernel_receive.h"

#include <sched.h>
#include <time.h>

#include "arena.h"
#include "gpu/kernels/receive.h"
#include "state.h"

enum { FLAG, DATA, ANSWER, NR_MESSAGES, TIMEOUT_NS, STOP, RESULT };

static int range_ok(uint64_t ptr, uint64_t size)
{
	return !(ptr % 8) && emu_range_ok(ptr, size);
}

/* How much data there is only the flags say: as on the GPU, what lies behind the allocation is the sender's fault. */
static int check(const uint64_t *params)
{
	return range_ok(params[FLAG], 8) && range_ok(params[DATA], 8) && range_ok(params[STOP], 8) &&
	       range_ok(params[ANSWER], sizeof(struct bl_receive_answer)) &&
	       range_ok(params[RESULT], sizeof(struct bl_receive_result));
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The CPUs may be fewer than who waits: give way. */
static enum bl_receive_end wait_for(const uint64_t *params, uint64_t number, uint64_t *nr_words_p)
{
	const uint64_t *flag_addr = emu_cpu(params[FLAG]), *stop = emu_cpu(params[STOP]);
	uint64_t since = 0, flag;

	for (uint32_t polls = 1;; polls++) {
		flag = __atomic_load_n(flag_addr, __ATOMIC_ACQUIRE);
		if (flag >> 10 == number)
			break;
		sched_yield();
		if (polls % BL_RECEIVE_POLLS)
			continue;
		if (__atomic_load_n(stop, __ATOMIC_ACQUIRE))
			return BL_RECEIVE_STOPPED;
		if (!params[TIMEOUT_NS])
			continue;
		if (!since)
			since = now_ns();
		if (now_ns() - since >= params[TIMEOUT_NS])
			return BL_RECEIVE_TIMED_OUT;
	}
	*nr_words_p = flag & BL_RECEIVE_MAX_WORDS;
	return BL_RECEIVE_DONE;
}

static uint64_t take(const uint64_t *words, uint64_t nr_words, uint64_t number, struct bl_receive_result *result)
{
	uint64_t sum = 0, bad = 0;

	for (uint64_t i = 0; i < nr_words; i++) {
		uint64_t word = __atomic_load_n(&words[i], __ATOMIC_RELAXED);

		bad += word != bl_receive_word(number, i);
		sum += word;
	}
	result->received++;
	result->wrong += bad;
	if (bad)
		*(bad == nr_words ? &result->stale : &result->torn) += 1;
	return sum;
}

static void run(const struct emu_grid *grid, uint64_t block, const uint64_t *params)
{
	struct bl_receive_answer *answer = emu_cpu(params[ANSWER]);
	struct bl_receive_result result = { .end = BL_RECEIVE_DONE };

	for (uint64_t number = 1; number <= params[NR_MESSAGES]; number++) {
		uint64_t nr_words;

		result.end = wait_for(params, number, &nr_words);
		if (result.end != BL_RECEIVE_DONE)
			break;
		__atomic_store_n(&answer->sum, take(emu_cpu(params[DATA]), nr_words, number, &result), __ATOMIC_RELAXED);
		__atomic_store_n(&answer->number, number, __ATOMIC_RELEASE);
	}
	*(struct bl_receive_result *)emu_cpu(params[RESULT]) = result;
}

const struct emu_kernel emu_receive = {
	.ptx = bl_receive_ptx,
	.name = "bl_receive",
	.nr_params = 7,
	.resident = 1,
	.check = check,
	.run = run,
};
