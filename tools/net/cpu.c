// SPDX-License-Identifier: MIT
#include "net/cpu.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "gpunetio/common/doca_gpunetio_verbs_mlx5.h"
#include "net/wire.h"

#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

static int make_cq(struct net_bed *bed, struct doca_verbs_cq **cq_p, char **ring_p)
{
	struct doca_verbs_cq_attr *attr;
	doca_error_t err = doca_verbs_cq_attr_create(&attr);
	uint32_t nr = 0;
	uint8_t size = 0;

	if (err)
		return net_doca_fail(err, "completion queue");
	doca_verbs_cq_attr_set_cq_size(attr, NET_SLOTS);
	/* the consumer index is never told: nobody posts more than fits */
	doca_verbs_cq_attr_set_cq_overrun(attr, DOCA_VERBS_CQ_ENABLE_OVERRUN);
	err = doca_verbs_cq_create(bed->nic, attr, cq_p);
	doca_verbs_cq_attr_destroy(attr);
	if (err)
		return net_doca_fail(err, "completion queue");
	doca_verbs_cq_get_wq(*cq_p, (void **)ring_p, &nr, &size);
	if (nr != NET_SLOTS || size != 64)
		return tool_fail(EOPNOTSUPP, "completion queue: %u entries of %u bytes, not %u of 64", nr, size, NET_SLOTS);
	return 0;
}

static int make_qp(struct net_bed *bed, struct net_cpu *cpu)
{
	struct doca_verbs_qp_init_attr *init;
	doca_error_t err = doca_verbs_qp_init_attr_create(&init);

	if (err)
		return net_doca_fail(err, "queue pair");
	doca_verbs_qp_init_attr_set_pd(init, bed->pd);
	doca_verbs_qp_init_attr_set_qp_type(init, bed->options->uc ? DOCA_VERBS_QP_TYPE_UC : DOCA_VERBS_QP_TYPE_RC);
	doca_verbs_qp_init_attr_set_sq_wr(init, NET_SLOTS);
	doca_verbs_qp_init_attr_set_rq_wr(init, NET_SLOTS);
	doca_verbs_qp_init_attr_set_send_max_sges(init, 1);
	doca_verbs_qp_init_attr_set_receive_max_sges(init, 1);
	doca_verbs_qp_init_attr_set_send_cq(init, cpu->send_cq);
	doca_verbs_qp_init_attr_set_receive_cq(init, cpu->recv_cq);
	err = doca_verbs_qp_create(bed->nic, init, &cpu->qp);
	doca_verbs_qp_init_attr_destroy(init);
	if (err)
		return net_doca_fail(err, "queue pair");
	doca_verbs_qp_get_wq(cpu->qp, (void **)&cpu->sq, NULL, (void **)&cpu->rq, NULL, NULL);
	cpu->dbr = doca_verbs_qp_get_dbr_addr(cpu->qp);
	cpu->db = doca_verbs_qp_get_uar_addr(cpu->qp);
	return 0;
}

int net_cpu_open(struct net_bed *bed)
{
	struct net_cpu *cpu = calloc(1, sizeof(*cpu));
	size_t len = 2 * NET_SLOTS * NET_PAGE;
	int ret;

	if (!cpu)
		return tool_fail(ENOMEM, "queue pair: no memory");
	bed->cpu = cpu;
	cpu->pages = aligned_alloc(4096, len);
	if (!cpu->pages)
		return tool_fail(ENOMEM, "pages: no memory");
	memset(cpu->pages, 0, len);
	cpu->mr = bl_net_reg_mr(bed->pd, cpu->pages, len, ACCESS);
	if (!cpu->mr)
		return net_fail_errno("pages");
	ret = make_cq(bed, &cpu->send_cq, &cpu->send_cqe);
	if (!ret)
		ret = make_cq(bed, &cpu->recv_cq, &cpu->recv_cqe);
	return ret ? ret : make_qp(bed, cpu);
}

void net_cpu_close(struct net_bed *bed)
{
	struct net_cpu *cpu = bed->cpu;

	if (!cpu)
		return;
	if (cpu->qp)
		doca_verbs_qp_destroy(cpu->qp);
	if (cpu->recv_cq)
		doca_verbs_cq_destroy(cpu->recv_cq);
	if (cpu->send_cq)
		doca_verbs_cq_destroy(cpu->send_cq);
	if (cpu->mr)
		bl_net_dereg_mr(cpu->mr);
	free(cpu->pages);
	free(cpu);
	bed->cpu = NULL;
}

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

static void ring(struct net_cpu *cpu)
{
	const uint32_t words[2] = { htobe32(cpu->sent << 8), htobe32(doca_verbs_qp_get_qpn(cpu->qp) << 8) };
	uint64_t db;

	memcpy(&db, words, sizeof(db));
	/* the WQE before the record, by which the NIC may find it */
	__atomic_store_n(&cpu->dbr[1], htobe32(cpu->sent & 0xffff), __ATOMIC_RELEASE);
	/* the record before the doorbell, upon which the NIC may read it */
	__atomic_store_n(cpu->db, db, __ATOMIC_RELEASE);
}

void net_cpu_post(struct net_cpu *cpu, const void *from, uint32_t len, const struct net_region *to, uint32_t imm)
{
	uint32_t opcode = to ? DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE_IMM : DOCA_GPUNETIO_IB_MLX5_OPCODE_SEND;
	uint32_t words[16] = { 0 };

	words[0] = htobe32((cpu->sent & 0xffff) << 8 | opcode);
	words[1] = htobe32(doca_verbs_qp_get_qpn(cpu->qp) << 8 | (to ? 3 : 2));
	words[2] = htobe32(DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE);
	words[3] = htobe32(imm);
	if (to) {
		set64(&words[4], to->addr);
		words[6] = htobe32(to->key);
	}
	set_data(&words[to ? 8 : 4], (uintptr_t)from, cpu->mr->lkey, len);
	memcpy(cpu->sq + cpu->sent % NET_SLOTS * 64UL, words, sizeof(words));
	cpu->sent++;
	ring(cpu);
}

void net_cpu_post_recv(struct net_cpu *cpu, bool empty)
{
	uint32_t seg[4];

	if (empty)
		set_data(seg, 0, DOCA_GPUNETIO_IB_MLX5_INVALID_LKEY, 0);
	else
		set_data(seg, (uintptr_t)net_cpu_recv_page(cpu, cpu->posted), cpu->mr->lkey, NET_PAGE);
	memcpy(cpu->rq + cpu->posted % NET_SLOTS * 16UL, seg, sizeof(seg));
	cpu->posted++;
	/* the segment before the count that tells of it */
	__atomic_store_n(&cpu->dbr[0], htobe32(cpu->posted & 0xffff), __ATOMIC_RELEASE);
}

/* The completion with an index: 1, 0: not yet, or -errno with tool_why(). */
static int look(const char *ring_at, uint32_t index, unsigned char cqe[64])
{
	const char *at = ring_at + index % NET_SLOTS * 64UL;
	/* the NIC stores these eight last: the rest after them */
	uint64_t last = __atomic_load_n((const uint64_t *)(const void *)(at + 56), __ATOMIC_ACQUIRE);
	unsigned int opcode;

	memcpy(cqe + 56, &last, sizeof(last));
	opcode = cqe[63] >> 4;
	if (opcode == DOCA_GPUNETIO_IB_MLX5_CQE_INVALID || (cqe[63] & 1) != !!(index & NET_SLOTS))
		return 0;
	memcpy(cqe, at, 56);
	if (opcode != DOCA_GPUNETIO_IB_MLX5_CQE_REQ_ERR && opcode != DOCA_GPUNETIO_IB_MLX5_CQE_RESP_ERR)
		return 1;
	return net_signal() ? net_interrupted() :
			      tool_fail(EIO, "Error CQE! request %u: %s", index, bl_net_syndrome_text(cqe[55]));
}

int net_cpu_sent(struct net_cpu *cpu)
{
	unsigned char cqe[64];
	int ret = look(cpu->send_cqe, cpu->send_ci, cqe);

	if (ret > 0)
		cpu->send_ci++;
	return ret;
}

int net_cpu_received(struct net_cpu *cpu, uint32_t *len_p, uint32_t *imm_p)
{
	unsigned char cqe[64];
	uint32_t words[2];
	int ret = look(cpu->recv_cqe, cpu->recv_ci, cqe);

	if (ret <= 0)
		return ret;
	cpu->recv_ci++;
	memcpy(&words[0], cqe + 44, 4);
	memcpy(&words[1], cqe + 36, 4);
	*len_p = be32toh(words[0]);
	*imm_p = be32toh(words[1]);
	return 1;
}
