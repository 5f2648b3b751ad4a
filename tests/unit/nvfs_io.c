// SPDX-License-Identifier: MIT
/* Requests through the fake nvidia-fs module, when all goes well. */
#include "nvfs_fixture.h"

static void a_read_brings_the_bytes_of_the_file(void)
{
	struct bl_nvfs_request rq;
	struct nvfs n;

	fake_nvfs_begin();
	n = nvfs_open(MB, 0, 2 * MB);
	rq = nvfs_request(&n, false, 64 * KB, 8 * KB, 256 * KB);
	check_eq(bl_nvfs_transfer(n.pool, &rq), 0);
	check_eq(rq.done, 256 * KB);
	check_eq(rq.pieces, 1);
	check(gpu_has(64 * KB, 8 * KB, 256 * KB));
	/* and no others */
	check(gpu_is(0, 0xaa, 64 * KB) && gpu_is(320 * KB, 0xaa, 64 * KB));
	check_eq(fake_nvfs_counts().async, 0);
	nvfs_close(&n);
}

static void a_write_takes_the_bytes_of_the_gpu(void)
{
	struct bl_nvfs_request rq;
	static uint8_t back[512 * KB];
	struct nvfs n;

	fake_nvfs_begin();
	n = nvfs_open(MB, 0, 2 * MB);
	memset(fake_gpu() + 128 * KB, 0x5b, 256 * KB);
	rq = nvfs_request(&n, true, 128 * KB, 16 * KB, 256 * KB);
	check_eq(bl_nvfs_transfer(n.pool, &rq), 0);
	check_eq(rq.done, 256 * KB);
	check_eq(pread(n.fd, back, sizeof(back), 0), sizeof(back));
	for (size_t i = 0; i < sizeof(back); i++)
		check_eq(back[i], i >= 16 * KB && i < 272 * KB ? 0x5b : file_byte(i));
	/* a file grows by a write behind its end */
	rq = nvfs_request(&n, true, 128 * KB, MB + 4 * KB, 64 * KB);
	check_eq(bl_nvfs_transfer(n.pool, &rq), 0);
	check_eq(lseek(n.fd, 0, SEEK_END), MB + 68 * KB);
	nvfs_close(&n);
}

static void pieces_begin_with_gpu_pages_and_are_no_larger_than_asked(void)
{
	struct bl_nvfs_request rq;
	struct nvfs n;

	fake_nvfs_begin();
	/* a buffer whose start is not even a block, a request inside of a GPU page */
	n = nvfs_open(4 * MB, 1000, 8 * MB);
	rq = nvfs_request(&n, false, 12 * KB, 0, MB);
	rq.piece = 256 * KB;
	check_eq(bl_nvfs_transfer(n.pool, &rq), 0);
	check(gpu_has(12 * KB, 0, MB));
	/* 52 KiB, three of 256, one of 204 */
	check_eq(rq.pieces, 5);
	check_eq(fake_nvfs_counts().largest, 256 * KB);
	nvfs_close(&n);
}

static void one_request_is_at_most_16_mib(void)
{
	struct bl_nvfs_request rq;
	struct nvfs n;

	fake_nvfs_begin();
	n = nvfs_open(40 * MB, 0, FAKE_GPU_SIZE);
	rq = nvfs_request(&n, false, 4 * KB, 0, 40 * MB);
	rq.window = 4;
	check_eq(bl_nvfs_transfer(n.pool, &rq), 0);
	check_eq(rq.done, 40 * MB);
	check(gpu_has(4 * KB, 0, 40 * MB));
	check_eq(fake_nvfs_counts().largest, 16 * MB);
	nvfs_close(&n);
}

static void several_pieces_are_under_way_each_on_a_mapping_of_its_own(void)
{
	struct bl_nvfs_request rq;
	struct nvfs n;

	fake_nvfs_begin();
	fake_nvfs.delay_us = 50000;
	n = nvfs_open(4 * MB, 0, 8 * MB);
	rq = nvfs_request(&n, false, 0, 0, 4 * MB);
	rq.piece = 256 * KB;
	rq.window = 8;
	check_eq(bl_nvfs_transfer(n.pool, &rq), 0);
	check(gpu_has(0, 0, 4 * MB));
	check(fake_nvfs_counts().peak > 1);
	check(fake_nvfs_counts().peak <= 8);
	check_eq(fake_nvfs_counts().async, 16);
	check_eq(fake_nvfs_counts().maps, 8);
	nvfs_close(&n);
}

static void a_polled_request_is_asynchronous(void)
{
	struct bl_nvfs_request rq;
	struct nvfs n;

	fake_nvfs_begin();
	n = nvfs_open(MB, 0, MB);
	rq = nvfs_request(&n, false, 0, 0, 4 * KB);
	rq.poll = 4 * KB;
	check_eq(bl_nvfs_transfer(n.pool, &rq), 0);
	check_eq(fake_nvfs_counts().async, 1);
	rq = nvfs_request(&n, true, 0, 0, 8 * KB);
	rq.poll = 4 * KB;
	check_eq(bl_nvfs_transfer(n.pool, &rq), 0);
	check_eq(fake_nvfs_counts().async, 1);
	nvfs_close(&n);
}

static void reads_end_with_the_file(void)
{
	static const size_t lens[] = {1, 4095, 4096, 4097, 64 * 1024, 100000, 131072};

	for (size_t i = 0; i < NR_OF(lens); i++) {
		for (unsigned int window = 1; window <= 4; window += 3) {
			struct bl_nvfs_request rq;
			struct nvfs n;

			fake_nvfs_begin();
			n = nvfs_open(lens[i], 0, MB);
			rq = nvfs_request(&n, false, 0, 0, 512 * KB);
			rq.piece = 64 * KB;
			rq.window = window;
			check_eq(bl_nvfs_transfer(n.pool, &rq), 0);
			check_eq(rq.done, lens[i]);
			check(gpu_has(0, 0, lens[i]));
			check(gpu_is(lens[i], 0xaa, 64 * KB));
			/* at the end, and behind it */
			rq.pos = 512 * KB;
			check_eq(bl_nvfs_transfer(n.pool, &rq), 0);
			check_eq(rq.done, 0);
			nvfs_close(&n);
		}
	}
}

/* Data at 16 KiB and at 512 KiB, holes around. */
static int holey_file(void)
{
	int fd = file_new(0);
	uint8_t some[8 * KB];

	for (size_t i = 0; i < sizeof(some); i++)
		some[i] = file_byte(16 * KB + i);
	check_eq(pwrite(fd, some, sizeof(some), 16 * KB), sizeof(some));
	for (size_t i = 0; i < sizeof(some); i++)
		some[i] = file_byte(512 * KB + i);
	check_eq(pwrite(fd, some, sizeof(some), 512 * KB), sizeof(some));
	check_eq(ftruncate(fd, MB - 1000), 0);
	return fd;
}

static void holes_are_zeroed(void)
{
	for (unsigned int window = 1; window <= 4; window += 3) {
		struct bl_nvfs_request rq;
		struct nvfs n;

		fake_nvfs_begin();
		n = nvfs_open(0, 0, 2 * MB);
		close(n.fd);
		n.fd = holey_file();
		rq = nvfs_request(&n, false, 0, 0, MB + 64 * KB);
		rq.window = window;
		rq.piece = 256 * KB;
		check_eq(bl_nvfs_transfer(n.pool, &rq), 0);
		check_eq(rq.done, MB - 1000);
		check_eq(rq.holes, MB - 1000 - 16 * KB);
		check(gpu_is(0, 0, 16 * KB) && gpu_has(16 * KB, 16 * KB, 8 * KB));
		check(gpu_is(24 * KB, 0, 488 * KB) && gpu_has(512 * KB, 512 * KB, 8 * KB));
		check(gpu_is(520 * KB, 0, MB - 1000 - 520 * KB));
		/* what was not asked for is as it was */
		check(gpu_is(MB - 1000, 0xaa, 64 * KB));
		nvfs_close(&n);
	}
}

static void a_list_of_holes_that_is_full_is_no_end(void)
{
	struct bl_nvfs_request rq;
	struct nvfs n;

	fake_nvfs_begin();
	fake_nvfs.max_holes = 1;
	n = nvfs_open(0, 0, 2 * MB);
	close(n.fd);
	n.fd = holey_file();
	rq = nvfs_request(&n, false, 0, 0, MB);
	check_eq(bl_nvfs_transfer(n.pool, &rq), 0);
	check_eq(rq.done, MB - 1000);
	check(gpu_is(0, 0, 16 * KB) && gpu_has(16 * KB, 16 * KB, 8 * KB));
	check(gpu_is(24 * KB, 0, 488 * KB) && gpu_has(512 * KB, 512 * KB, 8 * KB));
	check(rq.pieces > 1);
	nvfs_close(&n);
}

static unsigned int seed;

static size_t any(size_t below)
{
	return (size_t)rand_r(&seed) % below;
}

/* Any place, any length, any way to cut it; the bytes are those that a plain read or write would have moved. */
static void random_requests(bool write)
{
	const char *given = getenv("BL_SEED");
	struct nvfs n;

	seed = given ? (unsigned int)atoi(given) : 20261130;
	printf("# seed %u (BL_SEED)\n", seed);
	fake_nvfs_begin();
	n = nvfs_open(3 * MB + 777, 5000, 7 * MB);
	for (int i = 0; i < 150; i++) {
		size_t len = (1 + any(any(2) ? 16 : 500)) * 4 * KB, gpu_off = (2 + any(1000)) * 4 * KB;
		struct bl_nvfs_request rq = nvfs_request(&n, write, gpu_off, any(800) * 4 * KB, len);
		static uint8_t back[2 * MB];
		size_t want;

		rq.piece = (1 + any(8)) * 64 * KB;
		rq.window = 1 + (unsigned int)any(BL_NVFS_WINDOW);
		rq.poll = any(2) ? 64 * KB : 0;
		memset(fake_gpu() + gpu_off, (int)(i + 1), len);
		check_eq(bl_nvfs_transfer(n.pool, &rq), 0);
		memset(back, 0x77, len);
		want = (size_t)pread(n.fd, back, len, (off_t)rq.pos);
		check_eq(rq.done, want);
		check(!memcmp(back, fake_gpu() + gpu_off, want));
		check(gpu_is(gpu_off + want, (uint8_t)(i + 1), len - want));
		if (write)
			check_eq(want, len);
	}
	nvfs_close(&n);
}

static void random_reads_are_as_plain_ones(void)
{
	random_requests(false);
}

static void random_writes_are_as_plain_ones(void)
{
	random_requests(true);
}

static void requests_that_the_module_would_refuse_are_not_made(void)
{
	struct bl_nvfs_request good, rq;
	struct nvfs n;

	fake_nvfs_begin();
	n = nvfs_open(MB, 4 * KB, MB);
	good = nvfs_request(&n, false, 4 * KB, 0, 32 * KB);
#define refused(field, value)                                                                                          \
	do {                                                                                                           \
		rq = good;                                                                                             \
		rq.field = value;                                                                                      \
		check_eq(bl_nvfs_transfer(n.pool, &rq), -EAGAIN);                                                      \
		check_eq(rq.reason, -EINVAL);                                                                          \
		check_eq(rq.done, 0);                                                                                  \
	} while (0)
	refused(len, 0);
	refused(len, 5000);
	refused(len, MB + 4 * KB);
	refused(len, SIZE_MAX - 4095);
	refused(pos, 100);
	refused(pos, (uint64_t)INT64_MAX + 1 - 4096);
	refused(pos, UINT64_MAX - 4095);
	refused(va, good.va + 1);
	refused(va, FAKE_GPU_VA);
	refused(va, UINT64_MAX - 4095);
	refused(piece, 0);
	refused(piece, 4096);
	refused(piece, 32 * MB);
	refused(window, 0);
	refused(window, BL_NVFS_WINDOW + 1);
	check_eq(bl_nvfs_transfer(n.pool, &good), 0);
	check_eq(fake_nvfs_counts().reads, 1);
	nvfs_close(&n);
}

static const struct tap_test tests[] = {
	{"a_read_brings_the_bytes_of_the_file", a_read_brings_the_bytes_of_the_file},
	{"a_write_takes_the_bytes_of_the_gpu", a_write_takes_the_bytes_of_the_gpu},
	{"pieces_begin_with_gpu_pages_and_are_no_larger_than_asked",
	 pieces_begin_with_gpu_pages_and_are_no_larger_than_asked},
	{"one_request_is_at_most_16_mib", one_request_is_at_most_16_mib},
	{"several_pieces_are_under_way_each_on_a_mapping_of_its_own",
	 several_pieces_are_under_way_each_on_a_mapping_of_its_own},
	{"a_polled_request_is_asynchronous", a_polled_request_is_asynchronous},
	{"reads_end_with_the_file", reads_end_with_the_file},
	{"holes_are_zeroed", holes_are_zeroed},
	{"a_list_of_holes_that_is_full_is_no_end", a_list_of_holes_that_is_full_is_no_end},
	{"random_reads_are_as_plain_ones", random_reads_are_as_plain_ones},
	{"random_writes_are_as_plain_ones", random_writes_are_as_plain_ones},
	{"requests_that_the_module_would_refuse_are_not_made", requests_that_the_module_would_refuse_are_not_made},
};

TAP_MAIN(tests)
