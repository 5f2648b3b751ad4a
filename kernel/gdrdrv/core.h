/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * core.h - objects of gdrdrv.ko and the rules that hold between them
 *
 * Objects
 *   struct bl_file  one open of the device node. It belongs to the process that opened it; another one that got the
 *                   descriptor can only close it. Has an address_space of its own, so that offsets of two opens never
 *                   meet, and a table of pins.
 *   struct bl_pin   pages of a GPU that are held. References: the file's table has one, each VMA has one. A VMA also
 *                   keeps the file open, so a file outlives all that is mapped through it.
 *
 * Locks, outermost first
 *   tables_lock          in common/table.c: around calls of the GPU driver that give or take a table of pages
 *   locks of the provider (the GPU driver's; the reservation lock of a dma-buf), and the driver core's around an unbind
 *   watch_lock           in common/watch.c: the list of pins that hold pages
 *   mmap_lock            held by the kernel around ->mmap(), faults, and opening or closing a VMA
 *   bl_pin.lock          gone, freed, lost, nr_vmas, type, want, memtype_len; the decision to insert or remove page table entries
 *   i_mmap_rwsem         of bl_file.mapping, and page table locks: in unmap_mapping_range() and vmf_insert_pfn()
 *
 *   bl_file.lock         the choice of a handle; no other lock of ours inside. Look-ups take only the table's own lock.
 *   symbols_lock         in common/symbols.c, a leaf.
 *
 * The provider calls back with its locks held and may wait for us. So watch_lock, bl_pin.lock and bl_file.lock are never
 * held while the provider is called (ops->get, ops->put), nor while user memory is copied, which may take mmap_lock.
 *
 * Revocation. Whoever ends a pin (the free callback, the exporter of a dma-buf, UNPIN, the last close), or sees its device
 * go, sets bl_pin.gone under bl_pin.lock and then removes all page table entries. They are only inserted by the fault
 * handler, under the same lock, after it saw that gone is not set. ->mmap() inserts none: the VMA is not yet in the
 * mapping's tree then, and unmap_mapping_range() would miss it. So after the lock is released nothing can reach the pages,
 * and no later fault brings them back.
 *
 * Ending. bl_handle_take() removes a pin from the table; it succeeds for exactly one caller, who calls bl_pin_end().
 * ops->put there returns only when no callback is running and none will come.
 */
#ifndef BL_GDRDRV_CORE_H
#define BL_GDRDRV_CORE_H

#ifndef pr_fmt
#define pr_fmt(fmt) "gdrdrv: " fmt
#endif

#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/types.h>
#include <linux/xarray.h>

#include "gdrdrv.h"
#include "gdrdrv_dmabuf.h"
#include "runs.h"
#include "table.h"
#include "watch.h"

#define BL_VERSION	   "2.6"
#define BL_DRV_VERSION	   GDRDRV_VERSION(2, 6)
#define BL_MIN_API_VERSION GDRDRV_VERSION(2, 0)

/* The function that decides on an error reports it: refuse(EINVAL, "pin va 0x%llx: no such flags", va) */
#define refuse(err, fmt, ...)                                                                      \
	({                                                                                         \
		pr_err_ratelimited("%s[%d]: " fmt ": %pe\n", current->comm, task_tgid_nr(current), \
				   ##__VA_ARGS__, ERR_PTR(-(err)));                                \
		-(err);                                                                            \
	})

#define bl_dbg(fmt, ...)                                                                           \
	do {                                                                                       \
		if (bl_dbg_enabled)                                                                \
			pr_info("%s[%d]: " fmt "\n", current->comm, task_tgid_nr(current),         \
				##__VA_ARGS__);                                                    \
	} while (0)

struct bl_pin;
struct pci_dev;

/**
 * struct bl_pin_request - what user space wants pinned
 * @va:    first address; for a dma-buf the number to report
 * @size:  bytes
 * @token: P2P token, or 0
 * @space: VA space token, or 0
 * @flags: GDRDRV_PIN_*
 * @off:   dma-buf: first byte in it
 * @fd:    dma-buf: descriptor
 */
struct bl_pin_request {
	u64 va;
	u64 size;
	u64 token;
	u32 space;
	u32 flags;
	u64 off;
	int fd;
};

/**
 * struct bl_pin_ops - a way to hold pages of a GPU
 * @name: for messages
 * @get:  hold the pages and fill va, len, page_size, offset, runs and cacheable of the pin. May sleep. From the moment it
 *        asks the provider, bl_pin_revoke() may be called for the pin. Returns 0 or -errno, having reported the error.
 * @put:  give the pages back, or find that they were taken back. On return no bl_pin_revoke() is running and none will
 *        come. May sleep.
 */
struct bl_pin_ops {
	const char *name;
	int (*get)(struct bl_pin *pin, const struct bl_pin_request *req);
	void (*put)(struct bl_pin *pin);
};

extern const struct bl_pin_ops bl_pin_nvp2p;
extern const struct bl_pin_ops bl_pin_dmabuf;

/**
 * struct bl_pin_db - a pin's part of provider dmabuf
 * @attach: attachment of the dma-buf, which it holds
 * @sgt:    its mapping
 */
struct bl_pin_db {
	struct dma_buf_attachment *attach;
	struct sg_table *sgt;
};

/**
 * struct bl_pin - pages of a GPU that are held
 * @ref:         references
 * @ops:         who holds the pages
 * @mapping:     address_space of its file
 * @lock:        see above
 * @handle:      key in the file's table, and offset of the mapping in pages
 * @va:          address of the first byte
 * @len:         bytes, whole pages
 * @offset:      bytes between @va and the address that was asked for
 * @page_size:   bytes of a page of the provider
 * @cycles:      CPU cycles that ops->get took
 * @runs:        where the pages are
 * @cacheable:   the CPU may cache them
 * @force_pcie:  they are wanted through PCI
 * @gone:        nothing may be mapped any more
 * @freed:       because the provider took the memory back
 * @lost:        because its device went; the provider still has to be told that the pages are given back
 * @watch:       from before its get until it ends
 * @nr_vmas:     VMAs that show it
 * @want:        type of mapping that was asked for, GDRDRV_MAPPING_*; NONE leaves the choice to us
 * @type:        type of the mapping there is
 * @memtype_len: bytes for which memory types are reserved
 */
struct bl_pin {
	struct kref ref;
	const struct bl_pin_ops *ops;
	struct address_space *mapping;
	struct mutex lock;
	u64 handle;
	u64 va;
	u64 len;
	u32 offset;
	u32 page_size;
	u64 cycles;
	struct bl_runs runs;
	bool cacheable;
	bool force_pcie;
	bool gone;
	bool freed;
	bool lost;
	struct bl_watch watch;
	unsigned int nr_vmas;
	u32 want;
	u32 type;
	u64 memtype_len;
	union {
		struct bl_table nv;
		struct bl_pin_db db;
	};
};

/**
 * struct bl_file - one open of the device node
 * @owner_tgid:  process that opened it
 * @owner_start: when that process began, so that a number used again does not match
 * @mapping:     offsets of this file's mappings
 * @pins:        pins by handle
 * @lock:        choice of handles
 * @next:        next handle
 * @gap_end:     first handle behind @next that is taken, or the end of all
 */
struct bl_file {
	pid_t owner_tgid;
	u64 owner_start;
	struct address_space mapping;
	struct xarray pins;
	struct mutex lock;
	u64 next;
	u64 gap_end;
};

/* main.c */
extern int bl_dbg_enabled;
extern int bl_info_enabled;
extern int bl_use_persistent;
extern ushort bl_node_mode;

/* file.c */
extern const struct file_operations bl_fops;
bool bl_file_is_mine(const struct bl_file *file);

/* ioctl.c */
long bl_ioctl(struct file *f, unsigned int cmd, unsigned long arg);

/* handle.c */
void bl_handles_init(struct bl_file *file);
int bl_handle_add(struct bl_file *file, struct bl_pin *pin);
struct bl_pin *bl_handle_get(struct bl_file *file, u64 handle);
struct bl_pin *bl_handle_take(struct bl_file *file, u64 handle, const struct bl_pin *only);
void bl_handles_end(struct bl_file *file);

/* pin.c */
int bl_pin_start(struct bl_file *file, const struct bl_pin_ops *ops, const struct bl_pin_request *req,
		 struct bl_pin **pin_p);
void bl_pin_revoke(struct bl_pin *pin);
void bl_pin_lose(struct bl_pin *pin);
void bl_pin_end(struct bl_pin *pin);
void bl_pin_ref(struct bl_pin *pin);
void bl_pin_unref(struct bl_pin *pin);
extern atomic_t bl_nr_pins;

/* mmap.c */
int bl_mmap(struct file *f, struct vm_area_struct *vma);
void bl_mmap_zap(struct bl_pin *pin);

/* memtype.c */
int bl_memtype_reserve(struct bl_pin *pin, u64 len);
void bl_memtype_free(struct bl_pin *pin);

/* platform.c */
void bl_platform_init(void);
bool bl_platform_ram_cacheable(phys_addr_t pa);
bool bl_platform_may_cache(void);
bool bl_platform_must_device(void);
pgprot_t bl_platform_prot(pgprot_t prot, u32 type);
u64 bl_platform_cycles(void);
u32 bl_platform_tsc_khz(void);

/* nvp2p.c */
bool bl_nvp2p_persistent(void);

/* nvp2p-symbols.c, or nvp2p-link.c */
extern const char bl_nvp2p_flavor[];

/* node.c, or node-misc.c */
int bl_node_init(void);
void bl_node_exit(void);

/* device.c */
void bl_device_lose(const struct list_head *watched, const struct pci_dev *pdev, bool last);

/* dmabuf-device.c */
#ifdef BL_NV_LINK
static inline int bl_dmabuf_init(void)
{
	return 0;
}

static inline void bl_dmabuf_exit(void)
{
}
#else
int bl_dmabuf_init(void);
void bl_dmabuf_exit(void);
struct device *bl_dmabuf_device(void);
#endif

/* proc.c */
int bl_proc_init(void);
void bl_proc_exit(void);

#endif
