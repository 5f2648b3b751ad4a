// SPDX-License-Identifier: MIT
/* Stream memory operations: a value is written, or waited for, when what came before on the stream is done. */
#include <stdlib.h>
#include <unistd.h>

#include "api.h"
#include "arena.h"
#include "queue.h"
#include "state.h"

/* How often a stream looks at a word that it waits for. */
#define LOOK_US 20

/**
 * struct memop - one operation
 * @ctx:   context of the stream; a wait ends with it
 * @word:  where, as the CPU reaches it
 * @wide:  64 bits, else 32
 * @value: what to write, or to compare with
 * @how:   wait: CU_STREAM_WAIT_VALUE_*
 */
struct memop {
	struct emu_ctx *ctx;
	void *word;
	int wide;
	uint64_t value;
	unsigned int how;
};

/* With release: whoever sees the value also sees what earlier work on the stream wrote. */
static void run_write(void *arg)
{
	const struct memop *op = arg;

	if (op->wide)
		__atomic_store_n((uint64_t *)op->word, op->value, __ATOMIC_RELEASE);
	else
		__atomic_store_n((uint32_t *)op->word, (uint32_t)op->value, __ATOMIC_RELEASE);
}

/* The difference is taken in the width of the word, so that counters may wrap. */
static int holds32(uint32_t now, uint32_t value, unsigned int how)
{
	switch (how) {
	case CU_STREAM_WAIT_VALUE_GEQ:
		return (int32_t)(now - value) >= 0;
	case CU_STREAM_WAIT_VALUE_EQ:
		return now == value;
	case CU_STREAM_WAIT_VALUE_AND:
		return (now & value) != 0;
	default:
		return ~(now | value) != 0;
	}
}

static int holds64(uint64_t now, uint64_t value, unsigned int how)
{
	switch (how) {
	case CU_STREAM_WAIT_VALUE_GEQ:
		return (int64_t)(now - value) >= 0;
	case CU_STREAM_WAIT_VALUE_EQ:
		return now == value;
	case CU_STREAM_WAIT_VALUE_AND:
		return (now & value) != 0;
	default:
		return ~(now | value) != 0;
	}
}

static int holds(const struct memop *op)
{
	if (op->wide)
		return holds64(__atomic_load_n((uint64_t *)op->word, __ATOMIC_ACQUIRE), op->value, op->how);
	return holds32(__atomic_load_n((uint32_t *)op->word, __ATOMIC_ACQUIRE), (uint32_t)op->value, op->how);
}

/* A context that is destroyed, or failed, has no streams that could wait. */
static void run_wait(void *arg)
{
	const struct memop *op = arg;

	while (!holds(op) && !emu_ctx_error(op->ctx))
		usleep(LOOK_US);
}

static CUresult memop(CUstream stream, CUdeviceptr ptr, struct memop like, void (*run)(void *arg))
{
	size_t size = like.wide ? sizeof(uint64_t) : sizeof(uint32_t);
	struct emu_ctx *ctx;
	struct memop *op;
	CUresult ret = emu_enter_ctx(&ctx);

	if (ret)
		return ret;
	ret = emu_cuda_fault(run == run_wait ? "cuda.wait" : "cuda.memop", CUDA_ERROR_NOT_SUPPORTED);
	if (ret)
		return ret;
	if (ptr & (size - 1))
		return CUDA_ERROR_INVALID_VALUE;
	op = malloc(sizeof(*op));
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*op = like;
	op->ctx = ctx;
	op->word = emu_cpu(ptr);
	emu_lock();
	if (emu_range_ok(ptr, size)) {
		ret = emu_submit(ctx, stream, run, op);
	} else {
		free(op);
		ret = CUDA_ERROR_INVALID_VALUE;
	}
	emu_unlock();
	return ret;
}

static CUresult write_value(CUstream stream, CUdeviceptr ptr, uint64_t value, int wide, unsigned int flags)
{
	if (flags > 1)
		return CUDA_ERROR_INVALID_VALUE;
	return memop(stream, ptr, (struct memop){ .wide = wide, .value = value }, run_write);
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr ptr, cuuint32_t value, unsigned int flags)
{
	return write_value(stream, ptr, value, 0, flags);
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr ptr, cuuint64_t value, unsigned int flags)
{
	return write_value(stream, ptr, value, 1, flags);
}

static CUresult wait_value(CUstream stream, CUdeviceptr ptr, uint64_t value, int wide, unsigned int flags)
{
	unsigned int how = flags & ~(unsigned int)CU_STREAM_WAIT_VALUE_FLUSH;

	if (how > CU_STREAM_WAIT_VALUE_NOR)
		return CUDA_ERROR_INVALID_VALUE;
	return memop(stream, ptr, (struct memop){ .wide = wide, .value = value, .how = how }, run_wait);
}

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr ptr, cuuint32_t value, unsigned int flags)
{
	return wait_value(stream, ptr, value, 0, flags);
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr ptr, cuuint64_t value, unsigned int flags)
{
	return wait_value(stream, ptr, value, 1, flags);
}
