// SPDX-License-Identifier: MIT
/* wait() and kick(): whatever should end a sleep ends it. A wake-up that is lost once fails a test at its deadline. */
#include <pthread.h>
#include <stdatomic.h>

#include "fixture.h"
#include "tap.h"
#include "util/clock.h"

#define ROUNDS 3000U

static const struct bl_snic_transport_ops *const shm = &bl_snic_shm;

/* Sleep as long as need be. Return: whether something ended it in time. */
static bool woken(struct port *port)
{
	uint64_t start = bl_now_ns();

	shm->wait(port->link, UINT64_MAX);
	return bl_now_ns() - start < DEADLINE_NS;
}

static void a_sleep_ends_by_itself(void)
{
	struct port a;

	port_open(&a);
	shm->wait(a.link, 0);
	shm->wait(a.link, 1);
	shm->wait(a.link, 2000000);
	check_eq(port_poll(&a, 1), 0);
	port_close(&a);
}

static void a_kick_ends_the_next_sleep(void)
{
	struct port a;

	port_open(&a);
	for (int i = 0; i < 10; i++) {
		shm->kick(a.link);
		shm->kick(a.link);
		check(woken(&a));
	}
	port_close(&a);
}

struct kicker {
	struct port port;
	_Atomic(uint32_t) posted;
	_Atomic(uint32_t) seen;
};

static void *kick_all(void *arg)
{
	struct kicker *kicker = arg;
	uint64_t end = bl_now_ns() + DEADLINE_NS;

	for (uint32_t i = 1; i <= ROUNDS; i++) {
		/* at every moment of the other's way into its sleep */
		for (volatile uint32_t k = 0; k < i % 1000; k++)
			;
		atomic_store_explicit(&kicker->posted, i, memory_order_relaxed);
		shm->kick(kicker->port.link);
		while (atomic_load(&kicker->seen) < i && bl_now_ns() < end)
			;
	}
	return NULL;
}

static void no_kick_is_lost(void)
{
	struct kicker kicker = {.posted = 0};
	pthread_t thread;
	bool right = true;

	port_open(&kicker.port);
	check_eq(pthread_create(&thread, NULL, kick_all, &kicker), 0);
	for (uint32_t i = 1; i <= ROUNDS && right; i++) {
		while (atomic_load_explicit(&kicker.posted, memory_order_relaxed) < i && right)
			right = woken(&kicker.port);
		atomic_store(&kicker.seen, i);
	}
	atomic_store(&kicker.seen, ROUNDS);
	pthread_join(thread, NULL);
	check(right);
	port_close(&kicker.port);
}

struct side {
	struct port port;
	struct bl_snic_path *path;
	bool first;
	bool right;
};

/* Everything is waited for asleep. */
static void *ping_pong(void *arg)
{
	struct side *side = arg;

	side->right = true;
	for (uint32_t i = 0; i < ROUNDS && side->right; i++) {
		if (side->first)
			side->right = port_send(side->path, i, i % 500);
		while (side->port.nr <= i && side->right) {
			if (!port_poll(&side->port, 16))
				side->right = woken(&side->port);
		}
		if (!side->first)
			side->right = side->right && port_send(side->path, i, i % 300);
	}
	return NULL;
}

static void no_packet_is_slept_through(void)
{
	struct side a = {.first = true}, b = {0};
	pthread_t thread;

	port_open(&a.port);
	port_open(&b.port);
	a.path = port_path(&a.port, b.port.gid);
	b.path = port_path(&b.port, a.port.gid);
	check_eq(pthread_create(&thread, NULL, ping_pong, &a), 0);
	ping_pong(&b);
	pthread_join(thread, NULL);
	check(a.right && b.right);
	check_eq(a.port.bad + b.port.bad, 0);
	check_eq(a.port.nr, ROUNDS);
	shm->path_close(a.path);
	shm->path_close(b.path);
	port_close(&a.port);
	port_close(&b.port);
}

static void *send_much(void *arg)
{
	struct side *side = arg;

	side->right = true;
	for (uint32_t i = 0; i < ROUNDS && side->right; i++) {
		while (side->right && !port_send(side->path, i, 3000)) {
			port_poll(&side->port, 1);
			side->right = woken(&side->port);
		}
	}
	return NULL;
}

static void a_sender_that_waits_for_room_is_woken(void)
{
	struct side a = {0};
	struct port b;
	pthread_t thread;
	bool right = true;

	setenv("BARLANE_SNIC_RING", "64k", 1);
	port_open(&a.port);
	unsetenv("BARLANE_SNIC_RING");
	port_open(&b);
	b.ordered = true;
	a.path = port_path(&a.port, b.gid);
	check_eq(pthread_create(&thread, NULL, send_much, &a), 0);
	while (b.nr < ROUNDS && right) {
		if (!port_poll(&b, 16))
			right = woken(&b);
	}
	/* the sender's end is on this thread's stack: it ends first, by its deadline if need be */
	pthread_join(thread, NULL);
	check(right && a.right);
	check_eq(b.bad, 0);
	shm->path_close(a.path);
	port_close(&a.port);
	port_close(&b);
}

static void *connect_to(void *arg)
{
	struct side *side = arg;

	side->right = !shm->path_open(side->port.link, side->port.from, &side->path);
	return NULL;
}

static void *close_link(void *arg)
{
	struct side *side = arg;

	shm->path_close(side->path);
	port_close(&side->port);
	return NULL;
}

static void peers_that_come_and_go_end_a_sleep(void)
{
	struct bl_snic_path *path;
	struct side side = {0};
	struct port a;
	pthread_t thread;

	port_open(&a);
	port_open(&side.port);
	memcpy(side.port.from, a.gid, 16);
	check_eq(pthread_create(&thread, NULL, connect_to, &side), 0);
	check(woken(&a));
	pthread_join(thread, NULL);
	check(side.right);
	path = port_path(&a, side.port.gid);
	/* its greeting was another event, perhaps */
	shm->wait(a.link, 0);
	check_eq(shm->path_state(path), 0);
	check_eq(pthread_create(&thread, NULL, close_link, &side), 0);
	while (!shm->path_state(path))
		check(woken(&a));
	pthread_join(thread, NULL);
	check_eq(shm->path_state(path), -ECONNRESET);
	shm->path_close(path);
	port_close(&a);
}

/* What poll() has seen of the sockets is news for the next wait(), not only for itself. */
static void news_that_a_poll_has_seen_end_the_next_sleep(void)
{
	struct bl_snic_path *path;
	struct port a, b;
	uint32_t nr = 0;

	port_open(&a);
	port_open(&b);
	path = port_path(&a, b.gid);
	while (port_send(path, nr, 60000))
		nr++;
	check(port_poll_until(&b, nr));
	for (int i = 0; i < 1000; i++)
		port_poll(&a, 1);
	check(woken(&a));
	check(port_send(path, nr, 60000));
	shm->path_close(path);
	port_close(&a);
	port_close(&b);
}

static const struct tap_test tests[] = {
	{"a sleep ends by itself", a_sleep_ends_by_itself},
	{"a kick ends the next sleep", a_kick_ends_the_next_sleep},
	{"no kick is lost", no_kick_is_lost},
	{"no packet is slept through", no_packet_is_slept_through},
	{"a sender that waits for room is woken", a_sender_that_waits_for_room_is_woken},
	{"peers that come and go end a sleep", peers_that_come_and_go_end_a_sleep},
	{"news that a poll has seen end the next sleep", news_that_a_poll_has_seen_end_the_next_sleep},
};

TAP_MAIN(tests)
