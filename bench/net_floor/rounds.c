// SPDX-License-Identifier: MIT
/* rounds.c - from the CPU to the GPU and back */
#include "floor.h"

#include <inttypes.h>
#include <sched.h>

#include "common/error.h"
#include "copy/fence.h"

/* Polls between two looks at the clock: no round of usual length gets there. */
#define POLLS 4096U

/* Rounds of each repetition that are not measured, at most half of all: the kernel starts, and code is cold. */
#define WARM_UP 64U

static inline bool is_marked(int kind)
{
	return kind == BL_FLOOR_MARKED || kind == BL_FLOOR_FENCE_MARKED || kind == BL_FLOOR_MARKED_WARP;
}

/* All words of the turn are there: in any order, since each is looked at. */
static inline bool is_whole(const struct floor *floor, uint64_t turn)
{
	for (size_t i = 0; i < BL_FLOOR_MARKED_WORDS; i++) {
		if (__atomic_load_n(floor_host_word(floor, BL_FLOOR_AT_REQUEST + i * 8), __ATOMIC_RELAXED) !=
		    (turn << 32 | (uint32_t)turn))
			return false;
	}
	return true;
}

static inline bool is_there(const struct floor *floor, int kind, uint64_t turn)
{
	if (is_marked(kind))
		return is_whole(floor, turn);
	/* the flag before the request that it announces */
	return __atomic_load_n(floor_host_word(floor, BL_FLOOR_AT_FLAG), __ATOMIC_ACQUIRE) == turn;
}

static __attribute__((noinline)) void look_around(struct floor *floor, int kind, uint64_t turn)
{
	CUresult res = floor->bench.device.cu->cuStreamQuery(floor->stream);

	/* it may have answered and then ended */
	if (res != CUDA_ERROR_NOT_READY && !is_there(floor, kind, turn))
		floor_give_up(floor, "round %" PRIu64 ": the kernel on the GPU has ended without an answer: %s", turn,
			      bl_cuda_strerror(res));
	if (tool_now_ns() > floor->end_ns)
		floor_give_up(floor, "round %" PRIu64 ": the GPU did not answer in time", turn);
	/* this is no measurement any more: others may need the CPU, the emulated GPU for one */
	sched_yield();
}

static inline void wait_for(struct floor *floor, int kind, uint64_t turn)
{
	for (uint32_t polls = 1; !is_there(floor, kind, turn); polls++) {
		if (polls % POLLS == 0)
			look_around(floor, kind, turn);
	}
}

/* A fence that orders nothing would be cheap: what was announced must be there. */
static bool is_announced(const struct floor *floor, int kind, uint64_t turn)
{
	if (kind == BL_FLOOR_FLAG || is_marked(kind))
		return true;
	for (size_t off = 0; off < 64; off += 8) {
		if (__atomic_load_n(floor_host_word(floor, BL_FLOOR_AT_REQUEST + off), __ATOMIC_RELAXED) != turn)
			return false;
	}
	return kind == BL_FLOOR_REQUEST ||
	       __atomic_load_n(floor_host_word(floor, BL_FLOOR_AT_WORD), __ATOMIC_RELAXED) == turn;
}

static inline void play(struct floor *floor, int kind, uint64_t turn)
{
	__atomic_store_n((uint64_t *)(floor->map + BL_FLOOR_AT_FLAG), turn, __ATOMIC_RELAXED);
	/* the flag out of the write-combining buffer, before the loads that wait for the answer */
	bl_fence_wc_store();
	wait_for(floor, kind, turn);
}

static int time_rounds(struct floor *floor, int kind, double *ns_p)
{
	uint64_t warm_up = floor->turns / 2 < WARM_UP ? floor->turns / 2 : WARM_UP, begin = 0;
	struct bl_floor_result result;

	floor_launch(floor, "bl_floor_answer", kind, kind == BL_FLOOR_MARKED_WARP ? 32 : 1);
	for (uint64_t turn = 1; turn <= floor->turns; turn++) {
		if (turn == warm_up + 1)
			begin = tool_now_ns();
		play(floor, kind, turn);
		/* not in rounds that count: the loads would miss the cache, and that is no part of a round */
		if ((turn <= warm_up || turn == floor->turns) && !is_announced(floor, kind, turn))
			floor_give_up(floor, "round %" PRIu64 ": the flag came before the request", turn);
	}
	*ns_p = (double)(tool_now_ns() - begin) / (double)(floor->turns - warm_up);
	floor_finish(floor, &result);
	if (result.end != BL_FLOOR_DONE || result.turns != floor->turns)
		tool_die("the kernel ended as %u after %" PRIu64 " rounds", result.end, result.turns);
	return 0;
}

const struct floor_row floor_round_rows[] = {
	{ "round", "flag", "flag", time_rounds, BL_FLOOR_FLAG },
	{ "round", "request", "64 bytes, fence, flag", time_rounds, BL_FLOOR_REQUEST },
	{ "round", "request_twice", "64 bytes, fence, word, fence, flag", time_rounds, BL_FLOOR_REQUEST_TWICE },
	{ "round", "marked", "64 bytes in marked words", time_rounds, BL_FLOOR_MARKED },
	{ "round", "fence_marked", "fence, 64 bytes in marked words", time_rounds, BL_FLOOR_FENCE_MARKED },
	{ "round", "marked_warp", "64 bytes in marked words, by a warp", time_rounds, BL_FLOOR_MARKED_WARP },
	{ NULL, NULL, NULL, NULL, 0 },
};
