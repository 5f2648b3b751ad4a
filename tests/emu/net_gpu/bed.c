// SPDX-License-Identifier: MIT
#include "bed.h"

#include <endian.h>
#include <stdint.h>
#include <unistd.h>

struct bed bed;

const char *bed_bus_id(int ordinal)
{
	static char id[32];
	CUdevice device;

	check_eq(world.cuda->cuDeviceGet(&device, ordinal), CUDA_SUCCESS);
	check_eq(world.cuda->cuDeviceGetPCIBusId(id, sizeof(id), device), CUDA_SUCCESS);
	return id;
}

void bed_make(const char *nic)
{
	world_enter();
	check_eq(world.cuda->cuCtxSetCurrent(NULL), CUDA_SUCCESS);
	test_nic = (struct test_nic){ 0 };
	snapshot_take(&bed.before);
	check_eq(doca_gpu_create(bed_bus_id(0), &bed.gpu), DOCA_SUCCESS);
	bed.context = bl_net_open_device(nic);
	check(bed.context);
	bed.pd = bl_net_alloc_pd(bed.context);
	check(bed.pd);
}

void bed_drop(void)
{
	CUcontext context = (CUcontext)&bed;

	check_eq(bl_net_dealloc_pd(bed.pd), 0);
	check_eq(bl_net_close_device(bed.context), 0);
	check_eq(test_nic.live, 0);
	check_eq(bl_gpu_uar_count(), 0);
	check_eq(doca_gpu_destroy(bed.gpu), DOCA_SUCCESS);
	check_eq(world.cuda->cuCtxGetCurrent(&context), CUDA_SUCCESS);
	check(!context);
	snapshot_check(&bed.before);
	world_check_rules();
}

struct doca_gpu_verbs_qp_init_attr_hl bed_attr(enum doca_gpu_dev_verbs_nic_handler handler)
{
	return (struct doca_gpu_verbs_qp_init_attr_hl){
		.gpu_dev = bed.gpu,
		.ibpd = bed.pd,
		.sq_nwqe = 16,
		.nic_handler = handler,
	};
}

struct doca_gpu_verbs_qp_hl *bed_qp(enum doca_gpu_dev_verbs_nic_handler handler)
{
	struct doca_gpu_verbs_qp_init_attr_hl attr = bed_attr(handler);
	struct doca_gpu_verbs_qp_hl *qp = NULL;
	doca_error_t err = doca_gpu_verbs_create_qp_hl(&attr, &qp);

	if (err)
		tap_end(TAP_FAILED, "queue pair: error %d: %s", (int)err, bl_last_error(NULL));
	return qp;
}

void bed_read(void *dst, const void *gpu, size_t len)
{
	check_eq(bl_gpu_read(bed.gpu, dst, (uintptr_t)gpu, len), 0);
}

void bed_write(const void *gpu, const void *src, size_t len)
{
	check_eq(bl_gpu_write(bed.gpu, (uintptr_t)gpu, src, len), 0);
}

bool bed_is_device(const void *addr)
{
	bool device;

	check_eq(bl_gpu_is_device(bed.gpu, addr, &device), 0);
	return device;
}

struct bl_net_qp_path bed_path(struct doca_gpu_verbs_qp *qp)
{
	struct bl_net_qp_path path = { .sz = sizeof(path) };

	check_eq(bl_net_qp_path(qp, &path), 0);
	return path;
}

struct doca_gpu_dev_verbs_qp bed_dev(struct doca_gpu_verbs_qp_hl *qp, struct doca_gpu_dev_verbs_qp **gpu_p)
{
	struct doca_gpu_dev_verbs_qp dev, *gpu = NULL;

	check_eq(doca_gpu_verbs_get_qp_dev(qp->qp_gverbs, &gpu), DOCA_SUCCESS);
	bed_read(&dev, gpu, sizeof(dev));
	if (gpu_p)
		*gpu_p = gpu;
	return dev;
}

bool bed_record_becomes(struct doca_gpu_verbs_qp *qp, uint64_t count)
{
	for (int i = 0; i < 20000; i++) {
		if (be32toh(__atomic_load_n(qp->sq_dbrec, __ATOMIC_ACQUIRE)) == (count & 0xffff))
			return true;
		usleep(500);
	}
	return false;
}

void bed_post(struct doca_gpu_verbs_qp *qp, uint64_t count)
{
	__atomic_store_n(qp->cpu_db, count, __ATOMIC_RELEASE);
}
