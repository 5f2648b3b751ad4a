// SPDX-License-Identifier: MIT
/* gpunetio_forward: sends each message back to gpunetio_forward_peer. */
#include "net/forward.h"

int main(int argc, char **argv)
{
	struct net_options options;
	struct net_part part;

	net_options_parse(argc, argv, &net_forward_program, &options);
	part = net_forward_part(&options);
	return net_session_main(&options, &part, NULL);
}
