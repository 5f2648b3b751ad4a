// SPDX-License-Identifier: MIT
#include "attr.h"

BL_ATTR_CREATE(qp_init_attr)
BL_ATTR_DESTROY(qp_init_attr)

BL_ATTR(qp_init_attr, pd, struct ibv_pd *)
BL_ATTR(qp_init_attr, send_cq, struct doca_verbs_cq *)
BL_ATTR(qp_init_attr, receive_cq, struct doca_verbs_cq *)
BL_ATTR(qp_init_attr, srq, struct doca_verbs_srq *)
BL_ATTR(qp_init_attr, sq_sig_all, int)
BL_ATTR(qp_init_attr, sq_wr, uint32_t)
BL_ATTR(qp_init_attr, rq_wr, uint32_t)
BL_ATTR(qp_init_attr, send_max_sges, uint32_t)
BL_ATTR(qp_init_attr, receive_max_sges, uint32_t)
BL_ATTR(qp_init_attr, max_inline_data, uint32_t)
BL_ATTR_MAX(qp_init_attr, user_index, uint32_t, 0xffffffU)
BL_ATTR(qp_init_attr, qp_type, uint32_t)
BL_ATTR(qp_init_attr, qp_context, void *)
BL_ATTR_MAX(qp_init_attr, core_direct_master, uint8_t, 1)
BL_ATTR(qp_init_attr, send_dbr_mode, enum doca_verbs_qp_send_dbr_mode)
BL_ATTR(qp_init_attr, emulate_no_dbr_ext, bool)
BL_ATTR_SET_MAX(qp_init_attr, external_datapath_en, uint8_t, 1)

BL_ATTR_SET_UMEM(qp_init_attr, external_umem, external_umem)
BL_ATTR_GET_UMEM(qp_init_attr)
BL_ATTR_SET_UMEM(qp_init_attr, external_dbr_umem, external_dbr_umem)
BL_ATTR_SET_UMEM(qp_init_attr, external_umem_dbr, external_dbr_umem)

BL_ATTR_SET(qp_init_attr, external_uar, struct doca_verbs_uar *)

doca_error_t doca_verbs_qp_init_attr_get_external_uar(const struct doca_verbs_qp_init_attr *attr,
						      struct doca_verbs_uar **uar_p)
{
	if (!attr || !uar_p)
		return bl_doca_null(__func__, !attr ? "qp_init_attr" : "place for the answer");
	*uar_p = attr->external_uar;
	return DOCA_SUCCESS;
}
