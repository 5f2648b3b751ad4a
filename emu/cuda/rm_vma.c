// SPDX-License-Identifier: MIT
/*
 * Mappings of nodes into the process. Each is a shared mapping of the piece of the GPU's video memory that the node's
 * file shows: as on hardware, it goes on showing those bytes whoever owns them later, until it is unmapped.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "counts.h"
#include "rm_state.h"

static struct emu_vma *vmas;
static struct emu_vma *volatile inherited; /* in a forked child: its parent's, kept for the sake of leak checkers */

struct emu_vma *emu_vma_list(void)
{
	return vmas;
}

struct emu_vma *emu_vma_find(const void *addr, size_t len)
{
	size_t page = sysconf(_SC_PAGESIZE);

	for (struct emu_vma *vma = vmas; vma; vma = vma->next) {
		if (vma->addr == addr && vma->len == ((len + page - 1) & ~(page - 1)))
			return vma;
	}
	return NULL;
}

struct emu_vma *emu_vma_overlapping(const void *addr, size_t len)
{
	uintptr_t start = (uintptr_t)addr;

	for (struct emu_vma *vma = vmas; vma; vma = vma->next) {
		uintptr_t first = (uintptr_t)vma->addr;

		if (start < first + vma->len && first < start + len)
			return vma;
	}
	return NULL;
}

static void vma_remove(struct emu_vma *vma)
{
	struct emu_vma **link = &vmas;

	while (*link != vma)
		link = &(*link)->next;
	*link = vma->next;
	if (vma->pin)
		gdr_vma_closed(vma->pin);
	emu_file_put(vma->file);
	free(vma);
}

/* With @shown < @len the rest of the range is there and cannot be accessed. */
static void *map_video_memory(struct emu_gpu *gpu, uint64_t phys, size_t shown, size_t len, int prot)
{
	void *addr, *fixed;

	if (shown >= len)
		return mmap(NULL, len, prot, MAP_SHARED, gpu->memfd, (off_t)phys);
	addr = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (addr == MAP_FAILED || !shown)
		return addr;
	fixed = mmap(addr, shown, prot, MAP_SHARED | MAP_FIXED, gpu->memfd, (off_t)phys);
	if (fixed == MAP_FAILED) {
		int err = errno;

		munmap(addr, len);
		errno = err;
	}
	return fixed;
}

void *emu_vma_show(struct emu_file *file, struct emu_gpu *gpu, uint64_t phys, size_t shown, size_t len, int prot)
{
	struct emu_vma *vma = calloc(1, sizeof(*vma)), *stale;
	void *addr;

	if (!vma) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	addr = map_video_memory(gpu, phys, shown, len, prot);
	if (addr == MAP_FAILED) {
		free(vma);
		return MAP_FAILED;
	}
	/* the system gave the address again, so whatever is recorded there was unmapped behind our back */
	while ((stale = emu_vma_overlapping(addr, len)))
		vma_remove(stale);
	*vma = (struct emu_vma){.next = vmas, .addr = addr, .len = len, .file = file, .tid = gettid()};
	emu_file_hold(file);
	vmas = vma;
	return addr;
}

static void *dev_mmap(struct emu_file *file, size_t len, int prot, off_t off)
{
	uint64_t page = sysconf(_SC_PAGESIZE);
	uint64_t start, shown;
	void *addr;

	errno = EINVAL;
	if (!file->used || prot & PROT_EXEC)
		return MAP_FAILED;
	start = file->context.phys & ~(page - 1);
	shown = ((file->context.phys + file->context.len + page - 1) & ~(page - 1)) - start;
	if (off || (emu_driver.abi->mmap_exact && len != shown)) {
		errno = ENXIO;
		return MAP_FAILED;
	}
	if (!file->map) /* the file still knows the addresses: the driver lets it pass */
		emu_violation("mmap of a device file after UNMAP_MEMORY of 0x%x", file->context.hmemory);
	if (file->context.read_only)
		prot &= ~PROT_WRITE;
	addr = emu_vma_show(file, file->gpu, start, shown, len, prot);
	if (addr != MAP_FAILED)
		vmas->map = file->map;
	return addr;
}

/* What the system checks before it asks the driver. */
static int check_access(const struct emu_file *file, int prot, int flags)
{
	if (file->accmode == O_WRONLY)
		return EACCES;
	if ((flags & MAP_TYPE) == MAP_SHARED && prot & PROT_WRITE && file->accmode != O_RDWR)
		return EACCES;
	return 0;
}

void *emu_vma_mmap(struct emu_file *file, size_t len, int prot, int flags, off_t off)
{
	size_t page = sysconf(_SC_PAGESIZE);

	errno = EINVAL;
	if (!len || off < 0 || off & (off_t)(page - 1))
		return MAP_FAILED;
	errno = check_access(file, prot, flags);
	if (errno)
		return MAP_FAILED;
	len = (len + page - 1) & ~(page - 1);
	if (file->kind == EMU_FILE_GDRDRV)
		return gdr_mmap(file, len, prot, off); /* checks the process itself, does not look at the flags */
	if (!emu_file_is_ours(file)) {
		emu_violation("mmap of a descriptor that another process opened");
		errno = EACCES;
		return MAP_FAILED;
	}
	if (file->kind == EMU_FILE_DMABUF)
		return dmabuf_mmap(file, len, prot, off);
	errno = EINVAL;
	if (file->kind == EMU_FILE_CTL || (flags & MAP_TYPE) != MAP_SHARED)
		return MAP_FAILED;
	return dev_mmap(file, len, prot, off);
}

int emu_vma_munmap(struct emu_vma *vma)
{
	if (munmap(vma->addr, vma->len))
		return -1;
	vma_remove(vma);
	return 0;
}

/*
 * Accesses fault with SIGBUS from now on, munmap() still works. A page beyond the end of an empty file does that; where
 * none can be had an access is SIGSEGV.
 */
void emu_vma_zap(struct emu_vma *vma)
{
	int fd = memfd_create("barlane-emu-zapped", MFD_CLOEXEC);
	void *addr = MAP_FAILED;

	if (fd >= 0) {
		addr = mmap(vma->addr, vma->len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
		close(fd);
	}
	if (addr == MAP_FAILED)
		mmap(vma->addr, vma->len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (vma->dontfork)
		madvise(vma->addr, vma->len, MADV_DONTFORK);
}

bool emu_vma_of_map(const struct rm_map *map)
{
	for (struct emu_vma *vma = vmas; vma; vma = vma->next) {
		if (vma->map == map)
			return true;
	}
	return false;
}

void emu_vma_forget_map(const struct rm_map *map)
{
	for (struct emu_vma *vma = vmas; vma; vma = vma->next) {
		if (vma->map == map)
			vma->map = NULL;
	}
}

/* Only the thread that mapped is held to the order: another may call the driver in between. */
void emu_vma_check_ioctl(unsigned int nr)
{
	pid_t tid = gettid();

	for (struct emu_vma *vma = vmas; vma; vma = vma->next) {
		if (vma->dontfork || vma->tid != tid)
			continue;
		vma->tid = 0; /* said once */
		emu_violation("ioctl 0x%x before MADV_DONTFORK of a mapping", nr);
	}
}

/* Runs in the child, whose memory is the exact moment of the fork. */
void emu_vma_after_fork(void)
{
	for (struct emu_vma *vma = vmas; vma; vma = vma->next) {
		if (vma->dontfork)
			continue;
		emu_violation("fork while a mapping of %zu bytes has no MADV_DONTFORK", vma->len);
		break;
	}
	inherited = vmas;
	vmas = NULL;
}
