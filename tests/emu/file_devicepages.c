// SPDX-License-Identifier: MIT
/* Path devicepages by calls: what goes by it, and what becomes of requests that cannot. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "barlane.h"
#include "child.h"
#include "devpages_world.h"
#include "tests/tap.h"

static void moves(const void *arg)
{
	const char *how = arg;

	devpages_begin();
	mapping.cut = !strcmp(how, "cut");
	mapping.err = !strcmp(how, "interrupted") ? EINTR : 0;
	mapping.when = 2;
	devpages_there_and_back();
	for (int i = 0; i < (TAP_TSAN ? 8 : 40); i++) {
		moves_read(&tested, &memory);
		moves_write(&tested, &memory);
	}
	check(atomic_load(&mapping.calls) >= 2);
	check_eq(atomic_load(&mapping.failed), !strcmp(how, "interrupted"));
	devpages_end();
}

static void run(void (*body)(const void *arg), const void *arg, const char *strict)
{
	devpages_run(body, arg, strict, "pages_one=1024M");
}

static void any_range(void)
{
	run(moves, "", "0");
}

static void short_calls(void)
{
	run(moves, "cut", "0");
	run(moves, "interrupted", "0");
}

static void strictly(const void *arg)
{
	static unsigned char bytes[65536];

	devpages_begin();
	check_eq(cuFileRead(tested.handle, memory.base, 4 << 20, 4096, 8192), 4 << 20);
	devpages_check(8192, 4 << 20, 4096);
	check_eq(cuFileWrite(tested.handle, memory.base, 65536, 0, 8192), 65536);
	check_eq(pread(tested.plain, bytes, sizeof(bytes), 0), sizeof(bytes));
	check_eq(pattern_wrong(bytes, sizeof(bytes), 7, 4096), 0);
	check_eq(atomic_load(&mapping.calls), 2);
	check_eq(cuFileRead(tested.handle, memory.base, 4097, 0, 0), -CU_FILE_IO_NOT_SUPPORTED);
	check_has(bl_last_error(NULL), "an end of the request is no whole block");
	check_eq(cuFileRead(tested.handle, memory.base, 4096, 4096, 100), -CU_FILE_IO_NOT_SUPPORTED);
	check_has(bl_last_error(NULL), "do not lie alike");
	check_eq(cuFileRead(tested.handle, memory.base, 100, 0, 0), -CU_FILE_IO_NOT_SUPPORTED);
	check_has(bl_last_error(NULL), "no whole block");
	check_eq(atomic_load(&mapping.calls), 2);
	devpages_end();
}

static void alone(void)
{
	run(strictly, NULL, "1");
}

/* One refusal, and no second try. */
static void refused(const void *arg)
{
	const int *err = arg;

	devpages_begin();
	mapping.err = *err;
	for (int i = 0; i < 4; i++) {
		check_eq(cuFileRead(tested.handle, memory.base, 1 << 20, 4096, 4096), 1 << 20);
		devpages_check(4096, 1 << 20, 4096);
	}
	check_eq(atomic_load(&mapping.failed), 1);
	for (int i = 0; i < 4; i++)
		moves_write(&tested, &memory);
	check_eq(atomic_load(&mapping.failed), 1);
	devpages_end();
}

/* In the middle: what was moved before counts, and another path does the rest. */
static void refused_late(const void *arg)
{
	const int *err = arg;

	devpages_begin();
	mapping.err = *err;
	mapping.when = 4;
	mapping.cut = true;
	check_eq(cuFileRead(tested.handle, memory.base, 1 << 20, 4096, 4096), 1 << 20);
	devpages_check(4096, 1 << 20, 4096);
	check_eq(atomic_load(&mapping.calls), 4);
	devpages_end();
}

static void refused_strictly(const void *arg)
{
	static const char *const why[] = { [EFAULT] = "no pages", [EREMOTEIO] = "no way for peer-to-peer DMA",
					   [EOPNOTSUPP] = "does not take pages",
					   [EINVAL] = "in spite of its own rules" };
	const int *err = arg;

	devpages_begin();
	mapping.err = *err;
	for (int i = 0; i < 2; i++) {
		check_eq(cuFileRead(tested.handle, memory.base, 1 << 20, 4096, 4096), -CU_FILE_IO_NOT_SUPPORTED);
		check_has(bl_last_error(NULL), why[*err]);
	}
	check_eq(atomic_load(&mapping.failed), 1);
	devpages_end();
}

static void refusals(void)
{
	static const int errs[] = { EFAULT, EREMOTEIO, EOPNOTSUPP, EINVAL };

	for (size_t i = 0; i < sizeof(errs) / sizeof(errs[0]); i++) {
		run(refused, &errs[i], "0");
		run(refused_late, &errs[i], "0");
		run(refused_strictly, &errs[i], "1");
	}
}

/* Those of the request stay its own. */
static void failed(const void *arg)
{
	devpages_begin();
	mapping.err = EIO;
	errno = 0;
	check_eq(cuFileRead(tested.handle, memory.base, 1 << 20, 4096, 4096), -1);
	check_eq(errno, EIO);
	check_eq(atomic_load(&mapping.failed), 1);
	mapping.err = ENOSPC;
	check_eq(cuFileWrite(tested.handle, memory.base, 1 << 20, 4096, 4096), -1);
	check_eq(errno, ENOSPC);
	mapping.err = 0;
	check_eq(cuFileRead(tested.handle, memory.base, 1 << 20, 4096, 4096), 1 << 20);
	devpages_check(4096, 1 << 20, 4096);
	devpages_end();
}

static void errors(void)
{
	run(failed, NULL, "0");
}

/* A mapping that the kernel has no pages for is known before anything is tried. */
static void bare(const void *arg)
{
	mapping.bare = true;
	devpages_begin();
	check_eq(cuFileRead(tested.handle, memory.base, 1 << 20, 4096, 4096), 1 << 20);
	devpages_check(4096, 1 << 20, 4096);
	check_eq(atomic_load(&mapping.calls), 0);
	devpages_end();
}

/* What is no NVMe drive, or another file system, is not tried. */
static void elsewhere(const void *arg)
{
	bool drive = *(const bool *)arg;

	devpages_begin_on(drive ? "btrfs" : "ext4",
			  drive ? "DEVNAME=nvme0n1\nDEVTYPE=disk\n" : "DEVNAME=sda\nDEVTYPE=disk\n");
	check_eq(cuFileRead(tested.handle, memory.base, 1 << 20, 4096, 4096), 1 << 20);
	check_eq(atomic_load(&mapping.calls), 0);
	devpages_end();
}

static void known_before(void)
{
	static const bool drive = true, none = false;

	run(bare, NULL, "0");
	run(elsewhere, &drive, "0");
	run(elsewhere, &none, "0");
}

static void counted(const void *arg)
{
	const unsigned int *want = arg;

	devpages_begin();
	check_eq(cuFileRead(tested.handle, memory.base, 1 << 20, 4096, 4096), 1 << 20);
	devpages_check(4096, 1 << 20, 4096);
	check_eq(atomic_load(&mapping.calls), *want);
	devpages_end();
}

static void asked_for(void)
{
	static const char *const off[] = { "CUFILE_ENV_PATH_JSON", "/dev/null/none", NULL };
	static const char *const on[] = { "CUFILE_ENV_PATH_JSON", "/dev/null/none", "CUFILE_USE_PCIP2PDMA", "true",
					  "BARLANE_FILE_TUNE", "pages_one=1024M", NULL };
	static const char *const compat[] = { "CUFILE_ENV_PATH_JSON", "/dev/null/none", "CUFILE_USE_PCIP2PDMA", "true",
					      "CUFILE_FORCE_COMPAT_MODE", "true", NULL };
	static const unsigned int none = 0, one = 1;

	child_run(counted, &none, off);
	child_run(counted, &one, on);
	child_run(counted, &none, compat);
}

static const struct tap_test tests[] = {
	{ "any_range_is_read_and_written", any_range },
	{ "short_and_interrupted_calls_go_on", short_calls },
	{ "the_path_alone_does_whole_blocks_and_says_what_else_it_lacks", alone },
	{ "what_cannot_work_is_tried_once_and_others_take_over", refusals },
	{ "errors_of_a_request_are_its_own", errors },
	{ "memory_drives_and_file_systems_that_do_not_fit_are_not_tried", known_before },
	{ "the_path_is_not_taken_unless_the_configuration_says_so", asked_for },
};

TAP_MAIN(tests)
