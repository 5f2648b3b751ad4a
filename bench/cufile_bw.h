/* SPDX-License-Identifier: MIT */
/*
 * cufile_bw.h - parts of cufile_bw: what is measured (cases), by whom (workers), and what comes out (rows)
 *
 * A case is one kind of request at one size and number of threads. Its workers are threads that live as long as the
 * case; each has a buffer and a part of the file of its own. Requests are checked byte by byte before the clock starts,
 * and the last one of each repetition after it has stopped.
 */
#ifndef BENCH_CUFILE_BW_H
#define BENCH_CUFILE_BW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cufile_lib.h"
#include "gpu/cuda.h"

#define BW_BATCH	128
#define BW_MAX_THREADS	64
#define BW_MAX_REPS	101
#define BW_MAX_SAMPLES	(1U << 17)
#define BW_CHECK_NR	64
#define BW_FIRST_ROWS	6
#define BW_CHECK_BYTES	(64UL << 20)

struct bw_worker;
struct bw_row;

/**
 * struct bw_ops - a kind of request; functions return 0, or -1 with the reason on stderr
 * @open:    make and register what a worker needs
 * @step:    one request, or one batch, at @pos of the worker
 * @check:   one request with every byte compared
 * @confirm: compare the bytes of the last timed request
 * @close:   undo @open, whatever it had reached
 */
struct bw_ops {
	int (*open)(struct bw_worker *worker);
	int (*step)(struct bw_worker *worker);
	int (*check)(struct bw_worker *worker);
	int (*confirm)(struct bw_worker *worker);
	void (*close)(struct bw_worker *worker);
};

/**
 * struct bw_case - what is measured
 * @name:    as in --case
 * @ops:     kind of request
 * @len:     bytes of a request
 * @threads: callers at a time
 * @nr:      requests of a step: 1, or entries of a batch
 * @file:    goes to a file
 * @lib:     goes through the library
 * @direct:  file opened with O_DIRECT
 * @write:   memory to file
 */
struct bw_case {
	char name[48];
	const struct bw_ops *ops;
	size_t len;
	int threads;
	unsigned int nr;
	bool file;
	bool lib;
	bool direct;
	bool write;
};

/**
 * struct bw_run - the run of a case
 * @what:    the case
 * @lib:     library
 * @cuda:    driver library
 * @context: GPU's primary context
 * @path:    file read or written
 * @size:    its bytes
 * @salt:    of the bytes that are written, another one in each run
 * @fd:      file as the case wants it, shared by the workers
 * @plain:   same file without O_DIRECT, for comparisons
 * @fh:      its handle
 * @rep_ns:  length of a repetition
 * @reps:    repetitions
 * @next:    NULL, or who says whether there is to be a repetition; gets the row of the one before, which has no requests yet
 *           at first, or NULL: the case has failed
 * @start:   workers and main meet here before and after each part of a repetition
 * @ended:   there is no further one; written before, read after a meeting
 * @failed:  a worker has given up; the others stop
 */
struct bw_run {
	const struct bw_case *what;
	const struct cufile_lib *lib;
	const struct bl_cuda *cuda;
	CUcontext context;
	const char *path;
	uint64_t size;
	uint64_t salt;
	int fd;
	int plain;
	CUfileHandle_t fh;
	uint64_t rep_ns;
	unsigned int reps;
	bool (*next)(const struct bw_row *row);
	pthread_barrier_t start;
	bool ended;
	atomic_bool failed;
};

/**
 * struct bw_worker - a caller
 * @run:     what it works for
 * @index:   0 ... threads - 1
 * @lo:      its part of the file
 * @hi:      see @lo
 * @pos:     where the next request goes
 * @last:    where the last one went
 * @dev:     buffer in GPU memory, 0: none
 * @registered: @dev is registered with the library
 * @host:    buffer in host memory, for comparisons or the side of a bare limit
 * @seen:    second one
 * @pinned:  @host is CUDA's
 * @stream:  of bare copies
 * @batch:   handle of the batch, and its entries
 * @pattern: offset whose bytes the buffer of a write has
 * @random:  state of the positions of a batch
 * @ops:     requests of the repetition
 * @samples: ns of single steps
 */
struct bw_worker {
	struct bw_run *run;
	int index;
	uint64_t lo;
	uint64_t hi;
	uint64_t pos;
	uint64_t last;
	CUdeviceptr dev;
	bool registered;
	void *host;
	void *seen;
	bool pinned;
	CUstream stream;
	CUfileBatchHandle_t batch;
	CUfileIOParams_t *params;
	CUfileIOEvents_t *events;
	uint64_t pattern;
	uint64_t random;
	uint64_t ops;
	float *samples;
	size_t nr_samples;
	pthread_t thread;
};

/**
 * struct bw_row - a result
 * @name:    case
 * @len:     bytes of a request
 * @threads: callers
 * @reps:    repetitions
 * @ops:     requests in all of them
 * @gbps:    10^9 bytes per second: median and best of the repetitions; 0: not a matter of bandwidth
 * @us:      of one step (a request, or a batch) as its caller sees it: median and 99th percentile
 * @cpu_gib: CPU seconds of the whole process per GiB, median of the repetitions; 0: not measured
 * @checked: requests whose bytes were compared
 */
struct bw_row {
	const char *name;
	size_t len;
	int threads;
	unsigned int reps;
	uint64_t ops;
	double gbps[2];
	double us[2];
	double cpu_gib;
	uint64_t checked;
};

/* The cases in their order; *nr_p how many. */
const struct bw_case *bw_cases(size_t *nr_p);

/* Measure a case; 0 or -1. @row is filled on success; with @run->next, the last repetition's. */
int bw_case_run(struct bw_run *run, struct bw_row *row);

/**
 * bw_serve() - Measure what is asked for on stdin, line by line, for who compares several processes in turn
 * @run:     with @run->rep_ns, the length of a repetition
 * @prepare: called with each case before it runs: sets @run->path; false: it cannot be run here
 *
 * "case NAME" opens a case, and checks its requests: "# ready" on stdout. "slice" is a repetition: its row. "end" closes the
 * case, as every other line does: "# ended". "quit" with no case open, or the end of stdin, ends it all. "# failed" stands
 * for any of these answers; the reason is on stderr, and no case is open then.
 * Return: 0, or -1: a case has failed, or a line with no case open was none of these.
 */
int bw_serve(struct bw_run *run, bool (*prepare)(struct bw_run *run, const struct bw_case *what));

/* Say what failed in a case and why; returns -1. */
int bw_fail(const struct bw_run *run, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/**
 * bw_first() - Time the first calls of a process, each time in a new one
 * @lib_path: library
 * @path:     file, at least 8 KiB
 * @ordinal:  GPU
 * @reps:     processes
 * @rows:     receives BW_FIRST_ROWS rows
 *
 * CUDA must not be in use in this process yet. Return: 0 or -1.
 */
int bw_first(const char *lib_path, const char *path, int ordinal, unsigned int reps, struct bw_row *rows);

/* Bytes that belong at an offset. */
void bw_pattern(void *buf, size_t len, uint64_t off, uint64_t salt);
/* Offset of the first byte that is another one, or @len. */
size_t bw_pattern_differs(const void *buf, size_t len, uint64_t off, uint64_t salt);

/* Make sure that a file has the bytes of salt 0, all @size of them; 0 or -1. */
int bw_file_make(const char *path, uint64_t size);
/* Read all of it so that it is in the page cache, or write it out and drop it from there; 0 or -1. */
int bw_file_warm(int fd);
int bw_file_drop(int fd);

/* Output: rows as CSV, or one JSON object. */
void bw_rows_begin(bool json, const char *lib, int version, const char *gpu, const char *file, uint64_t size);
void bw_row_put(const struct bw_row *row);
void bw_rows_end(void);

/* Median of values, which are sorted in place; @nr > 0. */
double bw_median(double *values, size_t nr);
int bw_compare_double(const void *a, const void *b);

/* CUDA's primary context of a GPU, made current in this thread; 0 or -1 with the reason on stderr. */
int bw_gpu_open(int ordinal, CUcontext *context_p, char *name, size_t size);

extern const struct bw_ops bw_cufile_read, bw_cufile_write, bw_cufile_batch;
extern const struct bw_ops bw_host_read, bw_host_write, bw_copy_h2d, bw_copy_d2h;

#endif
