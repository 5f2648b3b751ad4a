// SPDX-License-Identifier: MIT
/* Memory regions. Local and remote keys differ, so that one in place of the other is noticed. */
#include "fake_ibv.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define REMOTE_BIT 0x80

struct region {
	struct ibv_mr ibv;
	struct region *next;
	uint64_t iova;
	int access;
	unsigned char *bytes;
	struct fake_map map;
};

static struct region *regions;
static uint32_t next_key = 0x1000;

/* Take it out of the list; NULL: it is not there. */
static struct region *drop(struct ibv_mr *mr)
{
	struct region **place = &regions, *region;

	fake_lock();
	while (*place && &(*place)->ibv != mr)
		place = &(*place)->next;
	region = *place;
	if (region) {
		*place = region->next;
		mr->pd->handle--;
		fake_ibv.live--;
	} else {
		fake_complain("ibv_dereg_mr: not registered");
	}
	fake_unlock();
	return region;
}

static struct ibv_mr *add(struct ibv_pd *pd, unsigned char *bytes, size_t len, uint64_t iova, int access)
{
	struct region *region = calloc(1, sizeof(*region));
	int err;

	if (!region)
		return NULL;
	fake_lock();
	*region = (struct region){
		.ibv = { .context = pd->context, .pd = pd, .addr = bytes, .length = len },
		.next = regions,
		.iova = iova,
		.access = access,
		.bytes = bytes,
	};
	region->ibv.lkey = fake_ibv.key ? fake_ibv.key : (next_key += 0x100) | 0x11;
	region->ibv.rkey = region->ibv.lkey | REMOTE_BIT;
	fake_ibv.key = 0;
	regions = region;
	pd->handle++;
	fake_ibv.live++;
	if (!len || (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC) && !(access & IBV_ACCESS_LOCAL_WRITE)))
		fake_complain("ibv_reg_mr: length %zu access 0x%x", len, access);
	fake_unlock();
	err = fake_hooks.mr_made ? fake_hooks.mr_made(&region->ibv, bytes, iova, access) : 0;
	if (!err)
		return &region->ibv;
	drop(&region->ibv);
	free(region);
	errno = err;
	return NULL;
}

static bool is_refused(const void *addr)
{
	if (!fake_ibv.refuse || addr != fake_ibv.refuse)
		return false;
	errno = EFAULT;
	return true;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t len, int access)
{
	if (fake_fails("reg_mr") || is_refused(addr))
		return NULL;
	return add(pd, addr, len, (uintptr_t)addr, access);
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova, int access)
{
	if (fake_fails("reg_mr_iova") || is_refused(addr))
		return NULL;
	return add(pd, addr, len, iova, access);
}

/* The emulated GPU's cannot be mapped by a CPU, as most drivers' cannot. */
static unsigned char *attach(int fd, void **attached_p)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), *addr = NULL;
	void *(*take)(int fd, void **addr_p, uint64_t *len_p);
	uint64_t len;

	*(void **)&take = lib ? dlsym(lib, "bl_emu_dmabuf_attach") : NULL;
	*attached_p = take ? take(fd, &addr, &len) : NULL;
	return addr;
}

static void detach(void *attached)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	void (*give)(void *attached);

	*(void **)&give = lib ? dlsym(lib, "bl_emu_dmabuf_detach") : NULL;
	if (give)
		give(attached);
}

int fake_map_dmabuf(int fd, uint64_t off, size_t len, struct fake_map *map)
{
	size_t skip = off % (size_t)sysconf(_SC_PAGESIZE);

	*map = (struct fake_map){ .len = len + skip };
	map->map = mmap(NULL, map->len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(off - skip));
	if (map->map != MAP_FAILED) {
		map->bytes = (unsigned char *)map->map + skip;
		return 0;
	}
	map->map = NULL;
	map->bytes = attach(fd, &map->attached);
	if (!map->attached)
		return -1;
	map->bytes += off;
	return 0;
}

void fake_unmap_dmabuf(struct fake_map *map)
{
	if (map->attached)
		detach(map->attached);
	if (map->map)
		munmap(map->map, map->len);
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t off, size_t len, uint64_t iova, int fd, int access)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct fake_map map;
	struct ibv_mr *mr;

	if (fake_fails("reg_dmabuf_mr"))
		return NULL;
	/* as the kernel wants it */
	if (off % page != iova % page) {
		errno = EINVAL;
		return NULL;
	}
	if (fake_ibv.no_dmabuf) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (fake_map_dmabuf(fd, off, len, &map))
		return NULL;
	mr = add(pd, map.bytes, len, iova, access);
	if (!mr) {
		fake_unmap_dmabuf(&map);
		return NULL;
	}
	fake_ibv.dmabufs++;
	((struct region *)mr)->map = map;
	return mr;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	struct region *region;

	if (fake_fails("dereg_mr"))
		return errno;
	if (fake_hooks.mr_gone)
		fake_hooks.mr_gone(mr);
	region = drop(mr);
	if (!region)
		return EINVAL;
	fake_unmap_dmabuf(&region->map);
	free(region);
	return 0;
}

unsigned char *fake_reach(const struct ibv_pd *pd, uint32_t key, bool remote, uint64_t addr, size_t len, int access)
{
	for (const struct region *region = regions; region; region = region->next) {
		if ((remote ? region->ibv.rkey : region->ibv.lkey) != key)
			continue;
		if (region->ibv.pd != pd || access & ~region->access || addr < region->iova ||
		    addr - region->iova > region->ibv.length || len > region->ibv.length - (addr - region->iova))
			return NULL;
		return region->bytes + (addr - region->iova);
	}
	return NULL;
}
