// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/nvfs: " fmt
#include "nvfs_dev.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/mmap.h"
#include "gpu/sys.h"
#include "nvfs_map.h"
#include "nvfs_text.h"
#include "util/log.h"

/* Numbers of the kernel's own that reach user space through the argument, where no system call layer turns them. */
#define KERNEL_ERESTARTSYS	     512
#define KERNEL_ERESTART_RESTARTBLOCK 516
#define KERNEL_ENOTSUPP		     524
#define KERNEL_EIOCBQUEUED	     529
#define LAST_USER_ERRNO		     511

static int read_version(struct bl_nvfs_dev *dev, char *why, size_t size)
{
	char *text = NULL;
	int ret;

	ret = bl_nvfs_text_read(BL_NVFS_PROC "/version", &text);
	if (ret == -ENOENT) {
		snprintf(why, size,
			 "the nvidia-fs module is not loaded (no " BL_NVFS_PROC "/version): modprobe nvidia-fs");
		return ret;
	}
	if (ret) {
		snprintf(why, size, "read " BL_NVFS_PROC "/version: %s", strerror(-ret));
		return ret;
	}
	if (sscanf(text, "version: %u.%u", &dev->major, &dev->minor) != 2) {
		snprintf(why, size, BL_NVFS_PROC "/version reads \"%.40s\", which is no version", text);
		ret = -EPROTONOSUPPORT;
	} else if (dev->major != BL_NVFS_MAJOR || dev->minor < BL_NVFS_MIN_MINOR) {
		snprintf(why, size,
			 "nvidia-fs has version %u.%u; this library speaks to %u.%u and later of %u: install another",
			 dev->major, dev->minor, BL_NVFS_MAJOR, BL_NVFS_MIN_MINOR, BL_NVFS_MAJOR);
		ret = -EPROTONOSUPPORT;
	}
	free(text);
	return ret;
}

static const char *cure(int err)
{
	switch (err) {
	case ENOENT:
		return "the module is loaded: let udev make the nodes, or give them to the container";
	case EACCES:
	case EPERM:
		return "the module makes its nodes with mode 0666: udev, or the container's device rules, changed that";
	case EINVAL:
		return "the module is being unloaded: load it again";
	case ENODEV:
	case ENXIO:
		return "the node is left from an earlier load, with another major number: remove it and load the "
		       "module again";
	case EMFILE:
	case ENFILE:
		return "too many open files: raise the limit";
	default:
		return "see the kernel's log";
	}
}

static int open_nodes(struct bl_nvfs_dev *dev, char *why, size_t size)
{
	char path[sizeof(NVIDIA_FS_PATH) + 4];
	int first = 0;

	for (int i = 0; i < NVIDIA_FS_MAX_NODES; i++) {
		int fd;

		snprintf(path, sizeof(path), NVIDIA_FS_PATH "%d", i);
		fd = bl_device_open(path);
		if (fd >= 0)
			dev->fds[dev->nr++] = fd;
		else if (!first || first == -ENOENT)
			first = fd;
	}
	if (dev->nr)
		return 0;
	snprintf(why, size, "open " NVIDIA_FS_PATH "0: %s; %s", strerror(-first), cure(-first));
	return first;
}

/* The request that asks nothing: NVIDIA's module does not know it. */
static bool is_own(const struct bl_nvfs_dev *dev)
{
	union nvidia_fs_arg room = {0};

	return !bl_sys()->ioctl(dev->fds[0], NVIDIA_FS_IOC_UNMAP, &room);
}

int bl_nvfs_dev_open(struct bl_nvfs_dev **dev_p, char *why, size_t size)
{
	struct bl_nvfs_dev *dev = calloc(1, sizeof(*dev));
	int ret;

	if (!dev) {
		snprintf(why, size, "out of memory");
		return -ENOMEM;
	}
	atomic_init(&dev->refs, 1);
	ret = read_version(dev, why, size);
	if (!ret)
		ret = open_nodes(dev, why, size);
	if (ret) {
		free(dev);
		return ret;
	}
	dev->own = is_own(dev);
	pthread_mutex_init(&dev->lock, NULL);
	snprintf(why, size, "nvidia-fs %u.%u, %d nodes", dev->major, dev->minor, dev->nr);
	*dev_p = dev;
	return 0;
}

struct bl_nvfs_dev *bl_nvfs_dev_get(struct bl_nvfs_dev *dev)
{
	atomic_fetch_add(&dev->refs, 1);
	return dev;
}

void bl_nvfs_dev_put(struct bl_nvfs_dev *dev)
{
	if (atomic_fetch_sub(&dev->refs, 1) != 1)
		return;
	bl_nvfs_map_drop_kept(dev);
	for (int i = 0; i < dev->nr; i++)
		bl_device_close(dev->fds[i]);
	pthread_mutex_destroy(&dev->lock);
	free(dev);
}

int bl_nvfs_dev_fd(struct bl_nvfs_dev *dev)
{
	return dev->fds[atomic_fetch_add(&dev->turn, 1) % (unsigned int)dev->nr];
}

static int user_errno(int64_t reason)
{
	if (reason >= KERNEL_ERESTARTSYS && reason <= KERNEL_ERESTART_RESTARTBLOCK)
		return -EINTR;
	if (reason == KERNEL_ENOTSUPP || reason == KERNEL_EIOCBQUEUED)
		return -EOPNOTSUPP;
	return reason > LAST_USER_ERRNO ? -EIO : -(int)reason;
}

int bl_nvfs_dev_call(struct bl_nvfs_dev *dev, int fd, unsigned long cmd, union nvidia_fs_arg *arg)
{
	int64_t reason;
	int err;

	if (atomic_load_explicit(&dev->gone, memory_order_relaxed))
		return -ENODEV;
	if (bl_sys()->ioctl(fd, cmd, arg) >= 0)
		return 0;
	err = errno;
	memcpy(&reason, (char *)arg + NVIDIA_FS_RETURN_OFFSET, sizeof(reason));
	if (reason < 0 && reason >= -4095)
		return user_errno(-reason);
	/* the module did not come to look at the argument: this is how it refuses while it is being unloaded */
	if (err == EINVAL || err == ENODEV || err == ENXIO || err == EBADF) {
		if (!atomic_exchange(&dev->gone, true))
			log_warn("the nvidia-fs module is gone (%s): other paths take over", strerror(err));
		return -ENODEV;
	}
	/* and this is all that a reason which was lost leaves */
	return err == EPERM ? -EIO : -err;
}

int bl_nvfs_dev_unmap(struct bl_nvfs_dev *dev, int fd, const void *shadow)
{
	struct nvidia_fs_unmap arg = {.cpuvaddr = (uintptr_t)shadow};

	if (atomic_load_explicit(&dev->gone, memory_order_relaxed))
		return -ENODEV;
	return bl_sys()->ioctl(fd, NVIDIA_FS_IOC_UNMAP, &arg) < 0 ? -errno : 0;
}

int bl_nvfs_dev_batch(struct bl_nvfs_dev *dev, int fd, struct nvidia_fs_io *entries, unsigned int nr)
{
	union nvidia_fs_arg arg = {0};

	if (atomic_load_explicit(&dev->gone, memory_order_relaxed))
		return -ENODEV;
	arg.batch = (struct nvidia_fs_batch){.nents = nr, .io_entries = (uintptr_t)entries};
	if (bl_sys()->ioctl(fd, NVIDIA_FS_IOC_BATCH, &arg) < 0)
		return -errno;
	for (unsigned int i = 0; i < nr; i++) {
		int64_t ret = entries[i].ioctl_return;

		if (ret < 0)
			entries[i].ioctl_return = ret >= -4095 ? user_errno(-ret) : -EPROTO;
	}
	return 0;
}
