// SPDX-License-Identifier: MIT
/*
 * nvfs_cost: what nvidia-fs.ko takes of the CPU and of memory, with the emulated card and drive of a guest. Runs in the
 * guest; bench/nvfs.sh starts one.
 */
#include "bed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

/* All measurements, or the one that is named. */
static bool wants(int argc, char **argv, const char *name)
{
	return argc < 3 || !strcmp(argv[2], name);
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 60;
	uint64_t room = bed_largest() - 64 * MIB;
	struct utsname kernel;
	struct bed bed;
	bool missed = false;

	if (argc > 3 || rounds < 3) {
		fprintf(stderr,
			"usage: %s [ROUNDS [maps|allocs|memory|cpu]]\nROUNDS is 3 or more; exit status 1 when a limit is "
			"missed.\n",
			argv[0]);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	bed_open(room < 4 * GIB ? room : 4 * GIB, &bed);
	uname(&kernel);
	printf("# nvfs_cost kernel %s gpu and drive (emu); the machine is emulated: only ratios mean something\n",
	       kernel.release);
	if (wants(argc, argv, "maps"))
		missed |= bench_maps(&bed, rounds * 20);
	if (wants(argc, argv, "allocs"))
		missed |= bench_allocs(&bed);
	if (wants(argc, argv, "memory"))
		bench_memory(&bed);
	if (wants(argc, argv, "cpu"))
		missed |= bench_cpu(&bed, rounds);
	return missed;
}
