/* SPDX-License-Identifier: MIT */
/*
 * cuda.h - the CUDA driver library, loaded at run time
 *
 * libcuda.so.1 is never linked. bl_cuda() loads it on first use and resolves the table below; nothing here calls
 * cuInit(): a program that has GPU memory to pin has done so.
 *
 * Each library and program that wants the table links a copy of cuda.c and exports none of it: the table grows from
 * build to build, and a program of another build must not lend its own to a library.
 */
#ifndef BL_GPU_CUDA_H
#define BL_GPU_CUDA_H

#include "cuda_abi.h"

/*
 * X(return type, field = name in the API, symbol, (parameters)): entries that every supported driver (515 and later)
 * has; loading fails without one of them.
 */
#define BL_CUDA_REQUIRED(X)                                                                                            \
	X(CUresult, cuInit, "cuInit", (unsigned int flags))                                                            \
	X(CUresult, cuDriverGetVersion, "cuDriverGetVersion", (int *version))                                          \
	X(CUresult, cuGetErrorName, "cuGetErrorName", (CUresult err, const char **str))                                \
	X(CUresult, cuGetErrorString, "cuGetErrorString", (CUresult err, const char **str))                            \
	X(CUresult, cuDeviceGet, "cuDeviceGet", (CUdevice * dev, int ordinal))                                         \
	X(CUresult, cuDeviceGetCount, "cuDeviceGetCount", (int *count))                                                \
	X(CUresult, cuDeviceGetName, "cuDeviceGetName", (char *name, int len, CUdevice dev))                           \
	X(CUresult, cuDeviceGetAttribute, "cuDeviceGetAttribute", (int *value, int attr, CUdevice dev))                \
	X(CUresult, cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId", (char *id, int len, CUdevice dev))                     \
	X(CUresult, cuDeviceTotalMem, "cuDeviceTotalMem_v2", (size_t *bytes, CUdevice dev))                            \
	X(CUresult, cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext * ctx, CUdevice dev))             \
	X(CUresult, cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (CUdevice dev))                         \
	X(CUresult, cuCtxGetCurrent, "cuCtxGetCurrent", (CUcontext * ctx))                                             \
	X(CUresult, cuCtxSetCurrent, "cuCtxSetCurrent", (CUcontext ctx))                                               \
	X(CUresult, cuCtxPushCurrent, "cuCtxPushCurrent_v2", (CUcontext ctx))                                          \
	X(CUresult, cuCtxPopCurrent, "cuCtxPopCurrent_v2", (CUcontext * ctx))                                          \
	X(CUresult, cuCtxGetDevice, "cuCtxGetDevice", (CUdevice * dev))                                                \
	X(CUresult, cuCtxDestroy, "cuCtxDestroy_v2", (CUcontext ctx))                                                  \
	X(CUresult, cuCtxSynchronize, "cuCtxSynchronize", (void))                                                      \
	X(CUresult, cuMemAlloc, "cuMemAlloc_v2", (CUdeviceptr * ptr, size_t size))                                     \
	X(CUresult, cuMemFree, "cuMemFree_v2", (CUdeviceptr ptr))                                                      \
	X(CUresult, cuMemGetInfo, "cuMemGetInfo_v2", (size_t *free_bytes, size_t *total_bytes))                        \
	X(CUresult, cuMemGetAddressRange, "cuMemGetAddressRange_v2", (CUdeviceptr * base, size_t *size, CUdeviceptr p)) \
	X(CUresult, cuMemAllocManaged, "cuMemAllocManaged", (CUdeviceptr * ptr, size_t size, unsigned int flags))      \
	X(CUresult, cuMemHostAlloc, "cuMemHostAlloc", (void **ptr, size_t size, unsigned int flags))                   \
	X(CUresult, cuMemFreeHost, "cuMemFreeHost", (void *ptr))                                                       \
	X(CUresult, cuMemcpyHtoD, "cuMemcpyHtoD_v2", (CUdeviceptr dst, const void *src, size_t size))                  \
	X(CUresult, cuMemcpyDtoH, "cuMemcpyDtoH_v2", (void *dst, CUdeviceptr src, size_t size))                        \
	X(CUresult, cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2",                                                         \
	  (CUdeviceptr dst, const void *src, size_t size, CUstream stream))                                            \
	X(CUresult, cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2",                                                         \
	  (void *dst, CUdeviceptr src, size_t size, CUstream stream))                                                  \
	X(CUresult, cuMemsetD8, "cuMemsetD8_v2", (CUdeviceptr dst, unsigned char value, size_t nr))                    \
	X(CUresult, cuMemsetD32, "cuMemsetD32_v2", (CUdeviceptr dst, unsigned int value, size_t nr))                   \
	X(CUresult, cuPointerGetAttribute, "cuPointerGetAttribute", (void *data, int attr, CUdeviceptr ptr))           \
	X(CUresult, cuPointerGetAttributes, "cuPointerGetAttributes",                                                  \
	  (unsigned int nr, int *attrs, void **data, CUdeviceptr ptr))                                                 \
	X(CUresult, cuPointerSetAttribute, "cuPointerSetAttribute", (const void *value, int attr, CUdeviceptr ptr))    \
	X(CUresult, cuIpcGetMemHandle, "cuIpcGetMemHandle", (CUipcMemHandle * handle, CUdeviceptr ptr))                \
	X(CUresult, cuStreamCreate, "cuStreamCreate", (CUstream * stream, unsigned int flags))                         \
	X(CUresult, cuStreamDestroy, "cuStreamDestroy_v2", (CUstream stream))                                          \
	X(CUresult, cuStreamSynchronize, "cuStreamSynchronize", (CUstream stream))                                     \
	X(CUresult, cuStreamQuery, "cuStreamQuery", (CUstream stream))                                                 \
	X(CUresult, cuThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode", (int *mode))               \
	X(CUresult, cuStreamBeginCapture, "cuStreamBeginCapture_v2", (CUstream stream, int mode))                      \
	X(CUresult, cuStreamEndCapture, "cuStreamEndCapture", (CUstream stream, CUgraph * graph))                      \
	X(CUresult, cuGraphDestroy, "cuGraphDestroy", (CUgraph graph))                                                 \
	X(CUresult, cuModuleLoadData, "cuModuleLoadData", (CUmodule * module, const void *image))                      \
	X(CUresult, cuModuleUnload, "cuModuleUnload", (CUmodule module))                                               \
	X(CUresult, cuModuleGetFunction, "cuModuleGetFunction", (CUfunction * fn, CUmodule module, const char *name))  \
	X(CUresult, cuLaunchKernel, "cuLaunchKernel",                                                                  \
	  (CUfunction fn, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by,         \
	   unsigned int bz, unsigned int shared, CUstream stream, void **params, void **extra))                        \
	X(CUresult, cuMemGetAllocationGranularity, "cuMemGetAllocationGranularity",                                    \
	  (size_t *granularity, const CUmemAllocationProp *prop, int option))                                          \
	X(CUresult, cuMemAddressReserve, "cuMemAddressReserve",                                                        \
	  (CUdeviceptr * ptr, size_t size, size_t align, CUdeviceptr addr, unsigned long long flags))                  \
	X(CUresult, cuMemAddressFree, "cuMemAddressFree", (CUdeviceptr ptr, size_t size))                              \
	X(CUresult, cuMemCreate, "cuMemCreate",                                                                        \
	  (CUmemGenericAllocationHandle * handle, size_t size, const CUmemAllocationProp *prop,                        \
	   unsigned long long flags))                                                                                  \
	X(CUresult, cuMemRelease, "cuMemRelease", (CUmemGenericAllocationHandle handle))                               \
	X(CUresult, cuMemMap, "cuMemMap",                                                                              \
	  (CUdeviceptr ptr, size_t size, size_t off, CUmemGenericAllocationHandle handle, unsigned long long flags))   \
	X(CUresult, cuMemUnmap, "cuMemUnmap", (CUdeviceptr ptr, size_t size))                                          \
	X(CUresult, cuMemSetAccess, "cuMemSetAccess",                                                                  \
	  (CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t nr))                                      \
	X(CUresult, cuMemExportToShareableHandle, "cuMemExportToShareableHandle",                                      \
	  (void *shareable, CUmemGenericAllocationHandle handle, int type, unsigned long long flags))                  \
	X(CUresult, cuMemRetainAllocationHandle, "cuMemRetainAllocationHandle",                                        \
	  (CUmemGenericAllocationHandle * handle, void *addr))

/* What a stream calls; it may not call CUDA. */
typedef void (*bl_cuda_host_fn)(void *arg);

/* Entries that some supported drivers lack; NULL there. */
#define BL_CUDA_OPTIONAL(X)                                                                                            \
	X(CUresult, cuCtxCreate, "cuCtxCreate_v2", (CUcontext * ctx, unsigned int flags, CUdevice dev))                \
	X(CUresult, cuCtxGetId, "cuCtxGetId", (CUcontext ctx, unsigned long long *id))                                 \
	X(CUresult, cuDeviceGetUuid, "cuDeviceGetUuid_v2", (CUuuid * uuid, CUdevice dev))                                 \
	X(CUresult, cuMemGetHandleForAddressRange, "cuMemGetHandleForAddressRange",                                    \
	  (void *handle, CUdeviceptr ptr, size_t size, int type, unsigned long long flags))                            \
	X(CUresult, cuStreamWriteValue32, "cuStreamWriteValue32_v2",                                                   \
	  (CUstream stream, CUdeviceptr ptr, cuuint32_t value, unsigned int flags))                                    \
	X(CUresult, cuStreamWaitValue32, "cuStreamWaitValue32_v2",                                                     \
	  (CUstream stream, CUdeviceptr ptr, cuuint32_t value, unsigned int flags))                                    \
	X(CUresult, cuLaunchHostFunc, "cuLaunchHostFunc", (CUstream stream, bl_cuda_host_fn fn, void *arg))            \
	X(CUresult, cuStreamIsCapturing, "cuStreamIsCapturing", (CUstream stream, int *status))                        \
	X(CUresult, cuStreamGetId, "cuStreamGetId", (CUstream stream, unsigned long long *id))                         \
	X(CUresult, cuFuncLoad, "cuFuncLoad", (CUfunction fn))                                                         \
	X(CUresult, cuStreamGetCtx, "cuStreamGetCtx", (CUstream stream, CUcontext * ctx))                              \
	X(CUresult, cuMemAllocAsync, "cuMemAllocAsync", (CUdeviceptr * ptr, size_t size, CUstream stream))             \
	X(CUresult, cuMemFreeAsync, "cuMemFreeAsync", (CUdeviceptr ptr, CUstream stream))                              \
	X(CUresult, cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2",                                                         \
	  (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream))                                            \
	X(CUresult, cuMemcpyPeerAsync, "cuMemcpyPeerAsync",                                                            \
	  (CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx, size_t size, CUstream stream))      \
	X(CUresult, cuDeviceCanAccessPeer, "cuDeviceCanAccessPeer", (int *can, CUdevice dev, CUdevice peer))           \
	X(CUresult, cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess", (CUcontext peer, unsigned int flags))              \
	X(CUresult, cuIpcOpenMemHandle, "cuIpcOpenMemHandle_v2",                                                       \
	  (CUdeviceptr * ptr, CUipcMemHandle handle, unsigned int flags))                                              \
	X(CUresult, cuIpcCloseMemHandle, "cuIpcCloseMemHandle", (CUdeviceptr ptr))                                     \
	X(CUresult, cuMemHostRegister, "cuMemHostRegister_v2", (void *ptr, size_t size, unsigned int flags))           \
	X(CUresult, cuMemHostUnregister, "cuMemHostUnregister", (void *ptr))                                           \
	X(CUresult, cuMemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2",                                         \
	  (CUdeviceptr * dptr, void *ptr, unsigned int flags))

#define BL_CUDA_FIELD(ret, field, sym, params) ret(*field) params;

/** struct bl_cuda - the driver library's entry points */
struct bl_cuda {
	BL_CUDA_REQUIRED(BL_CUDA_FIELD)
	BL_CUDA_OPTIONAL(BL_CUDA_FIELD)
};

/**
 * bl_cuda() - The driver library
 *
 * Loaded once per copy of this, and never unloaded. Thread-safe.
 * Return: the table, or NULL when there is no usable libcuda.so.1; bl_cuda_error() says why.
 */
const struct bl_cuda *bl_cuda(void);

/** bl_cuda_error() - Why bl_cuda() is NULL; text valid for ever */
const char *bl_cuda_error(void);

/**
 * bl_cuda_strerror() - Name of a driver error
 * @err: what the driver returned
 *
 * Return: its name, such as "CUDA_ERROR_OUT_OF_MEMORY"; valid for ever.
 */
const char *bl_cuda_strerror(CUresult err);

/**
 * bl_cuda_errno() - errno value that says the same as a driver error
 * @err: what the driver returned, not CUDA_SUCCESS
 *
 * Return: positive errno value; EIO for what has no counterpart.
 */
int bl_cuda_errno(CUresult err);

#endif
