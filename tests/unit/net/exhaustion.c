// SPDX-License-Identifier: MIT
/* Each allocation in the making of everything fails once: the call says so, and nothing is left behind. */
#include "bed.h"

static unsigned int fail_at, allocations;

void *__real_calloc(size_t nr, size_t size);
void *__wrap_calloc(size_t nr, size_t size);
void *__real_realloc(void *ptr, size_t size);
void *__wrap_realloc(void *ptr, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);

static int fails(void)
{
	return ++allocations == fail_at;
}

void *__wrap_calloc(size_t nr, size_t size)
{
	return fails() ? NULL : __real_calloc(nr, size);
}

void *__wrap_realloc(void *ptr, size_t size)
{
	return fails() ? NULL : __real_realloc(ptr, size);
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
	return fails() ? NULL : __real_aligned_alloc(align, size);
}

static char memory[4096] __attribute__((aligned(4096)));

/* What one round has made. */
struct made {
	struct ibv_device **list;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct doca_verbs_umem *umem;
	struct doca_verbs_uar *uar;
	struct doca_verbs_cq_attr *cq_attr;
	struct doca_verbs_cq *cq;
	struct doca_verbs_qp_init_attr *init;
	struct doca_verbs_qp *qp;
	struct doca_verbs_qp_attr *attr;
	struct doca_verbs_ah_attr *ah;
	struct doca_verbs_srq_init_attr *srq_init;
	struct doca_verbs_srq *srq;
	struct doca_verbs_qp *srq_qp;
	struct doca_verbs_device_attr *device;
};

/* A call of libibverbs' kind: a pointer, or NULL with ENOMEM. */
static int took(const void *pointer)
{
	if (!pointer)
		check_eq(errno, ENOMEM);
	return !!pointer;
}

static int did(doca_error_t err)
{
	if (err)
		check_eq(err, DOCA_ERROR_NO_MEMORY);
	return !err;
}

static int make_devices(struct made *made)
{
	made->list = bl_net_device_list(NULL);
	if (!took(made->list))
		return 0;
	made->context = bl_net_open_device("fake0");
	if (!took(made->context))
		return 0;
	made->pd = bl_net_alloc_pd(made->context);
	if (!took(made->pd))
		return 0;
	made->mr = bl_net_reg_mr(made->pd, memory, sizeof(memory), 0);
	return took(made->mr);
}

static int make_queues(struct made *made)
{
	if (!did(doca_verbs_umem_create(made->context, memory, sizeof(memory), 1, -1, 0, &made->umem)) ||
	    !did(doca_verbs_uar_create(made->context, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE, &made->uar)) ||
	    !did(doca_verbs_cq_attr_create(&made->cq_attr)))
		return 0;
	doca_verbs_cq_attr_set_cq_size(made->cq_attr, 64);
	if (!did(doca_verbs_cq_create(made->context, made->cq_attr, &made->cq)) ||
	    !did(doca_verbs_qp_init_attr_create(&made->init)))
		return 0;
	doca_verbs_qp_init_attr_set_pd(made->init, made->pd);
	doca_verbs_qp_init_attr_set_sq_wr(made->init, 64);
	doca_verbs_qp_init_attr_set_send_cq(made->init, made->cq);
	return did(doca_verbs_qp_create(made->context, made->init, &made->qp));
}

static int make_shared_receives(struct made *made)
{
	if (!did(doca_verbs_srq_init_attr_create(&made->srq_init)))
		return 0;
	doca_verbs_srq_init_attr_set_pd(made->srq_init, made->pd);
	doca_verbs_srq_init_attr_set_srq_wr(made->srq_init, 16);
	if (!did(doca_verbs_srq_create(made->context, made->srq_init, &made->srq)))
		return 0;
	doca_verbs_qp_init_attr_set_srq(made->init, made->srq);
	doca_verbs_qp_init_attr_set_receive_cq(made->init, made->cq);
	return did(doca_verbs_qp_create(made->context, made->init, &made->srq_qp));
}

static int make_attributes(struct made *made)
{
	return did(doca_verbs_qp_attr_create(&made->attr)) && did(doca_verbs_ah_attr_create(made->context, &made->ah)) &&
	       did(doca_verbs_query_device(made->context, &made->device));
}

static void unmake(struct made *made)
{
	fail_at = 0;
	if (made->device)
		check_eq(doca_verbs_device_attr_free(made->device), DOCA_SUCCESS);
	if (made->ah)
		check_eq(doca_verbs_ah_attr_destroy(made->ah), DOCA_SUCCESS);
	if (made->attr)
		check_eq(doca_verbs_qp_attr_destroy(made->attr), DOCA_SUCCESS);
	if (made->srq_qp)
		check_eq(doca_verbs_qp_destroy(made->srq_qp), DOCA_SUCCESS);
	if (made->srq)
		check_eq(doca_verbs_srq_destroy(made->srq), DOCA_SUCCESS);
	if (made->srq_init)
		check_eq(doca_verbs_srq_init_attr_destroy(made->srq_init), DOCA_SUCCESS);
	if (made->qp)
		check_eq(doca_verbs_qp_destroy(made->qp), DOCA_SUCCESS);
	if (made->init)
		check_eq(doca_verbs_qp_init_attr_destroy(made->init), DOCA_SUCCESS);
	if (made->cq)
		check_eq(doca_verbs_cq_destroy(made->cq), DOCA_SUCCESS);
	if (made->cq_attr)
		check_eq(doca_verbs_cq_attr_destroy(made->cq_attr), DOCA_SUCCESS);
	if (made->uar)
		check_eq(doca_verbs_uar_destroy(made->uar), DOCA_SUCCESS);
	if (made->umem)
		check_eq(doca_verbs_umem_destroy(made->umem), DOCA_SUCCESS);
	if (made->mr)
		check_eq(bl_net_dereg_mr(made->mr), 0);
	if (made->pd)
		check_eq(bl_net_dealloc_pd(made->pd), 0);
	if (made->context)
		check_eq(bl_net_close_device(made->context), 0);
	bl_net_free_device_list(made->list);
	check_eq(fake_live(), 0);
}

static void each_allocation_may_fail(void)
{
	int all = 0;

	fake_reset();
	for (unsigned int nth = 1; !all; nth++) {
		struct made made = { 0 };

		check(nth < 100);
		allocations = 0;
		fail_at = nth;
		all = make_devices(&made) && make_queues(&made) && make_shared_receives(&made) && make_attributes(&made);
		/* only the round in which none failed may come through */
		check(!all || allocations < nth);
		unmake(&made);
		if (all)
			check(nth > 15);
	}
}

static const struct tap_test tests[] = {
	{ "each_allocation_may_fail", each_allocation_may_fail },
};

TAP_MAIN(tests)
