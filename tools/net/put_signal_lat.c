// SPDX-License-Identifier: MIT
/* gpunetio_verbs_put_signal_lat: messages by put with a signal, which is looked for. */
#include "net/kernel.h"
#include "net/lat.h"

static const struct net_lat_kind kind = {
	.program = {
		.name = "gpunetio_verbs_put_signal_lat",
		.id = 7,
		.takes = NET_TAKES_DBR,
		.about = "Round trip of puts with a signal between two GPU threads.",
		.min_size = 1,
		.max_size = 16384,
		.largest = 16384,
		.iters = 2048,
		.atomics = true,
	},
	.ptx = &net_signal_lat_ptx,
	.kernel = "bl_put_signal_lat",
	/* a put with its signal is two requests: their doorbell is rung */
	.blueflame = "bl_put_signal_lat",
};

int main(int argc, char **argv)
{
	return net_lat_main(argc, argv, &kind);
}
