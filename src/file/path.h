/* SPDX-License-Identifier: MIT */
/*
 * path.h - ways for bytes between a file and memory
 *
 * One struct of operations per way, one file each (path_nvfs.c, path_devicepages.c, path_mapped.c, path_staged.c,
 * path_plain.c), one short selector (choose.c), as with the providers of the core. A path moves as much as it can and
 * says how much; what is left goes to the next one, unless the request is strict.
 */
#ifndef BL_FILE_PATH_H
#define BL_FILE_PATH_H

#include <stddef.h>
#include <sys/types.h>

struct bl_io;

enum bl_path {
	BL_PATH_NVFS,	     /* DMA between drive and GPU, by the nvidia-fs module */
	BL_PATH_DEVICEPAGES, /* the same by direct I/O of the GPU's mapping, which has struct pages */
	BL_PATH_MAPPED,	     /* page cache to the GPU's mapping by the CPU */
	BL_PATH_STAGED,	     /* pinned ring, copy engine, several transfers in flight */
	BL_PATH_PLAIN,	     /* pread or pwrite, then a copy; host memory: no copy */
	BL_PATH_NR,
};

/**
 * struct bl_path_ops - one way
 * @name:   "nvfs", "devicepages", "mapped", "staged", "plain"
 * @usable: whether it can serve a request at all. NULL: yes; else why not, in words that say what would help
 * @score:  estimated ns for a request that it can serve; the lowest wins
 * @run:    move bytes from io->done on, advance io->done. 0: all that there is was moved (the end of the file counts);
 *          -EAGAIN: the rest is for another path; else -errno or -(CUfileOpError), with the reason
 */
struct bl_path_ops {
	const char *name;
	const char *(*usable)(const struct bl_io *io);
	double (*score)(const struct bl_io *io);
	int (*run)(struct bl_io *io);
};

extern const struct bl_path_ops *const bl_paths[BL_PATH_NR];

#endif
