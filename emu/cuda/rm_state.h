/* SPDX-License-Identifier: MIT */
/*
 * rm_state.h - what the fake kernel side knows
 *
 * One lock guards all of it. Lists are singly linked and changed by one store of a ready element, because a forked
 * child inherits them at whatever moment the fork came and only reads them: what it inherited has its parent's pid.
 *
 *	emu_file    open file behind descriptors of a node; held by its descriptors, by VMAs, and a control file by the
 *	            device files registered with it
 *	rm_client   root of a tree of rm_objects; owned by a control file
 *	rm_map      MAP_MEMORY of an object, attached to a device file for as long as that file lives
 *	emu_vma     mmap of a file
 */
#ifndef EMU_CUDA_RM_STATE_H
#define EMU_CUDA_RM_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "emu.h"
#include "rm.h"
#include "rm_abi.h"

struct rm_client;
struct gdr_pin;

enum emu_file_kind { EMU_FILE_CTL, EMU_FILE_DEV, EMU_FILE_GDRDRV, EMU_FILE_DMABUF };

#define EMU_FILE_FDS 8

/**
 * struct emu_file - open file of a fake node
 * @next:     list of all
 * @kind:     which node
 * @pid:      who opened it
 * @ino:      inode of the descriptor, unique to the open file: a dup()ed descriptor is recognised by it
 * @accmode:  O_RDONLY, O_WRONLY or O_RDWR
 * @fds:      its descriptors that were seen, -1 for a free slot
 * @closed:   its last descriptor is gone
 * @holders:  1 while it has descriptors, 1 per VMA, 1 per device file registered with it
 * @gpu:      device: which
 * @ctl:      device: control file registered with it
 * @map:      device: its mapping, NULL before MAP_MEMORY and after UNMAP_MEMORY
 * @used:     device: has been given to MAP_MEMORY
 * @context:  device: what is shown by mmap(); stays after UNMAP_MEMORY
 * @attached: control: bit mask of GPUs that ATTACH_GPUS_TO_FD keeps initialised
 * @mem:      dma-buf, and control that holds an exported object: the storage
 * @off:      dma-buf: start in @mem
 * @len:      dma-buf: bytes
 * @mmappable: dma-buf: mmap works
 * @pins:     gdrdrv: list
 * @next_pin: gdrdrv: handle of the next pin
 */
struct emu_file {
	struct emu_file *next;
	enum emu_file_kind kind;
	pid_t pid;
	ino_t ino;
	int accmode;
	int fds[EMU_FILE_FDS];
	bool closed;
	unsigned int holders;
	struct emu_gpu *gpu;
	struct emu_file *ctl;
	struct rm_map *map;
	bool used;
	struct {
		uint32_t hclient;
		uint32_t hmemory;
		uint64_t address;
		uint64_t phys;
		uint64_t len;
		bool read_only;
	} context;
	uint32_t attached;
	struct emu_mem *mem;
	uint64_t off;
	uint64_t len;
	bool mmappable;
	struct gdr_pin *pins;
	uint64_t next_pin;
};

/**
 * struct rm_object - device, subdevice or memory object
 * @next:    list of the client
 * @handle:  unique in the client
 * @parent:  handle of its parent
 * @hclass:  RM_CLASS_*
 * @gpu:     which
 * @mem:     memory: storage, referenced
 * @shares:  bit mask of share policy types; 0: the client's apply
 */
struct rm_object {
	struct rm_object *next;
	uint32_t handle;
	uint32_t parent;
	uint32_t hclass;
	struct emu_gpu *gpu;
	struct emu_mem *mem;
	uint32_t shares;
};

/**
 * struct rm_client - RM client
 * @next:        list of all
 * @handle:      unique on the machine
 * @pid:         who made it
 * @euid:        effective user of who made it
 * @file:        control file that owns it; NULL: CUDA's
 * @shares:      bit mask of share policy types
 * @next_handle: of the next object that gets no handle of the caller's choice
 * @objects:     list
 */
struct rm_client {
	struct rm_client *next;
	uint32_t handle;
	pid_t pid;
	uid_t euid;
	struct emu_file *file;
	uint32_t shares;
	uint32_t next_handle;
	struct rm_object *objects;
};

/**
 * struct rm_map - result of MAP_MEMORY
 * @next:    list of all
 * @client:  owner
 * @object:  memory
 * @device:  handle that MAP_MEMORY was given as device
 * @file:    device file it is attached to, NULL once that is gone
 * @address: pLinearAddress
 * @alias:   what UPDATE_DEVICE_MAPPING_INFO announced instead, else @address
 * @window:  dynamic BAR1: start of the window
 * @window_len: its bytes; 0: static BAR1
 */
struct rm_map {
	struct rm_map *next;
	struct rm_client *client;
	struct rm_object *object;
	uint32_t device;
	struct emu_file *file;
	uint64_t address;
	uint64_t alias;
	uint64_t window;
	uint64_t window_len;
};

/**
 * struct emu_vma - mmap of a node
 * @next:     list of all
 * @addr:     first byte
 * @len:      bytes, whole pages
 * @file:     what was mapped; the VMA holds it
 * @map:      device: the RM mapping behind it, NULL after that went away
 * @pin:      gdrdrv: the pin behind it, NULL after that went away
 * @dontfork: MADV_DONTFORK was applied
 * @tid:      thread that called mmap()
 */
struct emu_vma {
	struct emu_vma *next;
	void *addr;
	size_t len;
	struct emu_file *file;
	struct rm_map *map;
	struct gdr_pin *pin;
	bool dontfork;
	pid_t tid;
};

/**
 * struct emu_driver - the driver that is "loaded", as the environment says
 * @version: text of BARLANE_EMU_DRIVER
 * @abi:     its branch
 * @rm:      RM nodes exist
 * @gdrdrv:  the gdrdrv node exists
 * @deny:    opening a node is refused
 * @gdr_minor: gdrdrv reports 2.@gdr_minor
 * @gdr_persistent: gdrdrv's pins keep the memory
 */
struct emu_driver {
	char version[64];
	const struct rm_abi *abi;
	bool rm;
	bool gdrdrv;
	bool deny;
	unsigned int gdr_minor;
	bool gdr_persistent;
};

extern struct emu_driver emu_driver;

/* rm_state.c: the lock, and set-up. The first rm_lock() of the process installs the fork handlers. */
void rm_lock(void);
void rm_unlock(void);

/* Read the environment again unless a node of this process is open; lock held. */
void emu_driver_reload(void);

/* Counts other than those of counts.h; takes the lock. */
void emu_rm_count(struct bl_emu_counts *counts);

/* nodes.c: open files; lock held unless said otherwise. */
int emu_file_open(enum emu_file_kind kind, int flags, struct emu_file **file_p);
struct emu_file *emu_file_find(int fd);
struct emu_file *emu_files(void);
bool emu_file_is_ours(const struct emu_file *file);
bool emu_file_has_fd(const struct emu_file *file);
void emu_file_hold(struct emu_file *file);
void emu_file_put(struct emu_file *file);
int emu_file_close(struct emu_file *file, int fd);
void emu_files_reap(bool all);
bool emu_gpu_is_open(const struct emu_gpu *gpu);
bool emu_gpu_is_attached(const struct emu_gpu *gpu);

/* rm_vma.c: mappings of nodes; lock held. */
struct emu_vma *emu_vma_list(void);
struct emu_vma *emu_vma_find(const void *addr, size_t len);
struct emu_vma *emu_vma_overlapping(const void *addr, size_t len);
void *emu_vma_mmap(struct emu_file *file, size_t len, int prot, int flags, off_t off);
void *emu_vma_show(struct emu_file *file, struct emu_gpu *gpu, uint64_t phys, size_t shown, size_t len, int prot);
int emu_vma_munmap(struct emu_vma *vma);
void emu_vma_zap(struct emu_vma *vma);
bool emu_vma_of_map(const struct rm_map *map);
void emu_vma_forget_map(const struct rm_map *map);
void emu_vma_check_ioctl(unsigned int nr);
void emu_vma_after_fork(void);

/* rm_object.c: clients and objects; lock held. */
struct rm_client *rm_clients(void);
struct rm_client *rm_client_new(struct emu_file *file, uint32_t handle);
struct rm_client *rm_client_any(uint32_t handle);
struct rm_client *rm_client_find(uint32_t handle, const struct emu_file *file);
void rm_client_free(struct rm_client *client);
void rm_clients_of_file_free(const struct emu_file *file);
struct rm_object *rm_object_find(struct rm_client *client, uint32_t handle);
uint32_t rm_object_new(struct rm_client *client, uint32_t handle, struct rm_object **object_p);
void rm_object_free(struct rm_client *client, struct rm_object *object);
bool rm_object_may_dup(const struct rm_client *client, const struct rm_object *object);
uint32_t rm_object_dup(struct rm_client *client, struct rm_object *device, uint32_t handle, struct emu_mem *mem,
		       struct rm_object **object_p);

/* rm_map.c: mappings of objects; lock held. */
struct rm_map *rm_maps(void);
uint32_t rm_map_memory(struct emu_file *file, void *arg);
uint32_t rm_unmap_memory(struct emu_file *file, void *arg);
uint32_t rm_update_mapping(struct emu_file *file, void *arg);
void rm_map_free(struct rm_map *map);
void rm_map_file_closing(struct emu_file *file);
void rm_map_file_gone(const struct emu_file *file);

/* rm_bar1.c: windows of dynamic BAR1; takes no lock of its own, lock held. */
int rm_bar1_take(struct emu_gpu *gpu, uint64_t len, uint64_t *start_p);
void rm_bar1_give(struct emu_gpu *gpu, uint64_t start, uint64_t len);
uint64_t rm_bar1_used(const struct emu_gpu *gpu);
uint64_t rm_bar1_avail(const struct emu_gpu *gpu);
uint64_t rm_bar1_largest(const struct emu_gpu *gpu);

/* rm_escape.c, rm_alloc.c, rm_control*.c, rm_card.c, rm_export.c: lock held. */
int rm_ioctl(struct emu_file *file, unsigned long request, void *arg);
uint32_t rm_alloc_nvos21(struct emu_file *file, void *arg);
uint32_t rm_alloc_nvos64(struct emu_file *file, void *arg);
uint32_t rm_free(struct emu_file *file, void *arg);
uint32_t rm_dup(struct emu_file *file, void *arg);
uint32_t rm_share(struct emu_file *file, void *arg);
uint32_t rm_control(struct emu_file *file, void *arg);
int rm_card_info(void *arg, size_t size);
int rm_check_version(void *arg);
int rm_attach_gpus(struct emu_file *file, const void *arg, size_t size);
int rm_register_fd(struct emu_file *file, const void *arg);
struct emu_gpu *rm_gpu_by_id(uint32_t gpu_id);
struct emu_gpu *rm_gpu_by_instance(uint32_t instance);
uint32_t rm_fault_status(const char *point, uint32_t status);

/* A field that must be zero: counts as a broken rule when it is not. */
void rm_must_be_zero(const char *what, uint64_t value);

/* gdrdrv.c: lock held, but for gdr_ioctl(), which asks the CUDA half and takes it itself. */
int gdr_ioctl(int fd, unsigned long request, void *arg);
void *gdr_mmap(struct emu_file *file, size_t len, int prot, off_t off);
void gdr_vma_closed(struct gdr_pin *pin);
void gdr_release(struct emu_file *file);
uint64_t gdr_pin_count(const struct emu_file *file);

/* dmabuf.c: lock held. */
void *dmabuf_mmap(struct emu_file *file, size_t len, int prot, off_t off);

/* rm_text.c: the readable files; -1 and errno, or -2 when @path is none of them. Lock held. */
int emu_text_open(const char *path, int flags);

#endif
