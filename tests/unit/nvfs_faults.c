// SPDX-License-Identifier: MIT
/* Requests through the fake nvidia-fs module, when something goes wrong. */
#include <limits.h>

#include "nvfs_fixture.h"

static void errors_are_told_or_left_to_another_path(void)
{
	static const struct {
		int err;
		int ret;
	} cases[] = {
		{EIO, -EAGAIN},	   {EBUSY, -EAGAIN},  {EOPNOTSUPP, -EAGAIN}, {EINVAL, -EAGAIN}, {ESTALE, -EAGAIN},
		{EBADF, -EAGAIN},  {ENOMEM, -EAGAIN}, {ENOSPC, -ENOSPC},     {EDQUOT, -EDQUOT}, {EFBIG, -EFBIG},
		{EROFS, -EROFS},   {ENODATA, -ENODATA}, {EILSEQ, -EILSEQ},   {EREMOTEIO, -EREMOTEIO},
	};

	for (size_t i = 0; i < 4 * NR_OF(cases); i++) {
		const int err = cases[i / 4].err;
		enum fake_nvfs_fault fault = i & 1 ? FAKE_FAIL : FAKE_REFUSE;
		struct bl_nvfs_request rq;
		struct nvfs n;

		fake_nvfs_begin();
		n = nvfs_open(MB, 0, MB);
		rq = nvfs_request(&n, i & 2, 0, 0, 512 * KB);
		rq.piece = 64 * KB;
		rq.window = 4;
		fake_nvfs_inject(fault, err, 3);
		/* the fourth piece fails; bytes before it count, the others have ended, and nothing is left */
		if (fault == FAKE_REFUSE) {
			/* it is made again when those before it have ended, and works now */
			check_eq(bl_nvfs_transfer(n.pool, &rq), 0);
			check_eq(rq.done, 512 * KB);
		} else {
			check_eq(bl_nvfs_transfer(n.pool, &rq), cases[i / 4].ret);
			check_eq(rq.reason, -err);
			check_eq(rq.done, 192 * KB);
		}
		check(fake_nvfs_happened());
		check_eq(fake_nvfs_counts().running, 0);
		/* and at the first piece, asynchronous and not */
		for (unsigned int window = 1; window <= 4; window += 3) {
			rq.window = window;
			fake_nvfs_inject(FAKE_REFUSE, err, 0);
			check_eq(bl_nvfs_transfer(n.pool, &rq), cases[i / 4].ret);
			check_eq(rq.reason, -err);
			check_eq(rq.done, 0);
		}
		/* no error is for ever */
		check_eq(bl_nvfs_transfer(n.pool, &rq), 0);
		check_eq(rq.done, 512 * KB);
		nvfs_close(&n);
	}
}

static void an_error_that_reads_as_the_end_of_the_file_is_found_out(void)
{
	struct bl_nvfs_request rq;
	struct nvfs n;

	fake_nvfs_begin();
	n = nvfs_open(MB, 0, MB);
	rq = nvfs_request(&n, false, 0, 0, 64 * KB);
	/* lost by a synchronous read; gone when it is asked again */
	fake_nvfs_inject(FAKE_FAIL, EIO, 0);
	check_eq(bl_nvfs_transfer(n.pool, &rq), 0);
	check_eq(rq.done, 64 * KB);
	check_eq(rq.pieces, 2);
	check_eq(fake_nvfs_counts().async, 1);
	check(gpu_has(0, 0, 64 * KB));
	/* a write is not: nothing written is an error */
	rq = nvfs_request(&n, true, 0, 0, 64 * KB);
	fake_nvfs_inject(FAKE_FAIL, EIO, 0);
	check_eq(bl_nvfs_transfer(n.pool, &rq), -EAGAIN);
	check_eq(rq.reason, -EIO);
	check_eq(rq.done, 0);
	nvfs_close(&n);
}

static void short_reads_go_on_and_short_writes_are_left_to_others(void)
{
	for (unsigned int window = 1; window <= 4; window += 3) {
		struct bl_nvfs_request rq;
		struct nvfs n;

		fake_nvfs_begin();
		n = nvfs_open(MB, 0, MB);
		rq = nvfs_request(&n, false, 0, 0, 512 * KB);
		rq.piece = 128 * KB;
		rq.window = window;
		fake_nvfs_inject(FAKE_SHORT, 8 * KB, 1);
		check_eq(bl_nvfs_transfer(n.pool, &rq), 0);
		check(fake_nvfs_happened());
		check_eq(rq.done, 512 * KB);
		check(gpu_has(0, 0, 512 * KB));
		/* not whole blocks: as at the end of a file */
		fake_nvfs_inject(FAKE_SHORT, 5000, 1);
		check_eq(bl_nvfs_transfer(n.pool, &rq), 0);
		check_eq(rq.done, 128 * KB + 5000);
		rq.write = true;
		fake_nvfs_inject(FAKE_SHORT, 8 * KB, 1);
		check_eq(bl_nvfs_transfer(n.pool, &rq), -EAGAIN);
		check_eq(rq.reason, 0);
		check_eq(rq.done, 136 * KB);
		nvfs_close(&n);
	}
}

static void counts_that_cannot_be_are_not_believed(void)
{
	static const long claims[] = {512 * 1024 + 1, LONG_MAX, LONG_MIN, -4096, -100000};

	for (size_t i = 0; i < NR_OF(claims); i++) {
		struct bl_nvfs_request rq;
		struct nvfs n;

		fake_nvfs_begin();
		n = nvfs_open(MB, 0, MB);
		rq = nvfs_request(&n, i & 1, 0, 0, 512 * KB);
		rq.poll = MB;
		fake_nvfs_inject(FAKE_CLAIM, claims[i], 0);
		check_eq(bl_nvfs_transfer(n.pool, &rq), -EAGAIN);
		check_eq(rq.reason, -EPROTO);
		check_eq(rq.done, 0);
		nvfs_close(&n);
	}
}

static int no_zero(void *priv, uint64_t va, size_t len)
{
	return -EIO;
}

static void lists_of_holes_that_cannot_be_are_not_followed(void)
{
	struct bl_nvfs_request rq;
	struct nvfs n;

	for (int lie = 0; lie <= FAKE_LIES + 1; lie++) {
		fake_nvfs_begin();
		n = nvfs_open(64 * KB, 0, 2 * MB);
		check_eq(ftruncate(n.fd, MB), 0);
		rq = nvfs_request(&n, false, 0, 0, 512 * KB);
		if (lie < FAKE_LIES)
			fake_nvfs_inject(FAKE_LIE, lie, 0);
		else
			rq.zero = lie == FAKE_LIES ? no_zero : NULL;
		check_eq(bl_nvfs_transfer(n.pool, &rq), -EAGAIN);
		check_eq(rq.reason, -EPROTO);
		check_eq(rq.done, 0);
		check(gpu_is(64 * KB, 0xaa, MB));
		nvfs_close(&n);
	}
}

static void a_request_that_does_not_end_is_given_up_at_its_deadline(void)
{
	struct bl_nvfs_request rq;
	struct nvfs n;
	uint64_t start = bl_now_ns();

	fake_nvfs_begin();
	n = nvfs_open(MB, 0, MB);
	rq = nvfs_request(&n, false, 0, 0, 512 * KB);
	rq.piece = 64 * KB;
	rq.window = 4;
	rq.deadline_ns = start + 2000000000;
	fake_nvfs_inject(FAKE_LOSE, 0, 2);
	check_eq(bl_nvfs_transfer(n.pool, &rq), -ETIMEDOUT);
	check_eq(rq.done, 128 * KB);
	check(bl_now_ns() >= rq.deadline_ns && bl_now_ns() - start < SOON_NS / 2);
	check_eq(fake_nvfs_counts().running, 1);
	/* others go on meanwhile, and the mapping is as good as any when its request has ended after all */
	rq.deadline_ns = bl_now_ns() + SOON_NS;
	check_eq(bl_nvfs_transfer(n.pool, &rq), 0);
	fake_nvfs_finish();
	rq.window = BL_NVFS_WINDOW;
	check_eq(bl_nvfs_transfer(n.pool, &rq), 0);
	check(gpu_has(0, 0, 512 * KB));
	check(fake_nvfs_counts().maps <= BL_NVFS_SMALL_MAPS);
	nvfs_close(&n);
}

static void when_nothing_ends_others_are_not_kept_waiting(void)
{
	struct bl_nvfs_request rq;
	struct nvfs n;

	fake_nvfs_begin();
	fake_nvfs.max_maps = 2;
	n = nvfs_open(MB, 0, MB);
	rq = nvfs_request(&n, false, 0, 0, 4 * KB);
	rq.poll = 4 * KB;
	for (int i = 0; i < 2; i++) {
		rq.deadline_ns = bl_now_ns() + 1000000;
		fake_nvfs_inject(FAKE_LOSE, 0, 0);
		check_eq(bl_nvfs_transfer(n.pool, &rq), -ETIMEDOUT);
	}
	rq.deadline_ns = bl_now_ns() + SOON_NS;
	check_eq(bl_nvfs_transfer(n.pool, &rq), -EAGAIN);
	check_eq(rq.reason, -EBUSY);
	check(bl_now_ns() < rq.deadline_ns);
	fake_nvfs_finish();
	check_eq(bl_nvfs_transfer(n.pool, &rq), 0);
	nvfs_close(&n);
}

static void a_deadline_that_has_passed_begins_nothing(void)
{
	struct bl_nvfs_request rq;
	struct nvfs n;

	fake_nvfs_begin();
	n = nvfs_open(MB, 0, MB);
	rq = nvfs_request(&n, false, 0, 0, 4 * KB);
	rq.deadline_ns = bl_now_ns() - 1;
	check_eq(bl_nvfs_transfer(n.pool, &rq), -ETIMEDOUT);
	check_eq(fake_nvfs_counts().reads, 0);
	nvfs_close(&n);
}

static void a_pool_goes_with_requests_under_way(void)
{
	struct bl_nvfs_request rq;
	struct nvfs n;

	fake_nvfs_begin();
	n = nvfs_open(MB, 0, MB);
	rq = nvfs_request(&n, false, 0, 0, 4 * KB);
	rq.poll = 4 * KB;
	rq.deadline_ns = bl_now_ns() + 1000000;
	fake_nvfs_inject(FAKE_LOSE, 0, 0);
	check_eq(bl_nvfs_transfer(n.pool, &rq), -ETIMEDOUT);
	nvfs_drop(&n);
	/* the module ends it, and lets go of memory, page and node then */
	check_eq(fake_nvfs_counts().mapped, 1);
	fake_nvfs_finish();
	fake_nvfs_end();
}

static void freed_gpu_memory_ends_the_pool(void)
{
	struct bl_nvfs_request rq;
	struct nvfs n;

	for (int during = 0; during < 2; during++) {
		fake_nvfs_begin();
		n = nvfs_open(MB, 0, MB);
		rq = nvfs_request(&n, false, 0, 0, 64 * KB);
		if (during)
			fake_nvfs_inject(FAKE_FREE, 0, 0);
		check_eq(bl_nvfs_transfer(n.pool, &rq), 0);
		if (!during) {
			fake_nvfs_free_gpu();
			check_eq(bl_nvfs_transfer(n.pool, &rq), -EAGAIN);
			check_eq(rq.reason, -EBUSY);
		}
		check(atomic_load(&n.pool->dead));
		check_eq(fake_nvfs_counts().mapped, 0);
		check_eq(bl_nvfs_transfer(n.pool, &rq), -EAGAIN);
		check_eq(rq.reason, -EIDRM);
		check_eq(fake_nvfs_counts().reads, 1);
		nvfs_close(&n);
	}
}

static void a_module_that_is_unloaded_in_between_leaves_nothing(void)
{
	struct bl_nvfs_request rq;
	struct nvfs n;

	fake_nvfs_begin();
	n = nvfs_open(MB, 0, MB);
	rq = nvfs_request(&n, false, 0, 0, 512 * KB);
	rq.piece = 64 * KB;
	rq.window = 4;
	fake_nvfs_inject(FAKE_UNLOAD, 0, 3);
	check_eq(bl_nvfs_transfer(n.pool, &rq), -EAGAIN);
	check_eq(rq.reason, -ENODEV);
	check_eq(rq.done, 192 * KB);
	check(gpu_has(0, 0, 192 * KB));
	nvfs_close(&n);
}

static void memory_that_cannot_be_bound_is_not_tried_again(void)
{
	struct bl_nvfs_request rq;
	struct nvfs n;

	fake_nvfs_begin();
	n = nvfs_open(MB, 0, MB);
	rq = nvfs_request(&n, false, 0, 0, 64 * KB);
	fake_nvfs.map_err = EINVAL;
	for (int i = 0; i < 3; i++) {
		check_eq(bl_nvfs_transfer(n.pool, &rq), -EAGAIN);
		check_eq(rq.reason, -EINVAL);
		check(rq.unbound);
		fake_nvfs.map_err = 0;
	}
	check_eq(fake_nvfs_counts().maps, 0);
	nvfs_close(&n);
}

static void fewer_mappings_than_wanted_have_to_do(void)
{
	struct bl_nvfs_request rq;
	struct nvfs n;

	fake_nvfs_begin();
	fake_nvfs.max_maps = 2;
	n = nvfs_open(2 * MB, 0, 2 * MB);
	rq = nvfs_request(&n, false, 0, 0, 2 * MB);
	rq.piece = 64 * KB;
	rq.window = 8;
	check_eq(bl_nvfs_transfer(n.pool, &rq), 0);
	check(gpu_has(0, 0, 2 * MB));
	check_eq(fake_nvfs_counts().mapped, 2);
	nvfs_close(&n);
}

/* Every system call fails once. munmap() is not among those that may: what it leaves is said, and stays. */
static void a_failure_of_any_call_leaves_nothing(void)
{
	int nr;

	for (nr = 0; nr < 1000; nr++) {
		struct bl_nvfs_request rq;
		struct nvfs n = {.range = {FAKE_GPU_VA, MB, FAKE_GPU_PDEV}};
		char why[256];
		int ret;

		fake_nvfs_begin();
		n.fd = file_new(MB);
		fake_nvfs_fail_call(nr, ENOMEM);
		if (bl_nvfs_dev_open(&n.dev, why, sizeof(why)))
			goto next;
		check_eq(bl_nvfs_pool_new(n.dev, &n.range, 1, &n.pool), 0);
		rq = nvfs_request(&n, false, 0, 0, 256 * KB);
		rq.piece = 64 * KB;
		rq.window = 4;
		ret = bl_nvfs_transfer(n.pool, &rq);
		check(!ret || (ret == -EAGAIN && rq.reason == -ENOMEM));
		check(gpu_has(0, 0, rq.done));
		check_eq(ret ? 0 : 256 * KB, ret ? 0 : rq.done);
		/* from here on it is about munmap() */
		if (!fake_nvfs_happened()) {
			fake_nvfs_fail_call(-1, 0);
			nvfs_close(&n);
			break;
		}
		bl_nvfs_pool_put(n.pool);
		bl_nvfs_dev_put(n.dev);
next:
		check(fake_nvfs_happened());
		close(n.fd);
		fake_nvfs_end();
	}
	check(nr > 20 && nr < 1000);
}

static void what_the_kernel_does_not_unmap_keeps_its_page(void)
{
	struct bl_nvfs_request rq;
	struct nvfs n;

	fake_nvfs_begin();
	n = nvfs_open(MB, 0, MB);
	rq = nvfs_request(&n, false, 0, 0, 64 * KB);
	check_eq(bl_nvfs_transfer(n.pool, &rq), 0);
	fake_nvfs_fail_call(0, EBUSY);
	nvfs_drop(&n);
	check_str(fake_nvfs_violation(), "");
	check_eq(fake_nvfs_counts().mapped, 1);
	check_eq(fake_nvfs_counts().pages, 1);
}

/* A signal at the wrong moment must not leave the buffer with fewer mappings for ever. */
static void a_signal_says_nothing_of_how_many_mappings_there_may_be(void)
{
	struct bl_nvfs_map *first, *second;
	struct nvfs n;

	fake_nvfs_begin();
	n = nvfs_open(MB, 0, MB);
	fake_nvfs.map_err = EINTR;
	check_eq(bl_nvfs_pool_take(n.pool, 64 * KB, 0, &first), -EINTR);
	fake_nvfs.map_err = 0;
	check_eq(bl_nvfs_pool_take(n.pool, 64 * KB, 0, &first), 0);
	fake_nvfs.map_err = EINTR;
	check_eq(bl_nvfs_pool_take(n.pool, 64 * KB, 0, &second), -EINTR);
	fake_nvfs.map_err = 0;
	check_eq(bl_nvfs_pool_take(n.pool, 64 * KB, 0, &second), 0);
	bl_nvfs_pool_give(n.pool, first);
	bl_nvfs_pool_give(n.pool, second);
	nvfs_close(&n);
}

static const struct tap_test tests[] = {
	{"a signal says nothing of how many mappings there may be", a_signal_says_nothing_of_how_many_mappings_there_may_be},
	{"errors_are_told_or_left_to_another_path", errors_are_told_or_left_to_another_path},
	{"an_error_that_reads_as_the_end_of_the_file_is_found_out",
	 an_error_that_reads_as_the_end_of_the_file_is_found_out},
	{"short_reads_go_on_and_short_writes_are_left_to_others", short_reads_go_on_and_short_writes_are_left_to_others},
	{"counts_that_cannot_be_are_not_believed", counts_that_cannot_be_are_not_believed},
	{"lists_of_holes_that_cannot_be_are_not_followed", lists_of_holes_that_cannot_be_are_not_followed},
	{"a_request_that_does_not_end_is_given_up_at_its_deadline",
	 a_request_that_does_not_end_is_given_up_at_its_deadline},
	{"when_nothing_ends_others_are_not_kept_waiting", when_nothing_ends_others_are_not_kept_waiting},
	{"a_deadline_that_has_passed_begins_nothing", a_deadline_that_has_passed_begins_nothing},
	{"a_pool_goes_with_requests_under_way", a_pool_goes_with_requests_under_way},
	{"freed_gpu_memory_ends_the_pool", freed_gpu_memory_ends_the_pool},
	{"a_module_that_is_unloaded_in_between_leaves_nothing", a_module_that_is_unloaded_in_between_leaves_nothing},
	{"memory_that_cannot_be_bound_is_not_tried_again", memory_that_cannot_be_bound_is_not_tried_again},
	{"fewer_mappings_than_wanted_have_to_do", fewer_mappings_than_wanted_have_to_do},
	{"a_failure_of_any_call_leaves_nothing", a_failure_of_any_call_leaves_nothing},
	{"what_the_kernel_does_not_unmap_keeps_its_page", what_the_kernel_does_not_unmap_keeps_its_page},
};

TAP_MAIN(tests)
