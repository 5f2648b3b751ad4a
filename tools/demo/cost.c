// SPDX-License-Identifier: MIT
#include "demo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_SAMPLES 2000
#define MIN_SAMPLES 10

enum step { PIN, MAP, UNMAP, UNPIN, TOTAL, NR_STEPS };

static const size_t sizes[DEMO_NR_COSTS] = {64UL << 10, 2UL << 20, 16UL << 20};

/* One round of the four calls; @at receives the time before the first and after each. */
static int one_round(struct demo_buffer *buf, size_t bytes, uint64_t at[5])
{
	gdr_mh_t mh;
	void *map;
	int err;

	at[0] = demo_now_ns();
	err = gdr_pin_buffer(buf->gdr, buf->va, bytes, 0, 0, &mh);
	at[1] = demo_now_ns();
	if (err)
		return demo_error(err, "gdr_pin_buffer of %zu bytes", bytes);
	err = gdr_map(buf->gdr, mh, &map, bytes);
	at[2] = demo_now_ns();
	if (err)
		goto unpin;
	err = gdr_unmap(buf->gdr, mh, map, bytes);
	at[3] = demo_now_ns();
	if (err)
		goto unpin;
	err = gdr_unpin_buffer(buf->gdr, mh);
	at[4] = demo_now_ns();
	return err ? demo_error(err, "gdr_unpin_buffer of %zu bytes", bytes) : 0;
unpin:
	gdr_unpin_buffer(buf->gdr, mh);
	return demo_error(err, "gdr_map or gdr_unmap of %zu bytes", bytes);
}

static int measure_size(struct demo_cost *cost, struct demo_buffer *buf, uint64_t budget_ns, double clock_ns,
			uint64_t *samples)
{
	struct demo_stats *stats[NR_STEPS] = {&cost->pin, &cost->map, &cost->unmap, &cost->unpin, &cost->total};
	uint64_t end = demo_now_ns() + budget_ns, at[5] = {0};
	size_t nr = 0;
	int ret;

	while (nr < MAX_SAMPLES && (nr < MIN_SAMPLES || demo_now_ns() < end)) {
		ret = one_round(buf, cost->bytes, at);
		if (ret)
			return ret;
		for (size_t step = PIN; step < TOTAL; step++)
			samples[step * MAX_SAMPLES + nr] = at[step + 1] - at[step];
		samples[TOTAL * MAX_SAMPLES + nr++] = at[4] - at[0];
	}
	for (size_t step = 0; step < NR_STEPS; step++)
		/* the clock is read four times on the way through all steps */
		demo_stats_fill(stats[step], &samples[step * MAX_SAMPLES], nr, 1, clock_ns * (step == TOTAL ? 4 : 1));
	return 0;
}

int demo_measure_costs(struct demo_results *results, struct demo_gpu *gpu, struct demo_buffer *buf, uint64_t budget_ns)
{
	uint64_t *samples = calloc(NR_STEPS * MAX_SAMPLES, sizeof(*samples));
	int ret = 0;

	if (!samples)
		return demo_error(ENOMEM, "malloc");
	demo_progress("measuring pin, map, unmap, unpin", "");
	for (size_t i = 0; i < DEMO_NR_COSTS && !ret; i++) {
		results->costs[i].bytes = sizes[i];
		ret = measure_size(&results->costs[i], buf, budget_ns, results->clock_ns, samples);
	}
	free(samples);
	return ret;
}
