// SPDX-License-Identifier: MIT
/*
 * Batches of libcufile by path nvfs: entries go to the module by few calls. Memory of CUDA that lies on the card; the host
 * compares the bytes. Says what the calls and the CPU time are beside those of threads.
 */
#include "cufile.h"
#include "emu/cuda/api.h"
#include "host.h"
#include "nvfs_lane.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define NR     128
#define BLOCK  4096UL
#define LEN    (2 * NR * BLOCK)
#define ROUNDS 20

static const char *const world[] = {
	"BARLANE_EMU_CARD", "1", "BARLANE_EMU_CUDA", "13030", "BARLANE_EMU_DRIVER", "610.43.02",
	"BARLANE_SYSCALLS", "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "CUFILE_ENV_PATH_JSON", "/dev/null/none",
	"BARLANE_FILE_PATH", "nvfs", "BARLANE_FILE_STRICT", "1", "BARLANE_LOG", "warn",
};

static CUdeviceptr base;
static int fd;
static CUfileHandle_t fh;

static void join(const char *tune)
{
	CUfileDescr_t descr = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD };
	CUcontext ctx;

	for (size_t i = 0; i < sizeof(world) / sizeof(world[0]); i += 2)
		setenv(world[i], world[i + 1], 1);
	setenv("BARLANE_FILE_TUNE", tune, 1);
	check_eq(cuInit(0), CUDA_SUCCESS);
	check_eq(cuDevicePrimaryCtxRetain(&ctx, 0), CUDA_SUCCESS);
	check_eq(cuCtxSetCurrent(ctx), CUDA_SUCCESS);
	check_eq(cuMemAlloc_v2(&base, LEN), CUDA_SUCCESS);
	check_eq(cuFileDriverOpen().err, CU_FILE_SUCCESS);
	fd = open(LANE_DRIVE, O_RDWR | O_DIRECT | O_CLOEXEC);
	check(fd >= 0);
	descr.handle.fd = fd;
	check_eq(cuFileHandleRegister(&fh, &descr).err, CU_FILE_SUCCESS);
	check_eq(cuFileBufRegister((void *)(uintptr_t)base, LEN, 0).err, CU_FILE_SUCCESS);
	check_eq(cuMemsetD8_v2(base, 0xe7, LEN), CUDA_SUCCESS);
	check_eq(cuCtxSynchronize(), CUDA_SUCCESS);
	/* of a file that nobody has read there is no batch */
	check_eq(cuFileRead(fh, (void *)(uintptr_t)base, BLOCK, 0, 0), BLOCK);
}

static void part(void)
{
	check_eq(cuFileBufDeregister((void *)(uintptr_t)base).err, CU_FILE_SUCCESS);
	cuFileHandleDeregister(fh);
	close(fd);
	check_eq(cuFileDriverClose().err, CU_FILE_SUCCESS);
	check_eq(cuMemFree_v2(base), CUDA_SUCCESS);
}

/* Block i of the file's part from @pos on to block 2 i of the memory, in an order that jumps. */
static void fill_entries(CUfileIOParams_t *params, CUfileOpcode_t opcode, off_t pos)
{
	for (size_t i = 0; i < NR; i++) {
		size_t at = i * 37 % NR;

		params[i] = (CUfileIOParams_t){
			.mode = CUFILE_BATCH,
			.u.batch = { (void *)(uintptr_t)base, pos + (off_t)(at * BLOCK), (off_t)(2 * at * BLOCK), BLOCK },
			.fh = fh,
			.opcode = opcode,
			.cookie = (void *)i,
		};
	}
}

/* By their cookies. */
static void run_batch(CUfileIOParams_t *params, CUfileIOEvents_t *by_cookie)
{
	CUfileIOEvents_t events[NR];
	CUfileBatchHandle_t batch;

	check_eq(cuFileBatchIOSetUp(&batch, NR).err, CU_FILE_SUCCESS);
	check_eq(cuFileBatchIOSubmit(batch, NR, params, 0).err, CU_FILE_SUCCESS);
	for (unsigned int done = 0, got; done < NR; done += got) {
		struct timespec patience = { 60, 0 };

		got = NR - done;
		check_eq(cuFileBatchIOGetStatus(batch, 1, &got, events, &patience).err, CU_FILE_SUCCESS);
		check(got > 0);
		for (unsigned int i = 0; i < got; i++)
			by_cookie[(size_t)events[i].cookie] = events[i];
	}
	cuFileBatchIODestroy(batch);
}

static void run_well(CUfileIOParams_t *params)
{
	CUfileIOEvents_t events[NR];

	run_batch(params, events);
	for (size_t i = 0; i < NR; i++) {
		check_eq(events[i].status, CUFILE_COMPLETE);
		check_eq(events[i].ret, BLOCK);
	}
}

/* What is written from the card is what was read to it; the host looks at the drive. */
static void bytes_arrive(void *unused)
{
	CUfileIOParams_t params[NR];
	long before;

	join("");
	check(host_ask("fill-drive", 4 * MIB, NR * BLOCK, "0123456789abcdef"));
	check(host_ask("fill-drive", 8 * MIB, NR * BLOCK, "00"));
	before = lane_stat("Batches", "ok");
	fill_entries(params, CUFILE_READ, 4 * MIB);
	run_well(params);
	fill_entries(params, CUFILE_WRITE, 8 * MIB);
	run_well(params);
	check_eq(lane_stat("Batches", "ok"), before + 2);
	check_eq(fsync(fd), 0);
	check(host_ask("check-drive", 8 * MIB, NR * BLOCK, "0123456789abcdef"));
	part();
}

/* An entry that the drive refuses, and one that has no such memory, fail alone. */
static void one_fails(void *unused)
{
	CUfileIOParams_t params[NR];
	CUfileIOEvents_t events[NR];

	join("");
	check(host_ask("fill-drive", 4 * MIB, NR * BLOCK, "0123456789abcdef"));
	check(host_ask("fill-drive", 8 * MIB, NR * BLOCK, "00"));
	fill_entries(params, CUFILE_READ, 4 * MIB);
	params[7].u.batch.file_offset = lseek(fd, 0, SEEK_END);
	params[9].u.batch.devPtr_offset = LEN;
	params[11].opcode = CUFILE_WRITE;
	params[11].u.batch.file_offset = lseek(fd, 0, SEEK_END);
	run_batch(params, events);
	for (size_t i = 0; i < NR; i++) {
		bool bad = i == 9 || i == 11;

		check_eq(events[i].status, bad ? CUFILE_FAILED : CUFILE_COMPLETE);
		if (!bad)
			check_eq(events[i].ret, i == 7 ? 0 : BLOCK);
	}
	part();
}

static double cpu_us(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e6 +
	       (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static void measure(void *tune)
{
	CUfileIOParams_t params[NR];
	long batches, reads;
	double begin;

	join(tune);
	fill_entries(params, CUFILE_READ, 4 * MIB);
	run_well(params);
	batches = lane_stat("Batches", "n");
	reads = lane_stat("Reads", "n");
	begin = cpu_us();
	for (int i = 0; i < ROUNDS; i++)
		run_well(params);
	begin = cpu_us() - begin;
	batches = lane_stat("Batches", "n") - batches;
	reads = lane_stat("Reads", "n") - reads;
	printf("# 128 reads of 4 KiB, %s: %.1f calls of the module, %.0f us of CPU time, each of %d batches\n",
	       *(char *)tune ? "by threads" : "together", (double)(batches ? batches : reads) / ROUNDS, begin / ROUNDS,
	       ROUNDS);
	check_eq(reads, ROUNDS * NR);
	check(*(char *)tune ? !batches : batches <= 2 * ROUNDS);
	part();
}

static void in_world(void (*body)(void *arg), void *arg)
{
	int card, status = -1;
	pid_t pid;

	if (!lane_has_patched())
		skip("there are no patches for the NVMe driver of this kernel");
	lane_use_patched(true);
	lane_reload("rw_stats_enabled=1");
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
	lane_check_clean(card);
	close(card);
}

static void bytes_arrive_by_two_calls(void)
{
	in_world(bytes_arrive, NULL);
}

static void entries_fail_alone(void)
{
	in_world(one_fails, NULL);
}

static void few_calls_do_what_many_did(void)
{
	in_world(measure, "nvfs_batch=0");
	in_world(measure, "");
}

static const struct tap_test tests[] = {
	{ "bytes_arrive_by_two_calls", bytes_arrive_by_two_calls },
	{ "entries_fail_alone", entries_fail_alone },
	{ "few_calls_do_what_many_did", few_calls_do_what_many_did },
};

TAP_MAIN(tests)
