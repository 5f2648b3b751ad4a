// SPDX-License-Identifier: MIT
/* The fake resource manager's memory objects: duplication, export, mapping, and faults on the way. */
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_client.h"

#define NEWEST "580.159.04"

static struct bl_emu_counts counts(void)
{
	struct bl_emu_counts c;

	fake.counts(&c);
	return c;
}

static uint32_t surface_info(const struct rmc *rmc, uint32_t memory, uint32_t index, uint32_t *value_p)
{
	uint32_t pair[2] = {index, 0};
	uint8_t params[16] = {0};
	uint32_t status;

	put32(params, 0, 1);
	put64(params, 8, (uintptr_t)pair);
	status = rmc_control(rmc, memory, 0x410110, params, sizeof(params));
	*value_p = pair[1];
	return status;
}

static void memory_object_describes_itself(void)
{
	uint8_t space[12] = {0}, info[16] = {0}, rights[12] = {0}, page[8] = {0};
	struct fake_mem mem;
	struct rmc rmc;
	uint32_t value;

	rmc_open(&rmc, NEWEST);
	fake_alloc_dup(&rmc, &mem, MIB(6));
	check_eq(surface_info(&rmc, mem.dup, 7, &value), 0);
	check_eq(value, MIB(6) / 4096);
	check_eq(surface_info(&rmc, mem.dup, 2, &value), 0);
	check_eq(value, MIB(6));
	check_eq(surface_info(&rmc, mem.dup, 1, &value), 0);
	check_eq(value, 0);
	check_eq(surface_info(&rmc, mem.dup, 99, &value), 0x1f);
	put32(space, 0, mem.dup);
	check_eq(rmc_control(&rmc, rmc.client, 0xd01, space, sizeof(space)), 0);
	check_eq(get32(space, 8), 2);
	put32(info, 0, mem.dup);
	put32(info, 4, 2);
	check_eq(rmc_control(&rmc, rmc.client, 0xd02, info, sizeof(info)), 0);
	check_eq(get64(info, 8), 0x40);
	put32(info, 4, 1);
	check_eq(rmc_control(&rmc, rmc.client, 0xd02, info, sizeof(info)), 0);
	check_eq(get64(info, 8), rmc.device);
	put32(rights, 0, mem.hmemory);
	put32(rights, 4, mem.hclient);
	check_eq(rmc_control(&rmc, rmc.client, 0xd03, rights, sizeof(rights)), 0);
	check_eq(get32(rights, 8), 1);
	check_eq(rmc_control(&rmc, mem.dup, 0x410118, page, sizeof(page)), 0);
	check_eq(get64(page, 0), MIB(2));
	check_eq(rmc_control(&rmc, mem.dup, 0x410103, page, sizeof(page)), 0x56);
	fake_free(&mem);
	rmc_close(&rmc);
}

static void surface_size_in_bytes_is_new_in_580(void)
{
	struct fake_mem mem;
	struct rmc rmc;
	uint32_t value;

	rmc_open(&rmc, "575.51.03");
	fake_alloc_dup(&rmc, &mem, MIB(2));
	check_eq(surface_info(&rmc, mem.dup, 2, &value), 0x1f);
	check_eq(surface_info(&rmc, mem.dup, 7, &value), 0);
	fake_free(&mem);
	rmc_close(&rmc);
}

static uint32_t fb_info(const struct rmc *rmc, uint32_t index)
{
	uint32_t pair[2] = {index, 0}, inl[257] = {1, index};
	uint8_t params[16] = {0};

	put32(params, 0, 1);
	put64(params, 8, (uintptr_t)pair);
	check_eq(rmc_control(rmc, rmc->subdevice, 0x20801301, params, sizeof(params)), 0);
	check_eq(rmc_control(rmc, rmc->subdevice, 0x20801303, inl, sizeof(inl)), 0);
	check_eq(inl[2], pair[1]);
	return pair[1];
}

static void subdevice_describes_bar1(void)
{
	uint8_t info[24] = {0}, bars[200] = {0}, gid[268] = {0}, uuid[268] = {0};
	struct rmc rmc;

	rmc_open(&rmc, NEWEST);
	check_eq(fb_info(&rmc, 0x05), rmc.bar1_size / 1024);
	check(fb_info(&rmc, 0x08) > 0);
	check_eq(fb_info(&rmc, 0x1d), fb_info(&rmc, 0x1f));
	check_eq(rmc_control(&rmc, rmc.subdevice, 0x20801354, info, sizeof(info)), 0);
	check_eq(info[0], 1);
	check_eq(info[1], 1);
	check_eq(get64(info, 8), 0);
	check_eq(get64(info, 16), (uint64_t)fb_info(&rmc, 0x08) * 1024);
	check_eq(rmc_control(&rmc, rmc.subdevice, 0x20801803, bars, sizeof(bars)), 0);
	check_eq(get64(bars, 8 + 24 + 8), rmc.bar1_size);
	check_eq(get64(bars, 8 + 24 + 16), rmc.bar1_base);
	put32(gid, 4, 2);
	put32(uuid, 0, rmc.gpu_id);
	put32(uuid, 4, 2);
	check_eq(rmc_control(&rmc, rmc.subdevice, 0x2080014a, gid, sizeof(gid)), 0);
	check_eq(rmc_control(&rmc, rmc.client, 0x275, uuid, sizeof(uuid)), 0);
	check(get32(gid, 8) == 16 && get32(uuid, 264) == 16 && !memcmp(gid + 12, uuid + 8, 16));
	rmc_close(&rmc);
}

static void duplicate_keeps_the_memory(void)
{
	uint64_t used = counts().vram_used, address, value = 0x5eed5eed5eed5eedULL;
	struct fake_mem mem;
	struct rmc rmc;
	uint64_t *addr;
	int fd;

	rmc_open(&rmc, NEWEST);
	fake_alloc_dup(&rmc, &mem, MIB(64));
	check_eq(fake.cuMemcpyHtoD(mem.va, &value, sizeof(value)), 0);
	fd = rmc_open_device(&rmc);
	check_eq(rmc_map(&rmc, mem.dup, 0, MIB(2), fd, &address), 0);
	addr = fake_mmap(fd, MIB(2));
	check(addr);
	fake_free(&mem);
	check_eq(counts().vram_used - used, MIB(64));
	check_eq(*addr, value);
	fake_munmap(addr, MIB(2));
	check_eq(rmc_unmap(&rmc, mem.dup, address), 0);
	fake_close(fd);
	check_eq(rmc_free(&rmc, rmc.device, mem.dup), 0);
	check_eq(counts().vram_used, used);
	rmc_close(&rmc);
}

static void duplicates_know_each_other(void)
{
	uint32_t again, question[3] = {0};
	struct fake_mem mem, other;
	struct rmc rmc;

	rmc_open(&rmc, NEWEST);
	fake_alloc_dup(&rmc, &mem, MIB(2));
	fake_alloc_dup(&rmc, &other, MIB(2));
	check_eq(rmc_dup(&rmc, mem.hclient, mem.hmemory, &again), 0);
	check(again != mem.dup);
	question[0] = mem.dup;
	question[1] = again;
	check_eq(rmc_control(&rmc, rmc.client, 0xd07, question, sizeof(question)), 0);
	check_eq(question[2] & 0xff, 1);
	question[1] = other.dup;
	check_eq(rmc_control(&rmc, rmc.client, 0xd07, question, sizeof(question)), 0);
	check_eq(question[2] & 0xff, 0);
	fake_free(&mem);
	fake_free(&other);
	rmc_close(&rmc);
}

static void duplication_wants_real_handles(void)
{
	struct fake_mem mem;
	struct rmc rmc;
	uint32_t dup;

	rmc_open(&rmc, NEWEST);
	fake_alloc(&mem, MIB(2));
	check_eq(rmc_dup(&rmc, mem.hclient + 0x1000, mem.hmemory, &dup), 0x23);
	check_eq(rmc_dup(&rmc, mem.hclient, mem.hmemory + 0x1000, &dup), 0x57);
	check_eq(rmc_dup(&rmc, rmc.client, rmc.subdevice, &dup), 0x56);
	check_eq(rmc_free(&rmc, rmc.device, 0x1234), 0x57);
	check_eq(rmc_free(&rmc, rmc.subdevice, rmc.subdevice), 0x36);
	fake_free(&mem);
	rmc_close(&rmc);
}

static uint32_t try_map(const struct rmc *rmc, uint32_t memory, uint64_t off, uint64_t len)
{
	int fd = rmc_open_device(rmc);
	uint64_t address;
	uint32_t status = rmc_map(rmc, memory, off, len, fd, &address);

	if (!status)
		check_eq(rmc_unmap(rmc, memory, address), 0);
	fake_close(fd);
	return status;
}

static void map_checks_the_range(void)
{
	struct fake_mem mem;
	struct rmc rmc;

	rmc_open(&rmc, NEWEST);
	fake_alloc_dup(&rmc, &mem, MIB(2));
	check_eq(try_map(&rmc, mem.dup, MIB(2), 4096), 0x20);
	check_eq(try_map(&rmc, mem.dup, 0, 0), 0x2e);
	check_eq(try_map(&rmc, mem.dup, 4096, MIB(2)), 0x2e);
	check_eq(try_map(&rmc, mem.dup, 4096, UINT64_MAX), 0x2e);
	check_eq(try_map(&rmc, mem.dup, 4096, MIB(2) - 4096), 0);
	check_eq(try_map(&rmc, mem.dup, 0, 100), 0);
	check_eq(try_map(&rmc, rmc.subdevice, 0, 4096), 0x31);
	check_eq(try_map(&rmc, 0x99, 0, 4096), 0x57);
	fake_free(&mem);
	rmc_close(&rmc);
}

static void map_checks_flags_and_gpu(void)
{
	static const uint32_t refused[] = {3, 1U << 4, 1U << 14, 1U << 17, 1U << 18, 1U << 19, 1U << 22, 3U << 15};
	struct fake_mem mem;
	uint8_t arg[56];
	struct rmc rmc;
	char path[32];
	int fd;

	rmc_open(&rmc, NEWEST);
	fake_alloc_dup(&rmc, &mem, MIB(2));
	snprintf(path, sizeof(path), "/dev/nvidia%u", !rmc.minor);
	fd = fake_open(path); /* the other card's */
	check(fd >= 0);
	for (size_t i = 0; i <= sizeof(refused) / sizeof(refused[0]); i++) {
		bool last = i == sizeof(refused) / sizeof(refused[0]);

		memset(arg, 0, sizeof(arg));
		put32(arg, 0, rmc.client);
		put32(arg, 4, rmc.device);
		put32(arg, 8, mem.dup);
		put64(arg, 24, 4096);
		put32(arg, 44, last ? 0 : refused[i]);
		put32(arg, 48, (uint32_t)fd);
		check_eq(fake_ioctl(rmc.ctl, RM_IOCTL(0x4e, 56), arg), 0);
		check_eq(get32(arg, 40), last ? 0x1f : 0x29);
	}
	fake_close(fd);
	fake_free(&mem);
	rmc_close(&rmc);
}

static int mmap_error(int fd, size_t len, int prot, int flags, off_t off)
{
	errno = 0;
	return fake.sys->mmap(NULL, len, prot, flags, fd, off) == MAP_FAILED ? errno : 0;
}

static void mmap_wants_the_exact_mapping(void)
{
	struct fake_mem mem;
	struct rmc rmc;
	uint64_t address;
	int fd, readable;
	void *addr;

	rmc_open(&rmc, NEWEST);
	fake_alloc_dup(&rmc, &mem, MIB(2));
	fd = rmc_open_device(&rmc);
	check_eq(mmap_error(fd, 65536, PROT_READ, MAP_SHARED, 0), EINVAL); /* nothing mapped there yet */
	check_eq(rmc_map(&rmc, mem.dup, 65536, 65536 + 100, fd, &address), 0);
	check_eq(mmap_error(fd, 65536, PROT_READ, MAP_SHARED, 0), ENXIO);
	check_eq(mmap_error(fd, 2 * 65536, PROT_READ, MAP_SHARED, 0), ENXIO);
	check_eq(mmap_error(fd, 65536 + 4096, PROT_READ, MAP_SHARED, 4096), ENXIO);
	check_eq(mmap_error(fd, 65536 + 4096, PROT_READ, MAP_PRIVATE, 0), EINVAL);
	check_eq(mmap_error(fd, 65536 + 4096, PROT_READ | PROT_EXEC, MAP_SHARED, 0), EINVAL);
	check_eq(mmap_error(rmc.ctl, 4096, PROT_READ, MAP_SHARED, 0), EINVAL);
	addr = fake_mmap(fd, 65536 + 100);
	check(addr);
	check_eq(counts().vmas, 1);
	check_eq(fake_munmap(addr, 65536 + 100), 0);
	check_eq(rmc_unmap(&rmc, mem.dup, address), 0);
	fake_close(fd);
	readable = fake.sys->open(rmc.minor ? "/dev/nvidia1" : "/dev/nvidia0", O_RDONLY | O_CLOEXEC);
	check_eq(rmc_map(&rmc, mem.dup, 0, 4096, readable, &address), 0);
	check_eq(mmap_error(readable, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 0), EACCES);
	check_eq(rmc_unmap(&rmc, mem.dup, address), 0);
	fake.sys->close(readable);
	fake_free(&mem);
	rmc_close(&rmc);
}

static void old_branches_do_not_check_the_length(void)
{
	struct fake_mem mem;
	struct rmc rmc;
	uint64_t address;
	uint8_t *addr;
	int fd;

	rmc_open(&rmc, "515.105.01");
	fake_alloc_dup(&rmc, &mem, MIB(2));
	fd = rmc_open_device(&rmc);
	check_eq(rmc_map(&rmc, mem.dup, 0, 65536, fd, &address), 0);
	addr = fake_mmap(fd, MIB(1));
	check(addr);
	addr[65535] = 1;
	check_eq(fake_munmap(addr, MIB(1)), 0);
	check_eq(rmc_unmap(&rmc, mem.dup, address), 0);
	fake_close(fd);
	fake_free(&mem);
	rmc_close(&rmc);
}

static void static_bar1_gives_one_object_one_address(void)
{
	uint64_t first, second;
	struct fake_mem mem;
	struct rmc rmc;
	int a, b;

	rmc_open(&rmc, NEWEST);
	fake_watch();
	fake_alloc_dup(&rmc, &mem, MIB(2));
	a = rmc_open_device(&rmc);
	b = rmc_open_device(&rmc);
	check_eq(rmc_map(&rmc, mem.dup, 0, MIB(2), a, &first), 0);
	check_eq(rmc_map(&rmc, mem.dup, 4096, 4096, b, &second), 0);
	check_eq(second, first + 4096);
	check_eq(rmc_unmap(&rmc, mem.dup, second), 0);
	fake_close(b);
	b = rmc_open_device(&rmc);
	check_eq(rmc_map(&rmc, mem.dup, 0, MIB(2), b, &second), 0);
	check_eq(second, first);
	check_eq(counts().bar1_used, 0);
	/* equal addresses: whichever of the two the driver takes, this order is a right one */
	check_eq(rmc_unmap(&rmc, mem.dup, second), 0);
	fake_close(b);
	check_eq(rmc_unmap(&rmc, mem.dup, first), 0);
	fake_close(a);
	fake_free(&mem);
	rmc_close(&rmc);
	fake_expect(NULL);
}

static void exported_memory_can_be_imported(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
				    .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	uint64_t used = counts().vram_used;
	CUmemGenericAllocationHandle handle;
	uint8_t info[80] = {0}, import[652] = {0};
	struct rmc rmc;
	int fd = -1;

	rmc_open(&rmc, NEWEST);
	check_eq(fake.cuMemCreate(&handle, MIB(2), &prop, 0), 0);
	check_eq(fake.cuMemExport(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), 0);
	check_eq(fake.cuMemRelease(handle), 0);
	put32(info, 0, (uint32_t)fd);
	check_eq(rmc_control(&rmc, rmc.client, 0x3d08, info, 80), 0);
	check_eq(get32(info, 4), rmc.instance);
	check_eq(get32(info, 8), 0xffffffff);
	check_eq(get32(info, 12) & 0xffff, 1);
	check_eq(mmap_error(fd, 4096, PROT_READ, MAP_SHARED, 0), EINVAL);
	put32(import, 0, (uint32_t)fd);
	put32(import, 4, rmc.device);
	put32(import, 648, 2);
	check_eq(rmc_control(&rmc, rmc.client, 0x3d0c, import, sizeof(import)), 0x1f);
	put32(import, 648, 1);
	check_eq(rmc_control(&rmc, rmc.client, 0x3d0c, import, sizeof(import)), 0);
	check_eq(import[520], 1);
	close(fd);
	check_eq(counts().vram_used - used, MIB(2)); /* the import holds it */
	check_eq(try_map(&rmc, get32(import, 8), 0, MIB(2)), 0);
	check_eq(rmc_free(&rmc, rmc.device, get32(import, 8)), 0);
	check_eq(counts().vram_used, used);
	put32(info, 0, (uint32_t)rmc.ctl);
	check_eq(rmc_control(&rmc, rmc.client, 0x3d08, info, 80), 0x1f);
	rmc_close(&rmc);
}

static void update_mapping_renames_the_address(void)
{
	struct fake_mem mem;
	uint8_t arg[40] = {0};
	uint64_t address;
	struct rmc rmc;
	int fd;

	rmc_open(&rmc, NEWEST);
	fake_alloc_dup(&rmc, &mem, MIB(2));
	fd = rmc_open_device(&rmc);
	check_eq(rmc_map(&rmc, mem.dup, 0, MIB(2), fd, &address), 0);
	put32(arg, 0, rmc.client);
	put32(arg, 4, rmc.device);
	put32(arg, 8, mem.dup);
	put64(arg, 16, address);
	put64(arg, 24, 0x7f0000000000);
	check_eq(fake_ioctl(rmc.ctl, RM_IOCTL(0x5e, 40), arg), 0);
	check_eq(get32(arg, 32), 0);
	check_eq(rmc_unmap(&rmc, mem.dup, 0x7f0000000000), 0);
	fake_close(fd);
	fake_free(&mem);
	rmc_close(&rmc);
}

static void status_faults_fire_once_at_the_chosen_call(void)
{
	struct fake_mem mem;
	struct rmc rmc;
	uint32_t dup;

	rmc_open(&rmc, NEWEST);
	fake_alloc_dup(&rmc, &mem, MIB(2));
	check_eq(fake.fault("rm.map:2:0x1a,rm.dup,rm.free:1:0x59"), 0);
	check_eq(try_map(&rmc, mem.dup, 0, 4096), 0);
	check_eq(try_map(&rmc, mem.dup, 0, 4096), 0x1a);
	check_eq(try_map(&rmc, mem.dup, 0, 4096), 0);
	check_eq(rmc_dup(&rmc, mem.hclient, mem.hmemory, &dup), 0x1b);
	check_eq(rmc_dup(&rmc, mem.hclient, mem.hmemory, &dup), 0);
	check_eq(rmc_free(&rmc, rmc.device, dup), 0x59);
	check_eq(fake.fault("rm.alloc:*:0x51,rm.control:1:0x40"), 0);
	check_eq(rmc_control(&rmc, rmc.client, 0xd01, (uint8_t[12]){0}, 12), 0x40);
	check_eq(rmc_alloc(&rmc, rmc.device, 0x2080, NULL, &dup), 0x51);
	check_eq(rmc_alloc(&rmc, rmc.device, 0x2080, NULL, &dup), 0x51);
	check_eq(fake.fault("no comma:1"), -EINVAL);
	check_eq(fake.fault("rm.map:0"), -EINVAL);
	check_eq(fake.fault("rm.map:x"), -EINVAL);
	check_eq(fake.fault("rm.map:1:zz"), -EINVAL);
	check_eq(rmc_alloc(&rmc, rmc.device, 0x2080, NULL, &dup), 0x51); /* nothing was changed */
	check_eq(fake.fault(""), 0);
	check_eq(rmc_alloc(&rmc, rmc.device, 0x2080, NULL, &dup), 0);
	fake_free(&mem);
	rmc_close(&rmc);
}

static void call_faults_give_their_errno(void)
{
	struct rmc rmc;

	rmc_open(&rmc, NEWEST);
	check_eq(fake.fault("open.ctl:1:13,open.dev:1:2,open.gdrdrv:1:6,ioctl:1:5"), 0);
	check(fake.sys->open("/dev/nvidiactl", O_RDWR | O_CLOEXEC) < 0 && errno == EACCES);
	check(fake.sys->open("/dev/nvidia0", O_RDWR | O_CLOEXEC) < 0 && errno == ENOENT);
	check(fake.sys->open("/dev/gdrdrv", O_RDWR | O_CLOEXEC) < 0 && errno == ENXIO);
	check_eq(fake_ioctl(rmc.ctl, RM_IOCTL(214, 8), &(uint64_t){0}), -EIO);
	check_eq(fake_ioctl(rmc.ctl, RM_IOCTL(214, 8), &(uint64_t){0}), 0);
	rmc_close(&rmc);
}

static void mapping_faults_give_their_errno(void)
{
	struct fake_mem mem;
	struct rmc rmc;
	uint64_t address;
	void *addr;
	int fd;

	rmc_open(&rmc, NEWEST);
	fake_alloc_dup(&rmc, &mem, MIB(2));
	fd = rmc_open_device(&rmc);
	check_eq(rmc_map(&rmc, mem.dup, 0, MIB(2), fd, &address), 0);
	check_eq(fake.fault("mmap:1:12,munmap:1:22,madvise:2:12,rm.unmap:1:0x59"), 0);
	check_eq(mmap_error(fd, MIB(2), PROT_READ, MAP_SHARED, 0), ENOMEM);
	addr = fake_mmap(fd, MIB(2));
	check(addr);
	check(fake.sys->madvise(addr, MIB(2), MADV_DONTFORK) && errno == ENOMEM);
	check(fake.sys->munmap(addr, MIB(2)) && errno == EINVAL);
	check_eq(counts().vmas, 1);
	check_eq(fake_munmap(addr, MIB(2)), 0);
	check_eq(rmc_unmap(&rmc, mem.dup, address), 0x59);
	check_eq(rmc_unmap(&rmc, mem.dup, address), 0);
	fake_close(fd);
	fake_free(&mem);
	rmc_close(&rmc);
}

static void wrong_answers_can_be_ordered(void)
{
	uint64_t address, theirs = 0x1111111111111111ULL, mine = 0x2222222222222222ULL;
	struct fake_mem mem, other;
	uint8_t space[12] = {0};
	uint32_t value;
	struct rmc rmc;
	uint64_t *addr;
	int fd;

	rmc_open(&rmc, NEWEST);
	fake_alloc_dup(&rmc, &mem, MIB(2));
	fake_alloc_dup(&rmc, &other, MIB(2));
	check_eq(fake.cuMemcpyHtoD(mem.va, &mine, 8), 0);
	check_eq(fake.cuMemcpyHtoD(other.va, &theirs, 8), 0);
	check_eq(fake.fault("rm.size,rm.space,rm.wrongmem,rm.addr:2"), 0);
	check_eq(surface_info(&rmc, mem.dup, 7, &value), 0);
	check_eq(value, MIB(4) / 4096);
	put32(space, 0, mem.dup);
	check_eq(rmc_control(&rmc, rmc.client, 0xd01, space, sizeof(space)), 0);
	check_eq(get32(space, 8), 1);
	fd = rmc_open_device(&rmc);
	check_eq(rmc_map(&rmc, mem.dup, 0, MIB(2), fd, &address), 0);
	addr = fake_mmap(fd, MIB(2));
	check(addr && *addr != mine);
	fake_munmap(addr, MIB(2));
	check_eq(rmc_unmap(&rmc, mem.dup, address), 0);
	fake_close(fd);
	fd = rmc_open_device(&rmc);
	check_eq(rmc_map(&rmc, mem.dup, 0, MIB(2), fd, &address), 0);
	check(address >= rmc.bar1_base + rmc.bar1_size);
	check_eq(rmc_unmap(&rmc, mem.dup, address), 0);
	fake_close(fd);
	fake_free(&mem);
	fake_free(&other);
	rmc_close(&rmc);
}

static const struct tap_test tests[] = {
	{"memory_object_describes_itself", memory_object_describes_itself},
	{"surface_size_in_bytes_is_new_in_580", surface_size_in_bytes_is_new_in_580},
	{"subdevice_describes_bar1", subdevice_describes_bar1},
	{"duplicate_keeps_the_memory", duplicate_keeps_the_memory},
	{"duplicates_know_each_other", duplicates_know_each_other},
	{"duplication_wants_real_handles", duplication_wants_real_handles},
	{"map_checks_the_range", map_checks_the_range},
	{"map_checks_flags_and_gpu", map_checks_flags_and_gpu},
	{"mmap_wants_the_exact_mapping", mmap_wants_the_exact_mapping},
	{"old_branches_do_not_check_the_length", old_branches_do_not_check_the_length},
	{"static_bar1_gives_one_object_one_address", static_bar1_gives_one_object_one_address},
	{"exported_memory_can_be_imported", exported_memory_can_be_imported},
	{"update_mapping_renames_the_address", update_mapping_renames_the_address},
	{"status_faults_fire_once_at_the_chosen_call", status_faults_fire_once_at_the_chosen_call},
	{"call_faults_give_their_errno", call_faults_give_their_errno},
	{"mapping_faults_give_their_errno", mapping_faults_give_their_errno},
	{"wrong_answers_can_be_ordered", wrong_answers_can_be_ordered},
};

int main(int argc, char **argv)
{
	setenv("BARLANE_EMU_GPUS", "2", 1);
	setenv("BARLANE_EMU_STATIC_BAR1", "1", 1);
	fake_load();
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
