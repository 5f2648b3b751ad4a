// SPDX-License-Identifier: MIT
/*
 * What the first calls of a process cost, from the open of the driver to the second read, in a new process each time.
 * CUDA's own start is not part of it: its context is there before the clock starts.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cufile_bw.h"
#include "util/clock.h"

#define LEN 4096

enum { OPEN, FILE_REGISTER, BUF_REGISTER, READ, SUM, READ_AGAIN, NR_STEPS };

_Static_assert(NR_STEPS == BW_FIRST_ROWS, "a row per step");

static const char *const names[NR_STEPS] = {
	"first-open", "first-register-file", "first-register-buffer", "first-read", "first-sum", "first-read-again",
};

struct first {
	struct cufile_lib lib;
	const struct bl_cuda *cuda;
	CUdeviceptr dev;
	CUfileHandle_t fh;
	CUfileDescr_t descr;
	unsigned char seen[LEN];
};

static int call(struct first *first, int step)
{
	void *gpu = (void *)(uintptr_t)first->dev;
	ssize_t got;

	switch (step) {
	case OPEN:
		return first->lib.cuFileDriverOpen().err;
	case FILE_REGISTER:
		return first->lib.cuFileHandleRegister(&first->fh, &first->descr).err;
	case BUF_REGISTER:
		return first->lib.cuFileBufRegister(gpu, LEN, 0).err;
	default:
		got = first->lib.cuFileRead(first->fh, gpu, LEN, step == READ ? 0 : LEN, 0);
		return got == LEN ? 0 : -1;
	}
}

static int timed(struct first *first, double *us)
{
	us[SUM] = 0;
	for (int step = 0; step < NR_STEPS; step++) {
		uint64_t begin = bl_now_ns();
		int err;

		if (step == SUM)
			continue;
		err = call(first, step);
		us[step] = (double)(bl_now_ns() - begin) / 1e3;
		if (err) {
			fprintf(stderr, "cufile_bw: %s: error %d\n", names[step], err);
			return -1;
		}
		us[SUM] += step < SUM ? us[step] : 0;
	}
	return 0;
}

/* In the child: one process' first calls. */
static int once(const char *lib_path, const char *path, int ordinal, double *us)
{
	static struct first first;
	CUcontext context;
	char name[64];
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0 || bw_file_warm(fd)) {
		fprintf(stderr, "cufile_bw: %s: %s\n", path, strerror(errno));
		return -1;
	}
	if (bw_gpu_open(ordinal, &context, name, sizeof(name)) || cufile_lib_load(lib_path, &first.lib))
		return -1;
	first.cuda = bl_cuda();
	first.descr = (CUfileDescr_t){ .type = 1, .handle.fd = fd };
	if (first.cuda->cuMemAlloc(&first.dev, LEN) || timed(&first, us))
		return -1;
	if (first.cuda->cuMemcpyDtoH(first.seen, first.dev, LEN) || bw_pattern_differs(first.seen, LEN, LEN, 0) != LEN) {
		fprintf(stderr, "cufile_bw: first: wrong bytes in GPU memory\n");
		return -1;
	}
	first.lib.cuFileHandleDeregister(first.fh);
	first.lib.cuFileBufDeregister((void *)(uintptr_t)first.dev);
	first.lib.cuFileDriverClose_v2();
	return 0;
}

static int in_child(const char *lib_path, const char *path, int ordinal, double *us)
{
	size_t size = NR_STEPS * sizeof(*us);
	int ends[2], status = 0;
	ssize_t got;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		signal(SIGALRM, SIG_DFL);
		alarm(60);
		_exit(once(lib_path, path, ordinal, us) || write(ends[1], us, size) != (ssize_t)size);
	}
	close(ends[1]);
	got = pid < 0 ? -1 : read(ends[0], us, size);
	close(ends[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return got == (ssize_t)size && !status ? 0 : -1;
}

int bw_first(const char *lib_path, const char *path, int ordinal, unsigned int reps, struct bw_row *rows)
{
	double us[BW_MAX_REPS][NR_STEPS], column[BW_MAX_REPS];

	for (unsigned int i = 0; i < reps; i++) {
		if (in_child(lib_path, path, ordinal, us[i])) {
			fprintf(stderr, "cufile_bw: first: a process failed\n");
			return -1;
		}
	}
	for (int step = 0; step < NR_STEPS; step++) {
		struct bw_row *row = &rows[step];

		*row = (struct bw_row){ .name = names[step], .len = LEN, .threads = 1, .reps = reps, .ops = reps };
		for (unsigned int i = 0; i < reps; i++)
			column[i] = us[i][step];
		row->us[0] = bw_median(column, reps);
		row->us[1] = column[reps - 1];
		row->checked = step == READ_AGAIN ? reps : 0;
	}
	return 0;
}
