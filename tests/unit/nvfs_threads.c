// SPDX-License-Identifier: MIT
/* Many threads on one client of the fake nvidia-fs module; forks, ends of processes, and buffers that go in between. */
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "file/nvfs.h"
#include "nvfs_fixture.h"
#include "util/fork.h"

#define NR_THREADS 8
#define SHARE	   (2 * MB)

static double seconds(void)
{
	const char *value = getenv("BL_STRESS_SECONDS");

	return value && atof(value) > 0 ? atof(value) : 1;
}

/**
 * struct worker - a thread with its own part of the file and of the memory
 * @n:      the client
 * @nr:     which part
 * @wrong:  what was wrong, "" nothing
 * @rounds: requests that it made
 */
struct worker {
	pthread_t thread;
	struct nvfs *n;
	unsigned int nr;
	char wrong[128];
	unsigned long rounds;
};

static atomic_bool stop;

static int one_round(struct worker *w, unsigned int *seed)
{
	size_t base = w->nr * SHARE, len = (1 + (size_t)rand_r(seed) % 64) * 4 * KB;
	size_t off = (size_t)rand_r(seed) % 192 * 4 * KB;
	struct bl_nvfs_request rq = {
		.fd = w->n->fd,
		.va = FAKE_GPU_VA + base + off,
		.pos = base + off,
		.len = len,
		.write = rand_r(seed) % 3 == 0,
		.piece = (1 + (size_t)rand_r(seed) % 4) * 64 * KB,
		.window = 1 + (unsigned int)rand_r(seed) % 4,
		.deadline_ns = bl_now_ns() + SOON_NS,
	};
	struct stat st;

	fstat(rq.fd, &st);
	rq.inum = st.st_ino;
	rq.major = major(st.st_dev);
	rq.minor = minor(st.st_dev);
	if (!rq.write)
		memset(fake_gpu() + base + off, 0, len);
	if (bl_nvfs_transfer(w->n->pool, &rq) || rq.done != len)
		return snprintf(w->wrong, sizeof(w->wrong), "len %zu done %zu reason %d", len, rq.done, rq.reason);
	if (!gpu_has(base + off, base + off, len))
		return snprintf(w->wrong, sizeof(w->wrong), "other bytes at %zu", base + off);
	return 0;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	unsigned int seed = w->nr + 1;

	while (!atomic_load(&stop) && !w->wrong[0]) {
		one_round(w, &seed);
		w->rounds++;
	}
	return NULL;
}

static void start(struct worker *workers, struct nvfs *n)
{
	atomic_store(&stop, false);
	for (unsigned int i = 0; i < NR_THREADS; i++) {
		workers[i] = (struct worker){.n = n, .nr = i};
		for (size_t at = 0; at < SHARE; at++)
			fake_gpu()[i * SHARE + at] = file_byte(i * SHARE + at);
		check(!pthread_create(&workers[i].thread, NULL, work, &workers[i]));
	}
}

static void finish(struct worker *workers)
{
	atomic_store(&stop, true);
	for (unsigned int i = 0; i < NR_THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	for (unsigned int i = 0; i < NR_THREADS; i++) {
		check_str(workers[i].wrong, "");
		check(workers[i].rounds > 0);
	}
}

static void threads_share_a_buffer_and_a_file(void)
{
	struct worker workers[NR_THREADS];
	struct nvfs n;

	fake_nvfs_begin();
	fake_nvfs.max_maps = 6; /* fewer than there are threads: they wait for each other */
	n = nvfs_open(NR_THREADS * SHARE, 0, NR_THREADS * SHARE);
	start(workers, &n);
	usleep((useconds_t)(seconds() * 1e6));
	finish(workers);
	check(fake_nvfs_counts().mapped <= 6);
	nvfs_close(&n);
}

/* Whether a page can be read, without a signal when it cannot. */
static bool is_there(const void *addr)
{
	int fds[2];
	bool there;

	if (pipe(fds))
		return true;
	there = write(fds[1], addr, 1) == 1;
	close(fds[0]);
	close(fds[1]);
	return there;
}

/* 0 when a child has neither the pages nor the node. */
static int child_has_nothing(const struct bl_nvfs_map *map)
{
	if (is_there(map->shadow) || is_there(map->meta))
		return 1;
	return fcntl(map->fd, F_GETFD) >= 0 ? 2 : 0;
}

static int status_of(pid_t pid)
{
	int status;

	check(pid > 0);
	check_eq(waitpid(pid, &status, 0), pid);
	check(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void children_get_neither_pages_nor_nodes(void)
{
	struct bl_nvfs_map *map;
	struct nvfs n;
	pid_t pid;

	fake_nvfs_begin();
	n = nvfs_open(MB, 0, MB);
	check_eq(bl_nvfs_pool_take(n.pool, 4 * KB, 0, &map), 0);
	check(is_there(map->shadow) && is_there(map->meta));
	pid = fork();
	if (!pid)
		syscall(SYS_exit_group, child_has_nothing(map));
	check_eq(status_of(pid), 0);
	bl_nvfs_pool_give(n.pool, map);
	nvfs_close(&n);
}

static void requests_go_on_while_the_process_forks(void)
{
	struct worker workers[NR_THREADS];
	uint64_t until;
	struct nvfs n;

	fake_nvfs_begin();
	n = nvfs_open(NR_THREADS * SHARE, 0, NR_THREADS * SHARE);
	start(workers, &n);
	until = bl_now_ns() + (uint64_t)(seconds() * 1e9);
	while (bl_now_ns() < until) {
		pid_t pid = fork();

		if (!pid)
			syscall(SYS_exit_group, 0);
		check_eq(status_of(pid), 0);
	}
	finish(workers);
	nvfs_close(&n);
}

/* A process that ends with a request under way: no wait, no handler, the kernel takes the mappings and then the files.
 */
static int end_in_flight(void)
{
	struct nvfs n = nvfs_open(MB, 0, MB);
	struct bl_nvfs_request rq = nvfs_request(&n, false, 0, 0, 4 * KB);

	rq.poll = 4 * KB;
	rq.deadline_ns = bl_now_ns() + 1000000;
	fake_nvfs_inject(FAKE_LOSE, 0, 0);
	return bl_nvfs_transfer(n.pool, &rq) == -ETIMEDOUT ? 0 : 1;
}

static void a_process_can_end_with_requests_under_way(void)
{
	pid_t pid;

	fake_nvfs_begin();
	pid = fork();
	if (!pid)
		syscall(SYS_exit_group, end_in_flight());
	check_eq(status_of(pid), 0);
	fake_nvfs_end();
}

static struct bl_nvfs_range range_of(bl_pin_t pin)
{
	return (struct bl_nvfs_range){FAKE_GPU_VA + pin % 4 * MB, MB, FAKE_GPU_PDEV};
}

static int read_some(bl_pin_t pin, int fd)
{
	struct bl_nvfs_range range = range_of(pin);
	struct nvfs n = {.fd = fd};
	struct bl_nvfs_request rq;
	int ret = bl_nvfs_pool_make(pin, &range, &n.pool);

	if (ret)
		return ret;
	rq = nvfs_request(&n, false, range.va - FAKE_GPU_VA, 0, 64 * KB);
	ret = bl_nvfs_transfer(n.pool, &rq);
	bl_nvfs_pool_put(n.pool);
	return ret == -EAGAIN ? rq.reason : ret;
}

static void a_pin_has_one_pool_until_it_is_forgotten(void)
{
	struct bl_nvfs_range range = range_of(5);
	struct bl_nvfs_pool *a, *b;
	int fd;

	fake_nvfs_begin();
	fd = file_new(MB);
	check(!bl_nvfs_blocked());
	check_eq(bl_nvfs_pool_find(5, &a), -ENOENT);
	check_eq(bl_nvfs_pool_make(5, &range, &a), 0);
	check_eq(bl_nvfs_pool_find(5, &b), 0);
	check(a == b);
	bl_nvfs_pool_put(b);
	check_eq(read_some(5, fd), 0);
	check_eq(read_some(5 + 256, fd), 0);
	check_eq(fake_nvfs_counts().mapped, 2);
	bl_nvfs_forget(6);
	bl_nvfs_forget(5);
	check_eq(bl_nvfs_pool_find(5, &b), -ENOENT);
	/* a request that is still on its way has its pool, and gets no further */
	check(atomic_load(&a->dead));
	bl_nvfs_pool_put(a);
	check_eq(fake_nvfs_counts().mapped, 1);
	bl_nvfs_close();
	bl_nvfs_close();
	bl_nvfs_forget(5);
	fake_nvfs_end();
	/* and everything begins anew */
	check_eq(read_some(5, fd), 0);
	bl_nvfs_close();
	close(fd);
	fake_nvfs_end();
}

static void an_absent_module_is_looked_for_once(void)
{
	struct bl_nvfs_pool *pool;

	fake_nvfs_begin();
	fake_nvfs.nodes = 0;
	check_has(bl_nvfs_blocked(), "modprobe nvidia-fs");
	check_eq(bl_nvfs_pool_find(1, &pool), -ENODEV);
	check(!bl_nvfs_hook("nvme"));
	fake_nvfs.nodes = 16;
	check(bl_nvfs_blocked() != NULL);
	/* the driver is opened again */
	bl_nvfs_close();
	check(!bl_nvfs_blocked());
	check(bl_nvfs_hook("nvme") && bl_nvfs_hook("wekafsio") && !bl_nvfs_hook("nvme_rdma") && !bl_nvfs_hook("nv"));
	bl_nvfs_close();
	fake_nvfs_end();
}

static void an_unloaded_module_takes_the_path_with_it(void)
{
	int fd;

	fake_nvfs_begin();
	fd = file_new(MB);
	check_eq(read_some(1, fd), 0);
	fake_nvfs.unloading = true;
	check_eq(read_some(1, fd), -ENODEV);
	check_eq(read_some(1, fd), -ENODEV);
	check_has(bl_nvfs_blocked(), "unloaded");
	fake_nvfs.unloading = false;
	bl_nvfs_close();
	check_eq(read_some(1, fd), 0);
	bl_nvfs_close();
	close(fd);
	fake_nvfs_end();
}

static int child_starts_anew(int fd)
{
	struct bl_nvfs_pool *pool;

	if (bl_nvfs_pool_find(1, &pool) != -ENOENT)
		return 1;
	if (read_some(1, fd))
		return 2;
	bl_nvfs_close();
	return fake_nvfs_counts().mapped ? 3 : 0;
}

static void a_child_begins_with_nothing(void)
{
	pid_t pid;
	int fd;

	fake_nvfs_begin();
	fd = file_new(MB);
	check_eq(read_some(1, fd), 0);
	pid = fork();
	if (!pid)
		syscall(SYS_exit_group, child_starts_anew(fd));
	check_eq(status_of(pid), 0);
	check_eq(read_some(1, fd), 0);
	bl_nvfs_close();
	close(fd);
	fake_nvfs_end();
}

static void *come_and_go(void *arg)
{
	struct worker *w = arg;
	int fd = *(int *)w->wrong;

	w->wrong[0] = '\0';
	while (!atomic_load(&stop) && !w->wrong[0]) {
		int ret = read_some(w->nr % 4, fd);

		if (ret && ret != -EIDRM && ret != -ENODEV)
			snprintf(w->wrong, sizeof(w->wrong), "read gave %d", ret);
		if (++w->rounds % 5 == 0)
			bl_nvfs_forget(w->nr % 4);
		if (w->rounds % 37 == 0 && !w->nr)
			bl_nvfs_close();
	}
	return NULL;
}

static void come_and_go_on(bool own)
{
	struct worker workers[NR_THREADS];
	int fd;

	fake_nvfs_begin();
	fake_nvfs.own = own;
	fd = file_new(MB);
	atomic_store(&stop, false);
	for (unsigned int i = 0; i < NR_THREADS; i++) {
		workers[i] = (struct worker){.nr = i};
		memcpy(workers[i].wrong, &fd, sizeof(fd));
		check(!pthread_create(&workers[i].thread, NULL, come_and_go, &workers[i]));
	}
	usleep((useconds_t)(seconds() * 1e6));
	finish(workers);
	bl_nvfs_close();
	check(!own || fake_nvfs_counts().unmaps > 0);
	close(fd);
	fake_nvfs_end();
}

static void buffers_and_drivers_come_and_go_under_requests(void)
{
	come_and_go_on(false);
}

static void and_so_they_do_where_shadows_are_kept(void)
{
	come_and_go_on(true);
}

static const struct tap_test tests[] = {
	{"threads_share_a_buffer_and_a_file", threads_share_a_buffer_and_a_file},
	{"children_get_neither_pages_nor_nodes", children_get_neither_pages_nor_nodes},
	{"requests_go_on_while_the_process_forks", requests_go_on_while_the_process_forks},
	{"a_process_can_end_with_requests_under_way", a_process_can_end_with_requests_under_way},
	{"a_pin_has_one_pool_until_it_is_forgotten", a_pin_has_one_pool_until_it_is_forgotten},
	{"an_absent_module_is_looked_for_once", an_absent_module_is_looked_for_once},
	{"an_unloaded_module_takes_the_path_with_it", an_unloaded_module_takes_the_path_with_it},
	{"a_child_begins_with_nothing", a_child_begins_with_nothing},
	{"buffers_and_drivers_come_and_go_under_requests", buffers_and_drivers_come_and_go_under_requests},
	{"and_so_they_do_where_shadows_are_kept", and_so_they_do_where_shadows_are_kept},
};

int main(int argc, char **argv)
{
	/* as the first bl_open() does, so that children close what is not theirs */
	if (bl_fork_init(NULL))
		return 1;
	return tap_main(tests, NR_OF(tests), argc, argv);
}
