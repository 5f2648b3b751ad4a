// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The device in whose name dma-bufs are attached. It stands for the CPU: no IOMMU translates for a platform device that
 * no firmware describes, so the addresses it is given are those that the CPU uses, with an IOMMU for PCI devices or
 * without.
 */
#include "core.h"

#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/platform_device.h>

static struct platform_device *cpu_device;

/**
 * bl_dmabuf_init() - Make the device
 *
 * Return: 0 or -errno.
 */
int bl_dmabuf_init(void)
{
	const struct platform_device_info info = {
		.name = "gdrdrv-cpu",
		.id = PLATFORM_DEVID_NONE,
		.dma_mask = DMA_BIT_MASK(64),
	};

	cpu_device = platform_device_register_full(&info);
	return PTR_ERR_OR_ZERO(cpu_device);
}

/**
 * bl_dmabuf_exit() - Take the device away
 *
 * No dma-buf is attached any more.
 */
void bl_dmabuf_exit(void)
{
	platform_device_unregister(cpu_device);
}

/**
 * bl_dmabuf_device() - The device
 *
 * Return: it; valid as long as the module is.
 */
struct device *bl_dmabuf_device(void)
{
	return &cpu_device->dev;
}
