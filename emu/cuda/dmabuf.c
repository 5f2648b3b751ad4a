// SPDX-License-Identifier: MIT
/* dma-bufs of device memory: descriptors that hold the memory and whose mmap shows it where the driver allows that. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "card.h"
#include "counts.h"
#include "emu.h"
#include "fault.h"
#include "rm_state.h"

#define ERRNO_ENOTSUPP 524 /* the kernel's own, not in errno.h */

int emu_rm_dmabuf_fd(struct emu_mem *mem, uint64_t off, uint64_t len, int allow_mmap)
{
	uint64_t page = sysconf(_SC_PAGESIZE);
	struct emu_file *file;
	int fd;

	if (!len || (off | len) & (page - 1) || off > mem->size || len > mem->size - off)
		return -EINVAL;
	if (mem->gpu->card)
		return emu_card_dmabuf_fd(mem, off, len, allow_mmap);
	rm_lock();
	emu_files_reap(false);
	fd = emu_file_open(EMU_FILE_DMABUF, O_RDWR | O_CLOEXEC, &file);
	if (fd >= 0) {
		file->mem = emu_mem_get(mem);
		file->off = off;
		file->len = len;
		file->mmappable = allow_mmap;
	}
	rm_unlock();
	return fd;
}

void *dmabuf_mmap(struct emu_file *file, size_t len, int prot, off_t off)
{
	long err = EIO;

	if (emu_fault("dmabuf.mmap", &err))
		errno = (int)err;
	else if (len > file->len || (uint64_t)off > file->len - len)
		errno = EINVAL;
	else if (!file->mmappable)
		errno = ERRNO_ENOTSUPP;
	else
		return emu_vma_show(file, file->mem->gpu, file->mem->phys + file->off + off, len, len, prot);
	return MAP_FAILED;
}

void *bl_emu_dmabuf_attach(int fd, void **addr_p, uint64_t *len_p)
{
	struct emu_mem *mem = NULL;
	struct emu_file *file;

	rm_lock();
	file = emu_file_find(fd);
	if (file && file->kind == EMU_FILE_DMABUF && emu_file_is_ours(file)) {
		mem = emu_mem_get(file->mem);
		*addr_p = (char *)emu_mem_view(mem) + file->off;
		*len_p = file->len;
	}
	rm_unlock();
	return mem;
}

void bl_emu_dmabuf_detach(void *attachment)
{
	emu_mem_put(attachment);
}
