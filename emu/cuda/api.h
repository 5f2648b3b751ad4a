/* SPDX-License-Identifier: MIT */
/*
 * api.h - the exported CUDA functions
 *
 * X(since, name, symbol, (parameters)): cuGetProcAddress() gives for @name the entry with the largest @since (a CUDA
 * version, as in 12000) that is not above the version asked for. 99999 keeps an entry out of it.
 */
#ifndef EMU_CUDA_API_H
#define EMU_CUDA_API_H

#include "emu.h"
#include "gpu/cuda_abi.h"

#define EMU_API_INIT(X)                                                                                                \
	X(2000, "cuInit", cuInit, (unsigned int flags))                                                                \
	X(2020, "cuDriverGetVersion", cuDriverGetVersion, (int *version))                                              \
	X(6000, "cuGetErrorName", cuGetErrorName, (CUresult err, const char **str))                                    \
	X(6000, "cuGetErrorString", cuGetErrorString, (CUresult err, const char **str))                                \
	X(11030, "cuGetProcAddress", cuGetProcAddress,                                                                 \
	  (const char *name, void **fn, int version, cuuint64_t flags))                                                \
	X(12000, "cuGetProcAddress", cuGetProcAddress_v2,                                                              \
	  (const char *name, void **fn, int version, cuuint64_t flags, int *status))

#define EMU_API_DEVICE(X)                                                                                              \
	X(2000, "cuDeviceGet", cuDeviceGet, (CUdevice * dev, int ordinal))                                             \
	X(2000, "cuDeviceGetCount", cuDeviceGetCount, (int *count))                                                    \
	X(2000, "cuDeviceGetName", cuDeviceGetName, (char *name, int len, CUdevice dev))                               \
	X(2000, "cuDeviceGetAttribute", cuDeviceGetAttribute, (int *value, int attr, CUdevice dev))                    \
	X(4010, "cuDeviceGetPCIBusId", cuDeviceGetPCIBusId, (char *id, int len, CUdevice dev))                         \
	X(4010, "cuDeviceGetByPCIBusId", cuDeviceGetByPCIBusId, (CUdevice * dev, const char *id))                      \
	X(9020, "cuDeviceGetUuid", cuDeviceGetUuid, (CUuuid * uuid, CUdevice dev))                                     \
	X(11040, "cuDeviceGetUuid", cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice dev))                                 \
	X(3020, "cuDeviceTotalMem", cuDeviceTotalMem_v2, (size_t *bytes, CUdevice dev))                                \
	X(5000, "cuDeviceComputeCapability", cuDeviceComputeCapability, (int *major, int *minor, CUdevice dev))        \
	X(4000, "cuDeviceCanAccessPeer", cuDeviceCanAccessPeer, (int *can, CUdevice dev, CUdevice peer))               \
	X(4000, "cuCtxEnablePeerAccess", cuCtxEnablePeerAccess, (CUcontext peer, unsigned int flags))                  \
	X(8000, "cuDeviceGetP2PAttribute", cuDeviceGetP2PAttribute,                                                    \
	  (int *value, int attr, CUdevice src, CUdevice dst))

#define EMU_API_CONTEXT(X)                                                                                             \
	X(7000, "cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain, (CUcontext * ctx, CUdevice dev))                 \
	X(11000, "cuDevicePrimaryCtxRelease", cuDevicePrimaryCtxRelease_v2, (CUdevice dev))                            \
	X(7000, "cuDevicePrimaryCtxGetState", cuDevicePrimaryCtxGetState,                                              \
	  (CUdevice dev, unsigned int *flags, int *active))                                                            \
	X(3020, "cuCtxCreate", cuCtxCreate_v2, (CUcontext * ctx, unsigned int flags, CUdevice dev))                    \
	X(13000, "cuCtxCreate", cuCtxCreate_v4, (CUcontext * ctx, void *params, unsigned int flags, CUdevice dev))     \
	X(4000, "cuCtxDestroy", cuCtxDestroy_v2, (CUcontext ctx))                                                      \
	X(4000, "cuCtxGetCurrent", cuCtxGetCurrent, (CUcontext * ctx))                                                 \
	X(4000, "cuCtxSetCurrent", cuCtxSetCurrent, (CUcontext ctx))                                                   \
	X(4000, "cuCtxPushCurrent", cuCtxPushCurrent_v2, (CUcontext ctx))                                              \
	X(4000, "cuCtxPopCurrent", cuCtxPopCurrent_v2, (CUcontext * ctx))                                              \
	X(12000, "cuCtxGetId", cuCtxGetId, (CUcontext handle, unsigned long long *id))                                 \
	X(2000, "cuCtxGetDevice", cuCtxGetDevice, (CUdevice * dev))                                                    \
	X(2000, "cuCtxSynchronize", cuCtxSynchronize, (void))                                                          \
	X(3020, "cuCtxGetApiVersion", cuCtxGetApiVersion, (CUcontext ctx, unsigned int *version))

#define EMU_API_MEMORY(X)                                                                                              \
	X(3020, "cuMemAlloc", cuMemAlloc_v2, (CUdeviceptr * ptr, size_t size))                                         \
	X(3020, "cuMemFree", cuMemFree_v2, (CUdeviceptr ptr))                                                          \
	X(3020, "cuMemGetInfo", cuMemGetInfo_v2, (size_t *free_bytes, size_t *total_bytes))                            \
	X(3020, "cuMemGetAddressRange", cuMemGetAddressRange_v2, (CUdeviceptr * base, size_t *size, CUdeviceptr ptr))  \
	X(6000, "cuMemAllocManaged", cuMemAllocManaged, (CUdeviceptr * ptr, size_t size, unsigned int flags))          \
	X(8000, "cuMemPrefetchAsync", cuMemPrefetchAsync, (CUdeviceptr ptr, size_t size, CUdevice dev, CUstream s))    \
	X(12020, "cuMemPrefetchAsync", cuMemPrefetchAsync_v2,                                                          \
	  (CUdeviceptr ptr, size_t size, CUmemLocation location, unsigned int flags, CUstream stream))                 \
	X(3020, "cuMemHostAlloc", cuMemHostAlloc, (void **ptr, size_t size, unsigned int flags))                       \
	X(3020, "cuMemAllocHost", cuMemAllocHost_v2, (void **ptr, size_t size))                                        \
	X(2000, "cuMemFreeHost", cuMemFreeHost, (void *ptr))                                                           \
	X(6050, "cuMemHostRegister", cuMemHostRegister_v2, (void *ptr, size_t size, unsigned int flags))               \
	X(4000, "cuMemHostUnregister", cuMemHostUnregister, (void *ptr))                                               \
	X(3020, "cuMemHostGetDevicePointer", cuMemHostGetDevicePointer_v2,                                             \
	  (CUdeviceptr * dptr, void *ptr, unsigned int flags))                                                         \
	X(11020, "cuMemAllocAsync", cuMemAllocAsync, (CUdeviceptr * ptr, size_t size, CUstream stream))                \
	X(11020, "cuMemFreeAsync", cuMemFreeAsync, (CUdeviceptr ptr, CUstream stream))                                 \
	X(11020, "cuMemAllocFromPoolAsync", cuMemAllocFromPoolAsync,                                                   \
	  (CUdeviceptr * ptr, size_t size, CUmemoryPool pool, CUstream stream))                                        \
	X(11020, "cuMemPoolCreate", cuMemPoolCreate, (CUmemoryPool * pool, const struct emu_pool_props *props))        \
	X(11020, "cuMemPoolDestroy", cuMemPoolDestroy, (CUmemoryPool pool))                                            \
	X(11020, "cuDeviceGetDefaultMemPool", cuDeviceGetDefaultMemPool, (CUmemoryPool * pool, CUdevice dev))          \
	X(4000, "cuPointerGetAttribute", cuPointerGetAttribute, (void *data, int attr, CUdeviceptr ptr))               \
	X(7000, "cuPointerGetAttributes", cuPointerGetAttributes,                                                      \
	  (unsigned int nr, int *attrs, void **data, CUdeviceptr ptr))                                                 \
	X(6000, "cuPointerSetAttribute", cuPointerSetAttribute, (const void *value, int attr, CUdeviceptr ptr))        \
	X(4010, "cuIpcGetMemHandle", cuIpcGetMemHandle, (CUipcMemHandle * handle, CUdeviceptr ptr))                    \
	X(11000, "cuIpcOpenMemHandle", cuIpcOpenMemHandle_v2,                                                          \
	  (CUdeviceptr * ptr, CUipcMemHandle handle, unsigned int flags))                                              \
	X(4010, "cuIpcCloseMemHandle", cuIpcCloseMemHandle, (CUdeviceptr ptr))                                         \
	X(11070, "cuMemGetHandleForAddressRange", cuMemGetHandleForAddressRange,                                       \
	  (void *handle, CUdeviceptr ptr, size_t size, int type, unsigned long long flags))

#define EMU_API_COPY(X)                                                                                                \
	X(4000, "cuMemcpy", cuMemcpy, (CUdeviceptr dst, CUdeviceptr src, size_t size))                                 \
	X(4000, "cuMemcpyAsync", cuMemcpyAsync, (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream))      \
	X(3020, "cuMemcpyHtoD", cuMemcpyHtoD_v2, (CUdeviceptr dst, const void *src, size_t size))                      \
	X(3020, "cuMemcpyDtoH", cuMemcpyDtoH_v2, (void *dst, CUdeviceptr src, size_t size))                            \
	X(3020, "cuMemcpyDtoD", cuMemcpyDtoD_v2, (CUdeviceptr dst, CUdeviceptr src, size_t size))                      \
	X(4000, "cuMemcpyPeer", cuMemcpyPeer,                                                                          \
	  (CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx, size_t size))                       \
	X(4000, "cuMemcpyPeerAsync", cuMemcpyPeerAsync,                                                                \
	  (CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx, size_t size, CUstream stream))      \
	X(3020, "cuMemcpyHtoDAsync", cuMemcpyHtoDAsync_v2,                                                             \
	  (CUdeviceptr dst, const void *src, size_t size, CUstream stream))                                            \
	X(3020, "cuMemcpyDtoHAsync", cuMemcpyDtoHAsync_v2, (void *dst, CUdeviceptr src, size_t size, CUstream stream)) \
	X(3020, "cuMemcpyDtoDAsync", cuMemcpyDtoDAsync_v2,                                                             \
	  (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream))                                            \
	X(3020, "cuMemsetD8", cuMemsetD8_v2, (CUdeviceptr dst, unsigned char value, size_t nr))                        \
	X(3020, "cuMemsetD32", cuMemsetD32_v2, (CUdeviceptr dst, unsigned int value, size_t nr))                       \
	X(3020, "cuMemsetD8Async", cuMemsetD8Async, (CUdeviceptr dst, unsigned char value, size_t nr, CUstream s))     \
	X(3020, "cuMemsetD32Async", cuMemsetD32Async, (CUdeviceptr dst, unsigned int value, size_t nr, CUstream s))

#define EMU_API_VMM(X)                                                                                                 \
	X(10020, "cuMemGetAllocationGranularity", cuMemGetAllocationGranularity,                                       \
	  (size_t *granularity, const CUmemAllocationProp *prop, int option))                                          \
	X(10020, "cuMemAddressReserve", cuMemAddressReserve,                                                           \
	  (CUdeviceptr * ptr, size_t size, size_t align, CUdeviceptr addr, unsigned long long flags))                  \
	X(10020, "cuMemAddressFree", cuMemAddressFree, (CUdeviceptr ptr, size_t size))                                 \
	X(10020, "cuMemCreate", cuMemCreate,                                                                           \
	  (CUmemGenericAllocationHandle * handle, size_t size, const CUmemAllocationProp *prop,                        \
	   unsigned long long flags))                                                                                  \
	X(10020, "cuMemRelease", cuMemRelease, (CUmemGenericAllocationHandle handle))                                  \
	X(10020, "cuMemMap", cuMemMap,                                                                                 \
	  (CUdeviceptr ptr, size_t size, size_t off, CUmemGenericAllocationHandle handle, unsigned long long flags))   \
	X(10020, "cuMemUnmap", cuMemUnmap, (CUdeviceptr ptr, size_t size))                                             \
	X(10020, "cuMemSetAccess", cuMemSetAccess,                                                                     \
	  (CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t nr))                                      \
	X(10020, "cuMemExportToShareableHandle", cuMemExportToShareableHandle,                                         \
	  (void *shareable, CUmemGenericAllocationHandle handle, int type, unsigned long long flags))                  \
	X(11000, "cuMemRetainAllocationHandle", cuMemRetainAllocationHandle,                                           \
	  (CUmemGenericAllocationHandle * handle, void *addr))

#define EMU_API_STREAM(X)                                                                                              \
	X(2000, "cuStreamCreate", cuStreamCreate, (CUstream * stream, unsigned int flags))                             \
	X(5050, "cuStreamCreateWithPriority", cuStreamCreateWithPriority,                                              \
	  (CUstream * stream, unsigned int flags, int priority))                                                       \
	X(4000, "cuStreamDestroy", cuStreamDestroy_v2, (CUstream stream))                                              \
	X(2000, "cuStreamSynchronize", cuStreamSynchronize, (CUstream stream))                                         \
	X(2000, "cuStreamQuery", cuStreamQuery, (CUstream stream))                                                     \
	X(3020, "cuStreamWaitEvent", cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned int flags))          \
	X(9020, "cuStreamGetCtx", cuStreamGetCtx, (CUstream stream, CUcontext * ctx))                                  \
	X(12000, "cuStreamGetId", cuStreamGetId, (CUstream stream, unsigned long long *id))                            \
	X(12000, "cuStreamWriteValue32", cuStreamWriteValue32_v2,                                                      \
	  (CUstream stream, CUdeviceptr ptr, cuuint32_t value, unsigned int flags))                                    \
	X(12000, "cuStreamWriteValue64", cuStreamWriteValue64_v2,                                                      \
	  (CUstream stream, CUdeviceptr ptr, cuuint64_t value, unsigned int flags))                                    \
	X(12000, "cuStreamWaitValue32", cuStreamWaitValue32_v2,                                                        \
	  (CUstream stream, CUdeviceptr ptr, cuuint32_t value, unsigned int flags))                                    \
	X(12000, "cuStreamWaitValue64", cuStreamWaitValue64_v2,                                                        \
	  (CUstream stream, CUdeviceptr ptr, cuuint64_t value, unsigned int flags))                                    \
	X(5000, "cuStreamAddCallback", cuStreamAddCallback,                                                            \
	  (CUstream stream, void (*callback)(CUstream stream, CUresult status, void *arg), void *arg,                  \
	   unsigned int flags))                                                                                        \
	X(10000, "cuLaunchHostFunc", cuLaunchHostFunc, (CUstream stream, void (*fn)(void *), void *arg))               \
	X(2000, "cuEventCreate", cuEventCreate, (CUevent * event, unsigned int flags))                                 \
	X(4000, "cuEventDestroy", cuEventDestroy_v2, (CUevent event))                                                  \
	X(2000, "cuEventRecord", cuEventRecord, (CUevent event, CUstream stream))                                      \
	X(2000, "cuEventQuery", cuEventQuery, (CUevent event))                                                         \
	X(2000, "cuEventSynchronize", cuEventSynchronize, (CUevent event))                                             \
	X(2000, "cuEventElapsedTime", cuEventElapsedTime, (float *ms, CUevent start, CUevent end))                     \
	X(12080, "cuEventElapsedTime", cuEventElapsedTime_v2, (float *ms, CUevent start, CUevent end))                 \
	X(10010, "cuThreadExchangeStreamCaptureMode", cuThreadExchangeStreamCaptureMode, (int *mode))                  \
	X(10010, "cuStreamBeginCapture", cuStreamBeginCapture_v2, (CUstream stream, int mode))                         \
	X(10000, "cuStreamEndCapture", cuStreamEndCapture, (CUstream stream, CUgraph * graph))                         \
	X(10000, "cuStreamIsCapturing", cuStreamIsCapturing, (CUstream stream, int *status))                           \
	X(10000, "cuGraphDestroy", cuGraphDestroy, (CUgraph graph))

#define EMU_API_LAUNCH(X)                                                                                              \
	X(2000, "cuModuleLoad", cuModuleLoad, (CUmodule * module, const char *path))                                   \
	X(2000, "cuModuleLoadData", cuModuleLoadData, (CUmodule * module, const void *image))                          \
	X(12040, "cuFuncLoad", cuFuncLoad, (CUfunction fn))                                                            \
	X(2000, "cuModuleUnload", cuModuleUnload, (CUmodule module))                                                   \
	X(2000, "cuModuleGetFunction", cuModuleGetFunction, (CUfunction * fn, CUmodule module, const char *name))      \
	X(4000, "cuLaunchKernel", cuLaunchKernel,                                                                      \
	  (CUfunction fn, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by,         \
	   unsigned int bz, unsigned int shared, CUstream stream, void **params, void **extra))

#define EMU_API_ALL(X)                                                                                                 \
	EMU_API_INIT(X)                                                                                                \
	EMU_API_DEVICE(X)                                                                                              \
	EMU_API_CONTEXT(X)                                                                                             \
	EMU_API_MEMORY(X)                                                                                              \
	EMU_API_COPY(X)                                                                                                \
	EMU_API_VMM(X)                                                                                                 \
	EMU_API_STREAM(X)                                                                                              \
	EMU_API_LAUNCH(X)

/* CUmemPoolProps of the driver's interface. */
struct emu_pool_props {
	int alloc_type;
	int handle_types;
	CUmemLocation location;
	void *win32_security;
	size_t max_size;
	unsigned short usage;
	unsigned char reserved[54];
};

#define EMU_DECLARE(since, name, symbol, params) EMU_API CUresult symbol params;
EMU_API_ALL(EMU_DECLARE)

#endif
