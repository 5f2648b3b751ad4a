// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "snic/shm: " fmt
#include "greeting.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fds.h"
#include "softnic/packet.h"
#include "util/fork.h"
#include "util/log.h"

#define MAX_MESSAGES 64 /* that are read in one go: no peer keeps us here */

struct refusal {
	uint32_t magic;
	int32_t err;
};

static const char wake_byte = 'w';

int bl_shm_greet(int sock, const uint8_t gid[BL_SHM_GID_LEN], uint64_t ring_size, int ring_fd)
{
	struct bl_shm_greeting greeting = {
		.magic = BL_SHM_MAGIC,
		.version = BL_SHM_VERSION,
		.size = sizeof(greeting),
		.ring_size = ring_size,
		.page_size = (uint32_t)sysconf(_SC_PAGESIZE),
		.packet_size = sizeof(struct bl_packet),
	};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {&greeting, sizeof(greeting)};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	memcpy(greeting.gid, gid, sizeof(greeting.gid));
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &ring_fd, sizeof(int));
	return sendmsg(sock, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* All descriptors that came, of which the first is kept, or -1. */
static int take_fds(struct msghdr *msg)
{
	int first = -1, fd;

	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; at + sizeof(fd) <= cmsg->cmsg_len - CMSG_LEN(0); at += sizeof(fd)) {
			memcpy(&fd, CMSG_DATA(cmsg) + at, sizeof(fd));
			if (first < 0)
				first = bl_shm_fd_own(fd);
			else
				close(fd);
		}
	}
	return first < 0 ? -1 : first;
}

static int check_greeting(const struct bl_shm_greeting *greeting, ssize_t len)
{
	/* the beginning is the same in all versions */
	if ((size_t)len < offsetof(struct bl_shm_greeting, gid) || greeting->magic != BL_SHM_MAGIC)
		return fail(EPROTO, "peer: %zd bytes that are no greeting", len);
	if (greeting->version != BL_SHM_VERSION)
		return fail(EPROTO, "peer: it speaks version %u, this process version %u", greeting->version,
			    BL_SHM_VERSION);
	if ((size_t)len != sizeof(*greeting) || greeting->size != sizeof(*greeting) ||
	    greeting->packet_size != sizeof(struct bl_packet))
		return fail(EPROTO, "peer: its greeting has %zd bytes and packets of %u, not %zu and %zu", len,
			    greeting->packet_size, sizeof(*greeting), sizeof(struct bl_packet));
	if (greeting->page_size != (uint32_t)sysconf(_SC_PAGESIZE) || !bl_shm_gid_is_ours(greeting->gid))
		return fail(EPROTO, "peer: its page size or address makes no sense");
	return 0;
}

int bl_shm_greeted(int sock, struct bl_shm_greeting *greeting, int *fd_p)
{
	struct {
		struct bl_shm_greeting greeting;
		char more;
	} in = {0};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = {&in, sizeof(in)};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t len;
	int fd, ret;

	bl_fork_window_enter();
	len = recvmsg(sock, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	ret = len < 0 ? -errno : 0;
	fd = len < 0 ? -1 : take_fds(&msg);
	bl_fork_window_leave();
	if (ret == -EINTR)
		return -EAGAIN;
	if (ret)
		return ret == -EAGAIN ? ret : -ECONNRESET;
	if (!len && fd < 0)
		return -ECONNRESET;
	ret = check_greeting(&in.greeting, len);
	if (!ret && fd < 0)
		ret = msg.msg_flags & MSG_CTRUNC ? fail(EMFILE, "peer: the memory that it sends: no more descriptors")
						 : fail(EPROTO, "peer: no memory came with its greeting");
	else if (!ret && msg.msg_flags & (MSG_CTRUNC | MSG_TRUNC))
		ret = fail(EPROTO, "peer: more came with its greeting than belongs there");
	if (ret) {
		bl_shm_fd_close(fd);
		return ret;
	}
	*greeting = in.greeting;
	*fd_p = fd;
	return 0;
}

void bl_shm_refuse(int sock, int err)
{
	struct refusal refusal = {BL_SHM_MAGIC, err};

	/* one that cannot be told finds the connection at its end all the same */
	(void)!send(sock, &refusal, sizeof(refusal), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void bl_shm_wake(int sock)
{
	(void)!send(sock, &wake_byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

int bl_shm_hear(int sock, bool *woken_p)
{
	struct refusal in;
	int ret = 0;

	for (int i = 0; i < MAX_MESSAGES; i++) {
		ssize_t len = recv(sock, &in, sizeof(in), MSG_DONTWAIT);

		if (len == (ssize_t)sizeof(in) && in.magic == BL_SHM_MAGIC && in.err > 0)
			return -in.err;
		if (len > 0)
			*woken_p = true;
		else if (!len)
			return -ECONNRESET;
		else if (errno == EAGAIN)
			return ret;
		else if (errno != EINTR)
			/* told once, if the peer left bytes of ours unread; what it said before can still be read */
			ret = -ECONNRESET;
	}
	return ret;
}
