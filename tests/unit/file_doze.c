// SPDX-License-Identifier: MIT
/* Sleeps while the GPU works, with a clock, a sleep and a GPU that the test decides on. */
#include <errno.h>
#include <time.h>

#include "file/doze.h"
#include "file/tune.h"
#include "tap.h"

#define US   1000ULL
#define MIB  (1UL << 20)
#define TOOK (160 * US) /* the GPU for 1 MiB */

static uint64_t now, ends, slept, oversleep;
static int nr_sleeps, nr_waits, result;
static bool crowded;

bool __wrap_bl_io_crowded(void);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_nanosleep(const struct timespec *want, struct timespec *left);
int __wrap_bl_lane_look(struct bl_lane *lane, unsigned int i);
int __wrap_bl_lane_wait(struct bl_lane *lane, unsigned int i);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	(void)clock;
	*ts = (struct timespec){ (time_t)(now / 1000000000U), (long)(now % 1000000000U) };
	return 0;
}

bool __wrap_bl_io_crowded(void)
{
	return crowded;
}

int __wrap_nanosleep(const struct timespec *want, struct timespec *left)
{
	(void)left;
	slept = (uint64_t)want->tv_nsec;
	nr_sleeps++;
	now += slept + oversleep;
	return 0;
}

int __wrap_bl_lane_look(struct bl_lane *lane, unsigned int i)
{
	(void)lane;
	check_eq(i, 3);
	return now < ends ? -EAGAIN : result;
}

int __wrap_bl_lane_wait(struct bl_lane *lane, unsigned int i)
{
	(void)lane;
	check_eq(i, 3);
	nr_waits++;
	if (now < ends)
		now = ends;
	return result;
}

/* One wait for @bytes that the GPU takes @took ns for. */
static int wait_for(size_t bytes, uint64_t took)
{
	struct bl_doze doze = { 0 };
	int ret;

	nr_sleeps = nr_waits = 0;
	slept = 0;
	now += 1000 * US;
	bl_doze_posted(&doze, bytes / 4, true);
	now += 5 * US;
	bl_doze_posted(&doze, bytes - bytes / 4, false);
	ends = now - 5 * US + took;
	ret = bl_doze_wait(&doze, NULL, 3);
	check_eq(doze.bytes, 0);
	return ret;
}

static uint64_t late(void)
{
	return (crowded ? bl_file_tune()->doze_late_many_us : bl_file_tune()->doze_late_us) * US;
}

static void begin(void)
{
	result = 0;
	oversleep = 0;
	/* whatever the tests before have taught */
	for (int i = 0; i < 200; i++)
		check_eq(wait_for(MIB, TOOK), 0);
}

static void what_is_not_known_is_looked_for(void)
{
	check_eq(wait_for(MIB, TOOK), 0);
	check_eq(nr_sleeps, 0);
	check_eq(nr_waits, 1);
}

static void what_is_known_is_slept_through_but_for_the_end(void)
{
	begin();
	check_eq(wait_for(MIB, TOOK), 0);
	check_eq(nr_sleeps, 1);
	check_eq(nr_waits, 1);
	/* known but for rounding; 5 us of it have gone */
	check(slept > TOOK - late() - 6 * US && slept <= TOOK - late() - 5 * US);
	/* twice as much takes twice as long */
	check_eq(wait_for(2 * MIB, 2 * TOOK), 0);
	check(slept > 2 * TOOK - late() - 7 * US && slept <= 2 * TOOK - late() - 5 * US);
	/* among many it sleeps longer: what it sleeps too long is not lost to them */
	crowded = true;
	check_eq(wait_for(MIB, TOOK), 0);
	check(slept > TOOK - late() - 6 * US && slept <= TOOK - late() - 5 * US);
	crowded = false;
	check(bl_file_tune()->doze_late_many_us < bl_file_tune()->doze_late_us);
}

static void what_is_short_is_looked_for(void)
{
	begin();
	check_eq(wait_for(MIB / 4, TOOK / 4), 0);
	check_eq(nr_sleeps, 0);
	check_eq(nr_waits, 1);
}

static void who_overslept_sleeps_less_the_next_time(void)
{
	uint64_t first;

	begin();
	oversleep = 200 * US;
	check_eq(wait_for(MIB, TOOK), 0);
	check_eq(nr_waits, 0);
	first = slept;
	check_eq(wait_for(MIB, TOOK), 0);
	check(slept < first);
	/* until it is not worth it, and then what is found out counts again */
	for (int i = 0; i < 100; i++)
		check_eq(wait_for(MIB, TOOK), 0);
	oversleep = 0;
	begin();
	check_eq(wait_for(MIB, TOOK), 0);
	check_eq(nr_sleeps, 1);
}

static void an_error_is_passed_on_and_teaches_nothing(void)
{
	uint64_t before;

	begin();
	check_eq(wait_for(MIB, TOOK), 0);
	before = slept;
	result = -EIO;
	check_eq(wait_for(MIB, 50 * TOOK), -EIO);
	result = 0;
	check_eq(wait_for(MIB, TOOK), 0);
	check_eq(slept, before);
}

static void no_sleep_is_long(void)
{
	begin();
	check_eq(wait_for(1024 * MIB, 1024 * TOOK), 0);
	check(slept <= 500 * US);
	check_eq(nr_waits, 1);
}

static const struct tap_test tests[] = {
	{ "what is not known is looked for", what_is_not_known_is_looked_for },
	{ "what is known is slept through but for the end", what_is_known_is_slept_through_but_for_the_end },
	{ "what is short is looked for", what_is_short_is_looked_for },
	{ "who overslept sleeps less the next time", who_overslept_sleeps_less_the_next_time },
	{ "an error is passed on and teaches nothing", an_error_is_passed_on_and_teaches_nothing },
	{ "no sleep is long", no_sleep_is_long },
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
