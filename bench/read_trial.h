/* SPDX-License-Identifier: MIT */
/* read_trial.h - what read_trial measures on */
#ifndef BENCH_READ_TRIAL_H
#define BENCH_READ_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "barlane.h"
#include "common/device.h"
#include "common/memory.h"

#define READ_MAX    (1UL << 20)
#define NR_MARKS    4096U
#define MARK_STRIDE 256UL /* bytes from number to number, so that one can be brought with up to so many behind it */
#define NO_WORD	    0xffffffffU /* no number has this value */

/* How a read is begun, and how its end is seen. */
enum way {
	SYNC,	 /* cuStreamSynchronize(): what the others are compared with */
	QUERY,	 /* cuStreamQuery() is asked */
	WORD,	 /* a word that cuStreamWriteValue32() writes is polled */
	TOKEN_4, /* a word that a second copy brings, of so many bytes */
	TOKEN_16,
	TOKEN_32,
	TOKEN_64,
	TOKEN_128,
	TOKEN_PAUSE, /* TOKEN_4, with a pause between looks */
	TOKEN_FENCE, /* TOKEN_4, with a load fence between looks */
	TOKEN_HIGH,  /* TOKEN_4, in a stream of the highest priority */
	TOKEN_TURNS, /* TOKEN_4, in two streams by turns */
	TOKEN_PLAIN, /* TOKEN_4, from memory that is not pinned and has no attributes */
	TOKEN_SLOW,  /* TOKEN_4, with the second copy posted 1.5 us later: whether it is what one waits for */
	TOKEN_IDLE,  /* TOKEN_4, with 10 us of rest in front, which are not counted; */
	SYNC_IDLE,   /* SYNC so, */
	WORD_IDLE,   /* and WORD */
	LAND_LAST,   /* no end is seen but that of the last word, which proves nothing: what could be reached */
	TOKEN_UVA,   /* TOKEN_4, by cuMemcpyAsync() */
	TOKEN_ATTR,  /* TOKEN_4, with the questions that bl_copy() asks the driver: whose memory it is, */
	TOKEN_MODE,  /* the capture mode there and back, */
	TOKEN_CTX,   /* the current context, */
	TOKEN_ALL,   /* all of them */
	TOKEN_LATE,  /* all of them, what can be behind the transfers there, and a pause between looks */
	WORD_PAUSE,  /* WORD, with a pause between looks */
	SET,	     /* cuMemsetD32Async() sets the word */
	HALVES,	     /* two halves in two streams, each with its TOKEN_4 */
	HALVES_ONE,  /* two halves in one stream, TOKEN_4 */
	BATCH,	     /* cuMemcpyBatchAsync() of one copy, TOKEN_4 */
	BATCH_2,     /* of two halves */
	GRAPH,	     /* a graph of both copies that was made before, so with fixed addresses */
	OURS_CE,     /* bl_copy() */
	OURS_AUTO,
	NR_WAYS,
};

/* What the driver has and the product does not use; NULL where a driver lacks it. */
struct read_more {
	CUresult (*stream_with_priority)(CUstream *stream, unsigned int flags, int priority);
	CUresult (*copy)(CUdeviceptr dst, CUdeviceptr src, size_t len, CUstream stream);
	CUresult (*set)(CUdeviceptr dst, unsigned int value, size_t nr, CUstream stream);
	CUresult (*batch)(CUdeviceptr *dst, CUdeviceptr *src, size_t *len, size_t nr, void *attrs, size_t *indices,
			  size_t nr_attrs, CUstream stream);
	CUresult (*instantiate)(void **exec, CUgraph graph, unsigned long long flags);
	CUresult (*launch)(void *exec, CUstream stream);
	CUresult (*context_id)(CUcontext context, unsigned long long *id);
};

/**
 * struct read_bed - one GPU and what is read from it
 * @cu:     driver library
 * @more:   more of it
 * @device: GPU
 * @mem:    its memory, READ_MAX bytes, pinned and mapped
 * @pin:    its pin
 * @id:     BUFFER_ID of it
 * @plain:  as much GPU memory with the same bytes, not pinned
 * @marks:  NR_MARKS numbers in GPU memory, each at MARK_STRIDE bytes behind the last
 * @dst:    pinned host memory, READ_MAX bytes
 * @words:  pinned host memory, a page: what is polled
 * @model:  what the memory holds
 * @stream: non-blocking
 * @high:   one of the highest priority, or @stream
 * @others: two more
 */
struct read_bed {
	const struct bl_cuda *cu;
	struct read_more more;
	struct tool_device device;
	struct tool_mem mem;
	bl_pin_t pin;
	uint64_t id;
	CUdeviceptr plain;
	CUdeviceptr marks;
	unsigned char *dst;
	uint32_t *words;
	unsigned char *model;
	CUstream stream;
	CUstream high;
	CUstream others[2];
};

extern struct read_bed bed;

void must(CUresult err, const char *what);

/* Wait until a word has a value. */
void await_word(const uint32_t *word, uint32_t value);

/* A read of @len bytes to bed.dst, complete when it returns. */
void by_way(enum way way, size_t len);

/* Do nothing for some time. */
void read_rest(uint64_t ns);

/* What the calls of a copy take, in a row and within a copy. */
void show_calls(void);

/* Which of them a capture of the same or of another thread objects to. */
void show_captures(void);

#endif
