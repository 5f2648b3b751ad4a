// SPDX-License-Identifier: MIT
/*
 * cufile_stream: operations of files in the order of streams, on a real GPU: what the emulated one cannot show
 *
 *	cufile_stream [LIBRARY [FILE]]
 *
 * LIBRARY is any libcufile.so.0 (default: the loader's), FILE a place for a file of 64 MiB (default ./cufile-stream.tmp; it
 * is removed). Each case is a process of its own, so that each meets a library and a context that are new, and has 30 s:
 * a case that hangs is one in which the driver waits for the very stream that waits for the file. Prints a line for each:
 * whether the bytes were right, how long a submission took the caller, how long an operation takes from submission to the
 * end of the stream, beside cuFileRead() of the same bytes.
 *
 * Builds alone: cc -std=gnu17 -D_GNU_SOURCE -O2 -Iinclude -Isrc -include gpu/cuda_abi.h bench/cufile_stream.c
 * src/gpu/cuda.c -o cufile_stream -ldl -lpthread
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
#include "util/clock.h"

#define FILE_SIZE (64UL << 20)
#define ROUNDS	  200
#define PATIENCE_S 30

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
	X(CUfileError_t, cuFileSetParameterBool, (CUFileBoolConfigParameter_t param, bool value))

#define FIELD(ret, name, params) ret(*name) params;
static struct library {
	LIBRARY(FIELD)
} lib;

enum stream_kind { DEFAULT_STREAM, THREAD_STREAM, BLOCKING, NON_BLOCKING };

/**
 * struct trial - one case
 * @name:       what it is called
 * @kind:       stream
 * @len:        bytes of an operation
 * @registered: buffer and stream are
 * @direct:     the file is opened with O_DIRECT
 * @bypass:     stream_memops_bypass
 */
struct trial {
	const char *name;
	enum stream_kind kind;
	size_t len;
	bool registered;
	bool direct;
	bool bypass;
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

static void set_up(const struct trial *trial)
{
	CUfileDescr_t descr = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD };
	CUcontext context;
	void *pinned = NULL;

	cuda = bl_cuda();
	must(cuda && !cuda->cuInit(0), "CUDA");
	must(!cuda->cuDevicePrimaryCtxRetain(&context, 0) && !cuda->cuCtxSetCurrent(context), "context");
	must(!cuda->cuMemAlloc(&device, FILE_SIZE) && !cuda->cuMemHostAlloc(&pinned, FILE_SIZE, 0), "memory");
	host = pinned;
	if (trial->kind >= BLOCKING)
		must(!cuda->cuStreamCreate(&stream, trial->kind == NON_BLOCKING), "stream");
	else
		stream = trial->kind == THREAD_STREAM ? PER_THREAD : NULL;
	if (trial->bypass)
		must(!lib.cuFileSetParameterBool(CUFILE_PARAM_STREAM_MEMOPS_BYPASS, true).err, "parameter");
	must(!lib.cuFileDriverOpen().err, "cuFileDriverOpen");
	descr.handle.fd = open(file_name, O_RDWR | (trial->direct ? O_DIRECT : 0));
	must(descr.handle.fd >= 0 && !lib.cuFileHandleRegister(&fh, &descr).err, "cuFileHandleRegister");
	if (!trial->registered)
		return;
	must(!lib.cuFileBufRegister((void *)(uintptr_t)device, FILE_SIZE, 0).err, "cuFileBufRegister");
	must(!lib.cuFileStreamRegister(stream, 15).err, "cuFileStreamRegister");
}

/* Copy to the GPU, write to the file, read to another place, copy back: without a wait until the end. */
static int round_trip(const struct trial *trial, unsigned char value)
{
	off_t pos = 0, first = 0, second = (off_t)trial->len;
	ssize_t bytes[2] = { 0 };
	size_t len = trial->len;

	memset(host, value, len);
	memset(host + len, 0, len);
	must(!cuda->cuMemcpyHtoDAsync(device, host, len, stream), "copy");
	must(!lib.cuFileWriteAsync(fh, (void *)(uintptr_t)device, &len, &pos, &first, &bytes[0], stream).err, "write");
	must(!lib.cuFileReadAsync(fh, (void *)(uintptr_t)device, &len, &pos, &second, &bytes[1], stream).err, "read");
	must(!cuda->cuMemcpyDtoHAsync(host + len, device + len, len, stream), "copy back");
	must(!cuda->cuStreamSynchronize(stream), "synchronize");
	return bytes[0] == (ssize_t)len && bytes[1] == (ssize_t)len && !memcmp(host, host + len, len);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *samples)
{
	qsort(samples, ROUNDS, sizeof(*samples), compare);
	return samples[ROUNDS / 2];
}

static void measure(const struct trial *trial, double *submit_us, double *whole_us, double *call_us)
{
	static double submits[ROUNDS], wholes[ROUNDS], calls[ROUNDS];
	void *base = (void *)(uintptr_t)device;
	size_t len = trial->len;
	off_t off = 0;

	for (int i = 0; i < ROUNDS; i++) {
		off_t pos = (off_t)((unsigned int)i * len % FILE_SIZE);
		uint64_t start = bl_now_ns(), submitted;
		ssize_t bytes = 0;

		must(!lib.cuFileReadAsync(fh, base, &len, &pos, &off, &bytes, stream).err, "read");
		submitted = bl_now_ns();
		must(!cuda->cuStreamSynchronize(stream) && bytes == (ssize_t)len, "bytes");
		submits[i] = 1e-3 * (double)(submitted - start);
		wholes[i] = 1e-3 * (double)(bl_now_ns() - start);
		start = bl_now_ns();
		must(lib.cuFileRead(fh, base, len, pos, off) == (ssize_t)len, "cuFileRead");
		calls[i] = 1e-3 * (double)(bl_now_ns() - start);
	}
	*submit_us = median(submits);
	*whole_us = median(wholes);
	*call_us = median(calls);
}

static void note(void *arg)
{
	atomic_store((_Atomic(uint64_t) *)arg, bl_now_ns());
}

/* How long the host function of another stream waits behind large reads of this one. */
static double other_us(void)
{
	static off_t pos, off;
	static size_t len = FILE_SIZE;
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

static int run(const struct trial *trial)
{
	double submit_us, whole_us, call_us;
	int right;

	alarm(PATIENCE_S);
	set_up(trial);
	/* the first is in a library that has made nothing ready yet */
	right = round_trip(trial, 1);
	for (unsigned char i = 2; i < 20 && right; i++)
		right = round_trip(trial, i);
	must(right, "wrong bytes");
	measure(trial, &submit_us, &whole_us, &call_us);
	printf("ok, submit %.1f us, to the end %.1f us, cuFileRead %.1f us, host function of another stream %.1f us\n",
	       submit_us, whole_us, call_us, other_us());
	fflush(stdout);
	return 0;
}

static int run_apart(const struct trial *trial)
{
	int status = 0;
	pid_t pid;

	printf("%-40s ", trial->name);
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
	{ "default stream, 4 KiB", DEFAULT_STREAM, 4096, true, false, false },
	{ "default stream, 1 MiB, not registered", DEFAULT_STREAM, 1 << 20, false, false, false },
	{ "default stream, 16 MiB, direct", DEFAULT_STREAM, 16 << 20, true, true, false },
	{ "stream of the thread, 1 MiB", THREAD_STREAM, 1 << 20, true, false, false },
	{ "blocking stream, 4 KiB", BLOCKING, 4096, true, false, false },
	{ "blocking stream, 16 MiB, not registered", BLOCKING, 16 << 20, false, false, false },
	{ "non-blocking stream, 4 KiB", NON_BLOCKING, 4096, true, false, false },
	{ "non-blocking stream, 1 MiB", NON_BLOCKING, 1 << 20, true, false, false },
	{ "non-blocking stream, 16 MiB", NON_BLOCKING, 16 << 20, true, false, false },
	{ "non-blocking stream, 16 MiB, direct", NON_BLOCKING, 16 << 20, true, true, false },
	{ "non-blocking, 1 MiB, host functions wait", NON_BLOCKING, 1 << 20, true, false, true },
	{ "blocking, 16 MiB, host functions wait", BLOCKING, 16 << 20, true, false, true },
	{ "default, 1 MiB, host functions wait", DEFAULT_STREAM, 1 << 20, false, false, true },
};

int main(int argc, char **argv)
{
	int bad = 0;

	load(argc > 1 ? argv[1] : "libcufile.so.0");
	if (argc > 2)
		file_name = argv[2];
	if (make_file()) {
		perror(file_name);
		return 2;
	}
	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++)
		bad += run_apart(&trials[i]);
	unlink(file_name);
	printf("%d of %zu cases failed\n", bad, sizeof(trials) / sizeof(trials[0]));
	return bad != 0;
}
