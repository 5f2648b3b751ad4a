/* SPDX-License-Identifier: MIT */
/* devicepages.h - the ways of path "devicepages": whole blocks of a request between a file and the GPU's mapping */
#ifndef BL_FILE_DEVICEPAGES_H
#define BL_FILE_DEVICEPAGES_H

#include "io.h"

/**
 * bl_devpages_call() - By calls, one after the other
 * @io:    the request; io->done is left alone
 * @off:   where in the request it begins
 * @len:   bytes, whole blocks of the file
 * @err_p: receives the error that ended it; 0 and fewer bytes than @len: the end of the file
 *
 * Return: bytes moved.
 */
size_t bl_devpages_call(const struct bl_io *io, size_t off, size_t len, int *err_p);

/*
 * The same by io_uring, with many pieces under way and until the deadline. -EOPNOTSUPP: there is no ring, nothing was
 * moved.
 */
size_t bl_devpages_ring(const struct bl_io *io, size_t off, size_t len, int *err_p);

#endif
