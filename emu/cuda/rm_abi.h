/* SPDX-License-Identifier: MIT */
/*
 * rm_abi.h - the resource manager's binary interface: numbers, layouts, and how they differ between branches
 *
 * Arguments are handled as bytes at offsets, not as structs: the layout of a structure depends on the branch, and an
 * emulator that shared structs with its client could not catch the client's mistakes.
 */
#ifndef EMU_CUDA_RM_ABI_H
#define EMU_CUDA_RM_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* NV_STATUS */
enum {
	RM_OK = 0x00,
	RM_INSERT_DUPLICATE_NAME = 0x19,
	RM_INSUFFICIENT_RESOURCES = 0x1a,
	RM_INSUFFICIENT_PERMISSIONS = 0x1b,
	RM_INVALID_ARGUMENT = 0x1f,
	RM_INVALID_BASE = 0x20,
	RM_INVALID_CLASS = 0x22,
	RM_INVALID_CLIENT = 0x23,
	RM_INVALID_DEVICE = 0x26,
	RM_INVALID_FLAGS = 0x29,
	RM_INVALID_LIMIT = 0x2e,
	RM_INVALID_OBJECT = 0x31,
	RM_INVALID_OBJECT_PARENT = 0x36,
	RM_INVALID_PARAM_STRUCT = 0x3a,
	RM_NO_MEMORY = 0x51,
	RM_NOT_SUPPORTED = 0x56,
	RM_OBJECT_NOT_FOUND = 0x57,
	RM_OPERATING_SYSTEM = 0x59,
	RM_STATE_IN_USE = 0x63,
};

#define RM_IOCTL_TYPE 'F'

/* Numbers of the escapes. */
enum {
	RM_ESC_FREE = 0x29,
	RM_ESC_CONTROL = 0x2a,
	RM_ESC_ALLOC = 0x2b,
	RM_ESC_DUP_OBJECT = 0x34,
	RM_ESC_SHARE = 0x35,
	RM_ESC_MAP_MEMORY = 0x4e,
	RM_ESC_UNMAP_MEMORY = 0x4f,
	RM_ESC_UPDATE_MAPPING = 0x5e,
	RM_ESC_CARD_INFO = 200,
	RM_ESC_REGISTER_FD = 201,
	RM_ESC_CHECK_VERSION = 210,
	RM_ESC_ATTACH_GPUS = 212,
	RM_ESC_SYS_PARAMS = 214,
	RM_ESC_EXPORT_DMABUF = 217,
	RM_ESC_WAIT_OPEN = 218,
};

/* Classes. */
enum {
	RM_CLASS_MEMORY = 0x40,
	RM_CLASS_CLIENT = 0x41,
	RM_CLASS_DEVICE = 0x80,
	RM_CLASS_SUBDEVICE = 0x2080,
	RM_CLASS_PARTITION = 0xc637,
};

#define RM_CARD_SIZE	 72
#define RM_DEVICE_PARAMS 56
#define RM_NO_GPU	 0xffffffffU

/**
 * struct rm_abi - one branch of the driver
 * @major:         first major version of the branch
 * @nvos21_status: offset of the status in NVOS21; 28 also means that the word at 24 is paramsSize
 * @nvos64_size:   bytes of NVOS64
 * @nvos64_status: offset of its status
 * @root_params:   bytes of the root client's parameters
 * @export_info:   bytes of GET_EXPORT_OBJECT_INFO
 * @dmabuf:        bytes of EXPORT_TO_DMABUF_FD
 * @page_size:     bytes of GET_MEM_PAGE_SIZE
 * @probed_ids:    bytes of GPU_GET_PROBED_IDS
 * @fb_info_v2:    bytes of FB_GET_INFO_V2
 * @static_bar1:   bytes of FB_GET_STATIC_BAR1_INFO, 0: no such control
 * @mmap_exact:    mmap demands offset 0 and the exact length; MAP_MEMORY reports the caching type
 * @dup_query:     CLIENT_OBJECTS_ARE_DUPLICATES exists
 * @version_query: CHECK_VERSION_STR knows the query command
 * @wait_open:     WAIT_OPEN_COMPLETE exists
 * @split_maps:    access bits of MAP_MEMORY no longer narrow the CPU mapping
 * @size_in_bytes: GET_SURFACE_INFO knows the indices of the size in bytes
 */
struct rm_abi {
	uint16_t major;
	uint8_t nvos21_status;
	uint8_t nvos64_size;
	uint8_t nvos64_status;
	uint8_t root_params;
	uint8_t export_info;
	uint16_t dmabuf;
	uint8_t page_size;
	uint16_t probed_ids;
	uint16_t fb_info_v2;
	uint8_t static_bar1;
	bool mmap_exact;
	bool dup_query;
	bool version_query;
	bool wait_open;
	bool split_maps;
	bool size_in_bytes;
};

/**
 * rm_abi_find() - Branch that serves a version
 * @version: such as "580.159.04"; what does not start with a number is served by the newest branch
 */
const struct rm_abi *rm_abi_find(const char *version);

static inline uint32_t rm_get32(const void *base, size_t off)
{
	uint32_t v;

	memcpy(&v, (const char *)base + off, sizeof(v));
	return v;
}

static inline uint64_t rm_get64(const void *base, size_t off)
{
	uint64_t v;

	memcpy(&v, (const char *)base + off, sizeof(v));
	return v;
}

static inline void *rm_getptr(const void *base, size_t off)
{
	return (void *)(uintptr_t)rm_get64(base, off);
}

static inline void rm_put8(void *base, size_t off, uint8_t v)
{
	((uint8_t *)base)[off] = v;
}

static inline void rm_put16(void *base, size_t off, uint16_t v)
{
	memcpy((char *)base + off, &v, sizeof(v));
}

static inline void rm_put32(void *base, size_t off, uint32_t v)
{
	memcpy((char *)base + off, &v, sizeof(v));
}

static inline void rm_put64(void *base, size_t off, uint64_t v)
{
	memcpy((char *)base + off, &v, sizeof(v));
}

#endif
