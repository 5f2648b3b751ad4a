// SPDX-License-Identifier: MIT
/* gpunetio_verbs_put_bw: each thread of a kernel puts, and waits for its own put. */
#include "net/bw.h"
#include "net/kernel.h"

static const struct net_bw_kind kind = {
	.program = {
		.name = "gpunetio_verbs_put_bw",
		.id = 1,
		.takes = NET_TAKES_SCOPE | NET_TAKES_THREADS | NET_TAKES_MEMORY | NET_TAKES_QPS | NET_TAKES_INLINE,
		.about = "Bandwidth of puts by threads of a GPU into the memory of a server.",
		.min_size = 1,
		.max_size = 1 << 20,
		.largest = 1 << 26,
		.iters = 2048,
		.max_inline = 8,
		.max_block = 256,
	},
	.ptx = &net_put_bw_ptx,
	.kernels = { "bl_put_bw_thread", "bl_put_bw_warp" },
	.inlined = { "bl_put_bw_inline_thread", "bl_put_bw_inline_warp" },
};

int main(int argc, char **argv)
{
	return net_bw_main(argc, argv, &kind);
}
