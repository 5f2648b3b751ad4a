/* SPDX-License-Identifier: MIT */
/*
 * mlx5.h - provider "mlx5": devices whose doorbells GPUs ring themselves
 *
 * Queues are made by commands to the device's firmware (DevX), in memory that the program chose, so that kernels write
 * requests where the device reads them, ring its doorbell, and read its completions. No CPU takes part, unless the GPU
 * cannot map the doorbell: then one rings it. Protection domains and memory regions are those of libibverbs.
 */
#ifndef BL_NET_MLX5_MLX5_H
#define BL_NET_MLX5_MLX5_H

#include "cmd_hca_cap.h"
#include "lib.h"
#include "net/nic.h"
#include "net/reach.h"

/**
 * struct bl_nic - a device that is open
 * @attr, @cap: what it can do, as libibverbs and the firmware say
 * @way_pd:   of address handles by which the kernel finds peers
 * @uar:      page of doorbells for completion queues that were given none
 * @eqn:      event queue that completion queues name
 * @eth:      link layer of port 1
 */
struct bl_nic {
	const char *name;
	const struct bl_ibv *ibv;
	const struct bl_mlx5dv *dv;
	struct ibv_context *context;
	struct ibv_device_attr attr;
	struct bl_hca_cap cap;
	struct ibv_pd *way_pd;
	struct mlx5dv_devx_uar *uar;
	uint32_t eqn;
	bool eth;
};

struct bl_nic_pd {
	struct ibv_pd *ibv;
	uint32_t num;
};

/**
 * struct bl_nic_umem - memory of queues
 * @reach, @reached: GPU memory that was given by address is held
 * @cpu: where a CPU reaches it, NULL: not at all
 */
struct bl_nic_umem {
	struct mlx5dv_devx_umem *dv;
	struct bl_reach reach;
	bool reached;
	void *cpu;
};

struct bl_nic_uar {
	struct mlx5dv_devx_uar *dv;
};

struct bl_nic_cq {
	struct mlx5dv_devx_obj *obj;
	uint32_t num;
};

/**
 * struct bl_nic_qp - a queue pair
 * @mod: the last move that was made
 */
struct bl_nic_qp {
	struct mlx5dv_devx_obj *obj;
	uint32_t num;
	bool uc;
	struct bl_nic_qp_mod mod;
};

/* device.c */
int bl_mlx5_probe(char *reason, size_t size);
size_t bl_mlx5_devices(const char **names, size_t nr);
int bl_mlx5_open(const char *device, struct bl_nic **nic_p);
void bl_mlx5_close(struct bl_nic *nic);
void bl_mlx5_forget(struct bl_nic *nic);

/* query.c */
int bl_mlx5_caps(struct bl_nic *nic, struct bl_nic_caps *caps);
int bl_mlx5_port(struct bl_nic *nic, uint8_t port, struct bl_nic_port *info);
int bl_mlx5_gid(struct bl_nic *nic, uint8_t port, unsigned int index, uint8_t gid[BL_NIC_GID_LEN],
		enum bl_nic_gid_type *type_p);

/* memory.c */
int bl_mlx5_pd_create(struct bl_nic *nic, struct bl_nic_pd **pd_p, uint32_t *num_p);
int bl_mlx5_pd_destroy(struct bl_nic *nic, struct bl_nic_pd *pd);
int bl_mlx5_mr_create(struct bl_nic *nic, struct bl_nic_pd *pd, const struct bl_nic_memory *memory, uint64_t iova,
		      struct bl_nic_mr **mr_p, uint32_t *lkey_p, uint32_t *rkey_p);
int bl_mlx5_mr_destroy(struct bl_nic *nic, struct bl_nic_mr *mr);

/* umem.c */
/* Pin memory that is given by address and is a GPU's; *@reached_p: it was, and @reach is to be closed. 0 or -errno. */
int bl_mlx5_hold(const struct bl_nic_memory *memory, struct bl_reach *reach, bool *reached_p);
int bl_mlx5_umem_create(struct bl_nic *nic, const struct bl_nic_memory *memory, struct bl_nic_umem **umem_p,
			uint32_t *id_p);
int bl_mlx5_umem_destroy(struct bl_nic *nic, struct bl_nic_umem *umem);
void *bl_mlx5_umem_cpu(struct bl_nic_umem *umem);

/* queues.c */
int bl_mlx5_uar_create(struct bl_nic *nic, enum doca_verbs_uar_allocation_type type, struct bl_nic_uar **uar_p,
		       struct bl_nic_uar_info *info);
int bl_mlx5_uar_destroy(struct bl_nic *nic, struct bl_nic_uar *uar);
int bl_mlx5_cq_create(struct bl_nic *nic, const struct bl_nic_cq_attr *attr, struct bl_nic_cq **cq_p,
		      uint32_t *num_p);
int bl_mlx5_cq_destroy(struct bl_nic *nic, struct bl_nic_cq *cq);

/* qp.c */
int bl_mlx5_qp_create(struct bl_nic *nic, struct bl_nic_pd *pd, const struct bl_nic_qp_attr *attr,
		      struct bl_nic_qp **qp_p, uint32_t *num_p);
int bl_mlx5_qp_destroy(struct bl_nic *nic, struct bl_nic_qp *qp);
int bl_mlx5_qp_modify(struct bl_nic *nic, struct bl_nic_qp *qp, const struct bl_nic_qp_mod *mod);
int bl_mlx5_qp_query(struct bl_nic *nic, struct bl_nic_qp *qp, struct bl_nic_qp_info *info);

struct bl_qp_way;

/**
 * bl_mlx5_way_find() - What a packet to the peer has to begin with
 * @nic: device
 * @qpn: own queue pair
 * @mod: the move to RTR: addresses, and the peer's number
 * @way: receives it; of InfiniBand there is nothing to find
 *
 * On RoCE the kernel finds the next hop, which may take as long as that needs to answer.
 * Return: 0 or -errno, with the reason.
 */
int bl_mlx5_way_find(struct bl_nic *nic, uint32_t qpn, const struct bl_nic_qp_mod *mod, struct bl_qp_way *way);

#endif
