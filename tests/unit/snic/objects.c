// SPDX-License-Identifier: MIT
/* Making, changing and destroying objects: what is refused, and what a child of fork() gets. */
#include <sys/wait.h>
#include <unistd.h>

#include "softnic/cq.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "world.h"

static void open_refuses_what_it_cannot_do(void)
{
	struct bl_snic *nic = NULL;
	struct bl_snic_attr attr = {.transport = &world_transport, .manual = true, .mtu = 3000};

	check_eq(bl_snic_open(&attr, &nic), -EINVAL);
	attr.mtu = 128;
	check_eq(bl_snic_open(&attr, &nic), -EINVAL);
	attr.mtu = 2U << 20;
	check_eq(bl_snic_open(&attr, &nic), -EINVAL);
	attr.mtu = 0;
	attr.cpu = 1;
	check_eq(bl_snic_open(&attr, &nic), -EINVAL);
	attr.manual = false;
	attr.cpu = 1000;
	check_eq(bl_snic_open(&attr, &nic), -EINVAL);
	check(!nic);
}

static void a_completion_queue_is_checked(void)
{
	struct world *w = world_begin(NULL);
	struct bl_snic_cq_attr attr = {.ring.addr = w->a.mem, .nr = 48};
	struct bl_snic_cq *cq = NULL;

	check_eq(bl_snic_cq_create(w->a.nic, &attr, &cq), -EINVAL);
	attr.nr = 0;
	check_eq(bl_snic_cq_create(w->a.nic, &attr, &cq), -EINVAL);
	attr.nr = 1U << 23;
	check_eq(bl_snic_cq_create(w->a.nic, &attr, &cq), -EINVAL);
	attr.nr = 64;
	attr.ring_off = 4;
	check_eq(bl_snic_cq_create(w->a.nic, &attr, &cq), -EINVAL);
	attr.ring_off = 0;
	attr.ring.addr = NULL;
	check_eq(bl_snic_cq_create(w->a.nic, &attr, &cq), -EINVAL);
	check(!cq);
	world_end(w);
}

static void a_queue_pair_is_checked(void)
{
	struct world *w = world_begin(NULL);
	struct bl_snic_qp_attr good = world_query(&w->a).attr, attr;
	struct bl_snic_qp *qp = NULL;

#define refused(change)                                                                                                \
	do {                                                                                                           \
		attr = good;                                                                                           \
		change;                                                                                                \
		check_eq(bl_snic_qp_create(w->a.pd, &attr, &qp), -EINVAL);                                             \
		check(!qp);                                                                                            \
	} while (0)

	refused(attr.sq_nr = 48);
	refused(attr.sq_nr = 65536);
	refused(attr.rq_nr = 3);
	refused(attr.rq_sges = 3);
	refused(attr.rq_sges = 0);
	refused(attr.rq_sges = 128);
	refused(attr.sq.addr = NULL);
	refused(attr.rq.addr = NULL);
	refused(attr.send_cq = NULL);
	refused(attr.recv_cq = NULL);
	refused(attr.dbrec = NULL);
	refused(attr.dbrec = (const uint32_t *)((const char *)attr.dbrec + 1));
	refused(attr.no_dbrec = true);
	refused(attr.type = (enum bl_snic_qp_type)7);
	refused(attr.send_cq = w->b.send.cq);
	refused(attr.uar = w->b.uar);
#undef refused
	world_end(w);
}

static void a_register_serves_one_queue_pair(void)
{
	struct world *w = world_begin(&(struct world_options){.uar = true});
	struct bl_snic_qp_attr attr = world_query(&w->a).attr;
	struct bl_snic_qp *qp = NULL;

	check_eq(bl_snic_qp_create(w->a.pd, &attr, &qp), -EINVAL);
	attr.no_dbrec = false;
	check_eq(bl_snic_qp_create(w->a.pd, &attr, &qp), 0);
	check(bl_snic_qp_num(qp) != bl_snic_qp_num(w->a.qp));
	check_eq(bl_snic_qp_destroy(qp), 0);
	world_end(w);
}

static void queues_of_no_size_are_allowed(void)
{
	struct world *w = world_begin(NULL);
	struct bl_snic_qp_attr attr = {.type = BL_SNIC_RC};
	struct bl_snic_qp *qp;

	check_eq(bl_snic_qp_create(w->a.pd, &attr, &qp), 0);
	check_eq(bl_snic_qp_modify(qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_ERR}), 0);
	world_run(w);
	check_eq(bl_snic_qp_destroy(qp), 0);
	world_end(w);
}

/* No receive ring at all, and there are no shared ones: nobody is ever ready. */
static void without_a_receive_ring_nothing_is_received(void)
{
	struct world *w = world_begin(NULL);
	struct bl_snic_qp_attr attr = world_query(&w->b).attr;

	check_eq(bl_snic_qp_destroy(w->b.qp), 0);
	attr.rq_nr = 0;
	attr.recv_cq = NULL;
	check_eq(bl_snic_qp_create(w->b.pd, &attr, &w->b.qp), 0);
	check_eq(bl_snic_qp_modify(w->a.qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_RST}), 0);
	world_connect(w);
	post_write(&w->a, &w->b, 0, 0, 8);
	post_send(&w->a, 0, 8);
	world_wait(w, 100 * WORLD_MS);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x16, 1);
	world_end(w);
}

static void parents_outlive_their_children(void)
{
	struct world *w = world_begin(&(struct world_options){.uar = true});

	check_eq(bl_snic_pd_destroy(w->a.pd), -EBUSY);
	check_eq(bl_snic_cq_destroy(w->a.send.cq), -EBUSY);
	check_eq(bl_snic_cq_destroy(w->a.recv.cq), -EBUSY);
	check_eq(bl_snic_uar_destroy(w->a.uar), -EBUSY);
	world_end(w);
}

static void closing_frees_what_is_left(void)
{
	struct world *w = world_begin(NULL);

	post_write(&w->a, &w->b, 0, 0, 50000);
	check(bl_snic_progress(w->a.nic) > 0);
	w->a.qp = NULL;
	w->a.mr = NULL;
	w->a.send.cq = w->a.recv.cq = NULL;
	w->a.uar = NULL;
	w->a.pd = NULL;
	world_end(w);
}

static void keys_do_not_come_back(void)
{
	static uint32_t keys[5000];
	struct world *w = world_begin(NULL);
	struct bl_snic_mem mem = {.addr = w->a.mem};

	for (size_t i = 0; i < 5000; i++) {
		struct bl_snic_mr *mr;

		check_eq(bl_snic_mr_create(w->a.pd, &mem, 0, 1, 0, &mr), 0);
		keys[i] = bl_snic_mr_lkey(mr);
		check(keys[i] && keys[i] != 0x100 && keys[i] != w->a.key);
		check_eq(bl_snic_mr_destroy(mr), 0);
		for (size_t j = 0; j < i; j++)
			check(keys[j] != keys[i]);
	}
	world_end(w);
}

/* Many regions at a time, destroyed in another order: each is found by its key alone. */
static void many_keys_are_told_apart(void)
{
	static struct bl_snic_mr *mrs[3000];
	struct world *w = world_begin(NULL);
	struct bl_snic_mem mem = {.addr = w->b.mem};

	for (size_t i = 0; i < 3000; i++)
		check_eq(
			bl_snic_mr_create(w->b.pd, &mem, i * 8, 8, BL_SNIC_LOCAL_WRITE | BL_SNIC_REMOTE_WRITE, &mrs[i]),
			0);
	for (size_t i = 0; i < 3000; i += 2)
		check_eq(bl_snic_mr_destroy(mrs[i]), 0);
	for (size_t i = 1; i < 3000; i += 2) {
		struct world_wqe wqe;

		memset(w->b.mem, 0, 8);
		fill(w->a.mem, 8, (unsigned int)i);
		wqe_begin(&wqe, &w->a, 0, BL_WQE_WRITE, 0, 0);
		wqe_raddr(&wqe, i * 8, bl_snic_mr_rkey(mrs[i]));
		wqe_data(&wqe, w->a.iova, w->a.key, 8);
		wqe_post(&wqe, &w->a);
		world_run(w);
		check(is_filled(w->b.mem, 8, (unsigned int)i));
		check_eq(bl_snic_mr_destroy(mrs[i]), 0);
	}
	world_end(w);
}

static void a_region_is_checked(void)
{
	struct world *w = world_begin(NULL);
	struct bl_snic_mem mem = {.addr = NULL};
	struct bl_snic_mr *mr = NULL;

	check_eq(bl_snic_mr_create(w->a.pd, &mem, 0, 1, 0, &mr), -EINVAL);
	mem.addr = w->a.mem;
	check_eq(bl_snic_mr_create(w->a.pd, &mem, 0, 0, 0, &mr), -EINVAL);
	check_eq(bl_snic_mr_create(w->a.pd, &mem, UINT64_MAX, 2, 0, &mr), -EINVAL);
	check_eq(bl_snic_mr_create(w->a.pd, &mem, 0, 1, BL_SNIC_REMOTE_WRITE, &mr), -EINVAL);
	check_eq(bl_snic_mr_create(w->a.pd, &mem, 0, 1, BL_SNIC_REMOTE_ATOMIC, &mr), -EINVAL);
	check(!mr);
	/* relaxed ordering means nothing here */
	check_eq(bl_snic_mr_create(w->a.pd, &mem, 0, 1, 1U << 20, &mr), 0);
	check_eq(bl_snic_mr_destroy(mr), 0);
	world_end(w);
}

static int move(struct bl_snic_qp *qp, enum bl_snic_qp_state state)
{
	struct bl_snic_qp_mod mod = {.state = state, .mtu = 1024};

	return bl_snic_qp_modify(qp, &mod);
}

static void only_the_moves_of_the_table_are_made(void)
{
	struct world *w = world_begin(NULL);
	struct bl_snic_qp *qp = w->a.qp;

	check_eq(move(qp, BL_SNIC_INIT), -EINVAL);
	check_eq(move(qp, BL_SNIC_RTR), -EINVAL);
	check_eq(move(qp, BL_SNIC_ERR), 0);
	check_eq(move(qp, BL_SNIC_ERR), 0);
	check_eq(move(qp, BL_SNIC_RTS), -EINVAL);
	check_eq(move(qp, BL_SNIC_RST), 0);
	check_eq(move(qp, BL_SNIC_RTS), -EINVAL);
	check_eq(move(qp, BL_SNIC_RTR), -EINVAL);
	check_eq(move(qp, BL_SNIC_INIT), 0);
	check_eq(move(qp, BL_SNIC_INIT), 0);
	check_eq(move(qp, BL_SNIC_RTS), -EINVAL);
	check_eq(move(qp, (enum bl_snic_qp_state)9), -EINVAL);
	check_eq(world_query(&w->a).mod.state, BL_SNIC_INIT);
	world_end(w);
}

static void values_of_a_move_are_checked(void)
{
	struct world *w = world_begin(NULL);
	struct bl_snic_qp *qp = w->a.qp;
	struct bl_snic_qp_mod good = world_query(&w->a).mod, mod;

#define refused(change, err)                                                                                           \
	do {                                                                                                           \
		mod = good;                                                                                            \
		change;                                                                                                \
		check_eq(bl_snic_qp_modify(qp, &mod), err);                                                            \
	} while (0)

	check_eq(move(qp, BL_SNIC_RST), 0);
	check_eq(move(qp, BL_SNIC_INIT), 0);
	good.state = BL_SNIC_RTR;
	refused(mod.mtu = 128, -EINVAL);
	refused(mod.mtu = 1000, -EINVAL);
	refused(mod.mtu = 8192, -EINVAL);
	refused(mod.dest_qpn = 1U << 24, -EINVAL);
	refused(mod.rq_psn = 1U << 24, -EINVAL);
	refused(mod.min_rnr_timer = 32, -EINVAL);
	refused(mod.dest_gid[7] = 1, -ENOTCONN);
	check_eq(world_query(&w->a).mod.state, BL_SNIC_INIT);
	check_eq(bl_snic_qp_modify(qp, &good), 0);
	good.state = BL_SNIC_RTS;
	refused(mod.sq_psn = 1U << 24, -EINVAL);
	refused(mod.ack_timeout = 32, -EINVAL);
	refused(mod.retry_cnt = 8, -EINVAL);
	refused(mod.rnr_retry = 8, -EINVAL);
	check_eq(bl_snic_qp_modify(qp, &good), 0);
#undef refused
	world_end(w);
}

static void counters_have_names_of_their_own(void)
{
	for (int i = 0; i < BL_SNIC_NR_COUNTERS; i++) {
		check(bl_snic_counter_name((enum bl_snic_counter)i));
		for (int j = 0; j < i; j++)
			check(strcmp(bl_snic_counter_name((enum bl_snic_counter)i),
				     bl_snic_counter_name((enum bl_snic_counter)j)) != 0);
	}
	check_str(bl_snic_counter_name(BL_SNIC_NR_COUNTERS), "unknown");
}

/* In the child. Return: 0 when everything was refused. */
static int child(struct world *w)
{
	struct bl_snic_qp_info info;
	struct bl_snic_uar *uar;
	struct bl_snic_pd *pd;
	uint64_t values[BL_SNIC_NR_COUNTERS];

	if (bl_snic_progress(w->a.nic) != -EACCES || bl_snic_pd_create(w->a.nic, &pd) != -EACCES ||
	    bl_snic_uar_create(w->a.nic, &uar) != -EACCES || bl_snic_qp_query(w->a.qp, &info) != -EACCES ||
	    bl_snic_qp_destroy(w->a.qp) != -EACCES || bl_snic_mr_destroy(w->a.mr) != -EACCES)
		return 1;
	bl_snic_counters(w->a.nic, values);
	if (values[BL_SNIC_TX_PACKETS])
		return 2;
	bl_snic_kick(w->a.nic);
	bl_snic_close(w->a.nic);
	bl_snic_close(w->b.nic);
	return 0;
}

static void a_child_has_no_nic(void)
{
	for (int threads = 0; threads < 2; threads++) {
		struct world *w = world_begin(&(struct world_options){.thread = threads});
		int status;
		pid_t pid = fork();

		check(pid >= 0);
		if (!pid)
			_exit(child(w));
		check_eq(waitpid(pid, &status, 0), pid);
		check(WIFEXITED(status));
		check_eq(WEXITSTATUS(status), 0);
		check_eq(world_query(&w->a).mod.state, BL_SNIC_RTS);
		world_end(w);
	}
}

static const struct tap_test tests[] = {
	{"open_refuses_what_it_cannot_do", open_refuses_what_it_cannot_do},
	{"a_completion_queue_is_checked", a_completion_queue_is_checked},
	{"a_queue_pair_is_checked", a_queue_pair_is_checked},
	{"a_register_serves_one_queue_pair", a_register_serves_one_queue_pair},
	{"queues_of_no_size_are_allowed", queues_of_no_size_are_allowed},
	{"without_a_receive_ring_nothing_is_received", without_a_receive_ring_nothing_is_received},
	{"parents_outlive_their_children", parents_outlive_their_children},
	{"closing_frees_what_is_left", closing_frees_what_is_left},
	{"keys_do_not_come_back", keys_do_not_come_back},
	{"many_keys_are_told_apart", many_keys_are_told_apart},
	{"a_region_is_checked", a_region_is_checked},
	{"only_the_moves_of_the_table_are_made", only_the_moves_of_the_table_are_made},
	{"values_of_a_move_are_checked", values_of_a_move_are_checked},
	{"counters_have_names_of_their_own", counters_have_names_of_their_own},
	{"a_child_has_no_nic", a_child_has_no_nic},
};

TAP_MAIN(tests)
