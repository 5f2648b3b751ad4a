# SPDX-License-Identifier: MIT
"""GPU memory by the CUDA driver alone, so that a check of it passes through no library that is looked at."""

import ctypes


def check(what, status):
    if status:
        raise RuntimeError(f"{what}: CUDA error {status}")


class Gpu:
    """The primary context of the first GPU."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        device = ctypes.c_int()
        context = ctypes.c_void_p()
        check("cuInit", self.cuda.cuInit(0))
        check("cuDeviceGet", self.cuda.cuDeviceGet(ctypes.byref(device), 0))
        check("cuDevicePrimaryCtxRetain", self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        check("cuCtxSetCurrent", self.cuda.cuCtxSetCurrent(context))

    def stream(self):
        stream = ctypes.c_void_p()
        check("cuStreamCreate", self.cuda.cuStreamCreate(ctypes.byref(stream), 1))
        return stream.value


class GpuBuffer:
    """Bytes of GPU memory, for whoever knows the CUDA array interface."""

    def __init__(self, gpu, size):
        self.cuda = gpu.cuda
        self.size = size
        self.address = ctypes.c_uint64()
        check("cuMemAlloc", self.cuda.cuMemAlloc_v2(ctypes.byref(self.address), ctypes.c_size_t(size)))
        self.fill(0)

    @property
    def __cuda_array_interface__(self):
        return {"shape": (self.size,), "typestr": "|u1", "data": (self.address.value, False), "version": 3,
                "strides": None}

    def fill(self, byte):
        check("cuMemsetD8", self.cuda.cuMemsetD8_v2(self.address, ctypes.c_ubyte(byte), ctypes.c_size_t(self.size)))
        check("cuCtxSynchronize", self.cuda.cuCtxSynchronize())

    def put(self, data):
        check("cuMemcpyHtoD", self.cuda.cuMemcpyHtoD_v2(self.address, data, ctypes.c_size_t(len(data))))

    def get(self, size=None, offset=0):
        size = self.size - offset if size is None else size
        data = ctypes.create_string_buffer(size)
        source = ctypes.c_uint64(self.address.value + offset)
        check("cuMemcpyDtoH", self.cuda.cuMemcpyDtoH_v2(data, source, ctypes.c_size_t(size)))
        return data.raw

    def free(self):
        check("cuMemFree", self.cuda.cuMemFree_v2(self.address))
