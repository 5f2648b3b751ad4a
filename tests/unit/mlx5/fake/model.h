/* SPDX-License-Identifier: MIT */
/* model.h - the device behind the stand-in libmlx5: its objects, and how a command is read; model_lock() is held */
#ifndef BL_TESTS_FAKE_MLX5_MODEL_H
#define BL_TESTS_FAKE_MLX5_MODEL_H

#include <infiniband/mlx5dv.h>

#include "fake_mlx5.h"
#include "softnic/snic.h"
#include "tests/unit/ibv/fake/fake_ibv.h"

/* A device while it is open. */
struct model_port {
	struct ibv_device *device;
	struct bl_snic *snic;
	unsigned int users;
};

struct model_context {
	struct model_context *next;
	struct ibv_context *ibv;
	struct model_port *port;
};

enum model_kind { MODEL_UMEM = 1, MODEL_UAR, MODEL_CQ, MODEL_QP };

/**
 * struct model_object - an object that commands name by its number
 * @users: objects that use it
 */
struct model_object {
	struct model_object *next;
	struct ibv_context *ibv;
	enum model_kind kind;
	uint32_t number;
	unsigned int users;
};

struct model_umem {
	struct mlx5dv_devx_umem dv;
	struct model_object object;
	unsigned char *bytes;
	size_t len;
	struct fake_map map;
};

struct model_uar {
	struct mlx5dv_devx_uar dv;
	struct model_object object;
};

/* What obj_create gives out; the first member of queues. */
struct mlx5dv_devx_obj {
	struct model_object object;
};

struct model_cq {
	struct mlx5dv_devx_obj obj;
	struct bl_snic_cq *snic;
	struct model_umem *ring, *dbr;
	struct model_uar *uar;
};

struct model_domain;

/**
 * struct model_qp - a queue pair
 * @records: as the program writes them
 * @shown:   as the software NIC sees them
 * @mod:     what its moves have set
 */
struct model_qp {
	struct mlx5dv_devx_obj obj;
	struct bl_snic_qp *snic;
	struct model_umem *ring, *dbr;
	struct model_uar *uar;
	struct model_cq *send_cq, *recv_cq;
	struct model_domain *domain;
	bool uc;
	const uint32_t *records;
	uint32_t shown[2];
	struct bl_snic_qp_mod mod;
};

/* A protection domain that the device has been told of. */
struct model_domain {
	struct model_domain *next;
	struct ibv_pd *ibv;
	struct bl_snic_pd *snic;
	uint32_t number;
	unsigned int users;
};

void model_lock(void);
void model_unlock(void);
__attribute__((format(printf, 1, 2))) void model_complain(const char *fmt, ...);
void model_count(int change);

/* port.c: of a context that was opened with DevX; NULL: it was not. */
struct model_port *model_port_of(const struct ibv_context *ibv);

/* objects.c */
extern struct model_object *model_objects;
void model_add(struct model_object *object, struct ibv_context *ibv, enum model_kind kind, uint32_t number);
bool model_remove(struct model_object *object, const char *call);
/* Of a context; complains when there is none of that kind and number. */
struct model_object *model_find(struct ibv_context *ibv, enum model_kind kind, uint32_t number, const char *what);
struct model_domain *model_domain_of(struct ibv_pd *ibv);
struct model_domain *model_domain_find(const struct ibv_context *ibv, uint32_t number);
void model_pd_gone(struct ibv_pd *ibv);
int model_mr_made(struct ibv_mr *mr, unsigned char *bytes, uint64_t iova, int access);
void model_mr_gone(struct ibv_mr *mr);

#define model_of(type, of) ((struct type *)((char *)(of) - offsetof(struct type, object)))

/* doorbell.c: the thread; it runs while a device is open. One pass returns how many doorbells there were. */
void model_doorbells_start(void);
void model_doorbells_stop(void);

/* read.c */
static inline uint32_t get32(const uint8_t *in, size_t at)
{
	return (uint32_t)in[at] << 24 | (uint32_t)in[at + 1] << 16 | (uint32_t)in[at + 2] << 8 | in[at + 3];
}

static inline uint64_t get64(const uint8_t *in, size_t at)
{
	return (uint64_t)get32(in, at) << 32 | get32(in, at + 4);
}

static inline void put32(uint8_t *out, size_t at, uint32_t value)
{
	out[at] = (uint8_t)(value >> 24);
	out[at + 1] = (uint8_t)(value >> 16);
	out[at + 2] = (uint8_t)(value >> 8);
	out[at + 3] = (uint8_t)value;
}

/* Words of a command that may be other than zero, and in which bits; ends with bits of 0. */
struct model_known {
	uint16_t at;
	uint32_t bits;
};

/* Whether all else is zero; complains. */
bool model_is_clean(const uint8_t *in, size_t len, const struct model_known *known);

/*
 * Commands. They return a status of the firmware, and write to @out what follows status and syndrome.
 * queue.c, moves.c and query.c
 */
#define STATUS_BAD_PARAM    0x03
#define STATUS_BAD_RESOURCE 0x05
#define STATUS_NO_RESOURCES 0x0f
#define STATUS_BAD_STATE    0x10
uint8_t model_create_cq(struct ibv_context *ibv, const uint8_t *in, uint8_t *out, struct mlx5dv_devx_obj **obj_p);
uint8_t model_create_qp(struct ibv_context *ibv, const uint8_t *in, uint8_t *out, struct mlx5dv_devx_obj **obj_p);
bool model_destroy_queue(struct mlx5dv_devx_obj *obj);
uint8_t model_move(struct model_qp *qp, const uint8_t *in);
uint8_t model_query_qp(struct model_qp *qp, uint8_t *out);
void model_query_cap(const uint8_t *in, uint8_t *out);

/* The MAC that the stand-in finds for an address. */
static inline void model_mac(const uint8_t gid[16], uint8_t mac[6])
{
	mac[0] = 2;
	for (int i = 0; i < 5; i++)
		mac[1 + i] = gid[11 + i];
}

#endif
