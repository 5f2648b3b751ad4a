/* SPDX-License-Identifier: MIT */
/* table.h - address ranges sorted by address; the owner locks */
#ifndef EMU_CUDA_TABLE_H
#define EMU_CUDA_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* First member of what is kept in a table. */
struct emu_node {
	uint64_t va;
	uint64_t size;
};

struct emu_table {
	struct emu_node **nodes;
	size_t nr;
	size_t room;
};

/* Node that contains @va, or NULL. */
void *emu_table_find(const struct emu_table *table, uint64_t va);

/* Lowest node that shares a byte with [va, va + size), or NULL. */
void *emu_table_overlap(const struct emu_table *table, uint64_t va, uint64_t size);

/* Add a node that overlaps none. Returns 0 or -ENOMEM. */
int emu_table_add(struct emu_table *table, struct emu_node *node);
void emu_table_remove(struct emu_table *table, const struct emu_node *node);

#endif
