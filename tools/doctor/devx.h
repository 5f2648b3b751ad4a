/* SPDX-License-Identifier: MIT */
/* devx.h - whether devices of mlx5 take commands of programs */
#ifndef TOOLS_DOCTOR_DEVX_H
#define TOOLS_DOCTOR_DEVX_H

/* For struct doctor_trials: opens the device with DevX, and closes it. */
int doctor_try_devx(const char *device);

#endif
