/* SPDX-License-Identifier: MIT */
/* dkms.h - how far DKMS has come with a module */
#ifndef TOOLS_DOCTOR_DKMS_H
#define TOOLS_DOCTOR_DKMS_H

#include "common/tree.h"

enum doctor_dkms {
	DOCTOR_DKMS_ABSENT,    /* it does not know the module */
	DOCTOR_DKMS_ADDED,     /* it has the sources, and nothing for this kernel */
	DOCTOR_DKMS_FAILED,    /* the same, and the log of a build that did not end well */
	DOCTOR_DKMS_BUILT,     /* for this kernel, not installed */
	DOCTOR_DKMS_INSTALLED, /* for this kernel */
};

/**
 * doctor_dkms_state() - Read the state of a module off DKMS's tree
 * @tree:    files of the machine
 * @name:    name of the package in DKMS
 * @release: of the kernel
 *
 * Of several versions the one that has come farthest counts.
 */
enum doctor_dkms doctor_dkms_state(const struct tool_tree *tree, const char *name, const char *release);

#endif
