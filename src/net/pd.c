// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/pd: " fmt
#include "barlane_net.h"

#include <stdlib.h>

#include "context.h"
#include "net/log.h"

#define pd_of(obj) ((struct bl_pd *)(obj)) /* the object is its first member */

int bl_pd_get(struct ibv_pd *ibv, struct bl_pd **pd_p)
{
	struct bl_object *object;
	int ret;

	ret = bl_object_get(BL_PD, ibv, &object);
	if (ret)
		return ret;
	*pd_p = pd_of(object);
	return 0;
}

static int pd_create(struct bl_context *context, struct bl_pd **pd_p)
{
	struct bl_pd *pd = calloc(1, sizeof(*pd));
	int ret;

	if (!pd)
		return fail(ENOMEM, "out of memory");
	ret = context->ops->pd_create(context->nic, &pd->nic_pd, &pd->ibv.handle);
	if (ret) {
		free(pd);
		return ret;
	}
	pd->context = context;
	pd->ibv.context = &context->ibv;
	bl_object_add(&pd->object, BL_PD, &pd->ibv, &context->object);
	*pd_p = pd;
	return 0;
}

struct ibv_pd *bl_net_alloc_pd(struct ibv_context *ibv)
{
	struct bl_context *context;
	struct bl_pd *pd = NULL;
	int ret;

	ret = bl_context_get(ibv, &context);
	if (ret)
		return bl_null_errno(ret);
	ret = pd_create(context, &pd);
	bl_context_put(context);
	return ret ? bl_null_errno(ret) : &pd->ibv;
}

int bl_net_dealloc_pd(struct ibv_pd *ibv)
{
	struct bl_object *object;
	struct bl_pd *pd;
	int ret;

	ret = bl_object_take(BL_PD, ibv, false, &object);
	if (ret)
		return bl_positive_errno(ret);
	pd = pd_of(object);
	ret = pd->context->ops->pd_destroy(pd->context->nic, pd->nic_pd);
	if (ret) {
		bl_object_untake(object);
		return bl_positive_errno(ret);
	}
	bl_object_free_parent(object);
	free(pd);
	return 0;
}
