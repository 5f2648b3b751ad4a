// SPDX-License-Identifier: MIT
/* Links in other processes: this program, started again. They talk, sleep, stop and are killed at every step. */
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "tap.h"

static const struct bl_snic_transport_ops *const shm = &bl_snic_shm;

/**
 * struct peer - another process
 * @pid: process
 * @out: it reads our address from here
 * @in:  its address, then a byte when it has done what it should
 * @gid: its address
 */
struct peer {
	pid_t pid;
	int out;
	int in;
	uint8_t gid[16];
};

static bool read_all(int fd, void *to, size_t len)
{
	struct pollfd pollfd = {.fd = fd, .events = POLLIN};

	return poll(&pollfd, 1, (int)(DEADLINE_NS / 1000000U)) == 1 && read(fd, to, len) == (ssize_t)len;
}

static void peer_start(struct peer *peer, const struct port *port, const char *role)
{
	int to[2], from[2];

	check(!pipe(to) && !pipe(from));
	peer->pid = fork();
	check(peer->pid >= 0);
	if (!peer->pid) {
		if (dup2(to[0], 0) == 0 && dup2(from[1], 3) == 3) {
			close_range(4, ~0U, 0);
			execl("/proc/self/exe", "peers", "--peer", role, (char *)NULL);
		}
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	peer->out = to[1];
	peer->in = from[0];
	check_eq(write(peer->out, port->gid, 16), 16);
	check(read_all(peer->in, peer->gid, 16));
}

static void peer_is_done(const struct peer *peer)
{
	char byte = 0;

	check(read_all(peer->in, &byte, 1));
	check_eq(byte, '.');
}

static void peer_kill(struct peer *peer)
{
	int status;

	check_eq(kill(peer->pid, SIGKILL), 0);
	check_eq(waitpid(peer->pid, &status, 0), peer->pid);
	check(WIFSIGNALED(status));
	close(peer->in);
	close(peer->out);
}

/* Roles. All but echo tell when they are ready to be killed, and sleep. */
static _Noreturn void stay(void)
{
	if (write(3, ".", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void send_some(struct bl_snic_path *path, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		if (!port_send(path, i, i * 37 % 3000))
			_exit(2);
	}
}

static void role_in_wait(struct port *port)
{
	if (write(3, ".", 1) != 1)
		_exit(1);
	for (;;)
		shm->wait(port->link, UINT64_MAX);
}

static void role_in_commit(struct port *port, struct bl_snic_path *path)
{
	void *payload;

	send_some(path, 10);
	payload = shm->reserve(path, 2000);
	if (!payload)
		_exit(2);
	memset(payload, 0xff, 1000);
	stay();
}

struct echo {
	struct bl_snic_path *path;
	struct bl_packet packet;
	char payload[65536];
	bool full;
};

static void keep(void *arg, const uint8_t *gid, const struct bl_packet *packet, const void *payload)
{
	struct echo *echo = arg;

	echo->packet = *packet;
	memcpy(echo->payload, payload, packet->len);
	echo->full = true;
}

static bool send_back(struct echo *echo)
{
	void *payload = shm->reserve(echo->path, echo->packet.len);

	if (!payload)
		return false;
	memcpy(payload, echo->payload, echo->packet.len);
	shm->commit(echo->path, &echo->packet);
	echo->full = false;
	return true;
}

static _Noreturn void role_echo(struct port *port, struct bl_snic_path *path)
{
	static struct echo echo;

	echo.path = path;
	while (!shm->path_state(path)) {
		if (!echo.full && !shm->poll(port->link, keep, &echo, 1))
			shm->wait(port->link, UINT64_MAX);
		if (echo.full && !send_back(&echo))
			shm->wait(port->link, 1000000);
	}
	_exit(0);
}

/* Another user: it can connect to root's listener, and is turned away there, at once or a moment later. */
static _Noreturn void role_user(struct port *port, const uint8_t gid[16])
{
	uint64_t end = bl_now_ns() + DEADLINE_NS;
	struct bl_snic_path *path;
	int ret;

	ret = shm->path_open(port->link, gid, &path);
	if (ret == -EACCES)
		stay();
	if (ret)
		_exit(1);
	while (!shm->path_state(path) && bl_now_ns() < end)
		shm->wait(port->link, 1000000);
	if (!shm->path_state(path))
		_exit(1);
	stay();
}

static int peer_main(const char *role)
{
	struct bl_snic_path *path = NULL;
	struct port port = {0};
	uint8_t gid[16];

	if (!strcmp(role, "user") && setresuid(65534, 65534, 65534))
		return 1;
	if (shm->open("peer", port.gid, &port.link) || write(3, port.gid, 16) != 16 || !read_all(0, gid, 16))
		return 1;
	if (!strcmp(role, "open"))
		stay();
	if (!strcmp(role, "user"))
		role_user(&port, gid);
	if (shm->path_open(port.link, gid, &path))
		return 1;
	if (!strcmp(role, "path"))
		stay();
	if (!strcmp(role, "commit"))
		role_in_commit(&port, path);
	if (!strcmp(role, "echo"))
		role_echo(&port, path);
	send_some(path, 10);
	if (!strcmp(role, "wait"))
		role_in_wait(&port);
	if (!strcmp(role, "sent"))
		stay();
	return 1;
}

/* The packets that @role has sent arrive, and then it is gone; whatever is sent to it meanwhile does no harm. */
static void killed_as(const char *role, uint32_t sent)
{
	struct bl_snic_path *path;
	struct peer peer;
	struct port a;
	int fds;

	port_open(&a);
	fds = count_fds();
	a.ordered = true;
	peer_start(&peer, &a, role);
	path = port_path(&a, peer.gid);
	peer_is_done(&peer);
	for (uint32_t i = 0; i < 10; i++)
		check(port_send(path, i, 100));
	peer_kill(&peer);
	check(port_sees_death(&a, path));
	check(port_poll_until(&a, sent));
	check_eq(a.nr, sent);
	check_eq(a.bad, 0);
	for (uint32_t i = 0; i < 500; i++)
		check(port_send(path, i, 50000));
	shm->path_close(path);
	for (int i = 0; i < 10; i++)
		shm->wait(a.link, 1000);
	port_poll(&a, 1);
	check_eq(count_fds(), fds);
	port_close(&a);
}

static void a_peer_that_dies_before_it_connects_is_noticed(void)
{
	killed_as("open", 0);
}

static void a_peer_that_dies_after_it_connected_is_noticed(void)
{
	killed_as("path", 0);
}

static void half_a_packet_of_a_dead_peer_is_not_delivered(void)
{
	killed_as("commit", 10);
}

static void what_a_dead_peer_had_sent_is_delivered(void)
{
	killed_as("sent", 10);
}

static void a_peer_that_dies_asleep_is_noticed(void)
{
	killed_as("wait", 10);
}

static void a_peer_killed_at_any_moment_does_no_harm(void)
{
	uint64_t state = test_seed();

	for (int i = 0; i < 25; i++) {
		struct bl_snic_path *path;
		struct peer peer;
		struct port a;
		uint32_t nr = 0;
		uint64_t until;

		port_open(&a);
		a.ordered = true;
		peer_start(&peer, &a, "echo");
		path = port_path(&a, peer.gid);
		until = bl_now_ns() + next_random(&state) % 3000000;
		while (bl_now_ns() < until) {
			nr += port_send(path, nr, (uint32_t)(next_random(&state) % 20000));
			port_poll(&a, 4);
		}
		peer_kill(&peer);
		check(port_sees_death(&a, path));
		check(a.nr <= nr);
		check_eq(a.bad, 0);
		shm->path_close(path);
		port_close(&a);
	}
}

/* Some packets are under way all the time, and sleeping is tried whenever there is nothing to do. */
static void random_traffic_comes_back_as_it_was_sent(void)
{
	uint64_t state = test_seed(), end = bl_now_ns() + DEADLINE_NS;
	struct bl_snic_path *path;
	uint32_t sent = 0, total = 20000, most;
	struct peer peer;
	struct port a;

	setenv("BARLANE_SNIC_RING", "256k", 1);
	port_open(&a);
	a.ordered = true;
	peer_start(&peer, &a, "echo");
	unsetenv("BARLANE_SNIC_RING");
	path = port_path(&a, peer.gid);
	while (a.nr < total && bl_now_ns() < end) {
		most = next_random(&state) % 64 ? 600 : 60000;
		if (sent < total && sent - a.nr < 64 && port_send(path, sent, (uint32_t)(next_random(&state) % most)))
			sent++;
		else if (!port_poll(&a, 16))
			shm->wait(a.link, 100000000);
	}
	check_eq(a.nr, total);
	check_eq(a.bad, 0);
	shm->path_close(path);
	peer_kill(&peer);
	port_close(&a);
}

static void eight_peers_are_served_at_once(void)
{
	uint64_t end = bl_now_ns() + DEADLINE_NS;
	struct bl_snic_path *paths[8];
	struct peer peers[8];
	uint32_t sent = 0;
	struct port a;

	port_open(&a);
	for (int i = 0; i < 8; i++) {
		peer_start(&peers[i], &a, "echo");
		paths[i] = port_path(&a, peers[i].gid);
	}
	while (a.nr < 8000 && bl_now_ns() < end) {
		if (sent < 8000 && port_send(paths[sent % 8], sent, sent % 2000))
			sent++;
		else if (!port_poll(&a, 16))
			shm->wait(a.link, 100000000);
	}
	check_eq(a.nr, 8000);
	check_eq(a.bad, 0);
	for (int i = 0; i < 8; i++) {
		shm->path_close(paths[i]);
		peer_kill(&peers[i]);
	}
	port_close(&a);
}

static void a_peer_that_stands_still_fills_its_ring_and_goes_on_later(void)
{
	struct bl_snic_path *path;
	struct peer peer;
	uint32_t sent = 0;
	struct port a;
	int status;

	port_open(&a);
	a.ordered = true;
	peer_start(&peer, &a, "echo");
	path = port_path(&a, peer.gid);
	check(port_send(path, sent++, 1000));
	check(port_poll_until(&a, 1));
	check_eq(kill(peer.pid, SIGSTOP), 0);
	check_eq(waitpid(peer.pid, &status, WUNTRACED), peer.pid);
	while (port_send(path, sent, 60000))
		sent++;
	check(sent > 60);
	for (int i = 0; i < 20; i++)
		shm->wait(a.link, 1000000);
	check_eq(shm->path_state(path), 0);
	check(!port_send(path, sent, 60000));
	check_eq(kill(peer.pid, SIGCONT), 0);
	check(port_poll_until(&a, sent));
	check_eq(a.bad, 0);
	shm->path_close(path);
	peer_kill(&peer);
	port_close(&a);
}

static void another_user_is_turned_away(void)
{
	struct bl_snic_path *path = NULL;
	struct pollfd pollfd = {.events = POLLIN};
	uint64_t end = bl_now_ns() + DEADLINE_NS;
	struct peer peer;
	struct port a;

	if (geteuid())
		skip("only root can be another user");
	port_open(&a);
	peer_start(&peer, &a, "user");
	check_eq(shm->path_open(a.link, peer.gid, &path), -EACCES);
	pollfd.fd = peer.in;
	while (poll(&pollfd, 1, 1) == 0 && bl_now_ns() < end)
		port_poll(&a, 16);
	peer_is_done(&peer);
	check_eq(a.nr, 0);
	peer_kill(&peer);
	port_close(&a);
}

static const struct tap_test tests[] = {
	{"random traffic comes back as it was sent", random_traffic_comes_back_as_it_was_sent},
	{"eight peers are served at once", eight_peers_are_served_at_once},
	{"a peer that stands still fills its ring and goes on later",
	 a_peer_that_stands_still_fills_its_ring_and_goes_on_later},
	{"a peer that dies before it connects is noticed", a_peer_that_dies_before_it_connects_is_noticed},
	{"a peer that dies after it connected is noticed", a_peer_that_dies_after_it_connected_is_noticed},
	{"half a packet of a dead peer is not delivered", half_a_packet_of_a_dead_peer_is_not_delivered},
	{"what a dead peer had sent is delivered", what_a_dead_peer_had_sent_is_delivered},
	{"a peer that dies asleep is noticed", a_peer_that_dies_asleep_is_noticed},
	{"another user is turned away", another_user_is_turned_away},
	{"a peer killed at any moment does no harm", a_peer_killed_at_any_moment_does_no_harm},
};

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--peer"))
		return peer_main(argv[2]);
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
