/* SPDX-License-Identifier: MIT */
/*
 * queue.h - streams and the work on them
 *
 * Work is a struct emu_op that waits for earlier ones: the one before it on its stream, and, as CUDA's legacy default
 * stream wants it, those of all blocking streams (work on the default stream) or that of the default stream (work on
 * a blocking stream). An op only ever waits for ops submitted before it. Asynchronous work runs on the stream's
 * thread; synchronous work runs on the caller's, once what it waits for is done.
 *
 * One lock guards streams, ops, events and captures.
 */
#ifndef EMU_CUDA_QUEUE_H
#define EMU_CUDA_QUEUE_H

#include <sys/types.h>

#include "state.h"

/**
 * struct emu_op - a piece of work
 * @refs:    holders
 * @done:    it has run
 * @done_ns: when
 * @next:    queue of the stream
 * @stream:  where it was submitted
 * @seq:     counts all ops up
 * @host:    a function of the program's: it is in no channel, nor is what waits for it
 * @looked:  the last look, see channel.c, at which it was ...
 * @issued:  ... in its channel or not
 * @nr_deps: entries of @deps
 * @deps:    what must be done before, with a reference each
 * @run:     the work, or NULL for a mark
 * @arg:     its argument, freed after it ran
 */
struct emu_op {
	int refs;
	int done;
	uint64_t done_ns;
	struct emu_op *next;
	struct emu_stream *stream;
	uint64_t seq;
	int host;
	uint64_t looked;
	int issued;
	unsigned int nr_deps;
	struct emu_op **deps;
	void (*run)(void *arg);
	void *arg;
};

enum emu_stream_kind { EMU_STREAM_LEGACY, EMU_STREAM_BLOCKING, EMU_STREAM_NON_BLOCKING };

/* CUstreamCaptureStatus of the driver's interface. */
enum emu_capture_status { EMU_CAPTURE_NONE, EMU_CAPTURE_ACTIVE, EMU_CAPTURE_INVALID };

/**
 * struct emu_stream - a stream
 * @next:    list of all streams of all contexts
 * @ctx:     its context
 * @id:      number that no other stream ever gets
 * @kind:    how it relates to the default stream
 * @owner:   thread whose per-thread default stream it is, or 0
 * @running: op that its thread is at
 * @head:    first queued op
 * @tail:    last queued op
 * @last:    last op submitted, with a reference; NULL before the first
 * @worker:  its thread exists
 * @closing: destroyed by its user; the thread ends when the queue is empty
 * @capture: state of a capture: who began it, and in which mode
 */
struct emu_stream {
	struct emu_stream *next;
	struct emu_ctx *ctx;
	uint64_t id;
	enum emu_stream_kind kind;
	pid_t owner;
	struct emu_op *running;
	struct emu_op *head;
	struct emu_op *tail;
	struct emu_op *last;
	int worker;
	int closing;
	struct {
		enum emu_capture_status status;
		int mode;
		pid_t thread;
	} capture;
};

void emu_queue_lock(void);
void emu_queue_unlock(void);

/* Let everybody who waits look again; queue lock held. */
void emu_queue_wake(void);

/* All streams; queue lock held. */
struct emu_stream *emu_streams(void);

/* Default stream of a context, NULL before its first use; queue lock held. */
struct emu_stream *emu_stream_legacy(const struct emu_ctx *ctx);

/* The end of a stream that has nothing queued; queue lock held. */
void emu_stream_free(struct emu_stream *stream);

/* Stream of a handle of the user's, the special ones included; NULL when there is none. Queue lock held. */
struct emu_stream *emu_stream_find(struct emu_ctx *ctx, CUstream handle);

/* The same, of whatever context. */
struct emu_stream *emu_stream_find_any(struct emu_ctx *ctx, CUstream handle);

/* New stream of the user's, NULL without memory. */
struct emu_stream *emu_stream_create(struct emu_ctx *ctx, enum emu_stream_kind kind);

/* Forget a stream; what is queued on it still runs. Queue lock held. */
void emu_stream_close(struct emu_stream *stream);

/**
 * emu_submit() - Queue work
 * @ctx:    current context
 * @handle: stream
 * @run:    the work
 * @arg:    from malloc(); taken over, also on error
 *
 * On a capturing stream the work is dropped: a graph cannot be launched here. Called with emu_lock() held where @arg
 * holds addresses that were looked up.
 * Return: CUDA_SUCCESS, or why not.
 */
CUresult emu_submit(struct emu_ctx *ctx, CUstream handle, void (*run)(void *arg), void *arg);

/* As emu_submit(), for a function of the program's. */
CUresult emu_submit_host(struct emu_ctx *ctx, CUstream handle, void (*run)(void *arg), void *arg);

/* Whether nothing stands in front of an op in the channel that its stream shares with others; queue lock held. */
int emu_channel_free(struct emu_op *op);

/* Let the next op of a stream wait for @op as well; queue lock held. */
CUresult emu_stream_add_wait(struct emu_stream *stream, struct emu_op *op);

/* As emu_submit(), with no work: *op_p is done when all that came before is. NULL on a capturing stream. */
CUresult emu_submit_mark(struct emu_ctx *ctx, CUstream handle, struct emu_op **op_p);

/**
 * emu_begin() - Begin synchronous work on the legacy default stream
 * @ctx:  current context
 * @op_p: receives the op; emu_perform() must follow
 *
 * Called with emu_lock() held where addresses were looked up for it; emu_perform() is called without.
 * Return: CUDA_SUCCESS, or why not.
 */
CUresult emu_begin(struct emu_ctx *ctx, struct emu_op **op_p);

/* Wait for what @op waits for, run it on this thread, and drop it. */
void emu_perform(struct emu_op *op, void (*run)(void *arg), void *arg);

/* References; queue lock held. */
struct emu_op *emu_op_get(struct emu_op *op);
void emu_op_put(struct emu_op *op);

/* Wait for an op; queue lock held. */
void emu_op_wait(struct emu_op *op);

/* Wait for all work submitted so far, of one context or of all (NULL); no lock held. */
void emu_drain(struct emu_ctx *ctx);

/* Whether nothing is queued or running anywhere. */
int emu_idle(void);

/* Thread id of the caller. */
pid_t emu_tid(void);

#endif
