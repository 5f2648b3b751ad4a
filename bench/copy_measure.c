// SPDX-License-Identifier: MIT
#include "copy_measure.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_SAMPLES 20000UL
#define MIN_ROUNDS  9
/* A batch is about this long, so that a round is short against what disturbs a machine. */
#define BATCH_NS  20000.0
#define BATCH_MAX 64UL
/* Copies shorter than this are timed in groups about this long. */
#define GROUP_NS  30000.0
#define GROUP_MAX 256UL

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void copy_summarize(struct copy_entry *entry, double *samples, size_t nr)
{
	qsort(samples, nr, sizeof(*samples), compare);
	entry->nr = nr;
	entry->min_ns = samples[0];
	entry->p50_ns = (samples[(nr - 1) / 2] + samples[nr / 2]) / 2;
	entry->p99_ns = samples[(nr * 99 + 99) / 100 - 1];
}

double copy_clock_ns(void)
{
	static double known = -1;
	static double samples[2001];
	struct copy_entry entry;

	if (known >= 0)
		return known;
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		uint64_t start = copy_now_ns();

		samples[i] = (double)(copy_now_ns() - start);
	}
	copy_summarize(&entry, samples, sizeof(samples) / sizeof(samples[0]));
	known = entry.p50_ns;
	return known;
}

/* Mean time of @group calls, one after the other, in ns. */
static double sample(copy_fn fn, void *dst, const void *src, size_t len, size_t group)
{
	uint64_t start = copy_now_ns();
	double ns;

	for (size_t i = 0; i < group; i++)
		fn(dst, src, len);
	ns = (double)(copy_now_ns() - start) - copy_clock_ns();
	return ns > 0 ? ns / (double)group : 0;
}

/*
 * A short store returns as soon as there is room for it on the way to the device: some tens cost a few nanoseconds each,
 * then each waits for one to leave. What a single call costs depends on what was called before it, so short copies are
 * timed in groups that are long against that queue: as the rate at which they can be made.
 */
static size_t group_size(const struct copy_entry *entries, size_t nr, void *dst, const void *src, size_t len)
{
	double fastest = GROUP_NS;

	for (size_t i = 0; i < nr; i++) {
		double ns;

		/* the first calls also bring code and data into the caches */
		sample(entries[i].fn, dst, src, len, 8);
		ns = sample(entries[i].fn, dst, src, len, 8);
		fastest = ns < fastest ? ns : fastest;
	}
	return fastest < GROUP_NS / GROUP_MAX ? GROUP_MAX : (size_t)(GROUP_NS / fastest);
}

/* Samples that a function takes in its turn. */
static size_t batch_size(const struct copy_entry *entry, void *dst, const void *src, size_t len, size_t group)
{
	double ns = sample(entry->fn, dst, src, len, group) * (double)group + 1;

	if (ns * BATCH_MAX < BATCH_NS)
		return BATCH_MAX;
	return ns > BATCH_NS ? 1 : (size_t)(BATCH_NS / ns);
}

int copy_measure(struct copy_entry *entries, size_t nr, void *dst, const void *src, size_t len, uint64_t budget_ns)
{
	double *samples = malloc(nr * MAX_SAMPLES * sizeof(*samples));
	size_t batch = BATCH_MAX, taken = 0, group;
	uint64_t end;

	if (!samples)
		return -ENOMEM;
	group = group_size(entries, nr, dst, src, len);
	for (size_t i = 0; i < nr; i++) {
		size_t mine = batch_size(&entries[i], dst, src, len, group);

		batch = mine < batch ? mine : batch;
	}
	end = copy_now_ns() + budget_ns;
	for (size_t round = 0; taken + batch <= MAX_SAMPLES; round++) {
		if (round >= MIN_ROUNDS && copy_now_ns() >= end)
			break;
		for (size_t i = 0; i < nr; i++) {
			size_t who = (i + round) % nr;

			for (size_t k = 0; k < batch; k++)
				samples[who * MAX_SAMPLES + taken + k] = sample(entries[who].fn, dst, src, len, group);
		}
		taken += batch;
	}
	for (size_t i = 0; i < nr; i++)
		copy_summarize(&entries[i], samples + i * MAX_SAMPLES, taken);
	free(samples);
	return 0;
}
