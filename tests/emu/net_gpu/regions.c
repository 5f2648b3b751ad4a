// SPDX-License-Identifier: MIT
/* What GPUs are shown of registered memory, so that their threads may read short messages in place of the software NIC. */
#include <endian.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "soft_bed.h"
#include "util/guard.h"

/* What threads of the GPU find at the place of a key. */
static struct bl_gpu_dev_region shown(const struct doca_gpu_verbs_qp_hl *qp, uint32_t lkey)
{
	const struct bl_gpu_dev_region *table = qp->qp_gverbs->qp_cpu->regions;
	struct bl_gpu_dev_region region;

	check(table);
	check_eq(bl_gpu_read(gpu, &region, (uintptr_t)&table[lkey >> (32 - BL_GPUNETIO_REGIONS_SHIFT)], sizeof(region)), 0);
	return region;
}

static bool is_shown(const struct doca_gpu_verbs_qp_hl *qp, const struct ibv_mr *mr)
{
	const struct bl_gpu_dev_region region = shown(qp, mr->lkey);

	return region.key == htobe32(mr->lkey) && region.addr == (uintptr_t)mr->addr && region.len == mr->length;
}

static void memory_of_the_gpu_is_shown_to_its_threads(void)
{
	struct ibv_mr *first, *second, *moved, *host_mr;
	struct doca_gpu_verbs_qp_hl *a, *b;
	static unsigned char host[4096];
	uint32_t lkey;
	void *target;

	soft_make();
	check_eq(doca_gpu_mem_alloc(gpu, 8192, 0, DOCA_GPU_MEM_TYPE_GPU, &target, NULL), DOCA_SUCCESS);
	/* before there is a queue pair, and after */
	first = bl_net_reg_mr(pd, target, 4096, ACCESS);
	a = soft_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY, 0, 0);
	b = soft_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB, 0, 0);
	check(a->qp_gverbs->qp_cpu->regions == b->qp_gverbs->qp_cpu->regions);
	second = bl_net_reg_mr(pd, (char *)target + 64, 8128, ACCESS);
	/* what a thread would find at that address is not this memory, or not near */
	moved = bl_net_reg_mr_iova(pd, target, 4096, (uintptr_t)target + 4096, ACCESS);
	host_mr = bl_net_reg_mr(pd, host, sizeof(host), ACCESS);
	check(first && second && moved && host_mr);
	check(is_shown(a, first) && is_shown(a, second));
	check_eq(shown(a, moved->lkey).key, 0);
	check_eq(shown(a, host_mr->lkey).key, 0);
	/* deregistered while the other goes on */
	lkey = first->lkey;
	check_eq(bl_net_dereg_mr(first), 0);
	check_eq(shown(a, lkey).key, 0);
	check_eq(doca_gpu_verbs_destroy_qp_hl(a), DOCA_SUCCESS);
	check(is_shown(b, second));
	check_eq(bl_net_dereg_mr(second), 0);
	check_eq(bl_net_dereg_mr(moved), 0);
	check_eq(bl_net_dereg_mr(host_mr), 0);
	check_eq(doca_gpu_verbs_destroy_qp_hl(b), DOCA_SUCCESS);
	check_eq(doca_gpu_mem_free(gpu, target), DOCA_SUCCESS);
	soft_drop();
}

/* More regions than places: some go without, and come into a place that becomes free. */
static void regions_that_meet_at_a_place_take_it_in_turn(void)
{
	struct ibv_mr *mrs[4 * BL_GPUNETIO_REGIONS / 64], *without = NULL, *with = NULL;
	const unsigned int nr = sizeof(mrs) / sizeof(mrs[0]);
	struct doca_gpu_verbs_qp_hl *qp;
	void *target;

	soft_make();
	qp = soft_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY, 0, 0);
	check_eq(doca_gpu_mem_alloc(gpu, 4096, 0, DOCA_GPU_MEM_TYPE_GPU, &target, NULL), DOCA_SUCCESS);
	/* keys are counted: most of them come and go until two that are left have one place */
	for (unsigned int i = 0; !without; i++) {
		struct ibv_mr *mr = bl_net_reg_mr(pd, target, 64 + i, ACCESS);

		check(mr);
		if (i < nr) {
			mrs[i] = mr;
			check(is_shown(qp, mr));
		} else if (is_shown(qp, mr)) {
			check_eq(bl_net_dereg_mr(mr), 0);
		} else {
			without = mr;
		}
	}
	for (unsigned int i = 0; i < nr; i++) {
		if (mrs[i]->lkey >> (32 - BL_GPUNETIO_REGIONS_SHIFT) == without->lkey >> (32 - BL_GPUNETIO_REGIONS_SHIFT))
			with = mrs[i];
	}
	check(with && is_shown(qp, with));
	for (unsigned int i = 0; i < nr; i++)
		check_eq(bl_net_dereg_mr(mrs[i]), 0);
	check(is_shown(qp, without));
	check_eq(bl_net_dereg_mr(without), 0);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	check_eq(doca_gpu_mem_free(gpu, target), DOCA_SUCCESS);
	soft_drop();
}

/* As after a reset of the GPU's context: memory comes and goes all the same. */
static void a_table_that_was_taken_away_is_not_touched_again(void)
{
	struct doca_gpu_verbs_qp_hl *qp;
	struct ibv_mr *first, *second;
	void *target, *table;

	if (!BL_GUARD_WORKS)
		skip("accesses are not guarded in this build: no code for this CPU, or ThreadSanitizer");
	soft_make();
	qp = soft_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY, 0, 0);
	check_eq(doca_gpu_mem_alloc(gpu, 4096, 0, DOCA_GPU_MEM_TYPE_GPU, &target, NULL), DOCA_SUCCESS);
	first = bl_net_reg_mr(pd, target, 4096, ACCESS);
	check(first && is_shown(qp, first));
	table = bl_gpu_block_cpu(gpu, (uintptr_t)qp->qp_gverbs->qp_cpu->regions);
	check(table);
	check_eq(mprotect(table, BL_GPU_PAGE_SIZE, PROT_NONE), 0);
	second = bl_net_reg_mr(pd, target, 64, ACCESS);
	check(second);
	check_eq(bl_net_dereg_mr(first), 0);
	check_eq(mprotect(table, BL_GPU_PAGE_SIZE, PROT_READ | PROT_WRITE), 0);
	check_eq(shown(qp, second->lkey).key, 0);
	check_eq(bl_net_dereg_mr(second), 0);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	check_eq(doca_gpu_mem_free(gpu, target), DOCA_SUCCESS);
	soft_drop();
}

static void nothing_is_shown_where_it_is_switched_off(void)
{
	struct doca_gpu_verbs_qp_hl *qp;

	setenv("BARLANE_NET_BRING", "0", 1);
	soft_make();
	qp = soft_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY, 0, 0);
	check(!qp->qp_gverbs->qp_cpu->regions);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	soft_drop();
	unsetenv("BARLANE_NET_BRING");
}

#define T(name) { #name, name }

static const struct tap_test tests[] = {
	T(memory_of_the_gpu_is_shown_to_its_threads),
	T(regions_that_meet_at_a_place_take_it_in_turn),
	T(a_table_that_was_taken_away_is_not_touched_again),
	T(nothing_is_shown_where_it_is_switched_off),
};

TAP_MAIN(tests)
