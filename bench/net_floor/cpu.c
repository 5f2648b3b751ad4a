// SPDX-License-Identifier: MIT
/* cpu.c - what the CPU's loads and stores take through a mapping of the GPU's memory */
#include "floor.h"

#include <errno.h>
#include <inttypes.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "common/error.h"
#include "copy/fence.h"

/* Lines that are taken in turn, of 64 bytes, and those of them that are loaded under one fence. */
#define LINES 64U
#define BATCH 32U

enum { STORE, CQE, WORDS, WORDS_LAST = WORDS + 8, LOAD, STREAM, FLUSH };

static inline uint64_t *line_at(const struct floor *floor, uint64_t turn)
{
	return (uint64_t *)(floor->map + BL_FLOOR_AT_LINES + turn % LINES * 64);
}

static inline void store8(uint64_t *to, uint64_t word)
{
	__atomic_store_n(to, word, __ATOMIC_RELAXED);
}

static inline uint64_t load8(const uint64_t *from)
{
	return __atomic_load_n(from, __ATOMIC_RELAXED);
}

static void must(CUresult res, const char *what)
{
	if (tool_cuda(res, what))
		tool_die("%s", tool_why());
}

/* By CUDA's eyes: a word of the line that was stored last. */
static void check_stored(struct floor *floor, unsigned int word)
{
	size_t off = BL_FLOOR_AT_LINES + floor->turns % LINES * 64 + word * 8;
	uint64_t got;

	must(floor->bench.device.cu->cuMemcpyDtoH(&got, floor->gpu + off, sizeof(got)), "cuMemcpyDtoH");
	if (got != floor->turns)
		tool_die("0x%" PRIx64 " is in the GPU's memory, not the 0x%" PRIx64 " that was stored", got,
			 floor->turns);
}

/* Words that loads find: the number of their line, counted from 1. */
static void fill_lines(struct floor *floor)
{
	uint64_t words[LINES * 8];

	for (size_t i = 0; i < LINES * 8; i++)
		words[i] = i / 8 + 1;
	must(floor->bench.device.cu->cuMemcpyHtoD(floor->gpu + BL_FLOOR_AT_LINES, words, sizeof(words)),
	     "cuMemcpyHtoD");
	must(floor->bench.device.cu->cuCtxSynchronize(), "cuCtxSynchronize");
}

static uint64_t time_stores(struct floor *floor)
{
	uint64_t begin = tool_now_ns();

	for (uint64_t turn = 1; turn <= floor->turns; turn++) {
		store8(line_at(floor, turn), turn);
		/* this word before the next one */
		bl_fence_wc_store();
	}
	begin = tool_now_ns() - begin;
	check_stored(floor, 0);
	return begin;
}

/* As a CQE is written, whose last bytes say that it is valid. */
static uint64_t time_cqes(struct floor *floor)
{
	uint64_t begin = tool_now_ns();

	for (uint64_t turn = 1; turn <= floor->turns; turn++) {
		uint64_t *line = line_at(floor, turn);

		for (unsigned int i = 0; i < 7; i++)
			store8(line + i, turn);
		/* the first 56 bytes before the last 8 */
		bl_fence_wc_store();
		store8(line + 7, turn);
		/* the last 8 bytes before the next CQE */
		bl_fence_wc_store();
	}
	begin = tool_now_ns() - begin;
	for (unsigned int i = 0; i < 8; i++)
		check_stored(floor, i);
	return begin;
}

/* So many words at the begin of each line, and a fence for all lines. */
static uint64_t time_lines(struct floor *floor, unsigned int nr)
{
	uint64_t begin = tool_now_ns();

	for (uint64_t turn = 1; turn <= floor->turns; turn++) {
		uint64_t *line = line_at(floor, turn);

		for (unsigned int i = 0; i < nr; i++)
			store8(line + i, turn);
		/* these lines before they are written again */
		if (turn % LINES == 0)
			bl_fence_wc_store();
	}
	bl_fence_wc_store();
	begin = tool_now_ns() - begin;
	for (unsigned int i = 0; i < nr; i++)
		check_stored(floor, i);
	return begin;
}

static uint64_t time_loads(struct floor *floor)
{
	uint64_t sum = 0, wanted = 0, begin;

	fill_lines(floor);
	begin = tool_now_ns();
	for (uint64_t turn = 0; turn < floor->turns; turn++)
		sum += load8(line_at(floor, turn));
	begin = tool_now_ns() - begin;
	for (uint64_t turn = 0; turn < floor->turns; turn++)
		wanted += turn % LINES + 1;
	if (sum != wanted)
		tool_die("words that were loaded are wrong: their sum is %" PRIu64 ", not %" PRIu64, sum, wanted);
	return begin;
}

static uint64_t time_flushes(struct floor *floor)
{
	uint64_t begin = tool_now_ns(), wrong = 0;

	for (uint64_t turn = 1; turn <= floor->turns; turn++) {
		uint64_t *line = line_at(floor, turn);

		store8(line, turn);
		/* the word before the load, which comes back after it has arrived */
		bl_fence_full();
		wrong += load8(line) != turn;
		/* the load before what the program does next */
		bl_fence_full();
	}
	begin = tool_now_ns() - begin;
	if (wrong)
		tool_die("%" PRIu64 " words that were read back are wrong", wrong);
	return begin;
}

#if defined(__x86_64__)
__attribute__((target("sse4.1"))) static void load_batch(const uint64_t *lines, __m128i *words)
{
	/* no intrinsic: the compiler may know that ordinary loads would do */
	for (unsigned int i = 0; i < BATCH; i++)
		__asm__ volatile("movntdqa %1, %0" : "=x"(words[i]) : "m"(*(const __m128i *)(lines + 8 * i)));
	/* these loads before the next ones; and none of the next is answered by what these have left in buffers */
	bl_fence_wc_load();
}

/* Of each load. */
static int time_streams(struct floor *floor, uint64_t *ns_p)
{
	_Alignas(16) uint64_t words[BATCH][2];
	uint64_t nr = floor->turns / BATCH + 1;

	if (!__builtin_cpu_supports("sse4.1"))
		return -EOPNOTSUPP;
	fill_lines(floor);
	*ns_p = tool_now_ns();
	for (uint64_t i = 0; i < nr; i++)
		load_batch(line_at(floor, i * BATCH), (__m128i *)words);
	*ns_p = (tool_now_ns() - *ns_p) * floor->turns / (nr * BATCH);
	for (unsigned int i = 0; i < BATCH; i++) {
		if (words[i][0] != (nr - 1) * BATCH % LINES + i + 1 || words[i][1] != words[i][0])
			tool_die("streaming load %u found 0x%" PRIx64, i, words[i][0]);
	}
	return 0;
}
#else
static int time_streams(struct floor *floor, uint64_t *ns_p)
{
	(void)floor;
	(void)ns_p;
	return -EOPNOTSUPP;
}
#endif

static int time_cpu(struct floor *floor, int kind, double *ns_p)
{
	uint64_t ns = 0;
	int ret = 0;

	if (kind == STORE)
		ns = time_stores(floor);
	else if (kind == CQE)
		ns = time_cqes(floor);
	else if (kind > WORDS && kind <= WORDS_LAST)
		ns = time_lines(floor, (unsigned int)(kind - WORDS));
	else if (kind == LOAD)
		ns = time_loads(floor);
	else if (kind == STREAM)
		ret = time_streams(floor, &ns);
	else
		ns = time_flushes(floor);
	*ns_p = (double)ns / (double)floor->turns;
	return ret;
}

const struct floor_row floor_cpu_rows[] = {
	{ "cpu", "store", "8-byte store, store fence", time_cpu, STORE },
	{ "cpu", "cqe", "56 bytes, fence, 8 bytes, fence", time_cpu, CQE },
	{ "cpu", "words_1", "8 bytes of each of 64 lines, a fence", time_cpu, WORDS + 1 },
	{ "cpu", "words_7", "56 bytes of each of 64 lines, a fence", time_cpu, WORDS + 7 },
	{ "cpu", "words_8", "64 lines of 64 bytes, a fence", time_cpu, WORDS + 8 },
	{ "cpu", "load", "8-byte load", time_cpu, LOAD },
	{ "cpu", "stream", "one of 32 streaming loads, a fence", time_cpu, STREAM },
	{ "cpu", "flush", "8-byte store read back", time_cpu, FLUSH },
	{ NULL, NULL, NULL, NULL, 0 },
};
