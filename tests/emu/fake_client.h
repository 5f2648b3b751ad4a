/* SPDX-License-Identifier: MIT */
/*
 * fake_client.h - a minimal client of the emulated driver, for tests of the emulator itself
 *
 * Speaks to the table of bl_emu_sys() with bytes at offsets that it states itself, so that it shares no definition
 * with what it tests. The stand-in libcuda.so.1 is loaded by name: LD_LIBRARY_PATH must lead to it.
 */
#ifndef TESTS_EMU_FAKE_CLIENT_H
#define TESTS_EMU_FAKE_CLIENT_H

#include <stdint.h>
#include <sys/types.h>

#include "emu/cuda/emu.h"
#include "gpu/cuda_abi.h"
#include "gpu/sys.h"
#include "tap.h"

#define RM_IOCTL(nr, size)  (0xc0000000UL | (unsigned long)(size) << 16 | 'F' << 8 | (nr))
#define GDR_IOCTL(nr, size) (0xc0000000UL | (unsigned long)(size) << 16 | 0xda00 | (nr))
#define MIB(n)		    ((uint64_t)(n) << 20)

struct fake_api {
	const struct bl_sys *sys;
	void (*counts)(struct bl_emu_counts *counts);
	const char *(*violation)(void);
	int (*fault)(const char *spec);
	CUresult (*cuCtxSetCurrent)(CUcontext ctx);
	CUresult (*cuMemAlloc)(CUdeviceptr *ptr, size_t size);
	CUresult (*cuMemFree)(CUdeviceptr ptr);
	CUresult (*cuIpcGetMemHandle)(CUipcMemHandle *handle, CUdeviceptr ptr);
	CUresult (*cuMemcpyHtoD)(CUdeviceptr dst, const void *src, size_t size);
	CUresult (*cuMemcpyDtoH)(void *dst, CUdeviceptr src, size_t size);
	CUresult (*cuMemCreate)(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
				unsigned long long flags);
	CUresult (*cuMemRelease)(CUmemGenericAllocationHandle handle);
	CUresult (*cuMemExport)(void *shareable, CUmemGenericAllocationHandle handle, int type,
				unsigned long long flags);
	CUresult (*cuMemGetHandle)(void *handle, CUdeviceptr ptr, size_t size, int type, unsigned long long flags);
	CUresult (*cuDeviceGetAttribute)(int *value, int attr, CUdevice dev);
};

extern struct fake_api fake;
extern CUcontext fake_ctx; /* of GPU 0, current in the thread that called fake_load() */

/* Load the stand-in and make a context on GPU 0 current; ends the program when that cannot be done. */
void fake_load(void);

/* Start of a test: close and unmap what an earlier one left, remove faults, choose the driver's version. */
void fake_begin(const char *version);

/* As the table's calls, recorded so that fake_begin() can clean up. */
int fake_open(const char *path);
void *fake_mmap(int fd, size_t len);
int fake_close(int fd);
int fake_munmap(void *addr, size_t len);

/* ioctl of the table: 0 or -errno. */
int fake_ioctl(int fd, unsigned long request, void *arg);

/* Between the two exactly one rule must be broken, and the message must contain @text; NULL: none. */
void fake_watch(void);
void fake_expect(const char *text);

uint64_t fake_violations(void);

/**
 * struct rmc - an RM client with device and subdevice of GPU 0
 * @major: of the driver
 */
struct rmc {
	unsigned int major;
	int ctl;
	int dev;
	uint32_t client;
	uint32_t device;
	uint32_t subdevice;
	uint32_t gpu_id;
	uint32_t instance;
	unsigned int minor;
	uint64_t bar1_base;
	uint64_t bar1_size;
};

/* Everything from open to subdevice, with a driver of this version. */
void rmc_open(struct rmc *rmc, const char *version);
/* Frees the client and closes both descriptors; no rule may be broken. */
void rmc_close(struct rmc *rmc);

int rmc_open_device(const struct rmc *rmc);

/* Each gives the NV_STATUS; all ones when the ioctl failed or wrote where it must not. For any thread. */
uint32_t rmc_alloc(const struct rmc *rmc, uint32_t parent, uint32_t hclass, void *params, uint32_t *handle_p);
uint32_t rmc_free(const struct rmc *rmc, uint32_t parent, uint32_t handle);
uint32_t rmc_control(const struct rmc *rmc, uint32_t object, uint32_t cmd, void *params, uint32_t size);
uint32_t rmc_dup(const struct rmc *rmc, uint32_t source_client, uint32_t source, uint32_t *handle_p);
uint32_t rmc_map(const struct rmc *rmc, uint32_t memory, uint64_t off, uint64_t len, int fd, uint64_t *address_p);
uint32_t rmc_unmap(const struct rmc *rmc, uint32_t memory, uint64_t address);

/**
 * struct fake_mem - device memory and a duplicate of its object
 */
struct fake_mem {
	CUdeviceptr va;
	uint64_t size;
	uint32_t hclient;
	uint32_t hmemory;
	uint32_t dup;
};

void fake_alloc(struct fake_mem *mem, uint64_t size);
void fake_alloc_dup(const struct rmc *rmc, struct fake_mem *mem, uint64_t size);
void fake_free(struct fake_mem *mem);

static inline uint32_t get32(const void *base, size_t off)
{
	uint32_t v;

	memcpy(&v, (const char *)base + off, sizeof(v));
	return v;
}

static inline uint64_t get64(const void *base, size_t off)
{
	uint64_t v;

	memcpy(&v, (const char *)base + off, sizeof(v));
	return v;
}

static inline void put32(void *base, size_t off, uint32_t v)
{
	memcpy((char *)base + off, &v, sizeof(v));
}

static inline void put64(void *base, size_t off, uint64_t v)
{
	memcpy((char *)base + off, &v, sizeof(v));
}

#endif
