/* SPDX-License-Identifier: MIT */
/* vmpages.h - whether the kernel has struct pages behind a mapping, so that it can be the buffer of direct I/O */
#ifndef BL_UTIL_VMPAGES_H
#define BL_UTIL_VMPAGES_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLD
#define MADV_COLD 20
#endif

static inline int bl_vm_advise_cold(const void *addr)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return madvise((void *)((uintptr_t)addr & ~(uintptr_t)(page - 1)), page, MADV_COLD);
}

/**
 * bl_vm_has_pages() - Whether there may be pages behind a mapping
 * @addr: in the mapping, which must be there
 *
 * The kernel has an answer that costs one system call and changes nothing: advice about the use of pages is refused for
 * mappings that have none. What it does not know of (before Linux 5.4, or forbidden) may have pages. Requests find out.
 * Return: false: there are surely none.
 */
static inline bool bl_vm_has_pages(const void *addr)
{
	int err = errno;
	bool none = bl_vm_advise_cold(addr) && errno == EINVAL;

	/* a kernel that does not know the advice refuses it for all memory, such as this one */
	none = none && !bl_vm_advise_cold(&err);
	errno = err;
	return !none;
}

#endif
