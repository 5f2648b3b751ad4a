/* SPDX-License-Identifier: MIT */
/*
 * fake_gdrdrv.h - a module behind /dev/gdrdrv, any version, by the book
 *
 * States codes and offsets itself. Memory is the whole of fake_sys.h's, at FAKE_VRAM_VA.
 */
#ifndef TESTS_UNIT_FAKE_GDRDRV_H
#define TESTS_UNIT_FAKE_GDRDRV_H

#include "fake_sys.h"

#define FAKE_GDRDRV_VERSION(minor) (2U << 16 | (minor))

/**
 * struct fake_gdrdrv - what the module is like; may be changed at any time
 * @version:    that it reports
 * @min_api:    oldest library that it accepts
 * @persistent: pins keep the memory; tokens are refused then
 * @force_pcie: the flag is accepted
 * @type:       type of every mapping
 * @page_size:  that it reports, 65536
 * @released:   the callback flag of all pins
 * @fail_code:  a command that fails, 0 none
 * @fail_err:   how: positive errno
 */
struct fake_gdrdrv {
	uint32_t version;
	uint32_t min_api;
	bool persistent;
	bool force_pcie;
	uint32_t type;
	uint32_t page_size;
	bool released;
	uint32_t fail_code;
	int fail_err;
};

extern struct fake_gdrdrv fake_gdrdrv;

/* fake_sys_begin(), and a module of version 2.@minor with the defaults of that version. */
void fake_gdrdrv_begin(unsigned int minor);

/* Pins that exist, in all files. */
int fake_gdrdrv_pins(void);

/* Everything was given back and no rule was broken. */
void fake_gdrdrv_end(void);

#endif
