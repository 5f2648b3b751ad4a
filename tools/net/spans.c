// SPDX-License-Identifier: MIT
#include "net/spans.h"

#include <errno.h>
#include <stdlib.h>

#include "common/error.h"

int net_spans_alloc(struct net_bed *bed, uint64_t nr, struct net_spans *spans)
{
	void *gpu;
	doca_error_t err;

	*spans = (struct net_spans){ .nr = nr };
	spans->host = calloc(nr, sizeof(*spans->host));
	spans->samples = calloc(nr, sizeof(*spans->samples));
	if (!spans->host || !spans->samples)
		return tool_fail(ENOMEM, "no memory for %llu times", (unsigned long long)nr);
	err = doca_gpu_mem_alloc(bed->gpu, nr * sizeof(*spans->gpu), 0, DOCA_GPU_MEM_TYPE_GPU, &gpu, NULL);
	if (err)
		return net_doca_fail(err, "memory for times");
	spans->gpu = gpu;
	return 0;
}

void net_spans_free(struct net_bed *bed, struct net_spans *spans)
{
	if (spans->gpu)
		doca_gpu_mem_free(bed->gpu, spans->gpu);
	free(spans->host);
	free(spans->samples);
	*spans = (struct net_spans){ 0 };
}

int net_spans_read(struct net_bed *bed, struct net_spans *spans)
{
	return tool_cuda(bed->device.cu->cuMemcpyDtoH(spans->host, (CUdeviceptr)(uintptr_t)spans->gpu,
						      spans->nr * sizeof(*spans->host)),
			 "cuMemcpyDtoH");
}

double net_spans_summarize(struct net_spans *spans, uint64_t skip, struct tool_stats *stats)
{
	uint64_t begin = UINT64_MAX, end = 0;

	for (uint64_t i = skip; i < spans->nr; i++) {
		const struct bl_net_span *span = &spans->host[i];

		begin = span->start_ns < begin ? span->start_ns : begin;
		end = span->end_ns > end ? span->end_ns : end;
		spans->samples[i - skip] = (double)(span->end_ns - span->start_ns) / 1000;
	}
	tool_stats_fill(spans->samples, spans->nr - skip, stats);
	/* the clock may have stood still */
	return end > begin ? (double)(end - begin) / 1000 : 0.001;
}
