// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/verbs: " fmt
#include "link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "ask.h"
#include "util/clock.h"
#include "net/gpu.h"
#include "net/log.h"

#define RXE_VENDOR 0xffffff

/* What rdma_rxe gets. */
#define RXE_TIMEOUT 16
#define RXE_RETRIES 6
#define FOREVER	    7

/* How often events of the device are looked for, which is a system call. */
#define EVENT_CHECK_NS 1000000ULL

static int open_context(struct bl_snic_link *link)
{
	struct ibv_device **list = link->ibv->get_device_list(NULL), *device;
	int ret = 0;

	device = bl_ibv_find(link->ibv, list, link->name);
	if (!device) {
		ret = fail(ENODEV, "device %s: libibverbs has it no more", link->name);
	} else {
		errno = 0;
		link->context = link->ibv->open_device(device);
		if (!link->context)
			ret = fail(errno ? errno : EIO, "device %s: ibv_open_device: %s; is /dev/infiniband there, and may it be used?",
				   link->name, strerror(errno ? errno : EIO));
	}
	if (list)
		link->ibv->free_device_list(list);
	return ret;
}

/* Events are asked for when there are some; a call that waits would stop the thread. */
static int set_up_events(struct bl_snic_link *link)
{
	int flags = fcntl(link->context->async_fd, F_GETFL);

	if (flags < 0 || fcntl(link->context->async_fd, F_SETFL, flags | O_NONBLOCK))
		return fail(errno, "device %s: its events: %s", link->name, strerror(errno));
	return 0;
}

/*
 * Seven retries are for ever to rdma_rxe (Linux 6.1, 6.12), as seven RNR retries are to all. Six of 67 ms are over in less
 * than half a second, in which a software NIC may not have got a CPU yet: as long as that waits itself, 2 seconds. Who
 * says in the environment what he wants gets it.
 */
static void set_patience(struct bl_snic_link *link)
{
	bool rxe = link->attr.vendor_id == RXE_VENDOR;

	link->least_timeout = rxe && bl_net_env_number("BARLANE_NET_ACK_TIMEOUT", 0, 31, 32) > 31 ? RXE_TIMEOUT : 0;
	link->most_retries = rxe && bl_net_env_number("BARLANE_NET_RETRIES", 0, 7, 0) < FOREVER ? RXE_RETRIES : FOREVER;
	if (rxe)
		log_debug("device %s: at least 4.096 us << %u before a request is sent again, at most %u times", link->name,
			  link->least_timeout, link->most_retries);
}

static int link_open(const char *name, uint8_t gid[16], struct bl_snic_link **link_p)
{
	struct bl_snic_link *link = calloc(1, sizeof(*link));
	char reason[200];
	int ret;

	if (!link)
		return fail(ENOMEM, "device %s: out of memory", name);
	snprintf(link->name, sizeof(link->name), "%s", name);
	link->ibv = bl_ibv(reason, sizeof(reason));
	if (!link->ibv) {
		ret = fail(EOPNOTSUPP, "device %s: %s", name, reason);
		goto free_link;
	}
	link->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (link->wake < 0) {
		ret = fail(errno, "device %s: eventfd: %s", name, strerror(errno));
		goto free_link;
	}
	ret = open_context(link);
	if (ret)
		goto close_wake;
	ret = set_up_events(link);
	if (!ret) {
		ret = link->ibv->query_device(link->context, &link->attr);
		if (ret)
			ret = fail(ret > 0 ? ret : EIO, "device %s: ibv_query_device: %s", name, strerror(ret > 0 ? ret : EIO));
	}
	if (ret)
		goto close_context;
	/*
	 * rdma_rxe (Linux 6.1, 6.12) counts reads that came after a request as reads before it when that is sent again, and
	 * one with a fence then waits for ever
	 */
	link->holds_fences = link->attr.vendor_id == RXE_VENDOR;
	set_patience(link);
	/* the software NIC only begins its numbers there */
	memset(gid, 0, 16);
	link->ibv->query_gid_old(link->context, 1, 0, (union ibv_gid *)gid);
	*link_p = link;
	return 0;
close_context:
	link->ibv->close_device(link->context);
close_wake:
	close(link->wake);
free_link:
	free(link);
	return ret;
}

static void link_close(struct bl_snic_link *link)
{
	if (link->ibv->close_device(link->context))
		log_warn("device %s: ibv_close_device: %s", link->name, strerror(errno));
	close(link->wake);
	free(link);
}

/* What libibverbs has is the parent's, and its library cannot be called for it here: it stays until this process ends. */
static void link_forget(struct bl_snic_link *link)
{
	close(link->wake);
	free(link);
}

static uint32_t max_payload(struct bl_snic_link *link)
{
	return 4096;
}

/* The device finds the way when the queue pair is moved; the NIC wants a path that it can close. */
static int path_open(struct bl_snic_link *link, const uint8_t gid[16], struct bl_snic_path **path_p)
{
	*path_p = (struct bl_snic_path *)link;
	return 0;
}

static void path_close(struct bl_snic_path *path)
{
}

static int path_state(struct bl_snic_path *path)
{
	return 0;
}

static void *reserve(struct bl_snic_path *path, size_t len)
{
	return NULL;
}

static void commit(struct bl_snic_path *path, const struct bl_packet *packet)
{
}

static void tell_one(struct bl_snic_link *link, const struct ibv_qp *qp, const char *why, uint8_t syndrome)
{
	for (struct bl_carrier *carrier = link->carriers; carrier; carrier = carrier->next) {
		if (qp && carrier->qp != qp)
			continue;
		carrier->event = why;
		carrier->event_syndrome = syndrome;
	}
}

/* Of the device or a port. */
static void tell_all(struct bl_snic_link *link, enum bl_snic_event_type type, int port)
{
	if (link->nr_told < BL_IBV_MAX_TOLD)
		link->told[link->nr_told++] = (struct bl_snic_event){ type, (uint32_t)port };
	else
		log_warn("device %s: more events than are kept: one is lost", link->name);
}

static int link_event(struct bl_snic_link *link, struct bl_snic_event *event)
{
	if (!link->nr_told)
		return 0;
	*event = link->told[0];
	memmove(link->told, link->told + 1, --link->nr_told * sizeof(*event));
	return 1;
}

/* Some devices flush first and tell of the port then. Others go on, in case that it comes back. */
static void tell_flushed(struct bl_snic_link *link, int port)
{
	for (struct bl_carrier *carrier = link->carriers; carrier; carrier = carrier->next) {
		if (!carrier->flush_why || carrier->port != port)
			continue;
		carrier->event = bl_ibv_flaw(carrier);
		carrier->event = carrier->event ? carrier->event : "its port went down";
		carrier->event_syndrome = 0;
	}
}

static void tell_overrun(struct bl_snic_link *link, const struct ibv_cq *cq)
{
	for (struct bl_carrier *carrier = link->carriers; carrier; carrier = carrier->next) {
		if (carrier->cq != cq)
			continue;
		carrier->event = "its completion queue in the device has overrun";
		carrier->event_syndrome = 0;
	}
}

static void take_event(struct bl_snic_link *link, const struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_QP_FATAL:
		tell_one(link, event->element.qp, "an error inside of the device, or of its queues", 0);
		break;
	case IBV_EVENT_QP_REQ_ERR:
		tell_one(link, event->element.qp, "the peer sent a request that is none",
			 BL_SYNDROME_REMOTE_INVALID);
		break;
	case IBV_EVENT_QP_ACCESS_ERR:
		tell_one(link, event->element.qp, "the peer asked for memory or a right that it does not have",
			 BL_SYNDROME_REMOTE_ACCESS);
		break;
	case IBV_EVENT_CQ_ERR:
		log_warn("device %s: a completion queue has overrun", link->name);
		tell_overrun(link, event->element.cq);
		break;
	case IBV_EVENT_DEVICE_FATAL:
		link->broken = true;
		log_warn("device %s: it has failed", link->name);
		tell_all(link, BL_SNIC_DEVICE_FATAL, 0);
		tell_one(link, NULL, "the device has failed, or was removed", 0);
		break;
	case IBV_EVENT_PORT_ERR:
		log_warn("device %s: port %d is down", link->name, event->element.port_num);
		tell_all(link, BL_SNIC_PORT_ERR, event->element.port_num);
		tell_flushed(link, event->element.port_num);
		break;
	case IBV_EVENT_PORT_ACTIVE:
		log_info("device %s: port %d is active", link->name, event->element.port_num);
		tell_all(link, BL_SNIC_PORT_ACTIVE, event->element.port_num);
		break;
	default:
		break;
	}
}

static int link_poll(struct bl_snic_link *link, bl_snic_receive_fn *fn, void *arg, unsigned int budget)
{
	struct ibv_async_event event;
	uint64_t now = bl_now_ns();
	int nr = 0;

	if (now < link->event_check)
		return 0;
	link->event_check = now + EVENT_CHECK_NS;
	while (!link->broken && !link->ibv->get_async_event(link->context, &event)) {
		take_event(link, &event);
		link->ibv->ack_async_event(&event);
		nr++;
	}
	return nr;
}

static void link_wait(struct bl_snic_link *link, uint64_t timeout_ns)
{
	struct pollfd fds[] = {{.fd = link->wake, .events = POLLIN}, {.fd = link->context->async_fd, .events = POLLIN}};
	struct timespec time = {(time_t)(timeout_ns / 1000000000ULL), (long)(timeout_ns % 1000000000ULL)};
	eventfd_t count;

	/* this store before the load of the flag: a kick that sees no sleeper is seen here */
	atomic_store(&link->sleeping, true);
	if (!atomic_exchange(&link->kicked, false) && ppoll(fds, link->broken ? 1 : 2, &time, NULL) > 0 && fds[1].revents)
		link->event_check = 0;
	atomic_store(&link->sleeping, false);
	atomic_store(&link->kicked, false);
	/* nothing to read is as good */
	eventfd_read(link->wake, &count);
}

static void link_kick(struct bl_snic_link *link)
{
	/* this store before the load of the flag, as in link_wait() */
	atomic_store(&link->kicked, true);
	if (atomic_load(&link->sleeping))
		eventfd_write(link->wake, 1);
}

static const struct bl_snic_offload_ops offload = {
	.open = bl_ibv_carrier_open,
	.close = bl_ibv_carrier_close,
	.move = bl_ibv_move,
	.send = bl_ibv_send,
	.receive = bl_ibv_receive,
	.poll = bl_ibv_poll,
	.waits = bl_ibv_waits,
};

const struct bl_snic_transport_ops bl_ibv_transport = {
	.name = "verbs",
	.open = link_open,
	.close = link_close,
	.max_payload = max_payload,
	.path_open = path_open,
	.path_close = path_close,
	.reserve = reserve,
	.commit = commit,
	.poll = link_poll,
	.path_state = path_state,
	.event = link_event,
	.wait = link_wait,
	.kick = link_kick,
	.forget = link_forget,
	.offload = &offload,
};
