// SPDX-License-Identifier: MIT
/* Links of the shared-memory transport, two or more in this process. */
#include <sys/resource.h>
#include <unistd.h>

#include "fixture.h"
#include "tap.h"

static const struct bl_snic_transport_ops *const shm = &bl_snic_shm;

static void a_packet_arrives_with_the_address_of_its_sender(void)
{
	struct port a, b;
	struct bl_snic_path *path;

	port_open(&a);
	port_open(&b);
	path = port_path(&a, b.gid);
	check(port_send(path, 7, 100));
	check(port_poll_until(&b, 1));
	check_eq(b.bad, 0);
	check_eq(b.last.psn, 7);
	check_eq(b.last.len, 100);
	check(!memcmp(b.from, a.gid, 16));
	check_eq(port_poll(&b, 16), 0);
	check_eq(a.nr, 0);
	shm->path_close(path);
	port_close(&a);
	port_close(&b);
}

/* One pass each, as a test of a NIC would do it. */
static void the_first_poll_sees_a_peer_that_has_connected(void)
{
	struct port a, b;
	struct bl_snic_path *path;

	port_open(&a);
	port_open(&b);
	path = port_path(&a, b.gid);
	check(port_send(path, 1, 8));
	port_poll(&b, 16);
	check_eq(port_poll(&b, 16), 1);
	shm->path_close(path);
	port_close(&a);
	port_close(&b);
}

static void the_own_address_is_a_loop(void)
{
	struct bl_snic_path *path;
	struct port a;

	port_open(&a);
	path = port_path(&a, a.gid);
	for (uint32_t i = 0; i < 100; i++) {
		check(port_send(path, i, i));
		check_eq(port_poll(&a, 16), 1);
		check_eq(a.last.psn, i);
	}
	check_eq(a.bad, 0);
	check(!memcmp(a.from, a.gid, 16));
	check_eq(shm->path_state(path), 0);
	/* what is under way when the path is closed arrives as well */
	check(port_send(path, 100, 10));
	shm->path_close(path);
	check_eq(port_poll(&a, 16), 1);
	check_eq(a.bad, 0);
	path = port_path(&a, a.gid);
	check(port_send(path, 101, 10));
	check(port_poll_until(&a, 102));
	shm->path_close(path);
	port_close(&a);
}

static void nobody_there_is_enotconn(void)
{
	struct bl_snic_path *path = NULL;
	struct port a, b;
	uint8_t other[16];

	port_open(&a);
	port_open(&b);
	memcpy(other, b.gid, 16);
	port_close(&b);
	check_eq(shm->path_open(a.link, other, &path), -ENOTCONN);
	other[0] = 0xfe;
	check_eq(shm->path_open(a.link, other, &path), -ENOTCONN);
	check(!path);
	port_close(&a);
}

static void the_same_address_is_the_same_path(void)
{
	struct bl_snic_path *one, *two;
	struct port a, b;

	port_open(&a);
	port_open(&b);
	one = port_path(&a, b.gid);
	two = port_path(&a, b.gid);
	check(one == two);
	shm->path_close(one);
	check(port_send(two, 0, 64));
	check(port_poll_until(&b, 1));
	check_eq(shm->path_state(two), 0);
	shm->path_close(two);
	port_close(&a);
	port_close(&b);
}

static void two_that_connect_at_the_same_time_both_can_send(void)
{
	struct bl_snic_path *ab, *ba;
	struct port a, b;

	port_open(&a);
	port_open(&b);
	ab = port_path(&a, b.gid);
	ba = port_path(&b, a.gid);
	for (uint32_t i = 0; i < 1000; i++) {
		check(port_send(ab, i, 3 * i));
		check(port_send(ba, i, 2 * i));
		check(port_poll_until(&a, i + 1));
		check(port_poll_until(&b, i + 1));
	}
	check_eq(a.bad + b.bad, 0);
	shm->path_close(ab);
	check_eq(shm->path_state(ba), 0);
	check(port_send(ba, 1000, 1));
	check(port_poll_until(&a, 1001));
	shm->path_close(ba);
	port_close(&a);
	port_close(&b);
}

static void what_was_sent_before_the_end_is_still_delivered(void)
{
	struct bl_snic_path *path;
	struct port a, b;

	port_open(&a);
	port_open(&b);
	path = port_path(&a, b.gid);
	/* before the other side has even accepted, and after */
	check(port_send(path, 0, 5000));
	shm->path_close(path);
	path = port_path(&a, b.gid);
	check(port_send(path, 1, 5000));
	check(port_poll_until(&b, 2));
	check_eq(b.bad, 0);
	b.ordered = true;
	b.next = 2;
	for (uint32_t i = 2; i < 50; i++)
		check(port_send(path, i, 5000));
	shm->path_close(path);
	port_close(&a);
	check(port_poll_until(&b, 50));
	check_eq(b.bad, 0);
	port_close(&b);
}

static void a_link_that_closes_is_gone_for_good(void)
{
	struct bl_snic_path *path, *again = NULL;
	struct port a, b;

	port_open(&a);
	port_open(&b);
	path = port_path(&a, b.gid);
	check(port_send(path, 0, 64));
	check(port_poll_until(&b, 1));
	check_eq(shm->path_state(path), 0);
	port_close(&b);
	check(port_sees_death(&a, path));
	check_eq(shm->path_state(path), -ECONNRESET);
	check_eq(shm->path_open(a.link, path ? b.gid : NULL, &again), -ENOTCONN);
	/* packets into the void are lost, however many */
	for (uint32_t i = 0; i < 1000; i++)
		check(port_send(path, i, 60000));
	shm->path_close(path);
	port_close(&a);
}

static void a_full_ring_takes_no_more_until_there_is_room(void)
{
	struct bl_snic_path *path;
	struct port a, b;
	uint32_t nr = 0;

	setenv("BARLANE_SNIC_RING", "64k", 1);
	port_open(&a);
	unsetenv("BARLANE_SNIC_RING");
	port_open(&b);
	b.ordered = true;
	check_eq(shm->max_payload(a.link), 16384);
	path = port_path(&a, b.gid);
	while (port_send(path, nr, 1000))
		nr++;
	check_eq(nr, 65536 / 1152);
	check(!port_send(path, nr, 1000));
	check(!shm->reserve(path, 65536 + 1));
	check_eq(shm->path_state(path), 0);
	check(port_poll_until(&b, nr));
	for (int lap = 0; lap < 100; lap++) {
		for (int i = 0; i < 20; i++)
			check(port_send(path, nr++, (uint32_t)(lap * 31 + i)));
		check(port_poll_until(&b, nr));
	}
	check_eq(b.bad, 0);
	shm->path_close(path);
	port_close(&a);
	port_close(&b);
}

static void a_packet_larger_than_reserved_is_not_sent(void)
{
	struct bl_packet packet = {.opcode = BL_PKT_WRITE_ONLY, .len = 101};
	struct bl_snic_path *path;
	struct port a;

	port_open(&a);
	path = port_path(&a, a.gid);
	check(shm->reserve(path, 100));
	shm->commit(path, &packet);
	check_eq(port_poll(&a, 16), 0);
	/* reserved anew, and less is sent than was reserved */
	check(shm->reserve(path, 100));
	check(port_send(path, 1, 50));
	check_eq(port_poll(&a, 16), 1);
	check_eq(a.bad, 0);
	shm->path_close(path);
	port_close(&a);
}

static void poll_keeps_to_its_budget_and_serves_all_peers(void)
{
	struct bl_snic_path *paths[8];
	struct port ports[8], sink;
	unsigned int seen = 0;

	port_open(&sink);
	for (uint32_t i = 0; i < 8; i++) {
		port_open(&ports[i]);
		paths[i] = port_path(&ports[i], sink.gid);
		for (uint32_t k = 0; k < 20; k++)
			check(port_send(paths[i], i, 64));
	}
	port_poll(&sink, 1);
	for (int i = 0; i < 8; i++) {
		check_eq(port_poll(&sink, 5), 5);
		seen |= 1U << sink.last.psn;
	}
	/* each poll begins with another one */
	check_eq(seen, 0xff);
	check(port_poll_until(&sink, 160));
	check_eq(port_poll(&sink, 5), 0);
	check_eq(sink.bad, 0);
	for (int i = 0; i < 8; i++) {
		shm->path_close(paths[i]);
		port_close(&ports[i]);
	}
	port_close(&sink);
}

static void sizes_of_rings_are_checked(void)
{
	static const char *const bad[] = {
		"0", "16384x", "k", "-65536", "100000", "1024", "2048m", "99999999999999999999", "4mm"};
	struct port a;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		setenv("BARLANE_SNIC_RING", bad[i], 1);
		port_open(&a);
		/* the default is used */
		check_eq(shm->max_payload(a.link), 1 << 20);
		port_close(&a);
	}
	setenv("BARLANE_SNIC_RING", "16384", 1);
	port_open(&a);
	unsetenv("BARLANE_SNIC_RING");
	check_eq(shm->max_payload(a.link), 4096);
	port_close(&a);
}

static void sockets_can_be_files(void)
{
	char dir[] = "/tmp/barlane-snic-XXXXXX", long_dir[200];
	struct bl_snic_path *path;
	struct bl_snic_link *link;
	struct port a, b;
	uint8_t gid[16];

	check(mkdtemp(dir));
	setenv("BARLANE_SNIC_DIR", dir, 1);
	port_open(&a);
	port_open(&b);
	path = port_path(&a, b.gid);
	check(port_send(path, 0, 64));
	check(port_poll_until(&b, 1));
	shm->path_close(path);
	memcpy(gid, b.gid, 16);
	port_close(&b);
	check_eq(shm->path_open(a.link, gid, &path), -ENOTCONN);
	port_close(&a);
	/* nothing is left in it */
	check_eq(rmdir(dir), 0);
	check_eq(shm->open("test", gid, &link), -ENOENT);
	memset(long_dir, 'x', sizeof(long_dir) - 1);
	long_dir[sizeof(long_dir) - 1] = '\0';
	setenv("BARLANE_SNIC_DIR", long_dir, 1);
	check_eq(shm->open("test", gid, &link), -ENAMETOOLONG);
	unsetenv("BARLANE_SNIC_DIR");
}

static void descriptors_come_back(void)
{
	struct bl_snic_path *path, *loop;
	int before = count_fds();
	struct port a, b;

	for (int i = 0; i < 10; i++) {
		port_open(&a);
		port_open(&b);
		path = port_path(&a, b.gid);
		loop = port_path(&a, a.gid);
		check(port_send(path, 0, 64));
		check(port_poll_until(&b, 1));
		shm->path_close(path);
		shm->path_close(loop);
		/* sometimes the receiver goes first */
		port_close(i % 2 ? &a : &b);
		port_close(i % 2 ? &b : &a);
	}
	check_eq(count_fds(), before);
}

/* Descriptors below @nr only. Return: the limit before. */
static struct rlimit limit_fds(rlim_t nr)
{
	struct rlimit old, limit;

	check_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	limit = old;
	limit.rlim_cur = nr;
	check_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	return old;
}

static rlim_t lowest_free_fd(void)
{
	int fd = dup(0);

	check(fd >= 0);
	close(fd);
	return (rlim_t)fd;
}

static void a_sender_without_descriptors_gets_emfile(void)
{
	struct bl_snic_path *path = NULL;
	struct bl_snic_link *link = NULL;
	struct rlimit old;
	struct port a, b;
	int rets[6], nr;
	uint8_t gid[16];

	port_open(&a);
	port_open(&b);
	nr = count_fds();
	for (rlim_t more = 0; more < 2; more++) {
		old = limit_fds(lowest_free_fd() + more);
		rets[more] = shm->path_open(a.link, b.gid, &path);
		setrlimit(RLIMIT_NOFILE, &old);
	}
	for (rlim_t more = 0; more < 4; more++) {
		old = limit_fds(lowest_free_fd() + more);
		rets[2 + more] = shm->open("test", gid, &link);
		setrlimit(RLIMIT_NOFILE, &old);
	}
	for (int i = 0; i < 6; i++)
		check_eq(rets[i], -EMFILE);
	check(!path && !link);
	check_eq(count_fds(), nr);
	path = port_path(&a, b.gid);
	shm->path_close(path);
	port_close(&a);
	port_close(&b);
}

static void a_receiver_without_descriptors_turns_senders_away(void)
{
	struct bl_snic_path *paths[5];
	struct port a, b;
	struct rlimit old;

	port_open(&a);
	port_open(&b);
	for (int i = 0; i < 5; i++) {
		paths[i] = port_path(&a, b.gid);
		/* the limit is this process's: first all of the sender's descriptors, then none for the receiver */
		old = limit_fds(lowest_free_fd() + (rlim_t)(i % 2));
		port_poll(&b, 16);
		port_poll(&b, 16);
		setrlimit(RLIMIT_NOFILE, &old);
		check(port_sees_death(&a, paths[i]));
	}
	for (int i = 0; i < 5; i++)
		shm->path_close(paths[i]);
	/* with descriptors the same address can be had again */
	paths[0] = port_path(&a, b.gid);
	check(port_send(paths[0], 0, 10));
	check(port_poll_until(&b, 1));
	check_eq(shm->path_state(paths[0]), 0);
	shm->path_close(paths[0]);
	port_close(&a);
	port_close(&b);
}

static const struct tap_test tests[] = {
	{"a packet arrives, with the address of its sender", a_packet_arrives_with_the_address_of_its_sender},
	{"the first poll sees a peer that has connected", the_first_poll_sees_a_peer_that_has_connected},
	{"the own address is a loop", the_own_address_is_a_loop},
	{"nobody there is ENOTCONN", nobody_there_is_enotconn},
	{"the same address is the same path", the_same_address_is_the_same_path},
	{"two that connect at the same time both can send", two_that_connect_at_the_same_time_both_can_send},
	{"what was sent before the end is still delivered", what_was_sent_before_the_end_is_still_delivered},
	{"a link that closes is gone for good", a_link_that_closes_is_gone_for_good},
	{"a full ring takes no more until there is room", a_full_ring_takes_no_more_until_there_is_room},
	{"a packet larger than reserved is not sent", a_packet_larger_than_reserved_is_not_sent},
	{"poll keeps to its budget and serves all peers", poll_keeps_to_its_budget_and_serves_all_peers},
	{"sizes of rings are checked", sizes_of_rings_are_checked},
	{"sockets can be files", sockets_can_be_files},
	{"descriptors come back", descriptors_come_back},
	{"a sender without descriptors gets EMFILE", a_sender_without_descriptors_gets_emfile},
	{"a receiver without descriptors turns senders away", a_receiver_without_descriptors_turns_senders_away},
};

TAP_MAIN(tests)
