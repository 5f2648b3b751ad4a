/* SPDX-License-Identifier: MIT */
/*
 * pages.h - buffers for pieces of files: page-aligned, few, warm in the cache of the CPU that uses them
 *
 * One per CPU, made when it is first needed, so that a thread finds the one that it used last in its own cache. Taken
 * without a lock; a thread that was moved to another CPU meanwhile holds on to what it has.
 */
#ifndef BL_FILE_PAGES_H
#define BL_FILE_PAGES_H

#include <stddef.h>

#define BL_PAGES_SIZE (1UL << 20)

/* BL_PAGES_SIZE bytes and two pages more, aligned to a page; NULL when there is no memory. To be given back. */
void *bl_pages_get(void);
void bl_pages_put(void *pages);

/* Forget all that was inherited, in a child that starts anew. */
void bl_pages_forget(void);

#endif
