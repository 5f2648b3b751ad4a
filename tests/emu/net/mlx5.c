// SPDX-License-Identifier: MIT
/* Two queue pairs of provider "mlx5", over the stand-in for libmlx5, with data and queues on the host or on the GPU. */
#include <string.h>
#include <unistd.h>

#include "barlane.h"
#include "net/verbs/qp.h"
#include "moves.h"
#include "tests/unit/ibv/fake/fake_ibv.h"
#include "tests/unit/mlx5/fake/fake_mlx5.h"

#define MLX5 { "mlx5_0", "mlx5_1" }

static const struct pair_options on_gpu = {
	.names = MLX5, .type = DOCA_VERBS_QP_TYPE_RC, .gpu = true, .gpu_data = true,
};
static const struct pair_options on_gpu_unreliable = {
	.names = MLX5, .type = DOCA_VERBS_QP_TYPE_UC, .gpu = true, .gpu_data = true,
};

static void begin(struct side sides[2], const struct pair_options *options)
{
	fake_ibv_reset();
	fake_mlx5_reset();
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
	return fake_mlx5_receives(doca_verbs_qp_get_qpn(side->qp));
}

static void move_all(struct side sides[2], uint32_t type)
{
	if (type == DOCA_VERBS_QP_TYPE_RC)
		write_rounds(sides);
	read_and_send(sides, type, has_receive);
	check(fake_mlx5.doorbells);
}

static void a_reliable_pair_moves_host_memory(void)
{
	struct side sides[2];

	begin(sides, &(struct pair_options){ .names = MLX5, .type = DOCA_VERBS_QP_TYPE_RC });
	move_all(sides, DOCA_VERBS_QP_TYPE_RC);
	check_eq(fake_mlx5.umem_dmabufs, 0);
	end(sides);
}

static void data_and_queues_of_the_gpu_are_registered_by_dmabuf(void)
{
	struct side sides[2];

	begin(sides, &on_gpu);
	check_eq(fake_ibv.dmabufs, 2);
	check_eq(fake_mlx5.umem_dmabufs, 2);
	move_all(sides, DOCA_VERBS_QP_TYPE_RC);
	end(sides);
}

static void an_unreliable_pair_moves_gpu_memory(void)
{
	struct side sides[2];

	begin(sides, &on_gpu_unreliable);
	move_all(sides, DOCA_VERBS_QP_TYPE_UC);
	end(sides);
}

static void both_ends_may_be_of_one_device(void)
{
	struct side sides[2];

	begin(sides, &(struct pair_options){ .names = { "mlx5_1", "mlx5_1" }, .type = DOCA_VERBS_QP_TYPE_RC });
	move_all(sides, DOCA_VERBS_QP_TYPE_RC);
	end(sides);
}

/* Nothing has come. A query afterwards shows ThreadSanitizer that what comes later is later, as in pair.c. */
static void check_untouched(struct side *side, unsigned char seed)
{
	struct bl_nic_qp_info info;

	usleep(20000);
	check(side_is_filled(side, 4096, 64, seed));
	check_eq(bl_qp_info(side->qp, &info), 0);
}

static void a_doorbell_without_record_and_the_reverse_do_nothing(void)
{
	struct side sides[2];
	uint64_t *db;
	uint32_t record;

	begin(sides, &(struct pair_options){ .names = MLX5, .type = DOCA_VERBS_QP_TYPE_RC });
	side_fill(&sides[0], 0, 64, 5);
	side_fill(&sides[1], 4096, 64, 6);
	/* the record alone: the register is somewhere else */
	db = sides[0].db;
	sides[0].db = &(uint64_t){ 0 };
	side_post(&sides[0], WRITE, 0, 64, side_addr(&sides[1], 4096), sides[1].mr->rkey);
	check_untouched(&sides[1], 6);
	/* the doorbell alone */
	record = sides[0].dbr[1];
	__atomic_store_n(&sides[0].dbr[1], 0, __ATOMIC_RELEASE);
	__atomic_store_n(db, *sides[0].db, __ATOMIC_RELEASE);
	check_untouched(&sides[1], 6);
	/* both */
	__atomic_store_n(&sides[0].dbr[1], record, __ATOMIC_RELEASE);
	__atomic_store_n(db, *sides[0].db, __ATOMIC_RELEASE);
	sides[0].db = db;
	check_eq(side_wait(&sides[0], NULL), REQ);
	check(side_is_filled(&sides[1], 4096, 64, 5));
	end(sides);
}

/* As a kernel does it: the request, all of it, through the register; the record; the doorbell. */
static void a_request_is_pushed_through_the_register(void)
{
	struct side sides[2];
	uint64_t *db, count = 0;

	begin(sides, &(struct pair_options){ .names = MLX5, .type = DOCA_VERBS_QP_TYPE_RC });
	side_fill(&sides[0], 0, 64, 5);
	side_fill(&sides[1], 4096, 64, 6);
	db = sides[0].db;
	sides[0].db = &count;
	side_post(&sides[0], WRITE, 0, 64, side_addr(&sides[1], 4096), sides[1].mr->rkey);
	for (int i = 7; i >= 0; i--)
		__atomic_store_n(&db[i], ((uint64_t *)(void *)sides[0].sq)[i], __ATOMIC_RELEASE);
	check_eq(side_wait(&sides[0], NULL), REQ);
	check(side_is_filled(&sides[1], 4096, 64, 5));
	check_eq(fake_mlx5.blueflames, 1);
	__atomic_store_n(db, count, __ATOMIC_RELEASE);
	sides[0].db = db;
	write_and_check(&sides[0], &sides[1], 100, 7);
	end(sides);
}

static void a_wrong_key_is_an_error_and_reset_makes_it_good(void)
{
	struct bl_nic_qp_info info;
	unsigned int syndrome = 0;
	struct side sides[2];

	begin(sides, &(struct pair_options){ .names = MLX5, .type = DOCA_VERBS_QP_TYPE_RC });
	/* the local key of the peer's memory is not its remote one */
	side_post(&sides[0], WRITE, 0, 64, side_addr(&sides[1], 0), sides[1].mr->lkey);
	check_eq(side_wait(&sides[0], &syndrome), REQ_ERR);
	check_eq(syndrome, 0x13);
	check_eq(bl_qp_info(sides[0].qp, &info), 0);
	check_eq(info.state, DOCA_VERBS_QP_STATE_ERR);
	check_has(info.text, "device mlx5_0: qp 0x");
	reset_both(sides, DOCA_VERBS_QP_TYPE_RC);
	write_and_check(&sides[0], &sides[1], 300, 5);
	end(sides);
}

static void gpu_memory_without_dmabufs_is_registered_by_address(void)
{
	struct side sides[2];

	fake_ibv_reset();
	fake_mlx5_reset();
	fake_ibv.mtu = IBV_MTU_4096;
	fake_ibv.no_dmabuf = fake_mlx5.no_umem_dmabuf = true;
	pair_make(sides, &on_gpu);
	check_eq(fake_ibv.dmabufs, 0);
	check_eq(fake_mlx5.umem_dmabufs, 0);
	end(sides);
}

static void shared_receive_queues_are_refused_and_not_promised(void)
{
	struct side sides[2];

	begin(sides, &on_gpu);
	no_shared_receive_queues(&sides[0], "no shared receive queues (provider mlx5)");
	end(sides);
}

static const struct tap_test tests[] = {
	{ "mlx5_a_reliable_pair_moves_host_memory", a_reliable_pair_moves_host_memory },
	{ "mlx5_data_and_queues_of_the_gpu_are_registered_by_dmabuf",
	  data_and_queues_of_the_gpu_are_registered_by_dmabuf },
	{ "mlx5_an_unreliable_pair_moves_gpu_memory", an_unreliable_pair_moves_gpu_memory },
	{ "mlx5_both_ends_may_be_of_one_device", both_ends_may_be_of_one_device },
	{ "mlx5_a_doorbell_without_record_and_the_reverse_do_nothing",
	  a_doorbell_without_record_and_the_reverse_do_nothing },
	{ "mlx5_a_request_is_pushed_through_the_register", a_request_is_pushed_through_the_register },
	{ "mlx5_a_wrong_key_is_an_error_and_reset_makes_it_good", a_wrong_key_is_an_error_and_reset_makes_it_good },
	{ "mlx5_gpu_memory_without_dmabufs_is_registered_by_address",
	  gpu_memory_without_dmabufs_is_registered_by_address },
	{ "mlx5_shared_receive_queues_are_refused_and_not_promised",
	  shared_receive_queues_are_refused_and_not_promised },
};

TAP_MAIN(tests)
