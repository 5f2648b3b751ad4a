/* SPDX-License-Identifier: MIT */
/*
 * fake_mlx5.h - a stand-in libmlx5.so.1, whose devices take commands, and move bytes
 *
 * It stands on the stand-in libibverbs of tests/unit/ibv, whose devices it names mlx5_0 and mlx5_1. A command is taken
 * apart by its own reading of the manual: opcode and lengths, values, objects that it names, order of moves, and that
 * all else is zero. What is not as it should be is a complaint of that library, which a test finds at its end.
 *
 * The data path is a software NIC's behind a doorbell. Queues that commands made are its queues; a thread looks at
 * pages of doorbells, and shows it the send records of those queue pairs whose page was written to. So a doorbell
 * without record and a record without doorbell both do nothing, and requests are taken apart by softnic's parsers.
 */
#ifndef BL_TESTS_FAKE_MLX5_H
#define BL_TESTS_FAKE_MLX5_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_COMMANDS	 64
#define FAKE_COMMAND_MAX 272
#define FAKE_EQN	 5
#define FAKE_MIN_SPORT	 0xc000
#define FAKE_MAX_SPORT	 0xffff

/* A command as it came, without what is beyond FAKE_COMMAND_MAX. */
struct fake_command {
	uint16_t opcode;
	size_t in_len;
	size_t out_len;
	uint8_t in[FAKE_COMMAND_MAX];
};

/**
 * struct fake_mlx5 - all of it; tests change it while no thread is at work
 * @fail_opcode, @fail_status, @fail_syndrome: the next command of that opcode fails with these
 * @fail_quietly: then the kernel says nothing: the caller has to look at the answer
 * @no_devx:	  devices open without it, and are refused with it
 * @no_dedicated: no pages of doorbells for one object alone
 * @no_umem_dmabuf: no dma-bufs as memory of queues
 * @no_oi, @no_cd, @no_atomic, @no_uc: capabilities that devices lack
 * @own_sport:	  they choose the UDP source port themselves
 * @log_max_qp_sz, @log_max_cq_sz: of queues
 * @commands, @nr_commands: the first ones
 * @doorbells, @blueflames: writes that were seen in pages of doorbells: 8 bytes, a request
 * @umem_dmabufs: umems by dma-buf
 */
struct fake_mlx5 {
	uint16_t fail_opcode;
	uint8_t fail_status;
	uint32_t fail_syndrome;
	bool fail_quietly;
	bool no_devx;
	bool no_dedicated;
	bool no_umem_dmabuf;
	bool no_oi;
	bool no_cd;
	bool no_atomic;
	bool no_uc;
	bool own_sport;
	uint8_t log_max_qp_sz;
	uint8_t log_max_cq_sz;
	struct fake_command commands[FAKE_COMMANDS];
	unsigned int nr_commands;
	unsigned int doorbells;
	unsigned int blueflames;
	unsigned int umem_dmabufs;
};

extern struct fake_mlx5 fake_mlx5;

/* As after start; live objects stay. */
void fake_mlx5_reset(void);

/* The last command of an opcode, NULL: there was none. */
const struct fake_command *fake_mlx5_last(uint16_t opcode);

/* Receive lists of a queue pair, modulo 2^16, that the device has seen by its record. */
unsigned int fake_mlx5_receives(uint32_t qpn);

#endif
