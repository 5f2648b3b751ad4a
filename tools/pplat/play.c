// SPDX-License-Identifier: MIT
#include "pplat/pplat.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

#include "common/error.h"
#include "copy/fence.h"

/* Polls between two looks at the clock and at the GPU: no round trip of usual length gets there. */
#define POLLS 4096U

/* From here on a wait is no measurement any more, and gives way to other threads. */
#define PATIENT_NS 1000000U

static volatile sig_atomic_t interrupted;

static void on_signal(int signal)
{
	interrupted = signal;
}

void pplat_catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static inline uint32_t get_flag(const struct pplat *game)
{
	uint32_t flag;

	if (game->cpu_flag.where == PPLAT_HOSTMEM)
		return __atomic_load_n((uint32_t *)game->cpu_flag.cpu, __ATOMIC_ACQUIRE);
	if (gdr_copy_from_mapping(game->bench->mh, &flag, game->cpu_flag.cpu, sizeof(flag)))
		tool_die("gdr_copy_from_mapping of the flag failed");
	return flag;
}

static inline void put_flag(const struct pplat *game, uint32_t flag)
{
	if (game->gpu_flag.where == PPLAT_HOSTMEM)
		__atomic_store_n((uint32_t *)game->gpu_flag.cpu, flag, __ATOMIC_RELEASE);
	else if (gdr_copy_to_mapping(game->bench->mh, game->gpu_flag.cpu, &flag, sizeof(flag)))
		tool_die("gdr_copy_to_mapping of the flag failed");
}

/* Return: 0 go on waiting, or how the wait ends. @since_ns is 0 at first. */
static __attribute__((noinline)) int look_around(const struct pplat *game, uint32_t round, uint64_t *since_ns)
{
	uint64_t limit_ns = game->options->timeout_s * 1000000000, now_ns = tool_now_ns();
	int ret;

	if (interrupted)
		return tool_fail(EINTR, "interrupted by signal %d", (int)interrupted);
	ret = pplat_poll_gpu(game);
	/* it may have answered and then ended */
	if (!ret && get_flag(game) != round)
		return tool_fail(EPIPE, "the kernel on the GPU has ended without an answer");
	if (ret != -EAGAIN)
		return ret;
	if (!*since_ns)
		*since_ns = now_ns;
	if (limit_ns && now_ns - *since_ns >= limit_ns)
		return tool_fail(ETIMEDOUT, "the GPU did not answer within %" PRIu64 " s", game->options->timeout_s);
	if (now_ns - *since_ns > PATIENT_NS)
		sched_yield();
	return 0;
}

static inline int wait_flag(const struct pplat *game, uint32_t round)
{
	uint64_t since_ns = 0;
	int ret;

	for (uint32_t polls = 1; get_flag(game) != round; polls++) {
		if (polls % POLLS)
			continue;
		ret = look_around(game, round, &since_ns);
		if (ret)
			return ret;
	}
	return 0;
}

/* What can be reached without the library: a store to the mapping, and loads of host memory. */
static inline int play_bare(const struct pplat *game, uint32_t round)
{
	uint32_t *flag = game->cpu_flag.cpu;
	uint64_t since_ns = 0;
	int ret;

	__atomic_store_n((uint32_t *)game->gpu_flag.cpu, round, __ATOMIC_RELAXED);
	/* out of the write-combining buffer */
	bl_fence_wc_store();
	for (uint32_t polls = 1; __atomic_load_n(flag, __ATOMIC_ACQUIRE) != round; polls++) {
		if (polls % POLLS)
			continue;
		ret = look_around(game, round, &since_ns);
		if (ret)
			return ret;
	}
	return 0;
}

static void put_data(const struct pplat *game)
{
	size_t len = game->options->data;

	if (game->data.where == PPLAT_GPUMEM) {
		if (gdr_copy_to_mapping(game->bench->mh, game->data.cpu, game->words, len))
			tool_die("gdr_copy_to_mapping of %zu bytes failed", len);
		return;
	}
	memcpy(game->data.cpu, game->words, len);
	/* the words before the flag, which may be in a write-combining mapping */
	bl_fence_wc_store();
}

static void get_data(const struct pplat *game)
{
	size_t len = game->options->data;

	/* the load of the flag before those of the words, which are weakly ordered in a write-combining mapping */
	bl_fence_full();
	if (game->data.where == PPLAT_HOSTMEM)
		memcpy(game->words, game->data.cpu, len);
	else if (gdr_copy_from_mapping(game->bench->mh, game->words, game->data.cpu, len))
		tool_die("gdr_copy_from_mapping of %zu bytes failed", len);
	/* the loads of the words before the store of the flag, after which they change */
	bl_fence_full();
}

static int cpu_produces(struct pplat *game, const struct pplat_times *times, uint64_t *round_p)
{
	size_t nr_words = game->options->data / 4;

	for (uint64_t round = 1; round <= game->rounds; round++) {
		/* with two loops each goes first in every other pair */
		uint64_t nth = round - 2, pair = nth / 2;
		bool bare = times->bare && round > 1 && nth % 2 != pair % 2;
		double *to = bare ? times->bare : times->library;
		uint64_t start;
		int ret;

		*round_p = round;
		for (size_t i = 0; i < nr_words; i++)
			game->words[i] = bl_pplat_word((uint32_t)round, (uint32_t)i);
		start = tool_now_ns();
		if (bare) {
			ret = play_bare(game, (uint32_t)round);
		} else {
			if (nr_words)
				put_data(game);
			put_flag(game, (uint32_t)round);
			ret = wait_flag(game, (uint32_t)round);
		}
		if (ret)
			return ret;
		if (round > 1)
			to[times->bare ? pair : nth] = (double)(tool_now_ns() - start);
	}
	return 0;
}

static int check_word(const struct pplat *game, uint32_t round, size_t i)
{
	uint32_t want = bl_pplat_word(round, (uint32_t)i);

	if (game->words[i] == want)
		return 0;
	return tool_fail(EILSEQ, "wrong data: word %zu of %zu is 0x%08x, not 0x%08x", i, game->options->data / 4,
			 game->words[i], want);
}

/* The GPU keeps the time, so of most rounds only one word is looked at, another one each time. */
static int gpu_produces(struct pplat *game, uint64_t *round_p)
{
	size_t nr_words = game->options->data / 4;

	for (uint64_t round = 1; round <= game->rounds; round++) {
		int ret;

		*round_p = round;
		ret = wait_flag(game, (uint32_t)round);
		if (ret)
			return ret;
		if (nr_words)
			get_data(game);
		put_flag(game, (uint32_t)round);
		if (!nr_words)
			continue;
		ret = check_word(game, (uint32_t)round, round % nr_words);
		for (size_t i = 0; !ret && i < nr_words && (round == 1 || round == game->rounds); i++)
			ret = check_word(game, (uint32_t)round, i);
		if (ret)
			return ret;
	}
	return 0;
}

int pplat_play(struct pplat *game, const struct pplat_times *times, uint64_t *round_p)
{
	if (game->options->mode == PPLAT_CPU_PRODUCES)
		return cpu_produces(game, times, round_p);
	return gpu_produces(game, round_p);
}
