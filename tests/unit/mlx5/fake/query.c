// SPDX-License-Identifier: MIT
/* QUERY_HCA_CAP and QUERY_QP: the answers. */
#include <endian.h>

#include "model.h"

#define CAP  0x10
#define QPC  0x18
#define ROCE 4

static const struct model_known cap_words[] = { { 0x00, 0xffff0000 }, { 0x04, 0x0000ffff }, { 0, 0 } };

void model_query_cap(const uint8_t *in, uint8_t *out)
{
	uint32_t op_mod = get32(in, 4);

	model_is_clean(in, 16, cap_words);
	if (op_mod == (ROCE << 1 | 1)) {
		put32(out, CAP, fake_mlx5.own_sport ? 0 : 1U << 27);
		put32(out, CAP + 0x18, (uint32_t)FAKE_MAX_SPORT << 16 | FAKE_MIN_SPORT);
		return;
	}
	if (op_mod != 1)
		model_complain("QUERY_HCA_CAP: op_mod 0x%x", op_mod);
	put32(out, CAP + 0x10, (uint32_t)fake_mlx5.log_max_qp_sz << 16 | 16);
	put32(out, CAP + 0x18, (uint32_t)fake_mlx5.log_max_cq_sz << 16 | 15);
	put32(out, CAP + 0x40, (fake_ibv.infiniband ? 0 : 1U << 2) | (fake_mlx5.no_atomic ? 0 : 1U << 1));
	put32(out, CAP + 0x44,
	      (fake_mlx5.no_oi ? 0 : 1U << 31) | (fake_mlx5.no_cd ? 0 : 1U << 19) |
		      (fake_mlx5.no_uc ? 0 : 1U << 1) | 1);
}

uint8_t model_query_qp(struct model_qp *qp, uint8_t *out)
{
	static const uint32_t states[] = {
		[BL_SNIC_RST] = 0, [BL_SNIC_INIT] = 1, [BL_SNIC_RTR] = 2, [BL_SNIC_RTS] = 3, [BL_SNIC_ERR] = 6,
	};
	struct bl_snic_qp_info info;

	if (bl_snic_qp_query(qp->snic, &info))
		return STATUS_BAD_RESOURCE;
	put32(out, QPC, states[info.mod.state] << 28);
	put32(out, QPC + 0xb4, (uint32_t)info.error.wqe_counter << 16);
	return 0;
}

unsigned int fake_mlx5_receives(uint32_t qpn)
{
	uint32_t record = 0;

	model_lock();
	for (struct model_object *object = model_objects; object; object = object->next) {
		if (object->kind == MODEL_QP && object->number == qpn)
			record = ((struct model_qp *)(void *)object)->shown[0];
	}
	model_unlock();
	return be32toh(record);
}
