// SPDX-License-Identifier: MIT
#include "launch.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "kernel_move.h"
#include "kernel_oneshot.h"
#include "kernel_pattern.h"
#include "kernel_pplat.h"
#include "kernel_push.h"
#include "kernel_receive.h"

#define NR_WORKERS 4

static const struct emu_kernel *const kernels[] = { &emu_move, &emu_oneshot, &emu_pattern_fill, &emu_pattern_check,
						   &emu_pplat_consume, &emu_pplat_produce, &emu_push, &emu_receive };

#define NR_KERNELS (sizeof(kernels) / sizeof(kernels[0]))

const struct emu_kernel *emu_kernel_find(const char *ptx, const char *name)
{
	for (size_t i = 0; i < NR_KERNELS; i++) {
		if (!strcmp(kernels[i]->ptx, ptx) && !strcmp(kernels[i]->name, name))
			return kernels[i];
	}
	return NULL;
}

int emu_kernel_known(const char *ptx)
{
	for (size_t i = 0; i < NR_KERNELS; i++) {
		if (!strcmp(kernels[i]->ptx, ptx))
			return 1;
	}
	return 0;
}

/**
 * struct share - what one CPU thread runs
 * @kernel: the kernel
 * @grid:   its grid
 * @params: its parameters
 * @first:  first thread of the grid; the others follow with stride NR_WORKERS
 */
struct share {
	const struct emu_kernel *kernel;
	const struct emu_grid *grid;
	const uint64_t *params;
	uint64_t first;
};

static void *run_share(void *arg)
{
	const struct share *share = arg;

	for (uint64_t thread = share->first; thread < share->grid->nr_threads; thread += NR_WORKERS)
		share->kernel->run(share->grid, thread, share->params);
	return NULL;
}

/* Where no thread can be had the caller does its share as well. */
static int run_shared(const struct emu_kernel *kernel, const struct emu_grid *grid, const uint64_t *params)
{
	struct share shares[NR_WORKERS];
	pthread_t threads[NR_WORKERS];
	int started[NR_WORKERS] = { 0 };

	for (int i = 0; i < NR_WORKERS; i++)
		shares[i] = (struct share){ kernel, grid, params, (uint64_t)i };
	for (int i = 1; i < NR_WORKERS; i++)
		started[i] = !pthread_create(&threads[i], NULL, run_share, &shares[i]);
	for (int i = 0; i < NR_WORKERS; i++) {
		if (!started[i])
			run_share(&shares[i]);
	}
	for (int i = 1; i < NR_WORKERS; i++) {
		if (started[i])
			pthread_join(threads[i], NULL);
	}
	return 0;
}

/**
 * struct residents - the blocks of a grid that wait for each other
 * @kernel: the kernel
 * @grid:   its grid
 * @params: its parameters
 * @lock:   held while threads are made, guards what follows
 * @next:   block of the next thread
 * @cancel: there are not enough threads
 */
struct residents {
	const struct emu_kernel *kernel;
	const struct emu_grid *grid;
	const uint64_t *params;
	pthread_mutex_t lock;
	uint64_t next;
	int cancel;
};

static void *run_block(void *arg)
{
	struct residents *residents = arg;
	uint64_t block;
	int cancel;

	pthread_mutex_lock(&residents->lock);
	block = residents->next++;
	cancel = residents->cancel;
	pthread_mutex_unlock(&residents->lock);
	if (!cancel)
		residents->kernel->run(residents->grid, block, residents->params);
	return NULL;
}

static int run_resident(const struct emu_kernel *kernel, const struct emu_grid *grid, const uint64_t *params)
{
	struct residents residents = { kernel, grid, params, PTHREAD_MUTEX_INITIALIZER, 0, 0 };
	pthread_t threads[EMU_RESIDENT_BLOCKS];
	uint64_t nr = 0;

	pthread_mutex_lock(&residents.lock);
	while (nr < grid->nr_blocks && !pthread_create(&threads[nr], NULL, run_block, &residents))
		nr++;
	residents.cancel = nr < grid->nr_blocks;
	pthread_mutex_unlock(&residents.lock);
	for (uint64_t i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	return residents.cancel ? -EAGAIN : 0;
}

int emu_kernel_run(const struct emu_kernel *kernel, const struct emu_grid *grid, const uint64_t *params)
{
	return kernel->resident ? run_resident(kernel, grid, params) : run_shared(kernel, grid, params);
}
