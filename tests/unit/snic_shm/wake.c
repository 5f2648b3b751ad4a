// SPDX-License-Identifier: MIT
/* The two ends of a ring, in two threads: whoever sleeps is woken. */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bed.h"
#include "fixture.h"
#include "tap.h"

struct crowd {
	struct bed bed;
	int to_sender, to_receiver;
	uint64_t seed;
	uint32_t total;
	atomic_bool lost;
};

/* Sleep until the other side wakes. False: it never did. */
static bool sleep_on(int fd)
{
	struct pollfd pollfd = {.fd = fd, .events = POLLIN};
	eventfd_t count;

	return poll(&pollfd, 1, (int)(DEADLINE_NS / 1000000U)) == 1 && !eventfd_read(fd, &count);
}

static void *send_all(void *arg)
{
	struct crowd *crowd = arg;
	uint64_t state = crowd->seed;
	bool wake;

	for (uint32_t i = 0; i < crowd->total && !crowd->lost; i++) {
		uint32_t len = (uint32_t)(next_random(&state) % 4000);

		while (!bed_put(&crowd->bed, i, len, &wake)) {
			if (!sleep_on(crowd->to_sender)) {
				crowd->lost = true;
				return NULL;
			}
		}
		if (wake)
			eventfd_write(crowd->to_receiver, 1);
	}
	return NULL;
}

/*
 * Both sides sleep whenever they can: with a flag and a record, or a flag and room, that miss each other once, the test
 * ends at its deadline.
 */
static void no_wake_up_is_lost(void)
{
	struct crowd crowd = {.seed = test_seed(), .total = 30000};
	bool wake = false, right = true;
	pthread_t sender;
	int64_t got;

	bed_make(&crowd.bed);
	/* one mapping for both, or ThreadSanitizer would not know that it is the same memory */
	crowd.bed.rx.ring = &crowd.bed.sent;
	crowd.to_sender = eventfd(0, EFD_CLOEXEC);
	crowd.to_receiver = eventfd(0, EFD_CLOEXEC);
	check_eq(pthread_create(&sender, NULL, send_all, &crowd), 0);
	for (uint32_t i = 0; i < crowd.total && right && !crowd.lost;) {
		got = bed_get(&crowd.bed, &wake);
		if (wake || (got < 0 && bl_shm_rx_tell(&crowd.bed.rx)))
			eventfd_write(crowd.to_sender, 1);
		wake = false;
		if (got >= 0) {
			right = got == i++;
			continue;
		}
		right = got == -1 && (!bl_shm_rx_sleep(&crowd.bed.rx) || sleep_on(crowd.to_receiver));
		bl_shm_rx_awake(&crowd.bed.rx);
	}
	if (!right)
		crowd.lost = true;
	eventfd_write(crowd.to_sender, 1);
	pthread_join(sender, NULL);
	close(crowd.to_sender);
	close(crowd.to_receiver);
	check(right && !crowd.lost);
	bed_free(&crowd.bed);
}

/**
 * struct duel - two threads that act in the same moment, round after round
 * @go:   round that may begin
 * @done: round that the second thread has ended
 * @room: the duel is about room, not about records
 * @told: what the second thread's act has said: the other side must be woken
 */
struct duel {
	struct bed bed;
	_Atomic(uint32_t) go;
	_Atomic(uint32_t) done;
	bool room;
	bool told;
	bool stop;
};

static void spin_until(_Atomic(uint32_t) *word, uint32_t value)
{
	for (unsigned int i = 1; atomic_load(word) < value; i++) {
		if (i % 256 == 0)
			sched_yield();
	}
}

/* One sends a record while the other goes to sleep, or gives room back while the other goes to wait for it. */
static void *second(void *arg)
{
	struct duel *duel = arg;

	for (uint32_t round = 1;; round++) {
		spin_until(&duel->go, round);
		if (duel->stop)
			return NULL;
		if (duel->room)
			duel->told = bl_shm_rx_tell(&duel->bed.rx);
		else
			bed_put(&duel->bed, round, 8, &duel->told);
		atomic_store(&duel->done, round);
	}
}

/* Return: rounds in which neither has seen the other, so that both would sleep for ever. */
static uint32_t fight(struct duel *duel, uint32_t rounds)
{
	struct bl_packet packet;
	const void *payload;
	uint32_t lost = 0;
	bool sleeps, wake;

	for (uint32_t round = 1; round <= rounds; round++) {
		if (duel->room) {
			while (bl_shm_tx_reserve(&duel->bed.tx, 3000))
				bl_shm_tx_commit(&duel->bed.tx, &(struct bl_packet){.len = 3000});
			while (bl_shm_rx_next(&duel->bed.rx, &packet, &payload) == 1)
				bl_shm_rx_done(&duel->bed.rx);
		}
		atomic_store(&duel->go, round);
		/* the other one needs some time to see that and to get there */
		for (volatile uint32_t i = 0; i < round % 256; i++)
			;
		sleeps = duel->room ? !bl_shm_tx_reserve(&duel->bed.tx, 3000) : bl_shm_rx_sleep(&duel->bed.rx);
		spin_until(&duel->done, round);
		lost += sleeps && !duel->told;
		if (!duel->room) {
			bl_shm_rx_awake(&duel->bed.rx);
			bed_get(&duel->bed, &wake);
			bl_shm_rx_tell(&duel->bed.rx);
		}
	}
	return lost;
}

static uint32_t lost_in_duels(bool room)
{
	static struct duel duel;
	pthread_t thread;
	uint32_t lost;

	duel = (struct duel){.room = room};
	bed_make(&duel.bed);
	duel.bed.rx.ring = &duel.bed.sent;
	check_eq(pthread_create(&thread, NULL, second, &duel), 0);
	lost = fight(&duel, 20000);
	duel.stop = true;
	atomic_store(&duel.go, UINT32_MAX);
	pthread_join(thread, NULL);
	bed_free(&duel.bed);
	return lost;
}

static void a_record_and_a_sleeper_never_miss_each_other(void)
{
	check_eq(lost_in_duels(false), 0);
}

static void room_and_who_waits_for_it_never_miss_each_other(void)
{
	check_eq(lost_in_duels(true), 0);
}

static const struct tap_test tests[] = {
	{"no wake-up is lost", no_wake_up_is_lost},
	{"a record and a sleeper never miss each other", a_record_and_a_sleeper_never_miss_each_other},
	{"room and who waits for it never miss each other", room_and_who_waits_for_it_never_miss_each_other},
};

TAP_MAIN(tests)
