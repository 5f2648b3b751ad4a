// SPDX-License-Identifier: MIT
/*
 * What happens when the stream gets to an operation: host functions hand its parts to the crew, which moves bytes between
 * the file and pinned memory, or stores them through the mapping. Nothing here waits for the GPU, and nothing calls CUDA, but
 * for way "held".
 */
#define log_fmt(fmt) "file/stream: " fmt
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "config.h"
#include "cufile.h"
#include "error.h"
#include "fio.h"
#include "io.h"
#include "stream_op.h"
#include "tune.h"
#include "util/clock.h"
#include "util/log.h"

/* What one thread stores at a time, way "cpu". */
#define STORE_PIECE (4UL << 20)

/* A job's words are for the GPU, which may be looking. */
static void job_set(struct bl_move_job *job, uint64_t dst, uint64_t src, uint64_t len)
{
	__atomic_store_n(&job->dst, dst, __ATOMIC_RELAXED);
	__atomic_store_n(&job->src, src, __ATOMIC_RELAXED);
	__atomic_store_n(&job->len, len, __ATOMIC_RELAXED);
}

static bool rung(const struct bl_stream_op *op)
{
	return atomic_load(&op->state) == BL_OP_RUNG;
}

/* What the kernel is to take out of the GPU's memory for a chunk; nothing for those that do not count. The lock is held. */
static void tell_write(struct bl_stream_op *op, size_t chunk)
{
	struct bl_op_part *part = &op->parts[chunk % op->nr_parts];
	struct bl_piece piece;

	if (!op->kernel)
		return;
	if (chunk >= op->nr || !rung(op)) {
		job_set(part->slot.job, 0, 0, 0);
		return;
	}
	piece = bl_pieces_at(&op->pieces, chunk);
	job_set(part->slot.job, part->slot.device + bl_stream_lead(op, &piece), bl_stream_va(op, &piece), piece.len);
}

/* Count chunks that have ended, in their order, and let the stream go on behind them. The lock is held. */
static void advance(struct bl_stream_op *op)
{
	while (op->counted < op->nr) {
		struct bl_op_part *part = &op->parts[op->counted % op->nr_parts];
		size_t chunk = op->counted;

		if (!part->done || part->chunk != chunk)
			break;
		part->done = false;
		op->total += part->got;
		if (part->got < bl_pieces_at(&op->pieces, chunk).len) {
			op->nr = chunk + 1;
			op->err = part->err;
		}
		op->counted++;
		if (op->args.write && chunk + op->nr_parts < op->nr_max)
			tell_write(op, chunk + op->nr_parts);
	}
	/* the last one is let go behind the result, by bl_stream_op_end() */
	if (op->counted < op->nr && rung(op))
		atomic_store_explicit(op->stream->word, op->first + (uint32_t)op->counted, memory_order_release);
}

static void chunk_ended(struct bl_op_part *part, size_t got, int err)
{
	struct bl_stream_op *op = part->op;
	ssize_t result;
	bool over;

	pthread_mutex_lock(&op->lock);
	part->got = got;
	part->err = err;
	part->done = true;
	advance(op);
	over = op->counted >= op->nr;
	result = op->total ? (ssize_t)op->total : op->err;
	pthread_mutex_unlock(&op->lock);
	if (over)
		bl_stream_op_end(op, result);
}

static void read_chunk(struct bl_op_part *part, const struct bl_piece *piece)
{
	struct bl_stream_op *op = part->op;
	size_t at = bl_stream_lead(op, piece), skip, got;
	int err;

	got = bl_fio_read_any(op->args.file, part->slot.memory + at, piece->len, op->pos + (off_t)piece->off, &skip, &err);
	at += skip;
	if (!op->kernel && at)
		memmove(part->slot.memory, part->slot.memory + at, got);
	pthread_mutex_lock(&op->lock);
	/* of an operation that was given up nothing more goes to its memory */
	if (op->kernel && rung(op))
		job_set(part->slot.job, bl_stream_va(op, piece), part->slot.device + at, got);
	pthread_mutex_unlock(&op->lock);
	chunk_ended(part, got, err);
}

static void write_chunk(struct bl_op_part *part, const struct bl_piece *piece)
{
	struct bl_stream_op *op = part->op;
	size_t put;
	int err;

	put = bl_fio_write(op->args.file, part->slot.memory + bl_stream_lead(op, piece), piece->len, op->pos + (off_t)piece->off,
			   &err);
	chunk_ended(part, put, err);
}

static struct bl_op_part *part_of(struct bl_work *work)
{
	return (struct bl_op_part *)((char *)work - offsetof(struct bl_op_part, work));
}

static void run_chunk(struct bl_work *work)
{
	struct bl_op_part *part = part_of(work);
	struct bl_stream_op *op = part->op;
	struct bl_piece piece = bl_pieces_at(&op->pieces, part->chunk);

	if (op->args.write)
		write_chunk(part, &piece);
	else
		read_chunk(part, &piece);
	bl_stream_op_put(op);
}

/* The slot of a chunk is free, or full: have the file read, or written. */
static void begin_chunk(struct bl_stream_op *op, size_t chunk)
{
	struct bl_op_part *part = &op->parts[chunk % op->nr_parts];
	bool counts;

	pthread_mutex_lock(&op->lock);
	counts = chunk < op->nr && rung(op);
	if (!op->args.write && op->kernel)
		job_set(part->slot.job, 0, 0, 0);
	part->chunk = chunk;
	pthread_mutex_unlock(&op->lock);
	if (!counts)
		return;
	part->work.run = run_chunk;
	part->work.prompt = true;
	atomic_fetch_add(&op->refs, 1);
	if (!bl_crew_submit(&part->work))
		return;
	chunk_ended(part, 0, -EAGAIN);
	bl_stream_op_put(op);
}

static void begin_bounce(struct bl_stream_op *op)
{
	ssize_t result;
	bool over;

	if (op->kernel)
		bl_pieces_init(&op->pieces, op->cut, op->size, op->pos);
	pthread_mutex_lock(&op->lock);
	op->nr = op->pieces.nr;
	if (op->nr > op->limit) {
		op->nr = op->limit;
		op->err = op->limit_err;
	}
	for (size_t i = 0; op->args.write && i < op->nr_parts; i++)
		tell_write(op, i);
	over = !op->nr;
	result = op->err;
	pthread_mutex_unlock(&op->lock);
	if (over)
		bl_stream_op_end(op, result);
	for (size_t i = 0; !op->args.write && i < op->nr_parts; i++)
		begin_chunk(op, i);
}

void bl_stream_limit(struct bl_stream_op *op, size_t nr, int err)
{
	ssize_t result;
	bool over = false;

	pthread_mutex_lock(&op->lock);
	op->limit = nr;
	op->limit_err = err;
	/* before the stream gets there there are none, and begin_bounce() looks at the limit */
	if (rung(op) && op->nr > nr) {
		op->nr = nr;
		op->err = err;
		over = op->counted >= nr;
	}
	result = op->total ? (ssize_t)op->total : op->err;
	pthread_mutex_unlock(&op->lock);
	if (over)
		bl_stream_op_end(op, result);
}

/* What one thread does of way "cpu": pieces, as long as there are any. */
static void store(struct bl_stream_op *op, const struct bl_piece *piece)
{
	struct bl_io io;
	int ret;

	io.file = op->args.file;
	bl_mem_part(&op->mem, op->at + piece->off, piece->len, &io.mem);
	io.len = piece->len;
	io.pos = piece->pos;
	io.write = op->args.write;
	io.done = 0;
	io.deadline_ns = op->start_ns + bl_file_tune()->timeout_ms * 1000000ULL;
	io.by_cpu = true;
	io.direct = op->direct;
	io.path = BL_PATH_PLAIN;
	ret = bl_io_dispatch(&io);
	atomic_store(&op->path, io.path);
	if (ret || io.done < piece->len)
		bl_pieces_stop(&op->pieces, piece->off + io.done, ret);
}

static void part_ended(struct bl_stream_op *op)
{
	size_t total;
	int err;

	if (atomic_fetch_sub(&op->pending, 1) != 1)
		return;
	total = bl_pieces_end(&op->pieces, &err);
	bl_stream_op_end(op, total ? (ssize_t)total : err);
}

static void run_store(struct bl_work *work)
{
	struct bl_stream_op *op = part_of(work)->op;
	struct bl_piece piece;

	while (rung(op) && bl_pieces_take(&op->pieces, &piece))
		store(op, &piece);
	part_ended(op);
	bl_stream_op_put(op);
}

static unsigned int nr_threads(const struct bl_stream_op *op)
{
	const struct bl_file_config *config = bl_file_config();
	unsigned int nr = config->max_request_parallelism;

	if (!op->mem.target || !config->parallel_io || op->size < config->min_io_threshold_size_kb << 10)
		return 1;
	if (nr > bl_crew_limit())
		nr = bl_crew_limit();
	if (nr > op->pieces.nr)
		nr = (unsigned int)op->pieces.nr;
	return nr < BL_OP_PARTS ? nr + !nr : BL_OP_PARTS;
}

static void begin_store(struct bl_stream_op *op)
{
	unsigned int nr;

	/* host memory is the file system's affair: in one go */
	bl_pieces_init(&op->pieces, op->mem.target ? STORE_PIECE : 1UL << 62, op->size, op->pos);
	nr = nr_threads(op);
	for (unsigned int i = 0; i < nr; i++) {
		op->parts[i].work.run = run_store;
		op->parts[i].work.prompt = true;
		op->parts[i].work.next = i + 1 < nr ? &op->parts[i + 1].work : NULL;
	}
	atomic_store(&op->pending, nr);
	atomic_fetch_add(&op->refs, nr);
	if (!bl_crew_submit(&op->parts[0].work))
		return;
	bl_stream_op_end(op, -EAGAIN);
	atomic_fetch_sub(&op->refs, nr); /* never the last: the caller has its own */
}

static void run_held(struct bl_work *work)
{
	struct bl_stream_op *op = part_of(work)->op;
	const struct bl_stream_args *args = &op->args;

	bl_stream_op_end(op, bl_io_run(args->file, args->base, op->size, op->pos, op->buf_off, args->write));
	bl_stream_op_put(op);
}

static void begin_held(struct bl_stream_op *op)
{
	op->parts[0].work.run = run_held;
	atomic_fetch_add(&op->refs, 1);
	if (!bl_crew_submit(&op->parts[0].work))
		return;
	bl_stream_op_end(op, -EAGAIN);
	bl_stream_op_put(op);
}

/* The values have changed since. The stream goes on to the host function behind the operation, which waits for its end. */
static void begin_missed(struct bl_stream_op *op)
{
	/* the watch may give it up at any time, and asks */
	atomic_store(&op->missed, true);
	pthread_mutex_lock(&op->lock);
	atomic_store_explicit(op->stream->word, op->last, memory_order_release);
	pthread_mutex_unlock(&op->lock);
	begin_held(op);
}

static bool as_supposed(const struct bl_stream_op *op)
{
	return op->size == op->values.size && op->pos == op->values.pos && op->buf_off == op->values.buf_off;
}

/* Now that all arguments are known: whether they make sense, and where the memory is. */
static int locate(struct bl_stream_op *op)
{
	const struct bl_stream_args *args = &op->args;
	uint64_t va = (uintptr_t)args->base + (uint64_t)op->buf_off;
	int ret;

	if (op->early)
		return op->early;
	ret = bl_io_check(args->file, args->base, op->size, op->pos, op->buf_off, args->write);
	if (ret)
		return ret;
	if (va < op->mem.va || va > op->high || op->size > op->high - va)
		return bl_fail(-BL_CUFILE(CU_FILE_INVALID_MAPPING_RANGE),
			       log_fmt("base %p off 0x%llx len 0x%zx: outside the memory"), args->base,
			       (long long)op->buf_off, op->size);
	if (op->way == BL_WAY_BOUNCE && op->size > op->max)
		return bl_fail(-BL_CUFILE(CU_FILE_INVALID_VALUE),
			       log_fmt("size 0x%zx is more than the 0x%zx at submission, which must be the most"), op->size,
			       op->max);
	op->at = va - op->mem.va;
	return 0;
}

/* The first of an operation's host functions. False: there is nothing more to do. */
static bool begin(struct bl_stream_op *op)
{
	int ret;

	if (!bl_stream_op_claim(op, BL_OP_QUEUED, BL_OP_RUNG))
		return false;
	op->start_ns = bl_now_ns();
	bl_stream_op_read(op, false);
	/* the reference of the watch's list */
	atomic_fetch_add(&op->refs, 1);
	bl_stream_watch(op);
	if (op->way == BL_WAY_HELD) {
		begin_held(op);
		return false;
	}
	if (op->supposed && !as_supposed(op)) {
		begin_missed(op);
		return false;
	}
	ret = locate(op);
	if (ret || !op->size) {
		bl_stream_op_end(op, ret);
		return false;
	}
	if (op->way == BL_WAY_BOUNCE) {
		begin_bounce(op);
		return true;
	}
	begin_store(op);
	return false;
}

/* Those of the bell of number @nr, from 0 on, or as many behind them as there are slots. */
static void begin_chunks(struct bl_stream_op *op, unsigned int nr, size_t behind)
{
	size_t first = (size_t)nr * op->per_bell + behind;

	for (size_t chunk = first; chunk < first + op->per_bell && chunk < op->nr_max; chunk++)
		begin_chunk(op, chunk);
}

/* Chunks of writes follow their copies, those of reads the copies that have emptied their slots. */
void bl_stream_ring(struct bl_stream_op *op)
{
	unsigned int ring = op->rings++;

	if (!ring && !begin(op))
		return;
	if (op->args.write && !op->kernel)
		begin_chunks(op, ring, 0);
	else if (ring)
		begin_chunks(op, ring - 1, op->args.write ? 0 : op->nr_parts);
}
