/* SPDX-License-Identifier: MIT */
/* nvfs_modules.h - which storage drivers have hooked themselves into the nvidia-fs module */
#ifndef BL_FILE_NVFS_MODULES_H
#define BL_FILE_NVFS_MODULES_H

/**
 * bl_nvfs_modules_parse() - Understand the module's list
 * @text: /proc/driver/nvidia-fs/modules: "KEY: VERSION" a line
 *
 * Return: bits of enum CUfileDriverStatusFlags; unknown keys have none.
 */
unsigned int bl_nvfs_modules_parse(const char *text);

/* The same of the running module; 0 without it. */
unsigned int bl_nvfs_modules_flags(void);

#endif
