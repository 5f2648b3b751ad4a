// SPDX-License-Identifier: MIT
/*
 * What a program can do wrong, or its peer, or a network, over each way that packets take: it ends within its deadline, of
 * the NIC's clock, and one line of the NIC that waited names the cause.
 */
#include <unistd.h>

#include "pair.h"
#include "softnic/cq.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "util/log.h"

#define SECOND (1000 * WORLD_MS)

/* Eight time-outs of 250 ms, and the steps in which the clock goes. */
#define SILENCE (2 * SECOND + 200 * WORLD_MS)

enum way { SHM, PACKET, UDP };

static unsigned int nr_lines;
static const char *waiter;

static void count_lines(enum bl_log_level level, const char *text)
{
	nr_lines += level == BL_LOG_ERROR && strstr(text, waiter);
}

static struct world *begin(enum way way, const struct world_options *more)
{
	struct world_options options = *more;

	if (way != SHM) {
		net_need(NET_MTU);
		setenv("BARLANE_SNIC_WIRE", way == PACKET ? "packet" : "udp", 1);
		options.names[0] = "soft_va";
		options.names[1] = "soft_vb";
		options.sgid[0] = options.sgid[1] = NET_IPV4;
		options.enter = net_enter;
	}
	options.shm = way == SHM;
	waiter = way == SHM ? ": a: qp " : ": soft_va: qp ";
	nr_lines = 0;
	bl_log_set_level(BL_LOG_ERROR);
	bl_log_set_sink(count_lines);
	return world_begin(&options);
}

static void end(struct world *w)
{
	bl_log_set_level(BL_LOG_OFF);
	bl_log_set_sink(NULL);
	world_end(w);
}

/* Its queue pair fails in time, and says why in one line. */
static void ends(struct world *w, uint64_t deadline, uint8_t syndrome, const char *text)
{
	uint64_t until = world_now() + deadline;
	struct bl_snic_qp_info info;

	while (world_query(&w->a).mod.state == BL_SNIC_RTS && world_now() < until) {
		world_wait(w, 10 * WORLD_MS);
		/* what others say of packets takes real time */
		usleep(200);
	}
	info = world_query(&w->a);
	check_eq(info.mod.state, BL_SNIC_ERR);
	check_eq(info.error.syndrome, syndrome);
	check_has(info.error.text, text);
	check_eq(nr_lines, 1);
}

static void each_way(void (*story)(enum way way))
{
	story(SHM);
	story(PACKET);
	story(UDP);
}

static void key_story(enum way way)
{
	struct world *w = begin(way, &(struct world_options){.mtu = 1024});
	struct world_wqe wqe;

	wqe_begin(&wqe, &w->a, 0, BL_WQE_WRITE, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, w->b.iova, w->b.key ^ 0x5500);
	wqe_data(&wqe, w->a.iova, w->a.key, 100);
	wqe_post(&wqe, &w->a);
	ends(w, SECOND, 0x13, "refused by the peer: no access");
	check_has(world_query(&w->b).error.text, "no region has the key");
	end(w);
}

static void a_wrong_key_is_named(void)
{
	each_way(key_story);
}

static void number_story(enum way way)
{
	struct world *w = begin(way, &(struct world_options){.mtu = 1024});
	struct bl_snic_qp_mod mod = world_query(&w->a).mod;

	if (way != SHM)
		net_enter(0);
	check_eq(bl_snic_qp_modify(w->a.qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_RST}), 0);
	mod.dest_qpn ^= 0x10;
	for (int state = BL_SNIC_INIT; state <= BL_SNIC_RTS; state++) {
		mod.state = (enum bl_snic_qp_state)state;
		check_eq(bl_snic_qp_modify(w->a.qp, &mod), 0);
	}
	post_write(&w->a, &w->b, 0, 0, 8);
	ends(w, SILENCE, 0x15, way == SHM ? "no answer; is it ready to receive?" : "no answer from 10.77.0.2");
	check_has(world_query(&w->a).error.text, "sent 8 times to qp 0x");
	check(world_counter(&w->b, BL_SNIC_RX_UNKNOWN_QP) > 0);
	end(w);
}

static void a_wrong_queue_pair_number_is_named(void)
{
	each_way(number_story);
}

/* A receiver takes packets of any size; who reads counts on those of its own. In shared memory it says which it wants. */
static void mtu_story(enum way way)
{
	struct world *w = begin(way, &(struct world_options){.mtu = 4096});
	struct bl_snic_qp_mod mod = world_query(&w->b).mod;

	net_enter(1);
	check_eq(bl_snic_qp_modify(w->b.qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_RST}), 0);
	mod.mtu = 1024;
	for (int state = BL_SNIC_INIT; state <= BL_SNIC_RTS; state++) {
		mod.state = (enum bl_snic_qp_state)state;
		check_eq(bl_snic_qp_modify(w->b.qp, &mod), 0);
	}
	post_write(&w->a, &w->b, 0, 0, 5000);
	for (int i = 0; i < 20; i++) {
		world_wait(w, 10 * WORLD_MS);
		usleep(200);
	}
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	post_read(&w->a, &w->b, 0, 0, 5000);
	ends(w, SILENCE, 0x10, "answer of 1024 bytes: not as long as it should be");
	end(w);
}

static void a_path_mtu_that_is_not_the_peers_is_named(void)
{
	mtu_story(PACKET);
	mtu_story(UDP);
}

static void ready_story(enum way way)
{
	struct world *w = begin(way, &(struct world_options){.mtu = 1024});

	post_send(&w->a, 0, 30);
	ends(w, SECOND, 0x16, "had no receive posted, 4 times");
	end(w);
}

static void a_receiver_that_is_never_ready_is_named(void)
{
	each_way(ready_story);
}

/* That is no failure: the program's own deadline is, and finds what to say. */
static void for_ever_story(enum way way)
{
	struct world *w = begin(way, &(struct world_options){.mtu = 1024, .rnr_retry = 7});

	post_send(&w->a, 0, 30);
	for (int i = 0; i < 30; i++) {
		world_wait(w, 10 * WORLD_MS);
		usleep(200);
	}
	check_eq(world_query(&w->a).mod.state, BL_SNIC_RTS);
	check_has(world_query(&w->a).waits, "has no receive posted, asked ");
	check_has(world_query(&w->a).waits, "for ever (RNR)");
	check_eq(nr_lines, 0);
	end(w);
}

static void a_receiver_that_is_waited_for_for_ever_is_named(void)
{
	each_way(for_ever_story);
}

static void overrun_story(enum way way)
{
	struct world *w = begin(way, &(struct world_options){.mtu = 1024, .cq_nr = 4, .checked_cq = true});

	for (int i = 0; i < 6; i++)
		post_write(&w->a, &w->b, 0, 0, 8);
	ends(w, SECOND, 0x02, "of 4 CQEs is full: a completion is lost");
	check(world_counter(&w->a, BL_SNIC_CQ_OVERRUN) > 0);
	end(w);
}

static void a_completion_queue_that_nobody_empties_is_named(void)
{
	each_way(overrun_story);
}

/* Nothing arrives: as behind a firewall that drops. */
static void drop_story(enum way way)
{
	static const struct bl_snic_fault all = {.seed = 1, .drop = 1000000};
	struct world *w = begin(way, &(struct world_options){.mtu = 1024, .fault = &all});

	post_write(&w->a, &w->b, 0, 0, 8);
	ends(w, SILENCE, 0x15, way == SHM ? "no answer; is it ready to receive?" : "no answer from 10.77.0.2");
	check_eq(world_counter(&w->b, BL_SNIC_FAULT_DROPPED), 8);
	end(w);
}

static void packets_that_never_arrive_are_named(void)
{
	each_way(drop_story);
}

/* What the network does on the way there, or back; a link may know it or not. */
static void way_that_is_shut(int host, const char *address, const char *kind, const char *why)
{
	struct world *w = begin(UDP, &(struct world_options){.mtu = 1024});

	net_check_works(w);
	check(net_do(host, "ip route add %s %s/32", kind, address));
	post_write(&w->a, &w->b, 0, 0, 8);
	ends(w, SILENCE, 0x15, why);
	end(w);
	check(net_do(host, "ip route del %s %s/32", kind, address));
}

static void a_way_that_is_shut_is_named(void)
{
	way_that_is_shut(0, "10.77.0.2", "prohibit", "a firewall refuses packets to 10.77.0.2");
	way_that_is_shut(0, "10.77.0.2", "unreachable", "10.77.0.2: No route to host");
	way_that_is_shut(0, "10.77.0.2", "blackhole", "a route drops packets to 10.77.0.2");
	way_that_is_shut(1, "10.77.0.1", "blackhole", "no answer from 10.77.0.2");
}

static const struct tap_test tests[] = {
	{"a_wrong_key_is_named", a_wrong_key_is_named},
	{"a_wrong_queue_pair_number_is_named", a_wrong_queue_pair_number_is_named},
	{"a_path_mtu_that_is_not_the_peers_is_named", a_path_mtu_that_is_not_the_peers_is_named},
	{"a_receiver_that_is_never_ready_is_named", a_receiver_that_is_never_ready_is_named},
	{"a_receiver_that_is_waited_for_for_ever_is_named", a_receiver_that_is_waited_for_for_ever_is_named},
	{"a_completion_queue_that_nobody_empties_is_named", a_completion_queue_that_nobody_empties_is_named},
	{"packets_that_never_arrive_are_named", packets_that_never_arrive_are_named},
	{"a_way_that_is_shut_is_named", a_way_that_is_shut_is_named},
};

TAP_MAIN(tests)
