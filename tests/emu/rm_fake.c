// SPDX-License-Identifier: MIT
/* The fake resource manager's interface: nodes, texts, escapes and controls, per branch of the driver. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_client.h"

#define NEWEST "580.159.04"

/* The layouts, stated again: 0 means that the branch has no such thing. */
static const struct branch {
	const char *version;
	uint32_t nvos64;
	uint32_t nvos64_status;
	uint32_t export_info;
	uint32_t dmabuf;
	uint32_t page_size;
	uint32_t probed;
	uint32_t fb_info_v2;
	uint32_t static_bar1;
	uint32_t root_params;
} branches[] = {
	{"515.105.01", 40, 32, 76, 2600, 4, 256, 436, 0, 108},	 {"520.61.05", 40, 32, 76, 2600, 4, 256, 436, 0, 108},
	{"525.147.05", 40, 36, 76, 2600, 4, 256, 436, 0, 108},	 {"530.41.03", 40, 36, 76, 2600, 4, 256, 436, 0, 108},
	{"535.183.01", 48, 40, 76, 2600, 8, 256, 436, 0, 108},	 {"545.29.06", 48, 40, 80, 2600, 8, 256, 444, 0, 108},
	{"550.127.08", 48, 40, 80, 2600, 8, 256, 444, 0, 108},	 {"555.58.02", 48, 40, 80, 2600, 8, 256, 444, 0, 108},
	{"560.35.05", 48, 40, 80, 2600, 8, 256, 460, 0, 108},	 {"565.77", 48, 40, 80, 2600, 8, 256, 460, 16, 108},
	{"570.124.06", 48, 40, 80, 2608, 8, 256, 460, 24, 120},	 {"575.51.03", 48, 40, 80, 2608, 8, 256, 460, 24, 120},
	{"580.159.04", 48, 40, 80, 2608, 8, 384, 1028, 24, 120}, {"590.44.01", 48, 40, 80, 2608, 8, 384, 1028, 24, 120},
	{"595.45.04", 48, 40, 80, 2608, 8, 384, 1028, 24, 120},	 {"999.1", 48, 40, 80, 2608, 8, 384, 1028, 24, 120},
};

#define NR_BRANCHES (sizeof(branches) / sizeof(branches[0]))

static void read_text(const char *path, char *text, size_t size)
{
	int fd = fake.sys->open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	check(fd >= 0);
	len = read(fd, text, size - 1);
	fake.sys->close(fd);
	check(len > 0);
	text[len] = '\0';
}

static void texts_name_the_version(void)
{
	char text[512];

	for (size_t i = 0; i < NR_BRANCHES; i++) {
		fake_begin(branches[i].version);
		read_text("/sys/module/nvidia/version", text, sizeof(text));
		check(!strncmp(text, branches[i].version, strlen(branches[i].version)));
		check_str(text + strlen(branches[i].version), "\n");
		read_text("/proc/driver/nvidia/version", text, sizeof(text));
		check_has(text, "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  ");
		check_has(text, branches[i].version);
	}
	fake_begin("garbage");
	read_text("/sys/module/nvidia/version", text, sizeof(text));
	check_str(text, "garbage\n");
}

static void information_file_describes_the_card(void)
{
	uint8_t pci[12] = {0}, uuid[268] = {0};
	char path[96], text[512];
	struct rmc rmc;

	rmc_open(&rmc, NEWEST);
	put32(pci, 0, rmc.gpu_id);
	put32(uuid, 0, rmc.gpu_id);
	check_eq(rmc_control(&rmc, rmc.client, 0x21b, pci, sizeof(pci)), 0);
	check_eq(rmc_control(&rmc, rmc.client, 0x275, uuid, sizeof(uuid)), 0);
	check_eq(get32(uuid, 264), 41);
	snprintf(path, sizeof(path), "/proc/driver/nvidia/gpus/%04x:%02x:%02x.0/information", get32(pci, 4),
		 get32(pci, 8) & 0xffff, get32(pci, 8) >> 16);
	read_text(path, text, sizeof(text));
	check_has(text, (char *)uuid + 8);
	snprintf(path, sizeof(path), "Device Minor: \t %u\n", rmc.minor);
	check_has(text, path);
	rmc_close(&rmc);
}

static void expect_open(const char *path, int err)
{
	errno = 0;
	check_eq(fake.sys->open(path, O_RDWR | O_CLOEXEC), -1);
	check_eq(errno, err);
}

static void only_the_nodes_that_were_asked_for_exist(void)
{
	int fd;

	fake_begin(NEWEST);
	setenv("BARLANE_EMU_NODES", "rm", 1);
	expect_open("/dev/gdrdrv", ENOENT);
	expect_open("/proc/driver/gdrdrv/params", ENOENT);
	setenv("BARLANE_EMU_NODES", "gdrdrv", 1);
	expect_open("/dev/nvidiactl", ENOENT);
	expect_open("/dev/nvidia0", ENOENT);
	setenv("BARLANE_EMU_NODES", "", 1);
	expect_open("/dev/gdrdrv", ENOENT);
	setenv("BARLANE_EMU_NODES", "rm,gdrdrv", 1);
	setenv("BARLANE_EMU_NODE_MODE", "deny", 1);
	expect_open("/dev/nvidiactl", EACCES);
	expect_open("/dev/nvidia1", EACCES);
	expect_open("/dev/gdrdrv", EACCES);
	unsetenv("BARLANE_EMU_NODE_MODE");
	expect_open("/dev/nvidia9", ENOENT);
	expect_open("/dev/nvidia-uvm", ENOENT);
	expect_open("/proc/driver/nvidia/nothing", ENOENT);
	fd = fake.sys->open("/dev/null", O_RDWR | O_CLOEXEC);
	check(fd >= 0);
	check_eq(write(fd, "", 1), 1);
	check_eq(fake.sys->close(fd), 0);
}

static void a_node_is_a_real_descriptor(void)
{
	struct rlimit old, low;
	struct stat st;
	int fd, err;

	fake_begin(NEWEST);
	fd = fake_open("/dev/nvidiactl");
	check(fd >= 0 && !fstat(fd, &st));
	check(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	check(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED);
	check(!getrlimit(RLIMIT_NOFILE, &old));
	low = old;
	low.rlim_cur = (rlim_t)fd + 1;
	check(!setrlimit(RLIMIT_NOFILE, &low));
	errno = 0;
	check_eq(fake.sys->open("/dev/nvidia0", O_RDWR | O_CLOEXEC), -1);
	err = errno;
	setrlimit(RLIMIT_NOFILE, &old);
	check_eq(err, EMFILE);
	check_eq(fake_close(fd), 0);
	check(fstat(fd, &st) && errno == EBADF);
	check_eq(fake.sys->close(fd), -1);
}

static void a_duplicated_descriptor_is_the_same_file(void)
{
	uint8_t version[72] = {'2'};
	struct bl_emu_counts counts;
	int fd, copy;

	fake_begin(NEWEST);
	fd = fake_open("/dev/nvidiactl");
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	check_eq(fake_ioctl(copy, RM_IOCTL(210, 72), version), 0);
	fake_close(fd);
	check_eq(fake_ioctl(copy, RM_IOCTL(210, 72), version), 0);
	fake.counts(&counts);
	check_eq(counts.nodes, 1);
	close(copy); /* behind the table's back */
	fake.counts(&counts);
	check_eq(counts.nodes, 0);
}

static void card_info_wants_room_for_every_card(void)
{
	uint8_t cards[3 * 72];
	int fd;

	fake_begin(NEWEST);
	fd = fake_open("/dev/nvidiactl");
	check_eq(fake_ioctl(fd, RM_IOCTL(200, 72), cards), -EINVAL);
	check_eq(fake_ioctl(fd, RM_IOCTL(200, 0), cards), -EINVAL);
	check_eq(fake_ioctl(fd, RM_IOCTL(200, 145), cards), -EINVAL);
	memset(cards, 0xff, sizeof(cards));
	check_eq(fake_ioctl(fd, RM_IOCTL(200, 3 * 72), cards), 0);
	check(cards[0] == 1 && cards[72] == 1 && cards[144] == 0);
	check(get32(cards, 16) != get32(cards, 72 + 16));
	check(get32(cards, 56) != get32(cards, 72 + 56));
	check(get64(cards, 48) && get64(cards, 40) != get64(cards, 72 + 40));
	fake_close(fd);
}

static int version_check(int fd, uint32_t cmd, const char *text, uint8_t *arg)
{
	memset(arg, 0, 72);
	put32(arg, 0, cmd);
	strcpy((char *)arg + 8, text);
	return fake_ioctl(fd, RM_IOCTL(210, 72), arg);
}

static void version_check_compares_and_tells(void)
{
	uint8_t arg[72];
	int fd;

	fake_begin(NEWEST);
	fd = fake_open("/dev/nvidiactl");
	check_eq(version_check(fd, 0, NEWEST, arg), 0);
	check_eq(get32(arg, 4), 1);
	check_eq(version_check(fd, 0, "", arg), -EINVAL);
	check_eq(get32(arg, 4), 0);
	check_str((char *)arg + 8, NEWEST);
	check_eq(version_check(fd, '1', "580.1", arg), 0);
	check_eq(version_check(fd, '1', "58", arg), -EINVAL);
	check_eq(version_check(fd, '2', "", arg), 0);
	check_str((char *)arg + 8, NEWEST);
	fake_close(fd);
	fake_begin("525.147.05");
	fd = fake_open("/dev/nvidiactl");
	check_eq(version_check(fd, '2', "", arg), 0);
	check_str((char *)arg + 8, "");
	fake_close(fd);
}

/* Write through one side and read through the other. */
static void round_trip(const struct fake_mem *mem, uint8_t *addr, uint64_t off)
{
	uint64_t there = 0x0123456789abcdefULL + off, back = ~there, seen;

	check_eq(fake.cuMemcpyHtoD(mem->va + off, &there, sizeof(there)), 0);
	memcpy(&seen, addr + off, sizeof(seen));
	check_eq(seen, there);
	memcpy(addr + off, &back, sizeof(back));
	check_eq(fake.cuMemcpyDtoH(&seen, mem->va + off, sizeof(seen)), 0);
	check_eq(seen, back);
}

static void map_and_use(struct rmc *rmc, struct fake_mem *mem)
{
	int fd = rmc_open_device(rmc);
	uint64_t address;
	uint8_t *addr;

	check_eq(rmc_map(rmc, mem->dup, 0, mem->size, fd, &address), 0);
	check(address >= rmc->bar1_base && address + mem->size <= rmc->bar1_base + rmc->bar1_size);
	addr = fake_mmap(fd, mem->size);
	check(addr);
	for (uint64_t off = 0; off < mem->size; off += MIB(1))
		round_trip(mem, addr, off);
	round_trip(mem, addr, mem->size - 8);
	check_eq(fake_munmap(addr, mem->size), 0);
	check_eq(rmc_unmap(rmc, mem->dup, address), 0);
	check_eq(fake_close(fd), 0);
}

static void every_branch_maps_duplicated_memory(void)
{
	struct fake_mem mem;
	struct rmc rmc;

	for (size_t i = 0; i < NR_BRANCHES; i++) {
		rmc_open(&rmc, branches[i].version);
		fake_alloc_dup(&rmc, &mem, MIB(4));
		map_and_use(&rmc, &mem);
		check_eq(rmc_free(&rmc, rmc.device, mem.dup), 0);
		fake_free(&mem);
		rmc_close(&rmc);
	}
}

/* Exactly @size is accepted; a neighbour is not. @size 0: there is no such control. */
static void expect_size(const struct rmc *rmc, uint32_t object, uint32_t cmd, uint32_t size, const void *in,
			size_t in_len)
{
	uint8_t params[2048] = {0};

	if (!size) {
		check_eq(rmc_control(rmc, object, cmd, params, 16), 0x56);
		return;
	}
	memcpy(params, in, in_len);
	check_eq(rmc_control(rmc, object, cmd, params, size - 4), size == 4 ? 0x1f : 0x3a);
	check_eq(rmc_control(rmc, object, cmd, params, size + 4), 0x3a);
	check_eq(rmc_control(rmc, object, cmd, params, size), 0);
	check_eq(rmc_control(rmc, object, cmd, NULL, size), 0x1f);
}

static void every_branch_has_its_own_control_sizes(void)
{
	uint32_t bar1[3] = {1, 0x05}, one[3] = {0}, same[3];
	struct fake_mem mem;
	struct rmc rmc;

	for (size_t i = 0; i < NR_BRANCHES; i++) {
		const struct branch *b = &branches[i];

		rmc_open(&rmc, b->version);
		fake_alloc_dup(&rmc, &mem, MIB(2));
		one[0] = rmc.gpu_id;
		same[0] = same[1] = mem.dup;
		expect_size(&rmc, rmc.client, 0x201, 128, one, 0);
		expect_size(&rmc, rmc.client, 0x202, 40, one, 4);
		expect_size(&rmc, rmc.client, 0x205, 32, one, 4);
		expect_size(&rmc, rmc.client, 0x214, b->probed, one, 0);
		expect_size(&rmc, rmc.client, 0x21b, 12, one, 4);
		expect_size(&rmc, rmc.client, 0x275, 268, one, 4);
		expect_size(&rmc, rmc.client, 0xd07, rmc.major >= 525 ? 12 : 0, same, 8);
		expect_size(&rmc, mem.dup, 0x410118, b->page_size, one, 0);
		expect_size(&rmc, rmc.subdevice, 0x20801303, b->fb_info_v2, bar1, 8);
		expect_size(&rmc, rmc.subdevice, 0x20801354, b->static_bar1, one, 0);
		expect_size(&rmc, rmc.subdevice, 0x2080014a, 268, one, 0);
		expect_size(&rmc, rmc.subdevice, 0x20801803, 200, one, 0);
		check_eq(rmc_free(&rmc, rmc.device, mem.dup), 0);
		fake_free(&mem);
		rmc_close(&rmc);
	}
}

static int export_memory(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
				    .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	CUmemGenericAllocationHandle handle;
	int fd = -1;

	check_eq(fake.cuMemCreate(&handle, MIB(2), &prop, 0), 0);
	check_eq(fake.cuMemExport(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), 0);
	check_eq(fake.cuMemRelease(handle), 0);
	return fd;
}

static void every_branch_has_its_own_export_form(void)
{
	uint8_t import[652] = {0}, info[80];
	struct rmc rmc;
	int fd;

	for (size_t i = 0; i < NR_BRANCHES; i++) {
		const struct branch *b = &branches[i];
		size_t max_objects = b->export_info == 80 ? 12 : 8;

		rmc_open(&rmc, b->version);
		fd = export_memory();
		expect_size(&rmc, rmc.client, 0x3d08, b->export_info, &fd, sizeof(fd));
		memset(info, 0xff, sizeof(info));
		put32(info, 0, (uint32_t)fd);
		check_eq(rmc_control(&rmc, rmc.client, 0x3d08, info, b->export_info), 0);
		check_eq(get32(info, 4), rmc.instance);
		check_eq(get32(info, max_objects) & 0xffff, 1);
		put32(import, 0, (uint32_t)fd);
		put32(import, 4, rmc.device);
		put32(import, 8, 0);
		put32(import, 648, 1);
		expect_size(&rmc, rmc.client, 0x3d0c, 652, import, sizeof(import));
		close(fd);
		rmc_close(&rmc);
	}
}

static uint32_t alloc_nvos64(const struct rmc *rmc, const struct branch *b, uint32_t size, uint32_t params_size)
{
	uint32_t params[14] = {rmc->instance};
	uint8_t arg[64] = {0};
	int ret;

	put32(arg, 0, rmc->client);
	put32(arg, 4, rmc->client);
	put32(arg, 12, 0x80);
	put64(arg, 16, (uintptr_t)params);
	if (b->nvos64 == 48)
		put32(arg, 32, params_size);
	put32(arg, b->nvos64_status, 0xdeadbeef);
	ret = fake_ioctl(rmc->ctl, RM_IOCTL(0x2b, size), arg);
	return ret ? (uint32_t)ret : get32(arg, b->nvos64_status);
}

static void every_branch_has_its_own_allocation_forms(void)
{
	uint32_t root[30] = {0}, handle;
	uint8_t arg[32];
	struct rmc rmc;

	for (size_t i = 0; i < NR_BRANCHES; i++) {
		const struct branch *b = &branches[i];

		rmc_open(&rmc, b->version);
		check_eq(alloc_nvos64(&rmc, b, b->nvos64, 0), 0);
		check_eq(alloc_nvos64(&rmc, b, b->nvos64, 56), 0);
		check_eq(alloc_nvos64(&rmc, b, b->nvos64 == 48 ? 40 : 48, 0), (uint32_t)-EINVAL);
		check_eq(alloc_nvos64(&rmc, b, b->nvos64, 60), b->nvos64 == 48 ? 0x1f : 0);
		memset(arg, 0, sizeof(arg));
		put32(arg, 12, 0x41);
		put64(arg, 16, (uintptr_t)root);
		put32(arg, 24, rmc.major >= 535 ? b->root_params : 0xdeadbeef);
		check_eq(fake_ioctl(rmc.ctl, RM_IOCTL(0x2b, 32), arg), 0);
		check_eq(get32(arg, rmc.major >= 535 ? 28 : 24), 0);
		handle = rmc.client;
		rmc.client = get32(arg, 8);
		check(rmc.client != handle && rmc.client >> 20 == 0xc1d);
		check_eq(rmc_free(&rmc, rmc.client, rmc.client), 0);
		rmc.client = handle;
		rmc_close(&rmc);
	}
}

static void params_size_must_fit_from_535_on(void)
{
	struct rmc rmc;
	uint8_t arg[32] = {0};

	rmc_open(&rmc, "535.183.01");
	put32(arg, 12, 0x41);
	put32(arg, 24, 0xffffffff); /* what an older client would leave there as a sentinel */
	check_eq(fake_ioctl(rmc.ctl, RM_IOCTL(0x2b, 32), arg), 0);
	check_eq(get32(arg, 28), 0x1f);
	rmc_close(&rmc);
}

static void every_branch_has_its_own_escape_sizes(void)
{
	static const uint16_t fixed[][2] = {{0x29, 16}, {0x2a, 32}, {0x34, 28}, {0x35, 24},
					    {0x4e, 56}, {0x4f, 32}, {0x5e, 40}, {210, 72}};
	uint8_t arg[4096];
	struct rmc rmc;

	for (size_t i = 0; i < NR_BRANCHES; i++) {
		const struct branch *b = &branches[i];
		size_t status = b->dmabuf - 8;

		rmc_open(&rmc, b->version);
		for (size_t k = 0; k < sizeof(fixed) / sizeof(fixed[0]); k++) {
			check_eq(fake_ioctl(rmc.ctl, RM_IOCTL(fixed[k][0], fixed[k][1] + 4), arg), -EINVAL);
			check_eq(fake_ioctl(rmc.ctl, RM_IOCTL(fixed[k][0], fixed[k][1] - 4), arg), -EINVAL);
		}
		check_eq(fake_ioctl(rmc.ctl, RM_IOCTL(0x77, 32), arg), -EINVAL);
		memset(arg, 0, sizeof(arg));
		check_eq(fake_ioctl(rmc.dev, RM_IOCTL(217, b->dmabuf), arg), 0);
		check_eq(get32(arg, status), 0x56);
		check_eq(fake_ioctl(rmc.dev, RM_IOCTL(217, b->dmabuf == 2600 ? 2608 : 2600), arg), -EINVAL);
		check_eq(fake_ioctl(rmc.dev, RM_IOCTL(218, 8), arg), rmc.major >= 550 ? 0 : -EINVAL);
		rmc_close(&rmc);
	}
}

static void unknown_version_is_served_by_the_newest_branch(void)
{
	struct rmc rmc;
	uint8_t ids[384];

	rmc_open(&rmc, "580.1");
	rmc_close(&rmc);
	fake_begin("garbage");
	rmc.major = 999;
	rmc.ctl = fake_open("/dev/nvidiactl");
	check_eq(rmc_alloc(&rmc, 0, 0x41, NULL, &rmc.client), 0);
	check_eq(rmc_control(&rmc, rmc.client, 0x214, ids, sizeof(ids)), 0);
	check(get32(ids, 0) != 0xffffffff && get32(ids, 4) != 0xffffffff && get32(ids, 8) == 0xffffffff);
	check_eq(rmc_free(&rmc, rmc.client, rmc.client), 0);
	fake_close(rmc.ctl);
}

static void device_needs_its_node_open(void)
{
	uint32_t params[14] = {0}, handle;
	struct rmc rmc;

	rmc_open(&rmc, NEWEST);
	params[0] = rmc.instance;
	check_eq(fake_close(rmc.dev), 0);
	check_eq(rmc_alloc(&rmc, rmc.client, 0x80, params, &handle), 0x1b);
	rmc.dev = rmc_open_device(&rmc);
	check_eq(rmc_alloc(&rmc, rmc.client, 0x80, params, &handle), 0);
	params[0] = 77;
	check_eq(rmc_alloc(&rmc, rmc.client, 0x80, params, &handle), 0x26);
	check_eq(rmc_alloc(&rmc, rmc.client, 0x80, NULL, &handle), 0x1f);
	check_eq(rmc_alloc(&rmc, rmc.device, 0x80, params, &handle), 0x36);
	check_eq(rmc_alloc(&rmc, rmc.client, 0x1234, NULL, &handle), 0x22);
	check_eq(rmc_alloc(&rmc, rmc.subdevice, 0xc637, params, &handle), 0x56);
	check_eq(rmc_alloc(&rmc, rmc.device, 0x2080, &(uint32_t){1}, &handle), 0x1f);
	rmc_close(&rmc);
}

static void client_is_bound_to_its_control_file(void)
{
	struct rmc rmc, other;
	uint32_t handle;

	rmc_open(&rmc, NEWEST);
	other = rmc;
	other.ctl = fake_open("/dev/nvidiactl");
	check_eq(rmc_alloc(&other, rmc.device, 0x2080, NULL, &handle), 0x23);
	check_eq(rmc_free(&other, rmc.device, rmc.subdevice), 0x23);
	check_eq(rmc_control(&other, rmc.client, 0xd01, (uint8_t[12]){0}, 12), 0x23);
	fake_close(other.ctl);
	rmc_close(&rmc);
}

static void closing_the_control_file_frees_its_clients_unless_a_device_file_holds_it(void)
{
	struct bl_emu_counts counts;
	struct rmc rmc;

	rmc_open(&rmc, NEWEST); /* its device file is registered */
	check_eq(fake_close(rmc.ctl), 0);
	fake.counts(&counts);
	check_eq(counts.clients, 1);
	check_eq(fake_close(rmc.dev), 0);
	fake.counts(&counts);
	check_eq(counts.clients, 0);
	fake_begin(NEWEST);
	rmc.ctl = fake_open("/dev/nvidiactl");
	check_eq(rmc_alloc(&rmc, 0, 0x41, NULL, &rmc.client), 0);
	check_eq(fake_close(rmc.ctl), 0);
	fake.counts(&counts);
	check_eq(counts.clients, 0);
}

static void register_fd_takes_a_control_file_once(void)
{
	struct rmc rmc;
	int fd;

	rmc_open(&rmc, NEWEST);
	check_eq(fake_ioctl(rmc.dev, RM_IOCTL(201, 4), &rmc.ctl), -EINVAL);
	fd = fake_open("/dev/nvidia0");
	check_eq(fake_ioctl(fd, RM_IOCTL(201, 4), &rmc.dev), -EINVAL);
	check_eq(fake_ioctl(fd, RM_IOCTL(201, 4), &(int){-1}), -EINVAL);
	check_eq(fake_ioctl(fd, RM_IOCTL(201, 4), &rmc.ctl), 0);
	fake_close(fd);
	rmc_close(&rmc);
}

static const struct tap_test tests[] = {
	{"texts_name_the_version", texts_name_the_version},
	{"information_file_describes_the_card", information_file_describes_the_card},
	{"only_the_nodes_that_were_asked_for_exist", only_the_nodes_that_were_asked_for_exist},
	{"a_node_is_a_real_descriptor", a_node_is_a_real_descriptor},
	{"a_duplicated_descriptor_is_the_same_file", a_duplicated_descriptor_is_the_same_file},
	{"card_info_wants_room_for_every_card", card_info_wants_room_for_every_card},
	{"version_check_compares_and_tells", version_check_compares_and_tells},
	{"every_branch_maps_duplicated_memory", every_branch_maps_duplicated_memory},
	{"every_branch_has_its_own_control_sizes", every_branch_has_its_own_control_sizes},
	{"every_branch_has_its_own_export_form", every_branch_has_its_own_export_form},
	{"every_branch_has_its_own_allocation_forms", every_branch_has_its_own_allocation_forms},
	{"params_size_must_fit_from_535_on", params_size_must_fit_from_535_on},
	{"every_branch_has_its_own_escape_sizes", every_branch_has_its_own_escape_sizes},
	{"unknown_version_is_served_by_the_newest_branch", unknown_version_is_served_by_the_newest_branch},
	{"device_needs_its_node_open", device_needs_its_node_open},
	{"client_is_bound_to_its_control_file", client_is_bound_to_its_control_file},
	{"closing_the_control_file_frees_its_clients_unless_a_device_file_holds_it",
	 closing_the_control_file_frees_its_clients_unless_a_device_file_holds_it},
	{"register_fd_takes_a_control_file_once", register_fd_takes_a_control_file_once},
};

int main(int argc, char **argv)
{
	setenv("BARLANE_EMU_GPUS", "2", 1);
	setenv("BARLANE_EMU_STATIC_BAR1", "1", 1);
	fake_load();
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
