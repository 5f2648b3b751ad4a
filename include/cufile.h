/* SPDX-License-Identifier: MIT */
/**
 * DOC: cufile.h - files to and from GPU memory, libcufile.so.0
 *
 * Drop-in for the header of NVIDIA's cuFile: same names, values and layouts, those of release 1.15 and the functions
 * that later releases added. docs/cufile-compat.md goes through them one by one.
 *
 * Functions that return a CUfileError_t give CU_FILE_SUCCESS in its member err, else a CUfileOpError; cu_err is set
 * with CU_FILE_CUDA_DRIVER_ERROR alone. Any thread may call any function. In a child that was forked while the driver
 * was open, whatever needs the driver gives CU_FILE_DRIVER_NOT_INITIALIZED, cuFileDriverOpen() too.
 */
#ifndef CUFILE_H
#define CUFILE_H

#include <arpa/inet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>

/* What is needed of CUDA: its header where there is one. The sources of this library state it themselves. */
#if defined(__has_include) && !defined(BL_GPU_CUDA_ABI_H)
#if __has_include(<cuda.h>)
#include <cuda.h>
#endif
#endif
#if !defined(CUDA_VERSION) && !defined(BL_GPU_CUDA_ABI_H)
typedef int CUresult;
typedef struct CUstream_st *CUstream;
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** CUFILEOP_BASE_ERR - codes of cuFile lie above, errno values below */
#define CUFILEOP_BASE_ERR 5000

/** enum CUfileOpError - what went wrong */
typedef enum CUfileOpError {
	CU_FILE_SUCCESS = 0,
	CU_FILE_DRIVER_NOT_INITIALIZED = CUFILEOP_BASE_ERR + 1,
	CU_FILE_DRIVER_INVALID_PROPS = CUFILEOP_BASE_ERR + 2,
	CU_FILE_DRIVER_UNSUPPORTED_LIMIT = CUFILEOP_BASE_ERR + 3,
	CU_FILE_DRIVER_VERSION_MISMATCH = CUFILEOP_BASE_ERR + 4,
	CU_FILE_DRIVER_VERSION_READ_ERROR = CUFILEOP_BASE_ERR + 5,
	CU_FILE_DRIVER_CLOSING = CUFILEOP_BASE_ERR + 6,
	CU_FILE_PLATFORM_NOT_SUPPORTED = CUFILEOP_BASE_ERR + 7,
	CU_FILE_IO_NOT_SUPPORTED = CUFILEOP_BASE_ERR + 8,
	CU_FILE_DEVICE_NOT_SUPPORTED = CUFILEOP_BASE_ERR + 9,
	CU_FILE_NVFS_DRIVER_ERROR = CUFILEOP_BASE_ERR + 10,
	CU_FILE_CUDA_DRIVER_ERROR = CUFILEOP_BASE_ERR + 11,
	CU_FILE_CUDA_POINTER_INVALID = CUFILEOP_BASE_ERR + 12,
	CU_FILE_CUDA_MEMORY_TYPE_INVALID = CUFILEOP_BASE_ERR + 13,
	CU_FILE_CUDA_POINTER_RANGE_ERROR = CUFILEOP_BASE_ERR + 14,
	CU_FILE_CUDA_CONTEXT_MISMATCH = CUFILEOP_BASE_ERR + 15,
	CU_FILE_INVALID_MAPPING_SIZE = CUFILEOP_BASE_ERR + 16,
	CU_FILE_INVALID_MAPPING_RANGE = CUFILEOP_BASE_ERR + 17,
	CU_FILE_INVALID_FILE_TYPE = CUFILEOP_BASE_ERR + 18,
	CU_FILE_INVALID_FILE_OPEN_FLAG = CUFILEOP_BASE_ERR + 19,
	CU_FILE_DIO_NOT_SET = CUFILEOP_BASE_ERR + 20,
	CU_FILE_INVALID_VALUE = CUFILEOP_BASE_ERR + 22,
	CU_FILE_MEMORY_ALREADY_REGISTERED = CUFILEOP_BASE_ERR + 23,
	CU_FILE_MEMORY_NOT_REGISTERED = CUFILEOP_BASE_ERR + 24,
	CU_FILE_PERMISSION_DENIED = CUFILEOP_BASE_ERR + 25,
	CU_FILE_DRIVER_ALREADY_OPEN = CUFILEOP_BASE_ERR + 26,
	CU_FILE_HANDLE_NOT_REGISTERED = CUFILEOP_BASE_ERR + 27,
	CU_FILE_HANDLE_ALREADY_REGISTERED = CUFILEOP_BASE_ERR + 28,
	CU_FILE_DEVICE_NOT_FOUND = CUFILEOP_BASE_ERR + 29,
	CU_FILE_INTERNAL_ERROR = CUFILEOP_BASE_ERR + 30,
	CU_FILE_GETNEWFD_FAILED = CUFILEOP_BASE_ERR + 31,
	CU_FILE_NVFS_SETUP_ERROR = CUFILEOP_BASE_ERR + 33,
	CU_FILE_IO_DISABLED = CUFILEOP_BASE_ERR + 34,
	CU_FILE_BATCH_SUBMIT_FAILED = CUFILEOP_BASE_ERR + 35,
	CU_FILE_GPU_MEMORY_PINNING_FAILED = CUFILEOP_BASE_ERR + 36,
	CU_FILE_BATCH_FULL = CUFILEOP_BASE_ERR + 37,
	CU_FILE_ASYNC_NOT_SUPPORTED = CUFILEOP_BASE_ERR + 38,
	CU_FILE_INTERNAL_BATCH_SETUP_ERROR = CUFILEOP_BASE_ERR + 39,
	CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR = CUFILEOP_BASE_ERR + 40,
	CU_FILE_INTERNAL_BATCH_GETSTATUS_ERROR = CUFILEOP_BASE_ERR + 41,
	CU_FILE_INTERNAL_BATCH_CANCEL_ERROR = CUFILEOP_BASE_ERR + 42,
	CU_FILE_NOMEM_ERROR = CUFILEOP_BASE_ERR + 43,
	CU_FILE_IO_ERROR = CUFILEOP_BASE_ERR + 44,
	CU_FILE_INTERNAL_BUF_REGISTER_ERROR = CUFILEOP_BASE_ERR + 45,
	CU_FILE_HASH_OPR_ERROR = CUFILEOP_BASE_ERR + 46,
	CU_FILE_INVALID_CONTEXT_ERROR = CUFILEOP_BASE_ERR + 47,
	CU_FILE_NVFS_INTERNAL_DRIVER_ERROR = CUFILEOP_BASE_ERR + 48,
	CU_FILE_BATCH_NOCOMPAT_ERROR = CUFILEOP_BASE_ERR + 49,
	CU_FILE_IO_MAX_ERROR = CUFILEOP_BASE_ERR + 50
} CUfileOpError;

/* A code in words; valid for ever. */
static inline const char *cufileop_status_error(CUfileOpError status)
{
	static const char *const texts[] = {
		"no error",
		"the cuFile driver is not open",
		"no such property",
		"a limit is outside its range",
		"the nvidia-fs module has another version than the library needs",
		"the version of the nvidia-fs module cannot be read",
		"the cuFile driver is closed",
		"this platform cannot do it",
		"this file cannot be used",
		"this GPU cannot be used",
		"the nvidia-fs module refused a request",
		"the CUDA driver reported an error",
		"the address is no memory that CUDA knows",
		"memory of this kind cannot be used",
		"the range leaves its allocation",
		"the memory belongs to another CUDA context",
		"more memory than may be pinned",
		"the range leaves the registered buffer",
		"neither a regular file nor a block device",
		"a flag that the file was opened with cannot be used",
		"the file was opened without O_DIRECT",
		"unknown code",
		"an argument is not valid",
		"the memory is registered already",
		"the memory is not registered",
		"not permitted",
		"the cuFile driver is open",
		"the file is not registered",
		"the file is registered already",
		"no such GPU",
		"internal error",
		"no file descriptor could be had",
		"unknown code",
		"the nvidia-fs module could not be set up",
		"the configuration forbids this file",
		"the batch was not submitted",
		"GPU memory could not be pinned",
		"the batch has no room",
		"stream operations are not supported here",
		"a batch could not be made",
		"the batch did not take the entries",
		"the batch could not tell its status",
		"the batch could not be cancelled",
		"out of memory",
		"input/output error",
		"the buffer could not be registered",
		"a table operation failed",
		"the CUDA context cannot be used",
		"internal error of the nvidia-fs module",
		"batches need compatibility mode for this file",
	};
	int nr = (int)status > CUFILEOP_BASE_ERR ? (int)status - CUFILEOP_BASE_ERR : (int)status ? -1 : 0;

	return nr >= 0 && nr < (int)(sizeof(texts) / sizeof(texts[0])) ? texts[nr] : "unknown code";
}

/** IS_CUFILE_ERR() - whether a result is a code of cuFile, of either sign, and no errno value */
#define IS_CUFILE_ERR(err) (abs((err)) > CUFILEOP_BASE_ERR)

/** CUFILE_ERRSTR() - a code of either sign in words */
#define CUFILE_ERRSTR(err) cufileop_status_error((CUfileOpError)abs((err)))

/** IS_CUDA_ERR() - whether a status tells of an error of CUDA */
#define IS_CUDA_ERR(status) ((status).err == CU_FILE_CUDA_DRIVER_ERROR)

/** CU_FILE_CUDA_ERR() - that error */
#define CU_FILE_CUDA_ERR(status) ((status).cu_err)

/**
 * struct CUfileError - what most functions return
 * @err:    code
 * @cu_err: error of the CUDA driver when @err is CU_FILE_CUDA_DRIVER_ERROR
 */
typedef struct CUfileError {
	CUfileOpError err;
	CUresult cu_err;
} CUfileError_t;

/** enum CUfileDriverStatusFlags - bits of CUfileDrvProps_t.nvfs.dstatusflags: storage that DMA reaches */
typedef enum CUfileDriverStatusFlags {
	CU_FILE_LUSTRE_SUPPORTED = 0,
	CU_FILE_WEKAFS_SUPPORTED = 1,
	CU_FILE_NFS_SUPPORTED = 2,
	CU_FILE_GPFS_SUPPORTED = 3,
	CU_FILE_NVME_SUPPORTED = 4,
	CU_FILE_NVMEOF_SUPPORTED = 5,
	CU_FILE_SCSI_SUPPORTED = 6,
	CU_FILE_SCALEFLUX_CSD_SUPPORTED = 7,
	CU_FILE_NVMESH_SUPPORTED = 8,
	CU_FILE_BEEGFS_SUPPORTED = 9,
	CU_FILE_NVME_P2P_SUPPORTED = 11,
	CU_FILE_SCATEFS_SUPPORTED = 12,
	CU_FILE_VIRTIOFS_SUPPORTED = 13,
	CU_FILE_MAX_TARGET_TYPES = 14
} CUfileDriverStatusFlags_t;

/** enum CUfileDriverControlFlags - bits of CUfileDrvProps_t.nvfs.dcontrolflags */
typedef enum CUfileDriverControlFlags {
	CU_FILE_USE_POLL_MODE = 0,
	CU_FILE_ALLOW_COMPAT_MODE = 1,
	CU_FILE_VANILLA_POSIX_IO_MODE = 2,
	CU_FILE_POSIX_IO_MODE = CU_FILE_VANILLA_POSIX_IO_MODE,
	CU_FILE_FALLBACK_IO_MODE = 4
} CUfileDriverControlFlags_t;

/** enum CUfileFeatureFlags - bits of CUfileDrvProps_t.fflags */
typedef enum CUfileFeatureFlags {
	CU_FILE_DYN_ROUTING_SUPPORTED = 0,
	CU_FILE_BATCH_IO_SUPPORTED = 1,
	CU_FILE_STREAMS_SUPPORTED = 2,
	CU_FILE_PARALLEL_IO_SUPPORTED = 3,
	CU_FILE_P2P_SUPPORTED = 4
} CUfileFeatureFlags_t;

/** enum CUfileP2PFlags - ways between storage and GPU, as bit numbers; CU_FILE_P2P_FLAG_* are the bits */
typedef enum CUfileP2PFlags {
	CUFILE_P2PDMA = 0,
	CUFILE_NVFS = 1,
	CUFILE_DMABUF = 2,
	CUFILE_C2C = 3,
	CUFILE_NVIDIA_PEERMEM = 4
} CUfileP2PFlags_t;

#define CU_FILE_P2P_FLAG_PCI_P2PDMA ((CUfileP2PFlags_t)(1 << CUFILE_P2PDMA))
#define CU_FILE_P2P_FLAG_NVFS	    ((CUfileP2PFlags_t)(1 << CUFILE_NVFS))
#define CU_FILE_P2P_FLAG_DMABUF	    ((CUfileP2PFlags_t)(1 << CUFILE_DMABUF))
#define CU_FILE_P2P_FLAG_C2C	    ((CUfileP2PFlags_t)(1 << CUFILE_C2C))

/**
 * struct CUfileDrvProps - properties of the driver
 * @nvfs:  of the nvidia-fs module: its version, 0.0 without it; poll_thresh_size and max_direct_io_size in KiB; bits
 * of enum CUfileDriverStatusFlags and enum CUfileDriverControlFlags
 * @fflags: bits of enum CUfileFeatureFlags
 * @max_device_cache_size:      KiB per GPU for bounce buffers
 * @per_buffer_cache_size:      KiB per bounce buffer; 0 without the module
 * @max_device_pinned_mem_size: KiB per GPU that may be pinned
 * @max_batch_io_size:          entries of a batch
 * @max_batch_io_timeout_msecs: milliseconds
 */
typedef struct CUfileDrvProps {
	struct {
		unsigned int major_version;
		unsigned int minor_version;
		size_t poll_thresh_size;
		size_t max_direct_io_size;
		unsigned int dstatusflags;
		unsigned int dcontrolflags;
	} nvfs;
	unsigned int fflags;
	unsigned int max_device_cache_size;
	unsigned int per_buffer_cache_size;
	unsigned int max_device_pinned_mem_size;
	unsigned int max_batch_io_size;
	unsigned int max_batch_io_timeout_msecs;
} CUfileDrvProps_t;

typedef struct sockaddr sockaddr_t;

/**
 * struct cufileRDMAInfo - memory as a file system in user space gets it for RDMA
 * @version:  of the description
 * @desc_len: bytes of @desc_str
 * @desc_str: description
 */
typedef struct cufileRDMAInfo {
	int version;
	int desc_len;
	const char *desc_str;
} cufileRDMAInfo_t;

/** struct CUfileFSOps - functions of a file system in user space; taken, and never called */
typedef struct CUfileFSOps {
	const char *(*fs_type)(const void *handle);
	int (*getRDMADeviceList)(const void *handle, sockaddr_t **hostaddrs);
	int (*getRDMADevicePriority)(const void *handle, char *buf, size_t size, off_t off, const sockaddr_t *hostaddr);
	ssize_t (*read)(const void *handle, char *buf, size_t size, off_t off, const cufileRDMAInfo_t *info);
	ssize_t (*write)(const void *handle, const char *buf, size_t size, off_t off, const cufileRDMAInfo_t *info);
} CUfileFSOps_t;

/** enum CUfileFileHandleType - what a descriptor is */
enum CUfileFileHandleType {
	CU_FILE_HANDLE_TYPE_OPAQUE_FD = 1,
	CU_FILE_HANDLE_TYPE_OPAQUE_WIN32 = 2,
	CU_FILE_HANDLE_TYPE_USERSPACE_FS = 3
};

/**
 * struct CUfileDescr_t - a file to be registered
 * @type:   what it is
 * @handle: its descriptor, or the handle of a file system in user space
 * @fs_ops: functions of that file system; not looked at for a descriptor
 */
typedef struct CUfileDescr_t {
	enum CUfileFileHandleType type;
	union {
		int fd;
		void *handle;
	} handle;
	const CUfileFSOps_t *fs_ops;
} CUfileDescr_t;

/** CUfileHandle_t - a registered file; a number, dressed as a pointer */
typedef void *CUfileHandle_t;

/* Flags of cuFileBufRegister(). */
#define CU_FILE_RDMA_REGISTER	      1
#define CU_FILE_RDMA_RELAXED_ORDERING (1 << 1)

/* Results of the read and write functions of CUfileFSOps_t. */
#define CU_FILE_RDMA_ERR_BASE	       6000
#define CU_FILE_RDMA_SUCCESS	       0
#define CU_FILE_RDMA_RESET_TOKEN       (CU_FILE_RDMA_ERR_BASE + 1)
#define CU_FILE_RDMA_RESET_TOKEN_FAILED (CU_FILE_RDMA_ERR_BASE + 2)

#pragma GCC visibility push(default)

/**
 * cuFileHandleRegister() - Register an open file
 * @fh:    receives the handle
 * @descr: the file
 *
 * Opens the driver when it is not. The descriptor stays the caller's, who keeps it open until the handle is
 * deregistered. Any file system and any flags will do but those named below; without O_DIRECT the library opens the
 * file once more with it where that is faster.
 * Return: CU_FILE_SUCCESS; CU_FILE_INVALID_VALUE (null argument, no open descriptor), CU_FILE_IO_NOT_SUPPORTED (type
 * of the descriptor), CU_FILE_INVALID_FILE_TYPE (directory, pipe, socket), CU_FILE_INVALID_FILE_OPEN_FLAG (O_APPEND,
 * O_PATH), CU_FILE_HANDLE_ALREADY_REGISTERED, CU_FILE_IO_DISABLED (configuration), CU_FILE_NOMEM_ERROR, or as
 * cuFileDriverOpen().
 */
CUfileError_t cuFileHandleRegister(CUfileHandle_t *fh, CUfileDescr_t *descr);

/**
 * cuFileHandleDeregister() - Give a handle back
 * @fh: handle; stale ones are ignored, with a message at level warn
 *
 * Requests under way finish.
 */
void cuFileHandleDeregister(CUfileHandle_t fh);

/**
 * cuFileBufRegister() - Register memory, so that requests to it are fast
 * @bufPtr_base: first byte, of a GPU or of the host
 * @length:      bytes, > 0, inside one allocation
 * @flags:       0 or CU_FILE_RDMA_*, which change nothing
 *
 * Opens the driver when it is not. Pins and maps GPU memory, which takes from microseconds to milliseconds.
 * Deregister before the memory is freed.
 * Return: CU_FILE_SUCCESS; CU_FILE_INVALID_VALUE (null, length 0), CU_FILE_MEMORY_ALREADY_REGISTERED,
 * CU_FILE_CUDA_POINTER_RANGE_ERROR (leaves the allocation), CU_FILE_INVALID_MAPPING_SIZE (more than may be pinned),
 * CU_FILE_NOMEM_ERROR, or as cuFileDriverOpen().
 */
CUfileError_t cuFileBufRegister(const void *bufPtr_base, size_t length, int flags);

/**
 * cuFileBufDeregister() - Undo cuFileBufRegister()
 * @bufPtr_base: as registered
 *
 * Requests under way finish.
 * Return: CU_FILE_SUCCESS; CU_FILE_INVALID_VALUE (null), CU_FILE_MEMORY_NOT_REGISTERED, CU_FILE_DRIVER_CLOSING (the
 * driver was closed, and the memory deregistered with it).
 */
CUfileError_t cuFileBufDeregister(const void *bufPtr_base);

/**
 * cuFileRead() - Read from a file into memory
 * @fh:            registered file
 * @bufPtr_base:   registered base, any GPU memory, or host memory
 * @size:          bytes
 * @file_offset:   bytes from the start of the file
 * @bufPtr_offset: bytes from @bufPtr_base
 *
 * Complete when it returns. In no order with CUDA streams: the memory is ready before the call.
 * Return: bytes, fewer at the end of the file; -1 with errno (EINVAL: no handle, no memory; EIO and others: what the
 * system said; above 5000: a CUfileOpError, as original programs expect), or a negative CUfileOpError.
 */
ssize_t cuFileRead(CUfileHandle_t fh, void *bufPtr_base, size_t size, off_t file_offset, off_t bufPtr_offset);

/**
 * cuFileWrite() - Write from memory to a file
 * @fh:            registered file
 * @bufPtr_base:   registered base, any GPU memory, or host memory
 * @size:          bytes
 * @file_offset:   bytes from the start of the file, which grows when need be
 * @bufPtr_offset: bytes from @bufPtr_base
 *
 * Return: as cuFileRead().
 */
ssize_t cuFileWrite(CUfileHandle_t fh, const void *bufPtr_base, size_t size, off_t file_offset, off_t bufPtr_offset);

/**
 * cuFileDriverOpen() - Open the driver, or count one use more
 *
 * The first open takes the configuration and the parameters. Needs neither a GPU nor a kernel module.
 * Return: CU_FILE_SUCCESS; CU_FILE_DRIVER_NOT_INITIALIZED (properties.allow_compat_mode is off and there is no
 * nvidia-fs module), CU_FILE_NOMEM_ERROR.
 */
CUfileError_t cuFileDriverOpen(void);

/**
 * cuFileDriverClose() - The old name of cuFileDriverClose_v2(), for programs that were built with it
 *
 * Return: as cuFileDriverClose_v2().
 */
CUfileError_t cuFileDriverClose(void);
#define cuFileDriverClose cuFileDriverClose_v2

/**
 * cuFileDriverClose_v2() - Count one use less; the last one closes the driver
 *
 * The last close deregisters every file and all memory. Requests under way finish.
 * Return: CU_FILE_SUCCESS; CU_FILE_DRIVER_NOT_INITIALIZED (not open).
 */
CUfileError_t cuFileDriverClose_v2(void);

/**
 * cuFileUseCount() - Uses of the driver
 *
 * Return: opens less closes; an open that another call made counts as one.
 */
long cuFileUseCount(void);

/**
 * cuFileDriverGetProperties() - Ask for the properties in force
 * @props: receives them
 *
 * Return: CU_FILE_SUCCESS; CU_FILE_INVALID_VALUE (null), or as cuFileDriverOpen(), which it calls when the driver is
 * not open.
 */
CUfileError_t cuFileDriverGetProperties(CUfileDrvProps_t *props);

/**
 * cuFileDriverSetPollMode() - Poll for the end of small requests
 * @poll:                on or off
 * @poll_threshold_size: largest request that is polled for, KiB, multiple of 4, > 0
 *
 * Return: CU_FILE_SUCCESS; CU_FILE_DRIVER_UNSUPPORTED_LIMIT, or as cuFileDriverOpen(), which it calls when the driver
 * is not open.
 */
CUfileError_t cuFileDriverSetPollMode(bool poll, size_t poll_threshold_size);

/**
 * cuFileDriverSetMaxDirectIOSize() - Size of the pieces that requests are cut into
 * @max_direct_io_size: KiB, 64 to 16384, multiple of 64
 *
 * Return: CU_FILE_SUCCESS; CU_FILE_DRIVER_UNSUPPORTED_LIMIT, or as cuFileDriverOpen(), which it calls when the driver
 * is not open.
 */
CUfileError_t cuFileDriverSetMaxDirectIOSize(size_t max_direct_io_size);

/**
 * cuFileDriverSetMaxCacheSize() - GPU memory for bounce buffers
 * @max_cache_size: KiB per GPU
 *
 * Return: CU_FILE_SUCCESS; CU_FILE_DRIVER_UNSUPPORTED_LIMIT (out of range; always without the nvidia-fs module), or
 * as cuFileDriverOpen(), which it calls when the driver is not open.
 */
CUfileError_t cuFileDriverSetMaxCacheSize(size_t max_cache_size);

/**
 * cuFileDriverSetMaxPinnedMemSize() - GPU memory that may be registered
 * @max_pinned_size: KiB per GPU
 *
 * Return: CU_FILE_SUCCESS; CU_FILE_DRIVER_UNSUPPORTED_LIMIT (out of range; always without the nvidia-fs module), or
 * as cuFileDriverOpen(), which it calls when the driver is not open.
 */
CUfileError_t cuFileDriverSetMaxPinnedMemSize(size_t max_pinned_size);

/** enum CUFILEStatus_enum - where an entry of a batch stands */
typedef enum CUFILEStatus_enum {
	CUFILE_WAITING = 0x01,
	CUFILE_PENDING = 0x02,
	CUFILE_INVALID = 0x04,
	CUFILE_CANCELED = 0x08,
	CUFILE_COMPLETE = 0x10,
	CUFILE_TIMEOUT = 0x20,
	CUFILE_FAILED = 0x40
} CUfileStatus_t;

/** enum cufileBatchMode - kinds of batch entries */
typedef enum cufileBatchMode {
	CUFILE_BATCH = 1
} CUfileBatchMode_t;

/** enum CUfileOpcode - direction */
typedef enum CUfileOpcode {
	CUFILE_READ = 0,
	CUFILE_WRITE = 1
} CUfileOpcode_t;

/**
 * struct CUfileIOParams - an entry of a batch
 * @mode:   CUFILE_BATCH
 * @u:      memory, offset in the file, offset from the memory's base, bytes: as cuFileRead() has them
 * @fh:     registered file
 * @opcode: direction
 * @cookie: comes back in the entry's event
 */
typedef struct CUfileIOParams {
	CUfileBatchMode_t mode;
	union {
		struct {
			void *devPtr_base;
			off_t file_offset;
			off_t devPtr_offset;
			size_t size;
		} batch;
	} u;
	CUfileHandle_t fh;
	CUfileOpcode_t opcode;
	void *cookie;
} CUfileIOParams_t;

/**
 * struct CUfileIOEvents - how an entry of a batch ended
 * @cookie: of the entry
 * @status: CUFILE_COMPLETE, CUFILE_FAILED, CUFILE_CANCELED
 * @ret:    bytes, or a negative error, as ssize_t
 */
typedef struct CUfileIOEvents {
	void *cookie;
	CUfileStatus_t status;
	size_t ret;
} CUfileIOEvents_t;

/** CUfileBatchHandle_t - a batch; a number, dressed as a pointer */
typedef void *CUfileBatchHandle_t;

/**
 * cuFileBatchIOSetUp() - Make a batch
 * @batch_idp: receives it
 * @nr:        entries that it can hold, 1 to io_batchsize of the configuration
 *
 * Return: CU_FILE_SUCCESS; CU_FILE_INVALID_VALUE (null, number), CU_FILE_NOMEM_ERROR, or as cuFileDriverOpen().
 */
CUfileError_t cuFileBatchIOSetUp(CUfileBatchHandle_t *batch_idp, unsigned int nr);

/**
 * cuFileBatchIOSubmit() - Start entries
 * @batch_idp: batch
 * @nr:        entries, at most the room that is left
 * @iocbp:     the entries; not needed after the call
 * @flags:     0
 *
 * Return: CU_FILE_SUCCESS, and all entries run; CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR (unknown batch, no entries, more
 * than there is room for, mode, file not registered), and none does.
 */
CUfileError_t cuFileBatchIOSubmit(CUfileBatchHandle_t batch_idp, unsigned int nr, CUfileIOParams_t *iocbp,
				  unsigned int flags);

/**
 * cuFileBatchIOGetStatus() - Collect entries that have ended
 * @batch_idp: batch
 * @min_nr:    how many to wait for
 * @nr:        in: room in @iocbp; out: events in it
 * @iocbp:     receives events
 * @timeout:   longest wait; NULL: as long as it takes
 *
 * Return: CU_FILE_SUCCESS, also when time ran out; CU_FILE_INVALID_VALUE (null, @min_nr above *@nr),
 * CU_FILE_INTERNAL_BATCH_GETSTATUS_ERROR (unknown batch).
 */
CUfileError_t cuFileBatchIOGetStatus(CUfileBatchHandle_t batch_idp, unsigned int min_nr, unsigned int *nr,
				     CUfileIOEvents_t *iocbp, struct timespec *timeout);

/**
 * cuFileBatchIOCancel() - Drop entries that have not begun
 * @batch_idp: batch
 *
 * Return: CU_FILE_SUCCESS.
 */
CUfileError_t cuFileBatchIOCancel(CUfileBatchHandle_t batch_idp);

/**
 * cuFileBatchIODestroy() - Give a batch back
 * @batch_idp: batch; stale ones are ignored
 *
 * Waits for entries that run.
 */
void cuFileBatchIODestroy(CUfileBatchHandle_t batch_idp);

/* Flags of cuFileStreamRegister(): what is known when an operation is submitted. */
#define CU_FILE_STREAM_FIXED_BUF_OFFSET	   1
#define CU_FILE_STREAM_FIXED_FILE_OFFSET   2
#define CU_FILE_STREAM_FIXED_FILE_SIZE	   4
#define CU_FILE_STREAM_PAGE_ALIGNED_INPUTS 8

/**
 * cuFileReadAsync() - Read in the order of a stream
 * @fh:              registered file
 * @bufPtr_base:     as for cuFileRead()
 * @size_p:          bytes; at submission the largest that it will be
 * @file_offset_p:   bytes from the start of the file
 * @bufPtr_offset_p: bytes from @bufPtr_base
 * @bytes_read_p:    receives bytes or a negative error
 * @stream:          stream; NULL: the default one
 *
 * Values are read through the pointers when the stream gets there, unless flags of the stream fix them. All pointers
 * stay valid until then. Cannot be captured in a graph.
 * Return: CU_FILE_SUCCESS; CU_FILE_INVALID_VALUE (null), CU_FILE_HANDLE_NOT_REGISTERED, CU_FILE_ASYNC_NOT_SUPPORTED
 * (no CUDA; a capture is under way), CU_FILE_CUDA_DRIVER_ERROR, CU_FILE_NOMEM_ERROR, CU_FILE_IO_ERROR (other operations
 * use all pinned memory, and none has ended in time).
 */
CUfileError_t cuFileReadAsync(CUfileHandle_t fh, void *bufPtr_base, size_t *size_p, off_t *file_offset_p,
			      off_t *bufPtr_offset_p, ssize_t *bytes_read_p, CUstream stream);

/**
 * cuFileWriteAsync() - Write in the order of a stream
 * @fh:              registered file
 * @bufPtr_base:     as for cuFileWrite()
 * @size_p:          bytes; at submission the largest that it will be
 * @file_offset_p:   bytes from the start of the file
 * @bufPtr_offset_p: bytes from @bufPtr_base
 * @bytes_written_p: receives bytes or a negative error
 * @stream:          stream; NULL: the default one
 *
 * Return: as cuFileReadAsync().
 */
CUfileError_t cuFileWriteAsync(CUfileHandle_t fh, void *bufPtr_base, size_t *size_p, off_t *file_offset_p,
			       off_t *bufPtr_offset_p, ssize_t *bytes_written_p, CUstream stream);

/**
 * cuFileStreamRegister() - Prepare a stream for operations
 * @stream: stream
 * @flags:  CU_FILE_STREAM_*
 *
 * Unless the flags fix all values it may load a kernel, for which CUDA waits until kernels that run have ended.
 * Return: CU_FILE_SUCCESS; CU_FILE_INVALID_VALUE (unknown flags, registered already), CU_FILE_NOMEM_ERROR.
 */
CUfileError_t cuFileStreamRegister(CUstream stream, unsigned int flags);

/**
 * cuFileStreamDeregister() - Undo cuFileStreamRegister()
 * @stream: stream
 *
 * Return: CU_FILE_SUCCESS; CU_FILE_INVALID_VALUE (not registered).
 */
CUfileError_t cuFileStreamDeregister(CUstream stream);

/**
 * struct CUfileIOVec - a piece of memory
 * @base: first byte, as for cuFileRead()
 * @len:  bytes
 */
typedef struct CUfileIOVec {
	void *base;
	size_t len;
} CUfileIOVec_t;

/**
 * cuFileReadv() - Read from one place of a file into several pieces of memory
 * @fh:          registered file
 * @iov:         pieces, filled in turn
 * @iovcnt:      how many
 * @file_offset: bytes from the start of the file
 * @flags:       0
 *
 * Return: as cuFileRead(); the sum of the pieces.
 */
ssize_t cuFileReadv(CUfileHandle_t fh, const CUfileIOVec_t *iov, size_t iovcnt, off_t file_offset, unsigned int flags);

/**
 * cuFileWritev() - Write several pieces of memory to one place of a file
 * @fh:          registered file
 * @iov:         pieces, written in turn
 * @iovcnt:      how many
 * @file_offset: bytes from the start of the file
 * @flags:       0
 *
 * Return: as cuFileRead(); the sum of the pieces.
 */
ssize_t cuFileWritev(CUfileHandle_t fh, const CUfileIOVec_t *iov, size_t iovcnt, off_t file_offset, unsigned int flags);

/**
 * cuFileGetVersion() - Version of the interface
 * @version: receives 1000 * major + 10 * minor
 *
 * Return: CU_FILE_SUCCESS; CU_FILE_INVALID_VALUE (null).
 */
CUfileError_t cuFileGetVersion(int *version);

/**
 * cuFileExportPCIeTopology() - Write which GPUs, drives and network cards are how near to each other
 * @filename: file to be made or replaced, JSON
 *
 * Return: CU_FILE_SUCCESS; CU_FILE_INVALID_VALUE (null, empty, cannot be written), CU_FILE_NOMEM_ERROR.
 */
CUfileError_t cuFileExportPCIeTopology(const char *filename);

/** enum CUFileSizeTConfigParameter_t - parameters that are numbers */
typedef enum CUFileSizeTConfigParameter_t {
	CUFILE_PARAM_PROFILE_STATS = 0,
	CUFILE_PARAM_EXECUTION_MAX_IO_QUEUE_DEPTH = 1,
	CUFILE_PARAM_EXECUTION_MAX_IO_THREADS = 2,
	CUFILE_PARAM_EXECUTION_MIN_IO_THRESHOLD_SIZE_KB = 3,
	CUFILE_PARAM_EXECUTION_MAX_REQUEST_PARALLELISM = 4,
	CUFILE_PARAM_PROPERTIES_MAX_DIRECT_IO_SIZE_KB = 5,
	CUFILE_PARAM_PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB = 6,
	CUFILE_PARAM_PROPERTIES_PER_BUFFER_CACHE_SIZE_KB = 7,
	CUFILE_PARAM_PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB = 8,
	CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE = 9,
	CUFILE_PARAM_POLLTHRESHOLD_SIZE_KB = 10,
	CUFILE_PARAM_PROPERTIES_BATCH_IO_TIMEOUT_MS = 11
} CUFileSizeTConfigParameter_t;

/** enum CUFileBoolConfigParameter_t - parameters that are on or off */
typedef enum CUFileBoolConfigParameter_t {
	CUFILE_PARAM_PROPERTIES_USE_POLL_MODE = 0,
	CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE = 1,
	CUFILE_PARAM_FORCE_COMPAT_MODE = 2,
	CUFILE_PARAM_FS_MISC_API_CHECK_AGGRESSIVE = 3,
	CUFILE_PARAM_EXECUTION_PARALLEL_IO = 4,
	CUFILE_PARAM_PROFILE_NVTX = 5,
	CUFILE_PARAM_PROPERTIES_ALLOW_SYSTEM_MEMORY = 6,
	CUFILE_PARAM_USE_PCIP2PDMA = 7,
	CUFILE_PARAM_PREFER_IO_URING = 8,
	CUFILE_PARAM_FORCE_ODIRECT_MODE = 9,
	CUFILE_PARAM_SKIP_TOPOLOGY_DETECTION = 10,
	CUFILE_PARAM_STREAM_MEMOPS_BYPASS = 11,
	CUFILE_PARAM_PROPERTIES_POSIX_IO_MODE = 12,
	CUFILE_PARAM_GDS_FALLBACK_IO = 13
} CUFileBoolConfigParameter_t;

/** enum CUFileStringConfigParameter_t - parameters that are text */
typedef enum CUFileStringConfigParameter_t {
	CUFILE_PARAM_LOGGING_LEVEL = 0,
	CUFILE_PARAM_ENV_LOGFILE_PATH = 1,
	CUFILE_PARAM_LOG_DIR = 2,
	CUFILE_PARAM_RDMA_TRANSPORT = 3
} CUFileStringConfigParameter_t;

/** enum CUFileArrayConfigParameter_t - parameters that are lists; they have functions of their own */
typedef enum CUFileArrayConfigParameter_t {
	CUFILE_PARAM_POSIX_POOL_SLAB_SIZE_KB = 0,
	CUFILE_PARAM_POSIX_POOL_SLAB_COUNT = 1,
	CUFILE_PARAM_GPU_BOUNCE_BUFFER_SLAB_SIZE_KB = 2,
	CUFILE_PARAM_GPU_BOUNCE_BUFFER_SLAB_COUNT = 3
} CUFileArrayConfigParameter_t;

/**
 * cuFileGetParameterSizeT() - Ask for a number
 * @param: which
 * @value: receives it
 *
 * While the driver is closed: what an open would take.
 * Return: CU_FILE_SUCCESS; CU_FILE_INVALID_VALUE (null, no such parameter).
 */
CUfileError_t cuFileGetParameterSizeT(CUFileSizeTConfigParameter_t param, size_t *value);

/**
 * cuFileGetParameterBool() - Ask whether something is on
 * @param: which
 * @value: receives it
 *
 * Return: as cuFileGetParameterSizeT().
 */
CUfileError_t cuFileGetParameterBool(CUFileBoolConfigParameter_t param, bool *value);

/**
 * cuFileGetParameterString() - Ask for a text
 * @param:    which; CUFILE_PARAM_ENV_LOGFILE_PATH cannot be asked for
 * @desc_str: receives it
 * @len:      bytes of @desc_str; the text and its NUL must fit
 *
 * Return: as cuFileGetParameterSizeT().
 */
CUfileError_t cuFileGetParameterString(CUFileStringConfigParameter_t param, char *desc_str, int len);

/**
 * cuFileGetParameterMinMaxValue() - Ask for the range of a number
 * @param:     which
 * @min_value: receives the least
 * @max_value: receives the most
 *
 * Return: as cuFileGetParameterSizeT().
 */
CUfileError_t cuFileGetParameterMinMaxValue(CUFileSizeTConfigParameter_t param, size_t *min_value, size_t *max_value);

/**
 * cuFileSetParameterSizeT() - Choose a number for the next open
 * @param: which
 * @value: in its range
 *
 * Comes before the environment and cufile.json. The open uses it up.
 * Return: CU_FILE_SUCCESS; CU_FILE_DRIVER_ALREADY_OPEN, CU_FILE_INVALID_VALUE (no such parameter, out of range).
 */
CUfileError_t cuFileSetParameterSizeT(CUFileSizeTConfigParameter_t param, size_t value);

/**
 * cuFileSetParameterBool() - Turn something on or off for the next open
 * @param: which
 * @value: on or off
 *
 * Return: as cuFileSetParameterSizeT().
 */
CUfileError_t cuFileSetParameterBool(CUFileBoolConfigParameter_t param, bool value);

/**
 * cuFileSetParameterString() - Choose a text for the next open
 * @param:    which
 * @desc_str: its value
 *
 * Return: as cuFileSetParameterSizeT().
 */
CUfileError_t cuFileSetParameterString(CUFileStringConfigParameter_t param, const char *desc_str);

/**
 * cuFileSetParameterPosixPoolSlabArray() - Choose the bounce buffers in host memory for the next open
 * @size_values:  KiB of each kind
 * @count_values: how many of each kind
 * @len:          kinds, 1 to 16
 *
 * Return: CU_FILE_SUCCESS; CU_FILE_DRIVER_ALREADY_OPEN, CU_FILE_INVALID_VALUE (null, @len).
 */
CUfileError_t cuFileSetParameterPosixPoolSlabArray(const size_t *size_values, const size_t *count_values, int len);

/**
 * cuFileGetParameterPosixPoolSlabArray() - Ask for the bounce buffers in host memory
 * @size_values:  receives KiB of each kind
 * @count_values: receives how many of each kind
 * @len:          kinds, as many as there are
 *
 * Return: CU_FILE_SUCCESS; CU_FILE_INVALID_VALUE (null, another number of kinds).
 */
CUfileError_t cuFileGetParameterPosixPoolSlabArray(size_t *size_values, size_t *count_values, int len);

/**
 * cuFileSetParameterGpuBounceBufferSlabArray() - Choose the bounce buffers in GPU memory for the next open
 * @size_values:  KiB of each kind
 * @count_values: how many of each kind
 * @len:          kinds, 1 to 16
 *
 * Return: as cuFileSetParameterPosixPoolSlabArray().
 */
CUfileError_t cuFileSetParameterGpuBounceBufferSlabArray(const size_t *size_values, const size_t *count_values,
							 int len);

/**
 * cuFileGetParameterGpuBounceBufferSlabArray() - Ask for the bounce buffers in GPU memory
 * @size_values:  receives KiB of each kind
 * @count_values: receives how many of each kind
 * @len:          kinds, as many as there are
 *
 * Return: as cuFileGetParameterPosixPoolSlabArray().
 */
CUfileError_t cuFileGetParameterGpuBounceBufferSlabArray(size_t *size_values, size_t *count_values, int len);

/**
 * cuFileSetStatsLevel() - Choose what is counted
 * @level: 0 nothing, 1 sums, 2 and sizes, 3 and per GPU
 *
 * Return: CU_FILE_SUCCESS; CU_FILE_INVALID_VALUE.
 */
CUfileError_t cuFileSetStatsLevel(int level);

/**
 * cuFileGetStatsLevel() - Ask what is counted
 * @level: receives 0 to 3
 *
 * Return: CU_FILE_SUCCESS; CU_FILE_INVALID_VALUE (null).
 */
CUfileError_t cuFileGetStatsLevel(int *level);

/**
 * struct CUfileOpCounter - calls of one kind
 * @ok:  that did what they should
 * @err: that did not
 */
typedef struct CUfileOpCounter {
	uint64_t ok;
	uint64_t err;
} CUfileOpCounter_t;

/**
 * struct CUfileStatsLevel1 - sums
 *
 * Bytes, bytes per second, microseconds, operations per second; rates are over the time since the statistics were
 * started. Of batches: submit is the time of a call of cuFileBatchIOSubmit(), completion that from there to the end
 * of an entry. As of release 1.15; releases from 1.20 on have more members behind.
 */
typedef struct CUfileStatsLevel1 {
	CUfileOpCounter_t read_ops;
	CUfileOpCounter_t write_ops;
	CUfileOpCounter_t hdl_register_ops;
	CUfileOpCounter_t hdl_deregister_ops;
	CUfileOpCounter_t buf_register_ops;
	CUfileOpCounter_t buf_deregister_ops;
	uint64_t read_bytes;
	uint64_t write_bytes;
	uint64_t read_bw_bytes_per_sec;
	uint64_t write_bw_bytes_per_sec;
	uint64_t read_lat_avg_us;
	uint64_t write_lat_avg_us;
	uint64_t read_ops_per_sec;
	uint64_t write_ops_per_sec;
	uint64_t read_lat_sum_us;
	uint64_t write_lat_sum_us;
	CUfileOpCounter_t batch_submit_ops;
	CUfileOpCounter_t batch_complete_ops;
	CUfileOpCounter_t batch_setup_ops;
	CUfileOpCounter_t batch_cancel_ops;
	CUfileOpCounter_t batch_destroy_ops;
	CUfileOpCounter_t batch_enqueued_ops;
	CUfileOpCounter_t batch_posix_enqueued_ops;
	CUfileOpCounter_t batch_processed_ops;
	CUfileOpCounter_t batch_posix_processed_ops;
	CUfileOpCounter_t batch_nvfs_submit_ops;
	CUfileOpCounter_t batch_p2p_submit_ops;
	CUfileOpCounter_t batch_aio_submit_ops;
	CUfileOpCounter_t batch_iouring_submit_ops;
	CUfileOpCounter_t batch_mixed_io_submit_ops;
	CUfileOpCounter_t batch_total_submit_ops;
	uint64_t batch_read_bytes;
	uint64_t batch_write_bytes;
	uint64_t batch_read_bw_bytes;
	uint64_t batch_write_bw_bytes;
	uint64_t batch_submit_lat_avg_us;
	uint64_t batch_completion_lat_avg_us;
	uint64_t batch_submit_ops_per_sec;
	uint64_t batch_complete_ops_per_sec;
	uint64_t batch_submit_lat_sum_us;
	uint64_t batch_completion_lat_sum_us;
	uint64_t last_batch_read_bytes;
	uint64_t last_batch_write_bytes;
} CUfileStatsLevel1_t;

/**
 * struct CUfileStatsLevel2 - sums and sizes
 * @basic:              level 1
 * @read_size_kb_hist:  reads by size: below 4 KiB, then classes that double, the last one without an end
 * @write_size_kb_hist: writes likewise
 */
typedef struct CUfileStatsLevel2 {
	CUfileStatsLevel1_t basic;
	uint64_t read_size_kb_hist[32];
	uint64_t write_size_kb_hist[32];
} CUfileStatsLevel2_t;

#define CUFILE_GPU_UUID_LEN 16

/**
 * struct CUfilePerGpuStats - one GPU
 *
 * Bytes, bytes per second, percent of the time since the start of the statistics, microseconds, calls. Of the ways:
 * p2p never, nvfs by DMA, posix all others. n_mmap counts registrations of GPU memory.
 */
typedef struct CUfilePerGpuStats {
	char uuid[CUFILE_GPU_UUID_LEN];
	uint64_t read_bytes;
	uint64_t read_bw_bytes_per_sec;
	uint64_t read_utilization;
	uint64_t read_duration_us;
	uint64_t n_total_reads;
	uint64_t n_p2p_reads;
	uint64_t n_nvfs_reads;
	uint64_t n_posix_reads;
	uint64_t n_unaligned_reads;
	uint64_t n_dr_reads;
	uint64_t n_sparse_regions;
	uint64_t n_inline_regions;
	uint64_t n_reads_err;
	uint64_t writes_bytes;
	uint64_t write_bw_bytes_per_sec;
	uint64_t write_utilization;
	uint64_t write_duration_us;
	uint64_t n_total_writes;
	uint64_t n_p2p_writes;
	uint64_t n_nvfs_writes;
	uint64_t n_posix_writes;
	uint64_t n_unaligned_writes;
	uint64_t n_dr_writes;
	uint64_t n_writes_err;
	uint64_t n_mmap;
	uint64_t n_mmap_ok;
	uint64_t n_mmap_err;
	uint64_t n_mmap_free;
	uint64_t reg_bytes;
} CUfilePerGpuStats_t;

/**
 * struct CUfileStatsLevel3 - all
 * @detailed:      level 2
 * @num_gpus:      entries of @per_gpu_stats in use
 * @per_gpu_stats: GPUs, by CUDA ordinal
 */
typedef struct CUfileStatsLevel3 {
	CUfileStatsLevel2_t detailed;
	uint32_t num_gpus;
	CUfilePerGpuStats_t per_gpu_stats[16];
} CUfileStatsLevel3_t;

/**
 * cuFileStatsStart() - Count from now on
 *
 * Return: CU_FILE_SUCCESS; CU_FILE_INVALID_VALUE (level 0).
 */
CUfileError_t cuFileStatsStart(void);

/**
 * cuFileStatsStop() - Count no more; what was counted stays
 *
 * Return: CU_FILE_SUCCESS; CU_FILE_INVALID_VALUE (level 0).
 */
CUfileError_t cuFileStatsStop(void);

/**
 * cuFileStatsReset() - Begin again at zero
 *
 * Return: CU_FILE_SUCCESS; CU_FILE_INVALID_VALUE (level 0).
 */
CUfileError_t cuFileStatsReset(void);

/**
 * cuFileGetStatsL1() - Ask for sums
 * @stats: receives them
 *
 * Members are read one after the other while others count.
 * Return: CU_FILE_SUCCESS; CU_FILE_INVALID_VALUE (null, level below 1).
 */
CUfileError_t cuFileGetStatsL1(CUfileStatsLevel1_t *stats);

/**
 * cuFileGetStatsL2() - Ask for sums and sizes
 * @stats: receives them
 *
 * Return: CU_FILE_SUCCESS; CU_FILE_INVALID_VALUE (null, level below 2).
 */
CUfileError_t cuFileGetStatsL2(CUfileStatsLevel2_t *stats);

/**
 * cuFileGetStatsL3() - Ask for all
 * @stats: receives it
 *
 * Return: CU_FILE_SUCCESS; CU_FILE_INVALID_VALUE (null, level below 3).
 */
CUfileError_t cuFileGetStatsL3(CUfileStatsLevel3_t *stats);

/**
 * cuFileGetBARSizeInKB() - Ask for the size of a GPU's BAR1
 * @gpuIndex: CUDA ordinal
 * @barSize:  receives KiB
 *
 * Return: CU_FILE_SUCCESS; CU_FILE_INVALID_VALUE (null), CU_FILE_DEVICE_NOT_FOUND (no CUDA, no such GPU),
 * CU_FILE_PLATFORM_NOT_SUPPORTED (the driver does not tell), CU_FILE_PERMISSION_DENIED (device nodes).
 */
CUfileError_t cuFileGetBARSizeInKB(int gpuIndex, size_t *barSize);

/**
 * cuFileDriverSetP2PFlags() - Choose the way between a kind of storage and GPUs
 * @status_flag: kind of storage
 * @p2p_flags:   CU_FILE_P2P_FLAG_*; 0 changes nothing
 *
 * Return: CU_FILE_SUCCESS; CU_FILE_INVALID_VALUE (kind, or a way that this platform has not),
 * CU_FILE_DRIVER_ALREADY_OPEN.
 */
CUfileError_t cuFileDriverSetP2PFlags(CUfileDriverStatusFlags_t status_flag, CUfileP2PFlags_t p2p_flags);

/**
 * cuFileDriverGetP2PFlags() - Ask for the way between a kind of storage and GPUs
 * @status_flag: kind of storage
 * @p2p_flags:   receives CU_FILE_P2P_FLAG_*
 *
 * Return: CU_FILE_SUCCESS; CU_FILE_INVALID_VALUE (null, kind).
 */
CUfileError_t cuFileDriverGetP2PFlags(CUfileDriverStatusFlags_t status_flag, CUfileP2PFlags_t *p2p_flags);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
