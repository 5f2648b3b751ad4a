// SPDX-License-Identifier: MIT
/*
 * A device that answers late, or stands still until someone lets it go on: LAYER_STOP and LAYER_GO are the commands. What
 * is past its deadline ends, what is in the kernel's hands ends when the device goes on, and then all is as before.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "layer.h"
#include "tests/child.h"
#include "tests/tap.h"

#define SOON_MS 4000 /* deadline of requests */
#define SOON	"timeout_ms=4000"
#define LATE_MS 25000 /* a busy machine's 4000 */

static struct tested tested;
static struct memory memory;

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void fill(void)
{
	layer_fill();
}

static void is_as_before(void)
{
	ssize_t got;

	for (int i = 0; i < 3; i++) {
		got = cuFileRead(tested.handle, memory.base, LAYER_SIZE, 0, 0);
		if (got != (ssize_t)LAYER_SIZE)
			tap_end(TAP_FAILED, "read %d is %zd: %s: %s", i, got, strerror(errno), bl_last_error(NULL));
		layer_check(&memory, 0, 0, LAYER_SIZE);
	}
	/* what it holds, so that a write that ends late does no harm */
	check_eq(cuFileWrite(tested.handle, memory.base, LAYER_SIZE, 0, 0), LAYER_SIZE);
	check_eq(fsync(tested.fd), 0);
}

static void times_out(bool write)
{
	long start = now_ms(), took;
	ssize_t got;

	got = write ? cuFileWrite(tested.handle, memory.base, LAYER_SIZE, 0, 0) :
		      cuFileRead(tested.handle, memory.base, LAYER_SIZE, 0, 0);
	took = now_ms() - start;
	check_eq(got, -1);
	check_eq(errno, ETIMEDOUT);
	check(took >= SOON_MS && took < LATE_MS);
}

static void stand_still(const void *arg)
{
	layer_open(arg, &tested, &memory);
	is_as_before();
	layer_must(layer_text("LAYER_STOP"));
	times_out(false);
	times_out(true);
	times_out(false);
	layer_must(layer_text("LAYER_GO"));
	is_as_before();
	layer_close(&tested, &memory);
}

static void deadline(void)
{
	static const struct layer_way ways[] = { { "", "0", O_DIRECT, REGISTERED }, { "staged", "1", O_DIRECT, UNREGISTERED } };

	for (size_t i = 0; i < 2; i++)
		layer_in_time(stand_still, &ways[i], SOON);
}

static void *let_go(void *arg)
{
	usleep(SOON_MS * 1500);
	return (void *)(intptr_t)layer_run(layer_text("LAYER_GO"));
}

/* Calls that the thread itself is in have the kernel's patience. */
static void held(const void *arg)
{
	const struct layer_way *way = arg;
	pthread_t thread;
	void *status;
	ssize_t got;
	long start;

	layer_open(way, &tested, &memory);
	is_as_before();
	check_eq(posix_fadvise(tested.plain, 0, 0, POSIX_FADV_DONTNEED), 0);
	layer_must(layer_text("LAYER_STOP"));
	start = now_ms();
	check_eq(pthread_create(&thread, NULL, let_go, NULL), 0);
	got = cuFileRead(tested.handle, memory.base, LAYER_SIZE, 0, 0);
	check(got == -1 ? errno == ETIMEDOUT : got > 0 && got <= (ssize_t)LAYER_SIZE);
	check(now_ms() - start < LATE_MS);
	layer_check(&memory, 0, 0, got > 0 ? (size_t)got : 0);
	check_eq(pthread_join(thread, &status), 0);
	check(!status);
	is_as_before();
	layer_close(&tested, &memory);
}

static void calls_of_the_kernel(void)
{
	static const struct layer_way ways[] = { { "", "0", 0, REGISTERED },
						 { "plain", "1", O_DIRECT, REGISTERED },
						 { "", "0", O_DIRECT, PAGEABLE } };

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		layer_in_time(held, &ways[i], SOON);
}

/* A batch can be asked, and does not make its caller wait. */
static void batch_held(const void *arg)
{
	enum { NR = 16 };
	struct timespec moment = { 0, 200000000 }, patience = { 30, 0 };
	CUfileIOParams_t params[NR];
	CUfileIOEvents_t events[NR];
	CUfileBatchHandle_t batch;
	unsigned int nr = NR;
	long start;

	layer_open(arg, &tested, &memory);
	is_as_before();
	for (size_t i = 0; i < NR; i++)
		params[i] = (CUfileIOParams_t){ .mode = CUFILE_BATCH,
						.u.batch = { memory.base, (off_t)(i * 65536), (off_t)(i * 65536), 65536 },
						.fh = tested.handle,
						.opcode = CUFILE_READ };
	check_eq(cuFileBatchIOSetUp(&batch, NR).err, CU_FILE_SUCCESS);
	layer_must(layer_text("LAYER_STOP"));
	start = now_ms();
	check_eq(cuFileBatchIOSubmit(batch, NR, params, 0).err, CU_FILE_SUCCESS);
	check_eq(cuFileBatchIOGetStatus(batch, 1, &nr, events, &moment).err, CU_FILE_SUCCESS);
	check_eq(nr, 0);
	check(now_ms() - start < LATE_MS);
	layer_must(layer_text("LAYER_GO"));
	for (unsigned int done = 0; done < NR; done += nr) {
		nr = NR - done;
		check_eq(cuFileBatchIOGetStatus(batch, 1, &nr, events, &patience).err, CU_FILE_SUCCESS);
		check(nr);
		for (unsigned int i = 0; i < nr; i++)
			check_eq(events[i].status, CUFILE_COMPLETE);
	}
	layer_check(&memory, 0, 0, NR * 65536);
	cuFileBatchIODestroy(batch);
	layer_close(&tested, &memory);
}

static void batches(void)
{
	static const struct layer_way way = { "", "0", O_DIRECT, REGISTERED };

	layer_in_time(batch_held, &way, "");
}

static _Noreturn void move_forever(const struct layer_way *way)
{
	if (setjmp(tap_env))
		_exit(9);
	layer_open(way, &tested, &memory);
	for (;;) {
		if (cuFileRead(tested.handle, memory.base, LAYER_SIZE, 0, 0) != LAYER_SIZE ||
		    cuFileWrite(tested.handle, memory.base, LAYER_SIZE, 0, 0) != LAYER_SIZE)
			_exit(9);
	}
}

/* Killed while a device has its requests: it is gone when the device has answered, and the file is what it was. */
static void killed(const void *arg)
{
	int status = 0, ended = 0;
	pid_t pid = fork();

	check(pid >= 0);
	if (!pid)
		move_forever(arg);
	sleep(2);
	check_eq(waitpid(pid, &status, WNOHANG), 0);
	layer_must(layer_text("LAYER_STOP"));
	usleep(500000);
	check_eq(kill(pid, SIGKILL), 0);
	usleep(500000);
	layer_must(layer_text("LAYER_GO"));
	for (int i = 0; i < 200 && !ended; i++) {
		ended = waitpid(pid, &status, WNOHANG);
		usleep(100000);
	}
	check_eq(ended, pid);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	layer_open(arg, &tested, &memory);
	is_as_before();
	layer_close(&tested, &memory);
}

static void kill_9(void)
{
	static const struct layer_way ways[] = { { "", "0", O_DIRECT, REGISTERED }, { "", "0", 0, REGISTERED } };

	for (size_t i = 0; i < 2; i++)
		layer_in_time(killed, &ways[i], "");
}

static void wait_patiently(const void *arg)
{
	long start;

	layer_open(arg, &tested, &memory);
	check_eq(posix_fadvise(tested.plain, 0, 0, POSIX_FADV_DONTNEED), 0);
	start = now_ms();
	check_eq(cuFileRead(tested.handle, memory.base, 65536, 0, 0), 65536);
	/* the kernel counts in ticks of 4 ms */
	check(now_ms() - start + 5 >= (long)layer_number("LAYER_DELAY"));
	is_as_before();
	layer_close(&tested, &memory);
}

static void patience(void)
{
	layer_each(wait_patiently, 0);
}

static const struct tap_test tests[] = {
	{ "the_file_is_made", fill },
	{ "a_device_that_stands_still_is_etimedout", deadline },
	{ "calls_in_the_kernel_end_with_it", calls_of_the_kernel },
	{ "a_batch_does_not_hold_its_caller", batches },
	{ "a_process_that_is_killed_meanwhile_ends", kill_9 },
	{ "a_slow_device_is_waited_for", patience },
};

TAP_MAIN(tests)
