/* SPDX-License-Identifier: MIT */
/*
 * rm_abi.h - the part of the NVIDIA resource manager's user interface that provider "rm" speaks
 *
 * An escape is _IOWR('F', nr, size); RM's verdict is the status word in the argument. Structs here are the same in every
 * branch from 515 on; what differs is in struct rm_layout. Read from the open kernel modules 515.43.04 to 595.45.04.
 */
#ifndef BL_GPU_RM_ABI_H
#define BL_GPU_RM_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>

#define RM_CTL_NODE "/dev/nvidiactl"

#define RM_ESCAPE(nr, size) _IOC(_IOC_READ | _IOC_WRITE, 'F', nr, size)

#define RM_ESC_FREE		 0x29
#define RM_ESC_CONTROL		 0x2A
#define RM_ESC_ALLOC		 0x2B
#define RM_ESC_DUP_OBJECT	 0x34
#define RM_ESC_MAP_MEMORY	 0x4E
#define RM_ESC_UNMAP_MEMORY	 0x4F
#define RM_ESC_CARD_INFO	 200
#define RM_ESC_REGISTER_FD	 201
#define RM_ESC_CHECK_VERSION_STR 210

#define RM_CLASS_CLIENT	   0x0041U
#define RM_CLASS_DEVICE	   0x0080U
#define RM_CLASS_SUBDEVICE 0x2080U

#define RM_CTRL_GPU_GET_ID_INFO_V2	0x00000205U
#define RM_CTRL_CLIENT_GET_ADDR_SPACE	0x00000D01U
#define RM_CTRL_OBJECTS_ARE_DUPLICATES	0x00000D07U
#define RM_CTRL_GET_EXPORT_OBJECT_INFO	0x00003D08U
#define RM_CTRL_IMPORT_OBJECTS_FROM_FD	0x00003D0CU
#define RM_CTRL_MEMORY_GET_SURFACE_INFO 0x00410110U
#define RM_CTRL_GPU_GET_GID_INFO	0x2080014AU
#define RM_CTRL_FB_GET_INFO		0x20801301U

#define RM_SURFACE_SIZE_4K   7U /* size of the object in 4 KiB units */
#define RM_ADDR_SPACE_VIDMEM 2U
#define RM_FB_BAR1_SIZE	     0x05U /* KiB */
#define RM_FB_BAR1_AVAIL     0x1DU /* KiB */
#define RM_OBJECT_VIDMEM     1U

/* Caching type in the flags that MAP_MEMORY returns, where the branch has it. */
#define RM_MAP_CACHING(flags)	   ((flags) >> 23 & 7)
#define RM_MAP_CACHING_CACHED	   0U
#define RM_MAP_CACHING_UNCACHED	   1U
#define RM_MAP_CACHING_WC	   2U
#define RM_MAP_CACHING_UNCACHED_WK 7U

#define RM_OK			     0x00U
#define RM_ERR_INSUFFICIENT_RESOURCES 0x1AU
#define RM_ERR_NO_MEMORY	     0x51U
#define RM_STATUS_UNSET		     0xFFFFU /* GENERIC: an answer that was never written is no success */

struct rm_free {
	uint32_t client;
	uint32_t parent;
	uint32_t object;
	uint32_t status;
};

struct rm_control {
	uint32_t client;
	uint32_t object;
	uint32_t cmd;
	uint32_t flags;
	uint64_t params;
	uint32_t params_size;
	uint32_t status;
};

/* The tail of 8 bytes holds the status at layout->alloc_status. */
struct rm_alloc {
	uint32_t root;
	uint32_t parent;
	uint32_t object;
	uint32_t class_id;
	uint64_t params;
	uint32_t tail[2];
};

struct rm_dup {
	uint32_t client;
	uint32_t parent;
	uint32_t object;
	uint32_t client_src;
	uint32_t object_src;
	uint32_t flags;
	uint32_t status;
};

struct rm_map {
	uint32_t client;
	uint32_t device;
	uint32_t memory;
	uint32_t pad0;
	uint64_t offset;
	uint64_t length;
	uint64_t address;
	uint32_t status;
	uint32_t flags;
	int32_t fd;
	uint32_t pad1;
};

struct rm_unmap {
	uint32_t client;
	uint32_t device;
	uint32_t memory;
	uint32_t pad;
	uint64_t address;
	uint32_t status;
	uint32_t flags;
};

struct rm_card_info {
	uint8_t valid;
	uint8_t pad0[3];
	uint32_t domain;
	uint8_t bus;
	uint8_t slot;
	uint8_t function;
	uint8_t pad1;
	uint16_t vendor;
	uint16_t device;
	uint32_t gpu_id;
	uint16_t irq;
	uint16_t pad2;
	uint64_t reg_address;
	uint64_t reg_size;
	uint64_t fb_address; /* CPU physical address of BAR1 */
	uint64_t fb_size;
	uint32_t minor;
	uint8_t dev_name[10];
	uint8_t pad3[2];
};

struct rm_version_str {
	uint32_t cmd;
	uint32_t reply;
	char text[64];
};

struct rm_device_params {
	uint32_t device_id;
	uint32_t client_share;
	uint32_t rest[12];
};

struct rm_id_info {
	uint32_t gpu_id;
	uint32_t flags;
	uint32_t device_instance;
	uint32_t subdevice_instance;
	uint32_t sli;
	uint32_t board_id;
	uint32_t gpu_instance;
	uint32_t numa_id;
};

struct rm_addr_space {
	uint32_t object;
	uint32_t map_flags;
	uint32_t type;
};

struct rm_duplicates {
	uint32_t one;
	uint32_t two;
	uint8_t answer;
	uint8_t pad[3];
};

struct rm_pair {
	uint32_t index;
	uint32_t data;
};

/* GET_SURFACE_INFO and FB_GET_INFO: a list of pairs behind a pointer. */
struct rm_pair_list {
	uint32_t count;
	uint32_t pad;
	uint64_t list;
};

struct rm_gid_info {
	uint32_t index;
	uint32_t flags; /* 2: binary */
	uint32_t length;
	uint8_t data[256];
};

struct rm_import {
	int32_t fd;
	uint32_t parent;
	uint32_t objects[128];
	uint8_t types[128];
	uint16_t nr_objects;
	uint16_t index;
};

/* GET_EXPORT_OBJECT_INFO: fd at 0, then per layout. */
#define RM_EXPORT_INFO_MAX 80

_Static_assert(sizeof(struct rm_free) == 16, "NVOS00");
_Static_assert(sizeof(struct rm_control) == 32, "NVOS54");
_Static_assert(sizeof(struct rm_alloc) == 32, "NVOS21");
_Static_assert(sizeof(struct rm_dup) == 28, "NVOS55");
_Static_assert(sizeof(struct rm_map) == 56 && offsetof(struct rm_map, fd) == 48, "NVOS33 with fd");
_Static_assert(sizeof(struct rm_unmap) == 32, "NVOS34");
_Static_assert(sizeof(struct rm_card_info) == 72 && offsetof(struct rm_card_info, minor) == 56, "card info");
_Static_assert(offsetof(struct rm_card_info, fb_address) == 40, "card info");
_Static_assert(sizeof(struct rm_version_str) == 72, "version string");
_Static_assert(sizeof(struct rm_device_params) == 56, "NV0080 allocation");
_Static_assert(sizeof(struct rm_id_info) == 32, "GPU_GET_ID_INFO_V2");
_Static_assert(sizeof(struct rm_duplicates) == 12, "CLIENT_OBJECTS_ARE_DUPLICATES");
_Static_assert(sizeof(struct rm_gid_info) == 268, "GPU_GET_GID_INFO");
_Static_assert(sizeof(struct rm_import) == 652, "IMPORT_OBJECTS_FROM_FD");

/**
 * struct rm_layout - what differs between branches
 * @first:            first branch that has it
 * @alloc_status:     word of struct rm_alloc's tail that holds the status
 * @export_info_size: bytes of GET_EXPORT_OBJECT_INFO
 * @export_max:       offset in it of the number of objects (u16)
 * @compares:         CLIENT_OBJECTS_ARE_DUPLICATES exists
 * @map_caching:      MAP_MEMORY reports the caching type; older branches always map write-combining and report none
 */
struct rm_layout {
	unsigned int first;
	unsigned int alloc_status;
	unsigned int export_info_size;
	unsigned int export_max;
	bool compares;
	bool map_caching;
};

/* Oldest branch known, and the newest: layouts up to 595 are from the kernel's headers, up to 620 from published ones. */
#define RM_FIRST_BRANCH 515U
#define RM_LAST_BRANCH	620U

/**
 * rm_layout_for() - Layout of a branch
 * @branch: major number of the kernel driver; 0 or a higher one than is known gets the newest
 *
 * Return: the layout, or NULL when the branch is older than the oldest one known.
 */
const struct rm_layout *rm_layout_for(unsigned int branch);

/* Name of a status, such as "NV_ERR_NO_MEMORY"; "unknown status" for others. Valid for ever. */
const char *rm_status_name(uint32_t status);

/* Positive errno value that says the same as a status that is not RM_OK. */
int rm_status_errno(uint32_t status);

#endif
