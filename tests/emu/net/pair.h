/* SPDX-License-Identifier: MIT */
/*
 * pair.h - two queue pairs on software NICs, made through doca_verbs.h, and work requests posted by hand
 */
#ifndef TESTS_EMU_NET_PAIR_H
#define TESTS_EMU_NET_PAIR_H

#include "barlane_net.h"
#include "gpunetio/host/doca_verbs.h"
#include "tests/emu/world.h"
#include "tests/tap.h"

#define PAIR_DEPTH 16U /* sends, receives and completions */
#define PAIR_BYTES 65536UL

/* opcodes of requests, and of completions */
#define WRITE	 0x08
#define SEND	 0x0a
#define READ	 0x10
#define REQ	 0
#define RESP	 2
#define REQ_ERR	 13
#define RESP_ERR 14

/**
 * struct side - one end
 * @context, @pd: its device
 * @gpu:     queues and completions lie in memory of a GPU, at @mem
 * @data:    PAIR_BYTES bytes, of the GPU where @gpu_data; registered as @mr
 * @sq, @rq, @cqe: as the program knows them; of the GPU where @gpu
 * @dbr, @db: of the CPU
 * @pi, @rq_pi, @ci: counters
 */
struct side {
	struct ibv_context *context;
	struct ibv_pd *pd;
	bool gpu;
	bool gpu_data;
	CUdeviceptr mem;
	struct doca_verbs_umem *umem;
	struct doca_verbs_umem *dbr_umem;
	uint32_t *own_dbr;
	struct doca_verbs_cq *cq;
	struct doca_verbs_qp *qp;
	void *data;
	struct ibv_mr *mr;
	char *sq;
	char *rq;
	char *cqe;
	uint32_t *dbr;
	uint64_t *db;
	uint32_t pi;
	uint32_t rq_pi;
	uint32_t ci;
};

/**
 * struct pair_options - how to make both ends
 * @names:    devices; NULL: "soft0" and "soft1"
 * @type:     DOCA_VERBS_QP_TYPE_*
 * @gpu:      queues in memory of the GPU
 * @gpu_data: data in memory of the GPU
 * @host_data: of that side in memory of the host all the same
 * @no_dbrec: no doorbell records
 */
struct pair_options {
	const char *names[2];
	uint32_t type;
	bool gpu;
	bool gpu_data;
	bool host_data[2];
	bool no_dbrec;
};

/* First and last line of a test; everything is as it was. */
void pair_make(struct side sides[2], const struct pair_options *options);
void pair_drop(struct side sides[2]);

/* Memory of a side, as its owner sees it. */
void side_fill(struct side *side, size_t off, size_t len, unsigned char seed);
int side_is_filled(struct side *side, size_t off, size_t len, unsigned char seed);
/* What an unreliable connection sent may come later than its completion: wait for it, ten seconds at most. */
int side_gets_filled(struct side *side, size_t off, size_t len, unsigned char seed);

/* Post to a side; opcodes of mlx5. @raddr and @rkey matter where the opcode has them. */
void side_post(struct side *side, uint8_t opcode, size_t off, uint32_t len, uint64_t raddr, uint32_t rkey);
void side_post_recv(struct side *side, size_t off, uint32_t len);

/* Wait for the next completion; the opcode of the CQE, its syndrome for errors. Ends the test after ten seconds. */
unsigned int side_wait(struct side *side, unsigned int *syndrome_p);

uint64_t side_addr(const struct side *side, size_t off);

/* Go to a state with what the original's examples use. */
void side_to_init(struct side *side, uint32_t type);
void side_to_rts(struct side *side, struct side *peer, uint32_t type);

#endif
