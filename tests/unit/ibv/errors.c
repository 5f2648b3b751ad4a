// SPDX-License-Identifier: MIT
/* What goes wrong with provider "verbs": syndromes, first causes, flushes, and a device that does not answer. */
#include <net/if.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "barlane.h"
#include "bed.h"
#include "softnic/cq.h"
#include "softnic/wqe.h"
#include "tap.h"

#define ERR DOCA_VERBS_QP_STATE_ERR

static void each_status_of_the_device_is_a_syndrome(void)
{
	static const struct {
		enum ibv_wc_status status;
		uint8_t syndrome;
	} cases[] = {
		{ IBV_WC_LOC_LEN_ERR, 0x01 },	      { IBV_WC_LOC_QP_OP_ERR, 0x02 },	   { IBV_WC_LOC_PROT_ERR, 0x04 },
		{ IBV_WC_BAD_RESP_ERR, 0x10 },	      { IBV_WC_LOC_ACCESS_ERR, 0x11 },	   { IBV_WC_REM_INV_REQ_ERR, 0x12 },
		{ IBV_WC_REM_ACCESS_ERR, 0x13 },      { IBV_WC_REM_OP_ERR, 0x14 },	   { IBV_WC_RETRY_EXC_ERR, 0x15 },
		{ IBV_WC_RNR_RETRY_EXC_ERR, 0x16 },   { IBV_WC_REM_INV_RD_REQ_ERR, 0x12 }, { IBV_WC_GENERAL_ERR, 0x02 },
		{ (enum ibv_wc_status)1000, 0x02 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bed *bed = bed_begin(NULL);
		struct bl_nic_qp_info info;
		struct world_cqe cqe;

		fake_set(status, cases[i].status);
		fake_set(status_in, 1);
		for (unsigned int j = 0; j < 4; j++)
			post_write(&bed->a.side, &bed->b.far, 0, 0, 8);
		bed_expect(&bed->a.side.send, BL_CQE_REQ, 0, 0);
		cqe = bed_expect(&bed->a.side.send, BL_CQE_REQ_ERR, cases[i].syndrome, 1);
		check_eq(cqe.vendor, 0x42);
		check_eq(cqe.send_opcode, BL_WQE_WRITE);
		bed_expect(&bed->a.side.send, BL_CQE_REQ_ERR, 0x05, 2);
		bed_expect(&bed->a.side.send, BL_CQE_REQ_ERR, 0x05, 3);
		info = bed_query(&bed->a);
		check_eq(info.state, ERR);
		check_eq(info.syndrome, cases[i].syndrome);
		check_eq(info.wqe_counter, 1);
		check(!info.responder);
		check_has(info.text, "opcode 0x08 raddr");
		bed_end(bed);
	}
}

static void what_is_posted_later_is_flushed(void)
{
	struct bed *bed = bed_begin(NULL);

	fake_set(status, IBV_WC_REM_OP_ERR);
	fake_set(status_in, 0);
	post_recv(&bed->a.side, 0, 8);
	post_write(&bed->a.side, &bed->b.far, 0, 0, 8);
	bed_expect(&bed->a.side.send, BL_CQE_REQ_ERR, 0x14, 0);
	bed_expect(&bed->a.side.recv, BL_CQE_RESP_ERR, 0x05, 0);
	post_write(&bed->a.side, &bed->b.far, 0, 0, 8);
	post_recv(&bed->a.side, 0, 8);
	bed_expect(&bed->a.side.send, BL_CQE_REQ_ERR, 0x05, 1);
	bed_expect(&bed->a.side.recv, BL_CQE_RESP_ERR, 0x05, 1);
	bed_end(bed);
}

static void a_local_key_is_checked_before_anything_is_sent(void)
{
	struct bed *bed = bed_begin(NULL);
	struct world_wqe wqe;

	fake_set(hold, true);
	post_write(&bed->a.side, &bed->b.far, 0, 0, 8);
	wqe_begin(&wqe, &bed->a.side, 0, BL_WQE_WRITE, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, bed->b.far.iova, bed->b.far.key);
	wqe_data(&wqe, bed->a.side.iova, bed->a.side.key + 1, 8);
	wqe_post(&wqe, &bed->a.side);
	bed_expect_none(&bed->a.side.send);
	fake_set(hold, false);
	/* only when all before it are complete */
	bed_expect(&bed->a.side.send, BL_CQE_REQ, 0, 0);
	bed_expect(&bed->a.side.send, BL_CQE_REQ_ERR, 0x04, 1);
	check_eq(fake_get(posts), 1);
	check_has(bed_query(&bed->a).text, "no region has the key");
	bed_end(bed);
}

static void what_the_device_cannot_do_is_a_bad_request(void)
{
	struct bed *bed = bed_begin(NULL);
	struct world_wqe wqe;

	wqe_begin(&wqe, &bed->a.side, 8, BL_WQE_MASKED_FETCH_ADD, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, bed->b.far.iova, bed->b.far.key);
	wqe_seg32(&wqe, 1, 0, 0, 0);
	wqe_data(&wqe, bed->a.side.iova, bed->a.side.key, 4);
	wqe_post(&wqe, &bed->a.side);
	bed_expect(&bed->a.side.send, BL_CQE_REQ_ERR, 0x02, 0);
	check_has(bed_query(&bed->a).text, "masked atomics");

	bed = bed_begin(NULL);
	wqe_begin(&wqe, &bed->a.side, 0, BL_WQE_WRITE, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, bed->b.far.iova, bed->b.far.key);
	for (int i = 0; i < 12; i++)
		wqe_data(&wqe, bed->a.side.iova, bed->a.side.key, 8);
	wqe_post(&wqe, &bed->a.side);
	bed_expect(&bed->a.side.send, BL_CQE_REQ_ERR, 0x02, 0);
	check_has(bed_query(&bed->a).text, "more segments");

	bed = bed_begin(NULL);
	fake_set(fail_call, "post_send");
	fake_set(fail_after, 0);
	fake_set(fail_errno, EINVAL);
	post_write(&bed->a.side, &bed->b.far, 0, 0, 8);
	bed_expect(&bed->a.side.send, BL_CQE_REQ_ERR, 0x02, 0);
	check_has(bed_query(&bed->a).text, "does not take the request");

	bed = bed_begin(NULL);
	fake_set(fail_call, "post_recv");
	fake_set(fail_after, 0);
	fake_set(fail_errno, EINVAL);
	post_recv(&bed->a.side, 0, 8);
	bed_expect(&bed->a.side.recv, BL_CQE_RESP_ERR, 0x05, 0);
	check_has(bed_query(&bed->a).text, "does not take the receive list");
	bed_end(bed);
}

static void a_device_without_atomics_says_so(void)
{
	const struct bed_options options = { .no_atomics = true };
	struct bed *bed = bed_begin(&options);

	post_add(&bed->a.side, &bed->b.far, 0, 0, 1);
	bed_expect(&bed->a.side.send, BL_CQE_REQ_ERR, 0x02, 0);
	check_has(bed_query(&bed->a).text, "no atomics");
	bed_end(bed);
}

static void memory_that_the_peer_does_not_give_fails_both_ends(void)
{
	struct bed *bed = bed_begin(NULL);
	struct bl_nic_qp_info info;

	post_recv(&bed->b.side, 0, 8);
	bed_expect_none(&bed->b.side.recv);
	post_write(&bed->a.side, &bed->b.far, BED_BYTES, 0, 8);
	bed_expect(&bed->a.side.send, BL_CQE_REQ_ERR, 0x13, 0);
	bed_expect(&bed->b.side.recv, BL_CQE_RESP_ERR, 0x05, 0);
	info = bed_query(&bed->b);
	check_eq(info.state, ERR);
	check(info.responder);
	bed_end(bed);
}

static void a_peer_without_any_list_is_told_of_by_an_event(void)
{
	struct bed *bed = bed_begin(NULL);
	struct bl_nic_qp_info info;

	post_write(&bed->a.side, &bed->b.far, BED_BYTES, 0, 8);
	bed_expect(&bed->a.side.send, BL_CQE_REQ_ERR, 0x13, 0);
	bed_wait_state(&bed->b, ERR);
	info = bed_query(&bed->b);
	check(info.responder);
	check_has(info.text, "does not have");
	bed_end(bed);
}

static void a_message_that_is_too_long_fails_both_ends(void)
{
	struct bed *bed = bed_begin(NULL);
	struct bl_nic_qp_info info;

	post_recv(&bed->b.side, 0, 8);
	bed_expect_none(&bed->b.side.recv);
	post_send(&bed->a.side, 0, 9);
	bed_expect(&bed->b.side.recv, BL_CQE_RESP_ERR, 0x01, 0);
	bed_expect(&bed->a.side.send, BL_CQE_REQ_ERR, 0x12, 0);
	info = bed_query(&bed->b);
	check_eq(info.syndrome, 0x01);
	check(info.responder);
	check_has(info.text, "receive list 0");
	bed_end(bed);
}

static void a_peer_without_lists_is_given_up(void)
{
	const struct bed_options options = { .rnr_retry = 3 };
	struct bed *bed = bed_begin(&options);

	post_send(&bed->a.side, 0, 9);
	bed_expect(&bed->a.side.send, BL_CQE_REQ_ERR, 0x16, 0);
	check_has(bed_query(&bed->a).text, "no receive list");
	bed_end(bed);
}

static void a_peer_that_does_not_answer_is_given_up_with_the_cause(void)
{
	struct bed *bed = bed_begin(NULL);

	bed->b.mod.to = DOCA_VERBS_QP_STATE_RST;
	check_eq(bl_nic_verbs.qp_modify(bed->b.nic, bed->b.qp, &bed->b.mod), 0);
	post_write(&bed->a.side, &bed->b.far, 0, 0, 8);
	bed_expect(&bed->a.side.send, BL_CQE_REQ_ERR, 0x15, 0);
	check_has(bed_query(&bed->a).text, "no answer from 192.0.2.1. Is it ready to receive?");

	bed = bed_begin(NULL);
	fake_set(port_down, true);
	fake_set(status, IBV_WC_RETRY_EXC_ERR);
	fake_set(status_in, 0);
	post_write(&bed->a.side, &bed->b.far, 0, 0, 8);
	bed_expect(&bed->a.side.send, BL_CQE_REQ_ERR, 0x15, 0);
	check_has(bed_query(&bed->a).text, "no answer from 192.0.2.1: port 1 of this side is not active");

	bed = bed_begin(NULL);
	fake_set(port_down, true);
	fake_set(status, IBV_WC_WR_FLUSH_ERR);
	fake_set(status_in, 0);
	post_write(&bed->a.side, &bed->b.far, 0, 0, 8);
	bed_expect(&bed->a.side.send, BL_CQE_REQ_ERR, 0x05, 0);
	check_has(bed_query(&bed->a).text, "port 1 of this side is not active");

	/* the interface's MTU has been made smaller, which some devices do not take well */
	bed = bed_begin(NULL);
	fake_set(mtu, IBV_MTU_256);
	fake_set(status, IBV_WC_WR_FLUSH_ERR);
	fake_set(status_in, 0);
	post_write(&bed->a.side, &bed->b.far, 0, 0, 8);
	bed_expect(&bed->a.side.send, BL_CQE_REQ_ERR, 0x05, 0);
	check_has(bed_query(&bed->a).text, "port 1 of this side has a smaller MTU (256) than the connection (1024)");

	/* the port is told of after the flush */
	bed = bed_begin(NULL);
	fake_set(status, IBV_WC_WR_FLUSH_ERR);
	fake_set(status_in, 0);
	post_write(&bed->a.side, &bed->b.far, 0, 0, 8);
	bed_expect(&bed->a.side.send, BL_CQE_REQ_ERR, 0x05, 0);
	check_has(bed_query(&bed->a).text, "no request was to blame");
	fake_ibv_event(0, IBV_EVENT_PORT_ERR);
	for (int i = 0; i < 500 && !strstr(bed_query(&bed->a).text, "its port went down"); i++)
		bed_expect_none(&bed->a.side.send);
	check_has(bed_query(&bed->a).text, "its port went down");
	check_eq(bed_query(&bed->b).state, DOCA_VERBS_QP_STATE_RTS);
	bed_end(bed);
}

/* The bed connects with 7 retries and 4.096 us << 14. */
static void rdma_rxe_is_not_asked_to_try_for_ever(void)
{
	const struct bed_options options = { .vendor = 0xffffff };
	struct bed *bed = bed_begin(NULL);

	check_eq(fake_get(attr).retry_cnt, 7);
	check_eq(fake_get(attr).timeout, 14);
	bed_end(bed);

	bed = bed_begin(&options);
	check_eq(fake_get(attr).retry_cnt, 6);
	check_eq(fake_get(attr).timeout, 16);
	bed_end(bed);

	setenv("BARLANE_NET_RETRIES", "7", 1);
	setenv("BARLANE_NET_ACK_TIMEOUT", "14", 1);
	bed = bed_begin(&options);
	unsetenv("BARLANE_NET_RETRIES");
	unsetenv("BARLANE_NET_ACK_TIMEOUT");
	check_eq(fake_get(attr).retry_cnt, 7);
	check_eq(fake_get(attr).timeout, 14);
	bed_end(bed);
}

/* The device tries on, and the program's own deadline is near: what it says then. */
static void a_request_that_is_not_answered_says_so_while_it_waits(void)
{
	struct bed *bed = bed_begin(NULL);

	fake_set(hold, true);
	post_write(&bed->a.side, &bed->b.far, 0, 0, 8);
	bed_wait_count(bed, &fake_ibv.posts, 1);
	bed_expect_none(&bed->a.side.send);
	check_str(bed_query(&bed->a).text, "");
	usleep(1050000);
	check_has(bed_query(&bed->a).text, "no answer from 192.0.2.1 for 1 s; port 1 ACTIVE");
	fake_set(mtu, IBV_MTU_256);
	check_has(bed_query(&bed->a).text, "for 1 s: port 1 of this side has a smaller MTU (256) than the connection (1024)");
	fake_set(port_down, true);
	check_has(bed_query(&bed->a).text, "for 1 s: port 1 of this side is not active");
	fake_set(hold, false);
	bed_expect(&bed->a.side.send, BL_CQE_REQ, 0, 0);
	/* the peer's may not arrive */
	check_str(bed_query(&bed->a).text, "port 1 of this side is not active");
	fake_set(port_down, false);
	fake_set(mtu, IBV_MTU_1024);
	check_str(bed_query(&bed->a).text, "");
	bed_end(bed);
}

static bool is_up(const char *interface)
{
	struct ifreq req = { .ifr_ifindex = 0 };
	int sock = socket(AF_INET, SOCK_DGRAM, 0);

	snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", interface);
	check_eq(ioctl(sock, SIOCGIFFLAGS, &req), 0);
	close(sock);
	return req.ifr_flags & IFF_UP;
}

static void fails_with(const struct bed_options *options, enum ibv_wc_status status, uint8_t syndrome, const char *text)
{
	struct bed *bed = bed_begin(options);

	fake_set(status, status);
	fake_set(status_in, 0);
	post_write(&bed->a.side, &bed->b.far, 0, 0, 8);
	bed_expect(&bed->a.side.send, BL_CQE_REQ_ERR, syndrome, 0);
	check_has(bed_query(&bed->a).text, text);
	bed_end(bed);
}

/* That the device goes on telling of an active port does not matter. */
static void the_interface_behind_the_port_is_looked_at(void)
{
	const struct bed_options gone = { .interface = 0x7ffffff0 }, none = { .interface = 0 };

	fails_with(&gone, IBV_WC_WR_FLUSH_ERR, 0x05, "the interface of this side is gone");
	fails_with(&gone, IBV_WC_RETRY_EXC_ERR, 0x15, "the interface of this side is gone");
	fails_with(&gone, IBV_WC_LOC_QP_OP_ERR, 0x02, "the interface of this side is gone");
	fails_with(&none, IBV_WC_LOC_QP_OP_ERR, 0x02, "local operation: the device cannot do it");
}

/* By a packet to the peer's port, of an address that is nobody's but this host's. */
static void the_network_is_asked(void)
{
	const struct bed_options lo = { .interface = if_nametoindex("lo") },
				 own = { .interface = lo.interface, .loopback = true };

	if (!lo.interface)
		skip("there is no interface lo");
	if (!is_up("lo")) {
		fails_with(&own, IBV_WC_RETRY_EXC_ERR, 0x15, "interface lo of this side is down");
		return;
	}
	fails_with(&lo, IBV_WC_RETRY_EXC_ERR, 0x15, "address 192.0.2.1 is not this host's any more");
	fails_with(&own, IBV_WC_RETRY_EXC_ERR, 0x15, "no answer from 127.0.77.3: no NIC is open at 127.0.77.3 (or a firewall)");
	fails_with(&own, IBV_WC_WR_FLUSH_ERR, 0x05, "no NIC is open at 127.0.77.3 (or a firewall)");
}

static void a_move_that_the_device_refuses_changes_nothing(void)
{
	const struct bed_options options = { .unconnected = true };
	struct bed *bed = bed_begin(&options);

	check_eq(bed_move(bed, &bed->a, &bed->b, DOCA_VERBS_QP_STATE_INIT), 0);
	bed->a.mod.from = DOCA_VERBS_QP_STATE_INIT;
	bed->a.mod.to = DOCA_VERBS_QP_STATE_RTR;
	fake_set(fail_call, "modify_qp");
	fake_set(fail_after, 0);
	fake_set(fail_errno, ETIMEDOUT);
	check_eq(bl_nic_verbs.qp_modify(bed->a.nic, bed->a.qp, &bed->a.mod), -ETIMEDOUT);
	check_has(bl_last_error(NULL), "nobody answers at the peer's address");
	check_has(bl_last_error(NULL), "fake0");
	check_eq(bed_query(&bed->a).state, DOCA_VERBS_QP_STATE_INIT);
	/* a path MTU above the port's */
	bed->a.mod.mtu = 4096;
	check_eq(bl_nic_verbs.qp_modify(bed->a.nic, bed->a.qp, &bed->a.mod), -EINVAL);
	check_has(bl_last_error(NULL), "MTU");
	bed->a.mod.mtu = 1024;
	check_eq(bl_nic_verbs.qp_modify(bed->a.nic, bed->a.qp, &bed->a.mod), 0);
	bed_end(bed);
}

static void a_user_may_have_everything_flushed(void)
{
	struct bed *bed = bed_begin(NULL);

	for (int i = 0; i < 3; i++) {
		post_send(&bed->a.side, 0, 8);
		post_recv(&bed->a.side, 0, 8);
	}
	bed_expect_none(&bed->a.side.send);
	bed->a.mod.from = DOCA_VERBS_QP_STATE_RTS;
	bed->a.mod.to = ERR;
	check_eq(bl_nic_verbs.qp_modify(bed->a.nic, bed->a.qp, &bed->a.mod), 0);
	for (uint16_t i = 0; i < 3; i++) {
		bed_expect(&bed->a.side.send, BL_CQE_REQ_ERR, 0x05, i);
		bed_expect(&bed->a.side.recv, BL_CQE_RESP_ERR, 0x05, i);
	}
	check_eq(bed_query(&bed->a).syndrome, 0x05);
	bed_end(bed);
}

static void nothing_is_flushed_that_the_device_has_not_given_back(void)
{
	struct bed *bed = bed_begin(NULL);

	fake_set(hold, true);
	post_send(&bed->a.side, 0, 8);
	post_recv(&bed->a.side, 0, 8);
	bed_wait_count(bed, &fake_ibv.posts, 1);
	bed_wait_count(bed, &fake_ibv.receives, 1);
	bed->a.mod.from = DOCA_VERBS_QP_STATE_RTS;
	bed->a.mod.to = ERR;
	check_eq(bl_nic_verbs.qp_modify(bed->a.nic, bed->a.qp, &bed->a.mod), 0);
	bed_expect_none(&bed->a.side.send);
	bed_expect_none(&bed->a.side.recv);
	fake_set(hold, false);
	bed_expect(&bed->a.side.send, BL_CQE_REQ_ERR, 0x05, 0);
	bed_expect(&bed->a.side.recv, BL_CQE_RESP_ERR, 0x05, 0);
	bed_end(bed);
}

static void a_device_that_keeps_requests_is_not_waited_for_for_ever(void)
{
	struct bed *bed = bed_begin(NULL);

	fake_set(stuck, true);
	post_send(&bed->a.side, 0, 8);
	post_recv(&bed->a.side, 0, 8);
	bed_wait_count(bed, &fake_ibv.posts, 1);
	bed_wait_count(bed, &fake_ibv.receives, 1);
	bed->a.mod.from = DOCA_VERBS_QP_STATE_RTS;
	bed->a.mod.to = ERR;
	check_eq(bl_nic_verbs.qp_modify(bed->a.nic, bed->a.qp, &bed->a.mod), 0);
	bed_expect(&bed->a.side.send, BL_CQE_REQ_ERR, 0x05, 0);
	bed_expect(&bed->a.side.recv, BL_CQE_RESP_ERR, 0x05, 0);
	bed_end(bed);
}

static void events_of_the_device_end_queue_pairs(void)
{
	struct bed *bed = bed_begin(NULL);

	fake_ibv_event(0, IBV_EVENT_PORT_ERR);
	fake_ibv_event(bed->a.qpn, IBV_EVENT_QP_FATAL);
	bed_wait_state(&bed->a, ERR);
	check_has(bed_query(&bed->a).text, "inside of the device");
	check_eq(bed_query(&bed->b).state, DOCA_VERBS_QP_STATE_RTS);

	bed = bed_begin(NULL);
	fake_ibv_event(0, IBV_EVENT_DEVICE_FATAL);
	bed_wait_state(&bed->a, ERR);
	bed_wait_state(&bed->b, ERR);
	check_has(bed_query(&bed->b).text, "was removed");

	bed = bed_begin(NULL);
	fake_set(fail_call, "poll_cq");
	fake_set(fail_after, 0);
	fake_set(fail_errno, EIO);
	for (int i = 0; i < 100 && bed_query(&bed->a).state != ERR && bed_query(&bed->b).state != ERR; i++)
		bed_expect_none(&bed->a.side.send);
	check(bed_query(&bed->a).state == ERR || bed_query(&bed->b).state == ERR);
	bed_end(bed);
}

static const struct tap_test tests[] = {
	{ "verbs_each_status_of_the_device_is_a_syndrome", each_status_of_the_device_is_a_syndrome },
	{ "verbs_what_is_posted_later_is_flushed", what_is_posted_later_is_flushed },
	{ "verbs_a_local_key_is_checked_before_anything_is_sent", a_local_key_is_checked_before_anything_is_sent },
	{ "verbs_what_the_device_cannot_do_is_a_bad_request", what_the_device_cannot_do_is_a_bad_request },
	{ "verbs_a_device_without_atomics_says_so", a_device_without_atomics_says_so },
	{ "verbs_memory_that_the_peer_does_not_give_fails_both_ends",
	  memory_that_the_peer_does_not_give_fails_both_ends },
	{ "verbs_a_peer_without_any_list_is_told_of_by_an_event", a_peer_without_any_list_is_told_of_by_an_event },
	{ "verbs_a_message_that_is_too_long_fails_both_ends", a_message_that_is_too_long_fails_both_ends },
	{ "verbs_a_peer_without_lists_is_given_up", a_peer_without_lists_is_given_up },
	{ "verbs_a_peer_that_does_not_answer_is_given_up_with_the_cause",
	  a_peer_that_does_not_answer_is_given_up_with_the_cause },
	{ "verbs_rdma_rxe_is_not_asked_to_try_for_ever", rdma_rxe_is_not_asked_to_try_for_ever },
	{ "verbs_a_request_that_is_not_answered_says_so_while_it_waits",
	  a_request_that_is_not_answered_says_so_while_it_waits },
	{ "verbs_the_interface_behind_the_port_is_looked_at", the_interface_behind_the_port_is_looked_at },
	{ "verbs_the_network_is_asked", the_network_is_asked },
	{ "verbs_a_move_that_the_device_refuses_changes_nothing", a_move_that_the_device_refuses_changes_nothing },
	{ "verbs_a_user_may_have_everything_flushed", a_user_may_have_everything_flushed },
	{ "verbs_nothing_is_flushed_that_the_device_has_not_given_back",
	  nothing_is_flushed_that_the_device_has_not_given_back },
	{ "verbs_a_device_that_keeps_requests_is_not_waited_for_for_ever",
	  a_device_that_keeps_requests_is_not_waited_for_for_ever },
	{ "verbs_events_of_the_device_end_queue_pairs", events_of_the_device_end_queue_pairs },
};

TAP_MAIN(tests)
