// SPDX-License-Identifier: MIT
/* Lanes that GPU or disk are still at when their request has been given up: over a driver library that runs when told to. */
#include "file/lane.h"

#include <errno.h>
#include <unistd.h>

#include "barlane.h"
#include "batch_cuda.h"
#include "child.h"
#include "fake_gdrdrv.h"
#include "tap.h"
#include "util/clock.h"
#include "util/fork.h"

#define MIB (1UL << 20)
#define MS  1000000ULL

static const char *const one_lane[] = { "BARLANE_FILE_TUNE", "lanes=1", "BARLANE_CE_TIMEOUT_MS", "50", NULL };

static struct bl_ce_target target;

static void forget(void)
{
}

static void set_up(void)
{
	fake_gdrdrv_begin(6);
	gpu_begin();
	check_eq(bl_fork_init(forget), 0);
	check_eq(bl_ce_target_init(bl_cuda(), FAKE_VRAM_VA, 0, &target), 0);
}

static struct bl_lane *must_get(void)
{
	struct bl_lane *lane = NULL;

	check_eq(bl_lane_get(&target, MIB, &lane), 0);
	return lane;
}

static int get(struct bl_lane **lane_p)
{
	return bl_lane_get(&target, MIB, lane_p);
}

static int copy(struct bl_lane *lane, int byte)
{
	memset(bl_lane_slot(lane, 0), byte, 4096);
	check_eq(bl_lane_post(lane, 0, BL_COPY_TO, FAKE_VRAM_VA, bl_lane_slot(lane, 0), 4096), 0);
	return bl_lane_wait(lane, 0);
}

/* A request that the GPU did not answer in time. */
static struct bl_lane *give_up(void)
{
	struct bl_lane *lane = must_get();

	gpu.hold = true;
	check_eq(copy(lane, 0x11), -ETIMEDOUT);
	check_eq(bl_lane_drain(lane), -ETIMEDOUT);
	bl_lane_put(lane, false);
	return lane;
}

static void gpu_catches_up(void)
{
	gpu_run(SIZE_MAX);
	gpu.hold = false;
}

static void until_the_gpu_has_ended(const void *arg)
{
	struct bl_lane *lane, *again = NULL;

	set_up();
	lane = give_up();
	for (int i = 0; i < 3; i++)
		check_eq(get(&again), -EBUSY);
	check_has(bl_last_error(NULL), "staging areas");
	check_eq(gpu.streams, 1);
	gpu_catches_up();
	check_eq(get(&again), 0);
	check(again == lane);
	check_eq(copy(again, 0x22), 0);
	check_eq(fake_vram()[4095], 0x22);
	bl_lane_put(again, true);
	bl_lane_drop_idle();
	check_eq(gpu.streams, 0);
}

static void a_lane_counts_until_the_gpu_has_ended(void)
{
	child_run(until_the_gpu_has_ended, NULL, one_lane);
}

static void over_a_close(const void *arg)
{
	struct bl_lane *lane = NULL;

	set_up();
	give_up();
	bl_lane_drop_idle();
	check_eq(gpu.streams, 1);
	check_eq(get(&lane), -EBUSY);
	gpu_catches_up();
	bl_lane_drop_idle();
	check_eq(gpu.streams, 0);
	check_eq(copy(must_get(), 0x33), 0);
}

static void a_close_gives_back_what_has_ended_and_nothing_else(void)
{
	child_run(over_a_close, NULL, one_lane);
}

/* Its pinned memory went with it: a touch would be a fault. */
static void with_its_context(const void *arg)
{
	set_up();
	give_up();
	gpu_destroy_context();
	bl_lane_drop_idle();
	/* another one, at the same address */
	gpu.context = 1;
	gpu.hold = false;
	check_eq(copy(must_get(), 0x44), 0);
}

static void a_lane_goes_with_its_context(void)
{
	child_run(with_its_context, NULL, one_lane);
}

/* A drive that does not answer: a pipe that nobody writes to. What was prepared and not submitted is never to be done. */
static void until_the_disk_has_ended(const void *arg)
{
	uint64_t end = bl_now_ns() + 10000 * MS;
	struct bl_lane *lane, *again = NULL;
	int fds[2], other[2], ret;

	set_up();
	lane = must_get();
	ret = bl_lane_uring(lane);
	if (ret)
		skip("no io_uring: %s", strerror(-ret));
	check(!pipe(fds) && !pipe(other));
	bl_uring_post(&lane->uring, false, fds[0], bl_lane_slot(lane, 0), 16, 0, 0);
	check_eq(bl_uring_wait(&lane->uring, true, bl_now_ns() + 50 * MS), -ETIMEDOUT);
	bl_uring_post(&lane->uring, false, other[0], bl_lane_slot(lane, 1), 16, 0, 1);
	bl_lane_put(lane, false);
	check_eq(get(&again), -EBUSY);
	/* nor does a close take it away from the disk */
	bl_lane_drop_idle();
	check_eq(get(&again), -EBUSY);
	check_eq(write(fds[1], "late", 4), 4);
	check_eq(write(other[1], "not", 3), 3);
	while ((ret = get(&again)) == -EBUSY && bl_now_ns() < end)
		usleep(1000);
	check_eq(ret, 0);
	check(again == lane);
	check(!again->uring.ring);
	check_eq(memcmp(bl_lane_slot(again, 0), "late", 4), 0);
	check_eq(bl_lane_uring(again), 0);
	check_eq(bl_uring_wait(&again->uring, false, end), -EAGAIN);
	check_eq(read(other[0], bl_lane_slot(again, 1), 16), 3);
	bl_lane_put(again, true);
}

static void a_lane_counts_until_the_disk_has_ended(void)
{
	child_run(until_the_disk_has_ended, NULL, one_lane);
}

/* Numbers behind reads that transfers bring come from memory of the lane's own. */
static void with_its_table(const void *arg)
{
	struct bl_lane *lane;

	set_up();
	lane = must_get();
	bl_ce_report(lane->ce, false, false, BL_CE_TOKENS_ON);
	memset(fake_vram(), 0x55, MIB);
	check_eq(bl_lane_post(lane, 0, BL_COPY_FROM, FAKE_VRAM_VA, bl_lane_slot(lane, 0), MIB), 0);
	check_eq(bl_lane_wait(lane, 0), 0);
	check_eq(((unsigned char *)bl_lane_slot(lane, 0))[MIB - 1], 0x55);
	check_eq(gpu.marks, 0);
	check_eq(gpu.allocs, 1);
	bl_lane_put(lane, true);
	bl_lane_drop_idle();
	check_eq(gpu.allocs, 0);
	check_eq(gpu_pinned(), 0);
	check_eq(gpu.streams, 0);
}

static void a_lane_gives_back_its_table(void)
{
	child_run(with_its_table, NULL, one_lane);
}

/* What GPU memory holds: each time other bytes. */
static void fill_vram(uint32_t salt)
{
	uint32_t *words = (uint32_t *)fake_vram();

	for (size_t i = 0; i < BL_LAND_MAX / 4 + 64; i++)
		words[i] = (uint32_t)(i + salt) * 2654435761U | 1;
}

/* -1: it cannot be watched. Its bytes are right when it has landed. */
static int land(struct bl_lane *lane, size_t off, size_t len)
{
	struct bl_landing landing;
	int ret;

	if (!bl_lane_lands(lane, FAKE_VRAM_VA + off, len))
		return -1;
	check_eq(bl_lane_land(lane, FAKE_VRAM_VA + off, len, &landing), 0);
	ret = bl_lane_landed(lane, &landing);
	if (!ret)
		check_eq(memcmp(landing.at, fake_vram() + off, len), 0);
	return ret;
}

static struct bl_lane *must_land(void)
{
	set_up();
	gpu_can_register();
	fill_vram(1);
	return must_get();
}

static void without_reports(const void *arg)
{
	static const size_t lens[] = { 4, 60, 64, 68, 512, 4096, 4100, 65536, BL_LAND_MAX - 4, BL_LAND_MAX };
	struct bl_lane *lane = must_land();

	/* more than one time round the ring, and each place in it is used by more than one */
	for (uint32_t i = 0; i < 300; i++) {
		fill_vram(i * 5);
		check_eq(land(lane, i % 7 * 4, lens[i * 7 % 10]), 0);
	}
	check_eq(gpu.marks, 0);
	check_eq(bl_lane_drain(lane), 0);
	check_eq(gpu_registered(), 2);
	bl_lane_put(lane, true);
	bl_lane_drop_idle();
	check_eq(gpu_registered(), 0);
	check_eq(gpu.streams, 0);
}

static void what_lands_is_watched_without_a_report(void)
{
	child_run(without_reports, NULL, one_lane);
}

static void not_watched(const void *arg)
{
	struct bl_lane *lane = must_land();

	check_eq(land(lane, 0, 5), -1);
	check_eq(land(lane, 2, 8), -1);
	check_eq(land(lane, 0, BL_LAND_MAX + 4), -1);
	check_eq(land(lane, 4, 8), 0);
}

static void what_has_no_aligned_words_is_not_watched(void)
{
	child_run(not_watched, NULL, one_lane);
}

/* All of it, or one word, looks as if it had not arrived. */
static void the_mark(const void *arg)
{
	static const size_t missing[] = { 0, 777, 4095 };
	struct bl_lane *lane = must_land();
	uint32_t *words = (uint32_t *)fake_vram(), mark;
	int before;

	check_eq(land(lane, 0, 4), 0);
	for (size_t i = 0; i < 4; i++) {
		mark = lane->land.mark;
		for (size_t at = 0; at < 4096; at++)
			if (i == 3 || at == missing[i])
				words[at] = mark;
		before = gpu.marks;
		check_eq(land(lane, 0, 16384), 0);
		check_eq(gpu.marks, before + 1);
		check(lane->land.mark != mark);
		/* the same bytes are not waited for like that again */
		for (int j = 0; j < 600; j++)
			check_eq(land(lane, 0, 16384), 0);
		check_eq(gpu.marks, before + 1);
		fill_vram(5);
	}
}

static void bytes_that_are_the_mark_are_reported_and_change_it(void)
{
	child_run(the_mark, NULL, one_lane);
}

/*
 * A GPU that does not deliver, whatever was in the place before; then one that delivers late, into memory that nobody uses
 * meanwhile.
 */
static void landing_late(const void *arg)
{
	static const size_t before[][4] = { { 0 }, { 65536 }, { 4096 }, { 4096, 4096 }, { 65536, 4096 }, { 4096, 65536 },
					    { BL_LAND_MAX, 4, 68 }, { 4, 65536, 4, 65536 } };
	struct bl_lane *lane, *again = NULL;

	set_up();
	gpu_can_register();
	lane = must_get();
	for (uint32_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
		fill_vram(i * 16);
		for (size_t j = 0; j < 4 && before[i][j]; j++)
			check_eq(land(lane, 0, before[i][j]), 0);
		gpu.hold = true;
		check_eq(land(lane, 0, 65536), -ETIMEDOUT);
		check_eq(bl_lane_drain(lane), -ETIMEDOUT);
		bl_lane_put(lane, false);
		check_eq(get(&again), -EBUSY);
		fill_vram(i * 16 + 7);
		gpu_catches_up();
		again = must_get();
		check(again == lane);
	}
	bl_lane_put(again, true);
}

static void what_does_not_land_keeps_its_place(void)
{
	child_run(landing_late, NULL, one_lane);
}

/* A request that ends before its bytes have come: its lane is not to be another's. */
static void left_alone(const void *arg)
{
	struct bl_lane *lane = must_land();
	struct bl_landing landing;

	check(bl_lane_lands(lane, FAKE_VRAM_VA, 4096));
	check_eq(bl_lane_land(lane, FAKE_VRAM_VA, 4096, &landing), 0);
	check_eq(bl_lane_drain(lane), 0);
	gpu.hold = true;
	check_eq(bl_lane_land(lane, FAKE_VRAM_VA, 4096, &landing), 0);
	check_eq(bl_lane_drain(lane), -ETIMEDOUT);
}

static void a_drain_waits_for_what_was_to_land(void)
{
	child_run(left_alone, NULL, one_lane);
}

/* Each call fails in turn: no bytes are taken for arrived, and nothing is under way in a lane that is given back. */
static void landing_failures(const void *arg)
{
	struct bl_lane *lane = must_land();
	struct bl_landing landing;
	bool failed = true;
	int ret;

	for (int at = 0; failed; at++) {
		fill_vram((uint32_t)at * 31);
		check(bl_lane_lands(lane, FAKE_VRAM_VA, 4096));
		gpu.calls = 0;
		gpu.fail_at = at;
		ret = bl_lane_land(lane, FAKE_VRAM_VA, 4096, &landing);
		if (!ret)
			ret = bl_lane_landed(lane, &landing);
		failed = gpu.calls > at;
		gpu.fail_at = -1;
		if (!ret)
			check_eq(memcmp(landing.at, fake_vram(), 4096), 0);
		else
			check_eq(ret, -EIO);
		check_eq(bl_lane_drain(lane), 0);
	}
}

static void a_failing_call_is_no_arrival(void)
{
	child_run(landing_failures, NULL, one_lane);
}

/* An old driver, or no memory: other ways are taken. */
static void no_place(const void *arg)
{
	struct bl_lane *lane;

	set_up();
	lane = must_get();
	check_eq(land(lane, 0, 4096), -1);
	bl_lane_put(lane, true);
	bl_lane_drop_idle();
	gpu_can_register();
	lane = must_get();
	gpu.calls = 0;
	gpu.fail_at = 0;
	check_eq(land(lane, 0, 4096), -1);
	gpu.fail_at = -1;
	/* nor is it asked for each time */
	check_eq(land(lane, 0, 4096), -1);
	check_eq(gpu_registered(), 1);
	bl_lane_put(lane, true);
}

static void nothing_lands_without_memory_for_it(void)
{
	child_run(no_place, NULL, one_lane);
}

static const struct tap_test tests[] = {
	{ "a_lane_counts_until_the_gpu_has_ended", a_lane_counts_until_the_gpu_has_ended },
	{ "a_lane_counts_until_the_disk_has_ended", a_lane_counts_until_the_disk_has_ended },
	{ "a_close_gives_back_what_has_ended_and_nothing_else", a_close_gives_back_what_has_ended_and_nothing_else },
	{ "a_lane_goes_with_its_context", a_lane_goes_with_its_context },
	{ "a_lane_gives_back_its_table", a_lane_gives_back_its_table },
	{ "what_lands_is_watched_without_a_report", what_lands_is_watched_without_a_report },
	{ "what_has_no_aligned_words_is_not_watched", what_has_no_aligned_words_is_not_watched },
	{ "bytes_that_are_the_mark_are_reported_and_change_it", bytes_that_are_the_mark_are_reported_and_change_it },
	{ "what_does_not_land_keeps_its_place", what_does_not_land_keeps_its_place },
	{ "a_drain_waits_for_what_was_to_land", a_drain_waits_for_what_was_to_land },
	{ "a_failing_call_is_no_arrival", a_failing_call_is_no_arrival },
	{ "nothing_lands_without_memory_for_it", nothing_lands_without_memory_for_it },
};

TAP_MAIN(tests)
