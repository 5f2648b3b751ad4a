// SPDX-License-Identifier: MIT
/* Kernels of net_floor, of one thread each, or of a warp: an operation time and again, and answers to a CPU. */
#include "steps.cuh"

/* As a WQE is written: four stores of 16 bytes. */
static __device__ inline void write_request(uint64_t at, uint64_t word)
{
	for (uint64_t off = 0; off < 64; off += 16)
		floor_store16(at + off, word);
}

/*
 * @word is what the last load or atomic operation gave. The address of a load depends on it, and the operand of an
 * atomic operation, so that none begins before the one in front of it has come back.
 */
template <int op> static __device__ inline void once(const struct bl_floor_work &work, uint64_t turn, uint64_t &word)
{
	uint64_t to = work.host, off = (word ^ BL_FLOOR_LOADED) & 8;

	if constexpr (op == BL_FLOOR_REQUEST_FENCE || op == BL_FLOOR_REQUEST_RELEASE || op == BL_FLOOR_REQUEST_STORE)
		write_request(to + BL_FLOOR_AT_REQUEST, turn);
	/* the request before the next one */
	if constexpr (op == BL_FLOOR_REQUEST_FENCE || op == BL_FLOOR_FENCE)
		floor_fence();
	if constexpr (op == BL_FLOOR_REQUEST_RELEASE || op == BL_FLOOR_RELEASE)
		floor_fence_release();
	if constexpr (op == BL_FLOOR_REQUEST_STORE || op == BL_FLOOR_STORE)
		floor_store_release(to + BL_FLOOR_AT_FLAG, turn);
	if constexpr (op == BL_FLOOR_MAX)
		word = floor_max(to + BL_FLOOR_AT_COUNT, turn + (word >> 63));
	if constexpr (op == BL_FLOOR_ADD)
		word = floor_add(to + BL_FLOOR_AT_COUNT, 1 + (word >> 63));
	if constexpr (op == BL_FLOOR_LOAD_GPU)
		word = floor_load_acquire(work.gpu + BL_FLOOR_AT_LOAD + off);
	if constexpr (op == BL_FLOOR_LOAD_HOST)
		word = floor_load(to + BL_FLOOR_AT_LOAD + off);
}

template <int op> static __device__ inline void time_op(const struct bl_floor_work &work,
							      struct bl_floor_result *result)
{
	bool loads = op == BL_FLOOR_LOAD_GPU || op == BL_FLOOR_LOAD_HOST;
	uint64_t word = loads ? BL_FLOOR_LOADED : 0, begin = bl_globaltimer();

	for (uint64_t turn = 1; turn <= work.turns; turn++)
		once<op>(work, turn, word);
	result->ns = bl_globaltimer() - begin;
	result->word = word;
	result->turns = work.turns;
}

extern "C" __global__ void bl_floor_time(struct bl_floor_work work)
{
	struct bl_floor_result *result = (struct bl_floor_result *)(uintptr_t)(work.gpu + BL_FLOOR_AT_RESULT);

#ifndef FLOOR_HAS_RELEASE
	if (work.kind == BL_FLOOR_REQUEST_RELEASE || work.kind == BL_FLOOR_RELEASE) {
		result->end = BL_FLOOR_ABSENT;
		return;
	}
#endif
	switch (work.kind) {
#define CASE(op)                                                                                                       \
	case op:                                                                                                       \
		time_op<op>(work, result);                                                                             \
		break
	CASE(BL_FLOOR_REQUEST_FENCE);
	CASE(BL_FLOOR_FENCE);
	CASE(BL_FLOOR_REQUEST_RELEASE);
	CASE(BL_FLOOR_RELEASE);
	CASE(BL_FLOOR_REQUEST_STORE);
	CASE(BL_FLOOR_STORE);
	CASE(BL_FLOOR_MAX);
	CASE(BL_FLOOR_ADD);
	CASE(BL_FLOOR_LOAD_GPU);
	CASE(BL_FLOOR_LOAD_HOST);
#undef CASE
	default:
		return;
	}
	result->end = BL_FLOOR_DONE;
}

/* BL_FLOOR_DONE, or why not. */
static __device__ inline uint32_t await(const struct bl_floor_work &work, uint64_t turn)
{
	uint64_t deadline = 0;

	/* the CPU's flag before the answer to it */
	for (uint32_t polls = 1; floor_load_acquire(work.gpu + BL_FLOOR_AT_FLAG) != turn; polls++) {
		floor_pause();
		/* the word that stops is in the host's memory, far away */
		if (polls % 1024)
			continue;
		if (floor_load(work.host + BL_FLOOR_AT_STOP))
			return BL_FLOOR_STOPPED;
		if (!deadline)
			deadline = bl_globaltimer() + work.limit_ns;
		else if (bl_globaltimer() >= deadline)
			return BL_FLOOR_TIMEOUT;
	}
	return BL_FLOOR_DONE;
}

/* Each word says itself which turn it is of, so that no fence is between them. */
static __device__ inline void write_marked(uint64_t at, uint64_t turn)
{
	for (uint64_t off = 0; off < BL_FLOOR_MARKED_WORDS * 8; off += 16)
		floor_store_pair(at + off, turn << 32 | (uint32_t)turn);
}

template <int kind> static __device__ inline void answer(const struct bl_floor_work &work, uint64_t turn)
{
	if constexpr (kind == BL_FLOOR_MARKED_WARP) {
		/* all lanes have seen the flag: one access of eight of them */
		__syncwarp();
		if (threadIdx.x < BL_FLOOR_MARKED_WORDS / 2)
			floor_store_pair(work.host + BL_FLOOR_AT_REQUEST + threadIdx.x * 16, turn << 32 | (uint32_t)turn);
		return;
	}
	if constexpr (kind == BL_FLOOR_MARKED || kind == BL_FLOOR_FENCE_MARKED) {
		/* all that was written earlier before the request */
		if constexpr (kind == BL_FLOOR_FENCE_MARKED)
			floor_fence();
		write_marked(work.host + BL_FLOOR_AT_REQUEST, turn);
		return;
	}
	if constexpr (kind != BL_FLOOR_FLAG) {
		write_request(work.host + BL_FLOOR_AT_REQUEST, turn);
		/* the request, and all that was written earlier, before the word that announces it */
		floor_fence();
	}
	if constexpr (kind == BL_FLOOR_REQUEST_TWICE) {
		floor_store(work.host + BL_FLOOR_AT_WORD, turn);
		/* the word before the flag */
		floor_fence();
	}
	floor_store(work.host + BL_FLOOR_AT_FLAG, turn);
}

template <int kind> static __device__ inline void answer_all(const struct bl_floor_work &work,
								   struct bl_floor_result *result)
{
	uint32_t end = BL_FLOOR_DONE;
	uint64_t turn;

	for (turn = 1; turn <= work.turns; turn++) {
		end = await(work, turn);
		if (end != BL_FLOOR_DONE)
			break;
		answer<kind>(work, turn);
	}
	if (threadIdx.x)
		return;
	result->turns = turn - 1;
	result->end = end;
}

extern "C" __global__ void bl_floor_answer(struct bl_floor_work work)
{
	struct bl_floor_result *result = (struct bl_floor_result *)(uintptr_t)(work.gpu + BL_FLOOR_AT_RESULT);

	if (work.kind == BL_FLOOR_FLAG)
		answer_all<BL_FLOOR_FLAG>(work, result);
	else if (work.kind == BL_FLOOR_REQUEST)
		answer_all<BL_FLOOR_REQUEST>(work, result);
	else if (work.kind == BL_FLOOR_REQUEST_TWICE)
		answer_all<BL_FLOOR_REQUEST_TWICE>(work, result);
	else if (work.kind == BL_FLOOR_MARKED)
		answer_all<BL_FLOOR_MARKED>(work, result);
	else if (work.kind == BL_FLOOR_FENCE_MARKED)
		answer_all<BL_FLOOR_FENCE_MARKED>(work, result);
	else if (work.kind == BL_FLOOR_MARKED_WARP)
		answer_all<BL_FLOOR_MARKED_WARP>(work, result);
}

BL_CUDA_KERNEL(bl_floor_time);
BL_CUDA_KERNEL(bl_floor_answer);
