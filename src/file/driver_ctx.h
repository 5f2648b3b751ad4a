/* SPDX-License-Identifier: MIT */
/* driver_ctx.h - the core's context of the driver; see bl_driver_ctx() */
#ifndef BL_FILE_DRIVER_CTX_H
#define BL_FILE_DRIVER_CTX_H

/* Close it, unless requests still hold pins: then it stays for the next open. */
void bl_driver_ctx_close(void);

/* In a child that begins anew: it is the parent's. */
void bl_driver_ctx_forget(void);

#endif
