// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/reach: " fmt
#include "reach.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "copy/fence.h"
#include "gpu/cuda.h"
#include "gpu/sys.h"
#include "object.h"
#include "populate.h"
#include "util/guard.h"
#include "net/log.h"

/* The core's context for everything here. A child that was forked makes one of its own. */
static pthread_mutex_t ctx_lock = PTHREAD_MUTEX_INITIALIZER;
static bl_ctx_t shared_ctx;
static unsigned int ctx_forks;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The lock is never held across a call, so a child's is free but for one thread in the middle of a few stores. */
static void after_fork_child(void)
{
	pthread_mutex_init(&ctx_lock, NULL);
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, after_fork_child);
}

static int get_ctx(bl_ctx_t *ctx_p)
{
	unsigned int forks = bl_object_forks();
	bl_ctx_t fresh, ctx;
	int ret;

	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&ctx_lock);
	ctx = ctx_forks == forks ? shared_ctx : 0;
	pthread_mutex_unlock(&ctx_lock);
	if (!ctx) {
		ret = bl_open(NULL, &fresh);
		if (ret)
			return ret;
		pthread_mutex_lock(&ctx_lock);
		if (!shared_ctx || ctx_forks != forks) {
			shared_ctx = fresh;
			ctx_forks = forks;
		}
		ctx = shared_ctx;
		pthread_mutex_unlock(&ctx_lock);
		if (ctx != fresh)
			bl_close(fresh);
	}
	*ctx_p = ctx;
	return 0;
}

/* Whether CUDA calls it device memory, managed memory too: that is refused with its reason when it is pinned. */
static bool is_gpu_memory(uint64_t va)
{
	const struct bl_cuda *cuda = bl_cuda();
	unsigned int type = 0;

	return cuda && !cuda->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, va) &&
	       type == CU_MEMORYTYPE_DEVICE;
}

/* Posted writes of this host to one GPU arrive in the order in which the fences between them let them go. */
static const void *domain_of(uint64_t va)
{
	static const char gpus[64];
	int ordinal = -1;

	if (bl_cuda()->cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, va) || ordinal < 0 ||
	    (size_t)ordinal >= sizeof(gpus))
		return NULL;
	return &gpus[ordinal];
}

/*
 * The first large copy on a GPU measures the engines, and makes what the copy engine needs, which may wait for kernels
 * that run. A kernel that waits for the NIC would wait for ever: have it done before there is one. Without a copy engine
 * the CPU copies.
 */
static void settle_engines(bl_pin_t pin)
{
	uint64_t ns;

	bl_fail_hush(1);
	bl_copy_cost(pin, 1 << 20, BL_COPY_TO, 0, BL_ENGINE_AUTO, &ns, NULL);
	bl_fail_hush(-1);
}

static int open_gpu(uint64_t va, size_t len, struct bl_reach *reach)
{
	struct bl_pin_info info;
	int ret;

	ret = get_ctx(&reach->ctx);
	if (ret)
		return ret;
	ret = bl_pin(reach->ctx, va, len, 0, 0, 0, &reach->pin);
	if (ret)
		return ret;
	ret = bl_map_byte(reach->ctx, reach->pin, len, BL_MAP_NONE, &reach->cpu);
	if (ret)
		goto unpin;
	ret = bl_pin_info(reach->ctx, reach->pin, &info);
	if (ret)
		goto unpin;
	reach->kind = BL_REACH_GPU;
	reach->pin_off = va - info.va;
	reach->len = len;
	reach->domain = domain_of(va);
	settle_engines(reach->pin);
	return 0;
unpin:
	bl_unpin(reach->ctx, reach->pin);
	return ret;
}

/* Its length where it tells one. A mapping beyond that is refused by dma-bufs, but not by every file. */
static int check_dmabuf(const struct bl_nic_memory *memory)
{
	off_t size = lseek(memory->dmabuf_fd, 0, SEEK_END);

	if (memory->dmabuf_off > INT64_MAX || memory->len > INT64_MAX - memory->dmabuf_off ||
	    (size >= 0 && memory->dmabuf_off + memory->len > (uint64_t)size))
		return fail(EINVAL, "dma-buf fd %d: off 0x%" PRIx64 " len 0x%zx is beyond its end", memory->dmabuf_fd,
			    memory->dmabuf_off, memory->len);
	return 0;
}

static int open_dmabuf(const struct bl_nic_memory *memory, struct bl_reach *reach)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), skip = memory->dmabuf_off % page;
	bool writes = memory->access & IBV_ACCESS_LOCAL_WRITE;
	int ret;

	ret = check_dmabuf(memory);
	if (ret)
		return ret;
	reach->map_len = (memory->len + skip + page - 1) / page * page;
	reach->map = bl_sys()->mmap(NULL, reach->map_len, PROT_READ | (writes ? PROT_WRITE : 0), MAP_SHARED,
				    memory->dmabuf_fd, (off_t)(memory->dmabuf_off - skip));
	if (reach->map == MAP_FAILED)
		return fail(errno == EINVAL ? EINVAL : EOPNOTSUPP,
			    "dma-buf fd %d: a software NIC needs to map it, and mmap says: %s",
			    memory->dmabuf_fd, strerror(errno));
	reach->kind = BL_REACH_DMABUF;
	reach->cpu = (char *)reach->map + skip;
	reach->len = memory->len;
	return 0;
}

static int open_host(const struct bl_nic_memory *memory, struct bl_reach *reach)
{
	bool writes = memory->access & IBV_ACCESS_LOCAL_WRITE;
	int ret = bl_populate(memory->addr, memory->len, writes);

	if (ret)
		return fail(-ret, "host memory %p len 0x%zx: not all of it can be %s: %s", memory->addr, memory->len,
			    writes ? "written" : "read", strerror(-ret));
	reach->kind = BL_REACH_HOST;
	reach->cpu = memory->addr;
	reach->len = memory->len;
	return 0;
}

int bl_reach_open(const struct bl_nic_memory *memory, struct bl_reach *reach)
{
	uint64_t va = (uintptr_t)memory->addr;

	*reach = (struct bl_reach){ 0 };
	if (!memory->len || va + memory->len < va || memory->len > INT64_MAX)
		return fail(EINVAL, "address %p len 0x%zx: no such range", memory->addr, memory->len);
	if (memory->addr && is_gpu_memory(va))
		return open_gpu(va, memory->len, reach);
	if (memory->dmabuf_fd >= 0)
		return open_dmabuf(memory, reach);
	return open_host(memory, reach);
}

void bl_reach_close(struct bl_reach *reach)
{
	/* unmaps it as well; what went wrong was logged, and nothing is left to be done */
	if (reach->kind == BL_REACH_GPU)
		bl_unpin(reach->ctx, reach->pin);
	if (reach->kind == BL_REACH_DMABUF)
		bl_sys()->munmap(reach->map, reach->map_len);
}

int bl_reach_said(struct bl_reach *reach, int ret)
{
	if (ret != -EFAULT || reach->gone)
		return ret;
	reach->gone = true;
	log_warn("%s mapped at %p len 0x%zx: the mapping was taken away: %s",
		 reach->kind == BL_REACH_GPU ? "gpu memory" : "dma-buf", reach->cpu, reach->len, strerror(EFAULT));
	return ret;
}

/* A copy of the core. */
struct core_copy {
	const struct bl_reach *reach;
	uint64_t off;
	void *host;
	size_t len;
	enum bl_copy_dir dir;
};

/* Left in the middle, it may leave a reference of the pin behind: that stays until the process ends. */
static int do_core_copy(void *arg)
{
	const struct core_copy *copy = arg;
	uint64_t off = copy->reach->pin_off + copy->off;

	return bl_copy(copy->reach->pin, off, copy->host, copy->len, copy->dir, BL_ENGINE_AUTO);
}

static int core_copy(struct bl_reach *reach, uint64_t off, void *host, size_t len, enum bl_copy_dir dir)
{
	struct core_copy copy = { reach, off, host, len, dir };

	return bl_guard_call((char *)reach->cpu + off, len, do_core_copy, &copy);
}

static int do_flush(void *arg)
{
	const struct bl_reach *reach = arg;

	return bl_flush(reach->pin);
}

int bl_reach_read(void *priv, uint64_t off, void *dst, size_t len)
{
	struct bl_reach *reach = priv;
	int ret;

	if (reach->gone)
		return -EFAULT;
	/* what told of the data before loads of it, which are not ordered by themselves */
	if (reach->kind == BL_REACH_GPU) {
		bl_fence_full();
		return bl_reach_said(reach, core_copy(reach, off, dst, len, BL_COPY_FROM));
	}
	ret = bl_guard_copy_from(dst, (char *)reach->cpu + off, len);
	/* loads from write-combining memory before what is decided on them */
	if (reach->kind == BL_REACH_DMABUF)
		bl_fence_wc_load();
	return bl_reach_said(reach, ret);
}

int bl_reach_write(void *priv, uint64_t off, const void *src, size_t len)
{
	struct bl_reach *reach = priv;
	int ret;

	if (reach->gone)
		return -EFAULT;
	if (reach->kind == BL_REACH_GPU) {
		ret = core_copy(reach, off, (void *)(uintptr_t)src, len, BL_COPY_TO);
		/* these stores before those of a later write; of write-combining memory the copy has seen to it */
		bl_fence_wc_store();
		return bl_reach_said(reach, ret);
	}
	ret = bl_guard_copy_to((char *)reach->cpu + off, src, len);
	/* these stores before those of a later write, such as the completion that tells of them */
	if (reach->kind == BL_REACH_DMABUF)
		bl_fence_wc_store();
	return bl_reach_said(reach, ret);
}

void bl_reach_flush(void *priv)
{
	struct bl_reach *reach = priv;
	const char *pin = (const char *)reach->cpu - reach->pin_off;

	if (reach->gone)
		return;
	/* it reads the first word of the pin */
	if (reach->kind == BL_REACH_GPU)
		bl_reach_said(reach, bl_guard_call(pin, reach->pin_off + reach->len, do_flush, reach));
	/* the stores to the dma-buf before the flag, in other memory, that tells of them */
	else if (reach->kind == BL_REACH_DMABUF)
		bl_fence_full();
}
