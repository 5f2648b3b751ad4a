/* SPDX-License-Identifier: MIT */
/*
 * other.h - sides on one NIC, and memory of a GPU besides theirs
 */
#ifndef TESTS_EMU_NET_OTHER_H
#define TESTS_EMU_NET_OTHER_H

#include "pair.h"

#define LONG 20000U
#define MIB  (1UL << 20)

/**
 * struct other - memory of a GPU, in a context of its own
 * @mr: registered by side 1
 */
struct other {
	CUcontext context;
	CUdeviceptr va;
	struct ibv_mr *mr;
};

/* Both ends on one NIC, with data in GPU memory, or in host memory where @gpu_0 or @gpu_1 is false. */
struct pair_options place_options(bool gpu_0, bool gpu_1, uint32_t type);

/* Whether contexts of different GPUs can be given access to each other. */
bool has_peers(void);

/* Whether the NIC gives it to them. */
bool goes_directly(void);

/* 2 MiB of GPU @ordinal in a new context, which is not current afterwards. */
void other_make(struct other *other, struct side *side, int ordinal);

/* Before the pair is dropped. */
void other_drop(struct other *other);

/* A pair on the first GPU and memory of the second one, made when the core has used that, too. */
void pair_make_with_other(struct side sides[2], struct other *other);

/* Whether these bytes lie at @off. */
bool other_has(const struct other *other, size_t off, const unsigned char bytes[LONG]);

#endif
