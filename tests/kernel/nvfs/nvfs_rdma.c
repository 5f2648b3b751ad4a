// SPDX-License-Identifier: MIT
/* SET, GET and CLEAR of RDMA information: what is told of a shadow's memory, by whom, and what is refused. */
#include "nvfs_lane.h"
#include "tap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MEM_SIZE (2 * MIB)

static int gpu, node;
static struct gpu_mem mem;
static struct lane_map map;
static unsigned int seed;

static void begin(void)
{
	lane_reload("");
	gpu = gpu_open();
	node = lane_open();
	mem = gpu_alloc(gpu, MEM_SIZE);
	/* from inside of a GPU page on */
	map = lane_bind(node, mem.va + 4096, MEM_SIZE - 65536, MIB);
}

static void end(void)
{
	lane_unbind(&map);
	close(node);
	lane_check_clean(gpu);
	close(gpu);
}

static int request(unsigned int cmd, union nvidia_fs_arg *arg)
{
	return ioctl(node, cmd, arg) ? -errno : 0;
}

static union nvidia_fs_arg good(void)
{
	return (union nvidia_fs_arg){ .set_rdma = {
		.cpuvaddr = (uintptr_t)map.shadow,
		.gid = { 0x0123456789abcdef, 0xfedcba9876543210 },
		.qp_num = 77,
		.lid = 5,
		.flags = 1,
		.version = 2,
		.dc_key = 99,
		.rkey = { 1234 },
		.nkeys = 1,
	} };
}

static int set(void)
{
	union nvidia_fs_arg arg = good();

	return request(NVIDIA_FS_IOC_SET_RDMA_INFO, &arg);
}

static struct nvidia_fs_rdma_info get(void)
{
	union nvidia_fs_arg arg;

	memset(&arg, 0xee, sizeof(arg));
	arg.get_rdma.cpuvaddr = (uintptr_t)map.shadow;
	check_eq(request(NVIDIA_FS_IOC_GET_RDMA_INFO, &arg), 0);
	return arg.get_rdma.info;
}

static void check_nothing_is_told(void)
{
	static const struct nvidia_fs_rdma_info none;
	struct nvidia_fs_rdma_info info = get();

	check(!memcmp(&info, &none, sizeof(info)));
}

static void what_is_told_is_given_back(void)
{
	union nvidia_fs_arg clear = { 0 };
	struct nvidia_fs_rdma_info info;

	begin();
	check_nothing_is_told();
	check_eq(set(), 0);
	info = get();
	check_eq(info.version, 2);
	check_eq(info.flags, 1);
	check_eq(info.lid, 5);
	check_eq(info.qp_num, 77);
	check_eq(info.rem_vaddr, mem.va + 4096);
	check_eq(info.size, MEM_SIZE - 65536);
	check_eq(info.rkey, 1234);
	check_eq(info.gid[0], 0x0123456789abcdef);
	check_eq(info.gid[1], 0xfedcba9876543210);
	check_eq(info.dc_key, 99);
	clear.clear_rdma.cpuvaddr = (uintptr_t)map.shadow;
	check_eq(request(NVIDIA_FS_IOC_CLEAR_RDMA_INFO, &clear), 0);
	check_nothing_is_told();
	end();
}

static void what_is_not_understood_ends_what_was_told(void)
{
	union nvidia_fs_arg arg;

	begin();
	check_eq(set(), 0);
	arg = good();
	arg.set_rdma.version = 1;
	check_eq(request(NVIDIA_FS_IOC_SET_RDMA_INFO, &arg), -EINVAL);
	check_nothing_is_told();
	check_eq(set(), 0);
	arg = good();
	arg.set_rdma.nkeys = 2;
	check_eq(request(NVIDIA_FS_IOC_SET_RDMA_INFO, &arg), -EINVAL);
	check_nothing_is_told();
	end();
}

static void refused(uint64_t addr)
{
	union nvidia_fs_arg arg = good();

	arg.set_rdma.cpuvaddr = addr;
	check_eq(request(NVIDIA_FS_IOC_SET_RDMA_INFO, &arg), -EINVAL);
	check_eq(request(NVIDIA_FS_IOC_GET_RDMA_INFO, &arg), -EINVAL);
	/* the number that the interface has for it */
	check_eq(request(NVIDIA_FS_IOC_CLEAR_RDMA_INFO, &arg), -EPERM);
}

static void other_addresses_are_refused(void)
{
	void *unbound;

	begin();
	check_eq(set(), 0);
	refused(0);
	refused((uintptr_t)map.shadow + 4096);
	refused((uintptr_t)map.meta);
	refused(UINT64_MAX);
	unbound = try_shadow(node, 65536);
	check(unbound);
	refused((uintptr_t)unbound);
	munmap(unbound, 65536);
	check_eq(get().rkey, 1234);
	end();
}

static int child_is_refused(void *unused)
{
	union nvidia_fs_arg arg = good();

	return request(NVIDIA_FS_IOC_GET_RDMA_INFO, &arg) != -EINVAL || set() != -EINVAL;
}

static void another_process_cannot_name_them(void)
{
	begin();
	check_eq(set(), 0);
	check_eq(in_child(child_is_refused, NULL), 0);
	check_eq(get().rkey, 1234);
	end();
}

static void arguments_that_cannot_be_written_are_told(void)
{
	union nvidia_fs_arg *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	begin();
	check(page != MAP_FAILED);
	*page = good();
	check_eq(mprotect(page, 4096, PROT_READ), 0);
	check_eq(request(NVIDIA_FS_IOC_SET_RDMA_INFO, page), 0);
	check_eq(request(NVIDIA_FS_IOC_GET_RDMA_INFO, page), -EFAULT);
	munmap(page, 4096);
	end();
}

/* Threads set, get and clear at once: what comes back is one thread's or nothing, never a mixture. */
static atomic_bool stop;
static atomic_ulong mixed, rounds;

static void *work(void *arg)
{
	unsigned int nr = (unsigned int)(uintptr_t)arg, random = seed + nr;

	while (!atomic_load(&stop)) {
		union nvidia_fs_arg one = good();

		one.set_rdma.qp_num = nr;
		one.set_rdma.dc_key = nr;
		one.set_rdma.rkey[0] = nr;
		one.set_rdma.gid[1] = nr;
		random = random * 1103515245 + 12345;
		one.set_rdma.version = random >> 16 & 7;
		request(NVIDIA_FS_IOC_SET_RDMA_INFO, &one);
		if (!(random >> 20 & 3))
			request(NVIDIA_FS_IOC_CLEAR_RDMA_INFO, &one);
		if (!request(NVIDIA_FS_IOC_GET_RDMA_INFO, &one)) {
			const struct nvidia_fs_rdma_info *info = &one.get_rdma.info;

			if (info->qp_num != info->dc_key || info->rkey != info->qp_num || info->gid[1] != info->qp_num ||
			    (!info->version) != (!info->size))
				atomic_fetch_add(&mixed, 1);
		}
		atomic_fetch_add(&rounds, 1);
	}
	return NULL;
}

static void threads_do_not_mix_what_they_tell(void)
{
	pthread_t threads[4];

	lane_reload("info_enabled=0");
	gpu = gpu_open();
	node = lane_open();
	mem = gpu_alloc(gpu, MEM_SIZE);
	map = lane_bind(node, mem.va, MEM_SIZE, MIB);
	for (uintptr_t i = 0; i < 4; i++)
		check_eq(pthread_create(&threads[i], NULL, work, (void *)(i + 1)), 0);
	usleep(500000);
	atomic_store(&stop, true);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	check(atomic_load(&rounds) > 4);
	check_eq(atomic_load(&mixed), 0);
	end();
}

static const struct tap_test tests[] = {
	{ "what_is_told_is_given_back", what_is_told_is_given_back },
	{ "what_is_not_understood_ends_what_was_told", what_is_not_understood_ends_what_was_told },
	{ "other_addresses_are_refused", other_addresses_are_refused },
	{ "another_process_cannot_name_them", another_process_cannot_name_them },
	{ "arguments_that_cannot_be_written_are_told", arguments_that_cannot_be_written_are_told },
	{ "threads_do_not_mix_what_they_tell", threads_do_not_mix_what_they_tell },
};

int main(int argc, char **argv)
{
	const char *text = getenv("SEED");

	seed = text ? (unsigned int)strtoul(text, NULL, 0) : (unsigned int)time(NULL);
	printf("# seed %u; SEED=N repeats it\n", seed);
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
