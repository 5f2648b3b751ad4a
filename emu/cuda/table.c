// SPDX-License-Identifier: MIT
#include "table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Index of the first node that ends above @va; table->nr when there is none. */
static size_t first_above(const struct emu_table *table, uint64_t va)
{
	size_t low = 0, high = table->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct emu_node *node = table->nodes[mid];

		if (node->va + node->size > va)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

void *emu_table_find(const struct emu_table *table, uint64_t va)
{
	return emu_table_overlap(table, va, 1);
}

void *emu_table_overlap(const struct emu_table *table, uint64_t va, uint64_t size)
{
	size_t at = first_above(table, va);
	struct emu_node *node;

	if (at == table->nr)
		return NULL;
	node = table->nodes[at];
	if (node->va > va && node->va - va >= size)
		return NULL;
	return node;
}

int emu_table_add(struct emu_table *table, struct emu_node *node)
{
	size_t at = first_above(table, node->va);

	if (table->nr == table->room) {
		size_t room = table->room ? 2 * table->room : 64;
		struct emu_node **nodes = realloc(table->nodes, room * sizeof(*nodes));

		if (!nodes)
			return -ENOMEM;
		table->nodes = nodes;
		table->room = room;
	}
	memmove(&table->nodes[at + 1], &table->nodes[at], (table->nr - at) * sizeof(*table->nodes));
	table->nodes[at] = node;
	table->nr++;
	return 0;
}

void emu_table_remove(struct emu_table *table, const struct emu_node *node)
{
	size_t at = first_above(table, node->va);

	if (at == table->nr || table->nodes[at] != node)
		return;
	table->nr--;
	memmove(&table->nodes[at], &table->nodes[at + 1], (table->nr - at) * sizeof(*table->nodes));
}
