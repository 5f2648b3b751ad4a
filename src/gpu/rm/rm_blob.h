/* SPDX-License-Identifier: MIT */
/*
 * rm_blob.h - the 64 bytes of cuIpcGetMemHandle, which name an allocation's RM object
 *
 * Their layout is libcuda's private matter and has no version. It is learned from allocations of known size, and only a
 * layout that the self-test (rm_selftest.h) has proved by contents is used. Pure functions; nothing here is trusted.
 */
#ifndef BL_GPU_RM_BLOB_H
#define BL_GPU_RM_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RM_BLOB_SIZE 64

/**
 * struct rm_blob_layout - byte offsets in the blob
 * @size:    u64, bytes of the allocation as asked for
 * @pages:   u32, size of the RM object in 4 KiB units
 * @offset:  u32, offset of the allocation in the object, bytes
 * @client:  u32, handle of the RM client that owns the object
 * @memory:  u32, handle of the object
 * @owner:   the client that all allocations of this process had when the layout was proved; 0 while it is not
 */
struct rm_blob_layout {
	uint8_t size;
	uint8_t pages;
	uint8_t offset;
	uint8_t client;
	uint8_t memory;
	uint32_t owner;
};

/**
 * struct rm_blob - what a blob says
 * @size:        bytes of the allocation
 * @object_size: bytes of the RM object
 * @offset:      of the allocation in it
 * @client:      RM client
 * @memory:      RM object
 */
struct rm_blob {
	uint64_t size;
	uint64_t object_size;
	uint32_t offset;
	uint32_t client;
	uint32_t memory;
};

/* Layout measured with libcuda of 580.159.04: the first one tried. */
extern const struct rm_blob_layout rm_blob_measured;

/* Read a blob; any 64 bytes give some answer. */
void rm_blob_read(const struct rm_blob_layout *layout, const uint8_t *bytes, struct rm_blob *blob);

/**
 * rm_blob_plausible() - Whether what a blob says hangs together
 * @blob: from rm_blob_read()
 * @size: bytes that were asked for when the memory was allocated
 */
bool rm_blob_plausible(const struct rm_blob *blob, uint64_t size);

/**
 * struct rm_sample - an allocation made to learn the layout
 * @bytes: its blob
 * @size:  bytes asked for
 */
struct rm_sample {
	uint8_t bytes[RM_BLOB_SIZE];
	uint64_t size;
};

/**
 * rm_blob_candidates() - Layouts that fit all samples
 * @samples: allocations of different sizes; the first is a multiple of 2 MiB, so an object of its own, the others are
 *           small
 * @nr:      how many, at least 2
 * @layouts: receives candidates, the measured layout first if it fits
 * @max:     room in @layouts
 *
 * Return: number of candidates written.
 */
size_t rm_blob_candidates(const struct rm_sample *samples, size_t nr, struct rm_blob_layout *layouts, size_t max);

#endif
