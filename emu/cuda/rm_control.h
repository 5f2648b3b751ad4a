/* SPDX-License-Identifier: MIT */
/*
 * rm_control.h - controls, one table per file
 *
 * A handler gets parameters of exactly the size its table states for the branch.
 */
#ifndef EMU_CUDA_RM_CONTROL_H
#define EMU_CUDA_RM_CONTROL_H

#include "rm_state.h"

/* Sizes that depend on the branch. */
enum rm_size {
	RM_SIZE_FIXED,
	RM_SIZE_PROBED_IDS,
	RM_SIZE_EXPORT_INFO,
	RM_SIZE_PAGE_SIZE,
	RM_SIZE_FB_INFO_V2,
	RM_SIZE_STATIC_BAR1,
	RM_SIZE_DUP_QUERY,
};

/**
 * struct rm_control - one control
 * @cmd:    number
 * @hclass: class of the object it is for; RM_CLASS_CLIENT: the client itself
 * @which:  how its size is found
 * @size:   bytes, for RM_SIZE_FIXED
 * @serve:  @object is NULL for controls of the client
 */
struct rm_control {
	uint32_t cmd;
	uint32_t hclass;
	enum rm_size which;
	uint32_t size;
	uint32_t (*serve)(struct rm_client *client, struct rm_object *object, void *params);
};

/* Each ends with an entry without @serve. */
extern const struct rm_control rm_controls_client[]; /* rm_control_client.c: objects and rights */
extern const struct rm_control rm_controls_system[]; /* rm_control_system.c: which GPUs there are */
extern const struct rm_control rm_controls_export[]; /* rm_export.c */
extern const struct rm_control rm_controls_gpu[];    /* rm_control_gpu.c: memory and subdevice */

#endif
