// SPDX-License-Identifier: MIT
#include "card.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "emu/kernel/card_uapi.h"
#include "env.h"

_Static_assert(BL_CARD_BLOCK_SIZE == EMU_BLOCK_SIZE, "both sides cut memory the same way");

struct emu_gpu *emu_card(void)
{
	struct emu_gpu *gpu = emu_gpu(0);

	return gpu && gpu->card ? gpu : NULL;
}

/* The node is there as soon as the driver is loaded, the card perhaps not. */
static int open_node(void)
{
	int fd = open(BL_CARD_PATH, O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	return errno == ENODEV ? -ENOENT : -errno;
}

int emu_card_open(struct emu_gpu *gpu)
{
	struct bl_card_info info;
	int fd = open_node();
	int ret;

	if (fd < 0)
		return fd;
	if (ioctl(fd, BL_CARD_IOC_INFO, &info)) {
		ret = -errno;
		close(fd);
		return ret;
	}
	gpu->card = 1;
	gpu->memfd = fd;
	gpu->vram_size = info.size;
	gpu->domain = info.domain;
	gpu->bus = (uint8_t)info.bus;
	gpu->slot = (uint8_t)(info.devfn >> 3);
	gpu->p2p_token = info.p2p_token;
	gpu->va_space = info.va_space;
	return 0;
}

int emu_card_alloc(struct emu_mem *mem)
{
	struct bl_card_alloc arg = { .size = mem->size, .flags = emu_env()->card_pages ? BL_CARD_ALLOC_PAGES : 0 };

	if (ioctl(mem->gpu->memfd, BL_CARD_IOC_ALLOC, &arg))
		return -errno;
	mem->phys = arg.offset;
	mem->handle = arg.handle;
	return 0;
}

/* What goes wrong with memory that is given back is a defect of this library or of the driver, and is said. */
static void complain(const char *what, uint64_t where)
{
	fprintf(stderr, "emu: card: %s 0x%llx: %s\n", what, (unsigned long long)where, strerror(errno));
}

void emu_card_free(const struct emu_mem *mem)
{
	struct bl_card_free arg = { .handle = mem->handle };

	if (ioctl(mem->gpu->memfd, BL_CARD_IOC_FREE, &arg))
		complain("free offset", mem->phys);
}

int emu_card_bind(uint64_t va, const struct emu_mem *mem, uint64_t len)
{
	struct bl_card_bind arg = { .va = va, .len = len, .handle = mem->handle };

	return ioctl(mem->gpu->memfd, BL_CARD_IOC_BIND, &arg) ? -errno : 0;
}

/* Memory that cannot be pinned was never bound. */
static void tell_range(unsigned long request, const char *what, uint64_t va, uint64_t len)
{
	const struct emu_gpu *gpu = emu_card();
	struct bl_card_range arg = { .va = va, .len = len };

	if (gpu && ioctl(gpu->memfd, request, &arg) && errno != ENOENT)
		complain(what, va);
}

void emu_card_unbind(uint64_t va, uint64_t len)
{
	tell_range(BL_CARD_IOC_UNBIND, "unbind va", va, len);
}

void emu_card_freed(uint64_t va, uint64_t len)
{
	tell_range(BL_CARD_IOC_FREED, "free va", va, len);
}

uint64_t emu_card_used(const struct emu_gpu *gpu)
{
	struct bl_card_counters counts = { 0 };

	if (ioctl(gpu->memfd, BL_CARD_IOC_COUNTERS, &counts))
		complain("counters of the card at bus", gpu->bus);
	return counts.used;
}

int emu_card_dmabuf_fd(const struct emu_mem *mem, uint64_t off, uint64_t len, int allow_mmap)
{
	struct bl_card_export arg = {
		.off = off, .len = len, .handle = mem->handle, .flags = allow_mmap ? BL_CARD_EXPORT_MMAP : 0
	};

	return ioctl(mem->gpu->memfd, BL_CARD_IOC_EXPORT, &arg) ? -errno : arg.fd;
}
