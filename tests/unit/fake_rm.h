/* SPDX-License-Identifier: MIT */
/*
 * fake_rm.h - a resource manager behind the device nodes of one GPU, by the book
 *
 * Keeps objects, mappings and the rules between them; every escape is checked for its size and traced word by word.
 * States numbers and offsets itself. What differs between branches of the driver follows fake_rm.branch.
 */
#ifndef TESTS_UNIT_FAKE_RM_H
#define TESTS_UNIT_FAKE_RM_H

#include "fake_sys.h"

#define FAKE_RM_CTL	 "/dev/nvidiactl"
#define FAKE_RM_NODE	 "/dev/nvidia3"
#define FAKE_RM_CLIENT	 0xc1d00077U
#define FAKE_RM_GPU_ID	 0xc100U
#define FAKE_RM_INSTANCE 5U
#define FAKE_RM_BAR1	 0x3800000000ULL

/* CUDA's client, which owns the memory that is duplicated. */
#define FAKE_RM_CUDA_CLIENT 0xc1d00042U

/**
 * struct fake_rm - what the driver is like; may be changed at any time
 * @branch:     515 ...
 * @fail_at:    escapes with a status that succeed before one is refused; -1: none is
 * @status:     with which it is refused
 * @refused:    it has happened
 * @interrupts: how often each escape is interrupted before it is served
 * @caching:    type that MAP_MEMORY returns
 * @phys_shift: added to the address that MAP_MEMORY returns
 * @space:      answer of GET_ADDR_SPACE
 * @size_delta: 4 KiB units added to what GET_SURFACE_INFO says
 * @export_nr:  objects of an exported descriptor
 * @export_instance: device that an exported descriptor names
 * @import_type: of imported objects
 * @uuid:       of the GPU
 * @listed:     CARD_INFO lists the GPU
 * @apart:      no two objects are duplicates of each other
 */
struct fake_rm {
	unsigned int branch;
	int fail_at;
	uint32_t status;
	bool refused;
	int interrupts;
	uint32_t caching;
	int64_t phys_shift;
	uint32_t space;
	int32_t size_delta;
	uint16_t export_nr;
	uint32_t export_instance;
	uint8_t import_type;
	uint8_t uuid[16];
	bool listed;
	bool apart;
};

extern struct fake_rm fake_rm;

/* fake_sys_begin(), and a driver of a branch with one GPU. */
void fake_rm_begin(unsigned int branch);

/* Memory of CUDA's client, which can be duplicated from now on. */
void fake_rm_source(uint32_t handle, uint64_t vram_off, uint64_t size);

/* A descriptor that holds such an object, as CUDA exports it; or -errno. */
int fake_rm_export(uint32_t handle);

/* Objects of the library's client, the client included; mappings that RM knows. */
int fake_rm_objects(void);
int fake_rm_maps(void);

/* Show an escape in the trace: its words, behind "|" those that it points to. */
void fake_rm_trace(const struct fake_file *file, unsigned int nr, const void *arg, size_t size);

/* Everything was given back and no rule was broken. */
void fake_rm_end(void);

#endif
