// SPDX-License-Identifier: MIT
#include "attr.h"

BL_ATTR_CREATE(cq_attr)
BL_ATTR_DESTROY(cq_attr)

BL_ATTR_SET(cq_attr, cq_size, uint32_t)
BL_ATTR_SET(cq_attr, cq_context, void *)
BL_ATTR_SET_UMEM(cq_attr, external_umem, external_umem)
BL_ATTR_SET_UMEM(cq_attr, external_dbr_umem, external_dbr_umem)
BL_ATTR_SET_UMEM(cq_attr, external_umem_dbr, external_dbr_umem)
BL_ATTR_SET(cq_attr, external_uar, struct doca_verbs_uar *)
BL_ATTR_SET(cq_attr, cq_overrun, enum doca_verbs_cq_overrun)
BL_ATTR_SET_MAX(cq_attr, cq_collapsed, uint8_t, 1)
BL_ATTR_SET_MAX(cq_attr, external_datapath_en, uint8_t, 1)

doca_error_t doca_verbs_cq_attr_set_entry_size(struct doca_verbs_cq_attr *attr, uint8_t entry_size)
{
	if (!attr)
		return bl_doca_null(__func__, "cq_attr");
	if (entry_size != DOCA_VERBS_CQ_ENTRY_SIZE_64)
		return bl_doca_error(fail(EINVAL, "%s: %u bytes; entries have 64", __func__, entry_size));
	attr->entry_size = entry_size;
	return DOCA_SUCCESS;
}
