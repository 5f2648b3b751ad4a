/* SPDX-License-Identifier: MIT */
/*
 * verbs.h - provider "verbs": a software NIC whose requests an RDMA device carries
 *
 * Kernels write the queues of mlx5; a thread of this process takes them from there, gives them to the device through
 * libibverbs, and writes completions of mlx5. So any RDMA device serves, at the price of a CPU.
 */
#ifndef BL_NET_IBV_VERBS_H
#define BL_NET_IBV_VERBS_H

#include "link.h"
#include "net/soft.h"

/* A protection domain of both. */
struct bl_nic_pd {
	struct bl_snic_pd *snic;
	struct ibv_pd *ibv;
};

/* device.c */
int bl_ibv_probe(char *reason, size_t size);
size_t bl_ibv_devices(const char **names, size_t nr);
int bl_ibv_open(const char *device, struct bl_nic **nic_p);
void bl_ibv_close(struct bl_nic *nic);

/* query.c */
int bl_ibv_caps(struct bl_nic *nic, struct bl_nic_caps *caps);
int bl_ibv_port_info(struct bl_nic *nic, uint8_t port, struct bl_nic_port *info);
int bl_ibv_gid(struct bl_nic *nic, uint8_t port, unsigned int index, uint8_t gid[BL_NIC_GID_LEN],
	       enum bl_nic_gid_type *type_p);

/* mr.c */
int bl_ibv_mr_create(struct bl_nic *nic, struct bl_nic_pd *pd, const struct bl_nic_memory *memory, uint64_t iova,
		     struct bl_nic_mr **mr_p, uint32_t *lkey_p, uint32_t *rkey_p);
int bl_ibv_mr_destroy(struct bl_nic *nic, struct bl_nic_mr *mr);

static inline struct bl_snic_link *bl_ibv_link(struct bl_nic *nic)
{
	return bl_snic_link(nic->snic);
}

#endif
