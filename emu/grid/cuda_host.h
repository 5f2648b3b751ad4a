/* SPDX-License-Identifier: MIT */
/*
 * cuda_host.h - CUDA kernels compiled for the CPU
 *
 * The first include of a .cu file, or on the command line:
 *
 *	g++ -std=c++17 -x c++ -fPIC -shared -fvisibility=hidden -fno-gnu-unique \
 *		-include emu/grid/cuda_host.h kernels.cu -o kernels.so
 *
 * At file scope, BL_CUDA_KERNEL(name) for each kernel that is launched by name; it is extern "C". The stand-in
 * libcuda.so.1 loads the object with cuModuleLoad(). The source is meant for nvcc as well: there this header defines only
 * what CUDA does not have.
 *
 * A variable in shared memory is declared with BL_SHARED(type, name, [dimension]) or BL_SHARED(type, name, ), the
 * dynamic one with BL_SHARED_DYNAMIC(type, name). emu/README.md says what differs from a GPU.
 */
#ifndef EMU_GRID_CUDA_HOST_H
#define EMU_GRID_CUDA_HOST_H

#ifdef __CUDACC__

#define BL_CUDA_KERNEL(name)		static_assert(true, "")
#define BL_SHARED(type, name, dim)	__shared__ type name dim
#define BL_SHARED_DYNAMIC(type, name)                                                                                  \
	extern __shared__ char bl_dynamic_shared[];                                                                    \
	type *name = reinterpret_cast<type *>(bl_dynamic_shared)

static __device__ __forceinline__ unsigned long long bl_globaltimer()
{
	unsigned long long ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

#else

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <type_traits>
#include <utility>

#include "cuda_module.h"
#include "grid.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((__always_inline__))
#define __launch_bounds__(...)

using std::max;
using std::min;

struct dim3 : bl_dim3 {
	constexpr dim3(unsigned int nx = 1, unsigned int ny = 1, unsigned int nz = 1) : bl_dim3{ nx, ny, nz }
	{
	}
};

#define threadIdx (bl_thread_self()->thread)
#define blockIdx  (bl_thread_self()->block)
#define blockDim  (bl_thread_self()->block_dim)
#define gridDim	  (bl_thread_self()->grid_dim)
#define warpSize  32

#include "cuda_host_threads.h"
#include "cuda_host_atomic.h"

#define BL_SHARED(type, name, dim)                                                                                     \
	static char bl_shared_key_##name;                                                                              \
	using bl_shared_type_##name = type dim;                                                                        \
	bl_shared_type_##name &name = bl_cuda_shared<bl_shared_type_##name>(&bl_shared_key_##name)

#define BL_SHARED_DYNAMIC(type, name) type *name = static_cast<type *>(bl_thread_shared(0, 0))

template <typename T> static inline T &bl_cuda_shared(const char *key)
{
	void *var = bl_thread_shared_static(key, sizeof(T));

	/* more than a block has: a GPU's compiler would have refused it */
	if (!var)
		__builtin_trap();
	return *static_cast<T *>(var);
}

/* Internal, so that nothing of an object stays behind when it is unloaded, nor meets its like in another. */
namespace
{

template <auto kernel> struct bl_cuda_launcher;

template <typename... Params, void (*kernel)(Params...)> struct bl_cuda_launcher<kernel> {
	static_assert((!std::is_reference<Params>::value && ...), "parameters of kernels are values");
	static_assert(((alignof(Params) <= 16) && ...), "parameters are aligned to 16 bytes at most");
	static_assert((std::is_trivially_copyable<Params>::value && ...), "parameters of kernels are copied as bytes");

	/* the last is never used: there are kernels without parameters, and no arrays without elements */
	static constexpr struct bl_cuda_param params[] = { { sizeof(Params), alignof(Params) }..., { 0, 0 } };

	template <size_t... index> static void call(void *const *args, std::index_sequence<index...>)
	{
		(void)args;
		kernel(*static_cast<Params *>(args[index])...);
	}

	static void run(void *const *args)
	{
		call(args, std::index_sequence_for<Params...>{});
	}
};

} // namespace

extern "C" {
/* The same in each file of an object that has several. */
extern __attribute__((__weak__, __visibility__("default"))) const struct bl_cuda_module bl_cuda_module;
const struct bl_cuda_module bl_cuda_module = { BL_CUDA_MODULE_ABI };
}

#define BL_CUDA_KERNEL(name)                                                                                           \
	extern "C" {                                                                                                   \
	extern __attribute__((__visibility__("default"))) const struct bl_cuda_kernel bl_cuda_kernel_##name;           \
	const struct bl_cuda_kernel bl_cuda_kernel_##name = {                                                          \
		sizeof(bl_cuda_launcher<name>::params) / sizeof(struct bl_cuda_param) - 1,                             \
		bl_cuda_launcher<name>::params,                                                                        \
		bl_cuda_launcher<name>::run,                                                                           \
	};                                                                                                             \
	}                                                                                                              \
	static_assert(true, "")

#endif /* __CUDACC__ */

#endif
