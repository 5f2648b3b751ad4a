// SPDX-License-Identifier: MIT
/* Two queue pairs of provider "verbs", over the stand-in for libibverbs, with data and queues in memory of the GPU. */
#include <string.h>

#include "barlane.h"
#include "gpunetio/host/doca_verbs_bridge.h"
#include "net/verbs/qp.h"
#include "moves.h"
#include "tests/unit/ibv/fake/fake_ibv.h"

#define FAKES { "fake0", "fake1" }

static void begin(struct side sides[2], const struct pair_options *options)
{
	fake_ibv_reset();
	/* the pair's are of 4096 bytes, by the address in place 0 */
	fake_ibv.mtu = IBV_MTU_4096;
	pair_make(sides, options);
}

static void end(struct side sides[2])
{
	pair_drop(sides);
	check_str(fake_ibv.complaint, "");
	check_eq(fake_ibv.live, 0);
}

static bool has_receive(const struct side *side)
{
	(void)side;
	return fake_get(receives);
}

static void move_all(struct side sides[2], uint32_t type)
{
	write_rounds(sides);
	read_and_send(sides, type, has_receive);
}

static void gpu_memory_is_registered_by_dmabuf(void)
{
	struct side sides[2];

	begin(sides, &(struct pair_options){ .names = FAKES, .type = DOCA_VERBS_QP_TYPE_RC, .gpu = true, .gpu_data = true });
	check_eq(fake_ibv.dmabufs, 2);
	move_all(sides, DOCA_VERBS_QP_TYPE_RC);
	end(sides);
}

static void an_unreliable_pair_moves_gpu_memory(void)
{
	struct side sides[2];

	begin(sides, &(struct pair_options){ .names = FAKES, .type = DOCA_VERBS_QP_TYPE_UC, .gpu = true, .gpu_data = true });
	move_all(sides, DOCA_VERBS_QP_TYPE_UC);
	end(sides);
}

static void host_memory_is_registered_by_address(void)
{
	struct side sides[2];

	begin(sides, &(struct pair_options){ .names = FAKES, .type = DOCA_VERBS_QP_TYPE_RC });
	check_eq(fake_ibv.dmabufs, 0);
	move_all(sides, DOCA_VERBS_QP_TYPE_RC);
	end(sides);
}

static void queues_without_doorbell_records_are_served(void)
{
	struct side sides[2];

	begin(sides, &(struct pair_options){ .names = FAKES, .type = DOCA_VERBS_QP_TYPE_RC, .no_dbrec = true });
	move_all(sides, DOCA_VERBS_QP_TYPE_RC);
	end(sides);
}

static void gpu_memory_that_no_way_leads_to_is_an_error_with_both_reasons(void)
{
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	CUdeviceptr va;

	fake_ibv_reset();
	world_enter();
	va = world_alloc(1 << 20);
	context = bl_net_open_device("fake0");
	check(context);
	pd = bl_net_alloc_pd(context);
	check(pd);
	fake_ibv.no_dmabuf = true;
	fake_ibv.refuse = (void *)(uintptr_t)va;
	check(!bl_net_reg_mr(pd, (void *)(uintptr_t)va, 65536, IBV_ACCESS_LOCAL_WRITE));
	check_eq(errno, EOPNOTSUPP);
	check_has(bl_last_error(NULL), "GPU memory");
	check_has(bl_last_error(NULL), "by dma-buf: Operation not supported; by address: Bad address");
	check_has(bl_last_error(NULL), "nvidia-peermem");
	/* a kernel module that knows GPU memory */
	fake_ibv.refuse = NULL;
	mr = bl_net_reg_mr(pd, (void *)(uintptr_t)va, 65536, IBV_ACCESS_LOCAL_WRITE);
	check(mr);
	check_eq(bl_net_dereg_mr(mr), 0);
	check_eq(bl_net_dealloc_pd(pd), 0);
	check_eq(bl_net_close_device(context), 0);
	world_free(va);
	check_eq(fake_ibv.live, 0);
}

static void a_wrong_key_is_an_error_with_its_cause(void)
{
	struct bl_nic_qp_info info;
	unsigned int syndrome = 0;
	struct side sides[2];

	begin(sides, &(struct pair_options){ .names = FAKES, .type = DOCA_VERBS_QP_TYPE_RC, .gpu = true });
	side_post(&sides[0], WRITE, 0, 64, side_addr(&sides[1], 0), sides[1].mr->lkey);
	check_eq(side_wait(&sides[0], &syndrome), REQ_ERR);
	check_eq(syndrome, 0x13);
	check_eq(bl_qp_info(sides[0].qp, &info), 0);
	check_eq(info.syndrome, 0x13);
	check_has(info.text, "the peer refuses it");
	end(sides);
}

static void expect_event(const struct side *side, enum doca_verbs_event_type type, const void *about)
{
	struct doca_verbs_async_event event;

	check_eq(bl_net_get_async_event(side->context, 10000, &event), 0);
	check_eq(event.event_type, type);
	if (about)
		check(event.element.qp == about);
	check_eq(doca_verbs_ack_async_event(&event), DOCA_SUCCESS);
}

static void what_a_device_tells_is_passed_on(void)
{
	struct side sides[2];

	begin(sides, &(struct pair_options){ .names = FAKES, .type = DOCA_VERBS_QP_TYPE_RC });
	fake_ibv_event(0, IBV_EVENT_PORT_ERR);
	for (int i = 0; i < 2; i++)
		expect_event(&sides[i], DOCA_VERBS_EVENT_PORT_ERR, NULL);
	fake_ibv_event(0, IBV_EVENT_PORT_ACTIVE);
	for (int i = 0; i < 2; i++)
		expect_event(&sides[i], DOCA_VERBS_EVENT_PORT_ACTIVE, NULL);
	/* a right that the peer does not have: its request fails, and this side is told why it is in ERR */
	side_post(&sides[0], WRITE, 0, 64, side_addr(&sides[1], 0), sides[1].mr->lkey);
	check_eq(side_wait(&sides[0], NULL), REQ_ERR);
	expect_event(&sides[0], DOCA_VERBS_EVENT_QP_FATAL, sides[0].qp);
	expect_event(&sides[1], DOCA_VERBS_EVENT_QP_ACCESS_ERR, sides[1].qp);
	end(sides);
}

static void a_device_that_fails_takes_its_queue_pairs_along(void)
{
	struct side sides[2];

	begin(sides, &(struct pair_options){ .names = FAKES, .type = DOCA_VERBS_QP_TYPE_RC });
	fake_ibv_event(0, IBV_EVENT_DEVICE_FATAL);
	for (int i = 0; i < 2; i++) {
		expect_event(&sides[i], DOCA_VERBS_EVENT_DEVICE_FATAL, NULL);
		expect_event(&sides[i], DOCA_VERBS_EVENT_QP_FATAL, sides[i].qp);
	}
	end(sides);
}

static void shared_receive_queues_are_refused_and_not_promised(void)
{
	struct side sides[2];

	begin(sides, &(struct pair_options){ .names = FAKES, .type = DOCA_VERBS_QP_TYPE_RC });
	no_shared_receive_queues(&sides[0], "no shared receive queues (provider verbs)");
	end(sides);
}

static const struct tap_test tests[] = {
	{ "verbs_gpu_memory_is_registered_by_dmabuf", gpu_memory_is_registered_by_dmabuf },
	{ "verbs_an_unreliable_pair_moves_gpu_memory", an_unreliable_pair_moves_gpu_memory },
	{ "verbs_host_memory_is_registered_by_address", host_memory_is_registered_by_address },
	{ "verbs_queues_without_doorbell_records_are_served", queues_without_doorbell_records_are_served },
	{ "verbs_gpu_memory_that_no_way_leads_to_is_an_error_with_both_reasons",
	  gpu_memory_that_no_way_leads_to_is_an_error_with_both_reasons },
	{ "verbs_a_wrong_key_of_a_device_is_an_error_with_its_cause", a_wrong_key_is_an_error_with_its_cause },
	{ "verbs_what_a_device_tells_is_passed_on", what_a_device_tells_is_passed_on },
	{ "verbs_a_device_that_fails_takes_its_queue_pairs_along", a_device_that_fails_takes_its_queue_pairs_along },
	{ "verbs_shared_receive_queues_are_refused_and_not_promised",
	  shared_receive_queues_are_refused_and_not_promised },
};

TAP_MAIN(tests)
