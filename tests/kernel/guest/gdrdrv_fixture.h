/* SPDX-License-Identifier: MIT */
/* gdrdrv_fixture.h - what most tests of the module begin and end with */
#ifndef BL_TESTS_KERNEL_GDRDRV_FIXTURE_H
#define BL_TESTS_KERNEL_GDRDRV_FIXTURE_H

#include <unistd.h>

#include "gdrdrv_gpu.h"

#define PERSISTENT     "dbg_enabled=1"
#define NOT_PERSISTENT "dbg_enabled=1 use_persistent_mapping=0"

static int gpu, drv;
static struct gpu_mem mem;

/* The module loaded anew, both nodes open, and 2 MiB of GPU memory. */
static inline void begin(const char *parameters)
{
	drv_reload(parameters);
	gpu = gpu_open();
	drv = drv_open();
	mem = gpu_alloc(gpu, 2 * MIB);
}

static inline void end(void)
{
	close(drv);
	check_clean(gpu);
	close(gpu);
}

#endif
