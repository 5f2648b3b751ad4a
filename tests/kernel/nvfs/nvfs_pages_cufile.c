// SPDX-License-Identifier: MIT
/*
 * libcufile takes path devicepages, with no change of the program: memory of CUDA that lies on the card, a drive whose
 * driver nobody patched. The host compares the bytes in the card and on the drive.
 */
#include "cufile.h"
#include "emu/cuda/api.h"
#include "emu/cuda/emu.h"
#include "host.h"
#include "pages.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LEN (24 * MIB)

static const char *const world[] = {
	"BARLANE_EMU_CARD", "1", "BARLANE_EMU_CARD_PAGES", "1", "BARLANE_EMU_CUDA", "13030",
	"BARLANE_EMU_DRIVER", "610.43.02",
	"BARLANE_SYSCALLS", "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "CUFILE_ENV_PATH_JSON", "/dev/null/none",
	"CUFILE_USE_PCIP2PDMA", "true", "BARLANE_LOG", "info",
};

/**
 * struct joined - a file or drive, and registered memory
 * @base:  of the memory
 * @at:    where the memory is on the card
 * @fd:    the file
 * @fh:    its handle
 */
struct joined {
	CUdeviceptr base;
	uint64_t at;
	int fd;
	CUfileHandle_t fh;
};

static struct joined joined;

/* Where in the card's memory a mark lies that CUDA has put to the start of the memory. */
static void find_memory(void)
{
	int card = gpu_open();
	struct bl_card_info info = gpu_info(card);

	close(card);
	/* the first and only memory that anyone has of the slice */
	joined.at = info.pages_off;
	check_eq(cuMemsetD8_v2(joined.base, 0xe7, LEN), CUDA_SUCCESS);
	check_eq(cuCtxSynchronize(), CUDA_SUCCESS);
	check(host_ask("check", joined.at, LEN, "e7"));
}

static void join(const char *strict, const char *pages)
{
	CUfileDescr_t descr = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD };
	CUcontext ctx;

	for (size_t i = 0; i < sizeof(world) / sizeof(world[0]); i += 2)
		setenv(world[i], world[i + 1], 1);
	setenv("BARLANE_EMU_CARD_PAGES", pages, 1);
	setenv("BARLANE_FILE_PATH", "devicepages", 1);
	setenv("BARLANE_FILE_STRICT", strict, 1);
	check_eq(cuInit(0), CUDA_SUCCESS);
	check_eq(cuDevicePrimaryCtxRetain(&ctx, 0), CUDA_SUCCESS);
	check_eq(cuCtxSetCurrent(ctx), CUDA_SUCCESS);
	check_eq(cuMemAlloc_v2(&joined.base, LEN), CUDA_SUCCESS);
	check_eq(cuFileDriverOpen().err, CU_FILE_SUCCESS);
	joined.fd = drive_open();
	descr.handle.fd = joined.fd;
	check_eq(cuFileHandleRegister(&joined.fh, &descr).err, CU_FILE_SUCCESS);
	check_eq(cuFileBufRegister((void *)(uintptr_t)joined.base, LEN, 0).err, CU_FILE_SUCCESS);
}

static void part(void)
{
	check_eq(cuFileBufDeregister((void *)(uintptr_t)joined.base).err, CU_FILE_SUCCESS);
	cuFileHandleDeregister(joined.fh);
	close(joined.fd);
	check_eq(cuFileDriverClose().err, CU_FILE_SUCCESS);
	check_eq(cuMemFree_v2(joined.base), CUDA_SUCCESS);
}

static int64_t file_read(size_t len, off_t pos, off_t off)
{
	return cuFileRead(joined.fh, (void *)(uintptr_t)joined.base, len, pos, off);
}

static int64_t file_write(size_t len, off_t pos, off_t off)
{
	return cuFileWrite(joined.fh, (void *)(uintptr_t)joined.base, len, pos, off);
}

/* Requests of this path alone, since it is strict: no other engine has a part in them. */
static void whole_blocks(void *arg)
{
	static const size_t lens[] = { 4096, 65536, 1 << 20, 16 << 20 };

	join("1", "1");
	find_memory();
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		size_t len = lens[i];

		printf("# len %zu\n", len);
		check(host_ask("fill-drive", 8192, len, "1a2b3c4d"));
		/* no copy engine could do anything */
		check_eq(bl_emu_fault("cuda.memcpy:*"), 0);
		check_eq(file_read(len, 8192, 4096), (int64_t)len);
		check(host_ask("check", joined.at + 4096, len, "1a2b3c4d"));
		check(host_ask("check", joined.at + 4096 + len, 4096, "e7"));
		check(host_ask("fill", joined.at + 4096, len, "55aa"));
		check_eq(file_write(len, 64 << 20, 4096), (int64_t)len);
		check_eq(fsync(joined.fd), 0);
		check(host_ask("check-drive", 64 << 20, len, "55aa"));
		check_eq(bl_emu_fault(""), 0);
		check_eq(cuMemsetD8_v2(joined.base, 0xe7, LEN), CUDA_SUCCESS);
		check_eq(cuCtxSynchronize(), CUDA_SUCCESS);
	}
	check_eq(file_read(4096, 100, 0), -CU_FILE_IO_NOT_SUPPORTED);
	part();
}

/* Ends that are no whole blocks go another way, and all arrive. */
static void any_range(void *arg)
{
	join("0", "1");
	find_memory();
	check(host_ask("fill-drive", 0, 4 << 20, "c3"));
	check_eq(file_read(3000000, 12345, 12345), 3000000);
	check(host_ask("check", joined.at, 12345, "e7"));
	check(host_ask("check", joined.at + 12345, 3000000, "c3"));
	check(host_ask("check", joined.at + 12345 + 3000000, 1000000, "e7"));
	check(host_ask("fill-drive", 0, 8 << 20, "00"));
	check_eq(file_write(3000000, 12345, 12345), 3000000);
	check_eq(fsync(joined.fd), 0);
	check(host_ask("check-drive", 0, 12345, "00"));
	check(host_ask("check-drive", 12345, 3000000, "c3"));
	check(host_ask("check-drive", 12345 + 3000000, 1000000, "00"));
	part();
}

/* Memory of the rest of the card has no pages: refused by name where nothing else may, and else served all the same. */
static void other_memory(void *arg)
{
	join(arg ? "1" : "0", "0");
	check(host_ask("fill-drive", 0, 1 << 20, "c3"));
	check_eq(file_read(1 << 20, 0, 0), arg ? -CU_FILE_IO_NOT_SUPPORTED : 1 << 20);
	part();
}

static void in_world(void (*body)(void *arg), void *arg)
{
	int card, status = -1;
	pid_t pid;

	card_reload(SLICE);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		/* what fails there ends the child, and says so here */
		if (setjmp(tap_env)) {
			printf("# %s\n", tap_text);
			fflush(stdout);
			_exit(1);
		}
		body(arg);
		fflush(stdout);
		_exit(0);
	}
	check(pid > 0);
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	card = gpu_open();
	slice_check_clean(card);
	close(card);
}

static void blocks_alone(void)
{
	in_world(whole_blocks, NULL);
}

static void all_ranges(void)
{
	in_world(any_range, NULL);
}

static void without_pages(void)
{
	in_world(other_memory, NULL);
	in_world(other_memory, "strict");
}

static const struct tap_test tests[] = {
	{ "whole_blocks_go_between_drive_and_card_by_this_path_alone", blocks_alone },
	{ "ends_that_are_no_blocks_go_another_way", all_ranges },
	{ "memory_without_pages_is_known_by_name", without_pages },
};

TAP_MAIN(tests)
