/* SPDX-License-Identifier: MIT */
/* modfile.h - file of a kernel module, and whether it is signed */
#ifndef TOOLS_DOCTOR_MODFILE_H
#define TOOLS_DOCTOR_MODFILE_H

#include <stddef.h>
#include <stdint.h>

#include "common/tree.h"

/* Bytes at the end of a module that doctor_signature_parse() looks at. */
#define DOCTOR_SIGNATURE_TAIL 40

enum doctor_signature {
	DOCTOR_SIGNATURE_NONE,
	DOCTOR_SIGNATURE_THERE,	 /* by whom, and whether the kernel knows the key, is not looked at */
	DOCTOR_SIGNATURE_BAD,	 /* the marker is there, but what stands before it makes no sense */
	DOCTOR_SIGNATURE_UNSEEN, /* the file is compressed */
};

/**
 * struct doctor_modfile - file of a module
 * @path:      where, without the root of the tree
 * @err:       0, -EINVAL when it is no module or not what its name says, or -errno when it cannot be read
 * @signature: valid when @err is 0
 */
struct doctor_modfile {
	char path[256];
	int err;
	enum doctor_signature signature;
};

/**
 * doctor_signature_parse() - Look for an appended signature
 * @tail:  last bytes of the file
 * @len:   how many; DOCTOR_SIGNATURE_TAIL, or the whole of a smaller file
 * @whole: bytes of the file
 *
 * Return: never DOCTOR_SIGNATURE_UNSEEN.
 */
enum doctor_signature doctor_signature_parse(const uint8_t *tail, size_t len, uint64_t whole);

/**
 * doctor_modfile_find() - Find the file of module gdrdrv for a kernel, where packages and DKMS put it
 * @tree:    files of the machine
 * @release: of the kernel
 * @file:    receives what was found
 *
 * Return: 0 or -ENOENT.
 */
int doctor_modfile_find(const struct tool_tree *tree, const char *release, struct doctor_modfile *file);

#endif
