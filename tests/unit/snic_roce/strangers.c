// SPDX-License-Identifier: MIT
/* Packets that are nobody's, somebody else's, spoiled, or too many. */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "pair.h"
#include "softnic/cq.h"
#include "softnic/roce/crc.h"
#include "softnic/roce/frame.h"
#include "tap.h"
#include "util/log.h"

#define SECOND (1000 * WORLD_MS)

static void hush(enum bl_log_level level, const char *text)
{
}

/* More than its ring holds comes before it looks: the rest is lost, counted, and asked for again. */
static void a_reader_that_comes_too_late_asks_again(void)
{
	struct world_options options = net_options(NET_IPV6);
	struct world_cqe cqe;
	bool done = false;
	struct world *w;

	net_need(NET_MTU);
	setenv("BARLANE_SNIC_WIRE", "packet", 1);
	options.bytes = 16 << 20;
	w = world_begin(&options);
	net_check_works(w);
	fill(w->b.mem, 8 << 20, 9);
	post_read(&w->a, &w->b, 8 << 20, 0, 8 << 20);
	check(bl_snic_progress(w->a.nic) > 0);
	for (int i = 0; i < 300; i++)
		bl_snic_progress(w->b.nic);
	for (int i = 0; i < 100 && !done; i++) {
		world_wait(w, 100 * WORLD_MS);
		done = world_poll(&w->a.send, &cqe);
	}
	check(done);
	check_eq(cqe.syndrome, 0);
	check(is_filled(w->a.mem + (8 << 20), 8 << 20, 9));
	/* the kernel is asked for its count now and then */
	usleep(20000);
	world_run(w);
	check(world_counter(&w->a, BL_SNIC_DROP_FULL) > 0);
	check(world_counter(&w->a, BL_SNIC_TX_RETRIES) > 0);
	world_end(w);
}

/* One bit each: none of them is taken for something else. */
static void packets_that_change_on_their_way_are_found(void)
{
	static const char *const wires[] = {"packet", "udp"};
	struct bl_snic_fault fault = {.seed = 5, .corrupt = 1000000};

	for (int i = 0; i < 2; i++) {
		struct world_options options = net_options(NET_IPV4);
		struct world *w;

		net_need(NET_MTU);
		setenv("BARLANE_SNIC_WIRE", wires[i], 1);
		options.fault = &fault;
		options.mtu = 256;
		w = world_begin(&options);
		bl_log_set_sink(hush);
		post_write(&w->a, &w->b, 0, 0, 20000);
		world_wait(w, 3 * SECOND);
		bl_log_set_sink(NULL);
		world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x15, 0);
		check_eq(world_counter(&w->b, BL_SNIC_RX_PACKETS), 0);
		check(world_counter(&w->b, BL_SNIC_DROP_ICRC) > 100);
		check_eq(world_counter(&w->a, BL_SNIC_FAULT_CORRUPTED), world_counter(&w->a, BL_SNIC_TX_PACKETS));
		world_end(w);
	}
}

/* A UDP socket that sends packets of the tests' own making from the first host to the second. */
static struct {
	int fd;
	struct bl_roce_flow flow;
	struct sockaddr_in6 to;
} stranger;

static void stranger_open(const char *address)
{
	struct sockaddr_in6 from = {.sin6_family = AF_INET6};

	net_enter(0);
	bl_roce_crc_begin();
	stranger.fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	stranger.to = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(BL_ROCE_UDP_PORT)};
	check_eq(inet_pton(AF_INET6, address, &from.sin6_addr), 1);
	check_eq(inet_pton(AF_INET6, "fd77::2", &stranger.to.sin6_addr), 1);
	check_eq(bind(stranger.fd, (struct sockaddr *)&from, sizeof(from)), 0);
	check_eq(getsockname(stranger.fd, (struct sockaddr *)&from, &(socklen_t){sizeof(from)}), 0);
	memcpy(stranger.flow.src, &from.sin6_addr, 16);
	memcpy(stranger.flow.dst, &stranger.to.sin6_addr, 16);
	stranger.flow.sport = ntohs(from.sin6_port);
}

/* @change: makes something else of the packet from its BTH on, and returns its length; NULL: as it is. */
static void stranger_send(const struct bl_packet *packet, size_t (*change)(uint8_t *bth, size_t len))
{
	static uint8_t room[BL_ROCE_HEAD_ROOM + 64 + BL_ROCE_TAIL_ROOM];
	size_t len, wrap = bl_roce_wrap_len(stranger.flow.src);
	uint8_t *frame = bl_roce_frame_put(&stranger.flow, packet, room + BL_ROCE_HEAD_ROOM, &len);

	len -= wrap;
	if (change)
		len = change(frame + wrap, len);
	check_eq(sendto(stranger.fd, frame + wrap, len, 0, (struct sockaddr *)&stranger.to, sizeof(stranger.to)), len);
}

static size_t flip(uint8_t *bth, size_t len)
{
	bth[len - 6] ^= 0x10;
	return len;
}

static size_t cut(uint8_t *bth, size_t len)
{
	return 9;
}

static void what_strangers_send(const char *wire)
{
	struct world *w = net_begin(NET_IPV6, wire);
	struct bl_packet packet = {.opcode = BL_PKT_WRITE_ONLY, .psn = 1, .va = w->b.iova, .rkey = w->b.key,
				   .dma_len = 32, .len = 32};

	net_check_works(w);
	packet.dest_qpn = bl_snic_qp_num(w->b.qp);
	stranger_open("fd77::1");
	stranger_send(&packet, flip);
	net_check_counts_one(w, BL_SNIC_DROP_ICRC);
	stranger_send(&packet, cut);
	net_check_counts_one(w, BL_SNIC_DROP_SHORT);
	packet.dest_qpn ^= 1;
	stranger_send(&packet, NULL);
	net_check_counts_one(w, BL_SNIC_RX_UNKNOWN_QP);
	packet.dest_qpn ^= 1;
	/* from another address than the peer's */
	close(stranger.fd);
	check(net_do(0, "ip addr add fd77::66/64 dev va nodad"));
	stranger_open("fd77::66");
	stranger_send(&packet, NULL);
	net_check_counts_one(w, BL_SNIC_RX_WRONG_PEER);
	close(stranger.fd);
	check(net_do(0, "ip addr del fd77::66/64 dev va"));
	/* and none of it was written, nor is anything in the way of the peer */
	check(is_filled(w->b.mem, 5000, 3));
	net_check_works(w);
	world_end(w);
}

static void packets_of_strangers_are_dropped_and_counted(void)
{
	what_strangers_send("packet");
	what_strangers_send("udp");
}

/* An Ethernet frame from the first host, to @mac. */
static void send_frame(const struct bl_packet *packet, const uint8_t mac[6])
{
	static uint8_t room[BL_ROCE_HEAD_ROOM + 64 + BL_ROCE_TAIL_ROOM], frame[256];
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_halen = 6};
	struct bl_roce_flow flow = {.sport = 0xc000, .hop_limit = 64};
	uint8_t *ip;
	size_t len;
	int fd;

	check_eq(inet_pton(AF_INET6, "fd77::1", flow.src), 1);
	check_eq(inet_pton(AF_INET6, "fd77::2", flow.dst), 1);
	ip = bl_roce_frame_put(&flow, packet, room + BL_ROCE_HEAD_ROOM, &len);
	memset(frame, 2, 12);
	memcpy(frame, mac, 6);
	memcpy(frame + 12, (const uint8_t[]){0x86, 0xdd}, 2);
	memcpy(frame + 14, ip, len);
	net_enter(0);
	to.sll_ifindex = (int)if_nametoindex("va");
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	check_eq(sendto(fd, frame, len + 14, 0, (struct sockaddr *)&to, sizeof(to)), len + 14);
	close(fd);
}

static void frames_for_other_hosts_are_left_alone(void)
{
	struct world *w = net_begin(NET_IPV6, "packet");
	struct bl_packet packet = {.opcode = BL_PKT_ACK, .syndrome = BL_AETH_ACK,
				   .dest_qpn = bl_snic_qp_num(w->b.qp) ^ 1};
	struct ifreq ifreq = {.ifr_name = "vb"};
	uint8_t mac[6];
	int fd;

	net_enter(1);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	check_eq(ioctl(fd, SIOCGIFHWADDR, &ifreq), 0);
	close(fd);
	memcpy(mac, ifreq.ifr_hwaddr.sa_data, 6);
	bl_roce_crc_begin();
	mac[5] ^= 1;
	send_frame(&packet, mac);
	mac[5] ^= 1;
	send_frame(&packet, mac);
	net_check_counts_one(w, BL_SNIC_RX_UNKNOWN_QP);
	world_end(w);
}

static const struct tap_test tests[] = {
	{"packets_of_strangers_are_dropped_and_counted", packets_of_strangers_are_dropped_and_counted},
	{"frames_for_other_hosts_are_left_alone", frames_for_other_hosts_are_left_alone},
	{"packets_that_change_on_their_way_are_found", packets_that_change_on_their_way_are_found},
	{"a_reader_that_comes_too_late_asks_again", a_reader_that_comes_too_late_asks_again},
};

TAP_MAIN(tests)
