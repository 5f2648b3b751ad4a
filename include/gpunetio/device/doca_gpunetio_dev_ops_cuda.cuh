/* SPDX-License-Identifier: MIT */
/*
 * doca_gpunetio_dev_ops_cuda.cuh - what device code does to shared memory, by threads of a GPU
 *
 * The one place of PTX and CUDA built-ins in the device headers. doca_gpunetio_dev_ops_host.h has the same names for
 * CPUs. Addresses are generic: queues may lie in memory of the GPU or of the host.
 */
#ifndef DOCA_GPUNETIO_DEV_OPS_CUDA_CUH
#define DOCA_GPUNETIO_DEV_OPS_CUDA_CUH

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../common/doca_gpunetio_verbs_def.h"

#define BL_DEVICE static __device__ __forceinline__

#define BL_OP_CTA DOCA_GPUNETIO_VERBS_SYNC_SCOPE_CTA
#define BL_OP_GPU DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU
#define BL_OP_SYS DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS
#define BL_OP_THREAD DOCA_GPUNETIO_VERBS_SYNC_SCOPE_THREAD

/* One instruction at the scope S; THREAD takes the nearest. The operands follow after the text. */
#define BL_OP_SCOPED(S, before, after, ...)                                                                            \
	do {                                                                                                           \
		if constexpr ((S) == BL_OP_SYS)                                                                        \
			asm volatile(before ".sys" after __VA_ARGS__);                                                 \
		else if constexpr ((S) == BL_OP_GPU)                                                                   \
			asm volatile(before ".gpu" after __VA_ARGS__);                                                 \
		else                                                                                                   \
			asm volatile(before ".cta" after __VA_ARGS__);                                                 \
	} while (0)

/* Fences that order in one direction only came with sm_90 and CUDA 12.8. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && (__CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__) >= 1208
#define BL_OP_FENCE_ACQUIRE "fence.acquire"
#define BL_OP_FENCE_RELEASE "fence.release"
#else
#define BL_OP_FENCE_ACQUIRE "fence.acq_rel"
#define BL_OP_FENCE_RELEASE "fence.acq_rel"
#endif

template <enum doca_gpu_dev_verbs_sync_scope S> BL_DEVICE void bl_op_fence_acquire()
{
	if constexpr (S != BL_OP_THREAD)
		BL_OP_SCOPED(S, BL_OP_FENCE_ACQUIRE, ";", : : : "memory");
}

template <enum doca_gpu_dev_verbs_sync_scope S> BL_DEVICE void bl_op_fence_release()
{
	if constexpr (S != BL_OP_THREAD)
		BL_OP_SCOPED(S, BL_OP_FENCE_RELEASE, ";", : : : "memory");
}

/* Everything before it, stores too, before everything after it, loads too; all such fences have one order. */
template <enum doca_gpu_dev_verbs_sync_scope S> BL_DEVICE void bl_op_fence_full()
{
	if constexpr (S != BL_OP_THREAD)
		BL_OP_SCOPED(S, "fence.sc", ";", : : : "memory");
}

template <enum doca_gpu_dev_verbs_sync_scope S, typename T> BL_DEVICE T bl_op_load(const T *p)
{
	static_assert(sizeof(T) == 1 || sizeof(T) == 4 || sizeof(T) == 8, "no such load");
	if constexpr (sizeof(T) == 8) {
		uint64_t v;

		BL_OP_SCOPED(S, "ld.relaxed", ".u64 %0, [%1];", : "=l"(v) : "l"(p) : "memory");
		return (T)v;
	} else if constexpr (sizeof(T) == 4) {
		uint32_t v;

		BL_OP_SCOPED(S, "ld.relaxed", ".u32 %0, [%1];", : "=r"(v) : "l"(p) : "memory");
		return (T)v;
	} else {
		uint32_t v;

		BL_OP_SCOPED(S, "ld.relaxed", ".u8 %0, [%1];", : "=r"(v) : "l"(p) : "memory");
		return (T)v;
	}
}

template <enum doca_gpu_dev_verbs_sync_scope S, typename T> BL_DEVICE T bl_op_load_acquire(const T *p)
{
	static_assert(sizeof(T) == 1 || sizeof(T) == 4 || sizeof(T) == 8, "no such load");
	if constexpr (S == BL_OP_THREAD) {
		return bl_op_load<S>(p);
	} else if constexpr (sizeof(T) == 8) {
		uint64_t v;

		BL_OP_SCOPED(S, "ld.acquire", ".u64 %0, [%1];", : "=l"(v) : "l"(p) : "memory");
		return (T)v;
	} else if constexpr (sizeof(T) == 1) {
		uint32_t v;

		BL_OP_SCOPED(S, "ld.acquire", ".u8 %0, [%1];", : "=r"(v) : "l"(p) : "memory");
		return (T)v;
	} else {
		uint32_t v;

		BL_OP_SCOPED(S, "ld.acquire", ".u32 %0, [%1];", : "=r"(v) : "l"(p) : "memory");
		return (T)v;
	}
}

/* The last four bytes of a CQE, and then what was written before them. A fence behind the load takes half a microsecond. */
BL_DEVICE uint32_t bl_op_load_cqe_end(const uint32_t *p)
{
	return bl_op_load_acquire<BL_OP_SYS>(p);
}

template <enum doca_gpu_dev_verbs_sync_scope S, typename T> BL_DEVICE void bl_op_store(T *p, T value)
{
	static_assert(sizeof(T) == 4 || sizeof(T) == 8, "no such store");
	if constexpr (sizeof(T) == 8)
		BL_OP_SCOPED(S, "st.relaxed", ".u64 [%0], %1;", : : "l"(p), "l"((uint64_t)value) : "memory");
	else
		BL_OP_SCOPED(S, "st.relaxed", ".u32 [%0], %1;", : : "l"(p), "r"((uint32_t)value) : "memory");
}

/* The value is computed here, and not where it is used. */
BL_DEVICE void bl_op_keep(uint64_t &value)
{
	asm volatile("" : "+l"(value));
}

/* Two words at a multiple of 16, each in one piece, in no order. */
BL_DEVICE void bl_op_store_pair(uint64_t *p, uint64_t first, uint64_t second)
{
	asm volatile("st.relaxed.sys.v2.b64 [%0], {%1, %2};" : : "l"(p), "l"(first), "l"(second) : "memory");
}

template <enum doca_gpu_dev_verbs_sync_scope S, typename T> BL_DEVICE void bl_op_store_release(T *p, T value)
{
	static_assert(sizeof(T) == 4 || sizeof(T) == 8, "no such store");
	if constexpr (S == BL_OP_THREAD)
		bl_op_store<S>(p, value);
	else if constexpr (sizeof(T) == 8)
		BL_OP_SCOPED(S, "st.release", ".u64 [%0], %1;", : : "l"(p), "l"((uint64_t)value) : "memory");
	else
		BL_OP_SCOPED(S, "st.release", ".u32 [%0], %1;", : : "l"(p), "r"((uint32_t)value) : "memory");
}

/* The read-modify-writes below return the old value. For scope THREAD they are a load and a store. */

template <enum doca_gpu_dev_verbs_sync_scope S, typename T> BL_DEVICE T bl_op_fetch_add(T *p, T value)
{
	static_assert(sizeof(T) == 4 || sizeof(T) == 8, "no such addition");
	if constexpr (S == BL_OP_THREAD) {
		T old = bl_op_load<S>(p);

		bl_op_store<S>(p, (T)(old + value));
		return old;
	} else if constexpr (sizeof(T) == 8) {
		uint64_t v;

		BL_OP_SCOPED(S, "atom.relaxed", ".add.u64 %0, [%1], %2;", : "=l"(v) : "l"(p), "l"((uint64_t)value) : "memory");
		return (T)v;
	} else {
		uint32_t v;

		BL_OP_SCOPED(S, "atom.relaxed", ".add.u32 %0, [%1], %2;", : "=r"(v) : "l"(p), "r"((uint32_t)value) : "memory");
		return (T)v;
	}
}

/* A maximum at a scope, unsigned or signed by the type. */
#define BL_OP_MAX(S, sem, p, value)                                                                                    \
	do {                                                                                                           \
		constexpr bool is_signed = (T)(-1) < (T)0;                                                             \
		if constexpr (sizeof(T) == 8 && !is_signed)                                                            \
			BL_OP_SCOPED(S, sem, ".max.u64 %0, [%1], %2;", : "=l"(v) : "l"(p), "l"((uint64_t)value) : "memory"); \
		else if constexpr (sizeof(T) == 8)                                                                     \
			BL_OP_SCOPED(S, sem, ".max.s64 %0, [%1], %2;", : "=l"(v) : "l"(p), "l"((uint64_t)value) : "memory"); \
		else if constexpr (!is_signed)                                                                         \
			BL_OP_SCOPED(S, sem, ".max.u32 %0, [%1], %2;", : "=r"(v) : "l"(p), "r"((uint32_t)value) : "memory"); \
		else                                                                                                   \
			BL_OP_SCOPED(S, sem, ".max.s32 %0, [%1], %2;", : "=r"(v) : "l"(p), "r"((uint32_t)value) : "memory"); \
	} while (0)

template <size_t Size> struct bl_op_uint {
	typedef uint32_t type;
};
template <> struct bl_op_uint<8> {
	typedef uint64_t type;
};

template <enum doca_gpu_dev_verbs_sync_scope S, typename T> BL_DEVICE T bl_op_fetch_max(T *p, T value)
{
	static_assert(sizeof(T) == 4 || sizeof(T) == 8, "no such maximum");
	if constexpr (S == BL_OP_THREAD) {
		T old = bl_op_load<S>(p);

		if (old < value)
			bl_op_store<S>(p, value);
		return old;
	} else {
		typename bl_op_uint<sizeof(T)>::type v;

		BL_OP_MAX(S, "atom.relaxed", p, value);
		return (T)v;
	}
}

/* As bl_op_fetch_max(); who acquires the new value sees what came before. */
template <enum doca_gpu_dev_verbs_sync_scope S, typename T> BL_DEVICE T bl_op_fetch_max_release(T *p, T value)
{
	if constexpr (S == BL_OP_THREAD) {
		return bl_op_fetch_max<S>(p, value);
	} else {
		typename bl_op_uint<sizeof(T)>::type v;

		BL_OP_MAX(S, "atom.release", p, value);
		return (T)v;
	}
}

#undef BL_OP_MAX

template <enum doca_gpu_dev_verbs_sync_scope S, typename T> BL_DEVICE T bl_op_cas(T *p, T expected, T desired)
{
	static_assert(sizeof(T) == 4 || sizeof(T) == 8, "no such exchange");
	if constexpr (S == BL_OP_THREAD) {
		T old = bl_op_load<S>(p);

		if (old == expected)
			bl_op_store<S>(p, desired);
		return old;
	} else if constexpr (sizeof(T) == 8) {
		uint64_t v;

		BL_OP_SCOPED(S, "atom.relaxed", ".cas.b64 %0, [%1], %2, %3;",
			     : "=l"(v) : "l"(p), "l"((uint64_t)expected), "l"((uint64_t)desired) : "memory");
		return (T)v;
	} else {
		uint32_t v;

		BL_OP_SCOPED(S, "atom.relaxed", ".cas.b32 %0, [%1], %2, %3;",
			     : "=r"(v) : "l"(p), "r"((uint32_t)expected), "r"((uint32_t)desired) : "memory");
		return (T)v;
	}
}

#undef BL_OP_SCOPED
#undef BL_OP_FENCE_ACQUIRE
#undef BL_OP_FENCE_RELEASE

/* A register of a device. */
BL_DEVICE void bl_op_store_mmio(uint64_t *p, uint64_t value)
{
#if (__CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__) >= 1202
	/* .mmio is for global addresses: a register that the host has mapped has the same address there */
	asm volatile("st.mmio.relaxed.sys.global.u64 [%0], %1;" : : "l"(p), "l"(value) : "memory");
#else
	bl_op_store<BL_OP_SYS>(p, value);
#endif
}

/* Release and store at once, without waiting: sm_100 and up, else one after the other. */
BL_DEVICE void bl_op_store_async(uint32_t *p, uint32_t value)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000 && (__CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__) >= 1208
	asm volatile("st.async.release.sys.global.u32 [%0], %1;" : : "l"(p), "r"(value) : "memory");
#else
	bl_op_store_release<BL_OP_SYS>(p, value);
#endif
}

BL_DEVICE void bl_op_store_async(uint64_t *p, uint64_t value)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000 && (__CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__) >= 1208
	asm volatile("st.async.mmio.release.sys.global.u64 [%0], %1;" : : "l"(p), "l"(value) : "memory");
#else
	bl_op_fence_release<BL_OP_SYS>();
	bl_op_store_mmio(p, value);
#endif
}

/* 16 bytes at a multiple of 16, of a WQE: seen by others only after a release. */
BL_DEVICE void bl_op_store_seg(void *dst, const uint64_t *src)
{
	asm volatile("st.weak.cs.v2.b64 [%0], {%1, %2};" : : "l"(dst), "l"(src[0]), "l"(src[1]) : "memory");
}

/* Some bytes of a WQE, at a multiple of 4. */
BL_DEVICE void bl_op_store_bytes(void *dst, const void *src, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((uint8_t *)dst)[i] = ((const uint8_t *)src)[i];
}

/* 8 bytes at a multiple of 8 that the calling thread, or one that it met in its warp, has written. */
BL_DEVICE uint64_t bl_op_word(const void *src)
{
	return *(const uint64_t *)src;
}

/* Whether a thread can write a whole BlueFlame buffer in one transfer. */
BL_DEVICE constexpr bool bl_op_has_bulk()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
	return true;
#else
	return false;
#endif
}

/* A WQE in shared memory to a BlueFlame buffer: in one transfer where that exists, else in eight stores. */
BL_DEVICE void bl_op_store_bulk(uint64_t *dst, const void *src)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
	/* the copy is made by another unit: it must see the WQE that this thread wrote */
	asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
	asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 64;"
		     : : "l"(dst), "r"((uint32_t)__cvta_generic_to_shared(src)) : "memory");
	asm volatile("cp.async.bulk.commit_group;" : : : "memory");
	/* the WQE may be overwritten once it was read */
	asm volatile("cp.async.bulk.wait_group.read 0;" : : : "memory");
#else
	for (int i = 7; i >= 0; i--)
		bl_op_store_mmio(dst + i, bl_op_word((const char *)src + i * 8));
#endif
}

BL_DEVICE uint64_t bl_op_timer()
{
	uint64_t now;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
	return now;
}

/* A turn of a wait. Sleeping would cost more latency than the memory traffic that it saves. */
BL_DEVICE void bl_op_pause()
{
}

BL_DEVICE unsigned int bl_op_lane()
{
	unsigned int lane;

	asm("mov.u32 %0, %%laneid;" : "=r"(lane));
	return lane;
}

BL_DEVICE void bl_op_syncwarp()
{
	__syncwarp();
}

BL_DEVICE uint64_t bl_op_shfl(uint64_t value, unsigned int lane)
{
	return __shfl_sync(0xffffffffU, (unsigned long long)value, (int)lane);
}

BL_DEVICE bool bl_op_any(bool predicate)
{
	return __any_sync(0xffffffffU, predicate);
}

BL_DEVICE uint32_t bl_op_bswap32(uint32_t x)
{
	return __byte_perm(x, 0, 0x0123);
}

BL_DEVICE uint64_t bl_op_bswap64(uint64_t x)
{
	return (uint64_t)bl_op_bswap32((uint32_t)x) << 32 | bl_op_bswap32((uint32_t)(x >> 32));
}

BL_DEVICE uint16_t bl_op_bswap16(uint16_t x)
{
	return (uint16_t)(x << 8 | x >> 8);
}

#undef BL_OP_CTA
#undef BL_OP_GPU
#undef BL_OP_SYS
#undef BL_OP_THREAD

#endif
