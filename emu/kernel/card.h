/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * card.h - objects of the emulated card's driver
 *
 * Lock order, outermost first:
 *
 *	locks of clients that call nvidia_p2p_*()
 *	bl_rm		all below that names no other lock; held while free callbacks run, as in
 *			the real driver
 *	locks that a client's free callback takes: a client that holds one of them over get or
 *			put has an inversion
 *	bl_cpu_view	(rw) whether CPUs may see memory; taken by page faults, so inside mmap_lock
 *
 *	bl_card.dmabufs_lock, then the reservation of a dma-buf, then bl_cpu_view: never with bl_rm
 *
 * mmap_lock is never taken with bl_rm held.
 */
#ifndef BL_CARD_H
#define BL_CARD_H

#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/maple_tree.h>
#include <linux/memremap.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/rwsem.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "card_uapi.h"
#include "nv_p2p.h"

struct dma_buf;
struct vm_area_struct;
struct vm_operations_struct;

extern struct mutex bl_rm;
extern struct rw_semaphore bl_cpu_view;

/**
 * struct bl_knob - something that happens at a chosen call
 * @left: calls until it happens; 0: never
 */
struct bl_knob {
	u64 left;
};

/**
 * struct bl_knobs - what tests set in debugfs
 * @fail_get:           nvidia_p2p_get_pages*() fails
 * @fail_dma_map:       nvidia_p2p_dma_map_pages() fails
 * @fail_alloc:         allocation of video memory fails
 * @revoke_get:         the pin is revoked by another task at once, perhaps before the call returns
 * @fail_errno:         with which error the above fail
 * @delay_get_ms:       wait before a get takes the lock
 * @delay_put_ms:       wait before a put takes the lock
 * @delay_callback_ms:  wait with the lock held before a callback is made
 * @page_table_version: of tables from now on
 * @page_size:          enum nvidia_p2p_page_size_type that tables claim
 * @cacheable:          tables of version 2.0 claim that CPUs may cache
 * @persistent:         persistent pins are served
 * @force_bar1:         so is their flag FORCE_BAR1
 * @poison_max_mib:     larger objects are not poisoned
 */
struct bl_knobs {
	struct bl_knob fail_get;
	struct bl_knob fail_dma_map;
	struct bl_knob fail_alloc;
	struct bl_knob revoke_get;
	u32 fail_errno;
	u32 delay_get_ms;
	u32 delay_put_ms;
	u32 delay_callback_ms;
	u32 page_table_version;
	u32 page_size;
	bool cacheable;
	bool persistent;
	bool force_bar1;
	u32 poison_max_mib;
};

/**
 * struct bl_slice - video memory with struct pages
 * @first:     first block; behind the last of the card when there is none
 * @nr:        blocks, 0: there is none, or not any more
 * @pgmap:     of the pages
 * @lingering: struct bl_mem that were freed and whose pages are in use; under bl_rm
 * @work:      looks at these
 */
struct bl_slice {
	unsigned long first;
	unsigned long nr;
	struct dev_pagemap pgmap;
	struct list_head lingering;
	struct delayed_work work;
};

/**
 * struct bl_card - the card
 * @ref:           holders: the PCI device, open files, memory objects
 * @pdev:          NULL once the device is gone
 * @bar_pa:        CPU physical address of video memory
 * @size:          bytes of it
 * @nr_blocks:     the same in blocks
 * @used:          bit per block
 * @poisoned:      bit per block: free and filled
 * @slice:         see there
 * @spaces:        struct bl_space
 * @dmabufs:       struct bl_dmabuf
 * @dmabufs_lock:  protects the list
 * @next_token:    for the next address space
 * @counts:        see there
 * @uuid:          16 bytes
 */
struct bl_card {
	struct kref ref;
	struct pci_dev *pdev;
	phys_addr_t bar_pa;
	u64 size;
	unsigned long nr_blocks;
	unsigned long *used;
	unsigned long *poisoned;
	struct bl_slice slice;
	struct list_head spaces;
	struct list_head dmabufs;
	struct mutex dmabufs_lock;
	u64 next_token;
	struct bl_card_counters counts;
	u8 uuid[16];
};

/* The card, NULL when there is none; bl_rm held. */
extern struct bl_card *bl_card;
extern struct bl_knobs bl_knobs;

void bl_card_release(struct kref *ref);

/**
 * struct bl_space - address space of one open file
 * @node:     list of the card
 * @card:     the card, referenced
 * @owner:    thread group that opened it, referenced
 * @file:     the file, for as long as it is open
 * @token:    P2P token
 * @va_space: goes with it
 * @mems:     memory objects by handle
 * @bindings: struct bl_binding by GPU address
 */
struct bl_space {
	struct list_head node;
	struct bl_card *card;
	struct pid *owner;
	struct file *file;
	u64 token;
	u32 va_space;
	struct xarray mems;
	struct maple_tree bindings;
};

/**
 * struct bl_mem - memory object
 * @ref:      holders of this struct: whoever holds storage, and CPU mappings
 * @card:     the card, referenced
 * @space:    owner, NULL once it freed the object
 * @block:    first block
 * @nr:       blocks
 * @holds:    holders of the storage: owner, bindings, persistent pins, dma-bufs
 * @visible:  the owner's CPU mappings may show it; under bl_cpu_view
 * @has_pages: it lies in the slice
 * @linger:   list of the slice, once it was freed
 * @bindings: struct bl_binding
 */
struct bl_mem {
	struct kref ref;
	struct bl_card *card;
	struct bl_space *space;
	unsigned long block;
	unsigned long nr;
	unsigned int holds;
	bool visible;
	bool has_pages;
	struct list_head linger;
	struct list_head bindings;
};

/**
 * struct bl_binding - part of an object at an address on the GPU
 * @node:  list of the object
 * @space: address space
 * @mem:   object, storage held
 * @va:    address
 * @len:   bytes
 * @off:   start in the object
 * @pins:  struct bl_pin that are called back when this goes
 */
struct bl_binding {
	struct list_head node;
	struct bl_space *space;
	struct bl_mem *mem;
	u64 va;
	u64 len;
	u64 off;
	struct list_head pins;
};

/**
 * struct bl_pin - page table that a client has
 * @by_table:   in bl_pins
 * @id:         never used again
 * @node:       list of the binding; unused when persistent
 * @card:       the card, referenced
 * @mem:        persistent: object, storage held
 * @table:      what the client has; an allocation of exactly the size of its version
 * @pages:      what the table points to
 * @maps:       struct bl_dma_map
 * @va:         start
 * @len:        bytes
 * @pa:         CPU physical address
 * @token:      as given
 * @va_space:   as given
 * @flags:      persistent: as given
 * @callback:   NULL when persistent
 * @data:       for it
 */
struct bl_pin {
	struct hlist_node by_table;
	u64 id;
	struct list_head node;
	struct bl_card *card;
	struct bl_mem *mem;
	struct nvidia_p2p_page_table *table;
	struct nvidia_p2p_page *pages;
	struct list_head maps;
	u64 va;
	u64 len;
	phys_addr_t pa;
	u64 token;
	u32 va_space;
	u32 flags;
	void (*callback)(void *data);
	void *data;
};

static inline phys_addr_t bl_block_pa(const struct bl_card *card, unsigned long block)
{
	return card->bar_pa + (u64)block * BL_CARD_BLOCK_SIZE;
}

static inline u64 bl_mem_size(const struct bl_mem *mem)
{
	return (u64)mem->nr * BL_CARD_BLOCK_SIZE;
}

/* file.c */
int bl_card_node_register(void);
void bl_card_node_deregister(void);

/* space.c; bl_rm held */
struct bl_space *bl_space_new(struct bl_card *card, struct file *file);
void bl_space_clear(struct bl_space *space);
void bl_space_destroy(struct bl_space *space);
int bl_bind(struct bl_space *space, const struct bl_card_bind *arg);
int bl_unbind(struct bl_space *space, u64 va, u64 len);
void bl_binding_remove(struct bl_binding *binding);
struct bl_binding *bl_binding_find(u64 token, u32 va_space, u64 va, u64 len);
int bl_freed(struct bl_space *space, u64 va, u64 len);

/* mem.c; bl_rm held, but for get and put of the struct */
int bl_mem_new(struct bl_space *space, u64 size, u32 flags, struct bl_mem **mem_p);
void bl_mem_disown(struct bl_mem *mem);
void bl_mem_hold(struct bl_mem *mem);
void bl_mem_drop(struct bl_mem *mem);
void bl_mem_give(struct bl_mem *mem); /* the blocks, and the reference of their last holder */
void bl_mem_get(struct bl_mem *mem);
void bl_mem_put(struct bl_mem *mem);

/* view.c */
int bl_view_mmap(struct bl_space *space, struct vm_area_struct *vma);
vm_fault_t bl_view_insert(struct vm_fault *vmf, phys_addr_t pa, u64 off, u64 size);
void bl_view_prepare(struct vm_area_struct *vma, const struct vm_operations_struct *ops,
		     bool has_pages);
void bl_view_hide(struct bl_mem *mem);

/*
 * slice.c. init and exit: bl_rm not held; exit waits until nobody uses the pages, whose mappings are
 * gone. linger: bl_rm held; whether the blocks of an object that nobody holds any more are still in
 * use: then bl_mem_give() is called later.
 */
int bl_slice_init(struct bl_card *card);
void bl_slice_exit(struct bl_card *card);
bool bl_slice_linger(struct bl_mem *mem);
vm_fault_t bl_slice_insert(struct vm_area_struct *vma, unsigned long at, phys_addr_t pa);

/* poison.c; bl_rm held */
void bl_poison_fill(struct bl_card *card, unsigned long block, unsigned long nr);
void bl_poison_take(struct bl_card *card, unsigned long block, unsigned long nr);
void bl_poison_check(struct bl_card *card);

/*
 * pin.c; bl_rm held. bl_pins has all struct bl_pin by the address of the page table, also of a card
 * that is gone. bl_caller is the task that makes a callback now; read without a lock to recognise
 * oneself.
 */
#define BL_PIN_BITS 10
extern struct hlist_head bl_pins[1 << BL_PIN_BITS];
extern struct task_struct *bl_caller;
int bl_pin_new(struct bl_binding *binding, const struct bl_pin *want, struct bl_pin **pin_p);
struct bl_pin *bl_pin_find(const struct nvidia_p2p_page_table *table);
void bl_pin_remove(struct bl_pin *pin);
void bl_pin_revoke(struct bl_pin *pin);
void bl_pins_revoke(struct bl_binding *binding, u64 va, u64 len);
void bl_pins_revoke_all(void);
void bl_pin_revoke_soon(const struct bl_pin *pin);
void bl_pin_flush(void); /* bl_rm not held */

/* p2p_dma.c; bl_rm held */
void bl_dma_unmap_all(struct bl_pin *pin);

/*
 * p2p.c: whether the caller is inside a callback, where most of the interface is forbidden; says so
 * and counts it
 */
bool bl_p2p_forbidden(const char *function);

/* dmabuf.c; bl_rm not held */
struct dma_buf *bl_dmabuf_export(struct bl_space *space, const struct bl_card_export *arg);
void bl_dmabufs_revoke(struct bl_card *card);

/* knobs.c */
bool bl_knob_fires(struct bl_knob *knob);
int bl_knob_fail(struct bl_knob *knob);
void bl_knob_delay(const u32 *ms);

/* debugfs.c */
void bl_debugfs_create(void);
void bl_debugfs_remove(void);

/* counters, with or without reading all poisoned memory first; bl_rm held */
int bl_counters_read(struct bl_card_counters *counts, bool verify);

#endif
