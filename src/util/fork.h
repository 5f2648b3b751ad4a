/* SPDX-License-Identifier: MIT */
/*
 * fork.h - noticing that the process was forked, and what a child must not inherit
 *
 * A word in a page that the kernel wipes in children (MADV_WIPEONFORK) tells parent from child with one load, however
 * the child was made. Descriptors that only this process may use are registered here; a child made by fork() closes its
 * copies at once, so that it keeps no driver object of its parent alive.
 */
#ifndef BL_UTIL_FORK_H
#define BL_UTIL_FORK_H

#include <stdbool.h>
#include <stdint.h>

#define BL_FORK_MAGIC 0x626c616eU

#pragma GCC visibility push(default) /* exported to this project's other libraries, see barlane.map */

/* Points to a word that is BL_FORK_MAGIC in the process that called bl_fork_init() and 0 in its children. */
extern const volatile uint32_t *bl_fork_word;

/**
 * bl_fork_init() - Start watching for forks, or make a child an owner in its own right
 * @forget: called in a child that starts to use the library itself, before it counts as an owner: forgets all that was
 *          inherited. The other threads of the parent do not exist in the child, but locks may be in any state.
 *
 * Idempotent, thread-safe.
 * Return: 0 or -errno.
 */
int bl_fork_init(void (*forget)(void));

/* Whether this process is a fork of the one that called bl_fork_init(). False before the first call. */
static inline bool bl_fork_is_child(void)
{
	return __builtin_expect(*bl_fork_word != BL_FORK_MAGIC, 0);
}

/*
 * Between mmap() and madvise(MADV_DONTFORK) a fork would hand the mapping on. Code in that window holds the read side;
 * fork() takes the write side. Never held across a call into CUDA.
 */
void bl_fork_window_enter(void);
void bl_fork_window_leave(void);

/**
 * bl_fork_fd_add() - Have children close a descriptor
 * @fd: descriptor; must be removed before it is closed
 *
 * Return: 0 or -ENOMEM.
 */
int bl_fork_fd_add(int fd);

/* Return: it was registered; in a child: it was not closed at the fork, which no handler of libc saw. */
bool bl_fork_fd_remove(int fd);

#pragma GCC visibility pop

#endif
