// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "snic/shm: " fmt
#include "link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "fds.h"
#include "util/fork.h"
#include "util/log.h"

#define DEFAULT_RING (4UL << 20)
#define BEST_PAYLOAD (1U << 20) /* of those measured for messages of 1 MiB, docs/softnic-transport.md */

/* Coarse: some nanoseconds per call, a few milliseconds per tick. */
uint64_t bl_shm_tick(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

int bl_shm_watch(struct bl_snic_link *link, struct bl_shm_watch *watch, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = watch};

	if (epoll_ctl(link->epoll, EPOLL_CTL_ADD, watch->fd, &event))
		return fail(errno, "%s: watch a descriptor: %s", link->name, strerror(errno));
	return 0;
}

/* Closes it. Taken out by hand: with a copy in a child the open file lives on, and epoll would go on to tell of it. */
void bl_shm_unwatch(struct bl_snic_link *link, struct bl_shm_watch *watch)
{
	if (watch->fd < 0)
		return;
	epoll_ctl(link->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
	bl_shm_fd_close(watch->fd);
	watch->fd = -1;
}

/* Bytes, with k or m behind them for KiB or MiB. */
static size_t ring_size_wanted(void)
{
	const char *text = getenv("BARLANE_SNIC_RING");
	unsigned long long size;
	unsigned int shift = 0;
	size_t least = BL_SHM_MIN_SIZE;
	char *end;

	if (!text || !*text)
		return DEFAULT_RING;
	errno = 0;
	size = strtoull(text, &end, 10);
	if (*end == 'k' || *end == 'K')
		shift = 10;
	else if (*end == 'm' || *end == 'M')
		shift = 20;
	if (least < (size_t)sysconf(_SC_PAGESIZE))
		least = (size_t)sysconf(_SC_PAGESIZE);
	if (errno || *text == '-' || end == text || end[shift ? 1 : 0] || size > BL_SHM_MAX_SIZE >> shift ||
	    size << shift < least || size & (size - 1)) {
		log_warn("BARLANE_SNIC_RING %s: not a power of two from %zu to %lu; %lu is used", text, least,
			 BL_SHM_MAX_SIZE, DEFAULT_RING);
		return DEFAULT_RING;
	}
	return (size_t)size << shift;
}

/* An address that nobody has, and the socket of its name. */
static int bind_new(struct bl_snic_link *link)
{
	struct sockaddr_un addr;
	socklen_t len;
	int ret;

	for (int i = 0; i < 4; i++) {
		ret = bl_shm_gid_make(link->gid);
		if (!ret)
			ret = bl_shm_address(link->gid, &addr, &len);
		if (ret)
			return ret;
		if (!bind(link->listener.fd, (struct sockaddr *)&addr, len)) {
			memcpy(link->file, addr.sun_path, sizeof(link->file));
			return 0;
		}
		if (errno != EADDRINUSE)
			break;
	}
	return fail(errno, "%s: bind %s%s: %s", link->name, addr.sun_path[0] ? "" : "@",
		    addr.sun_path + !addr.sun_path[0], strerror(errno));
}

static void remove_file(struct bl_snic_link *link)
{
	if (link->file[0])
		unlink(link->file);
}

static int listen_on(struct bl_snic_link *link)
{
	int ret;

	ret = bind_new(link);
	if (ret)
		return ret;
	if (listen(link->listener.fd, SOMAXCONN)) {
		ret = fail(errno, "%s: listen: %s", link->name, strerror(errno));
		remove_file(link);
	}
	return ret;
}

static int open_fds(struct bl_snic_link *link)
{
	int *fds[] = {&link->epoll, &link->listener.fd, &link->bell.fd, &link->spare};

	for (int i = 0; i < 4; i++) {
		bl_fork_window_enter();
		if (i == 0)
			*fds[i] = bl_shm_fd_own(epoll_create1(EPOLL_CLOEXEC));
		else if (i == 1)
			*fds[i] = bl_shm_fd_own(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
		else
			*fds[i] = bl_shm_fd_own(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
		bl_fork_window_leave();
		if (*fds[i] < 0)
			return fail(-*fds[i], "%s: descriptors: %s", link->name, strerror(-*fds[i]));
	}
	return 0;
}

static void close_fds(struct bl_snic_link *link)
{
	bl_shm_fd_close(link->listener.fd);
	bl_shm_fd_close(link->bell.fd);
	bl_shm_fd_close(link->spare);
	bl_shm_fd_close(link->epoll);
}

static int shm_open_link(const char *name, uint8_t gid[BL_SHM_GID_LEN], struct bl_snic_link **link_p)
{
	struct bl_snic_link *link;
	int ret;

	link = aligned_alloc(_Alignof(struct bl_snic_link), sizeof(*link));
	if (!link)
		return fail(ENOMEM, "%s: out of memory", name);
	*link = (struct bl_snic_link){
		.listener = {BL_SHM_LISTENER, -1},
		.bell = {BL_SHM_BELL, -1},
		.epoll = -1,
		.spare = -1,
		.ring_size = ring_size_wanted(),
	};
	snprintf(link->name, sizeof(link->name), "%s", name);
	ret = open_fds(link);
	if (!ret)
		ret = listen_on(link);
	if (ret)
		goto close;
	/* edges of the listener: what cannot be accepted for lack of descriptors must not end every wait() */
	ret = bl_shm_watch(link, &link->listener, EPOLLIN | EPOLLET);
	if (!ret)
		ret = bl_shm_watch(link, &link->bell, EPOLLIN);
	if (ret)
		goto remove;
	memcpy(gid, link->gid, BL_SHM_GID_LEN);
	*link_p = link;
	return 0;
remove:
	remove_file(link);
close:
	close_fds(link);
	free(link);
	return ret;
}

static void shm_close(struct bl_snic_link *link)
{
	/* nobody new, then nobody */
	remove_file(link);
	for (unsigned int i = 0; i < link->nr_inlets; i++)
		bl_shm_inlet_end(link, link->inlets[i], BL_SHM_GONE);
	bl_shm_inlets_sweep(link);
	close_fds(link);
	free((void *)link->inlets);
	free(link);
}

static uint32_t shm_max_payload(struct bl_snic_link *link)
{
	/* of a ring that is too small for two, sender and receiver would use it in turns */
	return link->ring_size / 4 < BEST_PAYLOAD ? (uint32_t)(link->ring_size / 4) : BEST_PAYLOAD;
}

/* The mappings are not here, and the descriptors were closed at the fork unless no handler saw it. */
static void shm_forget(struct bl_snic_link *link)
{
	struct bl_snic_path *path, *next;

	for (path = link->paths; path; path = next) {
		next = path->next;
		bl_shm_fd_forget(path->watch.fd);
		free(path);
	}
	for (unsigned int i = 0; i < link->nr_inlets; i++) {
		bl_shm_fd_forget(link->inlets[i]->watch.fd);
		free(link->inlets[i]);
	}
	bl_shm_fd_forget(link->listener.fd);
	bl_shm_fd_forget(link->bell.fd);
	bl_shm_fd_forget(link->spare);
	bl_shm_fd_forget(link->epoll);
	free((void *)link->inlets);
	free(link);
}

const struct bl_snic_transport_ops bl_snic_shm = {
	.name = "shm",
	.loops_back = true,
	.open = shm_open_link,
	.close = shm_close,
	.max_payload = shm_max_payload,
	.path_open = bl_shm_path_open,
	.path_close = bl_shm_path_close,
	.reserve = bl_shm_reserve,
	.commit = bl_shm_commit,
	.poll = bl_shm_poll,
	.path_state = bl_shm_path_state,
	.wait = bl_shm_wait,
	.kick = bl_shm_kick,
	.forget = shm_forget,
};
