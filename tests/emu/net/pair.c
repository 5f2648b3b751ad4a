// SPDX-License-Identifier: MIT
#include "pair.h"

#include <endian.h>
#include <time.h>

#include "net/verbs/qp.h"
#include "util/clock.h"

#define A(name)	    DOCA_VERBS_QP_ATTR_##name
#define RQ_LEN	    (PAIR_DEPTH * 16UL)
#define SQ_LEN	    (PAIR_DEPTH * 64UL)
#define CQ_OFF	    4096UL
#define GPU_MEM	    (2UL << 20)
#define DEADLINE_NS 10000000000ULL

static struct snapshot before;

static void to_gpu(CUdeviceptr dst, const void *src, size_t len)
{
	check_eq(world.cuda->cuMemcpyHtoD(dst, src, len), CUDA_SUCCESS);
}

static void from_gpu(void *dst, CUdeviceptr src, size_t len)
{
	check_eq(world.cuda->cuMemcpyDtoH(dst, src, len), CUDA_SUCCESS);
}

static void put(const struct side *side, char *at, const void *src, size_t len)
{
	if (side->gpu)
		to_gpu((uintptr_t)at, src, len);
	else
		memcpy(at, src, len);
}

uint64_t side_addr(const struct side *side, size_t off)
{
	return (uintptr_t)side->data + off;
}

static void make_data(struct side *side)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			   IBV_ACCESS_REMOTE_ATOMIC;

	if (side->gpu_data)
		side->data = (void *)(uintptr_t)world_alloc(GPU_MEM);
	else
		side->data = aligned_alloc(4096, PAIR_BYTES);
	check(side->data);
	side->mr = bl_net_reg_mr(side->pd, side->data, PAIR_BYTES, access);
	check(side->mr);
}

/* Rings in memory of the GPU, the records in the host's. */
static void make_gpu_mem(struct side *side)
{
	char unused[64] = { [63] = (char)0xf1 };

	side->mem = world_alloc(GPU_MEM);
	for (unsigned int i = 0; i < PAIR_DEPTH; i++)
		to_gpu(side->mem + CQ_OFF + i * 64UL, unused, sizeof(unused));
	side->own_dbr = aligned_alloc(4096, 4096);
	memset(side->own_dbr, 0, 4096);
	check_eq(doca_verbs_umem_create(side->context, (void *)(uintptr_t)side->mem, 8192, IBV_ACCESS_LOCAL_WRITE, -1, 0,
					&side->umem),
		 DOCA_SUCCESS);
	check_eq(doca_verbs_umem_create(side->context, side->own_dbr, 4096, IBV_ACCESS_LOCAL_WRITE, -1, 0,
					&side->dbr_umem),
		 DOCA_SUCCESS);
}

static void make_cq(struct side *side)
{
	struct doca_verbs_cq_attr *attr;

	check_eq(doca_verbs_cq_attr_create(&attr), DOCA_SUCCESS);
	doca_verbs_cq_attr_set_cq_size(attr, PAIR_DEPTH);
	doca_verbs_cq_attr_set_cq_overrun(attr, DOCA_VERBS_CQ_ENABLE_OVERRUN);
	if (side->gpu) {
		doca_verbs_cq_attr_set_external_umem(attr, side->umem, CQ_OFF);
		doca_verbs_cq_attr_set_external_dbr_umem(attr, side->dbr_umem, 64);
	}
	check_eq(doca_verbs_cq_create(side->context, attr, &side->cq), DOCA_SUCCESS);
	doca_verbs_cq_get_wq(side->cq, (void **)&side->cqe, NULL, NULL);
	doca_verbs_cq_attr_destroy(attr);
}

static void make_qp(struct side *side, const struct pair_options *options)
{
	struct doca_verbs_qp_init_attr *init;

	check_eq(doca_verbs_qp_init_attr_create(&init), DOCA_SUCCESS);
	doca_verbs_qp_init_attr_set_pd(init, side->pd);
	doca_verbs_qp_init_attr_set_qp_type(init, options->type);
	doca_verbs_qp_init_attr_set_sq_wr(init, PAIR_DEPTH);
	doca_verbs_qp_init_attr_set_rq_wr(init, PAIR_DEPTH);
	doca_verbs_qp_init_attr_set_send_max_sges(init, 1);
	doca_verbs_qp_init_attr_set_receive_max_sges(init, 1);
	doca_verbs_qp_init_attr_set_send_cq(init, side->cq);
	doca_verbs_qp_init_attr_set_receive_cq(init, side->cq);
	if (options->no_dbrec)
		doca_verbs_qp_init_attr_set_send_dbr_mode(init, DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT);
	if (side->gpu) {
		doca_verbs_qp_init_attr_set_external_umem(init, side->umem, 0);
		doca_verbs_qp_init_attr_set_external_dbr_umem(init, side->dbr_umem, 0);
	}
	check_eq(doca_verbs_qp_create(side->context, init, &side->qp), DOCA_SUCCESS);
	doca_verbs_qp_get_wq(side->qp, (void **)&side->sq, NULL, (void **)&side->rq, NULL, NULL);
	side->dbr = doca_verbs_qp_get_dbr_addr(side->qp);
	side->db = doca_verbs_qp_get_uar_addr(side->qp);
	doca_verbs_qp_init_attr_destroy(init);
}

void side_to_init(struct side *side, uint32_t type)
{
	struct doca_verbs_qp_attr *attr;
	int mask = A(NEXT_STATE) | A(PKEY_INDEX) | A(PORT_NUM) | A(ALLOW_REMOTE_WRITE);

	check_eq(doca_verbs_qp_attr_create(&attr), DOCA_SUCCESS);
	doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_INIT);
	doca_verbs_qp_attr_set_port_num(attr, 1);
	doca_verbs_qp_attr_set_allow_remote_write(attr, 1);
	doca_verbs_qp_attr_set_allow_remote_read(attr, 1);
	if (type == DOCA_VERBS_QP_TYPE_RC) {
		doca_verbs_qp_attr_set_allow_remote_atomic(attr, DOCA_VERBS_QP_ATOMIC_MODE_IB_SPEC);
		mask |= A(ALLOW_REMOTE_READ);
	}
	check_eq(doca_verbs_qp_modify(side->qp, attr, mask), DOCA_SUCCESS);
	doca_verbs_qp_attr_destroy(attr);
}

static void to_rtr(struct side *side, struct side *peer, uint32_t type, struct doca_verbs_qp_attr *attr)
{
	struct doca_verbs_ah_attr *ah;
	struct doca_verbs_gid gid;
	union ibv_gid ibv_gid;
	int mask = A(NEXT_STATE) | A(RQ_PSN) | A(DEST_QP_NUM) | A(PATH_MTU) | A(AH_ATTR);

	check_eq(bl_net_query_gid(peer->context, 1, 0, &ibv_gid), 0);
	memcpy(gid.raw, ibv_gid.raw, sizeof(gid.raw));
	check_eq(doca_verbs_ah_attr_create(side->context, &ah), DOCA_SUCCESS);
	doca_verbs_ah_attr_set_gid(ah, gid);
	doca_verbs_ah_attr_set_addr_type(ah, DOCA_VERBS_ADDR_TYPE_IPv4);
	doca_verbs_ah_attr_set_hop_limit(ah, 255);
	doca_verbs_qp_attr_set_ah_attr(attr, ah);
	doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_RTR);
	doca_verbs_qp_attr_set_dest_qp_num(attr, doca_verbs_qp_get_qpn(peer->qp));
	doca_verbs_qp_attr_set_path_mtu(attr, DOCA_VERBS_MTU_SIZE_4K_BYTES);
	doca_verbs_qp_attr_set_min_rnr_timer(attr, 1);
	doca_verbs_qp_attr_set_max_dest_rd_atomic(attr, 4);
	if (type == DOCA_VERBS_QP_TYPE_RC)
		mask |= A(MIN_RNR_TIMER) | A(MAX_DEST_RD_ATOMIC);
	check_eq(doca_verbs_qp_modify(side->qp, attr, mask), DOCA_SUCCESS);
	doca_verbs_ah_attr_destroy(ah);
}

void side_to_rts(struct side *side, struct side *peer, uint32_t type)
{
	struct doca_verbs_qp_attr *attr;
	int mask = A(NEXT_STATE) | A(SQ_PSN);

	check_eq(doca_verbs_qp_attr_create(&attr), DOCA_SUCCESS);
	to_rtr(side, peer, type, attr);
	doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_RTS);
	doca_verbs_qp_attr_set_ack_timeout(attr, 14);
	doca_verbs_qp_attr_set_retry_cnt(attr, 7);
	doca_verbs_qp_attr_set_rnr_retry(attr, 7);
	doca_verbs_qp_attr_set_max_rd_atomic(attr, 4);
	if (type == DOCA_VERBS_QP_TYPE_RC)
		mask |= A(ACK_TIMEOUT) | A(RETRY_CNT) | A(RNR_RETRY) | A(MAX_QP_RD_ATOMIC);
	check_eq(doca_verbs_qp_modify(side->qp, attr, mask), DOCA_SUCCESS);
	doca_verbs_qp_attr_destroy(attr);
}

/* What the first use of a GPU makes stays: the core's context and what it knows of the GPU. */
static void warm_up(void)
{
	struct ibv_context *context = bl_net_open_device("soft0");
	struct ibv_pd *pd = bl_net_alloc_pd(context);
	CUdeviceptr va = world_alloc(GPU_MEM);
	struct ibv_mr *mr = bl_net_reg_mr(pd, (void *)(uintptr_t)va, 4096, 0);

	check(mr);
	check_eq(bl_net_dereg_mr(mr), 0);
	check_eq(bl_net_dealloc_pd(pd), 0);
	check_eq(bl_net_close_device(context), 0);
	world_free(va);
}

void pair_make(struct side sides[2], const struct pair_options *options)
{
	static const char *const names[] = { "soft0", "soft1" };

	world_enter();
	warm_up();
	snapshot_take(&before);
	for (int i = 0; i < 2; i++) {
		sides[i] = (struct side){ .gpu = options->gpu, .gpu_data = options->gpu_data && !options->host_data[i] };
		sides[i].context = bl_net_open_device(options->names[i] ? options->names[i] : names[i]);
		check(sides[i].context);
		sides[i].pd = bl_net_alloc_pd(sides[i].context);
		check(sides[i].pd);
		make_data(&sides[i]);
		if (options->gpu)
			make_gpu_mem(&sides[i]);
		make_cq(&sides[i]);
		make_qp(&sides[i], options);
		side_to_init(&sides[i], options->type);
	}
	for (int i = 0; i < 2; i++)
		side_to_rts(&sides[i], &sides[1 - i], options->type);
}

void pair_drop(struct side sides[2])
{
	for (int i = 0; i < 2; i++) {
		check_eq(doca_verbs_qp_destroy(sides[i].qp), DOCA_SUCCESS);
		check_eq(doca_verbs_cq_destroy(sides[i].cq), DOCA_SUCCESS);
		if (sides[i].gpu) {
			check_eq(doca_verbs_umem_destroy(sides[i].umem), DOCA_SUCCESS);
			check_eq(doca_verbs_umem_destroy(sides[i].dbr_umem), DOCA_SUCCESS);
			world_free(sides[i].mem);
			free(sides[i].own_dbr);
		}
		check_eq(bl_net_dereg_mr(sides[i].mr), 0);
		if (sides[i].gpu_data)
			world_free((uintptr_t)sides[i].data);
		else
			free(sides[i].data);
		check_eq(bl_net_dealloc_pd(sides[i].pd), 0);
		check_eq(bl_net_close_device(sides[i].context), 0);
	}
	snapshot_check(&before);
	world_check_rules();
}

static unsigned char byte_at(size_t i, unsigned char seed)
{
	return (unsigned char)(seed + i * 7 + (i >> 8));
}

/*
 * Packets go through memory that both ends have mapped, each at an address of its own, so that ThreadSanitizer does not
 * see that one NIC's thread did something after the other's. A query takes the lock that a NIC's thread holds when it
 * touches memory: then it sees the order.
 */
static void show_order(struct side *side)
{
	struct bl_nic_qp_info info;

	check_eq(bl_qp_info(side->qp, &info), 0);
}

void side_fill(struct side *side, size_t off, size_t len, unsigned char seed)
{
	static unsigned char bytes[PAIR_BYTES];

	show_order(side);
	for (size_t i = 0; i < len; i++)
		bytes[i] = byte_at(i, seed);
	if (side->gpu_data)
		to_gpu(side_addr(side, off), bytes, len);
	else
		memcpy((char *)side->data + off, bytes, len);
	show_order(side);
}

int side_is_filled(struct side *side, size_t off, size_t len, unsigned char seed)
{
	static unsigned char bytes[PAIR_BYTES];

	show_order(side);
	if (side->gpu_data)
		from_gpu(bytes, side_addr(side, off), len);
	else
		memcpy(bytes, (char *)side->data + off, len);
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] != byte_at(i, seed))
			return 0;
	}
	return 1;
}

int side_gets_filled(struct side *side, size_t off, size_t len, unsigned char seed)
{
	const struct timespec nap = { 0, 50000 };
	uint64_t deadline = bl_now_ns() + DEADLINE_NS;

	while (!side_is_filled(side, off, len, seed)) {
		if (bl_now_ns() > deadline)
			return 0;
		nanosleep(&nap, NULL);
	}
	return 1;
}

struct wqe {
	uint32_t words[16];
};

static void set64(uint32_t *words, uint64_t value)
{
	words[0] = htobe32((uint32_t)(value >> 32));
	words[1] = htobe32((uint32_t)value);
}

static void set_data(uint32_t *words, uint64_t addr, uint32_t lkey, uint32_t len)
{
	words[0] = htobe32(len);
	words[1] = htobe32(lkey);
	set64(words + 2, addr);
}

static void ring(struct side *side)
{
	struct {
		uint32_t index;
		uint32_t qpn;
	} db = { htobe32(side->pi << 8), htobe32(doca_verbs_qp_get_qpn(side->qp) << 8) };
	uint64_t value;

	memcpy(&value, &db, sizeof(value));
	/* the NIC's thread may read the WQE as soon as it sees the record: WQE first */
	__atomic_store_n(&side->dbr[1], htobe32(side->pi & 0xffff), __ATOMIC_RELEASE);
	/* and as soon as it sees the doorbell */
	__atomic_store_n(side->db, value, __ATOMIC_RELEASE);
	bl_qp_kick(side->qp);
}

void side_post(struct side *side, uint8_t opcode, size_t off, uint32_t len, uint64_t raddr, uint32_t rkey)
{
	bool send = opcode == 0x0a;
	struct wqe wqe = { { 0 } };

	wqe.words[0] = htobe32((side->pi & 0xffff) << 8 | opcode);
	wqe.words[1] = htobe32(doca_verbs_qp_get_qpn(side->qp) << 8 | (send ? 2 : 3));
	wqe.words[2] = htobe32(8); /* a completion, whatever happens */
	if (!send) {
		set64(&wqe.words[4], raddr);
		wqe.words[6] = htobe32(rkey);
	}
	set_data(&wqe.words[send ? 4 : 8], side_addr(side, off), side->mr->lkey, len);
	put(side, side->sq + (side->pi & (PAIR_DEPTH - 1)) * 64UL, &wqe, sizeof(wqe));
	side->pi++;
	ring(side);
}

void side_post_recv(struct side *side, size_t off, uint32_t len)
{
	uint32_t seg[4];

	set_data(seg, side_addr(side, off), side->mr->lkey, len);
	put(side, side->rq + (side->rq_pi & (PAIR_DEPTH - 1)) * 16UL, seg, sizeof(seg));
	side->rq_pi++;
	/* the segment before the counter that tells of it */
	__atomic_store_n(&side->dbr[0], htobe32(side->rq_pi & 0xffff), __ATOMIC_RELEASE);
}

/* The CQE at the consumer index: whether it is the hardware's no longer. */
static bool look(struct side *side, unsigned char cqe[64])
{
	const char *at = side->cqe + (side->ci & (PAIR_DEPTH - 1)) * 64UL;
	uint64_t last;

	if (side->gpu) {
		from_gpu(cqe, (uintptr_t)at, 64);
	} else {
		/* the NIC stores these eight last, in one: the rest behind them */
		last = __atomic_load_n((const uint64_t *)(const void *)(at + 56), __ATOMIC_ACQUIRE);
		memcpy(cqe + 56, &last, sizeof(last));
	}
	if (cqe[63] >> 4 == 15 || (cqe[63] & 1) != !!(side->ci & PAIR_DEPTH))
		return false;
	if (!side->gpu)
		memcpy(cqe, at, 56);
	return true;
}

unsigned int side_wait(struct side *side, unsigned int *syndrome_p)
{
	const struct timespec nap = { 0, 50000 };
	uint64_t deadline = bl_now_ns() + DEADLINE_NS;
	unsigned char cqe[64];

	while (!look(side, cqe)) {
		if (bl_now_ns() > deadline)
			tap_end(TAP_FAILED, "no completion %u within ten seconds", side->ci);
		nanosleep(&nap, NULL);
	}
	side->ci++;
	if (syndrome_p)
		*syndrome_p = cqe[55];
	return cqe[63] >> 4;
}
