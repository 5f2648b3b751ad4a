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

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
