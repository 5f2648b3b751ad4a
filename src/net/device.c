// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/device: " fmt
#include "barlane_net.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "net/log.h"

/**
 * struct known - a device as libibverbs describes one
 *
 * They are few and never freed, so that a program may keep what a list gave it.
 */
struct known {
	struct ibv_device ibv;
	struct known *next;
};

static struct known *_Atomic first;

static struct known *look_up(struct known *known, const char *name)
{
	for (; known; known = known->next) {
		if (!strcmp(known->ibv.name, name))
			return known;
	}
	return NULL;
}

/* Without a lock, so that a child finds nothing half-way: an entry is complete when it is linked. */
struct ibv_device *bl_device_of(const char *name)
{
	struct known *known = look_up(atomic_load(&first), name), *fresh, *head;

	if (known)
		return &known->ibv;
	fresh = calloc(1, sizeof(*fresh));
	if (!fresh)
		return NULL;
	fresh->ibv.node_type = IBV_NODE_CA;
	fresh->ibv.transport_type = IBV_TRANSPORT_IB;
	snprintf(fresh->ibv.name, sizeof(fresh->ibv.name), "%s", name);
	snprintf(fresh->ibv.dev_name, sizeof(fresh->ibv.dev_name), "%s", name);
	head = atomic_load(&first);
	do {
		/* another thread may have been faster: nothing that was linked since may be the same device */
		known = look_up(head, name);
		if (known) {
			free(fresh);
			return &known->ibv;
		}
		fresh->next = head;
	} while (!atomic_compare_exchange_strong(&first, &head, fresh));
	return &fresh->ibv;
}

bool bl_device_is(const struct ibv_device *device)
{
	for (struct known *known = atomic_load(&first); known; known = known->next) {
		if (&known->ibv == device)
			return true;
	}
	return false;
}

/**
 * struct listing - a list while it is made
 * @devices: with room for one more, ended by NULL
 */
struct listing {
	struct ibv_device **devices;
	size_t nr;
};

static int list_one(const struct bl_nic_ops *ops, const char *name, void *arg)
{
	struct listing *listing = arg;
	struct ibv_device *device = bl_device_of(name), **devices;

	if (!device)
		return -ENOMEM;
	/* a device may be served by several providers */
	for (size_t i = 0; i < listing->nr; i++) {
		if (listing->devices[i] == device)
			return 0;
	}
	devices = realloc(listing->devices, (listing->nr + 2) * sizeof(*devices));
	if (!devices)
		return -ENOMEM;
	listing->devices = devices;
	devices[listing->nr] = device;
	devices[++listing->nr] = NULL;
	return 0;
}

struct ibv_device **bl_net_device_list(int *nr_p)
{
	struct listing listing = { calloc(1, sizeof(*listing.devices)), 0 };
	int ret = listing.devices ? bl_nic_each(list_one, &listing) : -ENOMEM;

	if (ret) {
		free(listing.devices);
		if (ret == -ENOMEM)
			fail(ENOMEM, "list of devices: out of memory");
		return bl_null_errno(ret);
	}
	if (nr_p)
		*nr_p = (int)listing.nr;
	return listing.devices;
}

void bl_net_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *bl_net_device_name(struct ibv_device *device)
{
	if (bl_device_is(device))
		return device->name;
	return bl_null_errno(fail(EINVAL, "device %p: not of this library", (void *)device));
}
