/* SPDX-License-Identifier: MIT */
/*
 * pages.h - memory of the emulated card that the kernel has struct pages for, by bare system calls
 *
 * Functions end the test when they fail; those named try_ return 0, bytes or -errno.
 */
#ifndef BL_TESTS_KERNEL_PAGES_H
#define BL_TESTS_KERNEL_PAGES_H

#include "gdrdrv_gpu.h"

#include <sys/types.h>

#define DRIVE	   "/dev/nvme0n1"
#define SLICE_OFF  (64 * MIB)
#define SLICE_SIZE (96 * MIB)
#define SLICE	   "pages=96M@64M"

/**
 * struct slice_mem - an object in the slice
 * @mem: it
 * @at:  its mapping
 */
struct slice_mem {
	struct gpu_mem mem;
	uint8_t *at;
};

/* The card's module anew with these parameters; it goes at the program's end. */
void card_reload(const char *parameters);

int try_slice_alloc(int gpu, uint64_t len, struct gpu_mem *mem);
struct slice_mem slice_alloc(int gpu, uint64_t len);
void slice_free(int gpu, struct slice_mem *mem);

/* The drive, for direct I/O. */
int drive_open(void);

int64_t try_read(int fd, void *buf, size_t len, off_t pos);
int64_t try_write(int fd, const void *buf, size_t len, off_t pos);

/* Nothing is allocated or in use, and nobody wrote to memory that was given back. Waits a little. */
void slice_check_clean(int gpu);

#endif
