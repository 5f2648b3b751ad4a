// SPDX-License-Identifier: MIT
/*
 * Path nvfs from cuFileRead() down to the module: the fake one, beside the emulated GPU, whose memory it reaches as the
 * drive's DMA would.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "barlane.h"
#include "child.h"
#include "file/stats_file.h"
#include "file_moves.h"
#include "gpu/sys.h"
#include "nvidia_fs.h"
#include "tests/tap.h"
#include "tests/unit/fake_nvfs.h"

#define OK CU_FILE_SUCCESS

/**
 * struct joined - a file on a drive that the module serves, and registered memory that it reaches
 */
struct joined {
	struct tested tested;
	struct memory memory;
	bl_ctx_t ctx;
	bl_pin_t pin;
	void *cpu;
};

static uint64_t pdev_of_gpu(void)
{
	unsigned int domain, bus, dev, fn;
	CUdevice device;
	char id[32];

	check_eq(world.cuda->cuDeviceGet(&device, 0), CUDA_SUCCESS);
	check_eq(world.cuda->cuDeviceGetPCIBusId(id, sizeof(id), device), CUDA_SUCCESS);
	check_eq(sscanf(id, "%x:%x:%x.%x", &domain, &bus, &dev, &fn), 4);
	return NVIDIA_FS_PDEV(domain, bus, dev << 3 | fn);
}

static void tell_of_drive(int fd)
{
	char line[160];
	struct stat st;

	check(!fstat(fd, &st));
	snprintf(line, sizeof(line), "1 1 %u:%u / /d rw - xfs x rw\n", major(st.st_dev), minor(st.st_dev));
	fake_nvfs_text("/proc/self/mountinfo", line);
	snprintf(line, sizeof(line), "/sys/dev/block/%u:%u/uevent", major(st.st_dev), minor(st.st_dev));
	fake_nvfs_text(line, "DEVNAME=nvme0n1\nDEVTYPE=disk\n");
	snprintf(line, sizeof(line), "/sys/dev/block/%u:%u/device/transport", major(st.st_dev), minor(st.st_dev));
	fake_nvfs_text(line, "pcie\n");
}

static void join(struct joined *joined)
{
	const struct bl_sys *others = bl_sys();

	world_enter();
	joined->memory = (struct memory){ REGISTERED, (void *)(uintptr_t)world_alloc(MOVES_MEM), MOVES_MEM };
	check_eq(bl_open(NULL, &joined->ctx), 0);
	check_eq(bl_pin(joined->ctx, (uintptr_t)joined->memory.base, MOVES_MEM, 0, 0, 0, &joined->pin), 0);
	check_eq(bl_map(joined->ctx, joined->pin, MOVES_MEM, BL_MAP_NONE, &joined->cpu), 0);
	fake_nvfs_begin();
	fake_nvfs_join(others, (uintptr_t)joined->memory.base, joined->cpu, MOVES_MEM, pdev_of_gpu());
	moves_make_file(&joined->tested, "disk", 0);
	tell_of_drive(joined->tested.fd);
	check_eq(cuFileBufRegister(joined->memory.base, MOVES_MEM, 0).err, OK);
}

static void part(struct joined *joined)
{
	tested_drop(&joined->tested);
	check_eq(cuFileBufDeregister(joined->memory.base).err, OK);
	check_eq(cuFileDriverClose().err, OK);
	fake_nvfs_end();
	check_eq(bl_unmap(joined->ctx, joined->pin, joined->cpu, MOVES_MEM), 0);
	check_eq(bl_unpin(joined->ctx, joined->pin), 0);
	check_eq(bl_close(joined->ctx), 0);
	world_free((uintptr_t)joined->memory.base);
	world_check_rules();
}

/* What the module is given, whatever the seed. */
static void read_blocks(const struct joined *joined)
{
	check_eq(cuFileRead(joined->tested.handle, joined->memory.base, 65536, 4096, 0), 65536);
}

static void moves(const void *arg)
{
	struct joined joined;

	join(&joined);
	for (int i = 0; i < 60; i++) {
		moves_read(&joined.tested, &joined.memory);
		moves_write(&joined.tested, &joined.memory);
	}
	read_blocks(&joined);
	check(fake_nvfs_counts().reads && fake_nvfs_counts().writes);
	part(&joined);
}

static void run(void (*body)(const void *arg))
{
	static const char *const env[] = { "BARLANE_FILE_PATH", "nvfs", "CUFILE_ENV_PATH_JSON", "/dev/null/none", NULL };

	if (!moves_seed)
		moves_choose_seed();
	child_run(body, NULL, env);
	next_random(&moves_seed);
}

static void any_range(void)
{
	run(moves);
}

/* Whole blocks of the file and the memory have no other way than the module. */
static void strictly(const void *arg)
{
	static unsigned char bytes[4 << 20];
	struct joined joined;

	setenv("BARLANE_FILE_STRICT", "1", 1);
	join(&joined);
	check_eq(cuFileRead(joined.tested.handle, joined.memory.base, 4 << 20, 4096, 8192), 4 << 20);
	memory_get(&joined.memory, 8192, bytes, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		check_eq(bytes[i], pattern_at(7, 4096 + i));
	check_eq(cuFileWrite(joined.tested.handle, joined.memory.base, 4 << 20, 0, 8192), 4 << 20);
	check_eq(pread(joined.tested.plain, bytes, sizeof(bytes), 0), sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		check_eq(bytes[i], pattern_at(7, 4096 + i));
	check_eq(cuFileRead(joined.tested.handle, joined.memory.base, 4096, 1, 0), -CU_FILE_IO_NOT_SUPPORTED);
	part(&joined);
}

static void alone(void)
{
	run(strictly);
}

/* Whatever the module says, bytes are right; and who looks sees what it said. */
static void refused(const void *arg)
{
	static const int errs[] = { EIO, ENOMEM, EBUSY };
	const struct bl_stats_shm *shm;
	struct bl_stats_block sum;
	struct joined joined;
	char dir[] = "/tmp/barlane-stats-XXXXXX", path[4096];

	check(mkdtemp(dir));
	setenv("XDG_RUNTIME_DIR", dir, 1);
	join(&joined);
	check_eq(cuFileSetStatsLevel(1).err, OK);
	check_eq(cuFileStatsStart().err, OK);
	for (int i = 0; i < 60; i++) {
		fake_nvfs_inject(FAKE_REFUSE, errs[i % 3], i % 4);
		moves_read(&joined.tested, &joined.memory);
		moves_write(&joined.tested, &joined.memory);
	}
	for (int i = 0; i < 3; i++) {
		fake_nvfs_inject(FAKE_REFUSE, errs[i], 0);
		read_blocks(&joined);
	}
	check_eq(bl_stats_shm_open(getpid(), &shm), 0);
	bl_stats_sum(shm->block, BL_STATS_BLOCKS, &sum);
	check(sum.nvfs[BL_NVFS_REQUESTS][0]);
	check(sum.nvfs[BL_NVFS_PIECES][0] >= (uint64_t)fake_nvfs_counts().reads);
	check(sum.nvfs[BL_NVFS_REFUSED_DRIVE][0] + sum.nvfs[BL_NVFS_REFUSED_DRIVE][1] > 0);
	check(sum.nvfs[BL_NVFS_REFUSED_SHORTAGE][0] + sum.nvfs[BL_NVFS_REFUSED_SHORTAGE][1] > 0);
	check_eq(sum.nvfs[BL_NVFS_REFUSED_FILE][0], 0);
	bl_stats_shm_close(shm);
	check_eq(bl_stats_name(dir, getpid(), path, sizeof(path)), 0);
	check(!unlink(path) && !rmdir(dir));
	part(&joined);
}

static void refusals(void)
{
	run(refused);
}

static void unloaded(const void *arg)
{
	struct joined joined;
	int before;

	join(&joined);
	moves_read(&joined.tested, &joined.memory);
	fake_nvfs_inject(FAKE_UNLOAD, 0, 2);
	for (int i = 0; i < 20; i++) {
		moves_read(&joined.tested, &joined.memory);
		moves_write(&joined.tested, &joined.memory);
	}
	for (int i = 0; i < 3; i++)
		read_blocks(&joined);
	check(fake_nvfs_happened());
	before = fake_nvfs_counts().reads + fake_nvfs_counts().writes;
	moves_read(&joined.tested, &joined.memory);
	check_eq(fake_nvfs_counts().reads + fake_nvfs_counts().writes, before);
	part(&joined);
}

static void unloading(void)
{
	run(unloaded);
}

static const struct tap_test tests[] = {
	{ "any_range_is_read_and_written_by_the_module_and_others", any_range },
	{ "path_nvfs_alone_does_whole_blocks", alone },
	{ "refusals_of_the_module_are_made_good_and_shown", refusals },
	{ "a_module_that_is_unloaded_is_done_without", unloading },
};

TAP_MAIN(tests)
