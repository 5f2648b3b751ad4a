// SPDX-License-Identifier: MIT
/* gpunetio_verbs_put_counter_bw: threads of a block put, and a counter that the NIC raises says that they are done. */
#include "net/bw.h"
#include "net/kernel.h"

static const struct net_bw_kind kind = {
	.program = {
		.name = "gpunetio_verbs_put_counter_bw",
		.id = 8,
		.takes = NET_TAKES_THREADS | NET_TAKES_MEMORY | NET_TAKES_QPS,
		.about = "Bandwidth of puts by threads of a GPU that a counter of the NIC tells the end of.",
		.min_size = 1,
		.max_size = 1 << 20,
		.largest = 1 << 26,
		.iters = 2048,
		.max_block = 512,
		.block_has_qp = true,
		.atomics = true,
	},
	.ptx = &net_counter_bw_ptx,
	.kernels = { "bl_put_counter_bw", "bl_put_counter_bw" },
	.by_round = true,
	.counts = true,
};

int main(int argc, char **argv)
{
	return net_bw_main(argc, argv, &kind);
}
