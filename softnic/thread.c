// SPDX-License-Identifier: MIT
/* The NIC's own thread: busy while there is work, and for some time after; then it sleeps, longer and longer. */
#define log_fmt(fmt) "snic/thread: " fmt
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

#include "nic.h"
#include "util/clock.h"
#include "util/guard.h"
#include "util/log.h"

#define FIRST_SLEEP_NS 2000ULL
#define LAST_SLEEP_NS  100000ULL

/* While movers work, whose end nobody tells. */
#define JOB_SLEEP_NS 10000ULL

/* With no queue to look at, nothing but a packet, a timer or a call can make work: each of them wakes the thread. */
#define DEEP_SLEEP_NS (100 * BL_SNIC_MS)

/*
 * Passes without work after which other threads of this CPU get a chance while the thread is still busy. Where CPUs are
 * few that is each: who makes the work shares this CPU, or shares one with who is to have it. Else now and then, since
 * the call takes longer than a pass.
 */
#define YIELD_AFTER 32
#define FEW_CPUS    4
#define YIELD_EVERY 64

/* Passes without work after which the thread pauses between two: that takes half as long as a pass, or more, and who waits
 * for an answer has it by then, or will not have it soon.
 */
#define PAUSE_AFTER 64

/* Turns in which the lock is left to who waits for it. */
#define LEAVE_TURNS 1000

static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* A mutex is not fair: without this, who waits would seldom get it. */
static void leave(struct bl_snic *nic)
{
	pthread_mutex_unlock(&nic->lock);
	for (int i = 0; i < LEAVE_TURNS && atomic_load(&nic->wanted); i++)
		sched_yield();
	pthread_mutex_lock(&nic->lock);
}

/* The lock is held, so that nobody else calls the transport meanwhile; who wants it ends the sleep by a kick. */
static void sleep_for(struct bl_snic *nic, uint64_t *step_p)
{
	uint64_t now = bl_now_ns(), step = *step_p, next;
	bool polled;

	next = bl_snic_next_timer(nic, &polled);
	if (!polled)
		step = DEEP_SLEEP_NS;
	if (nic->nr_jobs && step > JOB_SLEEP_NS)
		step = JOB_SLEEP_NS;
	/* timers are of the NIC's clock, which may be another one: then they are found late by one step at most */
	if (nic->attr.now_ns == bl_now_ns && next != UINT64_MAX && next < now + step)
		step = next > now ? next - now : 0;
	if (step) {
		bl_snic_count(nic, BL_SNIC_SLEEPS, 1);
		nic->ops->wait(nic->link, step);
	}
	*step_p = *step_p * 2 < LAST_SLEEP_NS ? *step_p * 2 : LAST_SLEEP_NS;
}

/* Of the last pass, where that is known without asking for it anew, which takes as long as a part of a pass. */
static uint64_t time_of(const struct bl_snic *nic)
{
	return nic->attr.now_ns == bl_now_ns ? nic->now : bl_now_ns();
}

/* That this thread may run on. */
static unsigned int nr_cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned int)CPU_COUNT(&set);
}

static void *thread_main(void *arg)
{
	struct bl_snic *nic = arg;
	uint64_t idle_since = 0, spin_ns = nic->attr.spin_us * 1000ULL, step = FIRST_SLEEP_NS;
	bool few = nr_cpus() <= FEW_CPUS;
	unsigned int idle = 0, after = few ? 0 : YIELD_AFTER, every = few ? 1 : YIELD_EVERY;

	pthread_mutex_lock(&nic->lock);
	while (!atomic_load(&nic->stop)) {
		if (atomic_load(&nic->wanted))
			leave(nic);
		if (bl_snic_pass(nic)) {
			idle = 0;
			step = FIRST_SLEEP_NS;
		} else if (nic->unseen) {
			continue;
		} else if (!idle++) {
			idle_since = time_of(nic);
		} else if (time_of(nic) - idle_since > spin_ns) {
			if (!atomic_load(&nic->wanted))
				sleep_for(nic, &step);
		} else if (idle > after && !(idle % every)) {
			sched_yield();
		} else if (idle > PAUSE_AFTER) {
			relax();
		}
	}
	pthread_mutex_unlock(&nic->lock);
	return NULL;
}

static int bind_to(pthread_attr_t *attr, int cpu)
{
	cpu_set_t set;

	if (!cpu)
		return 0;
	CPU_ZERO(&set);
	CPU_SET(cpu - 1, &set);
	return pthread_attr_setaffinity_np(attr, sizeof(set), &set);
}

/* Signals are for the program's own threads, but for those by which it learns that memory is gone. */
int bl_snic_thread_start(struct bl_snic *nic)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int ret;

	pthread_attr_init(&attr);
	ret = bind_to(&attr, nic->attr.cpu);
	if (!ret) {
		sigfillset(&all);
		bl_guard_unblock(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		ret = pthread_create(&nic->thread, &attr, thread_main, nic);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	pthread_attr_destroy(&attr);
	if (ret)
		return fail(ret, "%s: thread on cpu %d: %s", nic->name, nic->attr.cpu - 1, strerror(ret));
	pthread_setname_np(nic->thread, "barlane-nic");
	return 0;
}

void bl_snic_thread_stop(struct bl_snic *nic)
{
	atomic_store(&nic->stop, true);
	nic->ops->kick(nic->link);
	pthread_join(nic->thread, NULL);
}
