/* SPDX-License-Identifier: MIT */
/* rm_view.h - a CPU mapping of a part of an RM memory object */
#ifndef BL_GPU_RM_VIEW_H
#define BL_GPU_RM_VIEW_H

#include "barlane.h"
#include "rm_client.h"

/**
 * struct rm_view - a mapping and what it takes to undo it
 * @memory: object
 * @phys:   CPU physical address, RM's key of the mapping
 * @addr:   where the CPU sees it
 * @len:    bytes, whole CPU pages
 * @type:   as which type of memory
 */
struct rm_view {
	uint32_t memory;
	uint64_t phys;
	void *addr;
	size_t len;
	enum bl_map_type type;
};

/**
 * rm_view_open() - Map
 * @conn:   client
 * @gpu:    GPU of the object
 * @memory: object of this client
 * @off:    bytes into it, multiple of the CPU page
 * @len:    bytes, whole CPU pages, inside the object
 * @view:   receives the mapping
 *
 * Return: 0; -ENOMEM (BAR1 exhausted), -EMFILE, -EPROTO (what RM answered does not add up), or RM's error.
 */
int rm_view_open(const struct rm_conn *conn, const struct rm_gpu *gpu, uint32_t memory, uint64_t off, size_t len,
		 struct rm_view *view);

/**
 * rm_view_close() - Unmap: first the page-table entries, then RM's mapping
 * @conn: client
 * @gpu:  GPU of the object
 * @view: mapping; gone whatever is returned
 *
 * Return: 0, or -errno; after -EBUSY the page-table entries may still be there and the object must not be freed.
 */
int rm_view_close(const struct rm_conn *conn, const struct rm_gpu *gpu, struct rm_view *view);

#endif
