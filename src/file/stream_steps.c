// SPDX-License-Identifier: MIT
/* What is put on a stream for an operation, in its order; stream_op.h says why. */
#define log_fmt(fmt) "file/stream: " fmt
#include "error.h"
#include "stream_op.h"
#include "util/log.h"

/**
 * struct steps - an operation that is being put on its stream
 * @cuda:  driver library
 * @op:    it
 * @bells: host functions that are on the stream
 * @waits: waits that are
 */
struct steps {
	const struct bl_cuda *cuda;
	struct bl_stream_op *op;
	unsigned int bells;
	unsigned int waits;
};

static void *number(const struct bl_stream_op *op)
{
	return (void *)(uintptr_t)op->id;
}

static CUresult bell(struct steps *steps)
{
	CUresult err = steps->cuda->cuLaunchHostFunc(steps->op->stream->handle, bl_stream_op_bell, number(steps->op));

	steps->bells += !err;
	return err;
}

/* Behind the operation: CUDA is to know that the stream waits for it. */
static CUresult hold(struct steps *steps)
{
	return steps->cuda->cuLaunchHostFunc(steps->op->stream->handle, bl_stream_op_hold, number(steps->op));
}

/* Until @nr chunks have ended. */
static CUresult wait(struct steps *steps, size_t nr)
{
	const struct bl_stream *stream = steps->op->stream;
	CUresult err = steps->cuda->cuStreamWaitValue32(stream->handle, stream->device, steps->op->first + (uint32_t)nr,
							stream->wait_flags);

	steps->waits += !err;
	return err;
}

static CUresult launch(struct steps *steps, const struct bl_bounce_slot *slot)
{
	uint64_t job = slot->job_device;
	void *params[] = { &job };

	return steps->cuda->cuLaunchKernel(steps->op->kernel, BL_MOVE_BLOCKS, 1, 1, BL_MOVE_THREADS, 1, 1, 0,
					   steps->op->stream->handle, params, NULL);
}

static CUresult copy(struct steps *steps, size_t chunk)
{
	struct bl_stream_op *op = steps->op;
	const struct bl_bounce_slot *slot = &op->parts[chunk % op->nr_parts].slot;
	struct bl_piece piece;
	void *host;

	op->touched = true;
	if (op->kernel)
		return launch(steps, slot);
	piece = bl_pieces_at(&op->pieces, chunk);
	host = slot->memory + bl_stream_lead(op, &piece);
	if (op->args.write)
		return steps->cuda->cuMemcpyDtoHAsync(host, op->mem.va + piece.off, piece.len, op->stream->handle);
	return steps->cuda->cuMemcpyHtoDAsync(op->mem.va + piece.off, host, piece.len, op->stream->handle);
}

static CUresult stop(struct steps *steps, size_t chunks, CUresult err)
{
	bl_stream_limit(steps->op, chunks, BL_CUFILE_CUDA(err));
	return err;
}

/* The slots of so many chunks are told of together: half of them, so that the others are copied meanwhile. */
static bool is_last_of_bell(const struct bl_stream_op *op, size_t chunk)
{
	return (chunk + 1) % op->per_bell == 0;
}

/* Read: there is more for one of the slots that are empty by then. */
static bool fills_again(const struct bl_stream_op *op, size_t chunk)
{
	return is_last_of_bell(op, chunk) && chunk + 1 - op->per_bell + op->nr_parts < op->nr_max;
}

static CUresult read_steps(struct steps *steps)
{
	struct bl_stream_op *op = steps->op;
	CUresult err = bell(steps);

	if (err)
		return err;
	for (size_t i = 0; i < op->nr_max; i++) {
		err = wait(steps, i + 1);
		if (!err)
			err = copy(steps, i);
		if (err)
			return stop(steps, i, err);
		if (fills_again(op, i))
			err = bell(steps);
		if (err)
			return stop(steps, i + 1, err);
	}
	return CUDA_SUCCESS;
}

static CUresult write_steps(struct steps *steps)
{
	struct bl_stream_op *op = steps->op;
	CUresult err = op->kernel ? bell(steps) : CUDA_SUCCESS;
	size_t told = 0;

	if (err)
		return err;
	for (size_t i = 0; i < op->nr_max; i++) {
		bool last = is_last_of_bell(op, i) || i + 1 == op->nr_max;

		if (i >= op->nr_parts)
			err = wait(steps, i + 1 - op->nr_parts);
		if (!err)
			err = copy(steps, i);
		if (!err && last)
			err = bell(steps);
		/* a chunk that nobody is told of is not written */
		if (err)
			return stop(steps, told, err);
		if (last)
			told = i + 1;
	}
	err = wait(steps, op->nr_max);
	return err || !op->supposed ? err : hold(steps);
}

static CUresult simple_steps(struct steps *steps)
{
	CUresult err = bell(steps);

	if (err)
		return err;
	/* what the crew does for way "held" may depend on any stream: CUDA has to know that this one waits */
	if (steps->op->way == BL_WAY_CPU && steps->op->stream->word)
		err = wait(steps, 1);
	if (!err && steps->waits && !steps->op->supposed)
		return CUDA_SUCCESS;
	return hold(steps);
}

/* That the stream is past it. If that fails the next operation's will tell. */
static void tell_back(const struct steps *steps)
{
	const struct bl_stream *stream = steps->op->stream;

	if (steps->op->touched &&
	    steps->cuda->cuStreamWriteValue32(stream->handle, stream->back_device, steps->op->last, 0))
		log_debug("stream %p: the slots of an operation come back with those of a later one", (void *)stream->handle);
}

/*
 * The bell is on the stream, but not all of the rest. The operation ends in its turn with what it has; a host function holds
 * the stream until then, or this thread waits: the order of the stream is kept all the same. Only if nothing waits for it on
 * the stream, or nothing ever will since the context failed, it is taken back: bells will find nothing.
 */
static int recover(struct steps *steps, CUresult err)
{
	struct bl_stream_op *op = steps->op;
	bool gone = err >= 700 && err < 800;

	if (!hold(steps))
		return 0;
	if ((!steps->waits || gone) && bl_stream_op_claim(op, BL_OP_QUEUED, BL_OP_ENDED)) {
		bl_stream_op_forget(op);
		return bl_stream_op_failed(op->stream, err);
	}
	bl_stream_op_await(op);
	return 0;
}

int bl_stream_steps(const struct bl_cuda *cuda, struct bl_stream_op *op)
{
	struct bl_stream *stream = op->stream;
	struct steps steps = { .cuda = cuda, .op = op };
	CUresult err;
	int ret = 0;

	op->first = stream->seq;
	op->last = op->first;
	if (op->way == BL_WAY_BOUNCE)
		op->last += (uint32_t)op->nr_max;
	else if (op->way == BL_WAY_CPU && stream->word)
		op->last++;
	if (op->way == BL_WAY_BOUNCE)
		err = op->args.write ? write_steps(&steps) : read_steps(&steps);
	else
		err = simple_steps(&steps);
	/* nothing is on the stream that finds the operation */
	if (err && !steps.bells)
		ret = bl_stream_op_failed(stream, err);
	else if (err)
		ret = recover(&steps, err);
	/* also where the stream will tell of slots: no later operation's may be taken for these */
	if (steps.bells || op->touched)
		stream->seq = op->last;
	tell_back(&steps);
	return ret;
}
