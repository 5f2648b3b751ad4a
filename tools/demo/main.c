// SPDX-License-Identifier: MIT
/*
 * barlane-demo - "barlane bench" as scripts/demo runs it, from the build directory and with no file by default
 */
#include "demo.h"

int main(int argc, char **argv)
{
	return demo_main("barlane-demo", NULL, argc, argv);
}
