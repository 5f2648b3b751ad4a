// SPDX-License-Identifier: MIT
#include "fake_client.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define KEEP	  2048
#define NO_STATUS 0xffffffffU

struct fake_api fake;
CUcontext fake_ctx;

static int fds[KEEP];
static struct {
	void *addr;
	size_t len;
} vmas[KEEP];

static int watch_stderr = -1, watch_text = -1;
static uint64_t watch_before;

static void *need(void *lib, const char *symbol)
{
	void *addr = dlsym(lib, symbol);

	if (!addr) {
		printf("Bail out! libcuda.so.1 has no %s: not the emulated GPU's\n", symbol);
		exit(1);
	}
	return addr;
}

static void make_context(void *lib)
{
	CUresult (*init)(unsigned int flags) = need(lib, "cuInit");
	CUresult (*retain)(CUcontext * ctx, CUdevice dev) = need(lib, "cuDevicePrimaryCtxRetain");

	fake.cuCtxSetCurrent = need(lib, "cuCtxSetCurrent");
	if (init(0) || retain(&fake_ctx, 0) || fake.cuCtxSetCurrent(fake_ctx)) {
		printf("Bail out! no context on the emulated GPU\n");
		exit(1);
	}
}

void fake_load(void)
{
	bl_sys_fn get_sys;
	void *lib;

	unsetenv("BARLANE_EMU_STRICT"); /* rules are broken here on purpose */
	unsetenv("BARLANE_EMU_FAULT");
	lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		printf("Bail out! %s\n", dlerror());
		exit(1);
	}
	get_sys = (bl_sys_fn)need(lib, BL_SYS_SYMBOL);
	fake.counts = need(lib, "bl_emu_counts");
	fake.violation = need(lib, "bl_emu_violation");
	fake.fault = need(lib, "bl_emu_fault");
	fake.cuMemAlloc = need(lib, "cuMemAlloc_v2");
	fake.cuMemFree = need(lib, "cuMemFree_v2");
	fake.cuIpcGetMemHandle = need(lib, "cuIpcGetMemHandle");
	fake.cuMemcpyHtoD = need(lib, "cuMemcpyHtoD_v2");
	fake.cuMemcpyDtoH = need(lib, "cuMemcpyDtoH_v2");
	fake.cuMemCreate = need(lib, "cuMemCreate");
	fake.cuMemRelease = need(lib, "cuMemRelease");
	fake.cuMemExport = need(lib, "cuMemExportToShareableHandle");
	fake.cuMemGetHandle = need(lib, "cuMemGetHandleForAddressRange");
	fake.cuDeviceGetAttribute = need(lib, "cuDeviceGetAttribute");
	fake.sys = get_sys();
	make_context(lib);
	for (size_t i = 0; i < KEEP; i++)
		fds[i] = -1;
}

static void restore_stderr(void)
{
	if (watch_stderr < 0)
		return;
	dup2(watch_stderr, STDERR_FILENO);
	close(watch_stderr);
	watch_stderr = -1;
}

void fake_begin(const char *version)
{
	restore_stderr();
	fake.fault("");
	for (size_t i = 0; i < KEEP; i++) {
		if (vmas[i].addr)
			fake_munmap(vmas[i].addr, vmas[i].len);
	}
	for (size_t i = 0; i < KEEP; i++) {
		if (fds[i] >= 0)
			fake_close(fds[i]);
	}
	setenv("BARLANE_EMU_DRIVER", version, 1);
	setenv("BARLANE_EMU_NODES", "rm,gdrdrv", 1);
	unsetenv("BARLANE_EMU_NODE_MODE");
	unsetenv("BARLANE_EMU_GDRDRV");
	unsetenv("BARLANE_EMU_GDRDRV_PERSISTENT");
}

int fake_open(const char *path)
{
	int fd = fake.sys->open(path, O_RDWR | O_CLOEXEC);

	for (size_t i = 0; fd >= 0 && i < KEEP; i++) {
		if (fds[i] >= 0)
			continue;
		fds[i] = fd;
		break;
	}
	return fd;
}

int fake_close(int fd)
{
	for (size_t i = 0; i < KEEP; i++) {
		if (fds[i] == fd)
			fds[i] = -1;
	}
	return fake.sys->close(fd);
}

void *fake_mmap(int fd, size_t len)
{
	void *addr = fake.sys->mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (addr == MAP_FAILED)
		return NULL;
	for (size_t i = 0; i < KEEP; i++) {
		if (vmas[i].addr)
			continue;
		vmas[i].addr = addr;
		vmas[i].len = len;
		break;
	}
	fake.sys->madvise(addr, len, MADV_DONTFORK);
	return addr;
}

int fake_munmap(void *addr, size_t len)
{
	for (size_t i = 0; i < KEEP; i++) {
		if (vmas[i].addr == addr)
			vmas[i].addr = NULL;
	}
	return fake.sys->munmap(addr, len);
}

int fake_ioctl(int fd, unsigned long request, void *arg)
{
	return fake.sys->ioctl(fd, request, arg) ? -errno : 0;
}

uint64_t fake_violations(void)
{
	struct bl_emu_counts counts;

	fake.counts(&counts);
	return counts.violations;
}

void fake_watch(void)
{
	watch_before = fake_violations();
	if (watch_text < 0)
		watch_text = memfd_create("stderr", MFD_CLOEXEC);
	check(watch_text >= 0 && !ftruncate(watch_text, 0) && !lseek(watch_text, 0, SEEK_SET));
	watch_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	check(watch_stderr >= 0 && dup2(watch_text, STDERR_FILENO) == STDERR_FILENO);
}

void fake_expect(const char *text)
{
	char said[512];
	ssize_t len;

	restore_stderr();
	len = pread(watch_text, said, sizeof(said) - 1, 0);
	check(len >= 0);
	said[len] = '\0';
	if (!text)
		check_str(said, "");
	check_eq(fake_violations() - watch_before, text ? 1 : 0);
	if (!text)
		return;
	check_has(said, "barlane-emu: violation: ");
	check_has(said, text);
	check(*fake.violation());
}

/* From 535 the word at 24 is an input and must stay 0; before, it is the status. */
uint32_t rmc_alloc(const struct rmc *rmc, uint32_t parent, uint32_t hclass, void *params, uint32_t *handle_p)
{
	size_t status = rmc->major >= 535 ? 28 : 24;
	uint8_t arg[32] = {0};

	put32(arg, 0, rmc->client);
	put32(arg, 4, parent);
	put32(arg, 12, hclass);
	put64(arg, 16, (uintptr_t)params);
	put32(arg, status, 0xdeadbeef);
	if (fake_ioctl(rmc->ctl, RM_IOCTL(0x2b, 32), arg))
		return NO_STATUS;
	*handle_p = get32(arg, 8);
	return get32(arg, status == 28 ? 24 : 28) ? NO_STATUS : get32(arg, status);
}

uint32_t rmc_free(const struct rmc *rmc, uint32_t parent, uint32_t handle)
{
	uint8_t arg[16] = {0};

	put32(arg, 0, rmc->client);
	put32(arg, 4, parent);
	put32(arg, 8, handle);
	put32(arg, 12, 0xdeadbeef);
	if (fake_ioctl(rmc->ctl, RM_IOCTL(0x29, 16), arg))
		return NO_STATUS;
	return get32(arg, 12);
}

uint32_t rmc_control(const struct rmc *rmc, uint32_t object, uint32_t cmd, void *params, uint32_t size)
{
	uint8_t arg[32] = {0};

	put32(arg, 0, rmc->client);
	put32(arg, 4, object);
	put32(arg, 8, cmd);
	put64(arg, 16, (uintptr_t)params);
	put32(arg, 24, size);
	put32(arg, 28, 0xdeadbeef);
	if (fake_ioctl(rmc->ctl, RM_IOCTL(0x2a, 32), arg))
		return NO_STATUS;
	return get32(arg, 28);
}

uint32_t rmc_dup(const struct rmc *rmc, uint32_t source_client, uint32_t source, uint32_t *handle_p)
{
	uint8_t arg[28] = {0};

	put32(arg, 0, rmc->client);
	put32(arg, 4, rmc->device);
	put32(arg, 12, source_client);
	put32(arg, 16, source);
	put32(arg, 24, 0xdeadbeef);
	if (fake_ioctl(rmc->ctl, RM_IOCTL(0x34, 28), arg))
		return NO_STATUS;
	*handle_p = get32(arg, 8);
	return get32(arg, 24);
}

uint32_t rmc_map(const struct rmc *rmc, uint32_t memory, uint64_t off, uint64_t len, int fd, uint64_t *address_p)
{
	uint8_t arg[56] = {0};

	put32(arg, 0, rmc->client);
	put32(arg, 4, rmc->device);
	put32(arg, 8, memory);
	put64(arg, 16, off);
	put64(arg, 24, len);
	put32(arg, 40, 0xdeadbeef);
	put32(arg, 48, (uint32_t)fd);
	if (fake_ioctl(rmc->ctl, RM_IOCTL(0x4e, 56), arg))
		return NO_STATUS;
	*address_p = get64(arg, 32);
	/* write-combined where the branch says so, memory "reflected" */
	if (!get32(arg, 40) && get32(arg, 44) != (rmc->major >= 525 ? 0x1010000 : 0x10000))
		return NO_STATUS;
	return get32(arg, 40);
}

uint32_t rmc_unmap(const struct rmc *rmc, uint32_t memory, uint64_t address)
{
	uint8_t arg[32] = {0};

	put32(arg, 0, rmc->client);
	put32(arg, 4, rmc->device);
	put32(arg, 8, memory);
	put64(arg, 16, address);
	put32(arg, 24, 0xdeadbeef);
	if (fake_ioctl(rmc->ctl, RM_IOCTL(0x4f, 32), arg))
		return NO_STATUS;
	return get32(arg, 24);
}

int rmc_open_device(const struct rmc *rmc)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/dev/nvidia%u", rmc->minor);
	fd = fake_open(path);
	check(fd >= 0);
	check_eq(fake_ioctl(fd, RM_IOCTL(201, 4), &(int){rmc->ctl}), 0);
	return fd;
}

static void find_card(struct rmc *rmc)
{
	uint8_t cards[32 * 72];

	check_eq(fake_ioctl(rmc->ctl, RM_IOCTL(200, sizeof(cards)), cards), 0);
	check_eq(cards[0], 1);
	rmc->gpu_id = get32(cards, 16);
	rmc->bar1_base = get64(cards, 40);
	rmc->bar1_size = get64(cards, 48);
	rmc->minor = get32(cards, 56);
}

void rmc_open(struct rmc *rmc, const char *version)
{
	uint8_t info[32] = {0}, params[56] = {0};

	fake_begin(version);
	*rmc = (struct rmc){.major = (unsigned int)atoi(version), .ctl = fake_open("/dev/nvidiactl")};
	check(rmc->ctl >= 0);
	check_eq(rmc_alloc(rmc, 0, 0x41, NULL, &rmc->client), 0);
	find_card(rmc);
	rmc->dev = rmc_open_device(rmc);
	put32(info, 0, rmc->gpu_id);
	check_eq(rmc_control(rmc, rmc->client, 0x205, info, sizeof(info)), 0);
	rmc->instance = get32(info, 8);
	put32(params, 0, rmc->instance);
	check_eq(rmc_alloc(rmc, rmc->client, 0x80, params, &rmc->device), 0);
	check_eq(rmc_alloc(rmc, rmc->device, 0x2080, &(uint32_t){0}, &rmc->subdevice), 0);
}

void rmc_close(struct rmc *rmc)
{
	struct bl_emu_counts counts;
	uint64_t before = fake_violations();

	check_eq(rmc_free(rmc, rmc->client, rmc->client), 0);
	check_eq(fake_close(rmc->dev), 0);
	check_eq(fake_close(rmc->ctl), 0);
	fake.counts(&counts);
	check_eq(counts.violations, before);
	check_eq(counts.clients + counts.dups + counts.maps + counts.vmas + counts.nodes, 0);
}

void fake_alloc(struct fake_mem *mem, uint64_t size)
{
	CUipcMemHandle blob;

	*mem = (struct fake_mem){.size = size};
	check_eq(fake.cuMemAlloc(&mem->va, size), 0);
	check_eq(fake.cuIpcGetMemHandle(&blob, mem->va), 0);
	mem->hclient = get32(&blob, 48);
	mem->hmemory = get32(&blob, 52);
}

void fake_alloc_dup(const struct rmc *rmc, struct fake_mem *mem, uint64_t size)
{
	fake_alloc(mem, size);
	check_eq(rmc_dup(rmc, mem->hclient, mem->hmemory, &mem->dup), 0);
}

void fake_free(struct fake_mem *mem)
{
	check_eq(fake.cuMemFree(mem->va), 0);
}
