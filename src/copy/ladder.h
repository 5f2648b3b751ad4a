/* SPDX-License-Identifier: MIT */
/*
 * ladder.h - the pieces of a copy that are smaller than a vector
 *
 * A copy climbs from the alignment of the mapped side to a whole vector in pieces of 1, 2, 4, 8 bytes, moves vectors,
 * and comes down again in pieces of 8, 4, 2, 1. Each piece is naturally aligned on the mapped side, so it is one access
 * and the pieces of a copy never overlap. "put" is host to mapping, "get" is mapping to host.
 *
 * The mapped side is touched through volatile accesses, or volatile asm for vectors: a compiler may neither split,
 * merge, repeat nor reorder those. Everything here is inlined into routines of any instruction set.
 */
#ifndef BL_COPY_LADDER_H
#define BL_COPY_LADDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BL_INLINE static inline __attribute__((always_inline))

/* A write-combining buffer, and a cache line, of every CPU that this is built for. */
#define BL_LINE 64UL

/**
 * struct bl_run - what is left of a copy
 * @dst: where the next byte goes
 * @src: where it comes from
 * @len: bytes left
 */
struct bl_run {
	uint8_t *dst;
	const uint8_t *src;
	size_t len;
};

/* Mapped side: aligned, and of no type in particular. */
typedef volatile uint16_t __attribute__((may_alias)) bl_mapped16;
typedef volatile uint32_t __attribute__((may_alias)) bl_mapped32;
typedef volatile uint64_t __attribute__((may_alias)) bl_mapped64;

/* Host side: any alignment. */
struct bl_host16 {
	uint16_t v;
} __attribute__((packed, may_alias));

struct bl_host32 {
	uint32_t v;
} __attribute__((packed, may_alias));

struct bl_host64 {
	uint64_t v;
} __attribute__((packed, may_alias));

BL_INLINE void bl_put1(uint8_t *dst, const uint8_t *src)
{
	*(volatile uint8_t *)dst = *src;
}

BL_INLINE void bl_put2(uint8_t *dst, const uint8_t *src)
{
	*(bl_mapped16 *)dst = ((const struct bl_host16 *)src)->v;
}

BL_INLINE void bl_put4(uint8_t *dst, const uint8_t *src)
{
	*(bl_mapped32 *)dst = ((const struct bl_host32 *)src)->v;
}

BL_INLINE void bl_put8(uint8_t *dst, const uint8_t *src)
{
	*(bl_mapped64 *)dst = ((const struct bl_host64 *)src)->v;
}

BL_INLINE void bl_get1(uint8_t *dst, const uint8_t *src)
{
	*dst = *(const volatile uint8_t *)src;
}

BL_INLINE void bl_get2(uint8_t *dst, const uint8_t *src)
{
	((struct bl_host16 *)dst)->v = *(const bl_mapped16 *)src;
}

BL_INLINE void bl_get4(uint8_t *dst, const uint8_t *src)
{
	((struct bl_host32 *)dst)->v = *(const bl_mapped32 *)src;
}

BL_INLINE void bl_get8(uint8_t *dst, const uint8_t *src)
{
	((struct bl_host64 *)dst)->v = *(const bl_mapped64 *)src;
}

BL_INLINE void bl_host_copy2(uint8_t *dst, const uint8_t *src)
{
	((struct bl_host16 *)dst)->v = ((const struct bl_host16 *)src)->v;
}

BL_INLINE void bl_host_copy4(uint8_t *dst, const uint8_t *src)
{
	((struct bl_host32 *)dst)->v = ((const struct bl_host32 *)src)->v;
}

BL_INLINE void bl_host_copy8(uint8_t *dst, const uint8_t *src)
{
	((struct bl_host64 *)dst)->v = ((const struct bl_host64 *)src)->v;
}

BL_INLINE bool bl_aligned(const void *addr, size_t width)
{
	return !((uintptr_t)addr & (width - 1));
}

/* Move one piece of @width bytes with @move and go on behind it. */
#define bl_step(run, move, width)                                                                                      \
	do {                                                                                                           \
		move((run)->dst, (run)->src);                                                                          \
		(run)->dst += (width);                                                                                 \
		(run)->src += (width);                                                                                 \
		(run)->len -= (width);                                                                                 \
	} while (0)

/* One rung up: a piece of @width, if the mapped address needs it to get to twice that alignment, and if it fits. */
#define bl_rung(run, mapped, move, width)                                                                              \
	do {                                                                                                           \
		if (((uintptr_t)(run)->mapped & (width)) && (run)->len >= (width))                                     \
			bl_step(run, move, width);                                                                     \
	} while (0)

/* One rung down, below twice @width bytes. */
#define bl_rest(run, move, width)                                                                                      \
	do {                                                                                                           \
		if ((run)->len & (width))                                                                              \
			bl_step(run, move, width);                                                                     \
	} while (0)

/* As many steps of @width as fit. */
#define bl_steps(run, move, width)                                                                                     \
	do {                                                                                                           \
		while ((run)->len >= (width))                                                                          \
			bl_step(run, move, width);                                                                     \
	} while (0)

/*
 * Do the copy if it is one naturally aligned piece: the commonest kind and the most urgent (flags, counters), so every
 * routine tries this first.
 */
BL_INLINE bool bl_put_single(const struct bl_run *run)
{
	if (run->len > 8 || !bl_aligned(run->dst, run->len))
		return false;
	if (run->len == 8)
		bl_put8(run->dst, run->src);
	else if (run->len == 4)
		bl_put4(run->dst, run->src);
	else if (run->len == 2)
		bl_put2(run->dst, run->src);
	else if (run->len == 1)
		bl_put1(run->dst, run->src);
	else
		return false;
	return true;
}

BL_INLINE bool bl_get_single(const struct bl_run *run)
{
	if (run->len > 8 || !bl_aligned(run->src, run->len))
		return false;
	if (run->len == 8)
		bl_get8(run->dst, run->src);
	else if (run->len == 4)
		bl_get4(run->dst, run->src);
	else if (run->len == 2)
		bl_get2(run->dst, run->src);
	else if (run->len == 1)
		bl_get1(run->dst, run->src);
	else
		return false;
	return true;
}

/* Climb to 8 (or less, if the copy ends before). Afterwards a piece that fits is aligned. */
BL_INLINE void bl_put_head(struct bl_run *run)
{
	bl_rung(run, dst, bl_put1, 1);
	bl_rung(run, dst, bl_put2, 2);
	bl_rung(run, dst, bl_put4, 4);
}

BL_INLINE void bl_get_head(struct bl_run *run)
{
	bl_rung(run, src, bl_get1, 1);
	bl_rung(run, src, bl_get2, 2);
	bl_rung(run, src, bl_get4, 4);
}

/* The last bytes, fewer than 16. */
BL_INLINE void bl_put_tail(struct bl_run *run)
{
	bl_rest(run, bl_put8, 8);
	bl_rest(run, bl_put4, 4);
	bl_rest(run, bl_put2, 2);
	bl_rest(run, bl_put1, 1);
}

BL_INLINE void bl_get_tail(struct bl_run *run)
{
	bl_rest(run, bl_get8, 8);
	bl_rest(run, bl_get4, 4);
	bl_rest(run, bl_get2, 2);
	bl_rest(run, bl_get1, 1);
}

#endif
