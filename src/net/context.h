/* SPDX-License-Identifier: MIT */
/* context.h - an open device, and what is made of it in the types of libibverbs */
#ifndef BL_NET_CONTEXT_H
#define BL_NET_CONTEXT_H

#include <errno.h>
#include <stdbool.h>

#include <infiniband/verbs.h>

#include "events.h"
#include "nic.h"
#include "object.h"
#include "regions.h"

/**
 * struct bl_context - a device that a program has open; its key is &ibv
 * @ibv:  what the program has
 * @ops:  provider
 * @nic:  its device
 * @caps: of the device, asked once
 * @events: what the device tells by itself
 * @source: that it is about the port or the device
 * @regions: memory of GPUs that is registered, where caps say that requests may bring bytes from there
 */
struct bl_context {
	struct bl_object object;
	struct ibv_context ibv;
	const struct bl_nic_ops *ops;
	struct bl_nic *nic;
	struct bl_nic_caps caps;
	struct bl_event_queue events;
	struct bl_event_source source;
	struct bl_regions regions;
};

/* A protection domain; its key is &ibv, its parent the context. */
struct bl_pd {
	struct bl_object object;
	struct ibv_pd ibv;
	struct bl_context *context;
	struct bl_nic_pd *nic_pd;
};

/**
 * bl_context_get() - Find out whose context that is
 * @ibv:       context of a program
 * @context_p: receives the context, to be given to bl_context_put()
 *
 * Return: 0; -EOPNOTSUPP for what is no context of this library, -EINVAL for NULL, -EACCES; with the reason.
 */
int bl_context_get(struct ibv_context *ibv, struct bl_context **context_p);

/* Open a device of one provider, by the name that this has for it. NULL: errno, with the reason. */
struct ibv_context *bl_context_open(const struct bl_nic_ops *ops, const char *device);

/* An address of a port, and its kind. Return: 0 or -errno; of an entry that cannot be read nothing is logged. */
int bl_context_gid(struct ibv_context *ibv, uint8_t port, int index, union ibv_gid *gid, enum bl_nic_gid_type *type_p);

static inline void bl_context_put(struct bl_context *context)
{
	bl_object_put(&context->object);
}

/* As bl_context_get(), for a protection domain. */
int bl_pd_get(struct ibv_pd *ibv, struct bl_pd **pd_p);

static inline void bl_pd_put(struct bl_pd *pd)
{
	bl_object_put(&pd->object);
}

/* The table of a context: everything fails with EOPNOTSUPP. */
extern const struct ibv_context_ops bl_context_ops;

/* A device by its name; made once, stays for ever. NULL: no memory. */
struct ibv_device *bl_device_of(const char *name);

/* Whether that is such a device, whatever it points to. */
bool bl_device_is(const struct ibv_device *device);

/* At the edge to libibverbs' ways: -errno to errno and NULL, or to a positive value. */
static inline void *bl_null_errno(int ret)
{
	errno = -ret;
	return NULL;
}

static inline int bl_positive_errno(int ret)
{
	if (ret)
		errno = -ret;
	return -ret;
}

#endif
