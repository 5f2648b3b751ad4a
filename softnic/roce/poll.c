// SPDX-License-Identifier: MIT
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>

#include "link.h"

#define MAX_SLEEP_NS  60000000000ULL
#define UNSENT_SLEEP_NS 100000ULL /* while packets wait for room to be sent */

/* Now and then: what others say of packets, and how many the kernel had no room for. */
static void look_around(struct bl_snic_link *link)
{
	uint64_t tick = bl_roce_tick();

	if (tick == link->tick)
		return;
	link->tick = tick;
	bl_roce_hear_errors(link);
	for (unsigned int i = 0; i < link->device.nr_gids; i++) {
		for (int n = 0; n < 2; n++) {
			if (link->locals[i].rings[n].fd >= 0)
				link->full += bl_roce_ring_lost(&link->locals[i].rings[n]);
		}
	}
}

int bl_roce_poll(struct bl_snic_link *link, bl_snic_receive_fn *fn, void *arg, unsigned int budget)
{
	unsigned int first = link->turn++, nr_gids = link->device.nr_gids, nr = 0;

	bl_roce_flush(link);
	for (unsigned int i = 0; i < nr_gids && nr < budget; i++) {
		struct bl_roce_local *local = &link->locals[(first + i) % nr_gids];

		if (local->claimed)
			nr += bl_roce_receive(link, local, fn, arg, budget - nr);
	}
	look_around(link);
	return (int)nr;
}

/* Descriptors by which a packet, or the bell, can be heard. */
static nfds_t listen_to(const struct bl_snic_link *link, struct pollfd fds[1 + 2 * BL_ROCE_MAX_GIDS])
{
	nfds_t nr = 0;

	fds[nr++] = (struct pollfd){.fd = link->bell, .events = POLLIN};
	for (unsigned int i = 0; i < link->device.nr_gids; i++) {
		const struct bl_roce_local *local = &link->locals[i];

		if (!local->claimed)
			continue;
		if (!link->packet)
			fds[nr++] = (struct pollfd){.fd = local->port, .events = POLLIN};
		for (int n = 0; n < 2; n++) {
			if (local->rings[n].fd >= 0)
				fds[nr++] = (struct pollfd){.fd = local->rings[n].fd, .events = POLLIN};
		}
	}
	return nr;
}

static void sleep_for(struct bl_snic_link *link, uint64_t timeout_ns)
{
	struct pollfd fds[1 + 2 * BL_ROCE_MAX_GIDS];
	struct timespec timeout;
	nfds_t nr = listen_to(link, fds);
	eventfd_t count;

	if (timeout_ns > MAX_SLEEP_NS)
		timeout_ns = MAX_SLEEP_NS;
	if (link->head != link->tail && timeout_ns > UNSENT_SLEEP_NS)
		timeout_ns = UNSENT_SLEEP_NS;
	timeout = (struct timespec){(time_t)(timeout_ns / 1000000000U), (long)(timeout_ns % 1000000000U)};
	/* an interruption ends it early, which is allowed */
	if (ppoll(fds, nr, &timeout, NULL) > 0 && fds[0].revents)
		(void)!eventfd_read(link->bell, &count);
}

void bl_roce_wait(struct bl_snic_link *link, uint64_t timeout_ns)
{
	bl_roce_flush(link);
	bl_roce_capture_flush(link->capture);
	look_around(link);
	/* sleeping, then a look at kicked; kick() has them the other way round, so that one of the two sees the other */
	atomic_store(&link->sleeping, true);
	if (!atomic_exchange(&link->kicked, false))
		sleep_for(link, timeout_ns);
	atomic_store(&link->sleeping, false);
	/* also an acquire: what was posted before the kick is seen after this */
	atomic_exchange(&link->kicked, false);
}

void bl_roce_kick(struct bl_snic_link *link)
{
	atomic_store(&link->kicked, true);
	if (atomic_load(&link->sleeping))
		(void)!eventfd_write(link->bell, 1);
}
