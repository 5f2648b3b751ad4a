// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/mlx5: " fmt
#include "cmd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "net/log.h"

const struct bl_field bl_cmd_opcode_field = { "opcode", 0x00, 31, 16 };
const struct bl_field bl_cmd_op_mod_field = { "op_mod", 0x04, 15, 0 };
const struct bl_field bl_cmd_number_field = { "number", 0x08, 23, 0 };
const struct bl_field bl_cmd_status_field = { "status", 0x00, 31, 24 };
const struct bl_field bl_cmd_syndrome_field = { "syndrome", 0x04, 31, 0 };

const char *bl_cmd_name(uint16_t opcode)
{
	switch (opcode) {
	case BL_CMD_QUERY_HCA_CAP:
		return "QUERY_HCA_CAP";
	case BL_CMD_CREATE_CQ:
		return "CREATE_CQ";
	case BL_CMD_CREATE_QP:
		return "CREATE_QP";
	case BL_CMD_RST2INIT:
		return "RST2INIT_QP";
	case BL_CMD_INIT2RTR:
		return "INIT2RTR_QP";
	case BL_CMD_RTR2RTS:
		return "RTR2RTS_QP";
	case BL_CMD_RTS2RTS:
		return "RTS2RTS_QP";
	case BL_CMD_2ERR:
		return "2ERR_QP";
	case BL_CMD_2RST:
		return "2RST_QP";
	case BL_CMD_QUERY_QP:
		return "QUERY_QP";
	case BL_CMD_INIT2INIT:
		return "INIT2INIT_QP";
	default:
		return "unknown command";
	}
}

/**
 * struct status - an answer of the firmware that is not "done"
 * @err: errno value that says about the same
 */
struct status {
	uint8_t status;
	int err;
	const char *text;
};

static const struct status statuses[] = {
	{ 0x01, EIO, "internal error" },
	{ 0x02, EOPNOTSUPP, "no such command" },
	{ 0x03, EINVAL, "bad parameter" },
	{ 0x04, EIO, "bad state of the system" },
	{ 0x05, EINVAL, "bad resource" },
	{ 0x06, EBUSY, "the resource is busy" },
	{ 0x08, ENOMEM, "beyond a limit" },
	{ 0x09, EINVAL, "bad state of the resource" },
	{ 0x0a, EINVAL, "bad index" },
	{ 0x0f, ENOMEM, "no resources are left" },
	{ 0x10, EINVAL, "bad state of the queue pair" },
	{ 0x30, EINVAL, "bad packet" },
	{ 0x40, EINVAL, "bad number of completions" },
	{ 0x50, EINVAL, "bad length of the command" },
	{ 0x51, EINVAL, "bad length of the answer" },
};

static const struct status *find_status(uint8_t status)
{
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		if (statuses[i].status == status)
			return &statuses[i];
	}
	return NULL;
}

const char *bl_cmd_status_text(uint8_t status)
{
	const struct status *known = find_status(status);

	return known ? known->text : "unknown status";
}

void bl_cmd_begin(struct bl_cmd *cmd, const char *device, enum bl_cmd_opcode opcode, size_t in_len, size_t out_len)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->device = device;
	cmd->opcode = (uint16_t)opcode;
	cmd->in_len = in_len;
	cmd->out_len = out_len;
	cmd->out = cmd->short_out;
	bl_field_put(cmd->in, &bl_cmd_opcode_field, cmd->opcode);
}

void bl_cmd_put(struct bl_cmd *cmd, size_t base, const struct bl_field *field, uint64_t value)
{
	bool inside = base + field->at + bl_field_word(field) <= cmd->in_len;

	if (inside && bl_field_fits(field, value)) {
		bl_field_put(cmd->in + base, field, value);
	} else if (!cmd->bad) {
		cmd->bad = field;
		cmd->bad_value = value;
	}
}

uint64_t bl_cmd_get(const struct bl_cmd *cmd, size_t base, const struct bl_field *field)
{
	return base + field->at + bl_field_word(field) <= cmd->out_len ? bl_field_get(cmd->out + base, field) : 0;
}

static int check(const struct bl_cmd *cmd)
{
	if (!cmd->bad)
		return 0;
	return fail(ERANGE, "device %s: %s: field %s cannot hold 0x%llx", cmd->device, bl_cmd_name(cmd->opcode),
		    cmd->bad->name, (unsigned long long)cmd->bad_value);
}

/*
 * @err: what the library said, a positive errno value: EREMOTEIO where the kernel has the firmware's answer, and 0
 *	 where an old one leaves it to the caller to look
 */
static int judge(const struct bl_cmd *cmd, int err)
{
	uint8_t status = (uint8_t)bl_cmd_get(cmd, 0, &bl_cmd_status_field);
	const struct status *known = find_status(status);

	if (!err && !status)
		return 0;
	if (status)
		return fail(known ? known->err : EIO, "device %s: %s: %s (status 0x%02x, syndrome 0x%08x)", cmd->device,
			    bl_cmd_name(cmd->opcode), bl_cmd_status_text(status), status,
			    (uint32_t)bl_cmd_get(cmd, 0, &bl_cmd_syndrome_field));
	return fail(err, "device %s: %s: %s%s", cmd->device, bl_cmd_name(cmd->opcode), strerror(err),
		    err == EPERM || err == EACCES ? ": DevX takes the capability CAP_NET_RAW" : "");
}

static int error_of(int ret)
{
	return ret ? bl_mlx5_error(ret) : 0;
}

int bl_cmd_create(struct bl_cmd *cmd, const struct bl_mlx5dv *dv, struct ibv_context *context,
		  struct mlx5dv_devx_obj **obj_p)
{
	int ret = check(cmd);

	if (ret)
		return ret;
	errno = 0;
	*obj_p = dv->obj_create(context, cmd->in, cmd->in_len, cmd->out, cmd->out_len);
	if (*obj_p)
		return 0;
	return judge(cmd, bl_mlx5_error(0));
}

int bl_cmd_modify(struct bl_cmd *cmd, const struct bl_mlx5dv *dv, struct mlx5dv_devx_obj *obj)
{
	int ret = check(cmd);

	errno = 0;
	return ret ? ret : judge(cmd, error_of(dv->obj_modify(obj, cmd->in, cmd->in_len, cmd->out, cmd->out_len)));
}

int bl_cmd_query(struct bl_cmd *cmd, const struct bl_mlx5dv *dv, struct mlx5dv_devx_obj *obj)
{
	int ret = check(cmd);

	errno = 0;
	return ret ? ret : judge(cmd, error_of(dv->obj_query(obj, cmd->in, cmd->in_len, cmd->out, cmd->out_len)));
}

int bl_cmd_general(struct bl_cmd *cmd, const struct bl_mlx5dv *dv, struct ibv_context *context)
{
	int ret = check(cmd);

	errno = 0;
	return ret ? ret : judge(cmd, error_of(dv->general_cmd(context, cmd->in, cmd->in_len, cmd->out, cmd->out_len)));
}
