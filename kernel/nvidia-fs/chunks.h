/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * chunks.h - where the GPU pages of a binding are: pieces that are contiguous in the CPU's physical address space
 */
#ifndef BL_NVFS_CHUNKS_H
#define BL_NVFS_CHUNKS_H

#include <linux/types.h>

struct nv_p2p_page_table;

/**
 * struct bl_chunk - one piece
 * @off: offset of its first byte in the binding
 * @pa:  physical address of that byte
 * @len: bytes
 */
struct bl_chunk {
	u64 off;
	u64 pa;
	u64 len;
};

/**
 * struct bl_chunks - all pieces, by offset, without holes; stays where it is
 * @chunk: pieces
 * @nr:    how many
 * @one:   room for a single one, which is what most bindings have
 */
struct bl_chunks {
	struct bl_chunk *chunk;
	u32 nr;
	struct bl_chunk one;
};

int bl_chunks_read(struct bl_chunks *chunks, const struct nv_p2p_page_table *table);
u32 bl_chunks_find(const struct bl_chunks *chunks, u64 off);
void bl_chunks_free(struct bl_chunks *chunks);

#endif
