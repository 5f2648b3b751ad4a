// SPDX-License-Identifier: MIT
/* The table of system calls behind which the emulated driver stands. What is not the driver's goes to the kernel. */
#include <errno.h>
#include <fcntl.h>
#include <linux/ioctl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "card.h"
#include "counts.h"
#include "fault.h"
#include "gpu/sys.h"
#include "rm_state.h"

#define GDRDRV_IOCTL_TYPE 0xda

/* As gpu/sys.h, where BL_SYS_SYMBOL names it. */
EMU_API const struct bl_sys *bl_emu_sys(void);

static int fail(int err)
{
	errno = err;
	return -1;
}

static int open_node(enum emu_file_kind kind, struct emu_gpu *gpu, const char *path, const char *point, int flags)
{
	struct emu_file *file;
	long err = EIO;
	int fd;

	if (!(flags & O_CLOEXEC))
		emu_violation("open of %s without O_CLOEXEC", path);
	if (kind == EMU_FILE_GDRDRV ? !emu_driver.gdrdrv : !emu_driver.rm)
		return fail(ENOENT);
	if (emu_driver.deny)
		return fail(EACCES);
	if (emu_fault(point, &err))
		return fail((int)err);
	fd = emu_file_open(kind, flags, &file);
	if (fd < 0)
		return fail(-fd);
	file->gpu = gpu;
	return fd;
}

/* /dev/nvidiaN, or NULL. */
static struct emu_gpu *gpu_of_node(const char *path)
{
	char name[24];

	for (int i = 0; i < emu_gpu_count(); i++) {
		snprintf(name, sizeof(name), "/dev/nvidia%u", emu_gpu(i)->minor);
		if (!strcmp(path, name))
			return emu_gpu(i);
	}
	return NULL;
}

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Of the real driver, if there is one: a run on the emulated GPU must not reach it. */
static bool is_of_real_driver(const char *path)
{
	return starts_with(path, "/dev/nvidia") || starts_with(path, "/proc/driver/nvidia") ||
	       starts_with(path, "/proc/driver/gdrdrv") || starts_with(path, "/sys/module/nvidia/");
}

/* What pins a card's memory is a module of the real kernel. There is no resource manager behind a card. */
static int open_beside_card(const char *path, int flags)
{
	int fd;

	if (!strcmp(path, "/dev/gdrdrv") || starts_with(path, "/proc/driver/gdrdrv") ||
	    starts_with(path, "/dev/nvidia-fs") || starts_with(path, "/proc/driver/nvidia-fs/"))
		return open(path, flags & ~O_CREAT);
	fd = emu_text_open(path, flags);
	if (fd != -2)
		return fd;
	return is_of_real_driver(path) ? fail(ENOENT) : open(path, flags & ~O_CREAT);
}

static int open_locked(const char *path, int flags)
{
	struct emu_gpu *gpu = gpu_of_node(path);
	int fd;

	if (emu_card())
		return open_beside_card(path, flags);

	if (gpu)
		return open_node(EMU_FILE_DEV, gpu, path, "open.dev", flags);
	if (!strcmp(path, "/dev/nvidiactl"))
		return open_node(EMU_FILE_CTL, NULL, path, "open.ctl", flags);
	if (!strcmp(path, "/dev/gdrdrv"))
		return open_node(EMU_FILE_GDRDRV, NULL, path, "open.gdrdrv", flags);
	fd = emu_text_open(path, flags);
	if (fd != -2)
		return fd;
	return is_of_real_driver(path) ? fail(ENOENT) : open(path, flags & ~O_CREAT);
}

static int emu_open(const char *path, int flags)
{
	int fd;

	if (!path)
		return fail(EFAULT);
	rm_lock();
	emu_files_reap(false);
	emu_driver_reload();
	fd = open_locked(path, flags);
	rm_unlock();
	return fd;
}

static int emu_close(int fd)
{
	struct emu_file *file;
	int ret;

	rm_lock();
	file = emu_file_find(fd);
	ret = file ? emu_file_close(file, fd) : close(fd);
	rm_unlock();
	return ret;
}

/* A driver request that reaches no driver: the client has lost track of its descriptors. */
static int pass_ioctl(int fd, unsigned long request, void *arg)
{
	if (_IOC_TYPE(request) == RM_IOCTL_TYPE || (_IOC_TYPE(request) == GDRDRV_IOCTL_TYPE && !emu_card()))
		emu_violation("ioctl 0x%lx on descriptor %d, which is no device node", request, fd);
	return ioctl(fd, request, arg);
}

static int emu_ioctl(int fd, unsigned long request, void *arg)
{
	enum emu_file_kind kind = EMU_FILE_DMABUF;
	struct emu_file *file;
	long err = EIO;
	int ret = 0;

	rm_lock();
	file = emu_file_find(fd);
	if (!file || file->kind == EMU_FILE_DMABUF) {
		rm_unlock();
		return pass_ioctl(fd, request, arg);
	}
	kind = file->kind;
	atomic_fetch_add(&emu_ioctls, 1);
	emu_vma_check_ioctl(_IOC_NR(request));
	if (emu_fault("ioctl", &err))
		ret = (int)-err;
	else if (kind != EMU_FILE_GDRDRV)
		ret = rm_ioctl(file, request, arg);
	rm_unlock();
	if (!ret && kind == EMU_FILE_GDRDRV)
		ret = gdr_ioctl(fd, request, arg);
	return ret ? fail(-ret) : 0;
}

static void *emu_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	struct emu_file *file;
	long err = ENOMEM;
	void *ret;

	rm_lock();
	file = flags & MAP_ANONYMOUS ? NULL : emu_file_find(fd);
	if (!file) {
		ret = mmap(addr, len, prot, flags, fd, off);
	} else if (emu_fault("mmap", &err)) {
		errno = (int)err;
		ret = MAP_FAILED;
	} else {
		ret = emu_vma_mmap(file, len, prot, flags, off);
	}
	rm_unlock();
	return ret;
}

/* The table's contract is that mappings go as a whole; what is not a mapping of a node is the kernel's. */
static int emu_munmap(void *addr, size_t len)
{
	struct emu_vma *vma;
	long err = EINVAL;
	int ret;

	rm_lock();
	vma = emu_vma_find(addr, len);
	if (vma && emu_fault("munmap", &err)) {
		ret = fail((int)err);
	} else if (vma) {
		ret = emu_vma_munmap(vma);
	} else if (emu_vma_overlapping(addr, len)) {
		emu_violation("munmap of a part of a mapping");
		ret = fail(EINVAL);
	} else {
		ret = munmap(addr, len);
	}
	rm_unlock();
	return ret;
}

static int emu_madvise(void *addr, size_t len, int advice)
{
	struct emu_vma *vma;
	long err = ENOMEM;
	int ret;

	rm_lock();
	vma = emu_vma_find(addr, len);
	if (vma && emu_fault("madvise", &err))
		ret = fail((int)err);
	else
		ret = madvise(addr, len, advice);
	if (vma && !ret && (advice == MADV_DONTFORK || advice == MADV_DOFORK))
		vma->dontfork = advice == MADV_DONTFORK;
	rm_unlock();
	return ret;
}

const struct bl_sys *bl_emu_sys(void)
{
	static const struct bl_sys table = {
		.version = BL_SYS_VERSION,
		.name = "emulated GPU",
		.open = emu_open,
		.close = emu_close,
		.ioctl = emu_ioctl,
		.mmap = emu_mmap,
		.munmap = emu_munmap,
		.madvise = emu_madvise,
	};

	return &table;
}
