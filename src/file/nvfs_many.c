// SPDX-License-Identifier: MIT
/* Requests of the lane that go to the module together: those of one buffer by one call. */
#include "nvfs.h"
#include "path_nvfs.h"
#include "stats.h"

/* Requests of the same memory as the first one, which are taken out of the list, and their own kind. How many. */
static unsigned int pick(struct bl_io **ios, unsigned int *nr_p, struct bl_io **picked)
{
	bl_pin_t pin = ios[0]->mem.pin;
	unsigned int nr = 0, left = 0;

	for (unsigned int i = 0; i < *nr_p; i++) {
		if (ios[i]->mem.pin == pin)
			picked[nr++] = ios[i];
		else
			ios[left++] = ios[i];
	}
	*nr_p = left;
	return nr;
}

static void take_over(struct bl_io *io, const struct bl_nvfs_request *rq)
{
	bl_path_nvfs_count(rq);
	/* what has not moved as a whole is another one's, and is counted there */
	if (rq->done != io->len)
		return;
	bl_stats_nvfs(BL_NVFS_REQUESTS, io->write, 1);
	io->done = rq->done;
	io->path = BL_PATH_NVFS;
}

static void run(struct bl_io **ios, unsigned int nr)
{
	struct bl_nvfs_request rq[NVIDIA_FS_MAX_BATCH], *rqs[NVIDIA_FS_MAX_BATCH];
	struct bl_io *owner[NVIDIA_FS_MAX_BATCH];
	struct bl_nvfs_pool *pool;
	unsigned int nr_rq = 0;

	if (bl_path_nvfs_pool(&ios[0]->mem, &pool))
		return;
	for (unsigned int i = 0; i < nr; i++) {
		if (bl_path_nvfs_request(ios[i], &rq[nr_rq]) || rq[nr_rq].len != ios[i]->len)
			continue;
		owner[nr_rq] = ios[i];
		rqs[nr_rq] = &rq[nr_rq];
		nr_rq++;
	}
	if (nr_rq)
		bl_nvfs_batch(pool, rqs, nr_rq);
	bl_nvfs_pool_put(pool);
	for (unsigned int i = 0; i < nr_rq; i++)
		take_over(owner[i], &rq[i]);
}

void bl_nvfs_run_many(struct bl_io *const *ios, unsigned int nr)
{
	struct bl_io *left[NVIDIA_FS_MAX_BATCH], *picked[NVIDIA_FS_MAX_BATCH];

	for (unsigned int i = 0; i < nr; i++)
		left[i] = ios[i];
	while (nr) {
		unsigned int nr_picked = pick(left, &nr, picked);

		run(picked, nr_picked);
	}
}
