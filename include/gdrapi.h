/* SPDX-License-Identifier: MIT */
/**
 * DOC: gdrapi.h - CPU access to GPU memory, source- and binary-compatible with GDRCopy 2.6
 *
 * Names, types, values and layouts are the original's (docs/gdrapi-compat.md goes through them one by one). Every
 * function that returns int gives 0 or a positive errno value. All of them may be called from any thread, also
 * concurrently on one gdr_t; all but gdr_close() return EACCES in a child that was forked after gdr_open(). Why the
 * last call of the calling thread failed can be read in words with bl_last_error(), see barlane.h.
 */
#ifndef GDRAPI_H
#define GDRAPI_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define MAJOR_VERSION_SHIFT 16
#define MINOR_VERSION_MASK  (((uint32_t)1 << MAJOR_VERSION_SHIFT) - 1)

#define GDR_API_MAJOR_VERSION 2
#define GDR_API_MINOR_VERSION 6
#define GDR_API_VERSION	      ((GDR_API_MAJOR_VERSION << MAJOR_VERSION_SHIFT) | GDR_API_MINOR_VERSION)

#define MINIMUM_GDRDRV_MAJOR_VERSION 2
#define MINIMUM_GDRDRV_MINOR_VERSION 0
#define MINIMUM_GDRDRV_VERSION	     ((MINIMUM_GDRDRV_MAJOR_VERSION << MAJOR_VERSION_SHIFT) | MINIMUM_GDRDRV_MINOR_VERSION)

#define GPU_PAGE_SHIFT	16
#define GPU_PAGE_SIZE	(1UL << GPU_PAGE_SHIFT)
#define GPU_PAGE_OFFSET (GPU_PAGE_SIZE - 1)
#define GPU_PAGE_MASK	(~GPU_PAGE_OFFSET)

#ifdef __cplusplus
extern "C" {
#endif

/** struct gdr - an open library instance; opaque, the pointer is a handle and must not be dereferenced */
struct gdr;
typedef struct gdr *gdr_t;

/** gdr_mh_t - a pinned range; all-zero means "none" */
typedef struct gdr_mh_s {
	unsigned long h;
} gdr_mh_t;

typedef enum gdr_pin_flags {
	GDR_PIN_FLAG_DEFAULT = 0,
	GDR_PIN_FLAG_FORCE_PCIE = 1,
} gdr_pin_flags_t;

typedef enum gdr_map_flags {
	GDR_MAP_FLAG_DEFAULT = 0,
	GDR_MAP_FLAG_REQ_WC_MAPPING = 1,
	GDR_MAP_FLAG_REQ_CACHE_MAPPING = 2,
	GDR_MAP_FLAG_REQ_DEVICE_MAPPING = 3,
} gdr_map_flags_t;

typedef enum gdr_mapping_type {
	GDR_MAPPING_TYPE_NONE = 0,
	GDR_MAPPING_TYPE_WC = 1,
	GDR_MAPPING_TYPE_CACHING = 2,
	GDR_MAPPING_TYPE_DEVICE = 3,
	GDR_MAPPING_TYPE_MAX,
} gdr_mapping_type_t;

typedef enum gdr_attr {
	GDR_ATTR_USE_PERSISTENT_MAPPING = 1,
	GDR_ATTR_SUPPORT_PIN_FLAG_FORCE_PCIE = 2,
	GDR_ATTR_USING_DMA_BUF_MMAP = 3,
	GDR_ATTR_MAX,
} gdr_attr_t;

/**
 * struct gdr_info_v2 - what is known of a pinned range
 * @va:            device address of the first pinned byte (the request, rounded down to @page_size)
 * @mapped_size:   pinned bytes
 * @page_size:     granularity of the pin in bytes
 * @tm_cycles:     CPU cycles that the pin took; deprecated
 * @cycles_per_ms: CPU cycles in a millisecond, 0 where unknown; deprecated
 * @mapped:        1 while the range is mapped
 * @wc_mapping:    1 while the range is mapped write-combining
 * @mapping_type:  a gdr_mapping_type_t
 */
struct gdr_info_v2 {
	uint64_t va;
	uint64_t mapped_size;
	uint32_t page_size;
	uint64_t tm_cycles;
	uint32_t cycles_per_ms;
	unsigned mapped : 1;
	unsigned wc_mapping : 1;
	gdr_mapping_type_t mapping_type;
};
typedef struct gdr_info_v2 gdr_info_v2_t;
typedef gdr_info_v2_t gdr_info_t;

/**
 * gdr_open() - Open the library
 *
 * Chooses the first provider that can serve (docs/providers.md). Makes no CUDA call and opens no GPU.
 * Return: an instance to be closed with gdr_close(), or NULL; the reason why each provider cannot serve is logged.
 */
gdr_t gdr_open(void);

/**
 * gdr_close() - Close an instance
 * @g: from gdr_open()
 *
 * Unmaps and unpins what is left on @g. In a forked child only the child's copies of descriptors are closed.
 * Return: 0, EINVAL (not an open instance), or the first error met on the way; @g is closed in every case.
 */
int gdr_close(gdr_t g);

/**
 * gdr_pin_buffer() - Pin GPU memory
 * @g:         from gdr_open()
 * @addr:      device address, any alignment
 * @size:      bytes, > 0
 * @p2p_token: token for drivers that need one, else 0; with a persistent provider it must be 0 or is ignored
 * @va_space:  second half of the token, else 0
 * @handle:    receives the pinned range; not written on error
 *
 * The range is rounded out to whole GPU pages (64 KiB). It stays allocated until gdr_unpin_buffer(), also when CUDA
 * frees it, unless attribute GDR_ATTR_USE_PERSISTENT_MAPPING is 0.
 * Return: 0, EINVAL (not device memory, size, range across allocations), ENOMEM, EOPNOTSUPP (memory of this kind
 * cannot be pinned by this provider), EMFILE, EACCES (forked child), ENODEV, EIO.
 */
int gdr_pin_buffer(gdr_t g, unsigned long addr, size_t size, uint64_t p2p_token, uint32_t va_space, gdr_mh_t *handle);

/**
 * gdr_pin_buffer_v2() - Pin GPU memory with flags
 * @g:      from gdr_open()
 * @addr:   device address, any alignment
 * @size:   bytes, > 0
 * @flags:  GDR_PIN_FLAG_*; unknown bits are EINVAL
 * @handle: receives the pinned range; not written on error
 *
 * Return: as gdr_pin_buffer(); EINVAL also for GDR_PIN_FLAG_FORCE_PCIE where
 * GDR_ATTR_SUPPORT_PIN_FLAG_FORCE_PCIE is 0.
 */
int gdr_pin_buffer_v2(gdr_t g, unsigned long addr, size_t size, uint32_t flags, gdr_mh_t *handle);

/**
 * gdr_unpin_buffer() - Give pinned memory back
 * @g:      the instance that pinned it
 * @handle: from a pin call; invalid afterwards, whatever is returned
 *
 * A mapping that still exists is removed first.
 * Return: 0, EINVAL (unknown handle), EACCES (forked child), EIO.
 */
int gdr_unpin_buffer(gdr_t g, gdr_mh_t handle);

/**
 * gdr_get_callback_flag() - Ask whether the memory was freed under the pin
 * @g:      the instance that pinned it
 * @handle: pinned range
 * @flag:   receives 1 after CUDA freed the memory of a non-persistent pin, else 0
 *
 * Return: 0, EINVAL, EACCES (forked child).
 */
int gdr_get_callback_flag(gdr_t g, gdr_mh_t handle, int *flag);

/**
 * gdr_get_info_v2() - Describe a pinned range
 * @g:      the instance that pinned it
 * @handle: pinned range
 * @info:   receives the description, 48 bytes; not written on error
 *
 * Return: 0, EINVAL, EACCES (forked child).
 */
int gdr_get_info_v2(gdr_t g, gdr_mh_t handle, gdr_info_v2_t *info);

/*
 * Sources get version 2 under the old name. The symbol gdr_get_info stays in the library for programs that were
 * built, or call dlsym(), for version 1 (40 bytes, no mapping_type).
 */
#define gdr_get_info gdr_get_info_v2

/**
 * gdr_map() - Map a pinned range into this process
 * @g:      the instance that pinned it
 * @handle: pinned range whose requested address starts on a GPU page
 * @va:     receives the address of the first byte of the pinned range; not written on error
 * @size:   bytes from the start of the range, > 0, at most its mapped_size
 *
 * The mapping is not inherited over fork(). One mapping per handle.
 * Return: 0, EINVAL (handle, size, unaligned pin), EAGAIN (already mapped), ENOMEM (BAR1 exhausted), EMFILE,
 * EACCES (forked child).
 */
int gdr_map(gdr_t g, gdr_mh_t handle, void **va, size_t size);

/**
 * gdr_map_v2() - Map a pinned range with a wish for the mapping's type
 * @g:      the instance that pinned it
 * @handle: pinned range
 * @va:     receives the address
 * @size:   as gdr_map()
 * @flags:  one of GDR_MAP_FLAG_*
 *
 * Return: as gdr_map(); EINVAL for an unknown flag; EOPNOTSUPP or EINVAL when the platform maps with another type.
 */
int gdr_map_v2(gdr_t g, gdr_mh_t handle, void **va, size_t size, int flags);

/**
 * gdr_unmap() - Remove a mapping
 * @g:      the instance that pinned it
 * @handle: mapped range
 * @va:     from gdr_map()
 * @size:   as given to gdr_map(); a part of a mapping cannot be unmapped
 *
 * Return: 0, EINVAL (not mapped, or not this address and size), EACCES (forked child).
 */
int gdr_unmap(gdr_t g, gdr_mh_t handle, void *va, size_t size);

/**
 * gdr_copy_to_mapping() - Copy host memory to a mapping with the CPU
 * @handle:    mapped range
 * @map_d_ptr: destination, inside the mapping
 * @h_ptr:     source, any alignment
 * @size:      bytes; 0 is a no-op
 *
 * Naturally aligned 1, 2, 4 and 8 bytes are one access. A store fence follows a copy to a write-combining mapping.
 * Makes no system call, takes no lock, allocates nothing, calls no CUDA function. The caller must not unmap the
 * range at the same time.
 * Return: 0, EINVAL (not mapped, or outside the mapping), EACCES (forked child).
 */
int gdr_copy_to_mapping(gdr_mh_t handle, void *map_d_ptr, const void *h_ptr, size_t size);

/**
 * gdr_copy_from_mapping() - Copy a mapping to host memory with the CPU
 * @handle:    mapped range
 * @h_ptr:     destination, any alignment
 * @map_d_ptr: source, inside the mapping
 * @size:      bytes; 0 is a no-op
 *
 * As gdr_copy_to_mapping(), in the other direction.
 */
int gdr_copy_from_mapping(gdr_mh_t handle, void *h_ptr, const void *map_d_ptr, size_t size);

/**
 * gdr_runtime_get_version() - Version of the API that this library speaks
 * @major: receives 2
 * @minor: receives 6
 */
void gdr_runtime_get_version(int *major, int *minor);

/**
 * gdr_driver_get_version() - Version of what serves the instance
 * @g:     from gdr_open()
 * @major: receives the major number
 * @minor: receives the minor number
 *
 * That of the kernel module with provider gdrdrv, else the API's own.
 * Return: 0, EINVAL, EACCES (forked child).
 */
int gdr_driver_get_version(gdr_t g, int *major, int *minor);

/**
 * gdr_get_attribute() - Ask for a property of what serves the instance
 * @g:    from gdr_open()
 * @attr: GDR_ATTR_*
 * @v:    receives the value, 0 on error
 *
 * Return: 0, EINVAL (unknown attribute or instance), EACCES (forked child).
 */
int gdr_get_attribute(gdr_t g, gdr_attr_t attr, int *v);

/**
 * gdr_get_mapping_type_string() - Name of a mapping type
 * @type: one of GDR_MAPPING_TYPE_NONE … GDR_MAPPING_TYPE_DEVICE
 * @str:  receives a string that is valid for ever
 *
 * Return: 0, EINVAL.
 */
int gdr_get_mapping_type_string(gdr_mapping_type_t type, const char **str);

#ifdef __cplusplus
}
#endif

#endif
