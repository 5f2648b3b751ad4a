// SPDX-License-Identifier: MIT
/*
 * gdsio_verify - whether what libcufile brings to GPU memory is what the file has
 *
 * Reads a part of a file through the library and compares it with pread(). Lines of output are those of NVIDIA's tool.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cufile.h"
#include "common/device.h"
#include "common/error.h"
#include "common/memory.h"
#include "common/option.h"

#define PIECE (4UL << 20)

struct options {
	const char *lib;
	const char *file;
	int gpu;
	uint64_t off;
	uint64_t size;
	uint64_t nr;
	uint64_t dev_off;
	bool skip_register;
};

struct verify {
	const struct options *opt;
	struct tool_cufile lib;
	struct tool_device device;
	struct tool_mem mem;
	CUfileHandle_t fh;
	int direct;
	int plain;
	unsigned char *want;
	unsigned char *seen;
};

static void usage(FILE *out)
{
	fputs("usage: gdsio_verify -f FILE [options]\n"
	      "  -f FILE   file to read\n"
	      "  -d N      GPU (0)\n"
	      "  -o BYTES  offset in the file (0)\n"
	      "  -s BYTES  bytes, default up to the end of the file\n"
	      "  -n N      requests that they are read in (1)\n"
	      "  -t BYTES  offset in the GPU buffer (0)\n"
	      "  -m N      accepted for the original's sake: requests are synchronous\n"
	      "  -b        do not register the buffer\n"
	      "  --lib FILE  libcufile to use, default libcufile.so.0 where the loader finds it\n",
	      out);
}

static void parse(int argc, char **argv, struct options *opt)
{
	static const struct option longs[] = { { "lib", required_argument, NULL, 'L' },
					       { "help", no_argument, NULL, 'h' },
					       { NULL, 0, NULL, 0 } };
	int c;

	*opt = (struct options){ .nr = 1 };
	while ((c = getopt_long(argc, argv, "f:d:o:s:n:t:m:bh", longs, NULL)) != -1) {
		if (c == 'f')
			opt->file = optarg;
		else if (c == 'd')
			opt->gpu = (int)tool_number("-d", optarg, 0, 1023);
		else if (c == 'o')
			opt->off = tool_number("-o", optarg, 0, 1UL << 50);
		else if (c == 's')
			opt->size = tool_number("-s", optarg, 1, 1UL << 50);
		else if (c == 'n')
			opt->nr = tool_number("-n", optarg, 1, 1UL << 30);
		else if (c == 't')
			opt->dev_off = tool_number("-t", optarg, 0, 1UL << 40);
		else if (c == 'm')
			tool_number("-m", optarg, 0, 1);
		else if (c == 'b')
			opt->skip_register = true;
		else if (c == 'L')
			opt->lib = optarg;
		else {
			usage(c == 'h' ? stdout : stderr);
			exit(c == 'h' ? EXIT_SUCCESS : EXIT_FAILURE);
		}
	}
	if (optind < argc)
		tool_die("unexpected argument \"%s\"", argv[optind]);
	if (!opt->file)
		tool_die("no file: -f FILE");
}

static void open_files(struct verify *verify, struct options *opt)
{
	struct stat st;

	verify->plain = tool_cufile_open(opt->file, O_RDONLY);
	if (verify->plain < 0 || fstat(verify->plain, &st))
		tool_die("%s: %s", opt->file, strerror(errno));
	verify->direct = tool_cufile_open(opt->file, O_RDONLY | O_DIRECT);
	if (verify->direct < 0)
		verify->direct = tool_cufile_open(opt->file, O_RDONLY);
	if (verify->direct < 0)
		tool_die("%s: %s", opt->file, strerror(errno));
	if (S_ISREG(st.st_mode) && !opt->size && (uint64_t)st.st_size > opt->off)
		opt->size = (uint64_t)st.st_size - opt->off;
	if (!opt->size)
		tool_die("%s: nothing to read behind offset %" PRIu64, opt->file, opt->off);
}

static void need(int ret)
{
	if (ret)
		tool_die("%s", tool_why());
}

static void open_gpu(struct verify *verify, uint64_t chunk)
{
	const struct options *opt = verify->opt;
	CUfileDescr_t descr = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD, .handle.fd = verify->direct };

	need(tool_device_open(opt->gpu, &verify->device));
	need(tool_cufile_load(opt->lib, &verify->lib));
	need(tool_cufile_status(verify->lib.cuFileDriverOpen(), "cuFileDriverOpen"));
	need(tool_cufile_status(verify->lib.cuFileHandleRegister(&verify->fh, &descr), "cuFileHandleRegister"));
	need(tool_mem_alloc(&verify->device, TOOL_MEM_ALLOC, (size_t)(opt->dev_off + chunk), &verify->mem));
	if (!opt->skip_register)
		need(tool_cufile_status(verify->lib.cuFileBufRegister((void *)(uintptr_t)verify->mem.ptr,
								      (size_t)(opt->dev_off + chunk), 0),
					"cuFileBufRegister"));
	verify->want = malloc(PIECE);
	verify->seen = malloc(PIECE);
	if (!verify->want || !verify->seen)
		tool_die("out of memory");
}

static void compare(struct verify *verify, uint64_t pos, uint64_t len)
{
	for (uint64_t done = 0; done < len;) {
		size_t part = len - done < PIECE ? (size_t)(len - done) : PIECE;
		ssize_t got = pread(verify->plain, verify->want, part, (off_t)(pos + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			tool_die("%s: pread: %s", verify->opt->file, got ? strerror(errno) : "the file has become shorter");
		need(tool_cuda(verify->device.cu->cuMemcpyDtoH(verify->seen,
							       verify->mem.ptr + verify->opt->dev_off + done, (size_t)got),
			       "cuMemcpyDtoH"));
		for (ssize_t i = 0; i < got; i++) {
			if (verify->seen[i] != verify->want[i])
				tool_die("Data Verification Failed: %s, offset %" PRIu64 ": %#x instead of %#x",
					 verify->opt->file, pos + done + (uint64_t)i, verify->seen[i], verify->want[i]);
		}
		done += (uint64_t)got;
	}
}

static void read_one(struct verify *verify, uint64_t pos, uint64_t len)
{
	CUdeviceptr at = verify->mem.ptr + verify->opt->dev_off;
	ssize_t got;

	/* bytes that the file is unlikely to have */
	need(tool_cuda(verify->device.cu->cuMemsetD8(at, 0xa7, (size_t)len), "cuMemsetD8"));
	need(tool_cuda(verify->device.cu->cuCtxSynchronize(), "cuCtxSynchronize"));
	got = verify->lib.cuFileRead(verify->fh, (void *)(uintptr_t)verify->mem.ptr, (size_t)len, (off_t)pos,
				     (off_t)verify->opt->dev_off);
	if (got != (ssize_t)len)
		tool_die("cuFileRead of %" PRIu64 " bytes at %" PRIu64 " gave %zd: %s", len, pos, got,
			 got >= 0			  ? "too few"
			 : got < -CUFILEOP_BASE_ERR	  ? CUFILE_ERRSTR((int)got)
			 : IS_CUFILE_ERR(errno)		  ? CUFILE_ERRSTR(errno)
							  : strerror(errno));
	compare(verify, pos, len);
}

int main(int argc, char **argv)
{
	static struct verify verify;
	struct options opt;
	uint64_t chunk;

	parse(argc, argv, &opt);
	verify.opt = &opt;
	open_files(&verify, &opt);
	chunk = (opt.size + opt.nr - 1) / opt.nr;
	open_gpu(&verify, chunk);
	printf("gpu index :%d,file :%s, gpu buffer alignment :0, gpu buffer offset :%" PRIu64
	       ", gpu devptr offset :0, file offset :%" PRIu64 ", io_requested :%" PRIu64 ", io_chunk_size :%" PRIu64
	       ", bufregister :%s, sync :1, nr ios :%" PRIu64 ",\nfsync :0,\nBatch mode: 0\n",
	       opt.gpu, opt.file, opt.dev_off, opt.off, opt.size, chunk, opt.skip_register ? "false" : "true", opt.nr);
	for (uint64_t done = 0; done < opt.size; done += chunk)
		read_one(&verify, opt.off + done, opt.size - done < chunk ? opt.size - done : chunk);
	printf("Data Verification Success\n");
	if (!opt.skip_register)
		verify.lib.cuFileBufDeregister((void *)(uintptr_t)verify.mem.ptr);
	verify.lib.cuFileHandleDeregister(verify.fh);
	verify.lib.cuFileDriverClose_v2();
	tool_mem_free(&verify.mem);
	tool_device_close(&verify.device);
	free(verify.want);
	free(verify.seen);
	return tool_finish(EXIT_SUCCESS);
}
