/* SPDX-License-Identifier: MIT */
/* steps.cuh - single instructions that net_floor times; for a GPU PTX, else what a CPU has for them */
#ifndef BENCH_NET_FLOOR_STEPS_CUH
#define BENCH_NET_FLOOR_STEPS_CUH

#include "ops.h"

#ifdef __CUDACC__

/* Fences of one direction came with compute capability 9.0 and CUDA 12.8. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && (__CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__) >= 1208
#define FLOOR_HAS_RELEASE 1
#endif

static __device__ inline void floor_store16(uint64_t at, uint64_t word)
{
	asm volatile("st.weak.cs.v2.b64 [%0], {%1, %1};" : : "l"(at), "l"(word) : "memory");
}

/* Two words, each in one piece. */
static __device__ inline void floor_store_pair(uint64_t at, uint64_t word)
{
	asm volatile("st.relaxed.sys.v2.b64 [%0], {%1, %1};" : : "l"(at), "l"(word) : "memory");
}

static __device__ inline void floor_store(uint64_t at, uint64_t word)
{
	asm volatile("st.relaxed.sys.u64 [%0], %1;" : : "l"(at), "l"(word) : "memory");
}

static __device__ inline void floor_store_release(uint64_t at, uint64_t word)
{
	asm volatile("st.release.sys.u64 [%0], %1;" : : "l"(at), "l"(word) : "memory");
}

static __device__ inline uint64_t floor_load(uint64_t at)
{
	uint64_t word;

	asm volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
	return word;
}

static __device__ inline uint64_t floor_load_acquire(uint64_t at)
{
	uint64_t word;

	asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
	return word;
}

static __device__ inline uint64_t floor_max(uint64_t at, uint64_t word)
{
	uint64_t old;

	asm volatile("atom.relaxed.sys.max.u64 %0, [%1], %2;" : "=l"(old) : "l"(at), "l"(word) : "memory");
	return old;
}

static __device__ inline uint64_t floor_add(uint64_t at, uint64_t word)
{
	uint64_t old;

	asm volatile("atom.relaxed.sys.add.u64 %0, [%1], %2;" : "=l"(old) : "l"(at), "l"(word) : "memory");
	return old;
}

static __device__ inline void floor_fence()
{
	asm volatile("fence.acq_rel.sys;" : : : "memory");
}

static __device__ inline void floor_fence_release()
{
#ifdef FLOOR_HAS_RELEASE
	asm volatile("fence.release.sys;" : : : "memory");
#endif
}

/* In a wait of a microsecond: nothing. */
static __device__ inline void floor_pause()
{
}

#else

#define FLOOR_HAS_RELEASE 1

static inline void floor_store(uint64_t at, uint64_t word)
{
	__atomic_store_n((uint64_t *)at, word, __ATOMIC_RELAXED);
}

static inline void floor_store16(uint64_t at, uint64_t word)
{
	floor_store(at, word);
	floor_store(at + 8, word);
}

static inline void floor_store_pair(uint64_t at, uint64_t word)
{
	floor_store16(at, word);
}

static inline void floor_store_release(uint64_t at, uint64_t word)
{
	__atomic_store_n((uint64_t *)at, word, __ATOMIC_RELEASE);
}

static inline uint64_t floor_load(uint64_t at)
{
	return __atomic_load_n((uint64_t *)at, __ATOMIC_RELAXED);
}

static inline uint64_t floor_load_acquire(uint64_t at)
{
	return __atomic_load_n((uint64_t *)at, __ATOMIC_ACQUIRE);
}

static inline uint64_t floor_max(uint64_t at, uint64_t word)
{
	return atomicMax((uint64_t *)at, word);
}

static inline uint64_t floor_add(uint64_t at, uint64_t word)
{
	return atomicAdd((uint64_t *)at, word);
}

static inline void floor_fence()
{
	__threadfence_system();
}

static inline void floor_fence_release()
{
	__threadfence_system();
}

static inline void floor_pause()
{
	__nanosleep(0);
}

#endif
#endif
