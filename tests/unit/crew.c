// SPDX-License-Identifier: MIT
/* Threads of the storage lane where there are none to be had: pthread_create() is led through a gate. */
#include "file/crew.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"
#include "util/log.h"

#define SECOND 1000000000ULL

/* While it is shut, creation takes long enough for others to come by, and fails. */
static atomic_bool shut;
static atomic_uint asked;
/* While it is set, threads run late. */
static atomic_bool late;

struct start {
	void *(*start)(void *);
	void *arg;
};

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg);

static void *start_late(void *arg)
{
	struct start start = *(struct start *)arg;

	free(arg);
	usleep(200000);
	return start.start(start.arg);
}

static int create_late(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	struct start *copy = malloc(sizeof(*copy));
	int ret;

	check(copy);
	*copy = (struct start){ start, arg };
	ret = __real_pthread_create(thread, attr, start_late, copy);
	if (ret)
		free(copy);
	return ret;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	int state = PTHREAD_CREATE_JOINABLE;

	/* the crew's are detached, the test's own are not */
	if (attr)
		pthread_attr_getdetachstate(attr, &state);
	if (state != PTHREAD_CREATE_DETACHED)
		return __real_pthread_create(thread, attr, start, arg);
	atomic_fetch_add(&asked, 1);
	if (atomic_load(&late))
		return create_late(thread, attr, start, arg);
	if (!atomic_load(&shut))
		return __real_pthread_create(thread, attr, start, arg);
	usleep(20000);
	return EAGAIN;
}

struct piece {
	struct bl_work work;
	atomic_uint runs;
};

static void run(struct bl_work *work)
{
	atomic_fetch_add(&((struct piece *)work)->runs, 1);
}

static void chain(struct piece *pieces, int nr)
{
	for (int i = 0; i < nr; i++) {
		pieces[i] = (struct piece){ .work.run = run };
		pieces[i].work.next = i + 1 < nr ? &pieces[i + 1].work : NULL;
	}
}

static void begin(bool without_threads)
{
	atomic_store(&shut, false);
	check_eq(bl_crew_stop(10 * SECOND), 0);
	check_eq(bl_crew_size(), 0);
	atomic_store(&asked, 0);
	atomic_store(&shut, without_threads);
}

/* Whether all of them ran, once each, in some seconds. */
static bool all_ran(struct piece *pieces, int nr)
{
	for (int i = 0; i < nr; i++) {
		for (int ms = 0; ms < 5000 && !atomic_load(&pieces[i].runs); ms++)
			usleep(1000);
		if (atomic_load(&pieces[i].runs) != 1)
			return false;
	}
	return true;
}

static void work_is_done_by_threads_that_are_made_for_it(void)
{
	struct piece pieces[8];

	begin(false);
	chain(pieces, 8);
	check_eq(bl_crew_submit(&pieces[0].work), 0);
	check(all_ran(pieces, 8));
	check(bl_crew_size() >= 1 && bl_crew_size() <= bl_crew_limit());
}

static void without_a_thread_the_chain_is_as_it_was(void)
{
	struct piece pieces[4];

	begin(true);
	chain(pieces, 4);
	check_eq(bl_crew_submit(&pieces[0].work), -EAGAIN);
	check_eq(atomic_load(&asked), 1);
	for (int i = 0; i < 4; i++) {
		check(pieces[i].work.next == (i < 3 ? &pieces[i + 1].work : NULL));
		check(!bl_crew_withdraw(&pieces[i].work));
		check_eq(atomic_load(&pieces[i].runs), 0);
	}
	check_eq(bl_crew_size(), 0);
	/* and can be handed over again */
	atomic_store(&shut, false);
	check_eq(bl_crew_submit(&pieces[0].work), 0);
	check(all_ran(pieces, 4));
}

/* It was made for work that another thread has done by the time it runs. */
static void a_thread_that_runs_late_leaves_with_the_others(void)
{
	struct piece pieces[2];

	begin(false);
	atomic_store(&late, true);
	chain(pieces, 2);
	check_eq(bl_crew_submit(&pieces[0].work), 0);
	check(all_ran(pieces, 2));
	check_eq(bl_crew_size(), 2);
	check_eq(bl_crew_stop(5 * SECOND), 0);
	atomic_store(&late, false);
}

static void *submit(void *arg)
{
	return (void *)(intptr_t)bl_crew_submit(arg);
}

/* Each is told so, or has its work done: none is left to the thread that another one fails to make. */
static void submitters_that_get_no_thread_at_once_lose_no_work(void)
{
	struct piece pieces[4][2];
	pthread_t threads[4];
	void *ret[4];

	begin(true);
	for (int i = 0; i < 4; i++) {
		chain(pieces[i], 2);
		check_eq(pthread_create(&threads[i], NULL, submit, &pieces[i][0].work), 0);
	}
	for (int i = 0; i < 4; i++)
		check_eq(pthread_join(threads[i], &ret[i]), 0);
	for (int i = 0; i < 4; i++)
		check(ret[i] ? (intptr_t)ret[i] == -EAGAIN && !atomic_load(&pieces[i][0].runs) : all_ran(pieces[i], 2));
}

static void *withdraw(void *arg)
{
	struct piece *pieces = arg;

	usleep(5000);
	return bl_crew_withdraw(&pieces[1].work) ? arg : NULL;
}

/* As when a batch is cancelled by another thread than the one that submits it. */
static void what_is_withdrawn_meanwhile_does_not_break_the_chain(void)
{
	struct piece pieces[3];
	pthread_t thread;
	void *taken;
	int ret;

	begin(true);
	chain(pieces, 3);
	check_eq(pthread_create(&thread, NULL, withdraw, pieces), 0);
	ret = bl_crew_submit(&pieces[0].work);
	check_eq(pthread_join(thread, &taken), 0);
	check_eq(ret, -EAGAIN);
	check(!taken);
	check(pieces[0].work.next == &pieces[1].work && pieces[1].work.next == &pieces[2].work && !pieces[2].work.next);
}

static void hold(struct bl_work *work)
{
	run(work);
	usleep(100000);
}

static atomic_uint nr_errors;

static void count_error(enum bl_log_level level, const char *text)
{
	atomic_fetch_add(&nr_errors, level == BL_LOG_ERROR);
}

static void a_thread_that_is_there_does_what_no_other_can_be_made_for(void)
{
	struct piece first, more[3];

	begin(false);
	bl_log_set_level(BL_LOG_ERROR);
	bl_log_set_sink(count_error);
	first = (struct piece){ .work.run = hold };
	check_eq(bl_crew_submit(&first.work), 0);
	check(all_ran(&first, 1));
	atomic_store(&shut, true);
	chain(more, 3);
	check_eq(bl_crew_submit(&more[0].work), 0);
	check(all_ran(more, 3));
	check_eq(bl_crew_size(), 1);
	bl_log_set_sink(NULL);
	bl_log_set_level(BL_LOG_OFF);
	/* nothing has failed */
	check_eq(atomic_load(&nr_errors), 0);
}

/* Threads are called for work that is gone when they wake: if they stayed counted as called, nobody would be woken more. */
static void work_that_is_withdrawn_leaves_nobody_deaf(void)
{
	struct piece pieces[4];

	begin(false);
	for (int round = 0; round < 500; round++) {
		bool withdrawn[4];

		chain(pieces, 4);
		check_eq(bl_crew_submit(&pieces[0].work), 0);
		for (int i = 0; i < 4; i++)
			withdrawn[i] = bl_crew_withdraw(&pieces[i].work);
		for (int i = 0; i < 4; i++)
			check(withdrawn[i] ? !atomic_load(&pieces[i].runs) : all_ran(&pieces[i], 1));
		if (round % 16)
			continue;
		usleep(2000);
		chain(pieces, 4);
		check_eq(bl_crew_submit(&pieces[0].work), 0);
		check(all_ran(pieces, 4));
	}
}

static atomic_bool gate;
static atomic_int inside;

static void stay(struct bl_work *work)
{
	atomic_fetch_add(&inside, 1);
	while (!atomic_load(&gate))
		usleep(1000);
	run(work);
}

/* As many as there may be wait for something, and more is queued: what is prompt is done, and nothing else of it. */
static void what_is_prompt_waits_for_nobody_who_waits(void)
{
	struct piece pieces[64], prompt[3];
	int limit = (int)bl_crew_limit(), nr = limit + 3;

	begin(false);
	atomic_store(&gate, false);
	atomic_store(&inside, 0);
	check(nr <= 64);
	chain(pieces, nr);
	for (int i = 0; i < nr; i++)
		pieces[i].work.run = stay;
	check_eq(bl_crew_submit(&pieces[0].work), 0);
	for (int ms = 0; ms < 5000 && atomic_load(&inside) < limit; ms++)
		usleep(1000);
	for (int round = 0; round < 20; round++) {
		chain(prompt, 3);
		for (int i = 0; i < 3; i++)
			prompt[i].work.prompt = true;
		check_eq(bl_crew_submit(&prompt[0].work), 0);
		check(all_ran(prompt, 3));
		check_eq(atomic_load(&inside), limit);
		check_eq(bl_crew_size(), limit + 1);
	}
	atomic_store(&gate, true);
	check(all_ran(pieces, nr));
	check_eq(bl_crew_stop(10 * SECOND), 0);
}

/* Both kinds have their turn. */
static void neither_kind_keeps_the_other_waiting(void)
{
	struct piece plain[40], prompt[40];

	begin(false);
	chain(plain, 40);
	chain(prompt, 40);
	for (int i = 0; i < 40; i++)
		prompt[i].work.prompt = true;
	check_eq(bl_crew_submit(&prompt[0].work), 0);
	check_eq(bl_crew_submit(&plain[0].work), 0);
	check(all_ran(plain, 40));
	check(all_ran(prompt, 40));
	check(bl_crew_size() <= bl_crew_limit() + 1);
	begin(true);
	chain(prompt, 2);
	prompt[0].work.prompt = prompt[1].work.prompt = true;
	check_eq(bl_crew_submit(&prompt[0].work), -EAGAIN);
	check(prompt[0].work.next == &prompt[1].work && !prompt[1].work.next);
	check(!bl_crew_withdraw(&prompt[0].work) && !bl_crew_withdraw(&prompt[1].work));
}

static const struct tap_test tests[] = {
	{"work is done by threads that are made for it", work_is_done_by_threads_that_are_made_for_it},
	{"without a thread the chain is as it was", without_a_thread_the_chain_is_as_it_was},
	{"a thread that runs late leaves with the others", a_thread_that_runs_late_leaves_with_the_others},
	{"submitters that get no thread at once lose no work", submitters_that_get_no_thread_at_once_lose_no_work},
	{"what is withdrawn meanwhile does not break the chain", what_is_withdrawn_meanwhile_does_not_break_the_chain},
	{"work that is withdrawn leaves nobody deaf", work_that_is_withdrawn_leaves_nobody_deaf},
	{"what is prompt waits for nobody who waits", what_is_prompt_waits_for_nobody_who_waits},
	{"neither kind keeps the other waiting", neither_kind_keeps_the_other_waiting},
	{"a thread that is there does what no other can be made for", a_thread_that_is_there_does_what_no_other_can_be_made_for},
};

TAP_MAIN(tests)
