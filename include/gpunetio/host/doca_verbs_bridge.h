/* SPDX-License-Identifier: MIT */
/**
 * DOC: doca_verbs_bridge.h - names of the full DOCA SDK for objects of libibverbs
 *
 * The SDK wraps devices, contexts and domains into objects of its own. Here they are the same thing: these names stand
 * for the types of libibverbs, so that sources written for the SDK meet the functions of doca_verbs.h.
 */
#ifndef DOCA_VERBS_BRIDGE_H
#define DOCA_VERBS_BRIDGE_H

#include "doca_verbs.h"

#define doca_verbs_context ibv_context
#define doca_verbs_pd	   ibv_pd
#define doca_dev	   ibv_context

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/** DOCA_VERBS_CONTEXT_CREATE_FLAGS_NONE - the only flags that doca_verbs_bridge_verbs_context_create() takes */
#define DOCA_VERBS_CONTEXT_CREATE_FLAGS_NONE 0

/**
 * doca_verbs_bridge_verbs_context_create() - Open a device
 * @device:	  of bl_net_device_list()
 * @flags:	  DOCA_VERBS_CONTEXT_CREATE_FLAGS_NONE
 * @verbs_context: receives its context, to be closed with doca_verbs_context_destroy()
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_NOT_SUPPORTED (not a device of this library),
 * DOCA_ERROR_NO_MEMORY, DOCA_ERROR_DRIVER.
 */
doca_error_t doca_verbs_bridge_verbs_context_create(struct ibv_device *device, uint32_t flags,
						    struct doca_verbs_context **verbs_context);

/**
 * doca_verbs_context_destroy() - Close a device
 * @verbs_context: context
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_IN_USE (something made with it is left).
 */
doca_error_t doca_verbs_context_destroy(struct doca_verbs_context *verbs_context);

/**
 * doca_verbs_pd_create() - New protection domain
 * @verbs_context: device
 * @verbs_pd:	   receives the domain
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_NOT_SUPPORTED, DOCA_ERROR_NO_MEMORY.
 */
doca_error_t doca_verbs_pd_create(struct doca_verbs_context *verbs_context, struct doca_verbs_pd **verbs_pd);

/**
 * doca_verbs_pd_destroy() - Free a protection domain
 * @verbs_pd: domain
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_IN_USE.
 */
doca_error_t doca_verbs_pd_destroy(struct doca_verbs_pd *verbs_pd);

/**
 * doca_verbs_bridge_verbs_pd_get_ibv_pd() - Domain of libibverbs that a domain is
 * @verbs_pd: domain
 * @pd:	      receives it
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_bridge_verbs_pd_get_ibv_pd(const struct doca_verbs_pd *verbs_pd, struct ibv_pd **pd);

/**
 * doca_verbs_dev_open() - Device of a protection domain; a name of release 3
 * @pd:	 domain
 * @dev: receives the device, which is the context of @pd; it stays open as long as that is
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_NOT_SUPPORTED.
 */
doca_error_t doca_verbs_dev_open(struct ibv_pd *pd, struct doca_dev **dev);

/**
 * doca_verbs_dev_close() - Undo doca_verbs_dev_open()
 * @dev: device; its context stays open
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_NOT_SUPPORTED.
 */
doca_error_t doca_verbs_dev_close(struct doca_dev *dev);

/** enum doca_verbs_event_type - What a device tells by itself; the numbers are those of libibverbs */
enum doca_verbs_event_type {
	DOCA_VERBS_EVENT_CQ_ERR = 0,	    /* a completion found no room in @element.cq, and is lost */
	DOCA_VERBS_EVENT_QP_FATAL = 1,	    /* @element.qp has moved to ERR, which nobody asked for */
	DOCA_VERBS_EVENT_QP_REQ_ERR = 2,    /* the same, for a request of the peer that is none */
	DOCA_VERBS_EVENT_QP_ACCESS_ERR = 3, /* the same, for one that asked for memory or a right that it does not have */
	DOCA_VERBS_EVENT_DEVICE_FATAL = 8,  /* the device has failed, or is gone */
	DOCA_VERBS_EVENT_PORT_ACTIVE = 9,   /* @element.port_num can be used */
	DOCA_VERBS_EVENT_PORT_ERR = 10	    /* @element.port_num cannot */
};

/**
 * struct doca_verbs_async_event - something that a device tells by itself
 * @element:	what it is about: as @event_type says; @port_num is 0 where that is the device
 * @event_type: what happened
 * @context:	of the device
 */
struct doca_verbs_async_event {
	union {
		struct doca_verbs_cq *cq;
		struct doca_verbs_qp *qp;
		int port_num;
	} element;
	enum doca_verbs_event_type event_type;
	struct doca_verbs_context *context;
};

/**
 * doca_verbs_get_async_event() - Take the oldest event of a context
 * @verbs_context: context
 * @event:	   receives the event, to be given to doca_verbs_ack_async_event()
 *
 * Waits for one, unless the context's async_fd was made non-blocking with fcntl(). That descriptor is readable while there
 * is an event: it can be polled, and must not be read. bl_net_get_async_event() waits for a time, and
 * bl_net_stop_async_events() ends all waits. Several threads may wait: each event goes to one of them. Events of an object
 * that is destroyed before they are taken are dropped.
 *
 * A queue pair that moves to ERR by itself tells so once, also where a completion tells it. Of several contexts of one
 * port each has the events of its own objects, and all have those of port and device.
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_NOT_SUPPORTED, DOCA_ERROR_NOT_PERMITTED, DOCA_ERROR_AGAIN
 * (there is none, or a signal came), DOCA_ERROR_SHUTDOWN.
 */
doca_error_t doca_verbs_get_async_event(struct doca_verbs_context *verbs_context, struct doca_verbs_async_event *event);

/**
 * doca_verbs_ack_async_event() - Be done with an event
 * @event: of doca_verbs_get_async_event()
 *
 * Until then its queue pair or completion queue, or the context of one that is about neither, cannot be destroyed:
 * DOCA_ERROR_IN_USE. In libibverbs such a destruction waits.
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE (it was not taken, or is acknowledged already).
 */
doca_error_t doca_verbs_ack_async_event(struct doca_verbs_async_event *event);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
