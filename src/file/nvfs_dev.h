/* SPDX-License-Identifier: MIT */
/*
 * nvfs_dev.h - the device nodes of the nvidia-fs module, and calls to it
 *
 * /dev/nvidia-fs0 to 15 are all the same; they are there so that many requests do not meet in one open file.
 */
#ifndef BL_FILE_NVFS_DEV_H
#define BL_FILE_NVFS_DEV_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "nvidia_fs.h"

struct bl_nvfs_map;

/* Oldest version of the module that is spoken to. */
#define BL_NVFS_MAJOR	  2U
#define BL_NVFS_MIN_MINOR 12U

/**
 * struct bl_nvfs_dev - the module, open
 * @refs:  who uses it
 * @nr:    open nodes, > 0
 * @fds:   their descriptors, which no child keeps
 * @major: version of the module
 * @minor: see @major
 * @turn:  counts bl_nvfs_dev_fd()
 * @gone:  the module answered as one that is being unloaded: nothing is asked of it any more
 * @own:   it is Barlane's: it has UNMAP, takes several requests at a time on a mapping, and tells the results of a BATCH
 * @lock:  guards what follows
 * @kept:  shadow mappings without memory, for the next that is wanted (nvfs_map.h)
 * @kept_bytes: of their shadows
 */
struct bl_nvfs_dev {
	atomic_int refs;
	int nr;
	int fds[NVIDIA_FS_MAX_NODES];
	unsigned int major;
	unsigned int minor;
	atomic_uint turn;
	atomic_bool gone;
	bool own;
	pthread_mutex_t lock;
	struct bl_nvfs_map *kept;
	size_t kept_bytes;
};

/**
 * bl_nvfs_dev_open() - Look for the module and open its nodes
 * @dev_p: receives it, to be given to bl_nvfs_dev_put()
 * @why:   receives what was found, or what is missing and what would help
 * @size:  bytes of @why
 *
 * All nodes that can be opened are used; one is enough.
 * Return: 0; -ENOENT (module not loaded, or no node), -EACCES or -EPERM (node closed to this user), -EPROTONOSUPPORT
 * (version), -EINVAL (being unloaded), -ENOMEM, or what open() gave.
 */
int bl_nvfs_dev_open(struct bl_nvfs_dev **dev_p, char *why, size_t size);
struct bl_nvfs_dev *bl_nvfs_dev_get(struct bl_nvfs_dev *dev);
void bl_nvfs_dev_put(struct bl_nvfs_dev *dev);

/* One of the nodes, in turn. */
int bl_nvfs_dev_fd(struct bl_nvfs_dev *dev);

/**
 * bl_nvfs_dev_call() - Ask the module
 * @dev: the module
 * @fd:  from bl_nvfs_dev_fd()
 * @cmd: NVIDIA_FS_IOC_MAP, _READ or _WRITE
 * @arg: argument; what lies at NVIDIA_FS_RETURN_OFFSET is no negative errno value when it is passed
 *
 * Return: 0; the module's reason as -errno, with what is private to the kernel translated; -ENODEV when the module is
 * gone or going.
 */
int bl_nvfs_dev_call(struct bl_nvfs_dev *dev, int fd, unsigned long cmd, union nvidia_fs_arg *arg);

/**
 * bl_nvfs_dev_unmap() - Have the module give memory back and keep the shadow mapping
 * @dev:    the module, @own
 * @fd:     from bl_nvfs_dev_fd()
 * @shadow: the mapping
 *
 * Return: 0 or -errno: -EBUSY (a request is in flight).
 */
int bl_nvfs_dev_unmap(struct bl_nvfs_dev *dev, int fd, const void *shadow);

/**
 * bl_nvfs_dev_batch() - Have the module carry out several requests, and wait for them
 * @dev:     the module, @own
 * @fd:      from bl_nvfs_dev_fd()
 * @entries: requests; each one's @ioctl_return receives bytes or a negative errno value
 * @nr:      1 to NVIDIA_FS_MAX_BATCH
 *
 * Return: 0: all were started. -EPERM: none was; those that nothing is wrong with have -ECANCELED. Other errors say nothing of
 * the entries.
 */
int bl_nvfs_dev_batch(struct bl_nvfs_dev *dev, int fd, struct nvidia_fs_io *entries, unsigned int nr);

#endif
