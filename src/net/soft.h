/* SPDX-License-Identifier: MIT */
/* soft.h - provider "soft": software NICs of this process, softnic/snic.h */
#ifndef BL_NET_SOFT_H
#define BL_NET_SOFT_H

#include "nic.h"
#include "reach.h"
#include "softnic/snic.h"

/**
 * struct bl_nic - a port that is open
 * @name:  "soft0", "soft1", "soft_" and an interface
 * @snic:  the NIC, NULL while nobody has it open
 * @users: how often it is open
 * @forks: when it was opened
 * @has_lids: a queue pair may have a peer without address, by its local identifier
 */
struct bl_nic {
	const char *name;
	struct bl_snic *snic;
	unsigned int users;
	unsigned int forks;
	bool has_lids;
};

size_t bl_soft_devices(const char **names, size_t nr);
int bl_soft_open(const char *device, struct bl_nic **nic_p);
void bl_soft_close(struct bl_nic *nic);
void bl_soft_forget(struct bl_nic *nic);

/* Whether a name is that of a NIC on a network interface. */
bool bl_soft_is_wire(const char *name);

/**
 * bl_soft_env() - What the environment says of software NICs
 * @attr:  receives it: BARLANE_SNIC_MTU, _TIMEOUT_FLOOR_MS, _CPU, _SPIN_US
 * @fault: receives BARLANE_SNIC_FAULT; @attr->fault points here when there is one
 *
 * Return: 0 or -EINVAL with the reason.
 */
int bl_soft_env(struct bl_snic_attr *attr, struct bl_snic_fault *fault);

/* @attr->event and @attr->event_arg: what the NIC tells goes to the contexts of @nic. */
void bl_soft_events(struct bl_nic *nic, struct bl_snic_attr *attr);

/* Memory of the program as the NIC takes it. @reach stays in place as long as that is used. */
void bl_soft_mem(struct bl_reach *reach, struct bl_snic_mem *mem);

/* A umem: nothing but memory; queues name it. */
struct bl_nic_umem {
	struct bl_reach reach;
};

/**
 * struct bl_nic_qp - a queue pair
 * @access: as the NIC has it; it takes it at certain moves only
 * @mod:    the last move, from which those are built that a program makes in one and the NIC in several
 */
struct bl_nic_qp {
	struct bl_snic_qp *qp;
	unsigned int access;
	struct bl_snic_qp_mod mod;
};

int bl_soft_umem_create(struct bl_nic *nic, const struct bl_nic_memory *memory, struct bl_nic_umem **umem_p,
			uint32_t *id_p);
int bl_soft_umem_destroy(struct bl_nic *nic, struct bl_nic_umem *umem);
void *bl_soft_umem_cpu(struct bl_nic_umem *umem);
int bl_soft_uar_create(struct bl_nic *nic, enum doca_verbs_uar_allocation_type type, struct bl_nic_uar **uar_p,
		       struct bl_nic_uar_info *info);
int bl_soft_uar_destroy(struct bl_nic *nic, struct bl_nic_uar *uar);
void bl_soft_kick(struct bl_nic *nic);

int bl_soft_cq_create(struct bl_nic *nic, const struct bl_nic_cq_attr *attr, struct bl_nic_cq **cq_p, uint32_t *num_p);
int bl_soft_cq_destroy(struct bl_nic *nic, struct bl_nic_cq *cq);
int bl_soft_srq_create(struct bl_nic *nic, struct bl_nic_pd *pd, const struct bl_nic_srq_attr *attr,
		       struct bl_nic_srq **srq_p, uint32_t *num_p);
int bl_soft_srq_destroy(struct bl_nic *nic, struct bl_nic_srq *srq);
int bl_soft_qp_create(struct bl_nic *nic, struct bl_nic_pd *pd, const struct bl_nic_qp_attr *attr,
		      struct bl_nic_qp **qp_p, uint32_t *num_p);
/* @domain: of the NIC's transport, where that carries whole requests */
int bl_soft_qp_make(struct bl_nic *nic, struct bl_snic_pd *pd, void *domain, const struct bl_nic_qp_attr *attr,
		    struct bl_nic_qp **qp_p, uint32_t *num_p);
int bl_soft_qp_destroy(struct bl_nic *nic, struct bl_nic_qp *qp);
int bl_soft_qp_modify(struct bl_nic *nic, struct bl_nic_qp *qp, const struct bl_nic_qp_mod *mod);
int bl_soft_qp_query(struct bl_nic *nic, struct bl_nic_qp *qp, struct bl_nic_qp_info *info);
int bl_soft_qp_watch(struct bl_nic *nic, struct bl_nic_qp *qp, const uint64_t *word);
int bl_soft_qp_express(struct bl_nic *nic, struct bl_nic_qp *qp, const uint64_t *line);

#endif
