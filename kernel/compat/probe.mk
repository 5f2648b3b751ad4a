# SPDX-License-Identifier: MIT OR GPL-2.0-only
# What no version number tells, read from the kernel's headers; included by Kbuild files.

# the callback of an importer whose memory moves was renamed between 6.12 and 7.2
ifneq ($(shell grep -s -m 1 '(\*invalidate_mappings)' $(srctree)/include/linux/dma-buf.h),)
ccflags-y += -DBL_HAVE_INVALIDATE_MAPPINGS
endif
