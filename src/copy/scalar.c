// SPDX-License-Identifier: MIT
/*
 * scalar.c - copies in accesses of 8, 4, 2, 1 bytes; for every architecture, and for device memory
 */
#include "isa.h"
#include "ladder.h"

static bool supported(void)
{
	return true;
}

BL_INLINE void put_line(uint8_t *dst, const uint8_t *src)
{
	for (size_t off = 0; off < BL_LINE; off += 8)
		bl_put8(dst + off, src + off);
}

BL_INLINE void get_line(uint8_t *dst, const uint8_t *src)
{
	for (size_t off = 0; off < BL_LINE; off += 8)
		bl_get8(dst + off, src + off);
}

BL_INLINE void put_scalar(struct bl_run run)
{
	if (bl_put_single(&run))
		return;
	bl_put_head(&run);
	bl_steps(&run, put_line, BL_LINE);
	bl_steps(&run, bl_put8, 8);
	bl_put_tail(&run);
}

BL_INLINE void get_scalar(struct bl_run run)
{
	if (bl_get_single(&run))
		return;
	bl_get_head(&run);
	bl_steps(&run, get_line, BL_LINE);
	bl_steps(&run, bl_get8, 8);
	bl_get_tail(&run);
}

BL_ISA_DEFINE(scalar, "scalar", supported, );

/* Device memory takes naturally aligned accesses only, and takes them in program order: no vectors and no fence. */
const struct bl_cpu_copy bl_copy_device = {"device", bare_to, bare_from};
