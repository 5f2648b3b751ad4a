// SPDX-License-Identifier: MIT
#include "gdrdrv_gpu.h"

#include "number.h"
#include "state.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIRST_VA 0x7f0000000000UL

int try_module_load(const char *name, const char *parameters)
{
	char path[128];
	int fd, ret;

	snprintf(path, sizeof(path), "/modules/%s.ko", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = syscall(SYS_finit_module, fd, parameters, 0) ? -errno : 0;
	close(fd);
	return ret;
}

int try_module_unload(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? -errno : 0;
}

const char *drv_file(void)
{
	const char *name = getenv("LAB_GDRDRV");

	return name ? name : "gdrdrv";
}

bool drv_is_linked(void)
{
	return !strcmp(drv_file(), "gdrdrv-link");
}

/* The machine is left as it was found. */
static void unload_both(void)
{
	try_module_unload("gdrdrv");
	try_module_unload("bl_card");
}

void drv_reload(const char *parameters)
{
	static bool loaded;
	int ret = try_module_load("bl_card", "");

	if (!loaded)
		loaded = !atexit(unload_both);
	check(!ret || ret == -EEXIST);
	/* the last process of an earlier test may still be ending */
	for (int i = 0; i < 100; i++) {
		ret = try_module_unload("gdrdrv");
		if (!ret || ret == -ENOENT)
			break;
		usleep(20000);
	}
	check(!ret || ret == -ENOENT);
	check_eq(try_module_load(drv_file(), parameters), 0);
}

int gpu_open(void)
{
	int fd = open(BL_CARD_PATH, O_RDWR | O_CLOEXEC);

	check(fd >= 0);
	return fd;
}

int try_gpu_alloc(int gpu, uint64_t len, struct gpu_mem *mem)
{
	static _Atomic uint64_t next_va = FIRST_VA;
	struct bl_card_alloc alloc = { .size = len };
	struct bl_card_bind bind;

	if (ioctl(gpu, BL_CARD_IOC_ALLOC, &alloc))
		return -errno;
	bind = (struct bl_card_bind){ .len = alloc.size, .handle = alloc.handle };
	bind.va = atomic_fetch_add(&next_va, alloc.size + BL_CARD_BLOCK_SIZE);
	if (ioctl(gpu, BL_CARD_IOC_BIND, &bind))
		return -errno;
	*mem = (struct gpu_mem){ .va = bind.va, .len = alloc.size, .offset = alloc.offset, .handle = alloc.handle };
	return 0;
}

struct gpu_mem gpu_alloc(int gpu, uint64_t len)
{
	struct gpu_mem mem = { 0 };

	check_eq(try_gpu_alloc(gpu, len, &mem), 0);
	return mem;
}

void gpu_free(int gpu, const struct gpu_mem *mem)
{
	struct bl_card_free arg = { .handle = mem->handle };

	check_eq(ioctl(gpu, BL_CARD_IOC_FREE, &arg), 0);
}

struct bl_card_info gpu_info(int gpu)
{
	struct bl_card_info info = { 0 };

	check_eq(ioctl(gpu, BL_CARD_IOC_INFO, &info), 0);
	return info;
}

struct bl_card_counters gpu_counters(int gpu)
{
	struct bl_card_counters counters = { .flags = BL_CARD_COUNTERS_VERIFY };

	check_eq(ioctl(gpu, BL_CARD_IOC_COUNTERS, &counters), 0);
	return counters;
}

int gpu_export(int gpu, const struct gpu_mem *mem, uint64_t off, uint64_t len)
{
	struct bl_card_export arg = { .off = off, .len = len, .handle = mem->handle };

	check_eq(ioctl(gpu, BL_CARD_IOC_EXPORT, &arg), 0);
	return arg.fd;
}

void gpu_knob(const char *name, unsigned long value)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/kernel/debug/bl_card/%s", name);
	file = fopen(path, "we");
	check(file);
	fprintf(file, "%lu\n", value);
	check_eq(fclose(file), 0);
}

/* Third line of the PCI device's resources. */
static uint64_t bar2_of(const char *folder)
{
	char path[256], line[128];
	uint64_t start = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/resource", folder);
	file = fopen(path, "re");
	check(file);
	for (int i = 0; i < 3 && fgets(line, sizeof(line), file); i++)
		start = strtoull(line, NULL, 0);
	fclose(file);
	return start;
}

uint64_t gpu_bar_pa(void)
{
	uint64_t pa = 0;
	glob_t found;

	check_eq(glob("/sys/bus/pci/devices/*", 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		if (read_number(found.gl_pathv[i], "vendor") == 0x1af4 &&
		    read_number(found.gl_pathv[i], "device") == 0x1110)
			pa = bar2_of(found.gl_pathv[i]);
	}
	globfree(&found);
	check(pa);
	return pa;
}

int drv_open(void)
{
	int fd = open(GDRDRV_PATH, O_RDWR | O_CLOEXEC);

	check(fd >= 0);
	return fd;
}

int try_request(int drv, unsigned long request, void *arg)
{
	return ioctl(drv, request, arg) ? -errno : 0;
}

int try_pin(int drv, uint64_t va, uint64_t size, uint64_t *handle_p)
{
	struct gdrdrv_pin_buffer arg = { .addr = va, .size = size };
	int ret = try_request(drv, GDRDRV_IOC_PIN_BUFFER, &arg);

	*handle_p = arg.handle;
	return ret;
}

int try_pin_v2(int drv, uint64_t va, uint64_t size, uint32_t flags, uint64_t *handle_p)
{
	struct gdrdrv_pin_buffer_v2 arg = { .addr = va, .size = size, .flags = flags };
	int ret = try_request(drv, GDRDRV_IOC_PIN_BUFFER_V2, &arg);

	*handle_p = arg.handle;
	return ret;
}

int try_unpin(int drv, uint64_t handle)
{
	struct gdrdrv_unpin_buffer arg = { .handle = handle };

	return try_request(drv, GDRDRV_IOC_UNPIN_BUFFER, &arg);
}

int try_map(int drv, uint64_t handle, size_t len, void **addr_p)
{
	void *addr = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, drv, (off_t)(handle * 4096));

	if (addr == MAP_FAILED)
		return -errno;
	*addr_p = addr;
	return 0;
}

int try_cb_flag(int drv, uint64_t handle)
{
	struct gdrdrv_get_cb_flag arg = { .handle = handle };
	int ret = try_request(drv, GDRDRV_IOC_GET_CB_FLAG, &arg);

	return ret ? ret : (int)arg.flag;
}

int try_info(int drv, uint64_t handle, struct gdrdrv_get_info *info)
{
	*info = (struct gdrdrv_get_info){ .handle = handle };
	return try_request(drv, GDRDRV_IOC_GET_INFO_V2, info);
}

uint64_t drv_pin(int drv, const struct gpu_mem *mem)
{
	uint64_t handle;

	check_eq(try_pin(drv, mem->va, mem->len, &handle), 0);
	return handle;
}

void *drv_map(int drv, uint64_t handle, size_t len)
{
	void *addr = NULL;

	check_eq(try_map(drv, handle, len, &addr), 0);
	return addr;
}

static sigjmp_buf load_env;

static void load_failed(int sig)
{
	siglongjmp(load_env, sig);
}

int load_signal(const volatile void *addr, uint32_t *value_p)
{
	struct sigaction action = { .sa_handler = load_failed }, bus, segv;
	int sig;

	sigaction(SIGBUS, &action, &bus);
	sigaction(SIGSEGV, &action, &segv);
	sig = sigsetjmp(load_env, 1);
	if (!sig)
		*value_p = *(const volatile uint32_t *)addr;
	sigaction(SIGBUS, &bus, NULL);
	sigaction(SIGSEGV, &segv, NULL);
	return sig;
}

int drv_nr_pins(void)
{
	FILE *file = fopen("/proc/driver/gdrdrv/nv_get_pages_refcount", "re");
	int nr = -1;

	check(file);
	if (fscanf(file, "%d", &nr) != 1)
		nr = -1;
	fclose(file);
	return nr;
}

void check_clean(int gpu)
{
	struct state state, want;

	for (int i = 0; i < 100 && drv_nr_pins(); i++)
		usleep(20000);
	state = state_now(gpu);
	/* what the test's own memory and dma-bufs are is for itself to know */
	want = (struct state){ .dma_maps = state.dma_maps, .dmabufs = state.dmabufs, .used = state.used };
	state_check(&state, &want);
}

int in_child(int (*run)(void *arg), void *arg)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(run(arg));
	check(pid > 0);
	check_eq(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
