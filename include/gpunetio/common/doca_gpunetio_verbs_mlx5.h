/* SPDX-License-Identifier: MIT */
/*
 * doca_gpunetio_verbs_mlx5.h - work requests and completions as an mlx5 NIC has them in memory
 *
 * Fields of more than one byte are in network byte order.
 */
#ifndef DOCA_GPUNETIO_VERBS_MLX5_H
#define DOCA_GPUNETIO_VERBS_MLX5_H

#include <stdint.h>

/**
 * struct doca_gpunetio_ib_mlx5_wqe_ctrl_seg - first segment of every send WQE
 * @opmod_idx_opcode: opmod << 24 | WQE index << 8 | opcode
 * @qpn_ds:	      queue pair << 8 | number of 16-byte segments
 * @fm_ce_se:	      fence mode << 5 | completion mode << 2 | solicited << 1
 * @imm:	      immediate
 */
struct doca_gpunetio_ib_mlx5_wqe_ctrl_seg {
	uint32_t opmod_idx_opcode;
	uint32_t qpn_ds;
	uint8_t signature;
	uint8_t dci_stream_channel_id[2];
	uint8_t fm_ce_se;
	uint32_t imm;
};

/** struct doca_gpunetio_ib_mlx5_wqe_raddr_seg - remote memory */
struct doca_gpunetio_ib_mlx5_wqe_raddr_seg {
	uint64_t raddr;
	uint32_t rkey;
	uint32_t reserved;
};

/** struct doca_gpunetio_ib_mlx5_wqe_data_seg - local memory; the only segment of a receive WQE */
struct doca_gpunetio_ib_mlx5_wqe_data_seg {
	uint32_t byte_count;
	uint32_t lkey;
	uint64_t addr;
};

/** struct doca_gpunetio_ib_mlx5_wqe_atomic_seg - operands */
struct doca_gpunetio_ib_mlx5_wqe_atomic_seg {
	uint64_t swap_add;
	uint64_t compare;
};

/** struct doca_gpunetio_ib_mlx5_wqe_wait_seg - a completion queue, and the count that it has to reach */
struct doca_gpunetio_ib_mlx5_wqe_wait_seg {
	uint64_t reserved;
	uint32_t max_index;
	uint32_t qpn_cqn;
};

/** struct doca_gpu_dev_verbs_wqe - one slot of a send queue, in all its forms */
struct doca_gpu_dev_verbs_wqe {
	__extension__ union {
		uint8_t inl_data[64];
		__extension__ struct {
			struct doca_gpunetio_ib_mlx5_wqe_data_seg dseg0, dseg1, dseg2, dseg3;
		};
		__extension__ struct {
			struct doca_gpunetio_ib_mlx5_wqe_ctrl_seg rw_cseg;
			struct doca_gpunetio_ib_mlx5_wqe_raddr_seg rw_rseg;
			struct doca_gpunetio_ib_mlx5_wqe_data_seg rw_dseg0, rw_dseg1;
		};
		__extension__ struct {
			struct doca_gpunetio_ib_mlx5_wqe_ctrl_seg at_cseg;
			struct doca_gpunetio_ib_mlx5_wqe_raddr_seg at_rseg;
			struct doca_gpunetio_ib_mlx5_wqe_atomic_seg at_seg;
			struct doca_gpunetio_ib_mlx5_wqe_data_seg at_dseg;
		};
		__extension__ struct {
			struct doca_gpunetio_ib_mlx5_wqe_ctrl_seg snd_cseg;
			struct doca_gpunetio_ib_mlx5_wqe_data_seg snd_dseg0, snd_dseg1, snd_dseg2;
		};
		__extension__ struct {
			struct doca_gpunetio_ib_mlx5_wqe_ctrl_seg wait_cseg;
			struct doca_gpunetio_ib_mlx5_wqe_wait_seg wait_dseg;
			uint8_t wait_padding[32];
		};
	};
};

/**
 * struct doca_gpunetio_ib_mlx5_cqe64 - a completion
 * @inl_data:	  payload, where the format in @op_own says so
 * @srqn_uidx:	  shared receive queue or user's index
 * @imm_inval_pkey: immediate, or invalidated key
 * @byte_cnt:	  bytes received
 * @sop_drop_qpn: opcode of the send WQE << 24 | queue pair
 * @wqe_counter:  index of the WQE
 * @op_own:	  opcode << 4 | format << 2 | solicited << 1 | owner
 */
struct doca_gpunetio_ib_mlx5_cqe64 {
	uint8_t inl_data[32];
	uint32_t srqn_uidx;
	uint32_t imm_inval_pkey;
	uint32_t app;
	uint32_t byte_cnt;
	uint64_t timestamp;
	uint32_t sop_drop_qpn;
	uint16_t wqe_counter;
	uint8_t signature;
	uint8_t op_own;
};

/** struct doca_gpunetio_ib_mlx5_err_cqe - a completion in error; its places are those of a cqe64 */
struct doca_gpunetio_ib_mlx5_err_cqe {
	uint8_t reserved0[32];
	uint32_t srqn;
	uint8_t reserved1[16];
	uint8_t hw_err_synd;
	uint8_t hw_synd_type;
	uint8_t vendor_err_synd;
	uint8_t syndrome;
	uint32_t s_wqe_opcode_qpn;
	uint16_t wqe_counter;
	uint8_t signature;
	uint8_t op_own;
};

/* The SDK's spelling. */
#define doca_gpu_dev_verbs_wqe_ctrl_seg doca_gpunetio_ib_mlx5_wqe_ctrl_seg
#define doca_gpunetio_mlx5_wqe_ctrl_seg doca_gpunetio_ib_mlx5_wqe_ctrl_seg
#define doca_gpunetio_mlx5_wqe_raddr_seg doca_gpunetio_ib_mlx5_wqe_raddr_seg
#define doca_gpunetio_mlx5_wqe_data_seg doca_gpunetio_ib_mlx5_wqe_data_seg
#define doca_gpunetio_mlx5_wqe_atomic_seg doca_gpunetio_ib_mlx5_wqe_atomic_seg
#define doca_gpunetio_mlx5_wqe_wait_seg doca_gpunetio_ib_mlx5_wqe_wait_seg
#define doca_gpunetio_mlx5_cqe64 doca_gpunetio_ib_mlx5_cqe64
#define doca_gpunetio_mlx5_err_cqe doca_gpunetio_ib_mlx5_err_cqe

#endif
