/* SPDX-License-Identifier: MIT */
/* storage.h - what the paths of libcufile stand on, tried out */
#ifndef TOOLS_DOCTOR_STORAGE_H
#define TOOLS_DOCTOR_STORAGE_H

/* Answers of a trial. */
enum doctor_can { DOCTOR_CAN_UNKNOWN, DOCTOR_CAN_NOT, DOCTOR_CAN };

/**
 * struct doctor_fs_can - what files of a mount can do
 * @direct: O_DIRECT
 * @nowait: reads of what is in the page cache alone
 */
struct doctor_fs_can {
	enum doctor_can direct;
	enum doctor_can nowait;
};

/**
 * struct doctor_trials - trials, so that tests can answer in the kernel's place
 * @fs:    of the folder where something is mounted; leaves nothing there. Never called for what may not answer
 * @uring: whether io_uring can be used: 0, -ENOENT: liburing cannot be loaded, -ENOPKG: it is too old, or what the kernel
 *         says
 * @verbs: whether libibverbs can be loaded: 0 or -ENOENT; may be NULL: it is not asked
 * @devx:  whether a device of mlx5 opens with DevX: 0, -ENOENT: libmlx5 cannot be loaded, -ENODEV: it has none of the name,
 *	   or what it says; may be NULL: it is not asked
 */
struct doctor_trials {
	void (*fs)(const char *folder, struct doctor_fs_can *can);
	int (*uring)(void);
	int (*verbs)(void);
	int (*devx)(const char *device);
};

extern const struct doctor_trials doctor_trials_kernel;

struct doctor;

/* The row of check file for the mount that a file or folder is on; path without symbolic links. 0 or -ENOENT. */
int doctor_storage_path(struct doctor *doctor, const char *path);

#endif
