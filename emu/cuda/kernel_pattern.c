// SPDX-License-Identifier: MIT
#include "kernel_pattern.h"

#include "arena.h"
#include "gpu/kernels/pattern.h"
#include "state.h"

enum { PTR, NR_WORDS, SEED, RESULT };

static int words_ok(uint64_t ptr, uint64_t nr)
{
	if (ptr % sizeof(uint64_t) || nr > UINT64_MAX / sizeof(uint64_t))
		return 0;
	return emu_range_ok(ptr, nr * sizeof(uint64_t));
}

static int fill_check(const uint64_t *params)
{
	return words_ok(params[PTR], params[NR_WORDS]);
}

static void fill_run(const struct emu_grid *grid, uint64_t thread, const uint64_t *params)
{
	uint64_t *words = emu_cpu(params[PTR]);

	for (uint64_t i = thread; i < params[NR_WORDS]; i += grid->nr_threads)
		__atomic_store_n(&words[i], bl_pattern_word(params[SEED], i), __ATOMIC_SEQ_CST);
}

static int check_check(const uint64_t *params)
{
	return words_ok(params[PTR], params[NR_WORDS]) && words_ok(params[RESULT], 1);
}

static void check_run(const struct emu_grid *grid, uint64_t thread, const uint64_t *params)
{
	uint64_t *words = emu_cpu(params[PTR]);
	uint64_t *result = emu_cpu(params[RESULT]);
	uint64_t bad = 0;

	for (uint64_t i = thread; i < params[NR_WORDS]; i += grid->nr_threads)
		bad += __atomic_load_n(&words[i], __ATOMIC_SEQ_CST) != bl_pattern_word(params[SEED], i);
	if (bad)
		__atomic_fetch_add(result, bad, __ATOMIC_SEQ_CST);
}

const struct emu_kernel emu_pattern_fill = {
	.ptx = bl_pattern_ptx,
	.name = "bl_pattern_fill",
	.nr_params = 3,
	.check = fill_check,
	.run = fill_run,
};

const struct emu_kernel emu_pattern_check = {
	.ptx = bl_pattern_ptx,
	.name = "bl_pattern_check",
	.nr_params = 4,
	.check = check_check,
	.run = check_run,
};
