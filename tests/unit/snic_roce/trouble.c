// SPDX-License-Identifier: MIT
/* Cables, peers, addresses and sizes that are not as they should be: each ends in time, with one line that says why. */
#include <arpa/inet.h>
#include <unistd.h>

#include "pair.h"
#include "softnic/cq.h"
#include "softnic/roce/frame.h"
#include "tap.h"
#include "util/log.h"

static unsigned int nr_errors;

static void count_errors(enum bl_log_level level, const char *text)
{
	nr_errors += level == BL_LOG_ERROR;
}

static void listen_to_errors(bool on)
{
	if (on)
		nr_errors = 0;
	bl_log_set_level(BL_LOG_ERROR);
	bl_log_set_sink(on ? count_errors : NULL);
}

/* What was posted by the first side fails when all retries are used up, and says why in one line. */
static void check_silence(struct world *w, const char *why)
{
	struct bl_snic_qp_info info;

	listen_to_errors(true);
	post_write(&w->a, &w->b, 0, 0, 5000);
	for (int i = 0; i < 400 && world_query(&w->a).mod.state == BL_SNIC_RTS; i++) {
		world_wait(w, 10 * WORLD_MS);
		/* what others say of packets takes real time */
		usleep(200);
	}
	listen_to_errors(false);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x15, 0);
	info = world_query(&w->a);
	check_eq(info.error.syndrome, 0x15);
	check_has(info.error.text, why);
	check_eq(nr_errors, 1);
}

static void a_cable_that_is_cut_is_named(void)
{
	struct world *w = net_begin(NET_IPV6, "packet");

	check(net_do(1, "ip link set vb down"));
	check_silence(w, "interface va has no carrier");
	world_end(w);
	check(net_do(1, "ip link set vb up && ip addr add fe80::2/64 dev vb nodad && ip addr add fd77::2/64 dev vb nodad"));
}

/* Nothing of this side is under way: it is the peer's packet that does not come. */
static void who_waits_for_the_peer_is_told_of_a_cut_cable(void)
{
	struct world *w = net_begin(NET_IPV4, "packet");

	net_check_works(w);
	check_str(world_query(&w->a).waits, "");
	check(net_do(1, "ip link set vb down"));
	for (int i = 0; i < 300 && !*world_query(&w->a).waits; i++)
		usleep(10000);
	check_str(world_query(&w->a).waits, "interface va has no carrier");
	world_end(w);
	check(net_do(1, "ip link set vb up && ip addr add fe80::2/64 dev vb nodad && ip addr add fd77::2/64 dev vb nodad"));
}

static void an_interface_that_is_down_is_named(void)
{
	struct world *w = net_begin(NET_IPV4, "udp");

	/* a look at the port while it is up: its first one tells nothing */
	world_wait(w, WORLD_MS);
	check(net_do(0, "ip link set va down"));
	check_silence(w, "interface va is down");
	/* the port, and then the queue pair that has waited too long for it */
	check_eq(w->a.nr_events, 2);
	check_eq(w->a.events[0].type, BL_SNIC_PORT_ERR);
	check_eq(w->a.events[0].num, 1);
	check_eq(w->a.events[1].type, BL_SNIC_QP_FATAL);
	w->a.nr_events = 0;
	check(net_do(0, "ip link set va up"));
	world_wait(w, 200 * WORLD_MS);
	world_expect_event(&w->a, BL_SNIC_PORT_ACTIVE, 1);
	world_end(w);
	check(net_do(0, "ip link set va up && ip addr add fe80::1/64 dev va nodad && ip addr add fd77::1/64 dev va nodad"));
}

/* Its process ends, as far as the network can tell; another one has its NIC open, and uses no address. */
static void peer_ends(struct world *w)
{
	net_enter(1);
	bl_snic_qp_destroy(w->b.qp);
	bl_snic_mr_destroy(w->b.mr);
	bl_snic_cq_destroy(w->b.send.cq);
	bl_snic_cq_destroy(w->b.recv.cq);
	bl_snic_uar_destroy(w->b.uar);
	bl_snic_pd_destroy(w->b.pd);
	bl_snic_close(w->b.nic);
	check_eq(bl_snic_open(&(struct bl_snic_attr){.name = w->options.names[1], .transport = &bl_snic_roce,
						      .manual = true},
			      &w->b.nic),
		 0);
	w->b.qp = NULL;
	w->b.mr = NULL;
	w->b.send.cq = w->b.recv.cq = NULL;
	w->b.uar = NULL;
	w->b.pd = NULL;
}

static void silent_peer(const char *wire, enum net_gid gid, const char *why)
{
	struct world *w = net_begin(gid, wire);

	net_check_works(w);
	peer_ends(w);
	listen_to_errors(true);
	post_write(&w->a, &w->b, 0, 0, 5000);
	for (int i = 0; i < 400 && world_query(&w->a).mod.state == BL_SNIC_RTS; i++) {
		world_wait(w, 10 * WORLD_MS);
		usleep(200);
	}
	listen_to_errors(false);
	check_has(world_query(&w->a).error.text, why);
	check_eq(nr_errors, 1);
	world_end(w);
}

static void a_peer_that_has_ended_is_named(void)
{
	silent_peer("packet", NET_IPV4, "no NIC is open at 10.77.0.2");
	silent_peer("packet", NET_IPV6, "no NIC is open at fd77::2");
	silent_peer("udp", NET_IPV4, "no NIC is open at 10.77.0.2");
	silent_peer("udp", NET_LINK_LOCAL, "no NIC is open at fe80::2");
}

/* At RoCE's port of the second host. */
static int listen_there(enum net_gid gid)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(4791)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(4791)};
	bool ipv4 = gid == NET_IPV4;
	int fd;

	net_enter(1);
	inet_pton(AF_INET, "10.77.0.2", &in.sin_addr);
	inet_pton(AF_INET6, "fd77::2", &in6.sin6_addr);
	fd = socket(ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	check(fd >= 0);
	check_eq(bind(fd, ipv4 ? (struct sockaddr *)&in : (struct sockaddr *)&in6, ipv4 ? sizeof(in) : sizeof(in6)), 0);
	return fd;
}

/* Of one that is no packet of RoCE some receivers die. Return: how many came. */
static unsigned int check_datagrams(int fd, enum net_gid gid)
{
	struct bl_roce_flow flow = {.hop_limit = 64};
	struct bl_packet packet;
	const uint8_t *payload;
	uint8_t bytes[8192];
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} from;
	unsigned int nr = 0;
	socklen_t len = sizeof(from);
	ssize_t got;

	for (; (got = recvfrom(fd, bytes, sizeof(bytes), 0, &from.any, &len)) >= 0; nr++, len = sizeof(from)) {
		if (gid == NET_IPV4) {
			bl_roce_gid_from_ipv4(flow.src, (const uint8_t *)&from.in.sin_addr);
			bl_roce_gid_from_ipv4(flow.dst, (const uint8_t[]){10, 77, 0, 2});
		} else {
			memcpy(flow.src, &from.in6.sin6_addr, sizeof(flow.src));
			inet_pton(AF_INET6, "fd77::2", flow.dst);
		}
		flow.sport = ntohs(from.in.sin_port);
		check_eq(bl_roce_datagram_get(&flow, bytes, (size_t)got, &packet, &payload), BL_ROCE_GOOD);
	}
	return nr;
}

static void whole_packets(enum net_gid gid)
{
	struct world *w = net_begin(gid, "packet");
	unsigned int nr = 0;
	int fd;

	peer_ends(w);
	fd = listen_there(gid);
	post_write(&w->a, &w->b, 0, 0, 5000);
	for (int i = 0; i < 400 && world_query(&w->a).mod.state == BL_SNIC_RTS; i++) {
		world_wait(w, 10 * WORLD_MS);
		usleep(200);
		nr += check_datagrams(fd, gid);
	}
	check(nr >= 2);
	close(fd);
	world_end(w);
}

static void who_does_not_answer_gets_nothing_but_whole_packets(void)
{
	whole_packets(NET_IPV4);
	whole_packets(NET_IPV6);
}

static void redirect(struct world *w, enum net_gid gid, const char *address)
{
	struct bl_snic_qp_mod mod = {.state = BL_SNIC_RST};

	check_eq(bl_snic_qp_modify(w->a.qp, &mod), 0);
	mod = (struct bl_snic_qp_mod){.state = BL_SNIC_INIT, .dest_qpn = 5, .mtu = 1024, .sgid_index = (uint8_t)gid,
				      .ack_timeout = 14, .retry_cnt = 7, .rnr_retry = 7};
	if (strchr(address, ':'))
		check_eq(inet_pton(AF_INET6, address, mod.dest_gid), 1);
	else
		check_eq(inet_pton(AF_INET, address, mod.dest_gid + 12), 1);
	if (!strchr(address, ':'))
		mod.dest_gid[10] = mod.dest_gid[11] = 0xff;
	net_enter(0);
	check_eq(bl_snic_qp_modify(w->a.qp, &mod), 0);
	mod.state = BL_SNIC_RTR;
	check_eq(bl_snic_qp_modify(w->a.qp, &mod), 0);
	mod.state = BL_SNIC_RTS;
	check_eq(bl_snic_qp_modify(w->a.qp, &mod), 0);
}

static void an_address_that_nobody_has_is_named(void)
{
	struct world *w = net_begin(NET_IPV4, "packet");

	redirect(w, NET_IPV4, "10.77.0.99");
	check_silence(w, "10.77.0.99 does not answer neighbour requests");
	redirect(w, NET_IPV6, "fd77::99");
	w->a.pi = 0;
	check_silence(w, "fd77::99 does not answer neighbour requests");
	world_end(w);
}

static void packets_that_are_too_long_for_the_peer_are_named(void)
{
	struct world *w = net_begin(NET_IPV4, "packet");

	check(net_do(1, "ip link set vb mtu 1500"));
	check_silence(w, "no answer from 10.77.0.2 to payloads of 4096 bytes");
	check(net_do(1, "ip link set vb mtu %d", NET_MTU));
	world_end(w);
}

/* Shorter than what the NIC was opened with. */
static void packets_that_are_too_long_for_the_interface_are_named(void)
{
	struct world *w = net_begin(NET_IPV4, "packet");

	check(net_do(0, "ip link set va mtu 1500"));
	check_silence(w, "payloads of 4096 bytes are too long for the way");
	check(world_counter(&w->a, BL_SNIC_DROP_SEND) > 0);
	world_end(w);
	check(net_do(0, "ip link set va mtu %d", NET_MTU));
}

static const struct tap_test tests[] = {
	{"an_address_that_nobody_has_is_named", an_address_that_nobody_has_is_named},
	{"a_peer_that_has_ended_is_named", a_peer_that_has_ended_is_named},
	{"who_does_not_answer_gets_nothing_but_whole_packets", who_does_not_answer_gets_nothing_but_whole_packets},
	{"packets_that_are_too_long_for_the_peer_are_named", packets_that_are_too_long_for_the_peer_are_named},
	{"packets_that_are_too_long_for_the_interface_are_named",
	 packets_that_are_too_long_for_the_interface_are_named},
	{"a_cable_that_is_cut_is_named", a_cable_that_is_cut_is_named},
	{"who_waits_for_the_peer_is_told_of_a_cut_cable", who_waits_for_the_peer_is_told_of_a_cut_cable},
	{"an_interface_that_is_down_is_named", an_interface_that_is_down_is_named},
};

TAP_MAIN(tests)
