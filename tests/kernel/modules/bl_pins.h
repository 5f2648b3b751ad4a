/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bl_pins.h - what bl_pins.ko serves on BL_PINS_PATH while it is loaded
 */
#ifndef BL_PINS_H
#define BL_PINS_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define BL_PINS_PATH "/dev/bl_pins"

/**
 * struct bl_pins_pin - what to pin; as large as struct nvidia_fs_map
 * @va:   GPU address
 * @len:  bytes
 * @rest: not looked at
 */
struct bl_pins_pin {
	__u64 va;
	__u64 len;
	__u64 rest[4];
};

/**
 * struct bl_pins_release - what to give back; as large as struct nvidia_fs_unmap
 * @va:   as it was pinned
 * @rest: not looked at
 */
struct bl_pins_release {
	__u64 va;
	__u64 rest;
};

/**
 * struct bl_pins_measure - pin and release inside of the kernel
 * @va:  GPU address
 * @len: bytes
 * @ns:  receives how long both took
 */
struct bl_pins_measure {
	__u64 va;
	__u64 len;
	__u64 ns;
};

#define BL_PINS_IOC_PIN	    _IOW('P', 1, struct bl_pins_pin)
#define BL_PINS_IOC_RELEASE _IOW('P', 2, struct bl_pins_release)
#define BL_PINS_IOC_MEASURE _IOWR('P', 3, struct bl_pins_measure)

#endif
