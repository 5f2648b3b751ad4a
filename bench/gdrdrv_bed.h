/* SPDX-License-Identifier: MIT */
/*
 * gdrdrv_bed.h - memory of the emulated card, and the system calls that gdrdrv_lat times
 *
 * Functions end the program with a message when something fails: times of what did not work mean nothing.
 */
#ifndef BENCH_GDRDRV_BED_H
#define BENCH_GDRDRV_BED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KIB 1024UL
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define GPU_PAGE (64 * KIB)
#define CPU_PAGE 4096UL
#define MAX_ROUNDS 5000

enum gdrdrv_step { STEP_PIN, STEP_MAP, STEP_TOUCH, STEP_UNMAP, STEP_UNPIN, NR_STEPS };

/**
 * struct gdrdrv_bed - an object on the card, and the module
 * @card:   file of the card that has it
 * @drv:    file of /dev/gdrdrv
 * @va:     its GPU address
 * @size:   bytes
 * @offset: in video memory, which is its place in the card's file
 * @handle: for the card's driver
 */
struct gdrdrv_bed {
	int card;
	int drv;
	uint64_t va;
	uint64_t size;
	uint64_t offset;
	uint32_t handle;
};

_Noreturn void bed_die(const char *what);

/* Bytes of the largest object that the card has room for. */
uint64_t bed_largest(void);

void bed_open(uint64_t size, struct gdrdrv_bed *bed);
void bed_close(const struct gdrdrv_bed *bed);

int bed_drv_open(void);
uint64_t bed_pin(int drv, uint64_t va, uint64_t size);
void bed_unpin(int drv, uint64_t handle);
void bed_info(int drv, uint64_t handle, uint64_t want_va);

/* Store once into each @stride bytes. */
void bed_touch(void *addr, uint64_t size, uint64_t stride);

/**
 * bed_bare() - The least that a driver of memory has to do
 * @bed:   memory
 * @size:  bytes
 * @touch: store into each CPU page of the mapping as well
 *
 * open() of the card's node, an ioctl that copies 32 bytes out (BL_CARD_IOC_INFO), mmap(), munmap(), close(). The mapping
 * is of the bed's object and file, since a file that was just opened has no memory.
 */
void bed_bare(const struct gdrdrv_bed *bed, uint64_t size, bool touch);

/**
 * bed_round() - Pin, map, unmap and unpin by system calls
 * @bed:    memory
 * @size:   bytes
 * @stride: store once into each so many bytes of the mapping as well; 0: none
 * @ns:     NR_STEPS times, or NULL to read no clock
 */
void bed_round(const struct gdrdrv_bed *bed, uint64_t size, uint64_t stride, double *ns);

/* The bed's memory in sizes up to all of it, and pins of it on files that have up to 10,000: a table each. */
void bench_sizes(const struct gdrdrv_bed *bed, size_t rounds);
void bench_lookups(const struct gdrdrv_bed *bed, size_t rounds);

#endif
