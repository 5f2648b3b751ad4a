// SPDX-License-Identifier: MIT
/* The crew of the storage lane goes on doing work, whatever was taken back from it before. */
#include <stdatomic.h>
#include <unistd.h>

#include "file/crew.h"
#include "tap.h"
#include "util/clock.h"

#define NR 4

/**
 * struct errand - work that counts
 */
struct errand {
	struct bl_work work;
	atomic_int done;
};

static void run(struct bl_work *work)
{
	atomic_fetch_add(&((struct errand *)work)->done, 1);
}

static void chain(struct errand *errands)
{
	for (int i = 0; i < NR; i++) {
		errands[i].work = (struct bl_work){ .run = run, .next = i + 1 < NR ? &errands[i + 1].work : NULL };
		atomic_store(&errands[i].done, 0);
	}
}

static bool wait_for(struct errand *errand)
{
	uint64_t end = bl_now_ns() + 10000000000U;

	while (!atomic_load(&errand->done) && bl_now_ns() < end)
		usleep(50);
	return atomic_load(&errand->done) == 1;
}

/* Threads are called for work that is gone when they wake. */
static void work_that_is_taken_back_leaves_nobody_deaf(void)
{
	struct errand errands[NR];

	for (int round = 0; round < 500; round++) {
		bool withdrawn[NR];

		chain(errands);
		check_eq(bl_crew_submit(&errands[0].work), 0);
		for (int i = 0; i < NR; i++)
			withdrawn[i] = bl_crew_withdraw(&errands[i].work);
		for (int i = 0; i < NR; i++)
			check(withdrawn[i] ? !atomic_load(&errands[i].done) : wait_for(&errands[i]));
		if (round % 16)
			continue;
		usleep(2000);
		chain(errands);
		check_eq(bl_crew_submit(&errands[0].work), 0);
		for (int i = 0; i < NR; i++)
			check(wait_for(&errands[i]));
	}
}

static const struct tap_test tests[] = {
	{ "work that is taken back leaves nobody deaf", work_that_is_taken_back_leaves_nobody_deaf },
};

TAP_MAIN(tests)
