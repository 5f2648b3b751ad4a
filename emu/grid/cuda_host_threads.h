/* SPDX-License-Identifier: MIT */
/* cuda_host_threads.h - CUDA's functions for warps and blocks, fences, and clocks; included by cuda_host.h */
#ifndef EMU_GRID_CUDA_HOST_THREADS_H
#define EMU_GRID_CUDA_HOST_THREADS_H

static inline void __syncthreads()
{
	bl_thread_syncblock();
}

static inline void __syncwarp(unsigned int mask = 0xffffffffU)
{
	bl_thread_syncwarp(mask);
}

/* Threads of a CPU are never together unless they meet: each is the only one that is there. */
static inline unsigned int __activemask()
{
	return 1U << bl_thread_self()->lane;
}

static inline unsigned int __ballot_sync(unsigned int mask, int predicate)
{
	return bl_thread_ballot(mask, predicate != 0);
}

static inline int __any_sync(unsigned int mask, int predicate)
{
	return bl_thread_ballot(mask, predicate != 0) != 0;
}

static inline int __all_sync(unsigned int mask, int predicate)
{
	return bl_thread_ballot(mask, predicate == 0) == 0;
}

/* The value of a lane; of the caller's own where that lies outside of its part of the warp. */
template <typename T> static inline T bl_cuda_shfl(unsigned int mask, T value, unsigned int lane)
{
	static_assert(sizeof(T) <= 8 && std::is_trivially_copyable<T>::value, "shuffles exchange up to 8 bytes");
	uint64_t word = 0;
	T answer;

	memcpy(&word, &value, sizeof(value));
	word = bl_thread_shfl(mask, word, lane);
	memcpy(&answer, &word, sizeof(answer));
	return answer;
}

template <typename T> static inline T __shfl_sync(unsigned int mask, T value, int lane, int width = warpSize)
{
	unsigned int part = bl_thread_self()->lane & ~(unsigned int)(width - 1);

	return bl_cuda_shfl(mask, value, part + ((unsigned int)lane & (unsigned int)(width - 1)));
}

template <typename T>
static inline T __shfl_up_sync(unsigned int mask, T value, unsigned int delta, int width = warpSize)
{
	unsigned int self = bl_thread_self()->lane, at = self & (unsigned int)(width - 1);

	return bl_cuda_shfl(mask, value, at < delta ? self : self - delta);
}

template <typename T>
static inline T __shfl_down_sync(unsigned int mask, T value, unsigned int delta, int width = warpSize)
{
	unsigned int self = bl_thread_self()->lane, at = self & (unsigned int)(width - 1);

	return bl_cuda_shfl(mask, value, at + delta >= (unsigned int)width ? self : self + delta);
}

template <typename T> static inline T __shfl_xor_sync(unsigned int mask, T value, int with, int width = warpSize)
{
	unsigned int self = bl_thread_self()->lane, other = self ^ (unsigned int)with;

	/* a later part of the warp gives nothing to an earlier one */
	return bl_cuda_shfl(mask, value, other / (unsigned int)width > self / (unsigned int)width ? self : other);
}

/* ThreadSanitizer knows no fences: there all of them are one word that each adds to, which orders more than they do. */
#if defined(__SANITIZE_THREAD__)
#define BL_CUDA_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BL_CUDA_TSAN 1
#endif
#endif

static inline void __threadfence_system()
{
#ifdef BL_CUDA_TSAN
	static int word;

	__atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST);
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

static inline void __threadfence()
{
	__threadfence_system();
}

static inline void __threadfence_block()
{
	__threadfence_system();
}

/* Nanoseconds. */
static inline unsigned long long bl_globaltimer()
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long long)now.tv_sec * 1000000000ULL + (unsigned long long)now.tv_nsec;
}

static inline long long clock64()
{
	return (long long)bl_globaltimer();
}

/* In a wait; it may last longer. */
static inline void __nanosleep(unsigned int ns)
{
	(void)ns;
	bl_thread_yield();
}

static inline void __trap()
{
	__builtin_trap();
}

static inline int __popc(unsigned int word)
{
	return __builtin_popcount(word);
}

static inline int __popcll(unsigned long long word)
{
	return __builtin_popcountll(word);
}

static inline int __ffs(int word)
{
	return __builtin_ffs(word);
}

static inline int __ffsll(long long word)
{
	return __builtin_ffsll(word);
}

static inline int __clz(int word)
{
	return word ? __builtin_clz((unsigned int)word) : 32;
}

static inline int __clzll(long long word)
{
	return word ? __builtin_clzll((unsigned long long)word) : 64;
}

template <typename T> static inline T __ldg(const T *p)
{
	return *p;
}

#endif
