// SPDX-License-Identifier: MIT
/* What nvidia-fs.ko tells file systems of NICs and GPU memory. SEED=N is a seed for random ones. */
#include "rdma.h"
#include "tap.h"

#include <time.h>

int kernel_allocations = -1;

static u64 state;

static u64 draw(u64 nr)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % nr;
}

static struct nvidia_fs_set_rdma good(void)
{
	return (struct nvidia_fs_set_rdma){
		.gid = { 0x1111, 0x2222 },
		.qp_num = 0x333,
		.lid = 0x44,
		.flags = 1,
		.version = 2,
		.dc_key = 0x5555,
		.rkey = { 0x66, 0x77 },
		.nkeys = 1,
	};
}

static void what_is_told_is_kept(void)
{
	struct nvidia_fs_set_rdma set = good();
	struct nvidia_fs_rdma_info info;

	check_eq(bl_rdma_fill(&info, &set, 0x7f0000001000, 0x30000), 0);
	check_eq(info.version, 2);
	check_eq(info.flags, 1);
	check_eq(info.lid, 0x44);
	check_eq(info.qp_num, 0x333);
	check_eq(info.rem_vaddr, 0x7f0000001000);
	check_eq(info.size, 0x30000);
	check_eq(info.rkey, 0x66);
	check_eq(info.gid[0], 0x1111);
	check_eq(info.gid[1], 0x2222);
	check_eq(info.dc_key, 0x5555);
	/* a size has 32 bits */
	check_eq(bl_rdma_fill(&info, &set, 0, 1ULL << 32), 0);
	check_eq(info.size, U32_MAX);
	check_eq(bl_rdma_fill(&info, &set, 0, U32_MAX), 0);
	check_eq(info.size, U32_MAX);
}

static void refused(struct nvidia_fs_set_rdma set)
{
	static const struct nvidia_fs_rdma_info none;
	struct nvidia_fs_rdma_info info;

	memset(&info, 0xff, sizeof(info));
	check_eq(bl_rdma_fill(&info, &set, 0x1000, 0x1000), -EINVAL);
	check(!memcmp(&info, &none, sizeof(info)));
}

static void what_is_not_understood_is_forgotten(void)
{
	struct nvidia_fs_set_rdma set = good();

	set.version = 1;
	refused(set);
	set.version = 0;
	refused(set);
	set = good();
	set.nkeys = 0;
	refused(set);
	set.nkeys = 2;
	refused(set);
	set.nkeys = U32_MAX;
	refused(set);
}

static void only_bytes_that_follow_are_a_span(void)
{
	struct bl_rdma_span span = { 0 };

	check(bl_rdma_add(&span, 0x10000, 0x1000));
	check(bl_rdma_add(&span, 0x11000, 0xf000));
	check(!bl_rdma_add(&span, 0x21000, 0x1000));
	check(!bl_rdma_add(&span, 0x1f000, 0x1000));
	check_eq(span.off, 0x10000);
	check_eq(span.len, 0x10000);
	span = (struct bl_rdma_span){ .off = 0, .len = U32_MAX - 0xfff };
	check(!bl_rdma_add(&span, span.len, 0x1000));
}

static bool narrowed(u64 rem, u32 size, u64 va, u64 off, u64 len)
{
	struct nvidia_fs_rdma_info info = { .version = 2, .rem_vaddr = rem, .size = size };
	const struct bl_rdma_span span = { .off = off, .len = len };

	if (!bl_rdma_narrow(&info, va, &span))
		return false;
	check_eq(info.rem_vaddr, va + off);
	check_eq(info.size, len);
	return true;
}

static void a_part_is_told_when_it_is_within_the_whole(void)
{
	struct nvidia_fs_rdma_info none = { .version = 0, .size = 0x1000 };
	const struct bl_rdma_span span = { .off = 0, .len = 0x1000 };

	check(narrowed(0x10000, 0x20000, 0x10000, 0, 0x20000));
	check(narrowed(0x10000, 0x20000, 0x10000, 0x1f000, 0x1000));
	check(!narrowed(0x10000, 0x20000, 0x10000, 0x1f000, 0x2000));
	check(!narrowed(0x10000, 0x20000, 0x10000, 0x20000, 0x1000));
	check(!narrowed(0x10000, 0x20000, 0x10000, 0, 0));
	/* memory that begins inside of a GPU page */
	check(!narrowed(0x11000, 0x20000, 0x10000, 0, 0x1000));
	check(narrowed(0x11000, 0x20000, 0x10000, 0x1000, 0x20000));
	check(!narrowed(0x11000, 0x20000, 0x10000, 0x1000, 0x21000));
	/* sums that overflow */
	check(!narrowed(U64_MAX - 0xfff, 0x1000, 0x10000, 0, 0x1000));
	check(narrowed(U64_MAX - 0xfff, 0x1000, U64_MAX - 0xfff, 0, 0x1000));
	check(!bl_rdma_narrow(&none, 0, &span));
}

/* Whatever comes: what is told lies within what user space has told of. */
static void random_parts_stay_within_the_whole(void)
{
	for (int round = 0; round < 20000; round++) {
		u64 rem = draw(1 << 20) << draw(44), va = draw(3) ? rem : draw(1 << 20) << draw(44);
		u64 off = draw(1 << 20) << draw(20), len = draw(1 << 16) << draw(17);
		u32 size = (u32)(draw(1 << 16) << draw(17));

		if (narrowed(rem, size, va, off, len)) {
			u64 in = va + off - rem;

			check(in <= size && len <= size - in && len);
		}
	}
}

static const struct tap_test tests[] = {
	{ "what_is_told_is_kept", what_is_told_is_kept },
	{ "what_is_not_understood_is_forgotten", what_is_not_understood_is_forgotten },
	{ "only_bytes_that_follow_are_a_span", only_bytes_that_follow_are_a_span },
	{ "a_part_is_told_when_it_is_within_the_whole", a_part_is_told_when_it_is_within_the_whole },
	{ "random_parts_stay_within_the_whole", random_parts_stay_within_the_whole },
};

int main(int argc, char **argv)
{
	const char *seed = getenv("SEED");

	state = seed ? strtoull(seed, NULL, 0) : (u64)time(NULL);
	printf("# seed %llu; SEED=N repeats it\n", (unsigned long long)state);
	state = state * 0x9e3779b97f4a7c15ULL + 1;
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
