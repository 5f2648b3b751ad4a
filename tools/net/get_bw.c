// SPDX-License-Identifier: MIT
/* gpunetio_verbs_get_bw: each thread of a kernel gets, and waits for its own get. */
#include "net/bw.h"
#include "net/kernel.h"

static const struct net_bw_kind kind = {
	.program = {
		.name = "gpunetio_verbs_get_bw",
		.id = 6,
		.takes = NET_TAKES_SCOPE | NET_TAKES_THREADS | NET_TAKES_MEMORY | NET_TAKES_QPS,
		.about = "Bandwidth of gets by threads of a GPU from the memory of a server.",
		.min_size = 1,
		.max_size = 1 << 20,
		.largest = 1 << 26,
		.iters = 2048,
		.max_block = 256,
		.reads = true,
	},
	.ptx = &net_get_bw_ptx,
	.kernels = { "bl_get_bw_thread", "bl_get_bw_warp" },
};

int main(int argc, char **argv)
{
	return net_bw_main(argc, argv, &kind);
}
