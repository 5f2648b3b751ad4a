// SPDX-License-Identifier: MIT
/* gpunetio_verbs_write_lat: messages by RDMA write, whose last byte is looked for. */
#include "net/kernel.h"
#include "net/lat.h"

static const struct net_lat_kind kind = {
	.program = {
		.name = "gpunetio_verbs_write_lat",
		.id = 3,
		.takes = NET_TAKES_DBR | NET_TAKES_INLINE,
		.about = "Round trip of RDMA writes between two GPU threads.",
		.min_size = 1,
		.max_size = 16384,
		.largest = 16384,
		.iters = 2048,
		.max_inline = 28,
	},
	.ptx = &net_write_lat_ptx,
	.kernel = "bl_write_lat_db",
	.blueflame = "bl_write_lat_bf",
};

int main(int argc, char **argv)
{
	return net_lat_main(argc, argv, &kind);
}
