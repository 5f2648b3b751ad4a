// SPDX-License-Identifier: MIT
#include "../context.h"
#include "attr.h"

#define AH(field, type)                                                                                                \
	BL_ATTR_SET(ah_attr, field, type)                                                                              \
	BL_ATTR_GET_AS(ah_attr, ah_get_##field, field, type)

doca_error_t doca_verbs_ah_attr_create(struct ibv_context *ibv, struct doca_verbs_ah_attr **ah_attr_p)
{
	struct bl_context *context;
	int ret;

	if (!ah_attr_p)
		return bl_doca_null(__func__, "ah_attr");
	ret = bl_context_get(ibv, &context);
	if (ret)
		return bl_doca_error(ret);
	bl_context_put(context);
	*ah_attr_p = calloc(1, sizeof(**ah_attr_p));
	return *ah_attr_p ? DOCA_SUCCESS : bl_doca_error(fail(ENOMEM, "%s: out of memory", __func__));
}

BL_ATTR_DESTROY(ah_attr)

AH(addr_type, enum doca_verbs_addr_type)
AH(dlid, uint32_t)
AH(sl, uint8_t)
AH(sgid_index, uint8_t)
AH(static_rate, uint8_t)
AH(hop_limit, uint8_t)
AH(traffic_class, uint8_t)

BL_ATTR_SET(ah_attr, gid, struct doca_verbs_gid)

struct doca_verbs_gid doca_verbs_ah_get_gid(const struct doca_verbs_ah_attr *attr)
{
	if (attr)
		return attr->gid;
	bl_doca_null(__func__, "ah_attr");
	return (struct doca_verbs_gid){ { 0 } };
}
