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
	check_eq(pattern_wrong(bytes, sizeof(bytes), 7, 4096), 0);
	check_eq(cuFileWrite(joined.tested.handle, joined.memory.base, 4 << 20, 0, 8192), 4 << 20);
	check_eq(pread(joined.tested.plain, bytes, sizeof(bytes), 0), sizeof(bytes));
	check_eq(pattern_wrong(bytes, sizeof(bytes), 7, 4096), 0);
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

#define NR_ENTRIES 64
#define ENTRY_LEN  8192UL

/* Reads of another order than the file's; the memory of an entry is that of its number. */
static void fill_entries(const struct joined *joined, CUfileIOParams_t *params, CUfileOpcode_t opcode)
{
	for (size_t i = 0; i < NR_ENTRIES; i++) {
		params[i] = (CUfileIOParams_t){
			.mode = CUFILE_BATCH,
			.u.batch = { joined->memory.base, (off_t)(i * 11 % NR_ENTRIES * 12288), (off_t)(i * ENTRY_LEN),
				     ENTRY_LEN },
			.fh = joined->tested.handle,
			.opcode = opcode,
			.cookie = (void *)i,
		};
	}
}

static void collect(CUfileBatchHandle_t batch, CUfileIOEvents_t *by_cookie, unsigned int nr)
{
	CUfileIOEvents_t events[NR_ENTRIES];

	for (unsigned int done = 0, got; done < nr; done += got) {
		struct timespec patience = { 20, 0 };

		got = nr - done;
		check_eq(cuFileBatchIOGetStatus(batch, 1, &got, events, &patience).err, OK);
		check(got > 0);
		for (unsigned int i = 0; i < got; i++)
			by_cookie[(size_t)events[i].cookie] = events[i];
	}
}

static CUfileBatchHandle_t submit(CUfileIOParams_t *params)
{
	CUfileBatchHandle_t batch = NULL;

	check_eq(cuFileBatchIOSetUp(&batch, NR_ENTRIES).err, OK);
	check_eq(cuFileBatchIOSubmit(batch, NR_ENTRIES, params, 0).err, OK);
	return batch;
}

static bool has_bytes(const struct joined *joined, const CUfileIOParams_t *params, size_t len)
{
	static unsigned char bytes[ENTRY_LEN];

	memory_get(&joined->memory, (size_t)params->u.batch.devPtr_offset, bytes, len);
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] != pattern_at(7, (size_t)params->u.batch.file_offset + i))
			return false;
	}
	return true;
}

static void check_all(const struct joined *joined, CUfileIOParams_t *params, CUfileBatchHandle_t batch)
{
	CUfileIOEvents_t events[NR_ENTRIES];

	collect(batch, events, NR_ENTRIES);
	for (size_t i = 0; i < NR_ENTRIES; i++) {
		check_eq(events[i].status, CUFILE_COMPLETE);
		check_eq(events[i].ret, ENTRY_LEN);
		check(has_bytes(joined, &params[i], ENTRY_LEN));
	}
	cuFileBatchIODestroy(batch);
}

/* A request by itself first: of files that nobody has looked at no batch is made. */
static void join_own(struct joined *joined, bool own)
{
	join(joined);
	fake_nvfs.own = own;
	read_blocks(joined);
}

static void few_calls(const void *arg)
{
	CUfileIOParams_t params[NR_ENTRIES];
	unsigned char bytes[ENTRY_LEN];
	struct joined joined;

	join_own(&joined, true);
	fill_entries(&joined, params, CUFILE_READ);
	check_all(&joined, params, submit(params));
	check_eq(fake_nvfs_counts().batches, 1);
	check_eq(fake_nvfs_counts().reads, NR_ENTRIES + 1);
	/* what was read goes back to places that nobody else writes */
	for (size_t i = 0; i < NR_ENTRIES; i++) {
		params[i].opcode = CUFILE_WRITE;
		params[i].u.batch.file_offset = (off_t)(MOVES_MEM / 2 + i * ENTRY_LEN);
	}
	{
		CUfileIOEvents_t events[NR_ENTRIES];
		CUfileBatchHandle_t batch = submit(params);

		collect(batch, events, NR_ENTRIES);
		cuFileBatchIODestroy(batch);
		for (size_t i = 0; i < NR_ENTRIES; i++)
			check_eq(events[i].ret, ENTRY_LEN);
	}
	check_eq(fake_nvfs_counts().batches, 2);
	for (size_t i = 0; i < NR_ENTRIES; i++) {
		check_eq(pread(joined.tested.plain, bytes, sizeof(bytes), params[i].u.batch.file_offset), sizeof(bytes));
		for (size_t k = 0; k < sizeof(bytes); k++)
			check_eq(bytes[k], pattern_at(7, i * 11 % NR_ENTRIES * 12288 + k));
	}
	part(&joined);
}

static void by_one_call(void)
{
	run(few_calls);
}

static void no_calls(const void *arg)
{
	CUfileIOParams_t params[NR_ENTRIES];
	struct joined joined;

	join_own(&joined, false);
	fill_entries(&joined, params, CUFILE_READ);
	check_all(&joined, params, submit(params));
	check_eq(fake_nvfs_counts().batches, 0);
	check(fake_nvfs_counts().reads > 0);
	part(&joined);
}

static void not_by_the_other_module(void)
{
	run(no_calls);
}

/* Whatever one of them meets, the others do not notice; and what the module does not do, another path does. */
static void each_alone(const void *arg)
{
	CUfileIOParams_t params[NR_ENTRIES];
	CUfileIOEvents_t events[NR_ENTRIES];
	struct joined joined;
	off_t size;

	join_own(&joined, true);
	size = lseek(joined.tested.plain, 0, SEEK_END) / 4096 * 4096;
	for (int round = 0; round < 4; round++) {
		CUfileBatchHandle_t batch;

		fill_entries(&joined, params, CUFILE_READ);
		params[3].u.batch.file_offset = size + (off_t)MOVES_MEM;
		params[5].u.batch.file_offset += 1;
		params[7].u.batch.size = 100;
		params[9].u.batch.devPtr_offset = (off_t)MOVES_MEM - 4096;
		params[11].u.batch.file_offset = -4096;
		if (round)
			fake_nvfs_inject(round == 1 ? FAKE_REFUSE : round == 2 ? FAKE_FAIL : FAKE_SHORT,
					 round == 3 ? 4096 : EIO, 20);
		batch = submit(params);
		collect(batch, events, NR_ENTRIES);
		cuFileBatchIODestroy(batch);
		for (size_t i = 0; i < NR_ENTRIES; i++) {
			bool bad = i == 9 || i == 11;

			check_eq(events[i].status, bad ? CUFILE_FAILED : CUFILE_COMPLETE);
			if (bad)
				continue;
			check_eq(events[i].ret, i == 3 ? 0 : i == 7 ? 100 : ENTRY_LEN);
			check(has_bytes(&joined, &params[i], events[i].ret));
		}
		check(!round || fake_nvfs_happened());
	}
	part(&joined);
}

static void each_entry_ends_by_itself(void)
{
	run(each_alone);
}

/* Entries that have not begun are cancelled, those that have move all of their bytes; nothing is left of either. */
static void stopped(const void *arg)
{
	CUfileIOParams_t params[NR_ENTRIES];
	CUfileIOEvents_t events[NR_ENTRIES];
	CUfileBatchHandle_t batches[6];
	struct joined joined;
	size_t ended = 0;

	check_eq(cuFileSetParameterSizeT(CUFILE_PARAM_EXECUTION_MAX_IO_THREADS, 1).err, OK);
	join_own(&joined, true);
	fill_entries(&joined, params, CUFILE_READ);
	fake_nvfs.delay_us = 500;
	for (size_t i = 0; i < 6; i++)
		batches[i] = submit(params);
	/* some are queued behind the first, which has the only thread */
	for (size_t i = 1; i < 5; i++)
		check_eq(cuFileBatchIOCancel(batches[i]).err, OK);
	for (size_t i = 0; i < 5; i++) {
		collect(batches[i], events, NR_ENTRIES);
		for (size_t k = 0; k < NR_ENTRIES; k++) {
			check(events[k].status == CUFILE_COMPLETE || (i && events[k].status == CUFILE_CANCELED));
			ended += events[k].status == CUFILE_COMPLETE;
		}
		cuFileBatchIODestroy(batches[i]);
	}
	check(ended >= NR_ENTRIES && ended < 5 * NR_ENTRIES);
	/* this one is destroyed while it is at work */
	cuFileBatchIODestroy(batches[5]);
	check_eq(fake_nvfs_counts().running, 0);
	part(&joined);
}

static void cancelled_and_destroyed(void)
{
	run(stopped);
}

static const struct tap_test tests[] = {
	{ "any_range_is_read_and_written_by_the_module_and_others", any_range },
	{ "path_nvfs_alone_does_whole_blocks", alone },
	{ "refusals_of_the_module_are_made_good_and_shown", refusals },
	{ "a_module_that_is_unloaded_is_done_without", unloading },
	{ "entries_of_a_batch_go_by_one_call", by_one_call },
	{ "not_by_a_module_that_tells_no_results", not_by_the_other_module },
	{ "each_entry_of_a_batch_ends_by_itself", each_entry_ends_by_itself },
	{ "batches_are_cancelled_and_destroyed_at_work", cancelled_and_destroyed },
};

TAP_MAIN(tests)
