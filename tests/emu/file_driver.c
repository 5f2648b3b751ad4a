// SPDX-License-Identifier: MIT
/* The driver of libcufile over the emulated GPU: what an open takes, what a close gives back, what is counted per GPU. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "file/stats_file.h"
#include "file_world.h"
#include "tests/tap.h"

#define MIB (1UL << 20)
#define OK  CU_FILE_SUCCESS

static const char *const world_of_two[] = {"BARLANE_EMU_GPUS", "2", "BARLANE_EMU_BAR1", "256M", "CUFILE_ENV_PATH_JSON",
					   "/dev/null/none", NULL};

static void asks_for_bar1(const void *arg)
{
	size_t kb = 7;

	world_enter();
	check_eq(cuFileGetBARSizeInKB(0, NULL).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileGetBARSizeInKB(0, &kb).err, OK);
	check_eq(kb, 256 * 1024);
	check_eq(cuFileGetBARSizeInKB(1, &kb).err, OK);
	check_eq(cuFileGetBARSizeInKB(2, &kb).err, CU_FILE_DEVICE_NOT_FOUND);
	check_eq(cuFileGetBARSizeInKB(-1, &kb).err, CU_FILE_DEVICE_NOT_FOUND);
	check_eq(cuFileUseCount(), 0);
}

static void bar1_is_asked_for(void)
{
	child_run(asks_for_bar1, NULL, world_of_two);
}

/* A file and memory, used, and left registered. */
static void use_and_leave(CUdeviceptr ptr)
{
	struct tested tested;
	char bytes[4096];

	tested_make(&tested, "disk", O_RDWR);
	tested_fill(&tested, MIB, 5);
	check_eq(cuFileBufRegister((void *)(uintptr_t)ptr, MIB, 0).err, OK);
	check_eq(cuFileRead(tested.handle, (void *)(uintptr_t)ptr, MIB, 0, 0), MIB);
	check_eq(world.cuda->cuMemcpyDtoH(bytes, ptr + MIB - sizeof(bytes), sizeof(bytes)), 0);
	for (size_t i = 0; i < sizeof(bytes); i++)
		check_eq((unsigned char)bytes[i], pattern_at(5, MIB - sizeof(bytes) + i));
	check_eq(cuFileDriverClose().err, OK);
	check_eq(cuFileRead(tested.handle, (void *)(uintptr_t)ptr, MIB, 0, 0), -1);
	check_eq(cuFileDriverClose().err, OK);
	close(tested.fd);
	close(tested.plain);
}

static void gives_all_back(const void *arg)
{
	struct snapshot before;
	CUdeviceptr ptr;

	world_enter();
	ptr = world_alloc(2 * MIB);
	/* what the first use keeps for the life of the process */
	use_and_leave(ptr);
	snapshot_take(&before);
	for (int i = 0; i < 5; i++) {
		use_and_leave(ptr);
		snapshot_check(&before);
	}
	world_free(ptr);
	world_check_rules();
}

static void a_close_with_objects_alive_gives_all_back(void)
{
	child_run(gives_all_back, NULL, world_of_two);
}

static void counts_per_gpu(const void *arg)
{
	static CUfileStatsLevel3_t stats;
	const struct bl_stats_shm *shm;
	struct tested tested;
	char path[4096];
	CUdeviceptr ptr;
	CUuuid uuid;
	CUdevice dev;

	world_enter();
	ptr = world_alloc(MIB);
	check_eq(cuFileSetParameterSizeT(CUFILE_PARAM_PROFILE_STATS, 3).err, OK);
	tested_make(&tested, "disk", O_RDWR);
	tested_fill(&tested, MIB, 5);
	check_eq(cuFileBufRegister((void *)(uintptr_t)ptr, MIB, 0).err, OK);
	check_eq(cuFileBufRegister((void *)(uintptr_t)ptr, MIB, 0).err, CU_FILE_MEMORY_ALREADY_REGISTERED);
	check_eq(cuFileRead(tested.handle, (void *)(uintptr_t)ptr, 65536, 0, 0), 65536);
	check_eq(cuFileRead(tested.handle, (void *)(uintptr_t)ptr, 100, 1, 0), 100);
	check_eq(cuFileWrite(tested.handle, (void *)(uintptr_t)ptr, 4096, 0, 0), 4096);
	check_eq(cuFileRead(tested.handle, (void *)(uintptr_t)ptr, 10, -1, 0), -1);
	check_eq(cuFileGetStatsL3(&stats).err, OK);
	check_eq(stats.num_gpus, 2);
	check_eq(world.cuda->cuDeviceGet(&dev, 0), 0);
	check_eq(world.cuda->cuDeviceGetUuid(&uuid, dev), 0);
	check_eq(memcmp(uuid.bytes, stats.per_gpu_stats[0].uuid, 16), 0);
	check_eq(stats.per_gpu_stats[0].read_bytes, 65636);
	check_eq(stats.per_gpu_stats[0].n_total_reads, 2);
	check_eq(stats.per_gpu_stats[0].n_posix_reads, 2);
	check_eq(stats.per_gpu_stats[0].n_unaligned_reads, 1);
	check_eq(stats.per_gpu_stats[0].writes_bytes, 4096);
	check_eq(stats.per_gpu_stats[0].n_mmap_ok, 1);
	check_eq(stats.per_gpu_stats[0].reg_bytes, MIB);
	check_eq(stats.per_gpu_stats[1].n_total_reads, 0);
	check_eq(stats.detailed.basic.read_ops.ok, 2);
	check_eq(stats.detailed.basic.read_ops.err, 1);
	check_eq(stats.detailed.basic.buf_register_ops.ok, 1);
	check_eq(stats.detailed.basic.buf_register_ops.err, 1);
	check_eq(stats.detailed.basic.hdl_register_ops.ok, 1);
	check_eq(stats.detailed.read_size_kb_hist[0], 1);
	check_eq(stats.detailed.read_size_kb_hist[5], 1);
	check_eq(stats.detailed.write_size_kb_hist[1], 1);
	check_eq(bl_stats_shm_open(getpid(), &shm), 0);
	check_eq(shm->nr_gpus, 2);
	check_eq(memcmp(uuid.bytes, shm->uuid[0], 16), 0);
	bl_stats_shm_close(shm);
	/* the child of a test ends without its exit handlers */
	check_eq(bl_stats_name(bl_stats_dir(0), getpid(), path, sizeof(path)), 0);
	check(!unlink(path));
	check_eq(cuFileDriverClose().err, OK);
	tested_drop(&tested);
	world_free(ptr);
	world_check_rules();
}

static void requests_are_counted_per_gpu(void)
{
	child_run(counts_per_gpu, NULL, world_of_two);
}

/* Another process of the library, by name; what it leaves behind shows at its end. */
static void is_loaded_and_closed(const void *arg)
{
	CUfileError_t (*open_driver)(void);
	long (*uses)(void);
	void *lib;

	world_enter();
	for (int i = 0; i < 3; i++) {
		lib = dlopen("libcufile.so.0", RTLD_NOW);
		check(lib);
		*(void **)&open_driver = dlsym(lib, "cuFileDriverOpen");
		*(void **)&uses = dlsym(lib, "cuFileUseCount");
		check(open_driver && uses);
		check_eq(open_driver().err, OK);
		check_eq(uses(), i + 1);
		check_eq(dlclose(lib), 0);
	}
	world_check_rules();
}

static void unloading_with_the_driver_open_harms_nobody(void)
{
	child_run(is_loaded_and_closed, NULL, world_of_two);
}

static void leaves_no_file(const void *arg)
{
	char dir[] = "/tmp/barlane-cwd-XXXXXX";
	struct tested tested;
	CUdeviceptr ptr;

	world_enter();
	ptr = world_alloc(MIB);
	unsetenv("BARLANE_LOG");
	check(freopen("/dev/null", "w", stderr));
	check_eq(cuFileSetParameterString(CUFILE_PARAM_LOGGING_LEVEL, "TRACE").err, OK);
	check(mkdtemp(dir) && !chdir(dir));
	tested_make(&tested, "tmpfs", O_RDWR);
	tested_fill(&tested, MIB, 5);
	check_eq(cuFileRead(tested.handle, (void *)(uintptr_t)ptr, MIB, 0, 0), MIB);
	check_eq(cuFileRead(tested.handle, NULL, MIB, 0, 0), -1);
	check_eq(cuFileDriverClose().err, OK);
	/* an empty directory can be removed */
	check(!chdir("/") && !rmdir(dir));
	close(tested.fd);
	close(tested.plain);
}

static void no_log_is_left_in_the_current_folder(void)
{
	child_run(leaves_no_file, NULL, world_of_two);
}

static const struct tap_test tests[] = {
	{"BAR1 is asked for", bar1_is_asked_for},
	{"a close with objects alive gives all back", a_close_with_objects_alive_gives_all_back},
	{"requests are counted per GPU", requests_are_counted_per_gpu},
	{"unloading with the driver open harms nobody", unloading_with_the_driver_open_harms_nobody},
	{"no log is left in the current folder", no_log_is_left_in_the_current_folder},
};

TAP_MAIN(tests)
