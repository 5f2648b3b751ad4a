// SPDX-License-Identifier: MIT
#include "fuzz.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define MAX_MEMS 8

atomic_ulong nr_calls, nr_failures;
int fuzz_gpu;

static unsigned int seconds;
static unsigned int seed;
static atomic_int files[FUZZ_FILES];
static pthread_mutex_t mems_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gpu_mem mems[MAX_MEMS];
static unsigned int nr_mems;
static void (*step_fn)(struct fuzz *s);
static void (*end_fn)(struct fuzz *s);

uint64_t draw(struct fuzz *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return s->random;
}

uint64_t pick(struct fuzz *s, uint64_t nr)
{
	return draw(s) % nr;
}

int a_file(struct fuzz *s)
{
	return atomic_load(&files[pick(s, FUZZ_FILES)]);
}

void fuzz_reopen(struct fuzz *s, const char *path)
{
	int fresh = open(path, O_RDWR | O_CLOEXEC);

	if (fresh < 0)
		atomic_fetch_add(&nr_failures, 1);
	else
		close(atomic_exchange(&files[pick(s, FUZZ_FILES)], fresh));
}

struct gpu_mem a_mem(struct fuzz *s)
{
	struct gpu_mem mem;

	pthread_mutex_lock(&mems_lock);
	mem = mems[pick(s, nr_mems)];
	pthread_mutex_unlock(&mems_lock);
	return mem;
}

/* Persistent pins keep what is freed, so video memory may be used up: then there is one allocation less for a while. */
void fuzz_free(struct fuzz *s)
{
	struct gpu_mem *mem = &mems[pick(s, nr_mems)];
	struct bl_card_free arg = { 0 };

	pthread_mutex_lock(&mems_lock);
	arg.handle = mem->handle;
	if (mem->len && ioctl(fuzz_gpu, BL_CARD_IOC_FREE, &arg))
		atomic_fetch_add(&nr_failures, 1);
	if (try_gpu_alloc(fuzz_gpu, FUZZ_MEM_SIZE, mem))
		*mem = (struct gpu_mem){ 0 };
	pthread_mutex_unlock(&mems_lock);
}

void fuzz_set_up(int (*open_file)(void), unsigned int nr)
{
	check(nr <= MAX_MEMS);
	fuzz_gpu = gpu_open();
	for (size_t i = 0; i < FUZZ_FILES; i++)
		files[i] = open_file();
	nr_mems = nr;
	for (size_t i = 0; i < nr_mems; i++)
		mems[i] = gpu_alloc(fuzz_gpu, FUZZ_MEM_SIZE);
}

static void *work(void *arg)
{
	struct fuzz s = {
		.random = ((uint64_t)seed << 8 | (uintptr_t)arg) * 0x9e3779b97f4a7c15UL + 1,
		.nr = (unsigned int)(uintptr_t)arg,
	};
	struct timespec now, end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += seconds;
	do {
		for (int i = 0; i < 20; i++) {
			step_fn(&s);
			atomic_fetch_add(&nr_calls, 1);
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec);
	if (end_fn)
		end_fn(&s);
	return NULL;
}

int fuzz_run(void (*step)(struct fuzz *s), void (*end)(struct fuzz *s))
{
	pthread_t threads[FUZZ_THREADS];

	step_fn = step;
	end_fn = end;
	for (size_t i = 0; i < FUZZ_THREADS; i++) {
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			return 1;
	}
	for (size_t i = 0; i < FUZZ_THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

void fuzz_in_child(int (*child)(void *arg))
{
	printf("# seed %u, %u seconds\n", seed, seconds);
	fflush(stdout);
	check_eq(in_child(child, NULL), 0);
}

int fuzz_main(const struct tap_test *tests, size_t nr, unsigned int default_seconds, int argc, char **argv)
{
	const char *stress = getenv("LAB_STRESS");

	seconds = default_seconds;
	seed = argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 0) : (unsigned int)time(NULL);
	if (argc > 1)
		seconds = (unsigned int)strtoul(argv[1], NULL, 0);
	else if (stress)
		seconds = (unsigned int)strtoul(stress, NULL, 0) / 2;
	return tap_main(tests, nr, 1, argv);
}
