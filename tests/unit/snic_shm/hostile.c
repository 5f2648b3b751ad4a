// SPDX-License-Identifier: MIT
/* Senders that do not keep to the rules: tests that speak the protocol of the sockets themselves. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fixture.h"
#include "hand.h"
#include "softnic/shm/fds.h"
#include "softnic/shm/greeting.h"
#include "softnic/shm/memory.h"
#include "tap.h"

#define SIZE 65536U

static const struct bl_snic_transport_ops *const shm = &bl_snic_shm;

/* Any message with any descriptors. */
static void send_message(int sock, const void *bytes, size_t len, const int *fds, size_t nr_fds)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(16 * sizeof(int))];
	} control = {0};
	struct iovec iov = {(void *)(uintptr_t)bytes, len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *cmsg;

	if (nr_fds) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(nr_fds * sizeof(int));
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(nr_fds * sizeof(int));
		memcpy(CMSG_DATA(cmsg), fds, nr_fds * sizeof(int));
	}
	check_eq(sendmsg(sock, &msg, MSG_NOSIGNAL), len);
}

static struct bl_shm_greeting good_greeting(void)
{
	struct bl_shm_greeting greeting = {
		.magic = BL_SHM_MAGIC,
		.version = BL_SHM_VERSION,
		.size = sizeof(greeting),
		.ring_size = SIZE,
		.page_size = (uint32_t)sysconf(_SC_PAGESIZE),
		.packet_size = sizeof(struct bl_packet),
	};

	check_eq(bl_shm_gid_make(greeting.gid), 0);
	return greeting;
}

/* Polls until the receiver hangs up. Return: the errno value that it gave as the reason, ECONNRESET without one. */
static int refused(struct port *port, int sock)
{
	uint64_t end = bl_now_ns() + DEADLINE_NS;
	bool woken = false;
	int ret = 0;

	while (!ret && bl_now_ns() < end) {
		port_poll(port, 16);
		ret = bl_shm_hear(sock, &woken);
	}
	close(sock);
	return -ret;
}

static void greetings_that_make_no_sense_are_refused(void)
{
	struct bl_shm_greeting greetings[10];
	struct bl_shm_ring ring;
	int fds, fd, sock;
	struct port a;

	port_open(&a);
	fds = count_fds();
	for (int i = 0; i < 10; i++)
		greetings[i] = good_greeting();
	greetings[0].magic++;
	greetings[1].version++;
	greetings[2].size--;
	greetings[3].page_size *= 2;
	greetings[4].packet_size -= 8;
	greetings[5].gid[0] = 0xfe;
	greetings[6].ring_size = SIZE - 1;
	greetings[7].ring_size = 2 * SIZE;
	greetings[8].ring_size = 1ULL << 62;
	greetings[9].ring_size = 0;
	for (int i = 0; i < 10; i++) {
		check_eq(bl_shm_memory_make(SIZE, &ring, &fd), 0);
		sock = socket_of(a.gid, false);
		send_message(sock, &greetings[i], sizeof(greetings[i]), &fd, 1);
		bl_shm_fd_close(fd);
		check_eq(refused(&a, sock), EPROTO);
		bl_shm_memory_unmap(&ring);
	}
	still_works(&a, fds);
	port_close(&a);
}

static void greetings_of_wrong_lengths_are_refused(void)
{
	struct {
		struct bl_shm_greeting greeting;
		char more[4096];
	} in = {.greeting = good_greeting()};
	static const size_t lens[] = {
		1, 7, 8, 24, sizeof(struct bl_shm_greeting) - 1, sizeof(struct bl_shm_greeting) + 1, sizeof(in)};
	struct bl_shm_ring ring;
	int fds, fd, sock;
	struct port a;

	port_open(&a);
	fds = count_fds();
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		check_eq(bl_shm_memory_make(SIZE, &ring, &fd), 0);
		sock = socket_of(a.gid, false);
		send_message(sock, &in, lens[i], &fd, 1);
		bl_shm_fd_close(fd);
		check_eq(refused(&a, sock), EPROTO);
		bl_shm_memory_unmap(&ring);
	}
	still_works(&a, fds);
	port_close(&a);
}

static void other_descriptors_than_a_ring_are_refused(void)
{
	struct bl_shm_greeting greeting = good_greeting();
	int fds, many[16], sock;
	struct port a;

	port_open(&a);
	fds = count_fds();
	sock = socket_of(a.gid, false);
	send_message(sock, &greeting, sizeof(greeting), NULL, 0);
	check_eq(refused(&a, sock), EPROTO);
	many[0] = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	check(many[0] >= 0);
	for (int i = 1; i < 16; i++)
		many[i] = many[0];
	/* too short, not sealed; one, two, and more than there is room for */
	for (size_t nr = 1; nr <= 16; nr *= 2) {
		sock = socket_of(a.gid, false);
		send_message(sock, &greeting, sizeof(greeting), many, nr);
		/* what was too many cannot be told from what did not fit for lack of descriptors */
		check_eq(refused(&a, sock), EPROTO);
	}
	close(many[0]);
	still_works(&a, fds);
	port_close(&a);
}

static void who_hangs_up_or_says_nothing_does_no_harm(void)
{
	int fds, socks[100];
	struct port a;

	port_open(&a);
	fds = count_fds();
	for (int i = 0; i < 100; i++)
		close(socket_of(a.gid, false));
	still_works(&a, fds);
	/* more than are let in without a greeting; a message without bytes is as good as the end */
	for (int i = 0; i < 100; i++)
		socks[i] = socket_of(a.gid, false);
	send_message(socks[0], "", 0, NULL, 0);
	check_eq(refused(&a, socks[0]), ECONNRESET);
	for (int i = 1; i < 100; i++)
		check_eq(refused(&a, socks[i]), ETIMEDOUT);
	still_works(&a, fds);
	port_close(&a);
}

/* A connection as it should be, of which the test has the sender's end in its hands. */
static int connect_well(struct port *port, struct bl_shm_ring *ring)
{
	struct bl_shm_greeting greeting = good_greeting();
	int fd, sock;

	check_eq(bl_shm_memory_make(SIZE, ring, &fd), 0);
	sock = socket_of(port->gid, false);
	check_eq(bl_shm_greet(sock, greeting.gid, SIZE, fd), 0);
	bl_shm_fd_close(fd);
	port_poll(port, 16);
	port_poll(port, 16);
	return sock;
}

static void messages_after_the_greeting_do_no_harm(void)
{
	char bytes[3000] = {0};
	struct bl_shm_ring ring;
	struct bl_shm_tx tx = {.ring = &ring};
	struct port a;
	int fds, sock;

	port_open(&a);
	fds = count_fds();
	sock = connect_well(&a, &ring);
	for (int i = 0; i < 500; i++) {
		/* all that the socket takes; what does not fit is not sent */
		(void)!send(sock, bytes, 1 + (size_t)i * 5, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (i % 50 == 0)
			shm->wait(a.link, 1000);
	}
	check(bl_shm_tx_reserve(&tx, 0));
	bl_shm_tx_commit(&tx, &(struct bl_packet){.opcode = BL_PKT_WRITE_ONLY});
	check(port_poll_until(&a, 1));
	close(sock);
	bl_shm_memory_unmap(&ring);
	still_works(&a, fds);
	port_close(&a);
}

/* Any words in any place of the ring's memory, while the receiver polls and sleeps: it ends the connection or goes on.
 */
static void scribble(struct port *port, uint64_t *state)
{
	struct bl_shm_ring ring;
	struct bl_shm_tx tx = {.ring = &ring};
	int sock = connect_well(port, &ring);

	for (int i = 0; i < 200; i++) {
		uint64_t dice = next_random(state);
		uint32_t *words = (uint32_t *)(void *)(dice % 4 ? ring.data : (char *)ring.words);
		size_t nr = (dice % 4 ? SIZE : sizeof(*ring.words)) / sizeof(*words);

		if (dice % 3 == 0 && bl_shm_tx_reserve(&tx, dice % 2000))
			bl_shm_tx_commit(&tx, &(struct bl_packet){.len = (uint32_t)(dice % 2000)});
		else
			__atomic_store_n(&words[dice / 64 % nr], (uint32_t)next_random(state), __ATOMIC_RELAXED);
		port_poll(port, 4);
		if (dice % 16 == 0)
			shm->wait(port->link, 1000);
	}
	close(sock);
	bl_shm_memory_unmap(&ring);
}

static void scribbles_over_a_ring_end_the_connection_alone(void)
{
	uint64_t state = test_seed();
	struct port a;
	int fds;

	port_open(&a);
	fds = count_fds();
	for (int i = 0; i < 60; i++)
		scribble(&a, &state);
	a.bad = 0;
	still_works(&a, fds);
	port_close(&a);
}

struct scribbler {
	struct bl_shm_ring ring;
	uint64_t seed;
	atomic_bool stop;
};

static void *scribble_on(void *arg)
{
	struct scribbler *scribbler = arg;
	uint64_t state = scribbler->seed;
	uint32_t *record = (uint32_t *)(void *)scribbler->ring.data;

	/* len of the first record, back and forth, between the receiver's check and its use */
	while (!atomic_load(&scribbler->stop))
		__atomic_store_n(record + offsetof(struct bl_shm_record, packet.len) / 4,
				 next_random(&state) % 2 ? 100U : UINT32_MAX, __ATOMIC_RELAXED);
	return NULL;
}

#ifndef __has_feature
#define __has_feature(x) 0
#endif

static void headers_that_change_while_they_are_read_are_copied_first(void)
{
	struct scribbler scribbler = {.seed = test_seed()};
	uint64_t end = bl_now_ns() + DEADLINE_NS;
	struct bl_packet packet;
	const void *payload;
	pthread_t thread;
	bool right = true;
	unsigned int seen[2] = {0, 0};
	int fd;

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
	skip("ThreadSanitizer finds the race that is meant");
#endif
	check_eq(bl_shm_memory_make(SIZE, &scribbler.ring, &fd), 0);
	bl_shm_fd_close(fd);
	{
		struct bl_shm_tx tx = {.ring = &scribbler.ring};

		check(bl_shm_tx_reserve(&tx, 100));
		bl_shm_tx_commit(&tx, &(struct bl_packet){.len = 100});
	}
	check_eq(pthread_create(&thread, NULL, scribble_on, &scribbler), 0);
	for (int i = 0; right && !(i > 10000 && seen[0] && seen[1]) && bl_now_ns() < end; i++) {
		struct bl_shm_rx rx = {.ring = &scribbler.ring};
		int ret = bl_shm_rx_next(&rx, &packet, &payload);

		right = ret == -EPROTO || (ret == 1 && packet.len == 100);
		seen[ret == 1]++;
	}
	atomic_store(&scribbler.stop, true);
	pthread_join(thread, NULL);
	bl_shm_memory_unmap(&scribbler.ring);
	check(right);
	check(seen[0] && seen[1]);
}

static const struct tap_test tests[] = {
	{"greetings that make no sense are refused", greetings_that_make_no_sense_are_refused},
	{"greetings of wrong lengths are refused", greetings_of_wrong_lengths_are_refused},
	{"other descriptors than a ring are refused", other_descriptors_than_a_ring_are_refused},
	{"who hangs up or says nothing does no harm", who_hangs_up_or_says_nothing_does_no_harm},
	{"messages after the greeting do no harm", messages_after_the_greeting_do_no_harm},
	{"scribbles over a ring end the connection alone", scribbles_over_a_ring_end_the_connection_alone},
	{"headers that change while they are read are copied first",
	 headers_that_change_while_they_are_read_are_copied_first},
};

TAP_MAIN(tests)
