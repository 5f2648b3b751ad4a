/* SPDX-License-Identifier: MIT */
/*
 * gdsio.h - parts of gdsio: options, jobs, workers, ways to move bytes, results
 *
 * A job is a set of files (or one), a GPU and a number of workers. A worker is a thread with a buffer; it moves steps: one
 * request, or a batch of them. Each request of a step goes to a lane of its own: a file, or a part of one.
 */
#ifndef TOOLS_GDSIO_GDSIO_H
#define TOOLS_GDSIO_GDSIO_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/cufile.h"
#include "common/device.h"
#include "common/memory.h"

#define GDSIO_JOBS    32
#define GDSIO_WORKERS 1024
#define GDSIO_DEPTH   GDSIO_WORKERS /* of batches: -w is either */

enum gdsio_xfer {
	XFER_GPUD,	 /* the library, one request at a time */
	XFER_CPUONLY,	 /* file and host memory alone */
	XFER_CPU_GPU,	 /* pread, then a copy */
	XFER_CPU_ASYNC_GPU, /* the same, the copy of one request beside the read of the next */
	XFER_CPU_CACHED_GPU, /* as CPU_GPU, through the page cache */
	XFER_GPUD_ASYNC, /* the library, in the order of a stream */
	XFER_BATCH,	 /* the library's batches */
	XFER_BATCH_STREAM, /* several requests in a stream, then a wait for all */
	XFER_NR,
};

enum gdsio_mem { MEM_CUDA, MEM_CUMEM, MEM_HOSTALLOC, MEM_MALLOC, MEM_MMAP, MEM_NR };

enum gdsio_io { IO_READ, IO_WRITE, IO_RANDREAD, IO_RANDWRITE, IO_NR };

/**
 * struct gdsio_job - files, a GPU, workers
 * @file:    one file, NULL: @dir
 * @dir:     a file gdsio.N for each worker, or each entry of a batch
 * @gpu:     CUDA ordinal
 * @node:    NUMA node to run on, -1 any
 * @workers: threads; entries of a batch with XFER_BATCH and XFER_BATCH_STREAM
 * @mem:     kind of memory
 */
struct gdsio_job {
	const char *file;
	const char *dir;
	int gpu;
	int node;
	unsigned int workers;
	enum gdsio_mem mem;
};

/**
 * struct gdsio_options - the command line, or the file in its place
 * @lib:      libcufile, NULL: the loader's
 * @jobs:     what to work on
 * @nr_jobs:  how many
 * @xfer:     way of the bytes
 * @io:       direction and order
 * @size:     bytes of a file (@dir), or of the part of @file that is used
 * @start:    offset where that begins
 * @io_min:   bytes of a request, at least
 * @io_max:   at most
 * @io_step:  between sizes, which are taken in turn; 0: @io_min only
 * @seconds:  go round for so long, 0: once
 * @seed:     of random offsets
 * @align:    multiple that random offsets are of
 * @verify:   compare bytes; a write is followed by a read
 * @skip_register: buffers are not registered
 * @random_fill: buffers of writes have random bytes
 * @refill:   and new ones for each request
 * @json:     result as JSON as well: file, "-" stdout in place of the text; NULL none
 */
struct gdsio_options {
	const char *lib;
	struct gdsio_job jobs[GDSIO_JOBS];
	unsigned int nr_jobs;
	enum gdsio_xfer xfer;
	enum gdsio_io io;
	uint64_t size;
	uint64_t start;
	uint64_t io_min;
	uint64_t io_max;
	uint64_t io_step;
	double seconds;
	uint64_t seed;
	uint64_t align;
	bool verify;
	bool skip_register;
	bool random_fill;
	bool refill;
	const char *json;
};

/* Where a request goes: a file or a part of one. */
struct gdsio_lane {
	char path[4096];
	int fd;
	CUfileHandle_t fh;
	uint64_t lo;
	uint64_t size;
	uint64_t done;
	bool ended;
};

/* A request of the step under way. */
struct gdsio_request {
	struct gdsio_lane *lane;
	uint64_t pos;
	size_t len;
	size_t off; /* in the buffer */
};

struct gdsio_worker;

/**
 * struct gdsio_way - a way to move bytes
 * @name:  as in the result
 * @lib:   needs the library
 * @gpu:   needs a GPU
 * @direct: opens files with O_DIRECT
 * @deep:  a step has several requests
 * @open:  what a worker needs beyond its buffer; NULL: nothing
 * @move:  carry a step out: every request whole, or an error
 * @drain: wait for what @move has left under way; NULL: it leaves nothing
 * @close: undo @open; NULL: nothing
 */
struct gdsio_way {
	const char *name;
	bool lib, gpu, direct, deep;
	int (*open)(struct gdsio_worker *worker);
	int (*move)(struct gdsio_worker *worker, const struct gdsio_request *reqs, unsigned int nr);
	int (*drain)(struct gdsio_worker *worker);
	void (*close)(struct gdsio_worker *worker);
};

extern const struct gdsio_way gdsio_ways[XFER_NR];

/* Of ways with several requests in a step, deep.c. */
int gdsio_batch_open(struct gdsio_worker *worker);
int gdsio_batch_move(struct gdsio_worker *worker, const struct gdsio_request *reqs, unsigned int nr);
void gdsio_batch_close(struct gdsio_worker *worker);
int gdsio_stream_open(struct gdsio_worker *worker);
int gdsio_stream_move(struct gdsio_worker *worker, const struct gdsio_request *reqs, unsigned int nr);
void gdsio_stream_close(struct gdsio_worker *worker);

/**
 * struct gdsio_buffer - memory of a worker
 * @kind:  where it is from
 * @addr:  its address; of host memory a pointer
 * @size:  bytes
 * @mem:   GPU memory
 * @host:  CPU's view: the memory itself, or NULL
 */
struct gdsio_buffer {
	enum gdsio_mem kind;
	uint64_t addr;
	size_t size;
	struct tool_mem mem;
	void *host;
	const struct bl_cuda *cu;
};

int gdsio_buffer_open(const struct tool_device *device, enum gdsio_mem kind, size_t size, struct gdsio_buffer *buffer);
void gdsio_buffer_close(struct gdsio_buffer *buffer);
/* Copy into and out of it, complete when they return. 0 or -errno. */
int gdsio_buffer_put(const struct gdsio_buffer *buffer, size_t off, const void *from, size_t len);
int gdsio_buffer_get(const struct gdsio_buffer *buffer, size_t off, void *to, size_t len);

/**
 * struct gdsio_run - one pass over the jobs, reading or writing
 * @failed: a worker has given up, and why
 */
struct gdsio_run {
	const struct gdsio_options *opt;
	const struct gdsio_way *way;
	const struct tool_cufile *lib;
	bool write;
	bool verify;
	pthread_barrier_t start;
	atomic_bool failed;
	pthread_mutex_t lock;
	char why[512];
};

/**
 * struct gdsio_worker - a thread
 * @stage:  pinned or plain host memory between file and GPU, two halves
 * @check:  host memory for comparisons
 * @own:    what the way keeps
 * @random: state of offsets
 * @max_ops: requests to do at most
 * @ops:    requests done
 * @bytes:  bytes of them
 * @io_ns:  time in requests, the sum
 * @lat_ns: the same, counted once per request of a step
 */
struct gdsio_worker {
	struct gdsio_run *run;
	const struct gdsio_job *job;
	const struct tool_device *device;
	struct gdsio_lane *lanes;
	unsigned int nr_lanes;
	struct gdsio_buffer buffer;
	bool registered;
	void *stage;
	void *check;
	void *own;
	CUstream stream;
	uint64_t random;
	uint64_t turn;
	uint64_t max_ops;
	uint64_t ops;
	uint64_t bytes;
	uint64_t io_ns;
	uint64_t lat_ns;
	pthread_t thread;
};

/* Thread of a worker; meets main at run->start after its preparations. */
void *gdsio_work(void *arg);

/**
 * struct gdsio_result - what a pass gave
 * @threads: workers
 * @depth:   requests of a step, 0: no batches
 * @want:    bytes of the data set
 */
struct gdsio_result {
	const struct gdsio_way *way;
	enum gdsio_io io;
	unsigned int threads;
	unsigned int depth;
	uint64_t bytes;
	uint64_t want;
	uint64_t io_size;
	uint64_t ops;
	double seconds;
	double lat_us;
};

/* Read the command line; ends the program when it is wrong. */
void gdsio_options_parse(int argc, char **argv, struct gdsio_options *opt);
/* Sizes of requests, SIZE or MIN:MAX:STEP; ends the program when they are none. */
void gdsio_options_sizes(const char *option, const char *text, struct gdsio_options *opt);
/* Read a file of options in its place; ends the program when it is wrong. */
void gdsio_jobfile_read(const char *path, struct gdsio_options *opt);

/* The line of a result, as gdsio has it. */
void gdsio_result_print(const struct gdsio_result *result, FILE *out);

/* Bytes that a verifying write leaves at an offset, whatever wrote them. */
void gdsio_pattern(void *buf, size_t len, uint64_t pos);
/* Offset of the first other byte, or @len. */
size_t gdsio_pattern_differs(const void *buf, size_t len, uint64_t pos);

#endif
