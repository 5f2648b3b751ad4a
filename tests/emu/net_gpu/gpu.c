// SPDX-License-Identifier: MIT
/* GPUs by their address, memory of all kinds, dma-bufs, doorbells shown to GPUs. */
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bed.h"
#include "copy/fence.h"

#define KINDS 4

static void gpus_are_found_by_any_form_of_their_address(void)
{
	static const char *const forms[] = { "%04x:%02x:%02x.0", "%04X:%02X:%02X.0", "%08x:%02x:%02x.0", "%04x:%02x:%02x" };
	unsigned int domain, bus, device;
	struct doca_gpu *gpu;
	char id[64];

	world_enter();
	check_eq(sscanf(bed_bus_id(1), "%x:%x:%x", &domain, &bus, &device), 3);
	for (size_t i = 0; i < 4; i++) {
		snprintf(id, sizeof(id), forms[i], domain, bus, device);
		check_eq(doca_gpu_create(id, &gpu), DOCA_SUCCESS);
		check_eq(gpu->device, 1);
		check_eq(doca_gpu_destroy(gpu), DOCA_SUCCESS);
	}
	if (domain)
		return;
	snprintf(id, sizeof(id), "%x:%x.0", bus, device);
	check_eq(doca_gpu_create(id, &gpu), DOCA_SUCCESS);
	check_eq(doca_gpu_destroy(gpu), DOCA_SUCCESS);
}

static void what_is_no_address_is_refused(void)
{
	static const char *const wrong[] = { "", "x", "0", "00:", "0000:01:00.0x", "0000:01:00.", "1:2:3:4", "0000:001:00.0",
					     "01:00.0 " };
	struct doca_gpu *gpu = NULL;

	world_enter();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		check_eq(doca_gpu_create(wrong[i], &gpu), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_create(NULL, &gpu), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_create("0000:01:00.0", NULL), DOCA_ERROR_INVALID_VALUE);
	check(!gpu);
}

static void a_gpu_that_is_not_there_is_named_with_those_that_are(void)
{
	struct doca_gpu *gpu = NULL;
	char lower[32];

	world_enter();
	snprintf(lower, sizeof(lower), "%s", bed_bus_id(0));
	for (char *c = lower; *c; c++)
		*c = (char)(*c >= 'A' && *c <= 'F' ? *c + 32 : *c);
	check_eq(doca_gpu_create("0abc:7f:1f.0", &gpu), DOCA_ERROR_NOT_FOUND);
	check(!gpu);
	check_has(bl_last_error(NULL), "0abc:7f:1f.0");
	check_has(bl_last_error(NULL), lower);
	check_has(bl_last_error(NULL), "CUDA_VISIBLE_DEVICES");
}

static void a_gpu_needs_no_current_context_and_leaves_none(void)
{
	CUcontext context;
	void *gpu, *cpu;

	bed_make("cpu0");
	check_eq(doca_gpu_mem_alloc(bed.gpu, 100, 0, DOCA_GPU_MEM_TYPE_CPU_GPU, &gpu, &cpu), DOCA_SUCCESS);
	check_eq(world.cuda->cuCtxGetCurrent(&context), CUDA_SUCCESS);
	check(!context);
	check_eq(doca_gpu_mem_free(bed.gpu, gpu), DOCA_SUCCESS);
	bed_drop();
}

static void a_stale_gpu_is_an_error(void)
{
	struct doca_gpu *stale;
	void *gpu;

	bed_make("cpu0");
	stale = bed.gpu;
	bed_drop();
	check_eq(doca_gpu_destroy(stale), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_mem_alloc(stale, 1, 0, DOCA_GPU_MEM_TYPE_GPU, &gpu, NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_destroy(NULL), DOCA_ERROR_INVALID_VALUE);
}

static void a_gpu_is_not_destroyed_while_memory_is_left(void)
{
	void *gpu;

	bed_make("cpu0");
	check_eq(doca_gpu_mem_alloc(bed.gpu, 1, 0, DOCA_GPU_MEM_TYPE_GPU, &gpu, NULL), DOCA_SUCCESS);
	check_eq(doca_gpu_destroy(bed.gpu), DOCA_ERROR_INVALID_VALUE);
	check_has(bl_last_error(NULL), "1 block");
	check_eq(doca_gpu_mem_free(bed.gpu, gpu), DOCA_SUCCESS);
	bed_drop();
}

/* What the CPU writes is what the GPU has, and the other way round. */
static void check_both_ways(void *gpu, void *cpu, size_t len)
{
	unsigned char *bytes = malloc(len);

	check(bytes);
	memset(cpu, 0xa5, len);
	/* the mapping may be write-combining */
	bl_fence_full();
	bed_read(bytes, gpu, len);
	for (size_t i = 0; i < len; i++)
		check_eq(bytes[i], 0xa5);
	memset(bytes, 0x3c, len);
	bed_write(gpu, bytes, len);
	check(!memcmp(cpu, bytes, len));
	free(bytes);
}

static void memory_is_aligned_as_asked_and_reached_by_both(void)
{
	static const size_t sizes[] = { 1, 4095, 65536, 70000, 3 << 20 }, aligns[] = { 0, 1, 4096, 65536, 2 << 20 };
	void *gpu, *cpu;

	bed_make("cpu0");
	for (int type = 0; type < KINDS; type++) {
		for (size_t i = 0; i < 25; i++) {
			size_t size = sizes[i / 5], align = aligns[i % 5];

			cpu = &bed;
			check_eq(doca_gpu_mem_alloc(bed.gpu, size, align, type, &gpu, &cpu), DOCA_SUCCESS);
			check_eq((uintptr_t)gpu % (align ? align : 4096), 0);
			if (type == DOCA_GPU_MEM_TYPE_GPU) {
				check(!cpu);
			} else {
				check_eq((uintptr_t)cpu % (align > 4096 && type == DOCA_GPU_MEM_TYPE_CPU_GPU ? align : 1), 0);
				check_both_ways(gpu, cpu, size);
			}
			check_eq(bed_is_device(gpu), type != DOCA_GPU_MEM_TYPE_CPU_GPU);
			check_eq(doca_gpu_mem_free(bed.gpu, gpu), DOCA_SUCCESS);
		}
	}
	bed_drop();
}

static void host_memory_is_cleared_and_no_larger_than_asked(void)
{
	struct bl_gpu_block *block;

	bed_make("cpu0");
	check_eq(bl_gpu_alloc(bed.gpu, 10000, 65536, DOCA_GPU_MEM_TYPE_CPU_GPU, &block), 0);
	/* not alignment times size, as in the original */
	check_eq(block->host_size, 12288);
	for (size_t i = 0; i < block->host_size; i++)
		check_eq(((char *)block->cpu)[i], 0);
	check_eq(bl_gpu_free(bed.gpu, block), 0);
	bed_drop();
}

static void wrong_requests_for_memory_are_refused(void)
{
	void *gpu = NULL, *cpu = NULL;

	bed_make("cpu0");
	for (int type = 0; type < KINDS; type++) {
		check_eq(doca_gpu_mem_alloc(bed.gpu, 0, 0, type, &gpu, &cpu), DOCA_ERROR_INVALID_VALUE);
		check_eq(doca_gpu_mem_alloc(bed.gpu, 1, 3, type, &gpu, &cpu), DOCA_ERROR_INVALID_VALUE);
		check_eq(doca_gpu_mem_alloc(bed.gpu, 1, 0, type, NULL, &cpu), DOCA_ERROR_INVALID_VALUE);
		check_eq(doca_gpu_mem_alloc(bed.gpu, SIZE_MAX, 0, type, &gpu, &cpu), DOCA_ERROR_INVALID_VALUE);
		check_eq(doca_gpu_mem_alloc(bed.gpu, 1, 1ULL << 63, type, &gpu, &cpu), DOCA_ERROR_INVALID_VALUE);
	}
	check_eq(doca_gpu_mem_alloc(bed.gpu, 1, 0, DOCA_GPU_MEM_TYPE_GPU_CPU, &gpu, NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_mem_alloc(bed.gpu, 1, 0, DOCA_GPU_MEM_TYPE_CPU_GPU, &gpu, NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_mem_alloc(bed.gpu, 1, 0, 4, &gpu, &cpu), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_mem_alloc(NULL, 1, 0, DOCA_GPU_MEM_TYPE_GPU, &gpu, &cpu), DOCA_ERROR_INVALID_VALUE);
	check(!gpu && !cpu);
	bed_drop();
}

static void only_what_was_allocated_is_freed_and_once(void)
{
	void *gpu, *cpu;

	bed_make("cpu0");
	check_eq(doca_gpu_mem_alloc(bed.gpu, 8192, 0, DOCA_GPU_MEM_TYPE_GPU, &gpu, &cpu), DOCA_SUCCESS);
	check_eq(doca_gpu_mem_free(bed.gpu, (char *)gpu + 4096), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_mem_free(bed.gpu, NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_mem_free(bed.gpu, gpu), DOCA_SUCCESS);
	check_eq(doca_gpu_mem_free(bed.gpu, gpu), DOCA_ERROR_INVALID_VALUE);
	bed_drop();
}

/* The fallback is host memory, and is freed as host memory. */
static void without_the_cpu_lane_shared_memory_is_host_memory(void)
{
	void *gpu, *cpu;

	setenv("DOCA_GPUNETIO_DISABLE_GDRCOPY", "1", 1);
	bed_make("cpu0");
	unsetenv("DOCA_GPUNETIO_DISABLE_GDRCOPY");
	check(!bed.gpu->lane);
	check_eq(doca_gpu_mem_alloc(bed.gpu, 8192, 0, DOCA_GPU_MEM_TYPE_GPU_CPU, &gpu, &cpu), DOCA_SUCCESS);
	check(!bed_is_device(gpu));
	check_both_ways(gpu, cpu, 8192);
	check_eq(doca_gpu_mem_free(bed.gpu, gpu), DOCA_SUCCESS);
	check_eq(doca_gpu_mem_alloc(bed.gpu, 1, 0, DOCA_GPU_MEM_TYPE_GPU_CPU_DATA_DIRECT, &gpu, &cpu),
		 DOCA_ERROR_NOT_SUPPORTED);
	bed_drop();
}

static void memory_that_cannot_be_pinned_is_host_memory(void)
{
	void *gpu, *cpu;

	bed_make("cpu0");
	check_eq(world.fault("rm.map:*"), 0);
	check_eq(doca_gpu_mem_alloc(bed.gpu, 8192, 0, DOCA_GPU_MEM_TYPE_GPU_CPU, &gpu, &cpu), DOCA_SUCCESS);
	check_eq(doca_gpu_mem_alloc(bed.gpu, 1, 0, DOCA_GPU_MEM_TYPE_GPU_CPU_DATA_DIRECT, &gpu, &cpu),
		 DOCA_ERROR_NOT_SUPPORTED);
	check_eq(world.fault(""), 0);
	check(!bed_is_device(gpu));
	check_eq(doca_gpu_mem_free(bed.gpu, gpu), DOCA_SUCCESS);
	bed_drop();
}

static void failures_of_cuda_leave_nothing_behind(void)
{
	static const char *const faults[] = { "cuda.alloc", "cuda.register" };
	void *gpu = NULL, *cpu = NULL;

	bed_make("cpu0");
	for (size_t i = 0; i < 2; i++) {
		int type = i ? DOCA_GPU_MEM_TYPE_CPU_GPU : DOCA_GPU_MEM_TYPE_GPU;

		check_eq(world.fault(faults[i]), 0);
		check_eq(doca_gpu_mem_alloc(bed.gpu, 8192, 0, type, &gpu, &cpu), DOCA_ERROR_DRIVER);
	}
	check_eq(world.fault("cuda.alloc"), 0);
	check_eq(doca_gpu_mem_alloc(bed.gpu, 8192, 0, DOCA_GPU_MEM_TYPE_GPU_CPU, &gpu, &cpu), DOCA_ERROR_DRIVER);
	check_eq(world.fault(""), 0);
	check(!gpu && !cpu);
	check_eq(bed.gpu->nr_blocks, 0);
	bed_drop();
}

static void dma_bufs_are_made_of_whole_pages_of_gpu_memory(void)
{
	void *gpu, *cpu, *host;
	int fd = -1;

	bed_make("cpu0");
	check_eq(doca_gpu_mem_alloc(bed.gpu, 65536, 65536, DOCA_GPU_MEM_TYPE_GPU, &gpu, &cpu), DOCA_SUCCESS);
	check_eq(doca_gpu_mem_alloc(bed.gpu, 4096, 0, DOCA_GPU_MEM_TYPE_CPU_GPU, &host, &cpu), DOCA_SUCCESS);
	check_eq(doca_gpu_dmabuf_fd(bed.gpu, (char *)gpu + 1, 4096, &fd), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_dmabuf_fd(bed.gpu, gpu, 100, &fd), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_dmabuf_fd(bed.gpu, gpu, 0, &fd), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_dmabuf_fd(bed.gpu, NULL, 4096, &fd), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_dmabuf_fd(bed.gpu, gpu, 4096, NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_dmabuf_fd(bed.gpu, host, 4096, &fd), DOCA_ERROR_NOT_SUPPORTED);
	check_eq(fd, -1);
	check_eq(doca_gpu_dmabuf_fd(bed.gpu, gpu, 65536, &fd), DOCA_SUCCESS);
	check(fd >= 0);
	close(fd);
	check_eq(doca_gpu_get_dmabuf_fd(bed.gpu, (char *)gpu + 4096, 4096, &fd), DOCA_SUCCESS);
	close(fd);
	check_eq(world.fault("cuda.export"), 0);
	check_eq(doca_gpu_dmabuf_fd(bed.gpu, gpu, 65536, &fd), DOCA_ERROR_NOT_SUPPORTED);
	check_eq(doca_gpu_mem_free(bed.gpu, gpu), DOCA_SUCCESS);
	check_eq(doca_gpu_mem_free(bed.gpu, host), DOCA_SUCCESS);
	bed_drop();
}

static void *new_page(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(page != MAP_FAILED);
	return page;
}

static void registers_of_a_page_are_counted_each_and_the_page_is_registered_once(void)
{
	uint64_t *first, *again, *second;
	char *page;

	bed_make("cpu0");
	page = new_page();
	/* a second registration of the page would fail */
	check_eq(doca_gpu_verbs_export_uar((uint64_t *)(page + 0x800), &first), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_export_uar((uint64_t *)(page + 0x800), &again), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_export_uar((uint64_t *)(page + 0x900), &second), DOCA_SUCCESS);
	check(first == again && first != second);
	check_eq((uintptr_t)first % 4096, 0x800);
	check_eq(bl_gpu_uar_count(), 3);
	check_eq(doca_gpu_verbs_unexport_uar(first), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_unexport_uar(second), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_unexport_uar(second), DOCA_ERROR_INVALID_VALUE);
	/* still registered: it is shown once */
	check_eq(bl_gpu_address(bed.gpu, page, NULL, &(uint64_t){ 0 }), 0);
	check_eq(doca_gpu_destroy(bed.gpu), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_unexport_uar(again), DOCA_SUCCESS);
	check_eq(bl_gpu_address(bed.gpu, page, NULL, &(uint64_t){ 0 }), -EINVAL);
	check_eq(doca_gpu_verbs_unexport_uar(again), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_unexport_uar(NULL), DOCA_ERROR_INVALID_VALUE);
	munmap(page, 4096);
	bed_drop();
}

/* The original keeps the first answer for all GPUs and registers of the process. */
static void each_register_and_gpu_has_its_own_answer(void)
{
	char *good, *bad;
	bool can = false;

	bed_make("cpu0");
	check_eq(doca_gpu_verbs_can_gpu_register_uar(NULL, &can), DOCA_ERROR_INVALID_VALUE);
	good = new_page();
	bad = new_page();
	check_eq(world.fault("cuda.register:*:1"), 0);
	can = true;
	check_eq(doca_gpu_verbs_can_gpu_register_uar(bad + 0x800, &can), DOCA_SUCCESS);
	check(!can);
	check_eq(world.fault(""), 0);
	check_eq(doca_gpu_verbs_can_gpu_register_uar(NULL, &can), DOCA_SUCCESS);
	check(!can);
	check_eq(doca_gpu_verbs_can_gpu_register_uar(good + 0x800, &can), DOCA_SUCCESS);
	check(can);
	check_eq(doca_gpu_verbs_can_gpu_register_uar(NULL, &can), DOCA_SUCCESS);
	check(can);
	check_eq(doca_gpu_verbs_can_gpu_register_uar(good, NULL), DOCA_ERROR_INVALID_VALUE);
	munmap(good, 4096);
	munmap(bad, 4096);
	bed_drop();
}

/* Meant is the GPU of the current context. The page is registered for both, and until the last export of either. */
static void each_gpu_has_exports_of_its_own(void)
{
	uint64_t *at_first, *at_second;
	struct doca_gpu *second;
	CUcontext context;
	char *page;

	bed_make("cpu0");
	page = new_page();
	check_eq(doca_gpu_create(bed_bus_id(1), &second), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_export_uar((uint64_t *)page, &at_second), DOCA_SUCCESS);
	check_eq(world.cuda->cuCtxPushCurrent(bed.gpu->context), CUDA_SUCCESS);
	check_eq(doca_gpu_verbs_export_uar((uint64_t *)page, &at_first), DOCA_SUCCESS);
	check_eq(world.cuda->cuCtxPopCurrent(&context), CUDA_SUCCESS);
	check_eq(bl_gpu_uar_count(), 2);
	/* each keeps its GPU */
	check_eq(doca_gpu_destroy(second), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_destroy(bed.gpu), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_unexport_uar(at_first), DOCA_SUCCESS);
	check_eq(bl_gpu_address(bed.gpu, page, NULL, &(uint64_t){ 0 }), 0);
	check_eq(doca_gpu_verbs_unexport_uar(at_second), DOCA_SUCCESS);
	check_eq(bl_gpu_address(bed.gpu, page, NULL, &(uint64_t){ 0 }), -EINVAL);
	check_eq(doca_gpu_destroy(second), DOCA_SUCCESS);
	munmap(page, 4096);
	bed_drop();
}

static void a_register_that_somebody_registered_stays_registered(void)
{
	uint64_t *gpu;
	char *page;

	bed_make("cpu0");
	page = new_page();
	check_eq(world.cuda->cuCtxSetCurrent(world.context), CUDA_SUCCESS);
	check_eq(world.cuda->cuMemHostRegister(page, 4096, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP), 0);
	check_eq(doca_gpu_verbs_export_uar((uint64_t *)page, &gpu), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_unexport_uar(gpu), DOCA_SUCCESS);
	check_eq(world.cuda->cuMemHostUnregister(page), CUDA_SUCCESS);
	check_eq(world.cuda->cuCtxSetCurrent(NULL), CUDA_SUCCESS);
	munmap(page, 4096);
	bed_drop();
}

static void a_register_that_cannot_be_mapped_is_an_error_of_the_driver(void)
{
	uint64_t *gpu = NULL;
	char *page;

	bed_make("cpu0");
	page = new_page();
	check_eq(world.fault("cuda.register:*:801"), 0);
	check_eq(doca_gpu_verbs_export_uar((uint64_t *)page, &gpu), DOCA_ERROR_DRIVER);
	check_eq(world.fault(""), 0);
	check_has(bl_last_error(NULL), "PeerMappingOverride");
	check(!gpu);
	check_eq(doca_gpu_verbs_export_uar(NULL, &gpu), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_export_uar((uint64_t *)page, NULL), DOCA_ERROR_INVALID_VALUE);
	munmap(page, 4096);
	bed_drop();
}

/* The lock and the CUDA of the parent are not the child's. */
static void a_child_is_told_so_and_does_not_hang(void)
{
	int status;
	pid_t pid;

	bed_make("cpu0");
	pid = fork();
	if (!pid) {
		uint64_t *uar;
		void *gpu;
		bool can;
		int wrong = 0;

		wrong |= doca_gpu_mem_alloc(bed.gpu, 1, 0, DOCA_GPU_MEM_TYPE_GPU, &gpu, NULL) !=
			 DOCA_ERROR_NOT_PERMITTED;
		wrong |= (doca_gpu_destroy(bed.gpu) != DOCA_ERROR_NOT_PERMITTED) << 1;
		wrong |= (doca_gpu_verbs_export_uar((uint64_t *)4096, &uar) != DOCA_ERROR_NOT_PERMITTED) << 2;
		wrong |= (doca_gpu_verbs_unexport_uar((uint64_t *)4096) != DOCA_ERROR_NOT_PERMITTED) << 3;
		wrong |= (doca_gpu_verbs_can_gpu_register_uar(&uar, &can) != DOCA_ERROR_NOT_PERMITTED) << 4;
		_exit(wrong);
	}
	check(pid > 0);
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	bed_drop();
}

static void versions_are_those_of_release_2(void)
{
	uint32_t version = 0;

	check_eq(doca_gpu_verbs_get_library_version(&version), DOCA_SUCCESS);
	check_eq(version, 0x020000);
	check_eq(doca_gpu_verbs_get_library_version(NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_check_device_code_compatibility(0x020000), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_check_device_code_compatibility(0x01ffff), DOCA_ERROR_NOT_SUPPORTED);
	check_eq(doca_gpu_verbs_check_device_code_compatibility(0x020001), DOCA_ERROR_NOT_SUPPORTED);
	check_eq(doca_gpu_verbs_check_host_code_compatibility(0x000200), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_check_host_code_compatibility(0x0001ff), DOCA_ERROR_NOT_SUPPORTED);
	check_eq(doca_gpu_verbs_check_host_code_compatibility(0x030000), DOCA_ERROR_NOT_SUPPORTED);
}

#define T(name) { #name, name }

static const struct tap_test tests[] = {
	T(gpus_are_found_by_any_form_of_their_address),
	T(what_is_no_address_is_refused),
	T(a_gpu_that_is_not_there_is_named_with_those_that_are),
	T(a_gpu_needs_no_current_context_and_leaves_none),
	T(a_stale_gpu_is_an_error),
	T(a_gpu_is_not_destroyed_while_memory_is_left),
	T(memory_is_aligned_as_asked_and_reached_by_both),
	T(host_memory_is_cleared_and_no_larger_than_asked),
	T(wrong_requests_for_memory_are_refused),
	T(only_what_was_allocated_is_freed_and_once),
	T(without_the_cpu_lane_shared_memory_is_host_memory),
	T(memory_that_cannot_be_pinned_is_host_memory),
	T(failures_of_cuda_leave_nothing_behind),
	T(dma_bufs_are_made_of_whole_pages_of_gpu_memory),
	T(registers_of_a_page_are_counted_each_and_the_page_is_registered_once),
	T(each_register_and_gpu_has_its_own_answer),
	T(each_gpu_has_exports_of_its_own),
	T(a_register_that_somebody_registered_stays_registered),
	T(a_register_that_cannot_be_mapped_is_an_error_of_the_driver),
	T(a_child_is_told_so_and_does_not_hang),
	T(versions_are_those_of_release_2),
};

TAP_MAIN(tests)
