// SPDX-License-Identifier: MIT
#include "kernel_pplat.h"

#include <sched.h>
#include <time.h>

#include "arena.h"
#include "gpu/kernels/pplat.h"
#include "state.h"

enum { GPU_FLAG, CPU_FLAG, DATA, NR_WORDS, ROUNDS, TIMEOUT_NS, STOP, RESULT };

/**
 * struct game - the parameters as a block sees them, and what it keeps in registers
 * @gpu_flag:   the flag it waits for
 * @cpu_flag:   the flag it answers with
 * @data:       words
 * @nr_words:   how many
 * @timeout_ns: of each wait, 0 for none
 * @stop:       not 0: leave
 * @result:     what the grid leaves behind
 * @first:      first word of this block
 * @bad:        words of this block that were wrong
 */
struct game {
	uint32_t *gpu_flag;
	uint32_t *cpu_flag;
	uint32_t *data;
	uint64_t nr_words;
	uint64_t timeout_ns;
	uint32_t *stop;
	struct bl_pplat_result *result;
	uint64_t first;
	uint64_t bad;
};

static int range_ok(uint64_t ptr, uint64_t size, uint64_t align)
{
	return !(ptr % align) && emu_range_ok(ptr, size);
}

static int check(const uint64_t *params)
{
	if (!range_ok(params[GPU_FLAG], 4, 4) || !range_ok(params[CPU_FLAG], 4, 4) || !range_ok(params[STOP], 4, 4))
		return 0;
	if (!range_ok(params[RESULT], sizeof(struct bl_pplat_result), 8) || params[NR_WORDS] > UINT64_MAX / 4)
		return 0;
	return !params[NR_WORDS] || range_ok(params[DATA], params[NR_WORDS] * 4, 4);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The CPUs are fewer than the blocks: who waits gives way. */
static enum bl_pplat_end wait_for(const struct game *game, uint32_t round)
{
	uint64_t since = 0;

	for (uint32_t polls = 1; __atomic_load_n(game->gpu_flag, __ATOMIC_ACQUIRE) != round; polls++) {
		sched_yield();
		if (polls % BL_PPLAT_POLLS)
			continue;
		if (__atomic_load_n(game->stop, __ATOMIC_ACQUIRE))
			return BL_PPLAT_STOPPED;
		if (!game->timeout_ns)
			continue;
		if (!since)
			since = now_ns();
		if (now_ns() - since >= game->timeout_ns)
			return BL_PPLAT_TIMED_OUT;
	}
	return BL_PPLAT_DONE;
}

/* The words of all threads of a block; they lie next to each other in each stride of the grid. */
static void read_words(struct game *game, const struct emu_grid *grid, uint32_t round)
{
	for (uint64_t base = game->first; base < game->nr_words; base += grid->nr_threads) {
		for (uint64_t i = base; i < base + grid->nr_threads / grid->nr_blocks && i < game->nr_words; i++)
			game->bad += __atomic_load_n(&game->data[i], __ATOMIC_RELAXED) !=
				     bl_pplat_word(round, (uint32_t)i);
	}
}

static void write_words(struct game *game, const struct emu_grid *grid, uint32_t round)
{
	for (uint64_t base = game->first; base < game->nr_words; base += grid->nr_threads) {
		for (uint64_t i = base; i < base + grid->nr_threads / grid->nr_blocks && i < game->nr_words; i++)
			__atomic_store_n(&game->data[i], bl_pplat_word(round, (uint32_t)i), __ATOMIC_RELAXED);
	}
}

/* The last block of a round answers. */
static void answer(const struct game *game, const struct emu_grid *grid, uint32_t round)
{
	if (grid->nr_blocks > 1 &&
	    __atomic_add_fetch(&game->result->arrived, 1, __ATOMIC_ACQ_REL) != grid->nr_blocks * round)
		return;
	__atomic_store_n(game->cpu_flag, round, __ATOMIC_RELEASE);
}

static void store_max_u32(uint32_t *to, uint32_t value)
{
	uint32_t old = __atomic_load_n(to, __ATOMIC_RELAXED);

	while (old < value && !__atomic_compare_exchange_n(to, &old, value, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void store_max_u64(uint64_t *to, uint64_t value)
{
	uint64_t old = __atomic_load_n(to, __ATOMIC_RELAXED);

	while (old < value && !__atomic_compare_exchange_n(to, &old, value, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static enum bl_pplat_end play_round(struct game *game, const struct emu_grid *grid, uint32_t round, int produce)
{
	enum bl_pplat_end end;

	if (produce) {
		write_words(game, grid, round);
		answer(game, grid, round);
		return wait_for(game, round);
	}
	end = wait_for(game, round);
	if (end != BL_PPLAT_DONE)
		return end;
	read_words(game, grid, round);
	answer(game, grid, round);
	return BL_PPLAT_DONE;
}

static void play(const struct emu_grid *grid, uint64_t block, const uint64_t *params, int produce)
{
	struct game game = {
		.gpu_flag = emu_cpu(params[GPU_FLAG]),
		.cpu_flag = emu_cpu(params[CPU_FLAG]),
		.data = emu_cpu(params[DATA]),
		.nr_words = params[NR_WORDS],
		.timeout_ns = params[TIMEOUT_NS],
		.stop = emu_cpu(params[STOP]),
		.result = emu_cpu(params[RESULT]),
		.first = block * (grid->nr_threads / grid->nr_blocks),
	};
	enum bl_pplat_end end = BL_PPLAT_DONE;
	uint64_t start = 0, done = 0;

	while (done < params[ROUNDS]) {
		end = play_round(&game, grid, (uint32_t)done + 1, produce);
		if (end != BL_PPLAT_DONE)
			break;
		if (!done++)
			start = now_ns();
	}
	__atomic_fetch_add(&game.result->bad, game.bad, __ATOMIC_RELAXED);
	store_max_u64(&game.result->rounds, done);
	store_max_u32(&game.result->ended, end);
	if (!block && start)
		game.result->elapsed_ns = now_ns() - start;
}

static void consume_run(const struct emu_grid *grid, uint64_t block, const uint64_t *params)
{
	play(grid, block, params, 0);
}

static void produce_run(const struct emu_grid *grid, uint64_t block, const uint64_t *params)
{
	play(grid, block, params, 1);
}

const struct emu_kernel emu_pplat_consume = {
	.ptx = bl_pplat_ptx,
	.name = "bl_pplat_consume",
	.nr_params = 8,
	.resident = 1,
	.check = check,
	.run = consume_run,
};

const struct emu_kernel emu_pplat_produce = {
	.ptx = bl_pplat_ptx,
	.name = "bl_pplat_produce",
	.nr_params = 8,
	.resident = 1,
	.check = check,
	.run = produce_run,
};
