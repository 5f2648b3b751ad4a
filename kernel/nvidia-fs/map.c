// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Binding of GPU memory to a shadow: made once by MAP, perhaps closed by a free callback or by a device that goes,
 * ended with the shadow.
 */
#include "core.h"
#include "stats.h"

#define LOG_EVERY (10 * HZ)

static bool is_idle(struct bl_map *map)
{
	bool idle;

	spin_lock_irq(&map->lock);
	idle = bl_gate_is_idle(&map->gate);
	spin_unlock_irq(&map->lock);
	return idle;
}

/**
 * bl_map_close() - Take the memory away from all devices
 * @map: map
 * @why: for the log
 *
 * On return no device uses the memory, and none will. A piece that is under way is waited for: its drive ends it,
 * or gives it up after the time that it has for it.
 *
 * Context: may sleep; may be called by the GPU driver with its locks held, and more than once.
 */
void bl_map_close(struct bl_map *map, const char *why)
{
	spin_lock_irq(&map->lock);
	WRITE_ONCE(map->gate.closed, true);
	spin_unlock_irq(&map->lock);
	while (!wait_event_timeout(map->idle, is_idle(map), LOG_EVERY))
		pr_warn("va 0x%llx len 0x%llx: %s, and I/O that is under way has not ended yet\n", map->va, map->len,
			why);
	bl_peers_unmap(map);
	bl_gpu_remove(map);
	bl_meta_set_state(&map->meta, NVIDIA_FS_DIED);
	bl_dbg("va 0x%llx len 0x%llx: %s", map->va, map->len, why);
}

/**
 * bl_map_init() - Make what a map has for good
 * @map: one that is zero
 */
void bl_map_init(struct bl_map *map)
{
	spin_lock_init(&map->lock);
	init_waitqueue_head(&map->idle);
	mutex_init(&map->peers_lock);
	INIT_LIST_HEAD(&map->peers);
	bl_watch_init_one(&map->watch);
}

/**
 * bl_map_exit() - Undo bl_map_init()
 * @map: one that nothing is bound to
 */
void bl_map_exit(struct bl_map *map)
{
	mutex_destroy(&map->peers_lock);
}

static void map_clear(struct bl_map *map)
{
	if (!list_empty(&map->peers))
		bl_peers_free(map);
	if (map->chunks.chunk != &map->chunks.one)
		bl_chunks_free(&map->chunks);
	/* told of this memory only; most are not told anything */
	if (map->rdma.version)
		map->rdma = (struct nvidia_fs_rdma_info){ 0 };
}

/**
 * bl_map_free() - End a binding
 * @map: one that no request uses
 *
 * Context: may sleep, and wait for the GPU driver.
 */
void bl_map_free(struct bl_map *map)
{
	/* while it is watched: a device that goes must find no addresses of its own left. Nobody adds a peer any more */
	if (!list_empty(&map->peers))
		bl_peers_unmap(map);
	bl_watch_end(&map->watch);
	bl_pin_put(map);
	bl_gpu_remove(map);
	map_clear(map);
	atomic64_inc(&bl_stats.map_free);
}

/**
 * bl_map_use() - Have what is bound to a shadow stay bound
 * @shadow: a shadow whose file the caller holds
 *
 * Context: process. Return: the map, for bl_map_unuse(); NULL when nothing is bound.
 */
struct bl_map *bl_map_use(struct bl_shadow *shadow)
{
	return atomic_inc_not_zero(&shadow->map_users) ? &shadow->map : NULL;
}

/**
 * bl_map_unuse() - Undo bl_map_use()
 * @shadow: the shadow
 */
void bl_map_unuse(struct bl_shadow *shadow)
{
	/* all use of the map comes before */
	atomic_fetch_sub_release(1, &shadow->map_users);
}

/* The whole GPU pages that hold the request. */
static int set_range(struct bl_map *map, const struct nvidia_fs_map *arg)
{
	u64 last = arg->gpuvaddr + arg->size - 1;

	if (arg->size <= 0)
		return refuse(EINVAL, "map va 0x%llx size %lld: not positive", arg->gpuvaddr, arg->size);
	if (!arg->gpuvaddr || last < arg->gpuvaddr || last > U64_MAX - BL_GPU_PAGE)
		return refuse(EINVAL, "map va 0x%llx size 0x%llx: no such range", arg->gpuvaddr, arg->size);
	map->va = round_down(arg->gpuvaddr, BL_GPU_PAGE);
	map->head = arg->gpuvaddr - map->va;
	map->size = arg->size;
	map->len = round_down(last, BL_GPU_PAGE) + BL_GPU_PAGE - map->va;
	return 0;
}

static int check_args(const struct bl_shadow *shadow, const struct nvidia_fs_map *arg)
{
	u64 blocks = arg->sbuf_block * BL_BLOCK;

	if (!arg->sbuf_block || blocks > shadow->len)
		return refuse(EINVAL, "map va 0x%llx: %u blocks of a shadow of 0x%lx bytes", arg->gpuvaddr,
			      arg->sbuf_block, shadow->len);
	if (arg->end_fence_addr % BL_BLOCK || (!arg->end_fence_addr && !shadow->meta.page))
		return refuse(EINVAL, "map va 0x%llx: the page for reports at 0x%llx is not aligned", arg->gpuvaddr,
			      arg->end_fence_addr);
	if (arg->size > 0 && arg->size < BL_GPU_PAGE && blocks < arg->gpuvaddr % BL_GPU_PAGE + arg->size)
		return refuse(EINVAL, "map va 0x%llx size 0x%llx: does not fit a shadow of %u blocks", arg->gpuvaddr,
			      arg->size, arg->sbuf_block);
	return 0;
}

/* What the memory before has left behind. To clear all of the struct takes longer than most of what is done with it. */
static void forget(struct bl_map *map)
{
	bl_table_renew(&map->pin);
	map->chunks.chunk = NULL;
	map->chunks.nr = 0;
	map->gate = (struct bl_gate){ 0 };
	map->gpu = NULL;
	memset(map->uuid, 0, sizeof(map->uuid));
}

static int set_map(struct bl_map *map, const struct nvidia_fs_map *arg, const struct bl_meta *meta)
{
	forget(map);
	map->is_bounce = arg->is_bounce_buffer == 1;
	map->meta = *meta;
	return set_range(map, arg);
}

/* Have the map hold its pages; again when a device went meanwhile. */
static int hold(struct bl_map *map, const struct nvidia_fs_map *arg, const struct bl_meta *meta)
{
	for (;;) {
		int ret;

		bl_watch_begin(&map->watch);
		ret = set_map(map, arg, meta);
		if (!ret)
			ret = bl_pin_get(map);
		if (!ret && bl_watch_hold(&map->watch))
			return 0;
		bl_watch_end(&map->watch);
		if (!ret)
			bl_pin_put(map);
		map_clear(map);
		if (ret)
			return ret;
	}
}

/* The page of the binding before stays if none is named. */
static int bind_to(struct bl_shadow *shadow, const struct nvidia_fs_map *arg)
{
	struct bl_meta meta = shadow->meta;
	int ret;

	if (arg->end_fence_addr) {
		ret = bl_meta_pin(&meta, arg->end_fence_addr);
		if (ret)
			return refuse(-ret, "map va 0x%llx: the page for reports at 0x%llx", arg->gpuvaddr,
				      arg->end_fence_addr);
	}
	ret = hold(&shadow->map, arg, &meta);
	if (arg->end_fence_addr) {
		/* one of the two is the shadow's from now on */
		if (!ret)
			swap(meta, shadow->meta);
		bl_meta_unpin(&meta);
	}
	return ret;
}

/**
 * bl_map_bind() - Bind GPU memory to a shadow
 * @shadow: a shadow of the calling process
 * @arg:    what to bind
 *
 * Context: may sleep. Return: 0, or -EINVAL (arguments, bound already), -EFAULT (page for reports), -ENODEV (no GPU
 * driver), -ENOMEM, or what the GPU driver says; the error was reported.
 */
int bl_map_bind(struct bl_shadow *shadow, const struct nvidia_fs_map *arg)
{
	struct bl_map *map = &shadow->map;
	int ret;

	mutex_lock(&shadow->map_lock);
	ret = check_args(shadow, arg);
	if (ret)
		goto unlock;
	if (atomic_read(&shadow->map_users)) {
		ret = refuse(EINVAL, "map va 0x%llx: the shadow has memory already", arg->gpuvaddr);
		goto unlock;
	}
	ret = bind_to(shadow, arg);
	if (ret)
		goto unlock;
	bl_gpu_add(map);
	/* a request that uses it finds all of the above */
	atomic_set_release(&shadow->map_users, 1);
	atomic64_inc(&bl_stats.map_ok);
	bl_dbg("map va 0x%llx len 0x%llx: %u pieces%s", map->va, map->len, map->chunks.nr,
	       map->pin.persistent ? ", persistent" : "");
unlock:
	mutex_unlock(&shadow->map_lock);
	return ret;
}

/* Nobody who comes now finds it. */
static int take_map(struct bl_shadow *shadow)
{
	int users = atomic_cmpxchg(&shadow->map_users, 1, 0);

	if (users > 1) {
		/* a request may have told its end and not given back its use yet: both are one moment with the lock */
		spin_lock_irq(&shadow->lock);
		users = atomic_cmpxchg(&shadow->map_users, 1, 0);
		spin_unlock_irq(&shadow->lock);
	}
	if (users != 1)
		return users ? -EBUSY : -EINVAL;
	/* who shared the page for reports has gone */
	shadow->shared = false;
	return 0;
}

/**
 * bl_map_unbind() - Give memory back, and keep the shadow for a later bl_map_bind()
 * @shadow: a shadow of the calling process
 *
 * Context: may sleep, and wait for the GPU driver.
 * Return: 0, or -EINVAL (nothing is bound), -EBUSY (a request is in flight); the error was reported.
 */
int bl_map_unbind(struct bl_shadow *shadow)
{
	int ret;

	mutex_lock(&shadow->map_lock);
	ret = take_map(shadow);
	if (!ret)
		bl_map_free(&shadow->map);
	mutex_unlock(&shadow->map_lock);
	if (ret)
		refuse(-ret, "unmap: %s", ret == -EBUSY ? "a request is in flight" : "no memory is bound to the shadow");
	return ret;
}
