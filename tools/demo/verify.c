// SPDX-License-Identifier: MIT
#include "demo.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/kernels/pattern.h"

#define STALE 0xa5 /* what memory holds before it is written, so that old data cannot pass for new */

/* One verification at work; @host has the buffer's length. */
struct job {
	struct demo_results *results;
	struct demo_gpu *gpu;
	struct demo_buffer *buf;
	uint64_t *host;
	uint64_t nr;
};

__attribute__((format(printf, 4, 5))) static void note(struct job *job, const char *name, bool passed, const char *fmt,
							...)
{
	struct demo_check *check;
	va_list args;

	if (job->results->nr_checks == DEMO_MAX_CHECKS)
		return;
	check = &job->results->checks[job->results->nr_checks++];
	check->name = name;
	check->passed = passed;
	va_start(args, fmt);
	vsnprintf(check->detail, sizeof(check->detail), fmt, args);
	va_end(args);
}

static int set_stale(struct job *job)
{
	CUresult err = job->gpu->cuda->cuMemsetD8(job->buf->va, STALE, job->buf->len);

	if (!err)
		err = job->gpu->cuda->cuCtxSynchronize();
	return err ? demo_error(bl_cuda_errno(err), "cuMemsetD8: %s", bl_cuda_strerror(err)) : 0;
}

static int copy_to(struct job *job, size_t off, const void *src, size_t len)
{
	int err = gdr_copy_to_mapping(job->buf->mh, (char *)job->buf->map + off, src, len);

	return err ? demo_error(err, "gdr_copy_to_mapping of %zu bytes at offset %zu", len, off) : 0;
}

static int copy_from(struct job *job, size_t off, void *dst, size_t len)
{
	int err = gdr_copy_from_mapping(job->buf->mh, dst, (const char *)job->buf->map + off, len);

	return err ? demo_error(err, "gdr_copy_from_mapping of %zu bytes at offset %zu", len, off) : 0;
}

static int gpu_sees_cpu(struct job *job)
{
	const uint64_t seed = 0x5eed0001;
	uint64_t bad;
	int ret;

	ret = set_stale(job);
	if (ret)
		return ret;
	for (uint64_t i = 0; i < job->nr; i++)
		job->host[i] = bl_pattern_word(seed, i);
	ret = copy_to(job, 0, job->host, job->buf->len);
	if (!ret)
		ret = demo_gpu_check(job->gpu, job->buf->va, job->nr, seed, &bad);
	if (ret)
		return ret;
	note(job, "the GPU sees what the CPU wrote", !bad, "%" PRIu64 " of %" PRIu64 " words differ", bad, job->nr);
	return 0;
}

/* Proves that the check above can fail; follows it, on the same data. */
static int gpu_notices_one_word(struct job *job)
{
	const uint64_t seed = 0x5eed0001;
	uint64_t middle = job->nr / 2, word = ~job->host[middle], bad;
	int ret;

	ret = copy_to(job, middle * sizeof(word), &word, sizeof(word));
	if (!ret)
		ret = demo_gpu_check(job->gpu, job->buf->va, job->nr, seed, &bad);
	if (ret)
		return ret;
	note(job, "the GPU notices one changed word", bad == 1, "%" PRIu64 " words differ, 1 was changed", bad);
	return 0;
}

static int cpu_sees_gpu(struct job *job)
{
	const uint64_t seed = 0x5eed0002;
	uint64_t bad = 0;
	int ret;

	ret = set_stale(job);
	if (!ret)
		ret = demo_gpu_fill(job->gpu, job->buf->va, job->nr, seed);
	if (ret)
		return ret;
	memset(job->host, 0, job->buf->len);
	ret = copy_from(job, 0, job->host, job->buf->len);
	if (ret)
		return ret;
	for (uint64_t i = 0; i < job->nr; i++)
		bad += job->host[i] != bl_pattern_word(seed, i);
	note(job, "the CPU sees what the GPU wrote", !bad, "%" PRIu64 " of %" PRIu64 " words differ", bad, job->nr);
	return 0;
}

/* Copies of odd lengths at odd offsets, each in a row of its own; the bytes around them must stay. */
static int odd_copies(struct job *job)
{
	enum { ROW = 512, NR = 300 };
	uint8_t *expect, *got;
	size_t bad = 0;
	CUresult err;
	int ret;

	ret = set_stale(job);
	if (ret)
		return ret;
	expect = malloc(2 * ROW * NR);
	if (!expect)
		return demo_error(ENOMEM, "malloc");
	got = expect + ROW * NR;
	memset(expect, STALE, ROW * NR);
	for (size_t i = 0; i < NR && !ret; i++) {
		size_t off = i * ROW + 1 + i % 61, len = 1 + i;

		memcpy(expect + off, (const uint8_t *)job->host + i, len);
		ret = copy_to(job, off, expect + off, len);
	}
	if (ret)
		goto free_rows;
	err = job->gpu->cuda->cuMemcpyDtoH(got, job->buf->va, ROW * NR);
	if (err) {
		ret = demo_error(bl_cuda_errno(err), "cuMemcpyDtoH: %s", bl_cuda_strerror(err));
		goto free_rows;
	}
	for (size_t i = 0; i < ROW * NR; i++)
		bad += got[i] != expect[i];
	note(job, "copies of odd lengths touch only their bytes", !bad, "%zu of %d bytes differ, %d copies", bad,
	     ROW * NR, NR);
free_rows:
	free(expect);
	return ret;
}

int demo_verify(struct demo_results *results, struct demo_gpu *gpu, struct demo_buffer *buf)
{
	static int (*const steps[])(struct job *) = {gpu_sees_cpu, gpu_notices_one_word, cpu_sees_gpu, odd_copies};
	struct job job = {.results = results, .gpu = gpu, .buf = buf, .nr = buf->len / sizeof(uint64_t)};
	int ret = 0;

	demo_progress("verifying that CPU and GPU see each other's writes", "");
	job.host = malloc(buf->len);
	if (!job.host)
		return demo_error(ENOMEM, "malloc of %zu bytes", buf->len);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && !ret; i++)
		ret = steps[i](&job);
	for (size_t i = 0; i < results->nr_checks && !ret; i++) {
		const struct demo_check *check = &results->checks[i];

		if (!check->passed)
			ret = demo_error(EILSEQ, "verification failed: %s: %s", check->name, check->detail);
	}
	free(job.host);
	return ret;
}
