// SPDX-License-Identifier: MIT
/*
 * Doorbell registers shown to GPUs. A page is registered with CUDA once per process, however many registers of it are
 * shown to however many GPUs, and no longer than one of them is.
 */
#define log_fmt(fmt) "uar: " fmt
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "net/gpu.h"
#include "net/log.h"

/**
 * struct page - a page of doorbells that CUDA knows
 * @next:  in the list
 * @addr:  CPU's address
 * @users: exports
 * @ours:  registered here; false: somebody else did before
 */
struct page {
	struct page *next;
	char *addr;
	size_t users;
	bool ours;
};

/**
 * struct bl_gpu_uar - a register shown to a GPU
 * @next:    in the list
 * @gpu:     the GPU, used
 * @reg:     CPU's address
 * @page:    its page
 * @address: GPU's address
 * @users:   exports of the same
 */
struct bl_gpu_uar {
	struct bl_gpu_uar *next;
	struct doca_gpu *gpu;
	char *reg;
	struct page *page;
	uint64_t *address;
	size_t users;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held across calls of CUDA: a page is registered once */
static struct page *pages;
static struct bl_gpu_uar *exports;

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static char *page_of(const char *reg)
{
	return (char *)((uintptr_t)reg & ~(uintptr_t)(page_size() - 1));
}

/* Registers of a device are I/O memory; those of a software NIC are not, and CUDA then refuses to take them as such. */
static CUresult register_page(const struct bl_cuda *cuda, void *addr)
{
	const unsigned int flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
	CUresult err;

	err = cuda->cuMemHostRegister(addr, page_size(), flags | CU_MEMHOSTREGISTER_IOMEMORY);
	if (err == CUDA_ERROR_INVALID_VALUE || err == CUDA_ERROR_NOT_PERMITTED || err == CUDA_ERROR_NOT_SUPPORTED)
		err = cuda->cuMemHostRegister(addr, page_size(), flags);
	return err;
}

/* The lock is held and the context entered. */
static CUresult page_get(const struct bl_cuda *cuda, char *addr, struct page **page_p)
{
	struct page *page = pages;
	CUresult err;

	while (page && page->addr != addr)
		page = page->next;
	if (!page) {
		page = malloc(sizeof(*page));
		if (!page)
			return CUDA_ERROR_OUT_OF_MEMORY;
		err = register_page(cuda, addr);
		if (err && err != CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) {
			free(page);
			return err;
		}
		*page = (struct page){ .next = pages, .addr = addr, .ours = !err };
		pages = page;
	}
	page->users++;
	*page_p = page;
	return CUDA_SUCCESS;
}

static CUresult page_put(const struct bl_cuda *cuda, struct page *page)
{
	struct page **place = &pages;
	CUresult err = CUDA_SUCCESS;

	if (--page->users)
		return err;
	while (*place != page)
		place = &(*place)->next;
	*place = page->next;
	if (page->ours)
		err = cuda->cuMemHostUnregister(page->addr);
	free(page);
	return err;
}

static CUresult show(struct bl_gpu_uar *uar)
{
	const struct bl_cuda *cuda = uar->gpu->cuda;
	CUdeviceptr va = 0;
	CUresult err;

	if (!cuda->cuMemHostRegister || !cuda->cuMemHostUnregister || !cuda->cuMemHostGetDevicePointer)
		return CUDA_ERROR_NOT_SUPPORTED;
	err = page_get(cuda, page_of(uar->reg), &uar->page);
	if (err)
		return err;
	err = cuda->cuMemHostGetDevicePointer(&va, uar->page->addr, 0);
	if (err) {
		page_put(cuda, uar->page);
		return err;
	}
	uar->address = (uint64_t *)(uintptr_t)(va + (uint64_t)(uar->reg - uar->page->addr));
	return CUDA_SUCCESS;
}

static int refuse(const struct doca_gpu *gpu, const void *reg, bool quiet, CUresult err)
{
	const char *hint = err == CUDA_ERROR_NOT_PERMITTED || err == CUDA_ERROR_NOT_SUPPORTED ?
				   "; NVreg_RegistryDwords=\"PeerMappingOverride=1\" of the nvidia module allows it" :
				   "";

	if (quiet)
		return fail_quiet(EIO, "the GPU cannot map the doorbell at %p: %s%s", reg, bl_cuda_strerror(err), hint);
	return fail(EIO, "gpu %s: doorbell at %p cannot be mapped: %s%s", gpu->bus_id, reg, bl_cuda_strerror(err), hint);
}

/* The lock is held. */
static int make(struct doca_gpu *gpu, char *reg, bool quiet, struct bl_gpu_uar **uar_p)
{
	struct bl_gpu_scope scope;
	struct bl_gpu_uar *uar;
	CUresult err;
	int ret;

	uar = calloc(1, sizeof(*uar));
	if (!uar)
		return fail(ENOMEM, "gpu %s: out of memory", gpu->bus_id);
	*uar = (struct bl_gpu_uar){ .gpu = gpu, .reg = reg, .users = 1 };
	ret = bl_gpu_enter(gpu, &scope);
	if (ret)
		goto free_uar;
	err = show(uar);
	bl_gpu_leave(gpu, &scope);
	if (err) {
		ret = refuse(gpu, reg, quiet, err);
		goto free_uar;
	}
	bl_object_hold(&gpu->object);
	uar->next = exports;
	exports = uar;
	*uar_p = uar;
	return 0;
free_uar:
	free(uar);
	return ret;
}

int bl_gpu_uar_get(struct doca_gpu *gpu, void *reg, bool quiet, struct bl_gpu_uar **uar_p)
{
	struct bl_gpu_uar *uar;
	int ret = 0;

	if (!reg)
		return fail(EINVAL, "gpu %s: no doorbell register", gpu->bus_id);
	pthread_mutex_lock(&lock);
	uar = exports;
	while (uar && (uar->gpu != gpu || uar->reg != reg))
		uar = uar->next;
	if (uar)
		uar->users++;
	else
		ret = make(gpu, reg, quiet, &uar);
	pthread_mutex_unlock(&lock);
	if (!ret)
		*uar_p = uar;
	return ret;
}

uint64_t *bl_gpu_uar_address(const struct bl_gpu_uar *uar)
{
	return uar->address;
}

size_t bl_gpu_uar_count(void)
{
	size_t nr = 0;

	pthread_mutex_lock(&lock);
	for (const struct bl_gpu_uar *uar = exports; uar; uar = uar->next)
		nr += uar->users;
	pthread_mutex_unlock(&lock);
	return nr;
}

/* The lock is held. */
static int put(struct bl_gpu_uar *uar)
{
	struct bl_gpu_uar **place = &exports;
	struct doca_gpu *gpu = uar->gpu;
	struct bl_gpu_scope scope;
	CUresult err;
	int ret;

	if (--uar->users)
		return 0;
	while (*place != uar)
		place = &(*place)->next;
	*place = uar->next;
	ret = bl_gpu_enter(gpu, &scope);
	if (!ret) {
		err = page_put(gpu->cuda, uar->page);
		bl_gpu_leave(gpu, &scope);
		if (err)
			ret = fail(EIO, "gpu %s: doorbell at %p: cuMemHostUnregister: %s", gpu->bus_id,
				   (void *)uar->reg, bl_cuda_strerror(err));
	}
	free(uar);
	bl_gpu_put(gpu);
	return ret;
}

int bl_gpu_uar_put(struct bl_gpu_uar *uar)
{
	int ret;

	if (!uar)
		return 0;
	pthread_mutex_lock(&lock);
	ret = put(uar);
	pthread_mutex_unlock(&lock);
	return ret;
}

/* GPUs may see one register at the same address: then any of them is as good as the other. */
static int put_address(const uint64_t *address)
{
	struct bl_gpu_uar *uar;
	int ret;

	if (bl_gpu_forked())
		return fail(EACCES, "doorbell at %p: exported by the process that this one was forked from",
			    (const void *)address);
	pthread_mutex_lock(&lock);
	uar = exports;
	while (uar && uar->address != address)
		uar = uar->next;
	ret = uar ? put(uar) :
		    fail(EINVAL, "doorbell at %p: not exported, or not any more", (const void *)address);
	pthread_mutex_unlock(&lock);
	return ret;
}

doca_error_t doca_gpu_verbs_can_gpu_register_uar(void *db, bool *out)
{
	struct bl_gpu_uar *uar;
	struct doca_gpu *gpu;
	bool known, can;
	int ret;

	if (!out)
		return bl_net_doca(fail(EINVAL, "no place for the answer"));
	ret = bl_gpu_current(&gpu);
	if (ret)
		return bl_net_doca(ret);
	known = !db;
	can = false;
	if (db) {
		ret = bl_gpu_uar_get(gpu, db, true, &uar);
		can = !ret;
		if (can)
			bl_gpu_uar_put(uar);
	}
	pthread_mutex_lock(&gpu->lock);
	if (known) {
		known = gpu->asked_uar;
		can = gpu->has_uar;
	} else {
		known = gpu->asked_uar = true;
		gpu->has_uar = can;
	}
	pthread_mutex_unlock(&gpu->lock);
	if (known)
		*out = can;
	ret = known ? 0 : fail(EINVAL, "gpu %s: no doorbell register, and none was asked about before", gpu->bus_id);
	bl_gpu_put(gpu);
	return bl_net_doca(ret);
}

doca_error_t doca_gpu_verbs_export_uar(uint64_t *sq_db, uint64_t **uar_addr_gpu)
{
	struct bl_gpu_uar *uar;
	struct doca_gpu *gpu;
	int ret;

	if (!uar_addr_gpu)
		return bl_net_doca(fail(EINVAL, "no place for the address"));
	ret = bl_gpu_current(&gpu);
	if (ret)
		return bl_net_doca(ret);
	ret = bl_gpu_uar_get(gpu, sq_db, false, &uar);
	if (!ret)
		*uar_addr_gpu = bl_gpu_uar_address(uar);
	bl_gpu_put(gpu);
	return bl_net_doca(ret);
}

doca_error_t doca_gpu_verbs_unexport_uar(uint64_t *uar_addr_gpu)
{
	return bl_net_doca(put_address(uar_addr_gpu));
}
