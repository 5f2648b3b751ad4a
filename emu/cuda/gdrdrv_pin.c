// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "card.h"
#include "fault.h"
#include "gdrdrv.h"

static uint64_t pages_of(uint64_t len)
{
	uint64_t pages = len / (uint64_t)sysconf(_SC_PAGESIZE);

	return pages ? pages : 1;
}

/* Handles are page numbers, so that every pin has mmap offsets of its own; they are never used twice. */
int gdr_pin_add(struct emu_file *file, const struct gdr_pin *want, struct gdr_pin **pin_p)
{
	struct gdr_pin *pin = malloc(sizeof(*pin));

	if (!pin)
		return -ENOMEM;
	*pin = *want;
	pin->gpu = pin->mem->gpu;
	if (!pin->gpu->static_bar1) {
		if (rm_bar1_take(pin->gpu, pin->len, &pin->window))
			goto free_pin;
		pin->has_window = true;
	}
	pin->handle = file->next_pin;
	file->next_pin += pages_of(pin->len);
	pin->next = file->pins;
	file->pins = pin;
	*pin_p = pin;
	return 0;
free_pin:
	free(pin);
	return -ENOMEM;
}

struct gdr_pin *gdr_pin_find(struct emu_file *file, uint64_t handle)
{
	for (struct gdr_pin *pin = file->pins; pin; pin = pin->next) {
		if (pin->handle == handle)
			return pin;
	}
	return NULL;
}

static void drop_pages(struct gdr_pin *pin)
{
	if (pin->vma)
		emu_vma_zap(pin->vma);
	if (pin->has_window)
		rm_bar1_give(pin->gpu, pin->window, pin->len);
	pin->has_window = false;
	if (pin->mem)
		emu_mem_put(pin->mem);
	pin->mem = NULL;
}

void gdr_pin_orphan(struct gdr_pin *pin)
{
	if (pin->mem)
		drop_pages(pin);
}

void gdr_pin_remove(struct emu_file *file, struct gdr_pin *pin)
{
	struct gdr_pin **link = &file->pins;

	while (*link != pin)
		link = &(*link)->next;
	*link = pin->next;
	drop_pages(pin);
	if (pin->vma)
		pin->vma->pin = NULL;
	free(pin);
}

void gdr_vma_closed(struct gdr_pin *pin)
{
	pin->vma = NULL;
}

/* The last reference is gone, VMAs included. */
void gdr_release(struct emu_file *file)
{
	while (file->pins)
		gdr_pin_remove(file, file->pins);
}

uint64_t gdr_pin_count(const struct emu_file *file)
{
	uint64_t nr = 0;

	for (const struct gdr_pin *pin = file->pins; pin; pin = pin->next)
		nr++;
	return nr;
}

/* Children do not inherit the mapping: the driver sees to that itself. */
void *gdr_mmap(struct emu_file *file, size_t len, int prot, off_t off)
{
	struct gdr_pin *pin;
	long err = EAGAIN;
	void *addr;

	errno = EACCES;
	if (!emu_file_is_ours(file))
		return MAP_FAILED;
	errno = EINVAL;
	pin = gdr_pin_find(file, (uint64_t)off / (uint64_t)sysconf(_SC_PAGESIZE));
	if (!pin || pin->vma || !pin->mem || pin->in_page || len > pin->len)
		return MAP_FAILED;
	if (emu_fault("gdrdrv.map", &err)) {
		errno = (int)err;
		return MAP_FAILED;
	}
	addr = emu_vma_show(file, pin->gpu, pin->mem->phys + pin->mem_off, len, len, prot);
	if (addr == MAP_FAILED)
		return addr;
	pin->vma = emu_vma_find(addr, len);
	pin->vma->pin = pin;
	pin->vma->dontfork = true;
	madvise(addr, len, MADV_DONTFORK);
	return addr;
}

/* Only memory that a pin does not keep can be freed under it. Beside a card there are no pins here, but kernel modules'. */
void emu_rm_freed(uint64_t va, uint64_t len)
{
	emu_card_freed(va, len);
	rm_lock();
	for (struct emu_file *file = emu_files(); file; file = file->next) {
		if (file->kind != EMU_FILE_GDRDRV || !emu_file_is_ours(file) || emu_driver.gdr_persistent)
			continue;
		for (struct gdr_pin *pin = file->pins; pin; pin = pin->next) {
			if (pin->va < va + len && va < pin->va + pin->len)
				gdr_pin_orphan(pin);
		}
	}
	rm_unlock();
}
