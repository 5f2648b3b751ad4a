/* SPDX-License-Identifier: MIT */
/* security.h - what keeps unsigned kernel modules out */
#ifndef TOOLS_DOCTOR_SECURITY_H
#define TOOLS_DOCTOR_SECURITY_H

#include <stddef.h>
#include <stdint.h>

#include "common/tree.h"

/* Whether the kernel takes modules without a signature. */
enum doctor_signing {
	DOCTOR_SIGNING_FREE,   /* nothing asks for signatures */
	DOCTOR_SIGNING_UNSURE, /* Secure Boot is on, and the kernel does not say what follows from it */
	DOCTOR_SIGNING_FORCED, /* it does not */
};

/**
 * doctor_lockdown_parse() - Find the mode in force
 * @text: text of /sys/kernel/security/lockdown, such as "none [integrity] confidentiality"
 * @mode: receives the word in brackets
 * @size: bytes of @mode, > 0
 *
 * Return: 0 or -EINVAL.
 */
int doctor_lockdown_parse(const char *text, char *mode, size_t size);

/* State in the firmware's variable SecureBoot, 4 bytes of attributes and the value: 1 on, 0 off, -EINVAL something
 * else. */
int doctor_secure_boot_parse(const uint8_t *bytes, size_t len);

/**
 * doctor_signing() - Find out whether the kernel takes modules without a signature
 * @tree: files of the machine
 * @why:  receives what asks for signatures, "" for nothing
 * @size: bytes of @why, > 0
 *
 * What cannot be read asks for nothing.
 */
enum doctor_signing doctor_signing(const struct tool_tree *tree, char *why, size_t size);

#endif
