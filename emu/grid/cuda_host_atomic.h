/* SPDX-License-Identifier: MIT */
/*
 * cuda_host_atomic.h - CUDA's atomic functions; included by cuda_host.h
 *
 * Relaxed, as they are on a GPU; each returns the old value. The scopes _block and _system are the same here: all
 * threads of the process see what is done.
 */
#ifndef EMU_GRID_CUDA_HOST_ATOMIC_H
#define EMU_GRID_CUDA_HOST_ATOMIC_H

/* The type of the first argument decides, as with CUDA's overloads. */
template <typename T> struct bl_cuda_same {
	using type = T;
};

template <typename T> using bl_cuda_value = typename bl_cuda_same<T>::type;

/* Any operation by compare-and-swap on the bytes, floating point included. */
template <typename T, typename F> static inline T bl_cuda_update(T *p, F update)
{
	T old, now;

	static_assert(sizeof(T) == 4 || sizeof(T) == 8, "atomics are of 4 or 8 bytes");
	bl_thread_step();
	__atomic_load(p, &old, __ATOMIC_RELAXED);
	do
		now = update(old);
	while (!__atomic_compare_exchange(p, &old, &now, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return old;
}

#define BL_CUDA_ATOMIC(name, expression)                                                                               \
	template <typename T> static inline T name(T *p, bl_cuda_value<T> value)                                       \
	{                                                                                                              \
		return bl_cuda_update(p, [value](T old) -> T { return (expression); });                                \
	}                                                                                                              \
	template <typename T> static inline T name##_block(T *p, bl_cuda_value<T> value)                               \
	{                                                                                                              \
		return name(p, value);                                                                                 \
	}                                                                                                              \
	template <typename T> static inline T name##_system(T *p, bl_cuda_value<T> value)                              \
	{                                                                                                              \
		return name(p, value);                                                                                 \
	}

BL_CUDA_ATOMIC(atomicAdd, old + value)
BL_CUDA_ATOMIC(atomicSub, old - value)
BL_CUDA_ATOMIC(atomicMax, old < value ? value : old)
BL_CUDA_ATOMIC(atomicMin, value < old ? value : old)
BL_CUDA_ATOMIC(atomicAnd, old & value)
BL_CUDA_ATOMIC(atomicOr, old | value)
BL_CUDA_ATOMIC(atomicXor, old ^ value)
BL_CUDA_ATOMIC(atomicExch, ((void)old, value))
BL_CUDA_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
BL_CUDA_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)

#undef BL_CUDA_ATOMIC

template <typename T> static inline T atomicCAS(T *p, bl_cuda_value<T> expected, bl_cuda_value<T> desired)
{
	static_assert(sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8, "atomics are of 2, 4 or 8 bytes");
	bl_thread_step();
	__atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return expected;
}

template <typename T> static inline T atomicCAS_block(T *p, bl_cuda_value<T> expected, bl_cuda_value<T> desired)
{
	return atomicCAS(p, expected, desired);
}

template <typename T> static inline T atomicCAS_system(T *p, bl_cuda_value<T> expected, bl_cuda_value<T> desired)
{
	return atomicCAS(p, expected, desired);
}

#endif
