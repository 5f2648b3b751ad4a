// SPDX-License-Identifier: MIT
/* A card with a small BAR1: windows are taken, run out and come back. */
#include "fake_client.h"

#define NEWEST	"580.159.04"
#define WINDOWS 4 /* of 2 MiB in a BAR1 of 8 MiB */

static uint64_t used(void)
{
	struct bl_emu_counts counts;

	fake.counts(&counts);
	return counts.bar1_used;
}

static uint32_t fb_info(const struct rmc *rmc, uint32_t index)
{
	uint32_t inl[257] = {1, index};

	check_eq(rmc_control(rmc, rmc->subdevice, 0x20801303, inl, sizeof(inl)), 0);
	return inl[2];
}

static void windows_run_out_and_come_back(void)
{
	uint64_t address[WINDOWS + 1];
	int fd[WINDOWS + 1];
	struct fake_mem mem;
	struct rmc rmc;

	rmc_open(&rmc, NEWEST);
	fake_alloc_dup(&rmc, &mem, MIB(2));
	check_eq(fb_info(&rmc, 0x05), MIB(8) / 1024);
	check_eq(fb_info(&rmc, 0x1d), MIB(8) / 1024);
	for (int i = 0; i < WINDOWS; i++) {
		fd[i] = rmc_open_device(&rmc);
		check_eq(rmc_map(&rmc, mem.dup, 0, MIB(2), fd[i], &address[i]), 0);
		check(address[i] >= rmc.bar1_base && address[i] + MIB(2) <= rmc.bar1_base + MIB(8));
		for (int k = 0; k < i; k++)
			check(address[i] >= address[k] + MIB(2) || address[k] >= address[i] + MIB(2));
	}
	check_eq(used(), MIB(8));
	check_eq(fb_info(&rmc, 0x1d), 0);
	fd[WINDOWS] = rmc_open_device(&rmc);
	check_eq(rmc_map(&rmc, mem.dup, 0, 4096, fd[WINDOWS], &address[WINDOWS]), 0x51);
	check_eq(rmc_unmap(&rmc, mem.dup, address[1]), 0);
	check_eq(fb_info(&rmc, 0x1f), MIB(2) / 1024);
	/* a failed MAP_MEMORY left the descriptor unused */
	check_eq(rmc_map(&rmc, mem.dup, 0, MIB(2), fd[WINDOWS], &address[WINDOWS]), 0);
	check_eq(address[WINDOWS], address[1]);
	for (int i = 0; i <= WINDOWS; i++) {
		if (i != 1)
			check_eq(rmc_unmap(&rmc, mem.dup, address[i]), 0);
		fake_close(fd[i]);
	}
	check_eq(used(), 0);
	fake_free(&mem);
	rmc_close(&rmc);
}

static void a_window_has_whole_gpu_pages(void)
{
	struct fake_mem mem;
	uint64_t address;
	struct rmc rmc;
	int fd;

	rmc_open(&rmc, NEWEST);
	fake_alloc_dup(&rmc, &mem, MIB(2));
	fd = rmc_open_device(&rmc);
	check_eq(rmc_map(&rmc, mem.dup, 65536 - 4096, 8192, fd, &address), 0);
	check_eq(address % 65536, 65536 - 4096);
	check_eq(used(), 2 * 65536);
	check_eq(rmc_unmap(&rmc, mem.dup, address), 0);
	fake_close(fd);
	fake_free(&mem);
	rmc_close(&rmc);
}

static void static_bar1_is_reported_off(void)
{
	uint8_t info[24] = {0};
	struct rmc rmc;

	rmc_open(&rmc, NEWEST);
	check_eq(rmc_control(&rmc, rmc.subdevice, 0x20801354, info, sizeof(info)), 0);
	check(!info[0] && !get64(info, 16));
	rmc_close(&rmc);
}

static void closing_everything_gives_windows_back(void)
{
	struct fake_mem mem;
	uint64_t address;
	struct rmc rmc;

	rmc_open(&rmc, NEWEST);
	fake_alloc_dup(&rmc, &mem, MIB(2));
	check_eq(rmc_map(&rmc, mem.dup, 0, MIB(2), rmc.dev, &address), 0);
	fake_watch();
	fake_close(rmc.dev);
	fake_expect(NULL);
	check_eq(used(), MIB(2)); /* the mapping is the client's */
	fake_watch();
	fake_close(rmc.ctl);
	fake_expect("goes away before UNMAP_MEMORY");
	check_eq(used(), 0);
	fake_free(&mem);
}

static void gdrdrv_pins_use_windows_too(void)
{
	struct fake_mem mem;
	uint8_t arg[40] = {0};
	int fd;

	fake_begin(NEWEST);
	fake_alloc(&mem, MIB(16));
	fd = fake_open("/dev/gdrdrv");
	put64(arg, 0, mem.va);
	put64(arg, 8, MIB(16));
	check_eq(fake_ioctl(fd, GDR_IOCTL(1, 40), arg), -ENOMEM);
	put64(arg, 8, MIB(8));
	check_eq(fake_ioctl(fd, GDR_IOCTL(1, 40), arg), 0);
	check_eq(used(), MIB(8));
	fake_close(fd);
	check_eq(used(), 0);
	fake_free(&mem);
}

static const struct tap_test tests[] = {
	{"windows_run_out_and_come_back", windows_run_out_and_come_back},
	{"a_window_has_whole_gpu_pages", a_window_has_whole_gpu_pages},
	{"static_bar1_is_reported_off", static_bar1_is_reported_off},
	{"closing_everything_gives_windows_back", closing_everything_gives_windows_back},
	{"gdrdrv_pins_use_windows_too", gdrdrv_pins_use_windows_too},
};

int main(int argc, char **argv)
{
	setenv("BARLANE_EMU_GPUS", "1", 1);
	setenv("BARLANE_EMU_VRAM", "64M", 1);
	setenv("BARLANE_EMU_BAR1", "8M", 1);
	setenv("BARLANE_EMU_STATIC_BAR1", "0", 1);
	fake_load();
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
