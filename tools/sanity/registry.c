// SPDX-License-Identifier: MIT
/*
 * registry.c - all tests in the order in which they run: GDRCopy's, then this project's own
 */
#include "sanity/sanity.h"

const struct sanity_test *const sanity_families[] = {
	sanity_basic,
	sanity_data,
	sanity_access,
	sanity_fork,
	sanity_sock,
	sanity_fork_tokens,
	sanity_attributes,
	sanity_badinput,
	sanity_handles,
	sanity_abi,
	sanity_single,
	sanity_memory,
	sanity_threads,
	sanity_processes,
	sanity_sock_mmap,
	sanity_gpus,
	sanity_export,
	NULL,
};
