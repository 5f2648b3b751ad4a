// SPDX-License-Identifier: MIT
/* A case from its file to its rows: workers, repetitions, CPU seconds. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cufile_bw.h"
#include "util/clock.h"

#define SETTLE_US 500

int bw_fail(const struct bw_run *run, const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "cufile_bw: %s: ", run->what->name);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	return -1;
}

int bw_compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bw_median(double *values, size_t nr)
{
	qsort(values, nr, sizeof(*values), bw_compare_double);
	return nr % 2 ? values[nr / 2] : (values[nr / 2 - 1] + values[nr / 2]) / 2;
}

static int compare_float(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static double cpu_seconds(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
	       (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

static void advance(struct bw_worker *worker)
{
	worker->last = worker->pos;
	worker->pos += worker->run->what->len;
	if (worker->pos + worker->run->what->len > worker->hi)
		worker->pos = worker->lo;
}

/* On call a case is one of several that wait for each other, and each repetition checks a request, too. */
static unsigned int check_count(const struct bw_run *run)
{
	unsigned int share = run->next ? 4 : 1;
	size_t by_bytes = BW_CHECK_BYTES / share / run->what->len / run->what->nr;

	return by_bytes < BW_CHECK_NR / share ? (unsigned int)by_bytes : BW_CHECK_NR / share;
}

static int check_some(struct bw_worker *worker)
{
	unsigned int nr = check_count(worker->run);

	for (unsigned int i = 0; i < nr && !atomic_load(&worker->run->failed); i++) {
		if (worker->run->what->ops->check(worker))
			return -1;
		advance(worker);
	}
	return 0;
}

static int repeat(struct bw_worker *worker)
{
	const struct bw_case *what = worker->run->what;
	uint64_t before = bl_now_ns(), end = before + worker->run->rep_ns, now;

	worker->ops = 0;
	do {
		if (what->ops->step(worker))
			return -1;
		now = bl_now_ns();
		if (worker->nr_samples < BW_MAX_SAMPLES)
			worker->samples[worker->nr_samples++] = (float)(now - before);
		before = now;
		advance(worker);
		worker->ops += what->nr;
	} while (now < end && !atomic_load_explicit(&worker->run->failed, memory_order_relaxed));
	return 0;
}

static int prepare(struct bw_worker *worker)
{
	struct bw_run *run = worker->run;

	if (run->cuda && run->cuda->cuCtxSetCurrent(run->context))
		return bw_fail(run, "cannot make the context current");
	worker->samples = malloc(BW_MAX_SAMPLES * sizeof(*worker->samples));
	if (!worker->samples)
		return bw_fail(run, "no memory");
	return run->what->ops->open(worker) || check_some(worker) ? -1 : 0;
}

static void meet(struct bw_run *run)
{
	pthread_barrier_wait(&run->start);
}

/* Fails the run for all. */
static void attempt(struct bw_worker *worker, int (*what)(struct bw_worker *worker))
{
	if (!atomic_load(&worker->run->failed) && what(worker))
		atomic_store(&worker->run->failed, true);
}

/*
 * Meets main at every barrier, whatever happens, so that none waits for another for ever. A repetition begins with a request
 * that is not timed: another process may have had file, GPU and CPU since the last one.
 */
static void *work(void *arg)
{
	struct bw_worker *worker = arg;
	struct bw_run *run = worker->run;
	const struct bw_ops *ops = run->what->ops;

	if (prepare(worker))
		atomic_store(&run->failed, true);
	meet(run);
	while (meet(run), !run->ended) {
		attempt(worker, ops->step);
		meet(run);
		meet(run);
		attempt(worker, repeat);
		meet(run);
		meet(run);
		attempt(worker, ops->confirm);
		meet(run);
	}
	ops->close(worker);
	return NULL;
}

static void set_row_times(struct bw_row *row, struct bw_worker *workers)
{
	size_t total = 0, at = 0;
	float *all;

	for (int i = 0; i < row->threads; i++)
		total += workers[i].nr_samples;
	all = malloc((total ? total : 1) * sizeof(*all));
	if (!all || !total) {
		free(all);
		return;
	}
	for (int i = 0; i < row->threads; i++) {
		memcpy(all + at, workers[i].samples, workers[i].nr_samples * sizeof(*all));
		at += workers[i].nr_samples;
	}
	qsort(all, total, sizeof(*all), compare_float);
	row->us[0] = (double)all[total / 2] / 1e3;
	row->us[1] = (double)all[total - 1 - total / 100] / 1e3;
	free(all);
}

/* The kernel adds a thread's time up when the thread sleeps, or at a tick: so all are to sleep by then, helpers too. */
static double cpu_seconds_of_sleepers(void)
{
	usleep(SETTLE_US);
	return cpu_seconds();
}

static void repetition(struct bw_run *run, struct bw_worker *workers, struct bw_row *row, double *gbps, double *cpu)
{
	uint64_t ops = 0, begin;
	double used, ns;

	/* what the repetition before has left in the page cache is not this one's to write out */
	if (run->what->write && run->fd >= 0)
		fdatasync(run->fd);
	meet(run);
	meet(run);
	used = cpu_seconds_of_sleepers();
	begin = bl_now_ns();
	meet(run);
	meet(run);
	ns = (double)(bl_now_ns() - begin);
	used = cpu_seconds_of_sleepers() - used;
	meet(run);
	meet(run);
	for (int t = 0; t < row->threads; t++)
		ops += workers[t].ops;
	row->ops += ops;
	row->checked += run->what->nr * (uint64_t)row->threads;
	*gbps = (double)(ops * row->len) / ns;
	*cpu = ops ? used / ((double)(ops * row->len) / (1 << 30)) : 0;
}

static void all_repetitions(struct bw_run *run, struct bw_worker *workers, struct bw_row *row)
{
	double gbps[BW_MAX_REPS] = { 0 }, cpu[BW_MAX_REPS] = { 0 };

	for (unsigned int i = 0; i < run->reps; i++)
		repetition(run, workers, row, &gbps[i], &cpu[i]);
	row->gbps[0] = bw_median(gbps, run->reps);
	row->gbps[1] = gbps[run->reps - 1];
	row->cpu_gib = bw_median(cpu, run->reps);
	set_row_times(row, workers);
}

/* A row for each, as long as somebody asks for one. */
static void repetitions_on_call(struct bw_run *run, struct bw_worker *workers, struct bw_row *row)
{
	const struct bw_row blank = *row;

	while (run->next(atomic_load(&run->failed) ? NULL : row)) {
		*row = blank;
		for (int t = 0; t < row->threads; t++)
			workers[t].nr_samples = 0;
		repetition(run, workers, row, &row->gbps[0], &row->cpu_gib);
		row->gbps[1] = row->gbps[0];
		set_row_times(row, workers);
	}
}

static void lead(struct bw_run *run, struct bw_worker *workers, struct bw_row *row)
{
	meet(run);
	if (run->next)
		repetitions_on_call(run, workers, row);
	else
		all_repetitions(run, workers, row);
	run->ended = true;
	meet(run);
}

static int start(struct bw_run *run, struct bw_worker *workers, struct bw_row *row)
{
	uint64_t part = run->size / (uint64_t)row->threads / row->len * row->len;
	int err;

	if (pthread_barrier_init(&run->start, NULL, (unsigned int)row->threads + 1))
		return bw_fail(run, "no barrier");
	for (int i = 0; i < row->threads; i++) {
		workers[i] = (struct bw_worker){ .run = run, .index = i, .lo = part * (uint64_t)i };
		workers[i].hi = workers[i].lo + part;
		workers[i].pos = workers[i].lo;
		workers[i].random = run->salt + (uint64_t)i;
		err = pthread_create(&workers[i].thread, NULL, work, &workers[i]);
		if (err) {
			/* those that run wait for the full number */
			fprintf(stderr, "cufile_bw: no thread: %s\n", strerror(err));
			exit(1);
		}
	}
	lead(run, workers, row);
	for (int i = 0; i < row->threads; i++)
		pthread_join(workers[i].thread, NULL);
	pthread_barrier_destroy(&run->start);
	for (int i = 0; i < row->threads; i++)
		free(workers[i].samples);
	return atomic_load(&run->failed) ? -1 : 0;
}

static int open_file(struct bw_run *run)
{
	const struct bw_case *what = run->what;
	CUfileDescr_t descr = { .type = 1 };
	CUfileError_t status;

	run->plain = open(run->path, O_RDWR | O_CLOEXEC);
	run->fd = open(run->path, O_RDWR | O_CLOEXEC | (what->direct ? O_DIRECT : 0));
	if (run->plain < 0 || run->fd < 0)
		return bw_fail(run, "open %s%s: %s", run->path, what->direct ? " with O_DIRECT" : "", strerror(errno));
	if (what->direct ? bw_file_drop(run->plain) : bw_file_warm(run->plain))
		return bw_fail(run, "%s: %s", run->path, strerror(errno));
	if (!what->lib)
		return 0;
	descr.handle.fd = run->fd;
	status = run->lib->cuFileHandleRegister(&run->fh, &descr);
	if (status.err) {
		run->fh = NULL;
		return bw_fail(run, "cuFileHandleRegister of %s: error %d", run->path, status.err);
	}
	return 0;
}

static void close_file(struct bw_run *run)
{
	if (run->fh)
		run->lib->cuFileHandleDeregister(run->fh);
	if (run->fd >= 0)
		close(run->fd);
	if (run->plain >= 0)
		close(run->plain);
}

int bw_case_run(struct bw_run *run, struct bw_row *row)
{
	struct bw_worker workers[BW_MAX_THREADS];
	int ret = 0;

	*row = (struct bw_row){ .name = run->what->name, .len = run->what->len, .threads = run->what->threads };
	row->reps = run->next ? 1 : run->reps;
	row->checked = (uint64_t)check_count(run) * run->what->nr * (uint64_t)row->threads;
	run->fd = -1;
	run->plain = -1;
	run->fh = NULL;
	run->ended = false;
	atomic_store(&run->failed, false);
	if (run->what->file)
		ret = open_file(run);
	if (!ret)
		ret = start(run, workers, row);
	close_file(run);
	return ret;
}
