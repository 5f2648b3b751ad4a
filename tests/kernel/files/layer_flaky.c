// SPDX-License-Identifier: MIT
/* A device that fails for a while and works for a while, or is pulled: four threads get what is right, or an error. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "layer.h"
#include "tests/tap.h"

#define THREADS 4
#define SLOT	(64UL << 10)
#define SLOTS	(LAYER_SIZE / THREADS / SLOT) /* of each thread */
#define SECONDS 6

static struct tested tested;

/**
 * struct mover - a thread
 * @nr:    number
 * @write: it writes, to its own slots
 * @until_error: it ends with the first error
 * @memory: its own
 * @value: of its slots; -1: an error left them open
 * @good:  requests that were done
 * @bad:   errors
 * @wrong: neither: bytes that were never written, or an error of another kind
 * @err:   errno of the last error
 * @ended: the thread is at its end
 */
struct mover {
	unsigned int nr;
	bool write;
	bool until_error;
	struct memory memory;
	int value[SLOTS];
	unsigned int good;
	unsigned int bad;
	unsigned int wrong;
	int err;
	atomic_bool ended;
};

static struct mover movers[THREADS];
static atomic_bool stop;

static void fill(void)
{
	layer_fill();
}

static bool right(struct mover *mover, size_t pos, size_t len)
{
	unsigned char bytes[SLOT];

	if (world.cuda->cuMemcpyDtoH(bytes, (uintptr_t)mover->memory.base, len))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] != pattern_at(LAYER_SEED, pos + i))
			return false;
	}
	return true;
}

static ssize_t read_slot(struct mover *mover, size_t pos)
{
	ssize_t got;

	posix_fadvise(tested.plain, (off_t)pos, SLOT, POSIX_FADV_DONTNEED);
	got = cuFileRead(tested.handle, mover->memory.base, SLOT, (off_t)pos, 0);
	mover->wrong += got > 0 && !right(mover, pos, (size_t)got);
	return got;
}

static ssize_t write_slot(struct mover *mover, size_t slot, size_t pos)
{
	unsigned char bytes[SLOT];
	int value = (int)(mover->good % 200 + 1);
	ssize_t got;

	memset(bytes, value, SLOT);
	if (world.cuda->cuMemcpyHtoD((uintptr_t)mover->memory.base, bytes, SLOT))
		return 0;
	got = cuFileWrite(tested.handle, mover->memory.base, SLOT, (off_t)pos, 0);
	mover->value[slot] = got == SLOT ? value : -1;
	return got;
}

static void *move(void *arg)
{
	struct mover *mover = arg;
	unsigned long state = 7919 * (mover->nr + 1);

	world.cuda->cuCtxSetCurrent(world.context);
	while (!atomic_load(&stop) && !(mover->until_error && mover->bad)) {
		size_t slot = next_random(&state) % SLOTS, pos = (mover->nr * SLOTS + slot) * SLOT;
		ssize_t got = mover->write ? write_slot(mover, slot, pos) : read_slot(mover, pos);

		if (got == SLOT) {
			mover->good++;
			continue;
		}
		mover->bad++;
		if (got < 0)
			mover->err = errno;
		mover->wrong += got < 0 && errno != EIO && !mover->until_error;
		usleep(2000);
	}
	atomic_store(&mover->ended, true);
	return NULL;
}

static void start(pthread_t *threads, const struct layer_way *way, unsigned int writers, bool until_error)
{
	atomic_store(&stop, false);
	for (unsigned int i = 0; i < THREADS; i++) {
		movers[i] = (struct mover){ .nr = i, .write = i < writers, .until_error = until_error };
		memory_make(&movers[i].memory, way->kind, SLOT);
		for (size_t slot = 0; slot < SLOTS; slot++)
			movers[i].value[slot] = -1;
	}
	for (unsigned int i = 0; i < THREADS; i++)
		check_eq(pthread_create(&threads[i], NULL, move, &movers[i]), 0);
}

static void run(const struct layer_way *way, unsigned int writers)
{
	struct memory unused;
	pthread_t threads[THREADS];

	layer_open(way, &tested, &unused);
	start(threads, way, writers, false);
	sleep(SECONDS);
	atomic_store(&stop, true);
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		printf("# thread %u: %u done, %u errors\n", i, movers[i].good, movers[i].bad);
		memory_drop(&movers[i].memory);
	}
	fflush(stdout);
	for (unsigned int i = 0; i < THREADS; i++) {
		check_eq(movers[i].wrong, 0);
		check(movers[i].good && movers[i].bad);
	}
	memory_drop(&unused);
}

static void flaky_reads(const void *arg)
{
	run(arg, 0);
	tested_drop(&tested);
}

/* What was told to be written is on the device when it works again. */
static void flaky_writes(const void *arg)
{
	static unsigned char bytes[SLOT] __attribute__((aligned(4096)));
	unsigned int known = 0;
	int fd;

	run(arg, THREADS);
	layer_must(layer_text("LAYER_GO"));
	fd = open(tested.path, O_RDONLY | O_CLOEXEC | O_DIRECT);
	check(fd >= 0);
	for (size_t i = 0; i < THREADS * SLOTS; i++) {
		int value = movers[i / SLOTS].value[i % SLOTS];

		if (value < 0)
			continue;
		known++;
		check_eq(pread(fd, bytes, SLOT, (off_t)(i * SLOT)), SLOT);
		for (size_t j = 0; j < SLOT; j++)
			check_eq(bytes[j], value);
	}
	check(known);
	close(fd);
	tested_drop(&tested);
}

static void reads(void)
{
	static const struct layer_way ways[] = { { "", "0", O_DIRECT, REGISTERED }, { "", "0", 0, UNREGISTERED } };

	for (size_t i = 0; i < 2; i++)
		layer_in_time(flaky_reads, &ways[i], "");
}

static void writes(void)
{
	static const struct layer_way way = { "", "0", O_DIRECT, REGISTERED };

	layer_in_time(flaky_writes, &way, "");
}

/* Everything ends, with an error, for each thread; the process too. */
static void pull(const void *arg)
{
	struct memory unused;
	pthread_t threads[THREADS];

	layer_open(arg, &tested, &unused);
	start(threads, arg, 2, true);
	usleep(500000);
	layer_must(layer_text("LAYER_STOP"));
	for (unsigned int i = 0; i < THREADS; i++) {
		for (int tick = 0; tick < 3000 && !atomic_load(&movers[i].ended); tick++)
			usleep(10000);
		check(atomic_load(&movers[i].ended));
		pthread_join(threads[i], NULL);
		printf("# thread %u: %u done, then %s\n", i, movers[i].good, strerror(movers[i].err));
		check_eq(movers[i].wrong, 0);
		check(movers[i].good && movers[i].err);
	}
	fflush(stdout);
	check_eq(cuFileWrite(tested.handle, unused.base, LAYER_SIZE, 0, 0), -1);
	check_eq(cuFileRead(tested.handle, unused.base, LAYER_SIZE, 0, 0), -1);
	for (unsigned int i = 0; i < THREADS; i++)
		memory_drop(&movers[i].memory);
	layer_close(&tested, &unused);
}

static void pulled(void)
{
	static const struct layer_way way = { "", "0", O_DIRECT, REGISTERED };

	layer_in_time(pull, &way, "");
}

static const struct tap_test tests[] = {
	{ "the_file_is_made", fill },
	{ "reads_are_right_or_eio", reads },
	{ "writes_that_were_told_are_there", writes },
	{ "a_device_that_is_pulled_ends_all_requests", pulled },
};

TAP_MAIN(tests)
