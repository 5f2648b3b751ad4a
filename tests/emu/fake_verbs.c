// SPDX-License-Identifier: MIT
/* The device, its port and protection domains. */
#include "fake_verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

/* The header makes a macro of it, and the library has a function of the same name. */
#undef ibv_query_port

static struct ibv_device device = { .node_type = IBV_NODE_CA, .transport_type = IBV_TRANSPORT_IB, .name = "fake0" };
static int nr_objects;

bool fake_mode(const char *word)
{
	const char *mode = getenv("FAKE_VERBS");

	return mode && !strcmp(mode, word);
}

void fake_count(int change)
{
	nr_objects += change;
}

static void __attribute__((destructor)) report(void)
{
	if (nr_objects)
		fprintf(stderr, "fake verbs: %d objects are left\n", nr_objects);
}

API struct ibv_device **ibv_get_device_list(int *nr_p)
{
	struct ibv_device **list = calloc(2, sizeof(struct ibv_device *));

	if (!list)
		return NULL;
	if (!fake_mode("none"))
		list[0] = &device;
	if (nr_p)
		*nr_p = list[0] != NULL;
	fake_count(1);
	return list;
}

API void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
	fake_count(-1);
}

API const char *ibv_get_device_name(struct ibv_device *dev)
{
	return dev->name;
}

API struct ibv_context *ibv_open_device(struct ibv_device *dev)
{
	struct ibv_context *context = calloc(1, sizeof(*context));

	if (!context)
		return NULL;
	context->device = dev;
	context->ops.post_send = fake_post_send;
	context->ops.poll_cq = fake_poll_cq;
	fake_count(1);
	return context;
}

API int ibv_close_device(struct ibv_context *context)
{
	free(context);
	fake_count(-1);
	return 0;
}

API int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *compat)
{
	struct ibv_port_attr *attr = (struct ibv_port_attr *)compat;

	if (port != 1)
		return EINVAL;
	attr->state = fake_mode("down") ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
	attr->active_mtu = IBV_MTU_1024;
	attr->link_layer = fake_mode("ib") ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
	attr->lid = fake_mode("ib") ? 7 : 0;
	return 0;
}

API int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	if (port != 1 || index < 0 || index > 1) {
		errno = EINVAL;
		return -1;
	}
	memset(gid, 0, sizeof(*gid));
	gid->raw[0] = 0xfe;
	gid->raw[1] = 0x80;
	gid->raw[15] = (uint8_t)(index + 1);
	return 0;
}

API struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return NULL;
	pd->context = context;
	fake_count(1);
	return pd;
}

API int ibv_dealloc_pd(struct ibv_pd *pd)
{
	free(pd);
	fake_count(-1);
	return 0;
}

API const char *ibv_wc_status_str(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_SUCCESS:
		return "success";
	case IBV_WC_LOC_PROT_ERR:
		return "local protection error";
	case IBV_WC_REM_ACCESS_ERR:
		return "remote access error";
	default:
		return "unknown";
	}
}
