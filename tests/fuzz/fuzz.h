/* SPDX-License-Identifier: MIT */
/*
 * fuzz.h - what the fuzz targets share: input taken bit by bit, and system calls that answer with it
 *
 * A target aborts when a promise is broken, and the sanitizers do when memory is. Descriptors and mappings are counted:
 * whatever was answered, a target ends with none.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Entry point that libFuzzer calls. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Promises; the program's end is the report. */
#define must(cond)                                                                                                     \
	do {                                                                                                           \
		if (!(cond)) {                                                                                         \
			fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #cond);                             \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

/* Start with an input; what lies behind its end reads as zeros. */
void fuzz_begin(const uint8_t *data, size_t size);

uint8_t fuzz_byte(void);
uint64_t fuzz_number(void);
void fuzz_bytes(void *to, size_t len);

/* A NUL-terminated text without NULs before its end, at most @size - 1 long. Return: @to. */
char *fuzz_text(char *to, size_t size);

/**
 * struct fuzz_driver - what answers behind the table of system calls
 * @has:   whether a path can be opened: 0 no, 1 a device, 2 a text file
 * @ioctl: 0 or -errno
 * @text:  optional: what a text file has, else any bytes
 */
struct fuzz_driver {
	int (*has)(const char *path);
	int (*ioctl)(unsigned long request, void *arg);
	void (*text)(const char *path, char *text, size_t size);
};

/* Put the table in use. Opening and mapping fail now and then, as the input wants. */
void fuzz_sys(const struct fuzz_driver *driver);

/* A descriptor that something else than the table handed out. */
int fuzz_fd(void);

/* Nothing is open and nothing is mapped. */
void fuzz_end(void);

/* An errno value that calls have. */
int fuzz_errno(void);

#endif
