/* SPDX-License-Identifier: MIT */
/*
 * bed.h - a drive, memory of the emulated card, and the module between them, by bare system calls
 *
 * Functions end the program with a message when something fails: figures of what did not work mean nothing.
 */
#ifndef BENCH_NVFS_BED_H
#define BENCH_NVFS_BED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nvidia_fs.h"

#define KIB 1024UL
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

#define BED_DRIVE "/dev/nvme0n1"

/**
 * struct bed - what all measurements need
 * @card:  file of the card
 * @node:  file of the module
 * @drive: the drive, with O_DIRECT
 * @va:    memory on the card
 * @len:   bytes of it
 * @inum:  inode of the drive's node
 * @major: of the drive
 * @minor: of the drive
 */
struct bed {
	int card;
	int node;
	int drive;
	uint64_t va;
	uint64_t len;
	uint64_t inum;
	uint32_t major;
	uint32_t minor;
};

/**
 * struct bed_map - memory that is bound
 * @shadow: shadow
 * @len:    bytes of it
 * @meta:   page for reports
 */
struct bed_map {
	void *shadow;
	size_t len;
	struct nvidia_fs_meta *meta;
};

_Noreturn void bed_die(const char *what);
void bed_open(uint64_t len, struct bed *bed);

/* Bytes of the largest object that the card has room for. */
uint64_t bed_largest(void);

/* The page for reports may be one of an earlier mapping, or NULL. */
void bed_shadow(const struct bed *bed, size_t shadow_len, struct nvidia_fs_meta *meta, struct bed_map *map);
void bed_bind(const struct bed *bed, const struct bed_map *map, uint64_t len);
void bed_unmap(const struct bed_map *map);

/* Memory is given back and the shadow kept; bed_bind_again() binds to it with the page for reports that it had. */
void bed_unbind(const struct bed *bed, const struct bed_map *map);
void bed_bind_again(const struct bed *bed, const struct bed_map *map, uint64_t len);

/* A read that is waited for. */
void bed_read(const struct bed *bed, const struct bed_map *map, uint64_t pos, size_t len);

/* The first number of a file, behind a word if that is not NULL. */
uint64_t bed_number(const char *path, const char *word);

/* The measurements, each with its table; true: a limit was missed. */
bool bench_cpu(const struct bed *bed, size_t rounds);
bool bench_maps(const struct bed *bed, size_t rounds);
bool bench_allocs(const struct bed *bed);
void bench_memory(const struct bed *bed);

#endif
