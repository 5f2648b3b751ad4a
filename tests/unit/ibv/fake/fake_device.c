// SPDX-License-Identifier: MIT
/* The devices, their ports, addresses, events and protection domains. */
#include "fake_ibv.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#undef ibv_query_port

#define MAX_EVENTS 16

struct context {
	struct ibv_context ibv;
	struct context *next;
	struct ibv_async_event events[MAX_EVENTS];
	unsigned int nr_events;
};

struct fake_ibv fake_ibv;
struct fake_hooks fake_hooks;
static struct ibv_device devices[] = {
	{ .node_type = IBV_NODE_CA, .transport_type = IBV_TRANSPORT_IB, .name = "fake0" },
	{ .node_type = IBV_NODE_CA, .transport_type = IBV_TRANSPORT_IB, .name = "fake1" },
};
static struct context *contexts;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void fake_lock(void)
{
	pthread_mutex_lock(&lock);
}

void fake_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) void fake_ibv_reset(void)
{
	static const uint8_t link_local[16] = { 0xfe, 0x80, [15] = 1 }, v4[16] = { [10] = 0xff, 0xff, 192, 0, 2, 1 };
	int live = fake_ibv.live;

	fake_ibv = (struct fake_ibv){
		.fail_after = -1, .mtu = IBV_MTU_1024, .max_sge = 8, .max_inline = 64, .max_wr = 512, .nr_gids = 3,
		.status_in = -1, .live = live,
	};
	memcpy(fake_ibv.gids[0].raw, link_local, 16);
	memcpy(fake_ibv.gids[1].raw, v4, 16);
	memcpy(fake_ibv.gids[2].raw, v4, 16);
	fake_ibv.gid_types[0] = IBV_GID_TYPE_ROCE_V2;
	fake_ibv.gid_types[1] = IBV_GID_TYPE_ROCE_V1;
	fake_ibv.gid_types[2] = IBV_GID_TYPE_ROCE_V2;
}

void fake_ibv_hook(const struct fake_hooks *hooks, const char *const names[2])
{
	fake_hooks = *hooks;
	for (int i = 0; i < 2; i++)
		snprintf(devices[i].name, sizeof(devices[i].name), "%s", names[i]);
}

bool fake_fails(const char *call)
{
	bool fails;

	fake_lock();
	fails = fake_ibv.fail_call && !strcmp(fake_ibv.fail_call, call) && !fake_ibv.fail_after--;
	fake_unlock();
	if (fails)
		errno = fake_ibv.fail_errno;
	return fails;
}

void fake_complain(const char *fmt, ...)
{
	va_list args;

	if (*fake_ibv.complaint)
		return;
	va_start(args, fmt);
	vsnprintf(fake_ibv.complaint, sizeof(fake_ibv.complaint), fmt, args);
	va_end(args);
}

struct ibv_device **ibv_get_device_list(int *nr_p)
{
	struct ibv_device **list;

	if (fake_fails("get_device_list"))
		return NULL;
	list = calloc(3, sizeof(*list));
	if (!list)
		return NULL;
	for (int i = 0; i < 2 && !fake_ibv.no_devices; i++)
		list[i] = &devices[i];
	if (nr_p)
		*nr_p = fake_ibv.no_devices ? 0 : 2;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct context *context;

	if (fake_fails("open_device"))
		return NULL;
	context = calloc(1, sizeof(*context));
	if (!context)
		return NULL;
	context->ibv = (struct ibv_context){
		.device = device,
		.ops = { .post_send = fake_post_send, .post_recv = fake_post_recv, .poll_cq = fake_poll_cq },
		.cmd_fd = -1,
		.async_fd = eventfd(0, EFD_SEMAPHORE),
	};
	fake_lock();
	context->next = contexts;
	contexts = context;
	fake_ibv.live++;
	fake_unlock();
	return &context->ibv;
}

int ibv_close_device(struct ibv_context *ibv)
{
	struct context **place = &contexts, *context;

	if (fake_hooks.closed)
		fake_hooks.closed(ibv);
	fake_lock();
	while (*place && &(*place)->ibv != ibv)
		place = &(*place)->next;
	context = *place;
	if (!context) {
		fake_complain("ibv_close_device: not open");
		fake_unlock();
		return -1;
	}
	*place = context->next;
	fake_ibv.live--;
	fake_unlock();
	close(ibv->async_fd);
	free(context);
	return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	if (fake_fails("query_device"))
		return errno;
	*attr = (struct ibv_device_attr){
		.vendor_id = fake_ibv.vendor,
		.max_qp = 128,
		.max_qp_wr = fake_ibv.max_wr,
		.max_sge = fake_ibv.max_sge,
		.max_cq = 128,
		.max_cqe = 65536,
		.max_mr = 1024,
		.max_pd = 128,
		.max_qp_rd_atom = 16,
		.max_qp_init_rd_atom = 16,
		.atomic_cap = fake_ibv.no_atomics ? IBV_ATOMIC_NONE : IBV_ATOMIC_HCA,
		.phys_port_cnt = 1,
	};
	return 0;
}

int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *compat)
{
	const struct ibv_port_attr attr = {
		.state = fake_get(port_down) ? IBV_PORT_DOWN : IBV_PORT_ACTIVE,
		.max_mtu = IBV_MTU_4096,
		.active_mtu = fake_ibv.mtu,
		.gid_tbl_len = fake_ibv.nr_gids,
		.pkey_tbl_len = 1,
		.link_layer = fake_ibv.infiniband ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET,
	};

	if (fake_fails("query_port"))
		return errno;
	if (port != 1)
		return EINVAL;
	memcpy(compat, &attr, offsetof(struct ibv_port_attr, port_cap_flags2));
	return 0;
}

int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	if (port != 1 || index < 0 || index >= fake_ibv.nr_gids || fake_ibv.gid_types[index] == 0xff) {
		errno = ENODATA;
		return -1;
	}
	if (!fake_hooks.gid || !fake_hooks.gid(context, gid))
		*gid = fake_ibv.gids[index];
	return 0;
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index, struct ibv_gid_entry *entry,
		      uint32_t flags, size_t size)
{
	if (flags || size != sizeof(*entry))
		return EINVAL;
	*entry = (struct ibv_gid_entry){ .gid_index = index, .port_num = port, .ndev_ifindex = fake_ibv.interface };
	if (ibv_query_gid(context, (uint8_t)port, (int)index, &entry->gid))
		return ENODATA;
	entry->gid_type = fake_ibv.gid_types[index];
	return 0;
}

void fake_push_event(struct ibv_context *ibv, const struct ibv_async_event *event)
{
	struct context *context = (struct context *)ibv;

	if (context->nr_events == MAX_EVENTS)
		return;
	context->events[context->nr_events++] = *event;
	eventfd_write(ibv->async_fd, 1);
}

void fake_ibv_event(uint32_t qpn, enum ibv_event_type type)
{
	struct ibv_async_event event = { .event_type = type, .element.port_num = 1 };

	fake_lock();
	for (struct fake_qp *qp = fake_qps; qp && qpn; qp = qp->next) {
		if (qp->ibv.qp_num != qpn)
			continue;
		event.element.qp = &qp->ibv;
		fake_push_event(qp->ibv.context, &event);
	}
	for (struct context *context = contexts; context && !qpn; context = context->next)
		fake_push_event(&context->ibv, &event);
	fake_unlock();
}

int ibv_get_async_event(struct ibv_context *ibv, struct ibv_async_event *event)
{
	struct context *context = (struct context *)ibv;
	eventfd_t one;

	if (eventfd_read(ibv->async_fd, &one))
		return -1;
	fake_lock();
	*event = context->events[0];
	context->nr_events--;
	memmove(context->events, context->events + 1, context->nr_events * sizeof(context->events[0]));
	fake_ibv.live++;
	fake_unlock();
	return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	fake_lock();
	fake_ibv.live--;
	fake_unlock();
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd;

	if (fake_fails("alloc_pd"))
		return NULL;
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	pd->context = context;
	fake_lock();
	fake_ibv.live++;
	fake_unlock();
	return pd;
}

/* @handle counts users. */
int ibv_dealloc_pd(struct ibv_pd *pd)
{
	fake_lock();
	if (pd->handle) {
		fake_complain("ibv_dealloc_pd: %u users are left", pd->handle);
		fake_unlock();
		return EBUSY;
	}
	fake_ibv.live--;
	fake_unlock();
	if (fake_hooks.pd_gone)
		fake_hooks.pd_gone(pd);
	free(pd);
	return 0;
}

/* Nobody is where no way leads to: fd00::dead. */
struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	static const uint8_t nobody[16] = { 0xfd, [14] = 0xde, 0xad };
	struct fake_ah *ah;

	if (fake_fails("create_ah"))
		return NULL;
	if (attr->port_num != 1 || !attr->is_global || attr->grh.sgid_index >= fake_ibv.nr_gids) {
		errno = EINVAL;
		return NULL;
	}
	if (!memcmp(attr->grh.dgid.raw, nobody, sizeof(nobody))) {
		errno = EHOSTUNREACH;
		return NULL;
	}
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;
	*ah = (struct fake_ah){ .ibv = { .context = pd->context, .pd = pd }, .attr = *attr };
	fake_lock();
	fake_ibv.ah = *attr;
	fake_ibv.live++;
	pd->handle++;
	fake_unlock();
	return &ah->ibv;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	fake_lock();
	fake_ibv.live--;
	ah->pd->handle--;
	fake_unlock();
	free(ah);
	return 0;
}
