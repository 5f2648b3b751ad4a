// SPDX-License-Identifier: MIT
/* A shared object that has no kernels. */
extern int bl_no_kernel;
int bl_no_kernel = 1;
