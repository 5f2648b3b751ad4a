// SPDX-License-Identifier: MIT
/* Opening and closing, parameters, properties, children. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cufile.h"
#include "file/config_load.h"
#include "file/deny.h"
#include "file/driver.h"
#include "file/error.h"
#include "file/nvfs_modules.h"
#include "file_root.h"
#include "tap.h"
#include "temp_dir.h"

#undef cuFileDriverClose

static char dir[] = "/tmp/barlane-driver-XXXXXX";

#define OK CU_FILE_SUCCESS

static void fresh(void)
{
	while (cuFileUseCount() > 0)
		check_eq(cuFileDriverClose_v2().err, OK);
	file_root_begin();
	unsetenv("CUFILE_ALLOW_COMPAT_MODE");
}

static void opens_are_counted(void)
{
	fresh();
	check_eq(cuFileUseCount(), 0);
	check_eq(cuFileDriverClose().err, CU_FILE_DRIVER_NOT_INITIALIZED);
	check_eq(cuFileDriverOpen().err, OK);
	check_eq(cuFileDriverOpen().err, OK);
	check_eq(cuFileUseCount(), 2);
	check_eq(cuFileDriverClose().err, OK);
	check_eq(bl_driver_check(), 0);
	check_eq(cuFileDriverClose_v2().err, OK);
	check_eq(cuFileUseCount(), 0);
	check_eq(cuFileDriverClose_v2().err, CU_FILE_DRIVER_NOT_INITIALIZED);
	check_eq(bl_driver_check(), -CU_FILE_DRIVER_CLOSING);
}

static void a_use_counts_one_open(void)
{
	fresh();
	check_eq(bl_driver_use(), 0);
	check_eq(bl_driver_use(), 0);
	check_eq(cuFileUseCount(), 1);
	check_eq(cuFileDriverOpen().err, OK);
	check_eq(cuFileUseCount(), 2);
	check_eq(cuFileDriverClose().err, OK);
	check_eq(cuFileDriverClose().err, OK);
	check_eq(cuFileDriverClose().err, CU_FILE_DRIVER_NOT_INITIALIZED);
}

static void a_file_registers_by_an_implicit_open_and_goes_with_the_last_close(void)
{
	CUfileHandle_t handle, again;
	CUfileDescr_t descr = {.type = CU_FILE_HANDLE_TYPE_OPAQUE_FD};
	char path[300], byte = 'x';

	fresh();
	snprintf(path, sizeof(path), "%s/file", dir);
	descr.handle.fd = open(path, O_RDWR | O_CREAT, 0600);
	check(descr.handle.fd >= 0);
	check_eq(cuFileHandleRegister(&handle, &descr).err, OK);
	check_eq(cuFileUseCount(), 1);
	check_eq(cuFileBufRegister(&byte, 1, 0).err, OK);
	check_eq(cuFileUseCount(), 1);
	check_eq(cuFileDriverClose().err, OK);
	check_eq(cuFileBufDeregister(&byte).err, CU_FILE_DRIVER_CLOSING);
	/* the same descriptor and memory once more: nothing was left registered */
	check_eq(cuFileHandleRegister(&again, &descr).err, OK);
	check_eq(cuFileBufRegister(&byte, 1, 0).err, OK);
	check(again != handle);
	check_eq(cuFileWrite(handle, &byte, 1, 0, 0), -1);
	check_eq(errno, CU_FILE_HANDLE_NOT_REGISTERED);
	check_eq(cuFileWrite(again, &byte, 1, 0, 0), 1);
	check_eq(cuFileDriverClose().err, OK);
	close(descr.handle.fd);
}

static void compatibility_can_be_forbidden(void)
{
	fresh();
	setenv("CUFILE_ALLOW_COMPAT_MODE", "false", 1);
	check_eq(cuFileDriverOpen().err, CU_FILE_DRIVER_NOT_INITIALIZED);
	check_eq(cuFileUseCount(), 0);
	check_eq(bl_driver_use(), -CU_FILE_DRIVER_NOT_INITIALIZED);
	file_root_text("/proc/driver/nvidia-fs/version", "version: 2.28\n");
	check_eq(cuFileDriverOpen().err, OK);
	check_eq(cuFileDriverClose().err, OK);
}

static void properties_are_those_in_force(void)
{
	CUfileDrvProps_t props;
	char list[2100];

	fresh();
	check_eq(cuFileDriverGetProperties(NULL).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileDriverGetProperties(&props).err, OK);
	check_eq(props.nvfs.major_version, 0);
	check_eq(props.nvfs.dstatusflags, 0);
	check_eq(props.nvfs.dcontrolflags, 1 << CU_FILE_ALLOW_COMPAT_MODE);
	check_eq(props.fflags, 0xf);
	check_eq(props.per_buffer_cache_size, 0);
	check_eq(props.nvfs.max_direct_io_size, 16384);
	check_eq(props.max_batch_io_size, 128);
	check_eq(props.max_batch_io_timeout_msecs, 5);
	check_eq(cuFileDriverSetPollMode(true, 16).err, OK);
	check_eq(cuFileDriverSetMaxDirectIOSize(128).err, OK);
	check_eq(cuFileDriverGetProperties(&props).err, OK);
	check_eq(props.nvfs.poll_thresh_size, 16);
	check_eq(props.nvfs.max_direct_io_size, 128);
	check_eq(props.nvfs.dcontrolflags, 3);
	file_root_text("/proc/driver/nvidia-fs/version", "version: 2.28\n");
	file_root_text("/proc/driver/nvidia-fs/modules", "nvme: 5.15\nwekafsio: 1\nnvme_rdma: (null)\nfuture: 1\n");
	check_eq(cuFileDriverGetProperties(&props).err, OK);
	check_eq(props.nvfs.major_version, 2);
	check_eq(props.nvfs.minor_version, 28);
	check_eq(props.nvfs.dstatusflags, 1 << CU_FILE_NVME_SUPPORTED | 1 << CU_FILE_NVMEOF_SUPPORTED);
	check_eq(props.per_buffer_cache_size, 1024);
	/* a list of any length; what would be cut off here is another word */
	memset(list, '\n', sizeof(list));
	strcpy(list + 2043, "nvme_rdma: 1\n");
	file_root_text("/proc/driver/nvidia-fs/modules", list);
	check_eq(cuFileDriverGetProperties(&props).err, OK);
	check_eq(props.nvfs.dstatusflags, 1 << CU_FILE_NVMEOF_SUPPORTED);
}

static void limits_have_ranges(void)
{
	fresh();
	check_eq(cuFileDriverOpen().err, OK);
	check_eq(cuFileDriverSetMaxDirectIOSize(0).err, CU_FILE_DRIVER_UNSUPPORTED_LIMIT);
	check_eq(cuFileDriverSetMaxDirectIOSize(100).err, CU_FILE_DRIVER_UNSUPPORTED_LIMIT);
	check_eq(cuFileDriverSetMaxDirectIOSize(32768).err, CU_FILE_DRIVER_UNSUPPORTED_LIMIT);
	check_eq(cuFileDriverSetMaxDirectIOSize(SIZE_MAX).err, CU_FILE_DRIVER_UNSUPPORTED_LIMIT);
	check_eq(cuFileDriverSetPollMode(true, 0).err, CU_FILE_DRIVER_UNSUPPORTED_LIMIT);
	check(!bl_file_config()->use_poll_mode);
	check_eq(cuFileDriverSetMaxCacheSize(1024).err, CU_FILE_DRIVER_UNSUPPORTED_LIMIT);
	check_eq(cuFileDriverSetMaxPinnedMemSize(1024).err, CU_FILE_DRIVER_UNSUPPORTED_LIMIT);
	file_root_text("/proc/driver/nvidia-fs/version", "version: 2.28\n");
	check_eq(cuFileDriverSetMaxCacheSize(1024).err, OK);
	check_eq(cuFileDriverSetMaxPinnedMemSize(1024).err, OK);
	check_eq(cuFileDriverSetMaxPinnedMemSize(63).err, CU_FILE_DRIVER_UNSUPPORTED_LIMIT);
	check_eq(bl_file_config()->max_device_cache_size_kb, 1024);
	check_eq(bl_file_config()->max_device_pinned_mem_size_kb, 1024);
}

static void the_version_is_that_of_the_structs(void)
{
	int version = 0;

	check_eq(cuFileGetVersion(NULL).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileGetVersion(&version).err, OK);
	check_eq(version, 1150);
}

static void numbers_have_the_measured_ranges(void)
{
	static const struct {
		size_t min, max;
	} ranges[] = {{0, 3},	    {1, 256},	  {0, 32},  {4, 4294967295}, {0, 8},		{64, 16384},
		      {0, 0},	    {64, 16384}, {64, 0},  {1, 256},	      {4, 4294967295}, {1, 1000}};
	size_t min, max, value;

	fresh();
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		CUFileSizeTConfigParameter_t param = (CUFileSizeTConfigParameter_t)i;

		check_eq(cuFileGetParameterMinMaxValue(param, &min, &max).err, OK);
		check_eq(min, ranges[i].min);
		check_eq(max, ranges[i].max);
		check_eq(cuFileSetParameterSizeT(param, max + 1).err, CU_FILE_INVALID_VALUE);
		if (max < min)
			continue;
		check_eq(cuFileSetParameterSizeT(param, max / 4 * 4).err, OK);
		check_eq(cuFileGetParameterSizeT(param, &value).err, OK);
		check_eq(value, max / 4 * 4);
		if (min)
			check_eq(cuFileSetParameterSizeT(param, min - 1).err, CU_FILE_INVALID_VALUE);
	}
	check_eq(cuFileGetParameterMinMaxValue((CUFileSizeTConfigParameter_t)12, &min, &max).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileGetParameterMinMaxValue(CUFILE_PARAM_PROFILE_STATS, NULL, &max).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileGetParameterSizeT((CUFileSizeTConfigParameter_t)-1, &value).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileGetParameterSizeT(CUFILE_PARAM_PROFILE_STATS, NULL).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileSetParameterSizeT(CUFILE_PARAM_PROPERTIES_MAX_DIRECT_IO_SIZE_KB, 100).err, CU_FILE_INVALID_VALUE);
	/* let the next tests find what they expect */
	check_eq(cuFileDriverOpen().err, OK);
	check_eq(cuFileDriverClose().err, OK);
}

static void parameters_are_used_up_by_an_open(void)
{
	size_t value;
	bool on;

	fresh();
	check_eq(cuFileSetParameterSizeT(CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE, 17).err, OK);
	check_eq(cuFileSetParameterBool(CUFILE_PARAM_PREFER_IO_URING, true).err, OK);
	check_eq(cuFileDriverOpen().err, OK);
	check_eq(bl_file_config()->io_batchsize, 17);
	check(bl_file_config()->prefer_iouring);
	check_eq(cuFileSetParameterSizeT(CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE, 18).err, CU_FILE_DRIVER_ALREADY_OPEN);
	check_eq(cuFileSetParameterBool(CUFILE_PARAM_PREFER_IO_URING, false).err, CU_FILE_DRIVER_ALREADY_OPEN);
	check_eq(cuFileSetParameterString(CUFILE_PARAM_LOGGING_LEVEL, "INFO").err, CU_FILE_DRIVER_ALREADY_OPEN);
	check_eq(cuFileGetParameterSizeT(CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE, &value).err, OK);
	check_eq(value, 17);
	check_eq(cuFileDriverClose().err, OK);
	check_eq(cuFileDriverOpen().err, OK);
	check_eq(bl_file_config()->io_batchsize, 128);
	check_eq(cuFileGetParameterBool(CUFILE_PARAM_PREFER_IO_URING, &on).err, OK);
	check(!on);
}

static void parameters_come_before_the_environment(void)
{
	bool on = false;

	fresh();
	setenv("CUFILE_FORCE_COMPAT_MODE", "1", 1);
	check_eq(cuFileGetParameterBool(CUFILE_PARAM_FORCE_COMPAT_MODE, &on).err, OK);
	check(on);
	check_eq(cuFileSetParameterBool(CUFILE_PARAM_FORCE_COMPAT_MODE, false).err, OK);
	check_eq(cuFileGetParameterBool(CUFILE_PARAM_FORCE_COMPAT_MODE, &on).err, OK);
	check(!on);
	check_eq(cuFileDriverOpen().err, OK);
	check(!bl_file_config()->force_compat_mode);
	unsetenv("CUFILE_FORCE_COMPAT_MODE");
	for (int i = 0; i < 14; i++)
		check_eq(cuFileGetParameterBool((CUFileBoolConfigParameter_t)i, &on).err, OK);
	check_eq(cuFileGetParameterBool((CUFileBoolConfigParameter_t)14, &on).err, CU_FILE_INVALID_VALUE);
}

static void texts_are_checked(void)
{
	char text[16] = "";

	fresh();
	check_eq(cuFileGetParameterString(CUFILE_PARAM_LOGGING_LEVEL, text, sizeof(text)).err, OK);
	check_str(text, "ERROR");
	check_eq(cuFileGetParameterString(CUFILE_PARAM_LOGGING_LEVEL, text, 5).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileGetParameterString(CUFILE_PARAM_LOGGING_LEVEL, text, 6).err, OK);
	check_eq(cuFileGetParameterString(CUFILE_PARAM_LOGGING_LEVEL, text, 0).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileGetParameterString(CUFILE_PARAM_LOGGING_LEVEL, NULL, 6).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileGetParameterString(CUFILE_PARAM_ENV_LOGFILE_PATH, text, sizeof(text)).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileSetParameterString(CUFILE_PARAM_LOGGING_LEVEL, "loud").err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileSetParameterString(CUFILE_PARAM_LOGGING_LEVEL, NULL).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileSetParameterString((CUFileStringConfigParameter_t)9, "x").err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileSetParameterString(CUFILE_PARAM_LOGGING_LEVEL, "WARN").err, OK);
	check_eq(cuFileSetParameterString(CUFILE_PARAM_LOG_DIR, dir).err, OK);
	check_eq(cuFileDriverOpen().err, OK);
	check_eq(bl_file_config()->log_to, BL_LOG_TO_DIR);
	check_str(bl_file_config()->log_dir, dir);
	check_eq(cuFileDriverClose().err, OK);
	check_eq(cuFileSetParameterString(CUFILE_PARAM_ENV_LOGFILE_PATH, "").err, OK);
	check_eq(cuFileDriverOpen().err, OK);
	check_eq(bl_file_config()->log_to, BL_LOG_TO_NONE);
}

static void slab_arrays_come_back_with_the_same_length(void)
{
	size_t sizes[3] = {1, 0, 5}, counts[3] = {7, 8, 0}, got[3], nr[3];

	fresh();
	check_eq(cuFileGetParameterPosixPoolSlabArray(got, nr, 3).err, OK);
	check_eq(got[2], 16384);
	check_eq(cuFileGetParameterPosixPoolSlabArray(got, nr, 2).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileSetParameterPosixPoolSlabArray(sizes, counts, 2).err, OK);
	check_eq(cuFileGetParameterPosixPoolSlabArray(got, nr, 2).err, OK);
	check_eq(got[1], 0);
	check_eq(nr[1], 8);
	check_eq(cuFileSetParameterGpuBounceBufferSlabArray(sizes, counts, 3).err, OK);
	check_eq(cuFileGetParameterGpuBounceBufferSlabArray(got, nr, 3).err, OK);
	check_eq(got[2], 5);
	check_eq(cuFileSetParameterGpuBounceBufferSlabArray(NULL, counts, 3).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileSetParameterGpuBounceBufferSlabArray(sizes, NULL, 3).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileSetParameterGpuBounceBufferSlabArray(sizes, counts, 0).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileSetParameterGpuBounceBufferSlabArray(sizes, counts, 17).err, CU_FILE_INVALID_VALUE);
	check_has(bl_last_error(NULL), "slabs of GPU bounce buffers: ");
	check_eq(cuFileGetParameterGpuBounceBufferSlabArray(NULL, nr, 3).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileDriverOpen().err, OK);
	check_eq(bl_file_config()->gpu_bounce_slabs.nr, 3);
	check_eq(cuFileSetParameterPosixPoolSlabArray(sizes, counts, 2).err, CU_FILE_DRIVER_ALREADY_OPEN);
}

static void p2p_flags_are_those_of_the_platform(void)
{
	CUfileP2PFlags_t flags = CUFILE_NVFS;

	fresh();
	check_eq(cuFileDriverGetP2PFlags(CU_FILE_NVME_SUPPORTED, &flags).err, OK);
	check_eq(flags, 0);
	check_eq(cuFileDriverSetP2PFlags(CU_FILE_NVME_SUPPORTED, CU_FILE_P2P_FLAG_DMABUF).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileDriverSetP2PFlags(CU_FILE_NVME_SUPPORTED, CU_FILE_P2P_FLAG_PCI_P2PDMA).err, OK);
	check_eq(cuFileDriverSetP2PFlags(CU_FILE_NVME_SUPPORTED, (CUfileP2PFlags_t)0).err, OK);
	check_eq(cuFileDriverGetP2PFlags(CU_FILE_NVME_SUPPORTED, &flags).err, OK);
	check_eq(flags, CU_FILE_P2P_FLAG_PCI_P2PDMA);
	check_eq(cuFileDriverGetP2PFlags(CU_FILE_NVMEOF_SUPPORTED, &flags).err, OK);
	check_eq(flags, 0);
	check_eq(cuFileDriverGetP2PFlags(CU_FILE_NVME_SUPPORTED, NULL).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileDriverGetP2PFlags(CU_FILE_MAX_TARGET_TYPES, &flags).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileDriverOpen().err, OK);
	check_eq(cuFileDriverSetP2PFlags(CU_FILE_NVME_SUPPORTED, CU_FILE_P2P_FLAG_PCI_P2PDMA).err, CU_FILE_DRIVER_ALREADY_OPEN);
}

/* Return: what @run gives in a child, as an exit status. */
static int in_child(int (*run)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		alarm(20);
		_exit(run());
	}
	check(waitpid(pid, &status, 0) == pid);
	check(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int child_of_open(void)
{
	CUfileDescr_t descr = {.type = CU_FILE_HANDLE_TYPE_OPAQUE_FD};
	CUfileHandle_t handle;
	CUfileDrvProps_t props;
	size_t value;
	char byte;

	descr.handle.fd = open("/dev/zero", O_RDONLY);
	if (cuFileDriverOpen().err != CU_FILE_DRIVER_NOT_INITIALIZED)
		return 1;
	if (cuFileDriverClose().err != CU_FILE_DRIVER_NOT_INITIALIZED)
		return 2;
	if (cuFileHandleRegister(&handle, &descr).err != CU_FILE_DRIVER_NOT_INITIALIZED)
		return 3;
	if (cuFileBufRegister(&byte, 1, 0).err != CU_FILE_DRIVER_NOT_INITIALIZED)
		return 4;
	if (cuFileDriverGetProperties(&props).err != CU_FILE_DRIVER_NOT_INITIALIZED || cuFileUseCount())
		return 5;
	if (cuFileRead(handle, &byte, 1, 0, 0) != -CU_FILE_DRIVER_NOT_INITIALIZED)
		return 6;
	if (cuFileSetParameterSizeT(CUFILE_PARAM_PROFILE_STATS, 1).err != CU_FILE_DRIVER_ALREADY_OPEN)
		return 7;
	if (cuFileGetParameterSizeT(CUFILE_PARAM_PROFILE_STATS, &value).err)
		return 8;
	return 0;
}

static void a_child_of_an_open_driver_is_refused(void)
{
	fresh();
	check_eq(cuFileDriverOpen().err, OK);
	check_eq(in_child(child_of_open), 0);
	check_eq(cuFileUseCount(), 1);
	check_eq(cuFileDriverClose().err, OK);
}

static int child_of_closed(void)
{
	CUfileDescr_t descr = {.type = CU_FILE_HANDLE_TYPE_OPAQUE_FD};
	CUfileHandle_t handle;
	char path[300], byte = 'y';

	snprintf(path, sizeof(path), "%s/child", dir);
	descr.handle.fd = open(path, O_RDWR | O_CREAT, 0600);
	if (cuFileDriverOpen().err || cuFileUseCount() != 1)
		return 1;
	if (cuFileHandleRegister(&handle, &descr).err)
		return 2;
	if (cuFileWrite(handle, &byte, 1, 0, 0) != 1)
		return 3;
	if (cuFileDriverClose().err)
		return 4;
	return 0;
}

static void a_child_of_a_closed_driver_begins_anew(void)
{
	fresh();
	check_eq(cuFileDriverOpen().err, OK);
	check_eq(cuFileDriverClose().err, OK);
	check_eq(in_child(child_of_closed), 0);
}

static void mounts_are_understood(void)
{
	struct bl_mount mount;
	int id = 0;

	check(bl_mount_parse("36 35 98:0 /mnt1 /a\\040b rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n", &id, &mount));
	check_eq(id, 36);
	check_str(mount.point, "/a b");
	check_str(mount.type, "ext3");
	check_str(mount.source, "/dev/root");
	check(bl_mount_parse("1 1 0:1 / / rw - tmpfs", &id, &mount));
	check_str(mount.source, "");
	check(!bl_mount_parse("1 1 0:1 / / rw", &id, &mount));
	check(!bl_mount_parse("1 - ext4 x", &id, &mount));
	check(!bl_mount_parse("x - - ext4 x", &id, &mount));
	check(!bl_mount_parse("", &id, &mount));
}

/* Register a file under a denylist. */
static CUfileOpError under(const char *denylist)
{
	CUfileDescr_t descr = {.type = CU_FILE_HANDLE_TYPE_OPAQUE_FD};
	CUfileOpError err;
	CUfileHandle_t handle;
	char path[300], text[500];
	int fd;

	fresh();
	snprintf(path, sizeof(path), "%s/deny.json", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	snprintf(text, sizeof(text), "{\"denylist\": {%s}}", denylist);
	check(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && !close(fd));
	setenv("CUFILE_ENV_PATH_JSON", path, 1);
	descr.handle.fd = open("/dev/shm/barlane-deny", O_RDWR | O_CREAT, 0600);
	if (descr.handle.fd < 0)
		skip("/dev/shm: %s", strerror(errno));
	unlink("/dev/shm/barlane-deny");
	err = cuFileHandleRegister(&handle, &descr).err;
	setenv("CUFILE_ENV_PATH_JSON", "/dev/null/none", 1);
	close(descr.handle.fd);
	return err;
}

static void the_denylist_is_heeded(void)
{
	check_eq(under("\"mounts\": [\"/dev/shm\"]"), CU_FILE_IO_DISABLED);
	check_eq(under("\"mounts\": [\"/dev/shm/x\"]"), OK);
	check_eq(under("\"filesystems\": [\"ext4\", \"tmpfs\"]"), CU_FILE_IO_DISABLED);
	check_eq(under("\"filesystems\": [\"nfs\"], \"drivers\": [\"nvme\"], \"devices\": [\"/dev/sda\"]"), OK);
	check_eq(under(""), OK);
}

static int closed_first, closed_second;

static void close_first(void)
{
	closed_first = ++closed_second * 10;
}

static void close_second(void)
{
	closed_second = 1;
}

static void closers_run_in_reverse_order(void)
{
	fresh();
	check_eq(cuFileDriverOpen().err, OK);
	closed_first = closed_second = 0;
	check_eq(bl_driver_at_close(close_first, NULL), 0);
	check_eq(bl_driver_at_close(close_second, NULL), 0);
	check_eq(bl_driver_at_close(close_first, NULL), 0);
	check_eq(cuFileDriverClose().err, OK);
	check_eq(closed_first, 20);
	check_eq(closed_second, 2);
}

static void *open_and_close(void *arg)
{
	for (int i = 0; i < 200; i++) {
		size_t value;

		if (cuFileDriverOpen().err || bl_driver_use() || cuFileGetParameterSizeT(CUFILE_PARAM_PROFILE_STATS, &value).err ||
		    cuFileDriverSetMaxDirectIOSize(64 * (1 + (size_t)i % 8)).err || bl_file_config()->max_direct_io_size_kb < 64 ||
		    cuFileDriverClose().err)
			return arg;
	}
	return NULL;
}

static void threads_open_and_close_at_once(void)
{
	pthread_t threads[8];
	void *bad;

	fresh();
	for (int i = 0; i < 8; i++)
		check(!pthread_create(&threads[i], NULL, open_and_close, threads));
	for (int i = 0; i < 8; i++) {
		check(!pthread_join(threads[i], &bad));
		check(!bad);
	}
	/* an implicit open between two closes counts as well */
	check(cuFileUseCount() >= 0);
}

static void errors_become_what_calls_return(void)
{
	CUfileError_t status = bl_error_status(BL_CUFILE_CUDA(201));

	check_eq(status.err, CU_FILE_CUDA_DRIVER_ERROR);
	check_eq(status.cu_err, 201);
	check_eq(bl_error_status(0).err, OK);
	check_eq(bl_error_status(-5017).err, CU_FILE_INVALID_MAPPING_RANGE);
	check_eq(bl_error_status(-EINVAL).err, CU_FILE_INVALID_VALUE);
	check_eq(bl_error_status(-ENOMEM).err, CU_FILE_NOMEM_ERROR);
	check_eq(bl_error_status(-EACCES).err, CU_FILE_PERMISSION_DENIED);
	check_eq(bl_error_status(-ENODEV).err, CU_FILE_DEVICE_NOT_FOUND);
	check_eq(bl_error_status(-ENOSPC).err, CU_FILE_IO_ERROR);
	check_eq(bl_error_status(-7777).err, CU_FILE_INTERNAL_ERROR);
	check_eq(bl_error_result(12), 12);
	errno = 0;
	check_eq(bl_error_result(-ENOSPC), -1);
	check_eq(errno, ENOSPC);
	check_eq(bl_error_result(-5022), -1);
	check_eq(errno, 5022);
	check_eq(bl_error_result(-5017), -1);
	check_eq(errno, 5017);
	check_eq(bl_error_result(-5014), -1);
	check_eq(errno, EIO);
	check_eq(bl_error_result(-5001), -5001);
	check_eq(bl_error_result(BL_CUFILE_CUDA(201)), -5011);
	check_eq(bl_error_event(-EIO), -EIO);
	check_eq(bl_error_event(-5022), -5022);
	check_eq(bl_error_event(BL_CUFILE_CUDA(1)), -5011);
	check_has(bl_error_text(-5022), "argument");
	check_has(bl_error_text(-ENOSPC), "space");
	check_has(bl_error_text(BL_CUFILE_CUDA(201)), "201");
}

static const struct tap_test tests[] = {
	{"opens are counted", opens_are_counted},
	{"a use counts one open", a_use_counts_one_open},
	{"a file registers by an implicit open, and goes with the last close",
	 a_file_registers_by_an_implicit_open_and_goes_with_the_last_close},
	{"compatibility can be forbidden", compatibility_can_be_forbidden},
	{"properties are those in force", properties_are_those_in_force},
	{"limits have ranges", limits_have_ranges},
	{"the version is that of the structs", the_version_is_that_of_the_structs},
	{"numbers have the measured ranges", numbers_have_the_measured_ranges},
	{"parameters are used up by an open", parameters_are_used_up_by_an_open},
	{"parameters come before the environment", parameters_come_before_the_environment},
	{"texts are checked", texts_are_checked},
	{"slab arrays come back with the same length", slab_arrays_come_back_with_the_same_length},
	{"P2P flags are those of the platform", p2p_flags_are_those_of_the_platform},
	{"a child of an open driver is refused", a_child_of_an_open_driver_is_refused},
	{"a child of a closed driver begins anew", a_child_of_a_closed_driver_begins_anew},
	{"mounts are understood", mounts_are_understood},
	{"the denylist is heeded", the_denylist_is_heeded},
	{"closers run in reverse order", closers_run_in_reverse_order},
	{"threads open and close at once", threads_open_and_close_at_once},
	{"errors become what calls return", errors_become_what_calls_return},
};

int main(int argc, char **argv)
{
	if (temp_dir_make(dir))
		return 2;
	/* no file of this machine */
	setenv("CUFILE_ENV_PATH_JSON", "/dev/null/none", 1);
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
