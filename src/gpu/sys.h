/* SPDX-License-Identifier: MIT */
/*
 * sys.h - the system calls through which the core reaches drivers
 *
 * Providers call the kernel only through this table, so that the emulated GPU (emu/cuda) and the tests can stand in
 * for device nodes, sysfs files and drivers. Every entry behaves as the system call of its name: -1 and errno.
 */
#ifndef BL_GPU_SYS_H
#define BL_GPU_SYS_H

#include <stddef.h>
#include <sys/types.h>

/* Raised whenever an entry is added, so that a library that supplies the table can be refused. */
#define BL_SYS_VERSION 1

/**
 * struct bl_sys - table of system calls
 * @version: BL_SYS_VERSION of whoever filled the table
 * @name:    "kernel", or what stands in for it; shown to the user
 * @open:    open(2); device nodes and the few files of /sys and /proc that describe the driver
 * @close:   close(2)
 * @ioctl:   ioctl(2)
 * @mmap:    mmap(2); address hint always NULL
 * @munmap:  munmap(2); always a whole mapping
 * @madvise: madvise(2)
 */
struct bl_sys {
	unsigned int version;
	const char *name;
	int (*open)(const char *path, int flags);
	int (*close)(int fd);
	int (*ioctl)(int fd, unsigned long request, void *arg);
	void *(*mmap)(void *addr, size_t len, int prot, int flags, int fd, off_t off);
	int (*munmap)(void *addr, size_t len);
	int (*madvise)(void *addr, size_t len, int advice);
};

/* Symbol of a library named by BARLANE_SYSCALLS that returns its table. */
#define BL_SYS_SYMBOL "bl_emu_sys"
typedef const struct bl_sys *(*bl_sys_fn)(void);

/**
 * bl_sys() - The table in use
 *
 * The kernel's, unless BARLANE_SYSCALLS names a library that supplies another; that variable is ignored in
 * set-user-id programs. Chosen once per process. If the named library cannot serve, every entry fails with ENOSYS
 * and the reason is logged: a run that asked for the emulated GPU must not reach a real one.
 * Visible to this project's tools, which look at the same nodes and files as the core does.
 */
__attribute__((visibility("default"))) const struct bl_sys *bl_sys(void);

/**
 * bl_sys_set() - Use another table from now on; for tests
 * @sys: table that stays valid, or NULL for the default
 */
void bl_sys_set(const struct bl_sys *sys);

/**
 * bl_sys_read_file() - Read a small file through the table
 * @path: file
 * @buf:  receives at most @size - 1 bytes and a NUL; trailing white space is removed
 * @size: bytes of @buf, > 0
 *
 * Return: length of the text, or -errno.
 */
__attribute__((visibility("default"))) int bl_sys_read_file(const char *path, char *buf, size_t size);

#endif
