/* SPDX-License-Identifier: MIT */
/*
 * nvfs_lane.h - /dev/nvidia-fs0, a drive whose driver works with it, and the emulated card, by bare system calls
 *
 * Functions that set things up end the test when they fail; those named try_ return 0 or -errno, which for MAP,
 * READ and WRITE is the one in the argument.
 */
#ifndef BL_TESTS_KERNEL_NVFS_LANE_H
#define BL_TESTS_KERNEL_NVFS_LANE_H

#include "gdrdrv_gpu.h"
#include "nvidia_fs.h"

#define LANE_DRIVE  "/dev/nvme0n1"
#define LANE_LEGACY "use_legacy_p2p_allocation=1"

/**
 * struct lane_map - GPU memory bound to a shadow
 * @shadow:     the shadow
 * @shadow_len: bytes of it
 * @meta:       page for reports
 */
struct lane_map {
	void *shadow;
	size_t shadow_len;
	struct nvidia_fs_meta *meta;
};

/* nvidia-fs.ko loaded anew with these parameters; the card's module is loaded when it is not. */
void lane_reload(const char *parameters);

/*
 * The drive's driver becomes the one with this project's patches, or the kernel's own again, which it also is when the
 * program ends. False: there is none with the patches for this kernel.
 */
bool lane_has_patched(void);
void lane_use_patched(bool patched);

/* The same with a test that is skipped when there is none. */
void lane_need_patched(void);

/* Name of the drive's driver now; the drive's PCI address; "bind" or "unbind" it. */
const char *lane_driver(void);
void lane_drive_bdf(char *bdf, size_t size);
void lane_drive_move(const char *bdf, const char *verb);

int lane_open(void);

/* The card, the node, and the drive for direct I/O. Closing checks that all is clean. */
void lane_open_all(int *gpu, int *node, int *drive);
void lane_close_all(int gpu, int node, int drive);

/* A shadow, or NULL with errno. */
void *try_shadow(int node, size_t len);
int try_bind(int node, struct nvidia_fs_map *arg);

/* A shadow of shadow_len bytes bound to size bytes at va. */
struct lane_map lane_bind(int node, uint64_t va, uint64_t size, size_t shadow_len);
int try_lane_bind(int node, uint64_t va, uint64_t size, size_t shadow_len, struct lane_map *map);
void lane_unbind(struct lane_map *map);

/* Memory is given back and the shadow kept; 0 or -errno. */
int try_unmap(int node, const void *shadow);

/* A synchronous request about bytes of a file and bytes from the start of what is bound. */
struct nvidia_fs_io lane_io(const struct lane_map *map, int fd, int64_t pos, uint64_t off, uint64_t size);

/* Its result: bytes, or -errno. */
int64_t try_io(int node, bool write, const struct nvidia_fs_io *io);
int64_t lane_read(int node, const struct lane_map *map, int fd, int64_t pos, uint64_t off, uint64_t size);
int64_t lane_write(int node, const struct lane_map *map, int fd, int64_t pos, uint64_t off, uint64_t size);

/*
 * Requests that nobody waits for in the kernel: started, whether one has ended, and its result. lane_wait() fails the
 * test after a minute; lane_async() starts and waits.
 */
int try_start(int node, bool write, struct nvidia_fs_io io, uint64_t fence);
bool lane_ended(const struct lane_map *map, uint64_t fence);
int64_t lane_wait(const struct lane_map *map, uint64_t fence);
int64_t lane_async(int node, bool write, const struct lane_map *map, const struct nvidia_fs_io *io, uint64_t fence);

/* Entries at once; the operation of each is in its flags, and its result in ioctl_return. */
int try_batch(int node, struct nvidia_fs_io *entries, uint64_t nr);

/* A number of /proc/driver/nvidia-fs/stats: the one behind "name=" in the line that begins with line. */
long lane_stat(const char *line, const char *name);

/* Whether all bytes have this value. */
bool lane_is_all(const uint8_t *at, size_t len, uint8_t value);

/* Nothing is bound, and nobody wrote to memory that was given back. Waits a little for processes that are ending. */
void lane_check_clean(int gpu);

#endif
