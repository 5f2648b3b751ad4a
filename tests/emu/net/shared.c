// SPDX-License-Identifier: MIT
/* A queue that several queue pairs of a software NIC receive from, made and filled through doca_verbs.h. */
#include <endian.h>
#include <unistd.h>

#include "barlane.h"
#include "pair.h"

#define WRITE_IMM 0x09
#define SEND	  0x0a
#define REQ	  0
#define RESP_IMM  1
#define RESP	  2
#define REQ_ERR	  13
#define RESP_ERR  14

#define PAIRS	3
#define SLOT	2048U
#define GPU_MEM (2UL << 20)

/**
 * struct shared - the queue of side 1, and pairs that use it
 * @gpu: it lies in memory of the GPU, at @mem
 * @tx, @rx: all rx have one completion queue, that of rx[0]
 */
struct shared {
	struct side sides[2];
	struct doca_verbs_srq *srq;
	struct doca_verbs_umem *umem;
	CUdeviceptr mem;
	bool linked, gpu;
	char *buf;
	uint32_t nr, bytes;
	uint32_t *dbr;
	uint32_t posted;
	uint16_t head, tail;
	struct side tx[PAIRS], rx[PAIRS];
};

static void make_queue(struct shared *s)
{
	struct doca_verbs_srq_init_attr *attr;

	check_eq(doca_verbs_srq_init_attr_create(&attr), DOCA_SUCCESS);
	doca_verbs_srq_init_attr_set_pd(attr, s->sides[1].pd);
	doca_verbs_srq_init_attr_set_srq_wr(attr, s->linked ? 7 : 8);
	doca_verbs_srq_init_attr_set_receive_max_sges(attr, 1);
	doca_verbs_srq_init_attr_set_type(attr, s->linked ? DOCA_VERBS_SRQ_TYPE_LINKED_LIST :
							    DOCA_VERBS_SRQ_TYPE_CONTIGUOUS);
	if (s->gpu) {
		s->mem = world_alloc(GPU_MEM);
		check_eq(doca_verbs_umem_create(s->sides[1].context, (void *)(uintptr_t)s->mem, 4096,
						IBV_ACCESS_LOCAL_WRITE, -1, 0, &s->umem),
			 DOCA_SUCCESS);
		doca_verbs_srq_init_attr_set_external_umem(attr, s->umem, 128);
	}
	check_eq(doca_verbs_srq_create(s->sides[1].context, attr, &s->srq), DOCA_SUCCESS);
	doca_verbs_srq_init_attr_destroy(attr);
	doca_verbs_srq_get_wq(s->srq, (void **)&s->buf, &s->nr, &s->bytes);
	s->dbr = doca_verbs_srq_get_dbr_addr(s->srq);
	check_eq(s->nr, 8);
	check_eq(s->bytes, s->linked ? 32 : 16);
	s->tail = (uint16_t)(s->nr - 1);
}

static void make_qp(struct side *side, struct doca_verbs_srq *srq)
{
	struct doca_verbs_qp_init_attr *init;

	check_eq(doca_verbs_qp_init_attr_create(&init), DOCA_SUCCESS);
	doca_verbs_qp_init_attr_set_pd(init, side->pd);
	doca_verbs_qp_init_attr_set_qp_type(init, DOCA_VERBS_QP_TYPE_RC);
	doca_verbs_qp_init_attr_set_sq_wr(init, PAIR_DEPTH);
	doca_verbs_qp_init_attr_set_send_max_sges(init, 1);
	doca_verbs_qp_init_attr_set_send_cq(init, side->cq);
	doca_verbs_qp_init_attr_set_receive_cq(init, side->cq);
	doca_verbs_qp_init_attr_set_srq(init, srq);
	check_eq(doca_verbs_qp_create(side->context, init, &side->qp), DOCA_SUCCESS);
	doca_verbs_qp_init_attr_destroy(init);
	doca_verbs_qp_get_wq(side->qp, (void **)&side->sq, NULL, (void **)&side->rq, NULL, NULL);
	side->dbr = doca_verbs_qp_get_dbr_addr(side->qp);
	side->db = doca_verbs_qp_get_uar_addr(side->qp);
	side->pi = 0;
	side_to_init(side, DOCA_VERBS_QP_TYPE_RC);
}

static struct doca_verbs_cq *make_cq(struct side *side)
{
	struct doca_verbs_cq_attr *attr;
	struct doca_verbs_cq *cq;

	check_eq(doca_verbs_cq_attr_create(&attr), DOCA_SUCCESS);
	doca_verbs_cq_attr_set_cq_size(attr, PAIR_DEPTH);
	doca_verbs_cq_attr_set_cq_overrun(attr, DOCA_VERBS_CQ_ENABLE_OVERRUN);
	check_eq(doca_verbs_cq_create(side->context, attr, &cq), DOCA_SUCCESS);
	doca_verbs_cq_attr_destroy(attr);
	doca_verbs_cq_get_wq(cq, (void **)&side->cqe, NULL, NULL);
	side->ci = 0;
	return cq;
}

static void begin(struct shared *s, const struct pair_options *options)
{
	pair_make(s->sides, options);
	make_queue(s);
	for (int i = 0; i < PAIRS; i++) {
		s->tx[i] = s->sides[0];
		s->tx[i].cq = make_cq(&s->tx[i]);
		s->rx[i] = i ? s->rx[0] : s->sides[1];
		if (!i)
			s->rx[0].cq = make_cq(&s->rx[0]);
		make_qp(&s->tx[i], NULL);
		make_qp(&s->rx[i], s->srq);
	}
	for (int i = 0; i < PAIRS; i++) {
		side_to_rts(&s->tx[i], &s->rx[i], DOCA_VERBS_QP_TYPE_RC);
		side_to_rts(&s->rx[i], &s->tx[i], DOCA_VERBS_QP_TYPE_RC);
	}
}

static void end(struct shared *s)
{
	check_eq(doca_verbs_srq_destroy(s->srq), DOCA_ERROR_IN_USE);
	for (int i = 0; i < PAIRS; i++) {
		check_eq(doca_verbs_qp_destroy(s->tx[i].qp), DOCA_SUCCESS);
		check_eq(doca_verbs_cq_destroy(s->tx[i].cq), DOCA_SUCCESS);
		check_eq(doca_verbs_qp_destroy(s->rx[i].qp), DOCA_SUCCESS);
	}
	check_eq(doca_verbs_cq_destroy(s->rx[0].cq), DOCA_SUCCESS);
	check_eq(doca_verbs_srq_destroy(s->srq), DOCA_SUCCESS);
	if (s->gpu) {
		check_eq(doca_verbs_umem_destroy(s->umem), DOCA_SUCCESS);
		world_free(s->mem);
	}
	pair_drop(s->sides);
}

static void put(struct shared *s, char *at, const void *src, size_t len)
{
	if (s->gpu)
		check_eq(world.cuda->cuMemcpyHtoD((uintptr_t)at, src, len), CUDA_SUCCESS);
	else
		memcpy(at, src, len);
}

static uint16_t next_of(const struct shared *s, uint16_t index)
{
	const unsigned char *at = (unsigned char *)s->buf + (size_t)index * s->bytes;

	return (uint16_t)(at[2] << 8 | at[3]);
}

static uint16_t post(struct shared *s, size_t off, uint32_t len)
{
	uint16_t index = s->linked ? s->head : (uint16_t)s->posted;
	uint64_t addr = htobe64(side_addr(&s->sides[1], off));
	uint32_t seg[4] = { htobe32(len), htobe32(s->sides[1].mr->lkey) }, record;

	memcpy(seg + 2, &addr, sizeof(addr));
	if (s->linked)
		s->head = next_of(s, index);
	put(s, s->buf + (size_t)(index & (s->nr - 1)) * s->bytes + (s->linked ? 16 : 0), seg, sizeof(seg));
	record = htobe32(++s->posted & 0xffff);
	/* the segment before the count that tells of it; a copy to the GPU is done when it returns */
	if (s->gpu)
		put(s, (char *)s->dbr, &record, sizeof(record));
	else
		__atomic_store_n(s->dbr, record, __ATOMIC_RELEASE);
	return index;
}

static void give(struct shared *s, uint16_t index)
{
	char *at = s->buf + (size_t)s->tail * s->bytes;

	if (!s->linked)
		return;
	at[2] = (char)(index >> 8);
	at[3] = (char)index;
	s->tail = index;
}

/* The next completion of a receiver: who, which WQE; the opcode is returned. */
static unsigned int take(struct shared *s, int *qp_p, uint16_t *index_p, unsigned int *syndrome_p)
{
	struct side *cq = &s->rx[0];
	unsigned int opcode = side_wait(cq, syndrome_p);
	const unsigned char *cqe = (unsigned char *)cq->cqe + ((cq->ci - 1) & (PAIR_DEPTH - 1)) * 64UL;
	uint32_t word, qpn;

	memcpy(&word, cqe + 32, sizeof(word));
	check_eq(be32toh(word), doca_verbs_srq_get_srqn(s->srq));
	memcpy(&word, cqe + 56, sizeof(word));
	qpn = be32toh(word) & 0xffffff;
	for (*qp_p = 0; *qp_p < PAIRS && doca_verbs_qp_get_qpn(s->rx[*qp_p].qp) != qpn;)
		++*qp_p;
	check(*qp_p < PAIRS);
	*index_p = (uint16_t)(cqe[60] << 8 | cqe[61]);
	return opcode;
}

/* Several rounds of the queue, by all pairs in turn. */
static void move_all(struct shared *s, const struct pair_options *options)
{
	uint16_t posted, index;
	int qp;

	begin(s, options);
	for (unsigned int i = 0; i < 5 * 8 + 3; i++) {
		struct side *tx = &s->tx[i % PAIRS];
		size_t to = i % 8 * SLOT;

		side_fill(tx, 0, 100 + i, (unsigned char)i);
		posted = post(s, to, SLOT);
		side_post(tx, SEND, 0, 100 + i, 0, 0);
		check_eq(take(s, &qp, &index, NULL), RESP);
		check_eq(qp, i % PAIRS);
		check_eq(index, posted);
		check_eq(side_wait(tx, NULL), REQ);
		check(side_is_filled(&s->sides[1], to, 100 + i, (unsigned char)i));
		give(s, index);
	}
	end(s);
}

static void a_linked_list_of_the_library(void)
{
	struct shared s = { .linked = true };

	move_all(&s, &(struct pair_options){ .type = DOCA_VERBS_QP_TYPE_RC });
}

static void a_contiguous_one_of_the_library(void)
{
	struct shared s = { .linked = false };

	move_all(&s, &(struct pair_options){ .type = DOCA_VERBS_QP_TYPE_RC });
}

static void memory_of_a_gpu_for_queue_and_data(void)
{
	struct shared s = { .gpu = true };

	move_all(&s, &(struct pair_options){ .type = DOCA_VERBS_QP_TYPE_RC, .gpu_data = true });
}

static void within_one_device(void)
{
	struct shared s = { .linked = true };

	move_all(&s, &(struct pair_options){ .names = { "soft1", "soft1" }, .type = DOCA_VERBS_QP_TYPE_RC });
}

static void a_bad_list_ends_one_and_rnr_none(void)
{
	struct shared s = { .linked = true };
	unsigned int syndrome = 0;
	uint16_t index;
	int qp;

	begin(&s, &(struct pair_options){ .type = DOCA_VERBS_QP_TYPE_RC });
	/* beyond the region */
	post(&s, PAIR_BYTES - 50, 100);
	side_post(&s.tx[1], SEND, 0, 100, 0, 0);
	check_eq(take(&s, &qp, &index, &syndrome), RESP_ERR);
	check_eq(qp, 1);
	check_eq(syndrome, 0x04);
	check_eq(side_wait(&s.tx[1], NULL), REQ_ERR);
	give(&s, index);
	/* nothing is posted: they wait, and are served in the end */
	side_fill(&s.tx[0], 0, 64, 9);
	side_post(&s.tx[0], SEND, 0, 64, 0, 0);
	side_post(&s.tx[2], WRITE_IMM, 0, 64, side_addr(&s.sides[1], 8192), s.sides[1].mr->rkey);
	usleep(20000);
	post(&s, 0, 64);
	post(&s, 4096, 64);
	for (int i = 0; i < 2; i++) {
		unsigned int opcode = take(&s, &qp, &index, NULL);

		check_eq(opcode, qp ? RESP_IMM : RESP);
		check(side_is_filled(&s.sides[1], qp ? 8192 : index == 1 ? 0 : 4096, 64, 9));
		check_eq(side_wait(&s.tx[qp], NULL), REQ);
	}
	end(&s);
}

static void device_attributes_tell_what_there_is(void)
{
	struct ibv_context *context = bl_net_open_device("soft0");
	struct doca_verbs_srq_init_attr *attr;
	struct doca_verbs_device_attr *device;
	struct doca_verbs_srq *srq = NULL;
	struct ibv_pd *pd;

	check(context);
	pd = bl_net_alloc_pd(context);
	check_eq(doca_verbs_query_device(context, &device), DOCA_SUCCESS);
	check_eq(doca_verbs_srq_init_attr_create(&attr), DOCA_SUCCESS);
	doca_verbs_srq_init_attr_set_pd(attr, pd);
	check(doca_verbs_device_attr_get_max_srq(device) > 0);
	/* the largest there is, of both types; and no more */
	doca_verbs_srq_init_attr_set_srq_wr(attr, doca_verbs_device_attr_get_max_srq_wr(device));
	doca_verbs_srq_init_attr_set_receive_max_sges(attr, doca_verbs_device_attr_get_max_srq_sge(device));
	for (int type = 0; type < 2; type++) {
		doca_verbs_srq_init_attr_set_type(attr, (enum doca_verbs_srq_type)type);
		check_eq(doca_verbs_srq_create(context, attr, &srq), DOCA_SUCCESS);
		check_eq(doca_verbs_srq_destroy(srq), DOCA_SUCCESS);
	}
	doca_verbs_srq_init_attr_set_srq_wr(attr, doca_verbs_device_attr_get_max_srq_wr(device) + 1);
	check_eq(doca_verbs_srq_create(context, attr, &srq), DOCA_ERROR_INVALID_VALUE);
	doca_verbs_srq_init_attr_destroy(attr);
	doca_verbs_device_attr_free(device);
	check_eq(bl_net_dealloc_pd(pd), 0);
	check_eq(bl_net_close_device(context), 0);
}

static const struct tap_test tests[] = {
	{ "shared_a_linked_list_of_the_library", a_linked_list_of_the_library },
	{ "shared_a_contiguous_one_of_the_library", a_contiguous_one_of_the_library },
	{ "shared_memory_of_a_gpu_for_queue_and_data", memory_of_a_gpu_for_queue_and_data },
	{ "shared_within_one_device", within_one_device },
	{ "shared_a_bad_list_ends_one_and_rnr_none", a_bad_list_ends_one_and_rnr_none },
	{ "shared_device_attributes_tell_what_there_is", device_attributes_tell_what_there_is },
};

TAP_MAIN(tests)
