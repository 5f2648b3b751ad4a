// SPDX-License-Identifier: MIT
/*
 * Memory of the card with struct pages goes, in all ways, while a slow drive is at it. Nobody gets it before the drive
 * is done, and then no byte of it changes any more: the card fills it with a poison and looks.
 */
#include "host.h"
#include "hotplug.h"
#include "pages.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef HAVE_LIBURING
#include <liburing.h>
#endif

#define LEN	  (4 * MIB)
#define SLOW	  "slow-drive 250000"
#define FAST	  "slow-drive 0"
#define UNDER_WAY 300000 /* us, after which a thread that waits has handed all to the drive, which is far from done */

static int gpu, drive;
static struct slice_mem mem;

static void begin(void)
{
	check(host_do(FAST));
	card_reload(SLICE);
	gpu = gpu_open();
	drive = drive_open();
	mem = slice_alloc(gpu, LEN);
}

static void end(void)
{
	check(host_do(FAST));
	close(drive);
	slice_check_clean(gpu);
	close(gpu);
}

/* Wait until a thread waits for a device, as it does with a request under way. */
static void wait_until_blocked(pid_t thread)
{
	char path[64], state = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", thread);
	for (int i = 0; i < 1500 && state != 'D'; i++) {
		FILE *file = fopen(path, "re");

		check(file);
		if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
			state = 0;
		fclose(file);
		usleep(20000);
	}
	check_eq(state, 'D');
	usleep(UNDER_WAY);
}

/* A request in a thread of its own. */
struct request {
	pthread_t thread;
	_Atomic pid_t id;
	bool write;
	int64_t result;
	atomic_bool done;
};

static void *carry_out(void *arg)
{
	struct request *request = arg;

	atomic_store(&request->id, gettid());
	request->result = request->write ? try_write(drive, mem.at, LEN, 0) : try_read(drive, mem.at, LEN, 0);
	atomic_store(&request->done, true);
	return NULL;
}

static void start_slowly(struct request *request, bool write)
{
	*request = (struct request){ .write = write };
	check(host_do(SLOW));
	check_eq(pthread_create(&request->thread, NULL, carry_out, request), 0);
	while (!atomic_load(&request->id))
		usleep(1000);
	wait_until_blocked(atomic_load(&request->id));
	check(!atomic_load(&request->done));
}

static void wait_for(struct request *request)
{
	check_eq(pthread_join(request->thread, NULL), 0);
	check_eq(request->result, LEN);
}

static void freed_under(bool write)
{
	struct request request;
	struct gpu_mem other;
	uint32_t value;

	begin();
	start_slowly(&request, write);
	gpu_free(gpu, &mem.mem);
	check(!atomic_load(&request.done));
	check_eq(gpu_counters(gpu).lingering, LEN);
	check_eq(gpu_counters(gpu).used, LEN);
	check_eq(load_signal(mem.at, &value), SIGBUS);
	/* all the rest can be had, but not that */
	check_eq(try_slice_alloc(gpu, SLICE_SIZE, &other), -ENOMEM);
	check_eq(try_slice_alloc(gpu, SLICE_SIZE - LEN, &other), 0);
	check_eq(other.offset, SLICE_OFF + LEN);
	gpu_free(gpu, &other);
	check(host_do(FAST));
	wait_for(&request);
	for (int i = 0; i < 250 && gpu_counters(gpu).lingering; i++)
		usleep(20000);
	check_eq(gpu_counters(gpu).lingering, 0);
	check_eq(try_slice_alloc(gpu, SLICE_SIZE, &other), 0);
	gpu_free(gpu, &other);
	check(host_ask("check", SLICE_OFF, LEN, "db"));
	munmap(mem.at, LEN);
	end();
}

static void freed_under_a_read(void)
{
	freed_under(false);
}

static void freed_under_a_write(void)
{
	freed_under(true);
}

static int said[2]; /* pipe: a child has come to its request */

static void say(void)
{
	if (write(said[1], "", 1) != 1)
		_exit(3);
}

static int read_in_child(void *arg)
{
	say();
	return try_read(drive, arg, LEN, 0) == LEN ? 0 : 1;
}

#ifdef HAVE_LIBURING
static int read_by_ring(void *arg)
{
	struct io_uring ring;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;

	if (io_uring_queue_init(4, &ring, 0))
		return 1;
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_read(sqe, drive, arg, LEN, 0);
	if (io_uring_submit(&ring) != 1)
		return 2;
	say();
	return io_uring_submit_and_wait(&ring, 1) < 0 || io_uring_peek_cqe(&ring, &cqe);
}
#else
#define read_by_ring read_in_child
#endif

/* Its own file of the card and its own memory; ends by the signal. */
static int own_memory(int (*use)(void *at))
{
	int own = open(BL_CARD_PATH, O_RDWR | O_CLOEXEC);
	struct gpu_mem object;
	void *at;

	if (own < 0 || try_slice_alloc(own, LEN, &object))
		return 1;
	at = mmap(NULL, object.len, PROT_READ | PROT_WRITE, MAP_SHARED, own, (off_t)object.offset);
	return at == MAP_FAILED ? 2 : use(at);
}

static void killed(int (*use)(void *at))
{
	int status = 0;
	pid_t pid;
	char byte;

	begin();
	slice_free(gpu, &mem);
	check(host_do(SLOW));
	check_eq(pipe2(said, O_CLOEXEC), 0);
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(own_memory(use));
	check(pid > 0);
	check_eq(read(said[0], &byte, 1), 1);
	if (use == read_in_child)
		wait_until_blocked(pid);
	else
		usleep(UNDER_WAY);
	check_eq(kill(pid, SIGKILL), 0);
	usleep(UNDER_WAY);
	/* waited for or not, the memory is in use until the drive is done with it */
	check_eq(gpu_counters(gpu).used, LEN);
	check(host_do(FAST));
	check_eq(waitpid(pid, &status, 0), pid);
	check(WIFSIGNALED(status));
	close(said[0]);
	close(said[1]);
	end();
}

static void killed_in_a_call(void)
{
	killed(read_in_child);
}

static void killed_with_a_ring(void)
{
	killed(read_by_ring);
}

static void not_unloaded(void)
{
	struct request request;

	begin();
	start_slowly(&request, false);
	check_eq(munmap(mem.at, LEN), 0);
	close(gpu);
	check_eq(try_module_unload("bl_card"), -EAGAIN);
	check(!atomic_load(&request.done));
	check(host_do(FAST));
	wait_for(&request);
	/* within the time that card_reload() waits for it */
	card_reload(SLICE);
	gpu = gpu_open();
	end();
}

static void *take_away(void *arg)
{
	const struct way *way = arg;

	way->take();
	return NULL;
}

/* It goes when the drive is done, and comes back with memory as good as before. */
static void removed(const struct way *way)
{
	struct request request;
	pthread_t thread;
	uint32_t value;

	begin();
	card_locate(gpu);
	start_slowly(&request, false);
	check_eq(pthread_create(&thread, NULL, take_away, (void *)way), 0);
	usleep(UNDER_WAY);
	check(!atomic_load(&request.done));
	check_eq(load_signal(mem.at, &value), SIGBUS);
	check(open(BL_CARD_PATH, O_RDWR | O_CLOEXEC) < 0);
	check(host_do(FAST));
	wait_for(&request);
	check_eq(pthread_join(thread, NULL), 0);
	munmap(mem.at, LEN);
	close(gpu);
	way->give();
	gpu = gpu_open();
	mem = slice_alloc(gpu, SLICE_SIZE);
	check_eq(try_read(drive, mem.at, LEN, 0), LEN);
	slice_free(gpu, &mem);
	end();
}

static void unbound(void)
{
	removed(&way_unbind);
}

static void off_the_bus(void)
{
	removed(&way_remove);
}

static atomic_bool stop;

/* Frees what is being read, in all moments; what comes of the read does not matter. */
static void *free_early(void *arg)
{
	struct slice_mem own = { 0 };
	unsigned int seed = (unsigned int)(uintptr_t)arg;

	while (!atomic_load(&stop)) {
		if (try_slice_alloc(gpu, 2 * MIB, &own.mem))
			return "no memory";
		own.at = mmap(NULL, own.mem.len, PROT_READ | PROT_WRITE, MAP_SHARED, gpu, (off_t)own.mem.offset);
		if (own.at == MAP_FAILED)
			return "no mapping";
#ifdef HAVE_LIBURING
		struct io_uring ring;
		struct io_uring_sqe *sqe;

		if (io_uring_queue_init(8, &ring, 0))
			return "no ring";
		for (int i = 0; i < 8; i++) {
			sqe = io_uring_get_sqe(&ring);
			io_uring_prep_read(sqe, drive, own.at + i * 256 * KIB, 256 * KIB,
					   (off_t)(rand_r(&seed) % 256) << 20);
		}
		io_uring_submit(&ring);
		usleep((useconds_t)rand_r(&seed) % 3000);
		gpu_free(gpu, &own.mem);
		io_uring_queue_exit(&ring);
#else
		try_read(drive, own.at, 2 * MIB, (off_t)(rand_r(&seed) % 256) << 20);
		gpu_free(gpu, &own.mem);
#endif
		munmap(own.at, own.mem.len);
	}
	return NULL;
}

static void freed_in_all_moments(void)
{
	const char *stress = getenv("LAB_STRESS");
	pthread_t threads[3];
	void *why = NULL;

	begin();
	slice_free(gpu, &mem);
	atomic_store(&stop, false);
	for (uintptr_t i = 0; i < 3; i++)
		check_eq(pthread_create(&threads[i], NULL, free_early, (void *)(i + 1)), 0);
	sleep(stress ? (unsigned int)atoi(stress) : 3);
	atomic_store(&stop, true);
	for (int i = 0; i < 3; i++) {
		check_eq(pthread_join(threads[i], &why), 0);
		printf("# thread %d: %s\n", i, why ? (const char *)why : "fine");
		check(!why);
	}
	end();
}

static const struct tap_test tests[] = {
	{ "memory_freed_under_a_read_is_nobodys_until_the_drive_is_done", freed_under_a_read },
	{ "memory_freed_under_a_write_is_nobodys_until_the_drive_is_done", freed_under_a_write },
	{ "a_process_is_killed_in_a_read", killed_in_a_call },
	{ "a_process_is_killed_with_reads_of_io_uring_under_way", killed_with_a_ring },
	{ "the_module_is_not_unloaded_while_pages_are_in_use", not_unloaded },
	{ "the_driver_is_unbound_when_the_drive_is_done", unbound },
	{ "the_card_leaves_its_bus_when_the_drive_is_done", off_the_bus },
	{ "memory_is_freed_in_all_moments_of_reads", freed_in_all_moments },
};

TAP_MAIN(tests)
