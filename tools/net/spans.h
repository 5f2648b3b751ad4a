/* SPDX-License-Identifier: MIT */
/* spans.h - the times that a kernel took */
#ifndef TOOLS_NET_SPANS_H
#define TOOLS_NET_SPANS_H

#include "common/stats.h"
#include "net/bed.h"

/**
 * struct net_spans - times
 * @nr:	     how many
 * @gpu:     GPU's address, in its own memory: what is measured shall not wait for a bus
 * @host:    the same, after net_spans_read()
 * @samples: room for a summary
 */
struct net_spans {
	uint64_t nr;
	struct bl_net_span *gpu;
	struct bl_net_span *host;
	double *samples;
};

/* Room for some times. Return: 0, or -errno with tool_why(); net_spans_free() after a failure too. */
int net_spans_alloc(struct net_bed *bed, uint64_t nr, struct net_spans *spans);
void net_spans_free(struct net_bed *bed, struct net_spans *spans);

/* Get them from the GPU. */
int net_spans_read(struct net_bed *bed, struct net_spans *spans);

/**
 * net_spans_summarize() - What they say, of those after the first ones
 * @spans: were read
 * @skip:  first ones that do not count
 * @stats: receives the summary of each, microseconds
 *
 * Return: microseconds from the first start to the last end, > 0.
 */
double net_spans_summarize(struct net_spans *spans, uint64_t skip, struct tool_stats *stats);

#endif
