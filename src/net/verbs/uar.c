// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/uar: " fmt
#include "objects.h"

#define uar_of(obj) ((struct doca_verbs_uar *)(obj)) /* the object is its first member */

int bl_uar_get(struct doca_verbs_uar *key, const struct bl_context *context, struct doca_verbs_uar **uar_p)
{
	struct bl_object *object;
	int ret;

	ret = bl_object_get(BL_UAR, key, &object);
	if (ret)
		return ret;
	if (context && uar_of(object)->context->nic != context->nic) {
		bl_object_put(object);
		return fail(EINVAL, "UAR %p: of another device", (void *)key);
	}
	*uar_p = uar_of(object);
	return 0;
}

static int create(struct bl_context *context, enum doca_verbs_uar_allocation_type type, struct doca_verbs_uar **uar_p)
{
	struct doca_verbs_uar *uar = calloc(1, sizeof(*uar));
	int ret;

	if (!uar)
		return fail(ENOMEM, "out of memory");
	ret = context->ops->uar_create(context->nic, type, &uar->nic_uar, &uar->info);
	if (ret) {
		free(uar);
		return ret;
	}
	uar->context = context;
	bl_object_add(&uar->object, BL_UAR, uar, &context->object);
	*uar_p = uar;
	return 0;
}

doca_error_t doca_verbs_uar_create(struct ibv_context *ibv, enum doca_verbs_uar_allocation_type allocation_type,
				   struct doca_verbs_uar **uar_p)
{
	struct bl_context *context;
	int ret;

	if (!uar_p)
		return bl_doca_null(__func__, "place for the UAR");
	if ((unsigned int)allocation_type > DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE_DEDICATED)
		return bl_doca_error(fail(EINVAL, "allocation type %d: there is none", (int)allocation_type));
	ret = bl_context_get(ibv, &context);
	if (ret)
		return bl_doca_error(ret);
	ret = create(context, allocation_type, uar_p);
	bl_context_put(context);
	return bl_doca_error(ret);
}

doca_error_t doca_verbs_uar_destroy(struct doca_verbs_uar *key)
{
	struct bl_object *object;
	struct doca_verbs_uar *uar;
	int ret;

	ret = bl_object_take(BL_UAR, key, false, &object);
	if (ret)
		return bl_doca_error(ret);
	uar = uar_of(object);
	ret = uar->context->ops->uar_destroy(uar->context->nic, uar->nic_uar);
	if (ret) {
		bl_object_untake(object);
		return bl_doca_error(ret);
	}
	bl_object_free_parent(object);
	free(uar);
	return DOCA_SUCCESS;
}

/* What a getter takes a value from, when there is a place for it. */
static doca_error_t look(const char *function, const struct doca_verbs_uar *key, const void *place,
			 struct bl_nic_uar_info *info)
{
	struct doca_verbs_uar *uar;
	int ret;

	if (!place)
		return bl_doca_null(function, "place for the answer");
	ret = bl_uar_get((struct doca_verbs_uar *)(uintptr_t)key, NULL, &uar);
	if (ret)
		return bl_doca_error(ret);
	*info = uar->info;
	bl_object_put(&uar->object);
	return DOCA_SUCCESS;
}

doca_error_t doca_verbs_uar_id_get(const struct doca_verbs_uar *key, uint32_t *uar_id)
{
	struct bl_nic_uar_info info = { 0 };
	doca_error_t ret = look(__func__, key, uar_id, &info);

	if (!ret)
		*uar_id = info.id;
	return ret;
}

doca_error_t doca_verbs_uar_reg_addr_get(const struct doca_verbs_uar *key, void **reg_addr)
{
	struct bl_nic_uar_info info = { 0 };
	doca_error_t ret = look(__func__, key, reg_addr, &info);

	if (!ret)
		*reg_addr = info.db;
	return ret;
}

doca_error_t doca_verbs_uar_dbr_less_addr_get(const struct doca_verbs_uar *key, void **dbr_less_addr)
{
	struct bl_nic_uar_info info = { 0 };
	doca_error_t ret = look(__func__, key, dbr_less_addr, &info);

	if (!ret)
		*dbr_less_addr = info.no_dbrec_db;
	return ret;
}
