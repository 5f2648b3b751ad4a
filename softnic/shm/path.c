// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "snic/shm: " fmt
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "fds.h"
#include "greeting.h"
#include "link.h"
#include "memory.h"
#include "util/fork.h"
#include "util/log.h"

static int new_socket(void)
{
	int fd;

	bl_fork_window_enter();
	fd = bl_shm_fd_own(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
	bl_fork_window_leave();
	return fd;
}

static int connect_failed(const struct bl_snic_path *path, int err)
{
	char text[BL_SHM_GID_TEXT];

	bl_shm_gid_text(path->gid, text);
	if (err == ECONNREFUSED || err == ENOENT)
		return fail(ENOTCONN, "%s: connect %s: nobody there", path->link->name, text);
	if (err == EAGAIN)
		return fail(EAGAIN, "%s: connect %s: it has as many connections waiting as it may and accepts none",
			    path->link->name, text);
	return fail(err, "%s: connect %s: %s", path->link->name, text, strerror(err));
}

/* Nothing is waited for: the connection stands before the other side has accepted it. */
static int connect_to(struct bl_snic_path *path)
{
	struct sockaddr_un addr;
	socklen_t len;
	int fd, ret;

	ret = bl_shm_address(path->gid, &addr, &len);
	if (ret)
		return ret;
	fd = new_socket();
	if (fd < 0)
		return fail(-fd, "%s: socket: %s", path->link->name, strerror(-fd));
	if (connect(fd, (struct sockaddr *)&addr, len))
		ret = connect_failed(path, errno);
	else
		ret = bl_shm_check_user(fd);
	if (ret) {
		bl_shm_fd_close(fd);
		return ret;
	}
	path->watch.fd = fd;
	return 0;
}

/* A receiver that turns us away may do so before it has heard a word; then it has said why. */
static int greet(struct bl_snic_path *path, int ring_fd)
{
	char text[BL_SHM_GID_TEXT];
	bool woken = false;
	int ret;

	ret = bl_shm_greet(path->watch.fd, path->link->gid, path->ring.size, ring_fd);
	if (!ret)
		return 0;
	if (ret == -EPIPE || ret == -ECONNRESET)
		ret = bl_shm_hear(path->watch.fd, &woken);
	if (!ret || ret == -ECONNRESET)
		ret = -ENOTCONN;
	return fail(-ret, "%s: connect %s: it hung up: %s", path->link->name, bl_shm_gid_text(path->gid, text),
		    strerror(-ret));
}

static int connect_path(struct bl_snic_path *path)
{
	int ring_fd, ret;

	/* first, whether there is anybody: a ring is dear */
	ret = connect_to(path);
	if (ret)
		return ret;
	ret = bl_shm_memory_make(path->link->ring_size, &path->ring, &ring_fd);
	if (ret)
		goto close;
	ret = greet(path, ring_fd);
	bl_shm_fd_close(ring_fd);
	if (!ret)
		ret = bl_shm_watch(path->link, &path->watch, EPOLLIN | EPOLLRDHUP);
	if (!ret)
		return 0;
	bl_shm_memory_unmap(&path->ring);
close:
	bl_shm_unwatch(path->link, &path->watch);
	return ret;
}

static int connect_loop(struct bl_snic_path *path)
{
	int ring_fd, ret;

	ret = bl_shm_memory_make(path->link->ring_size, &path->ring, &ring_fd);
	if (ret)
		return ret;
	bl_shm_fd_close(ring_fd);
	ret = bl_shm_inlet_loop(path->link, &path->ring, &path->loop);
	if (ret)
		bl_shm_memory_unmap(&path->ring);
	return ret;
}

/* One that is in use. What is dead stays so; its address may be tried again, if it was only turned away. */
static struct bl_snic_path *path_find(struct bl_snic_link *link, const uint8_t gid[BL_SHM_GID_LEN])
{
	for (struct bl_snic_path *path = link->paths; path; path = path->next) {
		if (path->dead || memcmp(path->gid, gid, BL_SHM_GID_LEN))
			continue;
		if (path->watch.fd >= 0)
			bl_shm_path_hear(path);
		if (!path->dead)
			return path;
	}
	return NULL;
}

int bl_shm_path_open(struct bl_snic_link *link, const uint8_t gid[BL_SHM_GID_LEN], struct bl_snic_path **path_p)
{
	struct bl_snic_path *path = path_find(link, gid);
	char text[BL_SHM_GID_TEXT];
	int ret;

	if (path) {
		path->refs++;
		*path_p = path;
		return 0;
	}
	if (!bl_shm_gid_is_ours(gid))
		return fail(ENOTCONN, "%s: connect %s: not an address of NICs that share memory", link->name,
			    bl_shm_gid_text(gid, text));
	path = calloc(1, sizeof(*path));
	if (!path)
		return fail(ENOMEM, "%s: path: out of memory", link->name);
	path->watch = (struct bl_shm_watch){BL_SHM_OUTLET, -1};
	path->link = link;
	path->refs = 1;
	memcpy(path->gid, gid, sizeof(path->gid));
	ret = memcmp(gid, link->gid, sizeof(link->gid)) ? connect_path(path) : connect_loop(path);
	if (ret) {
		free(path);
		return ret;
	}
	path->tx = (struct bl_shm_tx){.ring = &path->ring, .to_self = path->loop != NULL};
	path->next = link->paths;
	link->paths = path;
	*path_p = path;
	return 0;
}

void bl_shm_path_close(struct bl_snic_path *path)
{
	struct bl_snic_path **place = &path->link->paths;

	if (--path->refs)
		return;
	while (*place != path)
		place = &(*place)->next;
	*place = path->next;
	if (path->loop)
		bl_shm_inlet_end(path->link, path->loop, BL_SHM_ENDING);
	else
		bl_shm_memory_unmap(&path->ring);
	bl_shm_unwatch(path->link, &path->watch);
	free(path);
}

/* Hung up at once: one that lives, but breaks the rules, is to notice. */
static void die(struct bl_snic_path *path, int err)
{
	char text[BL_SHM_GID_TEXT];

	bl_shm_gid_text(path->gid, text);
	if (err == ECONNRESET)
		log_info("%s: peer %s is gone", path->link->name, text);
	else
		log_warn("%s: peer %s does not take packets of this process: %s", path->link->name, text,
			 strerror(err));
	path->dead = true;
	bl_shm_unwatch(path->link, &path->watch);
}

void bl_shm_path_hear(struct bl_snic_path *path)
{
	bool woken = false;
	int ret = bl_shm_hear(path->watch.fd, &woken);

	if (ret)
		die(path, -ret);
}

/* A wire without an end takes packets and loses them: whoever sends hears of it by path_state(), or by its timers. */
static void *reserve_nowhere(struct bl_snic_path *path, size_t len)
{
	if (len > path->ring.size)
		return NULL;
	path->tx.reserved = len;
	return path->ring.data;
}

void *bl_shm_reserve(struct bl_snic_path *path, size_t len)
{
	void *payload = NULL;

	if (!path->dead)
		payload = bl_shm_tx_reserve(&path->tx, len);
	if (payload)
		return payload;
	if (!path->dead && path->tx.broken)
		die(path, EPROTO);
	return path->dead ? reserve_nowhere(path, len) : NULL;
}

void bl_shm_commit(struct bl_snic_path *path, const struct bl_packet *packet)
{
	if (packet->len > path->tx.reserved) {
		fail(EINVAL, "%s: packet of %u bytes where %zu were reserved: not sent", path->link->name, packet->len,
		     path->tx.reserved);
		return;
	}
	if (!path->dead && bl_shm_tx_commit(&path->tx, packet) && path->watch.fd >= 0)
		bl_shm_wake(path->watch.fd);
}

int bl_shm_path_state(struct bl_snic_path *path)
{
	uint64_t tick;

	if (path->dead)
		return -ECONNRESET;
	if (path->watch.fd < 0)
		return 0;
	/* a system call now and then, however often one asks */
	tick = bl_shm_tick();
	if (tick != path->heard) {
		path->heard = tick;
		bl_shm_path_hear(path);
	}
	return path->dead ? -ECONNRESET : 0;
}
