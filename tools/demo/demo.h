/* SPDX-License-Identifier: MIT */
/*
 * demo.h - parts of barlane-demo and of "barlane bench", which are one thing under two names
 *
 * Functions that return int give 0 or -errno and have said on stderr why they failed.
 */
#ifndef BL_TOOLS_DEMO_H
#define BL_TOOLS_DEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gdrapi.h"
#include "gpu/cuda.h"

#define DEMO_MAX_BYTES	(16UL << 20)
#define DEMO_NR_SIZES	25 /* 1 B .. DEMO_MAX_BYTES */
#define DEMO_NR_COSTS	3
#define DEMO_MAX_CHECKS 8
#define DEMO_MAX_FACTS	16

/* What the program calls itself in messages and results. */
extern const char *demo_program;

/**
 * demo_main() - Measure, verify and report
 * @program: for demo_program
 * @html:    where the HTML report goes unless the user names another file; NULL: none is written then
 * @argc:    from main(), from the subcommand on
 * @argv:    the same; argv[0] is replaced
 *
 * Return: exit status.
 */
int demo_main(const char *program, const char *html, int argc, char **argv);

/**
 * demo_error() - Say on stderr what failed
 * @err: positive errno value
 * @fmt: what failed, on what; no trailing newline
 *
 * Return: -@err.
 */
int demo_error(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- gpu.c: the CUDA side ---- */

/**
 * struct demo_gpu - a device, its primary context and the pattern kernels
 * @cuda:     driver library
 * @dev:      device
 * @ctx:      primary context, current in this thread
 * @module:   pattern kernels
 * @fill:     kernel bl_pattern_fill
 * @check:    kernel bl_pattern_check
 * @result:   word in GPU memory that @check counts in
 * @emulated: the device or its driver is a stand-in
 * @driver:   CUDA version of the driver, major * 1000 + minor * 10
 * @name:     name of the device
 * @pci:      its PCI address
 */
struct demo_gpu {
	const struct bl_cuda *cuda;
	CUdevice dev;
	CUcontext ctx;
	CUmodule module;
	CUfunction fill;
	CUfunction check;
	CUdeviceptr result;
	bool emulated;
	int driver;
	char name[128];
	char pci[32];
};

/* Find the device and learn its name, without a context. Says nothing when there is none: @why receives the reason. */
int demo_gpu_probe(struct demo_gpu *gpu, int ordinal, char *why, size_t size);

/* Retain the context, load the kernels. On failure nothing is left behind. */
int demo_gpu_open(struct demo_gpu *gpu);
void demo_gpu_close(struct demo_gpu *gpu);

/* Run bl_pattern_fill over @nr words at @va and wait for it. */
int demo_gpu_fill(struct demo_gpu *gpu, CUdeviceptr va, uint64_t nr, uint64_t seed);

/* Run bl_pattern_check; @bad_p receives the number of words that differ from the pattern. */
int demo_gpu_check(struct demo_gpu *gpu, CUdeviceptr va, uint64_t nr, uint64_t seed, uint64_t *bad_p);

/* ---- buffer.c: GPU memory that the CPU has mapped ---- */

/**
 * struct demo_buffer - allocated, pinned and mapped GPU memory
 * @alloc: what cuMemAlloc gave
 * @va:    first GPU page inside it
 * @len:   bytes from @va
 * @gdr:   library instance
 * @mh:    pin
 * @map:   CPU address of @va
 * @type:  name of the mapping's type
 * @first_pin_ns: time of the first pin, in which the library tests itself
 */
struct demo_buffer {
	CUdeviceptr alloc;
	CUdeviceptr va;
	size_t len;
	gdr_t gdr;
	gdr_mh_t mh;
	void *map;
	const char *type;
	double first_pin_ns;
};

int demo_buffer_open(struct demo_buffer *buf, struct demo_gpu *gpu, size_t len);
void demo_buffer_close(struct demo_buffer *buf, struct demo_gpu *gpu);

/* ---- stats.c ---- */

/**
 * struct demo_stats - times of one operation, the clock's own cost taken off
 * @nr:     samples
 * @group:  operations timed together in each sample, 1 unless they are shorter than the clock can tell
 * @min_ns: shortest
 * @p50_ns: median
 * @p99_ns: 99th percentile
 * @p999_ns: 99.9th percentile
 * @mean_ns: mean
 */
struct demo_stats {
	size_t nr;
	size_t group;
	double min_ns;
	double p50_ns;
	double p99_ns;
	double p999_ns;
	double mean_ns;
};

uint64_t demo_now_ns(void);

/* Median time between two readings of the clock with nothing between them. */
double demo_clock_cost_ns(void);

/**
 * demo_stats_fill() - Statistics of samples
 * @stats:    receives them
 * @samples:  time of each group of operations; sorted on return
 * @nr:       samples, > 0
 * @group:    operations in each sample, > 0
 * @clock_ns: cost of the clock in each sample; one that is not longer counts as 1 ns, the clock's resolution
 */
void demo_stats_fill(struct demo_stats *stats, uint64_t *samples, size_t nr, size_t group, double clock_ns);

/* Operations per second times @bytes. */
double demo_stats_rate(const struct demo_stats *stats, size_t bytes);

/* ---- results ---- */

/* One size: bytes, writes, reads. */
struct demo_point {
	size_t bytes;
	struct demo_stats write;
	struct demo_stats read;
};

/* Cost of the calls around a mapping of @bytes. */
struct demo_cost {
	size_t bytes;
	struct demo_stats pin;
	struct demo_stats map;
	struct demo_stats unmap;
	struct demo_stats unpin;
	struct demo_stats total;
};

struct demo_check {
	const char *name;
	bool passed;
	char detail[160];
};

struct demo_fact {
	const char *name;
	char value[320];
};

/**
 * struct demo_results - everything that a run found
 * @emulated: figures are labelled "emu"
 * @clock_ns: cost of the clock, already taken off every time
 */
struct demo_results {
	bool emulated;
	double clock_ns;
	double first_pin_ns;
	struct demo_fact facts[DEMO_MAX_FACTS];
	size_t nr_facts;
	struct demo_check checks[DEMO_MAX_CHECKS];
	size_t nr_checks;
	struct demo_point points[DEMO_NR_SIZES];
	struct demo_cost costs[DEMO_NR_COSTS];
};

/* facts.c: what it runs on */
int demo_facts(struct demo_results *results, const struct demo_gpu *gpu, const struct demo_buffer *buf);
const char *demo_fact(const struct demo_results *results, const char *name);

/* verify.c: CPU and GPU see each other's writes; -EILSEQ when they do not */
int demo_verify(struct demo_results *results, struct demo_gpu *gpu, struct demo_buffer *buf);

/* measure.c: times of writes and reads per size; the data of each size is compared. -EILSEQ when it differs */
int demo_measure(struct demo_results *results, struct demo_gpu *gpu, struct demo_buffer *buf, uint64_t budget_ns);

/* cost.c: times of pin, map, unmap, unpin */
int demo_measure_costs(struct demo_results *results, struct demo_gpu *gpu, struct demo_buffer *buf,
		       uint64_t budget_ns);

/* ---- show.c: the results as a report ---- */

/**
 * demo_show() - Print tables and plots, write the files that were asked for
 * @results: what was found
 * @svg:     path or NULL
 * @html:    path or NULL
 */
int demo_show(const struct demo_results *results, const char *svg, const char *html);

/* json.c */
int demo_write_json(const struct demo_results *results, const char *path);

/* ---- progress.c ---- */

/**
 * demo_progress() - Say what is being done
 * @phase:  what; a new one starts a line unless stderr is a terminal, where one line is updated
 * @detail: shown on terminals only
 */
void demo_progress(const char *phase, const char *detail);

/* Take the line away again. */
void demo_progress_end(void);

#endif
