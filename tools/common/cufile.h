/* SPDX-License-Identifier: MIT */
/*
 * cufile.h - a libcufile, loaded by name, so that one tool serves with whichever the machine has
 *
 * Types are those of include/cufile.h.
 */
#ifndef TOOLS_COMMON_CUFILE_H
#define TOOLS_COMMON_CUFILE_H

#include "gpu/cuda_abi.h"

#include <cufile.h>

/* X(return type, name, (parameters)): what every libcufile of the last years has. */
#define TOOL_CUFILE_REQUIRED(X)                                                                                        \
	X(CUfileError_t, cuFileDriverOpen, (void))                                                                     \
	X(CUfileError_t, cuFileDriverClose_v2, (void))                                                                 \
	X(CUfileError_t, cuFileDriverGetProperties, (CUfileDrvProps_t * props))                                        \
	X(CUfileError_t, cuFileGetVersion, (int *version))                                                             \
	X(CUfileError_t, cuFileHandleRegister, (CUfileHandle_t * fh, CUfileDescr_t * descr))                           \
	X(void, cuFileHandleDeregister, (CUfileHandle_t fh))                                                           \
	X(CUfileError_t, cuFileBufRegister, (const void *base, size_t len, int flags))                                 \
	X(CUfileError_t, cuFileBufDeregister, (const void *base))                                                      \
	X(ssize_t, cuFileRead, (CUfileHandle_t fh, void *base, size_t len, off_t pos, off_t off))                      \
	X(ssize_t, cuFileWrite, (CUfileHandle_t fh, const void *base, size_t len, off_t pos, off_t off))

/* What older ones lack; NULL there. */
#define TOOL_CUFILE_OPTIONAL(X)                                                                                        \
	X(CUfileError_t, cuFileBatchIOSetUp, (CUfileBatchHandle_t * batch, unsigned int nr))                           \
	X(CUfileError_t, cuFileBatchIOSubmit,                                                                          \
	  (CUfileBatchHandle_t batch, unsigned int nr, CUfileIOParams_t *params, unsigned int flags))                  \
	X(CUfileError_t, cuFileBatchIOGetStatus,                                                                       \
	  (CUfileBatchHandle_t batch, unsigned int min_nr, unsigned int *nr, CUfileIOEvents_t *events,                 \
	   struct timespec *timeout))                                                                                  \
	X(CUfileError_t, cuFileBatchIOCancel, (CUfileBatchHandle_t batch))                                             \
	X(void, cuFileBatchIODestroy, (CUfileBatchHandle_t batch))                                                     \
	X(CUfileError_t, cuFileReadAsync,                                                                              \
	  (CUfileHandle_t fh, void *base, size_t *len, off_t *pos, off_t *off, ssize_t *done, CUstream stream))        \
	X(CUfileError_t, cuFileWriteAsync,                                                                             \
	  (CUfileHandle_t fh, void *base, size_t *len, off_t *pos, off_t *off, ssize_t *done, CUstream stream))        \
	X(CUfileError_t, cuFileStreamRegister, (CUstream stream, unsigned int flags))                                  \
	X(CUfileError_t, cuFileStreamDeregister, (CUstream stream))                                                    \
	X(CUfileError_t, cuFileGetParameterSizeT, (CUFileSizeTConfigParameter_t param, size_t *value))                 \
	X(CUfileError_t, cuFileGetParameterBool, (CUFileBoolConfigParameter_t param, bool *value))                     \
	X(CUfileError_t, cuFileGetParameterPosixPoolSlabArray, (size_t * sizes, size_t *counts, int len))

#define TOOL_CUFILE_FIELD(ret, name, params) ret(*name) params;

/**
 * struct tool_cufile - entry points of the loaded library
 * @path: its file
 */
struct tool_cufile {
	char path[512];
	TOOL_CUFILE_REQUIRED(TOOL_CUFILE_FIELD)
	TOOL_CUFILE_OPTIONAL(TOOL_CUFILE_FIELD)
};

/**
 * tool_cufile_load() - Load a library; it stays for the life of the process
 * @name: file, or NULL for libcufile.so.0 where the loader finds it
 * @lib:  receives the entry points
 *
 * Return: 0, -ENOENT (cannot be loaded), -ENOSYS (lacks a function); with tool_why().
 */
int tool_cufile_load(const char *name, struct tool_cufile *lib);

/**
 * tool_cufile_open() - Open a file for a libcufile
 * @path:  file
 * @flags: as for open(2); O_CLOEXEC is added
 *
 * A FIFO, which open(2) would wait in for the other side, is refused.
 * Return: descriptor, or -1 with errno; ESPIPE for a FIFO.
 */
int tool_cufile_open(const char *path, int flags);

/* Turn a status into 0 or -EIO with tool_why(): "WHAT: text (code)". */
int tool_cufile_status(CUfileError_t status, const char *what);

#endif
