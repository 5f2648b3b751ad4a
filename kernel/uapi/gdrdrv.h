/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * gdrdrv.h - ioctl interface of /dev/gdrdrv, versions 2.0 to 2.6
 *
 * The binary interface of GDRCopy's module; user space of either project works with the module of the other. Most
 * commands encode the size of a pointer instead of the size of their struct: the numbers are fixed and spelled out.
 * A handle is also the mapping's place in the file, in host pages: mmap offset = handle * page size.
 */
#ifndef GDRDRV_UAPI_H
#define GDRDRV_UAPI_H

#include <linux/types.h>

#define GDRDRV_PATH "/dev/gdrdrv"

#define GDRDRV_VERSION(major, minor) ((__u32)(major) << 16 | (minor))

#define GDRDRV_IOC_PIN_BUFFER	    0xC028DA01U
#define GDRDRV_IOC_UNPIN_BUFFER	    0xC008DA02U
#define GDRDRV_IOC_GET_CB_FLAG	    0xC008DA03U
#define GDRDRV_IOC_GET_INFO	    0xC008DA04U
#define GDRDRV_IOC_GET_INFO_V2	    0xC008DA05U /* since 2.4 */
#define GDRDRV_IOC_GET_ATTR	    0xC008DA06U /* since 2.5 */
#define GDRDRV_IOC_PIN_BUFFER_V2    0xC020DA07U /* since 2.5 */
#define GDRDRV_IOC_REQ_MAPPING_TYPE 0xC008DA08U /* since 2.5 */
#define GDRDRV_IOC_GET_VERSION	    0xC008DAFFU

#define GDRDRV_PIN_FORCE_PCIE 1U

#define GDRDRV_ATTR_PERSISTENT 1U
#define GDRDRV_ATTR_FORCE_PCIE 2U

#define GDRDRV_MAPPING_NONE   0U
#define GDRDRV_MAPPING_WC     1U
#define GDRDRV_MAPPING_CACHED 2U
#define GDRDRV_MAPPING_DEVICE 3U

struct gdrdrv_pin_buffer {
	__u64 addr;
	__u64 size;
	__u64 p2p_token;
	__u32 va_space;
	__u32 pad;
	__u64 handle; /* out */
};

struct gdrdrv_unpin_buffer {
	__u64 handle;
};

struct gdrdrv_get_cb_flag {
	__u64 handle;
	__u32 flag; /* out: 0 or 1 */
	__u32 pad;
};

/* Both versions: the last two words are mapped and wc_mapping in version 1, mapping_type and padding in version 2. */
struct gdrdrv_get_info {
	__u64 handle;
	__u64 va; /* out from here on */
	__u64 mapped_size;
	__u32 page_size;
	__u32 tsc_khz;
	__u64 tm_cycles;
	union {
		struct {
			__u32 mapped;
			__u32 wc_mapping;
		} v1;
		struct {
			__u32 mapping_type;
			__u32 pad;
		} v2;
	};
};

struct gdrdrv_get_attr {
	__u32 attr;
	__u32 val; /* out */
};

struct gdrdrv_pin_buffer_v2 {
	__u64 addr;
	__u64 size;
	__u32 flags;
	__u32 pad;
	__u64 handle; /* out */
};

struct gdrdrv_req_mapping_type {
	__u64 handle;
	__u32 mapping_type;
	__u32 pad;
};

struct gdrdrv_get_version {
	__u32 gdrdrv_version;	       /* out */
	__u32 minimum_gdr_api_version; /* out */
};

#endif
