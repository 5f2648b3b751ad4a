/* SPDX-License-Identifier: MIT */
/*
 * lib.h - libmlx5 of rdma-core, loaded at run time
 *
 * It is never linked; its header alone is needed to build. libibverbs comes with it, net/ibv/lib.h.
 */
#ifndef BL_NET_MLX5_LIB_H
#define BL_NET_MLX5_LIB_H

#include <errno.h>

#include <infiniband/mlx5dv.h>

#include "net/ibv/lib.h"

/* X(return type, field, symbol, (parameters)): without one of these loading fails. */
#define BL_MLX5DV_REQUIRED(X)                                                                                          \
	X(bool, is_supported, "mlx5dv_is_supported", (struct ibv_device *device))                                      \
	X(struct ibv_context *, open_device, "mlx5dv_open_device",                                                     \
	  (struct ibv_device *device, struct mlx5dv_context_attr *attr))                                               \
	X(int, init_obj, "mlx5dv_init_obj", (struct mlx5dv_obj *obj, uint64_t type))                                   \
	X(struct mlx5dv_devx_obj *, obj_create, "mlx5dv_devx_obj_create",                                              \
	  (struct ibv_context *context, const void *in, size_t in_len, void *out, size_t out_len))                     \
	X(int, obj_modify, "mlx5dv_devx_obj_modify",                                                                   \
	  (struct mlx5dv_devx_obj *obj, const void *in, size_t in_len, void *out, size_t out_len))                     \
	X(int, obj_query, "mlx5dv_devx_obj_query",                                                                     \
	  (struct mlx5dv_devx_obj *obj, const void *in, size_t in_len, void *out, size_t out_len))                     \
	X(int, obj_destroy, "mlx5dv_devx_obj_destroy", (struct mlx5dv_devx_obj *obj))                                  \
	X(int, general_cmd, "mlx5dv_devx_general_cmd",                                                                 \
	  (struct ibv_context *context, const void *in, size_t in_len, void *out, size_t out_len))                     \
	X(struct mlx5dv_devx_umem *, umem_reg, "mlx5dv_devx_umem_reg",                                                 \
	  (struct ibv_context *context, void *addr, size_t size, uint32_t access))                                     \
	X(int, umem_dereg, "mlx5dv_devx_umem_dereg", (struct mlx5dv_devx_umem *umem))                                  \
	X(struct mlx5dv_devx_uar *, alloc_uar, "mlx5dv_devx_alloc_uar", (struct ibv_context *context, uint32_t flags)) \
	X(void, free_uar, "mlx5dv_devx_free_uar", (struct mlx5dv_devx_uar *uar))                                       \
	X(int, query_eqn, "mlx5dv_devx_query_eqn", (struct ibv_context *context, uint32_t vector, uint32_t *eqn))

/* Entries that older releases lack; NULL when absent. */
#define BL_MLX5DV_OPTIONAL(X)                                                                                          \
	X(struct mlx5dv_devx_umem *, umem_reg_ex, "mlx5dv_devx_umem_reg_ex",                                           \
	  (struct ibv_context *context, struct mlx5dv_devx_umem_in *in))

#define BL_MLX5DV_FIELD(ret, field, symbol, args) ret(*field) args;
struct bl_mlx5dv {
	BL_MLX5DV_REQUIRED(BL_MLX5DV_FIELD)
	BL_MLX5DV_OPTIONAL(BL_MLX5DV_FIELD)
};
#undef BL_MLX5DV_FIELD

/* What a call failed with: what it returned where that is a positive errno value, else errno. */
static inline int bl_mlx5_error(int ret)
{
	return ret > 0 ? ret : errno ? errno : EIO;
}

/**
 * bl_mlx5dv() - The library
 * @reason: receives why not, one line; may be NULL
 * @size:   bytes of @reason
 *
 * Loaded by the first call, for ever; libibverbs before it. Return: NULL: one of them cannot be used.
 */
const struct bl_mlx5dv *bl_mlx5dv(char *reason, size_t size);

#endif
