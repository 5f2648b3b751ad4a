/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * core.h - objects of nvidia-fs.ko and the rules that hold between them
 *
 * Objects
 *   struct bl_shadow  one mmap() of a node: pages of RAM that stand in for GPU pages while a request travels through
 *                     the file system and the block layer. They are cut into slots of one GPU page each. It belongs to
 *                     a file of its own, which the VMA and each request hold; the last of them frees it, or puts it on
 *                     the shelf of the open node, struct bl_shelf, for the next mmap().
 *   struct bl_map     GPU memory that MAP bound to a shadow. It lives as long as the shadow, or until UNMAP, which is
 *                     refused while a request uses it.
 *   struct bl_peer    one device that reaches that memory, with the addresses it uses. It lives as long as the map; its
 *                     addresses go when the memory or the device goes.
 *   struct bl_io      one READ or WRITE, in io.h. It goes on in pieces: for each it takes slots, binds them to GPU
 *                     pages, and has the file system read or write them. Several pieces may be under way.
 *
 * Two questions
 *   May new I/O begin?  A piece enters the gate of the map and that of its peer. They are closed by the free callback,
 *                       and when the GPU or the peer goes; whoever closes one waits until the pieces inside have ended.
 *                       So DMA is over before memory or addresses are given back.
 *   Who frees last?     Who puts the last reference of the shadow's file: munmap(), the end of the process, or a
 *                       thread in a request that outlived both. No lock is held then: the kernel defers it to the
 *                       moment when the task returns to user space. Requests that nobody waits for are waited for
 *                       then, so nothing is in flight after it.
 *
 * A page comes back from a driver only while the piece that it belongs to waits for the drive, so its slot does not
 * change meanwhile. User space cannot send the pages through the block layer itself: the VMA has no struct pages to
 * get.
 *
 * Locks, outermost first
 *   files_lock          in file.c: how many nodes are open, and what is registered with drivers
 *   bl_shadow.map_lock  making of the map, and its end before that of the shadow
 *   symbols_lock        in common/symbols.c: what is known of the GPU driver
 *   tables_lock         in common/table.c: around calls of the GPU driver that give or take a table of pages
 *   lock of a device    held by the driver core around an unbind, and by peer.c while it makes addresses for it
 *   locks of the GPU driver
 *   watch_lock          in common/watch.c: the list of maps that hold pages
 *   bl_map.peers_lock   making and taking down of addresses of peers
 *   topo_lock           in topo_pci.c: the devices as they were read last
 *   pairs_lock          in topo_pair.c: pairs of a GPU and a peer
 *   bl_map.lock         gates of the map and of its peers, and bl_map.rdma; a leaf, taken by interrupts
 *   bl_shadow.lock      slots that are taken, and requests; a leaf, taken by interrupts
 *   gpus_lock           in gpu.c: what is counted; a leaf
 *   bl_shelf.lock       shadows that are kept, and where others are; a leaf
 *
 * The GPU driver calls back with its locks held, so nothing that a piece waits for may wait for it: a piece calls
 * nothing of the GPU driver, and addresses for a peer come from the kernel's DMA interface instead of the GPU
 * driver's.
 */
#ifndef BL_NVFS_CORE_H
#define BL_NVFS_CORE_H

#ifndef pr_fmt
#define pr_fmt(fmt) "nvidia-fs: " fmt
#endif

#include <linux/atomic.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "chunks.h"
#include "gate.h"
#include "nvidia_fs.h"
#include "table.h"
#include "watch.h"

#define BL_VERSION	 "2.28.4"
#define BL_VERSION_MAJOR 2
#define BL_VERSION_MINOR 28
#define BL_VERSION_PATCH 4
#define BL_GDS_VERSION	 "1.17.1"

#define BL_GPU_PAGE	  ((u64)NVIDIA_FS_GPU_PAGE)
#define BL_BLOCK	  ((u64)NVIDIA_FS_BLOCK)
#define BL_SLOT_PAGES	  (NVIDIA_FS_GPU_PAGE / PAGE_SIZE)
#define BL_SLOT_BLOCKS	  (NVIDIA_FS_GPU_PAGE / NVIDIA_FS_BLOCK)
#define BL_MAX_SLOTS	  (NVIDIA_FS_MAX_SHADOW / NVIDIA_FS_GPU_PAGE)

static_assert(PAGE_SIZE >= NVIDIA_FS_BLOCK && PAGE_SIZE <= NVIDIA_FS_GPU_PAGE);
static_assert(BL_SLOT_BLOCKS <= BITS_PER_LONG);
static_assert(BITS_PER_LONG == 64);

/* The function that decides on an error reports it: refuse(EINVAL, "map size %lld: not positive", size) */
#define refuse(err, fmt, ...)                                                                      \
	({                                                                                         \
		if (bl_info_enabled)                                                               \
			pr_err_ratelimited("%s[%d]: " fmt ": %pe\n", current->comm,                \
					   task_tgid_nr(current), ##__VA_ARGS__, ERR_PTR(-(err))); \
		-(err);                                                                            \
	})

/* The same where the task that runs has nothing to do with it. */
#define fault(err, fmt, ...)                                                                       \
	({                                                                                         \
		if (bl_info_enabled)                                                               \
			pr_err_ratelimited(fmt ": %pe\n", ##__VA_ARGS__, ERR_PTR(-(err)));         \
		-(err);                                                                            \
	})

#define bl_dbg(fmt, ...)                                                                           \
	do {                                                                                       \
		if (bl_dbg_enabled)                                                                \
			pr_info("%s[%d]: " fmt "\n", current->comm, task_tgid_nr(current),         \
				##__VA_ARGS__);                                                    \
	} while (0)

struct bl_gpu;
struct bl_piece_slot;
struct bl_io;
struct workqueue_struct;

/**
 * struct bl_peer - a device that reaches the memory of a map
 * @node: in bl_map.peers
 * @map:  the map
 * @pdev: the device, referenced
 * @gate: for pieces whose DMA it does
 * @dma:  the device's address of each chunk of the map; all or none are mapped
 * @pair: what is known of it and the GPU; may be NULL
 * @mapped: whether they are
 */
struct bl_peer {
	struct list_head node;
	struct bl_map *map;
	struct pci_dev *pdev;
	struct bl_gate gate;
	bool mapped;
	struct bl_pair *pair;
	dma_addr_t dma[];
};

/**
 * struct bl_slot - pages that stand in for one GPU page
 * @peer: the device that is to reach it; NULL while the slot carries nothing
 * @pa:   physical address of the GPU page
 * @dma:  the peer's address of it
 * @seen: bit per block: a driver asked for its address. Requests that a piece was split into share the word
 */
struct bl_slot {
	struct bl_peer *peer;
	u64 pa;
	dma_addr_t dma;
	atomic_long_t seen;
};

/**
 * struct bl_meta - the page of user space that requests report to
 * @page: pinned; NULL: there is none
 * @off:  where in it
 */
struct bl_meta {
	struct page *page;
	unsigned int off;
};

/**
 * struct bl_map - GPU memory bound to a shadow; zero before the first one
 * @va:         first address, rounded down to a GPU page
 * @len:        bytes, whole GPU pages
 * @head:       bytes between @va and the address that was asked for
 * @size:       bytes that were asked for
 * @pin:        its pages
 * @chunks:     where they are
 * @gate:       for pieces of I/O
 * @is_bounce:  a library's own buffer, for statistics
 * @gpu:        where gpu.c has counted it; NULL: nowhere
 * @uuid:       of the GPU
 * @rdma:       what user space has told about how NICs reach it; under @lock. Zero: nothing, as before each MAP
 * @meta:       where requests report to; the shadow's
 * @lock:       see above
 * @idle:       woken when a closed gate has nobody inside
 * @peers_lock: see above
 * @peers:      struct bl_peer; only grows while memory is bound, and is read under either lock
 * @watch:      from the first MAP on, until the shadow goes
 */
struct bl_map {
	u64 va;
	u64 len;
	u64 size;
	u32 head;
	struct bl_table pin;
	struct bl_chunks chunks;
	struct bl_gate gate;
	bool is_bounce;
	struct bl_gpu *gpu;
	u8 uuid[16];
	struct nvidia_fs_rdma_info rdma;
	struct bl_meta meta;
	spinlock_t lock;
	wait_queue_head_t idle;
	struct mutex peers_lock;
	struct list_head peers;
	struct bl_watch watch;
};

/**
 * struct bl_place - where user space has a shadow
 * @node: in bl_shelf.places; not there: its VMA has gone
 * @mm:   the process
 * @addr: where the VMA begins
 * @file: the shadow's, which the VMA holds
 */
struct bl_place {
	struct hlist_node node;
	const struct mm_struct *mm;
	u64 addr;
	struct file *file;
};

/* a kilobyte of each open node: few have more than some hundred shadows */
#define BL_PLACE_BITS 7

/**
 * struct bl_shelf - shadows of an open node
 * @ref:     the node, and each shadow that is mapped
 * @lock:    a leaf
 * @closed:  the node is: nothing is kept any more
 * @bytes:   of pages that @shadows have
 * @shadows: struct bl_shadow, kept for later
 * @places:  struct bl_place of those that are mapped, by address
 */
struct bl_shelf {
	struct kref ref;
	spinlock_t lock;
	bool closed;
	u64 bytes;
	struct list_head shadows;
	struct hlist_head places[1 << BL_PLACE_BITS];
};

/**
 * struct bl_shadow - a shadow mapping
 * @rcu:      frees it, when no look-up can hold it any more
 * @node:     in bl_shelf.shadows
 * @shelf:    where it goes when it is unmapped; referenced while it is mapped
 * @place:    where that is
 * @touched:  its pages may be other than zero
 * @id:       key in the table of all shadows
 * @len:      bytes that the VMA has
 * @nr_slots: slots, each of a whole GPU page
 * @whole:    the pages of each slot are neighbours
 * @slots:    slots
 * @pages:    pages, BL_SLOT_PAGES for each slot
 * @lock:     see above
 * @taken:    bit per slot: a piece has it
 * @nr_ios:   requests whose end has not been told
 * @nr_held:  requests that nobody waits for, and that still need the shadow
 * @shared:   two requests were in flight at a time: who reads the page for reports cannot know whose they are
 * @wait:     for a slot, and for @nr_held
 * @map_lock: see above
 * @map:      what MAP bound and UNMAP has not given back
 * @map_users: 0: nothing is bound; else one more than requests and others that use @map. MAP and UNMAP change it with
 *            map_lock held; the end of a request does so with @lock held
 * @meta:     page for reports of @map, or of the one before it
 */
struct bl_shadow {
	struct rcu_head rcu;
	struct list_head node;
	struct bl_shelf *shelf;
	struct bl_place place;
	bool touched;
	u32 id;
	u32 nr_slots;
	unsigned long len;
	bool whole;
	struct bl_slot *slots;
	struct page **pages;
	spinlock_t lock;
	DECLARE_BITMAP(taken, BL_MAX_SLOTS);
	u32 nr_ios;
	u32 nr_held;
	bool shared;
	wait_queue_head_t wait;
	struct mutex map_lock;
	struct bl_map map;
	atomic_t map_users;
	struct bl_meta meta;
};

/* main.c */
extern int bl_max_devices;
extern int bl_dbg_enabled;
extern int bl_info_enabled;
extern int bl_rw_stats_enabled;
extern int bl_peer_stats_enabled;
extern int bl_use_legacy;
extern ushort bl_node_mode;
extern struct workqueue_struct *bl_queue;

/* node.c */
extern const struct file_operations bl_node_fops;
int bl_node_init(void);
void bl_node_exit(void);
unsigned int bl_node_count(void);

/* file.c */
unsigned int bl_file_count(void);

/* ioctl.c */
long bl_ioctl(struct file *f, unsigned int cmd, unsigned long arg);

/* shadow.c */
int bl_shadow_new(unsigned long len, struct bl_shadow **shadow_p);
void bl_shadow_wait(struct bl_shadow *shadow);
void bl_shadow_unbind(struct bl_shadow *shadow);
void bl_shadow_free(struct bl_shadow *shadow);
struct bl_slot *bl_shadow_find(const struct page *page, u32 *off_p, u32 *len_p);
void bl_shadow_exit(void);

/* shelf.c */
struct bl_shelf *bl_shelf_new(void);
void bl_shelf_put(struct bl_shelf *shelf);
struct bl_shadow *bl_shelf_take(struct bl_shelf *shelf, unsigned long len);
bool bl_shelf_give(struct bl_shelf *shelf, struct bl_shadow *shadow);
void bl_shelf_close(struct bl_shelf *shelf);

/* mmap.c */
int bl_mmap(struct file *f, struct vm_area_struct *vma);
struct file *bl_mmap_file(struct file *node, u64 addr);

/* place.c */
void bl_place_add(const struct vm_area_struct *vma);
void bl_place_remove(const struct vm_area_struct *vma);
struct file *bl_place_find(struct bl_shelf *shelf, u64 addr);

/* what a file of bl_mmap_file() is about */
static inline struct bl_shadow *bl_shadow_of(const struct file *file)
{
	return file->private_data;
}

/* map.c */
void bl_map_init(struct bl_map *map);
void bl_map_exit(struct bl_map *map);
int bl_map_bind(struct bl_shadow *shadow, const struct nvidia_fs_map *arg);
int bl_map_unbind(struct bl_shadow *shadow);
struct bl_map *bl_map_use(struct bl_shadow *shadow);
void bl_map_unuse(struct bl_shadow *shadow);
void bl_map_free(struct bl_map *map);
void bl_map_close(struct bl_map *map, const char *why);

/* pin.c */
int bl_pin_get(struct bl_map *map);
void bl_pin_put(struct bl_map *map);

/* meta.c */
int bl_meta_pin(struct bl_meta *meta, u64 addr);
void bl_meta_unpin(struct bl_meta *meta);
void bl_meta_set_state(struct bl_meta *meta, u32 state);
u64 bl_meta_tell_holes(struct bl_meta *meta, const struct bl_io *io);
void bl_meta_tell_end(struct bl_meta *meta, s64 result, u64 fence);

/* peer.c */
int bl_peer_get(struct bl_map *map, struct pci_dev *pdev, struct bl_peer **peer_p);
int bl_peer_enter(struct bl_map *map, struct bl_peer *peer);
void bl_peer_leave(struct bl_map *map, struct bl_peer *peer);
dma_addr_t bl_peer_dma(const struct bl_map *map, const struct bl_peer *peer, u64 off, u64 *pa_p);
bool bl_peer_lose(struct bl_map *map, const struct pci_dev *pdev, unsigned long wait);
void bl_peers_unmap(struct bl_map *map);
void bl_peers_free(struct bl_map *map);

/* device.c */
void bl_device_lose(const struct list_head *watched, const struct pci_dev *pdev, bool last);
struct pci_dev *bl_device_of(const struct bl_map *map);

/* gpu.c */
void bl_gpu_add(struct bl_map *map);
void bl_gpu_remove(struct bl_map *map);
void bl_gpus_show(struct seq_file *s);

/* hooks.c */
void bl_hooks_register(void);
void bl_hooks_unregister(void);
bool bl_hooks_serve(const struct device_driver *driver);
void bl_hooks_show(struct seq_file *s);

/* rdma.c */
struct nvfs_rdma_info;
struct scatterlist;
long bl_rdma_run(struct file *f, unsigned int cmd, union nvidia_fs_arg *arg, void __user *user);
int bl_rdma_of_list(struct scatterlist *sgl, int nents, struct nvfs_rdma_info *out);

/* target.c */
int bl_target_find(struct file *file, bool write, struct pci_dev **pdev_p);

/* cache.c */
int bl_cache_clear(struct file *file, loff_t pos, u64 len);

/* slots.c */
int bl_slots_take(struct bl_shadow *shadow, u32 want, struct bl_piece_slot *slots, u32 *nr_p);
void bl_slots_give(struct bl_shadow *shadow, const struct bl_piece_slot *slots, u32 nr);

/* proc.c */
bool bl_proc_has(const char *path);
int bl_proc_init(void);
void bl_proc_exit(void);

#endif
