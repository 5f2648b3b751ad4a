// SPDX-License-Identifier: MIT
/* A case from its file to its row: workers, repetitions, CPU seconds. */
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

static unsigned int check_count(const struct bw_case *what)
{
	size_t by_bytes = BW_CHECK_BYTES / what->len / what->nr;

	return by_bytes < BW_CHECK_NR ? (unsigned int)by_bytes : BW_CHECK_NR;
}

static int check_some(struct bw_worker *worker)
{
	unsigned int nr = check_count(worker->run->what);

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

/* Meets main at every barrier, whatever happens, so that none waits for another for ever. */
static void *work(void *arg)
{
	struct bw_worker *worker = arg;
	struct bw_run *run = worker->run;

	if (prepare(worker))
		atomic_store(&run->failed, true);
	pthread_barrier_wait(&run->start);
	for (unsigned int i = 0; i < run->reps; i++) {
		pthread_barrier_wait(&run->start);
		if (!atomic_load(&run->failed) && repeat(worker))
			atomic_store(&run->failed, true);
		pthread_barrier_wait(&run->start);
	}
	if (!atomic_load(&run->failed) && run->what->ops->confirm(worker))
		atomic_store(&run->failed, true);
	run->what->ops->close(worker);
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

static void lead(struct bw_run *run, struct bw_worker *workers, struct bw_row *row)
{
	double gbps[BW_MAX_REPS] = { 0 }, cpu[BW_MAX_REPS] = { 0 };

	pthread_barrier_wait(&run->start);
	for (unsigned int i = 0; i < run->reps; i++) {
		uint64_t ops = 0, begin;
		double used, ns;

		/* what the repetition before has left in the page cache is not this one's to write out */
		if (run->what->write && run->fd >= 0)
			fdatasync(run->fd);
		used = cpu_seconds();
		begin = bl_now_ns();
		pthread_barrier_wait(&run->start);
		pthread_barrier_wait(&run->start);
		ns = (double)(bl_now_ns() - begin);
		used = cpu_seconds() - used;
		for (int t = 0; t < row->threads; t++)
			ops += workers[t].ops;
		row->ops += ops;
		gbps[i] = (double)(ops * row->len) / ns;
		cpu[i] = ops ? used / ((double)(ops * row->len) / (1 << 30)) : 0;
	}
	row->gbps[0] = bw_median(gbps, run->reps);
	row->gbps[1] = gbps[run->reps - 1];
	row->cpu_gib = bw_median(cpu, run->reps);
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
	set_row_times(row, workers);
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
	row->reps = run->reps;
	row->checked = (uint64_t)(check_count(run->what) + 1) * run->what->nr * (uint64_t)row->threads;
	run->fd = -1;
	run->plain = -1;
	run->fh = NULL;
	atomic_store(&run->failed, false);
	if (run->what->file)
		ret = open_file(run);
	if (!ret)
		ret = start(run, workers, row);
	close_file(run);
	return ret;
}
