// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/verbs: " fmt
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "ask.h"
#include "verbs.h"
#include "net/log.h"

int bl_ibv_probe(char *reason, size_t size)
{
	const struct bl_ibv *ibv = bl_ibv(reason, size);
	struct ibv_device **list;
	int nr = 0;

	if (!ibv)
		return -EOPNOTSUPP;
	errno = 0;
	list = ibv->get_device_list(&nr);
	if (list)
		ibv->free_device_list(list);
	if (!nr) {
		snprintf(reason, size, "no RDMA device: libibverbs finds none%s",
			 list ? "; are its kernel modules loaded, and is /dev/infiniband there?" : "");
		return -ENODEV;
	}
	snprintf(reason, size, "%d RDMA device%s; a CPU posts what kernels write", nr, nr == 1 ? "" : "s");
	return 0;
}

size_t bl_ibv_devices(const char **names, size_t nr)
{
	return bl_ibv_names(NULL, names, nr);
}

int bl_ibv_open(const char *device, struct bl_nic **nic_p)
{
	struct bl_snic_attr attr = { 0 };
	struct bl_snic_fault fault;
	struct bl_nic *nic;
	int ret;

	ret = bl_soft_env(&attr, &fault);
	if (ret)
		return ret;
	if (attr.fault)
		log_warn("device %s: faults are of the software NIC's wire, and not injected here", device);
	attr.name = device;
	attr.transport = &bl_ibv_transport;
	attr.fault = NULL;
	attr.mtu = 0;
	nic = calloc(1, sizeof(*nic));
	if (!nic)
		return fail(ENOMEM, "device %s: out of memory", device);
	bl_soft_events(nic, &attr);
	ret = bl_snic_open(&attr, &nic->snic);
	if (ret) {
		free(nic);
		return ret;
	}
	nic->name = device;
	nic->has_lids = true;
	*nic_p = nic;
	return 0;
}

/* In a child bl_snic_close() frees memory only. */
void bl_ibv_close(struct bl_nic *nic)
{
	bl_snic_close(nic->snic);
	free(nic);
}
