/* SPDX-License-Identifier: MIT */
/* context.h - an open device, and what is made of it in the types of libibverbs */
#ifndef BL_NET_CONTEXT_H
#define BL_NET_CONTEXT_H

#include <errno.h>
#include <stdbool.h>

#include <infiniband/verbs.h>

#include "nic.h"
#include "object.h"

/**
 * struct bl_context - a device that a program has open; its key is &ibv
 * @ibv:  what the program has
 * @ops:  provider
 * @nic:  its device
 * @caps: of the device, asked once
 */
struct bl_context {
	struct bl_object object;
	struct ibv_context ibv;
	const struct bl_nic_ops *ops;
	struct bl_nic *nic;
	struct bl_nic_caps caps;
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
