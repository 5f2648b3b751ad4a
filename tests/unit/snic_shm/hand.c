// SPDX-License-Identifier: MIT
#include "hand.h"

#include <sys/socket.h>
#include <unistd.h>

#include "softnic/shm/address.h"
#include "tap.h"

int socket_of(const uint8_t gid[16], bool listens)
{
	struct sockaddr_un addr;
	socklen_t len;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	check(fd >= 0);
	check_eq(bl_shm_address(gid, &addr, &len), 0);
	if (listens) {
		check_eq(bind(fd, (struct sockaddr *)&addr, len), 0);
		check_eq(listen(fd, 8), 0);
	} else {
		check_eq(connect(fd, (struct sockaddr *)&addr, len), 0);
	}
	return fd;
}

void settles(struct port *port, int fds)
{
	uint64_t end = bl_now_ns() + DEADLINE_NS;

	do {
		bl_snic_shm.wait(port->link, 1000000);
		port_poll(port, 16);
	} while (count_fds() != fds && bl_now_ns() < end);
	check_eq(count_fds(), fds);
}

void still_works(struct port *port, int fds)
{
	struct bl_snic_path *path;
	struct port other;
	uint64_t nr = port->nr;

	settles(port, fds);
	port_open(&other);
	path = port_path(&other, port->gid);
	check(port_send(path, 1, 1000));
	check(port_poll_until(port, nr + 1));
	check_eq(port->bad, 0);
	bl_snic_shm.path_close(path);
	port_close(&other);
	settles(port, fds);
}
