// SPDX-License-Identifier: MIT
/* ioctls of the fake /dev/gdrdrv. Most requests encode the size of a pointer and not of their structure. */
#include "gdrdrv.h"

#include <errno.h>
#include <linux/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "fault.h"

#define GDR_IOCTL_TYPE	  0xda
#define GDR_API_MINIMUM	  0x00020000U
#define FORCE_PCIE_DRIVER 570	   /* first branch whose kernel interface can be asked for it */
#define TSC_KHZ		  1000000U /* times are given in nanoseconds */

enum { GDR_PIN = 1, GDR_UNPIN, GDR_GET_CB_FLAG, GDR_GET_INFO, GDR_GET_INFO_V2, GDR_GET_ATTR, GDR_PIN_V2, GDR_REQ_TYPE };
enum { GDR_GET_VERSION = 255 };
enum { ATTR_PERSISTENT = 1, ATTR_FORCE_PCIE = 2 };

struct request {
	uint8_t nr;
	uint8_t size;
	uint8_t since; /* minor version */
};

static const struct request requests[] = {
	{GDR_PIN, 40, 0},     {GDR_UNPIN, 8, 0},       {GDR_GET_CB_FLAG, 8, 0},
	{GDR_GET_INFO, 8, 0}, {GDR_GET_INFO_V2, 8, 4}, {GDR_GET_ATTR, 8, 5},
	{GDR_PIN_V2, 32, 5},  {GDR_REQ_TYPE, 8, 5},    {GDR_GET_VERSION, 8, 0},
};

static bool is_known(unsigned long request)
{
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		const struct request *known = &requests[i];

		if (known->since <= emu_driver.gdr_minor &&
		    request == _IOC(_IOC_READ | _IOC_WRITE, GDR_IOCTL_TYPE, known->nr, known->size))
			return true;
	}
	return false;
}

static bool has_force_pcie(void)
{
	return emu_driver.gdr_persistent && emu_driver.abi->major >= FORCE_PCIE_DRIVER;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* @pin: receives the hull of the request in GPU pages. */
static int hull(uint64_t va, uint64_t len, struct gdr_pin *pin)
{
	uint64_t end;

	if (!va || __builtin_add_overflow(va, len, &end) || __builtin_add_overflow(end, GDR_GPU_PAGE - 1, &end))
		return -EINVAL;
	*pin = (struct gdr_pin){.va = va & ~(GDR_GPU_PAGE - 1), .in_page = va & (GDR_GPU_PAGE - 1)};
	pin->len = (end & ~(GDR_GPU_PAGE - 1)) - pin->va;
	return pin->len ? 0 : -EINVAL;
}

static int enter(int fd, const struct gdr_pin *want, uint64_t *handle_p, bool *persistent_p)
{
	struct emu_file *file;
	struct gdr_pin *pin;
	int ret = -EBADF;

	rm_lock();
	file = emu_file_find(fd);
	if (file && file->kind == EMU_FILE_GDRDRV)
		ret = gdr_pin_add(file, want, &pin);
	if (!ret)
		*handle_p = pin->handle;
	*persistent_p = emu_driver.gdr_persistent;
	rm_unlock();
	return ret;
}

/* The owner freed the memory between our look-up and our entry, so that its callback found nothing to call. */
static void catch_early_free(int fd, const struct gdr_pin *want, uint64_t handle)
{
	struct emu_mem *mem = NULL;
	struct emu_file *file;
	struct gdr_pin *pin;
	uint64_t off;
	bool same = !emu_va_resolve(want->va, want->len, &mem, &off) && mem == want->mem;

	if (mem)
		emu_mem_put(mem);
	if (same)
		return;
	rm_lock();
	file = emu_file_find(fd);
	pin = file && file->kind == EMU_FILE_GDRDRV ? gdr_pin_find(file, handle) : NULL;
	if (pin)
		gdr_pin_orphan(pin);
	rm_unlock();
}

/* CUDA's lock comes before ours, so the address is resolved with ours released. */
static int pin_range(int fd, uint64_t va, uint64_t len, uint64_t *handle_p)
{
	uint64_t start = now_ns();
	struct gdr_pin want;
	long err = ENOMEM;
	bool persistent;
	int ret;

	ret = hull(va, len, &want);
	if (ret)
		return ret;
	if (emu_fault("gdrdrv.pin", &err))
		return (int)-err;
	ret = emu_va_resolve(want.va, want.len, &want.mem, &want.mem_off);
	if (ret)
		return ret;
	want.ns = now_ns() - start;
	ret = enter(fd, &want, handle_p, &persistent);
	if (ret) {
		emu_mem_put(want.mem);
		return ret;
	}
	if (!persistent)
		catch_early_free(fd, &want, *handle_p);
	return 0;
}

static int pin_buffer(int fd, void *arg, bool persistent)
{
	uint64_t handle;
	int ret;

	if (persistent && (rm_get64(arg, 16) || rm_get32(arg, 24)))
		return -EINVAL;
	ret = pin_range(fd, rm_get64(arg, 0), rm_get64(arg, 8), &handle);
	if (!ret)
		rm_put64(arg, 32, handle);
	return ret;
}

static int pin_buffer_v2(int fd, void *arg, bool force_pcie)
{
	uint32_t flags = rm_get32(arg, 16);
	uint64_t handle;
	int ret;

	if (flags & ~1U || (flags && !force_pcie))
		return -EINVAL;
	ret = pin_range(fd, rm_get64(arg, 0), rm_get64(arg, 8), &handle);
	if (!ret)
		rm_put64(arg, 24, handle);
	return ret;
}

static enum gdr_type mapping_type(const struct gdr_pin *pin)
{
	return pin->vma ? GDR_TYPE_WC : GDR_TYPE_NONE;
}

static int get_info(const struct gdr_pin *pin, void *arg, bool v2)
{
	rm_put64(arg, 8, pin->va);
	rm_put64(arg, 16, pin->len);
	rm_put32(arg, 24, GDR_GPU_PAGE);
	rm_put32(arg, 28, TSC_KHZ);
	rm_put64(arg, 32, pin->ns);
	rm_put32(arg, 40, v2 ? mapping_type(pin) : pin->vma != NULL);
	rm_put32(arg, 44, v2 ? 0 : mapping_type(pin) == GDR_TYPE_WC);
	return 0;
}

static int get_attr(void *arg)
{
	switch (rm_get32(arg, 0)) {
	case ATTR_PERSISTENT:
		rm_put32(arg, 4, emu_driver.gdr_persistent);
		return 0;
	case ATTR_FORCE_PCIE:
		rm_put32(arg, 4, has_force_pcie());
		return 0;
	default:
		return -EINVAL;
	}
}

static int request_type(struct gdr_pin *pin, const void *arg)
{
	uint32_t type = rm_get32(arg, 8);

	if (type >= GDR_TYPE_NR)
		return -EINVAL;
	if (pin->vma)
		return -EBUSY;
	if (type != GDR_TYPE_NONE && type != GDR_TYPE_WC)
		return -EOPNOTSUPP;
	pin->type = type;
	return 0;
}

static int serve_pin(struct emu_file *file, unsigned int nr, void *arg)
{
	struct gdr_pin *pin = gdr_pin_find(file, rm_get64(arg, 0));

	if (!pin)
		return -EINVAL;
	switch (nr) {
	case GDR_UNPIN:
		gdr_pin_remove(file, pin);
		return 0;
	case GDR_GET_CB_FLAG:
		rm_put32(arg, 8, !pin->mem);
		return 0;
	case GDR_REQ_TYPE:
		return request_type(pin, arg);
	default:
		return get_info(pin, arg, nr == GDR_GET_INFO_V2);
	}
}

static int serve(struct emu_file *file, unsigned int nr, void *arg)
{
	switch (nr) {
	case GDR_GET_VERSION:
		rm_put32(arg, 0, 2U << 16 | emu_driver.gdr_minor);
		rm_put32(arg, 4, GDR_API_MINIMUM);
		return 0;
	case GDR_GET_ATTR:
		return get_attr(arg);
	default:
		return serve_pin(file, nr, arg);
	}
}

static int check(const struct emu_file *file, unsigned long request, const void *arg)
{
	if (_IOC_TYPE(request) != GDR_IOCTL_TYPE)
		return -EINVAL;
	if (!emu_file_is_ours(file))
		return -EACCES;
	if (!is_known(request))
		return -ENOTTY;
	return arg ? 0 : -EFAULT;
}

int gdr_ioctl(int fd, unsigned long request, void *arg)
{
	bool persistent, force_pcie;
	struct emu_file *file;
	int ret = -EBADF;

	rm_lock();
	file = emu_file_find(fd);
	if (file && file->kind == EMU_FILE_GDRDRV)
		ret = check(file, request, arg);
	if (!ret && _IOC_NR(request) != GDR_PIN && _IOC_NR(request) != GDR_PIN_V2) {
		ret = serve(file, _IOC_NR(request), arg);
		rm_unlock();
		return ret;
	}
	persistent = emu_driver.gdr_persistent;
	force_pcie = !ret && has_force_pcie();
	rm_unlock();
	if (ret)
		return ret;
	return _IOC_NR(request) == GDR_PIN ? pin_buffer(fd, arg, persistent) : pin_buffer_v2(fd, arg, force_pcie);
}
