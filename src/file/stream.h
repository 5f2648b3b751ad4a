/* SPDX-License-Identifier: MIT */
/*
 * stream.h - reads and writes in the order of a CUDA stream
 *
 * While a stream waits for this library, nobody may depend on work in another stream of its context: streams share the
 * GPU's channels, each in order, and dependencies by words in memory are invisible to CUDA. So all work of an operation on
 * the GPU goes into the program's stream; threads of the crew do file I/O, to and from pinned memory, or to the GPU's
 * mapping, and call CUDA for nothing. Host functions of the stream hand the operation to them, and the stream waits for
 * words in pinned memory which they count up. So neither the thread that submits nor the one that calls host functions ever
 * waits for a file. stream_op.h has the ways that an operation can take.
 *
 * Each stream has two words: one that it waits for, and one that it counts up when it is past an operation. They only
 * grow, so a wait that the GPU looks at late is satisfied all the same, and a word can be another stream's by then.
 *
 * Locks: a stream's @submit, held while an operation is put on the stream. Each file has one for its lists, each operation
 * one for its progress; they are held for a moment, never across a call of CUDA, and not within each other.
 */
#ifndef BL_FILE_STREAM_H
#define BL_FILE_STREAM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "gpu/cuda.h"

struct bl_file;
struct bl_stream_op;
struct bl_words;

/**
 * struct bl_stream - a stream that is registered, or has operations under way
 * @next:    list of all
 * @refs:    its registration, each operation, each call
 * @handle:  the program's
 * @id:      what tells it from an earlier stream of the same handle
 * @context: its context
 * @flags:   CU_FILE_STREAM_*, 0 when it is not registered
 * @registered: cuFileStreamRegister() was called
 * @listed:  it can be found
 * @words:   where @word is from
 * @word:    counts steps of operations that have ended; written with release. NULL: host functions wait
 * @back:    written by the stream: @seq of the last operation that it is past
 * @device:  address of @word for the GPU
 * @back_device: address of @back for the GPU
 * @wait_flags: of waits for it
 * @seq:     what @word is when the last operation that was submitted has ended
 * @submit:  held while an operation is put on the stream, so that those of two threads do not mix; guards @seq
 */
struct bl_stream {
	struct bl_stream *next;
	atomic_uint refs;
	CUstream handle;
	uint64_t id;
	CUcontext context;
	atomic_uint flags;
	bool registered;
	bool listed;
	struct bl_words *words;
	_Atomic(uint32_t) *word;
	_Atomic(uint32_t) *back;
	CUdeviceptr device;
	CUdeviceptr back_device;
	unsigned int wait_flags;
	uint32_t seq;
	pthread_mutex_t submit;
};

/**
 * struct bl_stream_args - what cuFileReadAsync() and cuFileWriteAsync() get
 * @file:    file, referenced
 * @base:    memory
 * @size:    the program's pointers, none of them NULL
 * @pos:     see @size
 * @buf_off: see @size
 * @bytes:   see @size
 * @stream:  the program's stream
 * @write:   direction
 */
struct bl_stream_args {
	struct bl_file *file;
	void *base;
	const size_t *size;
	const off_t *pos;
	const off_t *buf_off;
	ssize_t *bytes;
	CUstream stream;
	bool write;
};

/**
 * bl_stream_submit() - Put a read or write on a stream
 * @args: what to do; its reference of the file is taken over when 0 is returned
 *
 * Return: 0; -(CU_FILE_ASYNC_NOT_SUPPORTED) (no CUDA, a capture is under way), an error of CUDA, -ENOMEM, -EAGAIN (no
 * thread), -ETIMEDOUT (other operations use all pinned memory, and none has ended in time); with the reason. *bytes will not
 * be written then, and nothing was put on the stream that does anything.
 */
int bl_stream_submit(const struct bl_stream_args *args);

/* What cuFileStreamRegister() does: 0, -(CU_FILE_INVALID_VALUE), or as bl_stream_submit(). */
int bl_stream_register(CUstream handle, unsigned int flags);

/* Its counterpart; the stream may be gone. Operations under way go on. 0 or -(CU_FILE_INVALID_VALUE). */
int bl_stream_deregister(CUstream handle);

/* How long an operation may take from the moment that its stream gets to it: BARLANE_FILE_ASYNC_TIMEOUT_MS, else 60 s. */
uint64_t bl_stream_timeout_ns(void);

/* Between the files of streams. */

/**
 * bl_stream_enter() - Make the context of a stream current
 * @handle: the program's stream
 * @cuda_p: receives the driver library
 * @context_p: receives the context, to be given to bl_stream_leave()
 *
 * Return: 0, or -(CU_FILE_ASYNC_NOT_SUPPORTED) (no CUDA, or too old), an error of CUDA; with the reason.
 */
int bl_stream_enter(CUstream handle, const struct bl_cuda **cuda_p, CUcontext *context_p);
void bl_stream_leave(const struct bl_cuda *cuda);

/* A stream, referenced, whose context is current; made if it is not known. 0, -ENOMEM, or an error of CUDA. */
int bl_stream_get(const struct bl_cuda *cuda, CUstream handle, CUcontext context, struct bl_stream **stream_p);
void bl_stream_put(struct bl_stream *stream);

/* Forget operations of a stream that it will never get to, since its context has failed or is gone. */
void bl_stream_drop(const struct bl_stream *stream);

/* Be ready to watch one more operation, which is not rung yet. 0, or -EAGAIN: no thread for it. */
int bl_stream_watch_begin(void);
void bl_stream_watch_end(void);

/* Have an operation that was rung given up at its deadline. */
void bl_stream_watch(struct bl_stream_op *op);
void bl_stream_unwatch(struct bl_stream_op *op);

/* Whether no operation exists. */
bool bl_stream_watch_idle(void);

/* The kernel of move.ptx in the current context, if it was loaded there; else NULL. Waits for nothing. */
CUfunction bl_stream_kernel(const struct bl_cuda *cuda, CUcontext context);

/**
 * bl_stream_kernel_load() - Load it, unless that was tried before, or something is known to be under way
 * @cuda:    driver library
 * @context: the current context
 * @handle:  a stream of it
 *
 * CUDA waits for kernels that are running, or for all that is on streams of the context. Why it cannot be had is
 * logged.
 */
void bl_stream_kernel_load(const struct bl_cuda *cuda, CUcontext context, CUstream handle);

/*
 * Give a stream a word that its context, which is current, reaches. Where none can be had the stream goes without; why is
 * logged once.
 */
void bl_words_get(const struct bl_cuda *cuda, struct bl_stream *stream);
void bl_words_put(struct bl_stream *stream);

/* Whether the current context reaches a stream's word: not if it is another one of the same address. */
bool bl_words_hold(const struct bl_cuda *cuda, const struct bl_stream *stream);

/* In a forked child: all of it was the parent's. */
void bl_stream_ops_forget(void);
void bl_stream_watch_forget(void);
void bl_words_forget(void);
void bl_stream_kernel_forget(void);

#endif
