/* SPDX-License-Identifier: MIT */
/* engine_copy.h - what engine_copy measures on, and its lines */
#ifndef BENCH_ENGINE_COPY_H
#define BENCH_ENGINE_COPY_H

#include <stdbool.h>

#include "barlane.h"
#include "common/device.h"
#include "common/memory.h"
#include "common/stats.h"

enum way {
	WAY_CPU,   /* bl_copy(), BL_ENGINE_CPU */
	WAY_CE,	   /* BL_ENGINE_CE */
	WAY_PUSH,  /* BL_ENGINE_PUSH, with --push: reads of up to 64 KiB */
	WAY_AUTO,  /* BL_ENGINE_AUTO */
	WAY_ASYNC, /* cuMemcpyDtoHAsync() or cuMemcpyHtoDAsync(), then cuStreamSynchronize() */
	WAY_SYNC,  /* cuMemcpyDtoH() or cuMemcpyHtoD() */
	WAY_LOADS, /* reads only: a plain loop of streaming loads */
	NR_WAYS,
};

/**
 * struct way_info - a way to copy
 * @name:      heading of its column
 * @by_engine: by bl_copy() with @engine
 * @engine:    who copies
 */
struct way_info {
	const char *name;
	bool by_engine;
	enum bl_engine engine;
};

/* One line for each; a new engine is one more, and a value of enum way. */
extern const struct way_info ways[NR_WAYS];

/* Whether a way has a column, so that results without push keep theirs. */
bool has_column(enum way way);

/**
 * struct bench_engines - what is copied
 * @device:   GPU
 * @mem:      its memory
 * @pin:      its pin, mapped
 * @push:     engine push is enabled
 * @map:      the mapping
 * @pinned:   host memory that CUDA pinned
 * @ordinary: host memory
 * @check:    host memory to compare with
 */
struct bench_engines {
	struct tool_device device;
	struct tool_mem mem;
	bl_pin_t pin;
	bool push;
	char *map;
	void *pinned;
	void *ordinary;
	void *check;
};

extern struct bench_engines bench;

/**
 * struct row - one line of the result
 * @len:    bytes
 * @dir:    direction
 * @pinned: kind of host memory
 * @stats:  ns by way; p50 0 where it was not measured
 * @estimate: what bl_copy_cost() says, ns; 0 where it does not
 */
struct row {
	size_t len;
	enum bl_copy_dir dir;
	bool pinned;
	struct tool_stats stats[NR_WAYS];
	uint64_t estimate[NR_WAYS];
};

/* Print a line with the targets that it misses; how many. */
int row_show(const struct row *row);

/* The same as JSON. */
struct json_object *row_json(const struct row *row);

/* Print how far the estimates of the lines shown so far are from what was measured. */
void row_estimates_show(void);

#endif
