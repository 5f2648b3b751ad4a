// SPDX-License-Identifier: MIT
/* The limits that nothing can beat: the file from and to host memory, and the copy engine alone, with the same requests. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cufile_bw.h"

static int bare_wrong(const struct bw_worker *worker, const char *where, size_t at)
{
	return bw_fail(worker->run, "wrong bytes in %s at %zu", where, at);
}

static int host_open(struct bw_worker *worker)
{
	size_t len = worker->run->what->len;

	worker->host = aligned_alloc(4096, len);
	worker->seen = aligned_alloc(4096, len);
	if (!worker->host || !worker->seen)
		return bw_fail(worker->run, "no memory");
	memset(worker->host, 0, len);
	return 0;
}

static void bare_close(struct bw_worker *worker)
{
	if (worker->stream)
		worker->run->cuda->cuStreamDestroy(worker->stream);
	if (worker->dev)
		worker->run->cuda->cuMemFree(worker->dev);
	if (worker->pinned)
		worker->run->cuda->cuMemFreeHost(worker->host);
	else
		free(worker->host);
	free(worker->seen);
}

static int host_read_step(struct bw_worker *worker)
{
	const struct bw_run *run = worker->run;
	ssize_t got = pread(run->fd, worker->host, run->what->len, (off_t)worker->pos);

	if (got != (ssize_t)run->what->len)
		return bw_fail(run, "pread gave %zd: %s", got, strerror(errno));
	return 0;
}

static int host_differs(const struct bw_worker *worker, uint64_t pos)
{
	size_t at = bw_pattern_differs(worker->host, worker->run->what->len, pos, 0);

	return at == worker->run->what->len ? 0 : bare_wrong(worker, "host memory", at);
}

static int host_read_check(struct bw_worker *worker)
{
	memset(worker->host, 0xa5, worker->run->what->len);
	return host_read_step(worker) ? -1 : host_differs(worker, worker->pos);
}

static int host_read_confirm(struct bw_worker *worker)
{
	return host_differs(worker, worker->last);
}

static int host_write_step(struct bw_worker *worker)
{
	const struct bw_run *run = worker->run;
	ssize_t put = pwrite(run->fd, worker->host, run->what->len, (off_t)worker->pos);

	if (put != (ssize_t)run->what->len)
		return bw_fail(run, "pwrite gave %zd: %s", put, strerror(errno));
	return 0;
}

static int host_write_compare(struct bw_worker *worker, uint64_t pos)
{
	const struct bw_run *run = worker->run;
	size_t len = run->what->len;

	if (pread(run->plain, worker->seen, len, (off_t)pos) != (ssize_t)len)
		return bw_fail(run, "cannot read back what was written");
	return memcmp(worker->seen, worker->host, len) ? bare_wrong(worker, "the file", pos) : 0;
}

static int host_write_check(struct bw_worker *worker)
{
	bw_pattern(worker->host, worker->run->what->len, worker->pos, worker->run->salt);
	return host_write_step(worker) ? -1 : host_write_compare(worker, worker->pos);
}

static int host_write_confirm(struct bw_worker *worker)
{
	return host_write_compare(worker, worker->last);
}

static int copy_open(struct bw_worker *worker)
{
	const struct bw_run *run = worker->run;
	size_t len = run->what->len;

	worker->seen = aligned_alloc(4096, len);
	worker->pinned = !run->cuda->cuMemHostAlloc(&worker->host, len, 0);
	if (!worker->seen || !worker->pinned) {
		worker->host = worker->pinned ? worker->host : NULL;
		return bw_fail(run, "no pinned memory");
	}
	if (run->cuda->cuMemAlloc(&worker->dev, len)) {
		worker->dev = 0;
		return bw_fail(run, "no GPU memory");
	}
	if (run->cuda->cuStreamCreate(&worker->stream, CU_STREAM_NON_BLOCKING)) {
		worker->stream = NULL;
		return bw_fail(run, "no stream");
	}
	return 0;
}

static int h2d_step(struct bw_worker *worker)
{
	const struct bl_cuda *cuda = worker->run->cuda;

	if (cuda->cuMemcpyHtoDAsync(worker->dev, worker->host, worker->run->what->len, worker->stream) ||
	    cuda->cuStreamSynchronize(worker->stream))
		return bw_fail(worker->run, "cuMemcpyHtoDAsync failed");
	return 0;
}

static int h2d_confirm(struct bw_worker *worker)
{
	size_t len = worker->run->what->len;

	if (worker->run->cuda->cuMemcpyDtoH(worker->seen, worker->dev, len))
		return bw_fail(worker->run, "cannot read GPU memory");
	return memcmp(worker->seen, worker->host, len) ? bare_wrong(worker, "GPU memory", 0) : 0;
}

static int h2d_check(struct bw_worker *worker)
{
	bw_pattern(worker->host, worker->run->what->len, worker->pos, worker->run->salt);
	return h2d_step(worker) ? -1 : h2d_confirm(worker);
}

static int d2h_step(struct bw_worker *worker)
{
	const struct bl_cuda *cuda = worker->run->cuda;

	if (cuda->cuMemcpyDtoHAsync(worker->host, worker->dev, worker->run->what->len, worker->stream) ||
	    cuda->cuStreamSynchronize(worker->stream))
		return bw_fail(worker->run, "cuMemcpyDtoHAsync failed");
	return 0;
}

static int d2h_confirm(struct bw_worker *worker)
{
	return memcmp(worker->seen, worker->host, worker->run->what->len) ? bare_wrong(worker, "pinned memory", 0) : 0;
}

static int d2h_check(struct bw_worker *worker)
{
	const struct bl_cuda *cuda = worker->run->cuda;
	size_t len = worker->run->what->len;

	bw_pattern(worker->seen, len, worker->pos, worker->run->salt);
	memset(worker->host, 0xa5, len);
	if (cuda->cuMemcpyHtoD(worker->dev, worker->seen, len) || cuda->cuCtxSynchronize())
		return bw_fail(worker->run, "cannot write GPU memory");
	return d2h_step(worker) ? -1 : d2h_confirm(worker);
}

const struct bw_ops bw_host_read = { host_open, host_read_step, host_read_check, host_read_confirm, bare_close };
const struct bw_ops bw_host_write = { host_open, host_write_step, host_write_check, host_write_confirm, bare_close };
const struct bw_ops bw_copy_h2d = { copy_open, h2d_step, h2d_check, h2d_confirm, bare_close };
const struct bw_ops bw_copy_d2h = { copy_open, d2h_step, d2h_check, d2h_confirm, bare_close };
