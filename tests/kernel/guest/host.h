/* SPDX-License-Identifier: MIT */
/*
 * host.h - have the host look at, or change, the card's memory from outside
 *
 * The guest's init connects the standard input and output of a test with the host.
 */
#ifndef BL_TESTS_KERNEL_HOST_H
#define BL_TESTS_KERNEL_HOST_H

#include <stdbool.h>
#include <stdint.h>

/**
 * host_ask() - Ask the host and wait for the answer
 * @verb:    "check": are these bytes there? "fill": put them there
 * @off:     first byte in the card's memory
 * @len:     bytes
 * @pattern: what is repeated in them, in hexadecimal
 *
 * A check that fails also fails the test program.
 *
 * Return: whether the host agrees.
 */
bool host_ask(const char *verb, uint64_t off, uint64_t len, const char *pattern);

/**
 * host_do() - Have the host do something and wait until it has
 * @request: "unplug": ask the guest's kernel to let the card go, and take it away. "plug": bring a card. What the
 *           kernel makes of it takes seconds, and is not waited for
 *
 * Return: whether the host did it.
 */
bool host_do(const char *request);

#endif
