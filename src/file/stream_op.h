/* SPDX-License-Identifier: MIT */
/*
 * stream_op.h - an operation of a stream, and who does what of it
 *
 *	stream_op.c	it comes, is found, ends and goes
 *	stream_plan.c	which way it takes, decided when it is submitted
 *	stream_steps.c	what is put on the stream for that
 *	stream_chunk.c	what host functions and the crew do when the stream gets there
 *	stream_watch.c	its deadline
 *
 * Way "cpu": a host function rings, the crew reads the file and stores through the GPU's mapping (or reads and writes host
 * memory), the stream waits for the word.
 *
 * Way "bounce": the operation is cut into chunks, which take turns with a few slots of pinned memory. A read: the bell, and
 * for each chunk a wait until its slot is filled, a copy, and a host function that has the slot filled again. A write: for
 * each chunk a wait until its slot is empty, a copy, and a host function that has it written; a wait for the last. A copy
 * is one of CUDA's where size and offset are fixed, else the kernel of move.ptx.
 *
 * Way "held": a host function rings, the crew does everything by the lane's paths, which use streams of their own; a host
 * function waits, so that CUDA knows what depends on what. For when there is no word, or no pinned memory.
 *
 * Where neither the values are fixed nor the kernel is there, they are supposed to stay what they are at submission, for
 * way "cpu" or "bounce", and a host function behind the operation waits for its end. If they have stayed when the stream
 * gets there, that function finds the operation ended. If not, all waits are let go, and the operation is held.
 */
#ifndef BL_FILE_STREAM_OP_H
#define BL_FILE_STREAM_OP_H

#include "bounce.h"
#include "crew.h"
#include "fio.h"
#include "mem.h"
#include "pieces.h"
#include "stream.h"

/* How far an operation is. */
enum bl_op_state {
	BL_OP_QUEUED, /* the stream has not got there */
	BL_OP_RUNG,   /* it has: the crew's */
	BL_OP_ENDING, /* somebody writes the result */
	BL_OP_ENDED,  /* *bytes and the word are written */
};

enum bl_op_way { BL_WAY_HELD, BL_WAY_CPU, BL_WAY_BOUNCE };

#define BL_OP_PARTS 4

/**
 * struct bl_op_part - what one thread of the crew does of an operation at a time
 * @work:  for the crew
 * @op:    it
 * @slot:  way bounce: its slot
 * @chunk: way bounce: chunk that the slot holds
 * @got:   bytes of it that were read or written
 * @err:   why not more
 * @done:  @got and @err are of @chunk, and not counted yet
 */
struct bl_op_part {
	struct bl_work work;
	struct bl_stream_op *op;
	struct bl_bounce_slot slot;
	size_t chunk;
	size_t got;
	int err;
	bool done;
};

/**
 * struct bl_op_values - what a program tells by pointers
 * @size:    bytes
 * @pos:     offset in the file
 * @buf_off: offset in the memory
 */
struct bl_op_values {
	size_t size;
	off_t pos;
	off_t buf_off;
};

/**
 * struct bl_stream_op - an operation
 * @refs:    the table of operations, and whoever works on it
 * @id:      handle that the stream's host functions get: an operation that is gone is not found
 * @stream:  referenced
 * @args:    as submitted
 * @first:   what the stream's word is before it
 * @last:    what the word becomes by its end
 * @state:   enum bl_op_state
 * @fixed:   CU_FILE_STREAM_FIXED_* at submission
 * @awaited: somebody waits for the end in a thread
 * @size:    read at submission where fixed, else when the stream got there
 * @pos:     see @size
 * @buf_off: see @size
 * @start_ns: when the stream got there
 * @deadline_ns: when it is given up
 * @next:    list of stream_watch.c
 * @prev:    see @next
 * @watched: it is in that list, and referenced by it
 *
 * @way:     decided at submission, as are all to @nr_parts
 * @supposed: so were the values that are not fixed: @values is what all were
 * @missed:  they have changed: it is held
 * @values:  see @supposed
 * @early:   error that was found at submission, told when the stream gets there
 * @max:     most bytes that it may move
 * @mem:     the memory, from @args.base on or from the offset that is fixed; where @has_mem
 * @high:    end of the memory that it may touch
 * @direct:  the file is read and written past the page cache
 * @kernel:  copies are made by it; NULL: by CUDA
 * @cut:     chunks end at multiples of this in the file
 * @nr_max:  chunks that there are steps for
 * @nr_parts: slots, or threads
 * @per_bell: chunks for each host function behind the first
 * @touched: the stream has been told of the slots
 *
 * @rings:   host functions that were called so far; theirs, as is @at
 * @at:      offset of the first byte in @mem
 * @pieces:  the chunks; way cpu: pieces for its threads. Theirs alone where there is no kernel
 * @pending: way cpu: threads that have not ended
 * @path:    who moved the bytes
 * @lock:    guards what follows
 * @limit:   chunks that all steps were put on the stream for
 * @limit_err: why there are no more
 * @nr:      chunks that count: those behind a short one do not
 * @counted: chunks that have ended, without a gap
 * @total:   their bytes
 * @err:     why there are no more
 */
struct bl_stream_op {
	atomic_uint refs;
	uint64_t id;
	struct bl_stream *stream;
	struct bl_stream_args args;
	uint32_t first;
	uint32_t last;
	atomic_int state;
	unsigned int fixed;
	bool awaited;
	size_t size;
	off_t pos;
	off_t buf_off;
	uint64_t start_ns;
	uint64_t deadline_ns;
	struct bl_stream_op *next;
	struct bl_stream_op *prev;
	bool watched;

	enum bl_op_way way;
	bool supposed;
	_Atomic(bool) missed;
	struct bl_op_values values;
	int early;
	size_t max;
	struct bl_mem mem;
	bool has_mem;
	uint64_t high;
	bool direct;
	CUfunction kernel;
	size_t cut;
	size_t nr_max;
	unsigned int nr_parts;
	unsigned int per_bell;
	bool touched;

	unsigned int rings;
	size_t at;
	struct bl_pieces pieces;
	atomic_uint pending;
	atomic_int path;
	pthread_mutex_t lock;
	size_t limit;
	int limit_err;
	size_t nr;
	size_t counted;
	size_t total;
	int err;
	struct bl_op_part parts[BL_OP_PARTS];
};

/* Device address of a chunk. */
static inline uint64_t bl_stream_va(const struct bl_stream_op *op, const struct bl_piece *piece)
{
	return op->mem.va + op->at + piece->off;
}

/*
 * Where in a slot the bytes of a chunk are: where direct I/O wants them, or where a kernel can take 16 at a time. CUDA's own
 * copies are told when nobody knows yet.
 */
static inline size_t bl_stream_lead(const struct bl_stream_op *op, const struct bl_piece *piece)
{
	if (op->direct)
		return op->args.write ? bl_fio_lead(op->pos + (off_t)piece->off) : 0;
	return op->kernel ? bl_stream_va(op, piece) & 15 : 0;
}

/* An operation has ended, if it has not yet: whoever comes first says how. Any thread. */
void bl_stream_op_end(struct bl_stream_op *op, ssize_t result);
void bl_stream_op_put(struct bl_stream_op *op);

/* Take it over in a state. False: it is not in it any more. */
bool bl_stream_op_claim(struct bl_stream_op *op, int from, int to);

/* Have it not be found any more. */
void bl_stream_op_forget(struct bl_stream_op *op);

/* Read those arguments that are fixed, at submission, or (@now false) the others, when the stream gets there. */
void bl_stream_op_read(struct bl_stream_op *op, bool now);

/* Wait for the end. The watch brings it about at the deadline; without it this ends all the same. */
void bl_stream_op_await(struct bl_stream_op *op);

/* The stream's host functions; @arg: the operation's number. */
void bl_stream_op_bell(void *arg);
void bl_stream_op_hold(void *arg);

/* The context has failed, or CUDA said no: the caller's error. Forgets operations of a stream that failed for good. */
int bl_stream_op_failed(const struct bl_stream *stream, CUresult err);

/**
 * bl_stream_plan() - Decide which way an operation takes
 * @cuda: driver library
 * @op:   new
 *
 * May wait for pinned memory, and pin memory of the program's; the stream's context is current. Puts
 * nothing on the stream.
 * Return: 0; -ETIMEDOUT, see bl_bounce_get().
 */
int bl_stream_plan(const struct bl_cuda *cuda, struct bl_stream_op *op);

/**
 * bl_stream_steps() - Put an operation on its stream
 * @cuda: driver library
 * @op:   planned; the stream's @submit is held
 *
 * Return: 0, also where something failed when the bell was on the stream: the operation ends in its turn, short or with an
 * error. Else the error, and nothing is on the stream that does anything.
 */
int bl_stream_steps(const struct bl_cuda *cuda, struct bl_stream_op *op);

/* A host function of the stream's was called, in its order: no CUDA, no waiting. */
void bl_stream_ring(struct bl_stream_op *op);

/* Steps could be put on the stream for @nr chunks only. Any thread. */
void bl_stream_limit(struct bl_stream_op *op, size_t nr, int err);

#endif
