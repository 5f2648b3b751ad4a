/* SPDX-License-Identifier: MIT */
/*
 * cmd.h - commands to the firmware of an mlx5 device, by DevX
 *
 * A command is made with bl_cmd_begin(), filled by its layout's fields, and carried out. A value that does not fit into
 * its field is remembered, and the command then fails before the device sees it.
 */
#ifndef BL_NET_MLX5_CMD_H
#define BL_NET_MLX5_CMD_H

#include "fields.h"
#include "lib.h"

enum bl_cmd_opcode {
	BL_CMD_QUERY_HCA_CAP = 0x100,
	BL_CMD_CREATE_CQ = 0x400,
	BL_CMD_CREATE_QP = 0x500,
	BL_CMD_RST2INIT = 0x502,
	BL_CMD_INIT2RTR = 0x503,
	BL_CMD_RTR2RTS = 0x504,
	BL_CMD_RTS2RTS = 0x505,
	BL_CMD_2ERR = 0x507,
	BL_CMD_2RST = 0x50a,
	BL_CMD_QUERY_QP = 0x50b,
	BL_CMD_INIT2INIT = 0x50e
};

#define BL_CMD_MAX   272
#define BL_CMD_SHORT 16

/**
 * struct bl_cmd - a command
 * @device: name, for messages
 * @opcode: enum bl_cmd_opcode
 * @in, @in_len: what the device gets
 * @out, @out_len: what it answers; @short_out unless the caller has more room
 * @bad, @bad_value: the first field that was given more than it holds
 */
struct bl_cmd {
	const char *device;
	uint16_t opcode;
	size_t in_len;
	size_t out_len;
	uint8_t *out;
	const struct bl_field *bad;
	uint64_t bad_value;
	uint8_t in[BL_CMD_MAX];
	uint8_t short_out[BL_CMD_MAX];
};

/**
 * bl_cmd_begin() - Make a command that has nothing but its opcode
 * @cmd:     command
 * @device:  name of the device
 * @opcode:  which
 * @in_len:  bytes of it, at most BL_CMD_MAX
 * @out_len: bytes of its answer, at most BL_CMD_MAX
 */
void bl_cmd_begin(struct bl_cmd *cmd, const char *device, enum bl_cmd_opcode opcode, size_t in_len, size_t out_len);

/* Set a field of the part of the command that begins at @base. */
void bl_cmd_put(struct bl_cmd *cmd, size_t base, const struct bl_field *field, uint64_t value);

/* A field of the part of the answer that begins at @base. */
uint64_t bl_cmd_get(const struct bl_cmd *cmd, size_t base, const struct bl_field *field);

/*
 * Carry it out: one that makes an object, one about an object, one about the device. They return 0, or -errno with the
 * reason, in which what the firmware answered has words.
 */
int bl_cmd_create(struct bl_cmd *cmd, const struct bl_mlx5dv *dv, struct ibv_context *context,
		  struct mlx5dv_devx_obj **obj_p);
int bl_cmd_modify(struct bl_cmd *cmd, const struct bl_mlx5dv *dv, struct mlx5dv_devx_obj *obj);
int bl_cmd_query(struct bl_cmd *cmd, const struct bl_mlx5dv *dv, struct mlx5dv_devx_obj *obj);
int bl_cmd_general(struct bl_cmd *cmd, const struct bl_mlx5dv *dv, struct ibv_context *context);

/* "CREATE_QP" and so on. */
const char *bl_cmd_name(uint16_t opcode);

/* What a status of the firmware means. */
const char *bl_cmd_status_text(uint8_t status);

/* Where every command and every answer has the same. */
extern const struct bl_field bl_cmd_opcode_field;
extern const struct bl_field bl_cmd_op_mod_field;
extern const struct bl_field bl_cmd_number_field; /* of a queue, in commands about it and in answers that made it */
extern const struct bl_field bl_cmd_status_field;
extern const struct bl_field bl_cmd_syndrome_field;

#endif
