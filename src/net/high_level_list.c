// SPDX-License-Identifier: MIT
/* Copies of GPU's objects, side by side. */
#define log_fmt(fmt) "high level: " fmt
#include <errno.h>
#include <stdlib.h>

#include "net/high_level.h"
#include "net/log.h"

/* Use the exported queue pairs of a list. On an error none is used. */
static int use_all(struct doca_gpu_verbs_qp_hl **list, uint32_t nr, struct doca_gpu_verbs_qp **qps)
{
	struct bl_object *object;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < nr && !ret; i++) {
		qps[i] = list[i] ? list[i]->qp_gverbs : NULL;
		ret = bl_object_get(BL_GPU_QP, qps[i], &object);
		if (ret)
			break;
		if (bl_export_shared(bl_gpu_qp_of(qps[i])))
			ret = fail(EOPNOTSUPP, "queue pair %u: a CPU uses its object, and would use the wrong one", i);
		else if (qps[i]->gpu_dev != qps[0]->gpu_dev)
			ret = fail(EINVAL, "queue pair %u is of another GPU than the first", i);
	}
	if (!ret)
		return 0;
	while (i--)
		bl_object_put(&bl_gpu_qp_of(qps[i])->object);
	return ret;
}

static int create(struct doca_gpu_verbs_qp_hl **list, uint32_t nr, struct bl_qp_array **array_p)
{
	struct doca_gpu_verbs_qp **qps = calloc(nr, sizeof(struct doca_gpu_verbs_qp *));
	int ret;

	if (!qps)
		return fail(ENOMEM, "out of memory");
	ret = use_all(list, nr, qps);
	if (!ret) {
		ret = bl_qp_array_new(qps[0]->gpu_dev, qps, nr, BL_GPU_FLAT_LIST, array_p);
		for (uint32_t i = 0; i < nr; i++)
			bl_object_put(&bl_gpu_qp_of(qps[i])->object);
	}
	free(qps);
	return ret;
}

doca_error_t doca_gpu_verbs_qp_flat_list_create_hl(struct doca_gpu_verbs_qp_hl **qp_list, uint32_t num_elems,
						   struct doca_gpu_dev_verbs_qp **qp_gpu)
{
	struct bl_qp_array *array;
	int ret;

	if (!qp_list || !num_elems || !qp_gpu)
		return bl_net_doca(fail(EINVAL, "no queue pairs, or no place for the answer"));
	ret = create(qp_list, num_elems, &array);
	if (!ret)
		*qp_gpu = (struct doca_gpu_dev_verbs_qp *)(uintptr_t)array->block->va;
	return bl_net_doca(ret);
}

doca_error_t doca_gpu_verbs_qp_flat_list_destroy_hl(struct doca_gpu_dev_verbs_qp *qp_gpu)
{
	struct bl_object *object;
	int ret;

	ret = bl_object_take(BL_GPU_FLAT_LIST, qp_gpu, false, &object);
	if (!ret)
		bl_qp_array_free((struct bl_qp_array *)object);
	return bl_net_doca(ret);
}
