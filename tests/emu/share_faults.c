// SPDX-License-Identifier: MIT
/* Sharers whose driver fails at each call in turn, and sharers on many threads. */
#include <pthread.h>
#include <sys/mman.h>

#include "child.h"
#include "tests/tap.h"
#include "world.h"

#define MIB  (1UL << 20)
#define PAGE 65536UL

/**
 * struct walk - one point of failure
 * @point: name of the point
 * @value: what the call fails with
 * @provider: who serves
 * @undo:  the point is met while undoing too: RM may keep an object until its client goes
 * @nth:   which call fails
 */
struct walk {
	const char *point;
	int value;
	const char *provider;
	int undo;
	int nth;
};

/* Life of two sharers, the one that made the mapping leaving first or last. */
static int live(bl_ctx_t ctx, CUdeviceptr va, int maker_first)
{
	bl_pin_t pins[2] = { 0 };
	void *addrs[2];
	uint64_t seen, sent = 0x1122334455667788ULL;
	int ret = 0, first = !maker_first, last = maker_first;

	for (int i = 0; i < 2 && !ret; i++)
		ret = bl_pin(ctx, va, PAGE, 0, 0, 0, &pins[i]);
	for (int i = 0; i < 2 && !ret; i++)
		ret = bl_map(ctx, pins[i], PAGE, BL_MAP_NONE, &addrs[i]);
	if (ret)
		return ret;
	ret = bl_unpin(ctx, pins[first]);
	check_eq(bl_copy_to(pins[first], addrs[first], &sent, 8), -EINVAL);
	check_eq(bl_copy_to(pins[last], addrs[last], &sent, 8), 0);
	check_eq(world.cuda->cuMemcpyDtoH(&seen, va, 8), CUDA_SUCCESS);
	check_eq(seen, sent);
	if (!ret)
		ret = bl_unmap(ctx, pins[last], addrs[last], PAGE);
	return ret ? ret : bl_unpin(ctx, pins[last]);
}

/* Whether the child's call failed: a word shared with the parent. */
static int *fired;

static void fail_nth(const void *arg)
{
	const struct walk *walk = arg;
	struct snapshot before;
	CUdeviceptr va;
	char spec[64];
	bl_ctx_t ctx;
	int ret;

	world_enter();
	va = world_alloc(2 * MIB);
	snapshot_take(&before);
	ctx = world_open(walk->provider);
	check_eq(live(ctx, va, 0), 0); /* the self-test is over */
	snprintf(spec, sizeof(spec), "%s:%d:%d", walk->point, walk->nth, walk->value);
	check_eq(world.fault(spec), 0);
	ret = live(ctx, va, walk->nth % 2);
	check_eq(world.fault(""), 0);
	*fired = ret != 0;
	if (ret)
		check(strlen(bl_last_error(NULL)) > 0);
	check_eq(live(ctx, va, 1), 0);
	check_eq(bl_close(ctx), 0);
	snapshot_check(&before);
	if (!walk->undo)
		world_check_rules();
	world_free(va);
}

/* Calls alternate between the two orders, so each is met in both or in the one where it happens. */
static void walk_point(struct walk walk, const char *const *env)
{
	int fires = 0, quiet = 0;

	fired = mmap(NULL, sizeof(*fired), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	check(fired != MAP_FAILED);
	for (walk.nth = 1; walk.nth < 60 && quiet < 6; walk.nth++) {
		*fired = 0;
		child_run(fail_nth, &walk, env);
		fires += *fired;
		quiet = *fired ? 0 : quiet + 1;
	}
	munmap(fired, sizeof(*fired));
	if (!fires)
		tap_end(TAP_FAILED, "%s never fired", walk.point);
}

static void a_failure_at_each_call_leaves_nothing(void)
{
	static const char *const dmabuf[] = { "BARLANE_EMU_DRIVER", "610.43.02", "BARLANE_EMU_CUDA", "13030", NULL };

	walk_point((struct walk){ .point = "open.dev", .value = EMFILE, .provider = "rm" }, NULL);
	walk_point((struct walk){ .point = "rm.dup", .value = 0x1B, .provider = "rm" }, NULL);
	walk_point((struct walk){ .point = "rm.map", .value = 0x51, .provider = "rm" }, NULL);
	walk_point((struct walk){ .point = "mmap", .value = ENOMEM, .provider = "rm" }, NULL);
	walk_point((struct walk){ .point = "madvise", .value = EINVAL, .provider = "rm" }, NULL);
	walk_point((struct walk){ .point = "rm.unmap", .value = 0x40, .provider = "rm", .undo = 1 }, NULL);
	walk_point((struct walk){ .point = "rm.free", .value = 0x40, .provider = "rm", .undo = 1 }, NULL);
	walk_point((struct walk){ .point = "ioctl", .value = EIO, .provider = "rm", .undo = 1 }, NULL);
	walk_point((struct walk){ .point = "cuda.export", .value = 801, .provider = "dmabuf" }, dmabuf);
	walk_point((struct walk){ .point = "cuda.attr", .value = 1, .provider = "dmabuf" }, dmabuf);
	walk_point((struct walk){ .point = "dmabuf.mmap", .value = 95, .provider = "dmabuf" }, dmabuf);
}

static void comparing_fails(const void *arg)
{
	struct bl_emu_counts before, after;
	bl_pin_t pins[2];
	void *addrs[2];
	CUdeviceptr va;
	bl_ctx_t ctx;

	world_enter();
	va = world_alloc(2 * MIB);
	ctx = world_open("rm");
	check_eq(live(ctx, va, 0), 0);
	world.counts(&before);
	for (int i = 0; i < 2; i++)
		check_eq(bl_pin(ctx, va, PAGE, 0, 0, 0, &pins[i]), 0);
	check_eq(world.fault("rm.control:*:86"), 0);
	for (int i = 0; i < 2; i++)
		check_eq(bl_map(ctx, pins[i], PAGE, BL_MAP_NONE, &addrs[i]), 0);
	check_eq(world.fault(""), 0);
	world.counts(&after);
	check_eq(after.vmas, before.vmas + 2);
	check(addrs[0] != addrs[1]);
	for (int i = 0; i < 2; i++)
		world_check_mapping(pins[i], addrs[i], va, PAGE);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void a_driver_that_does_not_answer_gives_a_mapping_to_each(void)
{
	child_run(comparing_fails, NULL, NULL);
}

static void munmap_fails(const void *arg)
{
	struct bl_emu_counts counts;
	bl_pin_t pins[2];
	void *addrs[2];
	CUdeviceptr va;
	bl_ctx_t ctx;

	world_enter();
	va = world_alloc(2 * MIB);
	ctx = world_open("rm");
	check_eq(live(ctx, va, 0), 0);
	for (int i = 0; i < 2; i++) {
		check_eq(bl_pin(ctx, va, PAGE, 0, 0, 0, &pins[i]), 0);
		check_eq(bl_map(ctx, pins[i], PAGE, BL_MAP_NONE, &addrs[i]), 0);
	}
	check_eq(world.fault("munmap:1:22"), 0);
	/* @arg: whether the pin that made the mapping is there at its end */
	check_eq(bl_unpin(ctx, pins[arg ? 1 : 0]), 0);
	check_eq(bl_unpin(ctx, pins[arg ? 0 : 1]), -EBUSY);
	check_has(bl_last_error(NULL), "stays allocated until the process ends");
	check_eq(bl_close(ctx), 0);
	world_free(va);
	/* the mapping lives, so what it shows must too: the duplicate that it was made with */
	world.counts(&counts);
	check_eq(counts.vmas, 1);
	check_eq(counts.maps, 1);
	check_eq(counts.dups, 1);
	world_check_rules();
}

static void a_shared_mapping_that_cannot_be_removed_keeps_its_memory(void)
{
	child_run(munmap_fails, NULL, NULL);
	child_run(munmap_fails, "maker last", NULL);
}

#define NR_THREADS 8
#define NR_ROUNDS  150

/**
 * struct worker - a thread with a slot of its own in a page that all of them map
 * @va:   the slot's device address
 * @what: what went wrong
 */
struct worker {
	pthread_t thread;
	bl_ctx_t ctx;
	CUdeviceptr va;
	unsigned int seed;
	const char *what;
};

static void *share(void *arg)
{
	struct worker *w = arg;
	bl_pin_t pin = 0;
	uint64_t seen;
	void *addr;

	for (uint64_t i = 1; i <= NR_ROUNDS && !w->what; i++) {
		unsigned int dice = (unsigned int)rand_r(&w->seed);
		size_t len = dice & 1 ? 4096 : 512;

		if (bl_pin(w->ctx, w->va, len, 0, 0, 0, &pin))
			w->what = "pin failed";
		else if (bl_map_byte(w->ctx, pin, len, BL_MAP_NONE, &addr))
			w->what = "map failed";
		else if (bl_copy_to(pin, addr, &i, 8) || bl_copy_from(pin, &seen, addr, 8) || seen != i)
			w->what = "a copy went wrong";
		else if (dice & 2 && bl_unmap(w->ctx, pin, addr, len))
			w->what = "unmap failed";
		else if (dice & 2 && bl_copy_to(pin, addr, &i, 8) != -EINVAL)
			w->what = "a copy after the end was let through";
		else if (dice & 2 && dice & 4 && bl_map_byte(w->ctx, pin, len, BL_MAP_NONE, &addr))
			w->what = "mapping again failed";
		else if (bl_unpin(w->ctx, pin))
			w->what = "unpin failed";
	}
	return NULL;
}

static void many_threads(const void *arg)
{
	struct worker workers[NR_THREADS];
	struct bl_emu_counts before, after;
	CUdeviceptr va;
	bl_ctx_t ctx;

	world_enter();
	va = world_alloc(2 * MIB);
	ctx = world_open("rm");
	check_eq(live(ctx, va, 0), 0);
	world.counts(&before);
	for (unsigned int i = 0; i < NR_THREADS; i++) {
		workers[i] = (struct worker){ .ctx = ctx, .va = va + i * 4096UL + 64, .seed = i + 1 };
		check_eq(pthread_create(&workers[i].thread, NULL, share, &workers[i]), 0);
	}
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	for (int i = 0; i < NR_THREADS; i++) {
		if (workers[i].what)
			tap_end(TAP_FAILED, "thread %d, seed %d: %s", i, i + 1, workers[i].what);
	}
	world.counts(&after);
	check_eq(after.maps, before.maps);
	check_eq(after.vmas, before.vmas);
	check_eq(after.dups, before.dups);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void threads_share_and_leave_nothing(void)
{
	child_run(many_threads, NULL, (const char *[]){ "BARLANE_EMU_STATIC_BAR1", "0", NULL });
}

/* The context is closed under threads that go on: whoever comes too late is told so. */
static void *until_closed(void *arg)
{
	struct worker *w = arg;
	bl_pin_t pin = 0;
	void *addr;

	for (;;) {
		int ret = bl_pin(w->ctx, w->va, 512, 0, 0, 0, &pin);

		if (!ret)
			ret = bl_map_byte(w->ctx, pin, 512, BL_MAP_NONE, &addr);
		if (!ret)
			ret = bl_unpin(w->ctx, pin);
		if (ret) {
			w->what = ret == -EINVAL ? NULL : "another error than EINVAL";
			return NULL;
		}
	}
}

static void close_under_threads(const void *arg)
{
	struct worker workers[NR_THREADS];
	struct snapshot before;
	CUdeviceptr va;
	bl_ctx_t ctx;

	world_enter();
	va = world_alloc(2 * MIB);
	ctx = world_open("rm");
	check_eq(live(ctx, va, 0), 0);
	check_eq(bl_close(ctx), 0);
	snapshot_take(&before);
	ctx = world_open("rm");
	for (unsigned int i = 0; i < NR_THREADS; i++) {
		workers[i] = (struct worker){ .ctx = ctx, .va = va + i * 4096UL };
		check_eq(pthread_create(&workers[i].thread, NULL, until_closed, &workers[i]), 0);
	}
	check_eq(live(ctx, va, 1), 0);
	check_eq(bl_close(ctx), 0);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	for (int i = 0; i < NR_THREADS; i++) {
		if (workers[i].what)
			tap_end(TAP_FAILED, "thread %d: %s", i, workers[i].what);
	}
	snapshot_check(&before);
	world_free(va);
	world_check_rules();
}

static void a_context_closes_under_sharers(void)
{
	child_run(close_under_threads, NULL, NULL);
}

static const struct tap_test tests[] = {
	{ "a_failure_at_each_call_leaves_nothing", a_failure_at_each_call_leaves_nothing },
	{ "a_driver_that_does_not_answer_gives_a_mapping_to_each", a_driver_that_does_not_answer_gives_a_mapping_to_each },
	{ "a_shared_mapping_that_cannot_be_removed_keeps_its_memory",
	  a_shared_mapping_that_cannot_be_removed_keeps_its_memory },
	{ "threads_share_and_leave_nothing", threads_share_and_leave_nothing },
	{ "a_context_closes_under_sharers", a_context_closes_under_sharers },
};

TAP_MAIN(tests)
