// SPDX-License-Identifier: MIT
/* What Barlane's own module can besides: shadows are used again, and many requests go by one call. */
#include "nvfs_fixture.h"

#define NR 48

static void begin(void)
{
	fake_nvfs_begin();
	fake_nvfs.own = true;
}

/* A small mapping of the pool is made, and given back with it. */
static void use(struct nvfs *n, size_t gpu_off)
{
	struct bl_nvfs_range range = {FAKE_GPU_VA + gpu_off, MB, FAKE_GPU_PDEV};
	struct bl_nvfs_request rq;

	check_eq(bl_nvfs_pool_new(n->dev, &range, 1, &n->pool), 0);
	rq = nvfs_request(n, false, gpu_off, 0, 64 * KB);
	check_eq(bl_nvfs_transfer(n->pool, &rq), 0);
	check_eq(rq.done, 64 * KB);
	check(gpu_has(gpu_off, 0, 64 * KB));
	bl_nvfs_pool_put(n->pool);
}

static void a_shadow_is_used_for_one_buffer_after_the_other(void)
{
	struct nvfs n;

	begin();
	n = nvfs_open(MB, 0, MB);
	bl_nvfs_pool_put(n.pool);
	for (size_t i = 0; i < 4; i++) {
		use(&n, i * MB);
		check_eq(fake_nvfs_counts().mapped, 0);
		/* one shadow and its page, whatever was bound */
		check_eq(fake_nvfs_counts().pages, 1);
	}
	check_eq(fake_nvfs_counts().maps, 4);
	check_eq(fake_nvfs_counts().unmaps, 4);
	bl_nvfs_dev_put(n.dev);
	close(n.fd);
	fake_nvfs_end();
}

static void the_other_module_has_its_shadows_unmapped(void)
{
	struct nvfs n;

	fake_nvfs_begin();
	n = nvfs_open(MB, 0, MB);
	bl_nvfs_pool_put(n.pool);
	check(!n.dev->own);
	use(&n, 0);
	check_eq(fake_nvfs_counts().pages, 0);
	check_eq(fake_nvfs_counts().unmaps, 0);
	bl_nvfs_dev_put(n.dev);
	close(n.fd);
	fake_nvfs_end();
}

static void no_more_shadows_are_kept_than_a_few(void)
{
	struct bl_nvfs_map *maps[12];
	struct nvfs n;

	begin();
	n = nvfs_open(MB, 0, 16 * MB);
	for (size_t i = 0; i < NR_OF(maps); i++)
		check_eq(bl_nvfs_pool_take(n.pool, 64 * KB, 0, &maps[i]), 0);
	for (size_t i = 0; i < NR_OF(maps); i++)
		bl_nvfs_pool_give(n.pool, maps[i]);
	bl_nvfs_pool_put(n.pool);
	check_eq(fake_nvfs_counts().mapped, 0);
	check_eq(fake_nvfs_counts().pages, BL_NVFS_KEPT_MOST / BL_NVFS_SMALL_SHADOW);
	bl_nvfs_dev_put(n.dev);
	close(n.fd);
	fake_nvfs_end();
}

static void a_shadow_that_cannot_be_bound_again_goes(void)
{
	struct nvfs n;
	struct bl_nvfs_map *map;

	begin();
	n = nvfs_open(MB, 0, MB);
	bl_nvfs_pool_put(n.pool);
	use(&n, 0);
	fake_nvfs.map_err = ENOMEM;
	check_eq(bl_nvfs_pool_new(n.dev, &n.range, 1, &n.pool), 0);
	check_eq(bl_nvfs_pool_take(n.pool, 4 * KB, 0, &map), -ENOMEM);
	check_eq(fake_nvfs_counts().pages, 0);
	bl_nvfs_pool_put(n.pool);
	fake_nvfs.map_err = 0;
	use(&n, 0);
	bl_nvfs_dev_put(n.dev);
	close(n.fd);
	fake_nvfs_end();
}

/* What the module still has a request for is unmapped, as ever; what lost its memory serves other memory. */
static void late_requests_and_dead_memory_are_no_hindrance(void)
{
	struct bl_nvfs_request rq;
	struct nvfs n;

	begin();
	n = nvfs_open(MB, 0, MB);
	rq = nvfs_request(&n, false, 0, 0, 4 * KB);
	rq.poll = 4 * KB;
	rq.deadline_ns = bl_now_ns() + 1000000;
	fake_nvfs_inject(FAKE_LOSE, 0, 0);
	check_eq(bl_nvfs_transfer(n.pool, &rq), -ETIMEDOUT);
	bl_nvfs_pool_put(n.pool);
	check_eq(fake_nvfs_counts().unmaps, 0);
	fake_nvfs_finish();
	check_eq(fake_nvfs_counts().mapped, 0);
	check_eq(bl_nvfs_pool_new(n.dev, &n.range, 1, &n.pool), 0);
	rq = nvfs_request(&n, false, 0, 0, 4 * KB);
	fake_nvfs_inject(FAKE_FREE, 0, 0);
	bl_nvfs_transfer(n.pool, &rq);
	bl_nvfs_pool_put(n.pool);
	check_eq(fake_nvfs_counts().unmaps, 1);
	use(&n, 2 * MB);
	bl_nvfs_dev_put(n.dev);
	close(n.fd);
	fake_nvfs_end();
}

/**
 * struct many - a batch: blocks of the file to places in memory, in another order
 */
struct many {
	struct bl_nvfs_request rq[NR];
	struct bl_nvfs_request *rqs[NR];
};

static size_t place(size_t i)
{
	return i * 7 % NR * 8 * KB;
}

static void fill(struct many *m, const struct nvfs *n, bool write)
{
	for (size_t i = 0; i < NR; i++) {
		m->rq[i] = nvfs_request(n, write, place(i), i * 4 * KB, 4 * KB);
		m->rqs[i] = &m->rq[i];
	}
}

static void many_requests_go_by_one_call(void)
{
	uint8_t block[4 * KB];
	struct many m;
	struct nvfs n;

	begin();
	n = nvfs_open(NR * 4 * KB, 0, MB);
	fill(&m, &n, false);
	check_eq(bl_nvfs_batch(n.pool, m.rqs, NR), 1);
	for (size_t i = 0; i < NR; i++) {
		check_eq(m.rq[i].done, 4 * KB);
		check_eq(m.rq[i].pieces, 1);
		check(gpu_has(place(i), i * 4 * KB, 4 * KB));
	}
	check_eq(fake_nvfs_counts().batches, 1);
	/* 48 requests share three mappings */
	check_eq(fake_nvfs_counts().maps, 3);
	memset(fake_gpu(), 0x77, MB);
	fill(&m, &n, true);
	check_eq(bl_nvfs_batch(n.pool, m.rqs, NR), 1);
	for (size_t i = 0; i < NR; i++) {
		check_eq(m.rq[i].done, 4 * KB);
		check_eq(pread(n.fd, block, sizeof(block), (off_t)(i * 4 * KB)), sizeof(block));
		for (size_t k = 0; k < sizeof(block); k++)
			check_eq(block[k], 0x77);
	}
	check_eq(fake_nvfs_counts().writes, NR);
	nvfs_close(&n);
}

static void one_that_is_refused_does_not_stop_the_others(void)
{
	struct many m;
	struct nvfs n;

	begin();
	n = nvfs_open(NR * 4 * KB, 0, MB);
	fill(&m, &n, false);
	fake_nvfs_inject(FAKE_REFUSE, EBADF, 5);
	check_eq(bl_nvfs_batch(n.pool, m.rqs, NR), 2);
	for (size_t i = 0; i < NR; i++) {
		check_eq(m.rq[i].done, i == 5 ? 0 : 4 * KB);
		check_eq(m.rq[i].reason, i == 5 ? -EBADF : 0);
		check(i == 5 || gpu_has(place(i), i * 4 * KB, 4 * KB));
	}
	/* one that does not even lie in the memory is not asked for */
	fill(&m, &n, false);
	m.rq[1].va = FAKE_GPU_VA + MB;
	m.rq[2].pos = 1;
	check_eq(bl_nvfs_batch(n.pool, m.rqs, NR), 1);
	check_eq(m.rq[1].reason, -EINVAL);
	check_eq(m.rq[2].reason, -EINVAL);
	check_eq(m.rq[3].done, 4 * KB);
	nvfs_close(&n);
}

static void each_has_its_own_end(void)
{
	struct many m;
	struct nvfs n;

	begin();
	n = nvfs_open(NR * 4 * KB - 512, 0, MB);
	check(!ftruncate(n.fd, (off_t)(NR * 4 * KB - 512)));
	fill(&m, &n, false);
	fake_nvfs_inject(FAKE_FAIL, EIO, 3);
	check_eq(bl_nvfs_batch(n.pool, m.rqs, NR), 1);
	for (size_t i = 0; i < NR; i++) {
		bool good = i != 3 && i != NR - 1;

		/* the last one meets the end of the file: another way tells how much there is */
		check_eq(m.rq[i].done, good ? 4 * KB : 0);
		check_eq(m.rq[i].reason, i == 3 ? -EIO : 0);
	}
	nvfs_close(&n);
}

static void holes_are_zero(void)
{
	struct many m;
	struct nvfs n;

	begin();
	n = nvfs_open(0, 0, MB);
	check(!ftruncate(n.fd, NR * 4 * KB));
	for (int round = 0; round < 2; round++) {
		memset(fake_gpu(), 0xcc, MB);
		fill(&m, &n, false);
		check_eq(bl_nvfs_batch(n.pool, m.rqs, NR), 1);
		for (size_t i = 0; i < NR; i++) {
			check_eq(m.rq[i].done, 4 * KB);
			check(gpu_is(place(i), 0, 4 * KB));
		}
	}
	/* a list of holes that cannot be makes no bytes */
	bl_nvfs_pool_put(n.pool);
	check_eq(bl_nvfs_pool_new(n.dev, &n.range, 1, &n.pool), 0);
	fill(&m, &n, false);
	fake_nvfs_inject(FAKE_LIE, 0, 0);
	check_eq(bl_nvfs_batch(n.pool, m.rqs, NR), 1);
	check_eq(m.rq[0].done, 0);
	check_eq(m.rq[0].reason, -EPROTO);
	check_eq(m.rq[NR - 1].done, 4 * KB);
	nvfs_close(&n);
}

static void without_memory_or_module_nothing_is_moved(void)
{
	struct many m;
	struct nvfs n;

	begin();
	n = nvfs_open(NR * 4 * KB, 0, MB);
	fake_nvfs.map_err = ENOSPC;
	fill(&m, &n, false);
	bl_nvfs_batch(n.pool, m.rqs, NR);
	check_eq(m.rq[0].done, 0);
	check_eq(m.rq[0].reason, -ENOSPC);
	check(m.rq[0].unbound);
	bl_nvfs_pool_put(n.pool);
	fake_nvfs.map_err = 0;
	check_eq(bl_nvfs_pool_new(n.dev, &n.range, 1, &n.pool), 0);
	fill(&m, &n, false);
	for (int skip = 0; skip < 4; skip++) {
		fake_nvfs_fail_call(skip, ENOMEM);
		fill(&m, &n, false);
		bl_nvfs_batch(n.pool, m.rqs, NR);
		for (size_t i = 0; i < NR; i++)
			check(m.rq[i].done == 0 || gpu_has(place(i), i * 4 * KB, 4 * KB));
	}
	fake_nvfs.unloading = true;
	fill(&m, &n, false);
	bl_nvfs_batch(n.pool, m.rqs, NR);
	check_eq(m.rq[0].done, 0);
	fake_nvfs.unloading = false;
	nvfs_close(&n);
}

static const struct tap_test tests[] = {
	{"a_shadow_is_used_for_one_buffer_after_the_other", a_shadow_is_used_for_one_buffer_after_the_other},
	{"the_other_module_has_its_shadows_unmapped", the_other_module_has_its_shadows_unmapped},
	{"no_more_shadows_are_kept_than_a_few", no_more_shadows_are_kept_than_a_few},
	{"a_shadow_that_cannot_be_bound_again_goes", a_shadow_that_cannot_be_bound_again_goes},
	{"late_requests_and_dead_memory_are_no_hindrance", late_requests_and_dead_memory_are_no_hindrance},
	{"many_requests_go_by_one_call", many_requests_go_by_one_call},
	{"one_that_is_refused_does_not_stop_the_others", one_that_is_refused_does_not_stop_the_others},
	{"each_has_its_own_end", each_has_its_own_end},
	{"holes_are_zero", holes_are_zero},
	{"without_memory_or_module_nothing_is_moved", without_memory_or_module_nothing_is_moved},
};

TAP_MAIN(tests)
