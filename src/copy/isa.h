/* SPDX-License-Identifier: MIT */
/*
 * isa.h - what each instruction set's file gives to cpu.c
 *
 * A file defines its two routines once, inlined, and publishes them twice: bare (struct bl_cpu_isa, for tests and
 * benchmarks) and with the fences of a write-combining mapping built in, so that a copy is one indirect call.
 */
#ifndef BL_COPY_ISA_H
#define BL_COPY_ISA_H

#include "cpu.h"
#include "fence.h"

/**
 * struct bl_isa - one instruction set
 * @bare: without fences
 * @wc:   with those of a write-combining mapping
 */
struct bl_isa {
	struct bl_cpu_isa bare;
	struct bl_cpu_copy wc;
};

extern const struct bl_isa bl_isa_scalar;
extern const struct bl_isa bl_isa_sse41;
extern const struct bl_isa bl_isa_avx2;
extern const struct bl_isa bl_isa_avx512;
extern const struct bl_isa bl_isa_movdir64b;
extern const struct bl_isa bl_isa_neon;
extern const struct bl_isa bl_isa_ls64;

/* Routines for mappings of device memory. */
extern const struct bl_cpu_copy bl_copy_device;

/*
 * Publish put_<set>() and get_<set>() as bl_isa_<set>. @target is the function attribute that lets the compiler use
 * the instruction set, or nothing.
 */
#define BL_ISA_DEFINE(set, isa_name, is_supported, target)							       \
	target static int bare_to(void *dst, const void *src, size_t len)					       \
	{													       \
		put_##set((struct bl_run){dst, src, len});							       \
		return 0;											       \
	}													       \
	target static int bare_from(void *dst, const void *src, size_t len)					       \
	{													       \
		get_##set((struct bl_run){dst, src, len});							       \
		return 0;											       \
	}													       \
	target static int wc_to(void *dst, const void *src, size_t len)						       \
	{													       \
		put_##set((struct bl_run){dst, src, len});							       \
		bl_fence_wc_store();										       \
		return 0;											       \
	}													       \
	target static int wc_from(void *dst, const void *src, size_t len)					       \
	{													       \
		get_##set((struct bl_run){dst, src, len});							       \
		bl_fence_wc_load();										       \
		return 0;											       \
	}													       \
	const struct bl_isa bl_isa_##set = {									       \
		.bare = {isa_name, is_supported, bare_to, bare_from},						       \
		.wc = {isa_name, wc_to, wc_from},								       \
	}

#endif
