/* SPDX-License-Identifier: MIT */
/*
 * drives.h - what the kernel and the host know of the drives, and a second one that comes and goes
 */
#ifndef BL_TESTS_KERNEL_NVFS_DRIVES_H
#define BL_TESTS_KERNEL_NVFS_DRIVES_H

#include <stdbool.h>

/* Bytes a second that the first drive moves from now on; 0: as many as it can. */
void drive_slow(unsigned long bytes);

/* A rate at which 4 MiB take longer than to start requests for them, and at which a test can wait for them. */
unsigned long drive_slow_rate(void);

/* How many requests a disk has now; name: "nvme0n1". */
int drive_load(const char *name);

/* Skips the test where a second one cannot come. Before anything is set up. */
void second_drive_needed(void);

/* The second one, brought when it is not there; returns a descriptor for it. Name: of the disk, 32 bytes. */
int second_drive_open(char *name);

/* Its PCI address, 32 bytes. False: there is none. */
bool second_drive_bdf(char *bdf);

/*
 * Whether it may leave its bus while a descriptor of it is open. The NVMe driver of Linux 6.1 gives memory back when the
 * last descriptor is closed, through a device that has no IOMMU domain any more by then, and crashes where one
 * translated; later ones give it back before the device goes.
 */
bool second_drive_may_go(void);

/* The kernel is asked to let it go, and does; or its device is removed by hand, and looked for again. */
void second_drive_unplug(void);
void second_drive_remove(void);

#endif
