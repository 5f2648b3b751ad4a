// SPDX-License-Identifier: MIT
#include "gdrdrv_bed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "card_uapi.h"
#include "common/stats.h"
#include "gdrdrv.h"

/* away from what the stand-in for CUDA gives out */
#define FIRST_VA 0x600000000000UL

_Noreturn void bed_die(const char *what)
{
	fprintf(stderr, "gdrdrv_lat: %s: %s; dmesg may say more\n", what, strerror(errno));
	exit(1);
}

static int card_open(void)
{
	int fd = open(BL_CARD_PATH, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		bed_die("open " BL_CARD_PATH);
	return fd;
}

static void card_info(int card, struct bl_card_info *info)
{
	if (ioctl(card, BL_CARD_IOC_INFO, info))
		bed_die("ask the card for its size");
}

uint64_t bed_largest(void)
{
	struct bl_card_info info;
	int card = card_open();

	card_info(card, &info);
	close(card);
	/* the first block belongs to nobody */
	return info.size - BL_CARD_BLOCK_SIZE;
}

void bed_open(uint64_t size, struct gdrdrv_bed *bed)
{
	struct bl_card_alloc alloc = { .size = size };
	struct bl_card_bind bind;

	bed->card = card_open();
	if (ioctl(bed->card, BL_CARD_IOC_ALLOC, &alloc))
		bed_die("allocate on the card");
	bind = (struct bl_card_bind){ .va = FIRST_VA, .len = alloc.size, .handle = alloc.handle };
	if (ioctl(bed->card, BL_CARD_IOC_BIND, &bind))
		bed_die("give memory an address");
	bed->va = bind.va;
	bed->size = alloc.size;
	bed->offset = alloc.offset;
	bed->handle = alloc.handle;
	bed->drv = bed_drv_open();
}

void bed_close(const struct gdrdrv_bed *bed)
{
	close(bed->drv);
	close(bed->card);
}

int bed_drv_open(void)
{
	int fd = open(GDRDRV_PATH, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		bed_die("open " GDRDRV_PATH);
	return fd;
}

uint64_t bed_pin(int drv, uint64_t va, uint64_t size)
{
	struct gdrdrv_pin_buffer arg = { .addr = va, .size = size };

	if (ioctl(drv, GDRDRV_IOC_PIN_BUFFER, &arg))
		bed_die("pin");
	return arg.handle;
}

void bed_unpin(int drv, uint64_t handle)
{
	struct gdrdrv_unpin_buffer arg = { .handle = handle };

	if (ioctl(drv, GDRDRV_IOC_UNPIN_BUFFER, &arg))
		bed_die("unpin");
}

void bed_info(int drv, uint64_t handle, uint64_t want_va)
{
	struct gdrdrv_get_info arg = { .handle = handle };

	if (ioctl(drv, GDRDRV_IOC_GET_INFO_V2, &arg))
		bed_die("ask for a pin");
	errno = EPROTO;
	if (arg.va != want_va)
		bed_die("a pin is reported at another address");
}

static void *map(int fd, uint64_t off, uint64_t size)
{
	void *addr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)off);

	if (addr == MAP_FAILED)
		bed_die("map");
	return addr;
}

void bed_touch(void *addr, uint64_t size, uint64_t stride)
{
	volatile uint32_t *word = addr;

	for (uint64_t off = 0; off < size; off += stride)
		word[off / sizeof(*word)] = (uint32_t)off;
}

void bed_bare(const struct gdrdrv_bed *bed, uint64_t size, bool touch)
{
	struct bl_card_info info;
	int card = card_open();
	void *addr;

	card_info(card, &info);
	addr = map(bed->card, bed->offset, size);
	if (touch)
		bed_touch(addr, size, CPU_PAGE);
	munmap(addr, size);
	close(card);
}

static uint64_t step(double *ns, enum gdrdrv_step which, uint64_t begin)
{
	uint64_t now;

	if (!ns)
		return 0;
	now = tool_now_ns();
	ns[which] = (double)(now - begin);
	return now;
}

void bed_round(const struct gdrdrv_bed *bed, uint64_t size, uint64_t stride, double *ns)
{
	uint64_t at = ns ? tool_now_ns() : 0, handle;
	void *addr;

	handle = bed_pin(bed->drv, bed->va, size);
	at = step(ns, STEP_PIN, at);
	addr = map(bed->drv, handle * CPU_PAGE, size);
	at = step(ns, STEP_MAP, at);
	if (stride)
		bed_touch(addr, size, stride);
	at = step(ns, STEP_TOUCH, at);
	munmap(addr, size);
	at = step(ns, STEP_UNMAP, at);
	bed_unpin(bed->drv, handle);
	step(ns, STEP_UNPIN, at);
}
