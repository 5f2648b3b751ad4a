// SPDX-License-Identifier: MIT
/*
 * ioctls of /dev/nvidiactl and /dev/nvidiaN. The driver looks at the number and the size of a request only; up to 590
 * each handler checks the size, from 595 a table does: -EINVAL both times.
 */
#include <errno.h>
#include <linux/ioctl.h>
#include <unistd.h>

#include "counts.h"
#include "fault.h"
#include "rm_state.h"

/* Export of objects for device DMA; CUDA's own exports do not come this way. */
static uint32_t export_dmabuf(struct emu_file *file, void *arg)
{
	rm_must_be_zero("EXPORT_TO_DMABUF_FD pad at 20", rm_get32(arg, 20));
	return RM_NOT_SUPPORTED;
}

enum node { NODE_CTL = 1, NODE_DEV = 2 };

/**
 * struct escape - escape that carries an NV_STATUS
 * @nr:     number
 * @node:   mask of the nodes that serve it
 * @size:   bytes of the argument, 0: depends on the branch
 * @status: offset of the status, 0: depends on the branch
 * @serve:  does the work
 */
struct escape {
	uint8_t nr;
	uint8_t node;
	uint16_t size;
	uint16_t status;
	uint32_t (*serve)(struct emu_file *file, void *arg);
};

static const struct escape escapes[] = {
	{RM_ESC_FREE, NODE_CTL, 16, 12, rm_free},
	{RM_ESC_CONTROL, NODE_CTL, 32, 28, rm_control},
	{RM_ESC_ALLOC, NODE_CTL, 32, 0, rm_alloc_nvos21},
	{RM_ESC_ALLOC, NODE_CTL, 0, 0, rm_alloc_nvos64},
	{RM_ESC_DUP_OBJECT, NODE_CTL, 28, 24, rm_dup},
	{RM_ESC_SHARE, NODE_CTL, 24, 20, rm_share},
	{RM_ESC_MAP_MEMORY, NODE_CTL, 56, 40, rm_map_memory},
	{RM_ESC_UNMAP_MEMORY, NODE_CTL, 32, 24, rm_unmap_memory},
	{RM_ESC_UPDATE_MAPPING, NODE_CTL, 40, 32, rm_update_mapping},
	{RM_ESC_EXPORT_DMABUF, NODE_DEV, 0, 0, export_dmabuf},
};

static size_t escape_size(const struct escape *escape)
{
	if (escape->size)
		return escape->size;
	return escape->nr == RM_ESC_ALLOC ? emu_driver.abi->nvos64_size : emu_driver.abi->dmabuf;
}

static size_t escape_status(const struct escape *escape)
{
	if (escape->status)
		return escape->status;
	if (escape->nr == RM_ESC_EXPORT_DMABUF)
		return emu_driver.abi->dmabuf - 8;
	return escape->size ? emu_driver.abi->nvos21_status : emu_driver.abi->nvos64_status;
}

static const struct escape *find_escape(unsigned int nr, size_t size)
{
	for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++) {
		if (escapes[i].nr == nr && escape_size(&escapes[i]) == size)
			return &escapes[i];
	}
	return NULL;
}

static int wrong_node(const struct emu_file *file, unsigned int nr)
{
	emu_violation("ioctl 0x%x on a %s file", nr, file->kind == EMU_FILE_CTL ? "control" : "device");
	return -EINVAL;
}

static int wait_open_complete(struct emu_file *file, void *arg, size_t size)
{
	if (!emu_driver.abi->wait_open || size != 8)
		return -EINVAL;
	if (file->kind != EMU_FILE_DEV)
		return wrong_node(file, RM_ESC_WAIT_OPEN);
	rm_put64(arg, 0, 0);
	return 0;
}

static int serve_ctl(struct emu_file *file, unsigned int nr, size_t size, void *arg)
{
	if (file->kind != EMU_FILE_CTL)
		return wrong_node(file, nr);
	switch (nr) {
	case RM_ESC_CARD_INFO:
		return rm_card_info(arg, size);
	case RM_ESC_CHECK_VERSION:
		return size == 72 ? rm_check_version(arg) : -EINVAL;
	case RM_ESC_ATTACH_GPUS:
		return rm_attach_gpus(file, arg, size);
	default: /* RM_ESC_SYS_PARAMS: the size of NUMA memory blocks, of no use here */
		return size == 8 ? 0 : -EINVAL;
	}
}

static int serve(struct emu_file *file, unsigned int nr, size_t size, void *arg)
{
	const struct escape *escape;
	uint32_t status;

	switch (nr) {
	case RM_ESC_CARD_INFO:
	case RM_ESC_CHECK_VERSION:
	case RM_ESC_ATTACH_GPUS:
	case RM_ESC_SYS_PARAMS:
		return serve_ctl(file, nr, size, arg);
	case RM_ESC_REGISTER_FD:
		return size == 4 ? rm_register_fd(file, arg) : -EINVAL;
	case RM_ESC_WAIT_OPEN:
		return wait_open_complete(file, arg, size);
	default:
		break;
	}
	escape = find_escape(nr, size);
	if (!escape)
		return -EINVAL;
	if (!(escape->node & (file->kind == EMU_FILE_CTL ? NODE_CTL : NODE_DEV)))
		return wrong_node(file, nr);
	status = escape->serve(file, arg);
	rm_put32(arg, escape_status(escape), status);
	return 0;
}

int rm_ioctl(struct emu_file *file, unsigned long request, void *arg)
{
	if (_IOC_TYPE(request) != RM_IOCTL_TYPE)
		emu_violation("ioctl 0x%lx on a driver node is not of type 'F'", request);
	if (!arg && _IOC_SIZE(request))
		return -EFAULT;
	return serve(file, _IOC_NR(request), _IOC_SIZE(request), arg);
}

uint32_t rm_fault_status(const char *point, uint32_t status)
{
	long value = status;

	return emu_fault(point, &value) ? (uint32_t)value : RM_OK;
}

void rm_must_be_zero(const char *what, uint64_t value)
{
	if (value)
		emu_violation("%s is 0x%llx and not 0", what, (unsigned long long)value);
}
