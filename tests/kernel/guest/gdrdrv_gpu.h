/* SPDX-License-Identifier: MIT */
/*
 * gdrdrv_gpu.h - the emulated card and /dev/gdrdrv, by bare system calls, for tests of the module
 *
 * Functions that set things up end the test when they fail; those named try_ return 0 or -errno.
 */
#ifndef BL_TESTS_KERNEL_GDRDRV_GPU_H
#define BL_TESTS_KERNEL_GDRDRV_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "card_uapi.h"
#include "gdrdrv.h"
#include "gdrdrv_dmabuf.h"

#define KIB 1024UL
#define MIB (1024 * KIB)

/**
 * struct gpu_mem - an allocation
 * @va:     GPU address
 * @len:    bytes
 * @offset: in video memory
 * @handle: of the card's driver
 */
struct gpu_mem {
	uint64_t va;
	uint64_t len;
	uint64_t offset;
	uint32_t handle;
};

/*
 * Modules: loaded anew with these parameters; the card's is loaded when it is not. LAB_GDRDRV=gdrdrv-link chooses the build
 * that is linked to the card's driver.
 */
void drv_reload(const char *parameters);
const char *drv_file(void);
bool drv_is_linked(void);
int try_module_load(const char *name, const char *parameters);
int try_module_unload(const char *name);

/* The card. */
int gpu_open(void);
int try_gpu_alloc(int gpu, uint64_t len, struct gpu_mem *mem);
struct gpu_mem gpu_alloc(int gpu, uint64_t len);
void gpu_free(int gpu, const struct gpu_mem *mem);
struct bl_card_info gpu_info(int gpu);
struct bl_card_counters gpu_counters(int gpu);
int gpu_export(int gpu, const struct gpu_mem *mem, uint64_t off, uint64_t len);
void gpu_knob(const char *name, unsigned long value);
uint64_t gpu_bar_pa(void);

/* The module. */
int drv_open(void);
int try_pin(int drv, uint64_t va, uint64_t size, uint64_t *handle_p);
int try_pin_v2(int drv, uint64_t va, uint64_t size, uint32_t flags, uint64_t *handle_p);
int try_unpin(int drv, uint64_t handle);
int try_map(int drv, uint64_t handle, size_t len, void **addr_p);
int try_cb_flag(int drv, uint64_t handle);
int try_info(int drv, uint64_t handle, struct gdrdrv_get_info *info);
int try_request(int drv, unsigned long request, void *arg);
uint64_t drv_pin(int drv, const struct gpu_mem *mem);
void *drv_map(int drv, uint64_t handle, size_t len);

/* The signal that a load of that address raises, 0 if none; *value_p is what was loaded. */
int load_signal(const volatile void *addr, uint32_t *value_p);

/* What the module's file says is pinned; it is there when the module was loaded with dbg_enabled=1. */
int drv_nr_pins(void);

/*
 * Nothing is pinned or mapped, no memory type is left, and nobody wrote to memory that was given back. Waits a little for
 * processes that are ending.
 */
void check_clean(int gpu);

/* Runs in a child. Returns what the child's function returned, or 128 + the signal that killed it. */
int in_child(int (*run)(void *arg), void *arg);

#endif
