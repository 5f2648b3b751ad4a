// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "snic/shm: " fmt
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fds.h"
#include "greeting.h"
#include "link.h"
#include "memory.h"
#include "util/fork.h"
#include "util/log.h"

#define GREETING_NS    2000000000ULL /* a sender greets in the same breath as it connects */
#define MAX_ACCEPTS    64	     /* in one go: packets come in between */
#define MAX_COMPLAINTS 16	     /* lines about peers that were refused: anybody can make us write them */
#define MAX_STRANGERS  64	     /* connections without greeting at one time */

/* Room in the table, so that an inlet which was made can be listed. */
static int make_room(struct bl_snic_link *link)
{
	unsigned int max = link->max_inlets ? 2 * link->max_inlets : 8;
	struct bl_shm_inlet **inlets;

	if (link->nr_inlets < link->max_inlets)
		return 0;
	inlets = realloc((void *)link->inlets, max * sizeof(struct bl_shm_inlet *));
	if (!inlets)
		return fail(ENOMEM, "%s: peer: out of memory", link->name);
	link->inlets = inlets;
	link->max_inlets = max;
	return 0;
}

static struct bl_shm_inlet *inlet_new(struct bl_snic_link *link, int fd)
{
	struct bl_shm_inlet *inlet;

	if (make_room(link))
		return NULL;
	inlet = calloc(1, sizeof(*inlet));
	if (!inlet) {
		fail(ENOMEM, "%s: peer: out of memory", link->name);
		return NULL;
	}
	inlet->watch = (struct bl_shm_watch){BL_SHM_INLET, fd};
	inlet->greet_by = bl_shm_tick() + GREETING_NS;
	link->inlets[link->nr_inlets++] = inlet;
	return inlet;
}

static void inlet_open(struct bl_snic_link *link, struct bl_shm_inlet *inlet)
{
	inlet->rx = (struct bl_shm_rx){.ring = &inlet->ring};
	inlet->state = BL_SHM_OPEN;
	link->nr_rings++;
}

int bl_shm_inlet_loop(struct bl_snic_link *link, const struct bl_shm_ring *ring, struct bl_shm_inlet **inlet_p)
{
	struct bl_shm_inlet *inlet = inlet_new(link, -1);

	if (!inlet)
		return -ENOMEM;
	memcpy(inlet->gid, link->gid, sizeof(inlet->gid));
	inlet->ring = *ring;
	inlet_open(link, inlet);
	*inlet_p = inlet;
	return 0;
}

/* Only marked: somebody may be going through the inlets. The socket goes at once, so that the sender sees it. */
void bl_shm_inlet_end(struct bl_snic_link *link, struct bl_shm_inlet *inlet, enum bl_shm_state state)
{
	if (inlet->state == BL_SHM_GONE)
		return;
	bl_shm_unwatch(link, &inlet->watch);
	if (state == BL_SHM_GONE) {
		link->nr_gone++;
		if (inlet->state != BL_SHM_GREETING)
			link->nr_rings--;
	}
	inlet->state = state;
}

void bl_shm_inlets_sweep(struct bl_snic_link *link)
{
	unsigned int kept = 0;

	if (!link->nr_gone)
		return;
	for (unsigned int i = 0; i < link->nr_inlets; i++) {
		struct bl_shm_inlet *inlet = link->inlets[i];

		if (inlet->state != BL_SHM_GONE) {
			link->inlets[kept++] = inlet;
			continue;
		}
		bl_shm_memory_unmap(&inlet->ring);
		free(inlet);
	}
	link->nr_inlets = kept;
	link->nr_gone = 0;
}

static void refuse(struct bl_snic_link *link, struct bl_shm_inlet *inlet, int err)
{
	link->refusals++;
	bl_shm_refuse(inlet->watch.fd, err);
	bl_shm_inlet_end(link, inlet, BL_SHM_GONE);
}

/* Greeting and ring of a peer. */
static int be_greeted(struct bl_shm_inlet *inlet)
{
	struct bl_shm_greeting greeting;
	int fd, ret;

	ret = bl_shm_greeted(inlet->watch.fd, &greeting, &fd);
	if (ret)
		return ret;
	memcpy(inlet->gid, greeting.gid, sizeof(inlet->gid));
	ret = bl_shm_memory_take(fd, greeting.ring_size, &inlet->ring);
	bl_shm_fd_close(fd);
	return ret;
}

static void hear_greeting(struct bl_snic_link *link, struct bl_shm_inlet *inlet)
{
	int hush = link->refusals >= MAX_COMPLAINTS, ret;

	bl_fail_hush(hush);
	ret = be_greeted(inlet);
	bl_fail_hush(-hush);
	if (!ret)
		inlet_open(link, inlet);
	else if (ret == -ECONNRESET)
		bl_shm_inlet_end(link, inlet, BL_SHM_GONE);
	else if (ret != -EAGAIN)
		refuse(link, inlet, -ret);
}

void bl_shm_inlet_hear(struct bl_snic_link *link, struct bl_shm_inlet *inlet)
{
	bool woken = false;

	if (inlet->state == BL_SHM_GREETING)
		hear_greeting(link, inlet);
	else if (inlet->state == BL_SHM_OPEN && bl_shm_hear(inlet->watch.fd, &woken))
		bl_shm_inlet_end(link, inlet, BL_SHM_ENDING);
}

/* Who does not greet in time is no sender of ours. */
void bl_shm_inlets_check(struct bl_snic_link *link)
{
	uint64_t now = bl_shm_tick();

	for (unsigned int i = 0; i < link->nr_inlets; i++) {
		struct bl_shm_inlet *inlet = link->inlets[i];

		if (inlet->state == BL_SHM_GREETING && now >= inlet->greet_by) {
			fail_quiet(ETIMEDOUT, "%s: peer: it connected and sent no greeting", link->name);
			refuse(link, inlet, ETIMEDOUT);
		}
	}
}

static unsigned int strangers(const struct bl_snic_link *link)
{
	return link->nr_inlets - link->nr_rings - link->nr_gone;
}

static void take_in(struct bl_snic_link *link, int fd)
{
	struct bl_shm_inlet *inlet = NULL;
	int hush = link->refusals >= MAX_COMPLAINTS, ret;

	bl_fail_hush(hush);
	ret = bl_shm_check_user(fd);
	bl_fail_hush(-hush);
	if (!ret) {
		inlet = inlet_new(link, fd);
		ret = inlet ? 0 : -ENOMEM;
	}
	if (ret) {
		link->refusals++;
		bl_shm_refuse(fd, -ret);
		bl_shm_fd_close(fd);
		return;
	}
	if (bl_shm_watch(link, &inlet->watch, EPOLLIN | EPOLLRDHUP))
		refuse(link, inlet, ENOMEM);
	else
		hear_greeting(link, inlet);
}

static int accept_one(struct bl_snic_link *link)
{
	int fd;

	bl_fork_window_enter();
	fd = bl_shm_fd_own(accept4(link->listener.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
	bl_fork_window_leave();
	return fd;
}

static void take_spare(struct bl_snic_link *link)
{
	if (link->spare >= 0)
		return;
	bl_fork_window_enter();
	link->spare = bl_shm_fd_own(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	bl_fork_window_leave();
}

/* Turn a peer away: one that waits for ever would not know why. The spare descriptor's place is used for it. */
static bool turn_away(struct bl_snic_link *link, int err)
{
	int fd;

	if (!link->short_of_fds)
		fail(err, "%s: peers are turned away: %s", link->name, strerror(err));
	link->short_of_fds = true;
	if (link->spare < 0)
		return false;
	bl_shm_fd_close(link->spare);
	link->spare = -1;
	fd = accept_one(link);
	if (fd >= 0) {
		bl_shm_refuse(fd, err);
		bl_shm_fd_close(fd);
	}
	take_spare(link);
	return fd >= 0;
}

void bl_shm_accept(struct bl_snic_link *link)
{
	link->accept_again = true;
	take_spare(link);
	for (int i = 0; i < MAX_ACCEPTS && strangers(link) < MAX_STRANGERS; i++) {
		int fd = accept_one(link);

		if (fd >= 0) {
			link->short_of_fds = false;
			take_in(link, fd);
		} else if (fd == -EAGAIN) {
			link->accept_again = false;
			return;
		} else if (fd == -EMFILE || fd == -ENFILE || fd == -ENOBUFS || fd == -ENOMEM) {
			if (!turn_away(link, -fd))
				return;
		}
	}
}
