// SPDX-License-Identifier: MIT
/* Of read_trial: the ways. */
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "common/stats.h"
#include "read_trial.h"

static uint32_t seq;

static void await_paused(const uint32_t *word, uint32_t value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) {
#if defined(__x86_64__)
		__builtin_ia32_pause();
#endif
	}
}

static void post_read(size_t off, size_t len, CUstream stream)
{
	must(bed.cu->cuMemcpyDtoHAsync(bed.dst + off, bed.mem.ptr + off, len, stream), "cuMemcpyDtoHAsync");
}

static CUdeviceptr mark_of(uint32_t number)
{
	return bed.marks + number % NR_MARKS * MARK_STRIDE;
}

static void post_token(uint32_t *word, size_t bytes, CUstream stream)
{
	must(bed.cu->cuMemcpyDtoHAsync(word, mark_of(seq), bytes, stream), "cuMemcpyDtoHAsync");
}

static void by_token(size_t len, size_t bytes, CUstream stream)
{
	post_read(0, len, stream);
	post_token(bed.words, bytes, stream);
	await_word(bed.words, seq % NR_MARKS);
}

static void by_word(size_t len, bool pause)
{
	post_read(0, len, bed.stream);
	must(bed.cu->cuStreamWriteValue32(bed.stream, (uintptr_t)bed.words, seq % NR_MARKS, 0), "cuStreamWriteValue32");
	if (pause)
		await_paused(bed.words, seq % NR_MARKS);
	else
		await_word(bed.words, seq % NR_MARKS);
}

static void by_query(size_t len)
{
	CUresult err;

	post_read(0, len, bed.stream);
	while ((err = bed.cu->cuStreamQuery(bed.stream)) == CUDA_ERROR_NOT_READY)
		;
	must(err, "cuStreamQuery");
}

static void by_paused(size_t len)
{
	post_read(0, len, bed.stream);
	post_token(bed.words, 4, bed.stream);
	await_paused(bed.words, seq % NR_MARKS);
}

void read_rest(uint64_t ns)
{
	uint64_t end = tool_now_ns() + ns;

	while (tool_now_ns() < end)
		;
}

static void by_late_token(size_t len)
{
	post_read(0, len, bed.stream);
	read_rest(1500);
	post_token(bed.words, 4, bed.stream);
	await_word(bed.words, seq % NR_MARKS);
}

static void by_last_word(size_t len)
{
	uint32_t *last = (uint32_t *)(bed.dst + len) - 1, value;

	memcpy(&value, bed.model + len - sizeof(value), sizeof(value));
	*last = ~value;
	post_read(0, len, bed.stream);
	await_word(last, value);
}

static void by_fenced(size_t len)
{
	post_read(0, len, bed.stream);
	post_token(bed.words, 4, bed.stream);
	while (__atomic_load_n(bed.words, __ATOMIC_ACQUIRE) != seq % NR_MARKS) {
#if defined(__x86_64__)
		__builtin_ia32_lfence();
#endif
	}
}

static void by_uva(size_t len)
{
	must(bed.more.copy((uintptr_t)bed.dst, bed.mem.ptr, len, bed.stream), "cuMemcpyAsync");
	must(bed.more.copy((uintptr_t)bed.words, mark_of(seq), 4, bed.stream), "cuMemcpyAsync");
	await_word(bed.words, seq % NR_MARKS);
}

static void ask_attribute(void)
{
	uint64_t id = 0;

	must(bed.cu->cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, bed.mem.ptr), "cuPointerGetAttribute");
	if (id != bed.id)
		tool_die("the memory went away");
}

static void ask_context(void)
{
	CUcontext context;

	must(bed.cu->cuCtxGetCurrent(&context), "cuCtxGetCurrent");
	if (context != bed.device.ctx)
		tool_die("the context changed");
}

static void by_asking(size_t len, bool attribute, bool mode, bool context, bool late)
{
	int kept = CU_STREAM_CAPTURE_MODE_RELAXED;

	if (attribute)
		ask_attribute();
	if (context)
		ask_context();
	if (mode)
		must(bed.cu->cuThreadExchangeStreamCaptureMode(&kept), "cuThreadExchangeStreamCaptureMode");
	post_read(0, len, bed.stream);
	post_token(bed.words, 4, bed.stream);
	if (late) {
		must(bed.cu->cuThreadExchangeStreamCaptureMode(&kept), "cuThreadExchangeStreamCaptureMode");
		return await_paused(bed.words, seq % NR_MARKS);
	}
	await_word(bed.words, seq % NR_MARKS);
	if (mode)
		must(bed.cu->cuThreadExchangeStreamCaptureMode(&kept), "cuThreadExchangeStreamCaptureMode");
}

static void by_set(size_t len)
{
	post_read(0, len, bed.stream);
	must(bed.more.set((uintptr_t)bed.words, seq % NR_MARKS, 1, bed.stream), "cuMemsetD32Async");
	await_word(bed.words, seq % NR_MARKS);
}

static void by_halves(size_t len)
{
	uint32_t *second = bed.words + 64;

	*second = NO_WORD;
	post_read(0, len / 2, bed.others[0]);
	post_read(len / 2, len / 2, bed.others[1]);
	post_token(bed.words, 4, bed.others[0]);
	post_token(second, 4, bed.others[1]);
	await_word(bed.words, seq % NR_MARKS);
	await_word(second, seq % NR_MARKS);
}

/* As cuda.h has it from 12.8 on: where sources are read (1: in the order of the stream), two hints, flags. */
struct attributes {
	int order;
	int from[2];
	int to[2];
	unsigned int flags;
};

static void by_batch(size_t len, size_t nr)
{
	CUdeviceptr dst[2], src[2];
	size_t lens[2], index = 0;
	struct attributes attributes = {.order = 1};

	for (size_t i = 0; i < nr; i++) {
		dst[i] = (uintptr_t)bed.dst + i * (len / nr);
		src[i] = bed.mem.ptr + i * (len / nr);
		lens[i] = len / nr;
	}
	must(bed.more.batch(dst, src, lens, nr, &attributes, &index, 1, bed.stream), "cuMemcpyBatchAsync");
	post_token(bed.words, 4, bed.stream);
	await_word(bed.words, seq % NR_MARKS);
}

static void by_graph(size_t len)
{
	static void *exec;
	static size_t made;
	CUgraph graph;

	if (made != len) {
		/* the one for another length is left to the context */
		made = 0;
		must(bed.cu->cuStreamBeginCapture(bed.stream, CU_STREAM_CAPTURE_MODE_RELAXED), "cuStreamBeginCapture");
		post_read(0, len, bed.stream);
		must(bed.cu->cuMemcpyDtoHAsync(bed.words, mark_of(7), 4, bed.stream), "cuMemcpyDtoHAsync");
		must(bed.cu->cuStreamEndCapture(bed.stream, &graph), "cuStreamEndCapture");
		must(bed.more.instantiate(&exec, graph, 0), "cuGraphInstantiate");
		made = len;
	}
	must(bed.more.launch(exec, bed.stream), "cuGraphLaunch");
	await_word(bed.words, 7);
}

static void by_ours(size_t len, enum bl_engine engine)
{
	if (bl_copy(bed.pin, 0, bed.dst, len, BL_COPY_FROM, engine))
		tool_die("bl_copy: %s", bl_last_error(NULL));
}

void by_way(enum way way, size_t len)
{
	seq++;
	*bed.words = NO_WORD;
	switch (way) {
	case SYNC:
		post_read(0, len, bed.stream);
		return must(bed.cu->cuStreamSynchronize(bed.stream), "cuStreamSynchronize");
	case QUERY:
		return by_query(len);
	case WORD:
	case WORD_PAUSE:
		return by_word(len, way == WORD_PAUSE);
	case TOKEN_4:
		return by_token(len, 4, bed.stream);
	case TOKEN_16:
		return by_token(len, 16, bed.stream);
	case TOKEN_32:
		return by_token(len, 32, bed.stream);
	case TOKEN_64:
		return by_token(len, 64, bed.stream);
	case TOKEN_128:
		return by_token(len, 128, bed.stream);
	case TOKEN_PAUSE:
		return by_paused(len);
	case TOKEN_FENCE:
		return by_fenced(len);
	case TOKEN_HIGH:
		return by_token(len, 4, bed.high);
	case TOKEN_TURNS:
		return by_token(len, 4, bed.others[seq % 2]);
	case TOKEN_PLAIN:
		must(bed.cu->cuMemcpyDtoHAsync(bed.dst, bed.plain, len, bed.stream), "cuMemcpyDtoHAsync");
		post_token(bed.words, 4, bed.stream);
		return await_word(bed.words, seq % NR_MARKS);
	case TOKEN_SLOW:
		return by_late_token(len);
	case TOKEN_IDLE:
		return by_token(len, 4, bed.stream);
	case SYNC_IDLE:
		post_read(0, len, bed.stream);
		return must(bed.cu->cuStreamSynchronize(bed.stream), "cuStreamSynchronize");
	case WORD_IDLE:
		return by_word(len, way == WORD_PAUSE);
	case LAND_LAST:
		return by_last_word(len);
	case TOKEN_UVA:
		return by_uva(len);
	case TOKEN_ATTR:
		return by_asking(len, true, false, false, false);
	case TOKEN_MODE:
		return by_asking(len, false, true, false, false);
	case TOKEN_CTX:
		return by_asking(len, false, false, true, false);
	case TOKEN_ALL:
		return by_asking(len, true, true, true, false);
	case TOKEN_LATE:
		return by_asking(len, true, true, true, true);
	case SET:
		return by_set(len);
	case HALVES:
		return by_halves(len);
	case HALVES_ONE:
		post_read(0, len / 2, bed.stream);
		post_read(len / 2, len / 2, bed.stream);
		post_token(bed.words, 4, bed.stream);
		return await_word(bed.words, seq % NR_MARKS);
	case BATCH:
		return by_batch(len, 1);
	case BATCH_2:
		return by_batch(len, 2);
	case GRAPH:
		return by_graph(len);
	case OURS_CE:
		return by_ours(len, BL_ENGINE_CE);
	case OURS_AUTO:
		return by_ours(len, BL_ENGINE_AUTO);
	default:
		return;
	}
}
