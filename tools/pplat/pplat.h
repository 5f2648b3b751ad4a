/* SPDX-License-Identifier: MIT */
/*
 * pplat.h - parts of gdrcopy_pplat
 *
 * CPU and GPU play rounds: one side, the producer, writes data and raises the other's flag; the other takes the data
 * and raises the producer's flag. Flags hold the number of the round. Round 1 is not measured.
 */
#ifndef TOOLS_PPLAT_PPLAT_H
#define TOOLS_PPLAT_PPLAT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bench.h"
#include "gpu/kernels/pplat.h"

enum pplat_mode { PPLAT_CPU_PRODUCES, PPLAT_GPU_PRODUCES };
enum pplat_where { PPLAT_GPUMEM, PPLAT_HOSTMEM };

/* "gpumem", "hostmem" */
extern const struct tool_name pplat_places[];

/**
 * struct pplat_options - what the user asked for
 * @bench:     GPU, kinds of memory and mapping, JSON
 * @iters:     rounds to measure
 * @timeout_s: longest wait of either side, 0 for no limit
 * @data:      bytes of data, multiple of 4; 0: flags only
 * @blocks:    blocks of the grid
 * @threads:   threads of a block
 * @mode:      who produces
 * @gpu_flag:  where the flag is that the GPU waits for
 * @cpu_flag:  where the flag is that the CPU waits for
 * @where:     where the data is
 * @bare:      take turns with a loop that does not use the library
 */
struct pplat_options {
	struct bench_options bench;
	uint64_t iters;
	uint64_t timeout_s;
	size_t data;
	unsigned int blocks;
	unsigned int threads;
	enum pplat_mode mode;
	enum pplat_where gpu_flag;
	enum pplat_where cpu_flag;
	enum pplat_where where;
	bool bare;
};

/* Where things lie from the start of the buffer in GPU memory, and of that in host memory. */
enum {
	PPLAT_GPU_FLAG = 0,
	PPLAT_CPU_FLAG = 256,
	PPLAT_STOP = 512,
	PPLAT_RESULT = 1024,
	PPLAT_DATA = 4096,
};

/**
 * struct pplat_spot - memory as both sides see it
 * @where: whose it is
 * @cpu:   address for the CPU
 * @gpu:   address for the GPU
 */
struct pplat_spot {
	enum pplat_where where;
	void *cpu;
	CUdeviceptr gpu;
};

/**
 * struct pplat - a game
 * @options:  what the user asked for
 * @bench:    the buffer in GPU memory, mapped
 * @host:     the buffer in host memory, pinned by CUDA
 * @gpu_flag: flag that the GPU waits for
 * @cpu_flag: flag that the CPU waits for
 * @data:     the words
 * @words:    the CPU's copy of the words
 * @module:   GPU code
 * @stream:   stream that it runs on
 * @rounds:   rounds in all
 */
struct pplat {
	const struct pplat_options *options;
	struct bench *bench;
	char *host;
	struct pplat_spot gpu_flag;
	struct pplat_spot cpu_flag;
	struct pplat_spot data;
	uint32_t *words;
	CUmodule module;
	CUstream stream;
	uint64_t rounds;
};

/* ---- gpu.c: the other side ---- */

/* Memory, GPU code and stream; ends the program with a message when that fails. */
void pplat_open(const struct pplat_options *options, struct bench *bench, struct pplat *game);
void pplat_close(struct pplat *game);

/* Start the GPU's side of all rounds; ends the program with a message when that fails. */
void pplat_launch(struct pplat *game);

/* Whether the GPU's side still runs: -EAGAIN; 0: it has ended; else -errno, and tool_why() says why. */
int pplat_poll_gpu(const struct pplat *game);

/**
 * pplat_finish() - Wait until the GPU's side has ended
 * @game:   the game
 * @stop:   tell it to leave
 * @result: receives what it left behind
 *
 * Return: 0; -ETIMEDOUT when it goes on after 10 seconds and more than its own time limit; or -errno. tool_why() says
 * why.
 */
int pplat_finish(struct pplat *game, bool stop, struct bl_pplat_result *result);

/* An end in words. */
const char *pplat_end_name(uint32_t end);

/* ---- play.c: the CPU's side ---- */

/**
 * struct pplat_times - nanoseconds of each measured round
 * @library: with the library
 * @bare:    without it; NULL unless it takes turns
 */
struct pplat_times {
	double *library;
	double *bare;
};

/**
 * pplat_play() - Play all rounds on this thread
 * @game:    the game; the GPU's side has been launched
 * @times:   filled when the CPU produces, else not used
 * @round_p: receives the round it is in
 *
 * Return: 0; -ETIMEDOUT (the GPU did not answer in time), -EINTR (SIGINT or SIGTERM), -EPIPE (the GPU's side has ended
 * without an answer), -EILSEQ (wrong data), or what pplat_poll_gpu() gave; tool_why() says why.
 */
int pplat_play(struct pplat *game, const struct pplat_times *times, uint64_t *round_p);

/* Let SIGINT and SIGTERM end the waits. */
void pplat_catch_signals(void);

#endif
