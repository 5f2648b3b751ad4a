/* SPDX-License-Identifier: MIT */
/* gdrdrv.h - pins of the fake /dev/gdrdrv; guarded by rm_lock() */
#ifndef EMU_CUDA_GDRDRV_H
#define EMU_CUDA_GDRDRV_H

#include "rm_state.h"

#define GDR_GPU_PAGE 65536ULL

enum gdr_type { GDR_TYPE_NONE, GDR_TYPE_WC, GDR_TYPE_CACHED, GDR_TYPE_DEVICE, GDR_TYPE_NR };

/**
 * struct gdr_pin - pinned range
 * @next:    list of the file
 * @handle:  page number in the file's own space; mmap offset in pages
 * @va:      device address, multiple of the GPU page
 * @len:     bytes, multiple of the GPU page
 * @in_page: what the request lay beyond @va
 * @mem:     storage, referenced; NULL once the owner freed it under a pin that does not keep it
 * @mem_off: of @va in @mem
 * @window:  dynamic BAR1: start of the window
 * @has_window: it has one
 * @gpu:     where
 * @vma:     mapping, or NULL
 * @type:    enum gdr_type that was asked for
 * @ns:      time that the pin took
 */
struct gdr_pin {
	struct gdr_pin *next;
	uint64_t handle;
	uint64_t va;
	uint64_t len;
	uint64_t in_page;
	struct emu_mem *mem;
	uint64_t mem_off;
	uint64_t window;
	bool has_window;
	struct emu_gpu *gpu;
	struct emu_vma *vma;
	enum gdr_type type;
	uint64_t ns;
};

/**
 * gdr_pin_add() - Enter a pin
 * @file:    the open gdrdrv file
 * @want:    va, len, in_page, mem with a reference, mem_off, ns
 * @pin_p:   receives the pin, which then owns the reference
 *
 * Return: 0, or -ENOMEM (handles, memory or BAR1 used up).
 */
int gdr_pin_add(struct emu_file *file, const struct gdr_pin *want, struct gdr_pin **pin_p);

/* Pin by handle, NULL when the file has none of it. */
struct gdr_pin *gdr_pin_find(struct emu_file *file, uint64_t handle);

/* Take the mapping away, leave the list, give the memory back. */
void gdr_pin_remove(struct emu_file *file, struct gdr_pin *pin);

/* The owner freed the memory: take the mapping away and forget the pages, but stay as a handle. */
void gdr_pin_orphan(struct gdr_pin *pin);

#endif
