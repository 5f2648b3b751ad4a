/* SPDX-License-Identifier: MIT */
/*
 * card.h - what tests of the emulated card's driver share
 *
 * Requests return 0 or -errno. What a test takes it need not give back when it fails.
 */
#ifndef BL_TESTS_KERNEL_CARD_H
#define BL_TESTS_KERNEL_CARD_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/kernel/card_uapi.h"
#include "tests/kernel/modules/bl_p2ptest/p2ptest_uapi.h"

#define BLOCK	 ((uint64_t)BL_CARD_BLOCK_SIZE)
#define GPU_PAGE ((uint64_t)BL_CARD_PAGE_SIZE)
#define FIRST_VA 0x7f2000000000ULL
#define KERNEL_ENOTSUPP 524 /* the kernel's own, which no libc names */

/* Load or unload /modules/NAME.ko. */
int module_load(const char *name);
int module_unload(const char *name);

/* Unload the card's driver, which may take a moment after its last file was closed. Whether it is gone. */
bool card_unload(void);

/* Close both, and unload their modules and the engine's. Whether all are gone. */
bool modules_unload(int card, int client);

/* Write a number to, or read one from, a file of /sys/kernel/debug/bl_card. */
void knob(const char *name, uint64_t value);
uint64_t knob_value(const char *name);

/* ioctl() that tells its error. */
int request(int fd, unsigned long cmd, void *arg);

/* A new address space, or -errno. */
int card_open(void);

/**
 * struct object - memory object with an address
 * @handle: handle
 * @off:    offset in video memory
 * @size:   bytes
 * @va:     GPU address, 0 for none
 */
struct object {
	uint32_t handle;
	uint64_t off;
	uint64_t size;
	uint64_t va;
};

int object_new(int card, uint64_t size, struct object *object);

/* The same with an address of its own: FIRST_VA and what follows. */
int object_bound(int card, uint64_t size, struct object *object);
int object_bind(int card, struct object *object, uint64_t va);
int object_free(int card, const struct object *object);

/* CPU view of an object, or NULL. */
volatile uint8_t *object_map(int card, const struct object *object);

/* What is there now; @verify also reads all poisoned memory. */
struct bl_card_counters counters(int card, bool verify);

/* Whether reading a byte raises SIGBUS. */
bool read_is_sigbus(const volatile uint8_t *at);

int client_open(void);
int client_get(int client, uint32_t slot, uint32_t flags, uint64_t va, uint64_t len);
int client_put(int client, uint32_t slot, uint32_t flags, uint64_t va);
uint32_t client_called(int client, uint32_t slot);

/* Run a function in a child and return what it returns, 0 to 127, or -1 when it did not get so far. */
int in_child(int (*run)(void *arg), void *arg);

#endif
