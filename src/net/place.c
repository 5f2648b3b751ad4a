// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/place: " fmt
#include "place.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/cuda.h"
#include "net/log.h"

#define DEFAULT_LEAST (64UL << 10)
#define MOST_LEAST    (1UL << 30)

static pthread_once_t once = PTHREAD_ONCE_INIT;
static size_t least;
static bool by_kernels;
static bool by_peers;

/* Bytes, with k or m behind them for KiB or MiB. */
static size_t read_least(void)
{
	const char *text = getenv("BARLANE_SNIC_PLACE");
	unsigned long long value;
	unsigned int shift = 0;
	char *end;

	if (!text || !*text)
		return DEFAULT_LEAST;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (*end == 'k' || *end == 'K')
		shift = 10;
	else if (*end == 'm' || *end == 'M')
		shift = 20;
	if (errno || *text < '0' || *text > '9' || end[shift ? 1 : 0] || value > MOST_LEAST >> shift) {
		log_warn("BARLANE_SNIC_PLACE %s: not a number of bytes up to %lu; %lu is used", text, MOST_LEAST,
			 DEFAULT_LEAST);
		return DEFAULT_LEAST;
	}
	return (size_t)value << shift;
}

/* Whether a variable says gpu, not host. */
static bool read_way(const char *name, bool otherwise)
{
	const char *text = getenv(name);

	if (!text || !*text)
		return otherwise;
	if (!strcmp(text, "gpu") || !strcmp(text, "host"))
		return !strcmp(text, "gpu");
	log_warn("%s %s: neither gpu nor host; %s is used", name, text, otherwise ? "gpu" : "host");
	return otherwise;
}

static void after_fork_child(void)
{
	bl_lanes_forget();
	bl_place_pins_forget();
}

static bool able(const void *dst, const void *src)
{
	const struct bl_place_mem *to = dst, *from = src;

	/* one CPU copies as fast as the link to a GPU and back */
	if (!to->gpu && !from->gpu)
		return false;
	/* the context that opened it is the one that reaches it */
	if (from->far && to->gpu != from->gpu)
		return false;
	if (to->gpu && from->gpu)
		return bl_place_gpu_can(from->gpu, bl_place_is_between(to, from) ? BL_LANE_BETWEEN : BL_LANE_IN_GPUS);
	return from->gpu ? bl_place_gpu_can(from->gpu, BL_LANE_TO_HOST) : bl_place_gpu_can(to->gpu, BL_LANE_TO_GPU);
}

static struct bl_snic_mover mover = {
	.able = able,
	.start = bl_lane_start,
	.poll = bl_lane_poll,
	.share = bl_place_share,
	.attach = bl_place_attach,
	.detach = bl_place_detach,
};

static void set_up(void)
{
	least = read_least();
	by_kernels = read_way("BARLANE_SNIC_PLACE_WITHIN", false);
	by_peers = read_way("BARLANE_SNIC_PLACE_BETWEEN", true);
	mover.least = least;
	pthread_atfork(NULL, NULL, after_fork_child);
}

size_t bl_place_least(void)
{
	pthread_once(&once, set_up);
	return least;
}

bool bl_place_by_kernels(void)
{
	return by_kernels;
}

bool bl_place_by_peers(void)
{
	return by_peers;
}

const struct bl_snic_mover *bl_place_mover(void)
{
	return bl_place_least() ? &mover : NULL;
}

static int open_gpu(const struct bl_cuda *cuda, struct bl_place_mem *mem)
{
	int ret;

	ret = bl_ce_target_init(cuda, mem->va, 0, &mem->target);
	if (!ret && (mem->va < mem->target.base || mem->va + mem->len > mem->target.base + mem->target.size))
		ret = fail_quiet(EOPNOTSUPP, "va 0x%" PRIx64 " len 0x%zx: more than one allocation", mem->va, mem->len);
	if (ret)
		return ret;
	return bl_place_gpu(cuda, &mem->target, &mem->gpu);
}

static int open_memory(const struct bl_cuda *cuda, const struct bl_nic_memory *memory, const struct bl_reach *reach,
		       struct bl_place_mem *mem)
{
	int ret;

	mem->va = (uintptr_t)memory->addr;
	mem->len = memory->len;
	if (reach->kind == BL_REACH_GPU)
		return open_gpu(cuda, mem);
	ret = bl_place_pin(cuda, memory->addr, memory->len, &mem->pinned);
	/* a peer may send from its GPU; without lanes it does so in packets */
	if (!ret && bl_place_gpu_some(cuda))
		log_debug("no lanes: %s", bl_last_error(NULL));
	return ret;
}

void bl_place_open(const struct bl_nic_memory *memory, const struct bl_reach *reach, struct bl_snic_mem *mem)
{
	const struct bl_cuda *cuda;
	struct bl_place_mem *moved;
	int ret;

	if (!bl_place_least() || memory->len < least || reach->kind == BL_REACH_DMABUF)
		return;
	cuda = bl_cuda();
	moved = cuda ? calloc(1, sizeof(*moved)) : NULL;
	if (!moved)
		return;
	bl_fail_hush(1);
	ret = open_memory(cuda, memory, reach, moved);
	bl_fail_hush(-1);
	if (ret) {
		log_debug("%p len 0x%zx: messages go in packets: %s", memory->addr, memory->len, bl_last_error(NULL));
		free(moved);
		return;
	}
	mem->mover = &mover;
	mem->moved = moved;
}

void bl_place_close(const struct bl_snic_mem *mem)
{
	struct bl_place_mem *moved = mem->moved;

	if (!moved)
		return;
	if (moved->pinned)
		bl_place_unpin(bl_cuda(), moved->pinned);
	free(moved);
}
