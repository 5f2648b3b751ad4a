// SPDX-License-Identifier: MIT
#include "populate.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Linux 5.14; younger than some C libraries. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define CHUNK_PAGES 1024

/* The best that an older kernel can say: whether something is mapped. */
static int look(uintptr_t start, size_t len, size_t page)
{
	unsigned char there[CHUNK_PAGES];
	size_t step;

	for (size_t done = 0; done < len; done += step) {
		step = len - done < CHUNK_PAGES * page ? len - done : CHUNK_PAGES * page;
		if (mincore((void *)(start + done), step, there))
			return -EFAULT;
	}
	return 0;
}

/* An advice that is not known and one that does not suit the memory are the same error: try it on some that it suits. */
static bool kernel_populates(size_t page)
{
	void *probe = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool works;

	if (probe == MAP_FAILED)
		return false;
	works = !madvise(probe, page, MADV_POPULATE_WRITE);
	munmap(probe, page);
	return works;
}

int bl_populate(void *addr, size_t len, bool writes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = (uintptr_t)addr & ~(uintptr_t)(page - 1);
	uintptr_t end = ((uintptr_t)addr + len + page - 1) & ~(uintptr_t)(page - 1);
	int ret;

	if (end <= start)
		return -EFAULT;
	do {
		ret = madvise((void *)start, end - start, writes ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
	} while (ret && errno == EINTR);
	if (!ret)
		return 0;
	if (errno == EINVAL && !kernel_populates(page))
		return look(start, end - start, page);
	/* a hole is ENOMEM too, and so is the lack of memory: tell them apart */
	if (errno == ENOMEM && !look(start, end - start, page))
		return -ENOMEM;
	return -EFAULT;
}
