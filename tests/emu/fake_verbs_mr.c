// SPDX-License-Identifier: MIT
/* Registered memory: the host's, and dma-bufs of the emulated GPU. */
#include "fake_verbs.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

/* The header makes macros of these. */
#undef ibv_reg_mr

/**
 * struct region - registered memory
 * @mr:       what the program sees; first
 * @next:     list of all
 * @iova:     address of the first byte in work requests
 * @bytes:    where they are
 * @access:   rights
 * @attached: hold on a dma-buf, NULL for host memory
 */
struct region {
	struct ibv_mr mr;
	struct region *next;
	uint64_t iova;
	unsigned char *bytes;
	int access;
	void *attached;
};

static struct region *regions;
static uint32_t next_key = 0x1100;

/* A device refuses remote writes to memory that may not be written locally. */
static bool access_ok(int access)
{
	return !(access & IBV_ACCESS_REMOTE_WRITE) || access & IBV_ACCESS_LOCAL_WRITE;
}

static struct ibv_mr *add(const struct region *like)
{
	struct region *region = malloc(sizeof(*region));

	if (!region)
		return NULL;
	*region = *like;
	region->mr.context = region->mr.pd->context;
	region->mr.lkey = region->mr.rkey = next_key;
	next_key += 0x101;
	region->next = regions;
	regions = region;
	fake_count(1);
	return &region->mr;
}

API struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova, unsigned int access)
{
	struct region region = {
		.mr = { .pd = pd, .addr = addr, .length = len },
		.iova = iova,
		.bytes = addr,
		.access = (int)access,
	};

	if (!len || !access_ok((int)access)) {
		errno = EINVAL;
		return NULL;
	}
	return add(&region);
}

API struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t len, int access)
{
	return ibv_reg_mr_iova2(pd, addr, len, (uintptr_t)addr, (unsigned int)access);
}

static void *attach(int fd, void **addr_p, uint64_t *len_p)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	void *(*take)(int fd, void **addr_p, uint64_t *len_p);

	*(void **)&take = lib ? dlsym(lib, "bl_emu_dmabuf_attach") : NULL;
	return take ? take(fd, addr_p, len_p) : NULL;
}

static void detach(void *attached)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	void (*give)(void *attached);

	*(void **)&give = lib ? dlsym(lib, "bl_emu_dmabuf_detach") : NULL;
	if (give)
		give(attached);
}

API struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t off, size_t len, uint64_t iova, int fd, int access)
{
	struct region region = { .mr = { .pd = pd, .length = len }, .iova = iova, .access = access };
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), size = 0;
	struct ibv_mr *mr = NULL;
	void *addr = NULL;

	errno = EOPNOTSUPP;
	if (fake_mode("nodmabuf"))
		return NULL;
	errno = EBADF;
	region.attached = attach(fd, &addr, &size);
	if (!region.attached)
		return NULL;
	/* as the kernel wants it: the offset in the page is that of the address */
	errno = EINVAL;
	region.bytes = (unsigned char *)addr + off;
	if (len && off <= size && len <= size - off && off % page == iova % page && access_ok(access))
		mr = add(&region);
	if (!mr)
		detach(region.attached);
	return mr;
}

API int ibv_dereg_mr(struct ibv_mr *mr)
{
	struct region **link = &regions, *region = (struct region *)mr;

	while (*link && *link != region)
		link = &(*link)->next;
	if (!*link)
		return EINVAL;
	*link = region->next;
	if (region->attached)
		detach(region->attached);
	free(region);
	fake_count(-1);
	return 0;
}

unsigned char *fake_mr_reach(const struct ibv_pd *pd, uint32_t key, uint64_t addr, size_t len, int access)
{
	for (struct region *region = regions; region; region = region->next) {
		if (region->mr.lkey != key)
			continue;
		if (region->mr.pd != pd || (region->access & access) != access || addr < region->iova ||
		    addr - region->iova > region->mr.length || len > region->mr.length - (addr - region->iova))
			return NULL;
		return region->bytes + (addr - region->iova);
	}
	return NULL;
}
