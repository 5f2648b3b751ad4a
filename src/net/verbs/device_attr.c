// SPDX-License-Identifier: MIT
#include "../context.h"
#include "attr.h"

struct doca_verbs_device_attr {
	struct bl_nic_caps caps;
};

#define GET(name, field, type) BL_ATTR_GET_AS(device_attr, device_attr_get_##name, caps.field, type)

doca_error_t doca_verbs_query_device(struct ibv_context *ibv, struct doca_verbs_device_attr **device_attr_p)
{
	struct doca_verbs_device_attr *attr;
	struct bl_context *context;
	int ret;

	if (!device_attr_p)
		return bl_doca_null(__func__, "place for the answer");
	ret = bl_context_get(ibv, &context);
	if (ret)
		return bl_doca_error(ret);
	attr = calloc(1, sizeof(*attr));
	if (attr) {
		attr->caps = context->caps;
		*device_attr_p = attr;
	}
	bl_context_put(context);
	return attr ? DOCA_SUCCESS : bl_doca_error(fail(ENOMEM, "%s: out of memory", __func__));
}

doca_error_t doca_verbs_device_attr_free(struct doca_verbs_device_attr *attr)
{
	if (!attr)
		return bl_doca_null(__func__, "device_attr");
	free(attr);
	return DOCA_SUCCESS;
}

GET(max_qp, max_qp, uint32_t)
GET(max_qp_wr, max_qp_wr, uint32_t)
GET(max_sge, max_sge, uint32_t)
GET(max_cq, max_cq, uint32_t)
GET(max_cqe, max_cqe, uint32_t)
GET(max_mr, max_mr, uint32_t)
GET(max_pd, max_pd, uint32_t)
GET(max_ah, max_ah, uint32_t)
GET(max_srq, max_srq, uint32_t)
GET(max_srq_wr, max_srq_wr, uint32_t)
GET(max_srq_sge, max_srq_sge, uint32_t)
GET(max_pkeys, max_pkeys, uint16_t)
GET(max_qp_rd_atom, max_qp_rd_atom, uint8_t)
GET(max_qp_init_rd_atom, max_qp_init_rd_atom, uint8_t)
GET(send_dbr_mode_no_dbr_ext, no_dbrec, uint8_t)

doca_error_t doca_verbs_device_attr_get_is_qp_type_supported(const struct doca_verbs_device_attr *attr,
							     uint32_t qp_type)
{
	if (!attr)
		return bl_doca_null(__func__, "device_attr");
	if ((qp_type == DOCA_VERBS_QP_TYPE_RC && attr->caps.rc) || (qp_type == DOCA_VERBS_QP_TYPE_UC && attr->caps.uc))
		return DOCA_SUCCESS;
	return DOCA_ERROR_NOT_SUPPORTED;
}
