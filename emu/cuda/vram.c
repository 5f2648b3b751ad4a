// SPDX-License-Identifier: MIT
#include "vram.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "card.h"
#include "env.h"
#include "extent.h"

#define BAR1_FIRST  0x100000000000ULL /* CPU physical addresses as large servers have them */
#define BAR1_STRIDE (512ULL << 30)
#define CARVE_OUT   EMU_BLOCK_SIZE /* kept from clients, so that no object lies at physical offset 0 */
#define POISON_MAX  (64UL << 20)

/* Protects the free space and the reference counts of all GPUs. */
static pthread_mutex_t vram_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t gpus_once = PTHREAD_ONCE_INIT;
static struct emu_gpu gpus[EMU_MAX_GPUS];
static struct emu_extents vram_free[EMU_MAX_GPUS];
static uint64_t vram_used[EMU_MAX_GPUS];
static int nr_gpus;
static int inherited; /* in a forked child: the bytes belong to the parent */

/* Of a card, only the address range: what lies there is mapped with each piece. */
static int vram_view(struct emu_gpu *gpu)
{
	if (gpu->card)
		gpu->view = mmap(NULL, gpu->vram_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	else
		gpu->view = mmap(NULL, gpu->vram_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, gpu->memfd,
				 0);
	if (gpu->view == MAP_FAILED) {
		perror("emu: map video memory");
		return -1;
	}
	/* a child must not write its parent's video memory */
	madvise(gpu->view, gpu->vram_size, MADV_DONTFORK);
	madvise(gpu->view, gpu->vram_size, MADV_DONTDUMP);
	return 0;
}

static int open_memfd(struct emu_gpu *gpu)
{
	char name[32];

	snprintf(name, sizeof(name), "barlane-emu-vram%d", gpu->index);
	gpu->memfd = memfd_create(name, MFD_CLOEXEC);
	if (gpu->memfd < 0) {
		perror("emu: memfd_create");
		return -1;
	}
	if (ftruncate(gpu->memfd, (off_t)gpu->vram_size)) {
		perror("emu: size of video memory");
		close(gpu->memfd);
		gpu->memfd = -1;
		return -1;
	}
	return 0;
}

/* The card of the machine if it has one, unless the environment says no; or yes, and then there must be one. */
static int open_card(struct emu_gpu *gpu)
{
	enum emu_card_use use = emu_env()->card;
	int ret;

	if (gpu->index || use == EMU_CARD_NEVER)
		return -ENOENT;
	ret = emu_card_open(gpu);
	if (ret && (ret != -ENOENT || use == EMU_CARD_ALWAYS))
		fprintf(stderr, "emu: card: %s\n", strerror(-ret));
	return ret == -ENOENT && use == EMU_CARD_ALWAYS ? -ENODEV : ret;
}

static int vram_create(struct emu_gpu *gpu)
{
	int ret = open_card(gpu);

	if (ret == -ENOENT)
		ret = open_memfd(gpu);
	if (ret)
		return -1;
	if (vram_view(gpu))
		goto close_memfd;
	if (emu_extents_init(&vram_free[gpu->index], CARVE_OUT, gpu->vram_size - CARVE_OUT))
		goto unmap;
	return 0;
unmap:
	munmap(gpu->view, gpu->vram_size);
close_memfd:
	close(gpu->memfd);
	gpu->memfd = -1;
	return -1;
}

/* Ordinal, minor and deviceInstance all differ, so that code which takes one for another fails. */
static void gpu_describe(struct emu_gpu *gpu, int index, const struct emu_env *env)
{
	static const uint8_t uuid[16] = { 0xba, 0x12, 0x1a, 0x9e, 0x0e, 0x41, 0x4d, 0x55,
					  0x80, 0x6d, 0x67, 0x70, 0x75, 0x00, 0x00, 0x01 };
	uint64_t stride = env->bar1_size > BAR1_STRIDE ? env->bar1_size : BAR1_STRIDE;

	gpu->index = index;
	gpu->minor = (unsigned int)(env->nr_gpus - 1 - index);
	gpu->instance = (uint32_t)(EMU_MAX_GPUS + index);
	gpu->bus = (uint8_t)(0x19 + 0x11 * index);
	gpu->gpu_id = (uint32_t)gpu->bus << 8;
	memcpy(gpu->uuid, uuid, sizeof(uuid));
	gpu->uuid[13] = (uint8_t)(index * 0x1d);
	gpu->vram_size = env->vram_size;
	gpu->bar1_size = env->bar1_size;
	gpu->static_bar1 = env->static_bar1;
	gpu->bar1_base = BAR1_FIRST + (uint64_t)index * stride;
}

/*
 * In a child the pieces that the parent made stay accounted, but the bytes are the parent's: nothing is poisoned. If
 * the parent made none, the child gets video memory of its own, as two processes of one real GPU would.
 */
static void vram_forked(void)
{
	pthread_mutex_unlock(&vram_lock);
	for (int i = 0; i < nr_gpus; i++) {
		if (inherited || vram_used[i]) {
			inherited = 1;
			return;
		}
	}
	for (int i = 0; i < nr_gpus; i++) {
		close(gpus[i].memfd);
		emu_extents_destroy(&vram_free[i]);
		if (vram_create(&gpus[i]))
			abort();
	}
}

/* Nothing is called with the allocator's lock held, so a fork may wait for it whatever else the program does. */
static void vram_fork_begin(void)
{
	pthread_mutex_lock(&vram_lock);
}

static void vram_fork_end(void)
{
	pthread_mutex_unlock(&vram_lock);
}

static void gpus_create(void)
{
	const struct emu_env *env = emu_env();

	if (env->error)
		return;
	for (int i = 0; i < env->nr_gpus; i++) {
		gpu_describe(&gpus[i], i, env);
		if (vram_create(&gpus[i]))
			return;
		nr_gpus = i + 1;
		/* the driver of cards serves one, and the machine is a real one: no more are made up beside it */
		if (gpus[i].card)
			break;
	}
	pthread_atfork(vram_fork_begin, vram_fork_end, vram_forked);
}

int emu_gpu_count(void)
{
	pthread_once(&gpus_once, gpus_create);
	return nr_gpus;
}

struct emu_gpu *emu_gpu(int index)
{
	return index >= 0 && index < emu_gpu_count() ? &gpus[index] : NULL;
}

/* A piece of a card becomes visible where it lies, and invisible again. */
static int card_show(const struct emu_mem *mem)
{
	void *at = mmap(emu_mem_view(mem), mem->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, mem->gpu->memfd,
			(off_t)mem->phys);

	return at == MAP_FAILED ? -errno : 0;
}

static void card_hide(const struct emu_mem *mem)
{
	void *at = mmap(emu_mem_view(mem), mem->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE,
			-1, 0);

	if (at != MAP_FAILED)
		madvise(at, mem->size, MADV_DONTFORK);
}

static int storage_take(struct emu_mem *mem)
{
	int ret;

	if (!mem->gpu->card)
		return emu_extents_take(&vram_free[mem->gpu->index], mem->size, EMU_BLOCK_SIZE, &mem->phys);
	ret = emu_card_alloc(mem);
	if (!ret && card_show(mem)) {
		emu_card_free(mem);
		ret = -ENOMEM;
	}
	return ret;
}

static void storage_give(const struct emu_mem *mem)
{
	if (!mem->gpu->card) {
		emu_extents_give(&vram_free[mem->gpu->index], mem->phys, mem->size);
	} else if (!inherited) {
		card_hide(mem);
		emu_card_free(mem);
	}
}

struct emu_mem *emu_mem_alloc(struct emu_gpu *gpu, uint64_t size)
{
	struct emu_mem *mem;
	int ret;

	if (!size || size > gpu->vram_size)
		return NULL;
	mem = calloc(1, sizeof(*mem));
	if (!mem)
		return NULL;
	mem->gpu = gpu;
	mem->size = (size + EMU_BLOCK_SIZE - 1) & ~(EMU_BLOCK_SIZE - 1);
	mem->refs = 1;
	pthread_mutex_lock(&vram_lock);
	ret = storage_take(mem);
	if (!ret)
		vram_used[gpu->index] += mem->size;
	pthread_mutex_unlock(&vram_lock);
	if (ret) {
		free(mem);
		return NULL;
	}
	return mem;
}

struct emu_mem *emu_mem_get(struct emu_mem *mem)
{
	pthread_mutex_lock(&vram_lock);
	mem->refs++;
	pthread_mutex_unlock(&vram_lock);
	return mem;
}

/*
 * Only what somebody has written or looked at: the rest of the file is holes, which read as zeros before and after. To fill
 * those would take most of the time of programs that use little of what they have.
 */
static void fill_poison(const struct emu_mem *mem)
{
	off_t at = (off_t)mem->phys, end = at + (off_t)mem->size, data, hole;

	for (; at < end; at = hole) {
		data = lseek(mem->gpu->memfd, at, SEEK_DATA);
		if (data < 0 && errno == ENXIO)
			return;
		hole = data < 0 ? -1 : lseek(mem->gpu->memfd, data, SEEK_HOLE);
		if (hole < 0) {
			/* it does not say where they are */
			data = at;
			hole = end;
		}
		if (data < end)
			memset((char *)emu_mem_view(mem) + (data - (off_t)mem->phys), EMU_POISON,
			       (size_t)((hole < end ? hole : end) - data));
	}
}

/*
 * Large pieces are punched out: a stale reader then sees zeros and a late write is lost, and the machine gets the memory
 * back.
 */
static void mem_poison(const struct emu_mem *mem)
{
	if (mem->size <= POISON_MAX) {
		fill_poison(mem);
		return;
	}
	if (fallocate(mem->gpu->memfd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)mem->phys, (off_t)mem->size))
		perror("emu: punch video memory");
}

void emu_mem_put(struct emu_mem *mem)
{
	int last;

	if (!mem)
		return;
	pthread_mutex_lock(&vram_lock);
	last = !--mem->refs;
	pthread_mutex_unlock(&vram_lock);
	if (!last)
		return;
	/* the card's driver does it itself */
	if (!inherited && !mem->gpu->card)
		mem_poison(mem);
	pthread_mutex_lock(&vram_lock);
	storage_give(mem);
	vram_used[mem->gpu->index] -= mem->size;
	pthread_mutex_unlock(&vram_lock);
	free(mem);
}

uint64_t emu_vram_used(const struct emu_gpu *gpu)
{
	uint64_t used;

	/* kernel modules may hold memory that was freed, and other processes have some */
	if (gpu->card)
		return emu_card_used(gpu);
	pthread_mutex_lock(&vram_lock);
	used = vram_used[gpu->index];
	pthread_mutex_unlock(&vram_lock);
	return used;
}
