// SPDX-License-Identifier: MIT
/* Moves of queue pairs: every right one, and every wrong one that can be made of it. */
#include "bed.h"
#include "net/verbs/qp.h"
#include "net/verbs/qp_moves.h"

#define NR_STATES 5
#define NR_BITS	  32

static struct net_bed bed;

static doca_error_t modify(enum doca_verbs_qp_state to, uint32_t mask)
{
	doca_verbs_qp_attr_set_next_state(bed.attr, to);
	return doca_verbs_qp_modify(bed.qp, bed.attr, (int)(mask | DOCA_VERBS_QP_ATTR_NEXT_STATE));
}

static const struct bl_qp_move *find(enum doca_verbs_qp_state from, enum doca_verbs_qp_state to)
{
	for (size_t i = 0; i < bl_qp_nr_moves; i++) {
		if (bl_qp_moves[i].from == from && bl_qp_moves[i].to == to)
			return &bl_qp_moves[i];
	}
	return NULL;
}

/* One move with a mask that is right but for one bit. Nothing may reach the NIC. */
static void check_refused(const struct bl_qp_move *move, uint32_t mask, unsigned int bit)
{
	unsigned int calls;

	net_bed_go(&bed, move->from);
	calls = fake.calls;
	check_eq(modify(move->to, mask), DOCA_ERROR_INVALID_VALUE);
	check_eq(fake.calls, calls + 1); /* the state was asked for */
	check_str(fake.last, "qp_query");
	if (bl_qp_attr_name(bit))
		check_has(bl_last_error(NULL), bl_qp_attr_name(bit));
}

static void check_move(const struct bl_qp_move *move, uint32_t type)
{
	uint32_t required = move->required[type], optional = move->optional[type];

	net_bed_go(&bed, move->from);
	check_eq(modify(move->to, required), DOCA_SUCCESS);
	check_eq(fake.mod.from, move->from);
	check_eq(fake.mod.to, move->to);
	check_eq(fake.mod.mask, required | DOCA_VERBS_QP_ATTR_NEXT_STATE);
	net_bed_go(&bed, move->from);
	check_eq(modify(move->to, required | optional), DOCA_SUCCESS);
	check_eq(fake.mod.mask, required | optional | DOCA_VERBS_QP_ATTR_NEXT_STATE);
	for (unsigned int bit = 0; bit < NR_BITS; bit++) {
		if (required & (1U << bit))
			check_refused(move, required & ~(1U << bit), bit);
		else if (!((optional | BL_QP_STATE_MASK) & (1U << bit)))
			check_refused(move, required | 1U << bit, bit);
	}
}

static void every_move_needs_and_takes_its_attributes(void)
{
	for (uint32_t type = DOCA_VERBS_QP_TYPE_RC; type <= DOCA_VERBS_QP_TYPE_UC; type++) {
		net_bed_open(&bed);
		net_bed_qp(&bed, type);
		for (size_t i = 0; i < bl_qp_nr_moves; i++)
			check_move(&bl_qp_moves[i], type);
		net_bed_close(&bed);
	}
}

static void there_are_no_other_moves(void)
{
	net_bed_open(&bed);
	net_bed_qp(&bed, DOCA_VERBS_QP_TYPE_RC);
	for (int from = 0; from < NR_STATES; from++) {
		for (int to = 0; to < NR_STATES; to++) {
			if (to == DOCA_VERBS_QP_STATE_RST || to == DOCA_VERBS_QP_STATE_ERR ||
			    find((enum doca_verbs_qp_state)from, (enum doca_verbs_qp_state)to))
				continue;
			net_bed_go(&bed, (enum doca_verbs_qp_state)from);
			check_eq(modify((enum doca_verbs_qp_state)to, 0), DOCA_ERROR_INVALID_VALUE);
			check_has(bl_last_error(NULL), "does not go from");
			check_has(bl_last_error(NULL), bl_qp_state_name((enum doca_verbs_qp_state)to));
		}
	}
	check_eq(modify((enum doca_verbs_qp_state)5, 0), DOCA_ERROR_INVALID_VALUE);
	check_eq(modify((enum doca_verbs_qp_state)-1, 0), DOCA_ERROR_INVALID_VALUE);
	net_bed_close(&bed);
}

static void every_state_goes_to_err_and_to_rst_without_attributes(void)
{
	net_bed_open(&bed);
	net_bed_qp(&bed, DOCA_VERBS_QP_TYPE_RC);
	for (int from = 0; from < NR_STATES; from++) {
		for (int to = 0; to < NR_STATES; to += DOCA_VERBS_QP_STATE_ERR) {
			net_bed_go(&bed, (enum doca_verbs_qp_state)from);
			check_eq(modify((enum doca_verbs_qp_state)to, DOCA_VERBS_QP_ATTR_RQ_PSN), DOCA_ERROR_INVALID_VALUE);
			check_eq(modify((enum doca_verbs_qp_state)to, 0), DOCA_SUCCESS);
			check_eq(fake.mod.to, to);
			check_eq(fake.mod.from, from);
		}
	}
	net_bed_close(&bed);
}

static void current_state_must_be_the_one_it_is_in(void)
{
	net_bed_open(&bed);
	net_bed_qp(&bed, DOCA_VERBS_QP_TYPE_RC);
	net_bed_go(&bed, DOCA_VERBS_QP_STATE_RTR);
	doca_verbs_qp_attr_set_current_state(bed.attr, DOCA_VERBS_QP_STATE_INIT);
	check_eq(modify(DOCA_VERBS_QP_STATE_ERR, DOCA_VERBS_QP_ATTR_CURRENT_STATE), DOCA_ERROR_INVALID_VALUE);
	check_has(bl_last_error(NULL), "is in state RTR and not in INIT");
	doca_verbs_qp_attr_set_current_state(bed.attr, DOCA_VERBS_QP_STATE_RTR);
	check_eq(modify(DOCA_VERBS_QP_STATE_ERR, DOCA_VERBS_QP_ATTR_CURRENT_STATE), DOCA_SUCCESS);
	net_bed_close(&bed);
}

static void a_queue_pair_that_failed_by_itself_is_in_err(void)
{
	struct doca_verbs_qp_init_attr *init;
	uint32_t rts_again = DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_WRITE;

	net_bed_open(&bed);
	net_bed_qp(&bed, DOCA_VERBS_QP_TYPE_RC);
	net_bed_go(&bed, DOCA_VERBS_QP_STATE_RTS);
	fake.stuck = true;
	fake.info = (struct bl_nic_qp_info){ .state = DOCA_VERBS_QP_STATE_ERR, .syndrome = 0x13, .text = "remote access" };
	check_eq(modify(DOCA_VERBS_QP_STATE_RTS, rts_again), DOCA_ERROR_INVALID_VALUE);
	check_has(bl_last_error(NULL), "from ERR to RTS");
	check_eq(doca_verbs_qp_init_attr_create(&init), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_query(bed.qp, bed.attr, init), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_attr_get_current_state(bed.attr), DOCA_VERBS_QP_STATE_ERR);
	check_eq(modify(DOCA_VERBS_QP_STATE_RST, 0), DOCA_SUCCESS);
	check_eq(fake.mod.from, DOCA_VERBS_QP_STATE_ERR);
	doca_verbs_qp_init_attr_destroy(init);
	net_bed_close(&bed);
}

static void without_next_state_the_state_stays(void)
{
	net_bed_open(&bed);
	net_bed_qp(&bed, DOCA_VERBS_QP_TYPE_RC);
	net_bed_go(&bed, DOCA_VERBS_QP_STATE_RTS);
	doca_verbs_qp_attr_set_next_state(bed.attr, DOCA_VERBS_QP_STATE_ERR);
	doca_verbs_qp_attr_set_allow_remote_read(bed.attr, 1);
	check_eq(doca_verbs_qp_modify(bed.qp, bed.attr, DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_READ), DOCA_SUCCESS);
	check_eq(fake.mod.to, DOCA_VERBS_QP_STATE_RTS);
	check_eq(fake.mod.access, IBV_ACCESS_REMOTE_READ);
	net_bed_go(&bed, DOCA_VERBS_QP_STATE_RTR);
	check_eq(doca_verbs_qp_modify(bed.qp, bed.attr, 0), DOCA_ERROR_INVALID_VALUE);
	net_bed_close(&bed);
}

/* Values that reach the NIC, and what a query gives back. */
static void values_reach_the_nic_and_come_back(void)
{
	const struct doca_verbs_gid gid = { { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 } };
	struct doca_verbs_qp_init_attr *init;
	struct doca_verbs_qp_attr *got;
	struct doca_verbs_gid back;

	net_bed_open(&bed);
	net_bed_qp(&bed, DOCA_VERBS_QP_TYPE_RC);
	doca_verbs_qp_attr_set_pkey_index(bed.attr, 2);
	doca_verbs_qp_attr_set_port_num(bed.attr, 2);
	doca_verbs_qp_attr_set_allow_remote_write(bed.attr, 1);
	doca_verbs_qp_attr_set_allow_remote_read(bed.attr, 1);
	doca_verbs_qp_attr_set_allow_remote_atomic(bed.attr, DOCA_VERBS_QP_ATOMIC_MODE_IB_SPEC);
	doca_verbs_qp_attr_set_path_mtu(bed.attr, DOCA_VERBS_MTU_SIZE_2K_BYTES);
	doca_verbs_qp_attr_set_rq_psn(bed.attr, 0x123456);
	doca_verbs_qp_attr_set_sq_psn(bed.attr, 0xff654321); /* cut to 24 bits */
	doca_verbs_qp_attr_set_dest_qp_num(bed.attr, 0xabcdef);
	doca_verbs_qp_attr_set_min_rnr_timer(bed.attr, 12);
	doca_verbs_qp_attr_set_ack_timeout(bed.attr, 14);
	doca_verbs_qp_attr_set_retry_cnt(bed.attr, 7);
	doca_verbs_qp_attr_set_rnr_retry(bed.attr, 6);
	doca_verbs_ah_attr_set_gid(bed.ah, gid);
	doca_verbs_ah_attr_set_addr_type(bed.ah, DOCA_VERBS_ADDR_TYPE_IPv6);
	doca_verbs_ah_attr_set_dlid(bed.ah, 77);
	doca_verbs_ah_attr_set_sl(bed.ah, 5);
	doca_verbs_ah_attr_set_sgid_index(bed.ah, 1);
	doca_verbs_ah_attr_set_static_rate(bed.ah, 4);
	doca_verbs_ah_attr_set_hop_limit(bed.ah, 255);
	doca_verbs_ah_attr_set_traffic_class(bed.ah, 106);
	net_bed_go(&bed, DOCA_VERBS_QP_STATE_RTS);

	check_eq(fake.mod.pkey_index, 2);
	check_eq(fake.mod.port, 2);
	check_eq(fake.mod.access, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	check_eq(fake.mod.atomic_mode, DOCA_VERBS_QP_ATOMIC_MODE_IB_SPEC);
	check_eq(fake.mod.mtu, 2048);
	check_eq(fake.mod.rq_psn, 0x123456);
	check_eq(fake.mod.sq_psn, 0x654321);
	check_eq(fake.mod.dest_qpn, 0xabcdef);
	check_eq(fake.mod.min_rnr_timer, 12);
	check_eq(fake.mod.ack_timeout, 14);
	check_eq(fake.mod.retry_cnt, 7);
	check_eq(fake.mod.rnr_retry, 6);
	check_eq(fake.mod.max_rd_atomic, 1);
	check_eq(fake.mod.max_dest_rd_atomic, 1);
	check(!memcmp(fake.mod.gid, gid.raw, sizeof(gid.raw)));
	check_eq(fake.mod.addr_type, DOCA_VERBS_ADDR_TYPE_IPv6);
	check_eq(fake.mod.dlid, 77);
	check_eq(fake.mod.sl, 5);
	check_eq(fake.mod.sgid_index, 1);
	check_eq(fake.mod.static_rate, 4);
	check_eq(fake.mod.hop_limit, 255);
	check_eq(fake.mod.traffic_class, 106);

	check_eq(doca_verbs_qp_attr_create(&got), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_init_attr_create(&init), DOCA_SUCCESS);
	doca_verbs_ah_attr_set_sl(bed.ah, 0);
	doca_verbs_qp_attr_set_ah_attr(got, bed.ah);
	check_eq(doca_verbs_qp_query(bed.qp, got, init), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_attr_get_current_state(got), DOCA_VERBS_QP_STATE_RTS);
	check_eq(doca_verbs_qp_attr_get_path_mtu(got), DOCA_VERBS_MTU_SIZE_2K_BYTES);
	check_eq(doca_verbs_qp_attr_get_rq_psn(got), 0x123456);
	check_eq(doca_verbs_qp_attr_get_sq_psn(got), 0x654321);
	check_eq(doca_verbs_qp_attr_get_dest_qp_num(got), 0xabcdef);
	check_eq(doca_verbs_qp_attr_get_allow_remote_write(got), 1);
	check_eq(doca_verbs_qp_attr_get_allow_remote_read(got), 1);
	check_eq(doca_verbs_qp_attr_get_allow_remote_atomic(got), DOCA_VERBS_QP_ATOMIC_MODE_IB_SPEC);
	check_eq(doca_verbs_qp_attr_get_pkey_index(got), 2);
	check_eq(doca_verbs_qp_attr_get_port_num(got), 2);
	check_eq(doca_verbs_qp_attr_get_ack_timeout(got), 14);
	check_eq(doca_verbs_qp_attr_get_retry_cnt(got), 7);
	check_eq(doca_verbs_qp_attr_get_rnr_retry(got), 6);
	check_eq(doca_verbs_qp_attr_get_min_rnr_timer(got), 12);
	check_eq(doca_verbs_ah_get_sl(bed.ah), 5);
	back = doca_verbs_ah_get_gid(bed.ah);
	check(!memcmp(&back, &gid, sizeof(gid)));
	check(doca_verbs_qp_init_attr_get_pd(init) == bed.pd);
	check_eq(doca_verbs_qp_init_attr_get_sq_wr(init), 64);
	doca_verbs_qp_init_attr_destroy(init);
	doca_verbs_qp_attr_destroy(got);
	net_bed_close(&bed);
}

/* One value out of range, at the move that takes it. */
#define REFUSES(state, to, setter, bad, good, words)                                                                   \
	do {                                                                                                           \
		net_bed_go(&bed, DOCA_VERBS_QP_STATE_##state);                                                         \
		setter(bad);                                                                                           \
		check_eq(modify(DOCA_VERBS_QP_STATE_##to,                                                              \
				find(DOCA_VERBS_QP_STATE_##state, DOCA_VERBS_QP_STATE_##to)->required[0] |             \
					find(DOCA_VERBS_QP_STATE_##state, DOCA_VERBS_QP_STATE_##to)->optional[0]),     \
			 DOCA_ERROR_INVALID_VALUE);                                                                    \
		check_has(bl_last_error(NULL), words);                                                                 \
		check_str(fake.last, "qp_query");                                                                      \
		setter(good);                                                                                          \
	} while (0)

#define PKEY(value)	 doca_verbs_qp_attr_set_pkey_index(bed.attr, value)
#define PORT(value)	 doca_verbs_qp_attr_set_port_num(bed.attr, value)
#define ATOMIC(value)	 doca_verbs_qp_attr_set_allow_remote_atomic(bed.attr, (enum doca_verbs_qp_atomic_type)(value))
#define MTU(value)	 doca_verbs_qp_attr_set_path_mtu(bed.attr, (enum doca_verbs_mtu_size)(value))
#define DEST(value)	 doca_verbs_qp_attr_set_dest_qp_num(bed.attr, value)
#define RNR_TIMER(value) doca_verbs_qp_attr_set_min_rnr_timer(bed.attr, value)
#define MAX_DEST(value)	 doca_verbs_qp_attr_set_max_dest_rd_atomic(bed.attr, value)
#define MAX_OWN(value)	 doca_verbs_qp_attr_set_max_rd_atomic(bed.attr, value)
#define TIMEOUT(value)	 doca_verbs_qp_attr_set_ack_timeout(bed.attr, value)
#define RETRY(value)	 doca_verbs_qp_attr_set_retry_cnt(bed.attr, value)
#define RNR_RETRY(value) doca_verbs_qp_attr_set_rnr_retry(bed.attr, value)
#define WAY(value)	 doca_verbs_qp_attr_set_ah_attr(bed.attr, value)
#define TYPE(value)	 doca_verbs_ah_attr_set_addr_type(bed.ah, (enum doca_verbs_addr_type)(value))
#define SGID(value)	 doca_verbs_ah_attr_set_sgid_index(bed.ah, value)
#define SL(value)	 doca_verbs_ah_attr_set_sl(bed.ah, value)

static void values_out_of_range_are_refused_by_name(void)
{
	net_bed_open(&bed);
	net_bed_qp(&bed, DOCA_VERBS_QP_TYPE_RC);
	REFUSES(RST, INIT, PKEY, 3, 0, "pkey index 3");
	REFUSES(RST, INIT, PORT, 0, 1, "port 0");
	REFUSES(RST, INIT, PORT, 3, 1, "port 3");
	REFUSES(RST, INIT, PORT, 257, 1, "port 257");
	REFUSES(RST, INIT, ATOMIC, 2, 0, "atomic mode 2");
	REFUSES(INIT, RTR, MTU, DOCA_VERBS_MTU_SIZE_RAW_ETHERNET, 0, "path MTU 5");
	REFUSES(INIT, RTR, MTU, -1, 0, "path MTU -1");
	REFUSES(INIT, RTR, DEST, 0x1000000, 0, "0x1000000");
	REFUSES(INIT, RTR, RNR_TIMER, 32, 0, "RNR timer 32");
	REFUSES(INIT, RTR, MAX_DEST, 17, 1, "17 is more than 16");
	REFUSES(INIT, RTR, WAY, NULL, bed.ah, "no address handle");
	REFUSES(INIT, RTR, TYPE, 4, 0, "address type 4");
	REFUSES(INIT, RTR, SGID, 4, 0, "sgid index 4");
	REFUSES(INIT, RTR, SL, 16, 0, "service level 16");
	REFUSES(RTR, RTS, TIMEOUT, 32, 0, "ack timeout 32");
	REFUSES(RTR, RTS, RETRY, 8, 0, "retry count 8");
	REFUSES(RTR, RTS, RNR_RETRY, 8, 0, "RNR retry count 8");
	REFUSES(RTR, RTS, MAX_OWN, 9, 1, "9 is more than 8");
	net_bed_close(&bed);
}

static void reset_forgets_what_was_set(void)
{
	net_bed_open(&bed);
	net_bed_qp(&bed, DOCA_VERBS_QP_TYPE_RC);
	doca_verbs_qp_attr_set_allow_remote_write(bed.attr, 1);
	net_bed_go(&bed, DOCA_VERBS_QP_STATE_RTS);
	check_eq(fake.mod.access, IBV_ACCESS_REMOTE_WRITE);
	doca_verbs_qp_attr_set_allow_remote_write(bed.attr, 0);
	net_bed_go(&bed, DOCA_VERBS_QP_STATE_INIT);
	check_eq(fake.mod.access, 0);
	check_eq(fake.mod.dest_qpn, 0);
	net_bed_close(&bed);
}

static void a_move_that_the_nic_refuses_changes_nothing(void)
{
	struct doca_verbs_qp_init_attr *init;

	net_bed_open(&bed);
	net_bed_qp(&bed, DOCA_VERBS_QP_TYPE_RC);
	net_bed_go(&bed, DOCA_VERBS_QP_STATE_RTS);
	doca_verbs_qp_attr_set_allow_remote_read(bed.attr, 1);
	fake.fail_at = fake.calls + 2;
	fake.error = ENOTCONN;
	check_eq(modify(DOCA_VERBS_QP_STATE_RTS, DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_READ), DOCA_ERROR_NOT_CONNECTED);
	check_eq(doca_verbs_qp_init_attr_create(&init), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_query(bed.qp, bed.attr, init), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_attr_get_allow_remote_read(bed.attr), 0);
	fake.fail_at = fake.calls + 1;
	fake.error = EIO;
	check_eq(doca_verbs_qp_query(bed.qp, bed.attr, init), DOCA_ERROR_DRIVER);
	doca_verbs_qp_init_attr_destroy(init);
	net_bed_close(&bed);
}

static void wrong_arguments_are_refused(void)
{
	net_bed_open(&bed);
	net_bed_qp(&bed, DOCA_VERBS_QP_TYPE_RC);
	check_eq(doca_verbs_qp_modify(NULL, bed.attr, 0), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_qp_modify(bed.qp, NULL, 0), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_qp_modify((void *)bed.cq, bed.attr, 0), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_qp_query(bed.qp, NULL, bed.init), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_qp_query(bed.qp, bed.attr, NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_qp_query(NULL, bed.attr, bed.init), DOCA_ERROR_INVALID_VALUE);
	net_bed_close(&bed);
}

static void the_library_asks_the_nic_of_a_queue_pair(void)
{
	struct bl_nic_qp_info info;
	uint64_t word = 0;

	net_bed_open(&bed);
	net_bed_qp(&bed, DOCA_VERBS_QP_TYPE_RC);
	fake.info = (struct bl_nic_qp_info){ .syndrome = 0x15, .vendor = 0x81, .wqe_counter = 7, .text = "gone" };
	check_eq(bl_qp_info(bed.qp, &info), 0);
	check_eq(info.syndrome, 0x15);
	check_str(info.text, "gone");
	check_eq(bl_qp_watch(bed.qp, &word), 0);
	check(fake.word == &word);
	bl_qp_kick(bed.qp);
	check_eq(fake.kicks, 1);
	check_eq(bl_qp_info(NULL, &info), -EINVAL);
	check_eq(bl_qp_watch(NULL, &word), -EINVAL);
	net_bed_close(&bed);
}

static const struct tap_test tests[] = {
	{ "every_move_needs_and_takes_its_attributes", every_move_needs_and_takes_its_attributes },
	{ "there_are_no_other_moves", there_are_no_other_moves },
	{ "every_state_goes_to_err_and_to_rst_without_attributes", every_state_goes_to_err_and_to_rst_without_attributes },
	{ "current_state_must_be_the_one_it_is_in", current_state_must_be_the_one_it_is_in },
	{ "a_queue_pair_that_failed_by_itself_is_in_err", a_queue_pair_that_failed_by_itself_is_in_err },
	{ "without_next_state_the_state_stays", without_next_state_the_state_stays },
	{ "values_reach_the_nic_and_come_back", values_reach_the_nic_and_come_back },
	{ "values_out_of_range_are_refused_by_name", values_out_of_range_are_refused_by_name },
	{ "reset_forgets_what_was_set", reset_forgets_what_was_set },
	{ "a_move_that_the_nic_refuses_changes_nothing", a_move_that_the_nic_refuses_changes_nothing },
	{ "wrong_arguments_are_refused", wrong_arguments_are_refused },
	{ "the_library_asks_the_nic_of_a_queue_pair", the_library_asks_the_nic_of_a_queue_pair },
};

TAP_MAIN(tests)
