/* SPDX-License-Identifier: MIT */
/*
 * fake_sys.h - a table of system calls whose devices are scripted and whose descriptors and mappings are real
 *
 * Descriptors are real ones, so that counts of /proc/self/fd mean something; mappings of devices are real mappings of
 * one memory file that plays the GPU's memory. Any call can be made to fail. Thread-safe, usable in forked children.
 */
#ifndef TESTS_UNIT_FAKE_SYS_H
#define TESTS_UNIT_FAKE_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gpu/sys.h"

/* The GPU's memory: bytes, and the device address of the first. */
#define FAKE_VRAM_SIZE (32UL << 20)
#define FAKE_VRAM_VA   0x7f4000000000ULL

struct fake_file;

/**
 * struct fake_device - what answers on a path; called with the table's lock held
 * @ioctl:  0 or -errno
 * @mmap:   finds the place in the GPU's memory; 0 or -errno
 * @munmap: optional: a mapping went away
 * @close:  optional: the last that is heard of the file
 */
struct fake_device {
	int (*ioctl)(struct fake_file *file, unsigned long request, void *arg);
	int (*mmap)(struct fake_file *file, size_t len, off_t off, uint64_t *vram_off_p);
	void (*munmap)(struct fake_file *file, uint64_t vram_off, size_t len);
	void (*close)(struct fake_file *file);
};

/**
 * struct fake_file - an open device
 * @fd:    descriptor, -1 once it is closed
 * @owner: process that opened it
 * @name:  for traces: last part of the path
 * @dev:   what answers
 * @priv:  the device's own
 * @word:  likewise
 */
struct fake_file {
	int fd;
	pid_t owner;
	char name[24];
	const struct fake_device *dev;
	void *priv;
	uint64_t word;
};

enum fake_op { FAKE_OPEN, FAKE_IOCTL, FAKE_MMAP, FAKE_MUNMAP, FAKE_MADVISE, FAKE_NR_OPS };

/* Start of a test: no paths, files, faults, broken rules or trace; the table is put in use. */
void fake_sys_begin(void);

/* A path that opens a device, or a text file. NULL takes it away. */
void fake_sys_device(const char *path, const struct fake_device *dev);
void fake_sys_text(const char *path, const char *text);

/* A path that cannot be opened for this reason (positive errno). */
void fake_sys_broken(const char *path, int err);

/* A descriptor of a device that was not opened by path, such as a dma-buf; or -errno. */
int fake_sys_adopt(const char *name, const struct fake_device *dev, uint64_t word);

/* The file of a descriptor, NULL when it is none of ours; under the lock. */
struct fake_file *fake_sys_file(int fd);

/**
 * fake_sys_fail_at() - Make one call fail
 * @nr:  how many calls (of any kind but close) succeed before it; -1: none fails from now on
 * @err: positive errno
 */
void fake_sys_fail_at(int nr, int err);

/* The next call of a kind fails; with @err 0 none. */
void fake_sys_fail_next(enum fake_op op, int err);

/* Whether the failure that was asked for has happened. */
bool fake_sys_failed(void);

/* Files and mappings that exist now. */
int fake_sys_files(void);
int fake_sys_vmas(void);

/* Mappings of a file; under the lock. */
int fake_sys_vmas_of(const struct fake_file *file);

/* Where the GPU's memory can be looked at without the library. */
uint8_t *fake_vram(void);

/* Record calls from now on; lines are compared one by one. */
void fake_trace_begin(void);
bool fake_tracing(void);
void fake_trace(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The recorded lines must be these, @nr of them; ends recording. */
void fake_trace_expect(const char *const *lines, size_t nr);

/* Bytes as 32-bit words in hexadecimal; a run of zeros is "0*N". Return: @buf. */
char *fake_words(char *buf, size_t size, const void *bytes, size_t len);

/* A rule that a caller has to keep was broken: the first one is remembered until fake_sys_begin(). */
void fake_violation(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
const char *fake_violations(void);

/* Open descriptors of this process. */
int fake_count_fds(void);

#endif
