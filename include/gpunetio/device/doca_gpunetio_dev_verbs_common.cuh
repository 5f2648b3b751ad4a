/* SPDX-License-Identifier: MIT */
/*
 * doca_gpunetio_dev_verbs_common.cuh - time, lanes, byte order, fences, atomics and copies for device code
 *
 * Compiles with nvcc for a GPU, and with a host compiler for threads of a CPU that stand for a GPU's.
 */
#ifndef DOCA_GPUNETIO_DEV_VERBS_COMMON_CUH
#define DOCA_GPUNETIO_DEV_VERBS_COMMON_CUH

#include <errno.h>

#include "../common/doca_gpunetio_verbs_def.h"
#include "../common/doca_gpunetio_verbs_dev.h"
#include "../common/doca_gpunetio_verbs_mlx5.h"
#ifdef __CUDACC__
#include "doca_gpunetio_dev_ops_cuda.cuh"
#else
#include "doca_gpunetio_dev_ops_host.h"
#endif

/* The threads that share a queue are those that must see each other's writes to it. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RS> struct bl_dev_scope {
	static constexpr enum doca_gpu_dev_verbs_sync_scope value =
		RS == DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE ? DOCA_GPUNETIO_VERBS_SYNC_SCOPE_THREAD :
		RS == DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA	  ? DOCA_GPUNETIO_VERBS_SYNC_SCOPE_CTA :
									    DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU;
};

/** doca_gpu_dev_verbs_query_globaltimer() - Nanoseconds of the clock that deadlines are of */
BL_DEVICE uint64_t doca_gpu_dev_verbs_query_globaltimer()
{
	return bl_op_timer();
}

/** doca_gpu_dev_verbs_get_lane_id() - Number of the calling thread in its warp */
BL_DEVICE unsigned int doca_gpu_dev_verbs_get_lane_id()
{
	return bl_op_lane();
}

BL_DEVICE uint64_t doca_gpu_dev_verbs_bswap64(uint64_t x)
{
	return bl_op_bswap64(x);
}

BL_DEVICE uint32_t doca_gpu_dev_verbs_bswap32(uint32_t x)
{
	return bl_op_bswap32(x);
}

BL_DEVICE uint16_t doca_gpu_dev_verbs_bswap16(uint16_t x)
{
	return bl_op_bswap16(x);
}

/** doca_gpu_dev_verbs_store_relaxed_mmio() - Store to a register of a device */
BL_DEVICE void doca_gpu_dev_verbs_store_relaxed_mmio(uint64_t *ptr, uint64_t val)
{
	bl_op_store_mmio(ptr, val);
}

/** doca_gpu_dev_verbs_fence_acquire() - Earlier loads before all later accesses */
template <enum doca_gpu_dev_verbs_sync_scope sync_scope> BL_DEVICE void doca_gpu_dev_verbs_fence_acquire()
{
	bl_op_fence_acquire<sync_scope>();
}

/** doca_gpu_dev_verbs_fence_release() - All earlier accesses before later stores */
template <enum doca_gpu_dev_verbs_sync_scope sync_scope> BL_DEVICE void doca_gpu_dev_verbs_fence_release()
{
	bl_op_fence_release<sync_scope>();
}

/** doca_gpu_dev_verbs_async_store_release() - Store that all earlier accesses come before, system scope */
BL_DEVICE void doca_gpu_dev_verbs_async_store_release(uint32_t *ptr, uint32_t val)
{
	bl_op_store_async(ptr, val);
}

/* The same, to a register of a device. */
BL_DEVICE void doca_gpu_dev_verbs_async_store_release(uint64_t *ptr, uint64_t val)
{
	bl_op_store_async(ptr, val);
}

/** doca_gpu_dev_verbs_isaligned() - Whether an address is a multiple of a power of two */
BL_DEVICE bool doca_gpu_dev_verbs_isaligned(void *ptr, size_t alignment)
{
	return !((uintptr_t)ptr & (alignment - 1));
}

/** doca_gpu_dev_verbs_memcpy_inl_aligned_data() - Copy by units of a type that both addresses are aligned to */
template <typename T> BL_DEVICE void doca_gpu_dev_verbs_memcpy_inl_aligned_data(T *dst, T *src, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(T); i++)
		bl_op_store_bytes(&dst[i], &src[i], sizeof(T));
	bl_op_store_bytes((char *)dst + bytes / sizeof(T) * sizeof(T), (char *)src + bytes / sizeof(T) * sizeof(T),
			  bytes % sizeof(T));
}

/** doca_gpu_dev_verbs_memcpy_aligned_data() - Copy by the widest unit that both addresses are aligned to */
BL_DEVICE void doca_gpu_dev_verbs_memcpy_aligned_data(void *dst, void *src, size_t bytes)
{
	uintptr_t both = (uintptr_t)dst | (uintptr_t)src;

	if (!(both & 7))
		doca_gpu_dev_verbs_memcpy_inl_aligned_data((uint64_t *)dst, (uint64_t *)src, bytes);
	else if (!(both & 3))
		doca_gpu_dev_verbs_memcpy_inl_aligned_data((uint32_t *)dst, (uint32_t *)src, bytes);
	else if (!(both & 1))
		doca_gpu_dev_verbs_memcpy_inl_aligned_data((uint16_t *)dst, (uint16_t *)src, bytes);
	else
		doca_gpu_dev_verbs_memcpy_inl_aligned_data((uint8_t *)dst, (uint8_t *)src, bytes);
}

/** doca_gpu_dev_verbs_memcpy_data() - Copy from and to any addresses */
BL_DEVICE void doca_gpu_dev_verbs_memcpy_data(void *dst, void *src, size_t bytes)
{
	doca_gpu_dev_verbs_memcpy_aligned_data(dst, src, bytes);
}

/** doca_gpu_dev_verbs_atomic_max() - Raise a word of a shared object; the old value */
template <typename T, enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode, bool need_fence_acquire = false>
BL_DEVICE T doca_gpu_dev_verbs_atomic_max(T *ptr, T val)
{
	T old = bl_op_fetch_max<bl_dev_scope<resource_sharing_mode>::value>(ptr, val);

	if (need_fence_acquire)
		bl_op_fence_acquire<bl_dev_scope<resource_sharing_mode>::value>();
	return old;
}

/** doca_gpu_dev_verbs_atomic_add() - Add to a word of a shared object; the old value */
template <typename T, enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
BL_DEVICE T doca_gpu_dev_verbs_atomic_add(T *ptr, T val)
{
	return bl_op_fetch_add<bl_dev_scope<resource_sharing_mode>::value>(ptr, val);
}

/** doca_gpu_dev_verbs_atomic_read() - Value of a word of a shared object */
template <typename T, enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
BL_DEVICE T doca_gpu_dev_verbs_atomic_read(T *ptr)
{
	return bl_op_load<bl_dev_scope<resource_sharing_mode>::value>(ptr);
}

/** doca_gpu_dev_verbs_load_relaxed_sys_global() - Value of a word that the host or a device may write */
BL_DEVICE uint8_t doca_gpu_dev_verbs_load_relaxed_sys_global(uint8_t *ptr)
{
	return bl_op_load<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>(ptr);
}

BL_DEVICE uint32_t doca_gpu_dev_verbs_load_relaxed_sys_global(uint32_t *ptr)
{
	return bl_op_load<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>(ptr);
}

BL_DEVICE uint64_t doca_gpu_dev_verbs_load_relaxed_sys_global(uint64_t *ptr)
{
	return bl_op_load<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>(ptr);
}

/** doca_gpu_dev_verbs_load_relaxed() - Value of a word of a shared object */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
BL_DEVICE uint64_t doca_gpu_dev_verbs_load_relaxed(uint64_t *ptr)
{
	return bl_op_load<bl_dev_scope<resource_sharing_mode>::value>(ptr);
}

/** doca_gpu_dev_verbs_div_ceil_aligned_pow2() - @x / 2^@denominator_shift, rounded up */
BL_DEVICE uint64_t doca_gpu_dev_verbs_div_ceil_aligned_pow2(uint64_t x, unsigned int denominator_shift)
{
	return (x >> denominator_shift) + ((x & ((1ULL << denominator_shift) - 1)) != 0);
}

BL_DEVICE uint32_t doca_gpu_dev_verbs_div_ceil_aligned_pow2_32bits(uint64_t x, int denominator_shift)
{
	return (uint32_t)doca_gpu_dev_verbs_div_ceil_aligned_pow2(x, (unsigned int)denominator_shift);
}

/**
 * doca_gpu_dev_verbs_lock_until() - Take a lock, but for no longer than a time
 * @lock:	 0 free, 1 taken
 * @deadline_ns: of doca_gpu_dev_verbs_query_globaltimer(); UINT64_MAX: none
 * @stop_flag:	 word that ends the wait when it is not 0; may be NULL
 *
 * Return: 0, or DOCA_GPUNETIO_VERBS_WAIT_TIMEOUT, DOCA_GPUNETIO_VERBS_WAIT_STOPPED.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
BL_DEVICE int doca_gpu_dev_verbs_lock_until(int *lock, uint64_t deadline_ns, const uint32_t *stop_flag)
{
	constexpr auto S = bl_dev_scope<resource_sharing_mode>::value;

	while (bl_op_cas<S>(lock, 0, 1)) {
		if (stop_flag && bl_op_load<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>(stop_flag))
			return DOCA_GPUNETIO_VERBS_WAIT_STOPPED;
		if (deadline_ns != UINT64_MAX && bl_op_timer() >= deadline_ns)
			return DOCA_GPUNETIO_VERBS_WAIT_TIMEOUT;
		bl_op_pause();
	}
	/* taking the lock before whatever it protects */
	bl_op_fence_acquire<S>();
	return 0;
}

/** doca_gpu_dev_verbs_lock() - Take a lock, however long that lasts */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode> BL_DEVICE void doca_gpu_dev_verbs_lock(int *lock)
{
	doca_gpu_dev_verbs_lock_until<resource_sharing_mode>(lock, UINT64_MAX, nullptr);
}

/** doca_gpu_dev_verbs_unlock() - Give a lock back */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode> BL_DEVICE void doca_gpu_dev_verbs_unlock(int *lock)
{
	/* whatever the lock protects before giving it back */
	bl_op_store_release<bl_dev_scope<resource_sharing_mode>::value>(lock, 0);
}

#endif
