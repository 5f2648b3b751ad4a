// SPDX-License-Identifier: MIT
/* Ways that move one request at a time, and the table of all. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "gdsio/gdsio.h"

static int judge(const char *call, const struct gdsio_request *req, ssize_t got, int err)
{
	if (got == (ssize_t)req->len)
		return 0;
	if (got >= 0)
		return tool_fail(EIO, "%s of %zu bytes at %llu of %s gave %zd: is the file long enough?", call, req->len,
				 (unsigned long long)req->pos, req->lane->path, got);
	/* some libraries return -1 and errno, with a code of cuFile in it or not, some the code itself */
	if (got < -CUFILEOP_BASE_ERR)
		err = (int)-got;
	return tool_fail(EIO, "%s of %zu bytes at %llu of %s: %s", call, req->len, (unsigned long long)req->pos,
			 req->lane->path, IS_CUFILE_ERR(err) ? CUFILE_ERRSTR(err) : strerror(err));
}

static int gpud_move(struct gdsio_worker *worker, const struct gdsio_request *req, unsigned int nr)
{
	const struct tool_cufile *lib = worker->run->lib;
	void *base = (void *)(uintptr_t)worker->buffer.addr;
	ssize_t got;

	if (worker->run->write)
		got = lib->cuFileWrite(req->lane->fh, base, req->len, (off_t)req->pos, (off_t)req->off);
	else
		got = lib->cuFileRead(req->lane->fh, base, req->len, (off_t)req->pos, (off_t)req->off);
	return judge(worker->run->write ? "cuFileWrite" : "cuFileRead", req, got, errno);
}

static int host_move(struct gdsio_worker *worker, const struct gdsio_request *req, void *at)
{
	size_t done = 0;
	ssize_t got = 1;

	while (done < req->len && got > 0) {
		char *from = (char *)at + done;
		off_t pos = (off_t)(req->pos + done);

		if (worker->run->write)
			got = pwrite(req->lane->fd, from, req->len - done, pos);
		else
			got = pread(req->lane->fd, from, req->len - done, pos);
		if (got < 0 && errno == EINTR)
			got = 1;
		else if (got > 0)
			done += (size_t)got;
	}
	return judge(worker->run->write ? "pwrite" : "pread", req, got < 0 ? got : (ssize_t)done, errno);
}

static int cpu_move(struct gdsio_worker *worker, const struct gdsio_request *req, unsigned int nr)
{
	return host_move(worker, req, (char *)worker->buffer.host + req->off);
}

static int copy_in(struct gdsio_worker *worker, const struct gdsio_request *req, const void *from)
{
	return tool_cuda(worker->device->cu->cuMemcpyHtoDAsync(worker->buffer.addr + req->off, from, req->len,
							       worker->stream),
			 "cuMemcpyHtoDAsync");
}

static int wait(struct gdsio_worker *worker)
{
	return tool_cuda(worker->device->cu->cuStreamSynchronize(worker->stream), "cuStreamSynchronize");
}

static int copy_out(struct gdsio_worker *worker, const struct gdsio_request *req, void *to)
{
	int ret = tool_cuda(worker->device->cu->cuMemcpyDtoHAsync(to, worker->buffer.addr + req->off, req->len,
								  worker->stream),
			    "cuMemcpyDtoHAsync");

	return ret ? ret : wait(worker);
}

static int staged_move(struct gdsio_worker *worker, const struct gdsio_request *req, unsigned int nr)
{
	int ret;

	if (worker->run->write) {
		ret = copy_out(worker, req, worker->stage);
		return ret ? ret : host_move(worker, req, worker->stage);
	}
	ret = host_move(worker, req, worker->stage);
	if (!ret)
		ret = copy_in(worker, req, worker->stage);
	return ret ? ret : wait(worker);
}

/*
 * The copy to the GPU of one request goes on while the next one is read into the other half. A write has nothing to
 * overlap with: its bytes must be in host memory first.
 */
static int overlapped_move(struct gdsio_worker *worker, const struct gdsio_request *req, unsigned int nr)
{
	char *half = (char *)worker->stage + (worker->turn++ & 1) * (worker->buffer.size);
	int ret;

	if (worker->run->write || worker->run->verify)
		return staged_move(worker, req, nr);
	ret = host_move(worker, req, half);
	/* the copy before this one has had the time of a read; when it is over, its half is free again */
	if (!ret)
		ret = wait(worker);
	return ret ? ret : copy_in(worker, req, half);
}

static int stage_open(struct gdsio_worker *worker)
{
	const struct bl_cuda *cu = worker->device->cu;
	int ret;

	ret = tool_cuda(cu->cuMemHostAlloc(&worker->stage, 2 * worker->buffer.size, CU_MEMHOSTALLOC_PORTABLE),
			"cuMemHostAlloc");
	if (ret) {
		worker->stage = NULL;
		return ret;
	}
	ret = tool_cuda(cu->cuStreamCreate(&worker->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	if (ret)
		worker->stream = NULL;
	return ret;
}

static void stage_close(struct gdsio_worker *worker)
{
	if (worker->stream)
		worker->device->cu->cuStreamDestroy(worker->stream);
	if (worker->stage)
		worker->device->cu->cuMemFreeHost(worker->stage);
	worker->stream = NULL;
	worker->stage = NULL;
}

const struct gdsio_way gdsio_ways[XFER_NR] = {
	[XFER_GPUD] = { "GPUD", true, true, true, false, NULL, gpud_move, NULL, NULL },
	[XFER_CPUONLY] = { "CPUONLY", false, false, true, false, NULL, cpu_move, NULL, NULL },
	[XFER_CPU_GPU] = { "CPU_GPU", false, true, true, false, stage_open, staged_move, NULL, stage_close },
	[XFER_CPU_ASYNC_GPU] = { "CPU_ASYNC_GPU", false, true, true, false, stage_open, overlapped_move, wait,
				 stage_close },
	[XFER_CPU_CACHED_GPU] = { "CPU_CACHED_GPU", false, true, false, false, stage_open, staged_move, NULL,
				  stage_close },
	[XFER_GPUD_ASYNC] = { "GPUD_ASYNC", true, true, true, false, gdsio_stream_open, gdsio_stream_move, NULL,
			      gdsio_stream_close },
	[XFER_BATCH] = { "GPU_BATCH", true, true, true, true, gdsio_batch_open, gdsio_batch_move, NULL,
			 gdsio_batch_close },
	[XFER_BATCH_STREAM] = { "GPU_BATCH_STREAM", true, true, true, true, gdsio_stream_open, gdsio_stream_move, NULL,
				gdsio_stream_close },
};
