/* SPDX-License-Identifier: MIT */
/* cufile_lib.h - any libcufile, loaded by name: the calls and layouts that the benchmark uses, no header needed */
#ifndef BENCH_CUFILE_LIB_H
#define BENCH_CUFILE_LIB_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

typedef void *CUfileHandle_t;
typedef void *CUfileBatchHandle_t;

/* Returned by value; @err 0 is success, 5000 + n a failure, @cu_err says more when it is 5011. */
typedef struct {
	int err;
	int cu_err;
} CUfileError_t;

typedef struct {
	int type; /* 1: a file descriptor */
	union {
		int fd;
		void *handle;
	} handle;
	const void *fs_ops;
} CUfileDescr_t;

typedef struct {
	int mode; /* 1: batch */
	void *devPtr_base;
	off_t file_offset;
	off_t devPtr_offset;
	size_t size;
	CUfileHandle_t fh;
	int opcode; /* 0: read, 1: write */
	void *cookie;
} CUfileIOParams_t;

typedef struct {
	void *cookie;
	int status; /* CUFILE_LIB_COMPLETE */
	size_t ret;
} CUfileIOEvents_t;

#define CUFILE_LIB_COMPLETE 0x10

_Static_assert(sizeof(CUfileError_t) == 8, "layout of the interface");
_Static_assert(sizeof(CUfileDescr_t) == 24, "layout of the interface");
_Static_assert(sizeof(CUfileIOParams_t) == 64, "layout of the interface");
_Static_assert(sizeof(CUfileIOEvents_t) == 24, "layout of the interface");

/* X(return type, name, (parameters)) */
#define CUFILE_LIB_CALLS(X)                                                                                            \
	X(CUfileError_t, cuFileDriverOpen, (void))                                                                     \
	X(CUfileError_t, cuFileDriverClose_v2, (void))                                                                 \
	X(CUfileError_t, cuFileGetVersion, (int *version))                                                             \
	X(CUfileError_t, cuFileHandleRegister, (CUfileHandle_t * fh, CUfileDescr_t * descr))                           \
	X(void, cuFileHandleDeregister, (CUfileHandle_t fh))                                                           \
	X(CUfileError_t, cuFileBufRegister, (const void *base, size_t len, int flags))                                 \
	X(CUfileError_t, cuFileBufDeregister, (const void *base))                                                      \
	X(ssize_t, cuFileRead, (CUfileHandle_t fh, void *base, size_t len, off_t pos, off_t off))                      \
	X(ssize_t, cuFileWrite, (CUfileHandle_t fh, const void *base, size_t len, off_t pos, off_t off))               \
	X(CUfileError_t, cuFileBatchIOSetUp, (CUfileBatchHandle_t * batch, unsigned int nr))                           \
	X(CUfileError_t, cuFileBatchIOSubmit,                                                                          \
	  (CUfileBatchHandle_t batch, unsigned int nr, CUfileIOParams_t *params, unsigned int flags))                  \
	X(CUfileError_t, cuFileBatchIOGetStatus,                                                                       \
	  (CUfileBatchHandle_t batch, unsigned int min_nr, unsigned int *nr, CUfileIOEvents_t *events,                 \
	   struct timespec *timeout))                                                                                  \
	X(void, cuFileBatchIODestroy, (CUfileBatchHandle_t batch))

#define CUFILE_LIB_FIELD(ret, name, params) ret(*name) params;

/** struct cufile_lib - entry points of the loaded library */
struct cufile_lib {
	CUFILE_LIB_CALLS(CUFILE_LIB_FIELD)
};

/**
 * cufile_lib_load() - Load a library
 * @path: file, or a name for the loader's search
 * @lib:  receives the entry points
 *
 * Never unloaded. Return: 0, or -1 with the reason on stderr.
 */
int cufile_lib_load(const char *path, struct cufile_lib *lib);

#endif
