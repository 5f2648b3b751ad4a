/* SPDX-License-Identifier: MIT */
/**
 * DOC: doca_gpunetio.h - GPUs, their memory, and queue pairs shown to them
 *
 * Source-compatible with NVIDIA's open GPUNetIO 2.0: names, values, and the fields of structs. What this library has
 * beyond it is in barlane_net_gpu.h. docs/gpunetio-host.md goes through the functions one by one.
 *
 * All functions are thread-safe, need no current CUDA context, and leave the thread's current one as it is. After a
 * fork they give DOCA_ERROR_NOT_PERMITTED in the child. Out pointers are written only on success. A failure is logged
 * with its cause, see DOCA_GPUNETIO_LOG.
 */
#ifndef DOCA_GPUNETIO_H
#define DOCA_GPUNETIO_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/doca_gpunetio_verbs_dev.h"
#include "doca_error.h"
#include "doca_verbs.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/** enum doca_gpu_mem_type - where memory is, and who reaches it */
enum doca_gpu_mem_type {
	DOCA_GPU_MEM_TYPE_GPU = 0,     /* GPU memory, for the GPU and devices */
	DOCA_GPU_MEM_TYPE_GPU_CPU = 1, /* GPU memory that the CPU reaches too */
	DOCA_GPU_MEM_TYPE_CPU_GPU = 2, /* host memory that the GPU reaches too */
	DOCA_GPU_MEM_TYPE_GPU_CPU_DATA_DIRECT = 3 /* as GPU_CPU, over PCIe although a coherent link exists */
};

/** enum doca_gpu_verbs_mem_reg_type - how a NIC is told of GPU memory */
enum doca_gpu_verbs_mem_reg_type {
	DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_DEFAULT = 0,	   /* dma-buf, else by its address */
	DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_CUDA_DMABUF = 1,  /* dma-buf only */
	DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_CUDA_PEERMEM = 2, /* by its address only */
	DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_MAX = 3
};

struct doca_gpu;

/** doca_gpu_verbs_service_t - a thread that serves queue pairs whose doorbells a CPU rings */
typedef void *doca_gpu_verbs_service_t;

/**
 * struct doca_gpu_verbs_qp - a queue pair shown to a GPU
 * @gpu_dev:	       the GPU
 * @qp:		       the queue pair
 * @cpu_db:	       word of 64 bits with the producer index, which a CPU serves; NULL: the GPU rings the doorbell
 * @sq_wqe_pi_last:    producer index that was served last
 * @sq_db:	       doorbell register of the NIC, as the CPU sees it
 * @sq_dbrec:	       send doorbell record, as the CPU sees it; NULL: only the GPU reaches it
 * @cpu_proxy:	       a CPU must call doca_gpu_verbs_cpu_proxy_progress(); this library's own thread does too
 * @sq_num_shift8_be:  its number << 8, BE
 * @send_dbr_mode_ext: who writes the send doorbell record
 * @qp_cpu:	       what the GPU's object began as
 * @qp_gpu:	       the GPU's object, NULL before doca_gpu_verbs_get_qp_dev()
 * @qp_gpu_h:	       the same, as the CPU sees it; NULL where it does not
 *
 * Fields are for reading.
 */
struct doca_gpu_verbs_qp {
	struct doca_gpu *gpu_dev;
	struct doca_verbs_qp *qp;
	uint64_t *cpu_db;
	uint64_t sq_wqe_pi_last;
	uint64_t *sq_db;
	uint32_t *sq_dbrec;
	bool cpu_proxy;
	uint32_t sq_num_shift8_be;
	enum doca_gpu_verbs_send_dbr_mode_ext send_dbr_mode_ext;
	struct doca_gpu_dev_verbs_qp *qp_cpu;
	struct doca_gpu_dev_verbs_qp *qp_gpu;
	struct doca_gpu_dev_verbs_qp *qp_gpu_h;
};

/**
 * struct doca_gpu_verbs_qp_error_info - why a queue pair failed
 * @has_error:	     it is in state ERR
 * @syndrome:	     of the error completion
 * @vendor_err_synd: the vendor's syndrome
 * @hw_err_synd:     the hardware's syndrome; 0 where the NIC tells none
 * @hw_synd_type:    its type
 * @wqe_counter:     index of the WQE that failed first, 16 bits
 *
 * All but @has_error are 0 when there is no error, or the NIC does not tell. bl_net_qp_error() of barlane_net_gpu.h has
 * more.
 */
struct doca_gpu_verbs_qp_error_info {
	bool has_error;
	int syndrome;
	int vendor_err_synd;
	int hw_err_synd;
	int hw_synd_type;
	int wqe_counter;
};

/**
 * doca_gpu_create() - Use a GPU
 * @gpu_bus_id: its PCI address, "[domain:]bus:device[.function]" in hexadecimal, as nvidia-smi and lspci print it
 * @gpu_dev:	receives the GPU, to be given to doca_gpu_destroy()
 *
 * Initialises CUDA if nobody has, and holds the GPU's primary context, which need not be current. A GPU hidden by
 * CUDA_VISIBLE_DEVICES is not found; the log names those that are seen.
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE (no address, or none that can be read), DOCA_ERROR_NOT_FOUND,
 * DOCA_ERROR_NO_MEMORY, DOCA_ERROR_INITIALIZATION (no CUDA driver, or it fails).
 */
doca_error_t doca_gpu_create(const char *gpu_bus_id, struct doca_gpu **gpu_dev);

/**
 * doca_gpu_destroy() - Stop using a GPU
 * @gpu_dev: from doca_gpu_create()
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE (no such GPU; memory of doca_gpu_mem_alloc(), exported queue pairs or
 * exported doorbell registers remain: the log says how many, and nothing was done).
 */
doca_error_t doca_gpu_destroy(struct doca_gpu *gpu_dev);

/**
 * doca_gpu_mem_alloc() - Allocate memory that a GPU reaches
 * @gpu_dev:	  from doca_gpu_create()
 * @size:	  bytes, > 0
 * @alignment:	  of both addresses, power of two; 0: a page of the CPU
 * @mtype:	  kind
 * @memptr_gpu:	  receives the GPU's address
 * @memptr_cpu:	  receives the CPU's address, NULL for DOCA_GPU_MEM_TYPE_GPU; may be NULL for that kind only
 *
 * DOCA_GPU_MEM_TYPE_GPU_CPU is aligned to 64 KiB at least, and lies in pages of the GPU of its own. Where the CPU
 * cannot reach GPU memory (no provider, see docs/providers.md, or DOCA_GPUNETIO_DISABLE_GDRCOPY is set) it is host
 * memory, which the log says at level WARNING. DATA_DIRECT does not fall back. Host memory is cleared, GPU memory not.
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_NO_MEMORY (host memory), DOCA_ERROR_DRIVER (CUDA, also
 * when GPU memory is exhausted), DOCA_ERROR_NOT_SUPPORTED (DATA_DIRECT).
 */
doca_error_t doca_gpu_mem_alloc(struct doca_gpu *gpu_dev, size_t size, size_t alignment, enum doca_gpu_mem_type mtype,
				void **memptr_gpu, void **memptr_cpu);

/**
 * doca_gpu_mem_free() - Free memory
 * @gpu_dev:	that it was allocated with
 * @memptr_gpu: GPU's address from doca_gpu_mem_alloc()
 *
 * Work of the GPU and of devices that uses it must have ended.
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE (not from doca_gpu_mem_alloc(), or freed), DOCA_ERROR_DRIVER (it is
 * gone for the caller, but the driver did not take all of it back).
 */
doca_error_t doca_gpu_mem_free(struct doca_gpu *gpu_dev, void *memptr_gpu);

/**
 * doca_gpu_dmabuf_fd() - Make a dma-buf of GPU memory
 * @gpu_dev:	GPU that holds it
 * @memptr_gpu: GPU's address, multiple of the CPU's page size
 * @size:	bytes, multiple of the same
 * @dmabuf_fd:	receives the descriptor, close-on-exec, to be closed by the caller
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_NOT_SUPPORTED (driver, device or kind of memory).
 */
doca_error_t doca_gpu_dmabuf_fd(struct doca_gpu *gpu_dev, void *memptr_gpu, size_t size, int *dmabuf_fd);

/**
 * doca_gpu_get_dmabuf_fd() - As doca_gpu_dmabuf_fd(), by its name in release 3
 * @gpu_dev:	GPU that holds it
 * @memptr_gpu: GPU's address, multiple of the CPU's page size
 * @size:	bytes, multiple of the same
 * @dmabuf_fd:	receives the descriptor, close-on-exec, to be closed by the caller
 *
 * Return: as doca_gpu_dmabuf_fd().
 */
doca_error_t doca_gpu_get_dmabuf_fd(struct doca_gpu *gpu_dev, void *memptr_gpu, size_t size, int *dmabuf_fd);

/**
 * doca_gpu_verbs_can_gpu_register_uar() - Whether a GPU can reach a doorbell register
 * @db:	 the register's address on the CPU; NULL: the last answer for that GPU
 * @out: receives the answer
 *
 * Asked is the GPU of the current context if doca_gpu_create() knows it, else the one that was created last.
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE (no @out, no GPU, or no earlier answer).
 */
doca_error_t doca_gpu_verbs_can_gpu_register_uar(void *db, bool *out);

/**
 * doca_gpu_verbs_export_uar() - Show a doorbell register to a GPU
 * @sq_db:	  its address on the CPU
 * @uar_addr_gpu: receives the GPU's address, to be given to doca_gpu_verbs_unexport_uar()
 *
 * For the GPU of doca_gpu_verbs_can_gpu_register_uar(). The page of the register is mapped once for each GPU, however
 * often it is exported.
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_NO_MEMORY, DOCA_ERROR_DRIVER (the driver does not map it).
 */
doca_error_t doca_gpu_verbs_export_uar(uint64_t *sq_db, uint64_t **uar_addr_gpu);

/**
 * doca_gpu_verbs_unexport_uar() - Undo one doca_gpu_verbs_export_uar()
 * @uar_addr_gpu: from there
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE (not exported, or not any more), DOCA_ERROR_DRIVER.
 */
doca_error_t doca_gpu_verbs_unexport_uar(uint64_t *uar_addr_gpu);

/**
 * doca_gpu_verbs_export_qp() - Show a queue pair to a GPU
 * @gpu_dev:	       the GPU
 * @qp:		       queue pair
 * @nic_handler:       who rings the doorbell. AUTO: the GPU if it can reach the register, else a CPU
 * @gpu_qp_umem_ptr:   GPU's address of the memory of its queues; NULL: ask CUDA for it
 * @cq_sq:	       completion queue of its send queue
 * @send_dbr_mode_ext: who writes the send doorbell record; agrees with what the queue pair was made with
 * @qp_out:	       receives the exported queue pair
 *
 * Where a CPU has to ring, a thread of this library does, whether the caller asked for that or AUTO came to it: see
 * doca_gpu_verbs_cpu_proxy_progress(). Waits on the GPU end after BARLANE_NET_TIMEOUT_MS.
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE (arguments that do not fit each other, memory that the GPU or the CPU
 * cannot reach), DOCA_ERROR_NO_MEMORY, DOCA_ERROR_DRIVER (an explicit GPU handler, and the register cannot be mapped).
 */
doca_error_t doca_gpu_verbs_export_qp(struct doca_gpu *gpu_dev, struct doca_verbs_qp *qp,
				      enum doca_gpu_dev_verbs_nic_handler nic_handler, void *gpu_qp_umem_ptr,
				      struct doca_verbs_cq *cq_sq,
				      enum doca_gpu_verbs_send_dbr_mode_ext send_dbr_mode_ext,
				      struct doca_gpu_verbs_qp **qp_out);

/**
 * doca_gpu_verbs_unexport_qp() - Take a queue pair back from a GPU
 * @gpu_dev: the GPU
 * @gverbs_qp: from doca_gpu_verbs_export_qp(); gone afterwards
 *
 * Kernels that use it must have ended. A service that serves it lets go of it first.
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_gpu_verbs_unexport_qp(struct doca_gpu *gpu_dev, struct doca_gpu_verbs_qp *gverbs_qp);

/**
 * doca_gpu_verbs_get_qp_dev() - The GPU's object of a queue pair
 * @qp:	    exported queue pair
 * @gpu_qp: receives its address on the GPU, for kernels; valid until doca_gpu_verbs_unexport_qp()
 *
 * The first call makes the object, later calls give the same one.
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_NO_MEMORY, DOCA_ERROR_DRIVER.
 */
doca_error_t doca_gpu_verbs_get_qp_dev(struct doca_gpu_verbs_qp *qp, struct doca_gpu_dev_verbs_qp **gpu_qp);

/**
 * doca_gpu_verbs_export_multi_qps_dev() - The GPU's objects of several queue pairs as one array
 * @gpu_dev: the GPU
 * @qps:     @num_qps exported queue pairs; a NULL entry leaves a hole, whose bytes are 0
 * @num_qps: entries, > 0
 * @gpu_qps: receives the array's address on the GPU, multiple of 64 KiB
 *
 * The objects of the array are those of doca_gpu_verbs_get_qp_dev() from now on: none of @qps may have one already.
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_NO_MEMORY, DOCA_ERROR_DRIVER.
 */
doca_error_t doca_gpu_verbs_export_multi_qps_dev(struct doca_gpu *gpu_dev, struct doca_gpu_verbs_qp **qps,
						 unsigned int num_qps, struct doca_gpu_dev_verbs_qp **gpu_qps);

/**
 * doca_gpu_verbs_unexport_multi_qps_dev() - Free the array, and let its queue pairs have objects of their own again
 * @gpu_dev: the GPU
 * @qps:     as given there
 * @num_qps: as given there
 * @gpu_qps: from there
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE (no such array; then nothing was done).
 */
doca_error_t doca_gpu_verbs_unexport_multi_qps_dev(struct doca_gpu *gpu_dev, struct doca_gpu_verbs_qp **qps,
						   unsigned int num_qps, struct doca_gpu_dev_verbs_qp *gpu_qps);

/**
 * doca_gpu_verbs_reset_tracking_and_memory() - Make the queues of a queue pair that was reset begin anew
 * @qp: exported queue pair that has a GPU's object, in state RST
 *
 * Indices, doorbell records and rings are as after the export; the completion queue goes on where it is. No kernel may
 * use the queue pair meanwhile. The caller moves the queue pair on afterwards.
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE (no object), DOCA_ERROR_BAD_STATE (not RST), DOCA_ERROR_NO_MEMORY,
 * DOCA_ERROR_DRIVER.
 */
doca_error_t doca_gpu_verbs_reset_tracking_and_memory(struct doca_gpu_verbs_qp *qp);

/**
 * doca_gpu_verbs_cpu_proxy_progress() - Ring the doorbell that a GPU asked for
 * @qp:		    exported queue pair with @cpu_proxy
 * @out_progressed: receives whether there was something to do; may be NULL
 *
 * The library's own thread does the same from the export on (BARLANE_NET_SERVICE=0: it does not): a program need not
 * call this, and may, from any threads. Who comes second finds nothing to do. Where the NIC looks at the word itself,
 * as the software NIC does, nobody rings, and this only tells whether the GPU moved on. No system call, no lock.
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_NOT_SUPPORTED (@cpu_proxy is false).
 */
doca_error_t doca_gpu_verbs_cpu_proxy_progress(struct doca_gpu_verbs_qp *qp, bool *out_progressed);

/**
 * doca_gpu_verbs_create_service() - Start a thread that serves queue pairs
 * @service: receives it, to be given to doca_gpu_verbs_destroy_service()
 *
 * It spins while there is work, then yields, then sleeps in growing steps up to BARLANE_NET_SERVICE_SLEEP_US, on the
 * CPUs of BARLANE_NET_SERVICE_CPUS.
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_NO_MEMORY, DOCA_ERROR_OPERATING_SYSTEM (no thread).
 */
doca_error_t doca_gpu_verbs_create_service(doca_gpu_verbs_service_t *service);

/**
 * doca_gpu_verbs_service_monitor_qp() - Have a service serve a queue pair
 * @service: from doca_gpu_verbs_create_service()
 * @qp:	     exported queue pair with @cpu_proxy; the library's own thread leaves it to the service
 *
 * bl_net_service_remove_qp() of barlane_net_gpu.h is the opposite; doca_gpu_verbs_unexport_qp() does it too.
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_NOT_SUPPORTED (@cpu_proxy is false),
 * DOCA_ERROR_ALREADY_EXIST (a service serves it), DOCA_ERROR_NO_MEMORY.
 */
doca_error_t doca_gpu_verbs_service_monitor_qp(doca_gpu_verbs_service_t service, struct doca_gpu_verbs_qp *qp);

/**
 * doca_gpu_verbs_destroy_service() - Stop the thread
 * @service: from doca_gpu_verbs_create_service(); gone afterwards. The library's own thread serves what it served
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE (no such service).
 */
doca_error_t doca_gpu_verbs_destroy_service(doca_gpu_verbs_service_t service);

/**
 * doca_gpu_verbs_query_last_error() - Why a queue pair failed
 * @qp:		exported queue pair
 * @error_info: receives the answer
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, or what the NIC's query gives.
 */
doca_error_t doca_gpu_verbs_query_last_error(struct doca_gpu_verbs_qp *qp,
					     struct doca_gpu_verbs_qp_error_info *error_info);

/**
 * doca_gpu_verbs_get_library_version() - Release of GPUNetIO that this library stands in for
 * @version: receives major << 16 | minor << 8 | patch
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_gpu_verbs_get_library_version(uint32_t *version);

/**
 * doca_gpu_verbs_check_device_code_compatibility() - Whether device code of a release works with this library
 * @device_code_version: its release, as above
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_NOT_SUPPORTED (older than 2.0.0, or newer than the library).
 */
doca_error_t doca_gpu_verbs_check_device_code_compatibility(uint32_t device_code_version);

/**
 * doca_gpu_verbs_check_host_code_compatibility() - Whether a program built for a release works with this library
 * @host_code_version: its release, as above
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_NOT_SUPPORTED (older than 0.2.0, or newer than the library).
 */
doca_error_t doca_gpu_verbs_check_host_code_compatibility(uint32_t host_code_version);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
