// SPDX-License-Identifier: MIT
/* Stream memory operations: a value is written when what came before on the stream is done. */
#include <stdlib.h>

#include "api.h"
#include "arena.h"
#include "queue.h"
#include "state.h"

struct write_value {
	uint32_t *dst;
	uint32_t value;
};

/* With release: whoever sees the value also sees what earlier work on the stream wrote. */
static void run_write_value(void *arg)
{
	const struct write_value *job = arg;

	__atomic_store_n(job->dst, job->value, __ATOMIC_RELEASE);
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr ptr, cuuint32_t value, unsigned int flags)
{
	struct write_value *job;
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);

	if (!ret)
		ret = emu_cuda_fault("cuda.memop", CUDA_ERROR_NOT_SUPPORTED);
	if (ret)
		return ret;
	if (ptr & 3 || flags > 1)
		return CUDA_ERROR_INVALID_VALUE;
	job = malloc(sizeof(*job));
	if (!job)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*job = (struct write_value){ .dst = emu_cpu(ptr), .value = value };
	emu_lock();
	if (emu_range_ok(ptr, sizeof(value))) {
		ret = emu_submit(ctx, stream, run_write_value, job);
	} else {
		free(job);
		ret = CUDA_ERROR_INVALID_VALUE;
	}
	emu_unlock();
	return ret;
}
