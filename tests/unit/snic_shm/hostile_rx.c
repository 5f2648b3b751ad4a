// SPDX-License-Identifier: MIT
/* Receivers that do not keep to the rules. */
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fixture.h"
#include "hand.h"
#include "softnic/shm/fds.h"
#include "softnic/shm/greeting.h"
#include "softnic/shm/memory.h"
#include "tap.h"

static const struct bl_snic_transport_ops *const shm = &bl_snic_shm;

/* A receiver made by hand. @ring: NULL: it does not take the greeting. */
static int accept_path(struct port *port, struct bl_snic_path **path_p, struct bl_shm_ring *ring)
{
	struct bl_shm_greeting greeting;
	uint8_t gid[16];
	int listener, sock, fd;

	check_eq(bl_shm_gid_make(gid), 0);
	listener = socket_of(gid, true);
	*path_p = port_path(port, gid);
	sock = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	check(sock >= 0);
	close(listener);
	if (ring) {
		check_eq(bl_shm_greeted(sock, &greeting, &fd), 0);
		check(!memcmp(greeting.gid, port->gid, 16));
		check_eq(bl_shm_memory_take(fd, greeting.ring_size, ring), 0);
		bl_shm_fd_close(fd);
	}
	return sock;
}

static void a_receiver_that_lies_about_its_tail_is_left(void)
{
	static const uint64_t lies[] = {1, 1U << 20, UINT64_MAX, 1ULL << 63};
	struct bl_snic_path *path;
	struct bl_shm_ring ring;
	struct port a;
	int fds, sock;

	setenv("BARLANE_SNIC_RING", "64k", 1);
	port_open(&a);
	unsetenv("BARLANE_SNIC_RING");
	fds = count_fds();
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		sock = accept_path(&a, &path, &ring);
		atomic_store(&ring.words->tail, lies[i]);
		for (uint32_t k = 0; k < 200; k++)
			check(port_send(path, k, 1000));
		check_eq(shm->path_state(path), -ECONNRESET);
		shm->path_close(path);
		bl_shm_memory_unmap(&ring);
		close(sock);
	}
	still_works(&a, fds);
	port_close(&a);
}

static void a_receiver_that_asks_to_be_woken_all_the_time_does_no_harm(void)
{
	struct bl_snic_path *path;
	struct bl_shm_ring ring;
	struct port a;
	int sock;

	port_open(&a);
	sock = accept_path(&a, &path, &ring);
	/* it reads none of the bytes, of which a socket takes only so many */
	for (uint32_t i = 0; i < 3000; i++) {
		atomic_store(&ring.words->asleep, UINT32_MAX);
		check(port_send(path, i, 100));
	}
	check_eq(shm->path_state(path), 0);
	close(sock);
	check(port_sees_death(&a, path));
	shm->path_close(path);
	bl_shm_memory_unmap(&ring);
	port_close(&a);
}

static void a_refusal_ends_a_path(void)
{
	struct bl_snic_path *path;
	struct port a;
	int sock;

	port_open(&a);
	sock = accept_path(&a, &path, NULL);
	/* the greeting stays unread, so that the kernel reports a reset before the reason */
	bl_shm_refuse(sock, EPROTO);
	close(sock);
	check(port_sees_death(&a, path));
	shm->path_close(path);
	port_close(&a);
}

struct refuser {
	int listener;
	int err;
};

/* Accepts and refuses at once, before or after the greeting. */
static void *refuse_all(void *arg)
{
	struct refuser *refuser = arg;
	int sock;

	while ((sock = accept4(refuser->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		if (refuser->err)
			bl_shm_refuse(sock, refuser->err);
		close(sock);
	}
	return NULL;
}

static void whoever_is_refused_before_it_has_greeted_is_told_why(void)
{
	static const int errs[] = {EACCES, 0};
	struct bl_snic_path *path;
	struct refuser refuser;
	pthread_t thread;
	uint8_t gid[16];
	struct port a;
	int fds;

	port_open(&a);
	fds = count_fds();
	for (int i = 0; i < 2; i++) {
		refuser.err = errs[i];
		check_eq(bl_shm_gid_make(gid), 0);
		refuser.listener = socket_of(gid, true);
		check_eq(pthread_create(&thread, NULL, refuse_all, &refuser), 0);
		for (int k = 0; k < 50; k++) {
			int ret = shm->path_open(a.link, gid, &path);

			/* at once, or as soon as the path is looked at */
			check(!ret || ret == (errs[i] ? -errs[i] : -ENOTCONN));
			if (ret)
				continue;
			check(port_sees_death(&a, path));
			shm->path_close(path);
		}
		shutdown(refuser.listener, SHUT_RDWR);
		pthread_join(thread, NULL);
		close(refuser.listener);
	}
	settles(&a, fds);
	port_close(&a);
}

static void a_listener_that_accepts_nobody_does_not_hold_anybody_up(void)
{
	struct bl_snic_path *path;
	struct sockaddr_un addr;
	uint8_t gid[16];
	int listener, socks[300], nr = 0;
	socklen_t len;
	struct port a;

	port_open(&a);
	check_eq(bl_shm_gid_make(gid), 0);
	listener = socket_of(gid, true);
	check_eq(bl_shm_address(gid, &addr, &len), 0);
	do {
		socks[nr] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		check(socks[nr] >= 0);
	} while (!connect(socks[nr++], (struct sockaddr *)&addr, len) && nr < 300);
	check(nr < 300);
	check_eq(shm->path_open(a.link, gid, &path), -EAGAIN);
	while (nr)
		close(socks[--nr]);
	close(listener);
	port_close(&a);
}

static const struct tap_test tests[] = {
	{"a receiver that lies about its tail is left", a_receiver_that_lies_about_its_tail_is_left},
	{"a receiver that asks to be woken all the time does no harm",
	 a_receiver_that_asks_to_be_woken_all_the_time_does_no_harm},
	{"a refusal ends a path", a_refusal_ends_a_path},
	{"whoever is refused before it has greeted is told why", whoever_is_refused_before_it_has_greeted_is_told_why},
	{"a listener that accepts nobody does not hold anybody up",
	 a_listener_that_accepts_nobody_does_not_hold_anybody_up},
};

TAP_MAIN(tests)
