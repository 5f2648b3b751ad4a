/* SPDX-License-Identifier: MIT */
/* fake_nvfs_in.h - what the halves of the fake module share: fake_nvfs.c has descriptors and mappings, _io.c the
 * commands */
#ifndef TESTS_UNIT_FAKE_NVFS_IN_H
#define TESTS_UNIT_FAKE_NVFS_IN_H

#include <pthread.h>

#include "fake_nvfs.h"

enum vma_state { FREE, INIT, READY, IN_PROGRESS, TERMINATE_REQ, TERMINATED, CALLBACK_END };

/**
 * struct vma - a mapping: of a node (shadow pages) or of ordinary memory
 * @addr:     where the caller sees it; NULL: the caller has unmapped it
 * @alias:    where the fake sees it: the kernel's own view of pages that it has pinned
 * @len:      bytes
 * @file:     node, NULL: ordinary memory
 * @dontfork: children do not get it
 * @pins:     shadow mappings that report into it
 * @state:    of a shadow mapping
 * @meta:     page that it reports to
 * @gpu_va:   what it is bound to
 * @gpu_len:  see @gpu_va
 * @refs:     the mapping, and a request under way
 * @next:     in the list
 */
struct vma {
	void *addr;
	uint8_t *alias;
	size_t len;
	struct node *file;
	bool dontfork;
	int pins;
	enum vma_state state;
	struct vma *meta;
	uint64_t gpu_va;
	uint64_t gpu_len;
	int refs;
	struct vma *next;
};

extern pthread_mutex_t fake_lock;
extern struct fake_nvfs_count fake_count;

/* All of them under the lock. */
void fake_break(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
struct vma *fake_vma_at(uint64_t addr);
void fake_vma_put(struct vma *vma);

/* Where the bytes of a device address are, NULL unless all @size are; and the GPU's address on the bus. */
uint8_t *fake_gpu_at(uint64_t va, uint64_t size);
uint64_t fake_gpu_pdev(void);

bool fake_io_happened(void);
struct vma *fake_vmas(void);

/* Commands of a node; whether the call fails, with the reason in the argument. Called without the lock. */
bool fake_nvfs_ioctl(unsigned long request, void *arg);
void fake_io_begin(void);

#endif
