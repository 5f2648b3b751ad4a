// SPDX-License-Identifier: MIT
/*
 * Counting. Threads are spread over blocks, so that they do not meet in one cache line; numbers are added without any
 * order between them. The blocks are this process' own until they are exported, and then those of the file: the first
 * keep what was counted in them, and both are summed up.
 */
#define log_fmt(fmt) "file/stats: " fmt
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "driver.h"
#include "error.h"
#include "stats_export.h"
#include "util/clock.h"
#include "util/log.h"

static struct bl_stats_block own_blocks[BL_STATS_BLOCKS];
static _Atomic(struct bl_stats_block *) blocks = own_blocks;
static struct bl_stats_shm *exported;

/* What is counted now: @level while started, else 0. */
static atomic_int active;
static atomic_int level;
static atomic_bool started;

/* The level is that of the configuration, and goes with it. Guarded by the driver's lock. */
static bool is_configured;

/* The sums at the last reset, and how long was counted since: guarded by the driver's lock. */
static struct bl_stats_block baseline;
static uint64_t counted_ns, since_ns;

/* Bytes of batch entries when entries were last submitted. */
static _Atomic(uint64_t) batch_mark[2];

static atomic_uint next_block;
static _Thread_local unsigned int my_block; /* + 1 */

static struct bl_stats_block *block(void)
{
	if (!my_block)
		my_block = atomic_fetch_add_explicit(&next_block, 1, memory_order_relaxed) % BL_STATS_BLOCKS + 1;
	return atomic_load_explicit(&blocks, memory_order_acquire) + (my_block - 1);
}

static inline void add(bl_stats_number *number, uint64_t value)
{
	atomic_fetch_add_explicit(number, value, memory_order_relaxed);
}

static int active_level(void)
{
	return atomic_load_explicit(&active, memory_order_relaxed);
}

static void count_way(struct bl_stats_way *way, ssize_t result, uint64_t ns, bool timed)
{
	if (result < 0) {
		add(&way->errors, 1);
		return;
	}
	add(&way->calls, 1);
	add(&way->bytes, (uint64_t)result);
	if (timed)
		add(&way->ns, ns);
}

void bl_stats_io(enum bl_path path, bool write, ssize_t result, uint64_t ns, int ordinal, bool unaligned)
{
	struct bl_stats_block *to = block();
	int now = active_level();

	count_way(&to->single[path][write], result, ns, now > 0);
	if (now >= 2 && result >= 0)
		add(&to->sizes[write][bl_stats_size_class((uint64_t)result)], 1);
	if (now < 3 || ordinal < 0 || ordinal >= BL_STATS_GPUS)
		return;
	count_way(&to->gpu[ordinal].way[write], result, ns, true);
	if (result < 0)
		return;
	if (path == BL_PATH_NVFS || path == BL_PATH_DEVICEPAGES)
		add(&to->gpu[ordinal].nvfs[write], 1);
	if (unaligned)
		add(&to->gpu[ordinal].unaligned[write], 1);
}

void bl_stats_batch_io(enum bl_path path, bool write, ssize_t result, uint64_t submit_ns, uint64_t complete_ns)
{
	struct bl_stats_block *to = block();
	bool timed = active_level() > 0;

	count_way(&to->batch[path][write], result, complete_ns, timed);
	if (timed)
		add(&to->submit_ns, submit_ns);
}

void bl_stats_nvfs(enum bl_nvfs_count what, bool write, uint64_t by)
{
	if (by)
		add(&block()->nvfs[what][write], by);
}

void bl_stats_stream(enum bl_stream_count way, bool write)
{
	add(&block()->streams[way][write], 1);
}

static void batch_bytes(const struct bl_stats_block *from, uint64_t bytes[2])
{
	for (int write = 0; write < 2; write++) {
		for (int path = 0; path < BL_PATH_NR; path++)
			bytes[write] += atomic_load_explicit(&from->batch[path][write].bytes, memory_order_relaxed);
	}
}

static void mark_batch(void)
{
	struct bl_stats_block *now = atomic_load_explicit(&blocks, memory_order_acquire);
	uint64_t bytes[2] = {0, 0};

	for (int i = 0; i < BL_STATS_BLOCKS; i++) {
		batch_bytes(&own_blocks[i], bytes);
		if (now != own_blocks)
			batch_bytes(&now[i], bytes);
	}
	/* after the looks at the counters: who sees the mark sees no less in them */
	for (int write = 0; write < 2; write++)
		atomic_store_explicit(&batch_mark[write], bytes[write], memory_order_release);
}

void bl_stats_op(enum bl_op op, int err)
{
	if (active_level() < 1)
		return;
	if (op == BL_OP_BATCH_SUBMIT)
		mark_batch();
	add(&block()->ops[op][err < 0], 1);
}

void bl_stats_buffer(int ordinal, int64_t bytes, int err)
{
	struct bl_stats_gpu *gpu;

	if (ordinal < 0 || ordinal >= BL_STATS_GPUS)
		return;
	gpu = &block()->gpu[ordinal];
	/* what is registered now is right at every level, if the level is raised later */
	if (!err)
		add(&gpu->bytes, (uint64_t)bytes);
	if (active_level() < 3)
		return;
	add(bytes < 0 ? &gpu->unmaps : err ? &gpu->map_errors : &gpu->maps, 1);
}

static void sum_all(struct bl_stats_block *sum)
{
	struct bl_stats_block *now = atomic_load(&blocks);

	bl_stats_sum(own_blocks, BL_STATS_BLOCKS, sum);
	for (int i = 0; now != own_blocks && i < BL_STATS_BLOCKS; i++)
		bl_stats_add(sum, &now[i], false);
}

static uint64_t counted_us(void)
{
	uint64_t ns = counted_ns + (atomic_load(&started) ? bl_now_ns() - since_ns : 0);

	return ns / 1000 ? ns / 1000 : 1;
}

void bl_stats_total(struct bl_stats_total *total)
{
	uint64_t mark[2];

	bl_driver_lock();
	/* the mark before the counters: they only grow */
	for (int write = 0; write < 2; write++)
		mark[write] = atomic_load_explicit(&batch_mark[write], memory_order_acquire);
	sum_all(&total->sum);
	total->last_batch[0] = total->last_batch[1] = 0;
	batch_bytes(&total->sum, total->last_batch);
	for (int write = 0; write < 2; write++)
		total->last_batch[write] -= mark[write];
	bl_stats_add(&total->sum, &baseline, true);
	/* registered memory does not begin anew */
	for (int i = 0; i < BL_STATS_GPUS; i++)
		total->sum.gpu[i].bytes += baseline.gpu[i].bytes;
	total->us = counted_us();
	bl_driver_unlock();
}

/* Under the driver's lock: let the state of level and start take effect. */
static void settle(bool open)
{
	int now = atomic_load(&started) ? atomic_load(&level) : 0;

	if (open && now > 0 && !exported) {
		exported = bl_stats_file_make((unsigned int)now, bl_now_ns());
		if (exported)
			atomic_store_explicit(&blocks, exported->block, memory_order_release);
	}
	if (exported)
		exported->level = open ? (uint32_t)now : 0;
	atomic_store_explicit(&active, now, memory_order_relaxed);
}

static void start_locked(void)
{
	if (!atomic_exchange(&started, true))
		since_ns = bl_now_ns();
}

static void stop_locked(void)
{
	if (atomic_exchange(&started, false))
		counted_ns += bl_now_ns() - since_ns;
}

void bl_stats_open(unsigned int wanted)
{
	if (wanted) {
		atomic_store(&level, (int)wanted);
		start_locked();
	} else if (is_configured) {
		atomic_store(&level, 0);
		stop_locked();
	}
	is_configured = wanted;
	settle(true);
}

/* The file stays, and its memory: a request that just ends may still count in it, and so may the next open. */
void bl_stats_close(void)
{
	if (exported)
		exported->level = 0;
}

int bl_stats_set_level(int wanted)
{
	bool open;

	if (wanted < 0 || wanted > 3)
		return bl_fail(-BL_CUFILE(CU_FILE_INVALID_VALUE), log_fmt("level %d: not 0 to 3"), wanted);
	open = bl_driver_lock();
	atomic_store(&level, wanted);
	is_configured = false;
	settle(open);
	bl_driver_unlock();
	return 0;
}

int bl_stats_level(void)
{
	return atomic_load(&level);
}

static int change(const char *name, void (*what)(void))
{
	bool open = bl_driver_lock();
	bool counts = atomic_load(&level);

	if (counts) {
		what();
		settle(open);
	}
	bl_driver_unlock();
	return counts ? 0 : bl_fail(-BL_CUFILE(CU_FILE_INVALID_VALUE), log_fmt("%s: nothing is counted at level 0"), name);
}

int bl_stats_start(void)
{
	return change("start", start_locked);
}

int bl_stats_stop(void)
{
	return change("stop", stop_locked);
}

static void reset_locked(void)
{
	sum_all(&baseline);
	counted_ns = 0;
	since_ns = bl_now_ns();
}

int bl_stats_reset(void)
{
	return change("reset", reset_locked);
}

/* What the parent counted in its file stays with the file, so that nothing may be taken from what is left. */
void bl_stats_after_fork(void)
{
	atomic_store(&blocks, own_blocks);
	exported = NULL;
	memset(&baseline, 0, sizeof(baseline));
	for (int write = 0; write < 2; write++)
		atomic_store(&batch_mark[write], 0);
	bl_stats_file_forget();
}

void bl_stats_forget(void)
{
	bl_stats_after_fork();
	memset(own_blocks, 0, sizeof(own_blocks));
	counted_ns = 0;
	since_ns = bl_now_ns();
}
