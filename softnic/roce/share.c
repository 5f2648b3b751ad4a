// SPDX-License-Identifier: MIT
#include "share.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define NR_SHARES 255

/* An abstract name: of the network namespace, as addresses are, and gone with its socket. */
static int bind_to(int fd, unsigned int share)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int len = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, "barlane-roce-%u", share);

	return bind(fd, (struct sockaddr *)&addr, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len));
}

/* From one by chance on, so that what is still on its way to a process that has ended finds nobody. */
static int take_any(int fd, uint8_t *share_p)
{
	uint8_t first;

	if (getrandom(&first, sizeof(first), 0) != sizeof(first))
		return -EIO;
	for (unsigned int i = 0; i < NR_SHARES; i++) {
		unsigned int share = 1 + (first + i) % NR_SHARES;

		if (!bind_to(fd, share)) {
			*share_p = (uint8_t)share;
			return 0;
		}
		if (errno != EADDRINUSE)
			break;
	}
	return -errno;
}

static int take_one(int fd, unsigned int share, uint8_t *share_p)
{
	if (bind_to(fd, share))
		return -errno;
	*share_p = (uint8_t)share;
	return 0;
}

int bl_roce_share_take(int wanted, uint8_t *share_p)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), ret;

	if (fd < 0)
		return -errno;
	ret = wanted < 0 ? take_any(fd, share_p) : take_one(fd, (unsigned int)wanted, share_p);
	if (!ret)
		return fd;
	close(fd);
	errno = -ret;
	return ret;
}
