// SPDX-License-Identifier: MIT
/*
 * cufile_stream: operations of files in the order of streams, on a real GPU: what the emulated one cannot show
 *
 *	cufile_stream [LIBRARY [FILE [TEXT]]]
 *
 * LIBRARY is any libcufile.so.0 (default: the loader's), FILE a place for a file of 65 MiB (default ./cufile-stream.tmp; it
 * is removed), TEXT a part of the names of the cases to run (default: all). Each case is a process of its own, so that each
 * meets a library and a context that are new, and has 30 s: a case that hangs is one in which the driver waits for the very
 * stream that waits for the file. Prints a line for each: ok, wrong (bytes or counts), way (see below) or hangs; how long a
 * submission of a read took the caller, how long a read and a write take from submission to the end of the stream, beside
 * cuFileRead() of the same bytes (all medians); how long the host function of another stream waits behind large reads.
 *
 * Last is which way the reads and writes of streams went, as this project's library counts them: cpu (a thread, through the
 * GPU's mapping), cuda (pinned memory, CUDA's copies), kernel (pinned memory, the kernel), held (a host function waits). A
 * case that is there for the kernel fails when its writes went another way, where BARLANE_FILE_STREAM_KERNEL is 1.
 *
 * Builds alone: cc -std=gnu17 -D_GNU_SOURCE -O2 -Iinclude -Isrc -include gpu/cuda_abi.h bench/cufile_stream.c
 * bench/stream_ways.c src/file/stats_file.c src/gpu/cuda.c -o cufile_stream -ldl -lpthread
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cufile.h"
#include "gpu/cuda.h"
#include "stream_ways.h"
#include "util/clock.h"

#define MOST	   (64UL << 20)
#define FILE_SIZE  (MOST + (1UL << 20))
#define MEMORY	   (2 * FILE_SIZE)
#define LARGE	   (4UL << 20)
#define ROUNDS	   200
#define LARGE_ROUNDS 40
#define TRIPS	   20
#define LARGE_TRIPS 8
#define PATIENCE_S 30

/* What a stream can fix: all three values, size and buffer offset, none. */
#define ALL  7
#define MOVE 5
#define LATE 0

#define PER_THREAD ((CUstream)2)

#define LIBRARY(X)                                                                                                     \
	X(CUfileError_t, cuFileDriverOpen, (void))                                                                     \
	X(CUfileError_t, cuFileHandleRegister, (CUfileHandle_t * fh, CUfileDescr_t *descr))                            \
	X(CUfileError_t, cuFileBufRegister, (const void *base, size_t len, int flags))                                 \
	X(ssize_t, cuFileRead, (CUfileHandle_t fh, void *base, size_t size, off_t pos, off_t off))                     \
	X(CUfileError_t, cuFileReadAsync, (CUfileHandle_t fh, void *base, size_t *size, off_t *pos, off_t *off,        \
					   ssize_t *bytes, CUstream stream))                                           \
	X(CUfileError_t, cuFileWriteAsync, (CUfileHandle_t fh, void *base, size_t *size, off_t *pos, off_t *off,       \
					    ssize_t *bytes, CUstream stream))                                          \
	X(CUfileError_t, cuFileStreamRegister, (CUstream stream, unsigned int flags))                                  \
	X(CUfileError_t, cuFileSetStatsLevel, (int level))                                                             \
	X(CUfileError_t, cuFileStatsStart, (void))                                                                     \
	X(CUfileError_t, cuFileSetParameterBool, (CUFileBoolConfigParameter_t param, bool value))

#define FIELD(ret, name, params) ret(*name) params;
static struct library {
	LIBRARY(FIELD)
} lib;

enum stream_kind { DEFAULT_STREAM, THREAD_STREAM, BLOCKING, NON_BLOCKING };

/* What a case wants besides. */
enum { REGISTERED = 1, DIRECT = 2, BYPASS = 4, UNALIGNED = 8, POOL_PATH = 16, LISTED = 32 };

/**
 * struct trial - one case
 * @name:  what it is called
 * @kind:  stream
 * @len:   bytes of an operation
 * @flags: REGISTERED: the buffer is; DIRECT: the file is opened with O_DIRECT; BYPASS: stream_memops_bypass; UNALIGNED:
 *         offsets and size are; POOL_PATH: this library's path "staged", so that reads do not go by the CPU; LISTED:
 *         the stream is registered although it fixes nothing: this library's kernel is there, if
 *         BARLANE_FILE_STREAM_KERNEL is 1. In other cases that fix nothing the stream is not registered, and the
 *         library supposes that offsets stay; those of the round trips do not
 * @fixed: CU_FILE_STREAM_FIXED_*
 */
struct trial {
	const char *name;
	enum stream_kind kind;
	size_t len;
	int flags;
	unsigned int fixed;
};

static const char *file_name = "./cufile-stream.tmp";
static const struct bl_cuda *cuda;
static CUstream stream;
static CUfileHandle_t fh;
static CUdeviceptr device;
static unsigned char *host;

static void must(int ok, const char *what)
{
	if (ok)
		return;
	printf("failed: %s\n", what);
	fflush(stdout);
	_exit(1);
}

static void load(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW);

	must(handle != NULL, dlerror());
#define RESOLVE(ret, name, params)                                                                                     \
	*(void **)&lib.name = dlsym(handle, #name);                                                                    \
	must(lib.name != NULL, #name);
	LIBRARY(RESOLVE)
}

static void wait_for(void *arg)
{
	while (!atomic_load((_Atomic(int) *)arg))
		usleep(20);
}

static void set_up(const struct trial *trial)
{
	CUfileDescr_t descr = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD };
	CUcontext context;
	void *pinned = NULL;

	cuda = bl_cuda();
	must(cuda && !cuda->cuInit(0), "CUDA");
	must(!cuda->cuDevicePrimaryCtxRetain(&context, 0) && !cuda->cuCtxSetCurrent(context), "context");
	must(!cuda->cuMemAlloc(&device, MEMORY) && !cuda->cuMemHostAlloc(&pinned, MEMORY, 0), "memory");
	host = pinned;
	if (trial->kind >= BLOCKING)
		must(!cuda->cuStreamCreate(&stream, trial->kind == NON_BLOCKING), "stream");
	else
		stream = trial->kind == THREAD_STREAM ? PER_THREAD : NULL;
	if (trial->flags & POOL_PATH)
		setenv("BARLANE_FILE_PATH", "staged", 1);
	if (trial->flags & BYPASS)
		must(!lib.cuFileSetParameterBool(CUFILE_PARAM_STREAM_MEMOPS_BYPASS, true).err, "parameter");
	must(!lib.cuFileDriverOpen().err, "cuFileDriverOpen");
	must(!lib.cuFileSetStatsLevel(1).err && !lib.cuFileStatsStart().err, "statistics");
	descr.handle.fd = open(file_name, O_RDWR | (trial->flags & DIRECT ? O_DIRECT : 0));
	must(descr.handle.fd >= 0 && !lib.cuFileHandleRegister(&fh, &descr).err, "cuFileHandleRegister");
	if (trial->flags & REGISTERED)
		must(!lib.cuFileBufRegister((void *)(uintptr_t)device, MEMORY, 0).err, "cuFileBufRegister");
	if (trial->fixed || trial->flags & LISTED)
		must(!lib.cuFileStreamRegister(stream, trial->fixed).err, "cuFileStreamRegister");
}

/* Every word another one, so that bytes in the wrong place are seen. */
static void fill(uint64_t *words, size_t nr, uint64_t value)
{
	for (size_t i = 0; i < nr; i++)
		words[i] = (i + 1) * 0x9e3779b97f4a7c15ULL ^ value << 32;
}

/* Of an operation: where in the file, and in memory. */
static off_t file_pos(const struct trial *trial)
{
	return trial->flags & UNALIGNED ? 4099 : 0;
}

static size_t length(const struct trial *trial)
{
	return trial->flags & UNALIGNED ? trial->len - 13 : trial->len;
}

/*
 * Copy to the GPU, write to the file, read to another place, copy back: without a wait until the end. What the stream does not
 * fix is told when all is submitted.
 */
static int round_trip(const struct trial *trial, unsigned char value)
{
	off_t shift = trial->flags & UNALIGNED ? 21 : 0, away = FILE_SIZE + (trial->flags & UNALIGNED ? 37 : 0);
	size_t len = length(trial), size = len;
	off_t pos = trial->fixed & 2 ? file_pos(trial) : 0;
	off_t first = trial->fixed & 1 ? shift : 0, second = trial->fixed & 1 ? away : 0;
	void *base = (void *)(uintptr_t)device;
	_Atomic(int) go = 0;
	ssize_t bytes[2] = { 0 };

	fill((uint64_t *)host, len / 8 + 1, value);
	memset(host + FILE_SIZE, 0, len);
	must(!cuda->cuMemcpyHtoDAsync(device + (uint64_t)shift, host, len, stream), "copy");
	must(!cuda->cuLaunchHostFunc(stream, wait_for, (void *)&go), "host function");
	must(!lib.cuFileWriteAsync(fh, base, &size, &pos, &first, &bytes[0], stream).err, "write");
	must(!lib.cuFileReadAsync(fh, base, &size, &pos, &second, &bytes[1], stream).err, "read");
	must(!cuda->cuMemcpyDtoHAsync(host + FILE_SIZE, device + (uint64_t)away, len, stream), "copy back");
	pos = file_pos(trial);
	first = shift;
	second = away;
	atomic_store(&go, 1);
	must(!cuda->cuStreamSynchronize(stream), "synchronize");
	return bytes[0] == (ssize_t)len && bytes[1] == (ssize_t)len && !memcmp(host, host + FILE_SIZE, len);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *samples, int nr)
{
	qsort(samples, (size_t)nr, sizeof(*samples), compare);
	return samples[nr / 2];
}

static double since_us(uint64_t start)
{
	return 1e-3 * (double)(bl_now_ns() - start);
}

struct times {
	double submit_us;
	double read_us;
	double write_us;
	double call_us;
};

static void measure(const struct trial *trial, struct times *times)
{
	static double submits[ROUNDS], reads[ROUNDS], writes[ROUNDS], calls[ROUNDS];
	int rounds = trial->len > LARGE ? LARGE_ROUNDS : ROUNDS;
	void *base = (void *)(uintptr_t)device;
	size_t len = length(trial);
	off_t off = trial->flags & UNALIGNED ? 21 : 0;

	for (int i = 0; i < rounds; i++) {
		off_t pos = (off_t)((unsigned int)i * trial->len % MOST) + file_pos(trial);
		uint64_t start = bl_now_ns();
		ssize_t bytes = 0;

		must(!lib.cuFileReadAsync(fh, base, &len, &pos, &off, &bytes, stream).err, "read");
		submits[i] = since_us(start);
		must(!cuda->cuStreamSynchronize(stream) && bytes == (ssize_t)len, "bytes");
		reads[i] = since_us(start);
		start = bl_now_ns();
		must(!lib.cuFileWriteAsync(fh, base, &len, &pos, &off, &bytes, stream).err, "write");
		must(!cuda->cuStreamSynchronize(stream) && bytes == (ssize_t)len, "bytes");
		writes[i] = since_us(start);
		start = bl_now_ns();
		must(lib.cuFileRead(fh, base, len, pos, off) == (ssize_t)len, "cuFileRead");
		calls[i] = since_us(start);
	}
	times->submit_us = median(submits, rounds);
	times->read_us = median(reads, rounds);
	times->write_us = median(writes, rounds);
	times->call_us = median(calls, rounds);
}

static void note(void *arg)
{
	atomic_store((_Atomic(uint64_t) *)arg, bl_now_ns());
}

/* How long the host function of another stream waits behind large reads of this one. */
static double other_us(void)
{
	static off_t pos, off;
	static size_t len = MOST;
	static ssize_t bytes[4];
	_Atomic(uint64_t) called = 0;
	uint64_t start;
	CUstream other;

	must(!cuda->cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), "stream");
	for (int i = 0; i < 4; i++)
		must(!lib.cuFileReadAsync(fh, (void *)(uintptr_t)device, &len, &pos, &off, &bytes[i], stream).err, "read");
	start = bl_now_ns();
	must(!cuda->cuLaunchHostFunc(other, note, (void *)&called), "host function");
	must(!cuda->cuStreamSynchronize(other), "other stream");
	must(!cuda->cuStreamSynchronize(stream), "synchronize");
	return 1e-3 * (double)(atomic_load(&called) - start);
}

/* Whether the kernel was used where a case is about that. A read goes by the CPU where memory is mapped. */
static int went_right(const struct trial *trial, const struct ways *ways)
{
	const char *kernel = getenv("BARLANE_FILE_STREAM_KERNEL");

	if (!(trial->flags & LISTED) || !ways->known || !kernel || strcmp(kernel, "1"))
		return 1;
	for (int way = 0; way < BL_STREAM_NR; way++) {
		if (way != BL_STREAM_KERNEL && ways->nr[way][1])
			return 0;
	}
	return ways->nr[BL_STREAM_KERNEL][1] > 0;
}

static int run(const struct trial *trial)
{
	int trips = trial->len > LARGE ? LARGE_TRIPS : TRIPS;
	char reads[64], writes[64];
	struct times times;
	struct ways ways;
	double other;
	int right = 1;

	alarm(PATIENCE_S);
	set_up(trial);
	/* the first is in a library that has made nothing ready yet */
	for (int i = 1; i <= trips && right; i++)
		right = round_trip(trial, (unsigned char)i);
	if (!right) {
		printf("wrong\n");
		fflush(stdout);
		return 1;
	}
	measure(trial, &times);
	other = other_us();
	ways_count(&ways);
	right = went_right(trial, &ways);
	printf("%s %9.1f %10.1f %10.1f %10.1f %10.1f  read %s, write %s\n", right ? "ok " : "way", times.submit_us,
	       times.read_us, times.write_us, times.call_us, other, ways_text(&ways, false, reads, sizeof(reads)),
	       ways_text(&ways, true, writes, sizeof(writes)));
	fflush(stdout);
	return !right;
}

static int run_apart(const struct trial *trial)
{
	int status = 0;
	pid_t pid;

	printf("%-52s ", trial->name);
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(run(trial));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	if (WIFSIGNALED(status))
		printf("%s\n", WTERMSIG(status) == SIGALRM ? "hangs" : "killed by a signal");
	return status != 0;
}

static int make_file(void)
{
	unsigned char *bytes = malloc(FILE_SIZE);
	int fd = open(file_name, O_RDWR | O_CREAT | O_TRUNC, 0600), ret = -1;

	if (bytes && fd >= 0) {
		memset(bytes, 7, FILE_SIZE);
		ret = pwrite(fd, bytes, FILE_SIZE, 0) == (ssize_t)FILE_SIZE && !fsync(fd) ? 0 : -1;
	}
	if (fd >= 0)
		close(fd);
	free(bytes);
	return ret;
}

static const struct trial trials[] = {
	{ "default stream, 4 KiB", DEFAULT_STREAM, 4096, REGISTERED, ALL },
	{ "default stream, 1 MiB, not registered", DEFAULT_STREAM, 1 << 20, 0, LATE },
	{ "default stream, 16 MiB, direct", DEFAULT_STREAM, 16 << 20, REGISTERED | DIRECT, ALL },
	{ "stream of the thread, 1 MiB", THREAD_STREAM, 1 << 20, REGISTERED, ALL },
	{ "blocking stream, 4 KiB", BLOCKING, 4096, REGISTERED, ALL },
	{ "blocking stream, 16 MiB, not registered", BLOCKING, 16 << 20, 0, LATE },
	{ "non-blocking stream, 4 KiB", NON_BLOCKING, 4096, REGISTERED, ALL },
	{ "non-blocking stream, 64 KiB", NON_BLOCKING, 64 << 10, REGISTERED, ALL },
	{ "non-blocking stream, 1 MiB", NON_BLOCKING, 1 << 20, REGISTERED, ALL },
	{ "non-blocking stream, 4 MiB", NON_BLOCKING, 4 << 20, REGISTERED, ALL },
	{ "non-blocking stream, 16 MiB", NON_BLOCKING, 16 << 20, REGISTERED, ALL },
	{ "non-blocking stream, 64 MiB", NON_BLOCKING, 64 << 20, REGISTERED, ALL },
	{ "non-blocking stream, 16 MiB, direct", NON_BLOCKING, 16 << 20, REGISTERED | DIRECT, ALL },
	{ "non-blocking stream, 64 KiB, unfixed", NON_BLOCKING, 64 << 10, REGISTERED, LATE },
	{ "non-blocking stream, 16 MiB, unfixed", NON_BLOCKING, 16 << 20, REGISTERED, LATE },
	{ "non-blocking stream, 16 MiB, unaligned", NON_BLOCKING, 16 << 20, REGISTERED | UNALIGNED, ALL },
	{ "not registered, 4 KiB", NON_BLOCKING, 4096, 0, ALL },
	{ "not registered, 64 KiB", NON_BLOCKING, 64 << 10, 0, ALL },
	{ "not registered, 4 MiB", NON_BLOCKING, 4 << 20, 0, ALL },
	{ "not registered, 64 MiB", NON_BLOCKING, 64 << 20, 0, ALL },
	{ "not registered, 4 KiB, unfixed", NON_BLOCKING, 4096, 0, LATE },
	{ "not registered, 64 KiB, unfixed", NON_BLOCKING, 64 << 10, 0, LATE },
	{ "not registered, 4 MiB, unfixed", NON_BLOCKING, 4 << 20, 0, LATE },
	{ "not registered, 64 MiB, unfixed", NON_BLOCKING, 64 << 20, 0, LATE },
	{ "not registered, 64 KiB, unaligned", NON_BLOCKING, 64 << 10, UNALIGNED, MOVE },
	{ "not registered, 16 MiB, unaligned, unfixed", NON_BLOCKING, 16 << 20, UNALIGNED, LATE },
	{ "not registered, 16 MiB, unaligned, direct, unfixed", NON_BLOCKING, 16 << 20, UNALIGNED | DIRECT, LATE },
	{ "pinned memory, CUDA copies, 64 KiB", NON_BLOCKING, 64 << 10, POOL_PATH, ALL },
	{ "pinned memory, CUDA copies, 4 MiB", NON_BLOCKING, 4 << 20, POOL_PATH, ALL },
	{ "pinned memory, CUDA copies, 16 MiB", NON_BLOCKING, 16 << 20, POOL_PATH, ALL },
	{ "pinned memory, CUDA copies, 64 MiB", NON_BLOCKING, 64 << 20, POOL_PATH, ALL },
	{ "pinned memory, CUDA copies, 16 MiB, unaligned", NON_BLOCKING, 16 << 20, POOL_PATH | UNALIGNED, ALL },
	{ "pinned memory, kernel, 64 KiB", NON_BLOCKING, 64 << 10, POOL_PATH | LISTED, LATE },
	{ "pinned memory, kernel, 16 MiB", NON_BLOCKING, 16 << 20, POOL_PATH | LISTED, LATE },
	{ "pinned memory, kernel, 16 MiB, unaligned", NON_BLOCKING, 16 << 20, POOL_PATH | LISTED | UNALIGNED, LATE },
	{ "registered memory, kernel writes, 1 MiB", NON_BLOCKING, 1 << 20, REGISTERED | LISTED, LATE },
	{ "pinned memory, kernel, 64 MiB", NON_BLOCKING, 64 << 20, POOL_PATH | LISTED, LATE },
	{ "pinned memory, kernel, 64 MiB, default stream", DEFAULT_STREAM, 64 << 20, POOL_PATH | LISTED, LATE },
	{ "non-blocking, 1 MiB, host functions wait", NON_BLOCKING, 1 << 20, REGISTERED | BYPASS, ALL },
	{ "non-blocking, 16 MiB, host functions wait, unfixed", NON_BLOCKING, 16 << 20, BYPASS, LATE },
	{ "blocking, 16 MiB, host functions wait", BLOCKING, 16 << 20, REGISTERED | BYPASS, ALL },
	{ "default, 1 MiB, host functions wait", DEFAULT_STREAM, 1 << 20, BYPASS, LATE },
};

int main(int argc, char **argv)
{
	const char *text = argc > 3 ? argv[3] : "";
	int bad = 0, nr = 0;

	load(argc > 1 ? argv[1] : "libcufile.so.0");
	if (argc > 2)
		file_name = argv[2];
	if (make_file()) {
		perror(file_name);
		return 2;
	}
	printf("%-52s       submit       read      write cuFileRead  other, us  ways\n", "# case");
	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++) {
		if (!strstr(trials[i].name, text))
			continue;
		bad += run_apart(&trials[i]);
		nr++;
	}
	unlink(file_name);
	printf("%d of %d cases failed\n", bad, nr);
	return bad != 0;
}
