// SPDX-License-Identifier: MIT
/*
 * Several requests by one call of the module: BATCH with entries that the kernel waits for. They share mappings: Barlane's
 * module gives each the slots that are free, and starts the next when one has ended.
 */
#define log_fmt(fmt) "file/nvfs: " fmt
#include <errno.h>
#include <string.h>

#include "nvfs_io.h"
#include "nvfs_sparse.h"
#include "util/log.h"

/* Mappings of 1 MiB that one call shares: 64 requests of up to 64 KiB are in flight then. */
#define MOST_MAPS      4U
#define ENTRIES_PER_MAP 16U

/**
 * struct batch - a call being made
 * @pool:    mappings
 * @maps:    those that entries go through in turn
 * @nr_maps: how many
 * @entries: what the module is asked
 * @rqs:     the request of each entry
 * @nr:      how many
 */
struct batch {
	struct bl_nvfs_pool *pool;
	struct bl_nvfs_map *maps[MOST_MAPS];
	unsigned int nr_maps;
	struct nvidia_fs_io entries[NVIDIA_FS_MAX_BATCH];
	struct bl_nvfs_request *rqs[NVIDIA_FS_MAX_BATCH];
	unsigned int nr;
};

/* The first one is waited for; others are taken if they are to be had. */
static int take_maps(struct batch *b)
{
	unsigned int want = (b->nr + ENTRIES_PER_MAP - 1) / ENTRIES_PER_MAP;
	int ret;

	want = want < MOST_MAPS ? want : MOST_MAPS;
	for (b->nr_maps = 0; b->nr_maps < want; b->nr_maps++) {
		ret = bl_nvfs_pool_take(b->pool, NVIDIA_FS_GPU_PAGE, b->nr_maps ? 0 : b->rqs[0]->deadline_ns,
					&b->maps[b->nr_maps]);
		if (ret)
			return b->nr_maps ? 0 : ret;
	}
	return 0;
}

static void give_maps(struct batch *b, int err)
{
	while (b->nr_maps)
		bl_nvfs_give(b->pool, b->maps[--b->nr_maps], err);
}

static void fill(struct batch *b)
{
	for (unsigned int i = 0; i < b->nr; i++) {
		struct bl_nvfs_request *rq = b->rqs[i];

		rq->pieces++;
		b->entries[i] = bl_nvfs_entry(rq, b->maps[i % b->nr_maps], 0, rq->len);
		b->entries[i].flags = NVIDIA_FS_IO_SYNC | (rq->write ? 1U << NVIDIA_FS_IO_OP_SHIFT : 0);
	}
}

/* Holes are told of the first entry of a mapping alone: those of others have been zeroed. False: they stay. */
static bool fill_holes(struct batch *b, unsigned int i, size_t got)
{
	struct bl_nvfs_request *rq = b->rqs[i];
	const struct bl_nvfs_map *map = b->maps[i];

	if (rq->write || !got || bl_nvfs_map_state(map) != NVIDIA_FS_SPARSE)
		return true;
	return !bl_nvfs_sparse_fill(map->meta, rq->pos, rq->va, got, rq->zero, rq->priv, &rq->holes);
}

static void judge(struct batch *b)
{
	for (unsigned int i = 0; i < b->nr; i++) {
		struct bl_nvfs_request *rq = b->rqs[i];
		int64_t result = b->entries[i].ioctl_return;

		rq->reason = result < 0 ? (int)result : 0;
		if (result < 0 || (size_t)result != rq->len)
			continue;
		if (i >= b->nr_maps || fill_holes(b, i, rq->len))
			rq->done = rq->len;
		else
			rq->reason = -EPROTO;
	}
}

/* None was started: those that something is wrong with are taken out. Whether others are left that were not at fault. */
static bool take_out(struct batch *b)
{
	unsigned int left = 0, before = b->nr;

	for (unsigned int i = 0; i < before; i++) {
		b->rqs[i]->reason = (int)b->entries[i].ioctl_return;
		if (b->rqs[i]->reason == -ECANCELED)
			b->rqs[left++] = b->rqs[i];
	}
	b->nr = left;
	return left && left < before;
}

/* One call. Whether another one is of use. */
static bool call(struct batch *b)
{
	int ret;

	ret = take_maps(b);
	if (ret) {
		for (unsigned int i = 0; i < b->nr; i++) {
			b->rqs[i]->reason = ret;
			b->rqs[i]->unbound = true;
		}
		return false;
	}
	fill(b);
	ret = bl_nvfs_dev_batch(b->pool->dev, b->maps[0]->fd, b->entries, b->nr);
	if (!ret)
		judge(b);
	give_maps(b, ret);
	return ret == -EPERM && take_out(b);
}

static void begin(struct batch *b, struct bl_nvfs_request *const *rqs, unsigned int nr)
{
	b->nr = 0;
	for (unsigned int i = 0; i < nr; i++) {
		struct bl_nvfs_request *rq = rqs[i];

		rq->done = 0;
		rq->pieces = 0;
		rq->holes = 0;
		rq->reason = 0;
		rq->unbound = false;
		if (bl_nvfs_fits(&b->pool->range, rq))
			b->rqs[b->nr++] = rq;
		else
			rq->reason = -EINVAL;
	}
}

unsigned int bl_nvfs_batch(struct bl_nvfs_pool *pool, struct bl_nvfs_request *const *rqs, unsigned int nr)
{
	struct batch b;
	unsigned int calls = 0;

	b.pool = pool;
	begin(&b, rqs, nr);
	/* once more without those that were refused; what is refused then as well is left to others */
	while (b.nr && calls < 2) {
		calls++;
		if (!call(&b))
			break;
	}
	log_debug("%u requests by %u calls", nr, calls);
	return calls;
}
