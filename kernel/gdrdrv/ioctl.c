// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Requests. Their numbers and structs are those of GDRCopy's module, in gdrdrv.h; one of our own is in gdrdrv_dmabuf.h.
 * What comes from user space is copied once, used, and copied back.
 */
#include "core.h"

#include <linux/uaccess.h>

static_assert(sizeof(struct gdrdrv_pin_buffer) == 40);
static_assert(sizeof(struct gdrdrv_get_cb_flag) == 16);
static_assert(sizeof(struct gdrdrv_get_info) == 48);
static_assert(sizeof(struct gdrdrv_get_attr) == 8);
static_assert(sizeof(struct gdrdrv_pin_buffer_v2) == 32);
static_assert(sizeof(struct gdrdrv_req_mapping_type) == 16);
static_assert(sizeof(struct gdrdrv_get_version) == 8);
static_assert(sizeof(struct gdrdrv_pin_dmabuf) == 40);

/* fetch() */
static_assert(offsetof(struct gdrdrv_get_cb_flag, handle) == 0);
static_assert(offsetof(struct gdrdrv_get_info, handle) == 0);
static_assert(offsetof(struct gdrdrv_req_mapping_type, handle) == 0);

/*
 * The argument of a request that begins with a handle, and the pin of that handle with a reference for the caller; or an
 * ERR_PTR.
 */
static struct bl_pin *fetch(struct bl_file *file, void *arg, size_t size, const void __user *uarg, const char *what)
{
	const u64 *handle = arg;
	struct bl_pin *pin;

	if (copy_from_user(arg, uarg, size))
		return ERR_PTR(-EFAULT);
	pin = bl_handle_get(file, *handle);
	return pin ? pin : ERR_PTR(refuse(EINVAL, "%s: no handle 0x%llx", what, *handle));
}

/* User space that cannot be told the handle has no pin. */
static int publish(struct bl_file *file, struct bl_pin *pin, void __user *dst, const void *src, size_t size)
{
	struct bl_pin *mine;
	int ret = 0;

	if (copy_to_user(dst, src, size)) {
		mine = bl_handle_take(file, pin->handle, pin);
		if (mine)
			bl_pin_end(mine);
		ret = -EFAULT;
	}
	bl_pin_unref(pin);
	return ret;
}

static int pin_v1(struct bl_file *file, void __user *uarg)
{
	struct gdrdrv_pin_buffer arg;
	struct bl_pin_request req = { 0 };
	struct bl_pin *pin;
	int ret;

	if (copy_from_user(&arg, uarg, sizeof(arg)))
		return -EFAULT;
	req.va = arg.addr;
	req.size = arg.size;
	req.token = arg.p2p_token;
	req.space = arg.va_space;
	ret = bl_pin_start(file, &bl_pin_nvp2p, &req, &pin);
	if (ret)
		return ret;
	arg.handle = pin->handle;
	return publish(file, pin, uarg, &arg, sizeof(arg));
}

static int pin_v2(struct bl_file *file, void __user *uarg)
{
	struct gdrdrv_pin_buffer_v2 arg;
	struct bl_pin_request req = { 0 };
	struct bl_pin *pin;
	int ret;

	if (copy_from_user(&arg, uarg, sizeof(arg)))
		return -EFAULT;
	req.va = arg.addr;
	req.size = arg.size;
	req.flags = arg.flags;
	ret = bl_pin_start(file, &bl_pin_nvp2p, &req, &pin);
	if (ret)
		return ret;
	arg.handle = pin->handle;
	return publish(file, pin, uarg, &arg, sizeof(arg));
}

#ifdef BL_NV_LINK
static int pin_dmabuf(struct bl_file *file, void __user *uarg)
{
	return refuse(ENOSYS, "pin dma-buf: built for the closed GPU driver, without dma-bufs");
}
#else
static int pin_dmabuf(struct bl_file *file, void __user *uarg)
{
	struct gdrdrv_pin_dmabuf arg;
	struct bl_pin_request req = { 0 };
	struct bl_pin *pin;
	int ret;

	if (copy_from_user(&arg, uarg, sizeof(arg)))
		return -EFAULT;
	req.va = arg.va;
	req.size = arg.size;
	req.flags = arg.flags;
	req.off = arg.offset;
	req.fd = arg.fd;
	ret = bl_pin_start(file, &bl_pin_dmabuf, &req, &pin);
	if (ret)
		return ret;
	arg.handle = pin->handle;
	return publish(file, pin, uarg, &arg, sizeof(arg));
}
#endif

static int unpin(struct bl_file *file, void __user *uarg)
{
	struct gdrdrv_unpin_buffer arg;
	struct bl_pin *pin;

	if (copy_from_user(&arg, uarg, sizeof(arg)))
		return -EFAULT;
	pin = bl_handle_take(file, arg.handle, NULL);
	if (!pin)
		return refuse(EINVAL, "unpin: no handle 0x%llx", arg.handle);
	bl_dbg("unpin va 0x%llx: handle 0x%llx", pin->va, pin->handle);
	bl_pin_end(pin);
	return 0;
}

static int get_cb_flag(struct bl_file *file, void __user *uarg)
{
	struct gdrdrv_get_cb_flag arg;
	struct bl_pin *pin;

	pin = fetch(file, &arg, sizeof(arg), uarg, "callback flag");
	if (IS_ERR(pin))
		return PTR_ERR(pin);
	mutex_lock(&pin->lock);
	arg.flag = pin->freed || pin->lost;
	mutex_unlock(&pin->lock);
	bl_pin_unref(pin);
	return copy_to_user(uarg, &arg, sizeof(arg)) ? -EFAULT : 0;
}

static int get_info(struct bl_file *file, void __user *uarg, bool v2)
{
	struct gdrdrv_get_info arg;
	struct bl_pin *pin;
	u32 type;

	pin = fetch(file, &arg, sizeof(arg), uarg, "info");
	if (IS_ERR(pin))
		return PTR_ERR(pin);
	mutex_lock(&pin->lock);
	type = pin->type;
	mutex_unlock(&pin->lock);
	arg.va = pin->va;
	arg.mapped_size = pin->len;
	arg.page_size = pin->page_size;
	arg.tsc_khz = bl_platform_tsc_khz();
	arg.tm_cycles = pin->cycles;
	bl_pin_unref(pin);
	if (v2) {
		arg.v2.mapping_type = type;
		arg.v2.pad = 0;
	} else {
		arg.v1.mapped = type != GDRDRV_MAPPING_NONE;
		arg.v1.wc_mapping = type == GDRDRV_MAPPING_WC;
	}
	return copy_to_user(uarg, &arg, sizeof(arg)) ? -EFAULT : 0;
}

static int get_attr(void __user *uarg)
{
	struct gdrdrv_get_attr arg;
	int ret = 0;

	if (copy_from_user(&arg, uarg, sizeof(arg)))
		return -EFAULT;
	arg.val = 0;
	switch (arg.attr) {
	case GDRDRV_ATTR_PERSISTENT:
	/* the flag exists for persistent pins only; an old GPU driver refuses it when it is used */
	case GDRDRV_ATTR_FORCE_PCIE:
		arg.val = bl_nvp2p_persistent();
		break;
	default:
		ret = refuse(EINVAL, "attribute %u: unknown", arg.attr);
	}
	return copy_to_user(uarg, &arg, sizeof(arg)) ? -EFAULT : ret;
}

static bool type_possible(const struct bl_pin *pin, u32 type)
{
	switch (type) {
	case GDRDRV_MAPPING_CACHED:
		return bl_platform_may_cache() && pin->cacheable && !pin->force_pcie;
	case GDRDRV_MAPPING_WC:
		return !bl_platform_must_device();
	case GDRDRV_MAPPING_DEVICE:
		return bl_platform_must_device();
	default:
		return true;
	}
}

static int request_type(struct bl_pin *pin, u32 type)
{
	if (type > GDRDRV_MAPPING_DEVICE)
		return refuse(EINVAL, "mapping type of va 0x%llx: unknown type %u", pin->va, type);
	if (pin->nr_vmas)
		return refuse(EBUSY, "mapping type of va 0x%llx: it is mapped", pin->va);
	if (!type_possible(pin, type))
		return refuse(EOPNOTSUPP, "mapping type of va 0x%llx: this machine does not do type %u", pin->va, type);
	pin->want = type;
	return 0;
}

static int req_mapping_type(struct bl_file *file, void __user *uarg)
{
	struct gdrdrv_req_mapping_type arg;
	struct bl_pin *pin;
	int ret;

	pin = fetch(file, &arg, sizeof(arg), uarg, "mapping type");
	if (IS_ERR(pin))
		return PTR_ERR(pin);
	mutex_lock(&pin->lock);
	ret = request_type(pin, arg.mapping_type);
	mutex_unlock(&pin->lock);
	bl_pin_unref(pin);
	return ret;
}

static int get_version(void __user *uarg)
{
	struct gdrdrv_get_version arg = {
		.gdrdrv_version = BL_DRV_VERSION,
		.minimum_gdr_api_version = BL_MIN_API_VERSION,
	};

	return copy_to_user(uarg, &arg, sizeof(arg)) ? -EFAULT : 0;
}

static bool known_type(unsigned int cmd)
{
	return _IOC_TYPE(cmd) == _IOC_TYPE(GDRDRV_IOC_GET_VERSION) || _IOC_TYPE(cmd) == GDRDRV_DMABUF_IOC_TYPE;
}

/**
 * bl_ioctl() - Serve a request
 * @f:    file of the device node
 * @cmd:  GDRDRV_IOC_*
 * @arg:  address of its struct
 *
 * Return: 0, or -EINVAL (no request of this device), -EACCES (not the process that opened the file), -ENOTTY (unknown
 * request), -EFAULT, or what the request gives.
 */
long bl_ioctl(struct file *f, unsigned int cmd, unsigned long arg)
{
	struct bl_file *file = f->private_data;
	void __user *uarg = (void __user *)arg;

	if (!known_type(cmd))
		return refuse(EINVAL, "request 0x%x: not one of this device", cmd);
	if (!bl_file_is_mine(file))
		return refuse(EACCES, "request 0x%x: the device was opened by process %d", cmd, file->owner_tgid);
	switch (cmd) {
	case GDRDRV_IOC_PIN_BUFFER:
		return pin_v1(file, uarg);
	case GDRDRV_IOC_UNPIN_BUFFER:
		return unpin(file, uarg);
	case GDRDRV_IOC_GET_CB_FLAG:
		return get_cb_flag(file, uarg);
	case GDRDRV_IOC_GET_INFO:
		return get_info(file, uarg, false);
	case GDRDRV_IOC_GET_INFO_V2:
		return get_info(file, uarg, true);
	case GDRDRV_IOC_GET_ATTR:
		return get_attr(uarg);
	case GDRDRV_IOC_PIN_BUFFER_V2:
		return pin_v2(file, uarg);
	case GDRDRV_IOC_REQ_MAPPING_TYPE:
		return req_mapping_type(file, uarg);
	case GDRDRV_IOC_GET_VERSION:
		return get_version(uarg);
	case GDRDRV_IOC_PIN_DMABUF:
		return pin_dmabuf(file, uarg);
	default:
		return refuse(ENOTTY, "request 0x%x: unknown", cmd);
	}
}
