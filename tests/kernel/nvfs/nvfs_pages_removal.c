// SPDX-License-Identifier: MIT
/*
 * The card goes, in all ways, while a slow drive is at memory of it that has struct pages, and while processes have
 * that memory mapped. Mappings are SIGBUS from then on, requests end, and the card's driver does not let go before the
 * drive has: what the host puts into the card's memory afterwards stays there. Then a card is there again, as good as
 * before.
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

#define LEN	 (2 * MIB)
#define FAST	 "slow-drive 0"
#define WAIT_MS	 60000
#define INFLIGHT "/sys/block/nvme0n1/inflight"

static int gpu, drive;
static struct slice_mem mem; /* the first half is read into, the second one is written */

static void begin(void)
{
	check(host_do(FAST));
	card_reload(SLICE);
	gpu = gpu_open();
	drive = drive_open();
	card_locate(gpu);
	mem = slice_alloc(gpu, 2 * LEN);
}

static void slow(unsigned long rate)
{
	char request[64];

	snprintf(request, sizeof(request), "slow-drive %lu", rate);
	check(host_do(request));
}

/* In a child too, so no check() in it. */
static bool drive_is_at_work(void)
{
	FILE *file = fopen(INFLIGHT, "re");
	unsigned int reads = 0, writes = 0;

	if (!file)
		return false;
	if (fscanf(file, "%u %u", &reads, &writes) != 2)
		reads = writes = 0;
	fclose(file);
	return reads || writes;
}

/* A request of a thread. */
struct request {
	pthread_t thread;
	bool write;
	int64_t result;
};

static void *carry_out(void *arg)
{
	struct request *request = arg;

	request->result = request->write ? try_write(drive, mem.at + LEN, LEN, LEN) : try_read(drive, mem.at, LEN, 0);
	return NULL;
}

static void start(struct request *request, bool write)
{
	*request = (struct request){ .write = write };
	check_eq(pthread_create(&request->thread, NULL, carry_out, request), 0);
}

/* All of it, unless the card was away before the drive was done. */
static void must_have_ended(struct request *request, bool may_fail)
{
	check_eq(pthread_join(request->thread, NULL), 0);
	if (request->result != (int64_t)LEN)
		check_eq(request->result, may_fail ? -EIO : (int64_t)LEN);
}

static int said[2]; /* pipe: a child has come to its point */

static void say(void)
{
	if (write(said[1], "", 1) != 1)
		_exit(90);
}

/* A child with its own file and memory of the card; what it returns is its exit status. */
static pid_t start_child(int (*use)(uint8_t *at))
{
	pid_t pid;
	char byte;

	check_eq(pipe2(said, O_CLOEXEC), 0);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		int own = open(BL_CARD_PATH, O_RDWR | O_CLOEXEC);
		struct gpu_mem object;
		uint8_t *at;

		if (own < 0 || try_slice_alloc(own, LEN, &object))
			_exit(91);
		at = mmap(NULL, object.len, PROT_READ | PROT_WRITE, MAP_SHARED, own, (off_t)object.offset);
		_exit(at == MAP_FAILED ? 92 : use(at));
	}
	check(pid > 0);
	close(said[1]);
	check_eq(read(said[0], &byte, 1), 1);
	close(said[0]);
	return pid;
}

/* Its status: 0, or 128 + the signal that killed it. */
static int child_status(pid_t pid)
{
	int status = 0;

	for (int i = 0; i < WAIT_MS / 10; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		usleep(10000);
	}
	kill(pid, SIGKILL);
	check(!"the child ends in time");
	return -1;
}

/* What the mapping says in the end. */
static int signal_of(const uint8_t *at)
{
	uint32_t value;
	int sig = 0;

	for (int i = 0; i < WAIT_MS && !sig; i++) {
		sig = load_signal(at, &value);
		usleep(1000);
	}
	return sig;
}

/* Its mapping goes while the drive still is at work for others. */
static int look_at_it(uint8_t *at)
{
	at[0] = 1;
	say();
	if (signal_of(at) != SIGBUS)
		return 1;
	return drive_is_at_work() ? 0 : 2;
}

/* A request under way, and after it one for a mapping of nothing. */
static int have_it_read(uint8_t *at)
{
	int64_t ret;
#ifdef HAVE_LIBURING
	struct io_uring ring;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;

	if (io_uring_queue_init(4, &ring, 0))
		return 1;
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_read(sqe, drive, at, LEN, 0);
	if (io_uring_submit(&ring) != 1)
		return 2;
	say();
	if (io_uring_wait_cqe(&ring, &cqe))
		return 3;
	ret = cqe->res;
#else
	say();
	ret = try_read(drive, at, LEN, 0);
#endif
	if (ret != (int64_t)LEN && ret != -EIO)
		return 4;
	if (signal_of(at) != SIGBUS)
		return 5;
	return try_read(drive, at, 4096, 0) == -EFAULT ? 0 : 6;
}

static uint8_t *map_dmabuf(void)
{
	struct bl_card_export export = { .len = LEN, .handle = mem.mem.handle, .flags = BL_CARD_EXPORT_MMAP };
	uint8_t *at;

	check_eq(try_request(gpu, BL_CARD_IOC_EXPORT, &export), 0);
	at = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, export.fd, 0);
	check(at != MAP_FAILED);
	close(export.fd);
	at[0] = 1;
	return at;
}

static void must_be_gone(const uint8_t *at)
{
	uint32_t value;

	check_eq(load_signal(at, &value), SIGBUS);
	check_eq(load_signal(at + LEN - 4, &value), SIGBUS);
	check_eq(try_read(drive, (void *)at, 4096, 0), -EFAULT);
	check_eq(try_write(drive, at, 4096, LEN), -EFAULT);
}

static void card_must_be_gone(void)
{
	struct gpu_mem other;

	check_eq(try_slice_alloc(gpu, LEN, &other), -ENODEV);
	check(mmap(NULL, 4096, PROT_READ, MAP_SHARED, gpu, (off_t)mem.mem.offset) == MAP_FAILED);
	check_eq(open(BL_CARD_PATH, O_RDWR | O_CLOEXEC), -1);
	check_eq(errno, ENODEV);
	check_eq(try_module_unload("bl_card"), -EAGAIN);
}

/* All of the slice can be had, and the drive reaches it. */
static void new_card_must_work(const struct way *way)
{
	close(gpu);
	way->give();
	gpu = gpu_open();
	mem = slice_alloc(gpu, SLICE_SIZE);
	check(host_ask("fill-drive", 8 * MIB, LEN, "5aa5"));
	check_eq(try_read(drive, mem.at + SLICE_SIZE - LEN, LEN, 8 * MIB), LEN);
	check(host_ask("check", mem.mem.offset + SLICE_SIZE - LEN, LEN, "5aa5"));
	slice_free(gpu, &mem);
	close(drive);
	slice_check_clean(gpu);
	close(gpu);
}

/* No device is at the memory any more: the host's bytes stay. */
static void memory_must_be_left_alone(void)
{
	check(host_ask("fill", mem.mem.offset, 2 * LEN, "cc"));
	check(host_do(FAST));
	usleep(300000);
	check(host_ask("check", mem.mem.offset, 2 * LEN, "cc"));
}

/* @rate: of the drive, which is at work for the time that the card needs to go */
static void goes_while_used(const struct way *way, unsigned long rate, bool may_fail)
{
	struct request requests[2];
	pid_t looks, reads;
	uint8_t *view;

	begin();
	view = map_dmabuf();
	slow(rate);
	for (int i = 0; i < 2; i++)
		start(&requests[i], i);
	for (int i = 0; i < WAIT_MS / 10 && !drive_is_at_work(); i++)
		usleep(10000);
	reads = start_child(have_it_read);
	looks = start_child(look_at_it);
	check_eq(try_module_unload("bl_card"), -EAGAIN);
	way->take();
	memory_must_be_left_alone();
	for (int i = 0; i < 2; i++)
		must_have_ended(&requests[i], may_fail);
	check_eq(child_status(looks), 0);
	check_eq(child_status(reads), 0);
	must_be_gone(mem.at);
	must_be_gone(mem.at + LEN);
	must_be_gone(view);
	card_must_be_gone();
	munmap(view, LEN);
	munmap(mem.at, 2 * LEN);
	new_card_must_work(way);
}

static void unbound(void)
{
	goes_while_used(&way_unbind, MIB, false);
}

static void removed(void)
{
	goes_while_used(&way_remove, MIB, false);
}

/* The kernel waits five seconds before it asks the driver. */
static void unplugged(void)
{
	if (!slots_are_watched())
		skip("this kernel does not watch its slots");
	goes_while_used(&way_unplug, 400 * KIB, false);
}

static void torn_out(void)
{
	goes_while_used(&way_surprise, MIB, true);
}

/* Who has begun a request has handed over all of its pages then. */
static void wait_for_the_drive(void)
{
	for (int i = 0; i < WAIT_MS / 10 && !drive_is_at_work(); i++)
		usleep(10000);
	usleep(300000);
}

/* Memory that its owner has freed already, and that waits for the drive. */
static void freed_before(void)
{
	struct request request;

	begin();
	slow(MIB);
	start(&request, false);
	wait_for_the_drive();
	gpu_free(gpu, &mem.mem);
	check_eq(gpu_counters(gpu).lingering, 2 * LEN);
	way_surprise.take();
	memory_must_be_left_alone();
	must_have_ended(&request, true);
	must_be_gone(mem.at);
	munmap(mem.at, 2 * LEN);
	new_card_must_work(&way_surprise);
}

/* Killed while it waits for the drive. */
static int die_in_a_read(uint8_t *at)
{
	pid_t self = getpid();

	if (!fork()) {
		usleep(100000);
		kill(self, SIGKILL);
		_exit(0);
	}
	say();
	return try_read(drive, at, LEN, 0) < 0;
}

static void killed_before(void)
{
	pid_t pid;

	begin();
	slow(MIB);
	pid = start_child(die_in_a_read);
	wait_for_the_drive();
	way_unbind.take();
	memory_must_be_left_alone();
	check_eq(child_status(pid), 128 + SIGKILL);
	must_be_gone(mem.at);
	munmap(mem.at, 2 * LEN);
	new_card_must_work(&way_unbind);
}

#ifdef HAVE_LIBURING
static atomic_int *let_go;

/* The ring keeps the pages, with no request under way, until the process ends. */
static int register_it(uint8_t *at)
{
	struct iovec vec = { .iov_base = at, .iov_len = LEN };
	struct io_uring ring;
	int ret;

	if (io_uring_queue_init(4, &ring, 0))
		return 1;
	ret = io_uring_register_buffers(&ring, &vec, 1);
	say();
	if (ret == -EOPNOTSUPP)
		return 100;
	if (ret)
		return 2;
	if (signal_of(at) != SIGBUS)
		return 3;
	usleep(500000);
	atomic_store(let_go, 1);
	kill(getpid(), SIGKILL);
	return 4;
}

static void registered(void)
{
	int status;
	pid_t pid;

	begin();
	let_go = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	check(let_go != MAP_FAILED);
	pid = start_child(register_it);
	way_unbind.take();
	status = child_status(pid);
	if (status != 100) {
		check_eq(status, 128 + SIGKILL);
		/* not before that */
		check_eq(atomic_load(let_go), 1);
	}
	memory_must_be_left_alone();
	munmap(let_go, 4096);
	munmap(mem.at, 2 * LEN);
	new_card_must_work(&way_unbind);
	if (status == 100)
		skip("this kernel registers no such buffers");
}
#else
static void registered(void)
{
	skip("built without liburing");
}
#endif

static const struct tap_test tests[] = {
	{ "a_card_unbound_under_io_goes_when_the_drive_is_done", unbound },
	{ "a_card_removed_under_io_goes_when_the_drive_is_done", removed },
	{ "a_card_unplugged_under_io_goes_when_the_drive_is_done", unplugged },
	{ "a_card_torn_out_under_io_is_let_go_when_the_drive_is_done", torn_out },
	{ "memory_freed_under_io_goes_with_the_card_torn_out", freed_before },
	{ "a_process_killed_in_io_does_not_keep_the_card", killed_before },
	{ "a_card_stays_until_a_registered_buffer_is_let_go", registered },
};

TAP_MAIN(tests)
