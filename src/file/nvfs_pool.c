// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/nvfs: " fmt
#include "nvfs_pool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "util/clock.h"
#include "util/log.h"

#define NS_PER_SEC 1000000000U
/* A late request tells nobody that it has ended: who waits for a mapping looks again after this time. */
#define LOOK_AGAIN_NS 1000000U

static void init_class(struct bl_nvfs_class *class, const struct bl_nvfs_range *range, size_t most, unsigned int max)
{
	*class = (struct bl_nvfs_class){.shadow_len = bl_nvfs_map_shadow_len(range, most), .max = max};
}

int bl_nvfs_pool_new(struct bl_nvfs_dev *dev, const struct bl_nvfs_range *range, uint64_t key,
		     struct bl_nvfs_pool **pool_p)
{
	struct bl_nvfs_pool *pool = calloc(1, sizeof(*pool));
	pthread_condattr_t attr;

	if (!pool)
		return -ENOMEM;
	atomic_init(&pool->refs, 1);
	pool->key = key;
	pool->dev = bl_nvfs_dev_get(dev);
	pool->range = *range;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&pool->changed, &attr);
	pthread_condattr_destroy(&attr);
	init_class(&pool->classes[0], range, BL_NVFS_SMALL_SHADOW, BL_NVFS_SMALL_MAPS);
	init_class(&pool->classes[1], range, NVIDIA_FS_MAX_SHADOW, BL_NVFS_LARGE_MAPS);
	*pool_p = pool;
	return 0;
}

struct bl_nvfs_pool *bl_nvfs_pool_get(struct bl_nvfs_pool *pool)
{
	atomic_fetch_add(&pool->refs, 1);
	return pool;
}

static void free_all(struct bl_nvfs_map *map)
{
	while (map) {
		struct bl_nvfs_map *next = map->next;

		bl_nvfs_map_free(map);
		map = next;
	}
}

void bl_nvfs_pool_put(struct bl_nvfs_pool *pool)
{
	if (atomic_fetch_sub(&pool->refs, 1) != 1)
		return;
	for (int i = 0; i < 2; i++) {
		if (pool->classes[i].late)
			log_warn("va 0x%" PRIx64 " goes with %u requests that have not ended; the module ends them",
				 pool->range.va, pool->classes[i].nr_late);
		free_all(pool->classes[i].idle);
		free_all(pool->classes[i].late);
	}
	bl_nvfs_dev_put(pool->dev);
	pthread_cond_destroy(&pool->changed);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

static struct bl_nvfs_class *class_of(struct bl_nvfs_pool *pool, size_t len)
{
	return &pool->classes[len > pool->classes[0].shadow_len];
}

static struct bl_nvfs_class *class_of_map(struct bl_nvfs_pool *pool, const struct bl_nvfs_map *map)
{
	return &pool->classes[map->shadow_len > pool->classes[0].shadow_len];
}

/* Late requests that have ended after all leave a mapping that is as good as any. */
static void look_at_late(struct bl_nvfs_class *class)
{
	struct bl_nvfs_map **link = &class->late;

	while (*link) {
		struct bl_nvfs_map *map = *link;

		if (!bl_nvfs_map_ended(map)) {
			link = &map->next;
			continue;
		}
		*link = map->next;
		class->nr_late--;
		map->next = class->idle;
		class->idle = map;
	}
}

/*
 * Without the lock: pinning takes its time. The place in the class was taken before. -EAGAIN: there are others to wait
 * for.
 */
static int make_one(struct bl_nvfs_pool *pool, struct bl_nvfs_class *class, struct bl_nvfs_map **map_p)
{
	int ret;

	pthread_mutex_unlock(&pool->lock);
	ret = bl_nvfs_map_new(pool->dev, &pool->range, class->shadow_len, map_p);
	pthread_mutex_lock(&pool->lock);
	if (!ret)
		return 0;
	class->nr--;
	pthread_cond_broadcast(&pool->changed);
	/* a signal says nothing of the memory, nor of how many mappings there may be */
	if (ret == -EINTR)
		return ret;
	if (ret == -EAGAIN)
		ret = -EBUSY;
	if (!class->nr) {
		/* what cannot be bound once is not tried with each request: 16 MiB of pages come and go with it */
		class->refusal = ret;
		return ret;
	}
	/* no room for another (BAR1, memory): those that there are have to do */
	if (class->max > class->nr) {
		log_info("va 0x%" PRIx64 ": no more than %u mappings: %s", pool->range.va, class->nr, strerror(-ret));
		class->max = class->nr;
	}
	return -EAGAIN;
}

static void wait_for_change(struct bl_nvfs_pool *pool, const struct bl_nvfs_class *class, uint64_t deadline_ns)
{
	uint64_t until = deadline_ns;
	struct timespec ts;

	if (class->late && until > bl_now_ns() + LOOK_AGAIN_NS)
		until = bl_now_ns() + LOOK_AGAIN_NS;
	ts.tv_sec = (time_t)(until / NS_PER_SEC);
	ts.tv_nsec = (long)(until % NS_PER_SEC);
	pthread_cond_timedwait(&pool->changed, &pool->lock, &ts);
}

static int take_locked(struct bl_nvfs_pool *pool, struct bl_nvfs_class *class, uint64_t deadline_ns,
		       struct bl_nvfs_map **map_p)
{
	int ret;

	for (;;) {
		if (atomic_load(&pool->dead))
			return -EIDRM;
		if (class->refusal)
			return class->refusal;
		look_at_late(class);
		if (class->idle) {
			*map_p = class->idle;
			class->idle = class->idle->next;
			return 0;
		}
		if (class->nr < class->max) {
			class->nr++;
			ret = make_one(pool, class, map_p);
			if (ret != -EAGAIN)
				return ret;
			continue;
		}
		if (!deadline_ns)
			return -EAGAIN;
		if (class->nr_late == class->nr)
			return -EBUSY;
		if (bl_now_ns() >= deadline_ns)
			return -ETIMEDOUT;
		wait_for_change(pool, class, deadline_ns);
	}
}

int bl_nvfs_pool_take(struct bl_nvfs_pool *pool, size_t len, uint64_t deadline_ns, struct bl_nvfs_map **map_p)
{
	int ret;

	pthread_mutex_lock(&pool->lock);
	ret = take_locked(pool, class_of(pool, len), deadline_ns, map_p);
	pthread_mutex_unlock(&pool->lock);
	return ret;
}

static void give_back(struct bl_nvfs_pool *pool, struct bl_nvfs_map *map, bool late)
{
	struct bl_nvfs_class *class = class_of_map(pool, map);
	struct bl_nvfs_map **list = late ? &class->late : &class->idle;

	pthread_mutex_lock(&pool->lock);
	map->next = *list;
	*list = map;
	class->nr_late += late;
	pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
}

void bl_nvfs_pool_give(struct bl_nvfs_pool *pool, struct bl_nvfs_map *map)
{
	give_back(pool, map, false);
}

void bl_nvfs_pool_park(struct bl_nvfs_pool *pool, struct bl_nvfs_map *map)
{
	give_back(pool, map, true);
}

void bl_nvfs_pool_retire(struct bl_nvfs_pool *pool, struct bl_nvfs_map *map)
{
	struct bl_nvfs_class *class = class_of_map(pool, map);

	bl_nvfs_map_free(map);
	pthread_mutex_lock(&pool->lock);
	class->nr--;
	pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
}
