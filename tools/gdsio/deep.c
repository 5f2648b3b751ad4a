// SPDX-License-Identifier: MIT
/* Ways that hand several requests to the library at a time: batches, and operations of a stream. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/stats.h"
#include "gdsio/gdsio.h"

#define LIMIT_NS 60000000000U

struct batch {
	CUfileBatchHandle_t handle;
	CUfileIOParams_t params[GDSIO_DEPTH];
	CUfileIOEvents_t events[GDSIO_DEPTH];
};

/* Arguments of stream operations are read when the stream comes to them. */
struct stream_ops {
	bool registered;
	struct {
		size_t len;
		off_t pos;
		off_t off;
		ssize_t done;
	} op[GDSIO_DEPTH];
};

int gdsio_batch_open(struct gdsio_worker *worker)
{
	const struct tool_cufile *lib = worker->run->lib;
	struct batch *batch;
	int ret;

	if (!lib->cuFileBatchIOSetUp || !lib->cuFileBatchIOSubmit || !lib->cuFileBatchIOGetStatus ||
	    !lib->cuFileBatchIODestroy)
		return tool_fail(ENOSYS, "%s has no batches", lib->path);
	batch = calloc(1, sizeof(*batch));
	if (!batch)
		return tool_fail(ENOMEM, "out of memory");
	ret = tool_cufile_status(lib->cuFileBatchIOSetUp(&batch->handle, worker->nr_lanes), "cuFileBatchIOSetUp");
	if (ret)
		free(batch);
	else
		worker->own = batch;
	return ret;
}

void gdsio_batch_close(struct gdsio_worker *worker)
{
	struct batch *batch = worker->own;

	if (batch)
		worker->run->lib->cuFileBatchIODestroy(batch->handle);
	free(batch);
	worker->own = NULL;
}

static int judge_event(const CUfileIOEvents_t *event)
{
	const struct gdsio_request *req = event->cookie;
	int err = (int)-(ssize_t)event->ret;

	if (event->status == CUFILE_COMPLETE && event->ret == req->len)
		return 0;
	return tool_fail(EIO, "entry of a batch, %zu bytes at %llu of %s: status %d, result %zd%s%s", req->len,
			 (unsigned long long)req->pos, req->lane->path, event->status, (ssize_t)event->ret,
			 err > 0 ? ": " : "", err <= 0 ? "" : IS_CUFILE_ERR(err) ? CUFILE_ERRSTR(err) : strerror(err));
}

static int reap(struct gdsio_worker *worker, unsigned int left)
{
	struct batch *batch = worker->own;
	uint64_t limit = tool_now_ns() + LIMIT_NS;
	int bad = 0, ret;

	while (left) {
		struct timespec wait = { .tv_sec = 5 };
		unsigned int nr = left;

		ret = tool_cufile_status(worker->run->lib->cuFileBatchIOGetStatus(batch->handle, left, &nr,
										  batch->events, &wait),
					 "cuFileBatchIOGetStatus");
		if (ret)
			return ret;
		for (unsigned int i = 0; i < nr && !bad; i++)
			bad = judge_event(&batch->events[i]);
		left -= nr < left ? nr : left;
		if (left && tool_now_ns() > limit)
			return tool_fail(ETIMEDOUT, "%u entries of a batch did not end in 60 s", left);
	}
	return bad;
}

int gdsio_batch_move(struct gdsio_worker *worker, const struct gdsio_request *reqs, unsigned int nr)
{
	const struct tool_cufile *lib = worker->run->lib;
	struct batch *batch = worker->own;
	int ret;

	for (unsigned int i = 0; i < nr; i++) {
		CUfileIOParams_t *param = &batch->params[i];

		memset(param, 0, sizeof(*param));
		param->mode = CUFILE_BATCH;
		param->fh = reqs[i].lane->fh;
		param->opcode = worker->run->write ? CUFILE_WRITE : CUFILE_READ;
		param->cookie = (void *)(uintptr_t)&reqs[i];
		param->u.batch.devPtr_base = (void *)(uintptr_t)worker->buffer.addr;
		param->u.batch.devPtr_offset = (off_t)reqs[i].off;
		param->u.batch.file_offset = (off_t)reqs[i].pos;
		param->u.batch.size = reqs[i].len;
	}
	ret = tool_cufile_status(lib->cuFileBatchIOSubmit(batch->handle, nr, batch->params, 0), "cuFileBatchIOSubmit");
	return ret ? ret : reap(worker, nr);
}

int gdsio_stream_open(struct gdsio_worker *worker)
{
	const struct tool_cufile *lib = worker->run->lib;
	struct stream_ops *ops;
	int ret;

	if (!lib->cuFileReadAsync || !lib->cuFileWriteAsync || !lib->cuFileStreamRegister ||
	    !lib->cuFileStreamDeregister)
		return tool_fail(ENOSYS, "%s has no stream operations", lib->path);
	ops = calloc(1, sizeof(*ops));
	if (!ops)
		return tool_fail(ENOMEM, "out of memory");
	worker->own = ops;
	ret = tool_cuda(worker->device->cu->cuStreamCreate(&worker->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	if (ret) {
		worker->stream = NULL;
		return ret;
	}
	/* every argument is known when it is submitted */
	ret = tool_cufile_status(lib->cuFileStreamRegister(worker->stream, 15), "cuFileStreamRegister");
	ops->registered = !ret;
	return ret;
}

void gdsio_stream_close(struct gdsio_worker *worker)
{
	struct stream_ops *ops = worker->own;

	if (ops && ops->registered)
		worker->run->lib->cuFileStreamDeregister(worker->stream);
	if (worker->stream)
		worker->device->cu->cuStreamDestroy(worker->stream);
	worker->stream = NULL;
	free(ops);
	worker->own = NULL;
}

int gdsio_stream_move(struct gdsio_worker *worker, const struct gdsio_request *reqs, unsigned int nr)
{
	const struct tool_cufile *lib = worker->run->lib;
	struct stream_ops *ops = worker->own;
	void *base = (void *)(uintptr_t)worker->buffer.addr;
	bool write = worker->run->write;
	int ret = 0, done;

	for (unsigned int i = 0; i < nr; i++) {
		ops->op[i].len = reqs[i].len;
		ops->op[i].pos = (off_t)reqs[i].pos;
		ops->op[i].off = (off_t)reqs[i].off;
		ops->op[i].done = 0;
	}
	for (unsigned int i = 0; i < nr && !ret; i++)
		ret = tool_cufile_status((write ? lib->cuFileWriteAsync : lib->cuFileReadAsync)(
						 reqs[i].lane->fh, base, &ops->op[i].len, &ops->op[i].pos,
						 &ops->op[i].off, &ops->op[i].done, worker->stream),
					 write ? "cuFileWriteAsync" : "cuFileReadAsync");
	/* also after an error: what was submitted reads its arguments from here */
	done = tool_cuda(worker->device->cu->cuStreamSynchronize(worker->stream), "cuStreamSynchronize");
	for (unsigned int i = 0; i < nr && !ret && !done; i++) {
		if (ops->op[i].done != (ssize_t)reqs[i].len)
			ret = tool_fail(EIO, "stream operation, %zu bytes at %llu of %s: result %zd", reqs[i].len,
					(unsigned long long)reqs[i].pos, reqs[i].lane->path, ops->op[i].done);
	}
	return ret ? ret : done;
}
