// SPDX-License-Identifier: MIT
/* Ways between storage and GPU, per kind of storage: taken down for the next open, as the original does. */
#define log_fmt(fmt) "file/p2p: " fmt
#include "driver.h"
#include "error.h"
#include "util/log.h"

/* Only PCI P2PDMA can be asked for where GPU memory has no coherent link. */
#if defined(__aarch64__)
#define KNOWN (1U << CUFILE_P2PDMA | 1U << CUFILE_C2C)
#else
#define KNOWN (1U << CUFILE_P2PDMA)
#endif

/* Guarded by the driver's lock. */
static unsigned int flags[CU_FILE_MAX_TARGET_TYPES];

static int check(unsigned int kind)
{
	/* 10 was never given out */
	if (kind >= CU_FILE_MAX_TARGET_TYPES || kind == 10)
		return bl_fail(-BL_CUFILE(CU_FILE_INVALID_VALUE), log_fmt("%u: no kind of storage"), kind);
	return 0;
}

CUfileError_t cuFileDriverSetP2PFlags(CUfileDriverStatusFlags_t status_flag, CUfileP2PFlags_t p2p_flags)
{
	unsigned int wanted = (unsigned int)p2p_flags;
	int ret = check((unsigned int)status_flag);

	if (!ret && wanted & ~KNOWN)
		ret = bl_fail(-BL_CUFILE(CU_FILE_INVALID_VALUE), log_fmt("flags 0x%x: this platform has 0x%x"), wanted, KNOWN);
	if (ret)
		return bl_error_status(ret);
	if (bl_driver_lock())
		ret = bl_fail(-BL_CUFILE(CU_FILE_DRIVER_ALREADY_OPEN), log_fmt("flags 0x%x: the driver is open"), wanted);
	else if (wanted)
		flags[status_flag] |= wanted;
	bl_driver_unlock();
	return bl_error_status(ret);
}

CUfileError_t cuFileDriverGetP2PFlags(CUfileDriverStatusFlags_t status_flag, CUfileP2PFlags_t *p2p_flags)
{
	int ret = check((unsigned int)status_flag);

	if (!ret && !p2p_flags)
		ret = bl_fail(-BL_CUFILE(CU_FILE_INVALID_VALUE), log_fmt("flags: no place for them"));
	if (!ret) {
		bl_driver_lock();
		*p2p_flags = (CUfileP2PFlags_t)flags[status_flag];
		bl_driver_unlock();
	}
	return bl_error_status(ret);
}
