// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/context: " fmt
#include "context.h"

#include <stdlib.h>

#include "barlane_net.h"
#include "net/log.h"

#define context_of(obj) ((struct bl_context *)(obj)) /* the object is its first member */

int bl_context_get(struct ibv_context *ibv, struct bl_context **context_p)
{
	struct bl_object *object;
	int ret;

	if (!ibv)
		return fail(EINVAL, "context NULL");
	bl_fail_hush(1);
	ret = bl_object_get(BL_CONTEXT, ibv, &object);
	bl_fail_hush(-1);
	if (ret == -EINVAL)
		return fail(EOPNOTSUPP,
			    "context %p: not of bl_net_open_device() or closed; devices of other libraries are not served",
			    (void *)ibv);
	if (ret)
		return fail(-ret, "context %p: opened before this process was forked; open one of its own", (void *)ibv);
	*context_p = context_of(object);
	return 0;
}

static int open_nic(struct bl_context *context, const char *name)
{
	const char *device;
	int ret;

	ret = bl_nic_find(name, &context->ops, &device);
	if (ret)
		return ret;
	context->ibv.device = bl_device_of(device);
	if (!context->ibv.device)
		return fail(ENOMEM, "device %s: out of memory", name);
	ret = context->ops->open(device, &context->nic);
	if (ret)
		return ret;
	ret = context->ops->caps(context->nic, &context->caps);
	if (ret)
		context->ops->close(context->nic);
	return ret;
}

struct ibv_context *bl_net_open_device(const char *name)
{
	struct bl_context *context;
	int ret;

	if (!name)
		return bl_null_errno(fail(EINVAL, "open device: no name"));
	context = calloc(1, sizeof(*context));
	if (!context)
		return bl_null_errno(fail(ENOMEM, "device %s: out of memory", name));
	ret = open_nic(context, name);
	if (ret) {
		free(context);
		return bl_null_errno(ret);
	}
	context->ibv.ops = bl_context_ops;
	context->ibv.cmd_fd = -1;
	context->ibv.async_fd = -1;
	context->ibv.num_comp_vectors = 1;
	pthread_mutex_init(&context->ibv.mutex, NULL);
	bl_object_add(&context->object, BL_CONTEXT, &context->ibv, NULL);
	log_info("device %s: open, provider %s", name, context->ops->name);
	return &context->ibv;
}

int bl_net_close_device(struct ibv_context *ibv)
{
	struct bl_context *context;
	struct bl_object *object;
	int ret;

	ret = bl_object_take(BL_CONTEXT, ibv, true, &object);
	if (ret)
		return bl_positive_errno(ret);
	context = context_of(object);
	if (object->forks == bl_object_forks()) {
		context->ops->close(context->nic);
		pthread_mutex_destroy(&context->ibv.mutex);
	} else {
		context->ops->forget(context->nic);
	}
	free(context);
	return 0;
}
