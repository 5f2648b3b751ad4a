// SPDX-License-Identifier: MIT
/* Which way an operation of a stream takes: decided when it is submitted, with what is known by then. */
#define log_fmt(fmt) "file/stream: " fmt
#include <errno.h>
#include <sys/stat.h>

#include "buffer.h"
#include "config.h"
#include "cufile.h"
#include "io.h"
#include "stream_op.h"
#include "util/log.h"

/* Not cut, up to this size; in chunks of the second up to the third, else of the fourth. */
#define WHOLE	    (1UL << 20)
#define SMALL_CHUNK (1UL << 20)
#define SMALL_MAX   (16UL << 20)
#define LARGE_CHUNK (4UL << 20)
#define NO_CUT	    (1UL << 62)

/* The blocks around the ends of a chunk that direct I/O reads too, or the shift by which both sides of a copy are aligned. */
#define AROUND (2UL * BL_ALIGN_MAX)

/* Whether values are known now: they are fixed, or supposed to stay. */
static bool knows(const struct bl_stream_op *op, unsigned int flags)
{
	return op->supposed || (op->fixed & flags) == flags;
}

/* Errors of what is fixed are found now, and told in the operation's turn, as the others are. */
static int check_known(const struct bl_stream_op *op)
{
	const struct bl_stream_args *args = &op->args;

	return bl_io_check(args->file, args->base, knows(op, CU_FILE_STREAM_FIXED_FILE_SIZE) ? op->size : 0,
			   knows(op, CU_FILE_STREAM_FIXED_FILE_OFFSET) ? op->pos : 0,
			   knows(op, CU_FILE_STREAM_FIXED_BUF_OFFSET) ? op->buf_off : 0, args->write);
}

/* The size is the largest that it may become. Where so much is not there, what there is of the memory bounds it. */
static int find_memory(struct bl_stream_op *op)
{
	off_t off = knows(op, CU_FILE_STREAM_FIXED_BUF_OFFSET) ? op->buf_off : 0;
	size_t size = op->max ? op->max : 1;
	int ret;

	bl_fail_hush(1);
	ret = bl_mem_get(op->args.base, off, size, &op->mem);
	bl_fail_hush(-1);
	if (ret)
		ret = bl_mem_get(op->args.base, off, 1, &op->mem);
	if (ret)
		return ret;
	op->has_mem = true;
	if (op->mem.buffer)
		op->high = op->mem.buffer->base + op->mem.buffer->len;
	else if (op->mem.target)
		op->high = op->mem.target->base + op->mem.target->size;
	else
		op->high = UINT64_MAX;
	if (op->max > op->high - op->mem.va)
		op->max = op->high - op->mem.va;
	return 0;
}

/* The memory of a kernel's context, or managed, or of no context but on its GPU. What others can reach CUDA alone knows. */
static bool kernel_reaches(const struct bl_cuda *cuda, const struct bl_stream_op *op)
{
	const struct bl_ce_target *target = op->mem.target;
	CUdevice device;

	if (op->mem.kind == BL_MEM_MANAGED || (target->context && !target->shared))
		return target->context == op->stream->context;
	return !cuda->cuCtxGetDevice(&device) && device == target->device;
}

static bool ends_early(const struct bl_stream_op *op)
{
	struct stat st;

	return !op->args.write && knows(op, CU_FILE_STREAM_FIXED_FILE_OFFSET) && !fstat(op->args.file->fd, &st) &&
	       S_ISREG(st.st_mode) && op->pos + (off_t)op->size > st.st_size;
}

/* Whether CUDA can be told now what it is to copy. */
static bool is_fixed(const struct bl_stream_op *op)
{
	return knows(op, CU_FILE_STREAM_FIXED_FILE_SIZE | CU_FILE_STREAM_FIXED_BUF_OFFSET) &&
	       (knows(op, CU_FILE_STREAM_FIXED_FILE_OFFSET) || (op->max <= WHOLE && !op->direct));
}

/* The chunks: where they are known, else how many there may be at most. */
static void cut(struct bl_stream_op *op)
{
	if (op->max <= WHOLE) {
		op->cut = NO_CUT;
		op->nr_max = 1;
	} else {
		op->cut = op->max <= SMALL_MAX ? SMALL_CHUNK : LARGE_CHUNK;
		op->nr_max = (op->max + op->cut - 1) / op->cut + 1;
	}
	if (op->kernel)
		return;
	bl_pieces_init(&op->pieces, op->cut, op->size, knows(op, CU_FILE_STREAM_FIXED_FILE_OFFSET) ? op->pos : 0);
	op->nr_max = op->pieces.nr;
}

static int take_slots(const struct bl_cuda *cuda, struct bl_stream_op *op)
{
	struct bl_bounce_slot slots[BL_OP_PARTS];
	size_t len = (op->cut == NO_CUT ? op->max : op->cut) + AROUND;
	int ret;

	ret = bl_bounce_get(cuda, op->stream->context, len,
			    op->nr_max < BL_OP_PARTS ? (unsigned int)op->nr_max : BL_OP_PARTS,
			    op->supposed ? 0 : bl_stream_timeout_ns(), slots, &op->nr_parts);
	op->per_bell = !ret && op->nr_parts > 1 ? op->nr_parts / 2 : 1;
	for (unsigned int i = 0; !ret && i < op->nr_parts; i++) {
		op->parts[i].slot = slots[i];
		/* what it says is of an earlier operation: one that ends at once must not repeat that */
		slots[i].job->len = 0;
	}
	return ret;
}

/* By pinned memory and copies in the stream, if there are a kernel, where it takes one, and words. */
static int plan_bounce(const struct bl_cuda *cuda, struct bl_stream_op *op)
{
	bool fixed = is_fixed(op);
	int ret;

	if (!op->stream->word)
		return 0;
	if (!op->supposed && (!fixed || ends_early(op)) && kernel_reaches(cuda, op))
		op->kernel = bl_stream_kernel(cuda, op->stream->context);
	if (!op->kernel && !fixed)
		return 0;
	cut(op);
	bl_fail_hush(1);
	ret = take_slots(cuda, op);
	bl_fail_hush(-1);
	if (ret == -ETIMEDOUT && !op->supposed)
		return fail(ETIMEDOUT, "stream %p: %s", (void *)op->stream->handle, bl_last_error(NULL));
	if (ret) {
		log_info("no pinned memory for an operation: a host function waits for it (%s)", bl_last_error(NULL));
		op->kernel = NULL;
		return 0;
	}
	op->way = BL_WAY_BOUNCE;
	atomic_store(&op->path, BL_PATH_STAGED);
	return 0;
}

/* What was refused last is not tried again: a program that has one such buffer has it for all its operations. */
static bool lend(struct bl_stream_op *op)
{
	static _Atomic(uint64_t) refused;
	uint64_t id = op->mem.target->buffer_id;

	if (atomic_load(&refused) == id)
		return false;
	if (bl_buffer_lend(&op->mem))
		return true;
	atomic_store(&refused, id);
	return false;
}

/* Memory that is mapped, or can be for the time of the operation; unless the configuration wants another path. */
static bool can_store(struct bl_stream_op *op)
{
	enum bl_path path = bl_file_config()->path;

	if (op->args.write || (path != BL_PATH_NR && path != BL_PATH_MAPPED && path != BL_PATH_NVFS))
		return false;
	if (op->mem.mapped)
		return true;
	return op->mem.kind == BL_MEM_DEVICE && !op->mem.buffer && op->mem.len == op->max &&
	       knows(op, CU_FILE_STREAM_FIXED_FILE_SIZE | CU_FILE_STREAM_FIXED_BUF_OFFSET) && lend(op);
}

/* Something would have to be known now that is not, and there is no kernel that is told later. */
static bool needs_kernel(const struct bl_cuda *cuda, const struct bl_stream_op *op)
{
	return op->stream->word && !is_fixed(op) &&
	       !(bl_stream_kernel(cuda, op->stream->context) && kernel_reaches(cuda, op));
}

/* The memory is where it is to be by what the values are now. False: they make no sense, at least now. */
static bool suppose(struct bl_stream_op *op)
{
	const struct bl_stream_args *args = &op->args;

	op->size = *args->size;
	op->pos = *args->pos;
	op->buf_off = *args->buf_off;
	op->values = (struct bl_op_values){ op->size, op->pos, op->buf_off };
	op->max = op->size;
	op->supposed = true;
	bl_mem_put(&op->mem);
	op->has_mem = false;
	return op->size && !check_known(op) && !find_memory(op) && op->mem.target && op->size <= op->max;
}

/* As if all were fixed. Where that is of no use, the operation is held, and finds errors of its values in its turn. */
static int plan_supposed(const struct bl_cuda *cuda, struct bl_stream_op *op)
{
	bool sensible;
	int ret = 0;

	bl_fail_hush(1);
	sensible = suppose(op);
	bl_fail_hush(-1);
	if (sensible && can_store(op))
		op->way = BL_WAY_CPU;
	else if (sensible && op->args.write)
		ret = plan_bounce(cuda, op);
	if (op->way == BL_WAY_HELD)
		op->supposed = false;
	return ret;
}

int bl_stream_plan(const struct bl_cuda *cuda, struct bl_stream_op *op)
{
	/* who insists on a path is served by those who know it */
	if (bl_file_config()->strict)
		return 0;
	op->max = *op->args.size;
	if (knows(op, CU_FILE_STREAM_FIXED_FILE_SIZE))
		op->max = op->size;
	op->direct = bl_fio_direct(op->args.file);
	op->way = BL_WAY_CPU;
	op->early = check_known(op);
	if (!op->early)
		op->early = find_memory(op);
	if (op->early || !op->mem.target || !op->max)
		return 0;
	if (knows(op, CU_FILE_STREAM_FIXED_FILE_SIZE) && op->size > op->max)
		return 0; /* leaves the memory: told in its turn */
	if (can_store(op))
		return 0;
	op->way = BL_WAY_HELD;
	if (needs_kernel(cuda, op))
		return plan_supposed(cuda, op);
	return plan_bounce(cuda, op);
}
