// SPDX-License-Identifier: MIT
/* Two queue pairs on software NICs, made by doca_verbs.h; the data and the queues on the host or on the GPU. */
#include <sys/wait.h>
#include <unistd.h>

#include "gpunetio/host/doca_verbs_bridge.h"
#include "net/verbs/qp.h"
#include "moves.h"

static void write_all(const struct pair_options *options)
{
	struct side sides[2];

	pair_make(sides, options);
	write_rounds(sides);
	pair_drop(sides);
}

static void rc_writes_between_hosts(void)
{
	write_all(&(struct pair_options){ .type = DOCA_VERBS_QP_TYPE_RC });
}

static void rc_writes_between_gpus_with_queues_on_the_gpu(void)
{
	write_all(&(struct pair_options){ .type = DOCA_VERBS_QP_TYPE_RC, .gpu = true, .gpu_data = true });
}

static void rc_writes_without_doorbell_records(void)
{
	write_all(&(struct pair_options){ .type = DOCA_VERBS_QP_TYPE_RC, .no_dbrec = true });
}

static void rc_writes_within_one_device(void)
{
	write_all(&(struct pair_options){ .names = { "soft1", "soft1" }, .type = DOCA_VERBS_QP_TYPE_RC });
}

static void rc_reads_and_sends(void)
{
	struct side sides[2];

	pair_make(sides, &(struct pair_options){ .type = DOCA_VERBS_QP_TYPE_RC, .gpu_data = true });
	read_and_send(sides, DOCA_VERBS_QP_TYPE_RC, NULL);
	pair_drop(sides);
}

static void uc_writes_and_sends(void)
{
	struct side sides[2];

	pair_make(sides, &(struct pair_options){ .type = DOCA_VERBS_QP_TYPE_UC, .gpu = true, .gpu_data = true });
	side_fill(&sides[0], 0, 6000, 9);
	side_post(&sides[0], WRITE, 0, 6000, side_addr(&sides[1], 4096), sides[1].mr->rkey);
	check_eq(side_wait(&sides[0], NULL), REQ);
	check(side_gets_filled(&sides[1], 4096, 6000, 9));
	read_and_send(sides, DOCA_VERBS_QP_TYPE_UC, NULL);
	pair_drop(sides);
}

static void a_wrong_key_is_an_error_with_its_cause(void)
{
	struct doca_verbs_qp_init_attr *init;
	struct doca_verbs_qp_attr *attr;
	struct bl_nic_qp_info info;
	unsigned int syndrome = 0;
	struct side sides[2];

	pair_make(sides, &(struct pair_options){ .type = DOCA_VERBS_QP_TYPE_RC });
	side_post(&sides[0], WRITE, 0, 64, side_addr(&sides[1], 0), sides[1].mr->rkey ^ 0x80);
	check_eq(side_wait(&sides[0], &syndrome), REQ_ERR);
	check_eq(syndrome, 0x13);
	check_eq(bl_qp_info(sides[0].qp, &info), 0);
	check_eq(info.state, DOCA_VERBS_QP_STATE_ERR);
	check_eq(info.syndrome, 0x13);
	check(info.text[0]);
	check_eq(doca_verbs_qp_attr_create(&attr), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_init_attr_create(&init), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_query(sides[0].qp, attr, init), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_attr_get_current_state(attr), DOCA_VERBS_QP_STATE_ERR);
	/* through RST both work again; what the other has flushed is left in its queue */
	reset_both(sides, DOCA_VERBS_QP_TYPE_RC);
	write_and_check(&sides[0], &sides[1], 300, 5);
	doca_verbs_qp_init_attr_destroy(init);
	doca_verbs_qp_attr_destroy(attr);
	pair_drop(sides);
}

/* The move to RTR takes access again, and RTS may change it. */
/* One object with an event of its own on either side, and no more. */
static void a_failure_is_an_event_of_both_ends(void)
{
	struct doca_verbs_async_event event;
	struct side sides[2];

	pair_make(sides, &(struct pair_options){ .type = DOCA_VERBS_QP_TYPE_RC, .names = { "soft0", "soft0" } });
	side_post(&sides[0], WRITE, 0, 64, side_addr(&sides[1], 0), sides[1].mr->rkey ^ 0x80);
	check_eq(side_wait(&sides[0], NULL), REQ_ERR);
	for (int i = 0; i < 2; i++) {
		check_eq(bl_net_get_async_event(sides[i].context, 10000, &event), 0);
		check_eq(event.event_type, i ? DOCA_VERBS_EVENT_QP_ACCESS_ERR : DOCA_VERBS_EVENT_QP_FATAL);
		check(event.element.qp == sides[i].qp);
		check_eq(doca_verbs_ack_async_event(&event), DOCA_SUCCESS);
		check_eq(bl_net_get_async_event(sides[i].context, 0, &event), EAGAIN);
	}
	pair_drop(sides);
}

static void access_can_be_taken_back(void)
{
	struct doca_verbs_qp_attr *attr;
	unsigned int syndrome = 0;
	struct side sides[2];

	pair_make(sides, &(struct pair_options){ .type = DOCA_VERBS_QP_TYPE_RC });
	write_and_check(&sides[0], &sides[1], 64, 5);
	check_eq(doca_verbs_qp_attr_create(&attr), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_modify(sides[1].qp, attr, DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_WRITE), DOCA_SUCCESS);
	side_post(&sides[0], WRITE, 0, 64, side_addr(&sides[1], 0), sides[1].mr->rkey);
	check_eq(side_wait(&sides[0], &syndrome), REQ_ERR);
	check_eq(syndrome, 0x13);
	doca_verbs_qp_attr_destroy(attr);
	pair_drop(sides);
}

static void a_peer_that_is_not_there_is_not_connected(void)
{
	struct doca_verbs_qp_attr *attr;
	struct doca_verbs_ah_attr *ah;
	const struct doca_verbs_gid nobody = { { 0xfd, 1, 2, 3 } };
	struct side sides[2];

	pair_make(sides, &(struct pair_options){ .type = DOCA_VERBS_QP_TYPE_UC });
	check_eq(doca_verbs_qp_attr_create(&attr), DOCA_SUCCESS);
	check_eq(doca_verbs_ah_attr_create(sides[0].context, &ah), DOCA_SUCCESS);
	doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_RST);
	check_eq(doca_verbs_qp_modify(sides[0].qp, attr, DOCA_VERBS_QP_ATTR_NEXT_STATE), DOCA_SUCCESS);
	side_to_init(&sides[0], DOCA_VERBS_QP_TYPE_UC);
	doca_verbs_ah_attr_set_gid(ah, nobody);
	doca_verbs_qp_attr_set_ah_attr(attr, ah);
	doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_RTR);
	check_eq(doca_verbs_qp_modify(sides[0].qp, attr,
				      DOCA_VERBS_QP_ATTR_NEXT_STATE | DOCA_VERBS_QP_ATTR_RQ_PSN |
					      DOCA_VERBS_QP_ATTR_DEST_QP_NUM | DOCA_VERBS_QP_ATTR_PATH_MTU |
					      DOCA_VERBS_QP_ATTR_AH_ATTR),
		 DOCA_ERROR_NOT_CONNECTED);
	/* a kind of address that it has not */
	doca_verbs_ah_attr_set_addr_type(ah, DOCA_VERBS_ADDR_TYPE_IB_NO_GRH);
	check_eq(doca_verbs_qp_modify(sides[0].qp, attr,
				      DOCA_VERBS_QP_ATTR_NEXT_STATE | DOCA_VERBS_QP_ATTR_RQ_PSN |
					      DOCA_VERBS_QP_ATTR_DEST_QP_NUM | DOCA_VERBS_QP_ATTR_PATH_MTU |
					      DOCA_VERBS_QP_ATTR_AH_ATTR),
		 DOCA_ERROR_NOT_SUPPORTED);
	check_has(bl_last_error(NULL), "no LIDs");
	doca_verbs_ah_attr_destroy(ah);
	doca_verbs_qp_attr_destroy(attr);
	pair_drop(sides);
}

/* ThreadSanitizer ends a child of a program with threads that starts a thread, as a NIC does. */
static int open_in_child(void)
{
#if defined(__SANITIZE_THREAD__)
	return 0;
#else
	struct ibv_context *own = bl_net_open_device("soft0");
	struct ibv_pd *pd = own ? bl_net_alloc_pd(own) : NULL;
	union ibv_gid gid;

	return !pd || bl_net_query_gid(own, 1, 0, &gid) || bl_net_dealloc_pd(pd) || bl_net_close_device(own);
#endif
}

/* In the child: the parent's objects are refused, and it has devices of its own. */
static int act_as_child(struct side sides[2])
{
	struct doca_verbs_qp_attr *attr;
	int mask = DOCA_VERBS_QP_ATTR_NEXT_STATE;

	if (doca_verbs_qp_attr_create(&attr))
		return 1;
	doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_ERR);
	if (doca_verbs_qp_modify(sides[0].qp, attr, mask) != DOCA_ERROR_NOT_PERMITTED)
		return 2;
	doca_verbs_qp_attr_destroy(attr);
	if (open_in_child())
		return 3;
	return bl_net_close_device(sides[0].context) || bl_net_close_device(sides[1].context) ? 5 : 0;
}

static void a_child_leaves_the_parent_s_queues_alone(void)
{
	struct side sides[2];
	int status = 0;
	pid_t pid;

	pair_make(sides, &(struct pair_options){ .type = DOCA_VERBS_QP_TYPE_RC });
	write_and_check(&sides[0], &sides[1], 64, 5);
	pid = fork();
	if (!pid)
		_exit(act_as_child(sides));
	check(pid > 0 && waitpid(pid, &status, 0) == pid);
	check(WIFEXITED(status));
	check_eq(WEXITSTATUS(status), 0);
	write_and_check(&sides[1], &sides[0], 5000, 6);
	pair_drop(sides);
}

static const struct tap_test tests[] = {
	{ "rc_writes_between_hosts", rc_writes_between_hosts },
	{ "rc_writes_between_gpus_with_queues_on_the_gpu", rc_writes_between_gpus_with_queues_on_the_gpu },
	{ "rc_writes_without_doorbell_records", rc_writes_without_doorbell_records },
	{ "rc_writes_within_one_device", rc_writes_within_one_device },
	{ "rc_reads_and_sends", rc_reads_and_sends },
	{ "uc_writes_and_sends", uc_writes_and_sends },
	{ "a_wrong_key_is_an_error_with_its_cause", a_wrong_key_is_an_error_with_its_cause },
	{ "a_failure_is_an_event_of_both_ends", a_failure_is_an_event_of_both_ends },
	{ "access_can_be_taken_back", access_can_be_taken_back },
	{ "a_peer_that_is_not_there_is_not_connected", a_peer_that_is_not_there_is_not_connected },
	{ "a_child_leaves_the_parent_s_queues_alone", a_child_leaves_the_parent_s_queues_alone },
};

TAP_MAIN(tests)
