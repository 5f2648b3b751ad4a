# SPDX-License-Identifier: MIT OR GPL-2.0-only
# What no version number tells, read from the kernel's headers; included by Kbuild files.

# the callback of an importer whose memory moves was renamed between 6.12 and 7.2
ifneq ($(shell grep -s -m 1 '(\*invalidate_mappings)' $(srctree)/include/linux/dma-buf.h),)
ccflags-y += -DBL_HAVE_INVALIDATE_MAPPINGS
endif

# drivers walk a request range by range since 6.17
ifneq ($(wildcard $(srctree)/include/linux/blk-mq-dma.h),)
BL_HAVE_DMA_ITER := y
endif

# the index of a page was renamed in 6.16
ifneq ($(shell grep -s -m 1 '^[[:space:]]*pgoff_t __folio_index;' $(srctree)/include/linux/mm_types.h),)
ccflags-y += -DBL_HAVE_FOLIO_INDEX
endif
