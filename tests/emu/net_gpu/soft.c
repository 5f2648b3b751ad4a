// SPDX-License-Identifier: MIT
/*
 * Queue pairs in one call on the software NIC: requests in the rings as a kernel would write them, completions read
 * where a kernel would read them, bytes in host and GPU memory.
 */
#include <endian.h>
#include <stdint.h>
#include <unistd.h>

#include "soft_bed.h"
#include "util/tsan.h"

static void connect_both(struct doca_gpu_verbs_qp_hl *a, struct doca_gpu_verbs_qp_hl *b, int uc)
{
	struct bl_net_peer at_a, at_b;

	check_eq(bl_net_qp_local(nic, a->qp, 1, -1, &at_a), 0);
	check_eq(bl_net_qp_local(nic, b->qp, 1, -1, &at_b), 0);
	check(at_a.qpn != at_b.qpn && at_a.mtu);
	at_a.psn = 0xfffffe; /* wraps with the third packet */
	check_eq(bl_net_qp_connect(nic, a->qp, uc, &at_a, &at_b), 0);
	check_eq(bl_net_qp_connect(nic, b->qp, uc, &at_b, &at_a), 0);
}

struct wqe {
	uint32_t words[16];
};

/* A signalled RDMA write of one piece. */
static struct wqe write_wqe(const struct doca_gpu_verbs_qp_hl *qp, uint64_t index, uint64_t from, uint32_t lkey,
			    uint64_t to, uint32_t rkey, uint32_t len)
{
	struct wqe wqe = { 0 };

	wqe.words[0] = htobe32((uint32_t)(index & 0xffff) << 8 | DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE);
	wqe.words[1] = htobe32(qp->qp_gverbs->qp_cpu->sq_num << 8 | 3);
	wqe.words[2] = htobe32(DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE);
	wqe.words[4] = htobe32((uint32_t)(to >> 32));
	wqe.words[5] = htobe32((uint32_t)to);
	wqe.words[6] = htobe32(rkey);
	wqe.words[8] = htobe32(len);
	wqe.words[9] = htobe32(lkey);
	wqe.words[10] = htobe32((uint32_t)(from >> 32));
	wqe.words[11] = htobe32((uint32_t)from);
	return wqe;
}

static void put(struct doca_gpu_verbs_qp_hl *qp, uint64_t index, const struct wqe *wqe)
{
	char *slots = bl_gpu_block_cpu(gpu, (uintptr_t)qp->qp_gverbs->qp_cpu->sq_wqe_daddr);

	check(slots);
	memcpy(slots + (index & qp->qp_gverbs->qp_cpu->sq_wqe_mask) * 64, wqe, sizeof(*wqe));
}

/* The word, or the record. */
static void ring(struct doca_gpu_verbs_qp_hl *qp, uint64_t count)
{
	if (qp->qp_gverbs->cpu_db)
		__atomic_store_n(qp->qp_gverbs->cpu_db, count, __ATOMIC_RELEASE);
	else
		__atomic_store_n(qp->qp_gverbs->sq_dbrec, htobe32((uint32_t)count & 0xffff), __ATOMIC_RELEASE);
}

/* As a kernel does: the request into the ring, then the doorbell. */
static void post(struct doca_gpu_verbs_qp_hl *qp, uint64_t index, const struct wqe *wqe)
{
	put(qp, index, wqe);
	ring(qp, index + 1);
}

/* As a kernel does by submit_express(), which then rings; here nobody does. */
static void give(struct doca_gpu_verbs_qp_hl *qp, uint64_t index, const struct wqe *wqe)
{
	uint64_t *line = bl_gpu_block_cpu(gpu, (uintptr_t)qp->qp_gverbs->qp_cpu->sq_express);

	put(qp, index, wqe);
	for (unsigned int i = 0; i < BL_GPUNETIO_EXPRESS_WORDS; i++)
		__atomic_store_n(&line[i], (index + 1) << 32 | wqe->words[i], __ATOMIC_RELEASE);
}

/* What a NIC wrote, and what was read of a completion by another mapping says that it is there: ThreadSanitizer cannot see that. */
static bool same(const void *one, const void *other, size_t len)
{
	bool ret;

	BL_TSAN_READS_UNSEEN(true);
	ret = !memcmp(one, other, len);
	BL_TSAN_READS_SEEN(true);
	return ret;
}

/* Wait for the completion of an index; its opcode, -1: it does not come. */
static int completion(const struct doca_gpu_dev_verbs_cq *cq, uint64_t index, unsigned char cqe[64])
{
	uint64_t position = index + cq->cqe_rsvd;
	uint64_t va = (uintptr_t)cq->cqe_daddr + (position & cq->cqe_mask) * 64;

	for (int i = 0; i < 20000; i++) {
		check_eq(bl_gpu_read(gpu, cqe, va, 64), 0);
		if (cqe[63] >> 4 != 15 && (cqe[63] & 1) == !!(position & cq->cqe_num))
			return cqe[63] >> 4;
		usleep(500);
	}
	return -1;
}

/* Three rounds of the ring of a queue pair whose producer is told by @handler. @whole: most requests are given, without doorbell. */
static void write_with(enum doca_gpu_dev_verbs_nic_handler handler, enum bl_net_ringer ringer, bool whole)
{
	struct bl_net_qp_path path = { .sz = sizeof(path) };
	struct doca_gpu_verbs_qp_hl *a, *b;
	unsigned char cqe[64], host[8192], seen[8192];
	struct ibv_mr *from, *to;
	void *target;

	soft_make();
	a = soft_qp(handler, 0, 0);
	b = soft_qp(handler, 0, 0);
	check_eq(bl_net_qp_path(a->qp_gverbs, &path), 0);
	check_eq(path.ringer, ringer);
	check_eq(path.sq_on_host, 1);
	check_eq(path.cq_on_host, 0);
	connect_both(a, b, 0);
	check_eq(doca_gpu_mem_alloc(gpu, sizeof(host), 0, DOCA_GPU_MEM_TYPE_GPU, &target, NULL), DOCA_SUCCESS);
	from = bl_net_reg_mr(pd, host, sizeof(host), ACCESS);
	to = bl_net_reg_mr(pd, target, sizeof(host), ACCESS);
	check(from && to);
	for (uint64_t i = 0; i < 48; i++) {
		struct wqe wqe = write_wqe(a, i, (uintptr_t)host, from->lkey, (uintptr_t)target, to->rkey, sizeof(host));

		memset(host, (int)i + 1, sizeof(host));
		if (whole && i % 8 < 6)
			give(a, i, &wqe);
		else
			post(a, i, &wqe);
		check_eq(completion(&a->qp_gverbs->qp_cpu->cq_sq, i, cqe), DOCA_GPUNETIO_IB_MLX5_CQE_REQ);
		check_eq(cqe[60] << 8 | cqe[61], i);
		check_eq(bl_gpu_read(gpu, seen, (uintptr_t)target, sizeof(seen)), 0);
		check(!memcmp(seen, host, sizeof(host)));
	}
	check_eq(bl_net_dereg_mr(from), 0);
	check_eq(bl_net_dereg_mr(to), 0);
	check_eq(doca_gpu_mem_free(gpu, target), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_destroy_qp_hl(a), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_destroy_qp_hl(b), DOCA_SUCCESS);
	soft_drop();
}

static void a_record_moves_bytes_into_gpu_memory_and_completes_there(void)
{
	write_with(DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB, BL_NET_RINGER_GPU, false);
}

static void the_proxys_word_does_without_a_thread(void)
{
	write_with(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY, BL_NET_RINGER_NIC, false);
}

static void a_request_that_is_given_whole_needs_no_doorbell(void)
{
	struct doca_gpu_verbs_qp_hl *qp;

	write_with(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY, BL_NET_RINGER_NIC, true);
	write_with(DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB, BL_NET_RINGER_GPU, true);
	soft_make();
	qp = soft_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY_FREE_FLOW, 0, 0);
	check(!qp->qp_gverbs->qp_cpu->sq_express);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	soft_drop();
}

static void a_wrong_key_is_an_error_with_its_cause(void)
{
	struct doca_gpu_verbs_qp_error_info info;
	struct bl_net_qp_error error = { .sz = sizeof(error) };
	struct doca_gpu_verbs_qp_hl *a, *b;
	unsigned char cqe[64], host[64];
	struct ibv_mr *mr;
	struct wqe wqe;

	soft_make();
	a = soft_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY, 0, 0);
	b = soft_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY, 0, 0);
	connect_both(a, b, 0);
	mr = bl_net_reg_mr(pd, host, sizeof(host), ACCESS);
	check(mr);
	check_eq(doca_gpu_verbs_query_last_error(a->qp_gverbs, &info), DOCA_SUCCESS);
	check(!info.has_error);
	wqe = write_wqe(a, 0, (uintptr_t)host, mr->lkey, (uintptr_t)host, mr->rkey ^ 0x5500, sizeof(host));
	post(a, 0, &wqe);
	check_eq(completion(&a->qp_gverbs->qp_cpu->cq_sq, 0, cqe), DOCA_GPUNETIO_IB_MLX5_CQE_REQ_ERR);
	check_eq(cqe[55], 0x13);
	check_eq(doca_gpu_verbs_query_last_error(a->qp_gverbs, &info), DOCA_SUCCESS);
	check(info.has_error);
	check_eq(info.syndrome, 0x13);
	check_eq(info.wqe_counter, 0);
	check_eq(bl_net_qp_error(a->qp_gverbs, &error), 0);
	check_eq(error.opcode, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE);
	check_eq(error.dest_qpn, doca_verbs_qp_get_qpn(b->qp));
	check(error.text[0]);
	check_eq(bl_net_dereg_mr(mr), 0);
	check_eq(doca_gpu_verbs_destroy_qp_hl(a), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_destroy_qp_hl(b), DOCA_SUCCESS);
	soft_drop();
}

/* The first request of @b is a WAIT for the first of @a, which comes later. */
static void b_waits_for_a(struct doca_gpu_verbs_qp_hl *a, struct doca_gpu_verbs_qp_hl *b, const struct ibv_mr *from,
			  const struct ibv_mr *to)
{
	const struct doca_gpu_dev_verbs_cq *cq = &a->qp_gverbs->qp_cpu->cq_sq;
	const struct doca_gpu_dev_verbs_cq *own = &b->qp_gverbs->qp_cpu->cq_sq;
	struct wqe wait = { 0 }, wqe;
	unsigned char cqe[64];

	wait.words[0] = htobe32(DOCA_GPUNETIO_IB_MLX5_OPCODE_WAIT);
	wait.words[1] = htobe32(b->qp_gverbs->qp_cpu->sq_num << 8 | 2);
	wait.words[2] = htobe32(DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE);
	wait.words[6] = htobe32((uint32_t)cq->cqe_rsvd);
	wait.words[7] = htobe32(cq->cq_num);
	post(b, 0, &wait);
	/* time to go wrong in */
	usleep(50000);
	check_eq(bl_gpu_read(gpu, cqe, (uintptr_t)own->cqe_daddr + (own->cqe_rsvd & own->cqe_mask) * 64, 64), 0);
	check_eq(cqe[63], 0xff);
	wqe = write_wqe(a, 0, (uintptr_t)from->addr, from->lkey, (uintptr_t)to->addr, to->rkey, 64);
	post(a, 0, &wqe);
	check_eq(completion(own, 0, cqe), DOCA_GPUNETIO_IB_MLX5_CQE_REQ);
}

/* Requests are not one per completion before the reset: the place of the next one is found all the same. */
static void after_a_reset_it_works_again(void)
{
	struct doca_gpu_verbs_qp_hl *a, *b;
	struct doca_gpu_dev_verbs_qp *dev;
	struct doca_verbs_qp_attr *attr;
	unsigned char cqe[64], host[64], target[64];
	struct ibv_mr *from, *to;

	soft_make();
	a = soft_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY, 0, 0);
	b = soft_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY, 0, 0);
	from = bl_net_reg_mr(pd, host, sizeof(host), ACCESS);
	to = bl_net_reg_mr(pd, target, sizeof(target), ACCESS);
	check(from && to);
	check_eq(doca_gpu_verbs_get_qp_dev(a->qp_gverbs, &dev), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_attr_create(&attr), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_RST), DOCA_SUCCESS);
	for (int round = 0; round < 3; round++) {
		connect_both(a, b, 0);
		/* 30 completions, nearly twice round their ring */
		for (uint64_t i = 0; i < 45; i++) {
			struct wqe wqe = write_wqe(a, i, (uintptr_t)host, from->lkey, (uintptr_t)target, to->rkey, 64);

			memset(host, (int)i + 1 + round, sizeof(host));
			/* every third is silent */
			if (i % 3 == 1)
				wqe.words[2] = 0;
			post(a, i, &wqe);
			if (i % 3 == 1)
				continue;
			check_eq(completion(&a->qp_gverbs->qp_cpu->cq_sq, i - (i + 1) / 3, cqe), 0);
			check_eq(cqe[60] << 8 | cqe[61], i);
			check(same(host, target, sizeof(host)));
		}
		check_eq(doca_verbs_qp_modify(a->qp, attr, DOCA_VERBS_QP_ATTR_NEXT_STATE), DOCA_SUCCESS);
		check_eq(doca_verbs_qp_modify(b->qp, attr, DOCA_VERBS_QP_ATTR_NEXT_STATE), DOCA_SUCCESS);
		check_eq(doca_gpu_verbs_get_qp_dev(b->qp_gverbs, &dev), DOCA_SUCCESS);
		check_eq(doca_gpu_verbs_reset_tracking_and_memory(a->qp_gverbs), DOCA_SUCCESS);
		check_eq(doca_gpu_verbs_reset_tracking_and_memory(b->qp_gverbs), DOCA_SUCCESS);
		/* also what a WAIT takes for the number of the first */
		check_eq(a->qp_gverbs->qp_cpu->cq_sq.cqe_rsvd, 30 * (round + 1));
	}
	connect_both(a, b, 0);
	b_waits_for_a(a, b, from, to);
	check_eq(doca_verbs_qp_attr_destroy(attr), DOCA_SUCCESS);
	check_eq(bl_net_dereg_mr(from), 0);
	check_eq(bl_net_dereg_mr(to), 0);
	check_eq(doca_gpu_verbs_destroy_qp_hl(a), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_destroy_qp_hl(b), DOCA_SUCCESS);
	soft_drop();
}

/* A register without record is one word that this NIC polls: two queue pairs cannot ring it. */
static void both_of_a_group_without_records_ring(void)
{
	struct doca_gpu_verbs_qp_init_attr_hl attr = { .sq_nwqe = 16 };
	struct doca_gpu_verbs_qp_group_hl *group = NULL;

	soft_make();
	attr.gpu_dev = gpu;
	attr.ibpd = pd;
	attr.send_dbr_mode_ext = DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW;
	check_eq(doca_gpu_verbs_create_qp_group_hl(&attr, &group), DOCA_SUCCESS);
	check(group->qp_main.qp_gverbs->sq_db != group->qp_companion.qp_gverbs->sq_db);
	check_eq(doca_gpu_verbs_destroy_qp_group_hl(group), DOCA_SUCCESS);
	soft_drop();
}

/* Unreliable, with receive queues: what a forwarding loop needs. */
static void an_unreliable_connection_sends_into_a_receive_queue(void)
{
	struct doca_gpu_verbs_qp_hl *a, *b;
	const struct doca_gpu_dev_verbs_qp *dev;
	unsigned char cqe[64], host[64], target[64] = { 0 };
	uint32_t rwqe[4];
	struct ibv_mr *from, *to;
	struct wqe wqe = { 0 };

	soft_make();
	a = soft_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY, 8, 1);
	b = soft_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY, 8, 1);
	connect_both(a, b, 1);
	from = bl_net_reg_mr(pd, host, sizeof(host), ACCESS);
	to = bl_net_reg_mr(pd, target, sizeof(target), ACCESS);
	check(from && to);
	memset(host, 0x77, sizeof(host));
	dev = b->qp_gverbs->qp_cpu;
	rwqe[0] = htobe32(sizeof(target));
	rwqe[1] = htobe32(to->lkey);
	rwqe[2] = htobe32((uint32_t)((uintptr_t)target >> 32));
	rwqe[3] = htobe32((uint32_t)(uintptr_t)target);
	memcpy(bl_gpu_block_cpu(gpu, (uintptr_t)dev->rq_wqe_daddr), rwqe, sizeof(rwqe));
	__atomic_store_n(b->qp_gverbs->sq_dbrec - 1, htobe32(1), __ATOMIC_RELEASE);
	wqe.words[0] = htobe32(DOCA_GPUNETIO_IB_MLX5_OPCODE_SEND);
	wqe.words[1] = htobe32(a->qp_gverbs->qp_cpu->sq_num << 8 | 2);
	wqe.words[2] = htobe32(DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE);
	wqe.words[4] = htobe32(sizeof(host));
	wqe.words[5] = htobe32(from->lkey);
	wqe.words[6] = htobe32((uint32_t)((uintptr_t)host >> 32));
	wqe.words[7] = htobe32((uint32_t)(uintptr_t)host);
	post(a, 0, &wqe);
	check_eq(completion(&a->qp_gverbs->qp_cpu->cq_sq, 0, cqe), DOCA_GPUNETIO_IB_MLX5_CQE_REQ);
	check_eq(completion(&dev->cq_rq, 0, cqe), DOCA_GPUNETIO_IB_MLX5_CQE_RESP_SEND);
	check(same(host, target, sizeof(host)));
	check_eq(bl_net_dereg_mr(from), 0);
	check_eq(bl_net_dereg_mr(to), 0);
	check_eq(doca_gpu_verbs_destroy_qp_hl(a), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_destroy_qp_hl(b), DOCA_SUCCESS);
	soft_drop();
}

/* While it waits there is no error, and yet a reason. */
static void a_receiver_that_is_not_ready_is_named_while_it_is_waited_for(void)
{
	struct bl_net_qp_error error = { .sz = sizeof(error) };
	struct doca_gpu_verbs_qp_hl *a, *b;
	struct wqe wqe = { 0 };

	soft_make();
	a = soft_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY, 8, 0);
	b = soft_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY, 8, 0);
	connect_both(a, b, 0);
	check_eq(bl_net_qp_error(a->qp_gverbs, &error), 0);
	check_str(error.text, "");
	wqe.words[0] = htobe32(DOCA_GPUNETIO_IB_MLX5_OPCODE_SEND);
	wqe.words[1] = htobe32(a->qp_gverbs->qp_cpu->sq_num << 8 | 1);
	wqe.words[2] = htobe32(DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE);
	post(a, 0, &wqe);
	for (int i = 0; i < 20000 && !*error.text; i++) {
		error.sz = sizeof(error);
		check_eq(bl_net_qp_error(a->qp_gverbs, &error), 0);
		usleep(500);
	}
	check_eq(error.has_error, 0);
	check_has(error.text, "has no receive posted, asked ");
	check_has(error.text, "and for ever (RNR)");
	check_eq(doca_gpu_verbs_destroy_qp_hl(a), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_destroy_qp_hl(b), DOCA_SUCCESS);
	soft_drop();
}

/* The count that kernels look at, in the GPU's object. */
static bool count_becomes(struct doca_gpu_dev_verbs_qp *dev, uint64_t count)
{
	struct doca_gpu_dev_verbs_qp now;

	for (int i = 0; i < 20000; i++) {
		check_eq(bl_gpu_read(gpu, &now, (uintptr_t)dev, sizeof(now)), 0);
		if (now.cq_sq.cqe_ci >= count)
			return now.cq_sq.cqe_ci == count;
		usleep(500);
	}
	return false;
}

/* Completions that nobody counts. */
static void a_counter_that_is_missing_is_named(void)
{
	struct bl_net_qp_error error = { .sz = sizeof(error) };
	struct doca_gpu_dev_verbs_qp *dev;
	struct doca_gpu_verbs_qp_hl *a, *b;
	unsigned char host[64];
	struct ibv_mr *mr;
	struct wqe wqe;

	soft_make();
	setenv("BARLANE_NET_SERVICE", "0", 1);
	folded = 1;
	a = soft_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB, 0, 0);
	folded = 0;
	unsetenv("BARLANE_NET_SERVICE");
	b = soft_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY, 0, 0);
	check_eq(doca_gpu_verbs_get_qp_dev(a->qp_gverbs, &dev), DOCA_SUCCESS);
	connect_both(a, b, 0);
	mr = bl_net_reg_mr(pd, host, sizeof(host), ACCESS);
	check(mr);
	wqe = write_wqe(a, 0, (uintptr_t)host, mr->lkey, (uintptr_t)host + 32, mr->rkey, 32);
	post(a, 0, &wqe);
	for (int i = 0; i < 20000 && !*error.text; i++) {
		error.sz = sizeof(error);
		check_eq(bl_net_qp_error(a->qp_gverbs, &error), 0);
		usleep(500);
	}
	check_has(error.text, "no proxy thread: requests are complete");
	check_eq(doca_gpu_verbs_cpu_proxy_progress(a->qp_gverbs, NULL), DOCA_SUCCESS);
	check(count_becomes(dev, 1));
	check_eq(bl_net_dereg_mr(mr), 0);
	check_eq(doca_gpu_verbs_destroy_qp_hl(a), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_destroy_qp_hl(b), DOCA_SUCCESS);
	soft_drop();
}

/* The NIC needs nobody to ring, but somebody counts. */
static void completions_are_counted_by_the_library_for_the_gpu(void)
{
	struct bl_net_qp_path path = { .sz = sizeof(path) };
	struct doca_gpu_dev_verbs_qp *dev, now;
	struct doca_gpu_verbs_qp_hl *a, *b;
	unsigned char host[64], target[64];
	struct ibv_mr *from, *to;
	struct wqe wqe;

	soft_make();
	folded = 1;
	a = soft_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB, 0, 0);
	b = soft_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY, 0, 0);
	folded = 0;
	check_eq(bl_net_qp_path(a->qp_gverbs, &path), 0);
	check_eq(path.handler, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB);
	check_eq(path.ringer, BL_NET_RINGER_GPU);
	check_eq(path.cq_on_host, 1);
	check_eq(a->qp_gverbs->qp_cpu->cq_sq.cq_type, DOCA_GPUNETIO_VERBS_CQ_64B_COLLAPSED_HOST);
	check_eq(doca_gpu_verbs_qp_flat_list_create_hl(&a, 1, &dev), DOCA_ERROR_NOT_SUPPORTED);
	check_eq(doca_gpu_verbs_get_qp_dev(a->qp_gverbs, &dev), DOCA_SUCCESS);
	connect_both(a, b, 0);
	from = bl_net_reg_mr(pd, host, sizeof(host), ACCESS);
	to = bl_net_reg_mr(pd, target, sizeof(target), ACCESS);
	check(from && to);
	for (uint64_t i = 0; i < 40; i++) {
		memset(host, (int)i + 1, sizeof(host));
		wqe = write_wqe(a, i, (uintptr_t)host, from->lkey, (uintptr_t)target, to->rkey, sizeof(host));
		post(a, i, &wqe);
		check(count_becomes(dev, i + 1));
		check(same(host, target, sizeof(host)));
	}
	/* those behind it are flushed, into the same entry */
	for (uint64_t i = 43; i >= 40; i--) {
		wqe = write_wqe(a, i, (uintptr_t)host, from->lkey, (uintptr_t)target, to->rkey ^ 0x5500, sizeof(host));
		put(a, i, &wqe);
	}
	ring(a, 44);
	for (int i = 0; i < 20000; i++) {
		check_eq(bl_gpu_read(gpu, &now, (uintptr_t)dev, sizeof(now)), 0);
		if (now.cq_sq.error)
			break;
		usleep(500);
	}
	check_eq(now.cq_sq.error & 0xff, 0x13);
	check_eq(now.cq_sq.error_wqe, 40);
	check_eq(now.cq_sq.cqe_ci, 40);
	check_eq(bl_net_dereg_mr(from), 0);
	check_eq(bl_net_dereg_mr(to), 0);
	check_eq(doca_gpu_verbs_destroy_qp_hl(a), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_destroy_qp_hl(b), DOCA_SUCCESS);
	soft_drop();
}

/* The end of a queue pair need not be the fault of a request: those that were done are, and no others. */
static void what_is_flushed_is_not_counted_as_done(void)
{
	struct doca_gpu_verbs_qp_hl *a, *b;
	struct doca_gpu_dev_verbs_qp *dev, now;
	struct doca_verbs_qp_attr *attr;
	unsigned char host[64];
	struct ibv_mr *mr;
	struct wqe wqe;

	soft_make();
	folded = 1;
	a = soft_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB, 0, 0);
	folded = 0;
	b = soft_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY, 0, 0);
	check_eq(doca_gpu_verbs_get_qp_dev(a->qp_gverbs, &dev), DOCA_SUCCESS);
	connect_both(a, b, 0);
	mr = bl_net_reg_mr(pd, host, sizeof(host), ACCESS);
	check(mr);
	for (uint64_t i = 0; i < 6; i++) {
		wqe = write_wqe(a, i, (uintptr_t)host, mr->lkey, (uintptr_t)host + 32, mr->rkey, 32);
		if (i == 5) {
			check_eq(doca_verbs_qp_attr_create(&attr), DOCA_SUCCESS);
			check_eq(doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_ERR), DOCA_SUCCESS);
			check_eq(doca_verbs_qp_modify(a->qp, attr, DOCA_VERBS_QP_ATTR_NEXT_STATE), DOCA_SUCCESS);
			check_eq(doca_verbs_qp_attr_destroy(attr), DOCA_SUCCESS);
		}
		post(a, i, &wqe);
		if (i < 5)
			check(count_becomes(dev, i + 1));
	}
	for (int i = 0; i < 20000; i++) {
		check_eq(bl_gpu_read(gpu, &now, (uintptr_t)dev, sizeof(now)), 0);
		if (now.cq_sq.error)
			break;
		usleep(500);
	}
	check_eq(now.cq_sq.error & 0xff, 0x05);
	check_eq(now.cq_sq.error_wqe, 5);
	check_eq(now.cq_sq.cqe_ci, 5);
	check_eq(bl_net_dereg_mr(mr), 0);
	check_eq(doca_gpu_verbs_destroy_qp_hl(a), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_destroy_qp_hl(b), DOCA_SUCCESS);
	soft_drop();
}

static void a_peer_that_is_not_there_is_an_error(void)
{
	struct doca_gpu_verbs_qp_hl *a;
	struct bl_net_peer local, remote;

	soft_make();
	a = soft_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO, 0, 0);
	check_eq(bl_net_qp_local(nic, a->qp, 1, 0, &local), 0);
	check_eq(bl_net_qp_local(nic, a->qp, 9, 0, &remote), -EINVAL);
	check_eq(bl_net_qp_local(nic, a->qp, 1, 300, &remote), -EINVAL);
	remote = local;
	memset(remote.gid, 0xee, sizeof(remote.gid));
	check_eq(bl_net_qp_connect(nic, a->qp, 0, &local, &remote), -ENOTCONN);
	check_eq(bl_net_qp_connect(nic, a->qp, 0, NULL, &remote), -EINVAL);
	check_eq(doca_gpu_verbs_destroy_qp_hl(a), DOCA_SUCCESS);
	soft_drop();
}

#define T(name) { #name, name }

static const struct tap_test tests[] = {
	T(a_record_moves_bytes_into_gpu_memory_and_completes_there),
	T(the_proxys_word_does_without_a_thread),
	T(a_request_that_is_given_whole_needs_no_doorbell),
	T(a_wrong_key_is_an_error_with_its_cause),
	T(after_a_reset_it_works_again),
	T(both_of_a_group_without_records_ring),
	T(an_unreliable_connection_sends_into_a_receive_queue),
	T(a_receiver_that_is_not_ready_is_named_while_it_is_waited_for),
	T(completions_are_counted_by_the_library_for_the_gpu),
	T(a_counter_that_is_missing_is_named),
	T(what_is_flushed_is_not_counted_as_done),
	T(a_peer_that_is_not_there_is_an_error),
};

TAP_MAIN(tests)
