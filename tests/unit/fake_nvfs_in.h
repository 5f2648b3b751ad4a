/* SPDX-License-Identifier: MIT */
/*
 * fake_nvfs_in.h - what the parts of the fake module share: fake_nvfs.c has descriptors and mappings, _io.c the commands, _own.c
 * those of Barlane's module
 */
#ifndef TESTS_UNIT_FAKE_NVFS_IN_H
#define TESTS_UNIT_FAKE_NVFS_IN_H

#include <pthread.h>
#include <string.h>
#include <sys/types.h>

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
 * @kept:     page that it has reported to until UNMAP
 * @users:    requests under way
 * @shared:   two were at a time
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
	struct vma *kept;
	int users;
	bool shared;
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

/* Where a request of the module has its result. */
#define REASON 32

/**
 * struct job - a READ or WRITE
 * @vma:    its shadow mapping, referenced
 * @write:  direction
 * @sync:   the caller waits
 * @fd:     a descriptor of its own
 * @offset: in the file
 * @size:   bytes
 * @gpu:    where in the GPU's memory
 * @fence:  value for the page
 * @fault:  what goes wrong with it
 * @value:  of the fault
 * @zeroes: holes are zeroed, not listed
 * @next:   of the lost ones
 */
struct job {
	struct vma *vma;
	bool write;
	bool sync;
	int fd;
	int64_t offset;
	size_t size;
	uint8_t *gpu;
	uint64_t fence;
	enum fake_nvfs_fault fault;
	long value;
	bool zeroes;
	struct job *next;
};

static inline uint64_t get64(const uint8_t *at, int off)
{
	uint64_t v;

	memcpy(&v, at + off, sizeof(v));
	return v;
}

static inline uint32_t get32(const uint8_t *at, int off)
{
	uint32_t v;

	memcpy(&v, at + off, sizeof(v));
	return v;
}

static inline void put64(uint8_t *at, int off, uint64_t v)
{
	memcpy(at + off, &v, sizeof(v));
}

static inline void put32(uint8_t *at, int off, uint32_t v)
{
	memcpy(at + off, &v, sizeof(v));
}

/* Check a READ, WRITE or @entry of a batch, and take its mapping; under the lock. 0, or the positive reason. */
int fake_job_admit(uint8_t *arg, bool write, bool entry, struct job **job_p);

/* Move its bytes: how many, or -errno; and tell its end. Without the lock. */
ssize_t fake_job_carry_out(struct job *job);
void fake_job_end(struct job *job, ssize_t result);

/* BATCH: 0 or -errno. Called without the lock. */
int64_t fake_nvfs_batch(const uint8_t *arg);

/* UNMAP; 0 or a positive errno value. Called without the lock. */
#define FAKE_UNMAP 0x40107480UL
int fake_nvfs_unmap(const void *arg);

#endif
