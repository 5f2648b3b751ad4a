// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/context: " fmt
#include "context.h"

#include <stdio.h>
#include <stdlib.h>

#include "barlane.h"
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

static int open_nic(struct bl_context *context, const struct bl_nic_ops *ops, const char *device)
{
	int ret;

	context->ops = ops;
	context->ibv.device = bl_device_of(device);
	if (!context->ibv.device)
		return fail(ENOMEM, "device %s: out of memory", device);
	ret = ops->open(device, &context->nic);
	if (ret)
		return ret;
	ret = ops->caps(context->nic, &context->caps);
	if (ret)
		ops->close(context->nic);
	return ret;
}

/* By the first provider that has it and can open it. That others cannot is news, but no failure. */
static int open_any(struct bl_context *context, const char *name)
{
	const struct bl_nic_ops *ops, *next;
	const char *device, *again;
	bool is_last;
	char why[300];
	int ret;

	ret = bl_nic_find(name, NULL, &ops, &device);
	if (ret)
		return ret;
	for (;; ops = next) {
		is_last = bl_nic_find(name, ops, &next, &again);
		bl_fail_hush(!is_last);
		ret = open_nic(context, ops, device);
		bl_fail_hush(-!is_last);
		if (!ret || is_last)
			return ret;
		snprintf(why, sizeof(why), "%s", bl_last_error(NULL));
		log_warn("device %s: not by provider %s: %s; now by provider %s", name, ops->name, why, next->name);
	}
}

static struct ibv_context *publish(struct bl_context *context)
{
	context->ibv.ops = bl_context_ops;
	context->ibv.cmd_fd = -1;
	context->ibv.async_fd = context->events.fd;
	context->ibv.num_comp_vectors = 1;
	pthread_mutex_init(&context->ibv.mutex, NULL);
	bl_object_add(&context->object, BL_CONTEXT, &context->ibv, NULL);
	context->source = (struct bl_event_source){ .nic = context->nic, .kind = BL_CONTEXT, .key = &context->ibv,
						    .queue = &context->events };
	bl_events_add(&context->source);
	log_info("device %s: open, provider %s", context->ibv.device->name, context->ops->name);
	return &context->ibv;
}

/* @ops: NULL: any provider */
static struct ibv_context *open_one(const struct bl_nic_ops *ops, const char *name)
{
	struct bl_context *context = calloc(1, sizeof(*context));
	int ret;

	if (!context)
		return bl_null_errno(fail(ENOMEM, "device %s: out of memory", name));
	ret = bl_events_open(&context->events);
	if (ret)
		goto free_context;
	ret = ops ? open_nic(context, ops, name) : open_any(context, name);
	if (!ret) {
		bl_regions_begin(&context->regions);
		return publish(context);
	}
	bl_events_close(&context->events);
free_context:
	free(context);
	return bl_null_errno(ret);
}

struct ibv_context *bl_context_open(const struct bl_nic_ops *ops, const char *device)
{
	return open_one(ops, device);
}

struct ibv_context *bl_net_open_device(const char *name)
{
	if (!name)
		return bl_null_errno(fail(EINVAL, "open device: no name"));
	return open_one(NULL, name);
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
	/* nothing more is told of it; the NIC may be another context's too */
	bl_events_close(&context->events);
	if (object->forks == bl_object_forks()) {
		context->ops->close(context->nic);
		pthread_mutex_destroy(&context->ibv.mutex);
	} else {
		context->ops->forget(context->nic);
	}
	bl_regions_end(&context->regions);
	free(context);
	return 0;
}
