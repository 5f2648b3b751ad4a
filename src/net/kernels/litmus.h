/* SPDX-License-Identifier: MIT */
/*
 * litmus.h - what net_litmus and its kernel share: a few accesses of two or three threads, time and again
 *
 * Threads of the GPU and the NIC, which is a thread of the CPU, meet at the start of each run, and then do the few
 * accesses of a shape. Run i stores the number i into cell i modulo BL_LITMUS_CELLS, so that an older number of that cell
 * is an old value, and every other one is broken.
 */
#ifndef BL_NET_KERNELS_LITMUS_H
#define BL_NET_KERNELS_LITMUS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_gpu_dev_verbs_qp;

/* Who takes part. */
enum bl_litmus_actor { BL_LITMUS_GPU, BL_LITMUS_GPU_OTHER, BL_LITMUS_NIC, BL_LITMUS_NR_ACTORS };

/* x, y and z are three places; r0, r1 and r2 are what was read, each by the thread that is named. */
enum bl_litmus_shape {
	BL_LITMUS_OUT,	    /* GPU: x, release, y. NIC: r0 = y, acquire, r1 = x */
	BL_LITMUS_HANDED,   /* other: x, release, z. GPU: sees z, acquire, release, y. NIC as in OUT */
	BL_LITMUS_IN,	    /* NIC: x, fence, y. GPU: r0 = y by acquire, r1 = x */
	BL_LITMUS_CQE,	    /* the same with a completion for y, by the functions of the device headers; r2: its length */
	BL_LITMUS_SB,	    /* GPU: x, full fence, r0 = y. NIC: y, full fence, r1 = x */
	BL_LITMUS_SB_GPUS,  /* the same with the other thread of the GPU in place of the NIC */
	BL_LITMUS_GPUS,	    /* other: x, release, y. GPU: r0 = y, acquire, r1 = x */
	BL_LITMUS_WQE,	    /* GPU: request x, release, record z, release, doorbell y. NIC: r0 = y, r1 = z, r2 = x */
	BL_LITMUS_SUBMIT,   /* the same by the functions of the device headers */
	BL_LITMUS_WHOLE,    /* GPU: x, release, a request given whole y. NIC: r0 = all words of y, acquire, r1 = x */
	BL_LITMUS_BROUGHT,  /* other: x, release, z. GPU: sees z, acquire, x into a request given whole y. NIC: r0 = y, r1 = x in it */
	BL_LITMUS_NR_SHAPES
};

/* First of the two words of a request that hold the message which it brings. */
#define BL_LITMUS_BROUGHT_AT 12U

/* Whether the fences are there; in SWAPPED the accesses themselves stand in the wrong order. */
enum bl_litmus_how { BL_LITMUS_FENCED, BL_LITMUS_BARE, BL_LITMUS_SWAPPED };

#define BL_LITMUS_CELLS	    64U
#define BL_LITMUS_CELL_SIZE 256U

/* Turns of a wait between two looks at the clock, and of a thread that waits to see a word before it goes on. */
#define BL_LITMUS_LOOK	1024U
#define BL_LITMUS_TURNS 20000U

/* Turns between two accesses in the wrong order. */
#define BL_LITMUS_GAPE 4096U

/* Bytes from the start of the memory of the host, and of the GPU's. */
enum {
	BL_LITMUS_AT_X = 0,
	BL_LITMUS_AT_Y = 16384,
	BL_LITMUS_AT_Z = 32768,
	BL_LITMUS_AT_MEET = 49152, /* a word for each actor, a cell apart */
	BL_LITMUS_AT_STOP = 53248, /* of the host's: not 0: give up */
	BL_LITMUS_AT_QP = 57344,   /* of the GPU's: struct doca_gpu_dev_verbs_qp */
	BL_LITMUS_AT_ENDS = 61440, /* of the GPU's: struct bl_litmus_end of each of its threads */
	BL_LITMUS_AT_LOG = 65536,  /* of the GPU's: a byte for each run, of each of its threads */
};

/* What is read becomes two bits: old, new, or neither. */
enum bl_litmus_seen { BL_LITMUS_OLD, BL_LITMUS_NEW, BL_LITMUS_BROKEN };

/* How a thread of the GPU ended. */
enum bl_litmus_ended { BL_LITMUS_NOT_RUN, BL_LITMUS_DONE, BL_LITMUS_TIMEOUT, BL_LITMUS_STOPPED, BL_LITMUS_FAILED };

/** struct bl_litmus_end - how a thread of the GPU ended, enum bl_litmus_ended, and in which run */
struct bl_litmus_end {
	uint64_t run;
	uint32_t end;
	uint32_t pad;
};

/**
 * struct bl_litmus_run - bl_litmus: two blocks of one thread, one for each of the GPU's actors
 * @x:	      address for the GPU
 * @y:	      the same
 * @z:	      the same
 * @meet:     words that actors meet by
 * @stop:     word that ends the kernel when it is not 0
 * @qp:	      queue pair of BL_LITMUS_CQE and BL_LITMUS_SUBMIT
 * @ends:     receives how each thread ended
 * @log:      @runs bytes for each of the GPU's threads
 * @runs:     how many
 * @seed:     of the waits in front of accesses
 * @spread:   of these waits: turns, a power of two; 0: none
 * @limit_ns: longest wait
 * @shape:    enum bl_litmus_shape
 * @how:      enum bl_litmus_how
 * @actors:   bits of enum bl_litmus_actor
 * @gpu_scope: fences of GPU scope, not of the system's
 */
struct bl_litmus_run {
	uint64_t x;
	uint64_t y;
	uint64_t z;
	uint64_t meet;
	uint64_t stop;
	struct doca_gpu_dev_verbs_qp *qp;
	struct bl_litmus_end *ends;
	uint8_t *log;
	uint64_t runs;
	uint64_t seed;
	uint64_t spread;
	uint64_t limit_ns;
	uint32_t shape;
	uint32_t how;
	uint32_t actors;
	uint32_t gpu_scope;
};

#ifdef __CUDACC__
#define BL_LITMUS_BOTH static __host__ __device__ inline
#else
#define BL_LITMUS_BOTH static inline
#endif

BL_LITMUS_BOTH uint64_t bl_litmus_off(uint64_t run)
{
	return run % BL_LITMUS_CELLS * BL_LITMUS_CELL_SIZE;
}

/* What a word of a run's cell says: @word and @run modulo 2^@bits. */
BL_LITMUS_BOTH uint32_t bl_litmus_seen(uint64_t word, uint64_t run, unsigned int bits)
{
	uint64_t mask = bits < 64 ? (1ULL << bits) - 1 : UINT64_MAX, back = (run - word) & mask;

	if (!back)
		return BL_LITMUS_NEW;
	if (!word || (back <= (run & mask) && back % BL_LITMUS_CELLS == 0))
		return BL_LITMUS_OLD;
	return BL_LITMUS_BROKEN;
}

/* Of what a log says of a register. */
BL_LITMUS_BOTH uint8_t bl_litmus_bits(unsigned int reg, uint32_t seen)
{
	return (uint8_t)(seen << reg * 2);
}

/* A number that looks random, of a run and an actor. */
BL_LITMUS_BOTH uint64_t bl_litmus_random(uint64_t seed, uint64_t run, uint32_t actor)
{
	uint64_t v = seed + run * 0x9e3779b97f4a7c15ULL + (actor + 1) * 0xd1b54a32d192ed03ULL;

	v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9ULL;
	v = (v ^ v >> 27) * 0x94d049bb133111ebULL;
	return v ^ v >> 31;
}

/* Turns to wait, and how often a thread looks for a word: once in every other run. */
BL_LITMUS_BOTH uint64_t bl_litmus_turns(uint64_t random, uint64_t spread)
{
	return spread ? random % spread : 0;
}

BL_LITMUS_BOTH uint32_t bl_litmus_looks(uint64_t random)
{
	return random >> 63 ? BL_LITMUS_TURNS : 1;
}

#ifdef __cplusplus
}
#endif

#endif
