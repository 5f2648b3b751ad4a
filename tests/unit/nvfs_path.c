// SPDX-License-Identifier: MIT
/* Path nvfs as the lane calls it; configuration, pins and copies are the test's. */
#include "file/config.h"
#include "file/cost.h"
#include "file/driver.h"
#include "file/file.h"
#include "file/fio.h"
#include "file/io.h"
#include "file/nvfs.h"
#include "file/stats.h"
#include "gpu/cuda.h"
#include "nvfs_fixture.h"

#define PIN	77
#define PIN_VA	(FAKE_GPU_VA + 64 * KB)
#define PIN_LEN (20 * MB)

static struct bl_file_config config;
static struct bl_file file;
static struct bl_io io;
static int flushes, pin_errno;
static void (*closer)(void);

static uint64_t counts[BL_NVFS_NR][2];

void bl_stats_nvfs(enum bl_nvfs_count what, bool write, uint64_t by)
{
	counts[what][write] += by;
}

static uint64_t nr_refused(void)
{
	uint64_t nr = 0;

	for (int what = BL_NVFS_REFUSED_FILE; what <= BL_NVFS_REFUSED_OTHER; what++)
		nr += counts[what][0] + counts[what][1];
	return nr;
}

const struct bl_file_config *bl_file_config(void)
{
	return &config;
}

bl_ctx_t bl_driver_ctx(void)
{
	return 1;
}

int bl_driver_at_close(void (*close_fn)(void), void (*child)(void))
{
	closer = close_fn;
	return 0;
}

int bl_fio_direct_fd(struct bl_file *f)
{
	return f->direct_fd;
}

int __wrap_bl_pin_info(bl_ctx_t ctx, bl_pin_t pin, struct bl_pin_info *info);
int __wrap_bl_pin_info(bl_ctx_t ctx, bl_pin_t pin, struct bl_pin_info *info)
{
	check_eq(ctx, 1);
	check_eq(pin, PIN);
	*info = (struct bl_pin_info){.va = PIN_VA, .len = PIN_LEN};
	return -pin_errno;
}

int __wrap_bl_copy(bl_pin_t pin, uint64_t off, void *host, size_t len, enum bl_copy_dir dir, enum bl_engine engine);
int __wrap_bl_copy(bl_pin_t pin, uint64_t off, void *host, size_t len, enum bl_copy_dir dir, enum bl_engine engine)
{
	check_eq(pin, PIN);
	check_eq(dir, BL_COPY_TO);
	check(off + len <= PIN_LEN);
	memcpy(fake_gpu() + (PIN_VA - FAKE_GPU_VA) + off, host, len);
	return 0;
}

int __wrap_bl_flush(bl_pin_t pin);
int __wrap_bl_flush(bl_pin_t pin)
{
	flushes++;
	return 0;
}

static CUresult get_device(CUdevice *dev, int ordinal)
{
	*dev = ordinal;
	return ordinal == 3 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

static CUresult get_bus_id(char *id, int len, CUdevice dev)
{
	snprintf(id, (size_t)len, "0000:65:00.0");
	return CUDA_SUCCESS;
}

const struct bl_cuda *__wrap_bl_cuda(void);
const struct bl_cuda *__wrap_bl_cuda(void)
{
	static const struct bl_cuda cuda = {.cuDeviceGet = get_device, .cuDeviceGetPCIBusId = get_bus_id};

	return &cuda;
}

static void begin(size_t file_len)
{
	struct stat st;
	char line[128];

	fake_nvfs_begin();
	flushes = pin_errno = 0;
	memset(counts, 0, sizeof(counts));
	config = (struct bl_file_config){
		.max_direct_io_size_kb = 16384,
		.min_io_threshold_size_kb = 8192,
		.max_request_parallelism = 4,
		.parallel_io = true,
		.poll_mode_max_size_kb = 4,
	};
	file = (struct bl_file){.fd = file_new(file_len), .device = true, .align = 512};
	file.direct_fd = file.fd;
	check(!fstat(file.fd, &st));
	file.dev = st.st_dev;
	file.ino = st.st_ino;
	snprintf(line, sizeof(line), "1 1 %u:%u / /d rw - xfs x rw\n", major(st.st_dev), minor(st.st_dev));
	fake_nvfs_text("/proc/self/mountinfo", line);
	snprintf(line, sizeof(line), "/sys/dev/block/%u:%u/uevent", major(st.st_dev), minor(st.st_dev));
	fake_nvfs_text(line, "DEVNAME=nvme0n1\nDEVTYPE=disk\n");
	snprintf(line, sizeof(line), "/sys/dev/block/%u:%u/device/transport", major(st.st_dev), minor(st.st_dev));
	fake_nvfs_text(line, "pcie\n");
}

/* A request for memory that lies @off behind the start of the pin. */
static const struct bl_io *request(bool write, size_t off, off_t pos, size_t len)
{
	io = (struct bl_io){
		.file = &file,
		.mem = {
			.kind = BL_MEM_DEVICE,
			.va = PIN_VA + off,
			.len = len,
			.buffer = (struct bl_buffer *)&file,
			.pin = PIN,
			.pin_off = off,
			.mapped = &file,
			.ordinal = 3,
		},
		.len = len,
		.pos = pos,
		.write = write,
		.deadline_ns = bl_now_ns() + SOON_NS,
		.path = BL_PATH_NR,
	};
	return &io;
}

static void end(void)
{
	closer();
	close(file.fd);
	fake_nvfs_end();
}

static size_t gpu_off(size_t off)
{
	return PIN_VA - FAKE_GPU_VA + off;
}

static void the_path_moves_what_is_aligned_and_leaves_the_rest(void)
{
	begin(MB);
	check(!bl_path_nvfs.usable(request(false, 8 * KB, 4 * KB, 100000)));
	check_eq(bl_path_nvfs.run(&io), -EAGAIN);
	check_eq(io.done, 24 * 4096);
	check(gpu_has(gpu_off(8 * KB), 4 * KB, 24 * 4096));
	check(gpu_is(gpu_off(8 * KB + 24 * 4096), 0xaa, 4096));
	/* from where another path has come to */
	request(true, 8 * KB, 4 * KB, 64 * KB);
	io.done = 16 * KB;
	check(!bl_path_nvfs.usable(&io));
	check_eq(bl_path_nvfs.run(&io), 0);
	check_eq(io.done, 64 * KB);
	check_eq(counts[BL_NVFS_REQUESTS][0], 1);
	check_eq(counts[BL_NVFS_REQUESTS][1], 1);
	check_eq(counts[BL_NVFS_BYTES][0], 24 * 4096);
	check_eq(counts[BL_NVFS_BYTES][1], 48 * KB);
	check_eq(nr_refused(), 0);
	end();
}

static void the_end_of_the_file_is_the_end(void)
{
	begin(10000);
	check(!bl_path_nvfs.usable(request(false, 0, 0, 100000)));
	check_eq(bl_path_nvfs.run(&io), 0);
	check_eq(io.done, 10000);
	check(gpu_has(gpu_off(0), 0, 10000));
	end();
}

static void holes_are_zeroed_by_the_core_and_flushed(void)
{
	begin(64 * KB);
	check_eq(ftruncate(file.fd, 4 * MB), 0);
	request(false, 4 * KB, 0, 3 * MB);
	io.mem.flush = true;
	check(!bl_path_nvfs.usable(&io));
	check_eq(bl_path_nvfs.run(&io), 0);
	check_eq(io.done, 3 * MB);
	check(gpu_has(gpu_off(4 * KB), 0, 64 * KB));
	check(gpu_is(gpu_off(68 * KB), 0, 3 * MB - 64 * KB));
	check(flushes > 0);
	check_eq(counts[BL_NVFS_HOLE_BYTES][0], 3 * MB - 64 * KB);
	/* nobody can zero what the CPU does not reach: the pieces with holes are for others */
	request(false, 4 * KB, 0, 3 * MB);
	io.mem.mapped = NULL;
	check_eq(bl_path_nvfs.run(&io), -EAGAIN);
	end();
}

#define blocked(says)                                                                                                  \
	do {                                                                                                           \
		check_has(bl_path_nvfs.usable(&io), says);                                                             \
		request(false, 0, 0, 64 * KB);                                                                         \
	} while (0)

static void what_the_path_cannot_serve_is_said(void)
{
	begin(MB);
	request(false, 0, 0, 64 * KB);
	io.mem.kind = BL_MEM_HOST;
	blocked("not a GPU's");
	io.mem.kind = BL_MEM_MANAGED;
	blocked("not a GPU's");
	io.mem.buffer = NULL;
	blocked("not registered");
	io.mem.pin = 0;
	blocked("could not be pinned");
	io.pos = 100;
	blocked("offset in the file");
	io.mem.va += 100;
	blocked("address of the memory");
	io.len = 4095;
	blocked("smaller than a block");
	file.direct_fd = -EINVAL;
	blocked("O_DIRECT");
	file.direct_fd = file.fd;
	config.force_compat_mode = true;
	blocked("force_compat_mode");
	config.force_compat_mode = false;
	check(!bl_path_nvfs.usable(&io));
	/* a file system that wants more than a block */
	file.align = 16384;
	io.pos = 8 * KB;
	blocked("offset in the file");
	io.len = 8 * KB;
	blocked("smaller than a block");
	check(!bl_path_nvfs.usable(&io));
	atomic_store(&file.nvfs, NULL);
	fake_nvfs_text("/proc/self/mountinfo", "");
	blocked("no mount has");
	/* what was found out of a file holds as long as its handle */
	check_has(atomic_load(&file.nvfs), "no mount has");
	check_eq(fake_nvfs_counts().maps, 0);
	bl_nvfs_close();
	fake_nvfs.nodes = 0;
	blocked("modprobe nvidia-fs");
	bl_nvfs_close();
	close(file.fd);
	fake_nvfs_end();
}

static void refusals_are_counted_and_remembered(void)
{
	static const struct {
		int err;
		const char *says;
		enum bl_nvfs_count count;
	} cases[] = {
		{EOPNOTSUPP, "refused", BL_NVFS_REFUSED_FILE}, {ESTALE, "another file", BL_NVFS_REFUSED_FILE},
		{EINVAL, "refused", BL_NVFS_REFUSED_FILE},     {EIO, NULL, BL_NVFS_REFUSED_DRIVE},
		{ENOMEM, NULL, BL_NVFS_REFUSED_SHORTAGE},      {EBUSY, NULL, BL_NVFS_REFUSED_SHORTAGE},
	};

	for (size_t i = 0; i < NR_OF(cases); i++) {
		begin(MB);
		check(!bl_path_nvfs.usable(request(i & 1, 0, 0, 64 * KB)));
		fake_nvfs_inject(FAKE_REFUSE, cases[i].err, 0);
		check_eq(bl_path_nvfs.run(&io), -EAGAIN);
		check_has(bl_last_error(NULL), strerror(cases[i].err));
		check_eq(io.done, 0);
		check_eq(counts[cases[i].count][i & 1], 1);
		check_eq(nr_refused(), 1);
		check_eq(counts[BL_NVFS_FAILED][i & 1], 0);
		if (cases[i].says)
			check_has(bl_path_nvfs.usable(&io), cases[i].says);
		else
			check(!bl_path_nvfs.usable(&io));
		end();
	}
}

static void errors_are_told_with_what_was_done(void)
{
	int code;

	begin(MB);
	config.max_direct_io_size_kb = 64;
	request(true, 0, 0, 256 * KB);
	fake_nvfs_inject(FAKE_FAIL, ENOSPC, 1);
	check_eq(bl_path_nvfs.run(&io), -ENOSPC);
	check_eq(io.done, 64 * KB);
	check_has(bl_last_error(&code), "write at 0 len 262144, 65536 done");
	check_eq(code, ENOSPC);
	request(false, 0, 0, 64 * KB);
	config.use_poll_mode = true;
	config.poll_mode_max_size_kb = 64;
	io.deadline_ns = bl_now_ns() + 10000000;
	fake_nvfs_inject(FAKE_LOSE, 0, 0);
	check_eq(bl_path_nvfs.run(&io), -ETIMEDOUT);
	check_eq(counts[BL_NVFS_FAILED][0], 1);
	check_eq(counts[BL_NVFS_FAILED][1], 1);
	check_eq(counts[BL_NVFS_TIMEOUTS][0], 1);
	check(!bl_path_nvfs.usable(&io));
	closer();
	fake_nvfs_finish();
	end();
}

static void memory_that_cannot_be_bound_says_nothing_of_the_file(void)
{
	begin(MB);
	fake_nvfs.map_err = EINVAL;
	request(false, 0, 0, 64 * KB);
	check_eq(bl_path_nvfs.run(&io), -EAGAIN);
	check(!bl_path_nvfs.usable(&io));
	fake_nvfs.map_err = 0;
	/* registered anew it is tried anew */
	bl_nvfs_forget(PIN);
	pin_errno = EINVAL;
	check_eq(bl_path_nvfs.run(&io), -EAGAIN);
	pin_errno = 0;
	check_eq(bl_path_nvfs.run(&io), 0);
	bl_nvfs_forget(PIN);
	check_eq(fake_nvfs_counts().mapped, 0);
	end();
}

static void large_requests_are_split_as_configured(void)
{
	begin(17 * MB);
	request(false, 0, 0, 16 * MB);
	check_eq(bl_path_nvfs.run(&io), 0);
	check_eq(fake_nvfs_counts().reads, 4);
	check_eq(fake_nvfs_counts().largest, 4 * MB);
	config.parallel_io = false;
	config.max_direct_io_size_kb = 100; /* not whole GPU pages */
	request(false, 0, 0, MB);
	check_eq(bl_path_nvfs.run(&io), 0);
	check_eq(fake_nvfs_counts().reads, 4 + 16);
	check_eq(fake_nvfs_counts().async, 4);
	/* what no configuration should say */
	config.max_direct_io_size_kb = 0;
	config.parallel_io = true;
	config.max_request_parallelism = 0;
	config.min_io_threshold_size_kb = 0;
	request(false, 0, 0, 64 * KB);
	check_eq(bl_path_nvfs.run(&io), 0);
	config.max_direct_io_size_kb = UINT64_MAX;
	config.max_request_parallelism = 1000;
	request(false, 0, 0, 17 * MB);
	check_eq(bl_path_nvfs.run(&io), 0);
	check(gpu_has(gpu_off(0), 0, 17 * MB));
	end();
}

static void scores_are_learned(void)
{
	double score;

	/* sizes that no other test uses */
	begin(MB);
	check(bl_cost(BL_PATH_NVFS, 1UL << 40, false) == 0);
	bl_cost_note(BL_PATH_NVFS, 1UL << 40, false, 1UL << 41);
	score = bl_cost(BL_PATH_NVFS, 1UL << 40, false);
	check(score > 2.1e12 && score < 2.3e12);
	check(bl_cost(BL_PATH_NVFS, 1UL << 40, true) == 0);
	/* one request does not change much, many do */
	bl_cost_note(BL_PATH_NVFS, 1UL << 40, false, 1UL << 42);
	check(bl_cost(BL_PATH_NVFS, 1UL << 40, false) < 1.2 * score);
	for (int i = 0; i < 100; i++)
		bl_cost_note(BL_PATH_NVFS, 1UL << 40, false, 1UL << 42);
	check(bl_cost(BL_PATH_NVFS, 1UL << 40, false) > 1.9 * score);
	/* whoever has lost for long gets another chance */
	for (int i = 0; i < 600; i++)
		score = bl_cost(BL_PATH_NVFS, 1UL << 40, false);
	check(score == 0);
	request(false, 0, 0, 128 * KB);
	check_eq(bl_path_nvfs.run(&io), 0);
	check(bl_path_nvfs.score(request(false, 0, 0, 128 * KB)) > 0);
	end();
}

static const struct tap_test tests[] = {
	{"the_path_moves_what_is_aligned_and_leaves_the_rest", the_path_moves_what_is_aligned_and_leaves_the_rest},
	{"the_end_of_the_file_is_the_end", the_end_of_the_file_is_the_end},
	{"holes_are_zeroed_by_the_core_and_flushed", holes_are_zeroed_by_the_core_and_flushed},
	{"what_the_path_cannot_serve_is_said", what_the_path_cannot_serve_is_said},
	{"refusals_are_counted_and_remembered", refusals_are_counted_and_remembered},
	{"errors_are_told_with_what_was_done", errors_are_told_with_what_was_done},
	{"memory_that_cannot_be_bound_says_nothing_of_the_file", memory_that_cannot_be_bound_says_nothing_of_the_file},
	{"large_requests_are_split_as_configured", large_requests_are_split_as_configured},
	{"scores_are_learned", scores_are_learned},
};

TAP_MAIN(tests)
