// SPDX-License-Identifier: MIT
#include "net/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "common/error.h"
#include "common/stats.h"

#define MAGIC 0x424c4e31U
#define TEXT  200
#define TICK  100 /* ms: signals are looked at so often */

struct head {
	uint32_t magic;
	uint16_t kind;
	uint16_t reserved;
	uint32_t len;
};

static volatile sig_atomic_t caught;

static void on_signal(int sig)
{
	caught = sig;
}

void net_catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

int net_signal(void)
{
	return caught;
}

int net_interrupted(void)
{
	return caught ? tool_fail(ECANCELED, "interrupted by signal %d", (int)caught) : 0;
}

static uint64_t deadline_in(unsigned int timeout_s)
{
	return tool_now_ns() + timeout_s * 1000000000ULL;
}

/* Until a socket is ready. */
static int await(int fd, short events, uint64_t deadline, const char *what)
{
	struct pollfd pfd = { .fd = fd, .events = events };

	for (;;) {
		int nr = poll(&pfd, 1, TICK);

		if (caught)
			return tool_fail(ECANCELED, "%s: interrupted by signal %d", what, (int)caught);
		if (nr > 0)
			return 0;
		if (nr < 0 && errno != EINTR)
			return tool_fail(errno, "%s: poll: %s", what, strerror(errno));
		if (tool_now_ns() >= deadline)
			return tool_fail(ETIMEDOUT, "%s: the peer does not answer", what);
	}
}

/* One that has ended may have said why before. */
static int send_failed(int fd, int err)
{
	int ret = err == EPIPE || err == ECONNRESET ? net_peer_check(fd) : 0;

	return ret ? ret : tool_fail(err, "sending to the peer: %s", strerror(err));
}

static int send_all(int fd, const void *data, size_t len, uint64_t deadline)
{
	const char *at = data;

	while (len) {
		ssize_t nr = send(fd, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		int ret;

		if (nr < 0 && errno != EAGAIN && errno != EINTR)
			return send_failed(fd, errno);
		if (nr > 0) {
			at += nr;
			len -= (size_t)nr;
			continue;
		}
		ret = await(fd, POLLOUT, deadline, "sending to the peer");
		if (ret)
			return ret;
	}
	return 0;
}

static int recv_all(int fd, void *data, size_t len, uint64_t deadline)
{
	char *at = data;

	while (len) {
		int ret = await(fd, POLLIN, deadline, "waiting for the peer");
		ssize_t nr;

		if (ret)
			return ret;
		nr = recv(fd, at, len, MSG_DONTWAIT);
		if (!nr)
			return tool_fail(ECONNRESET, "the peer has ended");
		if (nr < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (nr < 0)
			return tool_fail(errno, "waiting for the peer: %s", strerror(errno));
		at += nr;
		len -= (size_t)nr;
	}
	return 0;
}

int net_send(int fd, enum net_kind kind, const void *data, size_t len, unsigned int timeout_s)
{
	const struct head head = { .magic = MAGIC, .kind = (uint16_t)kind, .len = (uint32_t)len };
	uint64_t deadline = deadline_in(timeout_s);
	int ret = send_all(fd, &head, sizeof(head), deadline);

	return ret || !len ? ret : send_all(fd, data, len, deadline);
}

void net_send_error(int fd, const char *text)
{
	char line[TEXT] = "";

	if (fd < 0)
		return;
	strncat(line, text, sizeof(line) - 1);
	net_send(fd, NET_ERROR, line, sizeof(line), 1);
}

static int recv_error(int fd, uint64_t deadline)
{
	char text[TEXT];
	int ret = recv_all(fd, text, sizeof(text), deadline);

	if (ret)
		return ret;
	text[sizeof(text) - 1] = '\0';
	for (char *c = text; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
	}
	return tool_fail(ECANCELED, "the peer gives up: %s", text);
}

int net_recv(int fd, enum net_kind kind, void *data, size_t len, unsigned int timeout_s)
{
	uint64_t deadline;
	struct head head;
	int ret;

	for (;;) {
		deadline = deadline_in(timeout_s);
		ret = recv_all(fd, &head, sizeof(head), deadline);
		if (ret)
			return ret;
		if (head.magic != MAGIC)
			return tool_fail(EPROTO, "the peer does not speak as this program does");
		if (head.kind == NET_ERROR && head.len == TEXT)
			return recv_error(fd, deadline);
		if (head.kind != NET_ALIVE || head.len)
			break;
	}
	if (head.kind != kind || head.len != len)
		return tool_fail(EPROTO, "the peer sends message %u of %u bytes, not %d of %zu: another program or release?",
				 head.kind, head.len, (int)kind, len);
	return len ? recv_all(fd, data, len, deadline) : 0;
}

int net_peek(int fd)
{
	struct head head;
	ssize_t nr = recv(fd, &head, sizeof(head), MSG_PEEK | MSG_DONTWAIT);

	/* what is behind it may matter more */
	while (nr == sizeof(head) && head.magic == MAGIC && head.kind == NET_ALIVE && !head.len) {
		recv(fd, &head, sizeof(head), MSG_DONTWAIT);
		nr = recv(fd, &head, sizeof(head), MSG_PEEK | MSG_DONTWAIT);
	}
	if (!nr)
		return caught ? net_interrupted() : tool_fail(ECONNRESET, "the peer has ended");
	if (nr < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : tool_fail(errno, "peer: %s", strerror(errno));
	return nr == sizeof(head) && head.magic == MAGIC ? head.kind : 0;
}

int net_peer_check(int fd)
{
	int kind = net_peek(fd);

	if (kind < 0)
		return kind;
	return kind == NET_ERROR ? net_recv(fd, NET_END, NULL, 0, 1) : 0;
}

int net_barrier(int fd, unsigned int timeout_s)
{
	int ret = net_send(fd, NET_BARRIER, NULL, 0, timeout_s);

	return ret ? ret : net_recv(fd, NET_BARRIER, NULL, 0, timeout_s);
}
