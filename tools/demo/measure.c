// SPDX-License-Identifier: MIT
#include "demo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/kernels/pattern.h"

#define MAX_SAMPLES 20000
#define MIN_SAMPLES 10
/*
 * Shorter copies are timed together: some clocks only tick every ten nanoseconds, and some tens of short stores are taken
 * in no time before one has to wait for another to leave the CPU. A group is long against both.
 */
#define GROUP_NS 30000
#define STALE	    0x5a

struct bench {
	struct demo_gpu *gpu;
	struct demo_buffer *buf;
	uint8_t *host;
	uint8_t *other;
	uint64_t *samples;
	uint64_t budget_ns;
	double clock_ns;
};

typedef int copy_fn(struct bench *bench, size_t bytes);

static int one_write(struct bench *bench, size_t bytes)
{
	return gdr_copy_to_mapping(bench->buf->mh, bench->buf->map, bench->host, bytes);
}

static int one_read(struct bench *bench, size_t bytes)
{
	return gdr_copy_from_mapping(bench->buf->mh, bench->other, bench->buf->map, bytes);
}

/* A tenth of the time warms up: page faults, caches and the CPU's clock are not what is measured. */
static int warm_up(struct bench *bench, copy_fn *one, size_t bytes, double *one_ns_p)
{
	uint64_t begin = demo_now_ns(), now;
	size_t nr = 0;
	int err;

	do {
		err = one(bench, bytes);
		now = demo_now_ns();
		nr++;
	} while (!err && now - begin < bench->budget_ns / 10);
	*one_ns_p = (double)(now - begin) / (double)nr;
	return err;
}

static int time_group(struct bench *bench, copy_fn *one, size_t bytes, size_t group, uint64_t *ns_p)
{
	uint64_t start = demo_now_ns();
	int err = 0;

	for (size_t i = 0; i < group && !err; i++)
		err = one(bench, bytes);
	*ns_p = demo_now_ns() - start;
	return err;
}

static int time_copies(struct bench *bench, copy_fn *one, size_t bytes, struct demo_stats *stats)
{
	size_t nr = 0, group = 1;
	double one_ns;
	uint64_t end;
	int err;

	err = warm_up(bench, one, bytes, &one_ns);
	if (one_ns < GROUP_NS)
		group = (size_t)(GROUP_NS / one_ns) + 1;
	end = demo_now_ns() + bench->budget_ns;
	while (!err && nr < MAX_SAMPLES && (nr < MIN_SAMPLES || demo_now_ns() < end))
		err = time_group(bench, one, bytes, group, &bench->samples[nr++]);
	if (err)
		return demo_error(err, "copy of %zu bytes", bytes);
	demo_stats_fill(stats, bench->samples, nr, group, bench->clock_ns);
	return 0;
}

static int cuda_failed(CUresult err, const char *what, size_t bytes)
{
	return err ? demo_error(bl_cuda_errno(err), "%s of %zu bytes: %s", what, bytes, bl_cuda_strerror(err)) : 0;
}

/* The copy engine, which shares nothing with the path that is measured, brings and fetches the data to compare. */
static int measure_write(struct bench *bench, size_t bytes, struct demo_stats *stats)
{
	const struct bl_cuda *cuda = bench->gpu->cuda;
	int ret;

	ret = cuda_failed(cuda->cuMemsetD8(bench->buf->va, STALE, bytes), "cuMemsetD8", bytes);
	if (!ret)
		ret = cuda_failed(cuda->cuCtxSynchronize(), "cuMemsetD8", bytes);
	if (!ret)
		ret = time_copies(bench, one_write, bytes, stats);
	if (ret)
		return ret;
	memset(bench->other, (uint8_t)~STALE, bytes);
	ret = cuda_failed(cuda->cuMemcpyDtoH(bench->other, bench->buf->va, bytes), "cuMemcpyDtoH", bytes);
	if (!ret && memcmp(bench->other, bench->host, bytes))
		ret = demo_error(EILSEQ, "verification failed: GPU memory differs after writes of %zu bytes", bytes);
	return ret;
}

static int measure_read(struct bench *bench, size_t bytes, struct demo_stats *stats)
{
	int ret;

	ret = cuda_failed(bench->gpu->cuda->cuMemcpyHtoD(bench->buf->va, bench->host, bytes), "cuMemcpyHtoD", bytes);
	if (ret)
		return ret;
	memset(bench->other, STALE, bytes);
	ret = time_copies(bench, one_read, bytes, stats);
	if (!ret && memcmp(bench->other, bench->host, bytes))
		ret = demo_error(EILSEQ, "verification failed: host memory differs after reads of %zu bytes", bytes);
	return ret;
}

/* A pattern of its own for each size: what an earlier size left behind does not compare equal. */
static void new_pattern(struct bench *bench, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
		uint64_t word = bl_pattern_word(bytes, i);

		/* the compared bytes differ from STALE in every place, a single byte would else pass by chance */
		for (size_t b = 0; b < sizeof(word); b++)
			bench->host[i + b] = (uint8_t)(word >> 8 * b) == STALE ? 1 : (uint8_t)(word >> 8 * b);
	}
}

static int measure_all(struct bench *bench, struct demo_results *results)
{
	char detail[64];
	int ret;

	for (size_t i = 0; i < DEMO_NR_SIZES; i++) {
		struct demo_point *point = &results->points[i];

		point->bytes = (size_t)1 << i;
		snprintf(detail, sizeof(detail), "%zu bytes, size %zu of %d", point->bytes, i + 1, DEMO_NR_SIZES);
		demo_progress("measuring writes and reads", detail);
		new_pattern(bench, point->bytes);
		ret = measure_write(bench, point->bytes, &point->write);
		if (!ret)
			ret = measure_read(bench, point->bytes, &point->read);
		if (ret)
			return ret;
	}
	return 0;
}

int demo_measure(struct demo_results *results, struct demo_gpu *gpu, struct demo_buffer *buf, uint64_t budget_ns)
{
	struct bench bench = {.gpu = gpu, .buf = buf, .budget_ns = budget_ns, .clock_ns = results->clock_ns};
	int ret = -ENOMEM;

	/* page-aligned, as the host side of such copies usually is */
	bench.host = aligned_alloc(4096, DEMO_MAX_BYTES);
	bench.other = aligned_alloc(4096, DEMO_MAX_BYTES);
	bench.samples = calloc(MAX_SAMPLES, sizeof(*bench.samples));
	if (bench.host && bench.other && bench.samples)
		ret = measure_all(&bench, results);
	else
		demo_error(ENOMEM, "malloc");
	free(bench.samples);
	free(bench.other);
	free(bench.host);
	return ret;
}
