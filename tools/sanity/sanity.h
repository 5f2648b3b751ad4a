/* SPDX-License-Identifier: MIT */
/*
 * sanity.h - tests of an installed libgdrapi on the GPUs of this machine
 *
 * Every test runs in a process of its own that has made no CUDA call before, so a test ends by ending the process:
 * st_fail() and st_waive() do not return, from whatever thread or child process they are called. The first reason
 * given counts. Tests use the public API only.
 */
#ifndef TOOLS_SANITY_SANITY_H
#define TOOLS_SANITY_SANITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "common/device.h"
#include "common/error.h"
#include "common/memory.h"
#include "gdrapi.h"

/**
 * struct sanity_test - one test; lists end with a NULL name
 * @name:     as on the command line
 * @run:      returns when all holds
 * @kind:     memory that @run allocates
 * @extended: runs only when asked for
 */
struct sanity_test {
	const char *name;
	void (*run)(enum tool_mem_kind kind);
	enum tool_mem_kind kind;
	bool extended;
};

#define SANITY_ONE(fn)	{ #fn, fn, TOOL_MEM_ALLOC, false }
#define SANITY_BOTH(fn) { #fn "_cumemalloc", fn, TOOL_MEM_ALLOC, false }, { #fn "_vmmalloc", fn, TOOL_MEM_VMM, false }

extern const struct sanity_test sanity_basic[];
extern const struct sanity_test sanity_data[];
extern const struct sanity_test sanity_access[];
extern const struct sanity_test sanity_fork[];
extern const struct sanity_test sanity_fork_tokens[];
extern const struct sanity_test sanity_sock[];
extern const struct sanity_test sanity_sock_mmap[];
extern const struct sanity_test sanity_attributes[];
extern const struct sanity_test sanity_badinput[];
extern const struct sanity_test sanity_handles[];
extern const struct sanity_test sanity_abi[];
extern const struct sanity_test sanity_single[];
extern const struct sanity_test sanity_memory[];
extern const struct sanity_test sanity_threads[];
extern const struct sanity_test sanity_processes[];
extern const struct sanity_test sanity_gpus[];
extern const struct sanity_test sanity_export[];

/* All lists in the order in which they run, NULL-terminated. */
extern const struct sanity_test *const sanity_families[];

/**
 * struct sanity_options - what the user asked for
 * @ordinal:   GPU
 * @verbose:   show what tests do, on stderr
 * @timeout_s: longest time that one test may take
 * @big:       bytes of the large mapping
 */
struct sanity_options {
	int ordinal;
	bool verbose;
	unsigned int timeout_s;
	size_t big;
};

extern struct sanity_options sanity_options;

enum sanity_status { SANITY_PASSED = 0, SANITY_FAILED = 1, SANITY_WAIVED = 2 };

/**
 * sanity_run() - Run one test in a new process and process group
 * @test:   what to run
 * @reason: receives why it did not pass, "" when it did
 * @size:   bytes of @reason
 *
 * Kills whatever is left of the process group afterwards.
 */
enum sanity_status sanity_run(const struct sanity_test *test, char *reason, size_t size);

/* Verdicts. */
void st_fail_at(const char *file, int line, const char *fmt, ...) __attribute__((format(printf, 3, 4), noreturn));
void st_waive(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
void st_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#define st_fail(...) st_fail_at(__FILE__, __LINE__, __VA_ARGS__)

#define st_check(cond)                                                                                                 \
	do {                                                                                                           \
		if (!(cond))                                                                                           \
			st_fail("not true: %s", #cond);                                                                \
	} while (0)

#define st_check_eq(got, want)                                                                                         \
	do {                                                                                                           \
		unsigned long long st_got = (unsigned long long)(got), st_want = (unsigned long long)(want);           \
		if (st_got != st_want)                                                                                 \
			st_fail("%s is 0x%llx, not 0x%llx (%s)", #got, st_got, st_want, #want);                        \
	} while (0)

/* A call of the library that gives 0. */
#define st_ok(call) st_ok_at(__FILE__, __LINE__, #call, call)
void st_ok_at(const char *file, int line, const char *what, int ret);

/* A call of the library that gives this error and, where the library can say so, a reason in words. */
#define st_err(call, err) st_err_at(__FILE__, __LINE__, #call, call, err, err)
#define st_err2(call, err, or_err) st_err_at(__FILE__, __LINE__, #call, call, err, or_err)
void st_err_at(const char *file, int line, const char *what, int ret, int err, int or_err);

/* A call of the library that must not succeed. */
#define st_refused(call) st_refused_at(__FILE__, __LINE__, #call, call)
void st_refused_at(const char *file, int line, const char *what, int ret);

/* A call of the CUDA driver, or of a helper that returns -errno, that succeeds. */
#define st_cuda(call) st_help_at(__FILE__, __LINE__, tool_cuda(call, #call))
#define st_help(call) st_help_at(__FILE__, __LINE__, call)
void st_help_at(const char *file, int line, int ret);

/* Use the chosen GPU in this process. */
void st_gpu(struct tool_device *device);

/* GPU memory; waives the test when the GPU has none of this kind. */
void st_alloc(const struct tool_device *device, enum tool_mem_kind kind, size_t size, struct tool_mem *mem);

/* Library instance. */
gdr_t st_open(void);

/* An attribute of what serves the instance. */
int st_attr(gdr_t g, gdr_attr_t attr);

/* Waive what cannot hold where a pin is a dma-buf: a descriptor that anyone may map. */
void st_needs_private_pins(gdr_t g);

/* Waive FORCE_PCIE where there is no other way to reach the memory, or no support for it. */
void st_needs_force_pcie(const struct tool_device *device, gdr_t g);

/* Waive what needs two processes on one GPU when the GPU allows one. */
void st_needs_shared_gpu(const struct tool_device *device);

/**
 * struct st_buf - GPU memory, pinned and mapped
 * @mem:  GPU memory
 * @mh:   pin
 * @info: as mapped
 * @len:  mapped bytes
 * @map:  CPU address of @mem.ptr
 */
struct st_buf {
	struct tool_mem mem;
	gdr_mh_t mh;
	gdr_info_t info;
	size_t len;
	volatile uint32_t *map;
};

/* Allocate, pin and map @len bytes, a multiple of GPU_PAGE_SIZE. */
void st_buf_make(const struct tool_device *device, gdr_t g, enum tool_mem_kind kind, size_t len, struct st_buf *buf);

/* Pin and map what is allocated. */
void st_buf_pin(gdr_t g, struct st_buf *buf);
void st_buf_map(gdr_t g, struct st_buf *buf);

/* Unmap, unpin and free. */
void st_buf_drop(gdr_t g, struct st_buf *buf);

/* The address that gdr_map() gave. */
void *st_buf_addr(const struct st_buf *buf);

/* Bytes of free GPU memory. */
size_t st_free_memory(const struct tool_device *device);

/* Push CPU stores to a mapping out to the GPU. */
void st_flush(void);

/* Fill with values that depend on the place and on @seed. */
void st_fill(void *host, size_t len, uint32_t seed);

/* Compare, naming the first byte that differs. */
#define st_same(got, want, len) st_same_at(__FILE__, __LINE__, got, want, len)
void st_same_at(const char *file, int line, const void *got, const void *want, size_t len);

/* GPU memory, read by CUDA, must hold these bytes. */
#define st_gpu_holds(device, ptr, want, len) st_gpu_holds_at(__FILE__, __LINE__, device, ptr, want, len)
void st_gpu_holds_at(const char *file, int line, const struct tool_device *device, CUdeviceptr ptr, const void *want,
		     size_t len);

/* Host memory; fails the test when there is none. */
void *st_host(size_t len);

/**
 * st_peek() - Load a word that may not be there
 * @addr:    address
 * @value_p: receives the word
 *
 * One thread at a time. Return: 0, or the signal that the load raised (SIGSEGV, SIGBUS).
 */
int st_peek(volatile const uint32_t *addr, uint32_t *value_p);

/**
 * struct st_child - a process that the test forked
 * @pid:  its id
 * @sock: socket to it
 */
struct st_child {
	pid_t pid;
	int sock;
};

/* Fork. The child runs @body and ends as passed when that returns. */
void st_fork(void (*body)(int sock, void *arg), void *arg, struct st_child *child);

/* Wait for a child's end; fails or waives the test when the child did. */
void st_join(struct st_child *child);

/* Bytes over a socket; fail the test when the other side ended. */
void st_send(int sock, const void *data, size_t len);
void st_recv(int sock, void *data, size_t len);

/* One byte that says "go on". */
void st_signal(int sock);
void st_await(int sock);

/**
 * struct st_fds - a set of descriptors
 * @nr: how many
 * @fd: which
 */
struct st_fds {
	size_t nr;
	int fd[64];
};

/* Descriptors that this process has; st_fds_new() those that came since @before. */
void st_fds_now(struct st_fds *fds);
void st_fds_new(const struct st_fds *before, struct st_fds *fds);

/* How many descriptors this process has. */
size_t st_fds_count(void);

/* Pass descriptors to another process. */
void st_send_fds(int sock, const struct st_fds *fds);
void st_recv_fds(int sock, struct st_fds *fds);

#endif
