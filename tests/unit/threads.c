// SPDX-License-Identifier: MIT
/*
 * threads.c - many threads use the library at once, and forks come in between
 *
 * For BL_STRESS_SECONDS (2 by default). Each thread has its own pages and checks every byte; contexts are shared.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "barlane.h"
#include "fake_gdrdrv.h"
#include "tap.h"

#define NR_THREADS 8
#define PAGE	   65536UL

/* The allocators of sanitizers are not made for children of processes with threads: only refusals are tested there. */
#if defined(__has_feature)
#define HAS_FEATURE(x) __has_feature(x)
#else
#define HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif HAS_FEATURE(thread_sanitizer) || HAS_FEATURE(address_sanitizer)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

struct worker {
	pthread_t thread;
	bl_ctx_t ctx;
	unsigned int nr;
	unsigned long rounds;
	char wrong[128];
};

static atomic_bool stop;

static double seconds(void)
{
	const char *value = getenv("BL_STRESS_SECONDS");

	return value && atof(value) > 0 ? atof(value) : 2;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

#define must(cond)                                                                                                     \
	do {                                                                                                           \
		if (!(cond)) {                                                                                         \
			snprintf(w->wrong, sizeof(w->wrong), "line %d: %.60s: %.40s", __LINE__, #cond,                 \
				 bl_last_error(NULL));                                                                 \
			return -1;                                                                                     \
		}                                                                                                      \
	} while (0)

/* The life of one pin, with a pattern that no other thread or round has. */
static int one_life(struct worker *w, bl_ctx_t ctx)
{
	uint64_t va = FAKE_VRAM_VA + w->nr * 4 * PAGE;
	size_t pages = 1 + w->rounds % 4;
	uint8_t sent[512], seen[512];
	struct bl_pin_info info;
	void *addr = NULL;
	bl_pin_t pin = 0;

	for (size_t i = 0; i < sizeof(sent); i++)
		sent[i] = (uint8_t)(w->nr * 31 + w->rounds + i);
	must(!bl_pin(ctx, va, pages * PAGE, 0, 0, 0, &pin) && pin);
	must(!bl_pin_info(ctx, pin, &info) && info.va == va && info.len == pages * PAGE);
	must(!bl_map(ctx, pin, pages * PAGE, BL_MAP_NONE, &addr));
	must(!bl_copy_to(pin, (uint8_t *)addr + (pages - 1) * PAGE + 5, sent, sizeof(sent)));
	must(!bl_copy_from(pin, seen, (uint8_t *)addr + (pages - 1) * PAGE + 5, sizeof(seen)));
	must(!memcmp(sent, seen, sizeof(sent)));
	must(!memcmp(fake_vram() + w->nr * 4 * PAGE + (pages - 1) * PAGE + 5, sent, sizeof(sent)));
	if (w->rounds % 3)
		must(!bl_unmap(ctx, pin, addr, pages * PAGE));
	must(!bl_unpin(ctx, pin));
	must(bl_unpin(ctx, pin) == -EINVAL);
	must(bl_copy_to(pin, addr, sent, 1) == -EINVAL);
	return 0;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	bl_ctx_t own = 0;

	for (w->rounds = 0; !atomic_load(&stop) && !w->wrong[0]; w->rounds++) {
		if (one_life(w, w->ctx))
			break;
		if (w->rounds % 16)
			continue;
		/* a context of its own now and then, closed with a pin in it */
		if (bl_open("gdrdrv", &own) || one_life(w, own) ||
		    bl_pin(own, FAKE_VRAM_VA + w->nr * 4 * PAGE, PAGE, 0, 0, 0, &(bl_pin_t){0}) || bl_close(own)) {
			if (!w->wrong[0])
				snprintf(w->wrong, sizeof(w->wrong), "own context: %.80s", bl_last_error(NULL));
		}
	}
	return NULL;
}

/* A child either leaves at once or uses the library itself. */
static int child(bl_ctx_t inherited, int how)
{
	struct worker w = {.nr = NR_THREADS + 1};
	bl_ctx_t own = 0;

	alarm(60);
	if (bl_pin(inherited, FAKE_VRAM_VA, PAGE, 0, 0, 0, &(bl_pin_t){0}) != -EACCES)
		return 1;
	if (how == 0)
		return bl_close(inherited) ? 2 : 0;
	if (bl_open("gdrdrv", &own) || one_life(&w, own) || bl_close(own))
		return 3;
	return bl_close(inherited) == -EINVAL ? 0 : 4;
}

/* A child that does not even come to its alarm, within fork(), is a failure that says so, and not a test that hangs. */
static int fork_once(bl_ctx_t ctx, int how)
{
	double end = now() + 90;
	int status = -1;
	pid_t pid = fork(), ended;

	if (!pid)
		syscall(SYS_exit_group, child(ctx, how));
	if (pid < 0)
		return -1;
	while (!(ended = waitpid(pid, &status, WNOHANG))) {
		if (now() > end)
			kill(pid, SIGKILL);
		usleep(200);
	}
	return ended == pid ? status : -1;
}

static void run(bool with_forks)
{
	struct worker workers[NR_THREADS] = {0};
	double end = now() + seconds();
	unsigned long rounds = 0, forks = 0;
	bl_ctx_t ctx[2];
	int status = 0;

	fake_gdrdrv_begin(6);
	check_eq(bl_open("gdrdrv", &ctx[0]), 0);
	check_eq(bl_open("gdrdrv", &ctx[1]), 0);
	atomic_store(&stop, false);
	for (unsigned int i = 0; i < NR_THREADS; i++) {
		workers[i].nr = i;
		workers[i].ctx = ctx[i % 2];
		check(!pthread_create(&workers[i].thread, NULL, work, &workers[i]));
	}
	while (now() < end && !status) {
		if (with_forks)
			status = fork_once(ctx[0], SANITIZED ? 0 : forks % 2);
		forks += (unsigned long)with_forks;
		usleep(2000);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	for (int i = 0; i < NR_THREADS; i++) {
		check_str(workers[i].wrong, "");
		check(workers[i].rounds > 0);
		rounds += workers[i].rounds;
	}
	check_eq(status, 0);
	check_eq(bl_close(ctx[0]), 0);
	check_eq(bl_close(ctx[1]), 0);
	printf("# %lu pins, %lu forks\n", rounds, forks);
	fake_gdrdrv_end();
}

static void threads_do_not_disturb_each_other(void)
{
	run(false);
}

static void forks_do_not_disturb_threads(void)
{
	run(true);
}

/* Two threads are given the same handle: one of each pair of calls must win, never both, never neither. */
static struct {
	bl_ctx_t ctx;
	bl_pin_t pin;
	pthread_barrier_t barrier;
	atomic_int won;
	atomic_int other;
} race;

static void *race_unpin(void *arg)
{
	size_t rounds = (size_t)(uintptr_t)arg;

	for (size_t i = 0; i < rounds; i++) {
		int ret;

		pthread_barrier_wait(&race.barrier);
		ret = bl_unpin(race.ctx, race.pin);
		if (!ret)
			atomic_fetch_add(&race.won, 1);
		else if (ret != -EINVAL)
			atomic_fetch_add(&race.other, 1);
		pthread_barrier_wait(&race.barrier);
	}
	return NULL;
}

static void of_two_threads_that_unpin_one_wins(void)
{
	const size_t rounds = 2000;
	pthread_t threads[2];

	fake_gdrdrv_begin(6);
	memset(&race, 0, sizeof(race));
	check_eq(bl_open("gdrdrv", &race.ctx), 0);
	check(!pthread_barrier_init(&race.barrier, NULL, 3));
	for (int i = 0; i < 2; i++)
		check(!pthread_create(&threads[i], NULL, race_unpin, (void *)(uintptr_t)rounds));
	for (size_t i = 0; i < rounds; i++) {
		int ret = bl_pin(race.ctx, FAKE_VRAM_VA, PAGE, 0, 0, 0, &race.pin);

		atomic_fetch_add(&race.other, ret != 0);
		pthread_barrier_wait(&race.barrier);
		pthread_barrier_wait(&race.barrier);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&race.barrier);
	check_eq(atomic_load(&race.won), rounds);
	check_eq(atomic_load(&race.other), 0);
	check_eq(bl_close(race.ctx), 0);
	fake_gdrdrv_end();
}

/* Pinning while the context is closed: each pin works or is refused, and none is left. */
static void *pin_until_refused(void *arg)
{
	bl_ctx_t ctx = *(bl_ctx_t *)arg;
	bl_pin_t pin;
	int ret;

	do {
		ret = bl_pin(ctx, FAKE_VRAM_VA, PAGE, 0, 0, 0, &pin);
		if (!ret && pin % 2)
			bl_unpin(ctx, pin);
	} while (!ret);
	return (void *)(intptr_t)ret;
}

static void closing_under_threads_that_pin_leaves_nothing(void)
{
	for (int round = 0; round < 100; round++) {
		pthread_t threads[4];
		bl_ctx_t ctx = 0;

		fake_gdrdrv_begin(6);
		check_eq(bl_open("gdrdrv", &ctx), 0);
		for (int i = 0; i < 4; i++)
			check(!pthread_create(&threads[i], NULL, pin_until_refused, &ctx));
		usleep(500);
		check_eq(bl_close(ctx), 0);
		for (int i = 0; i < 4; i++) {
			void *ret;

			pthread_join(threads[i], &ret);
			check_eq((intptr_t)ret, -EINVAL);
		}
		fake_gdrdrv_end();
	}
}

static const struct tap_test tests[] = {
	{"threads do not disturb each other", threads_do_not_disturb_each_other},
	{"forks do not disturb threads", forks_do_not_disturb_threads},
	{"of two threads that unpin one wins", of_two_threads_that_unpin_one_wins},
	{"closing under threads that pin leaves nothing", closing_under_threads_that_pin_leaves_nothing},
};

TAP_MAIN(tests)
