/* SPDX-License-Identifier: MIT */
/*
 * io.h - one request, whoever makes it: a call, an entry of a batch, an operation of a stream
 *
 * Errors inside of the storage lane are negative: -errno for what the system said, -(5000 + n) for what cuFile has a
 * code for (enum CUfileOpError). error.h turns them into what each public call returns.
 */
#ifndef BL_FILE_IO_H
#define BL_FILE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "mem.h"
#include "path.h"

struct bl_file;

/**
 * struct bl_io - a request under way
 * @file:   the caller holds a reference
 * @mem:    the memory side
 * @len:    bytes wanted
 * @pos:    offset in the file
 * @write:  memory to file
 * @done:   bytes moved so far
 * @deadline_ns: CLOCK_MONOTONIC, after which it is given up
 * @by_cpu: a stream waits for this request, and may share its channel with any other: no call of CUDA, only stores through
 *          the mapping
 * @direct: the file is read and written past the page cache
 * @path:   who moved the last byte
 */
struct bl_io {
	struct bl_file *file;
	struct bl_mem mem;
	size_t len;
	off_t pos;
	bool write;
	size_t done;
	uint64_t deadline_ns;
	bool by_cpu;
	bool direct;
	enum bl_path path;
};

/**
 * bl_io_run() - Carry a request out
 * @file:    file, referenced by the caller for the length of the call
 * @base:    as passed to cuFileRead(): registered base, any device pointer, or host memory
 * @len:     bytes
 * @pos:     offset in the file
 * @buf_off: offset from @base
 * @write:   direction
 *
 * Checks range and access mode, resolves the memory, lets paths have their turn, counts. Any thread; never holds a lock
 * while it waits for a device. Needs no current CUDA context, and changes none.
 * Return: bytes moved (short at the end of the file, or when an error came after some bytes), or a negative error.
 */
ssize_t bl_io_run(struct bl_file *file, void *base, size_t len, off_t pos, off_t buf_off, bool write);

/* As bl_io_run() without counting it in the statistics of calls, for batches, which count their own; @path_p: who served. */
ssize_t bl_io_run_quiet(struct bl_file *file, void *base, size_t len, off_t pos, off_t buf_off, bool write,
			enum bl_path *path_p);

/* Whether a request is one: arguments, and the mode that the file was opened in. 0, or the negative error with the reason. */
int bl_io_check(const struct bl_file *file, const void *base, size_t len, off_t pos, off_t buf_off, bool write);

/* Count a request that has ended: its @file, @path, @write, @len, @pos and the GPU of @mem; @ns: how long it took. */
void bl_io_count(const struct bl_io *io, ssize_t result, uint64_t ns);

/* Let the paths have their turn, choose.c. 0: all that there is was moved; else the error that ended it. */
int bl_io_dispatch(struct bl_io *io);

/* Which path has the first turn, BL_PATH_NR: none can. */
enum bl_path bl_io_first(const struct bl_io *io);

/*
 * The steps of bl_io_run_quiet(), for who carries several requests out together: @io has @file, @len, @pos and @write. Check it
 * and resolve the memory: 0 or the error, and then bl_io_close() gives the memory back, and counts what was moved, for the
 * file.
 */
int bl_io_open(struct bl_io *io, void *base, off_t buf_off);
void bl_io_close(struct bl_io *io);

/**
 * bl_io_try() - Carry a read out if that takes no waiting for the file
 * @file:    file, referenced by the caller for the length of the call
 * @base:    as for bl_io_run()
 * @len:     bytes, some tens of KiB at most
 * @pos:     offset in the file
 * @buf_off: offset from @base
 * @path_p:  receives who moved the bytes
 *
 * For threads that have other things to do than to wait for a drive: only what is in the page cache is read, only into
 * memory that the CPU reaches. Counts for the file and nowhere else, as bl_io_run_quiet() does.
 * Return: bytes, or -EAGAIN: bl_io_run_quiet() is to do it, on a thread that may wait. Errors are left to that, too.
 */
ssize_t bl_io_try(struct bl_file *file, void *base, size_t len, off_t pos, off_t buf_off, enum bl_path *path_p);

/* How many large requests on GPU memory are under way. */
unsigned int bl_io_large(void);

/* Whether so many large requests on GPU memory are under way that a thread each is all that helps. */
bool bl_io_crowded(void);

#endif
