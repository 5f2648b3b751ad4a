/* SPDX-License-Identifier: MIT */
/*
 * fake_nvfs.h - a table of system calls with the nvidia-fs module and a GPU behind it
 *
 * It stands on the facts about the module's interface alone, by numbers and offsets, and on none of the library's
 * headers but that of the table. Descriptors and mappings are real, so that forks and leaks are. Requests move bytes
 * between real files and the memory that plays the GPU's, asynchronous ones in threads of their own. It is strict: what
 * the real module refuses is refused, and what a caller must never do is remembered as a violation. Thread-safe.
 */
#ifndef TESTS_UNIT_FAKE_NVFS_H
#define TESTS_UNIT_FAKE_NVFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The GPU's memory: bytes, how many of them are 0xaa at the start of a test, the device address of the first, and the
 * GPU's address on the bus.
 */
#define FAKE_GPU_SIZE	(48UL << 20)
#define FAKE_GPU_FILLED (4UL << 20)
#define FAKE_GPU_VA	0x7f5000000000ULL
#define FAKE_GPU_PDEV	0x6500ULL

/**
 * struct fake_nvfs - how the module behaves; set between requests
 * @nodes:      nodes that exist, from 0 on
 * @closed:     bit per node that gives EACCES
 * @open_err:   what opening any node fails with, 0: it does not
 * @unloading:  the module is going: everything is refused, and the argument is not read
 * @any_direct: descriptors need no O_DIRECT, for file systems that have none
 * @tolerant:   arguments that a caller must not pass are refused, but are no violation
 * @max_maps:   MAPs that can exist; ENOMEM beyond
 * @map_err:    what MAP fails with, 0: it does not
 * @delay_us:   how long a request takes at least
 * @max_holes:  hole regions that one request reports
 * @own:        the module is Barlane's: it has UNMAP, takes several requests at a time on a mapping, and tells the results of
 *              a BATCH
 */
struct fake_nvfs {
	unsigned int nodes;
	unsigned int closed;
	int open_err;
	bool unloading;
	bool any_direct;
	bool tolerant;
	int max_maps;
	int map_err;
	unsigned int delay_us;
	unsigned int max_holes;
	bool own;
};
extern struct fake_nvfs fake_nvfs;

/**
 * enum fake_nvfs_fault - what can go wrong with a READ or WRITE
 * @FAKE_REFUSE:   it is refused with @value, a positive errno value
 * @FAKE_FAIL:     it fails later with @value: an asynchronous one reports it, a synchronous one reports 0 bytes if it
 * is EIO, and else fails
 * @FAKE_SHORT:    only @value bytes are moved
 * @FAKE_CLAIM:    all are moved, and @value bytes are claimed
 * @FAKE_LOSE:     it never ends: fake_nvfs_finish() ends it
 * @FAKE_UNLOAD:   the module is gone from now on
 * @FAKE_FREE:     the GPU memory is freed behind it: the state becomes DIED
 * @FAKE_LIE:      the list of holes says what cannot be; @value tells which lie, 0 to 6
 */
enum fake_nvfs_fault {
	FAKE_NONE,
	FAKE_REFUSE,
	FAKE_FAIL,
	FAKE_SHORT,
	FAKE_CLAIM,
	FAKE_LOSE,
	FAKE_UNLOAD,
	FAKE_FREE,
	FAKE_LIE,
};
#define FAKE_LIES 7

/**
 * struct fake_nvfs_count - what was seen since fake_nvfs_begin()
 * @reads:   READs that passed the checks
 * @writes:  likewise
 * @async:   of both, those that were asynchronous
 * @maps:    MAPs that succeeded
 * @mapped:  that exist now
 * @files:   open nodes now, those that only a mapping still holds included
 * @pages:   other mappings that exist now
 * @running: requests under way
 * @peak:    most that were under way at a time
 * @largest: bytes of the largest request
 * @batches: BATCHes of which all requests were started
 * @unmaps:  UNMAPs that succeeded
 */
struct fake_nvfs_count {
	int reads;
	int writes;
	int async;
	int maps;
	int mapped;
	int files;
	int pages;
	int running;
	int peak;
	size_t largest;
	int batches;
	int unmaps;
};

/* Start of a test: a loaded module of version 2.28 with all nodes, nothing else; the table is put in use. */
void fake_nvfs_begin(void);

struct bl_sys;

/**
 * fake_nvfs_join() - Stand beside another table, after fake_nvfs_begin()
 * @others: what is none of the module's goes there: other nodes, other files
 * @va:     device address of the memory that stands behind the module from now on
 * @memory: its bytes as a CPU sees them
 * @size:   how many
 * @pdev:   address on the bus of the GPU that it is of
 */
void fake_nvfs_join(const struct bl_sys *others, uint64_t va, uint8_t *memory, size_t size, uint64_t pdev);

/* End of a test: no rule was broken, nothing is left. */
void fake_nvfs_end(void);

/* A text file; NULL takes it away. The version and modules of the module are there from the start. */
void fake_nvfs_text(const char *path, const char *text);

/* One READ or WRITE goes wrong, after @skip of them that do not. */
void fake_nvfs_inject(enum fake_nvfs_fault fault, long value, int skip);

/* One system call fails with @err, after @skip calls of any kind but close that do not. */
void fake_nvfs_fail_call(int skip, int err);

/* Whether what was to go wrong has. */
bool fake_nvfs_happened(void);

/* End all requests that FAKE_LOSE took. */
void fake_nvfs_finish(void);

/* The driver takes the GPU memory back, as when its owner frees it. */
void fake_nvfs_free_gpu(void);

struct fake_nvfs_count fake_nvfs_counts(void);
const char *fake_nvfs_violation(void);

/* The GPU's memory, as nobody but a test sees it. */
uint8_t *fake_gpu(void);

#endif
