// SPDX-License-Identifier: MIT
/* Requests of a libcufile: reads, writes, batches of random reads. Each worker has a registered buffer in GPU memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cufile_bw.h"
#include "util/clock.h"

#define BATCH_LIMIT_NS 30000000000U

static void *gpu_address(const struct bw_worker *worker)
{
	return (void *)(uintptr_t)worker->dev;
}

static size_t buffer_size(const struct bw_worker *worker)
{
	return worker->run->what->len * worker->run->what->nr;
}

static int cufile_open(struct bw_worker *worker)
{
	const struct bw_run *run = worker->run;
	size_t size = buffer_size(worker);
	CUfileError_t status;

	worker->host = aligned_alloc(4096, size);
	if (!worker->host)
		return bw_fail(run, "no memory");
	if (run->cuda->cuMemAlloc(&worker->dev, size)) {
		worker->dev = 0;
		return bw_fail(run, "no %zu bytes of GPU memory", size);
	}
	status = run->lib->cuFileBufRegister(gpu_address(worker), size, 0);
	if (status.err)
		return bw_fail(run, "cuFileBufRegister of %zu bytes: error %d", size, status.err);
	worker->registered = true;
	return 0;
}

static void cufile_close(struct bw_worker *worker)
{
	const struct bw_run *run = worker->run;

	if (worker->batch)
		run->lib->cuFileBatchIODestroy(worker->batch);
	if (worker->registered)
		run->lib->cuFileBufDeregister(gpu_address(worker));
	if (worker->dev)
		run->cuda->cuMemFree(worker->dev);
	free(worker->host);
	free(worker->params);
	free(worker->events);
}

static int judge(const struct bw_worker *worker, const char *call, ssize_t got, int err)
{
	size_t len = worker->run->what->len;

	if (got == (ssize_t)len)
		return 0;
	return bw_fail(worker->run, "%s of %zu bytes at %llu gave %zd, errno %d", call, len,
		       (unsigned long long)worker->pos, got, got < 0 ? err : 0);
}

static int read_step(struct bw_worker *worker)
{
	const struct bw_run *run = worker->run;
	ssize_t got = run->lib->cuFileRead(run->fh, gpu_address(worker), run->what->len, (off_t)worker->pos, 0);

	return judge(worker, "cuFileRead", got, errno);
}

/* Fills of GPU memory may run on after the call; cuFile's calls are in no stream and would overtake them. */
static int gpu_fill(const struct bw_worker *worker, size_t size)
{
	const struct bl_cuda *cuda = worker->run->cuda;

	if (cuda->cuMemsetD8(worker->dev, 0xa5, size) || cuda->cuCtxSynchronize())
		return bw_fail(worker->run, "cannot fill GPU memory");
	return 0;
}

static int gpu_compare(const struct bw_worker *worker, size_t slot, uint64_t pos)
{
	const struct bw_run *run = worker->run;
	size_t len = run->what->len, at;

	if (run->cuda->cuMemcpyDtoH(worker->host, worker->dev + slot * len, len))
		return bw_fail(run, "cannot read GPU memory");
	at = bw_pattern_differs(worker->host, len, pos, 0);
	if (at != len)
		return bw_fail(run, "wrong bytes in GPU memory: offset %llu of the file", (unsigned long long)pos + at);
	return 0;
}

static int read_check(struct bw_worker *worker)
{
	if (gpu_fill(worker, worker->run->what->len) || read_step(worker))
		return -1;
	return gpu_compare(worker, 0, worker->pos);
}

static int read_confirm(struct bw_worker *worker)
{
	return gpu_compare(worker, 0, worker->last);
}

static int write_step(struct bw_worker *worker)
{
	const struct bw_run *run = worker->run;
	ssize_t put = run->lib->cuFileWrite(run->fh, gpu_address(worker), run->what->len, (off_t)worker->pos, 0);

	return judge(worker, "cuFileWrite", put, errno);
}

static int file_compare(struct bw_worker *worker, uint64_t pos, uint64_t pattern_off)
{
	const struct bw_run *run = worker->run;
	size_t len = run->what->len, at;

	if (pread(run->plain, worker->host, len, (off_t)pos) != (ssize_t)len)
		return bw_fail(run, "cannot read back what was written");
	at = bw_pattern_differs(worker->host, len, pattern_off, run->salt);
	if (at != len)
		return bw_fail(run, "wrong bytes in the file at %llu", (unsigned long long)pos + at);
	return 0;
}

static int write_check(struct bw_worker *worker)
{
	const struct bw_run *run = worker->run;
	size_t len = run->what->len;

	bw_pattern(worker->host, len, worker->pos, run->salt);
	if (run->cuda->cuMemcpyHtoD(worker->dev, worker->host, len) || run->cuda->cuCtxSynchronize())
		return bw_fail(run, "cannot write GPU memory");
	if (write_step(worker))
		return -1;
	/* what the timed writes carry */
	worker->pattern = worker->pos;
	return file_compare(worker, worker->pos, worker->pos);
}

static int write_confirm(struct bw_worker *worker)
{
	return file_compare(worker, worker->last, worker->pattern);
}

static int batch_open(struct bw_worker *worker)
{
	const struct bw_run *run = worker->run;
	unsigned int nr = run->what->nr;
	CUfileError_t status;

	if (cufile_open(worker))
		return -1;
	worker->params = calloc(nr, sizeof(*worker->params));
	worker->events = calloc(nr, sizeof(*worker->events));
	if (!worker->params || !worker->events)
		return bw_fail(run, "no memory");
	status = run->lib->cuFileBatchIOSetUp(&worker->batch, nr);
	if (status.err) {
		worker->batch = NULL;
		return bw_fail(run, "cuFileBatchIOSetUp of %u: error %d", nr, status.err);
	}
	return 0;
}

static uint64_t next_random(struct bw_worker *worker)
{
	worker->random = worker->random * 6364136223846793005U + 1442695040888963407U;
	return worker->random >> 33;
}

static int batch_reap(struct bw_worker *worker)
{
	const struct bw_run *run = worker->run;
	uint64_t limit = bl_now_ns() + BATCH_LIMIT_NS;
	unsigned int left = run->what->nr;

	while (left) {
		struct timespec wait = { .tv_sec = 5 };
		unsigned int nr = left;
		CUfileError_t status =
			run->lib->cuFileBatchIOGetStatus(worker->batch, left, &nr, worker->events, &wait);

		if (status.err)
			return bw_fail(run, "cuFileBatchIOGetStatus: error %d", status.err);
		for (unsigned int i = 0; i < nr; i++) {
			if (worker->events[i].status != CUFILE_LIB_COMPLETE || worker->events[i].ret != run->what->len)
				return bw_fail(run, "entry of a batch: status %d, result %zd", worker->events[i].status,
					       (ssize_t)worker->events[i].ret);
		}
		left -= nr < left ? nr : left;
		if (left && bl_now_ns() > limit)
			return bw_fail(run, "%u entries of a batch did not end in 30 s", left);
	}
	return 0;
}

static int batch_step(struct bw_worker *worker)
{
	const struct bw_run *run = worker->run;
	uint64_t places = (worker->hi - worker->lo) / run->what->len;
	CUfileError_t status;

	for (unsigned int i = 0; i < run->what->nr; i++) {
		worker->params[i] = (CUfileIOParams_t){
			.mode = 1,
			.devPtr_base = gpu_address(worker),
			.file_offset = (off_t)(worker->lo + next_random(worker) % places * run->what->len),
			.devPtr_offset = (off_t)(i * run->what->len),
			.size = run->what->len,
			.fh = run->fh,
			.cookie = &worker->params[i],
		};
	}
	status = run->lib->cuFileBatchIOSubmit(worker->batch, run->what->nr, worker->params, 0);
	if (status.err)
		return bw_fail(run, "cuFileBatchIOSubmit: error %d", status.err);
	return batch_reap(worker);
}

static int batch_confirm(struct bw_worker *worker)
{
	for (unsigned int i = 0; i < worker->run->what->nr; i++) {
		if (gpu_compare(worker, i, (uint64_t)worker->params[i].file_offset))
			return -1;
	}
	return 0;
}

static int batch_check(struct bw_worker *worker)
{
	if (gpu_fill(worker, buffer_size(worker)) || batch_step(worker))
		return -1;
	return batch_confirm(worker);
}

const struct bw_ops bw_cufile_read = { cufile_open, read_step, read_check, read_confirm, cufile_close };
const struct bw_ops bw_cufile_write = { cufile_open, write_step, write_check, write_confirm, cufile_close };
const struct bw_ops bw_cufile_batch = { batch_open, batch_step, batch_check, batch_confirm, cufile_close };
