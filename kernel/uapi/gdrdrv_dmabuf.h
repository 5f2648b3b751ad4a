/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * gdrdrv_dmabuf.h - what /dev/gdrdrv of this project has besides the interface of GDRCopy's module
 *
 * A magic number of its own keeps it apart: GDRCopy's module answers EINVAL to it.
 */
#ifndef GDRDRV_DMABUF_UAPI_H
#define GDRDRV_DMABUF_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * struct gdrdrv_pin_dmabuf - pin memory of a device through a dma-buf of it
 * @fd:     descriptor of the dma-buf; may be closed afterwards
 * @flags:  0
 * @offset: first byte in the dma-buf, multiple of the CPU's page
 * @size:   bytes, multiple of the CPU's page, not 0
 * @va:     any number that is to be reported as the address of the pin
 * @handle: out: handle, as that of any other pin
 *
 * The pin ends when the exporter moves or takes back the memory: later accesses are SIGBUS and the callback flag is 1.
 *
 * Errors: EBADF (not a dma-buf), EINVAL (range, flags), EOPNOTSUPP (memory that is not in the address space of a PCI
 * device, or an exporter that does not show it; the kernel log tells which), ENOMEM, ENOSYS (built without dma-bufs).
 */
struct gdrdrv_pin_dmabuf {
	__s32 fd;
	__u32 flags;
	__u64 offset;
	__u64 size;
	__u64 va;
	__u64 handle;
};

#define GDRDRV_DMABUF_IOC_TYPE 0xdb
#define GDRDRV_IOC_PIN_DMABUF  _IOWR(GDRDRV_DMABUF_IOC_TYPE, 1, struct gdrdrv_pin_dmabuf)

#endif
