// SPDX-License-Identifier: MIT
/* How client and server find each other. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/error.h"
#include "common/stats.h"
#include "net/wire.h"

#define AGAIN_MS 50

static void no_delay(int fd)
{
	int one = 1;

	/* a message is waited for: it is not to wait for a second one; if that cannot be it is only slower */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

int net_listen(uint16_t port, bool local)
{
	struct sockaddr_in6 addr = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in addr4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = local ? -1 : socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1, off = 0, err;
	bool v4 = fd < 0;

	/* a machine without IPv6 has IPv4 */
	if (v4)
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return tool_fail(errno, "socket: %s", strerror(errno));
	/* not SO_REUSEPORT: a second server on the port is a mistake that is to be seen */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	addr4.sin_addr.s_addr = htonl(local ? INADDR_LOOPBACK : INADDR_ANY);
	if (!v4)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(fd, v4 ? (struct sockaddr *)&addr4 : (struct sockaddr *)&addr, v4 ? sizeof(addr4) : sizeof(addr)) ||
	    listen(fd, 1)) {
		err = errno;
		close(fd);
		return tool_fail(err, "port %u: %s", port, strerror(err));
	}
	return fd;
}

uint16_t net_listen_port(int fd)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);

	if (getsockname(fd, (struct sockaddr *)&addr, &len))
		return 0;
	return ntohs(addr.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&addr)->sin6_port :
						  ((struct sockaddr_in *)&addr)->sin_port);
}

static int await_client(int fd, unsigned int timeout_s)
{
	uint64_t deadline = tool_now_ns() + timeout_s * 1000000000ULL;
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	int client;

	while (poll(&pfd, 1, 100) <= 0) {
		if (net_signal())
			return tool_fail(ECANCELED, "waiting for a client: interrupted by signal %d", net_signal());
		if (tool_now_ns() >= deadline)
			return tool_fail(ETIMEDOUT, "no client came within %u s", timeout_s);
	}
	client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	return client < 0 ? tool_fail(errno, "accept: %s", strerror(errno)) : client;
}

int net_accept(int fd, unsigned int timeout_s)
{
	int client = await_client(fd, timeout_s);

	close(fd);
	if (client >= 0)
		no_delay(client);
	return client;
}

static int try_one(const struct addrinfo *at, uint64_t deadline)
{
	struct pollfd pfd = { .events = POLLOUT };
	socklen_t len = sizeof(int);
	int err = 0, ret;

	pfd.fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (pfd.fd < 0)
		return -errno;
	ret = connect(pfd.fd, at->ai_addr, at->ai_addrlen);
	if (ret && errno == EINPROGRESS) {
		while (poll(&pfd, 1, 100) <= 0 && !net_signal() && tool_now_ns() < deadline)
			;
		if (!pfd.revents)
			err = net_signal() ? EINTR : ETIMEDOUT;
		else
			getsockopt(pfd.fd, SOL_SOCKET, SO_ERROR, &err, &len);
	} else if (ret) {
		err = errno;
	}
	if (!err)
		return pfd.fd;
	close(pfd.fd);
	return -err;
}

int net_connect(const char *host, uint16_t port, bool again, unsigned int timeout_s)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	uint64_t deadline = tool_now_ns() + timeout_s * 1000000000ULL;
	struct addrinfo *list;
	char service[8];
	int ret;

	snprintf(service, sizeof(service), "%u", port);
	ret = getaddrinfo(host, service, &hints, &list);
	if (ret)
		return tool_fail(EADDRNOTAVAIL, "server %s: %s", host, gai_strerror(ret));
	do {
		for (const struct addrinfo *at = list; at; at = at->ai_next) {
			ret = try_one(at, deadline);
			if (ret >= 0)
				break;
		}
		if (ret != -ECONNREFUSED || !again || net_signal())
			break;
		poll(NULL, 0, AGAIN_MS);
	} while (tool_now_ns() < deadline);
	freeaddrinfo(list);
	if (ret < 0 && net_signal())
		return net_interrupted();
	if (ret < 0)
		return tool_fail(-ret, "server %s port %u: %s", host, port, strerror(-ret));
	no_delay(ret);
	return ret;
}
