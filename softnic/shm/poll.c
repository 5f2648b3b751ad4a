// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "snic/shm: " fmt
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>

#include "greeting.h"
#include "link.h"
#include "util/log.h"

#define MAX_EVENTS	32
#define IDLE_POLLS	256 /* that find nothing, between two looks at the sockets */
#define MAX_SLEEP_NS	60000000000ULL
#define ACCEPT_SLEEP_NS 100000000ULL /* while peers wait that could not be accepted */

static void wake_sender(const struct bl_shm_inlet *inlet)
{
	if (inlet->watch.fd >= 0)
		bl_shm_wake(inlet->watch.fd);
}

static void drop_broken(struct bl_snic_link *link, struct bl_shm_inlet *inlet)
{
	char text[BL_SHM_GID_TEXT];

	fail(EPROTO, "%s: peer %s: no packet at position %" PRIu64 " of its ring: dropped", link->name,
	     bl_shm_gid_text(inlet->gid, text), inlet->rx.tail);
	if (inlet->watch.fd >= 0)
		bl_shm_refuse(inlet->watch.fd, EPROTO);
	bl_shm_inlet_end(link, inlet, BL_SHM_GONE);
}

/* Packets of one inlet. @fn may open and close paths, and with them loops: the inlet itself stays until the sweep. */
static unsigned int take(struct bl_snic_link *link, struct bl_shm_inlet *inlet, bl_snic_receive_fn *fn, void *arg,
			 unsigned int budget)
{
	struct bl_packet packet;
	const void *payload;
	unsigned int nr = 0;
	int ret = 1;

	if (inlet->state != BL_SHM_OPEN && inlet->state != BL_SHM_ENDING)
		return 0;
	while (nr < budget && (ret = bl_shm_rx_next(&inlet->rx, &packet, &payload)) == 1) {
		fn(arg, inlet->gid, &packet, payload);
		nr++;
		if (bl_shm_rx_done(&inlet->rx))
			wake_sender(inlet);
	}
	if (nr && bl_shm_rx_tell(&inlet->rx))
		wake_sender(inlet);
	if (ret < 0)
		drop_broken(link, inlet);
	else if (!ret && inlet->state == BL_SHM_ENDING)
		bl_shm_inlet_end(link, inlet, BL_SHM_GONE);
	return nr;
}

/*
 * Whether to look at the sockets, which costs a system call: when there is no ring to look at, now and then while
 * nothing comes, and in any case when the coarse clock has moved.
 */
static bool look_is_due(struct bl_snic_link *link, unsigned int nr)
{
	uint64_t tick;

	link->idle = nr ? 0 : link->idle + 1;
	if (!link->nr_rings || link->more_events || link->idle >= IDLE_POLLS)
		return true;
	tick = bl_shm_tick();
	if (tick == link->tick)
		return false;
	link->tick = tick;
	return true;
}

int bl_shm_poll(struct bl_snic_link *link, bl_snic_receive_fn *fn, void *arg, unsigned int budget)
{
	unsigned int first = link->turn++, nr_inlets = link->nr_inlets, nr = 0;

	for (unsigned int i = 0; i < nr_inlets && nr < budget; i++)
		nr += take(link, link->inlets[(first + i) % nr_inlets], fn, arg, budget - nr);
	if (look_is_due(link, nr)) {
		link->idle = 0;
		bl_shm_look(link);
	}
	bl_shm_inlets_sweep(link);
	return (int)nr;
}

static void handle(struct bl_snic_link *link, struct bl_shm_watch *watch)
{
	eventfd_t count;

	/* a watch is the first member of what it belongs to */
	switch (watch->kind) {
	case BL_SHM_LISTENER:
		link->accept_again = true;
		break;
	case BL_SHM_BELL:
		(void)!eventfd_read(watch->fd, &count);
		return;
	case BL_SHM_INLET:
		bl_shm_inlet_hear(link, (struct bl_shm_inlet *)(void *)watch);
		break;
	case BL_SHM_OUTLET:
		if (watch->fd >= 0)
			bl_shm_path_hear((struct bl_snic_path *)(void *)watch);
		break;
	}
	link->woken = true;
}

/* Everything that the kernel has to tell. Objects are freed elsewhere: later events of this list still name them. */
void bl_shm_look(struct bl_snic_link *link)
{
	struct epoll_event events[MAX_EVENTS];
	int nr = epoll_wait(link->epoll, events, MAX_EVENTS, 0);

	for (int i = 0; i < nr; i++)
		handle(link, events[i].data.ptr);
	link->more_events = nr == MAX_EVENTS;
	if (link->accept_again)
		bl_shm_accept(link);
	if (link->nr_inlets > link->nr_rings)
		bl_shm_inlets_check(link);
}

/*
 * Senders are told first, then their rings are looked at once more; likewise @sleeping and @kicked, by sequentially
 * consistent accesses (ring.c says why).
 */
static bool fall_asleep(struct bl_snic_link *link)
{
	bool asleep;

	atomic_store(&link->sleeping, true);
	asleep = !atomic_exchange(&link->kicked, false) && !link->woken && !link->more_events;
	for (unsigned int i = 0; i < link->nr_inlets && asleep; i++) {
		struct bl_shm_inlet *inlet = link->inlets[i];

		if (inlet->state == BL_SHM_OPEN)
			asleep = bl_shm_rx_sleep(&inlet->rx);
		else if (inlet->state == BL_SHM_ENDING)
			asleep = false;
	}
	return asleep;
}

static void wake_up(struct bl_snic_link *link)
{
	atomic_store(&link->sleeping, false);
	/* also an acquire: what was posted before the kick is seen after this */
	atomic_exchange(&link->kicked, false);
	link->woken = false;
	for (unsigned int i = 0; i < link->nr_inlets; i++) {
		if (link->inlets[i]->state == BL_SHM_OPEN)
			bl_shm_rx_awake(&link->inlets[i]->rx);
	}
}

void bl_shm_wait(struct bl_snic_link *link, uint64_t timeout_ns)
{
	struct pollfd pollfd = {.fd = link->epoll, .events = POLLIN};
	struct timespec timeout;

	if (timeout_ns > MAX_SLEEP_NS)
		timeout_ns = MAX_SLEEP_NS;
	if (link->accept_again && timeout_ns > ACCEPT_SLEEP_NS)
		timeout_ns = ACCEPT_SLEEP_NS;
	if (fall_asleep(link)) {
		timeout = (struct timespec){(time_t)(timeout_ns / 1000000000U), (long)(timeout_ns % 1000000000U)};
		/* an interruption ends it early, which is allowed */
		(void)!ppoll(&pollfd, 1, &timeout, NULL);
		bl_shm_look(link);
	}
	wake_up(link);
}

void bl_shm_kick(struct bl_snic_link *link)
{
	/* kicked, then a look at sleeping; wait() has them the other way round, so that one of the two sees the other
	 */
	atomic_store(&link->kicked, true);
	if (atomic_load(&link->sleeping))
		(void)!eventfd_write(link->bell.fd, 1);
}
