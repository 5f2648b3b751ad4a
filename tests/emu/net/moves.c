// SPDX-License-Identifier: MIT
#include "moves.h"

#include <unistd.h>

void write_and_check(struct side *from, struct side *to, uint32_t len, unsigned char seed)
{
	side_fill(from, 0, len, seed);
	side_fill(to, 4096, len, (unsigned char)(seed + 1));
	side_post(from, WRITE, 0, len, side_addr(to, 4096), to->mr->rkey);
	check_eq(side_wait(from, NULL), REQ);
	check(side_is_filled(to, 4096, len, seed));
}

void write_rounds(struct side sides[2])
{
	static const uint32_t lens[] = { 1, 64, 255, 256, 4095, 4096, 4097, 32768 };

	for (unsigned int i = 0; i < 2 * PAIR_DEPTH + 3; i++)
		write_and_check(&sides[i & 1], &sides[!(i & 1)], lens[i % 8], (unsigned char)(i * 3));
}

void read_and_send(struct side sides[2], uint32_t type, bool (*posted)(const struct side *side))
{
	side_fill(&sides[1], 8192, 5000, 77);
	if (type == DOCA_VERBS_QP_TYPE_RC) {
		side_post(&sides[0], READ, 100, 5000, side_addr(&sides[1], 8192), sides[1].mr->rkey);
		check_eq(side_wait(&sides[0], NULL), REQ);
		check(side_is_filled(&sides[0], 100, 5000, 77));
	}
	side_post_recv(&sides[0], 20000, 6000);
	for (int i = 0; i < 10000 && posted && !posted(&sides[0]); i++)
		usleep(1000);
	side_post(&sides[1], SEND, 8192, 5000, 0, 0);
	check_eq(side_wait(&sides[1], NULL), REQ);
	check_eq(side_wait(&sides[0], NULL), RESP);
	/* the completion comes behind the data */
	check(side_is_filled(&sides[0], 20000, 5000, 77));
}

void reset_both(struct side sides[2], uint32_t type)
{
	struct doca_verbs_qp_attr *attr;

	check_eq(doca_verbs_qp_attr_create(&attr), DOCA_SUCCESS);
	doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_RST);
	for (int i = 0; i < 2; i++) {
		check_eq(doca_verbs_qp_modify(sides[i].qp, attr, DOCA_VERBS_QP_ATTR_NEXT_STATE), DOCA_SUCCESS);
		sides[i].dbr[0] = sides[i].dbr[1] = 0;
		sides[i].pi = sides[i].rq_pi = 0;
	}
	for (int i = 0; i < 2; i++)
		side_to_init(&sides[i], type);
	for (int i = 0; i < 2; i++)
		side_to_rts(&sides[i], &sides[!i], type);
	doca_verbs_qp_attr_destroy(attr);
}

void no_shared_receive_queues(const struct side *side, const char *why)
{
	struct doca_verbs_srq_init_attr *attr;
	struct doca_verbs_device_attr *device;
	struct doca_verbs_srq *srq = NULL;

	check_eq(doca_verbs_query_device(side->context, &device), DOCA_SUCCESS);
	check_eq(doca_verbs_device_attr_get_max_srq(device), 0);
	check_eq(doca_verbs_device_attr_get_max_srq_wr(device), 0);
	check_eq(doca_verbs_device_attr_get_max_srq_sge(device), 0);
	doca_verbs_device_attr_free(device);
	check_eq(doca_verbs_srq_init_attr_create(&attr), DOCA_SUCCESS);
	doca_verbs_srq_init_attr_set_pd(attr, side->pd);
	doca_verbs_srq_init_attr_set_srq_wr(attr, 16);
	check_eq(doca_verbs_srq_create(side->context, attr, &srq), DOCA_ERROR_NOT_SUPPORTED);
	check_has(bl_last_error(NULL), why);
	check(!srq);
	doca_verbs_srq_init_attr_destroy(attr);
}
