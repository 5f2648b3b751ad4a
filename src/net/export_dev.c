// SPDX-License-Identifier: MIT
/* The GPU's objects: one by itself, or an array of them. */
#define log_fmt(fmt) "export: " fmt
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "net/export.h"
#include "net/log.h"
#include "net/proxy.h"

#define DEV_SIZE sizeof(struct doca_gpu_dev_verbs_qp)

/* Of these a CPU reads the producer index. */
static bool cpu_reads(const struct bl_gpu_qp *qp)
{
	return qp->pub.send_dbr_mode_ext == DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_SW_EMULATED &&
	       !bl_is_proxy(qp->begin.nic_handler);
}

bool bl_export_shared(const struct bl_gpu_qp *qp)
{
	return cpu_reads(qp) || qp->fold_cqe;
}

static enum doca_gpu_mem_type memory_for(bool cpu)
{
	return cpu ? DOCA_GPU_MEM_TYPE_GPU_CPU : DOCA_GPU_MEM_TYPE_GPU;
}

/* @off bytes into a block that may be a fallback. */
static int write_block(struct doca_gpu *gpu, const struct bl_gpu_block *block, size_t off, const void *src, size_t len)
{
	if (block->made != BL_GPU_MADE_HOST)
		return bl_gpu_write(gpu, block->va + off, src, len);
	memcpy((char *)block->cpu + off, src, len);
	return 0;
}

int bl_export_write_dev(struct bl_gpu_qp *qp)
{
	const struct bl_gpu_block *block = qp->array ? qp->array->block : qp->dev_block;

	return write_block(qp->gpu, block, (uintptr_t)qp->pub.qp_gpu - block->va, &qp->begin, DEV_SIZE);
}

/* The object is in place; qp->lock is held. */
static void publish(struct bl_gpu_qp *qp, const struct bl_gpu_block *block, size_t off)
{
	qp->pub.qp_gpu = (struct doca_gpu_dev_verbs_qp *)(uintptr_t)(block->va + off);
	if (block->cpu)
		qp->pub.qp_gpu_h = (struct doca_gpu_dev_verbs_qp *)((char *)block->cpu + off);
	if (qp->fold_cqe)
		atomic_store_explicit(&qp->fold_to, &qp->pub.qp_gpu_h->cq_sq, memory_order_release);
	if (!cpu_reads(qp))
		return;
	qp->pub.cpu_db = (uint64_t *)((char *)block->cpu + off + offsetof(struct doca_gpu_dev_verbs_qp, sq_wqe_pi));
	atomic_store_explicit(&qp->word, qp->pub.cpu_db, memory_order_release);
}

/* The GPU's object is going away; qp->lock is held. */
static void withdraw(struct bl_gpu_qp *qp)
{
	/* who serves at this moment may use the object */
	bl_proxy_hold(qp);
	atomic_store(&qp->fold_to, NULL);
	if (cpu_reads(qp)) {
		atomic_store(&qp->word, NULL);
		qp->pub.cpu_db = NULL;
	}
	bl_proxy_release(qp);
	qp->pub.qp_gpu = NULL;
	qp->pub.qp_gpu_h = NULL;
}

static int make_one(struct bl_gpu_qp *qp)
{
	struct bl_gpu_block *block;
	int ret;

	ret = bl_gpu_alloc(qp->gpu, DEV_SIZE, 0, memory_for(bl_export_shared(qp)), &block);
	if (ret)
		return ret;
	ret = write_block(qp->gpu, block, 0, &qp->begin, DEV_SIZE);
	if (ret) {
		bl_gpu_free(qp->gpu, block);
		return ret;
	}
	qp->dev_block = block;
	publish(qp, block, 0);
	return 0;
}

doca_error_t doca_gpu_verbs_get_qp_dev(struct doca_gpu_verbs_qp *qp, struct doca_gpu_dev_verbs_qp **gpu_qp)
{
	struct bl_gpu_qp *mine = bl_gpu_qp_of(qp);
	struct bl_object *object;
	int ret;

	if (!gpu_qp)
		return bl_net_doca(fail(EINVAL, "no place for the answer"));
	ret = bl_object_get(BL_GPU_QP, qp, &object);
	if (ret)
		return bl_net_doca(ret);
	pthread_mutex_lock(&mine->lock);
	if (!qp->qp_gpu)
		ret = make_one(mine);
	if (!ret)
		*gpu_qp = qp->qp_gpu;
	pthread_mutex_unlock(&mine->lock);
	bl_object_put(object);
	return bl_net_doca(ret);
}

/* Use all of a list; NULL entries are holes. On an error none is used. */
static int use_all(struct doca_gpu *gpu, struct doca_gpu_verbs_qp **qps, unsigned int nr)
{
	struct bl_object *object;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < nr; i++) {
		if (!qps[i])
			continue;
		ret = bl_object_get(BL_GPU_QP, qps[i], &object);
		if (ret)
			break;
		if (qps[i]->gpu_dev != gpu || qps[i]->qp_gpu) {
			bl_object_put(object);
			ret = fail(EINVAL, "queue pair %u of %u: %s", i, nr,
				   qps[i]->qp_gpu ? "has an object on the GPU already" : "is of another GPU");
			break;
		}
	}
	for (; ret && i; i--) {
		if (qps[i - 1])
			bl_object_put(&bl_gpu_qp_of(qps[i - 1])->object);
	}
	return ret;
}

static void leave_all(struct doca_gpu_verbs_qp **qps, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		if (qps[i])
			bl_object_put(&bl_gpu_qp_of(qps[i])->object);
	}
}

static bool any_shared(struct doca_gpu_verbs_qp **qps, unsigned int nr)
{
	bool any = false;

	for (unsigned int i = 0; i < nr && !any; i++)
		any = qps[i] && bl_export_shared(bl_gpu_qp_of(qps[i]));
	return any;
}

/* All in one copy. */
static int write_array(struct bl_qp_array *array, struct doca_gpu_verbs_qp **qps)
{
	struct doca_gpu_dev_verbs_qp *objects = calloc(array->nr, DEV_SIZE);
	int ret;

	if (!objects)
		return fail(ENOMEM, "out of memory");
	for (unsigned int i = 0; i < array->nr; i++) {
		if (qps[i])
			objects[i] = bl_gpu_qp_of(qps[i])->begin;
	}
	ret = write_block(array->gpu, array->block, 0, objects, array->nr * DEV_SIZE);
	free(objects);
	return ret;
}

int bl_qp_array_new(struct doca_gpu *gpu, struct doca_gpu_verbs_qp **qps, unsigned int nr, enum bl_object_kind kind,
		    struct bl_qp_array **array_p)
{
	struct bl_qp_array *array;
	int ret;

	array = calloc(1, sizeof(*array));
	if (!array)
		return fail(ENOMEM, "out of memory");
	array->gpu = gpu;
	array->nr = nr;
	ret = bl_gpu_alloc(gpu, nr * DEV_SIZE, BL_GPU_PAGE_SIZE, memory_for(any_shared(qps, nr)), &array->block);
	if (ret)
		goto free_array;
	ret = write_array(array, qps);
	if (ret)
		goto free_block;
	bl_object_hold(&gpu->object);
	bl_object_add(&array->object, kind, (void *)(uintptr_t)array->block->va, NULL);
	*array_p = array;
	return 0;
free_block:
	bl_gpu_free(gpu, array->block);
free_array:
	free(array);
	return ret;
}

void bl_qp_array_free(struct bl_qp_array *array)
{
	bl_gpu_free(array->gpu, array->block);
	bl_object_put(&array->gpu->object);
	free(array);
}

static int export_array(struct doca_gpu *gpu, struct doca_gpu_verbs_qp **qps, unsigned int nr,
			struct doca_gpu_dev_verbs_qp **gpu_qps)
{
	struct bl_qp_array *array;
	int ret;

	ret = use_all(gpu, qps, nr);
	if (ret)
		return ret;
	ret = bl_qp_array_new(gpu, qps, nr, BL_GPU_ARRAY, &array);
	for (unsigned int i = 0; i < nr && !ret; i++) {
		struct bl_gpu_qp *qp = bl_gpu_qp_of(qps[i]);

		if (!qp)
			continue;
		pthread_mutex_lock(&qp->lock);
		if (!qp->array)
			atomic_fetch_add(&array->members, 1);
		qp->array = array;
		publish(qp, array->block, i * DEV_SIZE);
		pthread_mutex_unlock(&qp->lock);
	}
	leave_all(qps, nr);
	if (!ret)
		*gpu_qps = (struct doca_gpu_dev_verbs_qp *)(uintptr_t)array->block->va;
	return ret;
}

doca_error_t doca_gpu_verbs_export_multi_qps_dev(struct doca_gpu *gpu_dev, struct doca_gpu_verbs_qp **qps,
						 unsigned int num_qps, struct doca_gpu_dev_verbs_qp **gpu_qps)
{
	int ret;

	if (!qps || !num_qps || !gpu_qps)
		return bl_net_doca(fail(EINVAL, "no queue pairs, or no place for the answer"));
	ret = bl_gpu_get(gpu_dev);
	if (ret)
		return bl_net_doca(ret);
	ret = export_array(gpu_dev, qps, num_qps, gpu_qps);
	bl_gpu_put(gpu_dev);
	return bl_net_doca(ret);
}

/* Those that were unexported meanwhile are no trouble. */
static void withdraw_all(struct bl_qp_array *array, struct doca_gpu_verbs_qp **qps, unsigned int nr)
{
	struct bl_object *object;

	for (unsigned int i = 0; i < nr; i++) {
		struct bl_gpu_qp *qp = bl_gpu_qp_of(qps[i]);
		int ret;

		bl_fail_hush(1);
		ret = bl_object_get(BL_GPU_QP, qps[i], &object);
		bl_fail_hush(-1);
		if (ret)
			continue;
		pthread_mutex_lock(&qp->lock);
		if (qp->array == array) {
			withdraw(qp);
			qp->array = NULL;
			atomic_fetch_sub(&array->members, 1);
		}
		pthread_mutex_unlock(&qp->lock);
		bl_object_put(object);
	}
}

doca_error_t doca_gpu_verbs_unexport_multi_qps_dev(struct doca_gpu *gpu_dev, struct doca_gpu_verbs_qp **qps,
						   unsigned int num_qps, struct doca_gpu_dev_verbs_qp *gpu_qps)
{
	struct bl_object *object;
	struct bl_qp_array *array;
	unsigned int left;
	int ret;

	if (!qps && num_qps)
		return bl_net_doca(fail(EINVAL, "no queue pairs"));
	ret = bl_gpu_get(gpu_dev);
	if (ret)
		return bl_net_doca(ret);
	ret = bl_object_take(BL_GPU_ARRAY, gpu_qps, false, &object);
	if (ret)
		goto put_gpu;
	array = (struct bl_qp_array *)object;
	withdraw_all(array, qps, num_qps);
	/* whoever serves one that was left out, or resets it, would be at memory that is gone */
	left = atomic_load(&array->members);
	if (left) {
		bl_object_untake(object);
		ret = fail(EINVAL, "array %p: %u of its queue pairs are not in the list", (void *)gpu_qps, left);
	} else {
		bl_qp_array_free(array);
	}
put_gpu:
	bl_gpu_put(gpu_dev);
	return bl_net_doca(ret);
}
