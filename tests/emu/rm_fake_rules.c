// SPDX-License-Identifier: MIT
/* Each rule of the driver interface that the fake resource manager watches, broken once; and what must not count. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_client.h"

#define NEWEST "580.159.04"

/**
 * struct lane - memory, mapped all the way
 */
struct lane {
	struct rmc rmc;
	struct fake_mem mem;
	int fd;
	uint64_t address;
	uint8_t *addr;
};

static void lane_open(struct lane *lane)
{
	rmc_open(&lane->rmc, NEWEST);
	fake_alloc_dup(&lane->rmc, &lane->mem, MIB(2));
	lane->fd = rmc_open_device(&lane->rmc);
	check_eq(rmc_map(&lane->rmc, lane->mem.dup, 0, MIB(2), lane->fd, &lane->address), 0);
	lane->addr = fake_mmap(lane->fd, MIB(2));
	check(lane->addr);
}

static void lane_unmap(struct lane *lane)
{
	check_eq(fake_munmap(lane->addr, MIB(2)), 0);
	check_eq(rmc_unmap(&lane->rmc, lane->mem.dup, lane->address), 0);
}

static void lane_close(struct lane *lane)
{
	check_eq(fake_close(lane->fd), 0);
	fake_free(&lane->mem);
	rmc_close(&lane->rmc);
}

static void the_right_order_breaks_no_rule(void)
{
	struct lane lane;
	uint64_t before = fake_violations();

	lane_open(&lane);
	fake_watch();
	lane_unmap(&lane);
	lane_close(&lane);
	fake_expect(NULL);
	check_eq(fake_violations(), before);
}

static void unmap_under_a_live_mapping(void)
{
	struct lane lane;

	lane_open(&lane);
	fake_watch();
	check_eq(rmc_unmap(&lane.rmc, lane.mem.dup, lane.address), 0);
	fake_expect("while the process has it mapped");
	fake_munmap(lane.addr, MIB(2));
	lane_close(&lane);
}

static void free_under_mapping(struct lane *lane, uint32_t parent, uint32_t object)
{
	fake_watch();
	check_eq(rmc_free(&lane->rmc, parent, object), 0);
	fake_expect("goes away while the process has it mapped");
	fake_munmap(lane->addr, MIB(2));
}

static void free_of_the_object_under_a_live_mapping(void)
{
	struct lane lane;

	lane_open(&lane);
	free_under_mapping(&lane, lane.rmc.device, lane.mem.dup);
	lane_close(&lane);
}

static void free_of_the_device_under_a_live_mapping(void)
{
	struct lane lane;

	lane_open(&lane);
	free_under_mapping(&lane, lane.rmc.client, lane.rmc.device);
	lane_close(&lane);
}

static void free_of_the_client_under_a_live_mapping(void)
{
	struct lane lane;

	lane_open(&lane);
	free_under_mapping(&lane, lane.rmc.client, lane.rmc.client);
	fake_free(&lane.mem);
}

static void free_of_the_object_before_unmap(void)
{
	struct lane lane;

	lane_open(&lane);
	fake_munmap(lane.addr, MIB(2));
	fake_watch();
	check_eq(rmc_free(&lane.rmc, lane.rmc.device, lane.mem.dup), 0);
	fake_expect("goes away before UNMAP_MEMORY");
	lane_close(&lane);
}

static void close_of_the_device_file_before_unmap_breaks_no_rule(void)
{
	struct lane lane;

	lane_open(&lane);
	fake_munmap(lane.addr, MIB(2));
	fake_watch();
	fake_close(lane.fd);
	fake_expect(NULL);
	check_eq(rmc_unmap(&lane.rmc, lane.mem.dup, lane.address), 0);
	fake_free(&lane.mem);
	rmc_close(&lane.rmc);
}

/* No device file is registered with the control file, so closing that takes everything away at once. */
static void close_of_the_last_reference_under_a_live_mapping(void)
{
	struct lane lane;

	lane_open(&lane);
	lane_unmap(&lane);
	fake_close(lane.fd);
	fake_close(lane.rmc.dev);
	lane.rmc.dev = fake_open(lane.rmc.minor ? "/dev/nvidia1" : "/dev/nvidia0");
	check_eq(rmc_map(&lane.rmc, lane.mem.dup, 0, MIB(2), lane.rmc.dev, &lane.address), 0);
	lane.addr = fake_mmap(lane.rmc.dev, MIB(2));
	check(lane.addr);
	fake_watch();
	fake_close(lane.rmc.ctl);
	fake_expect("goes away while the process has it mapped");
	fake_munmap(lane.addr, MIB(2));
	fake_close(lane.rmc.dev);
	fake_free(&lane.mem);
}

static void a_mapping_keeps_its_client_when_the_files_are_registered(void)
{
	struct bl_emu_counts counts;
	struct lane lane;

	lane_open(&lane);
	lane.addr[0] = 7;
	fake_close(lane.rmc.dev);
	fake_watch();
	fake_close(lane.rmc.ctl);
	fake_expect(NULL);
	fake.counts(&counts);
	check(counts.clients == 1 && counts.maps == 1 && counts.vmas == 1);
	check_eq(lane.addr[0], 7);
	fake_watch();
	fake_close(lane.fd);
	fake_expect(NULL);
	fake.counts(&counts);
	check_eq(counts.clients, 1); /* the mapping holds the file, the file holds the client */
	fake_watch();
	fake_munmap(lane.addr, MIB(2));
	fake_expect("goes away before UNMAP_MEMORY");
	fake.counts(&counts);
	check_eq(counts.clients + counts.maps + counts.vmas, 0);
	fake_free(&lane.mem);
}

static void unmap_with_a_wrong_address(void)
{
	struct lane lane;

	lane_open(&lane);
	fake_munmap(lane.addr, MIB(2));
	fake_watch();
	check_eq(rmc_unmap(&lane.rmc, lane.mem.dup, lane.address + 4096), 0x57);
	fake_expect("where it is not mapped");
	check_eq(rmc_unmap(&lane.rmc, lane.mem.dup, lane.address), 0);
	fake_watch();
	check_eq(rmc_unmap(&lane.rmc, lane.mem.dup, lane.address), 0x57);
	fake_expect("where it is not mapped");
	lane_close(&lane);
}

static void a_second_map_on_one_descriptor(void)
{
	struct lane lane;
	uint64_t address;

	lane_open(&lane);
	fake_watch();
	check_eq(rmc_map(&lane.rmc, lane.mem.dup, 0, 4096, lane.fd, &address), 0x63);
	fake_expect("second MAP_MEMORY");
	lane_unmap(&lane);
	fake_watch(); /* also after UNMAP: the context stays for ever */
	check_eq(rmc_map(&lane.rmc, lane.mem.dup, 0, 4096, lane.fd, &address), 0x63);
	fake_expect("second MAP_MEMORY");
	fake_watch();
	check(fake_mmap(lane.fd, MIB(2)));
	fake_expect("after UNMAP_MEMORY");
	fake_begin(NEWEST);
	fake_free(&lane.mem);
}

static void an_ioctl_before_dontfork(void)
{
	struct lane lane;

	lane_open(&lane);
	check_eq(fake.sys->madvise(lane.addr, MIB(2), MADV_DOFORK), 0);
	fake_watch();
	check_eq(fake_ioctl(lane.rmc.ctl, RM_IOCTL(214, 8), &(uint64_t){0}), 0);
	fake_expect("before MADV_DONTFORK");
	lane_unmap(&lane);
	lane_close(&lane);
}

static void *ioctl_thread(void *arg)
{
	return (void *)(intptr_t)fake_ioctl(*(int *)arg, RM_IOCTL(214, 8), &(uint64_t){0});
}

static void another_threads_ioctl_before_dontfork_is_fine(void)
{
	struct lane lane;
	pthread_t thread;
	void *ret;

	lane_open(&lane);
	check_eq(fake.sys->madvise(lane.addr, MIB(2), MADV_DOFORK), 0);
	fake_watch();
	check(!pthread_create(&thread, NULL, ioctl_thread, &lane.rmc.ctl));
	check(!pthread_join(thread, &ret) && !ret);
	fake_expect(NULL);
	check_eq(fake.sys->madvise(lane.addr, MIB(2), MADV_DONTFORK), 0);
	lane_unmap(&lane);
	lane_close(&lane);
}

static int child_status(pid_t pid)
{
	int status;

	check(pid > 0);
	check_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static void a_fork_before_dontfork(void)
{
	struct lane lane;
	pid_t pid;

	lane_open(&lane);
	check_eq(fake.sys->madvise(lane.addr, MIB(2), MADV_DOFORK), 0);
	fake_watch();
	pid = fork();
	if (!pid)
		_exit(0);
	child_status(pid);
	fake_expect("fork while a mapping");
	check_eq(fake.sys->madvise(lane.addr, MIB(2), MADV_DONTFORK), 0);
	lane_unmap(&lane);
	lane_close(&lane);
}

/* In the child: closing what was inherited is nobody's fault and takes nothing from the parent. */
static int child_closes(struct lane *lane)
{
	struct bl_emu_counts counts;

	fake.counts(&counts);
	if (counts.nodes + counts.clients + counts.dups + counts.maps + counts.vmas)
		return 1; /* all of that is the parent's */
	return fake.sys->close(lane->fd) || fake.sys->close(lane->rmc.dev) || fake.sys->close(lane->rmc.ctl) ||
	       fcntl(lane->rmc.ctl, F_GETFD) >= 0;
}

static void a_child_may_close_what_it_inherited(void)
{
	struct lane lane;
	pid_t pid;

	lane_open(&lane);
	fake_watch();
	pid = fork();
	if (!pid)
		_exit(child_closes(&lane));
	check_eq(child_status(pid), 0);
	fake_expect(NULL);
	lane.addr[0] = 9;
	lane_unmap(&lane);
	lane_close(&lane);
}

static int child_calls(const struct lane *lane)
{
	uint8_t arg[16] = {0}, cards[2 * 72];

	put32(arg, 0, lane->rmc.client);
	put32(arg, 4, lane->rmc.device);
	put32(arg, 8, lane->mem.dup);
	if (fake_ioctl(lane->rmc.ctl, RM_IOCTL(0x29, 16), arg) || get32(arg, 12) != 0x23)
		return 1;
	return fake_ioctl(lane->rmc.ctl, RM_IOCTL(200, sizeof(cards)), cards) ? 2 : 0;
}

static void a_child_uses_its_parents_client(void)
{
	struct lane lane;
	pid_t pid;

	lane_open(&lane);
	fake_watch();
	pid = fork();
	if (!pid)
		_exit(child_calls(&lane));
	check_eq(child_status(pid), 0);
	fake_expect("another process");
	lane_unmap(&lane);
	lane_close(&lane);
}

static int child_duplicates(const struct lane *lane)
{
	struct rmc rmc = lane->rmc;
	uint32_t params[14] = {rmc.instance}, dup;

	rmc.ctl = fake.sys->open("/dev/nvidiactl", O_RDWR | O_CLOEXEC);
	if (rmc_alloc(&rmc, 0, 0x41, NULL, &rmc.client))
		return 1;
	rmc.dev = rmc_open_device(&rmc);
	if (rmc_alloc(&rmc, rmc.client, 0x80, params, &rmc.device))
		return 2;
	/* the parent's duplicate has no share policy beyond "same process" */
	if (rmc_dup(&rmc, lane->rmc.client, lane->mem.dup, &dup) != 0x1b)
		return 3;
	return 0;
}

static void a_child_may_not_duplicate_its_parents_objects(void)
{
	struct lane lane;
	pid_t pid;

	lane_open(&lane);
	fake_watch();
	pid = fork();
	if (!pid)
		_exit(child_duplicates(&lane));
	check_eq(child_status(pid), 0);
	fake_expect(NULL);
	lane_unmap(&lane);
	lane_close(&lane);
}

static void a_node_opened_without_cloexec(void)
{
	int fd;

	fake_begin(NEWEST);
	fake_watch();
	fd = fake.sys->open("/dev/nvidiactl", O_RDWR);
	fake_expect("without O_CLOEXEC");
	check_eq(fcntl(fd, F_GETFD), 0);
	fake.sys->close(fd);
}

static void reserved_fields_that_are_not_zero(void)
{
	static const struct {
		unsigned int nr, size, off;
	} pads[] = {{0x4e, 56, 12}, {0x4e, 56, 52}, {0x4f, 32, 12}, {0x5e, 40, 12}, {0x2a, 32, 12}, {0x34, 28, 20}};
	uint8_t arg[64];
	struct lane lane;

	lane_open(&lane);
	lane_unmap(&lane);
	for (size_t i = 0; i < sizeof(pads) / sizeof(pads[0]); i++) {
		memset(arg, 0, sizeof(arg));
		put32(arg, 0, lane.rmc.client);
		put32(arg, pads[i].off, 1);
		fake_watch();
		check_eq(fake_ioctl(lane.rmc.ctl, RM_IOCTL(pads[i].nr, pads[i].size), arg), 0);
		fake_expect("is 0x1 and not 0");
	}
	lane_close(&lane);
}

static void driver_calls_on_the_wrong_descriptor(void)
{
	uint8_t arg[72] = {0};
	struct lane lane;

	lane_open(&lane);
	fake_watch();
	check_eq(fake_ioctl(lane.rmc.dev, RM_IOCTL(0x29, 16), arg), -EINVAL);
	fake_expect("on a device file");
	fake_watch();
	check_eq(fake_ioctl(lane.rmc.ctl, RM_IOCTL(218, 8), arg), -EINVAL);
	fake_expect("on a control file");
	fake_watch();
	check_eq(fake_ioctl(-1, RM_IOCTL(0x29, 16), arg), -EBADF);
	fake_expect("no device node");
	fake_watch();
	check_eq(fake_ioctl(lane.rmc.ctl, RM_IOCTL(214, 8) ^ 0x100, arg), 0);
	fake_expect("not of type 'F'");
	put32(arg, 0, lane.rmc.client);
	put32(arg, 4, lane.rmc.device);
	put32(arg, 8, lane.mem.dup);
	put64(arg, 24, 4096);
	put32(arg, 48, (uint32_t)lane.rmc.ctl);
	fake_watch();
	check_eq(fake_ioctl(lane.rmc.ctl, RM_IOCTL(0x4e, 56), arg), 0);
	check_eq(get32(arg, 40), 0x1f);
	fake_expect("no device file of this process");
	lane_unmap(&lane);
	lane_close(&lane);
}

static void munmap_of_a_part(void)
{
	struct lane lane;

	lane_open(&lane);
	fake_watch();
	check(fake.sys->munmap(lane.addr, 4096) && errno == EINVAL);
	fake_expect("a part of a mapping");
	lane_unmap(&lane);
	lane_close(&lane);
}

static void strict_mode_ends_the_process(void)
{
	int status;
	pid_t pid;

	fake_begin(NEWEST);
	fake_watch();
	pid = fork();
	if (!pid) {
		setenv("BARLANE_EMU_STRICT", "1", 1);
		signal(SIGABRT, SIG_DFL);
		fake.sys->open("/dev/nvidiactl", O_RDWR);
		_exit(0);
	}
	status = child_status(pid);
	fake_expect("without O_CLOEXEC");
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

#define ROUNDS 50

/* What a client has to do: no fork between mmap() and madvise(). */
static pthread_mutex_t window = PTHREAD_MUTEX_INITIALIZER;

static void *map_unforked(int fd)
{
	void *addr;

	pthread_mutex_lock(&window);
	addr = fake.sys->mmap(NULL, MIB(2), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (addr != MAP_FAILED)
		fake.sys->madvise(addr, MIB(2), MADV_DONTFORK);
	pthread_mutex_unlock(&window);
	return addr;
}

static void *lane_thread(void *arg)
{
	const struct rmc *rmc = arg;
	struct rmc own = {.major = rmc->major, .minor = rmc->minor, .instance = rmc->instance};
	uint32_t params[14] = {own.instance};
	CUdeviceptr va;
	CUipcMemHandle blob;
	char path[32];
	intptr_t bad = 0;

	snprintf(path, sizeof(path), "/dev/nvidia%u", own.minor);
	own.ctl = fake.sys->open("/dev/nvidiactl", O_RDWR | O_CLOEXEC);
	own.dev = fake.sys->open(path, O_RDWR | O_CLOEXEC);
	bad |= fake.cuCtxSetCurrent(fake_ctx) || fake.cuMemAlloc(&va, MIB(2)) || fake.cuIpcGetMemHandle(&blob, va);
	bad |= rmc_alloc(&own, 0, 0x41, NULL, &own.client) || rmc_alloc(&own, own.client, 0x80, params, &own.device);
	for (int i = 0; i < ROUNDS && !bad; i++) {
		int fd = fake.sys->open(path, O_RDWR | O_CLOEXEC);
		uint64_t address;
		uint32_t dup;
		void *addr;

		bad |= fake_ioctl(fd, RM_IOCTL(201, 4), &own.ctl);
		bad |= rmc_dup(&own, get32(&blob, 48), get32(&blob, 52), &dup);
		bad |= rmc_map(&own, dup, 0, MIB(2), fd, &address);
		addr = map_unforked(fd);
		bad |= addr == MAP_FAILED;
		if (!bad)
			memset(addr, i, 4096);
		bad |= fake.sys->munmap(addr, MIB(2)) || rmc_unmap(&own, dup, address) || fake.sys->close(fd);
		bad |= rmc_free(&own, own.device, dup);
	}
	bad |= fake.sys->close(own.dev) || fake.sys->close(own.ctl) || fake.cuMemFree(va);
	return (void *)bad;
}

static void *fork_thread(void *arg)
{
	intptr_t bad = 0;

	for (int i = 0; i < 10; i++) {
		int status = 1;
		pid_t pid;

		pthread_mutex_lock(&window);
		pid = fork();
		if (!pid)
			_exit(fake.sys->close(*(int *)arg) != 0);
		pthread_mutex_unlock(&window);
		bad |= pid < 0 || waitpid(pid, &status, 0) != pid || status;
	}
	return (void *)bad;
}

/* The children are made at any moment, also inside a call of another thread: they must not hang. */
static void threads_and_forks_do_not_disturb_each_other(void)
{
	pthread_t threads[3], forker;
	void *ret, *bad = NULL;
	struct rmc rmc;

	rmc_open(&rmc, NEWEST);
	fake_watch();
	alarm(120); /* a test that hangs must end */
	for (size_t i = 0; i < 3; i++)
		check(!pthread_create(&threads[i], NULL, lane_thread, &rmc));
	check(!pthread_create(&forker, NULL, fork_thread, &rmc.ctl));
	for (size_t i = 0; i < 3; i++) {
		check(!pthread_join(threads[i], &ret));
		bad = ret ? ret : bad;
	}
	check(!pthread_join(forker, &ret));
	alarm(0);
	fake_expect(NULL);
	check(!bad && !ret);
	rmc_close(&rmc);
}

static const struct tap_test tests[] = {
	{"the_right_order_breaks_no_rule", the_right_order_breaks_no_rule},
	{"unmap_under_a_live_mapping", unmap_under_a_live_mapping},
	{"free_of_the_object_under_a_live_mapping", free_of_the_object_under_a_live_mapping},
	{"free_of_the_device_under_a_live_mapping", free_of_the_device_under_a_live_mapping},
	{"free_of_the_client_under_a_live_mapping", free_of_the_client_under_a_live_mapping},
	{"free_of_the_object_before_unmap", free_of_the_object_before_unmap},
	{"close_of_the_device_file_before_unmap_breaks_no_rule", close_of_the_device_file_before_unmap_breaks_no_rule},
	{"close_of_the_last_reference_under_a_live_mapping", close_of_the_last_reference_under_a_live_mapping},
	{"a_mapping_keeps_its_client_when_the_files_are_registered",
	 a_mapping_keeps_its_client_when_the_files_are_registered},
	{"unmap_with_a_wrong_address", unmap_with_a_wrong_address},
	{"a_second_map_on_one_descriptor", a_second_map_on_one_descriptor},
	{"an_ioctl_before_dontfork", an_ioctl_before_dontfork},
	{"another_threads_ioctl_before_dontfork_is_fine", another_threads_ioctl_before_dontfork_is_fine},
	{"a_fork_before_dontfork", a_fork_before_dontfork},
	{"a_child_may_close_what_it_inherited", a_child_may_close_what_it_inherited},
	{"a_child_uses_its_parents_client", a_child_uses_its_parents_client},
	{"a_child_may_not_duplicate_its_parents_objects", a_child_may_not_duplicate_its_parents_objects},
	{"a_node_opened_without_cloexec", a_node_opened_without_cloexec},
	{"reserved_fields_that_are_not_zero", reserved_fields_that_are_not_zero},
	{"driver_calls_on_the_wrong_descriptor", driver_calls_on_the_wrong_descriptor},
	{"munmap_of_a_part", munmap_of_a_part},
	{"strict_mode_ends_the_process", strict_mode_ends_the_process},
	{"threads_and_forks_do_not_disturb_each_other", threads_and_forks_do_not_disturb_each_other},
};

int main(int argc, char **argv)
{
	setenv("BARLANE_EMU_GPUS", "1", 1);
	setenv("BARLANE_EMU_STATIC_BAR1", "1", 1);
	fake_load();
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
