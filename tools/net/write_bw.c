// SPDX-License-Identifier: MIT
/* gpunetio_verbs_write_bw: the threads of a block fill requests, one submits them. */
#include "net/bw.h"
#include "net/kernel.h"

static const struct net_bw_kind kind = {
	.program = {
		.name = "gpunetio_verbs_write_bw",
		.id = 2,
		.takes = NET_TAKES_THREADS | NET_TAKES_MEMORY | NET_TAKES_QPS | NET_TAKES_INLINE,
		.about = "Bandwidth of RDMA writes that a block of GPU threads posts together.",
		.min_size = 1,
		.max_size = 1 << 20,
		.largest = 1 << 26,
		.iters = 2048,
		.max_inline = 28,
		.max_block = 1024,
		.block_has_qp = true,
	},
	.ptx = &net_write_bw_ptx,
	.kernels = { "bl_write_bw", "bl_write_bw" },
	.inlined = { "bl_write_bw_inline", "bl_write_bw_inline" },
	.by_round = true,
};

int main(int argc, char **argv)
{
	return net_bw_main(argc, argv, &kind);
}
