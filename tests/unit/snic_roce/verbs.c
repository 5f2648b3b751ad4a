// SPDX-License-Identifier: MIT
/* Every request over an interface: each path MTU, each kind of address, both kinds of sockets, numbers about to wrap. */
#include <fcntl.h>
#include <unistd.h>

#include "net.h"
#include "snic/mover.h"
#include "snic/shared.h"
#include "softnic/cq.h"
#include "softnic/roce/header.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "util/clock.h"

#define DEADLINE_NS 20000000000ULL
#define LEN	    10000 /* some packets at any path MTU, and a rest */

/* Offsets in a side's memory. */
#define SOURCE 0
#define TARGET 16384
#define RESULT 32768
#define WORD   49152

static const struct combination {
	const char *wire;
	enum net_gid gid;
} combinations[] = {
	{"packet", NET_IPV6}, {"packet", NET_IPV4}, {"packet", NET_LINK_LOCAL},
	{"udp", NET_IPV6},    {"udp", NET_IPV4},    {"udp", NET_LINK_LOCAL},
};

#define NR_COMBINATIONS (sizeof(combinations) / sizeof(combinations[0]))

static struct world *begin(const struct combination *combination, uint32_t mtu, bool uc)
{
	struct world_options options = {
		.names = {"soft_va", "soft_vb"},
		.sgid = {combination->gid, combination->gid},
		.enter = net_enter,
		.mtu = mtu,
		.uc = uc,
		.sq_psn = 0xfffffe,
	};

	net_need(4300);
	setenv("BARLANE_SNIC_WIRE", combination->wire, 1);
	return world_begin(&options);
}

/* The next completion, whenever it comes. */
static struct world_cqe next(struct world *w, struct world_queue *queue)
{
	uint64_t end = bl_now_ns() + DEADLINE_NS;
	struct world_cqe cqe = {.opcode = 15};

	while (!world_poll(queue, &cqe) && bl_now_ns() < end)
		world_run(w);
	check(cqe.opcode != 15);
	check_eq(cqe.syndrome, 0);
	return cqe;
}

static void post_imm(struct world *w, uint8_t opcode, uint32_t len, uint32_t imm)
{
	struct world_wqe wqe;

	wqe_begin(&wqe, &w->a, 0, opcode, WORLD_SIGNAL, imm);
	if (opcode == BL_WQE_WRITE_IMM)
		wqe_raddr(&wqe, w->b.iova + TARGET, w->b.key);
	wqe_data(&wqe, w->a.iova + SOURCE, w->a.key, len);
	wqe_post(&wqe, &w->a);
}

/* @seed: of the bytes, other ones each time. */
static void write_some(struct world *w, uint32_t len, unsigned int seed)
{
	fill(w->a.mem + SOURCE, len, seed);
	post_write(&w->a, &w->b, TARGET, SOURCE, len);
	next(w, &w->a.send);
	if (!w->options.uc)
		check(is_filled(w->b.mem + TARGET, len, seed));
	fill(w->a.mem + SOURCE, len, seed + 1);
	post_recv(&w->b, 0, 0);
	post_imm(w, BL_WQE_WRITE_IMM, len, 0x11223344 + seed);
	check_eq(next(w, &w->a.send).send_opcode, BL_WQE_WRITE_IMM);
	check_eq(next(w, &w->b.recv).imm, 0x11223344 + seed);
	check(is_filled(w->b.mem + TARGET, len, seed + 1));
}

static void send_some(struct world *w, uint32_t len, unsigned int seed)
{
	struct world_cqe cqe;

	fill(w->a.mem + SOURCE, len, seed);
	post_recv(&w->b, RESULT, LEN);
	post_send(&w->a, SOURCE, len);
	next(w, &w->a.send);
	cqe = next(w, &w->b.recv);
	check_eq(cqe.opcode, BL_CQE_RESP_SEND);
	check_eq(cqe.len, len);
	check(is_filled(w->b.mem + RESULT, len, seed));
	fill(w->a.mem + SOURCE, len, seed + 1);
	post_recv(&w->b, RESULT, LEN);
	post_imm(w, BL_WQE_SEND_IMM, len, 0x55667788 + seed);
	next(w, &w->a.send);
	cqe = next(w, &w->b.recv);
	check_eq(cqe.opcode, BL_CQE_RESP_SEND_IMM);
	check_eq(cqe.imm, 0x55667788 + seed);
	check(is_filled(w->b.mem + RESULT, len, seed + 1));
}

static void read_some(struct world *w, uint32_t len, unsigned int seed)
{
	fill(w->b.mem + SOURCE, len, seed);
	memset(w->a.mem + RESULT, 0, len);
	post_read(&w->a, &w->b, RESULT, SOURCE, len);
	next(w, &w->a.send);
	check(is_filled(w->a.mem + RESULT, len, seed));
}

static void do_atomics(struct world *w)
{
	uint64_t *word = (uint64_t *)(void *)(w->b.mem + WORD), *old = (uint64_t *)(void *)(w->a.mem + RESULT);
	struct world_wqe wqe;

	*word = 0x1122334455667788;
	post_add(&w->a, &w->b, WORD, RESULT, 0x10);
	next(w, &w->a.send);
	check(*old == 0x1122334455667788 && *word == 0x1122334455667798);
	wqe_begin(&wqe, &w->a, 0, BL_WQE_CMP_SWAP, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, w->b.iova + WORD, w->b.key);
	wqe_seg64(&wqe, 0xabcdef, 0x1122334455667798);
	wqe_data(&wqe, w->a.iova + RESULT, w->a.key, 8);
	wqe_post(&wqe, &w->a);
	next(w, &w->a.send);
	check(*old == 0x1122334455667798 && *word == 0xabcdef);
}

static void do_all(struct world *w)
{
	static const uint32_t lens[] = {LEN, 1, 0, 255, 256, 257, 4096, 4099};

	for (unsigned int i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		write_some(w, lens[i], 10 * i);
		send_some(w, lens[i], 10 * i + 2);
		if (w->options.uc)
			continue;
		read_some(w, lens[i], 10 * i + 4);
		do_atomics(w);
	}
}

static void everything_works_on_reliable_connections(void)
{
	for (size_t i = 0; i < NR_COMBINATIONS; i++) {
		for (uint32_t mtu = 256; mtu <= 4096; mtu *= 2) {
			struct world *w = begin(&combinations[i], mtu, false);

			do_all(w);
			check_eq(world_counter(&w->a, BL_SNIC_TX_RETRIES), 0);
			world_end(w);
		}
	}
}

static void messages_work_on_unreliable_connections(void)
{
	for (size_t i = 0; i < NR_COMBINATIONS; i++) {
		for (uint32_t mtu = 256; mtu <= 4096; mtu *= 4) {
			struct world *w = begin(&combinations[i], mtu, true);

			do_all(w);
			world_end(w);
		}
	}
}

static const struct world_options loops[] = {
	{.names = {"soft_lo", "soft_va"}, .sgid = {1, NET_IPV4}},
	{.names = {"soft_va", "soft_lo"}, .sgid = {NET_IPV6, 0}},
};

/* Two interfaces of one host: packets go by the loopback interface, in one process as well as between two. */
static void own_addresses_are_a_loop(void)
{
	static const char *const wires[] = {"packet", "udp"};

	net_need(4300);
	net_enter(0);
	for (int i = 0; i < 2; i++) {
		for (size_t l = 0; l < sizeof(loops) / sizeof(loops[0]); l++) {
			struct world_options options = loops[l];
			struct world *w;

			options.mtu = 4096;
			setenv("BARLANE_SNIC_WIRE", wires[i], 1);
			w = world_begin(&options);
			do_all(w);
			world_end(w);
		}
	}
}

/* A queue pair that is its own peer's neighbour: both ends on one address. */
static void one_address_can_be_both_ends(void)
{
	static const char *const wires[] = {"packet", "udp"};

	for (int i = 0; i < 2; i++) {
		struct bl_snic_qp_mod mod = {.state = BL_SNIC_RST};
		struct world *w;

		/* memory that a mover could move, which is not for what goes over a network */
		w = begin(&(struct combination){wires[i], NET_LINK_LOCAL}, 1024, false);
		check_eq(bl_snic_mr_destroy(w->a.mr), 0);
		check_eq(bl_snic_mr_create(w->a.pd, &(struct bl_snic_mem){.addr = w->a.mem, .mover = &mover, .moved = w->a.mem},
					   w->a.iova, w->a.bytes, w->options.access | BL_SNIC_LOCAL_WRITE, &w->a.mr),
			 0);
		w->a.key = bl_snic_mr_lkey(w->a.mr);
		mover_begin();
		check_eq(bl_snic_qp_modify(w->a.qp, &mod), 0);
		mod = (struct bl_snic_qp_mod){
			.state = BL_SNIC_INIT, .dest_qpn = bl_snic_qp_num(w->a.qp), .mtu = 1024, .sgid_index = NET_LINK_LOCAL,
			.ack_timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .access = w->options.access,
			.max_rd_atomic = 1, .max_dest_rd_atomic = 1};
		check_eq(bl_snic_gid_at(w->a.nic, NET_LINK_LOCAL, mod.dest_gid), 0);
		net_enter(0);
		for (mod.state = BL_SNIC_INIT; mod.state <= BL_SNIC_RTS; mod.state++)
			check_eq(bl_snic_qp_modify(w->a.qp, &mod), 0);
		fill(w->a.mem, LEN, 1);
		post_write(&w->a, &w->a, TARGET, SOURCE, LEN);
		next(w, &w->a.send);
		check(is_filled(w->a.mem + TARGET, LEN, 1));
		world_end(w);
	}
}

/* One line for each packet: its opcode, and the protocols that it is made of. */
static void check_capture(const char *file, uint64_t nr, bool uc)
{
	uint8_t base = uc ? BL_PKT_UC : 0;
	bool seen[256] = {false};
	uint64_t lines = 0;
	char line[512];
	FILE *out;

	/* or it takes what is sent for headers of file systems */
	snprintf(line, sizeof(line),
		 "tshark --disable-protocol rpcordma -r %s -T fields -e infiniband.bth.opcode -e frame.protocols "
		 "2>/dev/null",
		 file);
	out = popen(line, "r");
	check(out);
	while (fgets(line, sizeof(line), out)) {
		unsigned long opcode = strtoul(line, NULL, 10);

		check(opcode < 256);
		check_has(line, "infiniband");
		check(!strstr(line, "malformed"));
		seen[opcode] = true;
		lines++;
	}
	check_eq(pclose(out), 0);
	check_eq(lines, nr);
	for (uint8_t opcode = base; opcode <= (base | BL_PKT_FETCH_ADD); opcode++)
		check_eq(seen[opcode], bl_roce_header_len(opcode) > 0);
}

static void captures_are_decoded_without_a_malformed_packet(void)
{
	char folder[] = "/tmp/snic-roce-XXXXXX", file[64], pattern[64];

	if (system("tshark -v >/dev/null 2>&1"))
		skip("tshark is not installed");
	net_need(4300);
	check(mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/soft_va-%d.pcap", folder, (int)getpid());
	snprintf(pattern, sizeof(pattern), "%s/%%n-%%p.pcap", folder);
	for (size_t i = 0; i < NR_COMBINATIONS; i += 2) {
		bool uc = i == 2;
		struct world *w;
		uint64_t nr;

		setenv("BARLANE_SNIC_PCAP", pattern, 1);
		w = begin(&combinations[i], 1024, uc);
		unsetenv("BARLANE_SNIC_PCAP");
		do_all(w);
		world_run(w);
		nr = world_counter(&w->a, BL_SNIC_TX_PACKETS) + world_counter(&w->a, BL_SNIC_RX_PACKETS);
		world_end(w);
		check_capture(file, nr, uc);
	}
	snprintf(pattern, sizeof(pattern), "rm -r %s", folder);
	check_eq(system(pattern), 0);
}

static int open_with_capture(const char *file)
{
	struct bl_snic *nic;
	int ret;

	setenv("BARLANE_SNIC_PCAP", file, 1);
	net_enter(0);
	ret = bl_snic_open(&(struct bl_snic_attr){.name = "soft_va", .transport = &bl_snic_roce, .manual = true}, &nic);
	unsetenv("BARLANE_SNIC_PCAP");
	if (!ret)
		bl_snic_close(nic);
	return ret;
}

static void captures_that_cannot_be_written_are_errors(void)
{
	char file[] = "/tmp/snic-roce-XXXXXX";
	struct world *w;
	int fd = mkstemp(file);

	net_need(4300);
	check(fd >= 0);
	close(fd);
	check_eq(open_with_capture("/nosuch/folder/x"), -ENOENT);
	check_eq(open_with_capture("/"), -EISDIR);
	setenv("BARLANE_SNIC_PCAP", file, 1);
	/* the first end has the file, the second one another */
	w = NULL;
	net_enter(0);
	{
		struct bl_snic *nic;

		check_eq(bl_snic_open(&(struct bl_snic_attr){.name = "soft_va", .transport = &bl_snic_roce,
							      .manual = true},
				      &nic),
			 0);
		check_eq(open_with_capture(file), -EBUSY);
		bl_snic_close(nic);
	}
	check_eq(open_with_capture(file), 0);
	/* full: packets still travel */
	setenv("BARLANE_SNIC_PCAP", "/dev/full", 1);
	net_enter(0);
	{
		struct bl_snic *nic;

		check_eq(bl_snic_open(&(struct bl_snic_attr){.name = "soft_va", .transport = &bl_snic_roce,
							      .manual = true},
				      &nic),
			 0);
		unsetenv("BARLANE_SNIC_PCAP");
		bl_snic_close(nic);
	}
	w = begin(&combinations[0], 1024, false);
	do_all(w);
	world_end(w);
	unlink(file);
}

/* Also those of memory that others could read by themselves, if they were on this host. */
static void no_memory_is_offered_over_a_network(void)
{
	struct world_options options = {.names = {"soft_va", "soft_vb"}, .enter = net_enter, .mtu = 4096, .mover = &mover};
	struct world *w;

	net_need(4300);
	setenv("BARLANE_SNIC_WIRE", "packet", 1);
	mover_begin();
	test_mover.shares = true;
	w = world_begin(&options);
	for (int i = 0; i < 4; i++) {
		post_write(&w->a, &w->b, TARGET, SOURCE, LEN);
		next(w, &w->a.send);
	}
	check_eq(world_counter(&w->a, BL_SNIC_DROP_SEND), 0);
	check_eq(world_counter(&w->b, BL_SNIC_PLACED), 0);
	world_end(w);
	check_eq(test_mover.attached, 0);
}

/* Long messages of two senders, in turn, so that their packets arrive mixed. */
static void queue_pairs_share_a_receive_queue(const char *wire, enum bl_snic_srq_type type)
{
	struct world_options options = {
		.names = {"soft_va", "soft_vb"}, .sgid = {NET_IPV4, NET_IPV4}, .enter = net_enter, .mtu = 1024, .rnr_retry = 7};
	bool seen[2] = {false, false};
	struct world_cqe cqe;
	struct shared *s;

	net_need(4300);
	setenv("BARLANE_SNIC_WIRE", wire, 1);
	s = shared_begin(&options, &(struct shared_options){.type = type, .qps = 2});
	fill(s->tx[0].mem, LEN, 1);
	fill(s->tx[1].mem + LEN, LEN, 2);
	/* the second list comes when both wait for one, or one has begun */
	post_send(&s->tx[0], 0, LEN);
	post_send(&s->tx[1], LEN, LEN);
	shared_post_one(s, TARGET, LEN);
	world_run(s->w);
	shared_post_one(s, RESULT, LEN);
	for (int i = 0; i < 2; i++) {
		unsigned int qp;

		/* who was told to wait does so by the clock */
		world_wait(s->w, 20 * WORLD_MS);
		cqe = next(s->w, &s->cq);
		qp = cqe.qpn == bl_snic_qp_num(s->rx[1].qp);
		check_eq(cqe.srqn, bl_snic_srq_num(s->srq));
		check_eq(cqe.len, LEN);
		check(!seen[qp]);
		seen[qp] = true;
		check(is_filled(s->rx[0].mem + (cqe.counter ? RESULT : TARGET), LEN, qp + 1));
		next(s->w, &s->tx[qp].send);
	}
	shared_end(s);
}

static void queue_pairs_share_a_receive_queue_over_both_kinds_of_sockets(void)
{
	queue_pairs_share_a_receive_queue("packet", BL_SNIC_SRQ_LINKED);
	queue_pairs_share_a_receive_queue("udp", BL_SNIC_SRQ_CYCLIC);
}

static const struct tap_test tests[] = {
	{"everything_works_on_reliable_connections", everything_works_on_reliable_connections},
	{"messages_work_on_unreliable_connections", messages_work_on_unreliable_connections},
	{"queue_pairs_share_a_receive_queue_over_both_kinds_of_sockets",
	 queue_pairs_share_a_receive_queue_over_both_kinds_of_sockets},
	{"no_memory_is_offered_over_a_network", no_memory_is_offered_over_a_network},
	{"own_addresses_are_a_loop", own_addresses_are_a_loop},
	{"one_address_can_be_both_ends", one_address_can_be_both_ends},
	{"captures_are_decoded_without_a_malformed_packet", captures_are_decoded_without_a_malformed_packet},
	{"captures_that_cannot_be_written_are_errors", captures_that_cannot_be_written_are_errors},
};

TAP_MAIN(tests)
