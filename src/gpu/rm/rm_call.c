// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "gpu/rm: " fmt
#include "rm_call.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "gpu/sys.h"
#include "util/log.h"

/* More interruptions in a row than a program with a fast timer sees; a driver that never answers is an error. */
#define MAX_TRIES 10000

/* Interrupted before anything was done: try again, as libcuda does. */
static int escape(int fd, unsigned int nr, void *arg, size_t size)
{
	int ret;

	for (int try = 0; try < MAX_TRIES; try++) {
		ret = bl_sys()->ioctl(fd, RM_ESCAPE(nr, size), arg);
		if (ret >= 0 || (errno != EINTR && errno != EAGAIN))
			break;
	}
	return ret < 0 ? -errno : 0;
}

static int verdict(const struct rm_conn *conn, const char *what, uint32_t detail, int ret, uint32_t status)
{
	if (ret)
		return fail(-ret, "%s 0x%x: ioctl: %s (driver %s)", what, detail, strerror(-ret), conn->driver);
	if (status)
		return fail(rm_status_errno(status), "%s 0x%x: %s (0x%x, driver %s)", what, detail,
			    rm_status_name(status), status, conn->driver);
	return 0;
}

int rm_alloc(const struct rm_conn *conn, uint32_t parent, uint32_t class_id, void *params, uint32_t *object_p)
{
	struct rm_alloc arg = {
		.root = conn->client, .parent = parent, .class_id = class_id, .params = (uintptr_t)params
	};
	int ret;

	/* where the newer branches have the size of the parameters, 0 means the class' own */
	arg.tail[conn->layout->alloc_status] = RM_STATUS_UNSET;
	ret = escape(conn->ctl, RM_ESC_ALLOC, &arg, sizeof(arg));
	ret = verdict(conn, "alloc class", class_id, ret, arg.tail[conn->layout->alloc_status]);
	if (!ret)
		*object_p = arg.object;
	return ret;
}

int rm_free(const struct rm_conn *conn, uint32_t parent, uint32_t object)
{
	struct rm_free arg = {
		.client = conn->client, .parent = parent, .object = object, .status = RM_STATUS_UNSET
	};
	int ret = escape(conn->ctl, RM_ESC_FREE, &arg, sizeof(arg));

	return verdict(conn, "free object", object, ret, arg.status);
}

int rm_control(const struct rm_conn *conn, uint32_t object, uint32_t cmd, void *params, size_t size)
{
	struct rm_control arg = {
		.client = conn->client,
		.object = object,
		.cmd = cmd,
		.params = (uintptr_t)params,
		.params_size = (uint32_t)size,
		.status = RM_STATUS_UNSET,
	};
	int ret = escape(conn->ctl, RM_ESC_CONTROL, &arg, sizeof(arg));

	return verdict(conn, "control", cmd, ret, arg.status);
}

int rm_dup(const struct rm_conn *conn, uint32_t parent, uint32_t client_src, uint32_t object_src, uint32_t *object_p)
{
	struct rm_dup arg = {
		.client = conn->client,
		.parent = parent,
		.client_src = client_src,
		.object_src = object_src,
		.status = RM_STATUS_UNSET,
	};
	int ret = escape(conn->ctl, RM_ESC_DUP_OBJECT, &arg, sizeof(arg));

	ret = verdict(conn, "duplicate object", object_src, ret, arg.status);
	if (!ret)
		*object_p = arg.object;
	return ret;
}

int rm_map(const struct rm_conn *conn, uint32_t device, uint32_t memory, uint64_t offset, uint64_t length, int fd,
	   uint64_t *addr_p, uint32_t *flags_p)
{
	struct rm_map arg = {
		.client = conn->client,
		.device = device,
		.memory = memory,
		.offset = offset,
		.length = length,
		.status = RM_STATUS_UNSET,
		.fd = fd,
	};
	int ret = escape(conn->ctl, RM_ESC_MAP_MEMORY, &arg, sizeof(arg));

	ret = verdict(conn, "map object", memory, ret, arg.status);
	if (ret)
		return ret;
	*addr_p = arg.address;
	*flags_p = arg.flags;
	return 0;
}

int rm_unmap(const struct rm_conn *conn, uint32_t device, uint32_t memory, uint64_t addr)
{
	struct rm_unmap arg = {
		.client = conn->client,
		.device = device,
		.memory = memory,
		.address = addr,
		.status = RM_STATUS_UNSET,
	};
	int ret = escape(conn->ctl, RM_ESC_UNMAP_MEMORY, &arg, sizeof(arg));

	return verdict(conn, "unmap object", memory, ret, arg.status);
}

int rm_register_fd(const struct rm_conn *conn, int fd)
{
	int32_t ctl = conn->ctl;
	int ret = escape(fd, RM_ESC_REGISTER_FD, &ctl, sizeof(ctl));

	return verdict(conn, "register descriptor", (uint32_t)fd, ret, RM_OK);
}

int rm_card_info(const struct rm_conn *conn, struct rm_card_info *cards, size_t nr)
{
	int ret;

	memset(cards, 0, nr * sizeof(*cards));
	ret = escape(conn->ctl, RM_ESC_CARD_INFO, cards, nr * sizeof(*cards));
	return verdict(conn, "card info, entries", (uint32_t)nr, ret, RM_OK);
}
