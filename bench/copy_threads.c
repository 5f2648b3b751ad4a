// SPDX-License-Identifier: MIT
#include "copy_threads.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

/* All threads and the one that takes the time meet at @start and at @done. */
struct crew {
	pthread_barrier_t start;
	pthread_barrier_t done;
	copy_fn fn; /* NULL: go home; changed between a done and a start only */
	size_t len;
};

struct worker {
	struct crew *crew;
	pthread_t thread;
	char *dst;
	const char *src;
};

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct crew *crew = worker->crew;

	for (;;) {
		pthread_barrier_wait(&crew->start);
		if (!crew->fn)
			return NULL;
		crew->fn(worker->dst, worker->src, crew->len);
		pthread_barrier_wait(&crew->done);
	}
}

static double round_ns(struct crew *crew, copy_fn fn)
{
	uint64_t start;

	crew->fn = fn;
	pthread_barrier_wait(&crew->start);
	start = copy_now_ns();
	pthread_barrier_wait(&crew->done);
	return (double)(copy_now_ns() - start);
}

static void run_rounds(struct crew *crew, struct copy_entry *entries, size_t nr, double *samples, size_t rounds)
{
	/* one round of each that does not count: caches, page tables, clock frequency */
	for (size_t i = 0; i < nr; i++)
		round_ns(crew, entries[i].fn);
	for (size_t round = 0; round < rounds; round++) {
		for (size_t i = 0; i < nr; i++) {
			size_t who = (i + round) % nr;

			samples[who * rounds + round] = round_ns(crew, entries[who].fn);
		}
	}
	for (size_t i = 0; i < nr; i++)
		copy_summarize(&entries[i], samples + i * rounds, rounds);
}

static void send_home(struct crew *crew, struct worker *workers, size_t threads)
{
	crew->fn = NULL;
	pthread_barrier_wait(&crew->start);
	for (size_t i = 0; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
}

/* A crew that is not complete can never pass a barrier: give up, the caller ends the program. */
static int hire(struct crew *crew, struct worker *workers, size_t threads, char *dst, const char *src)
{
	for (size_t i = 0; i < threads; i++) {
		int err;

		workers[i] = (struct worker){.crew = crew, .dst = dst + i * crew->len, .src = src + i * crew->len};
		err = pthread_create(&workers[i].thread, NULL, work, &workers[i]);
		if (err)
			return -err;
	}
	return 0;
}

int copy_threads_measure(struct copy_entry *entries, size_t nr, size_t threads, void *dst, const void *src, size_t len,
			 size_t rounds)
{
	double *samples = malloc(nr * rounds * sizeof(*samples));
	struct worker *workers = calloc(threads, sizeof(*workers));
	struct crew *crew = calloc(1, sizeof(*crew));
	int ret = -ENOMEM;

	if (!samples || !workers || !crew)
		goto free_all;
	crew->len = len / threads;
	pthread_barrier_init(&crew->start, NULL, (unsigned int)threads + 1);
	pthread_barrier_init(&crew->done, NULL, (unsigned int)threads + 1);
	ret = hire(crew, workers, threads, dst, src);
	if (ret) {
		/* threads that were made wait at the barrier and still use the crew */
		free(samples);
		return ret;
	}
	run_rounds(crew, entries, nr, samples, rounds);
	send_home(crew, workers, threads);
	pthread_barrier_destroy(&crew->done);
	pthread_barrier_destroy(&crew->start);
free_all:
	free(crew);
	free(workers);
	free(samples);
	return ret;
}
