// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "snic/shm: " fmt
#include "address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "util/log.h"

/* fd: locally assigned; then "blshm", and nothing more to tell networks apart */
static const uint8_t prefix[8] = {0xfd, 0x62, 0x6c, 0x73, 0x68, 0x6d, 0, 0};

int bl_shm_gid_make(uint8_t gid[BL_SHM_GID_LEN])
{
	size_t len = BL_SHM_GID_LEN - sizeof(prefix);

	memcpy(gid, prefix, sizeof(prefix));
	if (getrandom(gid + sizeof(prefix), len, 0) != (ssize_t)len)
		return fail(errno ? errno : EIO, "random address: %s", strerror(errno));
	return 0;
}

bool bl_shm_gid_is_ours(const uint8_t gid[BL_SHM_GID_LEN])
{
	return !memcmp(gid, prefix, sizeof(prefix));
}

const char *bl_shm_gid_text(const uint8_t gid[BL_SHM_GID_LEN], char text[BL_SHM_GID_TEXT])
{
	return inet_ntop(AF_INET6, gid, text, BL_SHM_GID_TEXT) ? text : "?";
}

int bl_shm_address(const uint8_t gid[BL_SHM_GID_LEN], struct sockaddr_un *addr, socklen_t *len_p)
{
	const char *dir = getenv("BARLANE_SNIC_DIR");
	char hex[2 * BL_SHM_GID_LEN + 1];
	int len;

	for (int i = 0; i < BL_SHM_GID_LEN; i++)
		snprintf(hex + 2 * i, 3, "%02x", gid[i]);
	*addr = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (dir && *dir) {
		len = snprintf(addr->sun_path, sizeof(addr->sun_path), "%s/barlane-snic-%s", dir, hex);
		if (len < 0 || (size_t)len >= sizeof(addr->sun_path))
			return fail(ENAMETOOLONG, "BARLANE_SNIC_DIR %s: too long for the name of a socket", dir);
		len++;
	} else {
		/* the first byte stays 0: abstract; the length counts and there is no 0 behind */
		len = 1 + snprintf(addr->sun_path + 1, sizeof(addr->sun_path) - 1, "barlane-snic-%s", hex);
	}
	*len_p = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)len);
	return 0;
}

int bl_shm_check_user(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return fail(errno, "peer: its user: %s", strerror(errno));
	if (peer.uid != geteuid() && peer.uid != 0)
		return fail(EACCES, "peer: process %d is of user %u, this one of user %u", (int)peer.pid, peer.uid,
			    geteuid());
	return 0;
}
