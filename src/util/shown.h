/* SPDX-License-Identifier: MIT */
/*
 * shown.h - memory in which a process shows others what it is doing
 *
 * A memfd, by a name of its own: who looks finds it among the descriptors of the process in /proc, which lets the same
 * user and root look, also when the process is stopped, and in whatever PID namespace it is. It goes with the process,
 * however that ends. It is read, never mapped nor written, by who looks; so nobody ever waits for a reader.
 *
 * Bytes that belong together are a record with a count in front: odd while they change. One writer at a time.
 */
#ifndef BL_UTIL_SHOWN_H
#define BL_UTIL_SHOWN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/tsan.h"

#define BL_SHOWN_NAME  "barlane-net"
#define BL_SHOWN_MAGIC 0x31574f4853454c42ULL /* "BLESHOW1" */

/* What follows the head. */
enum bl_shown_kind { BL_SHOWN_NIC = 1, BL_SHOWN_GPU = 2 };

/**
 * struct bl_shown_head - begin of the memory
 * @magic:   BL_SHOWN_MAGIC, written last
 * @kind:    enum bl_shown_kind
 * @version: of that
 * @size:    bytes, the head included
 * @pid:     of the process in its own PID namespace: a child that still has the descriptor shows its parent's
 */
struct bl_shown_head {
	_Atomic(uint64_t) magic;
	uint32_t kind;
	uint32_t version;
	uint32_t size;
	uint32_t pid;
};

/**
 * struct bl_shown - the writer's side
 * @head: the memory; NULL: there is none
 * @fd:   its descriptor
 * @inode: of it: whoever closes all descriptors of the process closes that one too
 */
struct bl_shown {
	struct bl_shown_head *head;
	int fd;
	uint64_t inode;
};

typedef _Atomic(uint32_t) bl_shown_seq;

/* A record begins to change. The odd count comes before the bytes: who sees new bytes sees that they change. */
static inline void bl_shown_begin(bl_shown_seq *seq)
{
	uint32_t odd = atomic_load_explicit(seq, memory_order_relaxed) | 1;

#if BL_TSAN
	/* it knows no fences */
	atomic_exchange(seq, odd);
#else
	atomic_store_explicit(seq, odd, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
#endif
}

/* It is whole again: the bytes before the even count. */
static inline void bl_shown_end(bl_shown_seq *seq)
{
	atomic_store_explicit(seq, atomic_load_explicit(seq, memory_order_relaxed) + 1, memory_order_release);
}

/**
 * bl_shown_open() - Make memory to be looked at
 * @shown:   receives it, all zeros but the head; bl_shown_ready() shows it
 * @kind:    enum bl_shown_kind
 * @version: of the layout
 * @size:    bytes, the head included
 *
 * Children do not have it. Without it nothing is shown, and all else works: why is logged at info level.
 * Return: 0 or -errno.
 */
int bl_shown_open(struct bl_shown *shown, enum bl_shown_kind kind, uint32_t version, size_t size);

/* What was written so far may be looked at. */
void bl_shown_ready(struct bl_shown *shown);

/* In a process that was forked since, nothing is touched that is its parent's. */
void bl_shown_close(struct bl_shown *shown, bool is_child);

#endif
