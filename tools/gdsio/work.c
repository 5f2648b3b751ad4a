// SPDX-License-Identifier: MIT
/* A worker: its memory, its requests one after the other, and what they took. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/numa.h"
#include "common/stats.h"
#include "gdsio/gdsio.h"

static uint64_t next_random(struct gdsio_worker *worker)
{
	worker->random = worker->random * 6364136223846793005U + 1442695040888963407U;
	return worker->random >> 24;
}

static bool is_random(const struct gdsio_options *opt)
{
	return opt->io == IO_RANDREAD || opt->io == IO_RANDWRITE;
}

/* Sizes from io_min to io_max in turn. */
static size_t next_len(struct gdsio_worker *worker)
{
	const struct gdsio_options *opt = worker->run->opt;
	uint64_t kinds = opt->io_step ? (opt->io_max - opt->io_min) / opt->io_step + 1 : 1;

	return (size_t)(opt->io_min + worker->ops % kinds * opt->io_step);
}

static void aim(struct gdsio_worker *worker, struct gdsio_lane *lane, unsigned int slot, struct gdsio_request *req)
{
	const struct gdsio_options *opt = worker->run->opt;
	uint64_t left = lane->size - lane->done;

	*req = (struct gdsio_request){ .lane = lane, .len = next_len(worker), .off = slot * (size_t)opt->io_max };
	if (is_random(opt)) {
		if (req->len > lane->size)
			req->len = lane->size;
		req->pos = lane->lo + next_random(worker) % ((lane->size - req->len) / opt->align + 1) * opt->align;
	} else {
		if (req->len > left)
			req->len = left;
		req->pos = lane->lo + lane->done;
	}
	lane->done += req->len;
}

/* The requests of the next step; 0: every lane has come to its end. */
static unsigned int plan(struct gdsio_worker *worker, struct gdsio_request *reqs)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < worker->nr_lanes; i++) {
		struct gdsio_lane *lane = &worker->lanes[i];

		if (lane->done >= lane->size) {
			if (worker->run->opt->seconds <= 0)
				continue;
			lane->done = 0;
		}
		aim(worker, lane, i, &reqs[nr++]);
	}
	return nr;
}

static void fill_random(struct gdsio_worker *worker, size_t len)
{
	unsigned char *to = worker->check;

	for (size_t i = 0; i < len; i++)
		to[i] = (unsigned char)next_random(worker);
}

/* What a step writes. */
static int load(struct gdsio_worker *worker, const struct gdsio_request *reqs, unsigned int nr)
{
	const struct gdsio_run *run = worker->run;
	int ret = 0;

	if (!run->verify && !run->opt->refill)
		return 0;
	for (unsigned int i = 0; i < nr && !ret; i++) {
		if (run->verify)
			gdsio_pattern(worker->check, reqs[i].len, reqs[i].pos);
		else
			fill_random(worker, reqs[i].len);
		ret = gdsio_buffer_put(&worker->buffer, reqs[i].off, worker->check, reqs[i].len);
	}
	return ret;
}

/* What a step is to read is in no buffer yet. */
static int poison(struct gdsio_worker *worker, const struct gdsio_request *reqs, unsigned int nr)
{
	int ret = 0;

	for (unsigned int i = 0; i < nr && !ret; i++) {
		gdsio_pattern(worker->check, reqs[i].len, ~reqs[i].pos);
		ret = gdsio_buffer_put(&worker->buffer, reqs[i].off, worker->check, reqs[i].len);
	}
	return ret;
}

static int compare(struct gdsio_worker *worker, const struct gdsio_request *reqs, unsigned int nr)
{
	int ret = 0;

	for (unsigned int i = 0; i < nr && !ret; i++) {
		size_t at;

		ret = gdsio_buffer_get(&worker->buffer, reqs[i].off, worker->check, reqs[i].len);
		at = ret ? reqs[i].len : gdsio_pattern_differs(worker->check, reqs[i].len, reqs[i].pos);
		if (at != reqs[i].len)
			ret = tool_fail(EILSEQ, "data verification failed: %s, offset %llu", reqs[i].lane->path,
					(unsigned long long)reqs[i].pos + at);
	}
	return ret;
}

static int step(struct gdsio_worker *worker, const struct gdsio_request *reqs, unsigned int nr)
{
	struct gdsio_run *run = worker->run;
	uint64_t begin, ns;
	int ret;

	ret = run->write ? load(worker, reqs, nr) : run->verify ? poison(worker, reqs, nr) : 0;
	if (ret)
		return ret;
	begin = tool_now_ns();
	ret = run->way->move(worker, reqs, nr);
	if (!ret && run->verify && run->way->drain)
		ret = run->way->drain(worker);
	if (ret)
		return ret;
	ns = tool_now_ns() - begin;
	worker->io_ns += ns;
	worker->lat_ns += ns * nr;
	worker->ops += nr;
	for (unsigned int i = 0; i < nr; i++)
		worker->bytes += reqs[i].len;
	return run->verify && !run->write ? compare(worker, reqs, nr) : 0;
}

/* 0: once. */
static uint64_t limit_ns(const struct gdsio_options *opt)
{
	uint64_t ns = (uint64_t)(opt->seconds * 1e9);

	return opt->seconds > 0 && !ns ? 1 : ns;
}

static int repeat(struct gdsio_worker *worker)
{
	struct gdsio_run *run = worker->run;
	struct gdsio_request *reqs = calloc(worker->nr_lanes, sizeof(*reqs));
	uint64_t begin = tool_now_ns(), limit = limit_ns(run->opt);
	bool more = true;
	unsigned int nr;
	int ret = 0;

	if (!reqs)
		return tool_fail(ENOMEM, "out of memory");
	/* one step at least, however short the time: there is nothing to say of none */
	while (!ret && more && worker->ops < worker->max_ops && !atomic_load_explicit(&run->failed, memory_order_relaxed)) {
		nr = plan(worker, reqs);
		if (nr)
			ret = step(worker, reqs, nr);
		more = nr && (!limit || tool_now_ns() - begin < limit);
	}
	if (!ret && run->way->drain)
		ret = run->way->drain(worker);
	free(reqs);
	return ret;
}

static int first_fill(struct gdsio_worker *worker)
{
	size_t len = (size_t)worker->run->opt->io_max;
	int ret = 0;

	if (!worker->run->write)
		return 0;
	if (worker->run->opt->random_fill)
		fill_random(worker, len);
	else
		memset(worker->check, 0xab, len);
	for (unsigned int i = 0; i < worker->nr_lanes && !ret; i++)
		ret = gdsio_buffer_put(&worker->buffer, i * len, worker->check, len);
	return ret;
}

static int prepare(struct gdsio_worker *worker)
{
	const struct gdsio_run *run = worker->run;
	size_t len = (size_t)run->opt->io_max;
	int ret = 0;

	if (worker->job->node >= 0)
		ret = tool_numa_bind(worker->job->node);
	if (!ret && worker->device)
		ret = tool_cuda(worker->device->cu->cuCtxSetCurrent(worker->device->ctx), "cuCtxSetCurrent");
	if (ret)
		return ret;
	if (posix_memalign(&worker->check, 4096, (len + 4095) / 4096 * 4096)) {
		worker->check = NULL;
		return tool_fail(ENOMEM, "out of memory");
	}
	ret = gdsio_buffer_open(worker->device, worker->job->mem, len * worker->nr_lanes, &worker->buffer);
	if (ret)
		return ret;
	if (run->way->lib && !run->opt->skip_register) {
		ret = tool_cufile_status(run->lib->cuFileBufRegister((void *)(uintptr_t)worker->buffer.addr,
								     worker->buffer.size, 0),
					 "cuFileBufRegister");
		if (ret)
			return ret;
		worker->registered = true;
	}
	ret = run->way->open ? run->way->open(worker) : 0;
	return ret ? ret : first_fill(worker);
}

static void release(struct gdsio_worker *worker)
{
	if (worker->run->way->close)
		worker->run->way->close(worker);
	if (worker->registered)
		worker->run->lib->cuFileBufDeregister((void *)(uintptr_t)worker->buffer.addr);
	gdsio_buffer_close(&worker->buffer);
	free(worker->check);
	worker->check = NULL;
}

static void give_up(struct gdsio_run *run)
{
	pthread_mutex_lock(&run->lock);
	if (!atomic_exchange(&run->failed, true))
		snprintf(run->why, sizeof(run->why), "%s", tool_why());
	pthread_mutex_unlock(&run->lock);
}

void *gdsio_work(void *arg)
{
	struct gdsio_worker *worker = arg;
	struct gdsio_run *run = worker->run;

	if (prepare(worker))
		give_up(run);
	/* ready, go, done: main takes the time between the last two */
	pthread_barrier_wait(&run->start);
	pthread_barrier_wait(&run->start);
	if (!atomic_load(&run->failed) && repeat(worker))
		give_up(run);
	pthread_barrier_wait(&run->start);
	release(worker);
	return NULL;
}
